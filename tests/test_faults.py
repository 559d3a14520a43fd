"""Killed at any step of writing, out of disk or memory, in a folder that is read-only: the old file
or the new one, whole; and a checker that notices what is neither.

The small twin of benchmarks/faults.py.
"""

import random
import subprocess
import sys

import pytest

from benchmarks.fault_process import Ended, Fault
from benchmarks.fault_trial import BEFORE, COMMANDS, Trial, prepare
from benchmarks.faults import FAULTS, Outcome, is_sentence, run, tally


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    folder.chmod(0o755)
    with Trial(COMMANDS["convert to sqlite"], folder) as trial:
        yield trial


@pytest.mark.slow
@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_disturbed_command_leaves_the_old_file_or_the_new_one(trial, fault):
    found = tally(fault, FAULTS[fault](trial, 3, random.Random(0)))
    assert found["wrong"] == 0, found
    if fault == "writing":
        # before and after each flush and rename: the old file before the rename, then the new one
        assert found["left"]["old"] >= 3 and found["left"]["new"] >= 2
    if fault == "memory":
        # the room is doubled until the command finishes: at least three times it was too little
        assert found["felt"] >= 3 and found["left"].keys() == {"old", "new"}
    if fault in ("disk", "folder"):
        assert found["left"].keys() <= {"old"}


@pytest.mark.slow
def test_a_limit_on_files_does_not_cut_what_a_command_says(trial):
    assert is_sentence(trial.run(Fault(most_file_bytes=1)))


FULL_DISK = """
import resource, sys
from pathlib import Path
from types import SimpleNamespace
import numpy as np, xarray as xr
from mallowmix.cli.outputs import draws_writer
draws = xr.Dataset({"phi": ("draw", np.arange(9000.0))}, {"draw": np.arange(9000)})
write = draws_writer(SimpleNamespace(to_xarray=lambda: draws))
write(Path("whole.nc"))
assert xr.load_dataset("whole.nc", engine="h5netcdf").equals(draws)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
try:
    write(Path("part.nc"))
except OSError as error:
    print(error.strerror)
"""


def test_draws_on_a_full_disk_end_in_an_error_that_can_be_told(tmp_path):
    """In a process of its own, which HDF5 would end by itself."""
    pytest.importorskip("h5netcdf")
    words = [sys.executable, "-c", FULL_DISK]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "File too large\n", "")


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
        ("memory", ("old", 1, True), 1),
        ("memory", ("old", 0, False, True, True), 1),
        ("start", ("old", 0, True, False, True), 0),
    ],
)
def test_what_counts_as_wrong(fault, outcome, wrong):
    assert tally(fault, iter([Outcome(*outcome)]))["wrong"] == wrong


@pytest.mark.slow
def test_a_run_on_what_a_kill_left_is_noticed_where_it_fails(trial):
    name = trial.command.outputs[0]
    trial.reset()
    assert trial.next_run_is_none_the_worse()  # nothing is left, and nothing is run
    assert (trial.folder / name).read_bytes() == BEFORE
    (trial.folder / ".rest.tmp").write_text("")
    assert trial.next_run_is_none_the_worse()
    assert (trial.folder / name).read_bytes() == trial.wanted[name]
    (trial.folder / "votes.csv").write_text("user\n")
    assert not trial.next_run_is_none_the_worse()
    prepare(trial.folder)


def test_counts_are_kept_by_command_and_counted_anew_for_others(tmp_path, monkeypatch):
    asked = []

    def counted(name, times):
        asked.append(name)
        return dict.fromkeys(FAULTS, tally("disk", iter([Outcome("old", 0, times != 7)])))

    monkeypatch.setattr("benchmarks.faults.disturbed", counted)
    rows = tmp_path / "faults.jsonl"
    run(5, ["fit", "report"], rows)
    rows.write_text(rows.read_text() + '{"key": "cut')
    found = run(5, ["fit", "update"], rows)
    assert asked == ["fit", "report", "update"]
    assert found["total"] | {"commands": 2, "runs": 12, "kill": 2, "wrong": 0} == found["total"]
    assert run(7, ["fit"], rows)["total"]["wrong"] == 6
    assert asked[-1] == "fit"


def test_a_sentence_is_one_line_of_an_error():
    assert is_sentence(Ended(1, "Note: 2 people\nError: The disk is full.\n", 1.0))
    assert not is_sentence(Ended(0, "Error: The disk is full.\n", 1.0))
    assert not is_sentence(Ended(1, "Error: The disk is full.\nTraceback\n", 1.0))
    assert not is_sentence(Ended(1, "", 1.0))
