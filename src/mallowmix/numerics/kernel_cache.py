"""Where compiled kernels are kept: a folder that can be written to, also in a read-only install.

Numba keeps them beside the source, or else in the user's cache folder, and refuses to work where
neither can be written. Then a folder of this user among the temporary files is named instead.
"""

import os
import sys
import tempfile
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
_PACKAGE = Path(__file__).parents[1]


def use_writable_cache() -> None:
    """Name a folder for compiled kernels where Numba would find none; before Numba is imported."""
    if os.environ.get(VARIABLE) or _writable(_PACKAGE / "numerics" / "__pycache__"):
        return
    if _writable(_user_cache()):
        return
    folder = _temporary_folder()
    os.environ[VARIABLE] = str(folder)
    if "numba" in sys.modules:  # it has read its settings already
        sys.modules["numba"].config.CACHE_DIR = str(folder)


def _writable(folder: Path) -> bool:
    """Whether it, or where it is missing the nearest folder above it, can be written to."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _user_cache() -> Path:
    """The folder that Numba would use beside its own choice, on Linux, macOS and Windows."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 Path.home() fails without a home
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def _temporary_folder() -> Path:
    """A folder that belongs to this user alone: kernels in it are run, so nobody else may write."""
    owner = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"mallowmix-kernels-{owner}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if hasattr(os, "getuid") and (about.st_uid != owner or about.st_mode & 0o022):
        return Path(tempfile.mkdtemp(prefix="mallowmix-kernels-"))
    return folder
