"""The formulas of the systems of Table 1 against oracles that share no code with them: enumeration,
choix, planted terms.
"""

import warnings
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, logsumexp
from scipy.stats import norm, rankdata

import mallowmix as mm
from mallowmix.data.rankings import Rankings
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import DataError, FitError, FitWarning
from mallowmix.model.permutations import match_components, sigma_of
from mallowmix.paper.table1.populations import population_of_model
from mallowmix.paper.table1.run import kendall_error
from mallowmix.peers.amp import closure, draw_consistent
from mallowmix.peers.amp_people import FittedOneRanking
from mallowmix.peers.choice_sums import log_probabilities
from mallowmix.peers.gom_chain import MembershipChain, PosteriorDraws, _state
from mallowmix.peers.gom_moves import move_components, surrogate_rates
from mallowmix.peers.grade_of_membership import GradeOfMembership, alpha_r_hat
from mallowmix.peers.mallows_mixture import MixtureOfMallows, at_vertices
from mallowmix.peers.mallows_rankings import em_full, make_ranking_blocks
from mallowmix.peers.mallows_rankings import kendall_distances as kendall_to
from mallowmix.peers.mpm import MPM, People, _profile
from mallowmix.peers.pair_completion import UserMoments, complete
from mallowmix.peers.plackett_luce import Found, em_pl, fit_pl
from mallowmix.peers.rank_centrality import rank_centrality
from mallowmix.peers.sparse_choice import sparsest_fit
from mallowmix.peers.stages import make_stages
from mallowmix.peers.tensor_power import tensor_power
from mallowmix.peers.top_three import first_three, two_terms
from tests.oracles import chi_square_p, kendall_distance, mallows_pmf
from tests.planted import planted

choix = pytest.importorskip("choix")
pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


def agrees(sigma, pairs):
    return all(sigma[i] < sigma[j] for i, j in pairs)


# ---- AMP ----


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [[(3, 0), (1, 4)], [(4, 0), (0, 2)], [(2, 1)], []])
def test_amp_weights_average_to_the_probability_of_the_comparisons(pairs):
    """Against the sum over all rankings of five items: the mean of 20,000 weights within 4 standard
    errors (chance 6e-5 each);
    the weighted draws have the conditional distribution (chi-square of the resampled ones, chance
    1e-4 each).
    """
    reference, phi = (2, 0, 3, 1, 4), 0.5  # positions
    exact = {sigma: p for sigma, p in mallows_pmf(reference, phi).items() if agrees(sigma, pairs)}
    orders, log_w = draw_consistent(sigma_of(reference), phi, closure(pairs, 5), 20_000, seed=3)
    w = np.exp(log_w)
    total = sum(exact.values())
    assert abs(w.mean() - total) <= 4 * w.std() / np.sqrt(len(w)) + 1e-12
    places = [tuple(row) for row in sigma_of(orders).tolist()]
    assert all(agrees(sigma, pairs) for sigma in places)
    drawn = np.random.default_rng(0).choice(len(w), 4000, p=w / w.sum())
    counts = [0] * len(exact)
    index = {sigma: n for n, sigma in enumerate(exact)}
    for n in drawn:
        counts[index[places[n]]] += 1
    assert chi_square_p(counts, [p / total for p in exact.values()]) > 1e-4


def test_amp_is_exact_for_top_k_lists():
    """Items 3 and 1 first, in this order: every draw has the same weight, the probability."""
    pairs = [(3, 1), *((a, b) for a in (3, 1) for b in (0, 2, 4))]
    _, log_w = draw_consistent(range(5), 0.4, closure(pairs, 5), 50)
    exact = sum(p for sigma, p in mallows_pmf((0, 1, 2, 3, 4), 0.4).items() if agrees(sigma, pairs))
    np.testing.assert_allclose(np.exp(log_w), exact)


def test_a_circle_has_no_closure():
    assert closure([(0, 1), (1, 2)], 3).tolist() == [
        [False, True, True],
        [False, False, True],
        [False, False, False],
    ]
    with pytest.raises(
        DataError, match="contradict themselves: item number 0 is, by way of others, above itself"
    ):
        closure([(0, 1), (1, 2), (2, 0)], 3)


