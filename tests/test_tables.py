"""The tabulated likelihood against direct sums of logarithms."""

import itertools
import math

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.special import logit

from mallowmix.learn.spectral.likelihood_tables import (
    NODES,
    by_gap,
    gap_reach,
    gap_sums,
    likelihood,
    likelihood_by_phi,
    new_tables,
)
from mallowmix.learn.spectral.pair_rows import by_pair
from mallowmix.learn.spectral.tabulate import SKIP, tabulate
from mallowmix.numerics.vector_logarithms import LANES, add_logarithms
from oracles import beta
from planted import blocks_of, planted, tiny_population

CORNER = math.exp(-7) / (1 + math.exp(-7))  # β is taken as no nearer to 0 than this


# tables are kept as float32, and rounded a few times on the way
FLOAT32 = 4 * np.finfo(np.float32).eps


def theta_for(n_users, K, seed):
    """Weights of which some are exactly 0 or below what is looked at."""
    theta = np.random.default_rng(seed).dirichlet(np.full(K, 0.3), n_users)
    theta[0] = np.eye(K)[0]
    return theta


def log_likelihoods(data, beta, theta, k, b):
    """(P,) Σ log(base + θ_k b) over the comparisons of each pair, b the chance that its first item
    wins; a double loop.

    b : a number a pair, or one for all
    """
    pairs = list(itertools.combinations(range(data.n_items), 2))
    total = dict.fromkeys(pairs, 0.0)
    for user, i, j, w in zip(data.user, data.winner, data.loser, data.weight.tolist(), strict=True):
        if theta[user, k] < SKIP:
            continue
        pair = (min(i, j), max(i, j))
        chance = b if np.isscalar(b) else b[pairs.index(pair)]
        base = sum(
            theta[user, other] * beta[other, i, j] for other in range(len(beta)) if other != k
        )
        own = theta[user, k] * (chance if i < j else 1 - chance)
        total[pair] += w * data.user_weight[user] * math.log(base + own)
    return np.array([total[pair] for pair in pairs])


def tables_of(data, beta, theta, n_jobs=2):
    """(K, P, nodes) the tables of everybody."""
    flat = np.ascontiguousarray(beta.reshape(len(beta), -1).T)
    tables = new_tables(len(beta), data.n_items)
    return tabulate(by_pair(blocks_of(data)[0]), flat, theta, tables, n_jobs=n_jobs)


