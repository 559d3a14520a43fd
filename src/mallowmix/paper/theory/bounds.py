"""The appendix's three propositions and Theorem 2, with the errors in their constants corrected.

The population second moment is E = B̄Y; its rows E_i = Σ_k B̄_ik Y_k lie in the simplex with
corners Y_1 … Y_K. A row that is λ-novel for component k (B̄_il ≤ λ B̄_ik for l ≠ k) lies near the
corner Y_k:

    τ = (K−1)λ / (1 + (K−1)λ),   1 − B̄_ik ≤ τ,   so ‖E_i − Y_k‖ ≤ τ ρ_max.

λ is that of B̄ here; a λ-separable β has a B̄ that is at most a_0 λ-separable. The errata E20 to
E23 are in docs/paper.md.
"""

import math
from collections.abc import Callable

from scipy.special import lambertw

from mallowmix.errors import OptionError, check_at_least
from mallowmix.model.mallows import check_phi
from mallowmix.model.population_moments import PopulationMoments


def impurity(lam: float, n_components: int) -> float:
    """The most weight that a λ-novel row can have outside its own component.

    Parameters
    ----------
    lam : float
        λ of B̄, at least 0.
    n_components : int
        K.

    Returns
    -------
    float
        τ = (K−1)λ / (1 + (K−1)λ).

    Examples
    --------
    >>> impurity(0.25, 3)
    0.3333333333333333
    """
    check_at_least("lam", lam, 0)
    return (n_components - 1) * lam / (1 + (n_components - 1) * lam)


def solid_angle_perturbation(
    lam: float, n_components: int, rho_min: float, rho_max: float, radius: float
) -> float:
    """How far the solid angle q of a λ-novel row can be from q⁰, that of its ideal corner.

    The first proposition of the appendix, corrected (E20, E21). Rows closer than `radius` do not
    compete. Say the row is novel for component 1. With z_k = (Y_1 − Y_k)u for a normal u, and
    s = radius/ρ_max − τ, the least weight that a competing row has outside component 1, the two
    events differ only if some z_k is within c of 0 or the largest exceeds c s/τ. So for every
    c > 0, here for the best, if τρ_max < radius ≤ ρ_min − 2τρ_max,

        |q⁰ − q| ≤ (K−1) [ c / (√(2π) ρ_min) + ½ exp(−c² s² / (2 τ² ρ_max²)) ].

    Parameters
    ----------
    lam : float
        λ of B̄.
    n_components : int
        K.
    rho_min, rho_max : float
        The least and the largest distance of two corners.
    radius : float
        The paper's d, in ‖E_i − E_j‖.

    Returns
    -------
    float
        The bound, at most 1; 1 where the condition does not hold.

    Examples
    --------
    >>> round(solid_angle_perturbation(0.001, 3, rho_min=1.0, rho_max=1.0, radius=0.5), 4)
    0.0129
    """
    return min(1.0, _perturbation(lam, n_components, rho_min, rho_max, radius))


