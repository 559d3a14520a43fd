"""`mallowmix show`: a model file in words, as JSON, or as CSV."""

import csv
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.model_text import components_table, counted, model_values, safe
from mallowmix.cli.option_values import Json, Model, Top
from mallowmix.cli.shell import echo, echo_json, screen
from mallowmix.data.spreadsheet_text import csv_value
from mallowmix.errors import Option, OptionError

if TYPE_CHECKING:
    from mallowmix.model.fitted_model import FittedModel


def show_command(
    model: Model,
    json: Json = False,
    csv: Annotated[
        bool,
        typer.Option(
            "--csv",
            help="Print a row for each component and item: component,share,phi,position,item; and "
            "name, of named components.",
        ),
    ] = False,
    n_top: Top = None,
) -> None:
    """Show the shared rankings of a model: shares, dispersions, items, and what sets each apart."""
    if json and csv:
        raise OptionError(
            Option("json"),
            " and ",
            Option("csv"),
            " exclude each other: pass one.",
            option="csv",
            value=csv,
            expected="left out where JSON is printed",
        )
    from mallowmix.model.model_file import load

    loaded = load(model)
    if json:
        echo_json(model_values(loaded, n_top))
    elif csv:
        _print_csv(loaded, n_top)
    else:
        _print_result(loaded, n_top)


def _print_result(model: "FittedModel", n_top: int | None) -> None:
    echo(
        f"{counted(model.n_components, 'component', 'components')} over {model.n_items:,} "
        f"items{_origin(model.report)}.\n"
    )
    screen().print(components_table(model, n_top))
    for note in _notes(model):
        echo(f"- {safe(note)}")


def _notes(model: "FittedModel") -> Sequence[str]:
    """The notes of the fit, with the names of components; SciPy is imported for these alone."""
    if not model.component_names:
        return model.report.notes
    from mallowmix.learn.spectral.fit_notes import named_notes

    return named_notes(model)


def _origin(report: Any) -> str:
    """How the model came about, as far as its report tells."""
    if report.n_comparisons is None or report.n_users is None or report.seed is None:
        return ""
    made = counted(report.n_comparisons, "comparison", "comparisons")
    people = counted(report.n_users, "person", "people")
    return f", learned from {made} by {people} (method {report.method}, seed {report.seed})"


def _print_csv(model: "FittedModel", n_top: int | None) -> None:
    lines = csv.writer(sys.stdout, lineterminator="\n")
    named = ["name"] * bool(model.component_names)
    lines.writerow(("component", "share", "phi", "position", "item", *named))
    for row in model.table(n_top):
        names = [row[key] for key in named]
        for position, item in enumerate(row["items"], start=1):  # 1 is best
            cells = (row["component"], row["share"], row["phi"], position, item, *names)
            lines.writerow(map(csv_value, cells))
