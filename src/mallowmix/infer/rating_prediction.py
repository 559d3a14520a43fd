"""Ratings predicted from comparisons with what the user has rated.

With p_j(θ) = Σ_k β_(i,j),k θ_k the probability that the user prefers the item to the j-th item that
they rated (r_j stars), and p_j that at E[θ], there are three rules:

    posterior   p(s) ∝ h(s) exp{ τ [ Σ_{r_j<s} log p_j + Σ_{r_j>s} log(1−p_j)
                                     + ½ Σ_{r_j=s} (log p_j + log(1−p_j)) ] }
    printed     p(s) ∝ ∫ Π_{r_j<s} p_j(θ) Π_{r_j>s} (1−p_j(θ)) p(θ | the user's comparisons) dθ,
                of which the paper takes the largest; ties are ignored
    marginals   p(s) ∝ Π_{r_j<s} p_j Π_{r_j>s} (1−p_j): the same with the comparisons taken for
                independent given all others

h is the user's histogram of stars plus c pseudo-counts of that of all users. τ = a / (n + b),
with n items rated, accounts for the dependence of comparisons that come from one set of ratings:
n of them count about as much as a independent ones. The integral is a mean over draws from the
user's posterior (`infer.gibbs_draws`).
"""

import warnings
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.frames import frame_kind
from mallowmix.data.labels import as_column, as_labels
from mallowmix.data.ratings import RatingTable, Scale, columns, find, rating_table
from mallowmix.engine import Block, Engine, make_blocks, map_step, parallel_map
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import (
    DataError,
    DataWarning,
    OptionError,
    check_at_least,
    check_choice,
    check_count,
)
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.gibbs_draws import draw
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.infer.star_distributions import star_distributions
from mallowmix.infer.user_ratings import RatingPrediction
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.pair_model import check_model
from mallowmix.numerics.randomness import as_key
from mallowmix.readers.rating_forms import comparisons_from_ratings
from mallowmix.typing import Array

Rule: TypeAlias = Literal["posterior", "printed", "marginals"]
RULES: tuple[Rule, ...] = get_args(Rule)
BASES = ("comparisons", "histogram", "population")  # what a prediction can rest on
_TARGETS = 4096  # of consecutive users, in one block


