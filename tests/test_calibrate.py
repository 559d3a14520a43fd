"""Calibration: it finds what people are like, never does harm on whom it was learnt, and lives in
the model.
"""

from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from command_line import run
from mallowmix.cli.calibrate import in_words
from mallowmix.errors import DataError, OptionError
from mallowmix.fitting.calibrate import LIKELIHOOD_WEIGHTS, weights_to_try
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.heldout_options import CompletionOptions
from mallowmix.model.calibration import Calibration
from mallowmix.model.fit_report import CalibrationTrace, FitReport
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.model_file import dumps, loads

TRUTH = mm.M4.from_orders(["abcdefghij", "jbhdfiaceg", "cgjaebhfid"], 0.5, 0.4)
NEW = TRUTH.sample(300, 40, seed=7).comparisons


def repeated(votes, times):
    """Everybody says everything several times over: dependent comparisons, which look like more
    evidence than they are.
    """
    return replace(votes, weight=times * votes.weight)


def test_people_of_the_model_itself_need_little():
    """The truth, on 300 people from it: nothing is gained by more than .002."""
    found = mm.calibrate(TRUTH, NEW)
    assert found.report.calibration.loss_before - found.report.calibration.loss_after < 0.002
    assert found.calibration.likelihood_weight >= 0.5 and found.calibration.vertex_share <= 0.3


def test_repeated_comparisons_count_for_less():
    """Five copies of each comparison: the evidence of one is found to be far below 1, and the loss
    falls.
    """
    found = mm.calibrate(TRUTH, repeated(NEW, 5))
    assert 0.08 <= found.calibration.likelihood_weight <= 0.5
    assert found.report.calibration.loss_after < found.report.calibration.loss_before
    fresh = repeated(TRUTH.sample(300, 40, seed=8).comparisons, 5)
    better, before = (
        completion(model, fresh, CompletionOptions(split="items")).log_likelihood_per_comparison
        for model in (found, TRUTH)
    )
    assert better > before


@pytest.mark.slow
def test_the_independent_share_of_rankings_is_tried():
    """Voters rank ten items, less alike than the model says: 9 of 45 comparisons determine all."""
    spread = mm.M4.from_orders(["abcdefghij", "jbhdfiaceg", "cgjaebhfid"], 0.8, 0.4)
    ranked = mm.sample_profile(spread, 300, seed=7).comparisons()
    plain = ranked.without_ranking_id()
    assert weights_to_try([ranked, ranked]) == pytest.approx((1.0, 9 / 45, *LIKELIHOOD_WEIGHTS[1:]))
    assert weights_to_try([plain]) == LIKELIHOOD_WEIGHTS
    with_ids, without = (mm.calibrate(TRUTH, data, seed=1) for data in (ranked, plain))
    assert with_ids.calibration.likelihood_weight == pytest.approx(0.2)
    assert without.calibration.likelihood_weight in LIKELIHOOD_WEIGHTS
    losses = [each.report.calibration for each in (with_ids, without)]
    assert losses[0].loss_before == losses[1].loss_before
    assert losses[0].loss_after <= losses[1].loss_after


def test_people_who_hold_one_component_alone():
    """A prior that says everybody is mixed, and people who are not: the vertex part or a small
    scale must win.
    """
    mixed = replace(TRUTH, alpha=np.full(3, 5.0))
    single = mixed.sample(300, 40, prior="vertices", seed=3).comparisons
    found = mm.calibrate(mixed, single)
    assert found.calibration.vertex_share >= 0.5
    assert found.report.calibration.loss_before - found.report.calibration.loss_after > 0.01


@pytest.mark.slow
def test_coin_flips_are_found_when_asked_for():
    random = np.random.default_rng(0)
    flip = random.random(len(NEW.user)) < 0.2  # each of these answers is a coin flip
    winner = np.where(flip, NEW.loser, NEW.winner)
    loser = np.where(flip, NEW.winner, NEW.loser)
    noisy = mm.Comparisons.from_codes(NEW.user, winner, loser, NEW.weight, NEW.items, NEW.users)
    sharp = replace(TRUTH, phi=np.full(3, 0.1))
    assert mm.calibrate(sharp, noisy, spam=True).calibration.spam_share > 0
    assert mm.calibrate(sharp, noisy).calibration.spam_share == 0