def far_row_solid_angle(
    lam: float, n_components: int, rho_min: float, rho_max: float, radius: float
) -> float:
    """The most solid angle of a row at least `radius` from one λ-novel row of each component.

    To win, it must beat the novel row of whichever corner is the extreme one: the two events of
    `solid_angle_perturbation`, at each of the K corners.

    Parameters
    ----------
    lam, n_components, rho_min, rho_max, radius
        As in `solid_angle_perturbation`.

    Returns
    -------
    float
        K times that bound, at most 1.
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
    return (n_components - 1) * least_sum(slope, rate)


def least_sum(slope: float, rate: float) -> float:
    """The least over c ≥ 0 of slope·c + ½ exp(−(rate·c)²/2).

    It is at c = 0 or where x e^{−x²/2} = 2 slope/rate, x = rate·c > 1.

    Parameters
    ----------
    slope, rate : float
        Positive.

    Returns
    -------
    float
        At most ½.
    """
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
    fraction: float = 1 / 3,
) -> float:
    """The largest λ of B̄ that moves no novel row's solid angle by more than a fraction of q_min.

    Parameters
    ----------
    q_min : float
        The smallest ideal solid angle.
    n_components, rho_min, rho_max, radius
        As in `solid_angle_perturbation`.
    fraction : float
        A third in the paper. To tell novel rows from far ones, which may have K times as much,
        take 1/(3K): then novel rows have at least ⅔ q_min and far rows at most ⅓ q_min.

    Returns
    -------
    float
        λ, from 0 to 1.
    """
    return largest_lambda(
        lambda lam: _perturbation(lam, n_components, rho_min, rho_max, radius) <= fraction * q_min
    )


def largest_lambda(holds: Callable[[float], bool]) -> float:
    """The largest λ for which a condition holds.

    Parameters
    ----------
    holds : callable
        The condition; where it holds for some λ, it holds for all smaller ones.

    Returns
    -------
    float
        λ in [0, 1]; 0 where it holds for none.
    """
    if holds(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def regression_error(delta1: float, delta2: float, sigma_min: float) -> float:
    """Second proposition: how far Algorithm 3's weights b̂ can be from B̄_i.

    Parameters
    ----------
    delta1 : float
        The largest distance of a chosen row from its ideal corner Y_k.
    delta2 : float
        The largest error of the row regressed.
    sigma_min : float
        The smallest singular value of Y; the paper has a lower bound of it (`sigma_min_bound`).

    Returns
    -------
    float
        ‖b̂ − B̄_i‖₂ ≤ 2(δ₁ + δ₂) / σ_min(Y).
    """
    if not sigma_min > 0:
        raise OptionError(
            option="sigma_min",
            value=sigma_min,
            expected="above 0: the corners Y must be linearly independent",
        )
    return 2 * (delta1 + delta2) / sigma_min


def sigma_min_bound(lambda_min: float, lam: float, n_components: int) -> float:
    """A lower bound on σ_min(Y).

    The K novel rows of B̄ are D(I + N) with D diagonal, at least 1/(1 + (K−1)λ), and 0 ≤ N ≤ λ off
    the diagonal, so that ‖N‖₂ ≤ (K−1)λ; more rows only raise σ_min(B̄). (The paper has the same
    constant by another argument, E22.)

    Parameters
    ----------
    lambda_min : float
        The smallest eigenvalue of R̄.
    lam : float
        λ of B̄.
    n_components : int
        K.

    Returns
    -------
    float
        λ_min(R̄) (1 − (K−1)λ) / (1 + (K−1)λ), or 0 where that is negative.
    """
    u = (n_components - 1) * lam
    return max(0.0, lambda_min * (1 - u) / (1 + u))


def post_processing_tolerance(a_min: float, phi: float, sigma_min: float) -> float:
    """Third proposition: the δ₁ + δ₂ up to which every reference ranking is right.

    The order of two items stays right while a_k |½ − β| ≥ a_min (1−φ)/4 exceeds the error of the
    weights, at most 2(δ₁ + δ₂)/σ_min.

    Parameters
    ----------
    a_min : float
        The smallest share of a component.
    phi : float
        The dispersion.
    sigma_min : float
        The smallest singular value of Y.

    Returns
    -------
    float
        a_min (1−φ) σ_min(Y) / 8.
    """
    return a_min * (1 - check_phi(phi)) * sigma_min / 8


def post_processing_lambda(moments: PopulationMoments, phi: float) -> float:
    """The λ of β up to which Algorithms 3 and 4, on exact moments, recover all rankings.

    Any K novel rows will do: ‖E_i − Y_k‖ ≤ √2 τ σ_max(Y) is then within the tolerance (E22).

    Parameters
    ----------
    moments : PopulationMoments
        Those of the model.
    phi : float
        The dispersion.

    Returns
    -------
    float
        λ, at most 1.
    """
    tolerance = post_processing_tolerance(moments.a_min, phi, moments.sigma_min)
    tau = tolerance / (math.sqrt(2) * moments.sigma_max)
    if moments.n_components == 1:
        return 1.0
    # τ = (K−1)λ/(1+(K−1)λ), λ = a_0 λ_β
    return min(1.0, tau / ((moments.n_components - 1) * (1 - tau) * moments.a_0))
