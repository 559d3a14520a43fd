"""Systems and models on splits that were made elsewhere, against log-losses by hand; K and settings
that are chosen on training people.
"""

import csv
import json

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.assess.prepared_split import prepared_task
from mallowmix.assess.system_runs import chosen_k, tuned_for
from mallowmix.data.splits import split_comparisons
from mallowmix.errors import DataError, FitError, OptionError
from mallowmix.peers import component_choice
from mallowmix.peers.baselines import BradleyTerry, Coin, FittedScores
from mallowmix.peers.component_choice import Candidates, best_components, component_losses
from mallowmix.peers.low_rank import LowRank
from mallowmix.peers.validation import NEW_ITEMS, HoldOut, hold_out_of, loss, trials
from tests.command_line import run
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


class Fixed:
    """Ann likes the first of a pair with .8, everybody else with .6."""

    def predict_proba(self, people, pairs):
        sure = np.array([[0.8 if user == "ann" else 0.6] for user in people.users.tolist()])
        return np.repeat(sure, len(list(pairs)), axis=1)


GIVEN = [("ann", "a", "b"), ("cy", "b", "a")]
HELD_OUT = [("ann", "a", "c"), ("ann", "c", "b"), ("bob", "b", "c")]


def test_log_loss_and_intervals_by_hand():
    """Two people: ann's a over c has .8, her c over b .2; bob, of whom nothing is given, has .6."""
    found = mm.compare_on_split({"fixed": Fixed()}, None, GIVEN, HELD_OUT)
    (row,) = found.table
    ann, bob = -np.log([0.8, 0.2]), -np.log([0.6])
    assert (row.system, row.name, row.failed) == ("fixed", "fixed", None)
    assert row.log_loss == pytest.approx(np.r_[ann, bob].mean())
    assert row.log_loss_by_person == pytest.approx((ann.mean() + bob[0]) / 2)
    half = 1.96 * np.std([ann.mean(), bob[0]], ddof=1) / np.sqrt(2)
    assert row.by_person_high == pytest.approx(row.log_loss_by_person + half)
    assert row.accuracy == pytest.approx(2 / 3)
    assert (found.n_users, found.n_comparisons, found.n_splits) == (2, 3, 1)


def test_paired_differences_by_hand():
    """A coin against a fixed predictor: the difference of each person, and its interval."""
    train = [("dot", "a", "b"), ("dot", "b", "c"), ("eve", "a", "c")]
    found = mm.compare_on_split({"fixed": Fixed(), "coin": "coin"}, train, GIVEN, HELD_OUT)
    best, other = found.table
    losses = {"fixed": [-np.log([0.8, 0.2]).mean(), -np.log(0.6)], "coin": [np.log(2)] * 2}
    gap = np.subtract(losses[other.system], losses[best.system])
    half = 1.96 * gap.std(ddof=1) / np.sqrt(2)
    assert other.behind_by_person == pytest.approx(gap.mean())
    assert other.behind_by_person_low == pytest.approx(gap.mean() - half)
    assert other.behind_by_person_high == pytest.approx(gap.mean() + half)
    assert (best.behind_by_person, best.behind_low, best.behind_high) == (0, 0, 0)


@pytest.fixture(scope="module")
def parts():
    votes = planted(8, 2, 0.3, 0.2).sample(90, 25, seed=1).comparisons
    given, held_out = split_comparisons(votes.take_users(range(60, 90)), "items", 0.5, 1)
    return votes.take_users(range(60)), given, held_out


@pytest.mark.slow
def test_a_model_is_predicted_by_predict(parts):
    """A fitted model's row is the log-loss of `mm.predict`, pair by pair."""
    train, given, held_out = parts
    model = mm.fit(train, 2, method=mm.SpectralOptions(refine="short"))
    alone = mm.FittedModel(model.m4)
    found = mm.compare_on_split([model, alone, model.m4], None, given, held_out)
    rows = {row.system: row for row in found.table}
    assert set(rows) == {"FittedModel", "FittedModel 2", "M4"}
    items = held_out.items.tolist()
    pairs = [(items[i], items[j]) for i, j in zip(held_out.winner, held_out.loser, strict=True)]
    for label, each in (("FittedModel", model), ("FittedModel 2", alone), ("M4", alone)):
        table = np.asarray(mm.predict(each, given, pairs))
        p = table[held_out.user, np.arange(len(pairs))]
        expected = np.average(-np.log(p), weights=held_out.weight)
        assert rows[label].log_loss == pytest.approx(expected)