@pytest.mark.slow
def test_the_data_it_was_learnt_from_is_not_the_judge():
    """Judged on its own people a model of too many components looks better than on others: by .04
    to .09 in three populations.
    """
    votes = TRUTH.sample(60, 20, seed=1).comparisons
    model = mm.fit(votes, 8, predictor=False)
    honest = mm.calibrate(model, votes)
    flattered = mm.calibrate(model.m4, votes)  # without a report: taken to be of others
    assert honest.report.calibration.loss_before > flattered.report.calibration.loss_before + 0.01
    assert (
        np.array_equal(honest.sigma, model.sigma)
        and honest.report.fingerprint == model.report.fingerprint
    )
    assert honest.report.calibration.n_users <= 60


@pytest.mark.slow
def test_the_same_bytes_on_any_number_of_threads_and_in_any_order():
    one, three = (dumps(mm.calibrate(TRUTH, NEW, n_jobs=n_jobs)) for n_jobs in (1, 3))
    table = NEW.to_arrow()
    columns = [table.column(n).to_pylist()[::-1] for n in range(3)]
    assert (
        one
        == three
        == dumps(mm.calibrate(TRUTH, mm.Comparisons.from_arrays(*columns, NEW.weight[::-1])))
    )
    assert loads(one).calibration == mm.calibrate(TRUTH, NEW).calibration


def test_what_cannot_be():
    with pytest.raises(
        OptionError, match="split is 'films'; it must be one of 'auto', 'comparisons', 'items'"
    ):
        mm.calibrate(TRUTH, NEW, split="films")
    with pytest.raises(OptionError, match=r"given is 1\.5; it must be at least 0"):
        mm.calibrate(TRUTH, NEW, given=1.5)
    alone = mm.Comparisons.from_arrays(["u"], ["a"], ["b"])
    with pytest.raises(
        DataError, match="Nobody has comparisons left to predict after some were given: add users"
    ):
        mm.calibrate(TRUTH, alone, split="items", given=0.9)
    for bad, words in (
        (
            {"likelihood_weight": 0},
            "likelihood_weight is 0; it must be above 0 and at",
        ),
        (
            {"prior_scale": float("inf")},
            "prior_scale is inf; it must be above 0 and at most",
        ),
        ({"vertex_share": 2}, "vertex_share is 2; it must be from 0 to 1"),
        ({"spam_share": float("nan")}, "spam_share is nan; it must be at least 0 and below 1"),
    ):
        with pytest.raises(OptionError, match=words):
            Calibration(**bad)


def test_words_where_nothing_is_gained():
    report = FitReport(calibration=CalibrationTrace("items", 40, 0.5, 0.5))
    plain = FittedModel(TRUTH, report)
    assert in_words(plain).startswith("No setting gains more than its noise")
    halved = FittedModel(TRUTH, report, Calibration(likelihood_weight=0.5))
    assert "counts for 0.5" in in_words(halved)


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    pq.write_table(repeated(NEW, 5).to_arrow(), "votes.parquet")
    mm.save(TRUTH, "model.m4")
    said, _ = run("calibrate", "model.m4", "votes.parquet", "-o", "new.m4")
    found = mm.load("new.m4")
    assert (
        f"One comparison counts for {found.calibration.likelihood_weight:g}" in said
        and "Wrote new.m4." in said
    )
    assert found.calibration == mm.calibrate(TRUTH, repeated(NEW, 5)).calibration
    import json

    values = json.loads(run("calibrate", "model.m4", "votes.parquet", "--json")[0])
    assert (
        values["calibration"]["likelihood_weight"] == found.calibration.likelihood_weight
        and values["output"] == "model.m4"
    )
    assert dumps(mm.load("model.m4")) == dumps(found)
    _, wrong = run("calibrate", "model.m4", "votes.parquet", "--split", "films", code=2)
    assert "--split is 'films'; it must be one of" in wrong


@pytest.mark.slow
def test_fit_can_do_it_all_at_once(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    pq.write_table(NEW.to_arrow(), "votes.parquet")
    said, _ = run(
        "fit",
        "votes.parquet",
        "-k",
        2,
        "--n-fits",
        2,
        "--components",
        "bradley-terry",
        "--calibrate",
    )
    model = mm.load("votes.m4")
    assert (
        model.bradley_terry is not None
        and len(model.ensemble) == 1
        and "One comparison counts for" in said
    )
    expected = mm.calibrate(mm.fit(NEW, 2, n_fits=2, components="bradley-terry"), NEW)
    assert dumps(model) == dumps(expected)
    _, wrong = run("fit", "votes.parquet", "-k", 2, "--components", "logit", code=2)
    assert "components is 'logit'; it must be one of" in wrong
