"""Figure 4 in Markdown and as a picture: log-likelihood against K, and M4's margin over TM."""

from typing import Any

from mallowmix.paper.experiment import ExperimentReport, TextRow
from mallowmix.paper.figure4.fitted_systems import PAPER_SYSTEM
from mallowmix.paper.markdown import decimal_text, markdown_table, wrap_markdown
from mallowmix.paper.pictures import save_picture

SCORING_METHODS = ("completion", "left-to-right")
MARGIN_SYSTEM = "M4 above TM"  # the row of the margin, whose standard error is paired by user
_STYLES = {
    "M4": ("o-", "#08306b"),
    PAPER_SYSTEM: ("o:", "#4292c6"),
    "TM": ("s-", "#b5651d"),
    "TM, not rounded": ("s:", "#e6a15c"),
    "mixed-membership BTL": ("^--", "#2ca02c"),
    "mixture of Mallows": ("D--", "#6a51a3"),
    "mixture of BTL": ("v:", "#74c476"),
    "one ranking": ("x-", "#7f7f7f"),
}


def report(rows: list[TextRow], tasks: list[Any]) -> ExperimentReport:
    """A line for each scoring method and K, a column for each system.

    Parameters
    ----------
    rows : list of dict
        The rows, as text.
    tasks : list of Figure4Task
        What was to be run.

    Returns
    -------
    ExperimentReport
        The page, the picture and the table.
    """
    systems = [
        name for name in dict.fromkeys(row["system"] for row in rows) if name != MARGIN_SYSTEM
    ]
    heading = ("scored by", "K", *systems, MARGIN_SYSTEM)
    methods = dict.fromkeys(row["method"] for row in rows)
    lines = [_line(rows, method, k, systems) for method in methods for k in _ks(rows)]
    parts = [_before(rows), markdown_table(heading, lines), "", _verdict(rows), ""]
    parts += [*_settings(rows), _AFTER, *_thinning(rows), _LAST]

    def draw(path: Any) -> None:
        save_picture(path, lambda figure: _paint(figure, rows), (11, 4.6))

    return ExperimentReport("\n".join(parts), draw, heading, lines)


def _ks(rows: list[TextRow]) -> list[int]:
    return sorted({int(row["k"]) for row in rows} - {1})


def _value(rows: list[TextRow], system: str, method: str, k: int) -> float | None:
    """The log-likelihood; one ranking is the same at all K."""
    k = 1 if system == "one ranking" else k
    for row in rows:
        if (row["system"], row["method"], int(row["k"])) == (system, method, k):
            return float(row["log_likelihood"])
    return None


def _margin(rows: list[TextRow], method: str, k: int) -> float | None:
    if (paired := _value(rows, MARGIN_SYSTEM, method, k)) is not None:
        return paired
    ours, theirs = (_value(rows, system, method, k) for system in ("M4", "TM"))
    return ours - theirs if ours is not None and theirs is not None else None


def _line(rows: list[TextRow], method: str, k: int, systems: list[str]) -> tuple[str, ...]:
    margin, half = _margin(rows, method, k), _half_width(rows, method, k)
    values = [decimal_text(_value(rows, system, method, k)) for system in systems]
    said = f"{margin:+.4f}" if margin is not None else "–"
    return (method, str(k), *values, said if half is None else f"{said} ± {half:.4f}")


def _half_width(rows: list[TextRow], method: str, k: int) -> float | None:
    """Half of the margin's 95% interval over users, where it was computed."""
    for row in rows:
        if (row["system"], row["method"], int(row["k"])) == (MARGIN_SYSTEM, method, k):
            return 1.96 * float(row["standard_error"])
    return None


def _before(rows: list[TextRow]) -> str:
    """What was done, in lines of a page's width."""
    text = f"{_WHAT} {_QUICK}" if rows[0]["size"] == "quick" else _WHAT
    subset = next((row for row in rows if row["method"] == "left-to-right"), None)
    if subset and subset["size"] != "full":
        text += f" Left-to-right: {subset['users']} of the new people, who made at most 600"
        text += " comparisons each."
    return "\n".join(
        ["# New people's comparisons of films", "", *wrap_markdown(f"{text} {_PAPER}"), ""]
    )


