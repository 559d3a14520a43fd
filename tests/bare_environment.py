"""Run by test_missing_packages.py in a process of its own: as if no extra were installed."""

import importlib.abc
import json
import sys
from pathlib import Path

BLOCKED = {
    *("arviz", "choix", "dask", "distributed", "duckdb", "fastapi", "matplotlib", "modin"),
    *("multipart", "pandas", "polars", "psycopg", "python_multipart", "sqlalchemy", "starlette"),
    *("uvicorn", "xarray", "httpx", "pooch", "openpyxl", "h5netcdf"),
}


class Blocker(importlib.abc.MetaPathFinder):
    """Finds nothing, and stops the search for what a plain install does not have."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def command(line):
    from typer.testing import CliRunner

    from mallowmix.cli import app

    done = CliRunner().invoke(app, line.split(), env={"COLUMNS": "400", "NO_COLOR": "1"})
    return [done.exit_code, done.stdout, done.stderr]


def function(text):
    import mallowmix as mm

    names = {"mm": mm, "model": mm.load("model.m4"), "votes": mm.read_comparisons("votes.csv")}
    try:
        exec(text, names)
    except mm.errors.MissingPackageError as error:
        return [1, "", f"Error: {error}"]
    except Exception as error:
        return [70, "", repr(error)]
    return [0, "", ""]


if __name__ == "__main__":
    assert not BLOCKED & set(sys.modules)
    sys.meta_path.insert(0, Blocker())
    asked = json.loads(Path("asked.json").read_text())
    answers = {line: command(line) for line in asked["commands"]}
    answers |= {text: function(text) for text in asked["functions"]}
    Path("answers.json").write_text(json.dumps([answers, sorted(BLOCKED & set(sys.modules))]))
