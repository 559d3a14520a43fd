"""Model files of the first version: the parameters to the last bit, the same answers about people,
the report in its new fields.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.model.fit_options import ProjectionsOptions, SpectralOptions
from mallowmix.model.model_file import dumps, loads

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "model_format_2.json").read_text())
NAMES = sorted(EXPECTED)
PAIRS = [("pizza", "ceviche"), ("ramen", "tacos"), ("vindaloo", "lasagne")]


@pytest.fixture(scope="module")
def models():
    return {name: mm.load(DATA / f"{name}.m4") for name in NAMES}


@pytest.fixture(scope="module")
def five():
    return mm.load_dishes(n_users=200).comparisons.take_users(range(5))


def test_the_four_files_are_those_that_were_written():
    assert NAMES == [
        "model_format_2",
        "model_format_2_members",
        "model_format_2_projections",
        "model_format_2_update",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_are_the_same_to_the_last_bit(models, name):
    model, old = models[name], EXPECTED[name]
    assert model.sigma.tolist() == old["sigma"]
    assert model.phi.tolist() == old["phi"]
    assert model.alpha.tolist() == old["alpha"]
    assert (model.bradley_terry is None) == (old["scores"] is None)
    if model.bradley_terry is not None:
        assert model.bradley_terry.scores.tolist() == old["scores"]


@pytest.mark.parametrize("name", NAMES)
def test_users_get_the_same_weights_and_predictions(models, name, five):
    model, old = models[name], EXPECTED[name]
    np.testing.assert_allclose(mm.weights(model, five), old["weights"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(mm.predict(model, five, PAIRS), old["predict"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_calibration_and_members(models, name):
    model, old = models[name], EXPECTED[name]
    found = model.calibration
    assert [
        found.likelihood_weight,
        found.prior_scale,
        found.vertex_share,
        found.spam_share,
    ] == old["calibration"]
    assert len(model.ensemble) == len(old["others"])
    assert len(model.members) == 1 + len(old["others"])


def test_the_members_are_their_scores(models):
    members = list(models["model_format_2_members"].ensemble)
    assert [type(member) for member in members] == [mm.BradleyTerryModel] * 2
    assert [member.n_components for member in members] == [1, 3]


@pytest.mark.parametrize("name", NAMES)
def test_every_report_says_how_much_it_was_learnt_from(models, name):
    report, old = models[name].report, EXPECTED[name]["report"]
    assert report.method == old["method"]
    assert report.seed == old["seed"]
    assert report.n_users == old["users"]
    assert report.n_comparisons == old["comparisons"]
    assert report.fingerprint == old["fingerprint"]
    assert list(report.notes) == old["notes"]
    assert report.log_likelihood is None


def test_a_report_of_the_default_method(models):
    report, old = models["model_format_2"].report, EXPECTED["model_format_2"]["report"]
    assert report.options == SpectralOptions()
    assert (report.components, report.n_fits) == ("mallows", 1)
    trace = report.spectral
    assert trace.sampled_share == old["sampled_share"]
    assert list(trace.spectrum) == old["spectrum"]
    assert trace.noise_edge == old["noise_edge"]
    assert trace.subspace_passes == old["subspace_passes"]
    assert trace.initialisation == old["start"]
    assert {name: list(bounds) for name, bounds in trace.elbo} == old["elbo"]
    assert list(trace.moved) == old["moved"]
    assert list(trace.half_distances) == old["half_distances"]
    assert trace.choice_of_k is None and trace.predicted_halves == trace.moved_by_all == ()
    assert report.projections is report.update is report.calibration is None


def test_a_report_of_members_scores_and_calibration(models):
    report = models["model_format_2_members"].report
    old = EXPECTED["model_format_2_members"]["report"]
    assert report.options == SpectralOptions()
    assert (report.components, report.n_fits) == ("bradley-terry", 3)
    found, expected = report.calibration, old["calibration"]
    assert (found.split, found.n_users) == (expected["split"], expected["users"])
    assert (found.loss_before, found.loss_after) == (expected["before"], expected["after"])
    assert list(report.spectral.spectrum) == old["spectrum"]


def test_a_report_of_the_projections(models):
    report = models["model_format_2_projections"].report
    old = EXPECTED["model_format_2_projections"]["report"]
    assert report.options == ProjectionsOptions() and report.spectral is None
    found = report.projections
    assert [list(pair) for pair in found.novel_pairs] == old["novel_pairs"]
    assert list(found.solid_angles) == old["solid_angles"] and found.zeta == old["zeta"]


def test_a_report_of_an_update(models):
    report = models["model_format_2_update"].report
    old = EXPECTED["model_format_2_update"]["report"]
    assert report.options is None
    found = report.update
    assert {
        "method": found.method,
        "seed": found.seed,
        "fingerprint": found.fingerprint,
    } == old["of"]
    assert list(found.new_items) == old["new_items"]
    assert list(report.spectral.moved) == old["moved"]
    assert list(report.spectral.half_distances) == old["half_distances"]


@pytest.mark.parametrize("name", NAMES)
def test_saved_again_they_are_equal(models, name, tmp_path):
    model = models[name]
    mm.save(model, tmp_path / "again.m4")
    again = mm.load(tmp_path / "again.m4")
    assert again == model
    assert dumps(again) == (tmp_path / "again.m4").read_bytes() == dumps(loads(dumps(model)))


def test_a_file_of_the_first_version_still_recognises_its_own_comparisons(models):
    comparisons = mm.load_dishes(n_users=200).comparisons
    assert models["model_format_2"].report.was_fitted_to(comparisons.fingerprint())
    assert not models["model_format_2_update"].report.was_fitted_to(comparisons.fingerprint())
