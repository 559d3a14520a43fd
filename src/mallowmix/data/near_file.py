"""The file that was perhaps meant by a path that leads to none."""

import os
from itertools import islice
from pathlib import Path

from mallowmix.errors import nearest

_MOST_LISTED = 10_000  # entries of a folder that a wrong name is compared with
_ALIKE = 0.7  # of the names without their endings: of "a.csv" and "b.csv" the rest is the same


def did_you_mean_file(path: Path) -> str:
    """A question with the nearest file in the same folder, or the same file in the nearest one.

    After a blank; nothing where none is near.
    """
    near = _near(path) if path.parent.is_dir() else _elsewhere(path)
    return f" Did you mean {near}?" if near is not None else ""


def _elsewhere(path: Path) -> Path | None:
    folder = _near(path.parent) if path.parent.parent.is_dir() else None
    there = folder / path.name if folder is not None else None
    return there if there is not None and there.is_file() else None


def _near(path: Path) -> Path | None:
    """What has nearly this name and the same ending, or the same name and nearly this ending."""
    try:
        names = [each.name for each in islice(os.scandir(path.parent), _MOST_LISTED)]
    except OSError:
        return None
    stems = {Path(name).stem: name for name in names if Path(name).suffix == path.suffix}
    found = [stems[stem] for stem in nearest(path.stem, stems, 1, _ALIKE)]
    same = [name for name in names if Path(name).stem == path.stem]
    found = found or nearest(path.name, same, 1, _ALIKE)
    return path.parent / found[0] if found else None
