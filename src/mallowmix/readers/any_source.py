"""Reading from any source: which opener it needs, which form it has, and what was found out."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.frames import frame_kind
from mallowmix.data.rankings import Rankings
from mallowmix.errors import DataError, DataWarning, FileError, Option, OptionError, check_choice
from mallowmix.readers.files import open_path
from mallowmix.readers.forms import FILES, NAMES, check_uses, choose_form, read_form
from mallowmix.readers.headers import NAMES as ROLE_NAMES
from mallowmix.readers.headers import check_columns
from mallowmix.readers.inputs import Input, error_context, missing_file
from mallowmix.readers.movielens import is_movielens, read_movielens_file
from mallowmix.readers.preflib import is_preflib, read_preflib_file
from mallowmix.readers.ranked_comparisons import reading_of_rankings
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.sql import ABOUT_QUERY, is_url, open_url, without_password
from mallowmix.readers.tables import WIDTHS, open_table

ColumnNames: TypeAlias = Mapping[str, Any]  # our name → theirs
# the columns of a file without a header, in their order, by form and number of columns
_WITHOUT_HEADER = {
    **{("comparisons", width): names for width, names in WIDTHS.items() if width > 2},
    ("choix", 2): WIDTHS[2],
    ("ratings", 3): ("user", "item", "rating"),
    ("rankings", 3): ("user", "item", "rank"),
    ("battles", 4): ("user", "left", "right", "outcome"),
    ("bayesmallows", 3): ("user", "loser", "winner"),
}


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
    known = format is not None or isinstance(source, Reading)
    notes = () if known else _recognised(found, columns or {}, _title(source))
    comparisons = found.comparisons
    if comparisons is not source and not isinstance(source, Reading):
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
    if isinstance(source, Reading):
        return replace(source, notes=())
    if isinstance(source, Rankings):
        return reading_of_rankings(source, options)
    if isinstance(source, str | PathLike):
        with error_context(_title(source)):
            return _read_path(source, format, columns, query, options)
    if query is not None:
        expected = "left out, unless the source is a database"
        raise OptionError(*ABOUT_QUERY, option="query", value=query, expected=expected)
    _check_no_text_format(options)
    return _read_table(open_table(source), format, columns, options)


def _check_no_text_format(options: ReadOptions) -> None:
    if options.text.given is not None:
        name, value = options.text.given
        raise OptionError(
            Option(name),
            " is for text files (.csv, .tsv); a table has none.",
            option=name,
            value=value,
            expected="left out, unless the source is a text file",
        )


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
    if path.suffix.lower() == ".m4":
        raise FileError(
            f"{path} is a model, not comparisons: it goes where a model is asked for, in Python "
            "through mallowmix.load."
        )
    whole_file = format or (
        "preflib" if is_preflib(path) else "movielens" if is_movielens(path) else None
    )
    if whole_file not in FILES:
        table = open_path(source, query, options.text, any_ending=format is not None)
        return _read_table(table, format, columns, options)
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
        columns = _columns_of_rows(table, format)
    if not options.text.header and columns is None:
        columns = _columns_in_order(table, format or "comparisons")
    form = choose_form(table, format, columns, one_user=options.one_user)
    check_uses(form.name, options)
    reading = read_form(table, form, columns, options)
    return reading.with_notes(*dict.fromkeys(table.notes))


def _columns_of_rows(table: Input, format: str | None) -> ColumnNames | None:
    """What tuples hold as ratings or rankings: user, item and a number, as in a file."""
    if format not in ("ratings", "rankings"):
        return None
    last = table.take({"last": table.names[-1]})["last"] if format == "rankings" else ()
    if any(isinstance(value, str) for value in last):
        raise DataError(
            "Rankings as tuples are (user, item, rank) with a number at the end. For lists of "
            "items, the best first, give mallowmix.Rankings.from_orders(lists)."
        )
    return _columns_in_order(table, format) if len(table.names) == 3 else None


def _columns_in_order(table: Input, format: str) -> ColumnNames:
    """Return what the columns of a table without a header are, by their number."""
    names = _WITHOUT_HEADER.get((format, len(table.names)))
    if names is None:
        raise OptionError(
            f"{table.title} has {len(table.names)} columns without names, and what they hold as "
            f"{format} is not known: say it by their numbers, as in ",
            Option("columns", {"user": "1", "winner": "2", "loser": "3"}),
            ".",
            option="columns",
            value=None,
            expected="the numbers of columns, where there is no header",
        )
    return dict(zip(names, table.names, strict=True))


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
        f"{ours} from {_column(theirs)}" for ours, theirs in found.taken.items() if ours != theirs
    )
    text = f"{title} was read as {found.form}{f' ({taken})' if taken else ''}; pass "
    return (DataWarning(text, Option("format", found.form), " to say so yourself."),)


def _column(name: object) -> str:
    return repr(name) if str(name).strip() else "the first column, which has no name"
