"""Questions by the predictor: information against enumeration and quadrature, for each kind of
member and for pools of them.
"""

from itertools import combinations, permutations

import numba
import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

import mallowmix as mm
from mallowmix.model.predictor import CalibratedModel, Predictor
from mallowmix.numerics.compiled import Kernel
from mallowmix.web.prepared_answers import N_DRAWS, ServedModel
from mallowmix.web.results import result

ITEMS = list("abcd")
M4 = mm.M4([[0, 1, 2, 3], [3, 1, 0, 2]], [0.3, 0.5], [400.0, 600.0], ITEMS)
UTILITIES = mm.UtilitiesModel(
    [[1.0, 0.5, 0.0, -1.5], [-1.0, 0.0, 2.0, 0.0]],
    np.sqrt(0.6) * np.array([[1.0], [1.0], [0.0], [0.0]]),
    [0.4, 1.4, 0.5, 4.0],
    [0.7, 0.3],
    ITEMS,
)
RANKINGS = mm.RankingsModel([[0, 1, 2, 3], [3, 2, 1, 0]], [0.4, 0.8], [0.6, 0.4], 0.1, ITEMS)
MEMBERS = (UTILITIES, RANKINGS, CalibratedModel(M4))
WEIGHTS = np.array([[0.2, 0.5, 0.3], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1]])


def person(*answers):
    codes = np.array([[ITEMS.index(i), ITEMS.index(j)] for i, j in answers], int).reshape(-1, 2)
    return mm.Comparisons.from_codes(np.zeros(len(codes), int), *codes.T, None, ITEMS, ["u"])


def rankings_states(answers):
    """All 24 rankings with their posterior probabilities, and p of each pair under each."""
    orders, mass = list(permutations(range(4))), []
    for order in orders:
        position = np.argsort(order)
        prior = 0.0
        for sigma, phi, share in zip(RANKINGS.sigma, RANKINGS.phi, RANKINGS.shares, strict=True):
            discordant = sum(
                (position[i] - position[j]) * (sigma[i] - sigma[j]) < 0
                for i, j in combinations(range(4), 2)
            )
            norm = np.prod([(1 - phi**g) / (1 - phi) for g in range(1, 5)])
            prior += share * phi**discordant / norm
        right = [position[ITEMS.index(i)] < position[ITEMS.index(j)] for i, j in answers]
        mass.append(prior * np.prod([0.9 if each else 0.1 for each in right]))
    mass = np.array(mass) / np.sum(mass)
    table = {
        (i, j): np.array([0.9 if o.index(i) < o.index(j) else 0.1 for o in orders])
        for i, j in combinations(range(4), 2)
    }
    return mass, table


def utilities_states():
    """Nobody's utilities: for each pair 60 points of u_i − u_j in each of the two components."""
    x, w = hermegauss(60)
    mass = np.concatenate([share * w / w.sum() for share in UTILITIES.shares])
    table = {}
    for i, j in combinations(range(4), 2):
        C = UTILITIES.covariance()
        spread = np.sqrt(C[i, i] + C[j, j] - 2 * C[i, j])
        gaps = np.concatenate([s[i] - s[j] + spread * x for s in UTILITIES.means])
        table[i, j] = 1 / (1 + np.exp(-gaps))
    return mass, table


def weight_states():
    """α is large, so that θ is all but its mean."""
    return np.ones(1), {
        (i, j): np.array([[0.4, 0.6] @ M4.beta()[:, i, j]]) for i, j in combinations(range(4), 2)
    }


def enumerated(parts, weights, i, j):
    """Σ over members, states and both answers of P(state, answer) log P(answer | state)/P(answer),
    and the probability that i is preferred.
    """
    mass = np.concatenate([w * mass for w, (mass, _) in zip(weights, parts, strict=True)])
    p = np.clip(np.concatenate([table[i, j] for _, table in parts]), 1e-12, 1 - 1e-12)
    total = sum(mass @ (q * np.log(q / (mass @ q))) for q in (p, 1 - p))
    return total, mass @ p


def check(model, comparisons, expected):
    found = mm.next_pair(model, comparisons, n_best=9, n_draws=40_000)
    for question in found:
        i, j = ITEMS.index(question.first), ITEMS.index(question.second)
        exact, p = expected(i, j)
        # about five standard errors of 40,000 draws, of which those of a ranking are dependent
        assert question.information == pytest.approx(exact, rel=0.05, abs=2e-3)
        assert question.probability == pytest.approx(p, abs=0.02)
    return len(found)


def pooled_model(members, weights):
    return mm.FittedModel(M4, predictor=Predictor(members, weights))


def test_rankings_against_all_24():
    answers = [("d", "a"), ("b", "d")]
    mass_and_table = rankings_states(answers)
    model = pooled_model((RANKINGS,), np.ones((3, 1)))
    n = check(model, person(*answers), lambda i, j: enumerated([mass_and_table], [1.0], i, j))
    assert n == 4


