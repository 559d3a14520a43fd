"""`mallowmix calibrate`: make a model's predicted probabilities about a person reliable."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.engine_options import EngineChoice, EngineOption
from mallowmix.cli.option_values import Jobs, Json, Model, NewModel, Quiet, Seed
from mallowmix.cli.outputs import model_writer, try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet
from mallowmix.cli.user_options import UnknownItems

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons
    from mallowmix.model.fitted_model import FittedModel


@reads_votes
def calibrate_command(
    model: Model,
    votes: Votes,
    output: NewModel = None,
    split: Annotated[
        str,
        typer.Option(
            metavar="auto|items|comparisons",
            help="What is given of a person: comparisons among some of their items, or some of "
            "their comparisons.",
        ),
    ] = "auto",
    spam: Annotated[
        bool, typer.Option("--spam", help="Also look for a share of coin-flip answers.")
    ] = False,
    unknown_items: UnknownItems = "error",
    seed: Seed = 0,
    n_jobs: Jobs = None,
    engine: EngineOption = None,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Calibrate a model, so that its predicted probabilities about a person are reliable.

    Part of each person's comparisons is given, the rest predicted; the likelihood weight of a
    comparison and the width of the prior are chosen to predict best. Use people whom the model has
    not seen; with the votes that it was learnt from, models are learnt from two thirds of the
    people and judged on the others.
    """
    keep_quiet(quiet)
    target = output or model
    try_outputs(target, inputs=[votes])
    from mallowmix.model.model_file import load

    before, where = load(model), EngineChoice(engine, in_memory=True)
    with where.opened(votes, read, n_jobs) as (comparisons, run):
        comparisons = comparisons.with_items(before.items, unknown_items=unknown_items)
        found = calibrated(before, comparisons, seed, run, quiet, split=split, spam=spam)
    write_all({target: model_writer(found)})
    if json:
        echo_json(calibration_values(found) | {"output": str(target)})
    elif not quiet:
        echo(in_words(found))
        echo(f"Wrote {target}.")


def calibrated(
    model: "FittedModel",
    comparisons: "Comparisons",
    seed: int,
    engine: Any,
    quiet: bool,
    split: Any = "auto",
    spam: bool = False,
) -> Any:
    """The library's `calibrate`, with a bar."""
    from mallowmix.fitting.calibrate import calibrate

    with progress(hidden=quiet) as report:
        return calibrate(
            model, comparisons, split=split, spam=spam, seed=seed, engine=engine, progress=report
        )


def calibration_values(model: Any) -> dict[str, Any]:
    """The calibration and what it gained, as plain JSON values."""
    from dataclasses import asdict

    return {"calibration": asdict(model.calibration)} | asdict(model.report.calibration)


def in_words(model: Any) -> str:
    """The calibration in a few sentences."""
    calibration, found = model.calibration, model.report.calibration
    loss = (
        f"Log-loss of what was predicted for {found.n_users:,} people: {found.loss_after:.4f} "
        "a comparison"
    )
    if calibration == type(calibration)():
        return (
            f"No setting gains more than its noise: predictions stay as they were.\n{loss} (a "
            "coin: 0.6931)."
        )
    parts = [
        f"One comparison counts for {calibration.likelihood_weight:g}",
        f"the prior is {calibration.prior_scale:g} times as concentrated",
    ]
    if calibration.vertex_share:
        parts.append(
            f"{calibration.vertex_share:.0%} of the people are taken to hold one component alone"
        )
    if calibration.spam_share:
        parts.append(f"{calibration.spam_share:.0%} of the answers to be coin flips")
    return f"{'; '.join(parts)}.\n{loss} (before: {found.loss_before:.4f}; a coin: 0.6931)."
