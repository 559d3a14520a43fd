"""The chain of the posterior: how it warms up, what stays then, and the least of everything."""

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.infer.posterior.posterior_chain import ChainLength, ChainStart, PosteriorChain
from mallowmix.infer.posterior.posterior_data import posterior_data
from mallowmix.numerics.randomness import as_key
from planted import planted

Q, K = 4, 2
VOTES = planted(Q, K, 0.4, 0.5, seed=1).sample(12, 6, seed=1).comparisons


def new_chain():
    data = posterior_data(VOTES, np.arange(VOTES.n_users), 1.0)
    orders = np.tile(np.arange(Q), (K, 1))
    start = ChainStart("test", orders, np.full(K, 0.5), np.full(K, 0.3), np.arange(Q))
    return PosteriorChain(data, mm.PosteriorPriors(), start, as_key(0))


def widths(chain):
    return np.concatenate([chain._widths[name] for name in sorted(chain._widths)])


def test_widths_of_walks_adapt_while_it_warms_up_and_stay_afterwards():
    chain = new_chain()
    before = widths(chain)
    chain.step()
    assert widths(chain).tolist() == before.tolist()
    chain.step(gain=0.5)
    assert np.any(widths(chain) != before)


def test_a_walk_is_widened_where_it_is_accepted_too_often():
    chain = new_chain()
    for accepted, sign in ((1.0, 1), (0.0, -1)):
        before = chain._widths["phi"][0]
        chain._adapt("phi", 0, accepted, 0.5)
        assert np.sign(chain._widths["phi"][0] - before) == sign
    for _ in range(50):
        chain._adapt("phi", 0, 1.0, 1.0)
        chain._adapt("reach", 0, 1.0, 1.0)
        chain._adapt("reach", 1, 0.0, 1.0)
    assert chain._widths["phi"][0] == 10 and chain._widths["reach"].tolist() == [Q - 1, 1]


def test_the_likelihood_counts_ever_more_until_half_of_the_warm_up(monkeypatch):
    steps, reports = [], []
    monkeypatch.setattr(PosteriorChain, "step", lambda _, **given: steps.append(given))
    chain = new_chain()
    found = chain.run(ChainLength(8, 3, 2), True, lambda: reports.append(1))
    heat = [given["heat"] for given in steps[:8]]
    assert heat == pytest.approx([0.02, 0.02**0.75, 0.02**0.5, 0.02**0.25, 1, 1, 1, 1])
    gains = [given["gain"] for given in steps[:8]]
    assert gains == pytest.approx(1 / np.sqrt(np.arange(1, 9)))
    assert steps[8:] == [{}] * 6 and len(reports) == 14
    assert len(found.sigma) == 3


def test_the_least_of_everything_is_enough():
    """One user, component, chain and draw, and no warm-up."""
    shown = []
    least = {"n_chains": 1, "n_warmup": 0, "n_draws": 1, "thin": 1, "max_users": 1}
    found = mm.sample_posterior(VOTES, 1, **least, progress=lambda *given: shown.append(given))
    assert found.sigma.shape == (1, 1, 1, Q) and len(found.users) == 1
    assert shown == [("posterior", 1, 1)]
    again, other = (mm.sample_posterior(VOTES, 1, **least, seed=seed) for seed in (0, 1))
    assert again.phi == found.phi != other.phi  # the seed is 0 unless given
