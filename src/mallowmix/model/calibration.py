"""Calibration: how far to trust a person's comparisons and the prior when someone new is placed among the components."""

import math
from dataclasses import asdict, dataclass

from mallowmix.errors import OptionError


@dataclass(frozen=True)
class Calibration:
    """What `calibrate` learns from people that it predicts, and every inference about a person then uses.

    evidence : what one comparison counts for. People contradict themselves less than independent draws would, and comparisons
        made from one ranking or from ratings repeat each other: then it is below 1
    scale : the prior is Dirichlet(scale · alpha); above 1 where the people at hand are more mixed than the learnt prior says
    vertex : the share of people who hold one component alone, drawn by the shares; the others are drawn from the Dirichlet
    spam : the prior share of answers that are coin flips, added as a component with φ = 1

    The default, 1, 1, 0, 0, is the model as it was learnt.
    """

    evidence: float = 1.0
    scale: float = 1.0
    vertex: float = 0.0
    spam: float = 0.0

    def __post_init__(self) -> None:
        for name in ("evidence", "scale"):
            _check(name, getattr(self, name), getattr(self, name) > 0, "a finite number above 0")
        _check("vertex", self.vertex, 0 <= self.vertex <= 1, "from 0 to 1")
        _check("spam", self.spam, 0 <= self.spam < 1, "at least 0 and below 1")
        for name, value in asdict(self).items():
            object.__setattr__(self, name, float(value))


def _check(name: str, value: float, fits: bool, wanted: str) -> None:
    if not (math.isfinite(value) and fits):
        raise OptionError(f"{name} of the calibration is {value}; it must be {wanted}.")
