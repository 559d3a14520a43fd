"""ψ and log Γ for numba kernels."""

import math

from mallowmix.numerics.compiled import compiled


@compiled
def digamma(x):
    """ψ(x) for x > 0: recurrence up to 6, then the asymptotic series."""
    shift = 0.0
    while x < 6.0:
        shift -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (
        1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132)))
    )
    return shift + math.log(x) - 0.5 / x - series


@compiled
def log_gamma(x):
    """Log Γ(x) for x > 0."""
    return math.lgamma(x)
