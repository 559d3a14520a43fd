"""The command line when something is wrong: one sentence, the right exit code, no traceback, no half-written file."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from shlex import split

import numpy as np
import pytest
from typer.testing import CliRunner

import mallowmix as mm
from mallowmix.cli import app, outputs
from mallowmix.cli.shell import EXIT_CODES, explain, in_options
from mallowmix.errors import DataError, FileError, OptionError

MAIN = [sys.executable, "-c", "from mallowmix.cli import main; main()"]
VOTES = "user,winner,loser\n" + "".join(
    f"u{m},{a},{b}\n" for m in range(20) for a, b in ("ab", "bc", "ca", "cb", "ac", "ba")
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with sound votes, a sound model, and one of everything that can be wrong."""
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(VOTES)
    mm.save(mm.M4.from_orders(["abc"], 0.1), "good.m4")
    mm.save(mm.M4.from_orders(["abd"], 0.1), "other.m4")
    Path("column.csv").write_text("user,better,loser\nu,a,b\n")
    Path("lines.csv").write_text("user,winner,loser\n" + "u,a,b\n" * 3 + "u,a\n" * 10)
    Path("self.csv").write_text("user,winner,loser\nu,a,a\n")
    Path("gap.csv").write_text("user,winner,loser\nu,a,\n")
    Path("empty.csv").write_text("")
    noise = bytes(range(256)) * 20
    for name in ("binary.csv", "binary.parquet", "binary.m4", "votes.bin"):
        Path(name).write_bytes(noise)
    Path("short.m4").write_bytes(Path("good.m4").read_bytes()[:-5])
    Path("folder").mkdir()
    return tmp_path


def run(*words, code):
    """Run a command that must fail; give the sentence."""
    before = sorted(Path.cwd().rglob("*"))
    done = CliRunner().invoke(app, [str(word) for word in words], env={"NO_COLOR": "1"})
    assert done.exit_code == code, f"{done.exit_code}: {done.stdout}{done.stderr}"
    assert sorted(Path.cwd().rglob("*")) == before, "a command that fails writes nothing"
    assert done.stdout == "" and "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Note: ")]
    assert len(lines) == 1 and lines[0].startswith("Error: ") and lines[0].endswith((".", "?")), (
        done.stderr
    )
    return lines[0].removeprefix("Error: ")


BAD_VOTES = [
    ("nowhere.csv", "There is no file nowhere.csv: check the name and the folder."),
    ("folder", "folder is a folder without .parquet files in it"),
    ("binary.csv", "binary.csv is not a text file"),
    ("binary.parquet", "binary.parquet is not a whole Parquet file"),
    ("votes.bin", "the ending '.bin' does not tell what it is"),
    (
        "column.csv",
        "column.csv has no column 'winner', only 'user', 'better', 'loser': say which one holds the winner with --columns w",
    ),
    ("lines.csv", r"lines.csv line 5 has 2 fields where the header has 3 (and 9 more such lines)"),
    (
        "self.csv",
        "self.csv line 2: user 'u' compares 'a' with itself. Drop such rows, or pass --self-pairs drop.",
    ),
    ("gap.csv", "gap.csv line 2: the loser is missing. Fill such rows in, or pass --missing drop."),
    ("empty.csv", "empty.csv is empty"),
]


@pytest.mark.parametrize(("name", "sentence"), BAD_VOTES, ids=[name for name, _ in BAD_VOTES])
@pytest.mark.parametrize("command", [("check",), ("fit", "-k", "1")], ids=["check", "fit"])
def test_bad_votes(command, name, sentence):
    assert sentence in run(command[0], name, *command[1:], code=1)


BAD_MODELS = [
    ("nowhere.m4", "There is no model file nowhere.m4"),
    ("binary.m4", "binary.m4 is not a model file"),
    ("good.csv", "good.csv is not a model file"),
    ("short.m4", "short.m4 is cut short"),
    ("folder", "folder cannot be read"),
]


@pytest.mark.parametrize(("name", "sentence"), BAD_MODELS, ids=[name for name, _ in BAD_MODELS])
def test_bad_models(name, sentence):
    assert sentence in run("show", name, code=1)
    assert sentence in run("evaluate", name, "--truth", "good.m4", code=1)
    assert sentence in run("evaluate", "good.m4", "--truth", name, "--json", code=1)


