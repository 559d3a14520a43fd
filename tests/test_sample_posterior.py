"""The posterior of everything: enumeration and quadrature, its moves one by one, its bytes."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import beta as beta_function
from scipy.special import betaln

import mallowmix as mm
from benchmarks import posterior_calibration
from mallowmix.errors import DataError, OptionError
from mallowmix.infer.posterior.alpha_moves import tail_counts
from mallowmix.infer.posterior.component_moves import fill_gaps
from mallowmix.infer.posterior.posterior_chain import ChainStart, PosteriorChain
from mallowmix.infer.posterior.posterior_data import posterior_data, sampled_users
from mallowmix.numerics.randomness import as_key
from tests.oracles import all_rankings, beta, kendall_distance, normaliser

# winner, loser of two users, who partly contradict each other
THREE = [[(0, 1), (0, 2), (1, 2)], [(2, 1), (2, 0), (2, 1), (0, 1)]]
FOUR = [[(0, 1), (1, 2), (2, 3), (0, 3)], [(3, 0), (2, 0), (1, 0)]]


def comparisons_of(people, Q, weight=1.0):
    user = [m for m, rows in enumerate(people) for _ in rows]
    winner, loser = zip(*(row for rows in people for row in rows), strict=True)
    labels = [str(m) for m in range(len(people))]
    items = [str(i) for i in range(Q)]
    return mm.Comparisons.from_codes(user, winner, loser, np.full(len(user), weight), items, labels)


# ---- the exact posterior ----


def nodes(n, a, b):
    """Nodes and weights of the expectation under Beta(a, b), by Gauss and Legendre."""
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = (x + 1) / 2, w / 2
    return x, w * x ** (a - 1) * (1 - x) ** (b - 1) / beta_function(a, b)


def alpha_nodes(n, median, spread):
    """Nodes and weights of the expectation under a log-normal, by Gauss and Hermite."""
    x, w = np.polynomial.hermite_e.hermegauss(n)
    return median * np.exp(spread * x), w / w.sum()


def tables(Q, phis):
    """[ranking, φ, winner, loser] β of every component, by counting rankings."""
    return np.array([[beta(sigma, phi) for phi in phis] for sigma in all_rankings(Q)])


def mixed_likelihood(b1, b2, a1, a2, power):
    """E Π (θ b1 + (1 − θ) b2)^power under Beta(a1, a2): b1, b2 (…, rows), a1, a2 any shape.

    Power 1: the product is a polynomial in θ, whose moments are Beta functions. Other powers: by
    quadrature over θ, after θ = u^(1/a) at either end.
    """
    if power == 1:
        coefficients = [np.ones(b1.shape[:-1])]  # of θ^s (1 − θ)^(n − s)
        for row in range(b1.shape[-1]):
            one, two = b1[..., row], b2[..., row]
            coefficients = [
                (coefficients[s - 1] * one if s else 0)
                + (coefficients[s] * two if s < len(coefficients) else 0)
                for s in range(len(coefficients) + 1)
            ]
        n = b1.shape[-1]
        return sum(
            c[..., None] * np.exp(betaln(a1 + s, a2 + n - s) - betaln(a1, a2))
            for s, c in enumerate(coefficients)
        )
    return _mixed_by_quadrature(b1, b2, a1, a2, power)


def _mixed_by_quadrature(b1, b2, a1, a2, power):
    x, w = np.polynomial.legendre.leggauss(24)
    u, w = (x + 1) / 2, w / 2
    total = np.zeros((*b1.shape[:-1], len(a1)))
    for first in (True, False):
        a, other = (a1, a2) if first else (a2, a1)
        t = 0.5 * u[:, None] ** (1 / a)  # (nodes, α): ∫_0^½ θ^{a−1} … dθ = ½^a / a ∫_0^1 … du
        density = 0.5**a / a * (1 - t) ** (other - 1) / np.exp(betaln(a1, a2))
        theta = t if first else 1 - t
        for node in range(len(u)):
            p = (
                b1[..., None, :] * theta[node][:, None]
                + b2[..., None, :] * (1 - theta[node])[:, None]
            )
            total += w[node] * density[node] * np.prod(p**power, axis=-1)
    return total


def exact_two(people, Q, priors, n_phi, n_alpha, power=1.0):
    """Posterior means of quantities that do not depend on labels, K = 2."""
    phis, phi_weight = nodes(n_phi, *priors.phi)
    alphas, alpha_weight = alpha_nodes(n_alpha, priors.alpha_median, priors.alpha_spread)
    B = tables(Q, phis)
    a1, a2 = (grid.ravel() for grid in np.meshgrid(alphas, alphas, indexing="ij"))
    wa = np.outer(alpha_weight, alpha_weight).ravel()
    F = len(B)
    joint = np.empty((F, F, n_phi, n_phi, len(a1)))
    for s1, s2 in itertools.product(range(F), repeat=2):
        p = np.ones((n_phi, n_phi, len(a1)))
        for rows in people:
            i, j = np.array(rows).T
            one, two = B[s1][:, i, j], B[s2][:, i, j]  # (φ, rows)
            shape = (n_phi, n_phi, len(rows))
            b1, b2 = np.broadcast_to(one[:, None], shape), np.broadcast_to(two[None], shape)
            p = p * mixed_likelihood(b1, b2, a1, a2, power)
        joint[s1, s2] = p * np.outer(phi_weight, phi_weight)[:, :, None] * wa
    joint /= joint.sum()
    return joint, phis, a1, a2


def exact_quantities(joint, phis, a1, a2, Q):
    rankings = all_rankings(Q)
    apart = np.array([[kendall_distance(s, t) for t in rankings] for s in rankings])
    first = np.array([s[0] for s in rankings], float)
    by_sigma = joint.sum(axis=(2, 3, 4))
    found = {"distance": (by_sigma * apart).sum(), "same": np.trace(by_sigma)}
    found["first"] = (by_sigma * (first[:, None] + first)).sum()
    found["first, product"] = (by_sigma * first[:, None] * first).sum()
    by_phi = joint.sum(axis=(0, 1, 4))
    found["phi"] = (by_phi * (phis[:, None] + phis)).sum()
    found["phi, product"] = (by_phi * phis[:, None] * phis).sum()
    by_alpha = joint.sum(axis=(0, 1, 2, 3))
    found["log alpha"] = by_alpha @ (np.log(a1) + np.log(a2))
    found["log alpha, product"] = by_alpha @ (np.log(a1) * np.log(a2))
    for r, sigma in enumerate(rankings):
        found[f"either is {sigma}"] = by_sigma[r].sum() + by_sigma[:, r].sum()
    return found


def chain_quantities(chain, Q, n_steps, thin):
    """The same of every thin-th step: a dict of arrays."""
    rankings = all_rankings(Q)
    kept = {}
    for s in range(n_steps):
        chain.step()
        if s % thin:
            continue
        sigma, phi, log_alpha = chain.sigma, chain.phi, np.log(chain.alpha)
        one, two = tuple(sigma[0].tolist()), tuple(sigma[1].tolist())
        row = {"distance": kendall_distance(one, two), "same": one == two}
        row["first"], row["first, product"] = one[0] + two[0], one[0] * two[0]
        row["phi"], row["phi, product"] = phi.sum(), phi.prod()
        row["log alpha"], row["log alpha, product"] = log_alpha.sum(), log_alpha.prod()
        for ranking in rankings:
            row[f"either is {ranking}"] = (one == ranking) + (two == ranking)
        for name, value in row.items():
            kept.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in kept.items()}


def new_chain(comparisons, K, priors, power=1.0, seed=0):
    data = posterior_data(comparisons, np.arange(comparisons.n_users), power)
    Q = comparisons.n_items
    start = ChainStart(
        "test", np.tile(np.arange(Q), (K, 1)), np.full(K, 0.5), np.full(K, 0.3), np.arange(Q)
    )
    return PosteriorChain(data, priors, start, as_key(seed))


def errors_in_sd(exact, chain, Q, n_steps, thin=4, batches=40):
    """How far each mean of the chain is from the exact one, in standard errors of batch means."""
    for _ in range(100):
        chain.step(gain=0.3)
    found = chain_quantities(chain, Q, n_steps, thin)
    out = {}
    for name, values in found.items():
        means = values[: len(values) // batches * batches].reshape(batches, -1).mean(axis=1)
        error = max(means.std(ddof=1) / math.sqrt(batches), 1e-9)
        out[name] = (values.mean() - exact[name]) / error
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "Q", "power", "sizes", "n_steps"),
    [
        (THREE, 3, 1.0, (10, 10), 24_000),
        (FOUR, 4, 1.0, (8, 6), 24_000),
        (THREE, 3, 0.5, (8, 6), 24_000),
    ],
)
def test_two_components_against_enumeration(people, Q, power, sizes, n_steps):
    """Means over σ, φ and α against the sum over all pairs of rankings times quadrature.

    Student's t with 39 degrees of freedom exceeds 5 with probability 1.3e-5, so that one of at
    most 32 quantities does by chance in 4 of 10,000 seeds.
    """
    priors = mm.PosteriorPriors(alpha_spread=0.7)
    exact = exact_quantities(*exact_two(people, Q, priors, *sizes, power), Q)
    chain = new_chain(comparisons_of(people, Q), 2, priors, power)
    errors = errors_in_sd(exact, chain, Q, n_steps)
    assert max(map(abs, errors.values())) < 5, errors


def exact_one(people, Q, priors, n_phi=40):
    """K = 1: posterior probabilities of all rankings, and the mean of φ."""
    phis, weight = nodes(n_phi, *priors.phi)
    i, j = np.array([row for rows in people for row in rows]).T
    joint = np.array([weight * np.prod(B[:, i, j], axis=1) for B in tables(Q, phis)])
    joint /= joint.sum()
    return joint.sum(axis=1), float(joint.sum(axis=0) @ phis)


@pytest.mark.slow
def test_one_component_against_enumeration():
    """All 24 rankings of four items; 5 standard errors of 40 batches, as above."""
    priors, Q = mm.PosteriorPriors(), 4
    by_ranking, phi = exact_one(FOUR, Q, priors)
    chain = new_chain(comparisons_of(FOUR, Q), 1, priors)
    rankings = {sigma: n for n, sigma in enumerate(all_rankings(Q))}
    for _ in range(200):
        chain.step(gain=0.3)
    seen = np.zeros((24_000, len(rankings) + 1))
    for row in seen:
        chain.step()
        row[rankings[tuple(chain.sigma[0].tolist())]] = 1
        row[-1] = chain.phi[0]
    batches = seen.reshape(40, -1, seen.shape[1]).mean(axis=1)
    errors = (batches.mean(axis=0) - np.r_[by_ranking, phi]) / (
        batches.std(axis=0, ddof=1) / 40**0.5
    )
    assert np.abs(errors).max() < 5


@pytest.mark.slow
def test_the_hierarchical_prior_against_enumeration():
    """K = 1, σ ~ Mallows(σ_0, φ_0): whatever σ is, σ_0 is uniform, so that the law of φ_0 and
    d(σ, σ_0) is that of the prior.
    """
    priors, Q = mm.PosteriorPriors(rankings="mallows", crowd_phi=(2.0, 3.0)), 3
    phis, weight = nodes(40, *priors.crowd_phi)
    apart = [kendall_distance(sigma, (0, 1, 2)) for sigma in all_rankings(Q)]
    joint = np.array([weight * phis**d / normaliser(Q, phis) for d in apart])
    chain = new_chain(comparisons_of(THREE, Q), 1, priors)
    for _ in range(200):
        chain.step(gain=0.3)
    seen = np.empty((16_000, 3))
    for row in seen:
        chain.step()
        row[0] = kendall_distance(tuple(chain.sigma[0].tolist()), tuple(chain.crowd.tolist()))
        row[1], row[2] = chain.crowd_phi, row[0] * chain.crowd_phi
    d = np.array(apart) @ joint
    exact = np.array([d.sum(), phis @ joint.sum(axis=0), d @ phis])
    batches = seen.reshape(40, -1, 3).mean(axis=1)
    errors = (batches.mean(axis=0) - exact) / (batches.std(axis=0, ddof=1) / 40**0.5)
    assert np.abs(errors).max() < 5


# ---- simulation-based calibration ----


@pytest.mark.slow
@pytest.mark.parametrize("rankings", ["uniform", "mallows"])
def test_simulation_based_calibration(rankings):
    """χ² of the ranks of 8 or 10 quantities in 8 bins, 96 simulations. With p > 1e-4 for each, a
    right sampler fails in fewer than 1 of 1,000 seeds. The full run is
    `python -m benchmarks.posterior_calibration`.
    """
    priors = mm.PosteriorPriors(rankings=rankings)
    found = posterior_calibration.measure(96, posterior_calibration.QUICK, priors, seed=1)
    assert min(found.values()) > posterior_calibration.ALARM, found


def test_calibration_sees_a_wrong_rank():
    """Ranks that are too low on the whole raise the alarm; even ones do not."""
    setting = posterior_calibration.QUICK
    even = [{"x": n % (setting.n_draws + 1)} for n in range(96)]
    low = [{"x": n % (setting.n_draws // 2)} for n in range(96)]
    assert posterior_calibration.p_values(even, setting)["x"] == pytest.approx(1)
    assert posterior_calibration.p_values(low, setting)["x"] < posterior_calibration.ALARM


# ---- pieces ----


@pytest.mark.parametrize("phi", [0.01, 0.3, 0.8, 0.999])
def test_beta_by_gap(phi):
    gaps = np.empty(9)
    fill_gaps(phi, gaps)
    exact = beta((0, 1, 2, 3, 4), phi)
    np.testing.assert_allclose(gaps[5:], exact[0][1:], rtol=1e-12)
    np.testing.assert_allclose(gaps[3::-1], [exact[i][0] for i in range(1, 5)], rtol=1e-9)
    assert gaps[4] == 0.5


def test_tails_are_counted():
    tokens = np.array([[2.0, 0.0], [1.0, 3.0], [0.0, 0.0]])
    expected = [[sum(n > s for n in column) for s in range(5)] for column in ([2, 1, 0], [0, 3, 0])]
    expected.append([sum(n > s for n in (2, 4, 0)) for s in range(5)])
    assert tail_counts(tokens).tolist() == expected


def test_users_are_sampled_by_their_weight():
    whole = sampled_users(np.array([1.0, 3.0, 0.0, 2.0]), 1000, 0)
    assert whole.tolist() == [0, 1, 1, 1, 3, 3]
    assert sampled_users(np.ones(50), 50, 7).tolist() == list(range(50))
    some = sampled_users(np.ones(1000), 100, 1)
    assert len(set(some.tolist())) == 100
    assert some.tolist() != sampled_users(np.ones(1000), 100, 2).tolist()
    # a user who is half of all weight is half of the sample
    assert np.mean(sampled_users(np.r_[999.0, np.ones(999)], 100, 3) == 0) == pytest.approx(
        0.5, abs=0.02
    )


# ---- the public call ----


@pytest.fixture(scope="module")
def dishes():
    return mm.load_dishes(n_users=30).comparisons


SHORT = {"n_chains": 4, "n_warmup": 12, "n_draws": 5, "thin": 2}


def arrays_of(sample):
    return {name: values for name, (_, values) in sample._variables().items()}


@pytest.mark.slow
def test_the_same_bytes_on_one_and_two_workers(dishes):
    one, two = (mm.sample_posterior(dishes, 2, **SHORT, n_jobs=n, seed=3) for n in (1, 2))
    other = mm.sample_posterior(dishes, 2, **SHORT, seed=4)
    for name, values in arrays_of(one).items():
        assert values.tobytes() == arrays_of(two)[name].tobytes(), name
    assert one.log_likelihood.tolist() != other.log_likelihood.tolist()
    assert one.initialisations == ("fit", "random", "half", "crowd")


@pytest.mark.slow
def test_labels_in_the_same_order_change_nothing_else(dishes):
    renamed = mm.Comparisons.from_codes(
        dishes.user,
        dishes.winner,
        dishes.loser,
        dishes.weight,
        [f"x{i:02d}" for i in range(dishes.n_items)],
        [f"y{m:03d}" for m in range(dishes.n_users)],
    )
    first, second = (mm.sample_posterior(data, 2, **SHORT) for data in (dishes, renamed))
    assert first.sigma.tobytes() == second.sigma.tobytes()
    assert second.items.tolist()[0] == "x00"


@pytest.mark.slow
def test_items_in_another_order_have_the_same_posterior():
    """Win rates with items numbered backwards: within 5 standard errors from effective draws."""
    truth = mm.random_model(6, 2, phi=0.5, alpha=0.4, seed=5)
    data = truth.sample(40, 20, seed=6).comparisons
    back = data.with_items(data.items[::-1])
    options = {"n_chains": 4, "n_warmup": 150, "n_draws": 150, "thin": 6}
    one, two = (mm.sample_posterior(each, 2, **options) for each in (data, back))
    a, b = one.pooled("win_rate"), two.pooled("win_rate")[:, ::-1]
    ess = min(mm.check_convergence(each).table[3].ess_bulk for each in (one, two))
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / ess)
    assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 5 * error).all()


@pytest.mark.slow
def test_a_planted_model_is_found_from_every_initialisation():
    """Rankings within a tenth of the pairs, φ and a win rate inside 99.8% intervals, all chains."""
    truth = mm.random_model(8, 2, phi=[0.3, 0.5], alpha=[0.5, 0.3], seed=1)
    data = truth.sample(150, 30, seed=2).comparisons
    sample = mm.sample_posterior(data, 2, n_warmup=200, n_draws=60, thin=3)
    assert mm.check_convergence(sample).converged
    for chain in range(4):
        match = mm.match_components(sample.sigma[chain, -1], truth.sigma)
        assert match.kendall.max() < 0.1
        assert match.found.tolist() == [0, 1]  # the larger share first
    low, high = np.quantile(sample.pooled("phi"), [0.001, 0.999], axis=0)
    assert ((low < truth.phi) & (truth.phi < high)).all()
    low, high = np.quantile(sample.probability("item001", "item002"), [0.001, 0.999])
    share = truth.alpha / truth.alpha.sum()
    assert low < share @ truth.beta()[:, 0, 1] < high


def test_quantities_agree_with_their_definitions(dishes):
    sample = mm.sample_posterior(dishes, 2, **SHORT, priors=mm.PosteriorPriors(rankings="mallows"))
    model, at = sample.m4(1, 3), (1, 3)
    np.testing.assert_allclose(model.alpha / model.alpha.sum(), sample.share[at])
    table = np.einsum("k,kij->ij", sample.share[at], model.beta())
    own = [np.delete(table[i], i).mean() for i in range(dishes.n_items)]
    np.testing.assert_allclose(sample.win_rate[at], own, rtol=1e-9)
    items = sample.items.tolist()
    assert sample.probability(items[2], items[5])[at] == pytest.approx(table[2, 5])
    theta = sample.theta[at].astype(np.float64)
    p = np.einsum("nk,kn->n", theta[dishes.user], model.beta()[:, dishes.winner, dishes.loser])
    assert sample.log_likelihood[at] == pytest.approx(dishes.weight @ np.log(p), abs=1e-3)
    np.testing.assert_allclose(theta.sum(axis=1), 1, atol=1e-6)


@pytest.mark.slow
def test_xarray_and_arviz(dishes):
    sample = mm.sample_posterior(dishes, 2, **SHORT, keep_theta=False)
    data = sample.to_xarray()
    assert data.sizes["chain"] == 4 and data.sizes["draw"] == 5 and "theta" not in data
    assert sorted(data["item"].values.tolist()) == data["item"].values.tolist()
    assert sample.to_arviz().posterior["phi"].shape == (4, 5, 2)
    found = mm.check_convergence(sample)
    assert {row.quantity for row in found.table if not row.by_label} == {
        "log_likelihood",
        "sorted_share",
        "sorted_phi",
        "win_rate",
    }


def test_a_sample_of_users_is_said(dishes):
    sample = mm.sample_posterior(dishes, 1, **SHORT, max_users=10)
    assert sample.sampled and len(sample.users) == 10 and len(sample.notes) == 1
    assert not mm.sample_posterior(dishes, 1, **SHORT).notes


@pytest.mark.slow
def test_chains_that_do_not_agree_are_said(dishes):
    sample = mm.sample_posterior(dishes, 2, **SHORT)
    apart = replace(sample, log_likelihood=sample.log_likelihood + np.arange(4)[:, None] * 1000)
    found = mm.check_convergence(apart)
    assert not found.converged and len(found.notes) == 1


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": "auto"}, "n_components"),
        ({"n_components": 122}, "n_components"),
        ({"n_chains": 0}, "n_chains"),
        ({"thin": 0}, "thin"),
        ({"max_users": 0}, "max_users"),
        ({"likelihood_weight": 0.0}, "likelihood_weight"),
    ],
)
def test_options_out_of_range(dishes, options, option):
    with pytest.raises(OptionError) as error:
        mm.sample_posterior(dishes, **({"n_components": 1} | options))
    assert error.value.option == option


def test_as_many_components_as_pairs_can_distinguish(dishes):
    with pytest.raises(OptionError, match="n_components is 122; it must be at most 121: 16 items"):
        mm.sample_posterior(dishes, 122)
    three = mm.Comparisons.from_arrays([0, 1], ["a", "b"], ["b", "c"])
    assert mm.sample_posterior(three, 4, **SHORT).sigma.shape[-2] == 4  # three pairs and one


@pytest.mark.parametrize(
    "options", [{"phi": (0.0, 1.0)}, {"alpha_spread": -1.0}, {"rankings": "flat"}]
)
def test_priors_out_of_range(options):
    with pytest.raises(OptionError) as error:
        mm.PosteriorPriors(**options)
    assert error.value.option in options


def test_nobody_to_learn_from(dishes):
    nobody = replace(dishes, user_weight=np.zeros(dishes.n_users))
    with pytest.raises(DataError):
        mm.sample_posterior(nobody, 1)


@pytest.mark.slow
def test_users_without_answers_have_the_prior():
    """In both kinds of moves of weights: a person of whom nothing is known does not move α."""
    data = comparisons_of([*THREE, [(0, 1)]], 3)
    silent = data.with_weights(np.where(data.user == 2, 0.0, data.weight))
    assert silent.n_users == 3 and silent.per_user()[2] == 0
    for weight in (1.0, 0.5):
        sample = mm.sample_posterior(
            silent, 2, **(SHORT | {"n_draws": 200}), likelihood_weight=weight
        )
        assert np.isfinite(sample.theta).all()
        assert sample.theta[:, :, 2].std() > 0.1
