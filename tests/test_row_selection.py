"""Rows of an experiment by the values of their key columns, by function and by command."""

import pytest

from command_line import run
from mallowmix.errors import OptionError
from mallowmix.paper.experiment import Request
from mallowmix.paper.registry import EXPERIMENTS
from mallowmix.paper.row_selection import RowSelection, selected_tasks


def tasks_of(name):
    return EXPERIMENTS[name].load().tasks(Request(n_seeds=2))


def test_nothing_named_selects_all():
    tasks = tasks_of("fig3")
    assert selected_tasks(tasks, RowSelection()) == tasks


def test_rows_have_all_columns_that_are_named_and_one_value_of_each():
    selection = RowSelection(
        method=("full", "paper"), references=("pmf",), n_users=(300, 1000), phi=(0.2,), seed=(1,)
    )
    found = selected_tasks(tasks_of("fig3"), selection)
    assert [(task.users, task.method) for task in found] == [
        (300, "full"),
        (300, "paper"),
        (1000, "full"),
        (1000, "paper"),
    ]
    assert {(task.references, task.phi, task.seed) for task in found} == {("pmf", 0.2, 1)}


def test_two_systems_come_with_their_difference_and_one_alone_without():
    tasks = tasks_of("fig4")
    both = selected_tasks(tasks, RowSelection(system=("TM", "M4"), n_components=(15,)))
    assert [task.system for task in both] == ["M4", "M4", "TM", "TM", *["M4 above TM"] * 2]
    assert {task.k for task in both} == {15}
    scored = RowSelection(system=("TM", "M4"), method=("completion",))
    assert {task.method for task in selected_tasks(tasks, scored)} == {"completion"}
    alone = selected_tasks(tasks, RowSelection(system=("M4",)))
    assert {task.system for task in alone} == {"M4"} and len(alone) == 10


@pytest.mark.parametrize(
    ("experiment", "selection", "option"),
    [
        ("fig3", RowSelection(phi=(0.3,)), "phi"),
        ("fig3", RowSelection(n_components=(10,)), "n_components"),  # its K is no column
        ("fig4", RowSelection(references=("random",)), "references"),
        ("fig4", RowSelection(system=("one ranking",), n_components=(5,)), "n_components"),
        ("footnote", RowSelection(seed=(0,)), "seed"),
    ],
)
def test_what_no_row_has_is_refused(experiment, selection, option):
    with pytest.raises(OptionError) as caught:
        selected_tasks(tasks_of(experiment), selection)
    assert caught.value.option == option


def test_the_words_of_a_command_line():
    selection = RowSelection(system=("M4", "TM, not rounded"), n_components=(5, 10), phi=(0.0, 0.5))
    assert selection.options() == [
        *("--system", "M4", "--system", "TM, not rounded", "-k", "5,10", "--phi", "0.0,0.5")
    ]


def test_what_no_row_has_is_refused_in_the_words_of_the_command_line(tmp_path):
    words = ("reproduce", "recovery", "--quick", "-o", tmp_path)
    _, said = run(*words, "--seed", "7", code=2)
    assert "--seed is 7; it must be one of 0." in said
    _, said = run(*words, "--phi", ".5", code=2)
    assert "--phi is 0.5; it must be left out with this experiment." in said
    assert not (tmp_path / "recovery.csv").exists()
