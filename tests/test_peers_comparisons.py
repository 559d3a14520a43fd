"""The contract that every peer for comparisons keeps, and for each: data from its own model, and
formulas against slow twins.

Tests on drawn data have fixed data and seeds, so they do not fail by chance; the limits say how far
from failing they are.
"""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

import mallowmix as mm
from mallowmix.data.splits import split_comparisons
from mallowmix.errors import DataError, MissingPackageError, OptionError
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.model.permutations import match_components
from mallowmix.peers.baselines import Borda, BradleyTerry, Coin, OneMallows, wins_of
from mallowmix.peers.btl import MixedBTL, MixtureOfBT
from mallowmix.peers.gaussian_utilities import GaussianUtilities
from mallowmix.peers.interface import FittedPeer, Peer
from mallowmix.peers.lda import LDA
from mallowmix.peers.logistic_bound import user_posteriors
from mallowmix.peers.low_rank import FittedLowRank, LowRank, UserCalibration, _m_step
from mallowmix.peers.mixed_mallows_peer import DefaultFit, MixedMallowsPeer
from mallowmix.peers.personal_rankings import PersonalRankings
from mallowmix.peers.separable import Separable
from mallowmix.peers.systems import SYSTEMS
from mallowmix.peers.tm import TM
from mallowmix.peers.validation import best, loss, predicted_rows, trial
from tests.planted import blocks_of, error, planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
QUICK = mm.SpectralOptions(refine="short")
PEERS = [
    DefaultFit(method=QUICK),
    GaussianUtilities(n_rounds=6),
    PersonalRankings(n_rounds=4),
    MixedMallowsPeer(method=QUICK),
    TM(floor=(0.1, 0.3), method=QUICK),
    TM(rounded=False, floor=(0.2,), name="TM, un-rounded"),
    Separable("ddp", "l2", name="DDP"),
    Separable("fast-anchor-words", "kl", name="FAW + KL"),
    LDA(max_iter=3),
    LowRank(ranks=(1,), penalties=(4.0,), n_fits=2, n_iter=3),
    MixedBTL(),
    MixtureOfBT(n_iter=2, likelihood_weights=(1.0, 0.5)),
    OneMallows(),
    BradleyTerry(),
    Borda(),
    Coin(),
]
by_name = pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
ALIKE = (OneMallows, BradleyTerry, Borda, Coin)  # the same for everybody


@pytest.fixture(scope="module")
def small():
    truth = planted(8, 2, 0.3, 0.3)
    return truth, truth.sample(60, 20, seed=1).comparisons, truth.sample(5, 15, seed=2).comparisons


def away_from(found, truth):
    """The mean fraction of discordant pairs between rows of scores, higher better, and the
    reference rankings, matched.
    """
    sigma = np.argsort(np.argsort(-found, axis=1, kind="stable"), axis=1)
    return float(match_components(sigma, truth.sigma).kendall.mean())


# ---- the contract ----


@pytest.mark.slow
@by_name
def test_the_contract(peer, small):
    _, votes, people = small
    assert isinstance(peer, Peer) and peer.needs == "comparisons" and len(type(peer).__doc__) > 30
    fitted = peer.fit(votes, 2, seed=1)
    assert isinstance(fitted, FittedPeer)
    assert fitted.components.ndim == 2 and fitted.components.shape[1] == 8
    pairs = [("i000", "i001"), ("i001", "i000"), ("i002", "i007")]
    p = fitted.predict_proba(people, pairs)
    assert p.shape == (5, 3)
    np.testing.assert_allclose(p[:, 0] + p[:, 1], 1)
    assert ((p > 0) & (p < 1)).all()
    assert isinstance(peer, ALIKE) or np.ptp(p, axis=0).max() > 1e-7, "people differ"
    with pytest.raises(
        DataError, match=r"Pair 2: there is no item 'tea' in what was learnt; there are 8 others\."
    ):
        fitted.predict_proba(people, [("i000", "i001"), ("i000", "tea")])


