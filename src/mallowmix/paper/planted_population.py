"""A drawn population: a planted model, the comparisons drawn from it, and each method's answer to them."""

import warnings
from typing import Any

from mallowmix.engine import ThreadEngine
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.learn.spectral.mallows_mstep import Columns
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import match_components
from mallowmix.model.sampling import Sample
from mallowmix.paper.experiment import Progress
from mallowmix.paper.oracle import columns_given_weights


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
        self._full: M4 | None = None

    def answer(self, method: str) -> M4:
        """By "printed", the paper's Algorithm 1; "none", "short" or "full", the default method; or "oracle", told θ."""
        if method == "printed":
            return self._fit(method="projections")
        if method in ("none", "short"):
            return self._fit(refine=method)
        if self._full is None:
            self._full = self._fit(refine="full")
        return self._full if method == "full" else self._oracle(self._full)

    def _fit(self, **options: Any) -> M4:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            votes, K = self.sample.comparisons, self.truth.n_components
            return fit(
                votes, K, seed=self.seed, n_jobs=self.n_jobs, progress=self.progress, **options
            )

    def _oracle(self, found: M4) -> M4:
        """From the default method's answer and from the truth: the better of two summits of the likelihood given θ."""
        match = match_components(found.sigma, self.truth.sigma).found
        starts = [
            Columns(found.sigma[match], found.phi[match]),
            Columns(self.truth.sigma, self.truth.phi),
        ]
        best = columns_given_weights(
            self.sample.comparisons, self.sample.theta, starts, engine=ThreadEngine(self.n_jobs)
        )
        return M4(best.sigma, best.phi, self.truth.alpha, self.truth.items)
