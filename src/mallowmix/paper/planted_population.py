"""A planted model, comparisons drawn from it, and how far each method's estimate is from it."""

import warnings
from dataclasses import dataclass

import numpy as np

from mallowmix.engine import ThreadEngine
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.model.fit_options import FitOptions, ProjectionsOptions, SpectralOptions
from mallowmix.model.fitted_model import AnyModel, FittedModel
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import match_components
from mallowmix.model.sampling import Sample
from mallowmix.paper.oracle import components_given_weights
from mallowmix.typing import Positions, Progress

_PAPER = {
    "paper": ProjectionsOptions(),
    "paper-auto": ProjectionsOptions(zeta="auto", min_count=0.2),
}


def planted_model(sigma: Positions, phi: float, alpha: float) -> M4:
    """A model whose components all have the same dispersion and the same α, its items numbered.

    Parameters
    ----------
    sigma : (K, Q) array of int
        The reference rankings, as positions.
    phi, alpha : float
        The dispersion and the Dirichlet parameter of every component.

    Returns
    -------
    M4
        The model.
    """
    K, Q = sigma.shape
    names = [f"{i:0{len(str(Q))}d}" for i in range(Q)]
    return M4(sigma, np.full(K, phi), np.full(K, alpha), np.array(names, object))


class PlantedPopulation:
    """Comparisons drawn from a planted model, and each method's estimate from them.

    The default method runs once, since its estimate is also where the oracle begins.

    Parameters
    ----------
    truth : M4
        The planted model.
    n_users, per_user : int
        The number of users, and of comparisons of each.
    seed : int
        Of the draws and of the fits.
    n_jobs : int, optional
        The number of threads.
    progress : callable, optional
        Called as ``progress(step, done, total)``.
    """

    def __init__(
        self,
        truth: M4,
        n_users: int,
        per_user: int,
        *,
        seed: int,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.truth, self.seed, self.n_jobs, self.progress = truth, seed, n_jobs, progress
        self.sample: Sample = truth.sample(n_users, per_user, seed=seed)
        self._full: FittedModel | None = None

    def estimate(self, method: str) -> FittedModel:
        """What a method finds.

        Parameters
        ----------
        method : str
            "none", "short" or "full": the default method with this `refine`;
            "paper": Algorithm 1 with the paper's settings; "paper-auto": with ζ from the distances
            and without rows that are seen in less than a fifth of the mean; "oracle": given the
            true weights.

        Returns
        -------
        FittedModel
            The estimate.
        """
        if method in _PAPER:
            return self._fit(_PAPER[method])
        if method in ("none", "short"):
            return self._fit(SpectralOptions(refine=method))
        if self._full is None:
            self._full = self._fit(SpectralOptions())
        return self._full if method == "full" else self._oracle(self._full)

    def _fit(self, method: FitOptions) -> FittedModel:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            return fit(
                self.sample.comparisons,
                self.truth.n_components,
                method=method,
                predictor=False,
                seed=self.seed,
                n_jobs=self.n_jobs,
                progress=self.progress,
            )

    def _oracle(self, found: FittedModel) -> FittedModel:
        """From the default method's estimate and from the truth: the better local optimum."""
        match = match_components(found.sigma, self.truth.sigma).found
        initialisations = [
            MallowsComponents(found.sigma[match], found.phi[match]),
            MallowsComponents(self.truth.sigma, self.truth.phi),
        ]
        comparisons, theta = self.sample.comparisons, self.sample.theta
        engine = ThreadEngine(self.n_jobs)
        best = components_given_weights(comparisons, theta, initialisations, engine=engine)
        return FittedModel(M4(best.sigma, best.phi, self.truth.alpha, self.truth.items))


@dataclass(frozen=True)
class RecoveryError:
    """How far an estimated model is from the planted one, components matched.

    Parameters
    ----------
    error : float
        The mean fraction of discordant pairs of the rankings.
    phi_bias, phi_worst : float
        The mean, and the largest absolute, difference of the dispersions.
    alpha_ratio : float
        The estimated sum of α over the planted one.
    """

    error: float
    phi_bias: float
    phi_worst: float
    alpha_ratio: float


def recovery_error(truth: AnyModel, found: AnyModel) -> RecoveryError:
    """Compare an estimated model with the planted one.

    Parameters
    ----------
    truth, found : M4 or FittedModel
        The planted and the estimated model, of the same items.

    Returns
    -------
    RecoveryError
        How far off the rankings, the dispersions and the sum of α are.
    """
    matched = match_components(found.sigma, truth.sigma)
    off = found.phi[matched.found] - truth.phi[matched.truth]
    return RecoveryError(
        error=float(matched.kendall.mean()),
        phi_bias=float(off.mean()),
        phi_worst=float(np.abs(off).max()),
        alpha_ratio=float(found.alpha.sum() / truth.alpha.sum()),
    )
