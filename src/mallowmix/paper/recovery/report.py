"""The recovery table in Markdown and as a picture: targets, ours, the oracle told θ, and the printed method."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mallowmix.paper.experiment import Experiment, Report, Request, Row
from mallowmix.paper.recovery import run as recovery
from mallowmix.paper.recovery.run import COLUMNS, METHODS, Setting, Task

_LEAST = 1e-5  # an error of 0 is drawn here
_MARKS = {  # of the picture: marker, colour, words
    "target": ("|", "black", "target (at most)"),
    "printed": ("s", "#b5651d", "the printed method"),
    "none": ("v", "#9ecae1", "ours, refine none"),
    "short": ("d", "#4292c6", "ours, refine short"),
    "full": ("o", "#08306b", "ours, refine full"),
    "oracle": ("x", "#2ca02c", "oracle told θ"),
}


class Line(NamedTuple):
    """A setting: the means over its seeds."""

    setting: Setting
    n_seeds: int  # of the full method
    error: dict[str, float]  # by method, where it was run
    phi_bias: float
    phi_worst: float
    alpha_ratio: float
    goal: float | None  # 1.3 times the oracle's error on the same seeds, and .0002


def summarise(rows: Iterable[Mapping[str, Any]], settings: Iterable[Setting]) -> list[Line]:
    """One line a setting that has been run, in the order of the settings."""
    table = list(rows)
    lines = [
        _line(setting, [row for row in table if row["setting"] == setting.name])
        for setting in settings
    ]
    return [line for line in lines if line.n_seeds]


def _line(setting: Setting, table: list[Mapping[str, Any]]) -> Line:
    by_method = {method: [row for row in table if row["method"] == method] for method in METHODS}
    error = {method: _mean(chosen, "error") for method, chosen in by_method.items() if chosen}
    full = by_method["full"]
    goal = 1.3 * error["oracle"] + 0.0002 if "oracle" in error and setting.has_goal else None
    worst = max((float(row["phi_worst"]) for row in full), default=np.nan)
    return Line(
        setting, len(full), error, _mean(full, "phi_bias"), worst, _mean(full, "alpha_ratio"), goal
    )


def _mean(rows: list[Mapping[str, Any]], name: str) -> float:
    return float(np.mean([float(row[name]) for row in rows])) if rows else np.nan


def markdown(lines: list[Line]) -> str:
    """The table, with what its columns mean."""
    errors = "target | ours | oracle told θ | goal | `short` | `none` | printed method"
    heading = f"| setting | {errors} | met | φ bias | φ worst | Σα ratio | seeds |"
    rule = "|---|" + "---:|" * 7 + "---|" + "---:|" * 4
    return "\n".join([_BEFORE, heading, rule, *map(_markdown_row, lines), "", _AFTER])


_BEFORE = """# Recovery of planted rankings

Error is the fraction of discordant pairs after matching, the mean over seeds; a random ranking scores .5.
Unless said, Q = 100 items, K = 10 components with uniformly drawn reference rankings, N = 300 comparisons a person,
α = .1 each, every pair asked equally often. Written by `mallowmix reproduce recovery`.
"""
_AFTER = """- *ours*: `fit` as it comes (method `spectral`, refine `full`); `short` and `none` stop earlier.
- *oracle told θ*: the most likely rankings when everyone's true weights are known, on the same data.
- *goal*: 1.3 times the oracle + .0002, where N ≥ 50 and α ≤ .1.
- *printed method*: Algorithms 1 to 4 of the paper (method `projections`), for up to 3,000 people, two seeds.
- *met*: whether ours is within the target, and within the goal.
- *φ bias*: mean of φ found − φ planted; *φ worst*: the largest absolute difference of any component and seed;
  *Σα ratio*: found over planted.
"""


def words(setting: Setting) -> str:
    """What sets a setting apart, in the paper's letters."""
    usual = Setting()
    said = [
        f"{letter} = {getattr(setting, name):g}"
        for letter, name in (("K", "n_components"), ("Q", "n_items"), ("N", "per_user"))
        if getattr(setting, name) != getattr(usual, name)
    ]
    alpha = [f"α = {setting.alpha:g} each"] if setting.alpha != usual.alpha else []
    return ", ".join([*said, *alpha, f"M = {setting.n_users:,}", f"φ = {setting.phi:g}"])


