"""The scikit-learn shell: `MixedMallows` stores options, calls the functions, and is short."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, DataWarning
from mallowmix.fitting.fit import fit
from mallowmix.infer.weights import weights
from mallowmix.model.m4 import M4


class MixedMallows(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Mixed membership Mallows model as a scikit-learn transformer: people's comparisons in, their weights out.

    X is a users × pairs matrix of counts (sparse or dense): column i·Q + j counts how often a person put item i over item j, so
    that there are Q² columns, those of an item with itself empty. For any other width give `pairs`, one (i, j) a column;
    without it the columns are taken for the first ordered pairs (0, 1), (0, 2), … of the smallest Q that has as many, with a
    warning. `Comparisons` are taken as they are.

    Parameters
    ----------
    n_components : K, the number of shared rankings (in the paper, K)
    method, options : see `mallowmix.fit`; options is a dict of the method's own options
    seed : the same seed gives the same model
    n_jobs : threads
    pairs : the ordered pair of each column, for matrices that are not Q² wide

    Attributes
    ----------
    model_ : the fitted M4
    components_ : (K, Q²) in the literature, this is β: row k holds the probability that component k prefers i to j, at i·Q + j
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        method: str | None = None,
        options: dict[str, Any] | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
        pairs: Any = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.options = options
        self.seed = seed
        self.n_jobs = n_jobs
        self.pairs = pairs

    def fit(self, X: Any, y: Any = None) -> "MixedMallows":
        """Learn the components from a users × pairs matrix or from Comparisons; y is ignored."""
        comparisons = self._comparisons(X, reset=True)
        chosen = {} if self.method is None else {"method": self.method}
        self.model_: M4 = fit(
            comparisons,
            self.n_components,
            seed=self.seed,
            n_jobs=self.n_jobs,
            **chosen,
            **(self.options or {}),
        )
        self.components_ = self.model_.beta().reshape(self.model_.n_components, -1)
        self._n_features_out = self.model_.n_components
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """(M, K) each person's weights; rows sum to one."""
        check_is_fitted(self)
        return weights(self.model_, self._comparisons(X, reset=False), n_jobs=self.n_jobs)

    def _comparisons(self, X: Any, *, reset: bool) -> Comparisons:
        if isinstance(X, Comparisons):
            return X
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True
        )
        n_items, pairs = self._columns(X.shape[1], warn=reset)
        matrix = sp.csr_array(X)
        users, columns = matrix.nonzero()
        winner, loser = pairs[columns].T
        keep = winner != loser
        if reset and not keep.all():
            warnings.warn(
                "Columns that compare an item with itself are ignored.", DataWarning, stacklevel=3
            )
        counts = np.asarray(matrix[users, columns]).ravel()
        if reset and not keep.any():
            raise DataError("X has no comparison: every count is 0.")
        names = [f"{i:0{len(str(n_items))}d}" for i in range(n_items)]
        people = [f"{m:0{len(str(X.shape[0]))}d}" for m in range(X.shape[0])]
        return Comparisons.from_codes(
            users[keep], winner[keep], loser[keep], counts[keep], names, people
        )

    def _columns(self, width: int, *, warn: bool) -> tuple[int, NDArray[np.int64]]:
        """Q, and the (winner, loser) of every column."""
        if self.pairs is not None:
            pairs = np.asarray(self.pairs, np.int64)
            if pairs.shape != (width, 2) or np.any(pairs < 0):
                raise DataError(
                    f"pairs must hold {width} couples (i, j) of item numbers, one a column; got shape {pairs.shape}."
                )
            return int(pairs.max()) + 1, pairs
        Q = max(2, round(width**0.5))
        if width == Q * Q:
            return Q, np.stack(np.divmod(np.arange(width), Q), axis=1)
        while width > Q * (Q - 1):
            Q += 1
        while Q > 2 and width <= (Q - 1) * (Q - 2):
            Q -= 1
        if warn:
            warnings.warn(
                f"X has {width} columns, which is not Q² for any Q: they are taken for the first ordered pairs of {Q} items. "
                "Give pairs=[(i, j), …] to say what the columns are.",
                DataWarning,
                stacklevel=4,
            )
        winner, loser = np.nonzero(~np.eye(Q, dtype=bool))
        return Q, np.stack([winner, loser], axis=1)[:width]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
