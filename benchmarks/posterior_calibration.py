"""Simulation-based calibration of `mallowmix.sample_posterior`, at likelihood weight 1.

python -m benchmarks.posterior_calibration [--simulations 320] [--seed 0]
    writes benchmarks/results/posterior_calibration.json, in some minutes on two cores

Parameters are drawn from the default priors, people's answers from the parameters, and a chain from
the posterior given the answers. If the sampler is right, the rank of the drawn value among thinned
draws of the chain is uniform, for every quantity that does not depend on how components are
numbered (Talts et al. 2018). χ² of the ranks in equal bins; a p-value below 0.0001 for one of the
quantities is an alarm, which a right sampler raises in fewer than 1 of 1,000 runs.
"""

import argparse
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

import mallowmix as mm
from benchmarks.record import RESULTS, save
from mallowmix.engine import parallel_map
from mallowmix.infer.posterior.posterior_chain import ChainStart, PosteriorChain
from mallowmix.infer.posterior.posterior_data import posterior_data
from mallowmix.model.mallows import beta_matrix, sample_orders
from mallowmix.model.permutations import discordant_pairs, sigma_of
from mallowmix.numerics.randomness import Step, as_key, child_seed, generator

ALARM = 1e-4


class Setting(NamedTuple):
    """Sizes of a simulated population, and of its chain."""

    Q: int = 5
    K: int = 2
    M: int = 12
    N: int = 10
    n_warmup: int = 200
    n_draws: int = 31
    thin: int = 15
    n_bins: int = 16


QUICK = Setting(n_warmup=100, n_draws=15, thin=15, n_bins=8)


class Drawn(NamedTuple):
    """Parameters drawn from the priors."""

    sigma: Any
    phi: Any
    alpha: Any
    theta: Any
    crowd: Any
    crowd_phi: float


def from_priors(setting: Setting, priors: mm.PosteriorPriors, random: Any) -> Drawn:
    """Draw everything."""
    Q, K, M = setting.Q, setting.K, setting.M
    crowd, crowd_phi = random.permutation(Q), 1.0
    if priors.rankings == "mallows":
        crowd_phi = random.beta(*priors.crowd_phi)
    seed = int(random.integers(2**62))
    sigma = sigma_of(sample_orders(np.argsort(crowd), crowd_phi, K, seed=seed))
    phi = random.beta(*priors.phi, K)
    alpha = priors.alpha_median * np.exp(priors.alpha_spread * random.standard_normal(K))
    return Drawn(sigma, phi, alpha, random.dirichlet(alpha, M), crowd, crowd_phi)


def answers(setting: Setting, truth: Drawn, random: Any) -> mm.Comparisons:
    """N answers of each person to random pairs."""
    Q, M, N = setting.Q, setting.M, setting.N
    beta = np.array([beta_matrix(s, p) for s, p in zip(truth.sigma, truth.phi, strict=True)])
    user = np.repeat(np.arange(M), N)
    first = random.integers(Q, size=M * N)
    second = (first + random.integers(1, Q, M * N)) % Q
    p = np.einsum("nk,kn->n", truth.theta[user], beta[:, first, second])
    wins = random.random(M * N) < p
    winner, loser = np.where(wins, first, second), np.where(wins, second, first)
    return mm.Comparisons.from_codes(
        user, winner, loser, None, [str(i) for i in range(Q)], [str(m) for m in range(M)]
    )


def quantities(state: Any, data: Any, hierarchical: bool) -> dict[str, float]:
    """Quantities of a draw, or of the truth, that do not depend on how components are numbered."""
    beta = np.array([beta_matrix(s, p) for s, p in zip(state.sigma, state.phi, strict=True)])
    share = state.alpha / state.alpha.sum()
    pair = np.einsum("k,kij->ij", share, beta)
    user = np.repeat(np.arange(data.n_users), np.diff(data.starts))
    i, j = np.divmod(data.pair, data.n_items)
    p = np.einsum("nk,kn->n", state.theta[user], beta[:, i, j])
    found = {
        "log-likelihood": float(data.power @ np.log(p)),
        "largest share": float(share.max()),
        "sum of alpha": float(state.alpha.sum()),
        "mean phi": float(state.phi.mean()),
        "smallest phi": float(state.phi.min()),
        "win rate of an item": float(pair[0].sum()),
        "distance of components": float(discordant_pairs(state.sigma[0], state.sigma[-1])),
        "largest weight of a person": float(state.theta[0].max()),
    }
    if hierarchical:
        found["crowd's phi"] = float(state.crowd_phi)
        found["distance to the crowd"] = float(
            sum(discordant_pairs(s, state.crowd) for s in state.sigma)
        )
    return found


def ranks(setting: Setting, priors: mm.PosteriorPriors, seed: int, number: int) -> dict[str, int]:
    """The rank of each true quantity among the draws of one simulation, ties broken at random."""
    own = child_seed(seed, Step.SIMULATION, number)
    random = generator(own, Step.SIMULATION)
    truth = from_priors(setting, priors, random)
    data = posterior_data(answers(setting, truth, random), np.arange(setting.M), 1.0)
    Q, K = setting.Q, setting.K
    sigma = random.permuted(np.tile(np.arange(Q), (K, 1)), axis=1)
    start = ChainStart("random", sigma, np.full(K, 0.7), np.full(K, 0.3), random.permutation(Q))
    chain = PosteriorChain(data, priors, start, as_key(own))
    hierarchical = priors.rankings == "mallows"
    for s in range(setting.n_warmup):
        chain.step(gain=1 / np.sqrt(1 + s))
    true = quantities(truth, data, hierarchical)
    below = dict.fromkeys(true, 0)
    for _ in range(setting.n_draws):
        for _ in range(setting.thin):
            chain.step()
        for name, value in quantities(chain, data, hierarchical).items():
            tie = abs(value - true[name]) < 1e-12
            below[name] += int(random.random() < 0.5) if tie else int(value < true[name])
    return below


def p_values(found: list[dict[str, int]], setting: Setting) -> dict[str, float]:
    """χ² of the ranks of each quantity, in equal bins."""
    out = {}
    for name in found[0]:
        bins = np.array([each[name] for each in found]) * setting.n_bins // (setting.n_draws + 1)
        expected = len(found) / setting.n_bins
        counts = np.bincount(bins, minlength=setting.n_bins)
        value = ((counts - expected) ** 2 / expected).sum()
        out[name] = float(chi2.sf(value, setting.n_bins - 1))
    return out


def measure(
    n_simulations: int, setting: Setting, priors: mm.PosteriorPriors, seed: int = 0
) -> dict[str, float]:
    """The p-value of each quantity."""
    simulate = partial(ranks, setting, priors, seed)
    return p_values(parallel_map(simulate, range(n_simulations)), setting)


def main() -> None:
    """Run all simulations and keep the p-values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=320)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    result: dict[str, Any] = {"simulations": given.simulations, "setting": Setting()._asdict()}
    for rankings in ("uniform", "mallows"):
        priors = mm.PosteriorPriors(rankings=rankings)
        result[rankings] = measure(given.simulations, Setting(), priors, given.seed)
        for name, p in result[rankings].items():
            print(f"{rankings:8s} {name:28s} p = {p:.4f}{'  ALARM' if p < ALARM else ''}")
    save("posterior_calibration", result, RESULTS, [given.seed])


if __name__ == "__main__":
    main()