def test_people_with_one_ranking_are_predicted_as_enumeration_says():
    """P(i over j | told) by the sum over components and rankings; 4000 draws, so a standard error
    of .008, five allowed.
    """
    model = at_vertices(mm.M4([[0, 1, 2, 3], [3, 1, 0, 2]], [0.5, 0.7], [0.3, 0.7], list("abcd")))
    given = mm.Comparisons.from_arrays(["u", "u"], ["d", "a"], ["a", "c"])
    fitted, both, first = FittedOneRanking(model, 4000), 0.0, {"ab": 0.0, "bc": 0.0, "bd": 0.0}
    held = np.zeros(2)
    for k in range(2):
        for sigma, p in mallows_pmf(tuple(model.sigma[k].tolist()), model.phi[k]).items():
            if agrees(sigma, [(3, 0), (0, 2)]):
                both += model.share[k] * p
                held[k] += model.share[k] * p
                for pair in first:
                    i, j = ("abcd".index(c) for c in pair)
                    first[pair] += model.share[k] * p * (sigma[i] < sigma[j])
    found = fitted.predict_proba(given, [tuple(pair) for pair in first])[0]
    np.testing.assert_allclose(found, [value / both for value in first.values()], atol=0.04)
    np.testing.assert_allclose(fitted.weights(given)[0], held / both, atol=0.04)


def test_who_contradicts_themselves_is_placed_by_independent_comparisons():
    model = at_vertices(mm.M4([[0, 1, 2], [2, 1, 0]], [0.4, 0.4], [0.5, 0.5], list("abc")))
    given = mm.Comparisons.from_arrays(["u"] * 3, ["a", "b", "a"], ["b", "a", "c"])
    expected = mm.predict(model, given, [("a", "c")])
    np.testing.assert_allclose(FittedOneRanking(model).predict_proba(given, [("a", "c")]), expected)


# ---- mixtures of Mallows ----


def test_distances_and_likelihood_of_full_rankings():
    """Kendall's distance by a double loop; EM's likelihood never falls, and is the sum over
    components by the definition.
    """
    orders = np.array(list(permutations(range(4))), np.int32)
    data = Rankings.from_sigma(sigma_of(orders[[0, 0, 5, 23, 22, 7]]), list("abcd"))
    sigma = np.array([[0, 1, 2, 3], [3, 1, 2, 0]], np.int32)
    d = kendall_to(orders, sigma)
    assert all(
        d[n, k] == kendall_distance(tuple(sigma_of(orders)[n]), tuple(sigma[k]))
        for n in range(24)
        for k in range(2)
    )
    from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
    from mallowmix.peers.mallows_mixture import Mixture

    start = Mixture(MallowsComponents(sigma, np.array([0.5, 0.6])), np.array([0.4, 0.6]), -np.inf)
    blocks = make_ranking_blocks(data)
    values = [em_full(blocks, ThreadEngine(), start, n).log_likelihood for n in range(1, 8)]
    tables = [
        mallows_pmf(tuple(row), phi) for row, phi in zip(sigma.tolist(), (0.5, 0.6), strict=True)
    ]
    people = [tuple(row) for row in data.positions().tolist()]
    by_hand = sum(np.log(0.4 * tables[0][s] + 0.6 * tables[1][s]) for s in people)
    assert values[0] == pytest.approx(by_hand)
    assert np.all(np.diff(values) >= -1e-9)


@pytest.mark.slow
def test_m4_with_a_vertex_prior_finds_what_the_mixtures_em_finds():
    """Everybody holds one of three components and contradicts themselves at times (800 people, 30
    comparisons of 10 items).

    Both find the planted rankings, the same shares and the same people in each. φ of M4 is lower,
    by .026 to .040 in ten seeds,
    since mixing explains a part of the noise; .06 is allowed. No seed of ten fails: a new one would
    at a rate below .26 (95 %).
    """
    truth = planted(10, 3, 0.5, [1.0, 0.7, 0.5], seed=2)
    drawn = truth.sample(800, 30, prior="vertices", seed=2)
    mixture = MixtureOfMallows(likelihood_weights=(1.0,)).fit(drawn.comparisons, 3)
    model = mm.fit(drawn.comparisons, 3, seed=0, predictor=False)
    ours = mm.fit_prior(model, drawn.comparisons, "vertices")
    assert ours.calibration.vertex_share == 1
    match = match_components(ours.sigma, mixture.model.sigma)
    assert (
        match.kendall.max() == 0
        and match_components(mixture.model.sigma, truth.sigma).kendall.max() == 0
    )
    assert np.abs(ours.phi[match.found] - mixture.model.phi[match.truth]).max() < 0.06
    assert np.abs(ours.share[match.found] - mixture.model.share[match.truth]).max() < 0.02
    held = mm.weights(ours, drawn.comparisons)[:, match.found].argmax(axis=1)
    assert np.mean(held == mixture.weights(drawn.comparisons)[:, match.truth].argmax(axis=1)) > 0.98