@pytest.mark.slow
@by_name
def test_the_order_of_rows_and_others_does_not_matter(peer, small):
    """The same bytes for rows in any order; the same prediction alone or among others."""
    _, votes, people = small
    table = votes.to_arrow().to_pydict()
    turned = mm.Comparisons.from_arrays(
        *(table[name][::-1] for name in ("user", "winner", "loser", "weight"))
    )
    pairs = [("i000", "i001"), ("i002", "i007")]
    first, again = (
        peer.fit(data, 2, seed=3).predict_proba(people, pairs) for data in (votes, turned)
    )
    assert first.tobytes() == again.tobytes()
    alone = peer.fit(votes, 2, seed=3).predict_proba(people.take_users([3]), pairs)
    np.testing.assert_allclose(alone[0], first[3], rtol=1e-9)


@pytest.mark.slow
@by_name
def test_someone_unknown_with_nothing_given_is_average(peer, small):
    _, votes, people = small
    nobody = dataclasses.replace(
        people,
        user=people.user[:0],
        winner=people.winner[:0],
        loser=people.loser[:0],
        weight=np.zeros(0),
    )
    p = peer.fit(votes, 2, seed=1).predict_proba(nobody, [("i000", "i001")])
    assert np.ptp(p) == 0 and 0 < p[0, 0] < 1


def test_every_system_by_name_is_a_peer_with_a_name_of_its_own():
    made = [make() for make in SYSTEMS.values()]
    assert all(isinstance(peer, Peer) for peer in made)
    assert len({peer.name for peer in made}) == len(made)


# ---- M4 and TM ----


@pytest.mark.slow
def test_m4_is_what_fit_and_predict_give(small):
    _, votes, people = small
    model = mm.fit(votes, 2, seed=4, n_fits=2, method=QUICK, predictor=False)
    fitted = MixedMallowsPeer(n_fits=2, method=QUICK).fit(votes, 2, seed=4)
    assert fitted.model == model
    pairs = [("i000", "i001"), ("i004", "i002")]
    np.testing.assert_allclose(
        fitted.predict_proba(people, pairs), mm.predict(model, people, pairs)
    )
    np.testing.assert_allclose(fitted.weights(people), mm.weights(model, people))
    calibrated = mm.calibrate(model, votes, seed=4)
    assert (
        MixedMallowsPeer(n_fits=2, calibrated=True, method=QUICK).fit(votes, 2, seed=4).model
        == calibrated
    )


def test_tm_is_m4_with_single_rankings_and_a_floor(small):
    """β is 1 − ε/2 and ε/2 off the diagonal, in the order of the fit; a posterior mean of θ mixes
    them.
    """
    _, votes, people = small
    fitted = TM(floor=(0.2,), method=QUICK).fit(votes, 2, seed=4)
    model = mm.fit(votes, 2, seed=4, method=QUICK, predictor=False)
    assert np.array_equal(fitted.model.sigma, model.sigma) and not fitted.model.phi.any()
    for k in range(2):
        for i in range(8):
            for j in range(8):
                if i != j:
                    above = model.sigma[k, i] < model.sigma[k, j]
                    assert fitted.beta[k, i, j] == pytest.approx(0.9 if above else 0.1, abs=1e-4)
    blocks, _ = blocks_of(people)
    theta = np.concatenate([fold_in(block, fitted.fits[0])[0] for block in blocks])
    np.testing.assert_allclose(
        fitted.predict_proba(people, [("i000", "i005")])[:, 0], theta @ fitted.beta[:, 0, 5]
    )


@pytest.mark.slow
def test_tm_recovers_rankings_without_noise_and_chooses_a_small_floor():
    truth = planted(10, 3, 0.0, 0.1, seed=1)
    votes = truth.sample(400, 40, seed=1).comparisons
    fitted = TM().fit(votes, 3)
    assert error(fitted.model, truth) == 0
    assert dict(fitted.settings)["floor"] < min(TM().floor)  # candidates grow below the least
    noisy = planted(10, 3, 0.8, 0.1, seed=1).sample(400, 40, seed=1).comparisons
    assert dict(TM().fit(noisy, 3).settings)["floor"] > min(TM().floor)


