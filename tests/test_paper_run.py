"""`make paper`: pieces in turn, interrupted after their time, continued, and given up."""

import json
import signal
import subprocess
import sys
import time

import pytest

from mallowmix.paper.registry import EXPERIMENTS
from mallowmix.paper.result_log import append_row
from tools import paper
from tools.paper import FULL, QUICK, Piece, run_for, run_pieces


def test_every_experiment_is_run_in_both():
    for pieces in (FULL, QUICK):
        assert {piece.experiment for piece in pieces} == set(EXPERIMENTS)


@pytest.mark.parametrize("quick", [(), ("--quick",)])
def test_a_dry_run_prints_the_commands_and_writes_nothing(tmp_path, monkeypatch, capsys, quick):
    folder = tmp_path / "results"
    given = ["paper", "--dry-run", "--output", str(folder), *quick]
    monkeypatch.setattr(sys, "argv", given)
    assert paper.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(QUICK if quick else FULL) and not folder.exists()
    assert all(line.startswith("mallowmix reproduce ") and "--output" in line for line in lines)
    assert all(("--quick" in line) == bool(quick) for line in lines)


def test_of_small_pieces_a_dry_run_says_how_long_they_take(tmp_path, monkeypatch, capsys):
    given = ["paper", "--dry-run", "--n-jobs", "2", "--experiment", "fig4"]
    monkeypatch.setattr(sys, "argv", given)
    assert paper.main() == 0
    printed = capsys.readouterr()
    assert printed.err == "about 0.8 hours, 2 at a time\n"
    assert all(line.startswith("mallowmix reproduce fig4 ") for line in printed.out.splitlines())


def turns(work, folder):
    """A fake that adds a row a turn; `work` has the number of rows that each piece needs."""
    ran = []

    def run(command, _):
        name = command[command.index("reproduce") + 1]
        ran.append(name)
        if work[name] is None:
            return 1
        if work[name] > 0:
            work[name] -= 1
            append_row(folder / f"{name}.csv", {"x": 1})
        return 0 if work[name] == 0 else None

    return run, ran


def test_what_is_interrupted_takes_its_next_turn_after_the_others(tmp_path):
    run, ran = turns({"a": 2, "b": 1, "c": 3}, tmp_path)
    assert run_pieces([Piece(x) for x in "abc"], tmp_path, seconds=60, run=run) == []
    assert ran == ["a", "b", "c", "a", "c", "c"]


def test_what_fails_or_gets_no_further_is_left(tmp_path):
    run, ran = turns({"a": None, "b": -1, "c": 1}, tmp_path)
    left = run_pieces([Piece(x) for x in "abc"], tmp_path, seconds=60, run=run)
    assert [piece.experiment for piece in left] == ["a", "b"] and ran == ["a", "b", "c"]
    assert run_pieces([Piece("c")], tmp_path, seconds=0, run=run) == [Piece("c")]


@pytest.mark.slow
def test_a_command_is_interrupted_after_its_time(tmp_path):
    """As by Ctrl-C, so that what it has is written."""
    file = tmp_path / "said"
    code = (
        "import time, sys\n"
        "try:\n    time.sleep(60)\n"
        f"finally:\n    open({str(file)!r}, 'w').write('written')\n"
    )
    begun = time.monotonic()
    assert run_for([sys.executable, "-c", code], 3) is None
    assert time.monotonic() - begun < 50 and file.read_text() == "written"
    assert run_for([sys.executable, "-c", "raise SystemExit(4)"], 60) == 4


@pytest.mark.slow
def test_a_tiny_piece_writes_its_result_with_a_record(tmp_path):
    piece = Piece("fig2", ("--quick",))
    assert run_pieces([piece], tmp_path, seconds=300) == []
    (record,) = json.loads((tmp_path / "fig2.runs.json").read_text(encoding="utf-8"))
    assert record["rows"] and record["options"]["experiment"] == "fig2"
    again = subprocess.run(piece.command(tmp_path), check=True, capture_output=True)
    assert again.returncode == 0
    assert json.loads((tmp_path / "fig2.runs.json").read_text(encoding="utf-8")) == [record]


def test_a_piece_is_interrupted_also_where_make_paper_ignores_ctrl_c(tmp_path):
    """As `nohup make paper &` does: who inherits that never hears of the interruption."""
    said = tmp_path / "said"
    program = (
        "import pathlib, sys, time\n"
        "try:\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    pathlib.Path(sys.argv[1]).write_text('interrupted')\n"
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run_for([sys.executable, "-c", program, str(said)], 3.0) is None
    finally:
        signal.signal(signal.SIGINT, before)
    assert said.read_text() == "interrupted"


@pytest.mark.slow
def test_make_paper_that_is_ended_interrupts_its_piece(tmp_path):
    """By SIGTERM, as `timeout` and a machine that goes down send it."""
    said, begins = tmp_path / "said", tmp_path / "begins"
    piece = (
        "import pathlib, sys, time\n"
        "try:\n    pathlib.Path(sys.argv[2]).touch()\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    pathlib.Path(sys.argv[1]).write_text('interrupted')\n"
    )
    program = (
        "import signal, sys\nfrom tools.timed_command import run_for\n"
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        f"run_for([sys.executable, '-c', {piece!r}, {str(said)!r}, {str(begins)!r}], 60.0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    while not begins.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.wait(50)
    assert said.read_text() == "interrupted"
