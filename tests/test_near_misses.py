"""A name that is nearly right is answered with the one that was meant."""

import numpy as np
import pytest
from typer.testing import CliRunner

import mallowmix as mm
from mallowmix.cli.commands import app
from mallowmix.data.near_file import did_you_mean_file
from mallowmix.errors import MallowmixError, nearest
from mallowmix.learn.spectral.fit_notes import halves_note, optima_note

MODEL = mm.M4.from_orders([["pizza", "tacos", "ramen"]] * 2, phi=[0.3, 0.5], alpha=[0.4, 0.9])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("near")
    (folder / "dishes").mkdir()
    rows = "".join(f"u{n:03},pizza,tacos\nu{n:03},tacos,ramen\n" for n in range(1, 120))
    (folder / "dishes" / "votes.csv").write_text(f"user,winner,loser\n{rows}")
    (folder / "ids.csv").write_text("id,label\npiza,Pizza!\n")
    mm.save(MODEL, folder / "dishes.m4")
    return folder


COMMANDS = {
    "check dishes/vots.csv": "Did you mean dishes/votes.csv?",
    "check dihes/votes.csv": "Did you mean dishes/votes.csv?",
    "check dishes/votes.cvs": "Did you mean dishes/votes.csv?",
    "show dihses.m4": "Did you mean dishes.m4?",
    "check dishes/votes.csv --columns winner=winer": "Did you mean 'winner'?",
    "check dishes/votes.csv --columns usr=user": "Did you mean 'user'?",
    "check dishes/votes.csv --encoding latn-1": "Did you mean 'latin-1'?",
    "check dishes/votes.csv --format comparison": "Did you mean 'comparisons'?",
    "check dishes/votes.csv --item-names ids.csv": "Did you mean 'pizza'?",
    "rank dishes.m4 dishes/votes.csv --user U01": "did you mean 'u001'?",
    "rank dishes.m4 dishes/votes.csv --user u201": "did you mean 'u021', 'u020' or 'u101'?",
    "weights dishes.m4 dishes/votes.csv -o w.cvs": "Did you mean '.csv'?",
    "convert dishes/votes.csv votes.sio": "Did you mean '.soi'?",
    "plot components dishes.m4 -o x.pngg": "Did you mean '.png'?",
    "sample-posterior dishes/votes.csv -k 2 -o draws.ncc": "Did you mean '.nc'?",
    "simulate new.csv --n-items 3 --prior dirichlt": "Did you mean 'dirichlet'?",
    "fit dishes/votes.csv --method projections -k 2 --zeta auo": "(nor the word auto)",
}


@pytest.mark.parametrize(("typed", "said"), COMMANDS.items())
def test_a_command_names_what_was_meant(typed, said, folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, typed.split(), env={"COLUMNS": "300", "NO_COLOR": "1"})
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.stderr.split())


CALLS = {
    'mm.read_comparisons({"usr": ["a"], "winner": ["x"], "loser": ["y"]})': "'usr'",
    'mm.read_battles({"user": ["a"], "left": ["x"], "rigth": ["y"], "outcome": ["a"]})': "'rigth'",
    'mm.read_battles({"user": ["a"], "left": ["x"], "right": ["y"], "outcome": ["lft"]})': "'left'",
    'mm.read_ratings({"user": ["a"], "item": ["x"], "raitng": [3]})': "'raitng'",
    'MODEL.sample(3, 4, prior="verticse")': "'vertices'",
    'mm.read_comparisons([("u001", "a", "b")]).of("u1")': "'u001'",
}


@pytest.mark.parametrize(("typed", "near"), CALLS.items())
def test_a_function_names_what_was_meant(typed, near):
    with pytest.raises(MallowmixError) as caught:
        eval(typed, {"mm": mm, "MODEL": MODEL})
    assert f"Did you mean {near}?" in str(caught.value)


def test_nothing_is_guessed_where_nothing_is_near(tmp_path):
    (tmp_path / "b.csv").touch()
    assert did_you_mean_file(tmp_path / "a.csv") == ""
    assert did_you_mean_file(tmp_path / "no" / "folder" / "a.csv") == ""
    assert nearest("xyz", ["tea", "milk"], 3) == []
    with pytest.raises(MallowmixError) as caught:
        mm.read_comparisons({"cook": ["a"], "winner": ["x"], "loser": ["y"]})
    assert "Did you mean" not in str(caught.value)


def test_a_model_that_is_not_given_first_is_not_told_to_be():
    with pytest.raises(MallowmixError) as caught:
        mm.compare_models(MODEL, mm.read_comparisons([("ann", "a", "b")]))
    assert "new is a Comparisons" in str(caught.value) and "first" not in str(caught.value)


def test_notes_speak_of_one_component_and_of_several():
    both = halves_note(np.array([0.3, 0.3, 0.0]))
    assert both.startswith("The data does not pin down components 1 and 2: ")
    one = optima_note(np.array([0.0, 0.4]), ["", "Spicy"])
    assert one.startswith("Component 2 (Spicy) is unstable: ")


def test_small_numbers_are_in_the_singular_and_wrong_files_are_named(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "one.csv").write_text("user,winner,loser\nann,tea,milk\n")
    (folder / "empty.m4").touch()
    said = {
        "fit one.csv -o one.m4": "How many there are is not known: 1 person is too few",
        "compare one.csv": "There is 1 person with comparisons",
        "show empty.m4": "empty.m4 is empty, and no model",
        "serve --items one.csv --check": "one.csv holds comparisons, not items",
        "update dishes.m4 one.csv": "has none of the 2 items of these comparisons, such as 'milk'",
    }
    before = (folder / "dishes.m4").read_bytes()
    for typed, expected in said.items():
        done = CliRunner().invoke(app, typed.split(), env={"COLUMNS": "300", "NO_COLOR": "1"})
        assert expected in " ".join((done.stdout + done.stderr).split()), typed
    assert (folder / "dishes.m4").read_bytes() == before


def pairs(votes):
    """(winner, loser) of each comparison."""
    return [
        (votes.items[i], votes.items[j]) for i, j in zip(votes.winner, votes.loser, strict=True)
    ]


def test_tuples_are_ratings_or_rankings_where_the_function_says_so():
    rated = mm.read_ratings([("ann", "tea", 5), ("ann", "milk", 3), ("bob", "milk", 2.5)])
    assert pairs(rated) == [("tea", "milk")]
    ranked = mm.read_rankings([("ann", "tea", 2), ("ann", "milk", 1)])
    assert pairs(ranked) == [("milk", "tea")]


@pytest.mark.parametrize(
    "lists", [[["a", "b", "c"]], [("b", "a"), ("a", "b")], [["a", "b", "c", "d"]]]
)
def test_lists_of_items_are_told_where_to_go(lists):
    with pytest.raises(mm.errors.DataError, match=r"Rankings.from_orders\(lists\)"):
        mm.read_rankings(lists)
    assert mm.Rankings.from_orders(lists).comparisons().n_comparisons >= 1
