"""What is a user's own: predicted win rates of the items beside what the user's mixture says.

The mixture is that of the shown components, by the user's weights. Where the predictor knows
better, because the user has utilities or a ranking of their own, the two differ; items with a large
and certain difference are named.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mallowmix.data.frames import FramedResult
from mallowmix.data.text import joined, name_of, percent, printable, table_of
from mallowmix.engine import Block, make_blocks
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.errors import DataError, Option, check_count, check_level
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.gibbs_draws import draw, without_spam
from mallowmix.infer.pool_states import draw_states, prepare_pool
from mallowmix.infer.pooled_ranking import pooled_win_rates
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.state_draws import win_rates
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.fitted_model import FittedModel, names_in
from mallowmix.model.names import component_titles
from mallowmix.model.pair_model import check_model
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array

LARGE = 0.2  # a difference in win rate that is named: a fifth of all items lie between
N_NAMED = 3  # items in each direction
_MOSTLY, _PART = 0.5, 0.15  # weights of a component that the summary names


@dataclass(frozen=True)
class ItemDifference:
    """An item that a user likes more or less than the user's mixture of components says.

    Attributes
    ----------
    item : label
        The item.
    win_rate : float
        How probable it is that it wins against another item, by the predictor.
    mixture_win_rate : float
        The same by the components, mixed by the user's weights.
    low, high : float
        The interval of the difference of the two.
    """

    item: object
    win_rate: float
    mixture_win_rate: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """The first win rate minus the second."""
        return self.win_rate - self.mixture_win_rate


@dataclass(frozen=True, eq=False, repr=False)
class UserExplanation(FramedResult):
    """A user's predicted win rates beside those of the user's mixture of components.

    Attributes
    ----------
    user : label
        Whose they are.
    theta : (K,) array
        The weights of the mixture.
    lines : tuple of ItemDifference
        All items, best first by the predictor.
    level : float
        Of the intervals.
    """

    user: object
    theta: Array
    lines: tuple[ItemDifference, ...]
    level: float
    frame_kind: str | None = None
    component_names: tuple[str, ...] = ()

    @property
    def more(self) -> list[ItemDifference]:
        """The items that the user likes far more than the mixture says, at most three."""
        found = [x for x in self.lines if x.low > 0 and x.difference >= LARGE]
        return sorted(found, key=lambda x: -x.difference)[:N_NAMED]

    @property
    def less(self) -> list[ItemDifference]:
        """The items that the user likes far less than the mixture says, at most three."""
        found = [x for x in self.lines if x.high < 0 and x.difference <= -LARGE]
        return sorted(found, key=lambda x: x.difference)[:N_NAMED]

    def columns(self) -> dict[str, Any]:
        """Item, win_rate, mixture_win_rate, difference, low, high: a row for each item."""
        names = ("item", "win_rate", "mixture_win_rate", "difference", "low", "high")
        return {name: [getattr(line, name) for line in self.lines] for name in names}

    def summary(self) -> str:
        """A few sentences: the components that the user mixes, and what is the user's own."""
        sentences = [_mixture_sentence(self.theta, self.component_names)]
        for found, word in ((self.more, "more"), (self.less, "less")):
            if found:
                sentences.append(
                    f"Likes {joined([_named(x) for x in found])} far {word} than that."
                )
        if len(sentences) == 1:
            sentences.append("No item is liked far more or far less than that, as far as is known.")
        return " ".join(sentences)

    def __repr__(self) -> str:
        return f"Explanation of user {printable(self.user)}: {self.summary()}"

    def _repr_html_(self) -> str:
        headings = ("item", "win rate", "by the mixture", "difference")
        rows = [
            (name_of(x.item), percent(x.win_rate), percent(x.mixture_win_rate), _signed(x))
            for x in self.lines
        ]
        return table_of(headings, rows, repr(self))


