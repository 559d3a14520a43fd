"""How separable a ranking matrix is (Definition 1), how often random ones are, and Lemma 3.

Component k has a λ-approximate novel pair (i, j) when every other component prefers i to j at
most λ times as often: β_(i,j),l ≤ λ β_(i,j),k for all l ≠ k. A ranking matrix is λ-separable when
every component has such a pair. Novel pairs are the corners of the geometry that the method
learns from, so a small λ is a well-posed problem.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.errors import DataError, OptionError, check_at_least
from mallowmix.model.mallows import check_phi, gap_probabilities
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, uniforms

_REFERENCES = int(Step.SEPARABILITY)
_DRAWS_AT_ONCE = 100


class MostNovelPairs(NamedTuple):
    """For each component its most novel ordered pair (i, j), −1 where it has none, and its λ."""

    winner: NDArray[np.int64]  # i
    loser: NDArray[np.int64]  # j
    # max_{l≠k} β_(i,j),l / β_(i,j),k; 1 or more: no pair is novel for this component
    lam: NDArray[np.float64]


class Estimate(NamedTuple):
    """A Monte-Carlo probability and its standard error √(p(1−p)/draws)."""

    probability: float
    standard_error: float


def novel_pairs(beta: ArrayLike) -> MostNovelPairs:
    """For each component of a ranking matrix β (K, Q, Q) the pair with the least λ.

    λ = max_{l≠k} β_(i,j),l / β_(i,j),k. A pair with β_(i,j),k = 0 is not novel for k (the
    definition demands β > 0). Of equally good pairs it is the first in reading order.
    """
    beta = np.ascontiguousarray(beta, np.float64)
    if beta.ndim != 3 or beta.shape[0] < 1 or beta.shape[1] != beta.shape[2] or beta.shape[1] < 2:
        raise DataError(
            f"beta has shape {beta.shape}; "
            "it must be (components, items, items) with at least two items."
        )
    if not (beta >= 0).all():
        raise DataError("beta holds negative or missing values; give probabilities.")
    return MostNovelPairs(*_best_pairs(beta))


def _best_pairs(beta: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
    """In NumPy: `show` would wait longer for a kernel to be loaded than for this."""
    n_components, n_items = beta.shape[:2]
    ordered = np.sort(beta, axis=0)
    first, second = ordered[-1], ordered[-2] if n_components > 1 else np.zeros_like(beta[0])
    largest_other = np.where(beta == first, second, first)  # max_{l≠k} β_(i,j),l
    possible = (beta > 0) & ~np.eye(n_items, dtype=bool)
    ratios = np.full_like(beta, np.inf)
    with np.errstate(over="ignore"):
        np.divide(largest_other, beta, out=ratios, where=possible)
    ratios = ratios.reshape(n_components, -1)  # (K, Q²)
    best = ratios.argmin(axis=1)
    lam = ratios[np.arange(n_components), best]
    found = np.isfinite(lam)
    return np.where(found, best // n_items, -1), np.where(found, best % n_items, -1), lam


@compiled(inline="always")
def _two_largest(values):
    """The index of the largest value, the largest, and the second largest (0 if there is none)."""
    top, first, second = 0, -1.0, 0.0
    for k in range(len(values)):
        if values[k] > first:
            top, first, second = k, values[k], max(first, 0.0)
        elif values[k] > second:
            second = values[k]
    return top, first, second


def separability(beta: ArrayLike) -> float:
    """The smallest λ for which β (K, Q, Q) is λ-separable; at least 1 where it is for none."""
    return float(novel_pairs(beta).lam.max())


def is_separable(beta: ArrayLike, lam: float) -> bool:
    """Definition 1: whether β (K, Q, Q) is λ-approximately separable."""
    return separability(beta) <= _check_lambda(lam)


def _check_lambda(lam: float, name: str = "lam") -> float:
    if not 0 <= lam < 1:
        raise OptionError(
            option=name, value=lam, expected="at least 0 (exactly separable) and below 1"
        )
    return float(lam)


def separability_probability(
    n_items: int,
    n_components: int,
    phi: float,
    *,
    threshold: float = 0.05,
    n_draws: int = 1000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """How often K random reference rankings with dispersion φ are `threshold`-separable.

    The references are a function of (seed, draw) alone, so values of φ are compared on the same
    rankings. `progress(done, n_draws)` is called after every 100 draws.
    """
    check_at_least("n_items", n_items, 2)
    check_at_least("n_components", n_components, 1)
    check_at_least("n_draws", n_draws, 1)
    _check_lambda(threshold, "threshold")
    win, lose = gap_probabilities(n_items, phi)
    table = np.r_[lose[:0:-1], win]  # β by σ(j) − σ(i) + Q − 1
    count = 0
    for start in range(0, n_draws, _DRAWS_AT_ONCE):
        stop = min(start + _DRAWS_AT_ONCE, n_draws)
        count += _count_separable(
            start, stop, n_items, n_components, table, threshold, as_key(seed)
        )
        if progress is not None:
            progress(stop, n_draws)
    p = count / n_draws
    return Estimate(p, math.sqrt(p * (1 - p) / n_draws))


@compiled
def _count_separable(start, stop, n_items, n_components, table, threshold, key):
    count = 0
    for draw in range(start, stop):
        count += _all_have_novel_pairs(
            _references(n_items, n_components, draw, key), table, threshold
        )
    return count


@compiled
def _references(n_items, n_components, draw, key):
    """(Q, K) positions of K independent uniform rankings, by the inside-out shuffle."""
    sigma = np.empty((n_items, n_components), np.int64)
    for k in range(n_components):
        for i in range(n_items):
            u, _ = uniforms(key, _REFERENCES, draw, k * n_items + i, 0)
            r = int(u * (i + 1))
            sigma[i, k] = sigma[r, k]
            sigma[r, k] = i
    return sigma


@compiled
def _all_have_novel_pairs(sigma, table, threshold):
    """Whether every component has a novel pair, which only its largest β can make novel."""
    n_items, n_components = sigma.shape
    found, missing = np.zeros(n_components, np.bool_), n_components
    values = np.empty(n_components)
    for i in range(n_items):
        for j in range(n_items):
            if i == j:
                continue
            for k in range(n_components):
                values[k] = table[sigma[j, k] - sigma[i, k] + n_items - 1]
            top, first, second = _two_largest(values)
            if not found[top] and first > 0 and second <= threshold * first:
                found[top], missing = True, missing - 1
                if missing == 0:
                    return True
    return False


def proposition3_bound(phi: float, margin: float) -> float:
    """Proposition 3: the bound β_(i,j),k ≤ Lφ^{L−1} / (1 + Lφ^{L−1}).

    It holds where component k ranks i below j, with the margin L = σ(i) − σ(j) + 1 ≥ 2. (The
    appendix restates it with σ(i) < σ(j) and the same L, which would not be positive:
    erratum E10.)
    """
    check_at_least("margin", margin, 2)
    ratio = margin * check_phi(phi) ** (margin - 1)
    return ratio / (1 + ratio)


def required_margin(phi: float, lam: float) -> int:
    """L(φ, λ): the smallest L ≥ 2 with Lφ^{L−1} ≤ λ, found directly (erratum E18).

    Lφ^{L−1} rises from 1 to a single peak at L = −1/log φ and falls after it, so for λ < 1 every
    larger L will do as well.
    """
    _check_margin_options(phi, lam)
    if phi == 0:
        return 2
    too_small = max(1, math.floor(-1 / math.log(phi)))  # up to the peak Lφ^{L−1} ≥ 1 > λ
    enough = 2 * too_small
    while enough * phi ** (enough - 1) > lam:
        too_small, enough = enough, 2 * enough
    while enough - too_small > 1:
        middle = (too_small + enough) // 2
        too_small, enough = (
            (middle, enough) if middle * phi ** (middle - 1) > lam else (too_small, middle)
        )
    return enough


def exact_margin(phi: float, lam: float) -> int:
    """The smallest L ≥ 2 at which the odds (1 − β(g)) / β(g) at gap g = L − 1 are at most λ.

    It is never larger than `required_margin`, which goes through Proposition 3's bound on the
    same odds.
    """
    _check_margin_options(phi, lam)
    return int(_first_gap(float(phi), float(lam))) + 1


@compiled
def _first_gap(phi, lam):
    """The odds at gap g are φ^g Σ_{l<g} (g−l)φ^l / Σ_{l<g} (l+1)φ^l; they fall with g."""
    gap, power, S, up, down = 0, 1.0, 0.0, 0.0, 0.0
    while True:
        gap += 1
        S += power  # S_g = 1 + φ + … + φ^{g−1}
        up += gap * power
        down += S
        power *= phi  # φ^g
        if power * down <= lam * up:
            return gap


def _check_margin_options(phi: float, lam: float) -> None:
    if check_phi(phi) == 1:
        raise OptionError(
            option="phi", value=phi, expected="below 1: for pure chance no margin is enough"
        )
    if _check_lambda(lam) == 0 and phi > 0:
        raise OptionError(
            option="lam",
            value=lam,
            expected=f"above 0: with a dispersion (phi is {phi!r}) no pair is exactly novel",
        )


def printed_margin(phi: float, lam: float, eps: float = 0.0) -> int:
    """The paper's L(φ, λ) = ⌈(1 + log λ / log φ)(1 + ε)⌉, kept for comparison.

    With ε = 0 it does not give Lφ^{L−1} ≤ λ, and no single ε does for all φ and λ (erratum E18):
    use `required_margin`.
    """
    _check_margin_options(phi, lam)
    if phi == 0:
        return 2
    return max(2, math.ceil((1 + math.log(lam) / math.log(phi)) * (1 + eps)))


def lemma3_bound(
    n_items: int,
    n_components: int,
    phi: float,
    lam: float,
    *,
    margin: int | None = None,
    printed: bool = False,
) -> float:
    """Lemma 3: the least probability that K random references with dispersion ≤ φ are λ-separable.

        1 − K exp(−⌊Q/L⌋ p₁),   p₁ = (L(L−1))^{−(K−1)}

    Q items hold ⌊Q/L⌋ disjoint groups of L; p₁ is the chance that the first and the last of a
    group in σ_k are the last and the first in all other rankings. `margin` is L,
    `required_margin(phi, lam)` unless given; `exact_margin(phi, lam)` is as valid and gives more.
    `printed=True` gives the paper's 1 − K exp(−Q/L^{2K−1}), which puts Q/L for ⌊Q/L⌋ and is then
    not proved unless L divides Q (erratum E17). Below 0 the bound says nothing, as at Q = 100, K
    = 10 for every φ (erratum E19).
    """
    check_at_least("n_items", n_items, 2)
    check_at_least("n_components", n_components, 1)
    L = required_margin(phi, lam) if margin is None else margin
    check_at_least("margin", L, 2)
    if printed:
        return 1 - n_components * math.exp(-n_items * float(L) ** (1 - 2 * n_components))
    p1 = float(L * (L - 1)) ** (1 - n_components)
    return 1 - n_components * math.exp(-(n_items // L) * p1)
