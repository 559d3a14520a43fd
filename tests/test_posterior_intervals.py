"""Intervals from draws: the sandwich over people by finite differences, stacking, the command."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mallowmix as mm
from command_line import run
from mallowmix.errors import OptionError
from mallowmix.infer.posterior.person_spread import PersonSpread, chain_weights
from tests.oracles import beta

Q, M = 5, 80
SHORT = {"n_chains": 4, "n_warmup": 12, "n_draws": 5, "thin": 2}


def answers(times, seed=3, phi=0.5):
    """The model's own people, each answer written down so many times."""
    random = np.random.default_rng(seed)
    table = np.array(beta(tuple(range(Q)), phi), float)
    first, second = np.triu_indices(Q, 1)
    user = np.repeat(np.arange(M), len(first))
    first, second = np.tile(first, M), np.tile(second, M)
    wins = random.random(len(user)) < table[first, second]
    items, users = [str(i) for i in range(Q)], [f"{m:03d}" for m in range(M)]
    winner, loser = np.where(wins, first, second), np.where(wins, second, first)
    weight = np.full(len(user), float(times))
    return mm.Comparisons.from_codes(user, winner, loser, weight, items, users)


def sandwich_ratio(data, phi, step=1e-3):
    """√(Σ_m s_m² / I) of φ, the reference known: scores and information by finite differences."""
    value = []
    for each in (phi - step, phi, phi + step):
        table = np.array(beta(tuple(range(Q)), each), float)
        answers = data.weight * np.log(table[data.winner, data.loser])
        value.append(np.bincount(data.user, answers, M))
    below, here, above = value
    score, information = (above - below) / (2 * step), -(above - 2 * here + below) / step**2
    return float(np.sqrt(((score - score.mean()) ** 2).sum() / information.sum()))


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 3])
def test_draws_are_spread_to_the_sandwich(times):
    """The error of the ratio from 400 draws is near 5%; a prior and a curved likelihood add some.

    It is near 1 for the model's own people, and √3 where all that they say is said three times.
    """
    data = answers(times)
    sample = mm.sample_posterior(data, 1, n_chains=2, n_warmup=100, n_draws=200, thin=2)
    found = mm.posterior_intervals(sample)
    phi = found.phi.estimate[0]
    exact = sandwich_ratio(data, phi)
    assert found.phi.scale[0] == pytest.approx(exact, rel=0.2)
    rates = PersonSpread(sample, found.chain_weights, 0.9, one=True).intervals(sample.win_rate)
    assert rates.scale[0] == pytest.approx(exact, rel=0.2)
    width = found.phi.high[0] - found.phi.low[0]
    assert width == pytest.approx(
        found.phi.scale[0] * (found.phi.model_high[0] - found.phi.model_low[0]), rel=1e-6
    )
    assert found.converged and not found.notes
    assert exact == pytest.approx(times**0.5, rel=0.25)


@pytest.fixture(scope="module")
def sample():
    return mm.sample_posterior(mm.load_dishes(n_users=30).comparisons, 2, **SHORT)


def test_the_chain_that_predicts_held_out_people_counts(sample):
    shape = sample.user_log_likelihood.shape
    same = np.broadcast_to(sample.user_log_likelihood[:1], shape)
    np.testing.assert_allclose(
        chain_weights(replace(sample, user_log_likelihood=same)), 0.25, atol=1e-3
    )
    better = same + np.array([0.0, 5.0, 0.0, 0.0], np.float32)[:, None, None]
    assert chain_weights(replace(sample, user_log_likelihood=better))[1] > 0.95
    # half of the people are predicted by one chain, half by another: both are needed
    half = np.where(np.arange(shape[2]) % 2, 5.0, 0.0)
    gain = np.stack([half, 5.0 - half, half * 0, half * 0]).astype(np.float32)[:, None, :]
    weights = chain_weights(replace(sample, user_log_likelihood=same + gain))
    np.testing.assert_allclose(weights[:2], 0.5, atol=0.03)


def test_chains_in_different_optima_are_weighted(sample):
    """Where they disagree, the better chain decides, and the result says so."""
    apart = sample.log_likelihood + np.arange(4)[:, None] * 1000
    better = (
        sample.user_log_likelihood + np.float32(5) * np.eye(4, dtype=np.float32)[2][:, None, None]
    )
    moved = replace(sample, log_likelihood=apart, user_log_likelihood=better)
    found = mm.posterior_intervals(moved)
    assert not found.converged and len(found.notes) == 2
    assert found.chain_weights.argmax() == 2
    own = moved.phi[2].mean(axis=0)
    np.testing.assert_allclose(found.phi.estimate, own, atol=0.05)


def test_no_end_of_a_proportion_is_outside_its_range(sample):
    """φ near 1, with people who move it far more than the draws themselves do."""
    phi = np.random.default_rng(0).uniform(0.99, 1.0, sample.phi.shape)
    sides = np.where(np.arange(len(sample.users)) % 2, 1.0, -1.0)
    pull = 400 * (phi - phi.mean())[..., :1] * sides / phi.std()
    found = mm.posterior_intervals(replace(sample, phi=phi, user_log_likelihood=pull))
    assert found.phi.scale.max() > 3  # so that draws are spread beyond 1
    for each in (found.phi, found.share):
        assert (each.low >= 0).all() and (each.low <= each.high).all() and (each.high <= 1).all()


def test_the_form_of_intervals(sample):
    found = mm.posterior_intervals(sample, 0.5)
    n = len(sample.items)
    for name in ("phi", "share", "position", "win_rate", "leaderboard"):
        each = getattr(found, name)
        assert (each.low <= each.high).all() and each.scale.shape == each.estimate.shape
    assert found.position.low.min() >= 0 and found.position.high.max() <= n - 1
    assert (found.position.low == np.floor(found.position.low)).all()
    assert sorted(found.leaderboard.estimate.tolist()) == list(range(n))
    rows = found.table()
    assert len(rows) == 2 + 2 + 2 * n + n + n
    assert min(row["low"] for row in rows if row["quantity"] == "position") >= 1
    with pytest.raises(OptionError):
        mm.posterior_intervals(sample, 1.0)


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch):
    import xarray as xr

    monkeypatch.chdir(tmp_path)
    run("simulate", "votes.csv", "--n-items", 5, "-k", 1, "--n-users", 20, "--per-user", 10)
    options = ["--n-warmup", 10, "--n-draws", 6, "--thin", 1, "--seed", 2, "--n-jobs", 1]
    files = ["-o", "draws.nc", "--intervals", "intervals.csv"]
    said, _ = run("sample-posterior", "votes.csv", "-k", 2, *options, *files, "--json")
    sample = mm.sample_posterior("votes.csv", 2, n_warmup=10, n_draws=6, thin=1, seed=2)
    with xr.open_dataset("draws.nc") as draws:
        assert draws["phi"].values.tolist() == sample.phi.tolist()
        assert draws["item"].values.tolist() == sample.items.tolist()
    with Path("intervals.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    exact = mm.posterior_intervals(sample).table()
    assert [float(row["low"]) for row in rows] == pytest.approx([row["low"] for row in exact])
    assert json.loads(said)["table"][0]["quantity"] == "log_likelihood"
    said, _ = run("sample-posterior", "votes.csv", "-k", 2, *options)
    assert "R-hat" in said and "win_rate" in said
