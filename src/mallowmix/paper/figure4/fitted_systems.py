"""The systems of Figure 4, each learnt from the same comparisons; some share a fit."""

import warnings
from typing import Any

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.infer.prepared_model import PreparedModel, prepare
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fit_report import ComponentsKind
from mallowmix.model.fitted_model import FittedModel, with_scores
from mallowmix.model.table_model import TableModel
from mallowmix.paper.experiment import Request
from mallowmix.peers.btl import em_bradley_terry
from mallowmix.peers.mallows_mixture import MixtureOfMallows, at_vertices
from mallowmix.peers.tm import TM, floored
from mallowmix.peers.tm import rounded as without_dispersion

_EM_STEPS = 20  # of the mixture of BTL, from the components of the mixed-membership fit
_FLOORS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)  # candidates for TM's ε


class FittedSystems:
    """What each system learns with K components; the fits of the last K are kept.

    Parameters
    ----------
    learnt : Comparisons
        What they learn from.
    request : Request
        Quick fits stop early (``refine="short"``).
    """

    def __init__(self, learnt: Comparisons, request: Request) -> None:
        self.learnt, self.request, self.k = learnt, request, 0
        self._mallows: FittedModel | None = None
        self._bradley_terry: FittedModel | None = None
        self._last: tuple[str, Any] = ("", None)

    def fitted(self, system: str, k: int) -> Any:
        """A system after learning.

        Parameters
        ----------
        system : str
            Its name, one of the column "system".
        k : int
            The number of components.

        Returns
        -------
        FittedModel or TableModel
            The components and their prior.
        """
        if self.k != k:  # tasks of the systems that share a fit follow each other
            self.k, self._mallows, self._bradley_terry, self._last = k, None, None, ("", None)
        if self._last[0] != system:
            self._last = (system, self._learn(system))
        return self._last[1]

    def _learn(self, system: str) -> FittedModel | TableModel:
        if system == "TM":
            return self._tm()
        if system == "TM, not rounded":
            return self._tm_not_rounded()
        if system == "mixture of Mallows":
            return self._mixture_of_mallows()
        if system == "mixed-membership BTL":
            return self._mixed_btl()
        if system == "mixture of BTL":
            return self._mixture_of_btl()
        return self._m4()

    def _m4(self) -> FittedModel:
        """M4's own fit, once for each K."""
        self._mallows = self._mallows or self._fit()
        return self._mallows

    def _tm(self) -> TableModel:
        """The rankings of M4's fit with φ = 0 and a floor that is chosen on training users."""
        chooser = TM(floor=_FLOORS, method=self._options)
        eps = chooser.chosen_floor(self.learnt, self.k, 0)
        prepared = floored(prepare(without_dispersion(self._m4())), eps)
        return _as_tables(self.learnt.items, prepared)

    def _tm_not_rounded(self) -> TableModel:
        """β as Algorithm 3 leaves it, with a floor chosen likewise."""
        fitted = TM(rounded=False, floor=_FLOORS).fit(self.learnt, self.k)
        return _as_tables(fitted.items, fitted.fits[0])

    def _mixture_of_mallows(self) -> Any:
        n_starts = 2 if self.request.quick else 5
        peer = MixtureOfMallows(n_starts=n_starts, n_iter=30, likelihood_weights=(1.0,))
        return peer.fit(self.learnt, self.k).model

    def _mixed_btl(self) -> FittedModel:
        """The Bradley–Terry fit, once for each K."""
        self._bradley_terry = self._bradley_terry or self._fit("bradley-terry")
        return self._bradley_terry

    def _mixture_of_btl(self) -> FittedModel:
        """EM for the one component of each user, from those of the mixed-membership fit."""
        mixed, engine = self._mixed_btl(), ThreadEngine(self.request.n_jobs)
        scores = em_bradley_terry(mixed.components, make_blocks(self.learnt), engine, _EM_STEPS)
        return at_vertices(with_scores(scores))

    @property
    def _options(self) -> SpectralOptions:
        return SpectralOptions(refine="short" if self.request.quick else "full")

    def _fit(self, components: ComponentsKind = "mallows") -> FittedModel:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            return fit(
                self.learnt,
                self.k,
                method=self._options,
                components=components,
                predictor=False,
                n_jobs=self.request.n_jobs,
                progress=self.request.progress,
            )


def _as_tables(items: Labels, prepared: PreparedModel) -> TableModel:
    """TM's β, floored or as a regression left it, is no Mallows component."""
    Q = len(items)
    return TableModel(prepared.beta.T.reshape(-1, Q, Q), prepared.alpha, items)  # (K, Q, Q)