def test_a_system_is_what_it_predicts_and_peers_have_options_of_their_own(parts):
    train, given, held_out = parts
    found = mm.compare_on_split(["bradley-terry", BradleyTerry(alpha=5.0)], train, given, held_out)
    for label, peer in (
        ("bradley-terry", BradleyTerry()),
        ("Bradley–Terry (choix)", BradleyTerry(5.0)),
    ):
        scores = peer.fit(train).components[0]
        gap = scores[held_out.winner] - scores[held_out.loser]
        row = next(row for row in found.table if row.system == label)
        expected = np.average(np.log1p(np.exp(-gap)), weights=held_out.weight)
        assert row.log_loss == pytest.approx(expected)
        assert row.n_components == ()


def test_items_and_users_are_brought_together():
    """Items of any part are known to all; a user without given comparisons stays, in the order of
    those who are predicted.
    """
    task = prepared_task([("u", "x", "a"), ("v", "a", "x")], GIVEN, HELD_OUT)
    assert task.train.items.tolist() == task.given.items.tolist() == ["a", "b", "c", "x"]
    assert task.given.users.tolist() == task.held_out.users.tolist() == ["ann", "bob"]
    assert task.given.per_user().tolist() == [1, 0] and task.held_out.n_comparisons == 3


def test_what_cannot_be_measured_is_said(parts):
    train, given, held_out = parts
    with pytest.raises(OptionError) as raised:
        mm.compare_on_split(["borda"], None, given, held_out)
    assert raised.value.option == "train"
    for wrong in ("borda", [], [3]):
        with pytest.raises(OptionError) as raised:
            mm.compare_on_split(wrong, train, given, held_out)
        assert raised.value.option == "systems"
    with pytest.raises(OptionError) as raised:
        mm.compare_on_split(["coin"], train, given, held_out, n_components=())
    assert raised.value.option == "n_components"
    empty = given.take_users(np.zeros(given.n_users, bool))
    with pytest.raises(DataError):
        mm.compare_on_split(["coin"], train, given, empty)
    unknown = [("u", "i000", "cake")]
    failed = mm.compare_on_split([planted(8, 2, 0.3, 0.2)], None, given, unknown).table[0].failed
    assert failed is not None and "cake" in failed


# ---- what is chosen on training people ----


def test_the_kind_of_split_is_recognised():
    votes = planted(12, 2, 0.3, 0.2).sample(60, 40, seed=1).comparisons
    for by, share in (("items", 0.4), ("touching", 0.7), ("comparisons", 0.8)):
        found = hold_out_of(*split_comparisons(votes, by, share, 3))
        assert found.by == by and found.given == pytest.approx(share, abs=0.06)
    nothing, everything = split_comparisons(votes, "comparisons", 0.0, 3)
    assert hold_out_of(nothing, everything) == HoldOut("items", 0.0)


def test_touching_holds_out_every_comparison_of_a_held_out_item():
    votes = planted(10, 2, 0.3, 0.2).sample(20, 30, seed=1).comparisons
    strict, loose = (split_comparisons(votes, by, 0.6, 5) for by in ("items", "touching"))
    assert strict[0] == loose[0]
    assert loose[0].n_comparisons + loose[1].n_comparisons == votes.n_comparisons
    assert strict[1].n_comparisons < loose[1].n_comparisons


def test_few_people_validate_in_turn_and_nobody_learns_from_themselves():
    votes = planted(8, 2, 0.3, 0.2).sample(30, 20, seed=1).comparisons
    held = trials(votes, 0)
    assert sorted(user for each in held for user in each.given.users.tolist()) == sorted(
        votes.users.tolist()
    )
    for each in held:
        assert not set(each.train.users.tolist()) & set(each.given.users.tolist())
    many = planted(8, 2, 0.3, 0.2).sample(900, 5, seed=1).comparisons
    assert len(trials(many, 0)) == 1


class Odd(Coin):
    """Right with .5 + .1 for each component but one, up to three; four are too many."""

    has_components = True

    def fit(self, data, n_components=1, *, seed=0):
        if n_components > 3:
            raise FitError("Too many.")
        order = np.argsort(np.argsort(data.items.tolist()))
        return FittedScores(data.items, -0.7 * n_components * order[None].astype(float))


