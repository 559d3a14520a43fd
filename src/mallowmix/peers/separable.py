"""Other separable topic models on ordered pairs, then Algorithm 4.

DDP, and FastAnchorWords with RecoverL2 or RecoverKL.
"""

from dataclasses import dataclass
from typing import Literal

from mallowmix.data.comparisons import Comparisons
from mallowmix.model.fit_options import NovelPairFinder, ProjectionsOptions, Regression
from mallowmix.peers.component_mixture import FittedMixture, of_model
from mallowmix.peers.mixed_mallows_peer import fit_quietly


@dataclass(frozen=True)
class Separable:
    """Novel pairs from moments of ordered pairs, regression on them, Mallows components from that.

    Needs many users with several comparisons each; assumes that every component has a pair that
    (nearly) it alone puts in that order.

    Parameters
    ----------
    novel_pairs : {"projections", "ddp", "fast-anchor-words"}
        Algorithm 2, `learn.paper.ddp`, `learn.paper.fast_anchor_words`.
    regression : {"algorithm-3", "l2", "kl"}
        See `learn.paper.recover`.
    min_count : float
        Pairs seen less often than this fraction of the median pair cannot be novel: rare rows are
        the noisiest.
    zeta : float or "auto"
        As in `ProjectionsOptions`.
    """

    novel_pairs: NovelPairFinder = "fast-anchor-words"
    regression: Regression = "l2"
    min_count: float = 0.2
    zeta: float | Literal["auto"] = "auto"
    name: str = "FastAnchorWords + RecoverL2"
    needs: Literal["comparisons", "ratings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        method = ProjectionsOptions(
            novel_pairs=self.novel_pairs,
            regression=self.regression,
            min_count=self.min_count,
            zeta=self.zeta,
        )
        return of_model(fit_quietly(data, n_components, method, seed))
