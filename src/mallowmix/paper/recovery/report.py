"""The recovery table in Markdown and as a picture: targets, ours, the oracle given θ, the paper."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from mallowmix.paper.experiment import ExperimentReport, TextRow
from mallowmix.paper.markdown import error_text
from mallowmix.paper.pictures import save_picture
from mallowmix.paper.recovery.planted_settings import PlantedSetting

RECOVERY_METHODS = ("none", "short", "full", "oracle", "paper")  # in the order in which they run
_LEAST_DRAWN = 1e-5  # an error of 0 is drawn here
_MARKS = {  # of the picture: marker, colour, words
    "target": ("|", "black", "target (at most)"),
    "paper": ("s", "#b5651d", "the paper's method"),
    "none": ("v", "#9ecae1", "ours, refine none"),
    "short": ("d", "#4292c6", "ours, refine short"),
    "full": ("o", "#08306b", "ours, refine full"),
    "oracle": ("x", "#2ca02c", "oracle given θ"),
}


class RecoveryLine(NamedTuple):
    """A setting: the means over its seeds.

    Parameters
    ----------
    setting : PlantedSetting
        The population.
    n_seeds : int
        Of the default method.
    error : dict of str to float
        By method, where it was run.
    phi_bias, phi_worst, alpha_ratio : float
        Of the default method.
    goal : float, optional
        1.1 times the oracle's error on the same seeds, and .0002; or the setting's own.
    """

    setting: PlantedSetting
    n_seeds: int
    error: dict[str, float]
    phi_bias: float
    phi_worst: float
    alpha_ratio: float
    goal: float | None


def report(rows: list[TextRow], tasks: list[Any]) -> ExperimentReport:
    """The table, the picture, and for the screen the errors only.

    Parameters
    ----------
    rows : list of dict
        The rows, as text.
    tasks : list of RecoveryTask
        What was to be run.

    Returns
    -------
    ExperimentReport
        The page, the picture and the table.
    """
    lines = summarise_recovery(rows, dict.fromkeys(task.setting for task in tasks))
    heading = ("setting", "target", "ours", "oracle given θ", "goal", "paper's method", "met")

    def draw(path: Any) -> None:
        save_picture(path, lambda figure: _paint(figure, lines), (9, 1.6 + 0.4 * len(lines)))

    screen = [_screen_line(line) for line in lines]
    return ExperimentReport(recovery_markdown(lines), draw, heading, screen)


def summarise_recovery(
    rows: Iterable[Mapping[str, Any]], settings: Iterable[PlantedSetting]
) -> list[RecoveryLine]:
    """The means over seeds.

    Parameters
    ----------
    rows : iterable of dict
        The rows, as text or numbers.
    settings : iterable of PlantedSetting
        The settings, in the order in which they are to stand.

    Returns
    -------
    list of RecoveryLine
        One for each setting that the default method was run on.
    """
    table = list(rows)
    lines = [
        _summarised(setting, [row for row in table if row["setting"] == setting.name])
        for setting in settings
    ]
    return [line for line in lines if line.n_seeds]


def _summarised(setting: PlantedSetting, rows: list[Mapping[str, Any]]) -> RecoveryLine:
    by_method = {m: [row for row in rows if row["method"] == m] for m in RECOVERY_METHODS}
    error = {method: _mean(mine, "error") for method, mine in by_method.items() if mine}
    full = by_method["full"]
    goal = setting.goal
    if goal is None and "oracle" in error:
        goal = 1.1 * error["oracle"] + 0.0002
    bias, ratio = _mean(full, "phi_bias"), _mean(full, "alpha_ratio")
    worst = max((float(row["phi_worst"]) for row in full), default=np.nan)
    return RecoveryLine(setting, len(full), error, bias, worst, ratio, goal)


def _mean(rows: list[Mapping[str, Any]], name: str) -> float:
    return float(np.mean([float(row[name]) for row in rows])) if rows else np.nan


def recovery_markdown(lines: list[RecoveryLine]) -> str:
    """The page.

    Parameters
    ----------
    lines : list of RecoveryLine
        The settings.

    Returns
    -------
    str
        The table, with what its columns mean.
    """
    errors = "target | ours | oracle given θ | goal | `short` | `none` | paper's method"
    heading = f"| setting | {errors} | met | φ bias | φ worst | Σα ratio | seeds |"
    rule = "|---|" + "---:|" * 7 + "---|" + "---:|" * 4
    return "\n".join([_BEFORE, heading, rule, *map(_markdown_line, lines), "", _AFTER])


_BEFORE = """\
# Recovery of planted rankings

