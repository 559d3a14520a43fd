"""What constants of Table 2 are chosen on: ratings that nothing learnt for the choice has seen."""

from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from film_ratings import N_FILMS, write_moviedata
from mallowmix.model.fitted_model import as_fitted
from mallowmix.paper.experiment import Request
from mallowmix.paper.table2 import settings_choice
from mallowmix.paper.table2.ratings_split import held_ratings, of_some_users, read_ratings_split
from mallowmix.paper.table2.settings_choice import SettingsChoice


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    return read_ratings_split(write_moviedata(tmp_path_factory.mktemp("ml")), N_FILMS)


@pytest.fixture
def seen(split, monkeypatch):
    """Without learning: the comparisons of each fit, and the ratings of each prediction."""
    fits, predictions, predict_ratings = [], [], settings_choice.predict_ratings

    def fit(comparisons, k, **options):
        fits.append(comparisons)
        model = mm.random_model(len(comparisons.items), k)
        return as_fitted(replace(model, items=comparisons.items))

    def predict(model, given, targets, *rest, **options):
        predictions.append((given, targets))
        return predict_ratings(model, given, targets, *rest, **options)

    monkeypatch.setattr(settings_choice, "fit", fit)
    monkeypatch.setattr(settings_choice, "predict_ratings", predict)
    monkeypatch.setattr(settings_choice, "_K", 2)
    return fits, predictions


def pairs(ratings):
    return set(zip(ratings[0].tolist(), ratings[1].tolist(), strict=True))


def test_a_tenth_of_the_training_ratings_is_held_out(split):
    given, held_out = held_ratings(split.train)
    assert len(held_out[0]) == len(split.train[0]) // 10
    assert not pairs(given) & pairs(held_out)
    assert pairs(given) | pairs(held_out) == pairs(split.train)
    assert not pairs(held_out) & pairs(split.test)


def test_some_users_are_whole_users(split):
    some = of_some_users(split.train, 3)
    kept = np.unique(some[0])
    assert 0.2 < len(kept) / len(np.unique(split.train[0])) < 0.45
    assert pairs(some) == {pair for pair in pairs(split.train) if pair[0] in set(kept)}


@pytest.mark.slow
def test_no_choice_is_learnt_from_what_it_is_judged_by(split, seen):
    """Nor from a test rating: `SettingsChoice` is never given any."""
    fits, predictions = seen
    choice = SettingsChoice(split.train, Request(n_jobs=1))
    found = choice.m4, choice.tm, choice.tm_floor("marginals"), choice.profiles
    given, held_out = held_ratings(split.train)
    expected = mm.comparisons_from_ratings(*given).n_comparisons
    assert len({float(data.user_weight.sum()) for data in fits}) >= 3  # caps that were tried
    assert {data.n_comparisons for data in fits} == {expected}
    assert len(predictions) > 20
    for before, targets in predictions:
        assert pairs(before) <= pairs(given) and pairs(targets) <= pairs(held_out)
    assert found[1].user_cap == found[0].user_cap and found[2].floor > 0


@pytest.mark.slow
def test_the_cap_is_one_that_a_step_to_either_side_does_not_improve(split, seen, monkeypatch):
    """On errors made up: least at a cap of 2, below the first three that are tried."""
    errors = {}

    def error(self, model, settings, *, floored=False):
        errors[settings.user_cap] = abs(np.log2(settings.user_cap / 2))
        return errors[settings.user_cap]

    monkeypatch.setattr(SettingsChoice, "_posterior_error", error)
    assert SettingsChoice(split.train, Request(n_jobs=1)).m4.user_cap == 2
    assert min(errors) == 1
