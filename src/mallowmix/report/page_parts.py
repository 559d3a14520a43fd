"""The report's parts without script (rankings, split bars, tables) as values of the template."""

from typing import Any

import numpy as np

from mallowmix.assess.contrasts import Agreed
from mallowmix.assess.intervals.bootstrap_intervals import Intervals
from mallowmix.data.text import joined, printable
from mallowmix.model.fitted_model import AnyModel
from mallowmix.plots.plot_style import colour
from mallowmix.report import report_text as words
from mallowmix.report.contents import Contents

SHOWN = 10  # items of a taste that are shown unless asked
_ON_PAPER = 30  # more of them that paper shows; of more it says how many
GROUPS = 9  # kinds of people that are shown
_MOST_NAMED = 5  # tastes whose names fit beside the table of distances
_MOST_COLUMNS = 3  # of tastes beside each other

View = dict[str, Any]


def components(found: Contents) -> list[View]:
    """Return one entry for each component, by share."""
    return [_component(found, row["component"] - 1) for row in found.model.table()]


def _component(found: Contents, k: int) -> View:
    model, sure = found.model, found.intervals
    crowd = _crowd(found)
    ranking = [_line(model, sure, k, int(i), crowd) for i in model.order[k]]
    beta = model.beta()[k][np.ix_(model.order[k], model.order[k])]  # by place
    above = beta[np.triu_indices(model.n_items, 1)]
    return {
        "number": k + 1,
        "colour": colour(k + 1),
        "share": words.rounded_percent(float(model.share[k])),
        "range": _range(sure, k),
        "likes": joined([line["name"] for line in ranking[:3]]),
        "telling": words.telling(found.contrasts[k], model.n_components, better=found.better),
        "differing": words.differing(found.contrasts[k], better=found.better),
        "unsure": "; ".join(found.unsure.get(k + 1, [])),
        "steady": words.steadiness(float(np.diag(beta, 1).mean()), float(above.mean()))
        if len(above) and k + 1 not in found.unsure
        else "",
        "phi": f"{model.phi[k]:.2f}",
        "first": ranking[:SHOWN],
        "rest": ranking[SHOWN:],
    }


def _range(sure: Intervals | None, k: int) -> str:
    if sure is None:
        return ""
    # widened to hold the estimate
    low, high = (min(sure.share_low[k], sure.share[k]), max(sure.share_high[k], sure.share[k]))
    return f"{100 * low:.0f}–{words.rounded_percent(float(high))}"


def on_paper(n_components: int) -> int:
    """How many items of a taste beyond the first paper shows: none where many tastes fill pages."""
    return _ON_PAPER if n_components <= _MOST_COLUMNS else 0


def card_columns(n_components: int) -> int:
    """How many tastes stand beside each other, so that none is left alone where that can be."""
    pairs = n_components % _MOST_COLUMNS == 1 and n_components % 2 == 0  # 4, 10: two and two
    return 2 if pairs else min(n_components, _MOST_COLUMNS)


def _crowd(found: Contents) -> dict[str, int]:
    """The position of each item in the population, from 0; none where there is but one ranking."""
    if found.model.n_components == 1:
        return {}
    return {str(item): n for n, item in enumerate(found.leaderboard.items.tolist())}


def _line(model: AnyModel, sure: Intervals | None, k: int, i: int, crowd: dict[str, int]) -> View:
    """Return an item's position, its range, the crowd's, and all of it on a track in percent."""
    position = int(model.sigma[k, i])
    low, high = (
        (int(sure.position_low[k, i]), int(sure.position_high[k, i]))
        if sure is not None
        else (position, position)
    )
    track = 100 / max(model.n_items - 1, 1)
    shown = {
        "at": round(track * position, 2),
        "left": round(track * low, 2),
        "width": round(track * (high - low), 2),
    }
    words_ = f"{low + 1}" if low == high else f"{low + 1}–{high + 1}"
    overall = crowd.get(str(model.items[i]))
    if overall is not None:
        shown |= _moved(position, overall, track)
    return {
        "place": position + 1,
        "name": printable(model.items[i]),
        "range": words_,
        "sure": sure is not None,
    } | shown


