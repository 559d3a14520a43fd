"""The appendix's three propositions and Theorem 2, with the slips in their constants mended.

The setting: the population second moment is E = B̄Y; its rows E_i = Σ_k B̄_ik Y_k lie in the simplex with corners Y_1 … Y_K. A row
that is λ-novel for component k (B̄_il ≤ λ B̄_ik for l ≠ k) lies near the corner Y_k: with

    τ = (K−1)λ / (1 + (K−1)λ),   1 − B̄_ik ≤ τ,   so ‖E_i − Y_k‖ ≤ τ ρ_max.

λ is that of B̄ here; a λ-separable β has a B̄ that is at most a_0 λ-separable.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import lambertw

from mallowmix.errors import OptionError, check_at_least
from mallowmix.model.mallows import check_phi
from mallowmix.model.population_moments import PopulationMoments
from mallowmix.paper.theory.solid_angles import corner_solid_angles


def impurity(lam: float, n_components: int) -> float:
    """τ = (K−1)λ / (1 + (K−1)λ): the most weight that a λ-novel row can have outside its own component."""
    check_at_least("lam", lam, 0)
    return (n_components - 1) * lam / (1 + (n_components - 1) * lam)


def solid_angle_perturbation(
    lam: float, n_components: int, rho_min: float, rho_max: float, radius: float
) -> float:
    """How far the solid angle q of a λ-novel row can be from q⁰, that of its ideal corner (first proposition of the appendix).

    Rows closer than `radius` (the paper's d, in ‖E_i − E_j‖) do not compete. Say the row is novel for component 1. With
    z_k = (Y_1 − Y_k)u for a normal u, and s = radius/ρ_max − τ, the least weight that a competing row has outside component 1,
    the two events differ only if some z_k is within c of 0 or the largest exceeds c s/τ. So for every c > 0, here for the best,

        |q⁰ − q| ≤ (K−1) [ c / (√(2π) ρ_min) + ½ exp(−c² s² / (2 τ² ρ_max²)) ]     if  τρ_max < radius ≤ ρ_min − 2τρ_max.

    Mended: the normal density (E20), the exponent (E21), and with "exists j" in place of "for all j" (E20) the radius comes in
    through s, without which the bound fails: a row at relative distance s ≈ τ from the corner takes a constant part of its angle
    however small λ is. The union over all W rows in the paper's W exp(·) is not needed. Outside the condition the answer is 1.
    """
    return min(1.0, _perturbation(lam, n_components, rho_min, rho_max, radius))


def far_row_solid_angle(
    lam: float, n_components: int, rho_min: float, rho_max: float, radius: float
) -> float:
    """The most solid angle of a row that is at least `radius` from one λ-novel row of each component: K times the bound above.

    (To win it must beat the novel row of whichever corner is the extreme one: the same two events, at each of the K corners.)
    """
    return min(1.0, n_components * _perturbation(lam, n_components, rho_min, rho_max, radius))


def _perturbation(
    lam: float, n_components: int, rho_min: float, rho_max: float, radius: float
) -> float:
    tau = impurity(lam, n_components)
    if n_components == 1 or (tau == 0 and 0 < radius <= rho_min):
        return 0.0
    if not tau * rho_max < radius <= rho_min - 2 * tau * rho_max:
        return math.inf
    s = radius / rho_max - tau
    # slope·c + ½ exp(−(rate·c)²/2)
    slope, rate = (1 / (math.sqrt(2 * math.pi) * rho_min), s / (tau * rho_max))
    return (n_components - 1) * _least(slope, rate)


def _least(slope: float, rate: float) -> float:
    """The least over c ≥ 0 of slope·c + ½ exp(−(rate·c)²/2), at c = 0 or where x e^{−x²/2} = 2 slope/rate, x = rate·c > 1."""
    target = (2 * slope / rate) ** 2
    if target == 0 or target >= math.exp(-1):
        return 0.0 if target == 0 else 0.5
    x = math.sqrt(-lambertw(-target, -1).real)  # x² e^{−x²} = target, the larger root
    return min(0.5, slope * x / rate + 0.5 * math.exp(-x * x / 2))


def solid_angle_lambda(
    q_min: float,
    n_components: int,
    rho_min: float,
    rho_max: float,
    radius: float,
    *,
    share: float = 1 / 3,
) -> float:
    """The largest λ of B̄ that moves the solid angle of no novel row by more than `share` of q_min, the smallest ideal one.

    The paper asks for a third. To tell novel from far rows, which may have K times as much, ask for 1/(3K): then novel rows
    have at least ⅔ q_min and far rows at most ⅓ q_min.
    """
    return _largest_lambda(
        lambda lam: _perturbation(lam, n_components, rho_min, rho_max, radius) <= share * q_min
    )


def _largest_lambda(holds: Callable[[float], bool]) -> float:
    """The largest λ in [0, 1] for which a condition holds that holds for all smaller ones (0 if for none)."""
    if holds(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def regression_error(delta1: float, delta2: float, sigma_min: float) -> float:
    """Second proposition: how far Algorithm 3's weights b̂ can be from B̄_i, ‖b̂ − B̄_i‖₂ ≤ 2(δ₁ + δ₂) / σ_min(Y).

    δ₁ bounds the distance of each chosen row from its ideal corner Y_k, δ₂ the error of the row regressed. The paper puts a
    lower bound in the place of σ_min(Y), see `sigma_min_bound`.
    """
    if not sigma_min > 0:
        raise OptionError(
            f"sigma_min is {sigma_min!r}; the corners Y must be linearly independent, with sigma_min above 0."
        )
    return 2 * (delta1 + delta2) / sigma_min


def sigma_min_bound(lambda_min: float, lam: float, n_components: int) -> float:
    """A lower bound on σ_min(Y): λ_min(R̄) (1 − (K−1)λ) / (1 + (K−1)λ), or 0 where that is negative; λ is that of B̄.

    The K novel rows of B̄ are D(I + N) with D diagonal, at least 1/(1 + (K−1)λ), and 0 ≤ N ≤ λ off the diagonal, so that
    ‖N‖₂ ≤ (K−1)λ; more rows only raise σ_min(B̄). The paper's constant stands, but by this argument: Gershgorin's circles,
    which it cites, bound eigenvalues and not singular values (erratum E22).
    """
    u = (n_components - 1) * lam
    return max(0.0, lambda_min * (1 - u) / (1 + u))


def post_processing_tolerance(a_min: float, phi: float, sigma_min: float) -> float:
    """Third proposition: δ₁ + δ₂ up to a_min (1−φ) σ_min(Y) / 8 leaves every reference ranking right.

    The order of two items survives while a_k |½ − β| ≥ a_min (1−φ)/4 exceeds the error of the weights, at most 2(δ₁ + δ₂)/σ_min.
    (The paper's 8 goes with λ_min(R̄)(1 − (K−1)λ), for which its own factors give 16: erratum E22.)
    """
    return a_min * (1 - check_phi(phi)) * sigma_min / 8


def post_processing_lambda(moments: PopulationMoments, phi: float) -> float:
    """The λ of β up to which Algorithms 3 and 4 on exact moments and any K novel rows recover all rankings.

    ‖E_i − Y_k‖ ≤ √2 τ σ_max(Y) must be within the tolerance. Mended (E22): the √2 of ‖v‖₂ ≤ √2 (1 − B̄_kk), and σ_max of all of Y,
    which grows like √(W/K), where the paper has λ_max(R̄).
    """
    tau = post_processing_tolerance(moments.a_min, phi, moments.sigma_min) / (
        math.sqrt(2) * moments.sigma_max
    )
    if moments.n_components == 1:
        return 1.0
    # τ = (K−1)λ/(1+(K−1)λ), λ = a_0 λ_β
    return min(1.0, tau / ((moments.n_components - 1) * (1 - tau) * moments.a_0))


@dataclass(frozen=True)
class Theorem2:
    """What Theorem 2 asks for."""

    lambda_printed: float  # the largest λ of β by the printed formula
    lambda_corrected: float  # by the mended chain of propositions
    radius: float  # the neighbourhood radius d that goes with lambda_corrected
    n_users: (
        float  # M, as printed; a whole number, infinite where a row of E is too rare for a float
    )
    n_projections: int  # P, as printed
    q_min: float  # the smallest solid angle of the rows of Y


def theorem2(
    moments: PopulationMoments,
    phi: float,
    n_per_user: int,
    *,
    delta: float = 0.05,
    q_min: float | None = None,
    seed: int = 0,
) -> Theorem2:
    """Theorem 2: the λ, the number of users M and of projections P that suffice to recover all rankings, but with probability δ.

        λ ≤ a_min κ (1−φ) q / (8 K² a_0 √log(W/q)),   P ≥ 32 log(3W/δ) / q²,
        M ≥ max{ 640 W² log(3W/δ) / (N η⁴ d² q²),  320 W log(3W/δ) / (N η⁴ λ_min² a_min² (1−φ)²) },   d = 6κ/K

    as printed, with q the smallest solid angle of Y's rows (computed unless given; sampled with `seed` for K > 3). M rests on
    another paper's constants and is given as it stands.

    `lambda_corrected` comes from the propositions of this module (errata E20 to E23), for M, P → ∞. Let D be the
    `post_processing_tolerance`. If Algorithm 2 computes solid angles with the radius d = D − τρ_max and chooses rows that are 2d
    apart, and those of novel rows move by at most q/(3K), then it chooses rows within d + τρ_max = D of distinct corners.
    """
    K, W = moments.n_components, moments.n_rows
    if not 0 < delta < 1 or check_phi(phi) == 1:
        raise OptionError(
            f"delta is {delta!r} and phi {phi!r}; the theorem is for a delta between 0 and 1 and a phi below 1."
        )
    check_at_least("n_per_user", n_per_user, 1)
    q = float(corner_solid_angles(moments.Y, seed=seed).q.min()) if q_min is None else q_min
    if not 0 < q <= 1:
        raise OptionError(
            f"q_min is {q!r}; the smallest solid angle must lie in (0, 1]. Some corner of Y is no corner."
        )
    printed = (
        moments.a_min
        * moments.kappa
        * (1 - phi)
        * q
        / (8 * K**2 * moments.a_0 * math.sqrt(math.log(W / q)))
    )
    corrected, radius = _corrected_lambda(moments, phi, q)
    log_term = math.log(3 * W / delta)
    return Theorem2(
        printed,
        corrected,
        radius,
        float(np.ceil(_printed_users(moments, phi, n_per_user, q) * log_term)),
        math.ceil(32 * log_term / q**2),
        q,
    )


def _corrected_lambda(moments: PopulationMoments, phi: float, q: float) -> tuple[float, float]:
    """The largest λ of β with K times the perturbation at radius D − τρ_max within q/3, and that radius."""
    K, tolerance = (
        moments.n_components,
        post_processing_tolerance(moments.a_min, phi, moments.sigma_min),
    )

    def radius(lam: float) -> float:
        return tolerance - impurity(lam, K) * moments.rho_max

    def holds(lam: float) -> bool:
        return _perturbation(lam, K, moments.rho_min, moments.rho_max, radius(lam)) <= q / (3 * K)

    lam = _largest_lambda(holds)
    return lam / moments.a_0, radius(lam)


def _printed_users(moments: PopulationMoments, phi: float, n_per_user: int, q: float) -> float:
    """M / log(3W/δ) as printed."""
    W, d = moments.n_rows, 6 * moments.kappa / moments.n_components
    common = n_per_user * moments.eta**4
    if common == 0:
        return math.inf
    detection = 640 * W**2 / (common * d**2 * q**2)
    regression = 320 * W / (common * moments.lambda_min**2 * moments.a_min**2 * (1 - phi) ** 2)
    return max(detection, regression)
