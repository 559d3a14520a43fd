"""`mallowmix calibrate`: learn from people themselves how far a model's predictions about a person can be trusted."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.option_values import Jobs, Json, Model, Quiet, Seed
from mallowmix.cli.outputs import model_writer, try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import hush, say, say_json


@reads_votes
def calibrate(
    model: Model,
    votes: Votes,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The new model file; MODEL itself is replaced unless given.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            metavar="auto|items|comparisons",
            help="What is told of a person: comparisons among some of their items, or some of their comparisons.",
        ),
    ] = "auto",
    spam: Annotated[
        bool, typer.Option("--spam", help="Also look for a share of coin-flip answers.")
    ] = False,
    seed: Seed = 0,
    n_jobs: Jobs = None,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Calibrate a model, so that its predictions about a person hold up.

    Part of each person's comparisons is told, the rest foretold; what one comparison counts for and how wide the prior is are
    set so that the foretelling is best. Best with people whom the model has not seen; with the votes that it was learnt from,
    models are learnt from two thirds of the people and judged on the others.
    """
    hush(quiet)
    target = output or model
    try_outputs(target, inputs=[votes])
    from mallowmix.model.model_file import load

    comparisons = read(votes)
    found = calibrated(load(model), comparisons, seed, n_jobs, quiet, split=split, spam=spam)
    write_all({target: model_writer(found)})
    if json:
        say_json(calibration_values(found) | {"output": str(target)})
    elif not quiet:
        say(in_words(found))
        say(f"Wrote {target}.")


def calibrated(
    model: Any, comparisons: Any, seed: int, n_jobs: int | None, quiet: bool, **options: Any
) -> Any:
    """The library's `calibrate`, with a bar."""
    from mallowmix.fitting.calibrate import calibrate as learn

    with progress(hidden=quiet) as report:
        return learn(model, comparisons, seed=seed, n_jobs=n_jobs, progress=report, **options)


def calibration_values(model: Any) -> dict[str, Any]:
    """The calibration and what it gained, as plain JSON values."""
    from dataclasses import asdict

    return {"calibration": asdict(model.calibration)} | dict(model.report["calibration"])


def in_words(model: Any) -> str:
    """The calibration in a few sentences."""
    trust, found = model.calibration, model.report["calibration"]
    loss = f"Log-loss of what was foretold for {found['users']:,} people: {found['after']:.4f} a comparison"
    if trust == type(trust)():
        return f"No setting gains more than its noise: predictions stay as they were.\n{loss} (a coin: 0.6931)."
    parts = [
        f"One comparison counts for {trust.evidence:g}",
        f"the prior is {trust.scale:g} times as concentrated",
    ]
    if trust.vertex:
        parts.append(f"{trust.vertex:.0%} of the people are taken to hold one component alone")
    if trust.spam:
        parts.append(f"{trust.spam:.0%} of the answers to be coin flips")
    return f"{'; '.join(parts)}.\n{loss} (before: {found['before']:.4f}; a coin: 0.6931)."
