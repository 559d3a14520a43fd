"""The oldest packages that the project allows: read from its lower bounds, line by line."""

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from tools.oldest import lower_bounds

ROOT = Path(__file__).parents[1]
PROJECT = {
    "name": "x",
    "dependencies": ["numpy>=2.2", "Jinja2 >= 3.1"],
    "optional-dependencies": {
        "web": ["psycopg[binary]>=3.2.1"],
        "data": ["numpy>=2.10", "x[web]", "x[all]"],
        "all": ["x[data,web]", "rich>=14"],
    },
}


def test_lower_bounds_are_those_of_the_project_and_of_named_extras():
    assert lower_bounds(PROJECT) == {"jinja2": "3.1", "numpy": "2.2"}
    assert lower_bounds(PROJECT, ["web"]) == {"jinja2": "3.1", "numpy": "2.2", "psycopg": "3.2.1"}


def test_extras_name_each_other_and_the_greater_bound_holds():
    found = lower_bounds(PROJECT, ["data"])
    assert found == {"jinja2": "3.1", "numpy": "2.10", "psycopg": "3.2.1", "rich": "14"}


@pytest.mark.parametrize("line", ["numpy", "numpy>=2,<3", "numpy==2.2", "numpy>=2; os_name=='nt'"])
def test_a_line_without_one_lower_bound_is_refused(line):
    with pytest.raises(ValueError, match="lower bound"):
        lower_bounds(PROJECT | {"dependencies": [line]})


def test_every_package_of_the_project_has_a_bound_and_is_at_least_that():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = lower_bounds(project)
    assert len(found) == len(project["dependencies"])
    for name, least in found.items():
        have = [int(part) for part in version(name).split(".")[:2] if part.isdigit()]
        assert have >= [int(part) for part in least.split(".")[:2]], name
    assert found.keys() < lower_bounds(project, list(project["optional-dependencies"])).keys()


def test_it_prints_constraints():
    done = subprocess.run(
        [sys.executable, "-m", "tools.oldest", "web"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "numpy==" in done.stdout and "fastapi==" in done.stdout and "[" not in done.stdout
