"""The command line when something is wrong: one sentence, the right exit code, no traceback, no
half-written file.

What the sentences say is tested in test_messages.py; here, what they are made of.
"""

import os
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import typer.main
from typer.testing import CliRunner

import mallowmix as mm
from mallowmix.cli import app, outputs, shell
from mallowmix.cli.option_names import option_names
from mallowmix.cli.shell import EXIT_CODES, explain
from mallowmix.errors import DataError, FileError, FitError, ModelFileError, OptionError

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


@pytest.fixture
def raised(monkeypatch):
    """The errors that end the commands of a test."""
    errors = []

    def listening(error):
        errors.append(error)
        return explain(error)

    monkeypatch.setattr(shell, "explain", listening)
    return errors


BAD_VOTES = {
    "nowhere.csv": FileError,
    "folder": FileError,
    "binary.csv": FileError,
    "binary.parquet": FileError,
    "votes.bin": FileError,
    "column.csv": DataError,
    "lines.csv": FileError,
    "self.csv": DataError,
    "gap.csv": DataError,
    "empty.csv": FileError,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD_VOTES)
@pytest.mark.parametrize("command", [("check",), ("fit", "-k", "1")], ids=["check", "fit"])
def test_bad_votes(command, name, raised):
    assert name in run(command[0], name, *command[1:], code=1)
    assert [type(error) for error in raised] == [BAD_VOTES[name]]


@pytest.mark.parametrize("name", ["nowhere.m4", "binary.m4", "good.csv", "short.m4", "folder"])
def test_bad_models(name, raised):
    for words in (
        ("show", name),
        ("evaluate", name, "--truth", "good.m4"),
        ("evaluate", "good.m4", "--truth", name, "--json"),
    ):
        assert name in run(*words, code=1)
    assert {type(error) for error in raised} == {ModelFileError}


OTHERS = [
    ("evaluate good.m4 --truth other.m4", DataError),
    ("fit good.csv -k 1 -o no/such.m4", FileError),
    ("fit good.csv -k 1 -o folder", FileError),
    ("fit good.csv -k 21", DataError),
    ("fit good.csv -k 20 --method projections", FitError),
    ("simulate no/votes.csv", FileError),
    ("simulate v.csv --truth no/t.m4", FileError),
    ("simulate v.csv --weights no/w.csv", FileError),
    ("demo --output good.csv", FileError),
    ("demo --output good.csv/inside", FileError),
]


@pytest.mark.parametrize(("command", "kind"), OTHERS, ids=[command for command, _ in OTHERS])
def test_what_the_files_or_the_data_refuse(command, kind, raised):
    run(*shlex.split(command), code=1)
    assert [type(error) for error in raised] == [kind]


