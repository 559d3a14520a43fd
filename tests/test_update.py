"""`update`: as good as a fresh fit, in fewer passes; new items find their places; what nobody
compares stays.
"""

import json

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.engine.threads import ThreadEngine
from mallowmix.errors import DataWarning, OptionError
from mallowmix.fitting.update import with_new_items
from mallowmix.model.fit_report import UpdateOrigin
from mallowmix.model.model_file import dumps
from mallowmix.model.permutations import kendall, match_components
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


def without_items(votes, n_gone):
    """Only the comparisons that do not involve the first items, over the others alone."""
    kept = (votes.winner >= n_gone) & (votes.loser >= n_gone)
    components = (
        votes.users[votes.user[kept]],
        votes.items[votes.winner[kept]],
        votes.items[votes.loser[kept]],
        votes.weight[kept],
    )
    return mm.Comparisons.from_arrays(*components)


def error(found, truth):
    return match_components(found.sigma, truth.sigma).kendall.mean()


@pytest.fixture
def passes(monkeypatch):
    """How many passes over the people have been made."""
    made = []
    reduce = ThreadEngine.reduce
    monkeypatch.setattr(
        ThreadEngine, "reduce", lambda self, *args: made.append(1) or reduce(self, *args)
    )
    return made


@pytest.mark.slow
def test_an_update_is_as_good_as_a_fresh_fit_in_fewer_passes(passes):
    """Mean over three seeds, which are fixed: the two differ by the noise of their draws, far below
    the error before.
    """
    errors = []
    for seed in range(3):
        truth = planted(30, 4, 0.4, 0.15, seed=seed)
        votes = truth.sample(600, 80, seed=seed).comparisons
        old = mm.fit(votes.take_users(range(300)), 4, predictor=False)
        passes.clear()
        fresh = mm.fit(votes, 4, predictor=False)
        n_fresh = len(passes)
        passes.clear()
        updated = mm.update(old, votes)
        assert len(passes) < 0.7 * n_fresh
        errors.append([error(old, truth), error(fresh, truth), error(updated, truth)])
    old, fresh, updated = np.mean(errors, axis=0)
    assert updated <= 1.25 * fresh + 0.0005
    assert updated < 0.6 * old


@pytest.mark.slow
def test_new_items_find_their_places():
    """Six of thirty items are unknown to the old model: after the update their places are as right
    as those of the others.
    """
    truth = planted(30, 4, 0.4, 0.15, seed=5)
    votes = truth.sample(600, 80, seed=5).comparisons
    old = mm.fit(without_items(votes.take_users(range(300)), 6), 4, predictor=False)
    assert old.n_items == 24
    updated = mm.update(old, votes)
    assert updated.items.tolist() == votes.items.tolist() == truth.items.tolist()
    assert updated.report.update.new_items == tuple(f"i{i:03d}" for i in range(6))
    match = match_components(updated.sigma, truth.sigma)
    assert match.kendall.mean() <= 1.25 * error(mm.fit(votes, 4, predictor=False), truth) + 0.001
    assert np.abs(updated.sigma[match.found, :6] - truth.sigma[match.truth, :6]).mean() < 1


def test_new_items_enter_in_the_middle():
    model = mm.M4.from_orders(["bdfh", "hfdb"], 0.2, 1.0)
    grown, new = with_new_items(model, np.array(["a", "d", "g"], object))
    assert new == ["a", "g"] and grown.items.tolist() == ["a", "b", "d", "f", "g", "h"]
    assert [[grown.items[i] for i in row] for row in grown.order] == [
        list("bdagfh"),
        list("hfagdb"),
    ]
    assert with_new_items(model, np.array(["d", "b"], object)) == (model, [])


def test_numbers_and_text_are_the_same_item():
    model = mm.M4.from_orders([[1, 2, 3]], 0.2, 1.0)
    grown, new = with_new_items(model, np.array(["2", "x"], object))
    assert new == ["x"] and grown.items.tolist() == ["1", "2", "3", "x"]


