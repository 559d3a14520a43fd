"""The population quantities of the paper's guarantees: B̄, R̄, Y = R̄B̄ᵀ and numbers from them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.errors import DataError
from mallowmix.model.separability import separability


@dataclass(frozen=True, eq=False)
class PopulationMoments:
    """What Lemma 2 and Theorem 2 need of a model.

    The second moment is E = B̄ Y: its W rows are convex combinations of the K rows of Y. Pairs that
    are never compared or never won (no row in any data) are left out of B̄, Y and η.
    """

    pairs: NDArray[np.int64]  # (W,) codes i·Q + j of the rows of B̄
    # (W, K) diag⁻¹(Ba) B diag(a): rows sum to one (the normaliser that erratum E23 misses)
    B_bar: NDArray[np.float64]
    R_bar: NDArray[np.float64]  # (K, K) diag⁻¹(a) R diag⁻¹(a)
    # (K, W) R̄ B̄ᵀ, the ideal corners of E (printed without the transpose, erratum E23)
    Y: NDArray[np.float64]
    lam: float  # λ of B̄: at most a_0 times that of β
    a_min: float  # the smallest share
    a_0: float  # the largest ratio of two shares
    eta: float  # min_w [Ba]_w: the probability of the rarest row
    lambda_min: float  # the smallest eigenvalue of R̄
    kappa: float  # λ_min(R̄) / λ_max(R̄): the *inverse* of its condition number (erratum E23)
    rho_min: float  # min_{k≠l} ‖Y_k − Y_l‖ (infinite for one component)
    rho_max: float  # max_{k≠l} ‖Y_k − Y_l‖ (0 for one component)
    sigma_min: float  # the smallest singular value of Y
    sigma_max: float  # the largest, over all W columns (erratum E22)

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.Y)

    @property
    def n_rows(self) -> int:
        """W: Q(Q−1), less the rows left out."""
        return len(self.pairs)


def population_moments(
    beta: ArrayLike, a: ArrayLike, R: ArrayLike, mu: ArrayLike | None = None
) -> PopulationMoments:
    """The population quantities of a ranking matrix β and a prior with moments a and R.

    Parameters
    ----------
    beta : (K, Q, Q) array
        The ranking matrix.
    a : (K,) array
        The shares, E θ.
    R : (K, K) array
        The second moment of the weights, E θθᵀ.
    mu : (Q, Q) array, optional
        How often each unordered pair is compared, symmetric; uniform unless given. It is scaled so
        that the columns of B_(i,j),k = μ_ij β_(i,j),k sum to one (erratum E27).
    """
    beta, a, R = (np.asarray(array, np.float64) for array in (beta, a, R))
    lam = separability(beta * a.reshape(-1, 1, 1))  # B̄_il / B̄_ik = β_il a_l / (β_ik a_k)
    R_bar = _normalised_correlation(a, R, len(beta))
    pairs, B_bar, row_mass = _normalised_ranking_matrix(beta, a, mu)
    Y = R_bar @ B_bar.T  # (K, W)
    eigenvalues = np.linalg.eigvalsh(R_bar)
    singular = np.linalg.svd(Y, compute_uv=False)
    distances = np.linalg.norm(Y[:, None] - Y[None, :], axis=2)[np.triu_indices(len(Y), 1)]
    return PopulationMoments(
        pairs,
        B_bar,
        R_bar,
        Y,
        lam=lam,
        a_min=float(a.min()),
        a_0=float(a.max() / a.min()),
        eta=float(row_mass.min()),
        lambda_min=float(eigenvalues[0]),
        kappa=float(eigenvalues[0] / eigenvalues[-1]),
        rho_min=float(distances.min(initial=np.inf)),
        rho_max=float(distances.max(initial=0.0)),
        sigma_min=float(singular[-1]) if len(singular) == len(Y) else 0.0,
        sigma_max=float(singular[0]),
    )


def _normalised_correlation(
    a: NDArray[np.float64], R: NDArray[np.float64], n_components: int
) -> NDArray[np.float64]:
    """R̄ = diag⁻¹(a) R diag⁻¹(a), after checking that it is one of full rank."""
    K = n_components
    if a.shape != (K,) or R.shape != (K, K):
        raise DataError(f"beta has {K} components, but a has shape {a.shape} and R {R.shape}.")
    if not (a > 0).all() or not np.isclose(a.sum(), 1):
        raise DataError(f"a must hold positive shares that sum to one; got {a.tolist()}.")
    R_bar = R / np.outer(a, a)
    if not np.allclose(R, R.T) or np.linalg.eigvalsh(R_bar)[0] <= 1e-12 * np.abs(R_bar).max():
        raise DataError(
            "R must be symmetric and of full rank: "
            "the weights of people must vary in every direction."
        )
    return R_bar


def _normalised_ranking_matrix(beta, a, mu):
    """The codes of the rows that occur, B̄ = diag⁻¹(Ba) B diag(a) there, and Ba."""
    K, Q, _ = beta.shape
    mu = np.ones((Q, Q)) if mu is None else np.asarray(mu, np.float64)
    if (
        mu.shape != (Q, Q)
        or not np.allclose(mu, mu.T)
        or np.any(mu < 0)
        or not mu[np.triu_indices(Q, 1)].sum() > 0
    ):
        raise DataError(
            f"mu must be a symmetric ({Q}, {Q}) matrix of numbers of at least 0, not all 0; "
            f"got shape {mu.shape}."
        )
    mu = mu / mu[np.triu_indices(Q, 1)].sum()
    B = (mu * beta * ~np.eye(Q, dtype=bool)).reshape(K, Q * Q).T  # (Q², K)
    pairs = np.flatnonzero(B @ a > 0)
    row_mass = B[pairs] @ a
    return pairs, B[pairs] * a / row_mass[:, None], row_mass