WRONG_OPTIONS = [  # a command, the option that is wrong by the library's name, its value
    ("fit good.csv -k 0", "n_components", 0),
    ("fit good.csv -k auto --method projections", "n_components", "auto"),
    ("fit good.csv -k 1 -o good.csv", "output", Path("good.csv")),
    ("fit good.csv -k 1 --method guess", "method", "guess"),
    ("fit good.csv -k 1 --method projections --refine full", "refine", "full"),
    ("fit good.csv -k 1 --seed -1", "seed", -1),
    ("fit good.csv -k 1 --method projections --zeta -1", "zeta", -1.0),
    ("fit good.csv -k 1 --method projections --min-count -1", "min_count", -1.0),
    ("fit good.csv -k 1 --method projections --metric miles", "metric", "miles"),
    ("fit good.csv -k 1 --components bt", "components", "bt"),
    ("fit good.csv -k 1 --self-pairs keep", "self_pairs", "keep"),
    ("fit good.csv -k 1 --missing keep", "missing", "keep"),
    ("fit good.csv -k 1 --columns judge=user", "columns", {"judge": "user"}),
    ("check good.csv --columns user=a,winner=a", "columns", {"user": "a", "winner": "a"}),
    ("check good.csv --query SELECT", "query", "SELECT"),
    ("check good.csv --top-items 3", "top_items", 3),
    ("show good.m4 --json --csv", "csv", True),
    ("simulate votes.txt", "output", Path("votes.txt")),
    ("simulate v.csv --weights w.m4", "output", Path("w.m4")),
    ("simulate v.csv --truth v.csv", "output", Path("v.csv")),
    ("simulate v.csv --phi 1.5", "phi", 1.5),
    ("simulate v.csv --phi -0.1", "phi", -0.1),
    ("simulate v.csv --phi 0.1,0.2", "phi", [0.1, 0.2]),
    ("simulate v.csv --alpha 0", "alpha", 0.0),
    ("simulate v.csv --prior flat", "prior", "flat"),
    ("separability --phi 0,2", "phi", 2.0),
    ("separability --threshold 1", "threshold", 1.0),
    ("weights good.m4 good.csv --estimate map --intervals", "intervals", True),
    ("rank good.m4 --user u1", "user", "u1"),
    ("compare good.csv -k 1 --given 1", "given", 1.0),
    ("report good.m4 good.csv --n-replicates 3", "n_replicates", 3),
    ("convert good.csv out.csv --n-voters 5", "n_voters", 5),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "option", "value"), WRONG_OPTIONS, ids=[command for command, *_ in WRONG_OPTIONS]
)
def test_a_wrong_option_is_known_by_its_name_and_value(command, option, value, raised):
    run(*shlex.split(command), code=2)
    (error,) = raised
    assert isinstance(error, OptionError)
    assert (error.option, error.value) == (option, value) and error.expected


UNREADABLE = [  # what click itself refuses, before the library sees it; and what the sentence names
    ("fit good.csv -k two", "'-k'"),
    ("fit", "'VOTES'"),
    ("fit good.csv -k 1 --seed one", "'--seed'"),
    ("fit good.csv -k 1 --n-jobs 0", "'--n-jobs'"),
    ("fit good.csv -k 1 --zeta nan", "'--zeta'"),
    ("fit good.csv -k 1 --zeta large", "'--zeta'"),
    ("fit good.csv -k 1 --tol inf", "'--tol'"),
    ("fit good.csv -k 1 --n-projections 1.5", "'--n-projections'"),
    ("fit good.csv -k 1 --columns winner", "'--columns'"),
    ("fit good.csv -k 1 --columns user=a,user=b", "'--columns'"),
    ("show good.m4 --n-top 0", "'--n-top'"),
    ("evaluate good.m4", "'--truth'"),
    ("simulate v.csv --phi 0.1,,0.2", "'--phi'"),
    ("simulate v.csv --alpha nan", "'--alpha'"),
    ("simulate v.csv --n-items 1", "'--n-items'"),
    ("simulate v.csv --n-users 0", "'--n-users'"),
    ("simulate v.csv --per-user some", "'--per-user'"),
    ("separability --threshold nan", "'--threshold'"),
    ("separability --n-draws 0", "'--n-draws'"),
    ("guess", "'guess'"),
    ("--guess", "--guess"),
    ("show good.m4 --guess", "--guess"),
]


@pytest.mark.parametrize(
    ("command", "named"), UNREADABLE, ids=[command for command, _ in UNREADABLE]
)
def test_what_cannot_be_read_is_named_and_the_help_pointed_to(command, named):
    sentence = run(*shlex.split(command), code=2)
    assert named in sentence and "--help." in sentence


def test_auto_is_passed_to_fit_which_has_the_last_word(monkeypatch, raised):
    asked = []

    def refuse(comparisons, n_components, *, method, **options):
        asked.append((n_components, method, sorted(options)))
        raise OptionError(option="n_components", value=n_components, expected="something else")

    monkeypatch.setattr("mallowmix.fitting.fit.fit", refuse)
    run("fit", "good.csv", "-k", "auto", "--refine", "short", code=2)
    expected = ["components", "engine", "n_fits", "predictor", "progress", "seed"]
    assert asked == [("auto", mm.SpectralOptions(refine="short"), expected)]
    assert raised[0].value == "auto"


