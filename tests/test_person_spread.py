"""How draws are spread to the sandwich over people, and shown: each number by its definition."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.infer.posterior.person_spread import (
    PersonSpread,
    _log_scale_error,
    chain_weights,
)
from mallowmix.infer.posterior.posterior_sample import PosteriorSample
from tests.oracles import beta

C, D, M, K, Q = 2, 6, 5, 3, 4
RNG = np.random.default_rng(4)
LIKELIHOOD = RNG.normal(0, 2.0, (C, D, M)) + np.array([0.0, 9.0])[:, None, None]


def spread(weights, *, one, level=0.8):
    sample = SimpleNamespace(user_log_likelihood=LIKELIHOOD.astype(np.float32))
    return PersonSpread(sample, np.array(weights), level, one=one)


@pytest.mark.parametrize("one", [True, False])
def test_the_scale_is_the_sandwich_over_people_by_the_variance_of_draws(one, monkeypatch):
    """Without the noise of draws: Σ_m (cov(q, l_m) − its mean)² / var(q), all weighted by chain."""
    monkeypatch.setattr(PersonSpread, "_effective", lambda *_: np.inf)
    weights, draws = [0.3, 0.7], LIKELIHOOD[:, :, :2] ** 2
    found = spread(weights, one=one).scales(draws)
    p = np.repeat(np.array(weights) / D, D)
    likelihood = LIKELIHOOD.astype(np.float32).astype(float)

    def deviation(values):
        each = values.mean(axis=1, keepdims=True)
        centre = weights[0] * each[:1] + weights[1] * each[1:] if one else each
        return (values - centre).reshape(C * D, -1)

    for n in range(2):
        own = deviation(draws)[:, n]
        covariance = (p * own) @ deviation(likelihood)
        sandwich = ((covariance - covariance.mean()) ** 2).sum()
        assert found[n] == pytest.approx(np.sqrt(sandwich / (p @ own**2)))


def test_the_error_of_a_scale_is_that_of_variances_drawn_again_and_again():
    """Normal people: each adds χ² to the variance over people; and a variance of n draws.

    The spread of 4,000 logarithms is known to a hundredth and less: the bound is four of that.
    """
    random = np.random.default_rng(1)
    squares = random.normal(size=(4000, 300)) ** 2
    of_draws = random.chisquare(399, 4000) / 399
    drawn = 0.5 * np.log(squares.sum(axis=1) / of_draws)
    found = _log_scale_error(squares, np.full(4000, 400.0))
    assert found.mean() == pytest.approx(drawn.std(), rel=0.05)


@pytest.mark.parametrize(("over_people", "n_draws", "scale"), [
    (0.9, 50.0, 1.0), (0.6, 50.0, 0.6), (0.9, 1e9, 0.9), (1.1, 50.0, 1.1), (0.2, 1e9, 0.5),
])  # fmt: skip
def test_draws_are_drawn_together_only_where_it_is_no_chance(
    over_people, n_draws, scale, monkeypatch
):
    """Two people who add the same each: all of a scale's error is that of the draws."""
    monkeypatch.setattr(PersonSpread, "_effective", lambda *_: np.array([n_draws]))
    found = spread([0.5, 0.5], one=True)
    found.variances = 0.0
    deviation = RNG.normal(size=(C, D, 1))
    variance = np.einsum("cd,cdn->n", found.each * np.ones(D), deviation**2)
    c = over_people * np.sqrt(variance / 2) * np.array([[1.0, -1.0]])
    monkeypatch.setattr(PersonSpread, "_with_people", lambda *_: (deviation, c))
    assert found.scales(deviation) == pytest.approx([scale])


def test_ends_are_quantiles_of_all_draws(monkeypatch):
    """With equal weights: between the middles of the draws' steps, as Hazen's quantiles are."""
    monkeypatch.setattr(PersonSpread, "scales", lambda self, draws: np.ones(draws.shape[2]))
    draws = RNG.normal(size=(C, D, 3))
    found = spread([0.5, 0.5], one=True, level=0.8).intervals(draws)
    low, high = np.quantile(draws.reshape(C * D, 3), [0.1, 0.9], axis=0, method="hazen")
    assert found.low == pytest.approx(low) and found.high == pytest.approx(high)
    assert found.estimate == pytest.approx(draws.mean(axis=(0, 1)))
    one_chain = spread([1.0, 0.0], one=True, level=0.8).intervals(draws)
    assert one_chain.estimate == pytest.approx(draws[0].mean(axis=0))


