"""Names of items in a file: identifier and label, and perhaps a description and a picture."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from mallowmix.data.argument_kinds import as_path
from mallowmix.errors import DataError, did_you_mean
from mallowmix.readers.csv_rows import check_one_line, csv_rows
from mallowmix.readers.inputs import unreadable_text

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons

_COLUMNS = {
    "id": ("id", "item", "item_id", "key", "code"),
    "label": ("label", "name", "title", "text"),
    "description": ("description", "about"),
    "picture": ("picture", "image", "image_url", "photo"),
}


@dataclass(frozen=True)
class ItemName:
    """How one item is shown: its label, and perhaps a description and the address of a picture."""

    label: str
    description: str = ""
    picture: str = ""


@dataclass(frozen=True)
class ItemNames:
    """Names of items, by the identifiers that the data use.

    Examples
    --------
    >>> names = ItemNames({"7": ItemName("tea"), "8": ItemName("milk")})
    >>> names.labels_of(["7", "9"])
    {'7': 'tea'}
    """

    names: Mapping[str, ItemName]

    def labels_of(self, items: Iterable[object]) -> dict[str, str]:
        """The labels of those items that have one.

        Parameters
        ----------
        items : labels
            Those that the data or the model have.

        Returns
        -------
        dict of str to str

        Raises
        ------
        DataError
            Where none of them is named: the file belongs to something else.
        """
        known = [str(item) for item in items]
        found = {item: self.names[item].label for item in known if item in self.names}
        if not found and known and self.names:
            first = next(iter(self.names))
            raise DataError(
                f"None of the {len(known)} items has a name in the file of names: its ids are "
                f"others, such as {first!r}.{did_you_mean(first, known)} Check its column id."
            )
        return found

    def renamed(self, comparisons: "Comparisons") -> "Comparisons":
        """The same comparisons, with labels in place of identifiers; others stay as they are."""
        return comparisons.relabelled(self.shown(comparisons.items.tolist()))

    def shown(self, items: Iterable[object]) -> list[str]:
        """How each item is called: by its label, or as it is where it has none."""
        known = [str(item) for item in items]
        labels = self.labels_of(known)
        return [labels.get(item, item) for item in known]


def read_item_names(path: str | PathLike[str]) -> ItemNames:
    """Read names of items from a CSV file with a header.

    Parameters
    ----------
    path : str or path
        Its columns are ``id`` (or ``item``), ``label`` (or ``name``), and perhaps ``description``
        and ``picture``.

    Returns
    -------
    ItemNames
    """
    path = as_path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            every = csv_rows(file, path, strict=True)
            rows = [each for each in every if any(map(str.strip, each[1]))]
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable_text(path, "names of items", error) from None
    return ItemNames(_named(path, rows))


def _named(path: Path, rows: list[tuple[int, list[str]]]) -> dict[str, ItemName]:
    where = _columns(path, rows[0][1] if rows else [])
    names: dict[str, ItemName] = {}
    for number, row in rows[1:]:
        values = {part: row[n].strip() for part, n in where.items() if n < len(row)}
        item, label = values.pop("id", ""), values.pop("label", "")
        if not item or not label:
            raise DataError(f"{path} line {number} lacks an id or a label: give both.")
        check_one_line((item, label), path, number)
        if item in names:
            raise DataError(f"{path} line {number}: the id {item!r} is there twice.")
        names[item] = ItemName(label, **values)
    _check_labels(path, names)
    return names


def _columns(path: Path, header: list[str]) -> dict[str, int]:
    """Where each column is."""
    known = [name.strip().lower() for name in header]
    where = {
        part: next((known.index(word) for word in words if word in known), -1)
        for part, words in _COLUMNS.items()
    }
    if where["id"] < 0 or where["label"] < 0:
        raise DataError(
            f"{path} needs a header with the columns id and label (and description and picture, "
            f"if you like); it has {', '.join(header) or 'none'}."
        )
    return {part: n for part, n in where.items() if n >= 0}


def _check_labels(path: Path, names: Mapping[str, ItemName]) -> None:
    seen: dict[str, str] = {}
    for item, name in names.items():
        if name.label in seen:
            raise DataError(
                f"{path}: {seen[name.label]!r} and {item!r} have the same label {name.label!r}; "
                "give each its own."
            )
        seen[name.label] = item
