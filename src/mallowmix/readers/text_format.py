"""How a text file is written: its encoding, separator, decimal sign, and whether it has a header.

What is not given is found out where the file leaves no doubt: a byte-order mark, a separator that
alone makes fields of the first lines, decimal commas between semicolons or tabs.
"""

import codecs
import csv
import io
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from mallowmix.data.lazy_arrow import pc
from mallowmix.errors import (
    DataWarning,
    FileError,
    Option,
    OptionError,
    check_choice,
    check_flag,
    did_you_choose,
    did_you_mean,
)
from mallowmix.readers.compressed import open_bytes, unpacked_name

DELIMITERS = {".csv": ",", ".tsv": "\t"}
_SEPARATORS = (",", ";", "\t", "|")
_ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16", "iso-8859-1", "utf-8-sig", "ascii")
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "space": " "}
_LINES = 20  # records that must agree on their number of fields
_START = 1 << 16  # bytes that are looked at
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with that one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """Options of text files; None where it is to be found out.

    Attributes
    ----------
    separator : str
        What stands between two fields: one character, or comma, semicolon, tab, space.
    decimal : {".", ","}
        The decimal sign of numbers.
    encoding : str
        Such as "latin-1" or "utf-16".
    header : bool
        Whether the first line names the columns.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool = True

    def __post_init__(self) -> None:
        if self.separator is not None:
            _check_separator(self.separator)
        if self.decimal is not None:
            check_choice("decimal", self.decimal, (".", ","))
        if self.encoding is not None:
            _check_encoding(self.encoding)
        check_flag("header", self.header)

    @property
    def given(self) -> tuple[str, Any] | None:
        """The first option that was given, with its value."""
        usual = TextFormat()
        names = ("separator", "decimal", "encoding", "header")
        return next(
            ((each, getattr(self, each)) for each in names if _differs(self, usual, each)), None
        )


def _differs(one: TextFormat, other: TextFormat, name: str) -> bool:
    return getattr(one, name) != getattr(other, name)


def _check_separator(separator: object) -> None:
    character = _WORDS.get(str(separator), separator)
    if not isinstance(character, str) or len(character) != 1 or character in '"\r\n':
        raise OptionError(
            option="separator",
            value=separator,
            expected="one character, or comma, semicolon, tab or space",
            hint=did_you_choose(separator, _WORDS).lstrip() or (),
        )


def _check_encoding(encoding: object) -> None:
    try:
        codecs.lookup(str(encoding))
        "".encode(str(encoding))  # base64 and its like are codecs, but not of text
    except LookupError:
        raise OptionError(
            option="encoding",
            value=encoding,
            expected="the name of an encoding, as in 'utf-8', 'latin-1', 'cp1252' or 'utf-16'",
            hint=did_you_mean(encoding, _ENCODINGS).lstrip() or (),
        ) from None


@dataclass(frozen=True)
class TextDialect:
    """How one file is written, every question answered.

    Attributes
    ----------
    path : Path
    encoding, separator : str
    decimal : str or None
        None where decimal commas are recognised by the numbers.
    header : bool
    notes : tuple of DataWarning
        What was found out.
    """

    path: Path
    encoding: str
    separator: str
    decimal: str | None = None
    header: bool = True
    notes: tuple[DataWarning, ...] = ()

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes can be read without conversion."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig", "ascii")


_AS_IT_IS = TextFormat()


def find_dialect(path: Path, text: TextFormat = _AS_IT_IS) -> TextDialect:
    """Find out how a file is written, where the options do not say.

    Parameters
    ----------
    path : Path
        The file, which may be compressed.
    text : TextFormat
        What is known.

    Returns
    -------
    TextDialect
    """
    with open_bytes(path) as file:
        start = file.read(_START)
    encoding = text.encoding or _marked(start) or "utf-8-sig"
    if encoding.lower().replace("_", "-") == "utf-8":
        encoding = "utf-8-sig"
    usual = DELIMITERS.get(unpacked_name(path)[-4:], ",")
    notes: tuple[DataWarning, ...] = ()
    if text.separator is not None:
        separator = _WORDS.get(text.separator, text.separator)
    else:
        separator = _found_separator(start, encoding, usual)
        if separator != usual:
            word = "tab" if separator == "\t" else separator  # a tab is not seen in a message
            notes = (_said(path, "separator", word, f"{separator!r} between fields"),)
    return TextDialect(path, encoding, separator, text.decimal, text.header, notes)


def _marked(start: bytes) -> str | None:
    """Return the encoding that a byte-order mark tells; binary files may begin with one, too."""
    encoding = next((name for mark, name in _MARKS if start.startswith(mark)), None)
    if encoding in (None, "utf-8-sig"):
        return encoding
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else encoding


def _found_separator(start: bytes, encoding: str, usual: str) -> str:
    """Return the usual separator, unless another one alone gives every line the same fields."""
    text = codecs.getincrementaldecoder(encoding)("replace").decode(start)
    if _same_fields(text, usual):
        return usual
    found = [each for each in _SEPARATORS if each != usual and _same_fields(text, each)]
    return found[0] if len(found) == 1 else usual


def _same_fields(text: str, separator: str) -> bool:
    """Return whether the first records have the same number of fields, more than one."""
    whole = text[: text.rfind("\n") + 1] or text  # the last line may be cut
    reader = csv.reader(io.StringIO(whole, newline=""), delimiter=separator)
    try:
        counts = {len(fields) for fields in islice(filter(None, reader), _LINES)}
    except csv.Error:
        return False
    return len(counts) == 1 and counts.pop() > 1


def _said(path: Path, option: str, value: str, how: str) -> DataWarning:
    return DataWarning(
        f"{path} was read with {how}; pass ", Option(option, value), " to say so yourself."
    )


def with_decimal_points(
    column: pa.ChunkedArray, dialect: TextDialect, name: str
) -> tuple[pa.ChunkedArray, tuple[DataWarning, ...]]:
    """Write 4,5 as 4.5 in a column of text, where commas are decimal signs.

    They are if the option says so, or if fields are not separated by commas and the numbers leave
    no doubt: every one has at most one comma, not all of these exactly three digits after it.
    """
    if dialect.decimal == "." or not pa.types.is_string(column.type):
        return column, ()
    points = pc.replace_substring(column, ",", ".")
    if dialect.decimal == ",":
        return points, ()
    if dialect.separator == "," or not _decimal_commas(column):
        return column, ()
    how = f"decimal commas in the column {name!r}"
    return points, (_said(dialect.path, "decimal", ",", how),)


def _decimal_commas(column: pa.ChunkedArray) -> bool:
    filled = column.drop_null()
    commas = filled.filter(pc.match_substring(filled, ","))
    numbers = pc.match_substring_regex(filled, r"^\s*-?\d+(,\d+)?\s*$")
    thousands = pc.match_substring_regex(commas, r",\d{3}\s*$")
    return bool(len(commas) and pc.all(numbers).as_py() and not pc.all(thousands).as_py())


def not_this_text(dialect: TextDialect, line: int) -> FileError:
    """Say that a line is not text in the encoding that was tried, and what to do."""
    if dialect.is_utf8:
        return FileError(
            f"{dialect.path} line {line} is not UTF-8 text: save the file with the encoding "
            "UTF-8, or name the encoding that it has, as in ",
            Option("encoding", "cp1252"),
            " (Windows in Western Europe).",
        )
    return FileError(
        f"{dialect.path} line {line} is not text in the encoding {dialect.encoding}: name the "
        "encoding that it has with ",
        Option("encoding"),
        ", or save the file with UTF-8.",
    )
