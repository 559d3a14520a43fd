"""What can be shown before there is a model: how often items win, and what others chose."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from mallowmix.web.vote_store import Item

PairWins = Mapping[tuple[int, int], tuple[int, int]]  # (low, high): wins of low, wins of high


class WinCount(BaseModel):
    """How many of its comparisons an item has won so far."""

    item: str
    wins: int
    of: int


class OthersChose(BaseModel):
    """A choice of the participant, and how many of the others who had it chose the same."""

    chosen: str
    over: str
    same: int
    of: int


def win_counts(pairs: PairWins, items: Mapping[int, Item]) -> list[WinCount]:
    """Items that were compared, best first.

    By (wins + 1) / (comparisons + 2), so that one win of one is not the best of all.
    """
    wins: dict[int, int] = {}
    total: dict[int, int] = {}
    for (low, high), (first, second) in pairs.items():
        for item, won in ((low, first), (high, second)):
            wins[item] = wins.get(item, 0) + won
            total[item] = total.get(item, 0) + first + second
    known = [item for item in total if item in items and total[item]]
    known.sort(key=lambda item: (-(wins[item] + 1) / (total[item] + 2), item))
    return [WinCount(item=items[i].name, wins=wins[i], of=total[i]) for i in known]


def others_chose(
    answers: NDArray[np.int64], pairs: PairWins, items: Mapping[int, Item]
) -> list[OthersChose]:
    """The participant's decided answers beside those of others, where there are some.

    The rarest choices come first.
    """
    found = []
    for low, high, choice in answers.tolist():
        first, second = pairs.get((low, high), (0, 0))
        same, of = (first if choice > 0 else second) - 1, first + second - 1  # less their own
        if choice and of > 0 and low in items and high in items:
            chosen, over = (low, high) if choice > 0 else (high, low)
            names = {"chosen": items[chosen].name, "over": items[over].name}
            found.append(OthersChose(**names, same=same, of=of))
    return sorted(found, key=lambda each: (each.same + 1) / (each.of + 2))
