"""Run a command of the command line inside the process of the tests."""

from typer.testing import CliRunner

from mallowmix.cli import app


def run(*words, code=0):
    """Run a command in this process; give its stdout and stderr."""
    done = CliRunner().invoke(
        app, [str(word) for word in words], env={"COLUMNS": "200", "NO_COLOR": "1"}
    )
    assert done.exit_code == code, f"{done.exit_code}: {done.stdout}{done.stderr}"
    return done.stdout, done.stderr
