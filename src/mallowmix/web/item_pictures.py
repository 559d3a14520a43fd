"""Pictures of items: files beside the file of names, served by this server alone."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from mallowmix.errors import DataError, FileError
from mallowmix.readers.names_file import ItemName, ItemNames, read_item_names

TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
_LARGEST = 5_000_000  # bytes


def read_shown_items(path: Path) -> dict[str, ItemName]:
    """Names of items by their identifiers, each picture the path of a file that is there.

    Parameters
    ----------
    path : Path
        As `read_item_names` takes it; pictures are named by their place beside it.
    """
    names = dict(read_item_names(path).names)
    for item, name in names.items():
        if name.picture:
            file = _file(path, item, name.picture)
            names[item] = ItemName(name.label, name.description, str(file))
    return names


def with_labels(items: Iterable[object], names: Mapping[str, ItemName]) -> list[str]:
    """How each item is called; one that is called by its label already keeps it.

    Parameters
    ----------
    items : labels
        Identifiers or labels.
    names : mapping
        As `read_shown_items` returns them.
    """
    known = [str(item) for item in items]
    if {each.label for each in names.values()} & set(known):
        return [names[item].label if item in names else item for item in known]
    return ItemNames(names).shown(known)


def _file(path: Path, item: str, picture: str) -> Path:
    if "://" in picture or picture.startswith("//"):
        raise DataError(
            f"{path}: the picture of {item!r} is on another server ({picture}), and the pages ask "
            "no other server: save it beside the file, and give its name."
        )
    file = (path.parent / picture).resolve()
    if not file.is_relative_to(path.parent.resolve()):
        raise DataError(
            f"{path}: the picture of {item!r}, {picture}, is not in the folder of the file: put it "
            "there."
        )
    if file.suffix.lower() not in TYPES:
        endings = ", ".join(TYPES)
        raise DataError(f"{path}: the picture of {item!r}, {picture}, must end in {endings}.")
    if not file.is_file():
        raise FileError(f"{path}: there is no picture {picture} of {item!r}: check the name.")
    if file.stat().st_size > _LARGEST:
        raise FileError(
            f"{path}: the picture {picture} of {item!r} is larger than {_LARGEST / 1e6:g} MB: make "
            "it smaller."
        )
    return file
