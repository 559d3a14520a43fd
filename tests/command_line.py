"""Run a command of the command line, in the process of the tests or in one of its own."""

import subprocess
import sys

from typer.testing import CliRunner

from mallowmix.cli import app


def run(*words, code=0):
    """Run a command in this process; give its stdout and stderr."""
    done = CliRunner().invoke(
        app, [str(word) for word in words], env={"COLUMNS": "200", "NO_COLOR": "1"}
    )
    assert done.exit_code == code, f"{done.exit_code}: {done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def imports_of(*words, of):
    """Run a command in a process of its own; give its stdout and which of the modules it imported.

    Parameters
    ----------
    words : str
        The command.
    of : str
        Names of modules, with spaces between them.
    """
    script = (
        "import atexit, sys\n"
        "from mallowmix.cli import main\n"
        f"found = lambda: [name for name in {of.split()!r} if name in sys.modules]\n"
        "atexit.register(lambda: print('imported:', *found(), file=sys.stderr))\n"
        f"sys.argv = ['mallowmix', *{[str(word) for word in words]!r}]\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout, done.stderr.rpartition("imported:")[2].split()