@pytest.mark.slow
def test_items_that_nobody_compares_any_more_stay_where_they_are():
    truth = planted(12, 2, 0.4, 0.15, seed=2)
    votes = truth.sample(200, 60, seed=2).comparisons
    model = mm.fit(votes, 2, predictor=False)
    updated = mm.update(model, without_items(votes, 3))
    assert updated.items.tolist() == model.items.tolist()
    gone = match_components(updated.sigma, model.sigma)
    for found, before in zip(gone.found, gone.truth, strict=True):
        assert np.abs(updated.sigma[found, :3] - model.sigma[before, :3]).max() <= 1


def test_a_model_that_is_right_stays_right():
    truth = planted(30, 4, 0.1, 0.15, seed=0)
    votes = truth.sample(800, 100, seed=0).comparisons
    updated = mm.update(truth, votes)
    assert error(updated, truth) == 0
    assert np.abs(updated.phi - 0.1).max() < 0.03 and updated.alpha.sum() == pytest.approx(
        0.6, rel=0.2
    )


def test_new_votes_alone_count_where_they_alone_are_given():
    """The crowd turned its one taste around: the model follows the votes that it is given, not its
    memory.
    """
    before = mm.fit(
        mm.M4.from_orders(["abcdef"], 0.3).sample(100, 30).comparisons, 1, predictor=False
    )
    after = mm.update(before, mm.M4.from_orders(["fedcba"], 0.3).sample(100, 30).comparisons)
    assert kendall(after.sigma[0], before.sigma[0]) == 1


@pytest.mark.slow
def test_the_same_bytes_on_one_thread_and_on_two_and_for_any_order_of_rows():
    truth = planted(12, 2, 0.4, 0.15, seed=1)
    votes = truth.sample(150, 40, seed=1).comparisons
    model = mm.fit(votes.take_users(range(80)), 2, predictor=False)
    table = votes.to_arrow()
    turned = mm.read_comparisons(table.take(np.arange(len(votes))[::-1]))
    first = dumps(mm.update(model, votes, n_jobs=1))
    assert first == dumps(mm.update(model, votes, n_jobs=2)) == dumps(mm.update(model, turned))
    assert first != dumps(mm.update(model, votes, seed=1))


@pytest.mark.slow
def test_the_report_says_where_the_model_comes_from():
    votes = planted(8, 2, 0.4, 0.15, seed=1).sample(60, 30, seed=1).comparisons
    model = mm.fit(votes.take_users(range(40)), 2, seed=3, predictor=False)
    report = mm.update(model, votes, seed=4).report
    assert (report.method, report.seed, report.n_users) == ("update", 4, 60)
    assert report.update == UpdateOrigin("spectral", 3, model.report.fingerprint, ())
    assert report.fingerprint == votes.fingerprint()
    json.dumps(report.to_dict(), allow_nan=False)


@pytest.mark.slow
def test_progress_is_reported():
    votes = planted(8, 2, 0.4, 0.15, seed=1).sample(60, 30, seed=1).comparisons
    told = []
    mm.update(mm.fit(votes, 2, predictor=False), votes, progress=lambda *said: told.append(said))
    assert {step for step, _, _ in told} == {"burn in", "averaging", "marginal likelihood"}


@pytest.mark.slow
def test_messages():
    votes = planted(8, 2, 0.4, 0.15, seed=1).sample(60, 30, seed=1).comparisons
    model = mm.fit(votes, 2, predictor=False)
    with pytest.raises(OptionError, match="seed is -1"):
        mm.update(model, votes, seed=-1)
    lonely = mm.Comparisons.from_arrays(["u", "v", "v"], ["i000"] * 3, ["i001"] * 3)
    with pytest.warns(DataWarning):
        mm.update(model, lonely)
