"""The signed pair moment: the operator against its definition, its limit, and the noise it has when
nobody shares a taste.
"""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine
from mallowmix.learn.spectral.signed_moment import (
    SignedMoment,
    _random_sums,
    count_pairs,
    leading_subspace,
)
from mallowmix.learn.spectral.subspace import pair_statistics
from mallowmix.model.m4 import M4
from oracles import beta
from planted import blocks_of, exact_moment, exact_pairs, planted, tiny_population


def tokens_of(comparisons, m):
    """The tokens of a person, (pair, size): a row of weight 2.5 is three of them, of 1, 1 and ½."""
    tokens = []
    for user, i, j, w in zip(
        comparisons.user,
        comparisons.winner,
        comparisons.loser,
        comparisons.weight.tolist(),
        strict=True,
    ):
        if user == m:
            tokens += [((int(i), int(j)), min(1.0, w - copy)) for copy in range(math.ceil(w))]
    return tokens


def values_by_definition(comparisons):
    """The value x of every ordered pair, from counts gathered in a dictionary."""
    Q, counts = comparisons.n_items, {}
    for m in range(comparisons.n_users):
        for pair, size in tokens_of(comparisons, m):
            counts[pair] = counts.get(pair, 0.0) + size * comparisons.user_weight[m]
    total, pairs = sum(counts.values()), list(itertools.combinations(range(Q), 2))
    x = {}
    for i, j in pairs:
        wins, losses = counts.get((i, j), 0.0), counts.get((j, i), 0.0)
        q, mu = (wins + 0.5) / (wins + losses + 1), max((wins + losses) / total, 0.01 / len(pairs))
        x[i, j], x[j, i] = math.sqrt((1 - q) / q / mu), -math.sqrt(q / (1 - q) / mu)
    return x, {pair: p for p, pair in enumerate(pairs)}


def is_one_answer(t, token, u, other):
    """Whether two tokens are one, or the two halves of a tie: ½ for a over b, ½ for b over a."""
    (pair, s), (reverse, r) = token, other
    return t == u or (s == r == 0.5 and pair == reverse[::-1])


def moment_by_definition(comparisons):
    """A by a double loop over every person's tokens, each with every other answer; nobody with one
    comparison in all or less.
    """
    x, number = values_by_definition(comparisons)
    A, mass = np.zeros((len(number), len(number))), 0.0
    for m in range(comparisons.n_users):
        tokens = tokens_of(comparisons, m)
        couples = [
            (a, b)
            for (t, a), (u, b) in itertools.product(enumerate(tokens), repeat=2)
            if not is_one_answer(t, a, u, b)
        ]
        products = sum(s * r for (_, s), (_, r) in couples)
        n = sum(size for _, size in tokens)
        if products == 0 or n <= 1:
            continue
        mass += comparisons.user_weight[m] * n
        for (pair, s), (other, r) in couples:
            p, q = number[tuple(sorted(pair))], number[tuple(sorted(other))]
            A[p, q] += comparisons.user_weight[m] * n / products * s * r * x[pair] * x[other]
    return A / mass


def operator(comparisons, n_jobs=2, null_key=None):
    blocks, engine = blocks_of(comparisons)[0], ThreadEngine(n_jobs)
    pairs = pair_statistics(count_pairs(blocks, engine), comparisons.n_items)
    return SignedMoment(blocks, pairs, engine, null_key=null_key)


def dense(A):
    return A.apply(np.eye(len(A.pairs.share)))


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=25)
def test_the_operator_is_the_definition(seed, fractions):
    """All distinct pairs of a person's tokens, repeated rows and unequal people included. Float32:
    five digits.
    """
    data = tiny_population(seed, fractions=fractions, people=seed % 2 == 0)
    if data.user_weight.sum() == 0:
        return
    expected = moment_by_definition(data)
    np.testing.assert_allclose(dense(operator(data)), expected, atol=1e-5 * np.abs(expected).max())


