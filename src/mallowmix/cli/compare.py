"""`mallowmix compare`: M4 and other systems on the same held-out comparisons."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.model_text import counted, new_table
from mallowmix.cli.option_values import Json, Quiet, Seed, at_least, number
from mallowmix.cli.outputs import table_writer, try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.errors import DataWarning, FileError

_FILES = ("table.csv", "compared.json", "compared.png")


class Names(tuple[str, ...]):
    """Names of systems."""


def names(text: str) -> Names:
    """Names with commas between them."""
    return Names(part.strip() for part in text.split(",") if part.strip())


@reads_votes
def compare_command(
    votes: Votes,
    n_components: Annotated[
        int,
        typer.Option(
            "-k",
            "--n-components",
            parser=at_least(1),
            metavar="NUMBER",
            help="How many components, for the systems that have them.",
            show_default=False,
        ),
    ],
    systems: Annotated[
        Names | None,
        typer.Option(
            parser=names,
            metavar="NAME,…",
            help="Which systems, as in m4,tm,low-rank,bradley-terry; all that apply unless given. "
            "A wrong name lists them.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            metavar="people|items|comparisons",
            help="What is held out: new people (and half of their items), half of all users' "
            "items, or single comparisons.",
        ),
    ] = "people",
    given: Annotated[
        Any,
        typer.Option(
            parser=number,
            metavar="NUMBER",
            help="The part of a person's items (or comparisons) that is given; the rest is "
            "predicted.",
        ),
    ] = 0.5,
    n_users: Annotated[
        int | None,
        typer.Option(
            parser=at_least(3),
            metavar="NUMBER",
            help="So many people, at random; all unless given.",
            show_default=False,
        ),
    ] = None,
    max_per_user: Annotated[
        int | None,
        typer.Option(
            parser=at_least(1),
            metavar="NUMBER",
            help="At most so many comparisons of a person, at random, in each part: to learn from, "
            "given, held out. All unless "
            "given, but 150 where comparisons are made of ratings, and of n ratings never more "
            "than 6 n.",
            show_default=False,
        ),
    ] = None,
    n_splits: Annotated[
        int,
        typer.Option(
            parser=at_least(1), metavar="NUMBER", help="Split at random so many times, and pool."
        ),
    ] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="A folder for table.csv, compared.json and compared.png; made if need be. Nothing "
            "is written unless given.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure M4 and other systems on the same held-out comparisons.

    Each learns from the same people and predicts the same choices of the others. A table with the
    columns user, item, rating is read as ratings: comparisons are made of them, and systems for
    ratings take part; with rankings, systems for rankings do. A system that fails becomes a row
    that says why.
    """
    keep_quiet(quiet)
    outputs = _output_paths(output)
    try_outputs(*outputs.values(), inputs=[votes])
    data = _read(votes, read)
    from mallowmix.assess.compare import compare

    with progress(hidden=quiet) as report:
        found = compare(
            data,
            n_components,
            systems=systems,
            split=split,  # type: ignore[arg-type]
            given=given,
            n_users=n_users,
            max_per_user=max_per_user,
            n_splits=n_splits,
            seed=seed,
            progress=report,
        )
    if outputs:
        _write(found, outputs)
    if json:
        echo_json(found.to_dict())
    elif not quiet:
        _print_result(found, outputs)


def _output_paths(folder: Path | None) -> dict[str, Path]:
    if folder is None:
        return {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{folder} cannot be used as a folder: {error.strerror or error}."
        ) from None
    return {name: folder / name for name in _FILES}


def _read(votes: Any, read: Reader) -> Any:
    """Ratings as ratings, rankings as rankings, whatever else as comparisons."""
    found = read.reading(votes)
    if found.ratings is not None and found.ties == "half":
        note = DataWarning(
            "Pairs are made of ratings anew, after the split: equal ratings are left out all "
            "the same."
        )
        warnings.warn(note, stacklevel=2)
    return next(
        form for form in (found.ratings, found.rankings, found.comparisons) if form is not None
    )


def _print_result(found: Any, outputs: dict[str, Path]) -> None:
    rated = any(row.rmse is not None for row in found.table)
    headings = (
        "log-loss",
        "95 % interval",
        "by person",
        "behind the best",
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
                style="bold" if row.system == "m4" else "",
            )
    screen().print(table)
    for row in found.table:
        if row.failed is not None:
            echo(f"\n{row.system}: {row.name} gave no result. {row.failed}")
    made = counted(found.n_comparisons, "comparison", "comparisons")
    splits = "" if found.n_splits == 1 else f", in {found.n_splits} splits"
    people = counted(found.n_users, "person", "people")
    echo(
        f"\nHeld out by {found.split}: {made} of {people}{splits}; K = {found.n_components}. "
        "Intervals and ± are over people."
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
        f"{100 * row.accuracy:.1f} %",
        _give_or_take(row.slope, row.slope_error, ".2f"),
        *([_shown(row.rmse, ".4f")] if rated else []),
        _shown(row.seconds, ".1f"),
        _shown(row.megabytes, ".0f"),
    ]


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _give_or_take(value: float | None, error: float | None, form: str) -> str:
    return _shown(value, form) + (
        "" if value is None or not error else f" ± {error:{form.lstrip('+')}}"
    )


def _write(found: Any, outputs: dict[str, Path]) -> None:
    import json

    import pyarrow as pa

    from mallowmix.plots import plot_compared

    values = found.to_dict()
    rows = [
        row | {"settings": " ".join(f"{name}={value:g}" for name, value in row["settings"].items())}
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
