"""Small pieces of `make paper`: every row in one of them, rows of many processes in one file."""

import csv
import json
import threading
import time
from pathlib import Path

import pytest

from mallowmix.paper.experiment import Request
from mallowmix.paper.registry import EXPERIMENTS
from mallowmix.paper.result_log import add_run, append_row, runs_file
from mallowmix.paper.row_selection import RowSelection, selected_tasks
from tools.gathered_rows import FOLDER, begin, done_keys, finish, finish_all, gather
from tools.paper_pieces import Piece, SmallPiece, expected_hours, request_of, small_pieces
from tools.side_by_side import next_piece, run_side_by_side


def key(phi):
    return EXPERIMENTS["footnote"].load().key_of(row(phi))


def row(phi):
    """Of the footnote's file, which has one key column."""
    columns = dict.fromkeys(EXPERIMENTS["footnote"].load().columns, "0")
    return {**columns, "phi": str(phi), "version": "1"}


def phis(folder):
    with (folder / "footnote.csv").open(encoding="utf-8", newline="") as file:
        return [each["phi"] for each in csv.DictReader(file)]


def small(*rows, seconds=1.0):
    options = tuple(map(str, rows))
    return SmallPiece(Piece("footnote", options), frozenset(map(key, rows)), seconds)


def adds(folder, *rows):
    """What a process does in its folder: rows that are not there, then their record."""
    new = [phi for phi in rows if str(phi) not in (phis(folder) if has_rows(folder) else [])]
    for phi in new:
        append_row(folder / "footnote.csv", row(phi))
    if new:
        add_run(folder / "footnote.csv", {"rows": [list(key(phi)) for phi in new], "commit": "x"})


def has_rows(folder):
    return (folder / "footnote.csv").exists()


def folder_of(command):
    return Path(command[command.index("--output") + 1])


def rows_of(command):
    first = command.index("footnote") + 1
    return command[first : command.index("--output")]


@pytest.mark.parametrize("quick", [False, True])
def test_every_row_is_in_one_piece(quick):
    for name in EXPERIMENTS:
        pieces = small_pieces([name], quick=quick)
        keys = [key for piece in pieces for key in piece.keys]
        tasks = EXPERIMENTS[name].load().tasks(request_of(name, quick=quick))
        assert sorted(keys) == sorted(task.key for task in tasks)
        assert len({piece.piece.slug for piece in pieces}) == len(pieces)
        assert all(("--quick" in piece.piece.options) == quick for piece in pieces)


def test_pieces_are_dearest_first_and_share_what_is_dear():
    pieces = small_pieces(["fig3", "fig4"])
    assert [p.seconds for p in pieces] == sorted((p.seconds for p in pieces), reverse=True)
    margin = [p for p in pieces if any(key[0] == "M4 above TM" for key in p.keys)]
    assert len(margin) == 5 and all(len(p.keys) == 6 for p in margin)
    fits = [p for p in pieces if any("full" in key for key in p.keys)]
    assert all({key[4] for key in p.keys} == {"full", "oracle"} for p in fits)


def test_on_two_cores_the_whole_set_fits_a_night_in_pieces_of_less_than_an_hour():
    pieces = small_pieces(list(EXPERIMENTS))
    assert 5 < expected_hours(pieces, 2) < 6
    assert pieces[0].seconds < 3600
    four = [small(n, seconds=seconds) for n, seconds in enumerate((5.0, 4.0, 3.0, 3.0))]
    assert expected_hours(four, 2) == 8 / 3600


def test_the_first_that_ends_in_time_begins_and_the_cheapest_where_none_does():
    """What is dearer than the whole time begins with it, or it never would."""
    waiting = [small(n, seconds=seconds) for n, seconds in enumerate((90.0, 60.0, 30.0))]
    assert [next_piece(waiting, left, 600) for left in (600, 70, 10)] == [0, 1, 2]
    assert [next_piece(waiting, left, 80) for left in (79, 65, 59)] == [0, 1, 2]


def test_rows_are_gathered_while_they_come_whole_and_once(tmp_path):
    append_row(tmp_path / "footnote.csv", row(1))
    own = begin(tmp_path, "footnote", "footnote-a")
    assert phis(own) == ["1"]  # is not computed again
    append_row(own / "footnote.csv", row(2))
    line = (own / "footnote.csv").read_text(encoding="utf-8").splitlines()[-1]
    with (own / "footnote.csv").open("a", encoding="utf-8") as file:
        file.write(line.replace("2,", "3,", 1)[:-1])  # is being written
    assert gather(tmp_path, own) == 1 and gather(tmp_path, own) == 0
    assert phis(tmp_path) == ["1", "2"]
    with (own / "footnote.csv").open("a", encoding="utf-8") as file:
        file.write("1\n")
    assert finish(tmp_path, own) == 1 and phis(tmp_path) == ["1", "2", "3"]
    assert not (tmp_path / FOLDER).exists()


