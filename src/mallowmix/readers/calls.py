"""One function for each form, with the options that the form has."""

from collections.abc import Mapping
from typing import Any

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.row_checks import Policy
from mallowmix.readers.any_source import ColumnNames, comparisons_as
from mallowmix.readers.reading import BothBad, PerUser, ReadOptions, Ties, Unlisted, Zero


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
    """Read battles: left, right, outcome (or model_a, model_b, winner, …) and user in each row.

    An outcome is a word for left, right, tie or both_bad, or the winner's name.

    Parameters
    ----------
    source, columns, query, self_pairs, missing, ties, one_user
        As in `read_comparisons`.
    both_bad : {"drop", "tie", "error"}
        Battles in which both were bad: left out, treated as ties, or refused.
    outcomes : mapping
        Further words to "left", "right", "tie" or "both_bad".

    Returns
    -------
    Comparisons

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
    """Read ratings: user, item, rating. Of two items that a user rated, the higher rated wins.

    Parameters
    ----------
    source, columns, query, missing, ties, one_user
        As in `read_comparisons`; equal ratings are a tie.
    per_user : {"comparisons", "ratings", "equal"}
        How much a user counts in learning: by all their comparisons, about as much as the number of
        their ratings, or as much as every other user.
    top_items : int
        Keep this many of the most rated items.

    Returns
    -------
    Comparisons

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
    """Read rankings; every two items at different positions of one ranking are compared.

    The columns are user, item, rank; or user, ranking; or user, rank_1, rank_2, …; or user and one
    column for each item, which holds its position.

    Parameters
    ----------
    source, columns, query, missing, ties, one_user
        As in `read_comparisons`; equal positions are a tie.
    per_user : {"comparisons", "ratings", "equal"}
        How much a user counts in learning, as in `read_ratings`.
    unlisted : {"unknown", "below"}
        Items that a ranking does not list: not compared, or below those that it lists (top-k).
    zero : {"error", "missing", "best"}
        What the position 0 means: an error, not ranked, or the best.

    Returns
    -------
    Comparisons

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
    """Read a PrefLib file (.soc, .soi, .toc or .toi); every voter is a user of their own.

    Parameters
    ----------
    source : path
        The file.
    ties, per_user, unlisted
        As in `read_rankings`.

    Returns
    -------
    Comparisons

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mallowmix as mm
    >>> lines = ["# NUMBER ALTERNATIVES: 3", "2: 1,2,3", "1: 3,2,1"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "three.soc"
    ...     _ = path.write_text(chr(10).join(lines))
    ...     mm.read_preflib(path).n_users
    3
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
    """Read best-worst choices: what was shown (a list, or item_1, …), its best and worst.

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
    """Read assessor, bottom_item, top_item in each row, as the R package BayesMallows has them.

    Parameters
    ----------
    source, columns, query, self_pairs, missing, one_user
        As in `read_comparisons`.

    Examples
    --------
    >>> import mallowmix as mm
    >>> row = {"assessor": [1], "bottom_item": ["milk"], "top_item": ["tea"]}
    >>> mm.read_bayesmallows(row).n_comparisons
    1.0
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
    """Read (winner, loser) tuples, as choix has them; they name no user, so pass `one_user=True`.

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
    """Read implicit feedback: user, item, clicked (and list) in each row.

    An item that was clicked beats those that were shown in the same list and were not clicked.

    Parameters
    ----------
    source, columns, query, missing, one_user
        As in `read_comparisons`; a column list separates the lists that a user saw.
    per_user : {"comparisons", "ratings", "equal"}
        How much a user counts in learning, as in `read_ratings`.

    Returns
    -------
    Comparisons

    Examples
    --------
    >>> import mallowmix as mm
    >>> seen = {"user": ["ann", "ann"], "item": ["tea", "milk"], "clicked": [1, 0]}
    >>> mm.read_implicit(seen).n_comparisons
    1.0
    """
    options = ReadOptions(missing=missing, one_user=one_user, per_user=per_user)
    return comparisons_as("implicit", source, columns, query, options)
