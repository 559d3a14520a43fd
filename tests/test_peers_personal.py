"""Peers in which people have utilities or rankings of their own: data of their own kind, and
predictions of single comparisons.

Data and seeds are fixed, so nothing fails by chance.
"""

import numpy as np
import pytest
from scipy.special import expit

import mallowmix as mm
from mallowmix.data.splits import split_comparisons
from mallowmix.errors import DataError
from mallowmix.peers.baselines import BradleyTerry
from mallowmix.peers.fitted_predictor import of_member
from mallowmix.peers.gaussian_utilities import GaussianUtilities
from mallowmix.peers.interface import PredictsRows
from mallowmix.peers.mixed_mallows_peer import DefaultFit
from mallowmix.peers.personal_rankings import PersonalRankings
from mallowmix.peers.systems import SYSTEMS
from mallowmix.peers.validation import HoldOut, loss, predicted_rows
from tests.test_personal_rankings import consistent_people

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
NAMES = [f"i{i:02d}" for i in range(12)]
SINGLE = HoldOut("comparisons", 0.7)


def comparisons(users):
    """Comparisons of users' lists of (winner, loser)."""
    rows = [(m, i, j) for m, answers in enumerate(users) for i, j in answers]
    return mm.Comparisons.from_codes(*np.array(rows).T, None, NAMES, range(len(users)))


@pytest.fixture(scope="module")
def utilities():
    """The model, and 400 people with 30 comparisons each drawn from it, two means far apart."""
    random = np.random.default_rng(0)
    means = random.normal(0, 1.2, (2, 12))
    factors = random.normal(0, 0.8, (12, 2))
    model = mm.UtilitiesModel(means, factors, np.full(12, 0.3), [0.6, 0.4], NAMES)
    root = np.linalg.cholesky(model.covariance())
    users = []
    for _ in range(400):
        k = int(random.random() > 0.6)
        u = means[k] + root @ random.normal(size=12)
        first = random.integers(12, size=30)
        second = (first + random.integers(1, 12, size=30)) % 12
        wins = random.random(30) < expit(u[first] - u[second])
        users.append(
            list(zip(np.where(wins, first, second), np.where(wins, second, first), strict=True))
        )
    return model, comparisons(users)


@pytest.fixture(scope="module")
def rankings():
    """The references, and 400 people who never contradict one ranking of their own."""
    references, users = consistent_people(n_users=400)
    return references, comparisons(users)


def parts(votes, by, share):
    given, held_out = split_comparisons(votes.take_users(range(300, 400)), by, share, 1)
    return votes.take_users(range(300)), given, held_out


@pytest.mark.slow
def test_gaussian_utilities_predict_their_own_people_as_the_truth_does(utilities):
    """New people, items not compared before: one ranking loses .041 nats to the planted model, the
    peer less than .01.
    """
    model, votes = utilities
    train, given, held_out = parts(votes, "items", 0.5)
    fitted = GaussianUtilities().fit(train, 2)
    truth, one = of_member(model, model.items, model.means), BradleyTerry().fit(train)
    best, found, plain = (loss(each, given, held_out) for each in (truth, fitted, one))
    assert found < best + 0.01 < plain - 0.02
    assert dict(fitted.settings)["factors"] >= 1


@pytest.mark.slow
def test_as_many_factors_as_were_planted(utilities):
    """Two planted factors: the search does not stop at none, and goes on beyond its candidates."""
    _, votes = utilities
    train = votes.take_users(range(300))
    chosen = GaussianUtilities().chosen_factors(train, 1, 0)
    assert 1 <= chosen <= 8
    assert GaussianUtilities(n_factors=(1,)).chosen_factors(train, 1, 0) >= 1
    assert GaussianUtilities(n_factors=(0,)).chosen_factors(train, 1, 0) >= 1


