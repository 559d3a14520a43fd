"""Where a result comes from: commit, options, seeds, versions, date, and the code that ran.

The code is a hash of every module of this project that is imported, without comments and
docstrings, so that a result is stale when what computed it has changed, not when words have.
"""

import ast
import functools
import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

import mallowmix

PROJECTS = ("mallowmix", "benchmarks")
# every command is imported with the command line; one of them ran, and has a record of its options
_OTHER_COMMANDS, _OWN_COMMAND = "mallowmix.cli", "mallowmix.cli.reproduce"
# what runs no experiment: it hands the words of a command line on, keeps records, writes a page, or
# says what is wrong
_NO_NUMBERS = ("mallowmix.__main__", "mallowmix.cli.reproduce", "mallowmix.paper.provenance")
_NO_NUMBERS += ("mallowmix.paper.recorded_rows", "mallowmix.paper.result_log")
_NO_NUMBERS += ("mallowmix.paper.row_selection", "mallowmix.errors", "benchmarks.record")
_NO_NUMBERS += ("benchmarks.page", "benchmarks.page_tables", "benchmarks.scale_page")
_PACKAGES = ("mallowmix", "numpy", "scipy", "numba", "pyarrow")
# what decides a result: not what a run writes
_CODE = ("src", "benchmarks", ":(exclude)benchmarks/results")


def run_record(
    options: Mapping[str, Any] | Iterable[str] = (), seeds: Iterable[int] = ()
) -> dict[str, Any]:
    """All that one needs to know to repeat a run; call it when the run is done.

    Parameters
    ----------
    options : mapping, or sequence of str
        What it was run with; of a path only the name is kept.
    seeds : iterable of int
        Its seeds.

    Returns
    -------
    dict
        Plain values for a JSON file: commit (None outside of a repository), clean, date, options,
        seeds, python, packages, and modules with the hash of each.
    """
    named = dict(options) if isinstance(options, Mapping) else None
    kept = _without_folders(named) if named is not None else [_name(o) for o in options]
    return {
        "commit": _git("rev-parse", "HEAD"),
        "clean": _clean(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "options": kept,
        "seeds": list(seeds),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "modules": imported_modules(),
    }


def imported_modules() -> dict[str, str]:
    """The hash of every module of this project that is imported, by name.

    The study that runs is one of them, though Python calls it ``__main__``. Of the command line
    only `mallowmix reproduce` counts, and of an experiment not its report: the texts of other
    commands, and of the page about the rows, decide no number.
    """
    files = {}
    for name, module in sys.modules.items():
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py"):
            files[_own_name(name, module)] = Path(file)
    return {
        name: code_hash(files[name].read_text(encoding="utf-8"))
        for name in sorted(files)
        if _counts(name)
    }


def _own_name(name: str, module: ModuleType) -> str:
    """The name by which a module is imported; `python -m` calls the one that runs ``__main__``."""
    spec = getattr(module, "__spec__", None)
    return spec.name if name == "__main__" and spec else name


def _counts(name: str) -> bool:
    other = name.startswith(_OTHER_COMMANDS) and name != _OWN_COMMAND
    page = name.startswith("mallowmix.paper.") and name.endswith(".report")
    return name.split(".")[0] in PROJECTS and not other and not page


@functools.cache  # a record has some hundred modules, and there are many records
def code_hash(source: str) -> str:
    """Eight hexadecimal digits of what a module does: comments and docstrings do not count.

    Examples
    --------
    >>> code_hash("x = 1  # one") == code_hash("x   = 1") != code_hash("x = 2")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    text = ast.unparse(tree).replace('"', "'")  # quotes within f-strings depend on the Python
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def changed_modules(modules: Mapping[str, str], root: Path) -> list[str]:
    """Which of the modules of a record have other code in this repository, or are gone.

    Modules that keep records, or hand the words of a command line on, decide no number: they do
    not count.

    Parameters
    ----------
    modules : mapping
        The hash of each module, of a record.
    root : Path
        The repository.
    """
    today = hashes_today(modules, root)
    return [name for name in today if today[name] != modules[name]]


def hashes_today(names: Iterable[str], root: Path) -> dict[str, str | None]:
    """The hash of each module that decides a number, in this repository; None for one that is gone.

    Parameters
    ----------
    names : iterable of str
        The names of modules, as in a record; those that decide no number are left out.
    root : Path
        The repository.
    """
    return {name: _hash_today(name, root) for name in names if name not in _NO_NUMBERS}


def _hash_today(name: str, root: Path) -> str | None:
    base = root / "src" if name.split(".")[0] == "mallowmix" else root
    path = base.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.exists():
            return code_hash(file.read_text(encoding="utf-8"))
    return None


def _clean() -> bool | None:
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", *_CODE)
    return None if changes is None else not changes


def _git(*arguments: str) -> str | None:
    """What git says about this repository; None where the package is not in one."""
    root = Path(mallowmix.__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        said = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.stdout.strip()


def _without_folders(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _name(value) for name, value in options.items()}


def _name(value: Any) -> Any:
    """A value for a file that says nothing of whose machine it was: of a path, its last part."""
    if isinstance(value, Path) or (isinstance(value, str) and "/" in value):
        return Path(value).name
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
