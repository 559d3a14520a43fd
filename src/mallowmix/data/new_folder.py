"""A folder for results, made if need be."""

from pathlib import Path

from mallowmix.errors import FileError


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, where they are not there.

    Parameters
    ----------
    folder : Path
        Its name.

    Raises
    ------
    FileError
        Where it cannot be used: a file has that name, or one may not write there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{folder} cannot be used as a folder: {error.strerror or error}."
        ) from None
