"""The page: contents through a template into one HTML file that loads nothing else."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mallowmix._version import __version__
from mallowmix.data.argument_kinds import as_path
from mallowmix.data.atomic_write import replacing
from mallowmix.data.text import printable
from mallowmix.engine import Engine
from mallowmix.engine.conversion import ComparisonsLike, as_reading
from mallowmix.engine.selection import EngineName
from mallowmix.model.fitted_model import AnyModel, as_fitted
from mallowmix.model.pair_model import check_model
from mallowmix.report import data_limits as limits
from mallowmix.report import figures, given_data, mixture_figures, prediction_text
from mallowmix.report import page_parts as views
from mallowmix.report import report_text as words
from mallowmix.report.contents import Contents, compute_contents
from mallowmix.report.glossary import TERMS
from mallowmix.report.leaderboard_rows import leaderboard_rows
from mallowmix.report.split_bars import splits
from mallowmix.typing import Progress

_HERE = Path(__file__).parent
_TITLE = "What people like"


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A report: its contents as numbers, and `html()`, the page."""

    contents: Contents
    title: str = _TITLE

    def html(self) -> str:
        """Return the page, one file with styles, figures and JavaScript in it."""
        return _template().render(**_values(self.contents, self.title))

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        file, text = as_path(path), self.html()
        with replacing(file) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")

    def __repr__(self) -> str:
        return f"Report {self.title!r}: {words.headline(self.contents)}"

    def _repr_html_(self) -> str:
        from mallowmix.data.text import list_of

        return (
            f"<strong>{words.headline(self.contents)}.</strong> "
            f"{given_data.lead(self.contents)}{list_of(words.in_short(self.contents))}"
        )


def make_report(
    model: AnyModel,
    comparisons: ComparisonsLike,
    *,
    title: str = _TITLE,
    n_replicates: int = 40,
    choose_k: bool = True,
    refit: bool = True,
    n_simulations: int = 2,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> Report:
    """Make a report on a model and the comparisons that it was learnt from.

    Parameters
    ----------
    model : M4 or FittedModel
        What was learnt.
    comparisons : Comparisons, Reading, or whatever `read` takes
        Those that the model was learnt from, in memory. As a `Reading`, or read here, they also say
        how many ties there were and which side wins.
    title : str
        The heading of the page.
    n_replicates : int
        How many bootstrap replicates the intervals of positions and shares rest on; 0 leaves the
        intervals out.
    choose_k : bool
        Whether to say which number of components `choose_k` takes, and why.
    refit : bool
        Whether to judge predictions by users that the model has not seen, learning it anew from
        the others.
    n_simulations : int
        How often data is drawn anew to estimate the expected error; 0 leaves that out.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not know.
    seed, n_jobs, engine, progress
        As in `fit`.

    Returns
    -------
    Report
        Its `contents` as numbers, and the page.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=50)
    >>> report = mm.make_report(
    ...     dishes.model,
    ...     dishes.comparisons,
    ...     n_replicates=0,
    ...     choose_k=False,
    ...     refit=False,
    ...     n_simulations=0,
    ... )
    >>> report.title
    'What people like'
    """
    check_model(model)
    found = compute_contents(
        model,
        as_reading(comparisons, "A report"),
        n_replicates=n_replicates,
        choose_k=choose_k,
        refit=refit,
        n_simulations=n_simulations,
        unknown_items=unknown_items,
        seed=seed,
        n_jobs=n_jobs,
        engine=engine,
        progress=progress,
    )
    return Report(found, title)


def _template() -> Any:
    import jinja2

    loader = jinja2.FileSystemLoader(_HERE / "templates")
    return jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    ).get_template("report.html")


def _values(found: Contents, title: str) -> dict[str, Any]:
    """What the template says: plain text and numbers, but for our own style, script and figures."""
    by_share = [row["component"] for row in found.model.table()]
    drawn = _figures(found, [k - 1 for k in by_share])
    return {
        "places": len(drawn["places"]["layout"]["yaxis"]["tickvals"]) if "places" in drawn else 0,
        "title": printable(title),
        "version": __version__,
        "found": found,
        "by_share": by_share,
        "named": [_named(found.model, k) for k in range(found.model.n_components + 1)],
        "K": found.model.n_components,
        "words": words,
        "given": given_data,
        "board": leaderboard_rows(found),
        "splits": splits(found),
        "board_leads": found.no_gain or found.model.n_components == 1,
        "predictions": prediction_text,
        "views": views,
        "can": limits.can(found),
        "cannot": limits.cannot(found),
        "terms": TERMS,
        "made": _made(found),
        "style": _ours("report.css"),
        "script": _ours("report.js"),
        "plotly": _plotly(),
        "figures": as_json(drawn),
    }


def _named(model: AnyModel, component: int) -> str:
    """What follows the number of a component that has a name: a colon and the name."""
    name = as_fitted(model).component_name(component) if component else ""
    return f": {printable(name)}" if name else ""


def _names(model: AnyModel) -> list[str]:
    """The names of all components; nothing where one has none."""
    return [as_fitted(model).component_name(k + 1) for k in range(model.n_components)]


def _figures(found: Contents, by_share: list[int]) -> dict[str, Any]:
    drawn = {
        "people": mixture_figures.mixtures(found.theta, _names(found.model), found.seed),
        "largest": mixture_figures.largest_share(found.mixing),
    }
    if found.model.n_components > 1:
        drawn["places"] = figures.positions(found.model, by_share)
    if found.against_one is not None:
        drawn["calibration"] = figures.calibration(found.against_one.reliability)
    if found.choice is not None and found.choice.table:
        drawn |= {
            "new-people": figures.new_people(found.choice),
            "found-again": figures.found_again(found.choice),
        }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _made(found: Contents) -> list[tuple[str, str]]:
    """How the model and the report came about."""
    report = as_fitted(found.model).report
    values = {
        "method": report.method or None,
        "seed": report.seed,
        "comparisons": _count(report.n_comparisons),
        "users": _count(report.n_users),
    }
    known = [(name, printable(value)) for name, value in values.items() if value is not None]
    sure = found.intervals
    return [
        *((f"model: {name}", value) for name, value in known),
        ("report: seed", str(found.seed)),
        ("report: bootstrap replicates", str(len(sure.draws.phi)) if sure is not None else "none"),
        ("mallowmix", __version__),
    ]


def _count(number: float | None) -> str | None:
    return None if number is None else f"{number:,.12g}"


def as_json(value: Any) -> Any:
    """Return JSON that can stand inside a script element: it cannot end it or begin a comment."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _ours(name: str) -> Any:
    """One of our own files, which needs no escaping."""
    from markupsafe import Markup

    return Markup((_HERE / "static" / name).read_text(encoding="utf-8"))


def _plotly() -> Any:
    """Plotly's JavaScript, from its wheel."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())