def explain_user(
    model: ComponentModel,
    comparisons: ComparisonsLike,
    *,
    level: float = 0.9,
    n_draws: int = 400,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
) -> UserExplanation:
    """Explain a user: the mixture of components, and the items that it does not account for.

    Parameters
    ----------
    model : FittedModel
        A model with a predictor.
    comparisons : Comparisons, or whatever `read_comparisons` takes
        Those of one user (``comparisons.of("u17")``).
    level : float
        The probability that the difference of an item's win rates lies in its interval.
    n_draws : int
        About how many draws an interval rests on.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not have.
    seed : int
        Of the draws.

    Returns
    -------
    UserExplanation
        For each item the win rate by the predictor and by the mixture; `more` and `less` are the
        items with a large and certain difference, `summary` says it in words.

    Examples
    --------
    >>> import numpy as np, mallowmix as mm
    >>> m4 = mm.M4.from_orders(["abcd"], phi=0.5)
    >>> means, variances = [[1.5, 0.5, -0.5, -1.5]], np.full(4, 9.0)
    >>> own = mm.UtilitiesModel(means, np.zeros((4, 0)), variances, [1.0], "abcd")
    >>> model = mm.FittedModel(m4, predictor=mm.Predictor((own,), np.ones((3, 1))))
    >>> votes = [("ann", "d", other) for other in "abc"] * 3
    >>> [line.item for line in mm.explain_user(model, votes).more]
    ['d']
    """
    check_model(model)
    check_level(level)
    check_count("n_draws", n_draws, 10)
    data = as_comparisons(comparisons)
    if data.n_users != 1:
        raise DataError(
            f"An explanation is of one user; these are comparisons of {data.n_users}. "
            "Take one with .of(user)."
        )
    data = data.with_items(model.items, unknown_items=unknown_items)
    (block,) = make_blocks(data)
    with threadpool_limits(1):  # matrices of one user are small
        own, drawn = _own_rates(block, model, n_draws, seed)
        theta, mixed, mixed_draws = _mixture_rates(block, model, len(drawn), seed)
    point = own - mixed
    ends = np.quantile(drawn - mixed_draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    low, high = np.minimum(ends[0], point), np.maximum(ends[1], point)
    items = model.items.tolist()
    lines = tuple(
        ItemDifference(items[i], *(float(x[i]) for x in (own, mixed, low, high)))
        for i in _best_first(own)
    )
    kind, names = data.frame_kind, names_in(model)
    return UserExplanation(data.users.tolist()[0], theta, lines, level, kind, names)


def _own_rates(block: Block, model: ComponentModel, n_draws: int, seed: int) -> tuple[Array, Array]:
    """(Q,) win rates by the predictor, and (S, Q) draws of them from the user's posterior."""
    if not isinstance(model, FittedModel) or model.predictor is None:
        raise DataError(
            "This model has no predictor, so that a user's mixture of components is all that is "
            "known: learn one by a fit with ",
            Option("predictor", True, "fit"),
            ".",
        )
    states = draw_states(block, prepare_pool(model), n_draws, seed).states
    draws = np.concatenate([each.win_rates() for each in states])
    return pooled_win_rates(block, model.predictor)[0], draws


def _mixture_rates(
    block: Block, model: ComponentModel, n_draws: int, seed: int
) -> tuple[Array, Array, Array]:
    """(K,) weights, (Q,) win rates by the mixture, and (S, Q) draws of them."""
    prepared, Q, K = prepare(model), model.n_items, model.n_components
    rates = win_rates(np.moveaxis(prepared.beta[:, :K].reshape(Q, Q, K), 2, 0))
    share = prepared.share[:K]
    theta = without_spam(fold_in(block, prepared)[0], share)[0]
    drawn = without_spam(draw(block, prepared, n_draws, as_key(seed)), share)[0]
    return theta, theta @ rates, drawn @ rates


def _best_first(rates: Array) -> NDArray[np.int64]:
    return np.argsort(-np.round(rates, 12), kind="stable")


def _mixture_sentence(theta: Array, names: tuple[str, ...]) -> str:
    order, called = np.argsort(-theta, kind="stable"), component_titles(names, len(theta))
    named = [f"{printable(called[k])}, {theta[k]:.0%}" for k in order if theta[k] >= _PART]
    if len(theta) == 1:
        return f"All of {printable(called[0])}, the only one."
    if theta[order[0]] >= _MOSTLY:
        return f"Mostly {named[0]}."
    return f"A mixture of {joined(named)}." if named else "A mixture of many components."


def _named(line: ItemDifference) -> str:
    rates = f"wins {line.win_rate:.0%}, not {line.mixture_win_rate:.0%}"
    return f"{printable(line.item)} ({rates})"


def _signed(line: ItemDifference) -> str:
    return f"{100 * line.difference:+.1f}&nbsp;%"
