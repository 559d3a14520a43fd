"""Packages that a plain install leaves out: imported when needed, or one sentence says what to do.

The table of extras in README.md and `[project.optional-dependencies]` in pyproject.toml say the
same (a test compares them).
"""

import importlib
from types import ModuleType

from mallowmix.errors import MissingPackageError

EXTRA_OF = {
    "arviz": "posterior",
    "choix": "peers",
    "distributed": "dask",
    "duckdb": "data",
    "fastapi": "web",
    "h5netcdf": "posterior",
    "matplotlib": "plots",
    "openpyxl": "data",
    "psycopg": "data",
    "python_multipart": "web",
    "sqlalchemy": "web",
    "uvicorn": "web",
    "xarray": "posterior",
}
_TITLES = {
    "distributed": "Dask",
    "duckdb": "DuckDB",
    "python_multipart": "python-multipart",
}


def optional_package(name: str, what: str) -> ModuleType:
    """Import a package that only some tasks need.

    Parameters
    ----------
    name : str
        The module's name, as in ``"duckdb"``.
    what : str
        What needs it: the beginning of a sentence.

    Returns
    -------
    module
        The package.

    Raises
    ------
    MissingPackageError
        Where it is not installed: what needs it, and the command that installs it.

    Examples
    --------
    >>> optional_package("duckdb", "A DuckDB file").__name__
    'duckdb'
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:  # not one that is there and cannot be loaded
        raise missing(name, what) from None


def missing(name: str, what: str) -> MissingPackageError:
    """The error that says what needs a package, and how to install it."""
    extra = EXTRA_OF.get(name)
    install = f"'mallowmix[{extra}]'" if extra else name
    return MissingPackageError(_TITLES.get(name, name), install, what)