def test_k_is_the_one_that_predicts_training_people_best():
    """Everybody follows one ranking with some noise, so the sharper of two scores is right."""
    votes = planted(6, 1, 0.2, 1.0).sample(40, 20, seed=1).comparisons
    order = planted(6, 1, 0.2, 1.0).order[0]
    names = [f"i{np.argsort(order)[int(item[1:])]:03d}" for item in votes.items.tolist()]
    votes = mm.Comparisons.from_arrays(
        votes.user, np.array(names)[votes.winner], np.array(names)[votes.loser], votes.weight
    )
    losses = component_losses(Odd(), votes, Candidates((1, 2, 3, 4)), seed=5)
    assert set(losses) == {1, 2, 3}
    by_hand = np.mean([loss(Odd().fit(each.train, 2), *each[1:]) for each in trials(votes, 5)])
    assert losses[2] == pytest.approx(by_hand)
    chosen = chosen_k(Odd(), votes, Candidates((1, 2, 3, 4)), NEW_ITEMS, 5)
    assert chosen == best_components(losses) == min(losses, key=losses.get)
    assert best_components({3: 0.5, 2: 0.5, 1: float("nan")}) == 2
    with pytest.raises(FitError):
        component_losses(Odd(), votes, Candidates((4, 5)), seed=5)
    assert chosen_k(Coin(), votes, Candidates((1, 2)), NEW_ITEMS, 5) is None


class Judged(Coin):
    """Its loss is the distance of K from the best number, a tenth a component."""

    has_components = True

    def __init__(self, best, most):
        self.best, self.most = best, most

    def fit(self, data, n_components=1, *, seed=0):
        if n_components > self.most:
            raise FitError("Too many.")
        return n_components


@pytest.mark.parametrize(
    ("best", "most", "candidates", "tried"),
    [
        (10, 100, (1, 2, 3, 5), {1, 2, 3, 5, 8, 13}),  # 8 is nearest to 10, no longer the largest
        (2, 100, (1, 2, 3), {1, 2, 3}),
        (10, 5, (1, 2, 3, 5), {1, 2, 3, 5}),  # more cannot be fitted
        (10, 100, (1,), {1}),
        (1000, 100, (3, 5), {3, 5, 8, 13, 21, 34, 55}),  # and no further
    ],
)
def test_larger_numbers_are_tried_while_the_largest_is_the_best(
    monkeypatch, best, most, candidates, tried
):
    votes = planted(6, 1, 0.2, 1.0).sample(12, 8, seed=1).comparisons
    monkeypatch.setattr(component_choice, "loss", lambda K, *_: abs(K - best) / 10)
    peer = Judged(best, most)
    found = component_losses(peer, votes, Candidates(candidates, further=True))
    assert found.keys() == tried
    assert component_losses(peer, votes, Candidates(candidates)).keys() == set(candidates)
    assert chosen_k(peer, votes, Candidates(candidates, further=True), NEW_ITEMS, 0) == min(
        tried, key=lambda K: abs(K - best)
    )


@pytest.mark.slow
def test_compare_says_which_k_each_system_chose(parts):
    train, given, held_out = parts
    found = mm.compare_on_split(["m4-one", "coin"], train, given, held_out, n_components=(1, 2))
    rows = {row.system: row for row in found.table}
    assert found.n_components == (1, 2)
    assert rows["m4-one"].n_components in {(1,), (2,)} and rows["coin"].n_components == ()
    single = mm.compare_on_split(
        ["m4-one"], train, given, held_out, n_components=rows["m4-one"].n_components[0]
    )
    assert single.table[0].log_loss == rows["m4-one"].log_loss


def test_settings_are_chosen_for_the_task_that_is_scored():
    task = HoldOut("comparisons", 0.8)
    assert tuned_for(LowRank(), task).hold_out == task
    assert tuned_for(Coin(), task) == Coin()


# ---- the command ----


def write(path, data):
    table = data.to_arrow().to_pydict()
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
    return path


@pytest.mark.slow
def test_the_command(tmp_path, parts):
    train, given, held_out = parts
    paths = [
        write(tmp_path / f"{name}.csv", part)
        for name, part in zip(("train", "given", "held"), parts, strict=True)
    ]
    model = mm.FittedModel(planted(8, 2, 0.3, 0.2))
    mm.save(model, tmp_path / "truth.m4")
    words = ("compare-on-split", *paths, "--systems", "borda,coin")
    words = (*words, "--models", tmp_path / "truth.m4")
    values = json.loads(run(*words, "--json", "-o", tmp_path / "out")[0])
    found = mm.compare_on_split(
        {"truth": model, "borda": "borda", "coin": "coin"}, train, given, held_out
    )
    assert [row["log_loss"] for row in values["table"]] == pytest.approx(
        [row.log_loss for row in found.table]
    )
    assert values["split"] == "prepared"
    assert (tmp_path / "out" / "compared.png").stat().st_size > 5000
    said, _ = run(*words)
    assert "Held out as given" in said and "borda: Borda" in said and "truth.m4" in said
    _, said = run("compare-on-split", *paths, "--systems", "m5", code=2)
    assert "--systems is 'm5'" in said
