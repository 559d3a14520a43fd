"""Small steps of inference, each against a hand calculation or a definition: priors, labels of
components, ranges of positions, where chains begin, the M-step of α.
"""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import psi

import mallowmix as mm
import oracles
from mallowmix.assess.intervals.interval_estimates import Intervals
from mallowmix.assess.intervals.replicates import Replicates
from mallowmix.engine import Block, ThreadEngine, make_blocks
from mallowmix.errors import FitWarning
from mallowmix.infer.heldout.left_to_right import _run
from mallowmix.infer.pair_queries import Queries, query_categories
from mallowmix.infer.population_leaderboard import _ties
from mallowmix.infer.posterior.chain_starts import _crowd_order, _drawn, _short_fit
from mallowmix.infer.posterior.component_labels import aligned_chains, population_win_rates
from mallowmix.infer.posterior.person_spread import PersonSpread
from mallowmix.infer.posterior.posterior_chain import ChainDraws
from mallowmix.infer.predict import _by_user
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.priors.dirichlet_prior import _moments, _sweep, check_converged
from mallowmix.infer.priors.discrete_prior import _gains, _log_likelihood, lattice, support
from mallowmix.infer.priors.fitted_prior import _responsibility, _shares, _single
from mallowmix.infer.rank_items import _with_ends
from mallowmix.learn.utilities.utilities_em import utilities_path
from mallowmix.learn.utilities.utilities_pass import UtilitiesParameters
from mallowmix.numerics.dirichlet import (
    LEAST_ALPHA,
    MOST_ALPHA,
    dirichlet_moments,
    polya_slopes,
    polya_step,
)
from mallowmix.numerics.token_gibbs import token_count
from planted import planted

BETA = np.array([[0.9, 0.2], [0.3, 0.6], [0.5, 0.95]])
ALPHA = np.array([0.7, 1.4])


# ---- priors ----


def test_slopes_of_polya_are_differences_of_digamma():
    counts, weight = np.array([[2.0, 0.0], [0.5, 1.5], [0.0, 0.0]]), np.array([1.0, 3.0, 2.0])
    found = polya_slopes(counts, weight, ALPHA)
    expected = weight @ (psi(counts + ALPHA) - psi(ALPHA))
    total = weight @ (psi(counts.sum(axis=1) + ALPHA.sum()) - psi(ALPHA.sum()))
    assert found == pytest.approx([*expected, total])
    assert polya_step(ALPHA, found) == pytest.approx(ALPHA * expected / total)
    assert polya_step(ALPHA, np.array([0.0, 1e9, 1.0])).tolist() == [LEAST_ALPHA, MOST_ALPHA]


def test_moments_of_weights_given_counts_are_those_of_their_dirichlet():
    counts, weight = np.array([[2.0, 0.0], [0.5, 1.5]]), np.array([1.0, 3.0])
    first, second = np.zeros(2), np.zeros((2, 2))
    for n, w in zip(counts, weight, strict=True):
        a, R = dirichlet_moments(ALPHA + n)
        first, second = first + w * a, second + w * R
    assert _moments(counts, ALPHA, weight) == pytest.approx(np.vstack([first, second]))


def test_sweeps_of_a_prior_count_what_tokens_hold_and_go_on():
    """A row of 2.5 has three tokens, each counting the likelihood weight, the last a half of it."""
    starts, pair, weight = np.array([0, 2, 2, 3]), np.array([0, 1, 2]), np.array([2.5, 1.0, 2.0])
    z, e, key = np.full(6, 1, np.int16), 0.5, np.uint64(3)
    assert token_count(weight) == 6
    given = starts, pair, weight, BETA, ALPHA, e
    for cycle in range(3):
        counts = _sweep(*given, z, 2, cycle, 0, key)
        pieces = e * np.array([1.0, 1.0, 0.5, 1.0, 1.0, 1.0])
        for m, own in ((0, slice(0, 4)), (1, slice(4, 4)), (2, slice(4, 6))):
            expected = np.bincount(z[own], pieces[own], 2)
            assert counts[m] == pytest.approx(expected, abs=1e-9)
    before = z.copy()
    _sweep(*given, z, 0, 3, 0, key)
    assert z.tolist() == before.tolist()


def test_a_prior_that_drifts_by_more_than_a_fifth_is_warned_of():
    still = np.log(np.array([[0.5, 2.0]] * 6))
    moved = still.copy()
    moved[3:, 1] += 0.21
    low = np.log(np.array([[5e-4, 2.0]] * 6))
    low[3:, 0] += 0.5  # near its floor, where logarithms mean nothing
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_converged(still)
        check_converged(low)
        check_converged(still + np.r_[np.zeros(3), np.full(3, 0.19)][:, None])
    with pytest.warns(FitWarning, match="after 9 cycles"):
        check_converged(moved)


