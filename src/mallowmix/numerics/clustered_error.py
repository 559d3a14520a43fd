"""Errors of ratios and proportions over users: comparisons of one user are not independent."""

import math

from mallowmix.typing import Array


def clustered_ratio(total: Array, n: Array) -> tuple[float, float]:
    """Σ total / Σ n over users, and its standard error with users as clusters.

    s.e.² = M/(M−1) Σ_m (total_m − r n_m)² / (Σ n)², over the M users with n_m > 0.

    Parameters
    ----------
    total, n : (M,) arrays
        What each user adds to the numerator, and how much they count.

    Returns
    -------
    ratio : float
        NaN without users.
    error : float
        Its standard error, infinite for fewer than two users.
    """
    counted = n > 0
    total, n = total[counted], n[counted]
    M = len(n)
    if not M:
        return math.nan, math.inf
    ratio = float(total.sum() / n.sum())
    if M < 2:
        return ratio, math.inf
    spread = ((total - ratio * n) ** 2).sum() * M / (M - 1)
    return ratio, float(math.sqrt(spread) / n.sum())


def wilson_interval(p: float, n: float, z: float) -> tuple[float, float]:
    """The interval of z standard errors of a proportion p of n independent answers.

    Parameters
    ----------
    p : float
    n : float
        Without answers the interval is from 0 to 1.
    z : float

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> from mallowmix.numerics.clustered_error import wilson_interval
    >>> low, high = wilson_interval(1.0, 10, 1.96)
    >>> round(low, 2), high
    (0.72, 1.0)
    """
    if n <= 0:
        return 0.0, 1.0
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    shrink = 1 + z * z / n
    return max(0.0, (middle - half) / shrink), min(1.0, (middle + half) / shrink)


def clustered_proportion(won: Array, made: Array, z: float) -> tuple[float, float, float]:
    """A proportion over users and its Wilson interval of z standard errors, users as clusters.

    The interval is that of as many independent answers as would have the clustered standard error,
    at most one for each comparison; where all are alike, of one for each user.

    Parameters
    ----------
    won, made : (M,) arrays
        Of each user.
    z : float

    Returns
    -------
    proportion, low, high : float
    """
    p, error = clustered_ratio(won, made)
    n = float((made > 0).sum())
    if 0 < error < math.inf:
        n = min(p * (1 - p) / error**2, float(made.sum()))
    low, high = wilson_interval(p, n, z)
    return p, min(low, p), max(high, p)  # rounding can leave 1 out
