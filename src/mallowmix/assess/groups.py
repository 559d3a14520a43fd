"""Groups of users: the mean weight of each component, with intervals, and tests of differences."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from mallowmix.assess.group_results import Groups, GroupShare, GroupTest
from mallowmix.assess.user_attributes import read_attributes
from mallowmix.data.known_items import known_comparisons_of
from mallowmix.engine import Engine
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.selection import EngineName
from mallowmix.errors import (
    DataError,
    DataWarning,
    Option,
    OptionError,
    check_count,
    check_level,
    did_you_mean,
)
from mallowmix.infer.weights import weights
from mallowmix.model.fitted_model import AnyModel, names_in
from mallowmix.model.pair_model import check_model
from mallowmix.numerics.randomness import Step, as_key, generator
from mallowmix.typing import Array

_STEP = Step.PERMUTATIONS
Grouping = NDArray[np.intp]  # the number of each user's group
MOST_GROUPS = 20  # an attribute with more values is no grouping


def compare_groups(
    model: AnyModel,
    comparisons: ComparisonsLike,
    attributes: Any,
    *,
    by: str | Sequence[str] | None = None,
    user: str = "user",
    level: float = 0.9,
    n_permutations: int = 1999,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> Groups:
    """Compare groups of users by the weights of their components.

    Weights are posterior means under the model. Those of users with few comparisons stay near the
    model's prior, and so do the shares of their group: the truth may differ by more. Users without
    comparisons or without a value are left out.

    Parameters
    ----------
    model : AnyModel
    comparisons : Comparisons, or whatever `read_comparisons` takes
    attributes : path, dataframe, or mapping of columns
        A table with one row for each user (.csv, .tsv, .parquet, a dataframe, a mapping).
    by : str or sequence of str, optional
        The columns to group by; all with at most 20 different values unless given.
    user : str
        The name of the column that holds the users.
    level : float
        Of the intervals: mean ± t · s.e. over the users of a group, each an independent draw.
    n_permutations : int
        How many times the groups are assigned anew to the users, at random.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not know.
    seed : int
        Of the permutations.
    n_jobs, engine
        As in `fit`.

    Returns
    -------
    Groups

    Notes
    -----
    The test: Σ_k Σ_g (m_gk − m_k)² / s.e.²_gk, with m_k the mean of the groups weighted by
    1 / s.e.², against its values when groups are assigned at random. Its p-value is exact when
    weights do not depend on the group, and nearly so when groups differ only in how precisely
    their users are known (the statistic is studentised). `p_holm` holds for all attributes
    together.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes()
    >>> likes_spicy = (dishes.theta[:, 1] > 0.5).tolist()  # planted, so that groups differ
    >>> table = {"user": dishes.comparisons.users, "spicy": likes_spicy}
    >>> found = mm.compare_groups(dishes.model, dishes.comparisons, table, n_permutations=99)
    >>> print(found.words())
    spicy: its groups differ (p = 0.01 after correction, 2 groups, 600 people).
    """
    check_model(model)
    comparisons = known_comparisons_of(as_comparisons(comparisons), model.items, unknown_items)
    check_level(level)
    check_count("n_permutations", n_permutations, 19)
    values = read_attributes(attributes, comparisons.users, user=user)
    chosen = _chosen(values, by)
    counted = (comparisons.per_user() > 0) & (comparisons.user_weight > 0)
    theta = weights(model, comparisons, n_jobs=n_jobs, engine=engine)
    shares, tests = [], []
    for name in chosen:
        known = np.array([value is not None for value in values[name]]) & counted
        names, group = np.unique(
            [str(values[name][m]) for m in np.flatnonzero(known)], return_inverse=True
        )
        moments = _moments(theta[known], comparisons.user_weight[known])
        shares += _shares(name, names.tolist(), group, moments, theta.shape[1], level)
        tests.append(_test(name, len(names), group, moments, n_permutations, int(as_key(seed))))
    kind = comparisons.frame_kind
    return Groups(level, tuple(shares), tuple(_with_holm(tests)), names_in(model), kind)


def _chosen(values: dict[str, list[str | None]], by: str | Sequence[str] | None) -> list[str]:
    wanted = [by] if isinstance(by, str) else by
    named = isinstance(wanted, Sequence) and all(isinstance(name, str) for name in wanted)
    if wanted is not None and not (named and wanted):
        expected = f"names of columns, from {', '.join(map(repr, values))}"
        raise OptionError(option="by", value=by, expected=expected)
    for name in wanted or []:
        if name not in values:
            raise OptionError(
                Option("by"),
                f" is {name!r}, but the attributes have only the columns "
                f"{', '.join(map(repr, values))}.{did_you_mean(name, values)}",
                option="by",
                value=name,
                expected=f"one of {', '.join(map(repr, values))}",
            )
        if _n_values(values[name]) > MOST_GROUPS:
            raise DataError(
                f"{name!r} has {_n_values(values[name])} different values; "
                f"cut it into {MOST_GROUPS} groups at most."
            )
    if wanted is not None:
        return list(wanted)
    many = [name for name in values if _n_values(values[name]) > MOST_GROUPS]
    if many:
        warnings.warn(
            DataWarning(
                f"Left out, having more than {MOST_GROUPS} different values: {', '.join(many)}."
            ),
            stacklevel=3,
        )
    chosen = [name for name in values if name not in many and _n_values(values[name])]
    if not chosen:
        raise DataError(
            f"The attributes have no column with {MOST_GROUPS} different values at most "
            "to group people by."
        )
    return chosen


def _n_values(column: list[str | None]) -> int:
    return len(set(column) - {None})


def _moments(theta: Array, u: Array) -> Array:
    """(M, 3 + 3K) the columns that sums over a group need: 1, u, u², u θ_k, u² θ_k, u² θ_k²."""
    return np.column_stack(
        [
            np.ones(len(u)),
            u,
            u**2,
            u[:, None] * theta,
            (u**2)[:, None] * theta,
            (u[:, None] * theta) ** 2,
        ]
    )


def _means(sums: Array) -> tuple[Array, Array, Array]:
    """Of group sums (G, 3 + 3K): counts (G,), weighted means (G, K), and squared standard errors.

    s.e.² = n/(n−1) Σ u² (θ − m)² / (Σ u)²
    """
    K = (sums.shape[1] - 3) // 3
    n, u, squares = sums[:, 0], sums[:, 1:2], sums[:, 2:3]
    mean = sums[:, 3 : 3 + K] / u
    spread = sums[:, 3 + 2 * K :] - 2 * mean * sums[:, 3 + K : 3 + 2 * K] + mean**2 * squares
    return n, mean, np.maximum(spread, 0) / u**2 * (n / np.maximum(n - 1, 1))[:, None]


def _sums(group: Grouping, moments: Array, n_groups: int) -> Array:
    return np.array([np.bincount(group, column, n_groups) for column in moments.T], np.float64).T


def _shares(
    name: str, names: list[str], group: Grouping, moments: Array, K: int, level: float
) -> list[GroupShare]:
    n, mean, variance = _means(_sums(group, moments, len(names)))
    reach = student.ppf(0.5 + level / 2, np.maximum(n - 1, 1))[:, None] * np.sqrt(variance)
    low, high = np.clip(mean - reach, 0, 1), np.clip(mean + reach, 0, 1)
    low[n < 2], high[n < 2] = 0.0, 1.0  # no variance of one user
    return [
        GroupShare(
            name, names[g], int(n[g]), k + 1, float(mean[g, k]), float(low[g, k]), float(high[g, k])
        )
        for g in range(len(names))
        for k in range(K)
    ]


def _test(
    name: str, n_groups: int, group: Grouping, moments: Array, n_permutations: int, seed: int
) -> GroupTest:
    """Test one attribute; groups of one user cannot be studentised, and are left out."""
    sizes = np.bincount(group, minlength=n_groups)
    keep = sizes[group] >= 2
    if np.count_nonzero(sizes >= 2) < 2:
        return GroupTest(name, n_groups, len(group), None, None, None)
    _, regrouped = np.unique(group[keep], return_inverse=True)
    rows, random = moments[keep], generator(seed, _STEP)
    seen = _statistic(_sums(regrouped, rows, regrouped.max() + 1))
    as_large = 1
    for _ in range(n_permutations):
        other = _statistic(_sums(random.permutation(regrouped), rows, regrouped.max() + 1))
        as_large += other >= seen * (1 - 1e-12)
    return GroupTest(name, n_groups, len(group), seen, as_large / (n_permutations + 1), None)


def _statistic(sums: Array) -> float:
    _, mean, variance = _means(sums)
    precision = 1 / np.maximum(variance, 1e-12)
    centre = (precision * mean).sum(axis=0) / precision.sum(axis=0)
    return float(np.sum(precision * (mean - centre) ** 2))


def _with_holm(tests: list[GroupTest]) -> list[GroupTest]:
    """Holm: the i-th smallest of n p-values times n − i + 1, made monotone, up to 1."""
    tested = sorted((test.p_value, i) for i, test in enumerate(tests) if test.p_value is not None)
    corrected, before = list(tests), 0.0
    for rank, (p, i) in enumerate(tested):
        before = max(before, min(1.0, (len(tested) - rank) * p))
        corrected[i] = replace(tests[i], p_holm=before)
    return corrected
