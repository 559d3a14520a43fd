"""The result of `compare` and `compare-on-split`: a table on the screen, and files."""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from mallowmix.cli.model_text import counted, new_table
from mallowmix.cli.option_values import counts
from mallowmix.cli.outputs import table_writer, write_all
from mallowmix.cli.shell import echo, screen
from mallowmix.data.new_folder import make_folder

_FILES = ("table.csv", "compared.json", "compared.png")


class Names(tuple[str, ...]):
    """Names of systems."""


def names(text: str) -> Names:
    """Names with commas between them."""
    return Names(part.strip() for part in text.split(",") if part.strip())


def systems_option(unless_given: str) -> Any:
    """The option that names systems."""
    return typer.Option(
        parser=names,
        metavar="NAME,…",
        help=f"Which systems, as in mallowmix,low-rank,bradley-terry; {unless_given} unless given. "
        "A wrong name lists them.",
        show_default=False,
    )


ComponentCounts: TypeAlias = Annotated[
    Any,
    typer.Option(
        "-k",
        "--n-components",
        parser=counts,
        metavar="NUMBER,…",
        help="How many components, for the systems that have them; of several numbers each "
        "chooses one on training people. Unless given: 1, 2, 3, 5, and larger ones as long as the "
        "largest is the best.",
        show_default=False,
    ),
]
Folder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FOLDER",
        help="A folder for table.csv, compared.json and compared.png; made if need be. Nothing "
        "is written unless given.",
        show_default=False,
    ),
]


def compared_paths(folder: Path | None) -> dict[str, Path]:
    """The files in a folder, which is made if need be; none without a folder."""
    if folder is None:
        return {}
    make_folder(folder)
    return {name: folder / name for name in _FILES}


def print_compared(found: Any, outputs: dict[str, Path]) -> None:
    """Print the table, what failed, and what was held out."""
    rated = any(row.rmse is not None for row in found.table)
    headings = (
        "log-loss",
        "95 % interval",
        "by person",
        "behind the best",
        "K",
        "accuracy",
        "slope",
        *(["RMSE"] if rated else []),
        "seconds",
        "MB",
    )
    table = new_table("system", *headings, numeric=headings)
    for row in found.table:
        if row.failed is None:
            table.add_row(
                f"{row.system}: {row.name}",
                *_cells(row, rated),
                style="bold" if row.system == "mallowmix" else "",
            )
    screen().print(table)
    for row in found.table:
        if row.failed is not None:
            echo(f"\n{row.system}: {row.name} gave no result. {row.failed}")
    made = counted(found.n_comparisons, "comparison", "comparisons")
    splits = "" if found.n_splits == 1 else f", in {found.n_splits} splits"
    people = counted(found.n_users, "person", "people")
    how = "Held out as given" if found.split == "prepared" else f"Held out by {found.split}"
    echo(
        f"\n{how}: {made} of {people}{splits}; K = {_listed(found.n_components)}. "
        "Intervals and ± are at 95 %, over people."
    )
    for note in found.notes:
        echo(note)
    echo(f"Wrote {', '.join(map(str, outputs.values()))}." if outputs else "")


def _cells(row: Any, rated: bool) -> list[str]:
    return [
        f"{row.log_loss:.4f}",
        "" if row.low is None else f"{row.low:.4f}–{row.high:.4f}",
        _shown(row.log_loss_by_person, ".4f"),
        _give_or_take(row.behind, row.behind_error, "+.4f"),
        _listed(sorted(set(row.n_components))),
        f"{100 * row.accuracy:.1f} %",
        _give_or_take(row.slope, row.slope_error, ".2f"),
        *([_shown(row.rmse, ".4f")] if rated else []),
        _shown(row.seconds, ".1f"),
        _shown(row.megabytes, ".0f"),
    ]


def _listed(values: Any) -> str:
    return ", ".join(map(str, values))


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _give_or_take(value: float | None, error: float | None, form: str) -> str:
    """A value, and half of its 95% interval."""
    half = 1.96 * (error or 0.0)
    return _shown(value, form) + ("" if value is None or not half else f" ± {half:{form[-3:]}}")


def write_compared(found: Any, outputs: dict[str, Path]) -> None:
    """Write the table, all numbers and a picture."""
    import json

    import pyarrow as pa

    from mallowmix.plots import plot_compared

    values = found.to_dict()
    rows = [
        row
        | {
            "n_components": " ".join(map(str, row["n_components"])),
            "settings": " ".join(f"{name}={value:g}" for name, value in row["settings"].items()),
        }
        for row in values["table"]
    ]
    table = pa.table({name: pa.array([row[name] for row in rows]) for name in rows[0]})
    write_all(
        {
            outputs["table.csv"]: table_writer(table, outputs["table.csv"]),
            outputs["compared.json"]: lambda temporary: temporary.write_text(
                json.dumps(values, indent=1) + "\n", encoding="utf-8"
            ),
            outputs["compared.png"]: lambda temporary: plot_compared(found).savefig(
                temporary, format="png", dpi=150
            ),
        }
    )
