"""Priors of the components and of the Dirichlet parameters."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from mallowmix.errors import OptionError, check_choice

RankingPrior: TypeAlias = Literal["uniform", "mallows"]


@dataclass(frozen=True, kw_only=True)
class PosteriorPriors:
    """Priors of `sample_posterior`: proper, weak, and the same for every component.

    Parameters
    ----------
    phi : (float, float)
        φ_k ~ Beta(a, b). The default, with density 2 φ, is against φ → 0 and nothing else.
    alpha_median, alpha_spread : float
        log α_k ~ Normal(log median, spread²).
    rankings : {"uniform", "mallows"}
        "uniform": all rankings are equally likely. "mallows": σ_k ~ Mallows(σ_0, φ_0) around a
        ranking of the crowd, σ_0 uniform, and both are drawn too.
    crowd_phi : (float, float)
        φ_0 ~ Beta(a, b), of "mallows"; φ_0 = 1 is the uniform prior.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.PosteriorPriors(rankings="mallows").phi
    (2.0, 1.0)
    """

    phi: tuple[float, float] = (2.0, 1.0)
    alpha_median: float = 0.3
    alpha_spread: float = 1.5
    rankings: RankingPrior = "uniform"
    crowd_phi: tuple[float, float] = (2.0, 1.0)

    def __post_init__(self) -> None:
        check_choice("rankings", self.rankings, get_args(RankingPrior))
        for option in ("phi", "crowd_phi"):
            value = getattr(self, option)
            if len(value) != 2 or not all(_positive(each) for each in value):
                expected = "two finite numbers above 0, a and b of Beta(a, b)"
                raise OptionError(option=option, value=value, expected=expected)
        for option in ("alpha_median", "alpha_spread"):
            value = getattr(self, option)
            if not _positive(value):
                raise OptionError(option=option, value=value, expected="a finite number above 0")


def _positive(value: float) -> bool:
    return 0 < value < math.inf
