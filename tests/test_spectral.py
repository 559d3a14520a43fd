"""The spectral method end to end: recovery of planted models, the same bytes on any threads and in
any row order, hard cases.
"""

import json
import math
import warnings
from functools import partial

import numpy as np
import pytest

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, FitError, FitWarning, OptionError
from mallowmix.fitting.choose_k import choose_k
from mallowmix.fitting.fit import fit
from mallowmix.learn.spectral import estimator as spectral
from mallowmix.learn.spectral import user_sample
from mallowmix.learn.spectral.signed_moment import leading_subspace
from mallowmix.model import model_file as storage
from mallowmix.model.fit_options import SpectralOptions, options_from
from mallowmix.model.fit_report import FitReport
from mallowmix.model.m4 import M4
from oracles import labelled_rows
from planted import error, planted


def quiet_fit(comparisons, K, **options):
    """A fit whose warnings about thin data are none of the test's business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit(comparisons, K, **options, predictor=False)


def is_sound(model, K, Q):
    """Nothing undefined, every ranking a ranking, components by their share, a report that JSON can
    hold.
    """
    assert model.sigma.shape == (K, Q)
    assert np.isfinite(model.phi).all() and np.isfinite(model.alpha).all()
    assert (model.alpha > 0).all() and (np.diff(model.alpha) <= 0).all()
    assert storage.loads(storage.dumps(model)) == model
    return True


# ---- recovery ----


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_sharp_rankings_are_recovered_exactly(seed):
    truth = planted(30, 4, 0.1, seed=seed)
    model = fit(truth.sample(800, 100, seed=seed).comparisons, 4, seed=seed, predictor=False)
    assert error(model, truth) == 0
    assert model.phi == pytest.approx(np.full(4, 0.1), abs=0.03)
    assert model.alpha.sum() == pytest.approx(0.4, rel=0.2)


@pytest.mark.slow
def test_noisy_rankings_are_recovered_to_one_pair_in_a_hundred():
    truth = planted(50, 6, 0.5, seed=1)
    model = fit(truth.sample(2000, 100, seed=1).comparisons, 6, seed=1, predictor=False)
    assert error(model, truth) <= 0.01
    assert model.phi == pytest.approx(np.full(6, 0.5), abs=0.05)


@pytest.mark.slow
def test_each_refinement_is_worth_its_time():
    """The mean error over three populations that are too small to be recovered exactly: none ≥
    short ≥ full, and clearly so.
    """
    errors = {"none": [], "short": [], "full": []}
    for seed in range(3):
        truth = planted(30, 4, 0.5, seed=seed)
        data = truth.sample(300, 80, seed=seed).comparisons
        for refine, found in errors.items():
            found.append(
                error(quiet_fit(data, 4, method=SpectralOptions(refine=refine), seed=seed), truth)
            )
    none, short, full = (float(np.mean(found)) for found in errors.values())
    assert none >= short >= full
    assert none > 1.5 * full


@pytest.mark.parametrize("vertices", ["spa", "projections"])
def test_both_vertex_hunters_give_a_start_that_is_far_from_chance(vertices):
    truth = planted(30, 4, 0.1, seed=1)
    data = truth.sample(800, 100, seed=1).comparisons
    assert (
        error(quiet_fit(data, 4, method=SpectralOptions(refine="none", corners=vertices)), truth)
        < 0.1
    )


@pytest.mark.slow
def test_auto_counts_the_components_and_says_how_sure_it_is():
    truth = planted(20, 3, 0.2, seed=3)
    model = fit(truth.sample(400, 60, seed=3).comparisons, "auto", predictor=False)
    assert model.n_components == 3 and error(model, truth) == 0
    assert model.report.spectral.choice_of_k.startswith("3: a fourth component does not predict")


# ---- the same bytes ----


@pytest.fixture(scope="module")
def votes():
    """A population in which some people repeat themselves, and a fit of it."""
    data = planted(10, 3, 0.3, seed=1).sample(150, 40, seed=1).comparisons
    return data, storage.dumps(quiet_fit(data, 3, seed=5, n_jobs=1))


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [2, 4])
def test_the_same_bytes_on_any_number_of_threads(votes, n_jobs):
    data, expected = votes
    assert storage.dumps(quiet_fit(data, 3, seed=5, n_jobs=n_jobs)) == expected


def columns_of(data):
    rows = labelled_rows(data)
    return [list(column) for column in zip(*rows, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_same_bytes_for_any_order_of_rows(votes, seed):
    data, expected = votes
    order = np.random.default_rng(seed).permutation(len(data))
    shuffled = [[column[n] for n in order] for column in columns_of(data)]
    assert storage.dumps(quiet_fit(Comparisons.from_arrays(*shuffled), 3, seed=5)) == expected


@pytest.mark.slow
def test_an_integer_weight_is_so_many_rows(votes):
    data, expected = votes
    user, winner, loser, weight = columns_of(data)
    assert max(weight) > 1
    times = [int(w) for w in weight]
    repeated = [
        [label for label, n in zip(column, times, strict=True) for _ in range(n)]
        for column in (user, winner, loser)
    ]
    assert storage.dumps(quiet_fit(Comparisons.from_arrays(*repeated), 3, seed=5)) == expected


@pytest.mark.slow
def test_another_seed_gives_other_bytes_and_the_same_rankings(votes):
    data, expected = votes
    other = quiet_fit(data, 3, seed=6)
    assert storage.dumps(other) != expected
    assert error(other, storage.loads(expected)) < 0.03


@pytest.mark.slow
def test_labels_that_keep_their_order_change_nothing_else(votes):
    data, expected = votes
    user, winner, loser, weight = columns_of(data)
    renamed = Comparisons.from_arrays(
        [f"person {u[1:]}" for u in user],
        [f"dish {i[1:]}" for i in winner],
        [f"dish {i[1:]}" for i in loser],
        weight,
    )
    model, before = quiet_fit(renamed, 3, seed=5), storage.loads(expected)
    for name in ("sigma", "phi", "alpha"):
        assert getattr(model, name).tobytes() == getattr(before, name).tobytes()


@pytest.mark.slow
def test_any_relabelling_finds_the_planted_rankings():
    truth = planted(12, 2, 0.1, seed=2)
    user, winner, loser, weight = columns_of(truth.sample(300, 60, seed=2).comparisons)
    names = dict(
        zip(
            truth.items.tolist(),
            np.random.default_rng(0).permutation([f"x{i:02d}" for i in range(12)]),
            strict=True,
        )
    )
    renamed = Comparisons.from_arrays(
        user[::-1], [names[i] for i in winner][::-1], [names[i] for i in loser][::-1], weight[::-1]
    )
    model = fit(renamed, 2, predictor=False)
    expected = M4.from_orders(
        [[names[item] for item in row] for row in truth.items[truth.order]],
        items=model.items.tolist(),
    )
    assert error(model, expected) == 0


@pytest.mark.slow
def test_a_weight_of_a_person_is_so_many_people():
    """Statistically: the weighted fit and that of the repeated people find the same rankings, and φ
    and α within their errors.
    """
    truth = planted(15, 3, 0.2, seed=4)
    data = truth.sample(300, 60, seed=4).comparisons
    times = np.random.default_rng(0).integers(1, 4, 300)
    rows = np.concatenate(
        [np.flatnonzero(data.user == m) for m, n in enumerate(times) for _ in range(n)]
    )
    length = np.bincount(data.user, minlength=300)
    number = np.repeat(np.arange(times.sum()), np.repeat(length, times))
    components = (data.winner[rows], data.loser[rows], data.weight[rows], data.items)
    repeated = quiet_fit(
        Comparisons.from_codes(number, *components, [f"u{n:04d}" for n in range(times.sum())]), 3
    )
    weighted = quiet_fit(
        Comparisons.from_codes(
            data.user, data.winner, data.loser, data.weight, data.items, data.users, times
        ),
        3,
    )
    assert error(weighted, truth) == error(repeated, truth) == 0
    assert weighted.phi.mean() == pytest.approx(repeated.phi.mean(), abs=0.03)
    assert weighted.alpha.sum() == pytest.approx(repeated.alpha.sum(), rel=0.2)
    np.testing.assert_allclose(weighted.share, repeated.share, atol=0.03)


# ---- what it says ----


def test_the_report_is_plain_json_and_says_what_was_done(votes):
    report = storage.loads(votes[1]).report
    plain = report.to_dict()
    assert json.loads(json.dumps(plain)) == plain and FitReport.from_dict(plain) == report
    assert report.method == "spectral" and report.options.refine == "full" and report.seed == 5
    trace, elbo = report.spectral, dict(report.spectral.elbo)
    assert trace.initialisation in ("pairs", "people") and set(elbo) == {"pairs", "people"}
    best = {name: history[-1] for name, history in elbo.items()}
    assert trace.initialisation == max(best, key=best.get)
    for history in elbo.values():
        assert np.diff(history).min() > -1e-9 * abs(history[0])
    assert len(trace.spectrum) >= 2
    assert list(trace.spectrum) == sorted(trace.spectrum, reverse=True)
    assert all(isinstance(n, int) for n in trace.moved) and trace.sampled_share == 1
    assert report.n_comparisons == 6000 and report.n_users == 150


def test_the_report_knows_nothing_of_time_or_machine(votes):
    words = json.dumps(storage.loads(votes[1]).report.to_dict()).lower()
    for word in ("second", "time", "n_jobs", "thread", "cpu", "host", "date"):
        assert word not in words


@pytest.mark.slow
def test_progress_is_reported(votes):
    told = []
    quiet_fit(votes[0], 3, progress=lambda *step: told.append(step))
    steps = [name for name, *_ in told]
    assert {"spectrum", "initialisations", "burn in", "averaging"} <= set(steps)
    assert all(0 <= done <= total for _, done, total in told)


def test_options_are_checked(votes):
    data, _ = votes
    with pytest.raises(
        OptionError, match="refine is 'much'; it must be one of 'full', 'short', 'none'"
    ):
        fit(data, 3, method=SpectralOptions(refine="much"), predictor=False)
    with pytest.raises(
        OptionError, match="corners is 'corners'; it must be one of 'spa', 'projections', 'ddp'"
    ):
        fit(data, 3, method=SpectralOptions(corners="corners"), predictor=False)
    with pytest.raises(
        OptionError, match="zeta is no option of method=\"spectral\"; it goes with 'projections'"
    ):
        options_from("spectral", {"zeta": 0.1})


@pytest.mark.slow
def test_more_components_than_pairs_can_tell_apart():
    data = planted(3, 2).sample(40, 10, seed=0).comparisons
    with pytest.raises(
        FitError,
        match="3 items make 3 pairs, which cannot distinguish 5 components: lower n_components "
        "to at most 4",
    ):
        quiet_fit(data, 5)
    assert is_sound(quiet_fit(data, 4), 4, 3)


@pytest.mark.slow
def test_more_components_than_people():
    data = planted(6, 2).sample(3, 30, seed=0).comparisons
    with pytest.raises(DataError, match="4 components cannot be distinguished by 3 users"):
        quiet_fit(data, 4)
    assert is_sound(quiet_fit(data, 3), 3, 6)


def test_an_unsettled_subspace_is_reported(votes, monkeypatch):
    monkeypatch.setattr(spectral, "leading_subspace", partial(leading_subspace, max_passes=1))
    with pytest.warns(FitWarning, match="had not converged after the last pass"):
        model = fit(votes[0], 3, method=SpectralOptions(refine="none"), predictor=False)
    assert any("had not converged" in note for note in model.report.notes)


@pytest.mark.slow
def test_large_data_is_learnt_from_a_sample_and_finished_by_all(monkeypatch):
    """As if 8,000 comparisons were enough to learn from, and there were 40,000."""
    monkeypatch.setattr(user_sample, "ENOUGH", 8000)
    truth = planted(15, 3, 0.2, seed=1)
    data = truth.sample(1000, 40, seed=1).comparisons
    model = fit(data, 3, n_jobs=2, predictor=False)
    assert (
        model.report.spectral.sampled_share == 0.2 and len(model.report.spectral.moved_by_all) > 0
    )
    assert is_sound(model, 3, 15) and error(model, truth) == 0
    assert model.phi == pytest.approx(np.full(3, 0.2), abs=0.03)
    assert storage.dumps(fit(data, 3, n_jobs=1, predictor=False)) == storage.dumps(model)


# ---- hard cases: no crash, nothing undefined ----

REFINES = ("none", "short", "full")


@pytest.mark.parametrize("refine", REFINES)
def test_one_component(refine):
    truth = planted(12, 1, 0.3, alpha=1.0)
    model = quiet_fit(
        truth.sample(60, 40, seed=0).comparisons, 1, method=SpectralOptions(refine=refine)
    )
    assert is_sound(model, 1, 12) and error(model, truth) == 0
    assert model.phi[0] == pytest.approx(0.3, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("refine", REFINES)
def test_two_items_and_two_components(refine):
    """One pair: people for the one and people for the other."""
    truth = M4([[0, 1], [1, 0]], [0.05, 0.05], [0.2, 0.1], ["tea", "coffee"])
    model = quiet_fit(
        truth.sample(200, 20, seed=0).comparisons, 2, method=SpectralOptions(refine=refine)
    )
    assert is_sound(model, 2, 2)
    assert sorted(model.sigma[:, 0].tolist()) == [0, 1]


@pytest.mark.slow
def test_two_items_and_auto():
    truth = M4([[0, 1], [1, 0]], [0.05, 0.05], [0.2, 0.1], ["tea", "coffee"])
    assert quiet_fit(truth.sample(300, 20, seed=0).comparisons, "auto").n_components in (1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("refine", REFINES)
def test_people_of_one_comparison(refine):
    """Nobody says two things, so nothing tells tastes apart: some answer, and nothing undefined."""
    data = planted(6, 2).sample(80, 1, seed=0).comparisons
    assert is_sound(quiet_fit(data, 2, method=SpectralOptions(refine=refine)), 2, 6)
    assert quiet_fit(data, "auto", method=SpectralOptions(refine=refine)).n_components == 1


def correlated(Q, K, seed=0):
    """Reference rankings that are one base ranking, each with some neighbours exchanged."""
    random = np.random.default_rng(seed)
    sigma = [np.argsort(np.argsort(np.arange(Q) + random.normal(0, 2, Q))) for _ in range(K)]
    return M4(sigma, np.full(K, 0.3), np.full(K, 0.1), [f"i{i:02d}" for i in range(Q)])


def zipf_activity(M):
    return np.maximum(1, (300 / np.arange(1, M + 1)).astype(int))


def zipf_mu(Q):
    fame = 1 / np.arange(1, Q + 1)
    return np.outer(fame, fame)


HARD = {
    "correlated references": lambda: correlated(15, 3).sample(150, 40, seed=0),
    "unequal activity": lambda: planted(15, 3).sample(150, zipf_activity(150), seed=0),
    "items asked unevenly": lambda: planted(15, 3).sample(150, 40, mu=zipf_mu(15), seed=0),
    "shares of fifty to one": lambda: planted(15, 3, alpha=[0.5, 0.05, 0.01]).sample(
        200, 40, seed=0
    ),
    "near chance": lambda: planted(15, 3, 0.95).sample(150, 40, seed=0),
    "certain": lambda: planted(15, 3, 0.0).sample(150, 40, seed=0),
    "flat prior": lambda: planted(15, 3, alpha=3.0).sample(150, 40, seed=0),
    "everybody alike": lambda: planted(15, 3, 0.0, alpha=[1.0, 1e-3, 1e-3]).sample(60, 40, seed=0),
    **{
        f"{n} comparisons each": lambda n=n: planted(10, 3).sample(150, n, seed=0)
        for n in (2, 3, 5, 10)
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("refine", ["none", "full"])
@pytest.mark.parametrize("case", HARD)
def test_hard_cases_give_sound_models(case, refine):
    data = HARD[case]().comparisons
    assert is_sound(quiet_fit(data, 3, method=SpectralOptions(refine=refine)), 3, data.n_items)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    ["unequal activity", "items asked unevenly", "shares of fifty to one", "2 comparisons each"],
)
def test_hard_cases_can_be_counted(case):
    data = HARD[case]().comparisons
    K = quiet_fit(data, "auto", method=SpectralOptions(refine="none")).n_components
    assert 1 <= K <= 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", ["correlated references", "unequal activity", "items asked unevenly"]
)
def test_hard_cases_with_more_people_are_recovered(case):
    """What the hard cases leave to be found: most of each ranking (a random one has an error of
    .5).
    """
    if case == "correlated references":
        truth = correlated(15, 3, seed=1)
        data = truth.sample(1500, 60, seed=1).comparisons
    elif case == "unequal activity":
        truth = planted(15, 3, seed=1)
        data = truth.sample(
            1500, np.maximum(3, (3000 / np.arange(1, 1501)).astype(int)), seed=1
        ).comparisons
    else:
        truth = planted(15, 3, seed=1)
        data = truth.sample(1500, 60, mu=zipf_mu(15), seed=1).comparisons
    assert error(quiet_fit(data, 3), truth) < 0.02


@pytest.mark.slow
def test_too_few_components_find_the_largest_tastes():
    truth = planted(15, 4, 0.1, alpha=[0.5, 0.4, 0.04, 0.03], seed=1)
    model = quiet_fit(truth.sample(400, 50, seed=1).comparisons, 2)
    assert is_sound(model, 2, 15)
    largest = M4(truth.sigma[:2], truth.phi[:2], truth.alpha[:2], truth.items)
    assert error(model, largest) < 0.05


@pytest.mark.slow
def test_too_many_components_still_hold_the_planted_ones():
    truth = planted(15, 2, 0.1, seed=1)
    model = quiet_fit(truth.sample(400, 50, seed=1).comparisons, 5)
    assert is_sound(model, 5, 15)
    assert error(model, truth) < 0.02  # two of the five are matched


@pytest.mark.slow
def test_users_and_items_without_comparisons():
    """Labels that no row points to: the model ranks them all the same, and nobody is lost."""
    data = planted(8, 2).sample(60, 20, seed=0).comparisons
    items, users = [*data.items.tolist(), "never"], [*data.users.tolist(), "silent"]
    wider = Comparisons.from_codes(data.user, data.winner, data.loser, data.weight, items, users)
    for refine in REFINES:
        assert is_sound(quiet_fit(wider, 2, method=SpectralOptions(refine=refine)), 2, 9)


@pytest.mark.slow
def test_people_of_weight_nothing_are_as_good_as_absent():
    data = planted(8, 2, 0.1, seed=1).sample(120, 30, seed=1).comparisons
    weight = np.arange(120) % 2
    half = Comparisons.from_codes(
        data.user, data.winner, data.loser, data.weight, data.items, data.users, weight
    )
    model = quiet_fit(half, 2)
    alone = quiet_fit(data.take_users(weight == 1), 2)
    assert is_sound(model, 2, 8) and error(model, alone) < 0.02
    assert model.phi == pytest.approx(alone.phi, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.5, 0.3, 2.5, 1e-3, 700.0])
def test_weights_that_are_no_counts(weight):
    data = planted(8, 2, 0.2, seed=1).sample(60, 20, seed=1).comparisons
    scaled = Comparisons.from_codes(
        data.user, data.winner, data.loser, data.weight * weight, data.items, data.users
    )
    for refine in ("none", "short") if weight > 100 else REFINES:
        assert is_sound(quiet_fit(scaled, 2, method=SpectralOptions(refine=refine)), 2, 8)
    table = choose_k(scaled, [1, 2]).table
    assert all(math.isfinite(row.noise_edge) for row in table) and math.isfinite(
        table[1].eigenvalue
    )


@pytest.mark.slow
def test_every_seed_is_taken():
    data = planted(8, 2).sample(60, 20, seed=1).comparisons
    assert is_sound(quiet_fit(data, 2, seed=2**64 - 1), 2, 8)
    assert quiet_fit(data, "auto", seed=2**64 - 1).n_components >= 1
