"""The help: commands in groups, kinds of values in words; mistyped names come with the nearest."""

import re

import pytest
import typer.main

import mallowmix as mm
from mallowmix.cli import app
from mallowmix.errors import DataError
from tests.command_line import run

COMMANDS = list(typer.main.get_command(app).commands)
GROUPS = ("Start here", "Data", "People", "How far to rely on it", "Share", "Research")


def test_commands_are_listed_in_groups_and_each_once():
    lines = run("--help")[0].splitlines()
    titles = [re.match(r"╭─ (.+?) ─+╮", line) for line in lines]
    assert [found[1] for found in titles if found] == ["Options", *GROUPS]
    listed = [found[1] for line in lines if (found := re.match(r"│ ([a-z][a-z-]+)  ", line))]
    assert sorted(listed) == sorted(COMMANDS) and listed[:3] == ["demo", "check", "fit"]


@pytest.mark.parametrize("command", COMMANDS)
def test_kinds_of_values_are_words(command):
    text = run(command, "--help")[0]
    assert not re.search(r"<\w+|Any|list\[|\{[A-Z]|\[\[", text)
    usage = re.search(r"Usage: mallowmix (\S+) \[OPTIONS\]( .*)?", text)
    assert usage and usage[1] == command
    for name in (usage[2] or "").split():
        assert re.fullmatch(r"[A-Z_]+|\[[A-Z_]+(\.\.\.)?\]", name), name


@pytest.mark.slow
def test_a_mistyped_option_comes_with_the_nearest():
    said = run("fit", "votes.csv", "--quite", code=2)[1]
    assert (
        said == "Error: No such option: --quite. Did you mean --quiet? See mallowmix fit --help.\n"
    )
    assert "Did you mean" not in run("fit", "votes.csv", "--xyzzyx", code=2)[1]
    assert "Did you mean 'report'" in run("reprot", code=2)[1]


MODEL = mm.M4.from_orders([["Green tea", "coffee", "milk"], ["milk", "coffee", "Green tea"]], 0.3)


@pytest.mark.parametrize(
    "ask",
    [
        lambda item: MODEL.probability([1, 0], item, "milk"),
        lambda item: mm.predict(MODEL, [("me", "milk", "coffee")], [(item, "milk")]),
        lambda item: mm.weights(MODEL, [("me", item, "coffee")]),
    ],
)
def test_an_unknown_item_comes_with_the_nearest(ask):
    with pytest.raises(DataError, match=r" Did you mean 'Green tea'\?"):
        ask("green teas")
    with pytest.raises(DataError) as refused:
        ask("xyz")
    assert "Did you mean" not in str(refused.value)


@pytest.mark.parametrize("theta", [[5, 0], [0.5, 0.6], [1.5, -0.5], [[0.5, 0.5], [1, 1]]])
def test_weights_that_are_none_have_no_probability(theta):
    with pytest.raises(DataError, match="at least 0 and sum to one"):
        MODEL.probability(theta, "milk", "coffee")


def test_rounded_weights_are_taken():
    """A third written with four digits; the mean of two mirrored components is a half."""
    assert MODEL.probability([0.5, 0.5], "milk", "coffee") == pytest.approx(0.5)
    three = mm.M4.from_orders([["a", "b"]] * 3, 0.3)
    third = three.probability([0.3333] * 3, "a", "b")
    assert third == pytest.approx(1 / 1.3, rel=1e-3)


def cells(html):
    """The rows of a table as text."""
    rows = re.findall(r"<tr>(.*?)</tr>", html)[1:]
    return [[re.sub("<[^>]+>", "", cell) for cell in re.findall("<td.*?</td>", r)] for r in rows]


def test_results_show_themselves_in_notebooks():
    votes = mm.read_comparisons([("ann", "<b>", "c"), ("ann", "<b>", "c"), ("bob", "c", "<b>")])
    assert cells(votes._repr_html_()) == [
        ["ann", "&lt;b&gt;", "c", "2"],
        ["bob", "c", "&lt;b&gt;", "1"],
    ]
    report = mm.check(votes)
    assert ["comparisons", "3"] in cells(report._repr_html_())
    assert all(
        sentence in re.sub("&#x27;|&quot;", "'", report._repr_html_()).replace("&lt;b&gt;", "<b>")
        for sentence in report.warnings
    )
    other = mm.M4.from_orders([["coffee", "Green tea", "milk"]] * 2, 0.4)
    changes = mm.compare_models(MODEL, other)
    assert changes._repr_html_().count("<li>") == len(changes.words().splitlines()) >= 2
    frame = changes.to_frame("pandas")
    assert frame["old"].tolist() == [1, 2] and frame["new_phi"].tolist() == [0.4, 0.4]


@pytest.mark.slow
def test_groups_and_systems_have_tables():
    dishes = mm.load_dishes(n_users=40, per_user=20)
    users = dishes.comparisons.users.tolist()
    table = {"user": users, "half": ["a" if n < 20 else "b" for n in range(40)]}
    groups = mm.compare_groups(dishes.model, dishes.comparisons, table, n_permutations=99)
    frame = groups.to_frame("pandas")
    assert frame.groupby("group")["share"].sum().round(6).tolist() == [1, 1]
    assert len(cells(groups._repr_html_())) == len(frame) == 6
    found = mm.compare(dishes.comparisons, 2, systems=["borda", "coin"], n_splits=1)
    frame = found.to_frame("polars")
    assert set(frame["system"]) == {"borda", "coin"} and frame["failed"].is_null().all()
    assert len(cells(found._repr_html_())) == 2
