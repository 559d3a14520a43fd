"""Members of an ensemble: further fits of parts of the data, for predictions alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.errors import OptionError
from mallowmix.fitting.members import part_of
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.model_file import dumps

TRUTH = mm.M4.from_orders(["abcdefgh", "hbgdface"], 0.3, 0.3)
VOTES = TRUTH.sample(150, 60, seed=1).comparisons


@pytest.mark.slow
def test_the_first_fit_is_the_fit_and_members_are_only_for_predictions():
    model, several = (
        mm.fit(VOTES, 2, seed=4, predictor=False),
        mm.fit(VOTES, 2, n_fits=4, seed=4, predictor=False),
    )
    assert [member.n_components for member in several.ensemble] == [1, 3, 2]
    for name in ("sigma", "phi", "alpha"):
        assert np.array_equal(getattr(several, name), getattr(model, name))
    assert mm.weights(several, VOTES).tolist() == mm.weights(model, VOTES).tolist()
    people, pairs = VOTES.take_users([0, 7]), [("a", "b"), ("h", "c")]
    each = [mm.predict(fit, people, pairs) for fit in (model, *several.ensemble)]
    np.testing.assert_allclose(
        mm.predict(several, people, pairs), np.mean(each, axis=0), atol=1e-12
    )
    assert several.report.n_fits == 4 and several.report.options == model.report.options


@pytest.mark.slow
def test_the_same_bytes_again_and_on_any_number_of_threads():
    assert dumps(mm.fit(VOTES, 2, n_fits=3, n_jobs=1, predictor=False)) == dumps(
        mm.fit(VOTES, 2, n_fits=3, n_jobs=3, predictor=False)
    )


def test_members_must_be_of_the_same_items():
    other = mm.M4.from_orders(["abc"])
    with pytest.raises(ValueError, match="members of an ensemble must be of the same items"):
        FittedModel(TRUTH, ensemble=Ensemble((other,)))
    with pytest.raises(OptionError, match="n_fits is 0; it must be at least 1"):
        mm.fit(VOTES, 2, n_fits=0, predictor=False)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(0, 99))
def test_a_part_is_a_part(times, seed):
    """No more of any row than there was; at most 20 comparisons are all kept; nobody is left out of
    `users`.
    """
    random = np.random.default_rng(seed)
    winner = random.integers(0, 6, len(times))
    columns = (
        random.integers(0, 3, len(times)),
        winner,
        (winner + random.integers(1, 6, len(times))) % 6,
    )
    votes = mm.Comparisons.from_codes(*columns, times, list("abcdef"), list("uvw"))
    part = part_of(votes, 0, seed)
    whole = {
        (u, w, lo): n
        for u, w, lo, n in zip(votes.user, votes.winner, votes.loser, votes.weight, strict=True)
    }
    for u, w, lo, n in zip(part.user, part.winner, part.loser, part.weight, strict=True):
        assert 0 < n <= whole[u, w, lo] and n == round(n)
    few = votes.per_user() <= 20
    assert (part.per_user()[few] == votes.per_user()[few]).all() and part.users.tolist() == list(
        "uvw"
    )


def test_half_of_many():
    """Each of 200 comparisons is kept with probability ½: fewer than 60 or more than 140 once in
    10⁸ people.
    """
    votes = TRUTH.sample(40, 200, seed=2).comparisons
    kept = part_of(votes, 0, 1).per_user()
    assert (kept > 60).all() and (kept < 140).all()
    assert part_of(votes, 0, 1) == part_of(votes, 0, 1) and part_of(votes, 0, 2) != part_of(
        votes, 0, 1
    )