def test_a_lattice_has_all_points_of_its_steps():
    found = lattice(3, 4)
    expected = {(a / 4, b / 4, (4 - a - b) / 4) for a in range(5) for b in range(5 - a)}
    assert set(map(tuple, found.tolist())) == expected and len(found) == 15
    assert lattice(1, 1).tolist() == [[1.0]]
    assert sorted(lattice(2, 3)[:, 0].tolist()) == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_points_are_a_lattice_of_four_steps_or_else_users():
    model = mm.M4.from_orders(["abc", "bca", "cab"], 0.3, [0.4, 0.5, 0.6])
    votes = model.sample(9, 4, seed=1).comparisons
    prepared, blocks = prepare(model), make_blocks(votes)

    def points(n):
        return support(prepared, blocks, ThreadEngine(1), n, 0)

    assert len(points(15)) == 15 and len(points(20)) == 15 and len(points(21)) == 21
    few = points(14)  # three steps have ten points
    assert few[:3].tolist() == np.eye(3).tolist()
    assert few[3] == pytest.approx(prepared.alpha / prepared.alpha.sum())
    assert len(few) == 4 + 9 and len(points(8)) == 8
    assert np.all(few.sum(axis=1) == pytest.approx(1))


def test_likelihoods_of_points_and_of_vertices():
    starts, number, weight = np.array([0, 2, 2]), np.array([1, 0]), np.array([2.0, 0.5])
    log_p = np.log(BETA[:2])
    found = _log_likelihood(starts, number, weight, log_p, 0.7)
    assert found[0] == pytest.approx(0.7 * (2 * log_p[1] + 0.5 * log_p[0]))
    assert found[1].tolist() == [0.0, 0.0]
    assert _single(starts, number, weight, log_p, 0.7) == pytest.approx(found)
    L, w, p = np.array([[0.5, 1.0], [1.0, 0.2]]), np.array([1.0, 3.0]), np.array([0.25, 0.75])
    expected = 1 * L[0] / (L[0] @ p) + 3 * L[1] / (L[1] @ p)
    assert _gains((L, w), p) == pytest.approx(expected)
    share = _responsibility((L, w), p)
    assert share == pytest.approx(expected * p) and share.sum() == pytest.approx(4)


def test_shares_of_vertices_are_most_likely():
    model = mm.M4.from_orders(["abc", "cba"], 0.4, 0.5)
    votes = mm.read_comparisons(
        [("u", "a", "b"), ("u", "b", "c"), ("v", "c", "a"), ("w", "a", "c")]
    )
    blocks, prepared = make_blocks(votes.with_items(model.items)), prepare(model)
    share = _shares(prepared, blocks, ThreadEngine(1))
    rows = [(0, "ab"), (0, "bc"), (1, "ca"), (2, "ac")]
    log_p = np.zeros((3, 2))
    for m, (x, y) in rows:
        log_p[m] += np.log(prepared.beta["abc".index(x) * 3 + "abc".index(y)])

    def value(a):
        return np.log(np.exp(log_p) @ [a, 1 - a]).sum()

    best = max(np.linspace(0, 1, 2001), key=value)
    assert share.sum() == pytest.approx(1) and share[0] == pytest.approx(best, abs=1e-3)


# ---- users and pairs ----


def test_rows_are_taken_by_user_and_unknown_users_first(monkeypatch):
    monkeypatch.setattr("mallowmix.infer.predict._USERS", 2)
    users = np.array([3, -1, 0, 3, 5, -1, 0, 2])
    parts = [part.tolist() for part in _by_user(users)]
    assert [sorted(set(users[part].tolist())) for part in parts] == [[-1], [0, 2], [3, 5]]
    assert sorted(row for part in parts for row in part) == list(range(8))
    known = [part.tolist() for part in _by_user(np.array([4, 4, 1]))]
    assert known == [[2, 0, 1]] and list(_by_user(np.empty(0, np.int64))) == []


def test_how_many_items_of_a_pair_were_compared_before():
    starts, pair = np.array([0, 2, 2, 3]), np.array([0 * 4 + 1, 2 * 4 + 3, 3 * 4 + 0], np.int32)
    weight = np.array([1.0, 0.0, 0.5])
    block = Block(0, 4, starts, pair, weight, np.ones(3), None)
    codes = np.array([0 * 4 + 1, 1 * 4 + 2, 2 * 4 + 3, 3 * 4 + 0])
    queries = Queries.same_for_all(3, codes)
    assert queries.users().tolist() == [0] * 4 + [1] * 4 + [2] * 4
    found = query_categories(block, queries).reshape(3, 4)
    assert found.tolist() == [[2, 1, 0, 1], [0, 0, 0, 0], [1, 0, 1, 2]]


