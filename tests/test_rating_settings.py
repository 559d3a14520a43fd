"""The search for constants: no end of a grid is the answer, and each setting is tried once."""

from dataclasses import replace

import numpy as np

from mallowmix.paper.table2.rating_settings import RatingSettings, searched, settings_text


def test_the_search_goes_on_past_the_ends_of_its_first_grid():
    def loss_of(settings):
        return (
            np.log2(settings.a / 64) ** 2
            + np.log2(settings.b * 8) ** 2
            + abs(settings.floor - 0.012)
        )

    found = searched(RatingSettings(), ("a", "b", "floor"), loss_of)
    assert (found.a, found.b, found.c) == (64, 0.125, RatingSettings().c)
    assert 0.006 < found.floor < 0.024


def test_numbers_that_depend_on_each_other_are_chosen_in_turn_until_none_changes():
    """The best a is twice b, and the best b a quarter of 32: one round ends beside the optimum."""
    tried = []

    def loss_of(settings):
        tried.append(settings)
        gap = np.log2(settings.a) - np.log2(settings.b) - 1
        return gap**2 + 0.3 * np.log2(settings.b / 8) ** 2

    found = searched(RatingSettings(a=1.0, b=1.0), ("a", "b"), loss_of)
    losses = [loss_of(replace(found, **{n: getattr(found, n) * f})) for n in "ab" for f in (0.5, 2)]
    assert min(losses) > loss_of(found)
    tried = tried[: -len(losses) - 1]
    assert len(set(tried)) == len(tried)  # computed once each


def test_settings_in_words():
    assert settings_text(RatingSettings(a=2.0), ("a", "floor")) == "a 2, floor 0.1"


def test_a_cap_whose_neighbours_are_worse_by_chance_is_not_the_answer():
    def loss_of(settings):
        return abs(np.log2(settings.user_cap / 512)) + 3 * (settings.user_cap in (32, 128, 256))

    assert searched(RatingSettings(), ("user_cap",), loss_of, (2.0,)).user_cap == 512
