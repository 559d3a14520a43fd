"""The scripts and notebooks in examples/ run, and show what they say."""

import json
import runpy

import pytest

from tools.notebooks import EXAMPLES, executed

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
TASKS = {
    "read_votes": "2 people, 3 items",
    "predict_choices": "my best: ['lasagne', 'pizza', 'mac and cheese']",
    "make_leaderboard": "pizza",
}
SLOW = {
    "fit_model": "comfort: lasagne > pizza",
    "write_report": "dishes.html: ",
    "choose_number": "3: ",
    "compare_systems": "Bradley–Terry",
    "find_intervals": "share",
}


def test_every_script_is_run():
    assert {path.stem for path in (EXAMPLES / "tasks").glob("*.py")} == {*TASKS, *SLOW}


@pytest.mark.parametrize("name", TASKS)
def test_a_short_script(name, capsys):
    runpy.run_path(str(EXAMPLES / "tasks" / f"{name}.py"), run_name="__main__")
    assert TASKS[name] in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_script_that_learns(name, capsys):
    runpy.run_path(str(EXAMPLES / "tasks" / f"{name}.py"), run_name="__main__")
    assert SLOW[name] in capsys.readouterr().out


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["arena", "dishes_survey"])
def test_a_notebook_runs_and_was_kept_executed(name):
    """Its assertions hold; each cell that shows something now showed something when it was kept."""
    kept = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert kept["nbformat"] == 4
    for number, (before, after) in enumerate(
        zip(code_cells(kept), code_cells(executed(kept)), strict=True), 1
    ):
        assert before["execution_count"] == number
        kinds = [
            [(each["output_type"], sorted(each.get("data", {}))) for each in cell["outputs"]]
            for cell in (before, after)
        ]
        assert kinds[0] == kinds[1]


def test_the_arena_shows_a_leaderboard_that_is_nobodys():
    kept = (EXAMPLES / "arena.ipynb").read_text(encoding="utf-8")
    assert "best is Brook" in kept and "by one ranking" in kept and "component_1 (code)" in kept