_WHAT = """\
Log-likelihood per held-out comparison (β alone; μ cancels between systems; a coin has −.6931) on
MovieLens: the 200 most rated films, learnt from the users numbered up to 4000; held out are the
others."""
_QUICK = """\
This is the quick version: 1,500 people to learn from, fits that stop early (`short`), and neither
Algorithms 1–4 nor TM without rounding. Bradley–Terry scores are learnt further from such a fit,
which is part of why they are ahead of it here."""
_PAPER = """\
The paper prints no numbers: its Figure 4 is empty in its source. Its claim is that M4 is above TM
for every K. Written by `mallowmix reproduce fig4`."""


def _settings(rows: list[TextRow]) -> list[str]:
    """What was chosen on training people, a line for each system and scoring method."""
    tuned = dict.fromkeys((row["system"], row["method"]) for row in rows if row["settings"])
    found = []
    for system, method in tuned:
        mine = [row for row in rows if (row["system"], row["method"]) == (system, method)]
        chosen = "; ".join(f"K = {row['k']}: {row['settings']}" for row in mine)
        found += wrap_markdown(f"- {system}, {method}, chosen on training people: {chosen}.", "  ")
    return [*found, ""] if found else []


def _verdict(rows: list[TextRow]) -> str:
    pairs = [(method, k) for method in SCORING_METHODS for k in _ks(rows)]
    margins = [margin for pair in pairs if (margin := _margin(rows, *pair)) is not None]
    if not margins:
        return "M4 and TM were not both run."
    above = sum(margin > 0 for margin in margins)
    ends = f"by {min(margins):+.4f} to {max(margins):+.4f}"
    halves = [_half_width(rows, *pair) for pair in pairs]
    paired = " (± half of a 95% interval over people, paired)" if any(halves) else ""
    return f"M4 is above TM in {above} of {len(margins)} comparisons, {ends} a comparison{paired}."


_AFTER = """\
- *completion*: half of a person's comparisons, split at random, predicted from the other half,
  all new people; *left-to-right*: all of a person's comparisons together, θ integrated out over
  the Dirichlet prior, by a particle filter.
- *TM*: M4's own fit with φ = 0 and β ← (1 − ε)β + ε/2, since without a floor a choice against all
  K rankings has probability 0; *not rounded*: β as Algorithm 3 leaves it, with the same kind of
  floor. ε is chosen for each way of scoring, by training people who are scored in that way with
  all their comparisons (a seventh of them, at most 600; TM learns from the others meanwhile);
  candidates are added while the best is the least or the largest.
- *Algorithms 1–4*: the paper's own method with the corrected tests, no weight of a person capped;
  metric and ζ chosen by the same training people, by completion; the prior by the largest share,
  as in the paper's reference.
- *mixtures*: every person has one component, learnt by EM; all of a person's comparisons together
  are then a sum over K components, exact without particles. (Not here: the mixture with one
  ranking a person, too slow at 200 films; the tensor method, not run with 19,900 pairs; the
  systems for rankings, since there are none.)
- In all systems but Algorithms 1–4 the user weight is capped, so that nobody counts for more than
  20 comparisons (`mallowmix.readers.rating_forms.capped`)."""
_LAST = """\
- A person's comparisons here come from one set of ratings, so they are far from independent: all
  systems are surer of a person than they should be.
"""


def _thinning(rows: list[TextRow]) -> list[str]:
    if rows[0]["size"] == "full":
        return []
    return ["- At most 300 comparisons of a person are learnt from, drawn at random."]


def _paint(figure: Any, rows: list[TextRow]) -> None:
    ks = _ks(rows)
    panels = figure.subplots(1, 2)
    for axes, method in zip(panels, SCORING_METHODS, strict=True):
        for system, (style, colour) in _STYLES.items():
            values = [(k, _value(rows, system, method, k)) for k in ks]
            points = [(k, value) for k, value in values if value is not None]
            if points:
                axes.plot(*zip(*points, strict=True), style, color=colour, label=system)
        axes.set(title=method, xlabel="K", xticks=ks, ylabel="log-likelihood per comparison")
        axes.grid(alpha=0.3)
    panels[-1].legend(frameon=False, fontsize="small")
