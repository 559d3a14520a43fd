"""Personal rankings: Gibbs sampling against the enumeration of all rankings, EM against planted
ones.
"""

import itertools

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.engine import Block, ThreadEngine
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.rankings_posterior import ranking_draws, rankings_probabilities
from mallowmix.learn.rankings.rankings_em import fit_personal_rankings
from mallowmix.model.dispersion import phi_from_distance
from mallowmix.numerics import insertion_gibbs
from tests.test_utilities import block_of

Q = 4
SIGMA = np.array([[0, 1, 2, 3], [3, 1, 0, 2]], np.int32)
MODEL = mm.RankingsModel(SIGMA, [0.5, 0.7], [0.6, 0.4], 0.1, "abcd")
ANSWERS = [(3, 0), (3, 0), (0, 3), (1, 2)]


def discordant(first, second) -> int:
    """How many pairs two rankings put in different order."""
    pairs = itertools.combinations(range(len(first)), 2)
    return sum((first[i] < first[j]) != (second[i] < second[j]) for i, j in pairs)


def enumerated(model: mm.RankingsModel, answers) -> np.ndarray:
    """P(i over j | answers) by the sum over all rankings and components."""
    table, total = np.zeros((Q, Q)), 0.0
    for positions in itertools.permutations(range(Q)):
        weight = 0.0
        for sigma, phi, share in zip(model.sigma, model.phi, model.shares, strict=True):
            z = np.prod([sum(phi**s for s in range(i + 1)) for i in range(Q)])
            weight += share * phi ** discordant(positions, sigma) / z
        for i, j in answers:
            right = positions[i] < positions[j]
            weight *= 1 - model.error_rate if right else model.error_rate
        total += weight
        for i, j in itertools.permutations(range(Q), 2):
            table[i, j] += weight * (positions[i] < positions[j])
    return table / total


def test_draws_against_enumeration():
    draws = ranking_draws(block_of([ANSWERS], Q), MODEL, 20_000)[0]
    exact = enumerated(MODEL, ANSWERS)
    for i, j in itertools.combinations(range(Q), 2):
        # 20,000 draws of which about a fifth are independent: four standard errors are below .03
        assert abs((draws[:, i] < draws[:, j]).mean() - exact[i, j]) < 0.03


def test_probabilities_against_enumeration():
    """Short chains, averaged over many seeds."""
    block, seeds = block_of([ANSWERS], Q), range(300)
    codes = np.array([i * Q + j for i, j in itertools.combinations(range(Q), 2)])
    queries = Queries.same_for_all(1, codes)
    mean = np.mean([rankings_probabilities(block, MODEL, queries, seed=s) for s in seeds], axis=0)
    exact = MODEL.error_rate + (1 - 2 * MODEL.error_rate) * enumerated(MODEL, ANSWERS).ravel()
    assert np.abs(mean - exact[codes]).max() < 0.03


def test_a_user_is_predicted_the_same_alone_and_among_others():
    """Other answers have other random numbers, though."""
    others = [[(0, 1)], ANSWERS, [(2, 1), (0, 3)], []]
    codes = np.array([0 * Q + 1, 2 * Q + 3])
    for n, answers in enumerate(others):
        alone = rankings_probabilities(
            block_of([answers], Q), MODEL, Queries.same_for_all(1, codes), seed=7
        )
        among = rankings_probabilities(
            block_of(others, Q), MODEL, Queries.same_for_all(4, codes), seed=7
        )
        assert np.array_equal(alone, among.reshape(4, 2)[n])
    one, two = (ranking_draws(block_of([[answer]], Q), MODEL, 30)[0] for answer in ((0, 1), (0, 2)))
    assert not np.array_equal(one, two)


@pytest.mark.slow
def test_products_and_logarithms_weigh_positions_alike():
    net = np.zeros((Q, Q))
    insertion_gibbs.net_answers(np.array([3 * Q + 0, 1 * Q + 2]), np.ones(2), Q, net)
    rest = np.array([0, 1, 2])
    weights = np.empty((2, Q))
    sent = (3, rest, SIGMA[0], 0.3, 2.0, net)
    assert insertion_gibbs._weigh(*sent, weights[0])
    insertion_gibbs._weigh_by_logarithms(*sent, weights[1])
    assert np.allclose(weights[0] / weights[0].sum(), weights[1] / weights[1].sum())