def test_a_range_of_positions_holds_the_level_and_the_items_own():
    means = np.array([[0.9, 0.5, 0.1]])
    one = np.array([[1, 2, 3], [1, 2, 3]])  # first and last position of each item
    other = np.array([[2, 1, 3], [2, 1, 3]])
    draws = [np.array([one] * 18 + [other] * 2)]
    wide, narrow = (_with_ends(means, draws, level)[0] for level in (0.95, 0.5))
    assert wide[0].tolist() == means[0].tolist()
    assert wide[1:].tolist() == [[1, 1, 3], [2, 2, 3]]
    assert narrow[1:].tolist() == [[1, 2, 3], [1, 2, 3]]
    away = _with_ends(means, [np.array([other] * 20)], 0.5)[0]
    assert away[1:].tolist() == [[1, 1, 3], [2, 2, 3]]


def test_ties_are_a_share_of_all_comparisons():
    votes = SimpleNamespace(n_comparisons=8.0)
    half = _ties(SimpleNamespace(comparisons=votes, ties="half", n_ties=2.0))
    drop = _ties(SimpleNamespace(comparisons=votes, ties="drop", n_ties=2.0))
    assert (half.share, half.n_comparisons) == (0.25, 8.0)
    assert (drop.share, drop.n_comparisons) == (0.2, 10.0)


def test_intervals_are_read_off_replicates():
    """Nineteen sorted replicates: at 80%, the ends are those of rank 2 and of rank 18."""
    values = np.arange(1.0, 20.0)[::-1] / 20
    sigma = np.tile([[0, 1], [1, 0]], (19, 1, 1)).astype(np.int32)
    draws = Replicates(
        sigma, np.column_stack([values, values]), np.column_stack([values, 1 - values])
    )
    found = Intervals(
        0.8, np.array(["a", "b"]), sigma[0], np.array([0.05, 0.99]), np.array([0.5, 0.5]), draws
    )
    assert found.phi_low == pytest.approx([0.1, 0.1]) and found.phi_high == pytest.approx(
        [0.9, 0.9]
    )
    assert found.share_low == pytest.approx([0.1, 0.1])
    assert found.share_high == pytest.approx([0.9, 0.9])
    assert found.position_low.tolist() == found.position_high.tolist() == sigma[0].tolist()
    small, large = found.notes
    assert "phi of component 1:" in small and "too small" in small
    assert "phi of component 2:" in large and "stopped" in large
    (both,) = replace(found, refined=False).notes
    assert "components 1 and 2" in both and "full" in both


def test_a_filter_moves_only_after_resampling_and_other_forms_before_every_token():
    code, piece, key = np.zeros(4, np.int64), np.ones(4), np.uint64(5)
    beta = np.array([[0.8, 0.4]])

    def run(form, moves):
        return _run(code, piece, beta, np.array([5.0, 5.0]), 8, form, moves, key)

    assert run(0, 0) == run(0, 3)  # eight particles of nearly equal weight are not resampled
    assert run(1, 0) != run(1, 3)


# ---- chains ----


def test_win_rates_of_drawn_populations_by_all_rankings():
    sigma = np.array([[[0, 1, 2], [2, 0, 1]]], np.int16)
    phi, alpha = np.array([[0.3, 0.6]]), np.array([[0.5, 1.5]])
    tables = [
        np.array(oracles.beta(tuple(map(int, s)), p)) for s, p in zip(sigma[0], phi[0], strict=True)
    ]
    expected = (0.25 * tables[0] + 0.75 * tables[1]).sum(axis=1) / 2
    assert population_win_rates(sigma, phi, alpha)[0] == pytest.approx(expected)