def test_what_a_run_that_was_cut_off_has_left_is_gathered_with_its_records(tmp_path):
    for slug, phi in (("footnote-a", 1), ("footnote-b", 2)):
        adds(begin(tmp_path, "footnote", slug), phi)
    gather(tmp_path, tmp_path / FOLDER / "footnote-a")  # then the power failed
    assert finish_all(tmp_path) == 1 and sorted(phis(tmp_path)) == ["1", "2"]
    (record,) = json.loads(runs_file(tmp_path / "footnote.csv").read_text(encoding="utf-8"))
    assert record["rows"] == [list(key(1)), list(key(2))]
    assert finish_all(tmp_path) == 0


def test_so_many_run_at_a_time_and_all_rows_come_into_one_file(tmp_path):
    running, most, began, lock = [0], [0], [], threading.Lock()

    def run(command, _):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
            began.append(rows_of(command)[0])
        time.sleep(0.05)
        adds(folder_of(command), *map(int, rows_of(command)))
        with lock:
            running[0] -= 1
        return 0

    pieces = [small(n, n + 100, seconds=20 - n) for n in range(20)]
    append_row(tmp_path / "footnote.csv", row(3))
    append_row(tmp_path / "footnote.csv", row(103))  # piece 3 is done
    assert run_side_by_side(pieces, tmp_path, n_jobs=4, seconds=60, run=run) == []
    assert most[0] == 4 and sorted(began[:4]) == ["0", "1", "2", "4"] and len(began) == 19
    expected = sorted(str(n + part) for n in range(20) for part in (0, 100))
    assert sorted(phis(tmp_path)) == expected
    records = json.loads(runs_file(tmp_path / "footnote.csv").read_text(encoding="utf-8"))
    assert sum(len(record["rows"]) for record in records) == 38 and len(records) == 1
    assert not (tmp_path / FOLDER).exists()


def test_what_is_interrupted_or_fails_is_left_with_its_rows(tmp_path):
    def run(command, _):
        first, *_ = rows_of(command)
        if first == "1":
            return 1
        adds(folder_of(command), int(first))
        return None if first == "2" else 0

    pieces = [small(1, 11), small(2, 12), small(3)]
    left = run_side_by_side(pieces, tmp_path, n_jobs=2, seconds=60, run=run)
    assert {piece.piece.options[0] for piece in left} == {"1", "2"}
    assert sorted(phis(tmp_path)) == ["2", "3"]
    assert run_side_by_side(pieces, tmp_path, n_jobs=2, seconds=0, run=run) == pieces[:2]


def test_an_interruption_keeps_what_the_processes_had(tmp_path):
    def run(command, _):
        adds(folder_of(command), *map(int, rows_of(command)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_side_by_side([small(1), small(2)], tmp_path, n_jobs=2, seconds=60, run=run)
    assert sorted(phis(tmp_path)) == ["1", "2"] and not (tmp_path / FOLDER).exists()
    assert {key(1), key(2)} == done_keys(tmp_path, "footnote")


@pytest.mark.slow
def test_two_real_processes_write_one_file_with_a_record(tmp_path):
    """300 people with random references: no data is needed."""
    pieces = []
    tasks = EXPERIMENTS["fig3"].load().tasks(Request(quick=True))
    for phi in (0.0, 0.5):
        selection = RowSelection(
            method=("full",), references=("random",), n_users=(300,), phi=(phi,)
        )
        keys = frozenset(task.key for task in selected_tasks(tasks, selection))
        pieces.append(SmallPiece(Piece("fig3", ("--quick", *selection.options())), keys, 10.0))
    assert run_side_by_side(pieces, tmp_path, n_jobs=2, seconds=500) == []
    with (tmp_path / "fig3.csv").open(encoding="utf-8", newline="") as file:
        errors = {each["phi"]: float(each["error"]) for each in csv.DictReader(file)}
    assert set(errors) == {"0.0", "0.5"} and max(errors.values()) < 0.03
    (record,) = json.loads((tmp_path / "fig3.runs.json").read_text(encoding="utf-8"))
    assert {tuple(key) for key in record["rows"]} == pieces[0].keys | pieces[1].keys
    assert "mallowmix.paper.figure3.run" in record["modules"]
    assert not (tmp_path / FOLDER).exists()
