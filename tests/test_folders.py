"""A folder given where a file is expected: what in it can be read, and what to type."""

import pickle
import shlex

import pytest

import mallowmix as mm
from command_line import run
from mallowmix.errors import FileError, ModelFileError
from mallowmix.readers.folders import FolderError

ROWS = "user,winner,loser\n" + "u,a,b\nu,b,c\nv,b,a\nv,a,c\nw,c,a\nw,b,c\n" * 4


@pytest.fixture
def polls(tmp_path):
    folder = tmp_path / "my polls"
    folder.mkdir()
    (folder / "may.csv").write_text(ROWS)
    (folder / "LICENSE").write_text("free")
    (folder / ".hidden.csv").write_text(ROWS)
    return folder


def advised(stderr):
    """The command that a message ends with, as words after `mallowmix`."""
    typed = stderr.split(": type ")[1].split(" as in ")[-1].strip()
    program, *words = shlex.split(typed)
    assert program == "mallowmix"
    return words


@pytest.mark.parametrize("options", [["check"], ["fit", "-k", "1", "--no-predictor"]])
def test_the_command_that_is_advised_works(polls, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    _, said = run(options[0], f"{polls}/", *options[1:], code=1)
    assert said.count("\n") == 1 and "in which may.csv can be read" in said
    words = advised(said)
    assert words == [options[0], str(polls / "may.csv"), *options[1:]]
    run(*words)


def test_a_report_of_a_folder(polls, tmp_path):
    mm.save(mm.M4.from_orders(["abc"], 0.3), tmp_path / "abc.m4")
    page = tmp_path / "page.html"
    typed = ["report", tmp_path / "abc.m4", polls, "-o", page, "--quick"]
    words = advised(run(*typed, code=1)[1])
    assert words[2] == str(polls / "may.csv")
    run(*words)
    assert page.exists()


def test_several_files_and_a_pattern_for_all(polls):
    (polls / "june.csv").write_text(ROWS)
    with pytest.raises(FolderError, match=r"2 files can be read \(june.csv, may.csv\).*\*\.csv"):
        mm.read(polls)
    _, said = run("check", polls, code=1)
    assert advised(said) == ["check", str(polls / "*.csv")]
    run(*advised(said))
    (polls / "votes.soi").write_text("")
    _, said = run("check", polls, code=1)
    assert advised(said) == ["check", str(polls / "june.csv")]
    for n in range(5):
        (polls / f"{n}.csv").write_text(ROWS)
    assert (
        "8 files can be read (0.csv, 1.csv, 2.csv, 3.csv, 4.csv, …)"
        in run("check", polls, code=1)[1]
    )


def test_files_one_folder_below(polls):
    _, said = run("check", polls.parent, code=1)
    assert "my polls/may.csv can be read" in said
    assert advised(said) == ["check", str(polls / "may.csv")]


def test_data_that_stays_on_disk(polls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (polls / "notes.json").write_text("[]")  # cannot be read from disk
    with pytest.raises(FolderError, match=r"in which may\.csv can be read"):
        mm.store_comparisons(polls)
    assert advised(run("fit", polls, "--memory", "1GB", code=1)[1])[1] == str(polls / "may.csv")
    (polls / "may.csv").unlink()
    with pytest.raises(FileError, match=r"nothing in it that can be read; mallowmix reads \.parqu"):
        mm.store_comparisons(polls)


def test_the_error_survives_another_process(polls):
    error = FolderError(polls, [polls / "may.csv"])
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_folder_is_no_model(polls):
    with pytest.raises(ModelFileError, match="is a folder: name a model file"):
        mm.load(polls)
    mm.save(mm.M4.from_orders(["abc"], 0.3), polls / "abc.m4")
    with pytest.raises(ModelFileError, match=r"one of the models in it, as in .*abc\.m4"):
        mm.load(polls)
    assert "as in" in run("show", polls, code=1)[1]