OTHERS = [
    (
        1,
        "evaluate good.m4 --truth other.m4",
        "good.m4 and other.m4 are not about the same items: 'c' is only in good.m4",
    ),
    (1, "fit good.csv -k 1 -o no/such.m4", "there is no folder"),
    (1, "fit good.csv -k 1 -o folder", "it is a folder; give the name of a file"),
    (1, "fit good.csv -k 21", "21 components cannot be told apart from 20 users"),
    (1, "fit good.csv -k 20 --method projections", "lower the number of components"),
    (1, "simulate no/votes.csv", "there is no folder"),
    (1, "simulate v.csv --truth no/t.m4", "there is no folder"),
    (1, "simulate v.csv --weights no/w.csv", "there is no folder"),
    (1, "demo --output good.csv", "good.csv cannot be used as a folder"),
    (1, "demo --output good.csv/inside", "good.csv/inside cannot be used as a folder"),
    (2, "fit good.csv -k 0", "-k is 0; it must be at least 1."),
    (2, "fit good.csv -k two", "'two' is not a whole number (nor the word auto)"),
    (2, "fit good.csv", "Missing option '-k' / '--components'. See mallowmix fit --help."),
    (2, "fit", "Missing argument"),
    (2, "fit good.csv -k 1 -o good.csv", "good.csv is named twice"),
    (2, "fit good.csv -k 1 --method guess", "--method is 'guess'; it must be one of"),
    (
        2,
        "fit good.csv -k 1 --method projections --refine full",
        "method 'projections' has no option 'refine'",
    ),
    (2, "fit good.csv -k 1 --seed -1", "--seed is -1; it must be a whole number from 0"),
    (2, "fit good.csv -k 1 --seed one", "--seed"),
    (2, "fit good.csv -k 1 --n-jobs 0", "'--n-jobs': 0 is too small; it must be at least 1."),
    (2, "fit good.csv -k 1 --zeta nan", "'--zeta': 'nan' is not a finite number."),
    (2, "fit good.csv -k 1 --zeta large", "'--zeta': 'large' is not a number."),
    (
        2,
        "fit good.csv -k 1 --method projections --zeta -1",
        "--zeta is -1.0; it must be at least 0.",
    ),
    (2, "fit good.csv -k 1 --tol inf", "'--tol': 'inf' is not a finite number."),
    (
        2,
        "fit good.csv -k 1 --method projections --min-count -1",
        "--min-count is -1.0; it must be at least 0.",
    ),
    (2, "fit good.csv -k 1 --n-projections 1.5", "'--n-projections': '1.5' is not a whole number."),
    (2, "fit good.csv -k 1 --method projections --metric miles", "metric"),
    (
        2,
        "fit good.csv -k 1 --self-pairs keep",
        "--self-pairs is 'keep'; it must be one of 'error', 'drop'.",
    ),
    (
        2,
        "fit good.csv -k 1 --missing keep",
        "--missing is 'keep'; it must be one of 'error', 'drop'.",
    ),
    (
        2,
        "fit good.csv -k 1 --columns winner",
        "'winner' does not fit: write our name, =, yours, each once",
    ),
    (2, "fit good.csv -k 1 --columns user=a,user=b", "'user=b' does not fit"),
    (2, "fit good.csv -k 1 --columns judge=user", "--columns has the key 'judge'"),
    (
        2,
        "check good.csv --columns user=winner,winner=winner",
        "--columns gives user and winner the same column 'winner'; they must differ.",
    ),
    (2, "show good.m4 --json --csv", "--json and --csv exclude each other: ask for one."),
    (2, "show good.m4 --top 0", "'--top': 0 is too small; it must be at least 1."),
    (2, "evaluate good.m4", "Missing option '--truth'. See mallowmix evaluate --help."),
    (
        2,
        "simulate votes.txt",
        "votes.txt: the ending '.txt' does not tell how to write it; use .parquet or .csv.",
    ),
    (2, "simulate v.csv --weights w.m4", "the ending '.m4' does not tell how to write it"),
    (2, "simulate v.csv --truth v.csv", "v.csv is named twice"),
    (2, "simulate v.csv --phi 1.5", "--phi is 1.5; a dispersion lies between 0"),
    (2, "simulate v.csv --phi -0.1", "--phi is -0.1; a dispersion lies between 0"),
    (
        2,
        "simulate v.csv --phi 0.1,0.2",
        "--phi has 2 numbers for 3 components; give one, or one for each.",
    ),
    (2, "simulate v.csv --phi 0.1,,0.2", "'--phi': '' is not a number."),
    (2, "simulate v.csv --alpha 0", "--alpha is 0; Dirichlet parameters must be above 0."),
    (2, "simulate v.csv --alpha nan", "'--alpha': 'nan' is not a finite number."),
    (2, "simulate v.csv --alpha 1,1,1,1", "--alpha has 4 numbers for 3 components"),
    (2, "simulate v.csv --items 1", "'--items': 1 is too small; it must be at least 2."),
    (2, "simulate v.csv --users 0", "'--users': 0 is too small; it must be at least 1."),
    (2, "simulate v.csv --per-user some", "'--per-user': 'some' is not a whole number."),
    (2, "simulate v.csv --prior flat", "--prior is 'flat'; it must be"),
    (2, "separability --phi 0,2", "--phi is 2.0; a dispersion lies between 0"),
    (
        2,
        "separability --threshold 1",
        "--threshold is 1.0; a degree of separability lies in [0, 1)",
    ),
    (2, "separability --threshold nan", "'--threshold': 'nan' is not a finite number."),
    (2, "separability --draws 0", "'--draws': 0 is too small; it must be at least 1."),
    (2, "guess", "No such command 'guess'. See mallowmix --help."),
    (2, "--guess", "No such option: --guess"),
    (2, "show good.m4 --guess", "No such option: --guess"),
]