@pytest.mark.parametrize("fractions", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_tables_are_sums_of_logarithms(fractions, unequal, seed):
    data = tiny_population(seed, M=9, fractions=fractions, people=unequal)
    truth, theta = planted(4, 3, 0.4, seed=seed), theta_for(9, 3, seed)
    tables = tables_of(data, truth.beta(), theta)
    for k, (c, node) in itertools.product(range(3), enumerate(NODES)):
        expected = log_likelihoods(data, truth.beta(), theta, k, float(node))
        np.testing.assert_allclose(tables[k, :, c], expected, rtol=FLOAT32, atol=1e-12)


def test_only_some_components_and_a_part_of_the_way():
    """Old + gain · (new − old) for those asked for; the others stay."""
    data, truth, theta = tiny_population(3, M=9), planted(4, 3, 0.4, seed=3), theta_for(9, 3, 3)
    whole = tables_of(data, truth.beta(), theta)
    before = np.full_like(whole, -2.0)
    flat = np.ascontiguousarray(truth.beta().reshape(3, -1).T)
    pairs = by_pair(blocks_of(data)[0])
    part = tabulate(pairs, flat, theta, before, which=[2, 0], gain=0.25)
    assert part is before  # tables are large: they are written over
    np.testing.assert_allclose(part[[0, 2]], -1.5 + 0.25 * whole[[0, 2]], rtol=1e-5)
    assert (part[1] == -2).all()


def test_large_weights_count_as_many_rows_and_threads_do_not_matter():
    """Rows of weight 1 are multiplied, logarithms of others weighted: against the double loop."""
    data, truth, theta = tiny_population(5, M=9), planted(4, 2, 0.4, seed=5), theta_for(9, 2, 5)
    weight = np.resize([1.0, 7.0, 9.0, 2.5, 300.0], len(data))
    heavy = type(data)(
        data.user, data.winner, data.loser, weight, data.items, data.users, data.user_weight
    )
    tables = tables_of(heavy, truth.beta(), theta)
    for k in range(2):
        expected = log_likelihoods(heavy, truth.beta(), theta, k, float(NODES[4]))
        np.testing.assert_allclose(tables[k, :, 4], expected, rtol=FLOAT32)
    for n_jobs in (1, 2, 7):
        assert tables.tobytes() == tables_of(heavy, truth.beta(), theta, n_jobs).tobytes()


def test_logarithms_from_the_bits_of_a_float():
    """Of numbers from 1e-300 to 1, and next to powers of 2 and to 1: against NumPy's."""
    draws = np.exp(-np.random.default_rng(3).uniform(0, 690, (40, 16)))
    draws[0] = np.nextafter(2.0 ** -np.arange(16), 0)
    draws[1] = 2.0 ** -np.arange(16)
    values, table = draws.copy(), np.full((40, 16), 2.0)
    which = np.arange(40)[::-1].astype(np.uint16)
    half = np.full(40, 0.5)
    add_logarithms(values, values.view(np.uint64), half, which, 40, table, LANES)
    np.testing.assert_allclose(table[::-1], 2 + 0.5 * np.log(draws), rtol=0, atol=5e-11)
    assert (values == 1).all()


def test_long_products_do_not_underflow():
    """One pair, 3,000 people of one taste who all go against it: a product of 3,000 chances of 9e-4
    is far below 1e-308.
    """
    truth = planted(2, 1, 0.2)
    data = truth.sample(3000, 1, seed=0).comparisons
    theta = np.ones((3000, 1))
    table = tables_of(data, truth.beta(), theta)[0, 0]
    wins = float(data.weight[data.winner == 0].sum())
    np.testing.assert_allclose(
        table, wins * np.log(NODES) + (3000 - wins) * np.log(1 - NODES), rtol=FLOAT32
    )
    assert table.min() < -2000


@pytest.fixture(scope="module")
def planted_tables():
    truth = planted(6, 3, [0.1, 0.4, 0.7], seed=1)
    sample = truth.sample(80, 30, seed=1)
    return truth, sample, tables_of(sample.comparisons, truth.beta(), sample.theta)


@pytest.mark.parametrize("phi", [0.01, 0.2, 0.5, 0.9])
def test_the_likelihood_of_every_gap(planted_tables, phi):
    """Against β from all rankings and direct logarithms. The spline is off by less than .001 nats a
    comparison at any gap.
    """
    truth, sample, tables = planted_tables
    # items in their places: β by gap in the first row
    data, chance = (sample.comparisons, np.array(beta(tuple(range(6)), phi)))
    for k in range(3):
        values = by_gap(tables[k], 6, phi)
        D = values.shape[1] // 2
        assert gap_reach(6, phi) == D
        n = log_counts(data, sample.theta, k)
        for g in range(-D, D + 1):
            # the lower-numbered item g places below
            b = 0.5 if g == 0 else chance[g, 0] if g > 0 else chance[0, -g]
            expected = log_likelihoods(
                data, truth.beta(), sample.theta, k, float(np.clip(b, CORNER, 1 - CORNER))
            )
            assert np.all(np.abs(values[:, D + g] - expected) <= 0.001 * n + 1e-9)


@pytest.mark.parametrize("phi", [0.005, 0.2, 0.9, 0.99])
def test_values_by_gap_are_those_of_scipys_spline(phi):
    """Also where items have other numbers in the answer."""
    random = np.random.default_rng(3)
    table = random.normal(-50, 20, (15, len(NODES))).astype(np.float32)
    order = random.permutation(6).astype(np.int32)
    values, plain = by_gap(table, 6, phi, order=order), by_gap(table, 6, phi)
    D, chance = values.shape[1] // 2, np.clip(beta(tuple(range(6)), phi), CORNER, 1 - CORNER)
    gaps = [0.5 if g == 0 else chance[g, 0] if g > 0 else chance[0, -g] for g in range(-D, D + 1)]
    pairs = list(itertools.combinations(range(6), 2))
    for p, (a, b) in enumerate(pairs):
        spline = CubicSpline(np.linspace(-7, 7, len(NODES)), table[p].astype(np.float64))
        np.testing.assert_allclose(plain[p], spline(logit(gaps)), rtol=1e-6)
        old = pairs.index((min(order[a], order[b]), max(order[a], order[b])))
        same = plain[old] if order[a] < order[b] else plain[old, ::-1]
        np.testing.assert_allclose(values[p], same, rtol=1e-6)


def test_memory_that_was_used_before_changes_nothing():
    """Larger than needed, too small, and full of other numbers."""
    table = np.random.default_rng(4).normal(-50, 20, (780, len(NODES))).astype(np.float32)
    expected = by_gap(table, 40, 0.9)
    for size in (780 * 79 + 5, 10):
        memory = np.full(size, np.nan, np.float32)
        assert np.array_equal(by_gap(table, 40, 0.9, memory=memory), expected)


def log_counts(data, theta, k):
    """(P,) how many comparisons of each pair come from people who follow k at all."""
    pairs = list(itertools.combinations(range(data.n_items), 2))
    n = np.zeros(len(pairs))
    for user, i, j, w in zip(data.user, data.winner, data.loser, data.weight, strict=True):
        n[pairs.index((min(i, j), max(i, j)))] += w * (theta[user, k] >= SKIP)
    return n


@pytest.mark.slow
def test_the_likelihood_of_every_phi(planted_tables):
    """Ranking fixed, φ over its grid: within .0005 nats a comparison of the direct sum, and largest
    at the same φ to .01.
    """
    truth, sample, tables = planted_tables
    for k in range(3):
        sigma = truth.sigma[k]
        sums = gap_sums(tables[k], sigma)
        grid, values = likelihood_by_phi(sums)
        some = list(range(0, len(grid), 7))
        expected = []
        for phi in grid[some]:
            table = np.clip(beta(tuple(sigma.tolist()), phi), CORNER, 1 - CORNER)
            b = [table[i, j] for i, j in itertools.combinations(range(6), 2)]
            expected.append(
                log_likelihoods(sample.comparisons, truth.beta(), sample.theta, k, b).sum()
            )
        n = log_counts(sample.comparisons, sample.theta, k).sum()
        assert np.abs(values[some] - expected).max() < 0.0005 * n
        assert [likelihood(sums, phi) for phi in grid[some]] == pytest.approx(
            values[some].tolist(), rel=1e-9
        )
        assert abs(grid[some][np.argmax(expected)] - grid[some][np.argmax(values[some])]) < 0.01


@pytest.mark.parametrize("phi", [0.005, 0.1, 0.5, 0.8, 0.99])
def test_gaps_beyond_the_reach_are_as_good_as_certain(phi):
    """The first gap at which the better-placed of 50 items loses with a chance below e⁻⁷ / (1 +
    e⁻⁷), or the longest; the chance
    that it wins is (g + 1) / (1 − φ^{g+1}) − g / (1 − φ^g), as printed in the paper.
    """
    certain = [
        g for g in range(1, 50) if 1 - (g + 1) / (1 - phi ** (g + 1)) + g / (1 - phi**g) < CORNER
    ]
    assert gap_reach(50, phi) == (certain or [49])[0]


def test_the_reach_of_certainty_is_one_place():
    assert gap_reach(50, 0.0) == gap_reach(2, 0.5) == 1


def test_sums_by_gap_are_those_of_a_loop():
    table, sigma = (
        np.random.default_rng(0).standard_normal((6, len(NODES))).astype(np.float32),
        np.array([2, 0, 3, 1], np.int32),
    )
    expected = np.zeros((4, len(NODES)))
    for p, (i, j) in enumerate(itertools.combinations(range(4), 2)):
        expected[abs(sigma[j] - sigma[i])] += table[p] if sigma[j] > sigma[i] else table[p][::-1]
    np.testing.assert_allclose(gap_sums(table, sigma), expected)


def test_blocks_of_pairs_hold_every_row_once():
    data = tiny_population(1, Q=5, M=40, fractions=True, people=True)
    found = []
    for block in by_pair(blocks_of(data)[0]):
        for s, code in enumerate(block.codes.tolist()):
            i, j = divmod(code, 5)
            pair = list(itertools.combinations(range(5), 2))[block.first + s // 2]
            assert pair == ((i, j) if s % 2 == 0 else (j, i))
            rows = slice(block.starts[s], block.starts[s + 1])
            found += [
                (m, i, j, w)
                for m, w in zip(block.user[rows].tolist(), block.weight[rows].tolist(), strict=True)
            ]
    weight = (data.weight * data.user_weight[data.user]).tolist()
    assert sorted(found) == sorted(
        zip(data.user.tolist(), data.winner.tolist(), data.loser.tolist(), weight, strict=True)
    )
