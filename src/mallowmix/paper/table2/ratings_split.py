"""The ratings of MovieLens for Table 2: the most rated films, training and test part.

What is chosen is chosen on a tenth of the training part, held out of all that is learnt for it.
"""

from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mallowmix.errors import DataError, Option
from mallowmix.numerics.randomness import Step, generator
from mallowmix.paper.movielens_files import most_rated, read_films
from mallowmix.readers.movielens import Ratings

RatingColumns: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Columns user, item, rating."""


class RatingsSplit(NamedTuple):
    """Ratings to learn from, and ratings to predict, as columns."""

    train: RatingColumns
    test: RatingColumns


def read_ratings_split(data: Path | None, n_items: int) -> RatingsSplit:
    """The ratings of the most rated films, in the two parts of `moviedata.mat`.

    Parameters
    ----------
    data : Path, optional
        The folder with MovieLens.
    n_items : int
        How many films; the ratings of both parts count.

    Returns
    -------
    RatingsSplit
        The two parts.
    """
    ratings = read_films(data)
    if ratings.train.all():
        raise DataError(
            "These MovieLens ratings have no test part: Table 2 needs moviedata.mat, the split of "
            "the BPMF authors. Name its folder with ",
            Option("data"),
            ".",
        )
    kept = np.isin(ratings.item, most_rated(ratings, n_items))
    train, test = (_columns(ratings, kept & part) for part in (ratings.train, ~ratings.train))
    return RatingsSplit(train, test)


def _columns(ratings: Ratings, rows: NDArray[np.bool_]) -> RatingColumns:
    return ratings.user[rows], ratings.item[rows], ratings.rating[rows]


def held_ratings(train: RatingColumns) -> tuple[RatingColumns, RatingColumns]:
    """Nine tenths of the training ratings, and the tenth by which settings are chosen."""
    held = generator(0, Step.TABLE_2).permutation(len(train[0])) < len(train[0]) // 10
    return _rows(train, ~held), _rows(train, held)


def of_some_users(ratings: RatingColumns, n_parts: int) -> RatingColumns:
    """The ratings of every n-th user.

    Parameters
    ----------
    ratings : RatingColumns
        The ratings; users are numbers.
    n_parts : int
        n.
    """
    return _rows(ratings, ratings[0] % n_parts == 0)


def _rows(ratings: RatingColumns, rows: NDArray[np.bool_]) -> RatingColumns:
    user, item, stars = ratings
    return user[rows], item[rows], stars[rows]
