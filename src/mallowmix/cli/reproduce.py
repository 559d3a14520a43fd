"""`mallowmix reproduce`: run an experiment again; its rows, a table and a figure into a folder."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.model_text import new_table
from mallowmix.cli.option_values import Jobs, Quiet, at_least, counts, numbers
from mallowmix.cli.outputs import Writer, try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.shell import echo, echo_note, files_written, keep_quiet, screen
from mallowmix.data.new_folder import make_folder
from mallowmix.errors import MissingPackageError, OptionError, did_you_choose
from mallowmix.paper.registry import EXPERIMENTS

if TYPE_CHECKING:
    from mallowmix.paper.experiment import ExperimentReport, Request
    from mallowmix.paper.row_selection import RowSelection

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
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only the rows of this method (fig3, recovery: what recovers the rankings; fig4: "
            "what scores), as it is called in the CSV file; may be repeated.",
            show_default=False,
        ),
    ] = None,
    references: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Only the rows of these references (fig3), as they are called in the CSV file; "
            "may be repeated.",
            show_default=False,
        ),
    ] = None,
    n_components: Annotated[
        Any,
        typer.Option(
            "-k",
            "--n-components",
            parser=counts,
            metavar="NUMBER,…",
            help="Only the rows of these numbers of components (fig4, table2).",
            show_default=False,
        ),
    ] = None,
    n_users: Annotated[
        Any,
        typer.Option(
            parser=counts,
            metavar="NUMBER,…",
            help="Only the rows of these numbers of people (fig3).",
            show_default=False,
        ),
    ] = None,
    phi: Annotated[
        Any,
        typer.Option(
            parser=numbers,
            metavar="NUMBER,…",
            help="Only the rows of these dispersions (fig3).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            parser=at_least(0),
            metavar="NUMBER",
            help="Only the rows of this seed (recovery, fig3, table1), of 0, 1, ….",
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
    try_outputs(*(output / f"{experiment}.{ending}" for ending in ("csv", "md")))
    _try_picture(output / f"{experiment}.png", quiet)
    from mallowmix.paper.experiment import Request
    from mallowmix.paper.row_selection import RowSelection

    request = Request(quick, data, n_seeds, n_jobs, full=full)
    selection = RowSelection(
        system=tuple(system or ()),
        method=tuple(method or ()),
        references=tuple(references or ()),
        n_components=tuple(n_components or ()),
        n_users=tuple(n_users or ()),
        phi=tuple(phi or ()),
        seed=() if seed is None else (seed,),
    )
    run_experiment(experiment, request, output, selection=selection, quiet=quiet)


def _try_picture(path: Path, quiet: bool) -> bool:
    """Whether the picture can be drawn; without matplotlib there are rows and page all the same."""
    try:
        try_outputs(path)
    except MissingPackageError as error:
        if not quiet:
            echo_note(f"{error} Rows and page are written; run again for the picture.")
        return False
    return True


def run_experiment(
    name: str,
    request: "Request",
    folder: Path,
    *,
    selection: "RowSelection | None" = None,
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
    selection : RowSelection, optional
        Only these rows are computed; all unless given.
    quiet : bool
        Whether to print nothing.
    """
    from mallowmix.paper.recorded_rows import RecordedRows
    from mallowmix.paper.result_log import read_log
    from mallowmix.paper.row_selection import selected_tasks

    experiment = EXPERIMENTS[name].load()
    path, tasks = folder / f"{name}.csv", experiment.tasks(request)
    done = {experiment.key_of(row) for row in read_log(path, experiment.columns)}
    n_done = sum(task.key in done for task in tasks)
    wanted = tasks if selection is None else selected_tasks(tasks, selection)
    left = [task for task in wanted if task.key not in done]
    if not quiet and n_done:
        echo(f"{path} holds {n_done} of {len(tasks)} rows already.")
    options = {"experiment": name, "size": request.size, "n_seeds": request.n_seeds}
    kept = RecordedRows(path, options, range(request.n_seeds))
    with progress(hidden=quiet) as report:
        rows = experiment.rows(left, replace(request, progress=report))
        try:
            for number, (task, row) in enumerate(zip(left, rows, strict=True), start=1):
                kept.add(task.key, row)
                if number == 1:
                    files_written.append(path)  # Ctrl-C says that its rows are kept
                kept.record_if_due()
                if report:
                    report(name, number, len(left))
                elif not quiet:
                    echo(f"{number} of {len(left)}: {experiment.describe(row)}")
        finally:  # what is interrupted has its rows, and so their record
            kept.record()
    write_report(name, request, folder, quiet=quiet)


def write_report(name: str, request: "Request", folder: Path, *, quiet: bool = True) -> None:
    """Write the page and the picture, from the rows of the file in the order of the tasks.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    request : Request
        How it was run.
    folder : Path
        Where the CSV file is.
    quiet : bool
        Whether to print nothing.
    """
    from mallowmix.paper.result_log import read_log

    experiment = EXPERIMENTS[name].load()
    tasks = experiment.tasks(request)
    found = {
        experiment.key_of(row): row for row in read_log(folder / f"{name}.csv", experiment.columns)
    }
    rows = [found[task.key] for task in tasks if task.key in found]
    report = experiment.report(rows, list(tasks))
    writers: dict[Path, Writer] = {
        folder / f"{name}.md": lambda path: path.write_text(report.markdown, encoding="utf-8")
    }
    if _try_picture(folder / f"{name}.png", quiet=True):
        writers[folder / f"{name}.png"] = report.draw
    write_all(writers)
    if not quiet:
        screen().print(_screen_table(report))
        echo(f"\nWrote {', '.join(map(str, (folder / f'{name}.csv', *writers)))}.")


def _screen_table(report: "ExperimentReport") -> Any:
    table = new_table(*report.heading, numeric=tuple(report.heading[1:]))
    for line in report.lines:
        table.add_row(*line)
    return table
