"""A small CSV file that leaves no question open, read without Arrow, whose import takes longer.

Every line has the fields of the header, none is empty, and there is no quote in the file. What is
read is what `csv_files` reads. Any other file is left to it: it says what is wrong or unclear.
"""

from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.numerics.small_work import is_small

_BYTES_A_FIELD = 8  # about; each field is one of the numbers that `is_small` counts
_QUESTIONS = ('"', "\0", "\r", "\ufeff", ",'", "\n'", "\n\n")  # see `csv_files`, `text_format`
Columns: TypeAlias = dict[str, list[str]]


def small_columns(path: Path) -> Columns | None:
    """The columns of a small file by their names, each a list of text.

    Parameters
    ----------
    path : Path
        Any file.

    Returns
    -------
    dict or None
        None where the file must be read by `csv_files`, or where much is asked
        (`numerics.small_work`).
    """
    text = _small_text(path)
    if text is None or any(question in text for question in _QUESTIONS):
        return None
    lines = text.removesuffix("\n").split("\n")
    names = lines[0].split(",")
    n_fields = len(names)
    if len(set(names)) < n_fields or len(lines) < 2 or n_fields < 2:
        return None
    if any(line.count(",") != n_fields - 1 for line in lines):
        return None
    fields = ",".join(lines[1:]).split(",")
    if not all(names) or not all(fields):
        return None
    return {name: fields[n::n_fields] for n, name in enumerate(names)}


def _small_text(path: Path) -> str | None:
    """What stands in a small file; None unless it is one, and UTF-8."""
    if path.suffix != ".csv" or not path.is_file():
        return None
    if not is_small(path.stat().st_size // _BYTES_A_FIELD):
        return None
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None


def small_comparisons(path: Path) -> Comparisons | None:
    """The comparisons of a small file with the columns user, winner and loser alone.

    Parameters
    ----------
    path : Path
        Any file.

    Returns
    -------
    Comparisons or None
        None where the file must be read by `read`.
    """
    columns = small_columns(path)
    if columns is None or set(columns) != {"user", "winner", "loser"}:
        return None
    items = sorted({*columns["winner"], *columns["loser"]})
    users = sorted(set(columns["user"]))
    winner, loser = _numbers(columns["winner"], items), _numbers(columns["loser"], items)
    if (winner == loser).any():
        return None
    return Comparisons.from_codes(
        _numbers(columns["user"], users), winner, loser, None, items, users
    )


def _numbers(labels: list[str], known: list[str]) -> NDArray[np.int64]:
    number = {label: n for n, label in enumerate(known)}
    return np.fromiter(map(number.__getitem__, labels), np.int64, len(labels))
