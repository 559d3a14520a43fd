"""The standard error of ratios over users: comparisons of one user are not independent."""

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
