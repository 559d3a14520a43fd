"""A folder given where a file is expected: its Parquet files, or what else in it can be read."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mallowmix.errors import FileError

_MOST_NAMED = 5  # files of a folder in a message


class FolderError(FileError):
    """A folder without Parquet files was given; `files` are those in it that can be read.

    Parameters
    ----------
    folder : Path
        The folder, as it was given.
    files : sequence of Path
        What can be read, one at least.

    Examples
    --------
    >>> str(FolderError(Path("polls"), [Path("polls/may.csv")]))
    'polls is a folder, in which may.csv can be read: give polls/may.csv instead.'
    """

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        self.folder, self.files = folder, tuple(files)
        super().__init__(f"{self.found()}: give {self.instead()} instead.")

    def __reduce__(self) -> tuple[type["FolderError"], tuple[Path, tuple[Path, ...]]]:
        """Pickle it with its fields, so that one process can pass it to another."""
        return FolderError, (self.folder, self.files)

    def found(self) -> str:
        """What is in the folder, as the beginning of a sentence."""
        names = [file.relative_to(self.folder).as_posix() for file in self.files]
        if len(names) == 1:
            return f"{self.folder} is a folder, in which {names[0]} can be read"
        shown = ", ".join(names[:_MOST_NAMED]) + ", …" * (len(names) > _MOST_NAMED)
        return f"{self.folder} is a folder, in which {len(names)} files can be read ({shown})"

    def instead(self, write: Callable[[str], str] = str) -> str:
        """What to give instead, a path or a pattern written by `write`."""
        first = write(self.files[0].as_posix())
        same = {(file.parent, file.suffix) for file in self.files}
        if len(self.files) == 1:
            return first
        if len(same) > 1:
            return f"one of them, as in {first}"
        pattern = (self.files[0].parent / f"*{self.files[0].suffix}").as_posix()
        return f"one of them, as in {first}, or all at once, as in {write(pattern)}"


def parquet_files(folder: Path, can_be_read: Callable[[Path], bool], readable: str) -> list[Path]:
    """Return the Parquet files of a folder by name; those that begin with . or _ are metadata.

    Parameters
    ----------
    folder : Path
        The folder.
    can_be_read : function of a path
        Whether a file could be given by itself.
    readable : str
        What could be, in words.

    Raises
    ------
    FileError
        Where there is none: what else is in the folder that can be read.
    """
    files = _plain_files(folder, "*")
    parquet = [file for file in files if file.suffix.lower() == ".parquet"]
    if parquet:
        return parquet
    others = [file for file in files if can_be_read(file)]
    below = others or [file for file in _plain_files(folder, "*/*") if can_be_read(file)]
    if below:
        raise FolderError(folder, below)
    raise FileError(
        f"{folder} is a folder with nothing in it that can be read; mallowmix reads {readable}."
    )


def _plain_files(folder: Path, pattern: str) -> list[Path]:
    return sorted(
        file for file in folder.glob(pattern) if file.name[0] not in "._" and file.is_file()
    )
