"""Processes of our own run no file of the current folder, whatever it is called."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import mallowmix

_RUN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "name, sys.argv[1:] = sys.argv[2], sys.argv[3:]; "
    "import runpy; runpy.run_module(name, run_name='__main__', alter_sys=True)"
)


def isolated_command(module: str, arguments: Sequence[str] = ()) -> list[str]:
    """Return the command that runs a module in an isolated interpreter (``python -I``).

    It finds the packages that this process finds, but for those in the current folder: a
    ``secrets.py`` that lies beside somebody's data must not run.

    Parameters
    ----------
    module : str
        What is run, as in ``python -m``.
    arguments : sequence of str
        The module's own.

    Returns
    -------
    list of str

    Examples
    --------
    >>> isolated_command("this")[1]
    '-I'
    """
    return [sys.executable, "-I", "-c", _RUN, json.dumps(safe_path()), module, *arguments]


@contextmanager
def safe_environment() -> Iterator[None]:
    """Context in which Python processes that others start do not look into the current folder."""
    wanted = {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(safe_path())}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def safe_path() -> list[str]:
    """Return where modules are looked for, without the current folder."""
    here, ours = Path.cwd(), Path(mallowmix.__file__).parents[1]
    entries = [Path(entry) for entry in sys.path if entry]
    # a checkout may be the current folder: then it is our own code that is there
    kept = [entry for entry in entries if entry.resolve() != here.resolve() or entry == ours]
    return [str(entry.absolute()) for entry in kept]
