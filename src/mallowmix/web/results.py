"""A person's result: mixture, what is their own, ranking, and differences from the crowd."""

from typing import Any

import numpy as np

from mallowmix.engine import Block
from mallowmix.infer.gibbs_draws import weight_intervals
from mallowmix.infer.rank_items import rank
from mallowmix.infer.user_explanation import explain_user
from mallowmix.model.fitted_model import as_fitted
from mallowmix.web.prepared_answers import ServedModel

LEVEL = 0.9
_DIFFERENCES = 5


def mixture(fitted: ServedModel, block: Block) -> list[dict[str, Any]]:
    """Return one entry for each component, by share: weight, interval, and the crowd's share."""
    found = weight_intervals(fitted.model, fitted.comparisons(block), level=LEVEL, n_jobs=1)
    rows = []
    for taste in fitted.tastes:
        k = taste["component"] - 1
        row = {
            "component": k + 1,
            "name": taste.get("name", ""),
            "weight": found.mean[0, k],
            "low": found.low[0, k],
            "high": found.high[0, k],
        }
        more = {"crowd": taste["share"], "likes": taste["items"][:3]}
        rows.append(row | more | {"unsure": bool(taste["unsure"])})
    return rows


def ranking(fitted: ServedModel, block: Block, n_top: int | None = None) -> list[dict[str, Any]]:
    """The person's items, best first, with the range of each place and the crowd's place."""
    crowd = {str(line.item): line.position for line in fitted.crowd}
    lines = rank(fitted.model, fitted.comparisons(block), level=LEVEL, n_top=n_top, n_jobs=1)[0]
    return [
        {
            "item": str(line.item),
            "place": line.position,
            "low": line.low,
            "high": line.high,
            "wins": line.win_rate,
            "crowd": crowd[str(line.item)],
        }
        for line in lines
    ]


def differences(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return items whose crowd position is outside the person's range, the farthest first."""
    apart = [line for line in lines if not line["low"] <= line["crowd"] <= line["high"]]
    apart.sort(key=lambda line: (-abs(line["crowd"] - line["place"]), line["place"]))
    return apart[:_DIFFERENCES]


def agreement(lines: list[dict[str, Any]]) -> float:
    """The share of all pairs of items that the person orders as the crowd does."""
    crowd = np.array([line["crowd"] for line in lines])
    pairs = len(crowd) * (len(crowd) - 1) / 2
    agree = sum(int((crowd[n + 1 :] > position).sum()) for n, position in enumerate(crowd))
    return agree / pairs if pairs else 1.0


def own_taste(fitted: ServedModel, block: Block) -> dict[str, Any] | None:
    """Return the items that the mixture does not account for; None without a predictor."""
    if as_fitted(fitted.model).predictor is None:
        return None
    found = explain_user(fitted.model, fitted.comparisons(block), level=LEVEL)
    return {
        name: [
            {"item": str(x.item), "wins": x.win_rate, "mixture": x.mixture_win_rate} for x in lines
        ]
        for name, lines in (("more", found.more), ("less", found.less))
    }


def result(fitted: ServedModel, block: Block) -> dict[str, Any]:
    """All of it."""
    lines = ranking(fitted, block)
    return {
        "mixture": mixture(fitted, block),
        "own": own_taste(fitted, block),
        "ranking": lines,
        "differences": differences(lines),
        "agreement": agreement(lines),
        "level": LEVEL,
    }
