"""The column of users, or the reason why there must be one."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from mallowmix.errors import DataError, Option, Part, nearest
from mallowmix.readers.headers import NAMES

_MISTYPED = 0.75  # how alike a column's name and one for users are
ONE_USER = "everybody"  # words: ok (the label in results)


def user_column(columns: Mapping[str, Any], n_rows: int, *, one_user: bool, title: str) -> Any:
    """Return the column of users; a single user where there is none and `one_user`."""
    if "user" in columns:
        return columns["user"]
    if not one_user:
        raise DataError(*no_user_message(title))
    return pa.chunked_array([pa.array([ONE_USER]).take(pa.array([0] * n_rows, pa.int32()))])


def no_user_message(title: str, others: Iterable[Any] = ()) -> tuple[Part, ...]:
    """Explain why users are needed, as parts of a message; `others` are columns without a role."""
    near = next((each for each in others if nearest(each, NAMES["user"], 1, _MISTYPED)), None)
    return (
        f"{title} does not say who chose: mallowmix learns how people differ from what each "
        "of them "
        "chose, so it needs a column of users (",
        Option("columns", {"user": "NAME"}),
        " names it). Pass ",
        Option("one_user", True),
        " to treat all rows as one person's; then there is one ranking to learn and no mixture.",
        "" if near is None else f" Did you mean {near!r}?",
    )
