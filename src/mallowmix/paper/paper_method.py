"""The paper's own method for real people: Algorithms 1 to 4, and its reference's prior.

The tests are the corrected ones. The metric and ζ, which the paper does not print for MovieLens,
are chosen by the caller's loss on training users; the Dirichlet prior is that of Arora, Ge and
Moitra (2012), which the paper refers to.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine
from mallowmix.errors import FitError, MallowmixWarning
from mallowmix.learn.paper.algorithm1 import moments_of, novel_pairs_of, ranking_matrix_of
from mallowmix.learn.paper.components_from_topics import components_from_topics
from mallowmix.learn.paper.neighbourhoods import Metric
from mallowmix.learn.paper.pair_moments import HalfMoments
from mallowmix.model.fit_options import PAPER_ZETA, ProjectionsOptions
from mallowmix.model.m4 import M4
from mallowmix.numerics.dirichlet import dirichlet_from_smallest
from mallowmix.peers.validation import best_of_growing

# "moment" needs users who answered a pair twice; "euclidean" is what "projected" estimates
_METRICS: tuple[Metric, ...] = ("moment", "projected")


@dataclass(eq=False)
class PaperMethod:
    """Algorithms 1 to 4 on one set of comparisons; E is estimated once for all settings.

    Parameters
    ----------
    comparisons : Comparisons
        What is learnt from.
    n_components : int
        K.
    n_jobs : int, optional
        The number of threads.
    """

    comparisons: Comparisons
    n_components: int
    n_jobs: int | None = None
    _moments: HalfMoments | None = field(default=None, init=False)

    @property
    def moments(self) -> HalfMoments:
        """Ê of Lemma 2."""
        if self._moments is None:
            engine = ThreadEngine(self.n_jobs)
            self._moments = moments_of(self.comparisons, self.n_components, engine=engine)
        return self._moments

    def learn(self, options: ProjectionsOptions) -> tuple[M4, float]:
        """Learn with these settings; the model, and the ζ that was used.

        Raises
        ------
        FitError
            Where the data does not show so many components, or does not allow the metric.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            novel = novel_pairs_of(self.moments, self.n_components, options)  # Algorithm 2
            B, a, R = ranking_matrix_of(self.moments, novel, options)  # Algorithm 3
        sigma, phi, _ = components_from_topics(B, dispersion=options.dispersion)  # Algorithm 4
        return M4(sigma, phi, dirichlet_from_smallest(a, R), self.comparisons.items), novel.zeta


def chosen_settings(method: PaperMethod, loss_of: Callable[[M4], float]) -> ProjectionsOptions:
    """The metric and ζ with the least loss.

    For each metric that the data allows, ζ begins at the paper's .05 and at half, once and twice
    the one that the distances suggest; candidates are added while the best is at an end.

    Parameters
    ----------
    method : PaperMethod
        On the users who are learnt from.
    loss_of : callable
        The loss of a model on other users.

    Returns
    -------
    ProjectionsOptions
        The settings.
    """
    found, refused = [], None
    for metric in _METRICS:
        options = ProjectionsOptions(zeta="auto", metric=metric)
        try:
            _, auto = method.learn(options)
        except FitError as error:
            refused = error
            continue
        best = _best_zeta(method, options, auto, loss_of)
        found.append((loss_of(method.learn(best)[0]), best))
    if not found and refused is not None:
        raise refused
    return min(found, key=lambda entry: entry[0])[1]


def _best_zeta(
    method: PaperMethod,
    options: ProjectionsOptions,
    auto: float,
    loss_of: Callable[[M4], float],
) -> ProjectionsOptions:
    zeta = best_of_growing(
        (PAPER_ZETA, auto / 2, auto, 2 * auto),
        lambda zeta: loss_of(method.learn(replace(options, zeta=zeta))[0]),
        lambda zeta: zeta / 2,
        lambda zeta: 2 * zeta,
    )
    return replace(options, zeta=zeta)
