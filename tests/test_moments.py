"""Lemma 2: Ê against its limit as people are added, and the operator against the dense matrix from
the same halves.
"""

import itertools
import resource
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine
from mallowmix.learn.paper.novel_pairs import find_novel_pairs
from mallowmix.learn.paper.pair_moments import HalfMoments, ModelMoments
from mallowmix.model.m4 import M4
from oracles import beta, dense_halves, dense_moment

SIGMA, PHI, ALPHA = [[0, 1, 2, 3], [3, 1, 0, 2]], [0.3, 0.5], np.array([0.3, 0.6])
TWO = M4(SIGMA, PHI, ALPHA, list("abcd"))
SEEN = [i * 4 + j for i, j in itertools.permutations(range(4), 2)]


def limit():
    """E(w, w') = p(w, w') / (p(w) p(w')) for two comparisons of one person, by sums over all
    rankings.
    """
    table = [beta(tuple(sigma), phi) for sigma, phi in zip(SIGMA, PHI, strict=True)]
    B = np.array(
        [[table[k][i][j] / 6 for k in range(2)] for i, j in itertools.permutations(range(4), 2)]
    )
    a0 = ALPHA.sum()
    a, R = ALPHA / a0, (np.outer(ALPHA, ALPHA) + np.diag(ALPHA)) / (a0 * (a0 + 1))
    return B @ R @ B.T / np.outer(B @ a, B @ a)


def estimate(comparisons, seed=0):
    return HalfMoments(comparisons, seed=seed, engine=ThreadEngine(1)).rows(SEEN)[:, SEEN]


def largest_t(estimates, expected):
    """The largest |t| of the entries' means over independent repetitions, and its Bonferroni
    p-value.
    """
    stack = np.array(estimates) - expected
    t = stack.mean(axis=0) / (stack.std(axis=0, ddof=1) / np.sqrt(len(stack)))
    return t.size * 2 * student.sf(np.abs(t).max(), len(stack) - 1)


def test_population_moments_are_the_joint_probabilities_of_two_comparisons():
    E = ModelMoments(TWO.ranking_matrix(), TWO.share, limit_moments())
    np.testing.assert_allclose(E.rows(SEEN)[:, SEEN], limit(), rtol=1e-12)
    np.testing.assert_allclose(E.diagonal()[SEEN], np.diag(limit()), rtol=1e-12)
    D = np.random.default_rng(0).standard_normal((16, 3))
    np.testing.assert_allclose(E.apply(D)[SEEN], limit() @ D[SEEN], rtol=1e-10)
    assert np.flatnonzero(E.present).tolist() == SEEN
    assert not E.apply(D)[~E.present].any()


def limit_moments():
    a0 = ALPHA.sum()
    return (np.outer(ALPHA, ALPHA) + np.diag(ALPHA)) / (a0 * (a0 + 1))


def test_lemma_2_the_estimate_is_centred_at_its_limit():
    """Every entry, over 40 populations of 2000 people. Fails by chance with rate 1e-4 (Bonferroni
    over the entries).
    """
    estimates = [estimate(TWO.sample(2000, 12, seed=s).comparisons) for s in range(40)]
    assert largest_t(estimates, limit()) > 1e-4


@pytest.mark.slow
def test_lemma_2_the_error_falls_like_one_over_the_root_of_m():
    """The slope of log error against log M, 8 populations for each of four sizes; its standard
    deviation over other seeds is
    .015 (measured), so a band of ±.1 is left by chance less than once in a million.
    """
    sizes = [400, 1600, 6400, 25_600]
    errors = [
        np.mean(
            [
                np.sqrt(
                    np.mean((estimate(TWO.sample(M, 10, seed=100 + s).comparisons) - limit()) ** 2)
                )
                for s in range(8)
            ]
        )
        for M in sizes
    ]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.1)
    assert errors[-1] < 0.06


def unequal(seed):
    """Most people make 2 comparisons, one in 20 makes 100."""
    return TWO.sample(3000, np.where(np.arange(3000) % 20 == 0, 100, 2), seed=seed).comparisons


