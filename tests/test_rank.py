"""The number of components: planted ones are counted, noise is not."""

import numpy as np
import pytest

from mallowmix.data.rankings import Rankings
from mallowmix.learn.spectral.fit_notes import spectrum_note
from mallowmix.learn.spectral.number_of_components import count_components, noise_edge
from mallowmix.learn.spectral.ranking_null import redraw_rankings
from mallowmix.learn.spectral.signed_moment import SignedMoment, count_pairs, leading_subspace
from mallowmix.learn.spectral.subspace import pair_statistics
from planted import blocks_of, planted


def parts(comparisons):
    blocks, engine = blocks_of(comparisons)
    return blocks, pair_statistics(count_pairs(blocks, engine), comparisons.n_items), engine


@pytest.mark.slow
@pytest.mark.parametrize(
    ("Q", "K", "M", "N", "phi"),
    [(20, 3, 500, 60, 0.3), (25, 5, 1000, 60, 0.3), (10, 3, 500, 100, 0.5)],
)
def test_planted_components_are_counted(Q, K, M, N, phi):
    estimate = count_components(*parts(planted(Q, K, phi, seed=4).sample(M, N, seed=4).comparisons))
    assert estimate.n_components == K
    assert estimate.values[K - 2] > 1.15 * estimate.edge > 1.15 * estimate.values[K - 1]  # clearly
    assert spectrum_note(estimate.values, estimate.edge, K) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("Q", "phi", "N"), [(15, 0.999, 20), (20, 0.5, 40), (12, 0.1, 100), (4, 0.5, 20), (2, 0.5, 10)]
)
def test_one_ranking_for_all_is_one_component(Q, phi, N):
    """Five populations each. The edge is passed by chance about once in 3,000 (once in a hundred
    below ten pairs, where it is
    measured on eight draws): 25 populations, false alarm 5% before the seeds were fixed.
    """
    found = [
        count_components(
            *parts(planted(Q, 1, phi, seed=s).sample(300, N, seed=s).comparisons)
        ).n_components
        for s in range(5)
    ]
    assert found == [1] * 5


def test_unequal_activity_does_not_pass_for_taste():
    """People from 2 to 200 comparisons, pairs asked unevenly, one ranking for all."""
    random = np.random.default_rng(0)
    activity = np.maximum(2, (200 / np.arange(1, 301)).astype(int))
    mu = random.uniform(0.1, 3, (15, 15))
    data = (
        planted(15, 1, 0.4)
        .sample(300, random.permutation(activity), mu=mu + mu.T, seed=0)
        .comparisons
    )
    assert count_components(*parts(data)).n_components == 1


@pytest.mark.slow
def test_the_edge_is_a_little_above_the_largest_eigenvalue_of_noise():
    blocks, pairs, engine = parts(planted(15, 2).sample(400, 30, seed=0).comparisons)
    edge = noise_edge(blocks, pairs, engine)
    tops = [
        leading_subspace(SignedMoment(blocks, pairs, engine, null_key=100 + key), 1).values[0]
        for key in range(20)
    ]
    assert max(tops) < edge < 1.35 * np.mean(tops)


def test_the_edge_depends_on_the_seed_alone_and_takes_every_seed():
    blocks, pairs, engine = parts(planted(8, 2).sample(100, 20, seed=0).comparisons)
    assert noise_edge(blocks, pairs, engine, seed=3) == noise_edge(blocks, pairs, engine, seed=3)
    assert np.isfinite(noise_edge(blocks, pairs, engine, seed=2**64 - 1))


def rankings_of(references, phi, n, random):
    """People of one ranking each, around one of the references, by repeated insertion."""
    orders = []
    for sigma in references:
        for _ in range(n):
            order = []
            for item in np.argsort(sigma):
                p = phi ** np.arange(len(order) + 1)
                where = len(order) - random.choice(len(order) + 1, p=p / p.sum())
                order.insert(where, f"i{item:02d}")
            orders.append(order)
    return Rankings.from_orders(orders).comparisons()


@pytest.mark.parametrize("phi", [0.3, 0.6, 0.9])
def test_one_reference_for_people_with_a_ranking_each_is_one_component(phi):
    """A ranking's comparisons depend on each other: as independent answers they pass for
    components.
    """
    random = np.random.default_rng(2)
    data = rankings_of([random.permutation(8)], phi, 400, random)
    assert count_components(*parts(data)).n_components == 1
    if phi > 0.5:
        assert count_components(*parts(data.without_ranking_id())).n_components > 4


def test_references_of_rankings_are_counted():
    random = np.random.default_rng(3)
    data = rankings_of([random.permutation(12) for _ in range(3)], 0.4, 200, random)
    assert count_components(*parts(data)).n_components == 3


@pytest.mark.slow
def test_drawn_rankings_keep_pairs_and_follow_the_scores():
    """Plackett–Luce by hand: P(i over j) = s_i / (s_i + s_j), and a ranking has no cycle."""
    random = np.random.default_rng(4)
    data = rankings_of([np.arange(4)], 0.8, 4000, random)
    blocks, _, _ = parts(data)
    strength = np.array([4.0, 2.0, 1.0, 1.0])
    drawn = redraw_rankings(blocks, np.log(strength), seed=5)
    wins = np.zeros((4, 4))
    for before, after in zip(blocks, drawn, strict=True):
        for m in range(after.n_users):
            rows = slice(*after.starts[m : m + 2])
            won = np.zeros((4, 4), int)
            won[np.divmod(after.pair[rows], 4)] = 1
            assert sorted(won.sum(axis=1)) == [0, 1, 2, 3]  # an order
            wins += won
        assert before.weight.sum() == after.weight.sum()
    share = wins / 4000
    for i, j in ((0, 1), (0, 2), (2, 3)):
        expected = strength[i] / (strength[i] + strength[j])
        assert abs(share[i, j] - expected) < 4 * (expected * (1 - expected) / 4000) ** 0.5


def test_no_more_are_counted_than_looked_at():
    data = parts(planted(20, 6, 0.1).sample(800, 60, seed=0).comparisons)
    assert count_components(*data, most=3).n_components == 4
    assert count_components(*data).n_components == 6


def test_people_of_one_comparison_show_one_component():
    assert (
        count_components(*parts(planted(6, 2).sample(50, 1, seed=0).comparisons)).n_components == 1
    )


ONLY, AT_LEAST = (
    "The spectrum shows only {} of the {} components above its noise: the others may be guesses. "
    "Ask for fewer, or add people or comparisons.",
    "The spectrum shows at least {} components; {} were asked for.",
)


@pytest.mark.parametrize(
    ("values", "words"),  # of K = 1, 2, …
    [
        ([3.0, 2.0, 0.5], [AT_LEAST.format(2, 1), AT_LEAST.format(3, 2), None, ONLY.format(3, 4)]),
        # not clear: neither one more nor one fewer is said to be wrong
        ([3.0, 1.1, 0.99], [AT_LEAST.format(2, 1), None, None, ONLY.format(3, 4)]),
        ([0.9, 0.8], [None, ONLY.format(1, 2), ONLY.format(1, 3)]),
        # no further one was looked at
        ([3.0, 2.0], [AT_LEAST.format(2, 1), AT_LEAST.format(3, 2), None, ONLY.format(3, 4)]),
    ],
)
def test_words(values, words):
    found = [spectrum_note(10 * np.array(values), 10.0, K) for K in range(1, len(words) + 1)]
    assert found == words
