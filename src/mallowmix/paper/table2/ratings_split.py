"""MovieLens for rating prediction: the most rated films, and the split into training and test ratings that Table 2 uses."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.errors import DataError
from mallowmix.paper.movielens_files import read_films
from mallowmix.readers.movielens import Ratings

Columns = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


class RatingsSplit(NamedTuple):
    """Ratings as columns user, item, rating."""

    train: Columns
    test: Columns


def read_split(data: Path | None, n_items: int) -> RatingsSplit:
    """The ratings of the most rated films (counting both parts), in the two parts of `moviedata.mat`."""
    ratings = read_films(data)
    if ratings.train.all():
        raise DataError(
            "These MovieLens ratings have no test part: Table 2 needs moviedata.mat, the split of the BPMF authors. "
            "Name its folder with --data."
        )
    kept = np.isin(ratings.item, most_rated(ratings, n_items))
    return RatingsSplit(_rows(ratings, kept & ratings.train), _rows(ratings, kept & ~ratings.train))


def most_rated(ratings: Ratings, n_items: int) -> NDArray[np.int64]:
    """The numbers of the most rated films; equal counts go in the order of their numbers as text."""
    items, counts = np.unique(ratings.item, return_counts=True)
    return items[np.lexsort((items.astype(str), -counts))[:n_items]]


def _rows(ratings: Ratings, rows: NDArray[np.bool_]) -> Columns:
    return ratings.user[rows], ratings.item[rows], ratings.rating[rows]
