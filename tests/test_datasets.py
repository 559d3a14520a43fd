"""The dishes: readable, well separated, true to the planted model, the same for the same seed."""

import numpy as np

from mallowmix.datasets import load_dishes


def test_what_is_planted():
    dishes = load_dishes()
    assert dishes.tastes == ("comfort", "spicy", "green and fresh")
    assert dishes.model.n_components == 3 and dishes.model.n_items == 16
    assert np.all((dishes.model.phi >= 0.2) & (dishes.model.phi <= 0.35))
    assert len(set(dishes.model.share)) == 3
    assert dishes.comparisons.n_users == 600 and dishes.comparisons.n_comparisons == 600 * 40
    assert dishes.theta.shape == (600, 3)


def test_each_taste_begins_with_its_own_dishes():
    best = {
        taste: row["items"]
        for taste, row in zip(
            load_dishes().tastes,
            sorted(load_dishes().model.table(3), key=lambda row: row["component"]),
            strict=True,
        )
    }
    assert best == {
        "comfort": ["lasagne", "pizza", "mac and cheese"],
        "spicy": ["vindaloo", "kimchi stew", "tom yum"],
        "green and fresh": ["ceviche", "tabbouleh", "Greek salad"],
    }


def test_the_tastes_are_separable():
    """λ by brute force: the worst component's best pair (i, j), where max over others of β_l(i, j)
    / β_k(i, j) is least.
    """
    beta = load_dishes().model.beta()
    K, Q, _ = beta.shape

    def ratio(k, i, j):
        return max(beta[other, i, j] / beta[k, i, j] for other in range(K) if other != k)

    ratios = [
        sorted(ratio(k, i, j) for i in range(Q) for j in range(Q) if i != j) for k in range(K)
    ]
    assert max(best[0] for best in ratios) <= 0.01
    # many pairs, not one lucky one
    assert all(sum(value <= 0.1 for value in best) >= 15 for best in ratios)


def test_the_named_pairs_speak_for_one_taste_alone():
    model = load_dishes().model
    for k, (winner, loser) in enumerate(
        [("lasagne", "ceviche"), ("vindaloo", "lasagne"), ("ceviche", "vindaloo")]
    ):
        chances = model.probability(np.eye(3), winner, loser)
        assert chances[k] > 0.9 and np.delete(chances, k).max() < 0.1


def test_the_seed_decides_and_sizes_can_be_chosen():
    assert load_dishes(seed=5).comparisons == load_dishes(seed=5).comparisons
    assert load_dishes(seed=5).comparisons != load_dishes(seed=6).comparisons
    small = load_dishes(n_users=7, per_user=3)
    assert small.comparisons.n_users == 7 and small.comparisons.per_user().tolist() == [3] * 7
    assert small.model == load_dishes().model


def test_the_comparisons_follow_the_planted_model():
    """Wins of each unordered pair against Σ_m θ_m β: 120 z-scores beyond 5, of probability 6e-7
    each: false alarm < 1e-4.
    """
    dishes = load_dishes()
    Q, data = dishes.model.n_items, dishes.comparisons
    chance = np.einsum("mk,kij->mij", dishes.theta, dishes.model.beta())
    expected, variance, wins = np.zeros((Q, Q)), np.zeros((Q, Q)), np.zeros((Q, Q))
    for m, i, j, weight in zip(data.user, data.winner, data.loser, data.weight, strict=True):
        low, high = min(i, j), max(i, j)
        expected[low, high] += weight * chance[m, low, high]
        variance[low, high] += weight * chance[m, low, high] * (1 - chance[m, low, high])
        wins[low, high] += weight * (i < j)
    seen = np.triu_indices(Q, 1)
    assert np.all(np.abs(wins - expected)[seen] < 5 * np.sqrt(variance[seen]))