def test_unrounded_tm_keeps_the_noise_that_rounding_drops():
    """β of the regression is .06 from the planted one on average (φ = .5; over 5 seeds .06 to .13),
    the rounded .19.
    """
    truth = planted(8, 2, 0.5, 0.1, seed=1)
    votes = truth.sample(4000, 60, seed=1).comparisons
    fitted = TM(rounded=False, floor=(0.001,)).fit(votes, 2)
    beta, off = truth.beta(), ~np.eye(8, dtype=bool)
    away = min(np.abs(fitted.beta[list(order)] - beta)[:, off].mean() for order in ((0, 1), (1, 0)))
    assert away < 0.06
    assert np.abs((beta > 0.5) - beta)[:, off].mean() > 0.15


def test_a_floor_out_of_range_is_refused(small):
    for floor in ((), (0.0, 0.1), (1.0,)):
        with pytest.raises(OptionError, match="it must be one or more numbers between 0 and 1"):
            TM(floor=floor).fit(small[1], 2)


# ---- separable topic models and LDA ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("peer", "n_users"),
    [
        (Separable("ddp", "l2"), 3000),
        (Separable("fast-anchor-words", "l2"), 3000),
        (Separable("fast-anchor-words", "kl"), 3000),
        (LDA(max_iter=8), 200),
    ],
    ids=["ddp-l2", "anchors-l2", "anchors-kl", "lda"],
)
def test_topic_models_recover_separable_rankings(peer, n_users):
    """Q = 12, K = 3, φ = .1, 60 comparisons each: over 8 seeds (LDA: 4, 800 people) the error was
    0, once .015.
    """
    truth = planted(12, 3, 0.1, 0.1, seed=1)
    fitted = peer.fit(truth.sample(n_users, 60, seed=1).comparisons, 3)
    assert error(fitted.model, truth) < 0.05
    assert away_from(fitted.components, truth) < 0.05


# ---- Bradley–Terry columns ----


@pytest.mark.slow
def test_mixed_membership_btl_recovers_its_columns():
    scores = np.array(
        [np.linspace(2, -2, 8), np.random.default_rng(0).permutation(np.linspace(2, -2, 8))]
    )
    truth = mm.BradleyTerryModel(scores, [0.2, 0.2], [f"i{i}" for i in range(8)])
    fitted = MixedBTL().fit(truth.sample(800, 40, seed=1).comparisons, 2)
    match = match_components(fitted.model.sigma, truth.sigma)
    np.testing.assert_allclose(
        fitted.model.beta()[match.found], truth.beta()[match.truth], atol=0.08
    )


@pytest.mark.slow
def test_a_mixture_of_bt_recovers_types_of_people():
    """Everybody holds one column, 300 : 300 people: shares have a standard error of .02, β one of
    .015; people are told apart.
    """
    scores = np.array(
        [np.linspace(2, -2, 8), np.random.default_rng(0).permutation(np.linspace(2, -2, 8))]
    )
    truth = mm.BradleyTerryModel(scores, [1, 1], [f"i{i}" for i in range(8)])
    drawn = truth.sample(600, 40, prior="vertices", seed=1)
    fitted = MixtureOfBT(likelihood_weights=(1.0, 0.25)).fit(drawn.comparisons, 2)
    match = match_components(fitted.model.sigma, truth.sigma)
    np.testing.assert_allclose(
        fitted.model.beta()[match.found], truth.beta()[match.truth], atol=0.08
    )
    np.testing.assert_allclose(fitted.model.share, 0.5, atol=0.1)
    assert dict(fitted.settings)["likelihood_weight"] == 1.0
    held = fitted.weights(drawn.comparisons)[:, match.found][:, np.argsort(match.truth)]
    assert np.mean(held.argmax(axis=1) == drawn.theta.argmax(axis=1)) > 0.98
    assert np.mean(held.max(axis=1)) > 0.95


