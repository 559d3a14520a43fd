"""Theorem 2's numbers of users and of projections, by the corrected steps of its proof.

Four steps. On an event of probability 1 − δ/2 all means over users are within t of their limits
(`users_for_error`). Then every row of Ê is within e of E (`row_error`). Then solid angles move by
at most a share of the smallest (`noise_perturbation`), and the chosen rows stay within what the
regression and the post-processing allow. With probability 1 − δ/2 the fractions of P directions
are near the solid angles (`projections_for_share`).

The printed number of users falls as 1/N and so to one (erratum E29): comparisons of a user share
their θ, and only users are independent. Here N plays no part.
"""

import math
from dataclasses import dataclass

from mallowmix.errors import OptionError, check_at_least
from mallowmix.model.mallows import check_phi
from mallowmix.model.population_moments import PopulationMoments
from mallowmix.paper.theory.bounds import (
    impurity,
    largest_lambda,
    least_sum,
    post_processing_tolerance,
    solid_angle_perturbation,
)
from mallowmix.paper.theory.solid_angles import corner_solid_angles

# of the smallest solid angle q: novel rows keep ⅔ q and far rows have ⅓ q at most in population;
# what lies between is shared by the noise of Ê and that of the directions
_NOISE_SHARE, _PROJECTION_SHARE = 1 / 24, 1 / 8


@dataclass(frozen=True)
class SampleSize:
    """What suffices to recover all rankings with probability 1 − δ.

    Parameters
    ----------
    n_users : float
        M, rounded up; infinite where λ is too large for any.
    n_projections : int
        P, rounded up.
    row_error : float
        e, how far a row of Ê may be from that of E.
    radius : float
        The radius d of a neighbourhood that goes with it.
    """

    n_users: float
    n_projections: int
    row_error: float
    radius: float


def sample_size(
    moments: PopulationMoments,
    phi: float,
    lam: float,
    *,
    delta: float = 0.05,
    q_min: float | None = None,
    seed: int = 0,
) -> SampleSize:
    """M and P of Theorem 2, corrected.

    Rows are compared, and regressed, as whole rows of Ê, as in the paper's proof. Let D be the
    `post_processing_tolerance`, τ the `impurity` of a_0 λ. With the radius

        d = D − τρ_max − 4e − eησ_min/(14√W)

    the rows that compete with each other are at least d − 2e apart; chosen rows are within
    d + 2e + τρ_max of distinct corners, their estimates within e of that, and the row that is
    regressed within e of its own; the last term is for the rows' scaling.

    Parameters
    ----------
    moments : PopulationMoments
        Those of the model.
    phi : float
        The dispersion, below 1.
    lam : float
        λ of β; above `Theorem2.lambda_corrected` no number of users is known to suffice.
    delta : float
        The probability of failure, above 0 and below 1.
    q_min : float, optional
        The smallest solid angle of the rows of Y; computed unless given.
    seed : int
        Of the sampled solid angles, for K > 3.

    Returns
    -------
    SampleSize
        M, P, and the error that they leave.
    """
    check_at_least("lam", lam, 0)
    if check_phi(phi) == 1:
        raise OptionError(option="phi", value=phi, expected="below 1")
    if not 0 < delta < 1:
        raise OptionError(option="delta", value=delta, expected="above 0 and below 1")
    q = float(corner_solid_angles(moments.Y, seed=seed).q.min()) if q_min is None else q_min
    error = _largest_error(moments, phi, lam, q)
    return SampleSize(
        n_users=users_for_error(error, moments.eta, moments.n_rows, delta / 2),
        n_projections=projections_for_share(q, moments.n_rows, delta / 2),
        row_error=error,
        radius=_radius(moments, phi, lam, error),
    )


def users_for_error(error: float, eta: float, n_rows: int, delta: float) -> float:
    """Users for which every row of Ê is within an error of E with probability 1 − δ.

    The W² + 2W means over users are of numbers in [0, 1]. By Hoeffding's inequality one of them is
    off by more than t with probability at most 2(W² + 2W) exp(−2Mt²).

    Parameters
    ----------
    error : float
        e, in ‖Ê_i − E_i‖₂.
    eta : float
        η, the probability of the rarest ordered pair.
    n_rows : int
        W.
    delta : float
        The probability of failure.

    Returns
    -------
    float
        M ≥ log(2W(W+2)/δ) / (2t²), rounded up; infinite for no error.
    """
    t = mean_error(error, eta, n_rows)
    if t * t == 0:
        return math.inf
    return float(math.ceil(math.log(2 * n_rows * (n_rows + 2) / delta) / (2 * t * t)))


