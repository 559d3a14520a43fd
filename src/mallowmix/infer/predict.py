"""Predictions: the probability that a user, or the population, prefers one item to another."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.frames import frame_kind, frame_rows
from mallowmix.data.labels import text_of
from mallowmix.data.text import a_or_an
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks, map_step
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import DataError, did_you_mean
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.pooled_prediction import predictor_population, predictor_probabilities
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.infer.user_results import Predictions
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.pair_model import Pairs, check_model
from mallowmix.model.predictor import Predictor
from mallowmix.numerics.small_work import is_small
from mallowmix.typing import Array

POPULATION = np.array(["population"], object)
_USERS = 500  # predicted together


def predict(
    model: ComponentModel,
    comparisons: ComparisonsLike | None,
    pairs: Pairs,
    *,
    unknown_items: Literal["error", "drop"] = "error",
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> Predictions:
    """Predict the probability that each user prefers the first of each pair to the second.

    By the model's predictor, where it has one (`fit`): the posterior predictive probability, pooled
    over its members. Else it is Σ_k β_(i,j),k E[θ_k | comparisons], averaged over the model's
    ensemble, with its calibration. The two orders of a pair add up to one.

    Parameters
    ----------
    model : FittedModel or M4
        The model.
    comparisons : Comparisons, whatever `read_comparisons` takes, or None
        Those of the users, one row of the result each; None for the population, in one row.
    pairs : iterable of two labels, or a dataframe of two columns
        The pairs of items to predict.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not have.
    n_jobs, engine
        As in `fit`.

    Returns
    -------
    Predictions
        (M, n) probabilities; `to_frame` gives them with labels.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=20)
    >>> found = mm.predict(dishes.model, dishes.comparisons, [("pizza", "ceviche")])
    >>> found.shape
    (20, 1)
    """
    check_model(model)
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise DataError(
            f"The pairs are {a_or_an(type(pairs).__name__)}; they must be a list of two items "
            "each, as in [('tea', 'coffee')]."
        )
    couples: tuple[Any, ...] = tuple(frame_rows(pairs))
    codes = pair_codes(model, couples)
    if comparisons is None:
        return Predictions(POPULATION, couples, _of_population(model, codes), frame_kind(pairs))
    data = as_comparisons(comparisons).with_items(model.items, unknown_items=unknown_items)
    with using(engine, n_jobs) as run:
        found = _predict_codes(model, data, codes, run)
    return Predictions(data.users, couples, found, data.frame_kind)


def _predict_codes(
    model: ComponentModel, data: Comparisons, codes: NDArray[np.int64], engine: Engine
) -> Array:
    """(M, n) the same for ordered pairs by their codes."""
    blocks = make_blocks(data)
    if is_small(len(data)) and isinstance(engine, ThreadEngine):
        engine = ThreadEngine(1)  # NumPy on little arrays keeps other threads waiting
    if isinstance(model, FittedModel) and model.predictor is not None:
        parts = engine.map(_pooled, blocks, (model.predictor, codes))
    else:
        parts = engine.map(_probabilities, blocks, (prepare_members(model), codes))
    return np.concatenate([np.empty((0, len(codes))), *parts])


def _of_population(model: ComponentModel, codes: NDArray[np.int64]) -> Array:
    """(1, n) the probabilities for a user without comparisons."""
    if isinstance(model, FittedModel) and model.predictor is not None:
        return predictor_population(model.predictor).ravel()[codes][None]
    members = prepare_members(model)
    return np.mean([each.prior_mean @ each.beta[codes].T for each in members], axis=0)[None]


def predict_each(
    model: ComponentModel,
    comparisons: Comparisons,
    users: Sequence[object],
    pairs: Sequence[tuple[object, object]],
    *,
    unknown_items: Literal["error", "drop"] = "error",
    n_jobs: int | None = None,
) -> tuple[Array, NDArray[np.bool_]]:
    """Predict one pair for each of some users.

    Parameters
    ----------
    model, comparisons, unknown_items, n_jobs
        As in `predict`.
    users : n labels
        Whose pairs; a user may occur several times.
    pairs : n pairs of labels
        The pair of each.

    Returns
    -------
    probability, known : two (n,) arrays
        The probability that `users[n]` prefers the first of `pairs[n]`, and whether that user has
        comparisons; without, it is the population's probability.
    """
    codes = pair_codes(model, pairs)
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    number = {text: m for m, text in enumerate(text_of(comparisons.users))}
    user_number = np.array([number.get(str(user), -1) for user in users], np.int64)
    known = np.r_[comparisons.per_user() > 0, False][user_number]
    out = np.empty(len(user_number))
    engine = ThreadEngine(n_jobs)
    for rows in _by_user(user_number):
        wanted, column = np.unique(codes[rows], return_inverse=True)
        some = np.unique(user_number[rows])
        if some[0] < 0:
            table = _of_population(model, wanted)
        else:
            table = _predict_codes(model, comparisons.take_users(some), wanted, engine)
        out[rows] = table[np.searchsorted(some, user_number[rows]), column]
    return out, known


def _by_user(user_number: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Rows of some users at a time, of those unknown (−1) first, since the table may be large."""
    order = np.argsort(user_number, kind="stable")
    starts = (
        np.flatnonzero(np.r_[True, np.diff(user_number[order]) > 0])
        if len(order)
        else np.empty(0, np.int64)
    )
    first = int(len(order) > 0 and user_number[order[0]] < 0)
    edges = [0, *starts[first::_USERS].tolist(), len(order)]
    for start, end in pairwise(edges):
        if end > start:
            yield order[start:end]


def pair_codes(model: ComponentModel, pairs: Pairs) -> NDArray[np.int64]:
    """(n,) each couple of labels as first · Q + second."""
    number = {str(item): i for i, item in enumerate(model.items.tolist())}
    codes = []
    for n, pair in enumerate(pairs, 1):
        first, second = (_found(number, label, n) for label in _two(pair, n))
        if first == second:
            raise DataError(f"Pair {n} compares {pair[0]!r} with itself: give two different items.")
        codes.append(first * model.n_items + second)
    return np.array(codes, np.int64)


def _two(pair: Any, n: int) -> Sequence[object]:
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise DataError(f"Pair {n} is {pair!r}; it must be two items, as in ('tea', 'coffee').")
    return pair


def _found(number: dict[str, int], label: object, n: int) -> int:
    try:
        return number[str(label)]
    except KeyError:
        raise DataError(
            f"Pair {n}: the model has no item {label!r}; it has {len(number)} others."
            f"{did_you_mean(label, number)} Correct the name, or leave the pair out."
        ) from None


@map_step("predict pairs")
def _probabilities(block: Block, broadcast: tuple[list[PreparedModel], NDArray[np.int64]]) -> Array:
    fits, codes = broadcast
    return np.mean(
        [fold_in(block, prepared)[0] @ prepared.beta[codes].T for prepared in fits], axis=0
    )


@map_step("predict pairs by the pool")
def _pooled(block: Block, broadcast: tuple[Predictor, NDArray[np.int64]]) -> Array:
    predictor, codes = broadcast
    queries = Queries.same_for_all(block.n_users, codes)
    return predictor_probabilities(block, predictor, queries).reshape(block.n_users, len(codes))