def test_a_chain_counts_by_how_it_predicts_people_left_out():
    """Harmonic means of likelihoods: the chain that is better for all people has all the weight."""
    sample = SimpleNamespace(user_log_likelihood=LIKELIHOOD.astype(np.float32))
    found = chain_weights(sample)
    assert found.sum() == pytest.approx(1) and found[1] > 0.9
    same = SimpleNamespace(user_log_likelihood=np.stack([LIKELIHOOD[0]] * 2).astype(np.float32))
    assert chain_weights(same) == pytest.approx([0.5, 0.5])


def made_sample(D=D):
    sigma = np.array([RNG.permutation(Q) for _ in range(C * D * K)], np.int16).reshape(C, D, K, Q)
    alpha = RNG.uniform(0.2, 2, (C, D, K))
    phi, rates = RNG.uniform(0.1, 0.9, (C, D, K)), RNG.uniform(size=(C, D, Q))
    priors = mm.PosteriorPriors()
    items, users = np.array(list("abcd")), np.array(list("vwxyz"))
    likelihood = RNG.normal(size=(C, D))
    by_user = RNG.normal(size=(C, D, M)).astype(np.float32)
    inner = (None, likelihood, by_user, rates, rates, RNG.normal(size=(M, Q)), None, None)
    rest = (("random",) * C, float(M), 1.0, priors, 0)
    return PosteriorSample(items, users, sigma, phi, alpha, *inner, *rest)


def test_a_sample_shows_quantiles_of_all_chains_and_a_row_for_each_component():
    sample = made_sample()
    frame = sample.to_frame().to_pydict()
    for name, at in (("low", 0.05), ("win_rate", 0.5), ("high", 0.95)):
        assert frame[name] == pytest.approx(np.quantile(sample.win_rate.reshape(-1, Q), at, axis=0))
    page = sample._repr_html_()
    assert page.count("<tr>") == 1 + K
    for k in range(K):
        phi = sample.phi[:, :, k].ravel()
        low, high = np.quantile(phi, [0.05, 0.95])
        assert f"{phi.mean():.2f} [{low:.2f}, {high:.2f}]" in page
        best = np.argsort(sample.sigma[:, :, k].reshape(-1, Q).mean(axis=0), kind="stable")[:3]
        assert ", ".join(f"<bdi>{'abcd'[i]}</bdi>" for i in best) in page


def test_chains_that_number_components_differently_agree():
    """What does not depend on numbers decides; a note says what does."""
    sample = made_sample(200)
    sample = replace(sample, phi=0.1 * sample.phi + np.array([0.1, 0.4, 0.7]))
    same = mm.check_convergence(sample)
    assert same.converged and same.notes == sample.notes
    order = np.stack([sample.phi[0], sample.phi[1][:, ::-1]])
    found = mm.check_convergence(replace(sample, phi=order))
    assert found.converged and "R-hat of phi" in found.notes[-1]
    table = {row.quantity: row for row in found.table}
    assert table["phi"].r_hat > 1.5 > 1.05 > table["sorted_phi"].r_hat
    assert table["phi"].by_label and not table["sorted_phi"].by_label
    apart = np.stack([sample.phi[0], sample.phi[1] + 0.2])
    assert not mm.check_convergence(replace(sample, phi=apart)).converged


def test_shares_and_dispersions_sorted_and_the_probability_of_a_pair():
    sample = made_sample()
    share = sample.alpha / sample.alpha.sum(axis=2)[:, :, None]
    assert sample.share == pytest.approx(share)
    for found, given in ((sample.sorted_share, share), (sample.sorted_phi, sample.phi)):
        for c, d in np.ndindex(C, D):
            assert found[c, d].tolist() == sorted(given[c, d].tolist(), reverse=True)
    found = sample.probability("b", "d")
    for c, d in np.ndindex(C, D):
        each = [beta(tuple(sample.sigma[c, d, k].tolist()), sample.phi[c, d, k]) for k in range(K)]
        exact = sum(share[c, d, k] * each[k][1][3] for k in range(K))
        assert found[c, d] == pytest.approx(exact)
        assert sample.m4(c, d).alpha == pytest.approx(sample.alpha[c, d])
