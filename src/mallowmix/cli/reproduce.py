"""`mallowmix reproduce`: run an experiment again; its rows, a table and a picture into a folder."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.options import Jobs, Quiet, at_least
from mallowmix.cli.outputs import try_outputs, write_all
from mallowmix.cli.progress import progress
from mallowmix.cli.shell import hush, say, screen
from mallowmix.cli.words import new_table
from mallowmix.errors import FileError, OptionError

EXPERIMENTS = ("recovery",)


def reproduce(
    experiment: Annotated[
        str, typer.Argument(help="Which one: recovery (planted rankings found again, on drawn populations).", show_default=False)
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed, the smaller populations, without the printed method: minutes, not an hour.")
    ] = False,
    seeds: Annotated[int, typer.Option(help="How many seeds for each setting.", parser=at_least(1), metavar="NUMBER")] = 5,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            envvar="MALLOWMIX_DATA",
            help="Where real data lies; recovery draws its own and needs none.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the results go; made if need be.")
    ] = Path("results"),
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Run an experiment: rows into a CSV file, a table, a picture. Run again, it goes on where it stopped."""
    hush(quiet)
    if experiment not in EXPERIMENTS:
        raise OptionError(f"There is no experiment {experiment!r}; there is {', '.join(EXPERIMENTS)}.")
    _make_folder(output)
    try_outputs(*(output / f"{experiment}.{ending}" for ending in ("csv", "md", "png")))
    from mallowmix.experiments.recovery import quick_tasks, tasks

    run_recovery(quick_tasks() if quick else tasks(n_seeds=seeds), output, jobs=jobs, quiet=quiet)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be used as a folder: {error.strerror or error}.") from None


def run_recovery(todo: list[Any], folder: Path, *, jobs: int | None = None, quiet: bool = False) -> None:
    """Run what the CSV file does not hold yet, row by row; then the table and the picture of all that was asked for."""
    from mallowmix.experiments.log import append_row, read_log
    from mallowmix.experiments.recovery import COLUMNS, rows

    path = folder / "recovery.csv"
    done = {_key(row) for row in read_log(path, COLUMNS)}
    left = [task for task in todo if task.key not in done]
    if not quiet and len(left) < len(todo):
        say(f"{path} holds {len(todo) - len(left)} of {len(todo)} rows already.")
    with progress(hidden=quiet) as report:
        for number, row in enumerate(rows(left, jobs=jobs, progress=report), start=1):
            append_row(path, row)
            if report:
                report("recovery", number, len(left))
            elif not quiet:
                say(f"{number} of {len(left)}: {row['setting']} seed {row['seed']} {row['method']}: {row['error']:.5f}")
    _tell(todo, folder, quiet)


def _tell(todo: list[Any], folder: Path, quiet: bool) -> None:
    from mallowmix.experiments.log import read_log
    from mallowmix.experiments.recovery import COLUMNS
    from mallowmix.experiments.recovery_report import draw, markdown, summarise

    asked = {task.key for task in todo}
    table = [row for row in read_log(folder / "recovery.csv", COLUMNS) if _key(row) in asked]
    lines = summarise(table, dict.fromkeys(task.setting for task in todo))
    text = markdown(lines)
    writers = {
        folder / "recovery.md": lambda place: place.write_text(text, encoding="utf-8"),
        folder / "recovery.png": lambda place: draw(lines, place),
    }
    write_all(writers)
    if not quiet:
        screen().print(_shown(lines))
        say(f"\nWrote {', '.join(str(folder / f'recovery.{ending}') for ending in ('csv', 'md', 'png'))}.")


def _key(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("setting", "seed", "method", "version"))


def _shown(lines: list[Any]) -> Any:
    """The errors alone, for the screen; the rest is in the Markdown file."""
    from mallowmix.experiments.recovery_report import met, short, words

    columns = ("target", "ours", "oracle told θ", "goal", "printed method")
    table = new_table("setting", *columns, "met", numeric=columns)
    for line in lines:
        errors = line.setting.target, line.error["full"], line.error.get("oracle"), line.goal, line.error.get("printed")
        table.add_row(words(line.setting), *map(short, errors), met(line))
    return table
