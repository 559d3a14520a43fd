"""Killed at any step of writing, out of disk, in a folder that is read-only: the old file or the
new one, whole; and a checker that notices what is neither.

The small twin of benchmarks/faults.py.
"""

import random

import pytest

from benchmarks.fault_trial import COMMANDS, Trial, prepare
from benchmarks.faults import FAULTS, tally


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    folder.chmod(0o755)
    return Trial(COMMANDS["convert to sqlite"], folder)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "writing", "disk", "folder"])
def test_a_disturbed_command_leaves_the_old_file_or_the_new_one(trial, fault):
    found = tally(fault, FAULTS[fault](trial, 3, random.Random(0)))
    if found["runs"] == 0:
        pytest.skip("root can write everywhere, and nobody else can run this Python")
    assert found["wrong"] == 0, found
    if fault == "writing":
        # before and after each flush and rename: the old file before the rename, then the new one
        assert found["left"]["old"] >= 3 and found["left"]["new"] >= 2
    if fault in ("disk", "folder"):
        assert found["left"].keys() <= {"old"}


@pytest.mark.slow
def test_the_checker_notices_what_must_not_be(trial):
    trial.reset()
    assert trial.left() == ("old", 0)
    name = trial.command.outputs[0]
    (trial.folder / name).write_bytes(trial.wanted[name])
    assert trial.left() == ("new", 0)
    (trial.folder / name).write_bytes(trial.wanted[name][:-1])
    (trial.folder / ".rest.tmp").write_text("")
    assert trial.left() == ("broken", 1)
    (trial.folder / name).unlink()
    assert trial.left()[0] == "broken"
    trial.reset()
    (trial.folder / "votes.csv").write_text("user\n")
    assert trial.left()[0] == "broken"
    prepare(trial.folder)


@pytest.mark.parametrize(
    ("fault", "outcome", "wrong"),
    [
        ("kill", ("old", 0, True), 0),
        ("kill", ("some new", 1, True), 0),
        ("kill", ("broken", 0, True), 1),
        ("disk", ("old", 0, True), 0),
        ("disk", ("old", 1, True), 1),
        ("disk", ("old", 0, False), 1),
        ("disk", ("some new", 0, True), 1),
    ],
)
def test_what_counts_as_wrong(fault, outcome, wrong):
    assert tally(fault, iter([outcome]))["wrong"] == wrong
