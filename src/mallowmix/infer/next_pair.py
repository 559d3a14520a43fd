"""The most informative question to a user: the pair whose answer says most about their state.

The state is what the model's predictor holds of the user: weights over components, utilities or a
ranking. The information of every open pair is first computed roughly, to 2 · 10⁻⁴; only those that
could still be the best are computed exactly. The result is that of computing all exactly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.frames import FramedResult
from mallowmix.data.text import name_of, percent, table_of
from mallowmix.engine import make_blocks
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.errors import DataError, OptionError, check_count
from mallowmix.infer.pool_states import PoolStates, draw_states, prepare_pool
from mallowmix.infer.state_draws import ROUGH_ERROR, Codes, entropy, rough_entropies
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.pair_model import check_model
from mallowmix.typing import Array


@dataclass(frozen=True)
class Question:
    """A pair of items to compare.

    Attributes
    ----------
    first, second : labels
        The items.
    information : float
        The mutual information of the answer and the user's state, in nats, at most log 2.
    probability : float
        How probable it is that the first is preferred.
    """

    first: object
    second: object
    information: float
    probability: float


class NextPairs(list[Question], FramedResult):
    """The questions to one user, best first: a list, with a table of it."""

    def columns(self) -> dict[str, Any]:
        """The columns first, second, information and probability."""
        names = [field.name for field in fields(Question)]
        return {name: [getattr(each, name) for each in self] for name in names}

    def _repr_html_(self) -> str:
        rows = []
        for each in self:
            pair = name_of(each.first), name_of(each.second)
            rows.append((*pair, percent(each.probability), f"{each.information:.4f}"))
        headings = ("first", "second", "probability of the first", "information")
        return table_of(headings, rows, f"Questions to one user, best first: {len(self)}")


def next_pair(
    model: ComponentModel,
    comparisons: ComparisonsLike,
    *,
    n_best: int = 1,
    n_draws: int = 200,
    answered: Iterable[tuple[object, object]] = (),
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
) -> NextPairs:
    """Choose the most informative questions to one user, best first.

    The information is I(answer; state) = H(E p) − E H(p), where p is the probability that the first
    item is preferred, given the state: the user's utilities, ranking, or weights over components,
    drawn from the posteriors of the predictor's members. Without a predictor, p = Σ_k θ_k β_(i,j),k
    and the state is θ.

    Parameters
    ----------
    model : FittedModel or M4
        The model.
    comparisons : Comparisons, or whatever `read_comparisons` takes
        Those of one user so far (``comparisons.of("u17")``); may be empty, with that user.
    n_best : int
        How many questions at most.
    n_draws : int
        About how many draws of the state the information is averaged over.
    answered : iterable of two labels
        Further pairs not to ask, in either order: those that were skipped, for instance.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not have.
    seed : int
        The same seed gives the same questions.

    Returns
    -------
    NextPairs
        A list of `Question`, with `to_frame`; empty when every pair has been answered.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=20, per_user=5)
    >>> one = dishes.comparisons.take_users([0])
    >>> [question.information > 0 for question in mm.next_pair(dishes.model, one, n_best=2)]
    [True, True]
    """
    check_model(model)
    comparisons = as_comparisons(comparisons)
    check_count("n_best", n_best, 1)
    check_count("n_draws", n_draws, 2)
    if comparisons.n_users != 1:
        raise DataError(
            f"The next pair is for one user; these are comparisons of {comparisons.n_users}. "
            "Take one with .of(user)."
        )
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    Q, items = model.n_items, model.items.tolist()
    (block,) = make_blocks(comparisons)
    with threadpool_limits(1):  # matrices of one user are small
        states = draw_states(block, prepare_pool(model), n_draws, seed)
    low, high = np.nonzero(_open(comparisons, answered, model))
    found = most_informative(states, low * Q + high, n_best)
    questions = NextPairs(
        Question(items[low[n]], items[high[n]], float(nats), float(p))
        for n, nats, p in zip(*found, strict=True)
    )
    questions.frame_kind = comparisons.frame_kind
    return questions


def most_informative(
    states: PoolStates, codes: Codes, n_best: int = 1
) -> tuple[NDArray[np.int64], Array, Array]:
    """The most informative of some pairs, best first; equal ones in the given order.

    Parameters
    ----------
    states : PoolStates
        Draws of one user's state.
    codes : (P,) array of int
        The pairs, as i · Q + j.
    n_best : int
        How many.

    Returns
    -------
    best, information, probability : three arrays
        Which of `codes`, the information of each in nats, and the probability of its first item.
    """
    near = np.arange(len(codes))
    if len(codes) > n_best:
        rough = rough_information(states, codes)
        # two numbers that are each off by an entropy of the mean and a mean of entropies
        near = np.flatnonzero(rough >= np.partition(rough, -n_best)[-n_best] - 4 * ROUGH_ERROR)
    mean, rest = states.moments(codes[near])
    gains = np.maximum(entropy(mean) - rest, 0.0)
    best = np.argsort(-np.round(gains, 12), kind="stable")[:n_best]
    return near[best], gains[best], mean[best]


def rough_information(states: PoolStates, codes: Codes) -> Array:
    """(P,) the information of each pair to 2 · 10⁻⁴."""
    mean, rest = states.moments(codes, rough=True)
    return rough_entropies(mean) - rest


def _open(
    comparisons: Comparisons, answered: Iterable[tuple[object, object]], model: ComponentModel
) -> NDArray[np.bool_]:
    """(Q, Q) above the diagonal: the pairs that the user has neither answered nor skipped."""
    seen = np.zeros((model.n_items, model.n_items), bool)
    seen[comparisons.winner, comparisons.loser] = True
    for first, second in _couples(answered):
        seen[model.item_number(first), model.item_number(second)] = True
    return np.triu(~(seen | seen.T), 1)


def _couples(answered: Any) -> list[Sequence[object]]:
    couples: list[Any] = list(answered) if isinstance(answered, Iterable) else [None]
    for each in couples:
        if isinstance(each, str) or not isinstance(each, Sequence) or len(each) != 2:
            expected = 'pairs of items, as in [("tea", "milk")]'
            raise OptionError(option="answered", value=answered, expected=expected)
    return couples
