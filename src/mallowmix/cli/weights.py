"""`mallowmix weights`: how much of each shared ranking every person follows, with intervals."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.engine_options import (
    Cache,
    EngineChoice,
    EngineOption,
    Memory,
    Scheduler,
)
from mallowmix.cli.model_text import as_percent, counted, named_component, new_table, safe
from mallowmix.cli.option_values import Jobs, Json, Model, Quiet, Seed, at_least
from mallowmix.cli.outputs import weights_table
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.cli.user_options import SHOWN, Level, UnknownItems, by_user, save_table, try_table
from mallowmix.errors import Option, OptionError, check_level

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons
    from mallowmix.model.fitted_model import FittedModel


@reads_votes
def weights_command(
    model: Model,
    votes: Votes,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A table: user, component_1 …, n_comparisons (.parquet or .csv); the first rows "
            "are shown unless given.",
            show_default=False,
        ),
    ] = None,
    estimate: Annotated[
        Any,
        typer.Option(
            parser=str, metavar="mean|map", help="The posterior mean, or the most likely weights."
        ),
    ] = "mean",
    method: Annotated[
        Any,
        typer.Option(
            parser=str,
            metavar="variational|gibbs|quadrature",
            help="How the mean is found: a fast approximation; by Gibbs sampling; exactly, for at "
            "most three components.",
        ),
    ] = "variational",
    n_sweeps: Annotated[
        int,
        typer.Option(help="Of gibbs: how many sweeps.", parser=at_least(1), metavar="NUMBER"),
    ] = 10_000,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Add intervals: low_1, high_1 and so on.")
    ] = False,
    level: Level = "0.9",
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
    """Infer how much of each shared ranking every person follows, be they new or in the fit."""
    keep_quiet(quiet)
    try_table(output, model, votes)
    check_level(level)
    if intervals and estimate == "map":
        raise OptionError(
            Option("intervals"),
            " goes with ",
            Option("estimate", "mean"),
            ": intervals are about the whole posterior, not its most likely point.",
            option="intervals",
            value=intervals,
            expected="left out with the estimate 'map'",
        )
    from mallowmix.model.model_file import load

    fitted, choice = load(model), EngineChoice(engine, memory, scheduler, cache)
    with choice.opened(votes, read, n_jobs) as (comparisons, run):
        people = comparisons.with_items(fitted.items, unknown_items=unknown_items)
        how = (estimate, method, n_sweeps, seed)
        theta, ends = _found(fitted, people, how, level if intervals else None, run)
        if output is not None:
            save_table(_table(people, theta, ends, fitted.component_names), output)
        if json:
            echo_json(_values(people, theta, output))
        elif not quiet:
            names = [named_component(fitted, k + 1) for k in range(fitted.n_components)]
            _print_result(people, theta, ends, output, names)


def _found(
    model: "FittedModel",
    people: "Comparisons",
    how: tuple[Any, Any, int, int],
    level: float | None,
    run: Any,
) -> tuple[Any, Any]:
    """Return all users' weights, and the ends of their intervals where a level is given."""
    from mallowmix.infer.gibbs_draws import weight_intervals
    from mallowmix.infer.weights import weights

    estimate, method, n_sweeps, seed = how
    options = {"estimate": estimate, "method": method, "n_sweeps": n_sweeps, "seed": seed}
    if level is None or method != "variational":
        theta = weights(model, people, **options, engine=run)
        if level is None:
            return theta, None
    found = weight_intervals(model, people, level=level, seed=seed, engine=run)
    return found.mean if method == "variational" else theta, (found.low, found.high)


def _table(people: "Comparisons", theta: Any, ends: Any, names: tuple[str, ...]) -> Any:
    """Make user, component_1, …, n_comparisons, and low_1, high_1, … where there are intervals."""
    import pyarrow as pa

    table = weights_table(people.users, theta, names).append_column(
        "n_comparisons", pa.array(people.per_user())
    )
    for k in range(theta.shape[1] if ends else 0):
        for name, end in zip(("low", "high"), ends, strict=True):
            table = table.append_column(f"{name}_{k + 1}", pa.array(end[:, k]))
    return by_user(table)


def _values(people: "Comparisons", theta: Any, output: Path | None) -> dict[str, Any]:
    return {
        "n_users": people.n_users,
        "n_prior": int((people.per_user() == 0).sum()),
        "mean": theta.mean(axis=0).tolist() if people.n_users else None,
        "output": None if output is None else str(output),
    }


def _print_result(
    people: "Comparisons", theta: Any, ends: Any, output: Path | None, headings: list[str]
) -> None:
    from mallowmix.data.natural_order import natural_order

    table = new_table("user", *headings, "comparisons", numeric=(*headings, "comparisons"))
    count = people.per_user()
    for m in natural_order(people.users, SHOWN):
        cells = [as_percent(value) for value in theta[m]]
        if ends:
            cells = [
                f"{cell} [{as_percent(a)}, {as_percent(b)}]"
                for cell, a, b in zip(cells, ends[0][m], ends[1][m], strict=True)
            ]
        table.add_row(safe(people.users[m]), *cells, f"{count[m]:,.12g}")
    screen().print(table)
    more = people.n_users - SHOWN
    echo(
        f"\nThese are {SHOWN} of {people.n_users:,} people; -o writes all of them."
        if more > 0 and output is None
        else ""
    )
    if unknown := int((count == 0).sum()):
        echo(
            f"Nothing is known of {counted(unknown, 'person', 'people')}: they have the weights "
            "of the population."
        )
    if output is not None:
        echo(f"Wrote {output}: {counted(people.n_users, 'person', 'people')}.")
