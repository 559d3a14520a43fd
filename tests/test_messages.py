"""The wording of errors and warnings, of the library, the command line and the HTTP API: the only
place where it is tested.

The tables are in tests/data/messages_of_*.txt, a call or a command and the sentence that it ends
with.
"""

import pickle
import re
import shlex
import sqlite3
import warnings
from pathlib import Path

import pytest

import mallowmix as mm
from command_line import run
from mallowmix import errors
from mallowmix.cli.option_names import as_typed
from mallowmix.errors import DataWarning, Option, OptionError
from mallowmix.model.separability import separability_probability
from mallowmix.web.field_names import as_field, in_fields

DATA = Path(__file__).parent / "data"
ROWS = [("u", "a", "b"), ("v", "b", "c"), ("w", "c", "a")] * 3
VOTES = mm.read_comparisons(ROWS)
MODEL = mm.M4.from_orders(["abc"], 0.1)
TWO = mm.M4.from_orders(["abc", "cba"], [0.1, 0.2], [0.5, 0.5])
NAMES = {
    **{"mm": mm, "ROWS": ROWS, "VOTES": VOTES, "MODEL": MODEL, "TWO": TWO},
    "separability_probability": separability_probability,
}
PAIRS = [("ab", "bc", "ca", "cb", "ac", "ba")[i % 6] for i in range(120)]
FILES = {
    "good.csv": "user,winner,loser\n"
    + "".join(f"u{n // 6},{pair[0]},{pair[1]}\n" for n, pair in enumerate(PAIRS)),
    "column.csv": "user,better,loser\nu,a,b\n",
    "lines.csv": "user,winner,loser\n" + "u,a,b\n" * 3 + "u,a\n" * 10,
    "self.csv": "user,winner,loser\nu,a,a\n",
    "gap.csv": "user,winner,loser\nu,a,\n",
    "empty.csv": "",
    "nobody.csv": "winner,loser\na,b\n",
    "unknown.csv": "user,winner,loser\nu,a,z\n",
    "battles.csv": "user,left,right,outcome\nu,cat,dog,left\nu,cat,dog,tie\nu,cat,dog,both_bad\n",
    "words.csv": "user,left,right,outcome\nu,cat,dog,hm\n",
    "stars.csv": "user,item,rating\nu,cat,5\nu,dog,3\nu,owl,3\n",
    "places.csv": "user,item,rank\nu,cat,0\nu,dog,1\n",
    "implicit.csv": "user,item,clicked\nu,cat,1\nu,cat,0\n",
    "people.csv": "user,age\n" + "".join(f"u{m},{m % 2}\n" for m in range(20)),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sound comparisons and models, and one of everything that can be wrong."""
    folder = tmp_path_factory.mktemp("messages")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for name in ("binary.csv", "binary.m4", "votes.bin"):
        (folder / name).write_bytes(bytes(range(256)) * 20)
    mm.save(MODEL, folder / "good.m4")
    mm.save(mm.M4.from_orders(["abd"], 0.1), folder / "other.m4")
    scored = mm.fit(
        mm.read_comparisons(folder / "good.csv"), 1, components="bradley-terry", predictor=False
    )
    mm.save(scored, folder / "bt.m4")
    (folder / "short.m4").write_bytes((folder / "good.m4").read_bytes()[:-5])
    (folder / "folder").mkdir()
    with sqlite3.connect(folder / "app.sqlite") as connection:
        connection.execute("CREATE TABLE votes (user, winner, loser)")
    connection.close()
    return folder


def table(name, prompt):
    """The entries of a table: what is run, and the line after it."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith(prompt)]
    return [(lines[n].removeprefix(prompt), lines[n + 1]) for n in starts]


CALLS = table("messages_of_the_library.txt", ">>> ")
COMMANDS = table("messages_of_commands.txt", "$ ")


@pytest.mark.parametrize(("call", "said"), CALLS, ids=[call for call, _ in CALLS])
def test_a_call_that_fails_says_why(call, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    about, sentence = said.split(": ", 1)
    kind, _, option = about.partition(" ")
    with pytest.raises(getattr(errors, kind)) as caught:
        eval(call, dict(NAMES))
    assert str(caught.value) == sentence
    assert getattr(caught.value, "option", None) == (option or None)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "said"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_that_fails_says_why_in_its_own_names(command, said, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MALLOWMIX_DATA", raising=False)
    before = sorted(folder.rglob("*"))
    code, sentence = said.split(" ", 1)
    printed, complaint = run(*shlex.split(command), code=int(code))
    assert complaint.splitlines()[-1] == "Error: " + sentence.replace("HERE", str(folder))
    assert printed == "" and sorted(folder.rglob("*")) == before


# ---- warnings ----

BATTLES = {
    "user": ["u"] * 3,
    "left": ["cat"] * 3,
    "right": ["dog"] * 3,
    "outcome": ["left", "tie", "both_bad"],
}
READ_AS = "{} was read as battles; pass {} to say so yourself."
TIES = (
    "1 of 3 battles are ties and were left out; {} counts each as half a win for both sides, "
    "{} leaves them out without this warning."
)
BAD = (
    "In 1 of 3 battles both were bad: that is not a tie, and they were left out; {} treats them as "
    "ties, {} leaves them out without this warning."
)


def test_warnings_of_the_library_name_its_options():
    with pytest.warns(DataWarning) as caught:
        mm.read_comparisons(BATTLES)
    assert [str(warning.message) for warning in caught] == [
        READ_AS.format("The table", 'format="battles"'),
        TIES.format('ties="half"', 'ties="drop"'),
        BAD.format('both_bad="tie"', 'both_bad="drop"'),
    ]
    assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mm.read_battles(BATTLES, ties="half", both_bad="drop")


@pytest.mark.slow
def test_notes_of_the_command_line_name_its_options(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert run("check", "battles.csv")[1].splitlines() == [
        "Note: " + READ_AS.format("battles.csv", "--format battles"),
        "Note: " + TIES.format("--ties half", "--ties drop"),
        "Note: " + BAD.format("--both-bad tie", "--both-bad drop"),
    ]


def test_a_large_comparison_of_systems_names_what_makes_it_smaller(monkeypatch, folder):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("mallowmix.assess.compare._MANY", 10)
    sentence = (
        "There are {} comparisons to learn from, which takes long. At most 150 of a person ({}) or "
        "3,000 people ({}) often tell the systems apart as well."
    )
    votes = mm.read_comparisons("good.csv")
    with pytest.warns(DataWarning) as caught:
        mm.compare(votes, 1, systems=["coin"])
    said = str(caught[0].message)
    count = re.search(r"\d+", said)[0]
    assert said == sentence.format(count, "max_per_user=150", "n_users=3000")
    _, notes = run("compare", "good.csv", "-k", 1, "--systems", "coin")
    expected = sentence.format(count, "--max-per-user 150", "--n-users 3000")
    assert f"Note: {expected}\n" in notes


# ---- how an option is written ----

WRITTEN = [  # the option, in Python, on the command line, in a request
    (Option("n_jobs"), "n_jobs", "--n-jobs", "n_jobs"),
    (Option("n_components"), "n_components", "-k", "components"),
    (Option("n_components", 3), "n_components=3", "-k 3", '"components": 3'),
    (
        Option("self_pairs", "drop"),
        'self_pairs="drop"',
        "--self-pairs drop",
        '"self_pairs": "drop"',
    ),
    (Option("one_user", True), "one_user=True", "--one-user", '"one_user": true'),
    (
        Option("columns", {"user": "judge", "weight": None}),
        'columns={"user": "judge", "weight": None}',
        "--columns user=judge,weight=",
        '"columns": {"user": "judge", "weight": null}',
    ),
    (
        Option("query", "SELECT a, b"),
        'query="SELECT a, b"',
        "--query 'SELECT a, b'",
        '"query": "SELECT a, b"',
    ),
    (Option("systems", ("m4", "coin")), "systems=('m4', 'coin')", "--systems m4,coin", None),
    (Option("user_weight"), "user_weight", "user_weight", None),
    (Option("user_weight", 2), "user_weight=2", "user_weight=2", None),
]
TYPED = {
    **{"n_jobs": "--n-jobs", "n_components": "-k", "self_pairs": "--self-pairs"},
    **{"one_user": "--one-user", "columns": "--columns", "query": "--query"},
    "systems": "--systems",
}


@pytest.mark.parametrize(("option", "python", "typed", "field"), WRITTEN, ids=str)
def test_an_option_is_written_as_each_reader_knows_it(option, python, typed, field):
    assert str(option) == python
    assert as_typed(option, TYPED) == typed
    assert field is None or as_field(option) == field


def test_the_http_api_names_its_own_fields():
    with pytest.raises(errors.DataError) as caught:
        mm.fit(VOTES, 4, predictor=False)
    assert in_fields(caught.value) == (
        "4 components cannot be distinguished by 3 users: there must be at least one for each. "
        "Lower components, or add users."
    )


# ---- what an error carries ----


def test_an_option_error_carries_its_data():
    error = OptionError(
        option="n_jobs",
        value=0,
        expected="at least 1",
        hint=("Or leave ", Option("n_jobs"), " out."),
    )
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert (each.option, each.value, each.expected) == ("n_jobs", 0, "at least 1")
        assert str(each) == "n_jobs is 0; it must be at least 1. Or leave n_jobs out."
