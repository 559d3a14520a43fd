"""A drawn population: a planted model, the comparisons drawn from it, and each method's answer to them."""

import warnings

from mallowmix.engine import ThreadEngine
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.model.fit_options import FitOptions, ProjectionsOptions, SpectralOptions
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import match_components
from mallowmix.model.sampling import Sample
from mallowmix.paper.oracle import components_given_weights
from mallowmix.typing import Progress


class Population:
    """The default method is run once, also because its answer is where the oracle starts."""

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

    def answer(self, method: str) -> FittedModel:
        """By "printed", the paper's Algorithm 1; "none", "short" or "full", the default method; or "oracle", told θ."""
        if method == "printed":
            return self._fit(ProjectionsOptions())
        if method in ("none", "short"):
            return self._fit(SpectralOptions(refine=method))
        if self._full is None:
            self._full = self._fit(SpectralOptions())
        return self._full if method == "full" else self._oracle(self._full)

    def _fit(self, method: FitOptions) -> FittedModel:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            votes, K = self.sample.comparisons, self.truth.n_components
            return fit(
                votes,
                K,
                method=method,
                seed=self.seed,
                n_jobs=self.n_jobs,
                progress=self.progress,
            )

    def _oracle(self, found: FittedModel) -> FittedModel:
        """From the default method's answer and from the truth: the better of two summits of the likelihood given θ."""
        match = match_components(found.sigma, self.truth.sigma).found
        starts = [
            MallowsComponents(found.sigma[match], found.phi[match]),
            MallowsComponents(self.truth.sigma, self.truth.phi),
        ]
        best = components_given_weights(
            self.sample.comparisons, self.sample.theta, starts, engine=ThreadEngine(self.n_jobs)
        )
        return FittedModel(M4(best.sigma, best.phi, self.truth.alpha, self.truth.items))