def _markdown_row(line: Line) -> str:
    error = {method: short(line.error.get(method)) for method in METHODS}
    numbers = (
        f"{line.phi_bias:+.4f} | {line.phi_worst:.4f} | {line.alpha_ratio:.3f} | {line.n_seeds}"
    )
    cells = f"{short(line.setting.target)} | **{error['full']}** | {error['oracle']} | {short(line.goal)}"
    others = f"{error['short']} | {error['none']} | {error['printed']}"
    return f"| {words(line.setting)} | {cells} | {others} | {met(line)} | {numbers} |"


def met(line: Line) -> str:
    """Which of its limits the default method keeps."""
    ours = line.error["full"]
    kept = [
        (limit, name)
        for limit, name in ((line.setting.target, "target"), (line.goal, "goal"))
        if limit is not None
    ]
    return ", ".join(name if ours <= limit else f"not the {name}" for limit, name in kept)


def short(value: float | None) -> str:
    """.0016 for 0.0016, and a dash for nothing."""
    if value is None:
        return "–"
    digits = 5 if 0 < value < 0.00095 else 4 if value < 0.0995 else 3
    return f"{value:.{digits}f}".lstrip("0") if value else "0"


def draw(lines: list[Line], path: Path) -> None:
    """A row a setting, a mark a method, error on a logarithmic axis."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.6 + 0.4 * len(lines)), layout="constrained")
    axes = figure.subplots()
    for name, (marker, colour, said) in _MARKS.items():
        points = [
            (value, y) for y, line in enumerate(lines) if (value := _value(line, name)) is not None
        ]
        if points:
            x, y = zip(*points, strict=True)
            size = 16 if name == "target" else 7
            axes.plot(
                np.maximum(x, _LEAST),
                y,
                marker,
                color=colour,
                label=said,
                markersize=size,
                markeredgewidth=2 if marker in "x|" else 0,
            )
    axes.set(
        xscale="log",
        xlabel="fraction of discordant pairs (0 is drawn at the left edge)",
        xlim=(_LEAST / 1.5, 1),
        ylim=(len(lines) - 0.5, -0.5),
    )
    axes.set_yticks(range(len(lines)), [words(line.setting) for line in lines])
    axes.grid(axis="both", alpha=0.3)
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, frameon=False, fontsize="small"
    )
    FigureCanvasAgg(figure).print_png(str(path), metadata={"Software": None})


def _value(line: Line, name: str) -> float | None:
    return line.setting.target if name == "target" else line.error.get(name)


def tasks(request: Request) -> list[Task]:
    """What is run: everything for so many seeds, or the quick twin."""
    return recovery.quick_tasks() if request.quick else recovery.tasks(n_seeds=request.n_seeds)


def rows(todo: Iterable[Task], request: Request) -> Iterator[Row]:
    """One row a task."""
    return recovery.rows(todo, n_jobs=request.n_jobs, progress=request.progress)


def said(row: Mapping[str, Any]) -> str:
    """A row in a few words."""
    return f"{row['setting']} seed {row['seed']} {row['method']}: {row['error']:.5f}"


def report(found: list[dict[str, str]], todo: list[Task]) -> Report:
    """The table, the picture, and for the screen the errors alone."""
    lines = summarise(found, dict.fromkeys(task.setting for task in todo))
    heading = ("setting", "target", "ours", "oracle told θ", "goal", "printed method", "met")
    return Report(
        markdown(lines),
        lambda path: draw(lines, path),
        heading,
        [_screen_row(line) for line in lines],
    )


def _screen_row(line: Line) -> tuple[str, ...]:
    errors = (
        line.setting.target,
        line.error["full"],
        line.error.get("oracle"),
        line.goal,
        line.error.get("printed"),
    )
    return (words(line.setting), *map(short, errors), met(line))


EXPERIMENT = Experiment(COLUMNS, ("setting", "seed", "method"), tasks, rows, said, report)
