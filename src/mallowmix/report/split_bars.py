"""The choices that split people most, with a mark for each taste."""

from collections import Counter
from typing import Any

from mallowmix.assess.diagnose.disagreement import PolarisingPair, polarising
from mallowmix.data.labels import text_of
from mallowmix.data.text import printable
from mallowmix.report import report_text as words
from mallowmix.report.contents import Contents
from mallowmix.report.lanes import lanes

PAIRS = 6  # that split people most
_OFTEN = 2  # pairs that one item may be in
_SPLIT = 0.01  # a standard deviation over people below this is no difference
_WIDTH = 5.0  # percent of a track that a mark takes


def splits(found: Contents) -> list[dict[str, Any]]:
    """Pairs on which people differ most: how often each taste prefers the first."""
    model = found.model
    if model.n_components == 1:
        return []
    return [_row(found, pair) for pair in spread_out(polarising(model, model.n_items**2)[0])]


def _row(found: Contents, pair: PolarisingPair) -> dict[str, Any]:
    names, beta = text_of(found.model.items), found.model.beta()
    i, j = names.index(pair.item), names.index(pair.other)
    at = [round(100 * float(other), 1) for other in beta[:, j, i]]
    said = [words.of_100(float(first)) for first in beta[:, i, j]]
    lane = lanes(at, _WIDTH)
    dots = [
        {
            "number": k + 1,
            "at": at[k],
            "lane": lane[k],
            "said": f"{words.taste(found.model, k + 1)}: {said[k]} of 100",
        }
        for k in range(len(beta))
    ]
    return {
        "item": printable(pair.item),
        "other": printable(pair.other),
        "dots": dots,
        "lanes": max(lane) + 1,
        "rate": words.rounded_percent(pair.win_rate),
        "crowd": round(100 * (1 - pair.win_rate), 1),
    }


def spread_out(pairs: tuple[PolarisingPair, ...]) -> list[PolarisingPair]:
    """Return the first pairs on which users disagree, with an item in at most two."""
    used, found = Counter(), []
    for pair in pairs:
        if len(found) == PAIRS or pair.spread < _SPLIT:
            break
        if max(used[pair.item], used[pair.other]) < _OFTEN:
            used.update((pair.item, pair.other))
            found.append(pair)
    return found