def test_whole_tokens_have_c_of_one_over_n_less_one():
    """One person of n = 3 whole tokens, of which two are the same row: A Σn = Σ_{t≠t'} x x' / 2,
    written out.
    """
    data = Comparisons.from_codes([0, 0], [0, 2], [1, 1], [2, 1], list("abc"), ["u"])
    x, _ = values_by_definition(data)
    ab, bc = x[0, 1], x[2, 1]  # pairs 0 and 2 in the order ab, ac, bc
    expected = np.array([[2 * ab * ab, 0, 2 * ab * bc], [0, 0, 0], [2 * ab * bc, 0, 0]]) / 2 / 3
    np.testing.assert_allclose(dense(operator(data)), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("size", "phi"), [(0.5, 0.0), (0.75, 0.2)])
def test_scaling_every_weight_changes_nothing(size, phi):
    """People of half tokens count half as much as those of whole ones, among others like them: the
    same A.

    (With halves nobody may contradict themselves: ½ for either order is a tie, one answer and not
    two.)
    """
    blocks, engine = blocks_of(
        planted(6, 2, phi, 1e-3 if phi == 0 else 0.1).sample(40, 8, seed=1).comparisons
    )
    ones, parts = (
        [replace(block, weight=np.full(len(block.pair), each)) for block in blocks]
        for each in (1.0, size)
    )
    pairs = pair_statistics(count_pairs(ones, engine), 6)
    np.testing.assert_allclose(
        dense(SignedMoment(parts, pairs, engine)),
        dense(SignedMoment(ones, pairs, engine)),
        rtol=1e-4,
        atol=1e-6,
    )


def test_a_tie_alone_says_nothing_about_agreement():
    """Two halves of one answer: were they multiplied, A would be far below zero on that pair."""
    data = Comparisons.from_codes(
        [0, 0, 1, 1], [0, 1, 1, 2], [1, 0, 2, 1], [0.5] * 4, list("abc"), ["u", "v"]
    )
    assert not dense(operator(data)).any()
    more = Comparisons.from_codes(
        [0, 0, 0], [0, 1, 0], [1, 0, 2], [0.5, 0.5, 1], list("abc"), ["u"]
    )
    found = dense(operator(more))
    assert found[0, 0] == pytest.approx(0, abs=1e-6) and found[0, 1] != 0


def test_one_comparison_says_nothing_about_agreement():
    data = planted(5, 2).sample(30, 1, seed=0).comparisons
    assert not dense(operator(data)).any()


def test_the_operator_is_the_same_on_any_number_of_threads():
    data = planted(12, 3).sample(300, 30, seed=0).comparisons
    V = np.random.default_rng(0).standard_normal((66, 4))
    for null_key in (None, 5):
        one, three = (operator(data, n_jobs, null_key).apply(V) for n_jobs in (1, 3))
        assert one.tobytes() == three.tobytes()


SIGMA, PHI, ALPHA = (
    [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)],
    [0.3, 0.5, 0.1],
    np.array([0.3, 0.6, 0.4]),
)
MU = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0]) / 10


def small_model():
    """Three components over four items: β of the six pairs by sums over all rankings, and the
    model.
    """
    tables = [beta(sigma, phi) for sigma, phi in zip(SIGMA, PHI, strict=True)]
    # (P, K)
    table = np.array([[b[i][j] for b in tables] for i, j in itertools.combinations(range(4), 2)])
    return table, M4(SIGMA, PHI, ALPHA, list("abcd"))


def test_the_mean_of_the_moment_is_d_cov_d():
    """Every entry over 40 populations of 500 people, with the exact q and μ. Fails by chance with
    rate 1e-4 (Bonferroni).
    """
    table, model = small_model()
    pairs = exact_pairs(table, ALPHA / ALPHA.sum(), MU)
    mu = np.zeros((4, 4))
    mu[np.triu_indices(4, 1)] = MU
    found = []
    for seed in range(40):
        blocks, engine = blocks_of(model.sample(500, 10, mu=mu + mu.T, seed=seed).comparisons)
        found.append(dense(SignedMoment(blocks, pairs, engine)))
    off = np.array(found) - exact_moment(table, ALPHA, MU)
    t = off.mean(axis=0) / (off.std(axis=0, ddof=1) / np.sqrt(40))
    assert 36 * 2 * student.sf(np.abs(t).max(), 39) > 1e-4


def test_the_limit_has_rank_k_less_one_and_the_sample_nears_its_spectrum():
    """20,000 people: the standard deviation of an eigenvalue over seeds is .0017 or less
    (measured), the band six of it.
    """
    table, model = small_model()
    limit = np.linalg.eigvalsh(exact_moment(table, ALPHA, np.full(6, 1 / 6)))[::-1]
    assert limit[1] > 0.04 and np.abs(limit[2:]).max() < 1e-12
    found = np.linalg.eigvalsh(dense(operator(model.sample(20_000, 20, seed=3).comparisons)))[::-1]
    np.testing.assert_allclose(found, limit, atol=0.01)


