"""`weights`, `predict`, `rank`, `next-pair` on the command line: the numbers in files, JSON and
words; mistakes in one sentence.
"""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import mallowmix as mm
from command_line import run

TWO = mm.M4.from_orders([list("abcd"), list("dcba")], phi=[0.3, 0.5], alpha=[0.4, 0.9])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model file and votes of 25 people, u01 to u25."""
    folder = tmp_path_factory.mktemp("people")
    mm.save(TWO, folder / "model.m4")
    pq.write_table(TWO.sample(25, 5, seed=1).comparisons.to_arrow(), folder / "votes.parquet")
    return folder / "model.m4", folder / "votes.parquet"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def votes(files):
    return mm.read_comparisons(files[1])


def rows_of(path):
    with Path(path).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- weights ----


def test_weights_are_written(files, votes):
    said, _ = run("weights", *files, "-o", "w.parquet")
    table = pq.read_table("w.parquet")
    assert table.column_names == ["user", "component_1", "component_2", "n_comparisons"]
    assert table.column("user").to_pylist() == votes.users.tolist()
    found = np.column_stack([table.column("component_1"), table.column("component_2")])
    np.testing.assert_array_equal(found, mm.weights(TWO, votes))
    assert table.column("n_comparisons").to_pylist() == [5.0] * 25
    assert "Wrote w.parquet: 25 people." in said and "u01" in said


def test_weights_with_intervals(files, votes):
    run("weights", *files, "-o", "w.csv", "--intervals", "--level", 0.8, "--seed", 3, "--n-jobs", 1)
    rows, found = rows_of("w.csv"), mm.weight_intervals(TWO, votes, level=0.8, seed=3)
    assert list(rows[0]) == [
        "user",
        "component_1",
        "component_2",
        "n_comparisons",
        "low_1",
        "high_1",
        "low_2",
        "high_2",
    ]
    for k in range(2):
        for name, expected in (("component", found.mean), ("low", found.low), ("high", found.high)):
            np.testing.assert_allclose(
                [float(row[f"{name}_{k + 1}"]) for row in rows], expected[:, k], rtol=1e-12
            )
    assert re.search(
        r"u01 +│ +\d+\.\d % \[\d+\.\d %, \d+\.\d %\]", run("weights", *files, "--intervals")[0]
    )


@pytest.mark.slow
def test_weights_in_words_and_json(files, votes):
    said, _ = run("weights", *files)
    assert (
        "These are 10 of 25 people; -o writes all of them." in said
        and "u10" in said
        and "u11" not in said
    )
    values = json.loads(run("weights", *files, "--estimate", "map", "--json")[0])
    mean = mm.weights(TWO, votes, estimate="map").mean(axis=0).tolist()
    assert values == {"n_users": 25, "n_prior": 0, "mean": mean, "output": None}
    assert run("weights", *files, "--quiet") == ("", "")


def test_people_of_whom_nothing_is_known(files, tmp_path):
    (tmp_path / "more.csv").write_text("judge,winner,loser\nu,a,b\nv,x,b\n")
    options = ("--columns", "user=judge", "--unknown-items", "drop")
    values = json.loads(run("weights", files[0], "more.csv", *options, "--json", "-o", "w.csv")[0])
    assert (values["n_users"], values["n_prior"], values["output"]) == (2, 1, "w.csv")
    row = rows_of("w.csv")[1]
    assert row["n_comparisons"] == "0.0" and float(row["component_1"]) == pytest.approx(
        TWO.share[0]
    )
    assert "Nothing is known of 1 person" in run("weights", files[0], "more.csv", *options)[0]
    _, error = run("weights", files[0], "more.csv", "--columns", "user=judge", code=1)
    assert "1 of the 3 items is unknown: 'x'" in error and "--unknown-items drop" in error


# ---- predict ----


def test_everybody_and_every_pair(files, votes, tmp_path):
    (tmp_path / "pairs.csv").write_text("first,second\na,b\nd,a\n")
    said, _ = run("predict", *files, "--pairs", "pairs.csv", "-o", "p.csv")
    rows, found = rows_of("p.csv"), mm.predict(TWO, votes, [("a", "b"), ("d", "a")])
    assert list(rows[0]) == ["user", "first", "second", "probability", "known"]
    assert [(row["user"], row["first"], row["second"]) for row in rows[:3]] == [
        ("u01", "a", "b"),
        ("u01", "d", "a"),
        ("u02", "a", "b"),
    ]
    np.testing.assert_allclose(
        [float(row["probability"]) for row in rows], found.ravel(), rtol=1e-12
    )
    assert {row["known"] for row in rows} == {"True"}
    assert "pairs.csv: 2 pairs from the columns first, second, each for all users." in said
    assert "Wrote p.csv: 50 predictions." in said


def test_one_person_in_each_row(files, votes, tmp_path):
    (tmp_path / "pairs.csv").write_text("item_b,user,item_a\nb,u07,a\na,nobody,d\n")
    said, _ = run("predict", *files, "--pairs", "pairs.csv", "-o", "p.parquet")
    table = pq.read_table("p.parquet").to_pydict()
    assert (table["user"], table["first"], table["second"]) == (
        ["u07", "nobody"],
        ["a", "d"],
        ["b", "a"],
    )
    assert table["known"] == [True, False]
    expected = [
        mm.predict(TWO, votes.of("u07"), [("a", "b")])[0, 0],
        mm.predict(TWO, None, [("d", "a")])[0, 0],
    ]
    np.testing.assert_allclose(table["probability"], expected, rtol=1e-12)
    assert "2 pairs from the columns item_a, item_b, each for the user of its row." in said
    assert (
        "1 prediction is for users without comparisons: what the population would choose." in said
    )


def test_predictions_as_json(files, tmp_path):
    for names in ("left,right", "winner,loser"):
        (tmp_path / "pairs.csv").write_text(f"{names}\na,b\n")
        values = json.loads(run("predict", *files, "--pairs", "pairs.csv", "--json")[0])
        assert (values["n_predictions"], values["n_unknown"], values["columns"]) == (
            25,
            0,
            names.split(","),
        )
        assert set(values["predictions"][0]) == {"user", "first", "second", "probability", "known"}
    values = json.loads(run("predict", *files, "--pairs", "pairs.csv", "--json", "-o", "p.csv")[0])
    assert values["output"] == "p.csv" and "predictions" not in values
    assert (
        "These are 10 of 25 predictions; -o writes all of them."
        in run("predict", *files, "--pairs", "pairs.csv")[0]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "one,two\na,b\n",
            "has the columns 'one', 'two': call those of the two items first, second (item_a, "
            "item_b; left, right;",
        ),
        ("first,second\na,x\n", "Pair 1: the model has no item 'x'; it has 4 others"),
        ("first,second\na,b\na,a\n", "Pair 2 compares 'a' with itself"),
        ("first,second\na,\n", "pairs.csv line 2 lacks a value: give two items"),
        ("first,second\na\n", "pairs.csv line 2 has 1 field where the header has 2"),
        ("", "pairs.csv is empty"),
    ],
)
def test_bad_pairs(files, tmp_path, text, message):
    (tmp_path / "pairs.csv").write_text(text)
    _, error = run("predict", *files, "--pairs", "pairs.csv", "-o", "p.csv", code=1)
    assert message in error and "Traceback" not in error and not (tmp_path / "p.csv").exists()


def test_pairs_are_asked_for(files):
    assert "There are no pairs to predict: name a file" in run("predict", *files, code=2)[1]
    assert (
        "There is no file nowhere.csv"
        in run("predict", *files, "--pairs", "nowhere.csv", code=1)[1]
    )


# ---- rank ----


def test_one_persons_ranking(files, votes):
    said, _ = run("rank", *files, "--user", "u07")
    (ranking,) = mm.rank(TWO, votes.of("u07"))
    assert (
        "The ranking of u07, from 5 comparisons:" in said
        and "Range: of positions, which holds an item's true one with 90 %" in said
    )
    for line in ranking:
        places = f"{line.low}" if line.low == line.high else f"{line.low} to {line.high}"
        assert re.search(
            rf"{line.position} │ {line.item} +│ +{100 * line.win_rate:.1f} % │ +{places}\b", said
        )
    values = json.loads(
        run("rank", *files, "--user", "u07", "--n-top", 2, "--level", 0.5, "--json")[0]
    )
    (top,) = mm.rank(TWO, votes.of("u07"), n_top=2, level=0.5)
    assert values["ranking"] == [vars(line) for line in top]
    assert (values["user"], values["n_comparisons"], values["level"]) == ("u07", 5.0, 0.5)


def test_the_population_and_everybody(files, votes):
    said, _ = run("rank", files[0])
    assert "The population's ranking:" in said and "ange" not in said
    values = json.loads(run("rank", files[0], "--json")[0])
    assert values["user"] is None and [line["item"] for line in values["ranking"]] == [
        line.item for line in mm.rank(TWO)[0]
    ]
    said, _ = run("rank", *files, "-o", "all.csv", "--n-top", 1)
    rows = rows_of("all.csv")
    assert (
        list(rows[0]) == ["user", "position", "item", "win_rate", "low", "high"]
        and "Wrote all.csv: 25 rankings." in said
    )
    assert [row["item"] for row in rows] == [
        ranking[0].item for ranking in mm.rank(TWO, votes, n_top=1)
    ]
    run("rank", files[0], "-o", "anybody.parquet", "--quiet")
    assert pq.read_table("anybody.parquet").column_names == [
        "position",
        "item",
        "win_rate",
        "low",
        "high",
    ]


def test_a_wrong_name_brings_the_nearest(files):
    for command in ("rank", "next-pair"):
        _, error = run(command, *files, "--user", "u7", code=1)
        assert "votes.parquet has no user 'u7': did you mean 'u07'?" in error
        assert (
            "has no user 'Ωmega': there are 25 others, such as "
            in run(command, *files, "--user", "Ωmega", code=1)[1]
        )


def test_whose_ranking(files):
    assert "Whose ranking is wanted? Name somebody with --user" in run("rank", *files, code=2)[1]
    assert (
        "--user u07 needs a file of comparisons"
        in run("rank", files[0], "--user", "u07", code=2)[1]
    )
    assert (
        "--level is 2.0; it must be between 0 and 1"
        in run("rank", *files, "--user", "u07", "--level", 2, code=2)[1]
    )


def test_a_person_whose_items_are_all_unknown(files, tmp_path):
    (tmp_path / "v.csv").write_text("user,winner,loser\nu,x,y\n")
    said, _ = run("rank", files[0], "v.csv", "--user", "u", "--unknown-items", "drop")
    assert "u has no comparisons: this is the ranking of the population" in said


# ---- next ----


def test_the_next_questions(files, votes):
    values = json.loads(run("next-pair", *files, "--user", "u07", "-n", 2, "--json")[0])
    found = mm.next_pair(TWO, votes.of("u07"), n_best=2)
    assert values == {"user": "u07", "questions": [vars(question) for question in found]}
    said, _ = run("next-pair", *files, "--user", "u07", "-n", 2)
    assert f"{found[0].information:.4f}" in said and "The most telling question first" in said
    somebody = json.loads(run("next-pair", files[0], "--json")[0])
    assert somebody["user"] is None and len(somebody["questions"]) == 3
    assert "A person is named by both" in run("next-pair", files[0], "--user", "u07", code=2)[1]


def test_nothing_left_to_ask(files, tmp_path):
    rows = [f"u,{a},{b}" for a in "abcd" for b in "abcd" if a < b]
    (tmp_path / "v.csv").write_text("\n".join(["user,winner,loser", *rows]) + "\n")
    assert (
        "Every pair has been answered: there is nothing left to ask."
        in run("next-pair", files[0], "v.csv", "--user", "u")[0]
    )
    assert (
        json.loads(run("next-pair", files[0], "v.csv", "--user", "u", "--json")[0])["questions"]
        == []
    )


# ---- mistakes ----


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("weights", "--estimate", "mode"),
            "--estimate is 'mode'; it must be one of 'mean', 'map'",
        ),
        (("weights", "--intervals", "--estimate", "map"), "--intervals goes with --estimate mean"),
        (("weights", "--intervals", "--level", "1"), "--level is 1.0; it must be between 0 and 1"),
        (
            ("weights", "-o", "w.txt"),
            "the ending '.txt' does not tell how to write it; use .parquet or .csv",
        ),
        (("rank", "--user", "u01", "--n-top", "0"), "0 is too small; it must be at least 1"),
        (("next-pair", "--user", "u01", "-n", "0"), "0 is too small; it must be at least 1"),
        (
            ("predict", "--pairs", "p.csv", "--unknown-items", "keep", "-o", "p.csv"),
            "p.csv is named twice",
        ),
    ],
)
def test_mistakes_are_one_sentence(files, words, message):
    _, error = run(words[0], *files, *words[1:], code=2)
    assert message in error and "Traceback" not in error
