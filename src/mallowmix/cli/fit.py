"""`mallowmix fit`: comparisons in, a model file out, and the components in words."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.calibrate import calibrated, in_words
from mallowmix.cli.engine_options import (
    Cache,
    EngineChoice,
    EngineOption,
    Memory,
    More,
    Scheduler,
)
from mallowmix.cli.model_text import (
    components_table,
    counted,
    model_values,
    predictor_in_words,
    sizes,
)
from mallowmix.cli.option_values import (
    Jobs,
    Json,
    Quiet,
    Seed,
    Top,
    at_least,
    count_or_auto,
    number,
    number_or_auto,
)
from mallowmix.cli.outputs import model_writer, try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.errors import Option, OptionError

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons
    from mallowmix.model.fitted_model import FittedModel


@reads_votes
def fit_command(
    votes: Votes,
    n_components: Annotated[
        Any,
        typer.Option(
            "-k",
            "--n-components",
            parser=count_or_auto,
            metavar="NUMBER|auto",
            help="How many shared rankings to learn and show; "
            "predictions do not depend on it much.",
        ),
    ] = "auto",
    more: More = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The model file; NAME.m4 in the current folder, after the input, unless given.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="How to learn; projections is the paper's Algorithm 1.",
            metavar="spectral|projections",
        ),
    ] = "spectral",
    seed: Seed = 0,
    n_jobs: Jobs = None,
    zeta: Annotated[
        Any,
        typer.Option(
            parser=number_or_auto,
            metavar="NUMBER|auto",
            help="ζ of projections: how far novel pairs must lie apart to count as different.",
            show_default=False,
        ),
    ] = None,
    n_projections: Annotated[
        int | None,
        typer.Option(
            parser=at_least(1),
            metavar="NUMBER",
            help="P of projections: how many random directions; 150 for each component "
            "unless given.",
            show_default=False,
        ),
    ] = None,
    tol: Annotated[
        Any,
        typer.Option(
            parser=number,
            metavar="NUMBER",
            help="ε: when the regression stops.",
            show_default=False,
        ),
    ] = None,
    min_count: Annotated[
        Any,
        typer.Option(
            parser=number,
            metavar="NUMBER",
            help="Pairs seen less often than this fraction of the median pair cannot be "
            "novel pairs.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="moment|euclidean|projected|auto",
            help="How the distance of pairs is measured.",
            show_default=False,
        ),
    ] = None,
    refine: Annotated[
        str | None,
        typer.Option(
            metavar="none|short|full",
            help="How much to refine the first answer, where the method does.",
            show_default=False,
        ),
    ] = None,
    components: Annotated[
        str,
        typer.Option(
            metavar="mallows|bradley-terry",
            help="Components as noisy rankings, or as Bradley-Terry scores.",
        ),
    ] = "mallows",
    n_fits: Annotated[
        int,
        typer.Option(
            parser=at_least(1),
            metavar="NUMBER",
            help="Average predictions over so many fits; the first is the one shown.",
            show_default=False,
        ),
    ] = 1,
    predictor: Annotated[
        bool,
        typer.Option(
            "--predictor/--no-predictor",
            help="Also learn what predicts people's answers best, or the components alone.",
        ),
    ] = True,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate", help="Calibrate predictions as well (see the command calibrate)."
        ),
    ] = False,
    engine: EngineOption = None,
    memory: Memory = None,
    scheduler: Scheduler = None,
    cache: Cache = None,
    read: Reader = AS_GIVEN,
    n_top: Top = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn the shared rankings from comparisons; write a model file and show them."""
    keep_quiet(quiet)
    target = output or Path(default_name(votes))
    try_outputs(target, inputs=[votes])
    choice = EngineChoice(engine, memory, scheduler, cache, tuple(more or ()))
    named = {"zeta": zeta, "n_projections": n_projections, "tol": tol, "min_count": min_count}
    named |= {"metric": metric, "refine": refine}
    given = {name: value for name, value in named.items() if value is not None}
    if calibrate and choice.on_disk:
        raise OptionError(
            Option("calibrate"),
            " needs the comparisons in memory: calibrate afterwards, with a part of them.",
            option="calibrate",
            value=calibrate,
            expected="left out where comparisons are kept on disk",
        )
    with choice.opened(votes, read, n_jobs) as (comparisons, run):
        model = _fitted(
            comparisons,
            n_components,
            method,
            given,
            components,
            n_fits,
            predictor,
            seed,
            run,
            quiet,
        )
        if calibrate:
            model = calibrated(model, comparisons, seed, run, quiet)
        write_all({target: model_writer(model)})
    if json:
        echo_json(model_values(model, n_top) | {"output": str(target)})
    elif not quiet:
        _print_result(model, comparisons, votes, target, n_top)


def default_name(votes: Any) -> str:
    """Return NAME.m4 for NAME.csv, NAME.csv.gz, NAME-*.parquet, a folder or a database NAME."""
    if not isinstance(votes, Path):
        votes = Path(str(votes).partition("?")[0].rpartition("/")[2] or "votes")
    name = Path(os.path.realpath(votes)).name
    stem = name if votes.is_dir() else Path(re.sub(r"\.(gz|zst)$", "", name)).stem
    plain = re.sub(r"[-_.]*[*?\[\]]+", "", stem)
    return f"{plain or 'votes'}.m4"


def _fitted(
    comparisons: "Comparisons",
    n_components: Any,
    method: str,
    given: dict[str, Any],
    components: str,
    n_fits: int,
    predictor: bool,
    seed: int,
    engine: Any,
    quiet: bool,
) -> Any:
    from mallowmix.fitting.fit import fit
    from mallowmix.model.fit_options import options_from

    options = options_from(method, given)
    with progress(hidden=quiet) as report:
        return fit(
            comparisons,
            n_components,
            method=options,
            components=components,  # type: ignore[arg-type]
            n_fits=n_fits,
            predictor=predictor,
            seed=seed,
            engine=engine,
            progress=report,
        )


def _why(choice: str) -> str:
    """The reason for the number of components, or why there is none."""
    unknown = choice.removeprefix("cannot tell: ")
    return f"Why {choice}" if unknown == choice else f"How many there are is not known: {unknown}"


def _print_result(
    model: "FittedModel", comparisons: "Comparisons", votes: Any, target: Path, n_top: int | None
) -> None:
    echo(
        f"{votes}: {sizes(comparisons)}; {counted(model.n_components, 'component', 'components')}."
    )
    trace = model.report.spectral
    if trace is not None and trace.choice_of_k is not None:
        echo(_why(trace.choice_of_k))
    echo("")
    screen().print(components_table(model, n_top))
    if model.report.predictor is not None:
        echo(f"\n{predictor_in_words(model.report.predictor)}")
    if model.report.calibration is not None:
        echo(f"\n{in_words(model)}")
    echo(f"\nWrote {target}. See it again with: mallowmix show {target}")
