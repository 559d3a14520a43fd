"""`mallowmix sample-posterior`: draws of everything given comparisons, and if they agree."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.model_text import TOP, as_percent, new_table, safe, sizes
from mallowmix.cli.option_values import Jobs, Json, Quiet, Seed, at_least, number
from mallowmix.cli.outputs import (
    DRAWS,
    check_ending,
    check_table_name,
    draws_writer,
    table_writer,
    try_outputs,
    write_all,
)
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.data.optional_packages import optional_package


def _count(least: int, help: str) -> Any:
    return typer.Option(help=help, parser=at_least(least), metavar="NUMBER")


@reads_votes
def sample_posterior_command(
    votes: Votes,
    n_components: Annotated[
        int,
        typer.Option(
            "-k",
            "--n-components",
            parser=at_least(1),
            metavar="NUMBER",
            help="How many shared rankings.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A NetCDF file (.nc) with all draws, for xarray and arviz; none is written unless "
            "given.",
            show_default=False,
        ),
    ] = None,
    intervals: Annotated[
        Path | None,
        typer.Option(
            help="A table of 90 % intervals (.parquet or .csv): quantity, component, item, "
            "estimate, low, high, scale; none is written unless given.",
            show_default=False,
        ),
    ] = None,
    n_chains: Annotated[int, _count(1, "How many chains, each with its own beginning.")] = 4,
    n_warmup: Annotated[int, _count(0, "Steps of each chain that are not kept.")] = 500,
    n_draws: Annotated[int, _count(4, "Draws of each chain that are kept.")] = 250,
    thin: Annotated[int, _count(1, "Steps from one draw to the next.")] = 4,
    rankings: Annotated[
        str,
        typer.Option(
            metavar="uniform|mallows",
            help="The prior of rankings: all alike, or around a ranking of the crowd.",
        ),
    ] = "uniform",
    likelihood_weight: Annotated[
        Any, typer.Option(parser=number, metavar="NUMBER", help="How much a comparison counts.")
    ] = "1",
    max_users: Annotated[int, _count(1, "A sample of so many people where there are more.")] = 1000,
    seed: Seed = 0,
    n_jobs: Jobs = None,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Draw weights, rankings, dispersions and shares from their posterior by MCMC.

    Says for each quantity whether the chains agree: R-hat near 1, and the effective sample size.
    """
    keep_quiet(quiet)
    if intervals:
        check_table_name(intervals)
    if output:
        check_ending(output, DRAWS)
    outputs = [path for path in (output, intervals) if path]
    try_outputs(*outputs, inputs=[votes])
    from mallowmix.infer.posterior.convergence import check_convergence
    from mallowmix.infer.posterior.posterior_intervals import posterior_intervals
    from mallowmix.infer.posterior.posterior_priors import PosteriorPriors
    from mallowmix.infer.posterior.posterior_sample import load_arviz
    from mallowmix.infer.posterior.sample_posterior import sample_posterior

    load_arviz()  # before the work
    if output:
        optional_package("h5netcdf", f"The file {output}")
    priors = PosteriorPriors(rankings=rankings)  # type: ignore[arg-type]
    comparisons = read(votes)
    with progress(hidden=quiet) as report:
        sample = sample_posterior(
            comparisons,
            n_components,
            n_chains=n_chains,
            n_warmup=n_warmup,
            n_draws=n_draws,
            thin=thin,
            priors=priors,
            likelihood_weight=likelihood_weight,
            max_users=max_users,
            seed=seed,
            n_jobs=n_jobs,
            progress=report,
        )
    found, estimates = check_convergence(sample), posterior_intervals(sample)
    writers = {output: draws_writer(sample)} if output else {}
    if intervals:
        writers[intervals] = table_writer(_table(estimates), intervals)
    write_all(writers)
    if json:
        values = found.to_dict() | {"chain_weights": estimates.chain_weights.tolist()}
        echo_json(values | {"output": None if output is None else str(output)})
    elif not quiet:
        echo(f"{votes}: {sizes(comparisons)}.\n")
        _print_components(estimates)
        _print_convergence(found, estimates.notes)
        echo(f"\nWrote {', '.join(map(str, outputs))}." if outputs else "")


def _table(estimates: Any) -> Any:
    import pyarrow as pa

    numbers = [(name, pa.float64()) for name in ("estimate", "low", "high", "scale")]
    schema = pa.schema(
        [("quantity", pa.string()), ("component", pa.int64()), ("item", pa.string()), *numbers]
    )
    rows = [
        row | {"item": None if row["item"] is None else str(row["item"])}
        for row in estimates.table()
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def _print_components(found: Any) -> None:
    """Show each component: its share and φ with intervals, the first items by mean position."""
    import numpy as np

    table = new_table("component", "share", "phi", "ranking", numeric=("component",))
    table.show_lines = True
    items, share, phi = found.items.tolist(), found.share, found.phi
    for k in range(len(phi.estimate)):
        low, middle, high = (
            as_percent(each[k]) for each in (share.low, share.estimate, share.high)
        )
        order = np.argsort(found.position.estimate[k], kind="stable")[:TOP]
        table.add_row(
            str(k + 1),
            f"{middle} [{low}, {high}]",
            f"{phi.estimate[k]:.3f} [{phi.low[k]:.3f}, {phi.high[k]:.3f}]",
            ", ".join(safe(items[i]) for i in order) + (", …" if len(items) > TOP else ""),
        )
    screen().print(table)
    echo("\nMeans and 90 % intervals, as wide as other people would make them.\n")


def _print_convergence(found: Any, notes: tuple[str, ...]) -> None:
    headings = ("R-hat", "effective draws", "in the tails")
    table = new_table("quantity", "numbers", *headings, numeric=("numbers", *headings))
    for row in found.table:
        table.add_row(
            row.quantity + (" (by component)" if row.by_label else ""),
            str(row.n_values),
            f"{row.r_hat:.3f}",
            f"{row.ess_bulk:,.0f}",
            f"{row.ess_tail:,.0f}",
        )
    screen().print(table)
    for note in notes:
        echo(note)