def test_lemma_2_with_very_unequal_numbers_of_comparisons():
    """The scale (Σn)(Σn') / Σnn' keeps Ê centred, the paper's M does not. Fails by chance with rate
    1e-4.
    """
    estimates, by_m = [], []
    for s in range(40):
        E = HalfMoments(unequal(s), seed=s, engine=ThreadEngine(1))
        estimates.append(E.rows(SEEN)[:, SEEN])
        by_m.append(estimates[-1] * 3000 / E.scale)
    assert largest_t(estimates, limit()) > 1e-4
    # M Σnn' / (Σn Σn') is 13 here: nowhere near
    assert np.mean(by_m, axis=0).min() > 5 * limit().max()


def test_with_equal_numbers_the_scale_is_the_number_of_people():
    assert HalfMoments(TWO.sample(500, 8).comparisons).scale == pytest.approx(500)


def test_the_entries_weighted_by_their_shares_sum_to_one():
    """Σ p(w) E(w,w') p(w') = Σ p(w,w') = 1: what the scale is for, exactly, whatever the numbers of
    comparisons.
    """
    E = HalfMoments(unequal(1), seed=1)
    X, X_prime, people = dense_halves(E._blocks, E._halves, 16)
    first, second = X @ people, X_prime @ people
    moment = np.nan_to_num(dense_moment(X, X_prime, people))
    assert second @ moment @ first / second.sum() / first.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(
        (moment + moment.T)[np.ix_(SEEN, SEEN)] / 2, E.rows(SEEN)[:, SEEN], rtol=1e-12
    )


def repeated(comparisons, times):
    """Everybody `times[m]` times, as separate people."""
    source = np.repeat(np.arange(comparisons.n_users), times)
    rows = [np.flatnonzero(comparisons.user == m) for m in source]
    take = np.concatenate(rows)
    return Comparisons.from_codes(
        np.repeat(np.arange(len(source)), list(map(len, rows))),
        comparisons.winner[take],
        comparisons.loser[take],
        comparisons.weight[take],
        comparisons.items,
        [f"{m:06}" for m in range(len(source))],
    )


def weighted(comparisons, times):
    c = comparisons
    return Comparisons.from_codes(c.user, c.winner, c.loser, c.weight, c.items, c.users, times)


def test_an_integer_user_weight_is_that_many_people():
    """Counts exactly; Ê exactly when the repeated people are given the same halves."""
    comparisons, times = (
        TWO.sample(60, 9, seed=5).comparisons,
        np.random.default_rng(1).integers(0, 4, 60),
    )
    E = HalfMoments(weighted(comparisons, times), seed=3)
    assert E.counts.tolist() == HalfMoments(repeated(comparisons, times), seed=3).counts.tolist()
    X, X_prime, _ = dense_halves(E._blocks, E._halves, 16)
    apart = dense_moment(
        np.repeat(X, times, axis=1), np.repeat(X_prime, times, axis=1), np.ones(times.sum())
    )
    np.testing.assert_allclose(
        E.rows(SEEN)[:, SEEN], ((apart + apart.T) / 2)[np.ix_(SEEN, SEEN)], rtol=1e-10
    )


def test_an_integer_user_weight_is_that_many_people_in_expectation():
    """The same people weighted or repeated, over 60 splits each. Fails by chance with rate 1e-4
    (Bonferroni over the entries).

    The expectation is over splits alone: repeated people are split each for themselves, which only
    lowers the noise.
    """
    comparisons, times = TWO.sample(400, 20, seed=6).comparisons, 1 + np.arange(400) % 3
    one, other = weighted(comparisons, times), repeated(comparisons, times)
    differences = [estimate(one, seed) - estimate(other, seed + 1000) for seed in range(60)]
    assert largest_t(differences, 0) > 1e-4


@st.composite
def small_data(draw):
    """A few people with whole or fractional weights, among them some of weight 0; many pairs in one
    half or none.
    """
    Q, M = draw(st.integers(2, 5)), draw(st.integers(1, 8))
    amount = draw(st.sampled_from([st.integers(1, 4), st.floats(0.1, 3)]))
    pair = st.permutations(range(Q)).map(lambda order: order[:2])
    rows = draw(st.lists(st.tuples(st.integers(0, M - 1), pair, amount), min_size=1, max_size=40))
    user_weight = draw(
        st.lists(st.floats(0.01, 3) | st.sampled_from([0.0, 1.0]), min_size=M, max_size=M)
    )
    user, pairs, weight = zip(*rows, strict=True)
    winner, loser = zip(*pairs, strict=True)
    return Comparisons.from_codes(user, winner, loser, weight, range(Q), range(M), user_weight)


