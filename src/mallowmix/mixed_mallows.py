"""`MixedMallows`, the model as a scikit-learn estimator."""

import warnings
from collections.abc import Iterable
from os import PathLike
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.rankings import Rankings
from mallowmix.engine.conversion import as_comparisons
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.errors import DataError, DataWarning, Option
from mallowmix.fitting.fit import fit
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.predict import predict
from mallowmix.infer.weights import infer_weights
from mallowmix.model.fit_options import FitOptions, MethodName
from mallowmix.model.fit_report import ComponentsKind
from mallowmix.model.fitted_model import FittedModel


class MixedMallows(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The mixed membership Mallows model as a scikit-learn transformer from comparisons to weights.

    X is a users × pairs matrix of counts (sparse or dense): column i·Q + j counts how often a
    person put item i over item j, so that there are Q² columns, those of an item with itself
    empty. For any other width give `pairs`, one (i, j) a column; without it the columns are taken
    for the first ordered pairs (0, 1), (0, 2), … of the smallest Q that has as many, with a
    warning. `Comparisons` are taken as they are, and so are a path and a table with a column
    `winner`: whatever `read_comparisons` reads.

    Parameters
    ----------
    n_components : int
        K, the number of components.
    method : {"spectral", "projections"}, SpectralOptions or ProjectionsOptions
        How to learn, as in `fit`.
    components : {"mallows", "bradley-terry"}
        The family of the components, as in `fit`.
    n_fits : int
        How many fits predictions are averaged over, as in `fit`.
    predictor : bool
        Whether also to learn what predicts users' answers best, as in `fit`; `transform` does not
        need it.
    random_state : int, RandomState or None
        The same number gives the same model; None draws one.
    n_jobs : int
        How many threads; all cores unless given.
    pairs : (columns, 2) array of int
        The ordered pair of each column, for matrices that are not Q² wide.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that were not in the fit, as in `weights`: `transform`,
        `predict_proba` and `score` refuse them, or leave them out.

    Attributes
    ----------
    model_ : FittedModel
        The fitted model.
    components_ : (K, Q²) array
        In the literature, this is β: row k holds the probability that component k prefers i to j,
        at i·Q + j.

    Examples
    --------
    >>> import numpy as np, mallowmix as mm
    >>> X = np.random.default_rng(0).poisson(1.0, (40, 16))
    >>> X[:, ::5] = 0  # no item is compared with itself
    >>> mm.MixedMallows(n_components=1, random_state=0).fit(X).transform(X).shape
    (40, 1)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        method: MethodName | FitOptions = "spectral",
        components: ComponentsKind = "mallows",
        n_fits: int = 1,
        predictor: bool = True,
        random_state: Any = 0,
        n_jobs: int | None = None,
        pairs: Any = None,
        unknown_items: Literal["error", "drop"] = "error",
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.components = components
        self.n_fits = n_fits
        self.predictor = predictor
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.pairs = pairs
        self.unknown_items = unknown_items

    def fit(self, X: Any, y: Any = None) -> "MixedMallows":
        """Learn the components from a users × pairs matrix or from Comparisons; y is ignored."""
        comparisons = self._comparisons(X, reset=True)
        self.model_: FittedModel = fit(
            comparisons,
            self.n_components,
            method=self.method,  # type: ignore[arg-type]
            components=self.components,  # type: ignore[arg-type]
            n_fits=self.n_fits,
            predictor=self.predictor,
            seed=_seed(self.random_state),
            n_jobs=self.n_jobs,
        )
        self.components_ = self.model_.beta().reshape(self.model_.n_components, -1)
        self._n_features_out = self.model_.n_components
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Infer the weights of users.

        Parameters
        ----------
        X : users × pairs matrix or Comparisons
            Their comparisons.

        Returns
        -------
        (M, K) array
            Rows sum to one.
        """
        return infer_weights(self._fitted(), self._known(X), n_jobs=self.n_jobs)

    def predict_proba(self, X: Any, pairs: Any = None) -> NDArray[np.float64]:
        """(M, n) the probability that each user prefers the first of each pair to the second.

        Parameters
        ----------
        X : users × pairs matrix or Comparisons
            The given comparisons of the users.
        pairs : (n, 2) array of item numbers, or pairs of labels
            What to predict; the columns of X unless given.
        """
        model, comparisons = self._fitted(), self._known(X)
        items = model.items.tolist()
        if pairs is not None:
            wanted = _labelled(pairs, items)
            return predict(model, comparisons, wanted, n_jobs=self.n_jobs).probability
        columns = np.stack(np.divmod(np.arange(len(items) ** 2), len(items)), axis=1)
        if not _is_read(X):
            columns = self._columns(_width(X), warn=False)[1]
        proper = columns[:, 0] != columns[:, 1]
        out = np.full((comparisons.n_users, len(columns)), 0.5)
        wanted = _labelled(columns[proper], items)
        found = predict(model, comparisons, wanted, n_jobs=self.n_jobs)
        out[:, proper] = found.probability
        return out

    def score(self, X: Any, y: Any = None) -> float:
        """Log-likelihood per comparison of half of each user's comparisons given the other half.

        The larger, the better; y is ignored; a coin scores −log 2. Best with users whom the model
        has not seen.
        """
        found = completion(self._fitted(), self._known(X), n_jobs=self.n_jobs)
        return found.log_likelihood_per_comparison

    def _fitted(self) -> FittedModel:
        check_is_fitted(self)
        return self.model_

    def _known(self, X: Any) -> Comparisons:
        """The comparisons of X over the items of the model; every user stays."""
        items = self._fitted().items
        chosen: Any = self.unknown_items
        return self._comparisons(X, reset=False).with_items(items, unknown_items=chosen)

    def _comparisons(self, X: Any, *, reset: bool) -> Comparisons:
        if _is_read(X):
            return as_comparisons(X)
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
                DataWarning("Columns that compare an item with itself are ignored."), stacklevel=3
            )
        counts = np.asarray(matrix[users, columns]).ravel()
        if reset and not keep.any():
            raise DataError("X has no comparison: every count is 0.")
        names = [f"{i:0{len(str(n_items))}d}" for i in range(n_items)]
        labels = [f"{m:0{len(str(X.shape[0]))}d}" for m in range(X.shape[0])]
        return Comparisons.from_codes(
            users[keep], winner[keep], loser[keep], counts[keep], names, labels
        )

    def _columns(self, width: int, *, warn: bool) -> tuple[int, NDArray[np.int64]]:
        """Q, and the (winner, loser) of every column."""
        if self.pairs is not None:
            pairs = np.asarray(self.pairs, np.int64)
            if pairs.shape != (width, 2) or np.any(pairs < 0):
                raise DataError(
                    Option("pairs"),
                    f" must hold {width} couples (i, j) of item numbers, one a column; "
                    f"got shape {pairs.shape}.",
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
                DataWarning(
                    f"X has {width} columns, which is not Q² for any Q: they are taken for the "
                    f"first ordered pairs of {Q} items. Give ",
                    Option("pairs"),
                    ", a couple (i, j) for each column, to say what they are.",
                ),
                stacklevel=4,
            )
        winner, loser = np.nonzero(~np.eye(Q, dtype=bool))
        return Q, np.stack([winner, loser], axis=1)[:width]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _seed(random_state: Any) -> int:
    """A seed from scikit-learn's `random_state`."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def _is_read(X: Any) -> bool:
    """Whether X is comparisons or is read as such, and no matrix of counts."""
    kinds = Comparisons | StoredComparisons | Rankings | str | PathLike
    return isinstance(X, kinds) or "winner" in getattr(X, "columns", ())


def _width(X: Any) -> int:
    return X.shape[1] if hasattr(X, "shape") else len(X[0])


def _labelled(pairs: Any, items: list[Any]) -> Any:
    """Pairs of item numbers as pairs of labels; whatever else stays as it is."""
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        return pairs
    return [_label_pair(pair, items) for pair in pairs]


def _label_pair(pair: Any, items: list[Any]) -> Any:
    numbers = np.asarray(pair)
    if numbers.shape != (2,) or numbers.dtype.kind not in "iu":
        return pair
    if numbers.min() < 0 or numbers.max() >= len(items):
        raise DataError(
            f"The pair {tuple(numbers.tolist())} is not of two items: they are numbered from 0 to "
            f"{len(items) - 1}."
        )
    return items[numbers[0]], items[numbers[1]]
