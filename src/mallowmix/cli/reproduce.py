"""`mallowmix reproduce`: run an experiment again; its rows, a table and a picture into a folder."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.model_text import new_table
from mallowmix.cli.option_values import Jobs, Quiet, at_least
from mallowmix.cli.outputs import try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.shell import keep_quiet, say, screen
from mallowmix.errors import FileError, OptionError

EXPERIMENTS = {  # name: its module in `mallowmix.paper`, and what it is
    "recovery": ("recovery.report", "planted rankings found again"),
    "footnote": ("footnote.run", "how often random references are separable"),
    "fig2": ("figure2.run", "the geometry of three components"),
    "fig3": ("figure3.run", "error against the number of people"),
    "fig4": ("figure4.run", "held-out comparisons of MovieLens"),
    "table1": ("table1.run", "the ranking mixtures of Table 1, each on its own model and on M4's"),
    "table2": ("table2.run", "ratings of MovieLens predicted"),
}
_NAMES = "; ".join(f"{name} ({about})" for name, (_, about) in EXPERIMENTS.items())


def reproduce_command(
    experiment: Annotated[str, typer.Argument(help=f"Which one: {_NAMES}.", show_default=False)],
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A smaller twin of the experiment, in minutes; of table2, the largest K alone.",
        ),
    ] = False,
    n_seeds: Annotated[
        int,
        typer.Option(
            help="How many seeds for each setting (recovery, fig3, table1).",
            parser=at_least(1),
            metavar="NUMBER",
        ),
    ] = 5,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            envvar="MALLOWMIX_DATA",
            help="Where MovieLens lies, for fig3, fig4 and table2; the others need no data.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Where the results go; made if need be."
        ),
    ] = Path("results"),
    n_jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Run an experiment of the paper: rows into a CSV file, a table, a picture. Run again, it goes on where it stopped."""
    keep_quiet(quiet)
    if experiment not in EXPERIMENTS:
        raise OptionError(
            f"There is no experiment {experiment!r}; there is {', '.join(EXPERIMENTS)}.",
            option="experiment",
            value=experiment,
            expected=f"one of {', '.join(EXPERIMENTS)}",
        )
    _make_folder(output)
    try_outputs(*(output / f"{experiment}.{ending}" for ending in ("csv", "md", "png")))
    from mallowmix.paper.experiment import Request

    run(experiment, Request(quick, data, n_seeds, n_jobs), output, quiet=quiet)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{folder} cannot be used as a folder: {error.strerror or error}."
        ) from None


def run(name: str, request: Any, folder: Path, *, quiet: bool = False) -> None:
    """Run what the CSV file does not hold yet, row by row; then the table and the picture of all that was asked for."""
    from dataclasses import replace

    from mallowmix.paper.result_log import append_row, read_log

    experiment = import_module(f"mallowmix.paper.{EXPERIMENTS[name][0]}").EXPERIMENT
    path, todo = folder / f"{name}.csv", experiment.tasks(request)
    done = {experiment.key_of(row) for row in read_log(path, experiment.columns)}
    left = [task for task in todo if task.key not in done]
    if not quiet and len(left) < len(todo):
        say(f"{path} holds {len(todo) - len(left)} of {len(todo)} rows already.")
    with progress(hidden=quiet) as report:
        for number, row in enumerate(
            experiment.rows(left, replace(request, progress=report)), start=1
        ):
            append_row(path, row)
            if report:
                report(name, number, len(left))
            elif not quiet:
                say(f"{number} of {len(left)}: {experiment.said(row)}")
    _tell(name, experiment, todo, folder, quiet)


def _tell(name: str, experiment: Any, todo: list[Any], folder: Path, quiet: bool) -> None:
    """The page and the picture, from the rows of the file in the order in which they were asked for."""
    from mallowmix.paper.result_log import read_log

    found = {
        experiment.key_of(row): row for row in read_log(folder / f"{name}.csv", experiment.columns)
    }
    report = experiment.report([found[task.key] for task in todo if task.key in found], todo)
    writers = {
        folder / f"{name}.md": lambda place: place.write_text(report.markdown, encoding="utf-8"),
        folder / f"{name}.png": report.draw,
    }
    write_all(writers)
    if not quiet:
        screen().print(_shown(report))
        say(
            f"\nWrote {', '.join(str(folder / f'{name}.{ending}') for ending in ('csv', 'md', 'png'))}."
        )


def _shown(report: Any) -> Any:
    """The table for the screen."""
    table = new_table(*report.heading, numeric=tuple(report.heading[1:]))
    for line in report.lines:
        table.add_row(*line)
    return table