@pytest.mark.slow
@settings(max_examples=60)
@given(small_data(), st.integers(0, 99))
def test_apply_rows_and_diagonal_are_those_of_the_dense_matrix(comparisons, seed):
    E = HalfMoments(comparisons, seed=seed, engine=ThreadEngine(1))
    W = comparisons.n_items**2
    X, X_prime, people = dense_halves(E._blocks, E._halves, W)
    assume(people @ (X.sum(axis=0) * X_prime.sum(axis=0)) > 1e-6)
    dense = dense_moment(X, X_prime, people)
    known = np.isfinite(dense)
    both = np.where(known, dense, 0) + np.where(known.T, dense.T, 0)
    symmetric = both / np.maximum(1, known.astype(int) + known.T)
    np.testing.assert_allclose(E.counts, (X + X_prime) @ people, atol=1e-10)
    assert E.present.tolist() == ((X @ people > 0) & (X_prime @ people > 0)).tolist()
    np.testing.assert_allclose(E.rows(range(W)), symmetric, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        E.diagonal(), np.where(np.diag(known), np.diag(dense), 0), rtol=1e-10, atol=1e-10
    )
    D = np.random.default_rng(seed).standard_normal((W, 3))
    masked = symmetric * np.outer(E.present, E.present)
    np.testing.assert_allclose(E.apply(D), masked @ D, rtol=1e-10, atol=1e-9)


def test_rows_may_be_asked_for_in_any_order_and_twice():
    E = HalfMoments(TWO.sample(50, 10).comparisons)
    everything = E.rows(range(16))
    assert E.rows([7, 2, 7, 11]).tolist() == everything[[7, 2, 7, 11]].tolist()


def test_nobody_with_two_comparisons_gives_an_empty_moment():
    E = HalfMoments(TWO.sample(50, 1).comparisons)
    assert E.scale == 0
    assert not E.rows(SEEN).any()
    assert not E.apply(np.ones((16, 2))).any()


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_the_number_of_threads_does_not_change_a_bit(n_jobs):
    comparisons = M4(
        [np.random.default_rng(k).permutation(12) for k in range(3)],
        [0.3] * 3,
        [0.2] * 3,
        range(12),
    )
    comparisons = weighted(
        comparisons.sample(400, 20).comparisons, np.random.default_rng(0).random(400)
    )
    one, many = (HalfMoments(comparisons, seed=4, engine=ThreadEngine(n)) for n in (1, n_jobs))
    D = np.random.default_rng(1).standard_normal((144, 5))
    assert one.apply(D).tobytes() == many.apply(D).tobytes()
    assert one.rows([1, 5]).tobytes() == many.rows([1, 5]).tobytes()
    assert one.diagonal().tobytes() == many.diagonal().tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["moment", "euclidean"])
def test_no_array_of_all_pairs_of_rows_is_made(metric):
    """At Q = 80, W² numbers are 320 MB; the whole search for novel pairs stays far below, in
    Python's arrays (tracemalloc) and in
    all memory (the peak of the process, in which kernels' arrays count too).
    """
    Q = 80
    everything = 8 * (Q * (Q - 1)) ** 2
    model = M4([np.arange(Q), np.arange(Q)[::-1]], [0.2, 0.2], [0.2, 0.2], range(Q))
    comparisons = model.sample(1000, 80, seed=1).comparisons
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    tracemalloc.start()
    E = HalfMoments(comparisons, engine=ThreadEngine(1))
    find_novel_pairs(E, 2, n_projections=32, zeta=0.05, min_count=0.5, metric=metric)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(
        f"{metric}: {peak / everything:.3f} of W² numbers at most, the process grew by "
        f"{grown / everything:.3f}"
    )
    assert peak < everything / 5
    assert grown < everything / 3