@pytest.mark.parametrize(
    ("code", "command", "sentence"), OTHERS, ids=[command for _, command, _ in OTHERS]
)
def test_one_sentence_and_the_right_code(code, command, sentence):
    assert sentence in run(*command.split(), code=code)


def test_auto_is_passed_to_fit_which_has_the_last_word(monkeypatch):
    asked = []

    def refuse(comparisons, n_components, **options):
        asked.append((n_components, sorted(options)))
        raise OptionError("n_components is 'auto'; it must be a whole number of at least 1.")

    monkeypatch.setattr("mallowmix.fitting.fit.fit", refuse)
    assert run("fit", "good.csv", "-k", "auto", "--refine", "full", code=2).startswith(
        "-k is 'auto'"
    )
    # what was not given is not passed
    assert asked == [("auto", ["engine", "progress", "refine", "seed"])]


# -------------------------------------------------------------------------------------------------- bugs, limits, Ctrl-C


def test_a_bug_says_that_it_is_one(monkeypatch):
    monkeypatch.setattr("mallowmix.model.model_file.load", lambda path: 1 / 0)
    sentence = run("show", "good.m4", code=70)
    assert sentence.startswith(
        "This is a bug in mallowmix (ZeroDivisionError: division by zero). Run it again with MALLOWMIX_DEBUG=1"
    )
    done = CliRunner().invoke(app, ["show", "good.m4"], env={"MALLOWMIX_DEBUG": "1"})
    assert done.exit_code == 70 and "Traceback (most recent call last)" in done.stderr


def test_debug_shows_the_traceback_of_errors_too():
    done = CliRunner().invoke(app, ["show", "nowhere.m4"], env={"MALLOWMIX_DEBUG": "1"})
    assert (
        done.exit_code == 1
        and "Traceback" in done.stderr
        and "Error: There is no model file" in done.stderr
    )


def test_out_of_memory(monkeypatch):
    def refuse(path):
        raise MemoryError("Unable to allocate 8 TiB")

    monkeypatch.setattr("mallowmix.model.model_file.load", refuse)
    assert run("show", "good.m4", code=1).startswith(
        "There is not enough memory for this (Unable to allocate 8 TiB)"
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DataError("x."), 1),
        (FileError("x."), 1),
        (OptionError("x."), 2),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
        (KeyError(), 70),
    ],
)
def test_exit_codes(error, code, capfd):
    assert explain(error) == code and code in EXIT_CODES


