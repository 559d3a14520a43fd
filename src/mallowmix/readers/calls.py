"""One call for each form, with the options that this form has."""

from collections.abc import Mapping
from typing import Any

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.row_checks import Policy
from mallowmix.readers.reading import BothBad, PerUser, ReadOptions, Ties, Unlisted, Zero
from mallowmix.readers.source import ColumnNames, comparisons_as


def read_battles(
    source: Any,
    *,
    columns: ColumnNames | None = None,
    query: str | None = None,
    self_pairs: Policy = "error",
    missing: Policy = "error",
    ties: Ties | None = None,
    both_bad: BothBad | None = None,
    outcomes: Mapping[str, str] | None = None,
    one_user: bool = False,
) -> Comparisons:
    """Two candidates and an outcome a row: left, right, outcome (or model_a, model_b, winner, …), user.

    An outcome is a word for left, right, tie or both_bad, or the winner's name.

    Parameters
    ----------
    source, columns, query, self_pairs, missing, ties, one_user
        As in `read_comparisons`.
    both_bad : {"drop", "tie", "error"}
        Battles in which both were bad: left out, treated as ties, or refused.
    outcomes : mapping
        Further words to "left", "right", "tie" or "both_bad".

    Examples
    --------
    >>> import mallowmix as mm
    >>> battles = {"user": ["ann"], "left": ["tea"], "right": ["milk"], "outcome": ["left"]}
    >>> mm.read_battles(battles).n_items
    2
    """
    options = ReadOptions(
        self_pairs=self_pairs,
        missing=missing,
        ties=ties,
        both_bad=both_bad,
        outcomes=outcomes,
        one_user=one_user,
    )
    return comparisons_as("battles", source, columns, query, options)


def read_ratings(
    source: Any,
    *,
    columns: ColumnNames | None = None,
    query: str | None = None,
    missing: Policy = "error",
    ties: Ties | None = None,
    one_user: bool = False,
    per_user: PerUser = "comparisons",
    top_items: int | None = None,
) -> Comparisons:
    """A row for each user, item, rating: of two things that one user rated, the higher rated wins.

    Parameters
    ----------
    source, columns, query, missing, ties, one_user
        As in `read_comparisons`; equal ratings are a tie.
    per_user : {"comparisons", "ratings", "equal"}
        How much a user counts in learning: by all their comparisons, about as much as the number of
        their ratings, or as everybody else.
    top_items : int
        Keep so many of the most rated things.

    Examples
    --------
    >>> import mallowmix as mm
    >>> ratings = {"user": ["ann", "ann"], "item": ["tea", "milk"], "rating": [5, 3]}
    >>> mm.read_ratings(ratings).n_comparisons
    1.0
    """
    options = ReadOptions(
        missing=missing, ties=ties, one_user=one_user, per_user=per_user, top_items=top_items
    )
    return comparisons_as("ratings", source, columns, query, options)


def read_rankings(
    source: Any,
    *,
    columns: ColumnNames | None = None,
    query: str | None = None,
    missing: Policy = "error",
    ties: Ties | None = None,
    one_user: bool = False,
    per_user: PerUser = "comparisons",
    unlisted: Unlisted | None = None,
    zero: Zero = "error",
) -> Comparisons:
    """Rankings: user, item, rank; user, ranking; user, rank_1, …; or user and the position of each item.

    Parameters
    ----------
    source, columns, query, missing, ties, one_user
        As in `read_comparisons`; equal positions are a tie.
    per_user : {"comparisons", "ratings", "equal"}
        How much a user counts in learning, as in `read_ratings`.
    unlisted : {"unknown", "below"}
        Nothing is known of what a ranking does not list, or it is below what is listed (top-k).
    zero : {"error", "missing", "best"}
        What the position 0 means: not ranked, or the best.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.read_rankings({"user": ["ann"], "ranking": ["tea > milk > water"]}).n_comparisons
    3.0
    """
    options = ReadOptions(
        missing=missing,
        ties=ties,
        one_user=one_user,
        per_user=per_user,
        unlisted=unlisted,
        zero=zero,
    )
    return comparisons_as("rankings", source, columns, query, options)


def read_preflib(
    source: Any,
    *,
    ties: Ties | None = None,
    per_user: PerUser = "comparisons",
    unlisted: Unlisted | None = None,
) -> Comparisons:
    """A file of PrefLib, .soc, .soi, .toc or .toi; every voter is a user of their own.

    Parameters
    ----------
    source : path
        The file.
    ties, per_user, unlisted
        As in `read_rankings`.
    """
    options = ReadOptions(ties=ties, per_user=per_user, unlisted=unlisted)
    return comparisons_as("preflib", source, None, None, options)


def read_best_worst(
    source: Any,
    *,
    columns: ColumnNames | None = None,
    query: str | None = None,
    missing: Policy = "error",
    one_user: bool = False,
) -> Comparisons:
    """What was shown (a list, or item_1, item_2, …), the best and the worst of it.

    Parameters
    ----------
    source, columns, query, missing, one_user
        As in `read_comparisons`.

    Examples
    --------
    >>> import mallowmix as mm
    >>> row = {"user": ["ann"], "shown": ["tea|milk|water"], "best": ["tea"], "worst": ["milk"]}
    >>> mm.read_best_worst(row).n_comparisons
    3.0
    """
    options = ReadOptions(missing=missing, one_user=one_user)
    return comparisons_as("best-worst", source, columns, query, options)


def read_bayesmallows(
    source: Any,
    *,
    columns: ColumnNames | None = None,
    query: str | None = None,
    self_pairs: Policy = "error",
    missing: Policy = "error",
    one_user: bool = False,
) -> Comparisons:
    """A row for each assessor, bottom_item, top_item, as the R package BayesMallows has them.

    Parameters
    ----------
    source, columns, query, self_pairs, missing, one_user
        As in `read_comparisons`.
    """
    options = ReadOptions(self_pairs=self_pairs, missing=missing, one_user=one_user)
    return comparisons_as("bayesmallows", source, columns, query, options)


def read_choix(
    source: Any,
    *,
    columns: ColumnNames | None = None,
    query: str | None = None,
    self_pairs: Policy = "error",
    missing: Policy = "error",
    one_user: bool = False,
) -> Comparisons:
    """(winner, loser) tuples, as choix has them: they name nobody, so `one_user=True` is needed.

    Parameters
    ----------
    source, columns, query, self_pairs, missing, one_user
        As in `read_comparisons`.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.read_choix([(0, 1), (1, 2)], one_user=True).n_users
    1
    """
    options = ReadOptions(self_pairs=self_pairs, missing=missing, one_user=one_user)
    return comparisons_as("choix", source, columns, query, options)


def read_implicit(
    source: Any,
    *,
    columns: ColumnNames | None = None,
    query: str | None = None,
    missing: Policy = "error",
    one_user: bool = False,
    per_user: PerUser = "comparisons",
) -> Comparisons:
    """A row for each user, item, clicked (and list): what was clicked beats what was shown beside it.

    Parameters
    ----------
    source, columns, query, missing, one_user
        As in `read_comparisons`; a column list tells the lists that a user saw apart.
    per_user : {"comparisons", "ratings", "equal"}
        How much a user counts in learning, as in `read_ratings`.

    Examples
    --------
    >>> import mallowmix as mm
    >>> seen = {"user": ["ann", "ann"], "item": ["tea", "milk"], "clicked": [1, 0]}
    >>> mm.read_implicit(seen).n_comparisons
    1.0
    """
    options = ReadOptions(missing=missing, one_user=one_user, per_user=per_user)
    return comparisons_as("implicit", source, columns, query, options)