# ---- two Mallows from the top three ----


def test_the_first_three_have_the_product_form():
    """c(φ) x_i x_j x_l against the sum over all 720 rankings."""
    phi, reference = 0.6, (2, 0, 1, 5, 4, 3)
    exact = mallows_pmf(reference, phi)
    orders = np.array([sigma_of(np.array(sigma)) for sigma in exact])
    tensor, first = first_three(orders, np.array(list(exact.values())))
    S = np.cumsum(phi ** np.arange(6))
    x = phi ** np.array(reference) / S[-1]
    c = (1 + phi) * (1 + phi + phi**2) * S[5] ** 2 / (phi**3 * S[4] * S[3])
    np.testing.assert_allclose(first, x)
    for i, j, k in permutations(range(6), 3):
        assert tensor[i, j, k] == pytest.approx(c * x[i] * x[j] * x[k])


def test_two_planted_terms_are_found():
    random = np.random.default_rng(0)
    A, B, C = random.normal(size=(3, 2, 2))
    found = two_terms(np.einsum("it,jt,lt->ijl", A, B, C))
    for true, guess in zip((A, B, C), found, strict=True):
        angles = np.abs(true.T @ guess) / np.outer(
            np.linalg.norm(true, axis=0), np.linalg.norm(guess, axis=0)
        )
        assert np.allclose(np.sort(angles.max(axis=0)), 1)


# ---- moments and tensors ----


def test_rank_centrality_is_choix_and_exact_for_bradley_terry():
    random = np.random.default_rng(1)
    scores = random.normal(size=6)
    beta = expit(scores[:, None] - scores)
    np.testing.assert_allclose(rank_centrality(beta), scores - scores.mean())
    games = [(int(i), int(j)) for i, j in random.integers(0, 6, (400, 2)) if i != j]
    wins = np.zeros((6, 6))
    for i, j in games:
        wins[i, j] += 1
    ratio = np.divide(wins, wins + wins.T, out=np.zeros((6, 6)), where=wins + wins.T > 0)
    theirs = choix.rank_centrality(6, games)
    np.testing.assert_allclose(rank_centrality(ratio), theirs - theirs.mean(), atol=1e-8)
    with pytest.raises(FitError, match="every item can be reached"):
        rank_centrality([[0, 1], [0, 0]])


def test_a_planted_orthogonal_tensor_is_taken_apart():
    V = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0].T[:3]
    values = np.array([3.0, 2.0, 1.2])
    found, vectors = tensor_power(np.einsum("k,ka,kb,kc->abc", values, V, V, V), 3)
    np.testing.assert_allclose(np.sort(found), np.sort(values))
    assert np.allclose(np.abs(V @ vectors.T).max(axis=1), 1)


class _Table:
    """A table that is known off the diagonal, as `complete` asks for it."""

    def __init__(self, table):
        self.known, self.n_pairs = 1.0 - np.eye(len(table)), len(table)
        self.table = table * self.known

    def weighted(self, V):
        return self.table @ V

    def weights(self, U):
        return self.known @ U


def test_a_low_rank_table_is_completed_without_its_diagonal():
    """20 pairs: begun from the table itself; 90: from its products with vectors."""
    for n in (20, 90):
        F = np.random.default_rng(3).normal(size=(n, 2))
        B = complete(_Table(F @ F.T), 2, "", n_iter=300)
        np.testing.assert_allclose(B @ B.T, F @ F.T, atol=1e-4)
    with pytest.raises(FitError, match="shows fewer than 1 components"):
        complete(_Table(np.zeros((5, 5))), 1, "")  # coins
    with pytest.raises(FitError, match="shows fewer than 2 components"):
        complete(_Table(np.zeros((1, 1))), 2, "")  # one pair of items