def test_utilities_of_nobody_against_quadrature():
    parts = [utilities_states()]
    model = pooled_model((UTILITIES,), np.ones((3, 1)))
    assert check(model, person(), lambda i, j: enumerated(parts, [1.0], i, j)) == 6


def test_a_pool_of_nobody_against_enumeration():
    """All pairs have the weights of pairs that the user knows nothing of."""
    parts = [utilities_states(), rankings_states([]), weight_states()]
    model = pooled_model(MEMBERS, WEIGHTS)
    assert check(model, person(), lambda i, j: enumerated(parts, WEIGHTS[0], i, j)) == 6


def test_weights_are_those_of_what_the_user_has_compared():
    """The user has compared a and b: pairs with one of them have the
    second weights, (c, d) the first.
    """
    answers = [("a", "b")]
    parts = [rankings_states(answers), weight_states()]
    weights = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    model = pooled_model((RANKINGS, CalibratedModel(M4)), weights)

    def expected(i, j):
        return enumerated(parts, weights[(i < 2) + (j < 2)], i, j)

    assert check(model, person(*answers), expected) == 5


@pytest.mark.slow
def test_utilities_given_answers():
    """Strong answers about a and b leave little to ask of them, much of d, whose utility varies
    most; and the information is that of draws by rejection from the prior.
    """
    answers = [("a", "b")] * 6
    random, n = np.random.default_rng(0), 400_000
    k = random.random(n) < UTILITIES.shares[1]
    u = UTILITIES.means[k.astype(int)] + random.multivariate_normal(
        np.zeros(4), UTILITIES.covariance(), n
    )
    mass = (1 / (1 + np.exp(u[:, 1] - u[:, 0]))) ** 6
    mass /= mass.sum()
    states = (
        mass,
        {(i, j): 1 / (1 + np.exp(u[:, j] - u[:, i])) for i, j in combinations(range(4), 2)},
    )
    model = pooled_model((UTILITIES,), np.ones((3, 1)))
    found = mm.next_pair(model, person(*answers), n_best=9, n_draws=40_000)
    for question in found:
        i, j = ITEMS.index(question.first), ITEMS.index(question.second)
        exact, p = enumerated([states], [1.0], i, j)
        # Laplace's approximation is what is drawn from
        assert question.information == pytest.approx(exact, rel=0.1, abs=5e-3)
        assert question.probability == pytest.approx(p, abs=0.02)
    assert "d" in (found[0].first, found[0].second)


def test_the_served_question_is_that_of_the_library():
    model = pooled_model(MEMBERS, WEIGHTS)
    served = ServedModel(0, model)
    served.warm()
    codes = np.array([i * 4 + j for i, j in combinations(range(4), 2)])[1:]  # all but a, b
    best, nats = served.question(served.block(np.array([0]), np.array([1])), codes)
    (expected,) = mm.next_pair(model, person(("a", "b")), n_draws=N_DRAWS)
    first, second = divmod(int(codes[best]), 4)
    assert (ITEMS[first], ITEMS[second]) == (expected.first, expected.second)
    assert nats == expected.information


@pytest.mark.parametrize("pooled", [False, True])
def test_what_was_run_before_the_first_visitor_is_all_that_answers_need(pooled, monkeypatch):
    """The first choice that was made half a time waited for a compiler, as did the first result."""
    components = mm.M4.from_orders([ITEMS, ITEMS[::-1]], phi=0.3)
    served = ServedModel(0, pooled_model(MEMBERS, WEIGHTS) if pooled else components)
    called, call = set(), Kernel.__call__

    def watched(kernel, *given):
        called.add((kernel.__name__, tuple(map(numba.typeof, given))))
        return call(kernel, *given)

    monkeypatch.setattr(Kernel, "__call__", watched)
    served.warm()
    warmed = set(called)
    assert {"_gibbs_chains", "_tempered_chains"} <= {name for name, _ in warmed}
    for times in (1.0, 2.5):
        block = served.block(np.array([0, 1]), np.array([1, 2]), np.array([1.0, times]))
        result(served, block)
        mm.predict(served.model, served.comparisons(block), [("a", "d")], n_jobs=1)
    assert called == warmed


def test_a_nearly_singular_covariance():
    """A constant added to all utilities, and two items that are always equal."""
    variances = [1e-9, 1e-9, 1e-9, 1.0]
    flat = mm.UtilitiesModel([[0.0, 0.0, 0.0, 1.0]], np.ones((4, 1)), variances, [1.0], ITEMS)
    found = mm.next_pair(pooled_model((flat,), np.ones((3, 1))), person(), n_best=6)
    worth = {(q.first, q.second): q.information for q in found}
    assert worth["a", "b"] < 1e-9 and worth["a", "d"] > 0.05
