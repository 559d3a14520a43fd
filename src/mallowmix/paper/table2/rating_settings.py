"""Constants of Table 2, and a search for them: one at a time, no end of a grid the answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, TypeVar

from mallowmix.model.calibration import Calibration
from mallowmix.peers.validation import best_of_growing

_MOST_ROUNDS = 3
# a factor of 2 of the cap changes its loss by less than two fits of the same comparisons differ, a
# hundred by more: so many steps to each side are tried at first
_STEPS_AT_FIRST = {"user_cap": 4}
Settings = TypeVar("Settings")


@dataclass(frozen=True)
class RatingSettings:
    """How ratings are predicted from comparisons; the defaults are where the search begins.

    Parameters
    ----------
    likelihood_weight : float
        Of the `Calibration` by which users' weights are inferred.
    a, b, c : float
        Of `predict_ratings`.
    floor : float
        TM's share of coin flips, without which a choice against all rankings has probability 0.
    user_cap : float
        For how many independent comparisons a user counts at most in learning.
    """

    likelihood_weight: float = 0.25
    a: float = 4.0
    b: float = 4.0
    c: float = 4.0
    floor: float = 0.1
    user_cap: float = 64.0

    def calibration(self, *, floored: bool = False) -> Calibration:
        """Of the users' weights; with TM's floor or without."""
        spam = self.floor if floored else 0.0
        return Calibration(self.likelihood_weight, spam_share=spam)


def searched(
    start: Settings,
    names: Sequence[str],
    loss_of: Callable[[Settings], float],
    factors: Sequence[float] = (2.0, 2.0**0.5),
) -> Settings:
    """Choose numbers above 0 in turn, the others held, until a round over all changes none.

    Each is tried at half and twice its value, and further while the best is at an end
    (`best_of_growing`); of "floor" the odds are halved and doubled. The first turn of "user_cap"
    goes four such steps to each side. Then so by factors of √2.

    Parameters
    ----------
    start : frozen dataclass
        Where the search begins.
    names : sequence of str
        Its fields that are chosen.
    loss_of : callable
        The loss of a dataclass like `start`.
    factors : sequence of float
        The factors; 2 alone where a loss takes long.

    Returns
    -------
    frozen dataclass
        One that no change of a single number by the last factor improves; or that of its third
        round.
    """
    cached, found = cache(loss_of), start
    for factor in factors:
        for turn in range(_MOST_ROUNDS):
            before = found
            for name in names:
                n_steps = 1 if turn else _STEPS_AT_FIRST.get(name, 1)
                found = _turn(found, name, factor, cached, n_steps)
            if found == before:
                break
    return found


def _turn(
    found: Any, name: str, factor: float, loss_of: Callable[[Any], float], n_steps: int
) -> Any:
    """The same with the best value of one number, of so many steps to each side or more."""
    value = getattr(found, name)
    step = _times_odds if name == "floor" else _times

    def below(value: float) -> float:
        return step(value, 1 / factor)

    def above(value: float) -> float:
        return step(value, factor)

    chosen = best_of_growing(
        [step(value, factor**number) for number in range(-n_steps, n_steps + 1)],
        lambda tried: loss_of(_changed(found, name, tried)),
        below,
        above,
    )
    return _changed(found, name, chosen)


def _changed(found: Any, name: str, value: float) -> Any:
    """Settings that are equal but for rounding are equal, so that a loss is computed once."""
    return replace(found, **{name: float(f"{value:.4g}")})


def _times(value: float, factor: float) -> float:
    return value * factor


def _times_odds(share: float, factor: float) -> float:
    """The share with so many times the odds."""
    return factor * share / (1 - share + factor * share)


def settings_text(settings: Any, names: Sequence[str] = ()) -> str:
    """Settings for the column of that name: "a 4, b 8".

    Parameters
    ----------
    settings : dataclass
        The settings.
    names : sequence of str
        Which of them; all unless given.
    """
    names = names or [each.name for each in fields(settings)]
    return ", ".join(f"{name} {getattr(settings, name):.4g}" for name in names)