def test_products_with_the_second_moment_are_those_of_the_table():
    """Built from single people, pair by pair."""
    drawn = planted(5, 2, 0.3, 0.3).sample(40, 6, seed=2).comparisons
    blocks = make_blocks(drawn)
    signs, counts = np.zeros((10, 10)), np.zeros((10, 10))
    number = {pair: n for n, pair in enumerate(zip(*np.triu_indices(5, 1), strict=True))}
    for user in range(40):
        said = {}
        for row in np.flatnonzero(drawn.user == user):
            i, j, times = drawn.winner[row], drawn.loser[row], int(drawn.weight[row])
            said.setdefault(number[min(i, j), max(i, j)], []).extend([1 if i < j else -1] * times)
        for p in said:
            for q in set(said) - {p}:
                signs[p, q] += np.mean(said[p]) * np.mean(said[q])
                counts[p, q] += 1
    moments, V = UserMoments(blocks), np.random.default_rng(0).normal(size=(10, 3))
    assert moments.n_pairs == 10 and counts.max() > 3
    np.testing.assert_allclose(moments.weighted(V), signs @ V, atol=1e-12)
    np.testing.assert_allclose(moments.weights(V), counts @ V, atol=1e-12)


# ---- Plackett–Luce ----


def pl_orders(scores, size, seed):
    noise = np.random.default_rng(seed).gumbel(size=(size, len(scores)))
    return np.argsort(-(scores + noise), axis=1).tolist()


def test_plackett_luce_maximum_likelihood_is_choix():
    """Full rankings, top-3 lists of six, and pairs: the same maximum as choix's solvers."""
    orders = pl_orders(np.linspace(1, -1, 6), 200, 0)
    theirs = choix.ilsr_rankings(6, orders)
    np.testing.assert_allclose(
        fit_pl(Rankings.from_orders(orders)), theirs - theirs.mean(), atol=1e-6
    )
    partial = [order[:4] for order in orders]
    theirs = choix.ilsr_rankings(6, partial)
    np.testing.assert_allclose(
        fit_pl(Rankings.from_orders(partial)), theirs - theirs.mean(), atol=1e-6
    )
    tops = [(order[t], order[t + 1 :]) for order in orders for t in range(2)]
    theirs = choix.ilsr_top1(6, tops)
    found = fit_pl(
        Rankings.from_orders([order[:2] for order in orders], items=range(6), unlisted="below")
    )
    np.testing.assert_allclose(found, theirs - theirs.mean(), atol=1e-6)
    pairs = [(order[0], order[1]) for order in orders]
    theirs = choix.ilsr_pairwise(6, pairs)
    votes = mm.Comparisons.from_arrays(range(200), *zip(*pairs, strict=True))
    np.testing.assert_allclose(fit_pl(votes), theirs - theirs.mean(), atol=1e-6)


def test_plackett_luce_probabilities_sum_to_one_and_em_climbs():
    everything = Rankings.from_orders(list(permutations(range(4))))
    block = make_stages(everything, "here")[0]
    p = np.array([[0.4, 0.3, 0.2, 0.1]])
    log_p = log_probabilities(block.starts, block.item, block.n_choices, p)
    assert np.exp(logsumexp(log_p)) == pytest.approx(1)
    first = everything.item.reshape(24, 4)
    by_hand = [np.prod([p[0, o[t]] / p[0, o[t:]].sum() for t in range(3)]) for o in first]
    np.testing.assert_allclose(np.exp(log_p[:, 0]), by_hand)
    orders = pl_orders(np.linspace(1, -1, 6), 60, 1) + pl_orders(np.linspace(-1, 1, 6), 60, 2)
    blocks = make_stages(Rankings.from_orders(orders), "here")
    start = Found(np.random.default_rng(0).normal(size=(2, 6)), np.array([0.5, 0.5]), -np.inf)
    values = [em_pl(blocks, ThreadEngine(), start, 0.0, n).log_likelihood for n in range(1, 12)]
    assert np.all(np.diff(values) > -1e-9) and values[-1] > values[0]


# ---- sparse choice ----


def test_the_sparsest_distribution_is_found_and_failures_are_separated():
    sigma = np.array([[0, 1, 2, 3, 4], [4, 2, 1, 0, 3], [1, 3, 0, 4, 2]])
    weight = np.array([0.55, 0.3, 0.15])

    def marginals(sigma, weight):
        return sum(w * (row[:, None] < row) for w, row in zip(weight, sigma, strict=True))

    found = sparsest_fit(marginals(sigma, weight))
    assert np.array_equal(found.sigma, sigma) and found.weight == pytest.approx(weight)
    with pytest.raises(FitError, match="the exactness conditions fail"):
        sparsest_fit(marginals(sigma, [0.5, 0.3, 0.2]))  # .5 = .3 + .2
    with pytest.raises(
        FitError,
        match=r"need more than 3 rankings\. With noise every one of them looks like a new weight",
    ):
        noise = np.triu(np.random.default_rng(0).uniform(-0.02, 0.02, (5, 5)), 1)
        sparsest_fit(np.clip(marginals(sigma, weight) + noise - noise.T, 0, 1), most=3)
    from mallowmix.peers.sparse_choice import SparseChoice

    with pytest.raises(DataError, match="'a' and 'c' were never compared"):
        SparseChoice().fit(mm.Comparisons.from_arrays(["u", "u"], ["a", "b"], ["b", "c"]), 2)