def row_error(t: float, eta: float, n_rows: int) -> float:
    """The largest error of a row of Ê where all means over users are within t ≤ η/2.

    Ê_ij = G_ij/(u_i v_j) with E_ij = g_ij/(p_i p_j), g_ij ≤ min(p_i, p_j), so that

        |Ê_ij − E_ij| ≤ (t + E_ij (t(p_i + p_j) + t²)) / ((p_i − t)(p_j − t)) ≤ 3.5 t / (η − t)².

    Parameters
    ----------
    t : float
        The error of every mean, at most η/2.
    eta : float
        η.
    n_rows : int
        W.

    Returns
    -------
    float
        3.5 √W t / (η − t)².
    """
    return 3.5 * math.sqrt(n_rows) * t / (eta - t) ** 2


def mean_error(error: float, eta: float, n_rows: int) -> float:
    """The t ≤ η/2 for which `row_error` is at most an error.

    Parameters
    ----------
    error : float
        e.
    eta : float
        η.
    n_rows : int
        W.

    Returns
    -------
    float
        The smaller root of e(η − t)² = 3.5 √W t, or η/2.
    """
    b = 2 * error * eta + 3.5 * math.sqrt(n_rows)
    return min(eta / 2, 2 * error * eta**2 / (b + math.sqrt(b * b - 4 * (error * eta) ** 2)))


def noise_perturbation(error: float, distance: float, n_rows: int) -> float:
    """How far errors of the rows can move the solid angle of a row.

    The order of rows i and j in a normal direction u changes only if (E_i − E_j)u is within c of 0
    or the noise, a normal of standard deviation 2e at most, beyond c. Over W rows, for the best c,

        W [ √(2/π) c / distance + exp(−c² / (8e²)) ].

    Parameters
    ----------
    error : float
        e.
    distance : float
        The least distance of a row that competes.
    n_rows : int
        W.

    Returns
    -------
    float
        The bound, at most 1.
    """
    if error == 0:
        return 0.0
    if distance <= 0:
        return 1.0
    slope = math.sqrt(2 / math.pi) / distance
    return min(1.0, n_rows * 2 * least_sum(slope / 2, 1 / (2 * error)))


def projections_for_share(q_min: float, n_rows: int, delta: float) -> int:
    """Directions in which every row's fraction is within q/8 of its solid angle.

    Parameters
    ----------
    q_min : float
        q, the smallest solid angle.
    n_rows : int
        W.
    delta : float
        The probability of failure.

    Returns
    -------
    int
        P ≥ 32 log(2W/δ) / q² (Hoeffding), rounded up.
    """
    return math.ceil(math.log(2 * n_rows / delta) / (2 * (_PROJECTION_SHARE * q_min) ** 2))


def _radius(moments: PopulationMoments, phi: float, lam: float, error: float) -> float:
    tolerance = post_processing_tolerance(moments.a_min, phi, moments.sigma_min)
    tau = impurity(moments.a_0 * lam, moments.n_components)
    scaling = error * moments.eta * moments.sigma_min / (14 * math.sqrt(moments.n_rows))
    return tolerance - tau * moments.rho_max - 4 * error - scaling


def _largest_error(moments: PopulationMoments, phi: float, lam: float, q: float) -> float:
    """The largest e that the corrected propositions leave room for; 0 where there is none."""
    K, rho_min, rho_max = moments.n_components, moments.rho_min, moments.rho_max
    own = moments.a_0 * lam
    apart = rho_min - 2 * impurity(own, K) * rho_max
    most = post_processing_tolerance(moments.a_min, phi, moments.sigma_min)

    def holds(share: float) -> bool:
        error = share * most
        radius = _radius(moments, phi, lam, error)
        near = radius - 2 * error
        if near <= 0 or 3 * (radius + 2 * error) + 2 * error > apart:
            return False
        still = solid_angle_perturbation(own, K, rho_min, rho_max, near) <= q / (3 * K)
        return still and noise_perturbation(error, near, moments.n_rows) <= _NOISE_SHARE * q

    return largest_lambda(holds) * most
