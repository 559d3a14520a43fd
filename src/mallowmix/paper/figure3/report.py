"""Figure 3 in Markdown and as a picture: error against the number of people, one panel for each kind of references."""

from typing import Any

import numpy as np

from mallowmix.paper.experiment import Report, digits, markdown_table
from mallowmix.paper.pictures import save_picture
from mallowmix.paper.recovery.report import short

_LEAST = 1e-5  # an error of 0 is drawn here
_WORDS = {"full": "ours", "oracle": "oracle told θ", "printed": "printed method"}
_STYLES = {"full": "o-", "oracle": "x:", "printed": "s--"}
_COLOURS = ("#08306b", "#4292c6", "#2ca02c", "#d62728")
_KINDS = {"movielens": "MovieLens", "random": "random"}


def report(found: list[dict[str, str]], todo: list[Any]) -> Report:
    """A line a population, the means over seeds."""
    heading = ("references", "φ", "M", "λ", *_WORDS.values(), "seeds")
    lines = [
        _line(found, *about)
        for about in dict.fromkeys((row["references"], row["phi"], row["people"]) for row in found)
    ]
    text = "\n".join([_BEFORE, markdown_table(heading, lines), "", _AFTER])
    return Report(
        text,
        lambda path: save_picture(path, lambda figure: _paint(figure, found), (11, 5)),
        heading,
        lines,
    )


def _line(found: list[dict[str, str]], references: str, phi: str, people: str) -> tuple[str, ...]:
    here = [
        row
        for row in found
        if (row["references"], row["phi"], row["people"]) == (references, phi, people)
    ]
    lam = np.mean([float(row["separability"]) for row in here])
    errors = [short(_mean(here, method)) for method in _WORDS]
    return (
        _KINDS[references],
        phi,
        f"{int(people):,}",
        digits(lam, 3),
        *errors,
        str(len({row["seed"] for row in here})),
    )


def _mean(rows: list[dict[str, str]], method: str) -> float | None:
    values = [float(row["error"]) for row in rows if row["method"] == method]
    return float(np.mean(values)) if values else None


_BEFORE = """# Error against the number of people

Q = 100 items, K = 10 components, N = 300 comparisons a person, α = .1 each, every pair asked equally often. Error: the
fraction of discordant pairs after matching, the mean over components and seeds (a random ranking scores .5). If the
paper's distance counts unordered pairs and is divided by Q(Q − 1), as its text reads, our number is twice the paper's.
Its Figure 3 is empty in its source: there are only its statements to hold against. Written by `mallowmix reproduce fig3`.
"""
_AFTER = """\
- *references, MovieLens*: people clustered by their ratings (k-means of stars less the films' usual ones), a cluster's
  films by mean rating; of 20 starts of the clustering, the one whose λ is nearest to the paper's 0, .01, .05, .20.
  *random*: uniform, other ones for each seed.
- *λ*: the least for which the planted β is λ-separable; 1 or more: some component has no novel pair.
- *ours*: `fit` as it comes; *oracle told θ*: the most likely rankings when everyone's weights are known; *printed
  method*: Algorithms 1 to 4.
- The paper says that the error goes to 0 for φ ≤ .2 and to a small number above 0 for φ = .5, by the printed method. What
  we see of that method is errors above a tenth at these numbers of people, whatever φ. The default method comes near the
  oracle on random references, and from a thousand people on also on the MovieLens ones, which are more alike; with 300
  people it mixes some of those up.
"""


def _paint(figure: Any, found: list[dict[str, str]]) -> None:
    kinds = list(dict.fromkeys(row["references"] for row in found))
    phis = sorted({float(row["phi"]) for row in found})
    panels = np.atleast_1d(figure.subplots(1, len(kinds), sharey=True))
    for axes, kind in zip(panels, kinds, strict=True):
        for (number, phi), method in (
            (pair, method) for pair in enumerate(phis) for method in _WORDS
        ):
            here = [row for row in found if row["references"] == kind and float(row["phi"]) == phi]
            sizes = sorted({int(row["people"]) for row in here if row["method"] == method})
            means = [
                _mean([row for row in here if int(row["people"]) == size], method) for size in sizes
            ]
            label = f"{_WORDS[method]}, φ = {phi:g}"
            if sizes:
                axes.plot(
                    sizes,
                    np.maximum(np.array(means, np.float64), _LEAST),
                    _STYLES[method],
                    color=_COLOURS[number % 4],
                    label=label,
                )
        axes.set(
            title=f"{_KINDS[kind]} references",
            xscale="log",
            yscale="log",
            xlabel="people M",
            ylim=(_LEAST / 1.5, 1),
        )
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("fraction of discordant pairs (0 is drawn at the bottom)")
    panels[-1].legend(frameon=False, fontsize="x-small")
