"""Reading from any source in any form: `read_comparisons`, and `read` for the details."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.frames import frame_kind
from mallowmix.data.rankings import Rankings
from mallowmix.data.row_checks import Policy
from mallowmix.errors import DataWarning, Option, OptionError, check_choice
from mallowmix.readers.files import open_path
from mallowmix.readers.forms import FILES, NAMES, check_uses, choose_form, read_form
from mallowmix.readers.headers import NAMES as ROLE_NAMES
from mallowmix.readers.headers import check_columns
from mallowmix.readers.inputs import Input, error_context, missing_file
from mallowmix.readers.movielens import is_movielens, read_movielens_file
from mallowmix.readers.preflib import is_preflib, read_preflib_file
from mallowmix.readers.ranked_comparisons import reading_of_rankings
from mallowmix.readers.reading import BothBad, PerUser, Reading, ReadOptions, Ties, Unlisted, Zero
from mallowmix.readers.sql import ABOUT_QUERY, is_url, open_url, without_password
from mallowmix.readers.tables import open_table

ColumnNames: TypeAlias = Mapping[str, Any]  # our name → theirs


def read_comparisons(
    source: Any,
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
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
    """Read comparisons from a file, a database or a table, in any of the forms of choices.

    Parameters
    ----------
    source : path, address or table
        A path (.csv, .tsv, .jsonl, each also with .gz or .zst; .parquet; a folder of .parquet
        files; a pattern such as votes-*.parquet; .sqlite, .duckdb; PrefLib's .soc, .soi, .toc,
        .toi; MovieLens' .mat and .dat), the address of a PostgreSQL database, any dataframe
        (pandas, polars, …), an Arrow table, a mapping of columns, or a list of tuples (user,
        winner, loser[, weight]).
    format : str
        "comparisons", "bayesmallows", "battles", "ratings", "rankings", "best-worst", "implicit",
        "choix", "preflib" or "movielens". Recognised by the columns where that is unmistakable, and
        then a warning says so unless it is plain comparisons.
    columns : mapping
        Our name to theirs where they differ, as in {"user": "judge", "winner": "better", "loser":
        "worse"}; other columns are ignored, and so is the weight with {"weight": None}.
    query : str
        A SELECT, for a database.
    self_pairs, missing : {"error", "drop"}
        What to do with a row that compares an item with itself, or lacks a value.
    ties : {"drop", "half", "error"}
        "drop" leaves ties out (with a warning unless it is given), "half" counts each as half a win
        for both sides, "error" refuses them.
    both_bad : {"drop", "tie", "error"}
        Battles in which both were bad.
    outcomes : mapping
        Battles: further words to "left", "right", "tie" or "both_bad".
    one_user : bool
        Whether a table that does not say who chose may be read as one user's.
    per_user : {"comparisons", "ratings", "equal"}
        Ratings, rankings: how much a user counts in learning: by all their comparisons, about as
        much as the number of their ratings, or as much as every other user.
    top_items : int
        Ratings: keep this many of the most rated items.
    unlisted : {"unknown", "below"}
        Rankings: items that are not listed are not compared, or are below those that are.
    zero : {"error", "missing", "best"}
        Rankings: what the position 0 means.

    Returns
    -------
    Comparisons
        `read` also returns what was counted.

    Notes
    -----
    Labels of a CSV file are text (`007` stays `007`, `NA` is a name), and only the empty field
    counts as missing; labels from anywhere else keep their type.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.read_comparisons([("ann", "tea", "milk"), ("bob", "milk", "tea")]).n_users
    2
    """
    options = ReadOptions(
        self_pairs=self_pairs,
        missing=missing,
        ties=ties,
        both_bad=both_bad,
        outcomes=outcomes,
        one_user=one_user,
        per_user=per_user,
        top_items=top_items,
        unlisted=unlisted,
        zero=zero,
    )
    return comparisons_as(format, source, columns, query, options)


def read(
    source: Any,
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
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
) -> Reading:
    """Read as `read_comparisons` does, and return what was counted as well.

    Parameters
    ----------
    source, format, columns, query, self_pairs, missing, ties, both_bad, outcomes, one_user
        As in `read_comparisons`, and so are `per_user`, `top_items`, `unlisted` and `zero`.

    Returns
    -------
    Reading
        The comparisons, the form of their source, and what was counted; warnings are in its
        `notes`.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.read({"user": ["ann"], "left": ["tea"], "right": ["milk"], "outcome": ["left"]}).form
    'battles'
    """
    options = ReadOptions(
        self_pairs=self_pairs,
        missing=missing,
        ties=ties,
        both_bad=both_bad,
        outcomes=outcomes,
        one_user=one_user,
        per_user=per_user,
        top_items=top_items,
        unlisted=unlisted,
        zero=zero,
    )
    return read_as(format, source, columns, query, options)


def comparisons_as(
    format: str | None,
    source: Any,
    columns: ColumnNames | None,
    query: str | None,
    options: ReadOptions,
) -> Comparisons:
    """Return the comparisons of `read_as`; its notes become warnings."""
    found = read_as(format, source, columns, query, options)
    for note in found.notes:
        warnings.warn(note, stacklevel=3)
    return found.comparisons


def read_as(
    format: str | None,
    source: Any,
    columns: ColumnNames | None,
    query: str | None,
    options: ReadOptions,
) -> Reading:
    """Read a source in the form that is named, or in the one that its columns fit."""
    if format is not None:
        check_choice("format", format, NAMES)
    check_columns(columns, list(ROLE_NAMES))
    found = _read(source, format, columns, query, options)
    notes = () if format is not None else _recognised(found, columns or {}, _title(source))
    comparisons = found.comparisons
    if comparisons is not source:
        comparisons = replace(comparisons, frame_kind=frame_kind(source))
    all_notes = (*notes, *found.notes)
    return replace(found, comparisons=comparisons, format_given=format is not None, notes=all_notes)


def _read(
    source: Any,
    format: str | None,
    columns: ColumnNames | None,
    query: str | None,
    options: ReadOptions,
) -> Reading:
    if isinstance(source, Comparisons):
        return Reading(source, "comparisons")
    if isinstance(source, Rankings):
        return reading_of_rankings(source, options)
    if isinstance(source, str | PathLike):
        with error_context(_title(source)):
            return _read_path(source, format, columns, query, options)
    if query is not None:
        expected = "left out, unless the source is a database"
        raise OptionError(*ABOUT_QUERY, option="query", value=query, expected=expected)
    return _read_table(open_table(source), format, columns, options)


def _read_path(
    source: Any,
    format: str | None,
    columns: ColumnNames | None,
    query: str | None,
    options: ReadOptions,
) -> Reading:
    if is_url(source):
        return _read_table(open_url(source, query), format, columns, options)
    path = Path(source)
    whole_file = format or (
        "preflib" if is_preflib(path) else "movielens" if is_movielens(path) else None
    )
    if whole_file not in FILES:
        return _read_table(open_path(source, query), format, columns, options)
    check_uses(whole_file, options)
    _check_no_columns(columns, f"a file of {whole_file} has")
    if whole_file == "movielens":
        return read_movielens_file(path, options)
    if not path.is_file():
        raise missing_file(path)
    return read_preflib_file(path, options)


def _check_no_columns(columns: ColumnNames | None, without: str) -> None:
    if columns is not None:
        raise OptionError(
            Option("columns"),
            f" names the columns of a table or a file; {without} none.",
            option="columns",
            value=columns,
            expected="left out",
        )


def _read_table(
    table: Input, format: str | None, columns: ColumnNames | None, options: ReadOptions
) -> Reading:
    if format in FILES:
        raise OptionError(
            Option("format"),
            f" is {format!r}, which is a file of its own kind, not a table.",
            option="format",
            value=format,
            expected="the form of a table",
        )
    if table.title == "The list":
        _check_no_columns(columns, "rows of tuples have")
    form = choose_form(table, format, columns, one_user=options.one_user)
    check_uses(form.name, options)
    return read_form(table, form, columns, options)


def _title(source: Any) -> str:
    if isinstance(source, str | PathLike):
        return without_password(str(source)) if is_url(source) else str(Path(source))
    return "The table"


def _recognised(found: Reading, columns: ColumnNames, title: str) -> tuple[DataWarning, ...]:
    """Say which form was recognised, unless it is plain comparisons under the usual names."""
    plain = all(theirs in (ours, columns.get(ours)) for ours, theirs in found.taken.items())
    if found.form == "comparisons" and plain:
        return ()
    taken = ", ".join(
        f"{ours} from {theirs!r}" for ours, theirs in found.taken.items() if ours != theirs
    )
    text = f"{title} was read as {found.form}{f' ({taken})' if taken else ''}; pass "
    return (DataWarning(text, Option("format", found.form), " to say so yourself."),)
