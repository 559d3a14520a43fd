"""Theorem 2: the λ, the number of users and of projections that suffice to recover all rankings."""

import math
from dataclasses import dataclass

import numpy as np

from mallowmix.errors import OptionError, check_at_least
from mallowmix.model.mallows import check_phi
from mallowmix.model.population_moments import PopulationMoments
from mallowmix.paper.theory.bounds import (
    impurity,
    largest_lambda,
    post_processing_tolerance,
    solid_angle_perturbation,
)
from mallowmix.paper.theory.solid_angles import corner_solid_angles


@dataclass(frozen=True)
class Theorem2:
    """What Theorem 2 requires.

    Parameters
    ----------
    lambda_printed : float
        The largest λ of β by the printed formula.
    lambda_corrected : float
        The largest λ of β by the corrected propositions.
    radius : float
        The radius d of a neighbourhood that goes with `lambda_corrected`.
    n_users : float
        M by the printed formula, rounded up; infinite where a row of E is too rare for a float.
    n_projections : int
        P by the printed formula, rounded up.
    q_min : float
        The smallest solid angle of the rows of Y.
    """

    lambda_printed: float
    lambda_corrected: float
    radius: float
    n_users: float
    n_projections: int
    q_min: float


def theorem2(
    moments: PopulationMoments,
    phi: float,
    n_per_user: int,
    *,
    delta: float = 0.05,
    q_min: float | None = None,
    seed: int = 0,
) -> Theorem2:
    """What suffices to recover all rankings with probability 1 − δ.

    The printed formulas, with q the smallest solid angle of Y's rows:

        λ ≤ a_min κ (1−φ) q / (8 K² a_0 √log(W/q)),   P ≥ 32 log(3W/δ) / q²,
        M ≥ max{ 640 W² log(3W/δ) / (N η⁴ d² q²),
                 320 W log(3W/δ) / (N η⁴ λ_min² a_min² (1−φ)²) },   d = 6κ/K.

    M rests on another paper's constants. `lambda_corrected` comes from `bounds` (errata E20 to
    E23), for M, P → ∞. Let D be the `post_processing_tolerance`. If Algorithm 2 computes solid
    angles with the radius d = D − τρ_max and chooses rows that are 2d apart, and those of novel
    rows move by at most q/(3K), then it chooses rows within d + τρ_max = D of distinct corners.

    Parameters
    ----------
    moments : PopulationMoments
        Those of the model.
    phi : float
        The dispersion, below 1.
    n_per_user : int
        N.
    delta : float
        The probability of failure, above 0 and below 1.
    q_min : float, optional
        q; computed unless given.
    seed : int
        Of the sampled solid angles, for K > 3.

    Returns
    -------
    Theorem2
        λ, M and P.
    """
    _check(phi, n_per_user, delta)
    W = moments.n_rows
    q = float(corner_solid_angles(moments.Y, seed=seed).q.min()) if q_min is None else q_min
    if not 0 < q <= 1:
        expected = "above 0 and at most 1, a solid angle: some corner of Y is no corner"
        raise OptionError(option="q_min", value=q, expected=expected)
    corrected, radius = _corrected_lambda(moments, phi, q)
    log_term = math.log(3 * W / delta)
    return Theorem2(
        lambda_printed=_printed_lambda(moments, phi, q),
        lambda_corrected=corrected,
        radius=radius,
        n_users=float(np.ceil(_printed_users(moments, phi, n_per_user, q) * log_term)),
        n_projections=math.ceil(32 * log_term / q**2),
        q_min=q,
    )


def _check(phi: float, n_per_user: int, delta: float) -> None:
    if check_phi(phi) == 1:
        raise OptionError(option="phi", value=phi, expected="below 1")
    if not 0 < delta < 1:
        raise OptionError(option="delta", value=delta, expected="above 0 and below 1")
    check_at_least("n_per_user", n_per_user, 1)


def _printed_lambda(moments: PopulationMoments, phi: float, q: float) -> float:
    numerator = moments.a_min * moments.kappa * (1 - phi) * q
    root = math.sqrt(math.log(moments.n_rows / q))
    return numerator / (8 * moments.n_components**2 * moments.a_0 * root)


def _corrected_lambda(moments: PopulationMoments, phi: float, q: float) -> tuple[float, float]:
    """The largest λ of β with K times the perturbation at radius D − τρ_max within q/3, and d."""
    K, rho_min, rho_max = moments.n_components, moments.rho_min, moments.rho_max
    tolerance = post_processing_tolerance(moments.a_min, phi, moments.sigma_min)

    def radius(lam: float) -> float:
        return tolerance - impurity(lam, K) * rho_max

    def holds(lam: float) -> bool:
        return solid_angle_perturbation(lam, K, rho_min, rho_max, radius(lam)) <= q / (3 * K)

    lam = largest_lambda(holds)
    return lam / moments.a_0, radius(lam)


def _printed_users(moments: PopulationMoments, phi: float, n_per_user: int, q: float) -> float:
    """M / log(3W/δ) by the printed formula."""
    W, d = moments.n_rows, 6 * moments.kappa / moments.n_components
    common = n_per_user * moments.eta**4
    if common == 0:
        return math.inf
    detection = 640 * W**2 / (common * d**2 * q**2)
    regression = 320 * W / (common * moments.lambda_min**2 * moments.a_min**2 * (1 - phi) ** 2)
    return max(detection, regression)