class Matrix:
    """A symmetric matrix in the place of a moment."""

    def __init__(self, values, seed=0):
        basis = np.linalg.qr(
            np.random.default_rng(seed).standard_normal((len(values), len(values)))
        )[0]
        self.A = basis * values @ basis.T
        self.pairs = SimpleNamespace(share=np.ones(len(values)))

    def apply(self, V):
        return self.A @ V


def test_leading_subspace_against_eigh():
    A = operator(planted(15, 4, phi=0.3).sample(600, 60, seed=0).comparisons)
    values, vectors = np.linalg.eigh(dense(A))
    found = leading_subspace(A, 3)
    assert found.converged and found.passes <= 15
    np.testing.assert_allclose(found.values[:3], values[::-1][:3], rtol=1e-3)
    cosines = np.linalg.svd(found.vectors[:, :3].T @ vectors[:, -3:])[1]
    assert cosines.min() > 0.999
    np.testing.assert_allclose(
        found.vectors.T @ found.vectors, np.eye(found.vectors.shape[1]), atol=1e-8
    )


def test_leading_subspace_is_not_drawn_to_large_negative_eigenvalues():
    """More of them, and larger ones, than the block has columns."""
    A = Matrix(np.r_[5.0, 4.0, 3.0, np.linspace(0.5, -0.5, 40), np.linspace(-6, -8, 15)])
    found = leading_subspace(A, 3, max_passes=60, tol=1e-7)
    np.testing.assert_allclose(found.values[:3], [5, 4, 3], rtol=1e-4)


def test_leading_subspace_goes_on_from_a_start_and_says_when_it_has_not_settled():
    A = Matrix(np.r_[5.0, 4.0, 3.0, np.linspace(1, 0, 60)])
    assert not leading_subspace(A, 3, max_passes=1).converged
    near = leading_subspace(A, 3, max_passes=30, tol=1e-8)
    again = leading_subspace(A, 3, start=near.vectors)
    assert again.converged and again.passes == 2


def test_leading_subspace_of_nothing_is_zero():
    found = leading_subspace(Matrix(np.zeros(7)), 2)
    assert found.converged and not found.values.any() and np.isfinite(found.vectors).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("Q", "M", "n", "low", "high"), [(30, 1500, 60, 0.92, 1.0), (8, 1500, 60, 0.68, 1.1)]
)
def test_random_signs_reach_the_marchenko_pastur_edge(Q, M, n, low, high):
    """((1 + √(P/M))² − 1) / (n − 1) for people of equal activity, pairs of equal share and q = ½;
    in the second case most people
    decide every pair more than once. The largest eigenvalue lies below its edge by 1.2 Tracy–Widom
    units, that is 1.5% for 435
    pairs and 7% for 28, and by 1 or 2% because n is finite. Over other seeds the mean of eight
    draws is .964 ± .005 and .89 ± .04
    (measured): the bands leave five standard deviations on each side, by chance less than once in a
    million.
    """
    data = planted(Q, 1, phi=0.9999).sample(M, n, seed=1).comparisons
    top = np.mean(
        [
            leading_subspace(operator(data, null_key=key), 1, max_passes=30, tol=1e-4).values[0]
            for key in range(8)
        ]
    )
    edge = ((1 + math.sqrt(math.comb(Q, 2) / M)) ** 2 - 1) / (n - 1)
    assert low < top / edge < high


@pytest.mark.slow
def test_random_signs_of_very_heavy_rows_have_the_right_spread():
    """Rows of weight 100 take the normal limit: a sum of 100 signs has variance 100. 4,000 rows, so
    ±5 standard deviations of the
    variance is ±11%: by chance less than once in a million.
    """
    starts = np.arange(0, 4001, 10)
    for weight in (100.0, 9.0):
        sums = _random_sums(starts, np.full(4000, weight), np.uint64(3), 0)
        assert np.var(sums) == pytest.approx(weight, rel=0.12)
        assert abs(sums.mean()) < 5 * math.sqrt(weight / 4000)