# ---- low rank ----


def taste(M, Q, rank, n, seed):
    """Comparisons drawn from the low-rank model, and their true log-odds as a function of (person,
    first, second).
    """
    random = np.random.default_rng(seed)
    U, V, b = (
        random.normal(size=(M, rank)),
        random.normal(0, 1, (Q, rank)),
        random.normal(0, 0.5, Q),
    )
    score = U @ V.T + b
    user, first = np.repeat(np.arange(M), n), random.integers(0, Q, M * n)
    second = (first + random.integers(1, Q, M * n)) % Q
    wins = random.random(M * n) < expit(score[user, first] - score[user, second])
    winner, loser = np.where(wins, first, second), np.where(wins, second, first)
    return mm.Comparisons.from_codes(
        user, winner, loser, None, [f"i{i:02d}" for i in range(Q)], range(M)
    ), score


@pytest.mark.slow
def test_low_rank_looks_for_more_penalty_than_its_candidates_where_people_do_not_differ():
    """One ranking for all leaves nothing for coordinates to say: the largest of 1 and 4 is best,
    and more is tried, and taken; a single candidate is kept.
    """
    votes = planted(8, 1, 0.5, 1.0, seed=2).sample(90, 12, seed=2).comparisons
    assert LowRank(ranks=(1,), penalties=(1.0, 4.0), n_fits=1, n_iter=5).chosen(votes, 0)[1] >= 16
    assert LowRank(ranks=(1,), penalties=(4.0,), n_fits=1, n_iter=5).chosen(votes, 0)[1] == 4


@pytest.mark.slow
def test_low_rank_recovers_its_own_taste():
    """New people with 30 comparisons each: the true log-odds of other pairs are followed, and the
    rank of 2 is chosen over 1.
    """
    votes, score = taste(450, 12, 2, 30, seed=0)
    fitted = LowRank(ranks=(1, 2), penalties=(1.0,), n_fits=1, n_iter=25).fit(
        votes.take_users(range(400))
    )
    assert dict(fitted.settings)["rank"] == 2
    pairs = [(i, j) for i in range(12) for j in range(i)]
    p = fitted.predict_proba(
        votes.take_users(range(400, 450)), [(f"i{i:02d}", f"i{j:02d}") for i, j in pairs]
    )
    truth = np.array([[score[m, i] - score[m, j] for i, j in pairs] for m in range(400, 450)])
    assert np.corrcoef(np.log(p / (1 - p)).ravel(), truth.ravel())[0, 1] > 0.9
    regret = np.mean(
        expit(truth) * np.log(expit(truth) / p) + expit(-truth) * np.log(expit(-truth) / (1 - p))
    )
    assert regret < 0.06  # nats a comparison above the truth itself; a coin has .3


def test_the_bound_never_falls_and_bounds_the_likelihood():
    """One person, rank 1: the bound is below log ∫ Π σ(η_n) N(u; 0, 1) du, by less than .05 of a
    nat a comparison.
    """
    votes, _ = taste(40, 6, 2, 15, seed=1)
    bounds = []
    LowRank(n_iter=30).coordinates(votes, 2, 1.0, 0, bounds)
    assert (np.diff(bounds) > -1e-9).all() and bounds[-1] > bounds[0] + 10
    one = votes.take_users([0])
    W = np.random.default_rng(2).normal(size=(6, 2))
    (block,), _ = blocks_of(one)
    _, _, bound = user_posteriors(
        block.starts,
        block.pair,
        block.weight,
        block.user_weight,
        W,
        np.ones(len(block.pair)),
        1.0,
        1.0,
        50,
    )
    x, d = (W[one.winner] - W[one.loser]).T

    def likelihood(u):
        return (
            np.exp(np.sum(one.weight * np.log(expit(u * x + d))))
            * np.exp(-u * u / 2)
            / np.sqrt(2 * np.pi)
        )

    exact = np.log(quad(likelihood, -8, 8, epsabs=0, epsrel=1e-9)[0])
    assert exact - 0.05 * one.n_comparisons < bound < exact


