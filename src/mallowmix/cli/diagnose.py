"""`mallowmix diagnose`: what a model rests on and how reliable it is."""

from pathlib import Path
from typing import Annotated

import typer

from mallowmix.cli.engine_options import Cache, EngineChoice, EngineOption, Memory, Scheduler
from mallowmix.cli.model_text import safe
from mallowmix.cli.option_values import Jobs, Json, Model, Quiet, Seed, at_least
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet
from mallowmix.cli.user_options import UnknownItems


@reads_votes
def diagnose_command(
    model: Model,
    votes: Votes,
    held_out: Annotated[
        Path | None,
        typer.Option(
            help="Comparisons of other people, to judge predicted probabilities by.",
            show_default=False,
        ),
    ] = None,
    refit: Annotated[
        bool,
        typer.Option(
            help="Judge predictions by people whom the model has not seen, learning it anew from "
            "the others."
        ),
    ] = True,
    n_simulations: Annotated[
        int,
        typer.Option(
            help="How often data is drawn anew to see what error to expect; 0: not at all, as it "
            "must be for data on disk.",
            parser=at_least(0),
            metavar="NUMBER",
        ),
    ] = 5,
    n_top: Annotated[
        int,
        typer.Option(
            help="How many pairs, items and people --json names.",
            parser=at_least(1),
            metavar="NUMBER",
        ),
    ] = 5,
    unknown_items: UnknownItems = "error",
    seed: Seed = 0,
    n_jobs: Jobs = None,
    engine: EngineOption = None,
    memory: Memory = None,
    scheduler: Scheduler = None,
    cache: Cache = None,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Diagnose a model: expected error, separation, disagreement, calibration, influence.

    VOTES are the comparisons that the model was learnt from.
    """
    keep_quiet(quiet)
    from mallowmix.model.model_file import load

    loaded, choice = load(model), EngineChoice(engine, memory, scheduler, cache)
    with (
        choice.opened(votes, read, n_jobs) as (comparisons, run),
        progress(hidden=quiet) as report,
    ):
        from mallowmix.assess.diagnose.diagnosis import diagnose

        found = diagnose(
            loaded,
            comparisons,
            held_out=read(held_out) if held_out else None,
            refit=refit,
            n_simulations=n_simulations,
            n_top=n_top,
            unknown_items=unknown_items,
            seed=seed,
            engine=run,
            progress=report,
        )
    if json:
        echo_json(found.to_dict())
    elif not quiet:
        for line in found.words().splitlines():
            echo(f"- {safe(line)}")