@pytest.mark.slow
def test_very_many_answers_leave_the_range_of_products():
    net = np.zeros((2, 2))
    net[0, 1], net[1, 0] = 500.0, -500.0
    weight = np.empty(2)
    sent = (0, np.array([1]), np.array([0, 1]), 0.5, 3.0, net)
    assert not insertion_gibbs._weigh(*sent, weight)
    insertion_gibbs._weigh_by_logarithms(*sent, weight)
    assert weight.tolist() == [1.0, 0.0]


def test_population_is_the_mixture_of_mallows_tables():
    exact = enumerated(MODEL, [])
    expected = MODEL.error_rate + (1 - 2 * MODEL.error_rate) * exact
    off = ~np.eye(Q, dtype=bool)
    assert np.allclose(MODEL.population_probabilities()[off], expected[off])


def consistent_people(n_users=300, n_items=12, n_answers=40, phi=0.6, seed=0):
    """Everyone holds one ranking, drawn around one of three, and never errs."""
    random = np.random.default_rng(seed)
    references = [random.permutation(n_items) for _ in range(3)]
    users = []
    for _ in range(n_users):
        order: list[int] = []
        for n, item in enumerate(references[random.integers(3)]):
            weight = phi ** np.arange(n, -1, -1.0)
            order.insert(random.choice(n + 1, p=weight / weight.sum()), int(item))
        position = np.argsort(order)
        first = random.integers(n_items, size=n_answers)
        second = (first + random.integers(1, n_items, size=n_answers)) % n_items
        users.append(
            [
                (i, j) if position[i] < position[j] else (j, i)
                for i, j in zip(first.tolist(), second.tolist(), strict=True)
            ]
        )
    return references, users


def test_planted_rankings_are_found_and_predicted():
    references, users = consistent_people()
    block = block_of(users, 12)
    random = np.random.default_rng(1)
    near = []  # references with a few neighbours swapped
    for reference in references:
        order = reference.copy()
        for at in random.integers(11, size=4):
            order[[at, at + 1]] = order[[at + 1, at]]
        near.append(np.argsort(order))
    start = mm.RankingsModel(near, [0.8] * 3, [1 / 3] * 3, 0.05, range(12))
    found = fit_personal_rankings([block], start, ThreadEngine(1))
    for sigma, reference in zip(found.sigma, references, strict=True):
        assert discordant(sigma, np.argsort(reference)) <= 3  # of 66 pairs
    assert np.abs(found.phi - 0.6).max() < 0.06 and found.error_rate < 0.01


def test_one_person_is_one_beside_two_of_no_preference():
    """Somebody who names the whole order ten times lies at distance 0; two more, who prefer
    nothing, at half the greatest distance: however many passes are added up, φ has the mean 5 of
    the 15 pairs of six items at most.
    """
    block = block_of([[*itertools.combinations(range(6), 2)] * 10], 6)
    start = mm.RankingsModel([np.arange(6)], [0.5], [1.0], 0.05, range(6))
    found = fit_personal_rankings([block], start, ThreadEngine(1))
    assert np.isclose(found.phi[0], phi_from_distance(6, 5.0), rtol=1e-3)


def test_wrong_parameters_are_refused():
    with pytest.raises(mm.errors.DataError, match="once each"):
        mm.RankingsModel([[0, 0]], [0.5], [1.0], 0.1, "ab")
    with pytest.raises(mm.errors.DataError, match="error rate must be above 0"):
        mm.RankingsModel([[0, 1]], [0.5], [1.0], 0.0, "ab")


def test_threads_play_no_part():
    _, users = consistent_people(n_users=60)
    block = block_of(users, 12)
    halves = [_part(block, 0, 30), _part(block, 30, 60)]
    start = mm.RankingsModel([np.arange(12)], [0.8], [1.0], 0.05, range(12))
    found = [fit_personal_rankings(halves, start, ThreadEngine(n), n_rounds=3) for n in (1, 2)]
    assert found[0] == found[1]


def _part(block: Block, first: int, last: int) -> Block:
    rows = slice(int(block.starts[first]), int(block.starts[last]))
    starts = block.starts[first : last + 1] - block.starts[first]
    users = slice(first, last)
    return Block(
        first, block.n_items, starts, block.pair[rows], block.weight[rows], block.user_weight[users]
    )