def test_the_items_solve_their_normal_equations():
    """The M-step's W is where the slow sum over comparisons is highest: no small step raises it."""
    random = np.random.default_rng(3)
    Q, R, n = 4, 2, 30
    winner = random.integers(0, Q, n)
    loser = (winner + random.integers(1, Q, n)) % Q
    u = np.c_[random.normal(size=n), np.ones(n)]
    T = np.einsum("na,nb->nab", u, u) + np.diag([0.3, 0.0])
    bend, ridge = random.uniform(0.05, 0.12, n), np.array([2.0, 0.5])

    def objective(W):
        x = W[winner] - W[loser]
        return np.sum(
            0.5 * np.einsum("na,na->n", x, u) - bend * np.einsum("na,nab,nb->n", x, T, x)
        ) - 0.5 * np.sum(ridge * W**2)

    curve, pull = np.zeros((Q, Q, R, R)), np.zeros((Q, R))
    for i, j, v, t, lam in zip(winner, loser, u, T, bend, strict=True):
        curve[i, j] += lam * t
        pull[i] += 0.5 * v
        pull[j] -= 0.5 * v
    W = _m_step(curve, pull, ridge)
    assert all(
        objective(W) >= objective(W + step * 1e-3) for step in random.normal(size=(50, Q, R))
    )


def test_averaging_over_what_is_not_known_of_a_person():
    """σ(m / √(1 + πs²/8)) against the integral, for someone with two comparisons; a higher evidence
    makes it surer.
    """
    W = np.array([[1.0, 0.2], [-1.0, 0.0], [0.5, -0.3]])
    votes = mm.Comparisons.from_arrays(["u", "u"], ["a", "a"], ["b", "c"])
    p = [
        FittedLowRank(votes.items, [W], UserCalibration(e, 1.0)).predict_proba(votes, [("a", "b")])[
            0, 0
        ]
        for e in (1.0, 5.0)
    ]
    (block,), _ = blocks_of(votes)
    mean, spread, _ = user_posteriors(
        block.starts, block.pair, block.weight, block.user_weight, W, np.ones(2), 1.0, 1.0, 50
    )
    sd = spread[0, 0, 0] ** 0.5

    def integrand(u):
        return (
            expit(2 * u + 0.2)
            * np.exp(-(((u - mean[0, 0]) / sd) ** 2) / 2)
            / (sd * np.sqrt(2 * np.pi))
        )

    assert p[0] == pytest.approx(quad(integrand, -10, 10)[0], abs=0.01)
    assert p[1] > p[0]


def test_low_rank_refuses_empty_grids(small):
    with pytest.raises(OptionError, match=r"ranks is \(\); it must be one or more numbers above 0"):
        LowRank(ranks=()).fit(small[1])


# ---- baselines ----


def test_bradley_terry_recovers_scores_and_is_a_maximum():
    """20,000 comparisons of 6 items: a score has a standard error near .04. With little
    regularisation the gradient vanishes.
    """
    scores = np.linspace(1.5, -1.5, 6)
    truth = mm.BradleyTerryModel(scores[None], [1.0], list("abcdef"))
    votes = truth.sample(200, 100, seed=1).comparisons
    fitted = BradleyTerry(alpha=1e-6).fit(votes)
    found = fitted.components[0] - fitted.components[0].mean()
    np.testing.assert_allclose(found, scores, atol=0.2)
    wins = wins_of(votes)
    gradient = (wins - (wins + wins.T) * expit(found[:, None] - found)).sum(axis=1)
    np.testing.assert_allclose(gradient, 0, atol=0.05)


