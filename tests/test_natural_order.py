"""Labels are shown in natural order, and numbered inside by their text."""

import csv
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mallowmix as mm
from command_line import run
from mallowmix.data.natural_order import natural_order

ROWS = [(f"p{m}", "a" if m % 2 else "b", "b" if m % 2 else "a") for m in range(1, 13)]
ROWS += [(f"p{m}", "a", "c") for m in range(1, 13)]
SHOWN = [f"p{m}" for m in range(1, 13)]


def test_by_hand():
    labels = ["p10", "p2", "P1", "p1", "p02", "x", "7", "10", "p2b", "p2a10", "p2a9"]
    expected = ["7", "10", "P1", "p1", "p02", "p2", "p2a9", "p2a10", "p2b", "p10", "x"]
    assert [labels[i] for i in natural_order(labels)] == expected


@given(st.lists(st.integers(0, 10**30), unique=True), st.text("xyz-", max_size=3))
def test_numbers_after_the_same_text_are_in_the_order_of_their_values(numbers, stem):
    labels = [f"{stem}{number}" for number in numbers]
    assert [labels[i] for i in natural_order(labels)] == [f"{stem}{n}" for n in sorted(numbers)]


@pytest.mark.slow
@given(st.lists(st.text(max_size=8), unique=True), st.integers(0, 5))
def test_any_text_has_an_order_and_its_beginning_is_that_of_all(labels, first):
    order = natural_order(labels)
    assert sorted(order.tolist()) == list(range(len(labels)))
    assert natural_order(labels, first).tolist() == order[:first].tolist()


@pytest.fixture(scope="module")
def model():
    return mm.M4.from_orders(["abc"], 0.2)


def test_numbering_stays_by_text(model):
    votes = mm.read_comparisons(ROWS)
    assert votes.users.tolist() == sorted(SHOWN)
    assert mm.weights(model, votes).users.tolist() == sorted(SHOWN)


def test_notebooks_show_natural_order(model):
    votes = mm.read_comparisons(ROWS)
    for shown in (mm.weights(model, votes), mm.rank(model, votes)):
        names = re.findall(r"<bdi>(p\d+)</bdi>", shown._repr_html_())
        assert list(dict.fromkeys(names)) == SHOWN[: len(set(names))]


@pytest.mark.slow
def test_the_command_line_shows_and_writes_natural_order(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    mm.save(model, "model.m4")
    with Path("votes.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("user", "winner", "loser"), *ROWS])
    printed, _ = run("weights", "model.m4", "votes.csv")
    names = re.findall(r"\bp\d+\b", printed)
    assert names == SHOWN[: len(names)] and len(names) > 2
    run("weights", "model.m4", "votes.csv", "-o", "weights.csv")
    run("rank", "model.m4", "votes.csv", "-o", "ranks.csv")
    for name in ("weights.csv", "ranks.csv"):
        with Path(name).open(newline="") as file:
            users = [row["user"] for row in csv.DictReader(file)]
        assert list(dict.fromkeys(users)) == SHOWN