def test_components_of_draws_are_numbered_as_in_the_likeliest():
    """Its components by their α; the others by which is nearest."""
    a, b, c = [0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]
    phi, alpha = np.array([0.2, 0.3, 0.4]), np.array([0.5, 3.0, 1.0])

    def chain(orders, log_likelihood):
        given = [np.array([a, b, c]), phi, alpha]
        sigma, p, al = (np.array([each[list(o)] for o in orders]) for each in given)
        theta = np.array([[[0.2, 0.5, 0.3]]] * len(orders))
        theta = np.array([t[:, list(o)] for t, o in zip(theta, orders, strict=True)])
        none = np.empty(0)
        return ChainDraws(
            sigma.astype(np.int16), p, al, theta, np.array(log_likelihood), none, none, none
        )

    found = aligned_chains(
        [chain([(0, 1, 2), (2, 0, 1)], [-9.0, -8.0]), chain([(1, 2, 0)], [-5.0])]
    )
    for each in found:
        for d in range(len(each.phi)):
            assert each.sigma[d].tolist() == [b, c, a]
            assert each.alpha[d].tolist() == [3.0, 1.0, 0.5] and each.phi[d].tolist() == [
                0.3,
                0.4,
                0.2,
            ]
            assert each.theta[d].tolist() == [[0.5, 0.3, 0.2]]


def test_where_chains_begin():
    votes = mm.read_comparisons(
        [("u", "a", "b"), ("v", "c", "b"), ("v", "c", "a"), ("w", "c", "a")]
    )
    assert votes.items[_crowd_order(votes)].tolist() == ["c", "a", "b"]
    heavy = mm.Comparisons.from_codes(
        [0, 1], [0, 1], [1, 0], None, ["a", "b"], ["u", "v"], [1.0, 3.0]
    )
    assert _crowd_order(heavy).tolist() == [1, 0]  # users count by their weight
    crowd = np.array([2, 0, 1, 3], np.int32)
    sigma, phi = _drawn(crowd, 3, near=True, seed=1)
    assert sigma.shape == (3, 4) and len(set(phi.tolist())) == 1 and 0.5 < phi[0] < 1
    many = {near: _drawn(crowd, 400, near=near, seed=2)[0] for near in (True, False)}
    far = {near: np.mean([mm.kendall(s, np.argsort(crowd)) for s in many[near]]) for near in many}
    assert far[False] == pytest.approx(0.5, abs=0.06) and far[True] < far[False]


def test_a_short_fit_of_half_of_the_users(monkeypatch):
    votes = planted(5, 2, seed=1).sample(9, 6, seed=1).comparisons
    nobody = replace(votes, user_weight=np.zeros(9))
    seen = []

    def fit(comparisons, K, options, **_):
        seen.append(comparisons.n_users)
        m4 = SimpleNamespace(sigma=np.zeros((K, 5), np.int32), phi=np.array([0.0, 1.0]))
        return SimpleNamespace(m4=m4)

    monkeypatch.setattr("mallowmix.infer.posterior.chain_starts.fit_spectral", fit)
    for half in (True, False):
        found = _short_fit(votes, 2, half=half, seed=3)
        assert found is not None
        assert 0 < found[1][0] < 0.1 and 0.9 < found[1][1] < 1  # from the ends no walk comes back
    assert _short_fit(votes.take_users(range(8)), 2, half=True, seed=3) is not None
    assert _short_fit(nobody, 2, half=False, seed=3) is None  # answers of users who do not count
    assert seen == [5, 9, 4]


def test_weighted_quantiles_over_chains():
    """Two draws a chain; the second chain counts three times as much."""
    spread = PersonSpread.__new__(PersonSpread)
    spread.ends, spread.each = (0.25, 0.75), np.array([[0.25], [0.75]]) / 2
    draws = np.array([[[0.0], [4.0]], [[1.0], [2.0]]])
    # sorted: 0, 1, 2, 4 with weights 1/8, 3/8, 3/8, 1/8, whose middles are 1/16, 5/16, 11/16, 15/16
    low, high = spread.ends_of(draws)
    assert low[0] == pytest.approx((1 / 4 - 1 / 16) / (5 / 16 - 1 / 16))
    assert high[0] == pytest.approx(2 + 2 * (3 / 4 - 11 / 16) / (15 / 16 - 11 / 16))
    assert spread.mean(draws)[0] == pytest.approx(0.25 * 2 + 0.75 * 1.5)


def test_em_of_utilities_goes_further_than_its_step_while_the_likelihood_rises():
    votes = planted(4, 1, seed=2).sample(8, 6, seed=2).comparisons
    blocks, engine = make_blocks(votes), ThreadEngine(1)
    start = UtilitiesParameters(np.zeros((1, 4)), np.zeros((4, 0)), np.ones(4), np.zeros(1))
    (fast, _), (again, _) = utilities_path(blocks, start, engine, n_rounds=2)
    (plain, _), _ = utilities_path(blocks, start, engine, n_rounds=2, speed_up=False)
    assert fast.means == pytest.approx(1.8 * plain.means)  # from 0
    assert np.log(fast.variances) == pytest.approx(1.8 * np.log(plain.variances))
    assert not np.allclose(again.means, fast.means)
