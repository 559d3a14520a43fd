"""A report as a long table: a row for each number, label and sentence that it holds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mallowmix.data.lazy_arrow import pa

Row = tuple[str, int | None, str, float | None]


def quantity_columns(
    values: Mapping[str, Any], labels: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Any]:
    """The columns quantity, number, about and value of a report's plain values.

    Parameters
    ----------
    values : mapping
        Numbers, texts, lists and mappings, as `to_dict` of a report gives them.
    labels : mapping, optional
        By quantity, what each entry of a list of numbers is about.

    Returns
    -------
    dict
        `quantity` is the name of a field, after those that hold it, with points between; `number`
        counts the entries of a list from 1; `about` has the texts that belong to a number, or a
        text alone; `value` is the number.

    Examples
    --------
    >>> report = {"n_users": 2, "never_win": ["milk"], "pairs": [{"item": "tea", "spread": 0.5}]}
    >>> for row in zip(*(column.to_pylist() for column in quantity_columns(report).values())):
    ...     print(row)
    ('n_users', None, '', 2.0)
    ('never_win', 1, 'milk', None)
    ('pairs.spread', 1, 'tea', 0.5)
    """
    rows = [row for name, value in values.items() for row in _rows(name, None, "", value)]
    rows = [_labelled(row, labels or {}) for row in rows]
    names, types = ("quantity", "number", "about", "value"), (pa.string(), pa.int64(), pa.string())
    columns = zip(*rows, strict=True) if rows else [()] * 4
    return {
        name: pa.array(list(column), kind)
        for name, column, kind in zip(names, columns, (*types, pa.float64()), strict=True)
    }


def _labelled(row: Row, labels: Mapping[str, Sequence[str]]) -> Row:
    quantity, number, about, value = row
    if quantity not in labels or number is None:
        return row
    return quantity, number, about or labels[quantity][number - 1], value


def _rows(quantity: str, number: int | None, about: str, value: Any) -> Iterator[Row]:
    if isinstance(value, Mapping):
        texts = [text for text in value.values() if isinstance(text, str)]
        others = {name: each for name, each in value.items() if not isinstance(each, str)}
        about = ", ".join([about] * bool(about) + texts)
        if not others:
            yield quantity, number, about, None
        for name, each in others.items():
            yield from _rows(f"{quantity}.{name}", number, about, each)
    elif isinstance(value, list | tuple):
        for n, each in enumerate(value, 1):
            yield from _rows(quantity, number or n, about, each)
    elif isinstance(value, str):
        yield quantity, number, value, None
    elif value is not None:
        yield quantity, number, about, float(value)
