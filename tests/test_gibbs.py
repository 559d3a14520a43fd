"""Monte-Carlo EM: the chain against exact enumeration, its draws against their laws, α against a
search, rest at the truth.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import beta as beta_distribution
from scipy.stats import kstest

from mallowmix.engine import Block, ThreadEngine
from mallowmix.learn.spectral.gibbs_sweep import _histogram, _swept, new_chains
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import monte_carlo_em, polya_from_histogram
from oracles import chi_square_p
from planted import blocks_of, planted

# [word, k]: three words, three components
BETA = np.array([[0.5, 0.9, 0.3], [0.2, 0.6, 0.9], [0.7, 0.1, 0.5]])
M = 20_000


def sweep_crowd(words, alpha, sweeps, theta=None):
    """20,000 people who all say the same: as many independent chains. (M, n) components and (M, K)
    weights.
    """
    K, n = len(alpha), len(words)
    starts = np.arange(0, M * n + 1, n) if n else np.zeros(M + 1, np.int64)
    z = np.zeros(M * n, np.uint8)
    theta = np.full((M, K), 1 / K) if theta is None else theta
    pair = np.tile(np.array(words, np.int32), M)
    drawn, tokens = _swept(
        starts,
        pair,
        np.ones(M * n),
        BETA[:, :K].copy(),
        alpha,
        z,
        theta,
        sweeps,
        0,
        np.uint64(1),
        0,
    )
    return z.reshape(M, n), drawn, tokens


def exact_posterior(words, alpha):
    """p(z | w) ∝ Π β_(w),z Π_k Γ(α_k + n_k) for every assignment z."""
    K, weight = len(alpha), {}
    for z in itertools.product(range(K), repeat=len(words)):
        n = [z.count(k) for k in range(K)]
        told = math.prod(BETA[word, k] for word, k in zip(words, z, strict=True))
        weight[z] = told * math.exp(sum(math.lgamma(alpha[k] + n[k]) for k in range(K)))
    total = sum(weight.values())
    return {z: w / total for z, w in weight.items()}


CASES = [
    ((0, 1, 2), np.array([0.4, 0.9])),
    ((0, 0, 2), np.array([0.05, 0.1])),
    ((0, 1, 1, 2), np.array([0.3, 0.1, 0.6])),
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "alpha"), CASES)
def test_the_chain_draws_from_the_exact_posterior(words, alpha):
    """χ² over all assignments, 20,000 chains after 60 sweeps. Fails by chance with rate 1e-4."""
    z, _, tokens = sweep_crowd(words, alpha, sweeps=60)
    exact = exact_posterior(words, alpha)
    counts = dict.fromkeys(exact, 0)
    for row in map(tuple, z.tolist()):
        counts[row] += 1
    assert chi_square_p(list(counts.values()), list(exact.values())) > 1e-4
    np.testing.assert_allclose(
        tokens, [[row.count(k) for k in range(len(alpha))] for row in z.tolist()], atol=1e-9
    )


def test_a_row_of_weight_two_and_a_half_is_three_tokens():
    """The same chain as that of rows of 1, 1 and ½; and every later pass starts from the tokens as
    they are.
    """
    one = np.array([0, 1]), np.array([0], np.int32), np.array([2.5])
    three = np.array([0, 3]), np.zeros(3, np.int32), np.array([1.0, 1.0, 0.5])
    ends = []
    for starts, pair, weight in (one, three):
        z, theta = np.zeros(3, np.uint8), np.full((1, 2), 0.5)
        for sweep in range(6):
            theta, tokens = _swept(
                starts,
                pair,
                weight,
                BETA[:, :2].copy(),
                np.ones(2),
                z,
                theta,
                3,
                sweep,
                np.uint64(1),
                0,
            )
            assert tokens[0] == pytest.approx(
                [sum((1, 1, 0.5)[t] for t in range(3) if z[t] == k) for k in range(2)]
            )
        ends.append((z.tolist(), theta.tolist()))
    assert ends[0] == ends[1]


def test_chains_hold_a_component_for_every_token():
    block = Block(
        0, 3, np.array([0, 2]), np.array([1, 2], np.int32), np.array([1.0, 2.5]), np.ones(1)
    )
    (few,), (many,) = (
        new_chains([block], [np.full((1, 3), 1 / 3)]),
        new_chains([block], [np.full((1, 300), 1 / 300)]),
    )
    assert len(few.z) == len(many.z) == 4
    assert few.z.dtype == np.uint8 and many.z.dtype == np.uint16


def test_the_first_sweep_draws_from_the_given_weights():
    """p(z = k) ∝ β_k θ_k, each word by itself. χ², fails by chance with rate 1e-4."""
    theta = np.tile([0.2, 0.8], (M, 1))
    z, _, _ = sweep_crowd((0, 1), np.array([0.4, 0.9]), sweeps=1, theta=theta)
    for column, word in enumerate((0, 1)):
        p = BETA[word, :2] * theta[0]
        assert (
            chi_square_p(np.bincount(z[:, column], minlength=2).tolist(), (p / p.sum()).tolist())
            > 1e-4
        )


@pytest.mark.slow
@pytest.mark.parametrize(("words", "alpha"), [*CASES[:2], ((), np.array([0.3, 2.0]))])
def test_weights_are_drawn_from_their_posterior(words, alpha):
    """θ₁ given the words is a mixture of Betas over the assignments; without words it is the prior.
    Kolmogorov–Smirnov on 20,000
    draws, fails by chance with rate 1e-4.
    """
    _, theta, _ = sweep_crowd(words, alpha, sweeps=60)
    parts = [
        (p, alpha[0] + z.count(0), alpha[1] + z.count(1))
        for z, p in exact_posterior(words, alpha).items()
    ]

    def cdf(t):
        return sum(p * beta_distribution.cdf(t, a, b) for p, a, b in parts)

    assert theta.sum(axis=1) == pytest.approx(np.ones(M))
    assert kstest(theta[:, 0], cdf).pvalue > 1e-4


def test_weights_of_a_tiny_prior_are_corners_and_never_undefined():
    _, theta, _ = sweep_crowd((), np.full(3, 1e-4), sweeps=1)
    assert np.isfinite(theta).all() and (theta.max(axis=1) > 0.99).mean() > 0.99
    counts = np.bincount(theta.argmax(axis=1), minlength=3)
    assert chi_square_p(counts.tolist(), [1 / 3] * 3) > 1e-4  # its rate of false alarms


def counted(alpha, n_people, n_tokens, seed):
    """Tokens by component of people whose weights are Dirichlet draws, and the histogram that loops
    make of them.
    """
    random = np.random.default_rng(seed)
    sizes = random.integers(1, n_tokens, n_people)
    tokens = np.array([random.multinomial(n, random.dirichlet(alpha)) for n in sizes])
    histogram = np.zeros((len(alpha) + 1, n_tokens + 1))
    for row in tokens:
        for k, v in enumerate([*row, row.sum()]):
            histogram[k, v] += 1
    return tokens, histogram


@pytest.mark.parametrize("alpha", [[0.1, 0.1, 0.1], [0.5, 2.0, 0.2], [3.0, 1.0]], ids=str)
def test_alpha_is_the_dirichlet_multinomial_maximum_likelihood(alpha):
    """Against a search by scipy over log α; each call stops early, a few calls reach it."""
    tokens, histogram = counted(alpha, 800, 60, seed=1)

    def cost(log_alpha):
        a = np.exp(log_alpha)
        return -np.sum(
            gammaln(a.sum())
            - gammaln(a.sum() + tokens.sum(axis=1))
            + (gammaln(a + tokens) - gammaln(a)).sum(axis=1)
        )

    best = np.exp(minimize(cost, np.zeros(len(alpha)), method="BFGS").x)
    found = polya_from_histogram(histogram, np.ones(len(alpha)))
    np.testing.assert_allclose(found, best, rtol=0.03)
    for _ in range(5):
        found = polya_from_histogram(histogram, found)
    np.testing.assert_allclose(found, best, rtol=2e-3)


def test_alpha_of_nobody_is_small_and_finite():
    found = polya_from_histogram(np.zeros((3, 10)), np.ones(2))
    assert np.isfinite(found).all() and (found > 0).all()


def test_people_are_counted_by_their_tokens():
    tokens = np.array([[0.0, 3.0], [2.0, 2.0], [0.0, 9000.0]])
    block = Block(
        0, 2, np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0), np.array([1.0, 2.5, 1.0])
    )
    histogram = _histogram(tokens, block)
    assert histogram[0, 0] == 2 and histogram[0, 2] == 2.5
    # as many as are told apart
    assert histogram[1, 3] == 1 and histogram[1, 2] == 2.5 and histogram[1, -1] == 1
    assert histogram[2, 3] == 1 and histogram[2, 4] == 2.5 and histogram[2, -1] == 1
    assert histogram.sum() == pytest.approx(3 * 4.5)


@pytest.fixture(scope="module")
def truth():
    return planted(20, 3, 0.2, seed=2)


@pytest.fixture(scope="module")
def population(truth):
    return truth.sample(600, 100, seed=2)


def run_from(components, population, n_jobs=2, **options):
    blocks = blocks_of(population.comparisons)[0]
    theta = [
        population.theta[block.first_user : block.first_user + block.n_users] for block in blocks
    ]
    alpha = np.full(len(components.phi), 0.1)
    return monte_carlo_em(
        blocks, components, alpha, new_chains(blocks, theta), ThreadEngine(n_jobs), **options
    )


def test_a_perfect_start_stays_where_it_is(truth, population):
    found = run_from(MallowsComponents(np.array(truth.sigma), np.array(truth.phi)), population)
    assert (found.components.sigma == truth.sigma).all()
    np.testing.assert_allclose(found.components.phi, truth.phi, atol=0.03)
    assert found.alpha.sum() == pytest.approx(0.3, rel=0.2)
    assert found.moved[-1] == 0
    theta = np.concatenate([chain.theta for chain in found.chains])
    assert np.abs(theta - population.theta).mean() < 0.05


def test_a_rough_start_is_mended(truth, population):
    rough = np.argsort(
        np.argsort(truth.sigma + np.random.default_rng(0).normal(0, 3, truth.sigma.shape))
    ).astype(np.int32)
    assert (rough != truth.sigma).mean() > 0.5
    found = run_from(MallowsComponents(rough, np.full(3, 0.8)), population)
    assert (found.components.sigma == truth.sigma).all()
    assert len(found.moved) > 1 and found.moved[0] > found.moved[-1] == 0


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(truth, population):
    components = MallowsComponents(np.array(truth.sigma), np.full(3, 0.5))
    options = {"max_burn_in": 2, "min_average": 1, "max_average": 1}
    one, three = (run_from(components, population, n_jobs, seed=4, **options) for n_jobs in (1, 3))
    assert (
        one.alpha.tobytes() == three.alpha.tobytes()
        and one.components.phi.tobytes() == three.components.phi.tobytes()
    )
    assert all(
        a.z.tobytes() == b.z.tobytes() for a, b in zip(one.chains, three.chains, strict=True)
    )
    other = run_from(components, population, seed=5, **options)
    assert other.components.phi.tobytes() != one.components.phi.tobytes()


def test_progress_is_reported(truth, population):
    told = []
    components = MallowsComponents(np.array(truth.sigma), np.full(3, 0.5))
    run_from(
        components,
        population,
        max_burn_in=2,
        min_average=1,
        max_average=2,
        progress=lambda *step: told.append(step),
    )
    # burn-in, then averaging
    assert [name for name, *_ in told] == sorted((name for name, *_ in told), reverse=True)
    assert {name for name, *_ in told} == {"burn in", "averaging"}
    assert all(1 <= done <= total for _, done, total in told)