def test_ctrl_c_says_what_was_written(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("mallowmix.model.model_file.load", stop)
    done = CliRunner().invoke(app, ["show", "good.m4"])
    assert (done.exit_code, done.stderr) == (130, "Interrupted; nothing was written.\n")
    monkeypatch.setattr("mallowmix.cli.fit._tell", stop)
    done = CliRunner().invoke(app, ["fit", "good.csv", "-k", "1", "--method", "projections"])
    assert done.exit_code == 130 and done.stderr.endswith(
        "Interrupted; good.m4 had been written already.\n"
    )


def test_outputs_are_written_together_or_not_at_all(monkeypatch):
    def full(table, place):
        raise OSError(28, "No space left on device")

    Path("t.m4").write_text("before")
    monkeypatch.setattr(outputs, "_write_parquet", full)
    sentence = run("simulate", "v.csv", "--truth", "t.m4", "--weights", "w.parquet", code=1)
    assert sentence == "w.parquet cannot be written: No space left on device."
    assert Path("t.m4").read_text() == "before" and not Path("v.csv").exists()


def test_an_existing_model_is_replaced():
    Path("m.m4").write_text("before")
    done = CliRunner().invoke(
        app, ["fit", "good.csv", "-k", "1", "--method", "projections", "-o", "m.m4", "-q"]
    )
    assert done.exit_code == 0 and mm.load("m.m4").n_components == 1
    assert not list(Path().glob(".*.tmp"))


def read_until(terminal, words, patience=60):
    """What a process writes on its terminal, up to the given words."""
    text, end = "", time.monotonic() + patience
    while words not in text and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
    assert words in text, text
    return text


def test_ctrl_c_during_a_fit_on_a_terminal():
    """The bar shows the time left; Ctrl-C leaves the old model, no other file, and the exit code 130."""
    pty = pytest.importorskip("pty")
    votes = (
        mm.M4.from_orders(["abcdefgh", "hgfedcba"], 0.2, 0.3).sample(300, 60, seed=1).comparisons
    )
    np.savetxt(
        "v.csv",
        np.array([list(row.values()) for row in votes.to_arrow().to_pylist()]),
        "%s",
        ",",
        header="user,winner,loser,weight",
        comments="",
    )
    Path("m.m4").write_text("before")
    before = sorted(Path().iterdir())
    terminal, theirs = pty.openpty()
    words = split(
        "fit v.csv -k 2 -o m.m4 --method projections --n-projections 100000000 --n-jobs 2"
    )
    process = subprocess.Popen(
        [*MAIN, *words],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "150"},
    )
    try:
        os.close(theirs)
        assert "projections" in read_until(terminal, "time left")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        shown = read_until(terminal, "nothing was written.")
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.stdout.close()
        os.close(terminal)
    assert "Interrupted; " in shown and "Traceback" not in shown
    assert Path("m.m4").read_text() == "before" and sorted(Path().iterdir()) == before


def test_a_reader_that_leaves_early_is_no_error():
    mm.save(mm.M4.from_orders([[f"{i:04d}" for i in range(2_000)]] * 5, 0.1), "long.m4")
    process = subprocess.Popen(
        [*MAIN, "show", "long.m4", "--csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"component,share,phi,position,item\n"
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(30) == 141
    process.stderr.close()


def test_messages_speak_of_options():
    assert (
        in_options('Drop such rows, or pass self_pairs="drop".')
        == "Drop such rows, or pass --self-pairs drop."
    )
    assert (
        in_options("n_projections is 0; it must be at least 1.")
        == "--n-projections is 0; it must be at least 1."
    )
    assert in_options("self_pairs is 'x'; it must be …") == "--self-pairs is 'x'; it must be …"
    assert (
        in_options("150 (most_per_user=150) or (n_people=3000)")
        == "150 (--most-per-user 150) or (--people 3000)"
    )
    assert in_options("systems is 'x'; it must …") == "--systems is 'x'; it must …"
    assert (
        in_options('(its E_ii are all 0): give metric="projected", or …')
        == "(its E_ii are all 0): give --metric projected, or …"
    )
    assert in_options('as in columns={"winner": "better"}.') == "as in --columns winner=better."
    assert in_options("votes.csv: the seed is missing") == "votes.csv: the seed is missing"
    assert in_options("lower n_components or min_count") == "lower -k or --min-count"