def predict_ratings(
    model: ComponentModel,
    ratings: Any,
    targets: Any,
    rule: Rule = "posterior",
    *,
    scale: Scale = None,
    a: float = 3.0,
    b: float = 6.0,
    c: float = 6.0,
    n_draws: int = 200,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> RatingPrediction:
    """Predict how users will rate items, from their other ratings and a model of comparisons.

    The user's comparisons are those between the items that they rated differently. Probabilities
    are averaged over the model's ensemble, with its calibration. A rating of the target itself is
    left out.

    Parameters
    ----------
    model : FittedModel or M4
        A model of the items.
    ratings : tuple of three columns, mapping or dataframe
        The given ratings: columns user, item, rating.
    targets : tuple of two columns, mapping or dataframe
        What to predict: columns user, item.
    rule : {"posterior", "printed", "marginals"}
        "posterior" gives a calibrated distribution over the levels; "printed" is the paper's rule,
        the probability of the target's comparisons together given the user's others, whose
        prediction is `mode`; "marginals" the product of their single probabilities.
    scale : sequence or mapping, optional
        The levels from worst to best, numbers or labels; the numbers that occur unless given.
    a, b, c : float
        Of "posterior": how many independent comparisons a user's ratings are worth at most, with
        how many ratings half of that is reached, and the pseudo-counts of all users' histogram.
    n_draws, seed : int
        Of "printed": how many draws of a user's weights the integral is a mean of, and their seed.
    n_jobs, engine
        As in `fit`.

    Returns
    -------
    RatingPrediction
        The distribution over the levels of each target, with `mean`, `mode` and `rounded`, and
        `to_frame` for a table with the labels.

    Examples
    --------
    >>> import mallowmix as mm
    >>> model = mm.load_dishes().model
    >>> ratings = {"user": ["me"] * 3, "item": ["pizza", "ramen", "ceviche"], "rating": [5, 4, 1]}
    >>> found = mm.predict_ratings(model, ratings, (["me", "me"], ["lasagne", "tabbouleh"]))
    >>> bool(found.mean[0] > found.mean[1])
    True
    """
    check_model(model)
    check_choice("rule", rule, RULES)
    for name, value in (("a", a), ("b", b), ("c", c)):
        check_at_least(name, value, 0)
    check_count("n_draws", n_draws, 1)
    if c == 0:
        raise OptionError(
            option="c",
            value=c,
            expected="above 0, so that every level that occurs is possible for every user",
        )
    table = rating_table(ratings, scale=scale)
    wanted = columns(targets, ("user", "item"))
    user, item = _targets(table, model, *wanted)
    order = np.argsort(user, kind="stable")
    fits = prepare_members(model)
    # the model's number of each rated item, −1 for none
    known = find(model.items, table.items, "item")[table.item]
    with using(engine, n_jobs) as run:
        draws = (n_draws, as_key(seed)) if rule == "printed" else None
        theta = _weights(model, table, known, fits, draws, run)
    histogram, global_histogram = _histograms(table)
    beta = _stacked([prepared.beta for prepared in fits])
    data = (table.starts(), known, table.level, theta, beta, histogram, global_histogram)
    parts = np.array_split(order, max(1, -(-len(order) // _TARGETS)))
    blocks = [(user[part], item[part]) for part in parts]
    options = (model.n_items, rule == "posterior", a, b, c)
    found = parallel_map(lambda block: star_distributions(*block, *data, *options), blocks, n_jobs)
    distribution, basis = np.empty((len(user), len(table.scale))), np.empty(len(user), np.int64)
    for part, (p, kind) in zip(parts, found, strict=True):
        distribution[part], basis[part] = p, kind
    who, what = (as_labels(as_column(column, "label").to_pylist()) for column in wanted)
    bases, kind = np.array(BASES, object)[basis], frame_kind(targets) or frame_kind(ratings)
    return RatingPrediction(who, what, table.scale, distribution, bases, kind)


def _targets(
    table: RatingTable, model: ComponentModel, who: Any, what: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of all targets: the user's number in the table and the item's in the model, −1 if unknown."""
    user, item = find(table.users, who, "user"), find(model.items, what, "item")
    if len(user) != len(item):
        raise DataError(
            f"The targets have {len(user)} users and {len(item)} items; give as many of each."
        )
    unknown = int(np.count_nonzero(item < 0))
    if unknown:
        warnings.warn(
            DataWarning(
                f"{unknown:,} of {len(item):,} targets are of things that the model does not know; "
                "they get the person's own histogram, whatever the thing."
            ),
            stacklevel=3,
        )
    return user, item


def _weights(
    model: ComponentModel,
    table: RatingTable,
    known: NDArray[np.int64],
    fits: list[PreparedModel],
    draws: tuple[int, np.uint64] | None,
    engine: Engine,
) -> Array:
    """(fits, M, draws, K) weights given the users' ratings as comparisons, means unless draws."""
    prior = [prepared.prior_mean for prepared in fits]
    n_draws = draws[0] if draws else 1
    theta = _stacked([np.tile(mean, (table.n_users, n_draws, 1)) for mean in prior])
    rows = known >= 0
    if not _any_pair(table.user[rows], table.level[rows]):
        return theta
    labels = model.items[known[rows]]
    comparisons = comparisons_from_ratings(table.user[rows], labels, table.level[rows]).with_items(
        model.items
    )
    # numbers of the table's users, in the order of their text
    numbers = comparisons.users.astype(np.int64)
    parts = engine.map(_fold_in, make_blocks(comparisons), (fits, draws))
    theta[:, numbers] = np.concatenate(parts, axis=1)
    return theta


def _any_pair(user: NDArray[np.integer], level: NDArray[np.integer]) -> bool:
    """Whether any user rated two items differently; rows are sorted by user."""
    return bool(np.any((np.diff(user) == 0) & (np.diff(level) != 0)))


@map_step("weights for ratings")
def _fold_in(
    block: Block, broadcast: tuple[list[PreparedModel], tuple[int, np.uint64] | None]
) -> Array:
    fits, draws = broadcast
    if draws is not None:
        return _stacked([draw(block, prepared, *draws) for prepared in fits])
    return _stacked([fold_in(block, prepared)[0][:, None] for prepared in fits])


def _stacked(arrays: list[Array]) -> Array:
    """Arrays (…, K) of fits with unequal K as one, filled up with 0."""
    K = max(array.shape[-1] for array in arrays)
    return np.stack([_filled_up(array, K) for array in arrays])


def _filled_up(array: Array, K: int) -> Array:
    out = np.zeros((*array.shape[:-1], K), array.dtype)
    out[..., : array.shape[-1]] = array
    return out


def _histograms(table: RatingTable) -> tuple[Array, Array]:
    """(M, S) how often each user gave each level, and (S,) the share of each level overall."""
    S = len(table.scale)
    counts = np.bincount(table.user.astype(np.int64) * S + table.level, minlength=table.n_users * S)
    counts = counts.reshape(table.n_users, S).astype(np.float64)
    return counts, counts.sum(axis=0) / counts.sum()
