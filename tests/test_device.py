"""Passes as array programs against the compiled steps, and the GPU engine on the processor's
arrays.
"""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln, psi

import mallowmix.engine.gpu.kernels
from benchmarks import gpu, gpu_fit
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.engine.engine import STEPS
from mallowmix.engine.gpu.device_arrays import (
    batch_e_step,
    batch_pair_counts,
    on_processor,
    user_scale,
)
from mallowmix.engine.gpu.device_forms import FORMS
from mallowmix.engine.gpu.gpu_engine import GpuEngine, to_batch
from mallowmix.errors import MallowmixError
from mallowmix.fitting.fit import fit
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.signed_moment import SignedMoment
from mallowmix.learn.spectral.signed_moment import count_pairs as compiled_counts
from mallowmix.learn.spectral.subspace import pair_statistics
from mallowmix.learn.spectral.variational_em import expected_counts, variational_em
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.mallows import gap_probabilities
from mallowmix.numerics.kemeny import insertion_search
from planted import planted, tiny_population

ON = on_processor()


def engine(room=1 << 30):
    return GpuEngine(2, arrays=ON, room=room)


@pytest.fixture(params=[False, True], ids=["whole", "fractions"])
def data(request):
    return tiny_population(3, Q=6, M=40, fractions=request.param, people=request.param)