# ---- MPM ----


def test_mpm_profile_gradient_and_multinomial():
    """The gradient by finite differences; and Z as the sum over all ordered pairs."""
    random = np.random.default_rng(4)
    people = People(
        random.integers(-3, 4, (7, 5)).astype(float), np.full(7, 9.0), random.uniform(0.5, 2, 7)
    )
    v = random.normal(size=5)
    error = check_grad(
        lambda v: _profile(people, v, 1.0)[0],
        lambda v: _profile(people, v, 1.0)[1],
        v,
    )
    assert error < 1e-3
    gamma = 1.7
    by_pairs = sum(np.exp(gamma * (v[i] - v[j])) for i, j in permutations(range(5), 2))
    assert np.exp(gamma * v).sum() * np.exp(-gamma * v).sum() - 5 == pytest.approx(by_pairs)


def test_mpm_finds_who_adheres():
    """300 people, 40 comparisons of 8 items: log γ goes with the true one at .8 (5 seeds: .909 to
    .929), v within .2 (.073).
    """
    random, v = np.random.default_rng(0), np.linspace(1, -1, 8)
    gamma, pairs = np.exp(0.5 * random.standard_normal(300)), []
    for g in gamma:
        p = np.exp(g * (v[:, None] - v)) * ~np.eye(8, dtype=bool)
        pairs.append(random.choice(64, 40, p=(p / p.sum()).ravel()))
    winner, loser = np.divmod(np.concatenate(pairs), 8)
    votes = mm.Comparisons.from_codes(
        np.repeat(np.arange(300), 40), winner, loser, None, list("abcdefgh"), range(300)
    )
    fitted = MPM().fit(votes)
    assert np.corrcoef(np.log(fitted.adherence(votes)), np.log(gamma))[0, 1] > 0.8
    np.testing.assert_allclose(fitted.v, v, atol=0.2)


# ---- grade of membership ----


def test_a_component_s_move_leaves_its_conditional_alone():
    """Two items, choices fixed: 2000 moves of λ₁/(λ₁+λ₂) have the mean and spread of the Beta
    posterior.

    7 wins of 10, b = 1: Beta(8, 4). With some 500 effective draws the mean's standard error is
    .006; three are allowed.
    """
    votes = mm.Comparisons.from_arrays(["u", "u"], ["a", "b"], ["b", "a"], [7, 3])
    blocks, engine, random = make_stages(votes, "here"), ThreadEngine(1), np.random.default_rng(0)
    state = [_state(blocks[0], np.ones((1, 1)), random)]
    lam, n, drawn = np.ones((1, 2)), np.array([[7.0, 3.0]]) + 1, []
    for _ in range(2000):
        rate, log_left = surrogate_rates(state[0], lam)
        lam, _ = move_components(engine, state, lam, n, rate, log_left, random)
        drawn.append(lam[0, 0] / lam.sum())
    assert np.mean(drawn) == pytest.approx(8 / 12, abs=0.02)
    assert np.std(drawn) == pytest.approx(np.sqrt(8 * 4 / 144 / 13), abs=0.02)


@pytest.fixture(scope="module")
def ranked():
    drawn = population_of_model("grade of membership PL", "quick", 0)
    return drawn, GradeOfMembership(n_burn=1500, n_draws=100, thin=2).fit(drawn.train, 2, seed=0)


@pytest.mark.slow
def test_grade_of_membership_is_recovered_from_rankings(ranked):
    """500 rankings of 8 items, K = 2, α = .3: rankings found in all of ten populations (error up to
    .018), α within .2 in nine (.84 in the tenth); with 200 sweeps before the first draw α is still
    on its way.
    """
    drawn, fitted = ranked
    assert kendall_error(fitted.components, drawn.sigma) <= 0.02
    assert 0.3 < fitted.acceptance < 1 and fitted.model.alpha == pytest.approx([0.3, 0.3], abs=0.2)


