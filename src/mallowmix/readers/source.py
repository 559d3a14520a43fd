"""read: one function for every source and form; read_comparisons gives what it found without the story."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.frames import frame_kind
from mallowmix.data.rankings import Rankings
from mallowmix.data.row_checks import Policy
from mallowmix.errors import DataWarning, FileError, OptionError, check_choice
from mallowmix.readers.files import open_path
from mallowmix.readers.forms import FILES, NAMES, check_uses, choose_form, read_form
from mallowmix.readers.headers import NAMES as ROLE_NAMES
from mallowmix.readers.headers import check_columns
from mallowmix.readers.inputs import Input, speaking_of
from mallowmix.readers.movielens import is_movielens, read_movielens_file
from mallowmix.readers.preflib import is_preflib, read_preflib_file
from mallowmix.readers.ranking_forms import reading_of_rankings
from mallowmix.readers.reading import BothBad, How, PerUser, Reading, Ties, Unlisted, Zero
from mallowmix.readers.sql import hidden, is_url, open_url
from mallowmix.readers.tables import open_table


def read_comparisons(
    source: Any,
    *,
    format: str | None = None,
    columns: Mapping[str, Any] | None = None,
    query: str | None = None,
    self_pairs: Policy = "error",
    missing: Policy = "error",
    ties: Ties | None = None,
    both_bad: BothBad | None = None,
    outcomes: Mapping[str, str] | None = None,
    one_user: bool = False,
    per_user: PerUser = "comparisons",
    top_items: int | None = None,
    unlisted: Unlisted | None = None,
    zero: Zero = "error",
) -> Comparisons:
    """Comparisons from a file, a database or a table, in any of the forms in which choices come.

    source : a path (.csv, .tsv, .jsonl, each also with .gz or .zst; .parquet; a folder of .parquet files; a pattern such as
        votes-*.parquet; .sqlite, .duckdb; PrefLib's .soc, .soi, .toc, .toi; MovieLens' .mat and .dat), the address of a
        PostgreSQL database, any dataframe (pandas, polars, …), an Arrow table, a mapping of columns, or a list of tuples
        (user, winner, loser[, weight])
    format : comparisons, bayesmallows, battles, ratings, rankings, best-worst, implicit, choix, preflib or movielens; recognised
        by the columns where that is unmistakable, and then said in a warning unless it is plain comparisons
    columns : our name → their name where they differ, as in {"user": "judge", "winner": "better", "loser": "worse"}; other
        columns are ignored, and so is the weight with {"weight": None}
    query : what to ask a database
    self_pairs, missing : what to do with a row that compares a thing with itself or lacks a value: "error" or "drop"
    ties : "drop" leaves them out (with a warning unless it is said), "half" makes each two rows of weight ½, "error" refuses
    both_bad, outcomes : for battles; per_user, top_items : for ratings; per_user, unlisted, zero : for rankings (see `How`)
    one_user : whether a table that does not say who chose may be read as one person's

    Labels of a CSV file are text (`007` stays `007`, `NA` is a name), and only the empty field counts as missing; labels from
    anywhere else keep their type. `read` gives the same with what was counted on the way.
    """
    options = {
        name: value
        for name, value in locals().items()
        if name not in ("source", "format", "columns", "query")
    }
    found = read(source, format=format, columns=columns, query=query, **options)
    for note in found.notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    return found.comparisons


def read(
    source: Any,
    *,
    format: str | None = None,
    columns: Mapping[str, Any] | None = None,
    query: str | None = None,
    **options: Any,
) -> Reading:
    """The same as `read_comparisons`, as a `Reading`: the comparisons, what they were taken for, what was counted."""
    how = _how(options)
    if format is not None:
        check_choice("format", format, NAMES)
    check_columns(columns, list(ROLE_NAMES))
    found = _read(source, format, columns, query, how)
    notes = () if format is not None else _recognised(found, columns or {}, _title(source))
    comparisons = replace(found.comparisons, frame_kind=frame_kind(source))
    all_notes = (*notes, *found.notes)
    return replace(found, comparisons=comparisons, said=format is not None, notes=all_notes)


def _how(options: Mapping[str, Any]) -> How:
    unknown = [name for name in options if name not in How.__dataclass_fields__]
    if unknown:
        raise OptionError(
            f"There is no option {unknown[0]!r}; there are {', '.join(How.__dataclass_fields__)}."
        )
    return How(**options)


def _read(
    source: Any, format: str | None, columns: Mapping[str, Any] | None, query: str | None, how: How
) -> Reading:
    if isinstance(source, Comparisons):
        return Reading(source, "comparisons")
    if isinstance(source, Rankings):
        return reading_of_rankings(source, how)
    if isinstance(source, str | PathLike):
        with speaking_of(_title(source)):
            return _read_path(source, format, columns, query, how)
    if query is not None:
        raise OptionError(
            "query is for databases: for .sqlite and .duckdb files and for addresses of servers."
        )
    return _read_table(open_table(source), format, columns, how)


def _read_path(
    source: Any, format: str | None, columns: Mapping[str, Any] | None, query: str | None, how: How
) -> Reading:
    if is_url(source):
        return _read_table(open_url(source, query), format, columns, how)
    path = Path(source)
    whole_file = format or (
        "preflib" if is_preflib(path) else "movielens" if is_movielens(path) else None
    )
    if whole_file not in FILES:
        return _read_table(open_path(source, query), format, columns, how)
    check_uses(whole_file, how)
    if columns is not None:
        raise OptionError(f"columns names the columns of a table; a file of {whole_file} has none.")
    if whole_file == "movielens":
        return read_movielens_file(path, how)
    if not path.is_file():
        raise FileError(f"There is no file {path}: check the name and the folder.")
    return read_preflib_file(path, how)


def _read_table(
    table: Input, format: str | None, columns: Mapping[str, Any] | None, how: How
) -> Reading:
    if format in FILES:
        raise OptionError(f"format is {format!r}, which is a file of its own kind, not a table.")
    if columns is not None and table.title == "The list":
        raise OptionError(
            "columns names the columns of a table or a file; rows of tuples have none."
        )
    form = choose_form(table, format, columns)
    check_uses(form.name, how)
    return read_form(table, form, columns, how)


def _title(source: Any) -> str:
    if isinstance(source, str | PathLike):
        return hidden(str(source)) if is_url(source) else str(Path(source))
    return "The table"


def _recognised(found: Reading, columns: Mapping[str, Any], title: str) -> tuple[str, ...]:
    """What the source was taken for, where that is not plain."""
    plain = all(theirs in (ours, columns.get(ours)) for ours, theirs in found.taken.items())
    if found.form == "comparisons" and plain:
        return ()
    taken = ", ".join(
        f"{ours} from {theirs!r}" for ours, theirs in found.taken.items() if ours != theirs
    )
    return (
        f'{title} was read as {found.form}{f" ({taken})" if taken else ""}; format="{found.form}" says so yourself.',
    )