def test_without_choix_a_sentence_says_how_to_get_it(monkeypatch, small):
    import sys

    monkeypatch.setitem(sys.modules, "choix", None)
    with pytest.raises(
        MissingPackageError,
        match=r"needs choix, which is not installed: pip install 'mallowmix\[peers\]'",
    ):
        BradleyTerry().fit(small[1])


def test_borda_counts_wins_and_scales_them_by_likelihood(small):
    votes = small[1]
    fitted = Borda().fit(votes)
    won, lost = (np.bincount(side, votes.weight, 8) for side in (votes.winner, votes.loser))
    share = (won + 0.5) / (won + lost + 1)
    slope = np.ptp(fitted.components[0]) / np.ptp(share)
    np.testing.assert_allclose(fitted.components[0], slope * share)

    def score(c):
        return np.sum(votes.weight * np.log(expit(c * (share[votes.winner] - share[votes.loser]))))

    assert score(slope) >= max(score(1.01 * slope), score(0.99 * slope))


def test_one_mallows_recovers_one_ranking():
    truth = planted(10, 1, 0.6, 1.0)
    fitted = OneMallows().fit(truth.sample(100, 50, seed=1).comparisons, 5)
    assert fitted.model.n_components == 1
    assert error(fitted.model, truth) < 0.02
    assert fitted.model.phi[0] == pytest.approx(0.6, abs=0.05)


def test_a_coin_is_a_coin(small):
    assert (Coin().fit(small[1]).predict_proba(small[2], [("i000", "i001")]) == 0.5).all()


# ---- validation ----


def test_given_and_held_out_share_no_item_and_nobody_learns_from_held_out_people(small):
    votes = small[1]
    held = trial(votes, 5)
    assert not set(held.train.users.tolist()) & set(held.given.users.tolist())
    assert (
        held.train.n_users == 40
        and held.given.n_users == 20
        and held.given.n_comparisons
        and held.held_out.n_comparisons
    )
    for m in range(20):
        given, held_out = (
            set(part.winner[part.user == m]) | set(part.loser[part.user == m]) for part in held[1:]
        )
        assert not given & held_out
    given, held_out = split_comparisons(votes, "comparisons", 0.5, 1)
    assert given.n_comparisons + held_out.n_comparisons == votes.n_comparisons


def test_where_items_cannot_be_split_comparisons_are():
    """Everybody compares two things alone, again and again: no pair is left whose items are both
    held out.
    """
    votes = mm.Comparisons.from_arrays(["u", "v"], ["a", "b"], ["b", "a"], [10, 10])
    given, held_out = split_comparisons(votes, "auto", 0.5, 0)
    assert given.n_comparisons == held_out.n_comparisons == 10


def test_predicted_probabilities_are_those_of_what_happened(small):
    """Against one call a person; the loss is the mean over people of each one's mean."""
    _, votes, people = small
    fitted = MixedMallowsPeer(method=QUICK).fit(votes, 2)
    given, held_out = split_comparisons(people, "comparisons", 0.5, 3)
    p, items, means = predicted_rows(fitted, given, held_out), votes.items.tolist(), []
    for m in range(5):
        rows = held_out.user == m
        pairs = [
            (items[i], items[j])
            for i, j in zip(held_out.winner[rows], held_out.loser[rows], strict=True)
        ]
        expected = fitted.predict_proba(given.take_users([m]), pairs)[0]
        np.testing.assert_allclose(p[rows], expected, rtol=1e-9)
        means.append(-np.average(np.log(expected), weights=held_out.weight[rows]))
    assert loss(fitted, given, held_out) == pytest.approx(np.mean(means))


def test_the_best_setting_is_the_one_with_the_least_loss(small):
    _, votes, people = small
    given, held_out = split_comparisons(people, "comparisons", 0.5, 3)
    good, coin = MixedMallowsPeer(method=QUICK).fit(votes, 2), Coin().fit(votes)
    assert (
        best(["coin", "m4"], lambda name: good if name == "m4" else coin, given, held_out) == "m4"
    )
    assert best(["first", "second"], lambda _: coin, given, held_out) == "first"
