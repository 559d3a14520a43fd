"""`mallowmix heldout`: how likely a model finds people's comparisons, and whether it saw them."""

import math
from dataclasses import asdict
from typing import Annotated, Any

import typer

from mallowmix.cli.engine_options import (
    Cache,
    EngineChoice,
    EngineOption,
    Memory,
    Scheduler,
)
from mallowmix.cli.model_text import counted, new_table
from mallowmix.cli.option_values import Jobs, Json, Model, Quiet, Seed, at_least, number
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen

_METHODS = "left-to-right|importance|completion"
_FORMS = "filter|mean-of-products|product-of-means"


@reads_votes
def heldout_command(
    model: Model,
    votes: Votes,
    method: Annotated[
        Any,
        typer.Option(
            parser=str,
            metavar=_METHODS,
            help="All of a person's comparisons together, by a filter of particles or by draws of "
            "weights; or part of them "
            "predicted from the rest.",
        ),
    ] = "left-to-right",
    form: Annotated[
        Any,
        typer.Option(
            parser=str,
            metavar=_FORMS,
            show_default=False,
            help="left-to-right: how particles are averaged (filter unless given).",
        ),
    ] = None,
    n_particles: Annotated[
        int | None,
        typer.Option(
            parser=at_least(1),
            metavar="NUMBER",
            show_default=False,
            help="left-to-right: how many to start with (32); importance: how many for each person "
            "annealed (128).",
        ),
    ] = None,
    max_particles: Annotated[
        int | None,
        typer.Option(
            parser=at_least(1),
            metavar="NUMBER",
            show_default=False,
            help="left-to-right: how many at the most (1024, more for few comparisons).",
        ),
    ] = None,
    given: Annotated[
        Any,
        typer.Option(
            parser=number,
            metavar="NUMBER",
            show_default=False,
            help="completion: the part that is given (0.5).",
        ),
    ] = None,
    split: Annotated[
        Any,
        typer.Option(
            parser=str,
            metavar="comparisons|items|touching",
            show_default=False,
            help="completion: what is held out: single comparisons, those of two held-out "
            "items, or all that touch one (comparisons).",
        ),
    ] = None,
    include_mu: Annotated[
        bool,
        typer.Option(
            "--include-mu", help="Add the likelihood of which pairs are compared, by their counts."
        ),
    ] = False,
    unknown_items: Annotated[
        Any,
        typer.Option(
            parser=str,
            metavar="error|drop",
            help="What to do with votes about items that the model does not know.",
        ),
    ] = "error",
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
    """Compute the log-likelihood per comparison, best of people who were not in the fit.

    It says on whom and on which questions the number was measured.
    """
    keep_quiet(quiet)
    from mallowmix.infer.heldout.heldout_likelihood import heldout
    from mallowmix.infer.heldout.heldout_options import heldout_options_from
    from mallowmix.model.model_file import load

    fitted, choice = load(model), EngineChoice(engine, memory, scheduler, cache)
    named = {
        "form": form,
        "n_particles": n_particles,
        "max_particles": max_particles,
        "given": given,
        "split": split,
    }
    values = {name: value for name, value in named.items() if value is not None}
    options = heldout_options_from(method, values)
    with (
        choice.opened(votes, read, n_jobs) as (comparisons, run),
        progress(hidden=quiet) as report,
    ):
        found = heldout(
            fitted,
            comparisons,
            options,
            include_mu=include_mu,
            unknown_items=unknown_items,
            seed=seed,
            engine=run,
            progress=report,
        )
    if json:
        echo_json(_values(found, method))
    elif not quiet:
        _print_result(found, method, include_mu)


def _values(found: Any, method: str) -> dict[str, Any]:
    """Return the result as plain values; the standard error of one person is null."""
    n = found.n_comparisons
    values = asdict(found) | {
        "method": method,
        "n_comparisons": int(n) if float(n).is_integer() else n,
        "scored_on": found.scored_on.to_dict(),
    }
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in values.items()
        if name not in ("by_user", "users", "frame_kind")
    }


def _print_result(found: Any, method: str, include_mu: bool) -> None:
    mean, error = found.log_likelihood_per_comparison, found.standard_error
    table = new_table("log-likelihood per comparison", method, numeric=(method,))
    table.add_row("this model", f"{mean:.4f}" + ("" if math.isnan(error) else f" ± {error:.4f}"))
    if not include_mu:
        table.add_row("a coin", f"{-math.log(2):.4f}")
    screen().print(table)
    made = counted(found.n_comparisons, "comparison", "comparisons")
    echo(
        f"\n{made} of {counted(found.n_users, 'person', 'people')}; ± is one standard error "
        "over people."
    )
    echo(f"Measured on {found.scored_on}.")
    if found.scored_on.seen:
        echo(
            "These are the comparisons that the model was learnt from: those of new people "
            "are most often less likely."
        )
    if found.details.get("monte_carlo_error") is not None:
        echo(f"The method's own noise: {found.details['monte_carlo_error']:.1g}.")
    if found.details.get("annealed"):
        people = counted(found.details["annealed"], "person", "people")
        echo(f"Draws were too few for {people}, whose likelihood was annealed instead.")
