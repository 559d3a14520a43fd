"""Calibration: what a comparison and the prior count for when a user's weights are inferred."""

import math
from dataclasses import asdict, dataclass

from mallowmix.errors import OptionError

_LARGEST = 1e6  # beyond, sums of logarithms lose their last digits, and then overflow


@dataclass(frozen=True)
class Calibration:
    """What one comparison and the prior count for in inference about a user.

    `calibrate` learns it from users whose comparisons it predicts. The default is the model as it
    was learnt.

    Parameters
    ----------
    likelihood_weight : float
        What one comparison counts for. People contradict themselves less than independent draws
        would, and comparisons made from one ranking or from ratings repeat each other: then it is
        below 1.
    prior_scale : float
        The prior is Dirichlet(prior_scale · alpha); above 1 where the users at hand are more
        mixed than the learnt prior says.
    vertex_share : float
        The share of users who hold one component alone, drawn by the shares; the others are drawn
        from the Dirichlet.
    spam_share : float
        The prior share of answers that are coin flips, added as a component with φ = 1.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.Calibration(likelihood_weight=0.3).prior_scale
    1.0
    """

    likelihood_weight: float = 1.0
    prior_scale: float = 1.0
    vertex_share: float = 0.0
    spam_share: float = 0.0

    def __post_init__(self) -> None:
        for name in ("likelihood_weight", "prior_scale"):
            fits = 0 < getattr(self, name) <= _LARGEST
            _check(name, getattr(self, name), fits, f"above 0 and at most {_LARGEST:,.0f}")
        _check("vertex_share", self.vertex_share, 0 <= self.vertex_share <= 1, "from 0 to 1")
        _check("spam_share", self.spam_share, 0 <= self.spam_share < 1, "at least 0 and below 1")
        for name, value in asdict(self).items():
            object.__setattr__(self, name, float(value))


def _check(name: str, value: float, fits: bool, expected: str) -> None:
    if not (math.isfinite(value) and fits):
        raise OptionError(option=name, value=value, expected=expected)