def test_every_command_writes_its_options_as_they_are_typed():
    """By the library's names: a parameter of a command is called as the option of the function."""
    commands = typer.main.get_command(app).commands
    for command in commands.values():
        for name, written in option_names(command).items():
            assert written in ("-k", f"--{name.replace('_', '-')}"), (command.name, name)
    assert option_names(commands["fit"])["n_components"] == "-k"
    assert option_names(commands["choose-k"])["ks"] == "-k"
    assert option_names(commands["simulate"])["n_items"] == "--n-items"
    assert "votes" not in option_names(commands["fit"]), "an argument is no option"


# ---- bugs, limits, Ctrl-C ----


def test_a_bug_says_that_it_is_one(monkeypatch):
    monkeypatch.setattr("mallowmix.model.model_file.load", lambda path: 1 / 0)
    sentence = run("show", "good.m4", code=70)
    assert sentence.startswith(
        "This is a bug in mallowmix (ZeroDivisionError: division by zero). Run it again with "
        "MALLOWMIX_DEBUG=1"
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
    ("error", "said"),
    [
        (MemoryError(), "(no more is said)"),
        (RuntimeError("can't start new thread"), "(can't start new thread)"),
    ],
)
def test_other_words_for_too_little_memory(error, said, monkeypatch):
    def refuse(path):
        try:
            raise error
        except RuntimeError as first:
            raise KeyError("passed on") from first

    monkeypatch.setattr("mallowmix.model.model_file.load", refuse)
    assert said in run("show", "good.m4", code=1)


def test_a_limit_that_leaves_no_room_for_packages_is_refused_before_they_are_loaded():
    def run_limited(*words):
        limit = f"ulimit -v {500 * 1024}; exec {shlex.join([*MAIN, *words])}"
        return subprocess.run(["bash", "-c", limit], capture_output=True, text=True)

    done = run_limited("show", "good.m4")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "500 MB" in done.stderr and "ulimit -v 2621440" in done.stderr
    assert run_limited("--version").returncode == 0


def test_no_memory_for_building_the_commands_is_a_sentence():
    code = (
        "import typer.main\n"
        "def refuse(app): raise MemoryError\n"
        "typer.main.get_command = refuse\n"
        "from mallowmix.cli import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: There is not enough memory")
    assert len(done.stderr.splitlines()) == 1


def test_a_package_that_cannot_be_loaded_is_named_with_its_first_cause(monkeypatch):
    def refuse(path):
        try:
            raise ImportError("libblas.so: failed to map segment")
        except ImportError as first:
            raise ImportError("\n\nPLEASE READ THIS\n") from first

    monkeypatch.setattr("mallowmix.model.model_file.load", refuse)
    said = run("show", "good.m4", code=1)
    assert "libblas.so: failed to map segment." in said and "PLEASE" not in said


def in_a_kernel(cause):
    """What Python raises where a compiled function returns with an exception set."""
    error = SystemError("returned a result with an exception set")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DataError("x."), 1),
        (FileError("x."), 1),
        (OptionError("x."), 2),
        (KeyboardInterrupt(), 130),
        (in_a_kernel(KeyboardInterrupt()), 130),
        (in_a_kernel(ValueError()), 70),
        (BrokenPipeError(), 141),
        (KeyError(), 70),
    ],
)
def test_exit_codes(error, code, capfd):
    assert explain(error) == code and code in EXIT_CODES


