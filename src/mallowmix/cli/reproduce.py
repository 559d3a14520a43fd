"""`mallowmix reproduce`: run an experiment again; its rows, a table and a figure into a folder."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.model_text import new_table
from mallowmix.cli.option_values import Jobs, Quiet, at_least
from mallowmix.cli.outputs import try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.shell import echo, files_written, keep_quiet, screen
from mallowmix.data.new_folder import make_folder
from mallowmix.errors import OptionError, check_choice, did_you_choose
from mallowmix.paper.registry import EXPERIMENTS

if TYPE_CHECKING:
    from mallowmix.paper.experiment import Experiment, ExperimentReport, ExperimentTask, Request

_NAMES = "; ".join(f"{name} ({entry.about})" for name, entry in EXPERIMENTS.items())


def reproduce_command(
    experiment: Annotated[str, typer.Argument(help=f"Which one: {_NAMES}.", show_default=False)],
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A smaller version of the experiment, in minutes; of table2, the largest K only.",
        ),
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Leave nothing out, as the paper does (fig4: all comparisons of every person, "
            "left-to-right over all new people); takes very long.",
        ),
    ] = False,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only the rows of this system, as it is called in the CSV file; may be repeated.",
            show_default=False,
        ),
    ] = None,
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
            help="The folder with MovieLens, for fig3, fig4 and table2; the others need no data.",
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
    """Run an experiment of the paper: rows into a CSV file, a table, a picture.

    Run again, it continues where it stopped.
    """
    keep_quiet(quiet)
    if experiment not in EXPERIMENTS:
        names = ", ".join(EXPERIMENTS)
        raise OptionError(
            f"There is no experiment {experiment!r}; there is {names}."
            f"{did_you_choose(experiment, EXPERIMENTS)}",
            option="experiment",
            value=experiment,
            expected=f"one of {names}",
        )
    if quick and full:
        raise OptionError(option="full", value=full, expected="left out with quick")
    make_folder(output)
    try_outputs(*(output / f"{experiment}.{ending}" for ending in ("csv", "md", "png")))
    from mallowmix.paper.experiment import Request

    request = Request(quick, data, n_seeds, n_jobs, full=full)
    run_experiment(experiment, request, output, systems=tuple(system or ()), quiet=quiet)


def run_experiment(
    name: str,
    request: "Request",
    folder: Path,
    *,
    systems: Sequence[str] = (),
    quiet: bool = False,
) -> None:
    """Compute the rows that the CSV file does not have yet, then write the page and the picture.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    request : Request
        How it is to be run.
    folder : Path
        Where the three files are.
    systems : sequence of str
        Only the rows of these systems are computed; of all unless given.
    quiet : bool
        Whether to print nothing.
    """
    from mallowmix.paper.provenance import run_record
    from mallowmix.paper.result_log import add_run, append_row, read_log

    experiment = EXPERIMENTS[name].load()
    path, tasks = folder / f"{name}.csv", experiment.tasks(request)
    done = {experiment.key_of(row) for row in read_log(path, experiment.columns)}
    n_done = sum(task.key in done for task in tasks)
    left = [task for task in _of_systems(tasks, systems) if task.key not in done]
    if not quiet and n_done:
        echo(f"{path} holds {n_done} of {len(tasks)} rows already.")
    options = {"experiment": name, "size": request.size, "n_seeds": request.n_seeds}
    computed: list[list[str]] = []
    with progress(hidden=quiet) as report:
        rows = experiment.rows(left, replace(request, progress=report))
        try:
            for number, (task, row) in enumerate(zip(left, rows, strict=True), start=1):
                append_row(path, row)
                if not computed:
                    files_written.append(path)  # Ctrl-C says that its rows are kept
                computed.append(list(task.key))
                if report:
                    report(name, number, len(left))
                elif not quiet:
                    echo(f"{number} of {len(left)}: {experiment.describe(row)}")
        finally:  # what is interrupted has its rows, and so their record
            if computed:
                seeds = range(request.n_seeds)
                add_run(path, {"rows": computed, **run_record(options, seeds)})
    _write_report(name, experiment, tasks, folder, quiet)


def _of_systems(tasks: Sequence[Any], systems: Sequence[str]) -> list[Any]:
    """The tasks of these systems."""
    found = dict.fromkeys(getattr(task, "system", None) for task in tasks)
    names = [name for name in found if name]
    for system in systems:
        if not names:
            expected = "left out with this experiment"
            raise OptionError(option="system", value=system, expected=expected)
        check_choice("system", system, names)
    return [task for task in tasks if not systems or _is_of(task, systems)]


def _is_of(task: Any, systems: Sequence[str]) -> bool:
    """Whether it is one of these, or the difference of two of them."""
    compared = getattr(task, "compares", ())
    return task.system in systems or (bool(compared) and set(compared) <= set(systems))


def _write_report(
    name: str,
    experiment: "Experiment",
    tasks: "Sequence[ExperimentTask]",
    folder: Path,
    quiet: bool,
) -> None:
    """The page and the picture, from the rows of the file in the order of the tasks."""
    from mallowmix.paper.result_log import read_log

    found = {
        experiment.key_of(row): row for row in read_log(folder / f"{name}.csv", experiment.columns)
    }
    rows = [found[task.key] for task in tasks if task.key in found]
    report = experiment.report(rows, list(tasks))
    write_all(
        {
            folder / f"{name}.md": lambda path: path.write_text(report.markdown, encoding="utf-8"),
            folder / f"{name}.png": report.draw,
        }
    )
    if not quiet:
        screen().print(_screen_table(report))
        files = ", ".join(str(folder / f"{name}.{ending}") for ending in ("csv", "md", "png"))
        echo(f"\nWrote {files}.")


def _screen_table(report: "ExperimentReport") -> Any:
    table = new_table(*report.heading, numeric=tuple(report.heading[1:]))
    for line in report.lines:
        table.add_row(*line)
    return table
