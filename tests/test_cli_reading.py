"""The command line reads every form: --format, --columns, --query, --ties and the rest; check says
what it found; convert.
"""

import json
import re
import sqlite3
from pathlib import Path

import pytest

import mallowmix as mm
from command_line import run
from mallowmix.cli.fit import default_name
from mallowmix.cli.read_options import OPTIONS, Address, votes_source
from mallowmix.model.model_file import dumps

BATTLES = (
    "judge,model_a,model_b,winner\n"
    "a,x,y,model_a\na,y,z,tie\nb,z,x,model_b\nb,x,y,both_bad\nb,z,y,model_a\n"
)
PLAIN = "user,winner,loser\na,x,y\nb,x,z\nb,z,y\n"
QUERY = 'SELECT judge AS "user", winner, loser FROM choices'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with the same choices as battles, as plain comparisons, and in a database."""
    monkeypatch.chdir(tmp_path)
    Path("battles.csv").write_text(BATTLES)
    Path("plain.csv").write_text(PLAIN)
    Path("whole.csv").write_text(PLAIN + "b,x,y\n")  # all that a ranking says
    with sqlite3.connect("app.sqlite") as connection:
        connection.execute("CREATE TABLE choices (judge, winner, loser)")
        connection.executemany(
            "INSERT INTO choices VALUES (?, ?, ?)",
            [("a", "x", "y"), ("b", "x", "z"), ("b", "z", "y")],
        )
    connection.close()


READS = (
    "fit",
    "update",
    "calibrate",
    "check",
    "heldout",
    "weights",
    "predict",
    "rank",
    "next-pair",
    "choose-k",
    "compare",
    "intervals",
    "sample-posterior",
)


@pytest.mark.slow
@pytest.mark.parametrize("command", [*READS, "diagnose", "compare-groups", "convert"])
def test_every_command_that_reads_votes_has_the_same_options(command):
    """Its own help shows them all, in a panel of their own."""
    said, _ = run(command, "--help")
    assert "How to read the votes" in said
    for name in OPTIONS:
        assert re.search(rf"--{name.replace('_', '-')}\b", said), name


def test_recognised_forms_are_said_and_named_ones_are_not():
    _, notes = run("check", "battles.csv")
    assert (
        "Note: battles.csv was read as battles (left from 'model_a'" in notes
        and "pass --format battles to say so yourself." in notes
    )
    assert "Note: 1 of 5 battles are ties and were left out; --ties half counts each" in notes
    assert (
        "In 1 of 5 battles both were bad: that is not a tie" in notes and "--both-bad tie" in notes
    )
    said, notes = run(
        "check", "battles.csv", "--format", "battles", "--ties", "half", "--both-bad", "drop"
    )
    assert (
        notes == ""
        and re.search(r"read as +│ +battles", said)
        and "1 (half a win for both sides)" in said
    )


@pytest.mark.slow
def test_every_source_is_the_same_model():
    run("fit", "plain.csv", "-k", "1", "-o", "plain.m4")
    expected = dumps(mm.load("plain.m4"))
    for words in (
        ("battles.csv", "--ties", "drop", "--both-bad", "drop"),
        ("app.sqlite", "--query", QUERY),
        (f"sqlite:///{Path('app.sqlite').resolve()}", "--query", QUERY),
        ("app.sqlite", "--query", "SELECT * FROM choices", "--columns", "user=judge"),
    ):
        run("fit", *words, "-k", "1", "-o", "other.m4", "--quiet")
        assert dumps(mm.load("other.m4")) == expected, words


def test_patterns_are_one_table():
    run("convert", "plain.csv", "part-1.parquet")
    Path("more.csv").write_text("user,winner,loser\nc,y,x\n")
    run("convert", "more.csv", "part-2.parquet")
    assert json.loads(run("check", "part-*.parquet", "--json")[0])["n_users"] == 3
    run("fit", "part-*.parquet", "-k", "1", "-q")
    assert Path("part.m4").exists()
    assert "No file fits none-*.csv" in run("check", "none-*.csv", code=1)[1]


@pytest.mark.parametrize(
    ("votes", "name"),
    [
        ("votes.csv", "votes.m4"),
        ("votes.jsonl.zst", "votes.m4"),
        ("votes-*.parquet", "votes.m4"),
        ("*.parquet", "votes.m4"),
        ("postgresql://me:secret@host:5432/polls?sslmode=require", "polls.m4"),
    ],
)
def test_a_model_is_called_after_its_votes(votes, name):
    assert default_name(votes_source(votes)) == name


def test_a_password_is_never_shown():
    address = votes_source("postgresql://me:secret@127.0.0.1:1/polls")
    assert isinstance(address, Address) and str(address) == "postgresql://me:***@127.0.0.1:1/polls"
    _, said = run(
        "check", "postgresql://me:secret@127.0.0.1:1/polls", "--query", "SELECT 1", code=1
    )
    assert (
        "secret" not in said
        and "postgresql://me:***@127.0.0.1:1/polls does not answer the query" in said
    )


@pytest.mark.slow
def test_messages_speak_of_options():
    for code, words, expected in [
        (
            2,
            "check app.sqlite",
            "say what to read from it with --query 'SELECT user, winner, loser FROM votes'; it "
            "has the tables",
        ),
        (1, "check odd.csv", "a word that you explain: --outcomes win=tie."),
        (
            1,
            "check pairs.csv",
            "--columns user=NAME names it). Pass --one-user to treat all rows as one person's",
        ),
        (2, "check plain.csv --format votes", "--format is 'votes'; it must be one of"),
        (2, "check plain.csv --ties keep", "--ties is 'keep'; it must be one of"),
        (
            2,
            "check plain.csv --top-items 3",
            "--top-items is for ratings and movielens; this was read as comparisons",
        ),
        (2, "check plain.csv --per-user equal", "--per-user is for ratings"),
        (
            1,
            "check battles.csv --ties error",
            "Leave them out with --ties drop, or count each as half a win",
        ),
        (1, "check orders.csv", "or pass --zero missing or --zero best"),
        (
            2,
            "check battles.csv --outcomes draw",
            "'draw' does not fit: write a word, =, and what it means",
        ),
        (2, "check battles.csv --outcomes w=won", "--outcomes gives 'w' the meaning 'won'"),
    ]:
        Path("odd.csv").write_text(BATTLES.replace("tie", "win"))
        Path("pairs.csv").write_text("winner,loser\nx,y\n")
        Path("orders.csv").write_text("user,item,rank\na,x,0\na,y,1\n")
        _, said = run(*words.split(), code=code)
        assert expected in said, said
        assert "_user" not in said and "both_bad=" not in said


def test_check_says_whether_k_is_supported():
    said, _ = run("check", "plain.csv", "-k", "3")
    assert "Can this data support 3 components? By rules of thumb, no." in said
    assert "0 people for each of 3 components made two comparisons or more: far too few" in said
    assert (
        json.loads(run("check", "plain.csv", "-k", "3", "--json")[0])["support"]["verdict"] == "no"
    )


def test_check_tells_position_bias():
    said, _ = run("check", "battles.csv", "--ties", "drop", "--both-bad", "drop")
    assert re.search(r"left of two equals wins +│ +\d+\.\d %", said)


# ---- convert ----


@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    ["comparisons", "battles", "ratings", "rankings", "best-worst", "bayesmallows", "implicit"],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl.gz", "parquet", "sqlite"])
def test_there_and_back(form, ending):
    run("convert", "whole.csv", f"other.{ending}", "--to", form, "-q")
    query = ("--query", "SELECT * FROM votes") if ending == "sqlite" else ()
    run("convert", f"other.{ending}", "back.csv", "-q", *query)
    back = mm.read_comparisons("back.csv")
    assert back.without_ranking_id() == mm.read_comparisons("whole.csv")
    # forms of orders say that they are one a person, and the table that is written says so too
    assert (back.ranking_id is not None) == (form in ("ratings", "rankings"))


def test_a_profile_of_voters():
    mm.save(mm.M4.from_orders(["abcd", "dcba"], 0.2), "tastes.m4")
    said, _ = run("convert", "tastes.m4", "profile.soc", "--n-voters", "50", "--seed", "3")
    assert said == "Wrote profile.soc: 50 voters, as preflib.\n"
    assert mm.read_preflib("profile.soc").n_comparisons == 50 * 6
    run("convert", "tastes.m4", "again.soc", "--n-voters", "50", "--seed", "3", "-q")
    orders = [
        [line for line in Path(name).read_text().splitlines() if "#" not in line]
        for name in ("profile.soc", "again.soc")
    ]
    assert orders[0] == orders[1]


@pytest.mark.slow
def test_what_convert_refuses():
    mm.save(mm.M4.from_orders(["ab"], 0.2), "tastes.m4")
    for code, words, expected in [
        (2, "plain.csv out.xlsx", "does not tell how to write it"),
        (2, "plain.csv out.soc --to battles", "and --to preflib go together"),
        (2, "plain.csv out.csv --to preflib", "and --to preflib go together"),
        (2, "plain.csv out.csv --to votes", "it must be one of"),
        (2, "plain.csv plain.csv", "is named twice"),
        (2, "plain.csv out.csv --n-voters 5", "--n-voters goes with a model file"),
        (2, "tastes.m4 out.soc", "say how many voters to draw from its population with --n-voters"),
        (1, "plain.csv out.soc", "The comparisons of user 'b' are not those of one ranking"),
        (
            1,
            "whole.csv out.soc",
            "these rankings are without ties, incomplete; use the ending .soi or .toi",
        ),
    ]:
        _, said = run("convert", *words.split(), code=code)
        assert expected in said, said
        assert not Path("out.soc").exists() and not Path("out.csv").exists()
