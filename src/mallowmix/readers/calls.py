"""One call for each form: `read_comparisons` with the form said."""

from typing import Any

from mallowmix.data.comparisons import Comparisons
from mallowmix.readers.source import read_comparisons


def read_battles(source: Any, **options: Any) -> Comparisons:
    """Two candidates and an outcome a row: left, right, outcome (or model_a, model_b, winner, …), and who judged.

    An outcome is a word for left, right, tie or both_bad, or the winner's name; `outcomes` explains further words. `ties` and
    `both_bad` say what to do with them.
    """
    return read_comparisons(source, format="battles", **options)


def read_ratings(source: Any, **options: Any) -> Comparisons:
    """user, item, rating: of two things that one person rated, the higher rated wins; equal ratings are a tie.

    `top_items` keeps the most rated things, `per_user` says what a person with many ratings counts.
    """
    return read_comparisons(source, format="ratings", **options)


def read_rankings(source: Any, **options: Any) -> Comparisons:
    """Rankings: user, item, rank; user, ranking; user, rank_1, rank_2, …; or user and the places of each item.

    What a ranking does not list is unknown, or below what it lists with `unlisted="below"` (top-k).
    """
    return read_comparisons(source, format="rankings", **options)


def read_preflib(source: Any, **options: Any) -> Comparisons:
    """A file of PrefLib, .soc, .soi, .toc or .toi; every voter is a user of their own."""
    return read_comparisons(source, format="preflib", **options)


def read_best_worst(source: Any, **options: Any) -> Comparisons:
    """What was shown (a list, or item_1, item_2, …), the best and the worst of it."""
    return read_comparisons(source, format="best-worst", **options)


def read_bayesmallows(source: Any, **options: Any) -> Comparisons:
    """assessor, bottom_item, top_item, as the R package BayesMallows has them."""
    return read_comparisons(source, format="bayesmallows", **options)


def read_choix(source: Any, **options: Any) -> Comparisons:
    """(winner, loser) tuples, as choix has them: they name nobody, so `one_user=True` must insist."""
    return read_comparisons(source, format="choix", **options)


def read_implicit(source: Any, **options: Any) -> Comparisons:
    """user, item, clicked and, where people saw several, the list: what was clicked is over what was shown beside it."""
    return read_comparisons(source, format="implicit", **options)
