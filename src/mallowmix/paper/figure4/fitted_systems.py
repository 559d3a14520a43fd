"""The systems of Figure 4, each learnt from the same comparisons; some share a fit."""

import warnings
from functools import cached_property
from typing import Any, NamedTuple

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.infer.heldout.heldout_scores import Heldout
from mallowmix.infer.prepared_model import PreparedModel, prepare
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fit_report import ComponentsKind
from mallowmix.model.fitted_model import FittedModel, with_scores
from mallowmix.model.table_model import TableModel
from mallowmix.paper.experiment import Request
from mallowmix.paper.figure4.movielens_split import (
    MovielensSplit,
    SettingsTrial,
    settings_trial,
    with_cap,
)
from mallowmix.paper.figure4.scoring import scored_by
from mallowmix.paper.paper_method import PaperMethod, chosen_settings
from mallowmix.peers.btl import em_bradley_terry
from mallowmix.peers.mallows_mixture import MixtureOfMallows, at_vertices
from mallowmix.peers.tm import FLOORS, TM, best_floor, floored
from mallowmix.peers.tm import rounded as without_dispersion

PAPER_SYSTEM = "M4, Algorithms 1–4"
_EM_STEPS = 20  # of the mixture of BTL, from the components of the mixed-membership fit
_FLOORS = FLOORS[2:-2]  # candidates for TM's ε, to begin with
VERTEX_SYSTEMS = ("mixture of Mallows", "mixture of BTL")  # a user has one component
_TUNED = ("TM", "TM, not rounded")  # whose settings are chosen for each scoring method


class FittedSystem(NamedTuple):
    """What a system learnt, and the settings that were chosen on training users, in words."""

    model: Any
    settings: str = ""


class ScoredSystem(NamedTuple):
    """A system's score on the held-out users, and its settings."""

    score: Heldout
    settings: str


class FittedSystems:
    """What each system learns with K components; the fits of the last K are kept.

    Parameters
    ----------
    split : MovielensSplit
        The training users.
    request : Request
        Quick fits stop early (``refine="short"``).
    """

    def __init__(self, split: MovielensSplit, request: Request) -> None:
        self.split, self.learnt, self.request, self.k = split, split.learnt, request, 0
        self._kept: dict[str, Any] = {}

    def fitted(self, system: str, k: int, method: str) -> FittedSystem:
        """A system after learning.

        Parameters
        ----------
        system : str
            Its name, one of the column "system".
        k : int
            The number of components.
        method : str
            How it will be scored, by which settings are chosen.

        Returns
        -------
        FittedSystem
            The components and their prior, and the chosen settings.
        """
        if self.k != k:  # tasks of the systems that share a fit follow each other
            self.k, self._kept = k, {}
        name = f"{system}, {method}" if system in _TUNED else system
        return self._once(name, lambda: self._learn(system, method))

    def scored(self, system: str, k: int, method: str) -> ScoredSystem:
        """A system's score on the held-out users, computed once for each K.

        Parameters
        ----------
        system, k, method
            As in `fitted`.

        Returns
        -------
        ScoredSystem
            The log-likelihood, with each user's own, and the chosen settings.
        """
        model, settings = self.fitted(system, k, method)
        users, vertices = self.split.held_out, system in VERTEX_SYSTEMS
        score = self._once(
            f"score of {system}, {method}",
            lambda: scored_by(method, model, users, self.request, at_vertices=vertices),
        )
        return ScoredSystem(score, settings)

    def _once(self, name: str, compute: Any) -> Any:
        if name not in self._kept:
            self._kept[name] = compute()
        return self._kept[name]

    def _learn(self, system: str, method: str) -> FittedSystem:
        if system in _TUNED:
            return self._tm(method, rounded=system == "TM")
        if system == PAPER_SYSTEM:
            return self._paper()
        if system == "mixture of Mallows":
            return FittedSystem(self._mixture_of_mallows())
        if system == "mixed-membership BTL":
            return FittedSystem(self._mixed_btl())
        if system == "mixture of BTL":
            return FittedSystem(self._mixture_of_btl())
        return FittedSystem(self._m4())

    @cached_property
    def _trial(self) -> SettingsTrial:
        return settings_trial(self.split)

    def _loss(self, model: ComponentModel, method: str) -> float:
        """Of the training users who judge, scored as the held-out users will be."""
        found = scored_by(method, model, self._trial.judges, self.request)
        return -found.log_likelihood_per_comparison

    def _m4(self) -> FittedModel:
        """M4's own fit, once for each K."""
        return self._once("fit", lambda: self._fit(self.learnt))

    def _tm(self, method: str, *, rounded: bool) -> FittedSystem:
        """φ = 0, or β as Algorithm 3 leaves it, with the floor that judges lose least by."""
        tried = self._single_rankings(self._trial.training, rounded, "trial of TM")
        items = self.learnt.items
        eps = best_floor(
            lambda eps: self._loss(_as_tables(items, floored(tried, eps)), method), _FLOORS
        )
        learnt = self._single_rankings(self.split.training, rounded, "TM")
        return FittedSystem(_as_tables(items, floored(learnt, eps)), f"floor {eps:.4g}")

    def _single_rankings(self, users: Comparisons, rounded: bool, name: str) -> PreparedModel:
        """TM without a floor, from these users; rounded, M4's fit and that of TM are one."""
        if not rounded:
            peer = TM(rounded=False)
            return self._once(f"{name}, not rounded", lambda: peer.learnt(with_cap(users), self.k))
        own = users is self.split.training
        model = self._m4() if own else self._once(name, lambda: self._fit(with_cap(users)))
        return prepare(without_dispersion(model))

    def _paper(self) -> FittedSystem:
        """Algorithms 1 to 4; metric and ζ by the judges, document completion."""
        tried = PaperMethod(self._trial.training, self.k, self.request.n_jobs)
        options = chosen_settings(tried, lambda model: self._loss(model, "completion"))
        learnt = PaperMethod(self.split.training, self.k, self.request.n_jobs)
        model, zeta = learnt.learn(options)
        return FittedSystem(model, f"metric {options.metric}, zeta {zeta:.4g}")

    def _mixture_of_mallows(self) -> Any:
        n_starts = 2 if self.request.quick else 5
        peer = MixtureOfMallows(n_starts=n_starts, n_iter=30, likelihood_weights=(1.0,))
        return peer.fit(self.learnt, self.k).model

    def _mixed_btl(self) -> FittedModel:
        """The Bradley–Terry fit, once for each K."""
        return self._once("Bradley–Terry", lambda: self._fit(self.learnt, "bradley-terry"))

    def _mixture_of_btl(self) -> FittedModel:
        """EM for the one component of each user, from those of the mixed-membership fit."""
        mixed, engine = self._mixed_btl(), ThreadEngine(self.request.n_jobs)
        scores = em_bradley_terry(mixed.components, make_blocks(self.learnt), engine, _EM_STEPS)
        return at_vertices(with_scores(scores))

    def _fit(self, users: Comparisons, components: ComponentsKind = "mallows") -> FittedModel:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            return fit(
                users,
                self.k,
                method=SpectralOptions(refine="short" if self.request.quick else "full"),
                components=components,
                predictor=False,
                n_jobs=self.request.n_jobs,
                progress=self.request.progress,
            )


def _as_tables(items: Labels, prepared: PreparedModel) -> TableModel:
    """TM's β, floored or as a regression left it, is no Mallows component."""
    Q = len(items)
    return TableModel(prepared.beta.T.reshape(-1, Q, Q), prepared.alpha, items)  # (K, Q, Q)