def _moved(position: int, overall: int, track: float) -> View:
    """How far an item is from its position in the population."""
    return {
        "crowd": round(track * overall, 2),
        "from": round(track * min(position, overall), 2),
        "way": round(track * abs(overall - position), 2),
        "overall": overall + 1,
    }


def divisive(found: Contents) -> list[str]:
    """Items on which people differ most."""
    return [printable(item.item) for item in found.diagnosis.polarising_items]


def in_common(pairs: tuple[Agreed, ...]) -> list[View]:
    """Choices that all tastes make."""
    return [
        {
            "winner": printable(pair.winner),
            "loser": printable(pair.loser),
            "least": words.of_100(pair.least),
        }
        for pair in pairs
    ]


def apart(found: Contents) -> list[View]:
    """How far apart the tastes are: a row each, of 100 pairs of items."""
    by_share = [row["component"] - 1 for row in found.model.table()]
    return [
        {
            "number": k + 1,
            "short": len(by_share) > _MOST_NAMED,
            "cells": [
                "–" if k == other else f"{100 * found.distances[k, other]:.0f}"
                for other in by_share
            ],
        }
        for k in by_share
    ]


def archetypes(found: Contents) -> list[View]:
    """Return groups of users who mix alike, with their mean mixture; the smallest ones together."""
    shown = []
    for group in found.mixing.archetypes[:GROUPS]:
        bar = [
            {"colour": colour(k + 1), "width": round(100 * weight, 1)}
            for k, weight in enumerate(group.weights)
        ]
        said = {
            "said": words.archetype(found.model, group),
            "share": words.rounded_percent(group.share),
            "people": _people(group.n_people),
        }
        shown.append(said | {"bar": bar})
    rest = found.mixing.archetypes[GROUPS:]
    if rest:
        share, people = sum(group.share for group in rest), sum(group.n_people for group in rest)
        shown.append(
            {
                "said": "other mixtures",
                "share": words.rounded_percent(share),
                "people": _people(people),
                "bar": [],
            }
        )
    return shown


def _people(count: int) -> str:
    return words.counted(count, "person", "people")


def noise(found: Contents) -> list[View]:
    """Where disagreement comes from, in three parts."""
    parts = found.diagnosis.disagreement
    named = (
        (
            "Different people",
            parts.between_people,
            "#3346b8",
            "People follow different tastes, so they choose differently.",
        ),
        (
            "Mixed people",
            parts.within_person,
            "#8e9be0",
            "One person follows now one taste, now another.",
        ),
        (
            "Noise",
            parts.within_component,
            "#b9bcc4",
            "The same taste, but the two things are close, or the moment decides.",
        ),
    )
    return [
        {
            "name": name,
            "share": words.rounded_percent(value),
            "width": round(100 * value, 2),
            "colour": paint,
            "said": said,
        }
        for name, value, paint, said in named
    ]


def systems(found: Contents) -> list[View]:
    """How many of 100 choices are predicted right, and how likely each was held to be."""
    judged = found.against_one
    if judged is None:
        return []
    one = ("One ranking for all", judged.one)
    alone = found.model.n_components == 1
    rows = [("This ranking", judged.several)] if alone else [("These tastes", judged.several), one]
    shown = [
        {
            "name": name,
            "right": f"{100 * row.accuracy:.1f}",
            "error": f"{100 * row.accuracy_error:.1f}" if np.isfinite(row.accuracy_error) else "",
            "width": round(100 * row.accuracy, 2),
            "likelihood": words.minus(row.log_likelihood, 4),
        }
        for name, row in rows
    ]
    return [
        *shown,
        {
            "name": "A coin",
            "right": "50.0",
            "error": "",
            "width": 50,
            "likelihood": words.minus(-np.log(2), 4),
        },
    ]


def numbers_tried(found: Contents) -> list[View]:
    """One row for each number of tastes."""
    choice = found.choice
    if choice is None:
        return []
    return [
        {
            "k": row.k,
            "chosen": row.k == choice.k,
            "likelihood": words.minus(row.log_likelihood_per_comparison, 4),
            "agreement": words.rounded_percent(row.agreement),
            "smallest": words.rounded_percent(row.smallest_share),
        }
        for row in choice.table
    ]
