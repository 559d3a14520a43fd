"""Draws of a few users' weights by Python's own numbers, without Numba.

The same chains as `infer.gibbs_draws`, with the same random numbers: these are taken from a counter
(`numerics.randomness.splitmix`), so NumPy makes many at a time.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from math import cos, exp, log, pi, sqrt
from operator import mul

import numpy as np

from mallowmix.numerics.randomness import SPLITMIX_STEP, splitmix
from mallowmix.typing import Array

_AT_A_TIME = 1 << 13  # random numbers


def gibbs_draws_listed(
    state: np.uint64,
    b: Array,
    x: Array,
    alpha: Array,
    vertices: tuple[float, Array],
    sweeps: tuple[int, int],
    out: Array,
) -> None:
    """Draw the weights of one user into `out` (S, K).

    Parameters
    ----------
    state : uint64
        Of the user's random numbers.
    b : (n, K) array
        β of the user's rows.
    x : (n,) array
        How many tokens each row stands for; whole numbers.
    alpha : (K,) array
        The Dirichlet part of the prior.
    vertices : float and (K,) array
        The probability that the user holds one component alone, and of each that it is this one.
    sweeps : int and int
        Of the burn-in, and from one draw to the next.
    """
    uniforms, (burn_in, thin) = _uniforms(state), sweeps
    rows = [row for row, n in zip(b.tolist(), x.tolist(), strict=True) for _ in range(int(n))]
    z, n = [-1] * len(rows), alpha.tolist()
    for sweep in range(-burn_in if rows else 0, thin * len(out)):
        _sweep(rows, z, n, uniforms)
        if sweep >= 0 and sweep % thin == 0:
            out[sweep // thin] = _dirichlet(n, uniforms)
    _to_vertices(*vertices, out, uniforms)


def _uniforms(state: np.uint64) -> Iterator[float]:
    """The stream of uniforms that begins with a state."""
    counters = np.arange(_AT_A_TIME, dtype=np.uint64) * SPLITMIX_STEP
    while True:
        states, values = splitmix.interpreted(np.array([state]) + counters)
        yield from values.tolist()
        state = states[-1]


def _sweep(
    rows: list[list[float]], z: list[int], n: list[float], uniforms: Iterator[float]
) -> None:
    """One sweep over the tokens; a component −1 is none yet."""
    last = len(n) - 1
    for token, (row, u) in enumerate(zip(rows, uniforms)):  # noqa: B905 the second has no end
        old = z[token]
        if old >= 0:
            n[old] -= 1.0
        sums = list(accumulate(map(mul, row, n)))
        z[token] = k = min(bisect_right(sums, u * sums[-1]), last)
        n[k] += 1.0


def _log_gamma(shape: float, uniforms: Iterator[float]) -> float:
    """The log of a Gamma(shape) draw, as in `randomness.log_gamma_draw`."""
    d = shape + 1.0 - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        radius = sqrt(-2.0 * log(1.0 - next(uniforms)))
        x = radius * cos(2.0 * pi * next(uniforms))
        v = (1.0 + c * x) ** 3
        if v <= 0.0:
            continue
        if log(1.0 - next(uniforms)) < 0.5 * x * x + d - d * v + d * log(v):
            return log(d * v) + log(1.0 - next(uniforms)) / shape


def _dirichlet(shape: list[float], uniforms: Iterator[float]) -> list[float]:
    """θ ~ Dirichlet(shape)."""
    logs = [_log_gamma(each, uniforms) for each in shape]
    top = max(logs)
    scale = top + log(sum(exp(each - top) for each in logs))
    return [exp(each - scale) for each in logs]


def _to_vertices(at_vertex: float, single: Array, out: Array, uniforms: Iterator[float]) -> None:
    """Each draw, with probability `at_vertex`, becomes a vertex by the probabilities `single`."""
    for draw in out:
        if next(uniforms) < at_vertex:
            u, k = next(uniforms), 0
            while k < len(single) - 1 and u >= single[k]:
                u -= single[k]
                k += 1
            draw[:] = 0.0
            draw[k] = 1.0
