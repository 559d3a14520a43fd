"""The messages of docs/mistakes.md, word for word: each mistake is made, in Python or a command."""

import re
import shlex
from pathlib import Path

import pyarrow.csv
import pytest
from typer.testing import CliRunner

import mallowmix as mm
from mallowmix.cli.commands import app
from mallowmix.errors import MallowmixError

PAGE = Path(__file__).parents[1] / "docs" / "mistakes.md"
pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


def mistakes(sign):
    """(what is typed, what is said) of all blocks, those that begin with the sign."""
    found = []
    for block in re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
        for part in re.split(r"^(?=>>> |\$ )", block, flags=re.M):
            if part.startswith(sign):
                typed, said = part.split("\n", 1)
                found.append((typed.removeprefix(sign), " ".join(said.split())))
    return found


PYTHON, COMMANDS = mistakes(">>> "), mistakes("$ mallowmix ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, dishes = tmp_path_factory.mktemp("mistakes"), mm.load_dishes(n_users=20, per_user=10)
    (folder / "drinks.csv").write_text("person,better,worse\nann,tea,milk\nbob,milk,tea\n")
    rows = dishes.comparisons.to_arrow().select(["user", "winner", "loser"])
    pyarrow.csv.write_csv(rows, folder / "dishes.csv")
    mm.save(dishes.model, folder / "dishes.m4")
    return folder


def test_there_are_ten_and_more():
    assert len(PYTHON) >= 10 and len(COMMANDS) >= 10


@pytest.mark.parametrize(("typed", "said"), PYTHON)
def test_a_mistake_in_python(typed, said, folder, monkeypatch):
    monkeypatch.chdir(folder)
    model, votes = mm.load("dishes.m4"), mm.load_dishes(n_users=20, per_user=10).comparisons
    with pytest.raises(MallowmixError) as caught:
        eval(typed, {"mm": mm, "model": model, "votes": votes})
    assert f"{type(caught.value).__name__}: {caught.value}" == said


@pytest.mark.parametrize(("typed", "said"), COMMANDS)
def test_a_mistake_in_a_command(typed, said, folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, shlex.split(typed), env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert done.exit_code in (1, 2)
    assert " ".join(done.stderr.split()) == said
