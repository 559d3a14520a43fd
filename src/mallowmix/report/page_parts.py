"""The report's parts without script (rankings, split bars, tables) as values of the template."""

from collections import Counter
from typing import Any

import numpy as np

from mallowmix.assess.contrasts import Agreed
from mallowmix.assess.diagnose.disagreement import PolarisingPair, polarising
from mallowmix.assess.intervals.bootstrap_intervals import Intervals
from mallowmix.data.labels import text_of
from mallowmix.data.text import joined, printable
from mallowmix.model.fitted_model import AnyModel
from mallowmix.plots.plot_style import colour
from mallowmix.report import report_text as words
from mallowmix.report.contents import Contents

SHOWN = 10  # items of a taste that are shown unless asked
GROUPS = 9  # kinds of people that are shown
PAIRS = 6  # that split people most
_OFTEN = 2  # pairs that one item may be in
_SPLIT = 0.01  # a standard deviation over people below this is no difference
_NEAR = 4.0  # percent of a track within which dots cover each other

View = dict[str, Any]


def components(found: Contents) -> list[View]:
    """Return one entry for each component, by share."""
    return [_component(found, row["component"] - 1) for row in found.model.table()]


def _component(found: Contents, k: int) -> View:
    model, sure = found.model, found.intervals
    ranking = [_line(model, sure, k, int(i)) for i in model.order[k]]
    beta = model.beta()[k][np.ix_(model.order[k], model.order[k])]  # by place
    above = beta[np.triu_indices(model.n_items, 1)]
    return {
        "number": k + 1,
        "colour": colour(k + 1),
        "share": words.rounded_percent(float(model.share[k])),
        "range": _range(sure, k),
        "unstable": k + 1 in found.unstable,
        "likes": joined([line["name"] for line in ranking[:3]]),
        "telling": words.telling(found.tellings[k], model.n_components),
        "steady": words.steadiness(float(np.diag(beta, 1).mean()), float(above.mean()))
        if len(above)
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


def _line(model: AnyModel, sure: Intervals | None, k: int, i: int) -> View:
    """Return an item's position, its range, and both on a track in percent."""
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
    return {
        "place": position + 1,
        "name": printable(model.items[i]),
        "range": words_,
        "sure": sure is not None,
    } | shown


def splits(found: Contents) -> list[View]:
    """Pairs on which people differ most: how often each taste prefers the first."""
    model, beta, names = found.model, found.model.beta(), text_of(found.model.items)
    rows = []
    for pair in _spread_out(polarising(model, model.n_items**2)[0]):
        i, j = names.index(pair.item), names.index(pair.other)
        dots = [
            {"number": k + 1, "colour": colour(k + 1), "at": round(100 * float(beta[k, j, i]), 1)}
            for k in range(len(beta))
        ]
        for dot in dots:
            dot["said"] = (
                f"taste {dot['number']}: {words.of_100(float(beta[dot['number'] - 1, i, j]))} "
                "of 100"
            )
        shown = {
            "item": printable(pair.item),
            "other": printable(pair.other),
            "dots": _side_by_side(dots),
        }
        rows.append(
            shown
            | {
                "rate": words.rounded_percent(pair.win_rate),
                "crowd": round(100 * (1 - pair.win_rate), 1),
            }
        )
    return rows if model.n_components > 1 else []


def _spread_out(pairs: tuple[PolarisingPair, ...]) -> list[PolarisingPair]:
    """Return the first pairs on which users disagree, with an item in at most two."""
    used, found = Counter(), []
    for pair in pairs:
        if len(found) == PAIRS or pair.spread < _SPLIT:
            break
        if max(used[pair.item], used[pair.other]) < _OFTEN:
            used.update((pair.item, pair.other))
            found.append(pair)
    return found


def _side_by_side(dots: list[View]) -> list[View]:
    """Move dots that would cover each other towards the middle."""
    for side in (True, False):
        last, n = -100.0, 0
        half = [dot for dot in dots if (dot["at"] < 50) == side]
        for dot in sorted(half, key=lambda dot: -abs(50 - dot["at"])):  # from the end inwards
            n = n + 1 if abs(dot["at"] - last) < _NEAR else 0
            last = dot["at"]
            dot["shift"] = n if side else -n
    return dots


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
            "said": words.archetype(group),
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
    rows = [("These tastes", judged.several), ("One ranking for all", judged.one)][
        : 1 if found.model.n_components == 1 else 2
    ]
    shown = [
        {
            "name": name,
            "right": f"{100 * row.accuracy:.1f}",
            "error": f"{100 * row.accuracy_error:.1f}" if np.isfinite(row.accuracy_error) else "",
            "width": round(100 * row.accuracy, 2),
            "likelihood": words.minus(row.log_likelihood, 3),
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
            "likelihood": words.minus(-np.log(2), 3),
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