@pytest.mark.slow
def test_personal_rankings_predict_consistent_people(rankings):
    """Single comparisons of new people: .25 where one ranking for all has more than .5, and not
    worse than utilities; the error rate is found to be near 0.
    """
    references, votes = rankings
    train, given, held_out = parts(votes, SINGLE.by, SINGLE.given)
    fitted = PersonalRankings().fit(train, 3)
    other = GaussianUtilities(n_rounds=30, hold_out=SINGLE).fit(train, 3)
    found = loss(fitted, given, held_out)
    assert found < 0.27 and found < loss(other, given, held_out)
    assert loss(BradleyTerry().fit(train), given, held_out) > 0.5
    assert dict(fitted.settings)["error_rate"] < 0.01
    wanted = [np.argsort(reference) for reference in references]
    match = mm.match_components((-fitted.components).astype(int), wanted)
    assert match.kendall.mean() < 0.1


def test_people_who_contradict_themselves_are_taken(utilities):
    """The other peer for one ranking a person refuses them."""
    _, votes = utilities
    train, given, held_out = parts(votes, "items", 0.5)
    fitted = PersonalRankings(n_rounds=6).fit(train, 2)
    assert dict(fitted.settings)["error_rate"] > 0.03
    assert loss(fitted, given, held_out) < np.log(2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "peer",
    [
        GaussianUtilities(n_rounds=3),
        PersonalRankings(n_rounds=3),
        DefaultFit(method=mm.SpectralOptions(refine="short")),
    ],
    ids=lambda peer: peer.name,
)
def test_single_comparisons_are_predicted_as_the_table_of_pairs(utilities, peer):
    _, votes = utilities
    fitted = peer.fit(votes.take_users(range(60)), 2)
    given, held_out = split_comparisons(votes.take_users(range(300, 330)), "items", 0.5, 1)
    assert isinstance(fitted, PredictsRows)
    pairs = [(NAMES[i], NAMES[j]) for i, j in zip(held_out.winner, held_out.loser, strict=True)]
    table = fitted.predict_proba(given, pairs)
    expected = table[held_out.user, np.arange(len(pairs))]
    np.testing.assert_allclose(fitted.predict_rows(given, held_out), expected, rtol=1e-9)
    other = held_out.with_items([*NAMES[::-1], "cake"])
    turned = fitted.predict_rows(given, other)
    assert np.sort(turned) == pytest.approx(np.sort(expected))
    assert predicted_rows(fitted, given, other) == pytest.approx(turned)
    with pytest.raises(DataError, match="no item 'cake'"):
        fitted.predict_rows(given, mm.read_comparisons([("u", "i00", "cake")]))


@pytest.mark.slow
def test_mallowmix_is_fit_and_predict(utilities):
    """The row `mallowmix` is what one gets without any option."""
    _, votes = utilities
    train, people = votes.take_users(range(80)), votes.take_users(range(300, 310))
    fitted = DefaultFit().fit(train, 7, seed=3)
    model = mm.fit(train, seed=3)
    pairs = [("i00", "i01"), ("i05", "i03")]
    assert fitted.model == model
    np.testing.assert_allclose(
        fitted.predict_proba(people, pairs), mm.predict(model, people, pairs), rtol=1e-9
    )
    few = DefaultFit().fit(votes.take_users(range(4)), 1)
    assert few.predict_proba(people, pairs).shape == (10, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixture-bt", "gaussian-utilities", "personal-rankings"])
def test_more_components_than_pairs_of_items(name):
    """Five items make ten pairs; one component a person needs no more of them."""
    random = np.random.default_rng(0)
    first = random.integers(5, size=(80, 10))
    second = (first + random.integers(1, 5, size=(80, 10))) % 5
    user = np.repeat(np.arange(80), 10)
    votes = mm.Comparisons.from_arrays(user, first.ravel(), second.ravel())
    fitted = SYSTEMS[name]().fit(votes, 12)
    assert fitted.components.shape == (12, 5)
