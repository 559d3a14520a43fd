"""Figure 3 in Markdown and as a picture: error against the number of users."""

from typing import Any

import numpy as np

from mallowmix.paper.experiment import ExperimentReport, TextRow
from mallowmix.paper.markdown import decimal_text, error_text, markdown_table
from mallowmix.paper.pictures import save_picture

_LEAST_DRAWN = 1e-5  # an error of 0 is drawn here
_METHOD_WORDS = {
    "full": "ours",
    "oracle": "oracle given θ",
    "paper": "paper's method",
    "paper-auto": "paper's, ζ auto",
}
_STYLES = {"full": "o-", "oracle": "x:", "paper": "s--", "paper-auto": "^-."}
_COLOURS = ("#08306b", "#4292c6", "#2ca02c", "#d62728")
_REFERENCES_WORDS = {"movielens": "MovieLens", "pmf": "PMF", "random": "random"}


def report(rows: list[TextRow], tasks: list[Any]) -> ExperimentReport:
    """A line for each population, the means over seeds.

    Parameters
    ----------
    rows : list of dict
        The rows, as text.
    tasks : list of Figure3Task
        What was to be run.

    Returns
    -------
    ExperimentReport
        The page, the picture and the table.
    """
    heading = ("references", "φ", "M", "λ", *_METHOD_WORDS.values(), "seeds")
    populations: dict[tuple[str, str, str], list[TextRow]] = {}
    for row in rows:
        populations.setdefault((row["references"], row["phi"], row["users"]), []).append(row)
    lines = [_line(*about, mine) for about, mine in populations.items()]
    text = "\n".join([_BEFORE, markdown_table(heading, lines), "", _AFTER])

    def draw(path: Any) -> None:
        save_picture(path, lambda figure: _paint(figure, rows), (11, 5))

    return ExperimentReport(text, draw, heading, lines)


def _line(references: str, phi: str, n_users: str, rows: list[TextRow]) -> tuple[str, ...]:
    lam = np.mean([float(row["separability"]) for row in rows])
    errors = [error_text(_mean(rows, method)) for method in _METHOD_WORDS]
    about = (_REFERENCES_WORDS[references], phi, f"{int(n_users):,}", decimal_text(lam, 3))
    return (*about, *errors, str(len({row["seed"] for row in rows})))


def _mean(rows: list[TextRow], method: str) -> float | None:
    values = [float(row["error"]) for row in rows if row["method"] == method]
    return float(np.mean(values)) if values else None


_BEFORE = """\
# Error against the number of people

Q = 100 items, K = 10 components, N = 300 comparisons a person, α = .1 each, every pair compared
equally often. Error: the fraction of discordant pairs after matching, the mean over components
and seeds (a random ranking scores .5). If the paper's distance counts unordered pairs and is
divided by Q(Q − 1), as its text reads, our number is twice the paper's. Its Figure 3 is empty in
its source: there are only its statements to compare with. Written by `mallowmix reproduce fig3`.
"""
_AFTER = """\
- *references, MovieLens*: people clustered by their ratings (k-means of stars less the films'
  mean), a cluster's films by mean rating. *PMF*: films sorted by each of their ten coordinates in
  a factorisation of the ratings. Of both, of 20 initialisations the one whose λ is nearest to the
  paper's 0, .01, .05, .20. *random*: uniform, other ones for each seed.
- *λ*: the least for which the planted β is λ-separable; 1 or more: some component has no novel
  pair.
- *ours*: `fit` with its default options; *oracle given θ*: the most likely rankings when the
  weights of all people are known; *paper's method*: Algorithms 1 to 4, misprints corrected, two
  seeds at most, beyond 3,000 people φ = 0 and .5 alone; *ζ auto*: the same with ζ from the
  distances and without rarely seen rows (`min_count` .2).
- The paper says that the error of its method goes to 0 for φ ≤ .2 and to a small number above 0
  for φ = .5. What we see of that method is errors above a tenth at these numbers of people,
  whatever φ. The default method comes near the oracle on random references and on those from PMF,
  and with more people also on the MovieLens ones, which are more alike; with 300 people it mixes
  some of those up.
"""


def _paint(figure: Any, rows: list[TextRow]) -> None:
    """One panel for each kind of references."""
    kinds = list(dict.fromkeys(row["references"] for row in rows))
    phis = sorted({float(row["phi"]) for row in rows})
    panels = np.atleast_1d(figure.subplots(1, len(kinds), sharey=True))
    for axes, kind in zip(panels, kinds, strict=True):
        for number, phi in enumerate(phis):
            mine = [row for row in rows if (row["references"], float(row["phi"])) == (kind, phi)]
            _plot_methods(axes, mine, _COLOURS[number % 4])
        title = f"{_REFERENCES_WORDS[kind]} references"
        axes.set(title=title, xscale="log", yscale="log", xlabel="people M")
        axes.set(ylim=(_LEAST_DRAWN / 1.5, 1))
        axes.grid(alpha=0.3)
        _tick_sizes(axes, rows)
    panels[0].set_ylabel("fraction of discordant pairs (0 is drawn at the bottom)")
    _explain(figure, panels[0], phis)


def _tick_sizes(axes: Any, rows: list[TextRow]) -> None:
    """The numbers of people that were run, as they are."""
    sizes = sorted({int(row["users"]) for row in rows})
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes], fontsize="small")
    axes.minorticks_off()


def _explain(figure: Any, axes: Any, phis: list[float]) -> None:
    """Below the panels: what lines and colours mean."""
    grey = {"color": "0.3"}
    for method, words in _METHOD_WORDS.items():
        axes.plot([], [], _STYLES[method], label=words, **grey)
    for number, phi in enumerate(phis):
        axes.plot([], [], "-", linewidth=4, color=_COLOURS[number % 4], label=f"φ = {phi:g}")
    figure.legend(loc="outside lower center", ncols=len(_METHOD_WORDS) + len(phis), frameon=False)


def _plot_methods(axes: Any, rows: list[TextRow], colour: str) -> None:
    """A line for each method."""
    for method in _METHOD_WORDS:
        sizes = sorted({int(row["users"]) for row in rows if row["method"] == method})
        means = [_mean([row for row in rows if int(row["users"]) == n], method) for n in sizes]
        if sizes:
            errors = np.maximum(np.array(means, np.float64), _LEAST_DRAWN)
            axes.plot(sizes, errors, _STYLES[method], color=colour)