@pytest.mark.slow
def test_ctrl_c_says_what_was_written(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mallowmix.model.model_file.load", stop)
    done = CliRunner().invoke(app, ["show", "good.m4"])
    assert (done.exit_code, done.stderr) == (130, "Interrupted; nothing was written.\n")
    monkeypatch.setattr("mallowmix.cli.fit._print_result", stop)
    done = CliRunner().invoke(app, ["fit", "good.csv", "-k", "1", "--method", "projections"])
    assert done.exit_code == 130 and done.stderr.endswith(
        "Interrupted; good.m4 had been written already.\n"
    )
    monkeypatch.setattr("mallowmix.cli.reproduce.write_report", stop)
    done = CliRunner().invoke(app, ["reproduce", "footnote", "--quick", "-o", "kept"])
    kept = Path("kept") / "footnote.csv"
    assert done.stderr.endswith(f"Interrupted; {kept} had been written already.\n")
    assert len(kept.read_text(encoding="utf-8").splitlines()) > 1


@pytest.mark.slow
@pytest.mark.parametrize("borda", ["kept", "interrupted"])
def test_ctrl_c_says_that_runs_of_systems_are_kept(borda, monkeypatch, tmp_path):
    def stop(*_, **__):
        raise KeyboardInterrupt

    stopped = "Coin" if borda == "kept" else "Borda"
    monkeypatch.setattr(f"mallowmix.peers.baselines.{stopped}.fit", stop)
    folder = tmp_path / "compared"
    options = ["--systems", "borda,coin", "--n-splits", "1", "-o", str(folder)]
    done = CliRunner().invoke(app, ["compare", "good.csv", *options])
    said = "nothing was written" if borda == "interrupted" else "runs had been written already"
    assert done.exit_code == 130 and done.stderr.endswith(f"{said}.\n")
    assert len(list((folder / "runs").iterdir())) == (borda == "kept")


def test_outputs_are_written_together_or_not_at_all(monkeypatch):
    def full(table, place):
        raise OSError(28, "No space left on device")

    Path("t.m4").write_text("before")
    monkeypatch.setattr(outputs, "_write_parquet", full)
    sentence = run("simulate", "v.csv", "--truth", "t.m4", "--weights", "w.parquet", code=1)
    assert sentence == "w.parquet cannot be written: No space left on device."
    assert Path("t.m4").read_text() == "before" and not Path("v.csv").exists()


@pytest.mark.slow
def test_an_existing_model_is_replaced():
    Path("m.m4").write_text("before")
    done = CliRunner().invoke(
        app, ["fit", "good.csv", "-k", "1", "--method", "projections", "-o", "m.m4", "-q"]
    )
    assert done.exit_code == 0 and mm.load("m.m4").n_components == 1
    assert not list(Path().glob(".*.tmp"))


def read_for(terminal, words, patience):
    """What a process writes on its terminal, up to the given words or for so many seconds."""
    text, end = "", time.monotonic() + patience
    while words not in text and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
    return text


def read_until(terminal, words, patience=600):
    """What a process writes on its terminal, up to the given words."""
    text = read_for(terminal, words, patience)
    assert words in text, text
    return text


def interrupt(process, terminal):
    """Press Ctrl-C, and again after a while: a signal within a callback of C may be lost."""
    shown = ""
    for _ in range(4):
        process.send_signal(signal.SIGINT)
        shown += read_for(terminal, "nothing was written.", 150)
        if "nothing was written." in shown:
            break
    return shown


@pytest.mark.slow
def test_ctrl_c_during_a_fit_on_a_terminal():
    """The bar shows the time left; Ctrl-C leaves the old model, no other file, and the exit code
    130.
    """
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
    words = shlex.split(
        "fit v.csv -k 2 -o m.m4 --method projections --n-projections 100000000 --n-jobs 2"
    )
    process = subprocess.Popen(
        [*MAIN, *words],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "150"},
        # a shell's job in the background ignores Ctrl-C, and so would all that it starts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        os.close(theirs)
        assert "time left" in read_until(terminal, "projections")  # perhaps after compiling
        time.sleep(0.3)
        shown = interrupt(process, terminal)
        assert process.wait(300) == 130
    finally:
        process.kill()
        process.stdout.close()
        os.close(terminal)
    assert "Interrupted; " in shown and "Traceback" not in shown
    assert Path("m.m4").read_text() == "before" and sorted(Path().iterdir()) == before


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error():
    mm.save(mm.M4.from_orders([[f"{i:04d}" for i in range(2_000)]] * 5, 0.1), "long.m4")
    process = subprocess.Popen(
        [*MAIN, "show", "long.m4", "--csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"component,share,phi,position,item\n"
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(30) == 141
    process.stderr.close()