Error is the fraction of discordant pairs after matching, the mean over seeds; a random ranking
scores .5. Unless said, Q = 100 items, K = 10 components with uniformly drawn reference rankings,
N = 300 comparisons a person, α = .1 each, every pair compared equally often. Written by
`mallowmix reproduce recovery`.
"""
_AFTER = """\
- *ours*: `fit` with its default options (method `spectral`, refine `full`); `short` and `none`
  stop earlier.
- *oracle given θ*: the most likely rankings when the true weights of all people are known, on the
  same data.
- *goal*: 1.1 times the oracle + .0002. With N = 10 comparisons a person, or α = 1, it is a number
  of its own: an oracle that knows θ is no bound where people say little about theirs. With
  N = 50 the same is true, and the goal is there to compare with.
- *paper's method*: Algorithms 1 to 4 of the paper (method `projections`), misprints corrected,
  for up to 3,000 people, two seeds.
- *met*: whether ours is within the target, and within the goal.
- *φ bias*: mean of φ found − φ planted; *φ worst*: the largest absolute difference of any
  component and seed; *Σα ratio*: found over planted.
"""


def _markdown_line(line: RecoveryLine) -> str:
    error = {method: error_text(line.error.get(method)) for method in RECOVERY_METHODS}
    cells = (
        line.setting.words,
        error_text(line.setting.target),
        f"**{error['full']}**",
        error["oracle"],
        error_text(line.goal),
        error["short"],
        error["none"],
        error["paper"],
        limits_met(line),
        f"{line.phi_bias:+.4f}",
        f"{line.phi_worst:.4f}",
        f"{line.alpha_ratio:.3f}",
        str(line.n_seeds),
    )
    return f"| {' | '.join(cells)} |"


def limits_met(line: RecoveryLine) -> str:
    """Which of its limits the default method keeps.

    Parameters
    ----------
    line : RecoveryLine
        A setting.

    Returns
    -------
    str
        Like "target, not the goal".
    """
    limits = ((line.setting.target, "target"), (line.goal, "goal"))
    known = [(limit, name) for limit, name in limits if limit is not None]
    ours = line.error["full"]
    return ", ".join(name if ours <= limit else f"not the {name}" for limit, name in known)


def _screen_line(line: RecoveryLine) -> tuple[str, ...]:
    error, setting = line.error, line.setting
    errors = (setting.target, error["full"], error.get("oracle"), line.goal, error.get("paper"))
    return (setting.words, *map(error_text, errors), limits_met(line))


def _paint(figure: Any, lines: list[RecoveryLine]) -> None:
    """A row for each setting, a mark for each method, error on a logarithmic axis."""
    axes = figure.subplots()
    for name, (marker, colour, words) in _MARKS.items():
        values = [
            line.setting.target if name == "target" else line.error.get(name) for line in lines
        ]
        points = [(value, y) for y, value in enumerate(values) if value is not None]
        if points:
            x, y = zip(*points, strict=True)
            size, edge = 16 if name == "target" else 7, 2 if marker in "x|" else 0
            style = {"color": colour, "label": words, "markersize": size, "markeredgewidth": edge}
            axes.plot(np.maximum(x, _LEAST_DRAWN), y, marker, **style)
    axes.set(
        xscale="log",
        xlabel="fraction of discordant pairs (0 is drawn at the left edge)",
        xlim=(_LEAST_DRAWN / 1.5, 1),
        ylim=(len(lines) - 0.5, -0.5),
    )
    axes.set_yticks(range(len(lines)), [line.setting.words for line in lines])
    axes.grid(axis="both", alpha=0.3)
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, frameon=False, fontsize="small"
    )