@pytest.mark.slow
def test_grade_of_membership_is_recovered_from_pairs():
    """150 people, 40 comparisons of 6 items, α = .3: β on average within .05 of the planted one (10
    seeds: .005 to .022).
    """
    scores = np.array([np.linspace(1.5, -1.5, 6), np.linspace(1.5, -1.5, 6)[[3, 5, 0, 2, 4, 1]]])
    truth = mm.BradleyTerryModel(scores, [0.3, 0.3], list("abcdef"))
    fitted = GradeOfMembership(n_burn=200, n_draws=60, thin=2).fit(
        truth.sample(150, 40, seed=1).comparisons, 2
    )
    match = match_components(fitted.model.sigma, truth.sigma)
    assert np.abs(fitted.beta[match.found] - truth.beta()[match.truth]).mean() < 0.05


@pytest.mark.slow
def test_chains_are_xarray_and_diagnostics_arviz(ranked):
    _, fitted = ranked
    assert dict(fitted.chains.sizes) == {"chain": 2, "draw": 100, "component": 2, "item": 8}
    found = fitted.diagnostics()
    assert found["r_hat"]["scores"].shape == (2, 8) and float(found["ess"]["alpha"]) > 1
    r_hat, ess = fitted.worst()
    assert r_hat >= float(found["r_hat"]["scores"].max()) and ess <= float(found["ess"]["alpha"])


def test_chains_that_have_not_converged_warn():
    drawn = population_of_model("grade of membership PL", "quick", 1)
    with pytest.warns(
        FitWarning,
        match=r"R-hat is .* the chains have not converged\. Raise n_burn and n_draws",
    ):
        GradeOfMembership(n_burn=2, n_draws=8, thin=1).fit(drawn.train, 2)


def _chain(votes):
    held = np.eye(2)[np.arange(votes.n_users) % 2]
    blocks, about = make_stages(votes, "here"), {"shape": 1.0, "alpha": None}
    return MembershipChain(blocks, ThreadEngine(1), held, 6, **about, seed=3, number=0)


def test_a_chain_that_is_continued_is_the_chain_that_did_not_stop():
    scores = np.array([np.linspace(1.5, -1.5, 6), np.linspace(-1.5, 1.5, 6)])
    truth = mm.BradleyTerryModel(scores, [0.3, 0.3], list("abcdef"))
    votes = truth.sample(30, 20, seed=1).comparisons
    stopped, whole = _chain(votes), _chain(votes)
    stopped.burn(6)
    stopped.draw(4, 1)
    later = stopped.draw(4, 2)
    whole.burn(6)
    every = whole.draw(12, 1)
    np.testing.assert_array_equal(later.alpha, every.alpha[[5, 7, 9, 11]])
    np.testing.assert_array_equal(later.scores, every.scores[[5, 7, 9, 11]])
    assert len(set(later.alpha)) == 4


def test_rounds_go_on_until_the_chains_agree_about_alpha():
    """One round of 20 sweeps from two groupings: R-hat of α far above 1.05; then until below."""
    drawn = population_of_model("grade of membership PL", "quick", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        short, long = (
            GradeOfMembership(n_burn=20, n_draws=20, thin=1, max_rounds=n).fit(drawn.train, 2)
            for n in (1, 12)
        )
    r_hats = [float(fitted.diagnostics()["r_hat"]["alpha"]) for fitted in (short, long)]
    assert r_hats[0] > 1.2 and r_hats[1] < 1.05
    assert long.chains.sizes["draw"] == 20


def test_r_hat_of_alpha_is_that_of_the_formula():
    """Split chains, ranks to normal scores, √(((n − 1)/n W + B/n) / W); the folded one is less."""
    random = np.random.default_rng(0)
    alphas = np.stack([random.normal(0, 1, 40), random.normal(1, 1, 40)])
    halves = alphas.reshape(4, 20)
    z = norm.ppf((rankdata(halves).reshape(4, 20) - 3 / 8) / (80 + 1 / 4))
    within, between = z.var(axis=1, ddof=1).mean(), 20 * z.mean(axis=1).var(ddof=1)
    expected = np.sqrt((19 / 20 * within + between / 20) / within)
    one = np.zeros((40, 1, 1))
    drawn = [PosteriorDraws(one, one[:, 0], row, row, 0.0) for row in alphas]
    assert alpha_r_hat(drawn) == pytest.approx(expected, rel=1e-9) and expected > 1.1
