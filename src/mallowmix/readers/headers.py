"""Which column is which: our names (user, winner, loser, weight) matched to those that a table or a file has."""

from collections.abc import Mapping, Sequence
from typing import Any

from mallowmix.errors import DataError, OptionError

NEEDED = ("user", "winner", "loser")
OURS = (*NEEDED, "weight")
_SHOWN = 20  # names listed in a message


def check_columns(columns: Mapping[str, Any] | None) -> None:
    """Raise an OptionError unless `columns` goes from our names to different names of theirs."""
    if columns is None:
        return
    if not isinstance(columns, Mapping):
        raise OptionError(f'columns is {columns!r}; it must be a mapping from our names to theirs, as in {{"winner": "better"}}.')
    unknown = [name for name in columns if name not in OURS]
    if unknown:
        raise OptionError(
            f"columns has the key {unknown[0]!r}, which is none of {', '.join(OURS)}: "
            'our name comes first, as in columns={"winner": "better"}.'
        )
    theirs = [name for name in columns.values() if name is not None]
    if len(set(theirs)) < len(theirs):
        raise OptionError("columns gives two of user, winner, loser, weight the same column; they must differ.")


def pick_columns(present: Sequence[Any], columns: Mapping[str, Any] | None, source: str) -> dict[str, Any]:
    """Our name → their name, for the three needed columns and the weight where there is one; `source` begins the message."""
    wanted = {name: name for name in OURS} | dict(columns or {})
    if wanted["weight"] is None or ("weight" not in (columns or {}) and "weight" not in present):
        del wanted["weight"]
    for ours, theirs in wanted.items():
        if present.count(theirs) == 0:
            raise DataError(_lacking(ours, theirs, present, source))
        if present.count(theirs) > 1:
            raise DataError(f"{source} has {present.count(theirs)} columns named {theirs!r}: give each its own name.")
    return wanted


def _lacking(ours: str, theirs: Any, present: Sequence[Any], source: str) -> str:
    names = ", ".join(map(repr, present[:_SHOWN])) + (", …" if len(present) > _SHOWN else "")
    return (
        f"{source} has no column {theirs!r}, only {names or 'none at all'}: say which one holds the {ours} with "
        f'columns={{"{ours}": "..."}} in Python or --columns {ours}=... on the command line.'
    )