def test_counts_and_scales_by_plain_loops(data):
    batch = to_batch(ON, make_blocks(data))
    counts, mass, people, squares = np.zeros(36), 0.0, np.zeros(40), np.zeros(36)
    for m in range(40):
        rows = np.flatnonzero(data.user == m)
        tokens = [min(1.0, w - i) for w in data.weight[rows] for i in range(int(np.ceil(w)))]
        n, u = sum(tokens), data.user_weight[m]
        halves = {
            (data.winner[row], data.loser[row]) for row in rows if data.weight[row] % 1 == 0.5
        }
        # each tie twice: ½ · ½ in either order is left out
        ties = sum((j, i) in halves for i, j in halves)
        products = n**2 - sum(t**2 for t in tokens) - 0.25 * ties
        people[m] = u * n / products if n > 1 and products > 1e-9 * n**2 else 0.0
        mass += u * n * (people[m] > 0)
        for row in rows:
            code, w = data.pair[row], data.weight[row]
            counts[code] += u * w
            squares[code] += people[m] * (int(w) + (w - int(w)) ** 2)
    np.testing.assert_allclose(batch_pair_counts(ON, batch), counts, rtol=1e-6)
    scale = user_scale(ON, batch)
    assert scale.mass == pytest.approx(mass, rel=1e-6)
    np.testing.assert_allclose(scale.users, people, rtol=1e-6)
    np.testing.assert_allclose(scale.squares, squares, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("room", [0, 1 << 30], ids=["streamed", "resident"])
def test_the_moment_is_that_of_the_compiled_step(data, room):
    blocks, local, card = make_blocks(data), ThreadEngine(1), engine(room)
    counts = compiled_counts(blocks, local)
    np.testing.assert_allclose(compiled_counts(blocks, card), counts, rtol=1e-6)
    pairs = pair_statistics(counts, 6)
    V = np.random.default_rng(0).standard_normal((15, 4))
    found, expected = (SignedMoment(blocks, pairs, run).apply(V) for run in (card, local))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    null, expected = (
        SignedMoment(blocks, pairs, run, null_key=3).apply(V) for run in (card, local)
    )
    # signs at random have no form for a card: both ran on threads
    assert null.tobytes() == expected.tobytes()


def test_the_e_step_is_that_of_the_compiled_step_and_keeps_its_state(data):
    blocks, truth = make_blocks(data), planted(6, 3, 0.4)
    components = MallowsComponents(np.array(truth.sigma), np.array(truth.phi))
    found, expected = (
        variational_em(blocks, components, np.full(3, 0.4), run, n_iter=4)
        for run in (engine(), ThreadEngine(1))
    )
    np.testing.assert_allclose(found.elbo, expected.elbo, rtol=1e-5)
    for a, b in zip(found.gamma, expected.gamma, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
    given, table = expected.gamma, beta_table(components, 1e-4)
    one, two = (
        expected_counts(blocks, table, np.full(3, 0.4), run, given)[0]
        for run in (engine(), ThreadEngine(1))
    )
    np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-5)


def test_the_bound_by_hand():
    """One person, one row, two components: log Σ β exp E log θ + the prior's terms, from ψ and log
    Γ alone.
    """
    data = tiny_population(1, Q=3, M=1)
    batch = to_batch(ON, make_blocks(data))
    beta, alpha = (
        np.random.default_rng(0).uniform(0.1, 0.9, (9, 2)).astype(np.float32),
        np.array([0.3, 0.7]),
    )
    _, bound, sums, gamma = batch_e_step(ON, batch, beta, alpha, inner=2)
    g = alpha + data.weight.sum() / 2
    for _ in range(2):
        scale = np.exp(psi(g) - psi(g.sum()))
        r = beta[data.pair] * scale
        g = alpha + (data.weight[:, None] * r / r.sum(axis=1, keepdims=True)).sum(axis=0)
    e_log = psi(g) - psi(g.sum())
    rows = data.weight @ np.log((beta[data.pair] * np.exp(e_log)).sum(axis=1))
    prior = (alpha - g) @ e_log + gammaln(g).sum() - gammaln(g.sum())
    np.testing.assert_allclose(gamma[0], g, rtol=1e-5)
    np.testing.assert_allclose(sums, [*e_log, 1.0], rtol=1e-5)
    assert bound == pytest.approx(rows + prior, rel=1e-5)


def test_a_short_fit_on_device_arrays_is_that_of_the_threads():
    data = planted(15, 3, 0.3).sample(600, 40, seed=1).comparisons
    found, expected = (
        fit(data, 3, method=SpectralOptions(refine="short"), engine=engine(), predictor=False),
        fit(data, 3, method=SpectralOptions(refine="short"), predictor=False),
    )
    assert np.array_equal(found.sigma, expected.sigma)
    assert np.abs(found.phi - expected.phi).max() < 1e-4
    streamed = fit(
        data, 3, method=SpectralOptions(refine="short"), engine=engine(room=0), predictor=False
    )
    assert np.array_equal(streamed.sigma, expected.sigma)


def test_without_a_gpu_one_sentence():
    if shutil.which("nvidia-smi"):
        pytest.skip("there is a card")
    with pytest.raises(
        MallowmixError,
        match=r"^The engine gpu (needs CuPy, which is not installed|found no GPU)",
    ):
        fit(tiny_population(1), 2, engine="gpu", predictor=False)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler")
@pytest.mark.parametrize(("arch", "lanes", "fold_lanes"), [("sm_80", 10, 1), ("sm_90", 8, 32)])
def test_the_kernels_compile(tmp_path, arch, lanes, fold_lanes):
    source = Path(mallowmix.engine.gpu.kernels.__file__).with_suffix(".cu")
    command = [
        "nvcc",
        f"-arch={arch}",
        f"-DLANES={lanes}",
        f"-DFOLD_LANES={fold_lanes}",
        "-cubin",
        "-o",
        tmp_path / "out",
        source,
    ]
    subprocess.run(command, check=True, capture_output=True)


def test_the_benchmarks_columns_are_ours():
    """What the benchmark computes without numba: β by gap, the table of β, insertion search."""
    truth = planted(9, 3, 0.4)
    win = gap_probabilities(9, 0.4)
    np.testing.assert_allclose(
        gpu_fit.chances(9, 0.4), np.concatenate([win.lose[:0:-1], win.win]), rtol=1e-9
    )
    ours = beta_table(MallowsComponents(truth.sigma, truth.phi), gpu_fit.FLOOR)
    np.testing.assert_allclose(gpu_fit.beta_table(truth.sigma, truth.phi), ours, rtol=1e-9)
    random = np.random.default_rng(2)
    wins, order = (
        random.gamma(5, size=(4, 12, 12)),
        np.stack([random.permutation(12) for _ in range(4)]),
    )
    found = gpu_fit.insertion_search(wins, order)
    assert all(np.array_equal(found[k], insertion_search(wins[k], order[k])) for k in range(4))


@pytest.mark.slow
def test_the_benchmark_runs_with_numpy_and_finds_what_was_planted(tmp_path):
    found = gpu.main(["--small", "-o", str(tmp_path), "--comparisons", "60000"])
    assert (tmp_path / "gpu.json").exists() and not any(
        "failed" in str(part) for part in found.values()
    )
    assert found["fit"]["error"] < 0.01 and found["check"]["same rankings"]


def device_cases(data):
    """What each step that has a form for a GPU is given: broadcast, and how its state begins."""
    counts = compiled_counts(make_blocks(data), ThreadEngine(1))
    pairs = pair_statistics(counts, 6)
    V = np.random.default_rng(0).standard_normal((15, 4)).astype(np.float32)
    components = MallowsComponents(np.array(planted(6, 3, 0.4).sigma), np.full(3, 0.4))
    table = beta_table(components, 1e-4).astype(np.float32)
    return {
        "count pairs": (None, None),
        "signed rows": (None, None),
        "signed moment": ((pairs.index, pairs.value.astype(np.float32), V), "signed rows"),
        "variational E-step": ((table, np.full(3, 0.3), 3), None),
    }


@pytest.mark.parametrize("name", sorted(FORMS))
def test_every_device_form_gives_what_its_step_gives(name, data):
    cases, blocks, step = device_cases(data), make_blocks(data), STEPS[name]
    assert set(cases) == set(FORMS)
    broadcast, before = cases[name]
    sums = []
    for run in (ThreadEngine(1), engine()):
        state = run.reduce(STEPS[before], blocks)[1] if before else None
        total, _ = run.reduce(step, blocks, broadcast, state)
        sums.append(total if isinstance(total, tuple) else (total,))
    for host, device in zip(*sums, strict=True):
        np.testing.assert_allclose(device, host, rtol=2e-5, atol=2e-5 * np.abs(host).max())
