"""`mallowmix sample-posterior`: draws of everything given comparisons, and if they agree."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.model_text import as_percent, counted, new_table, safe, sizes
from mallowmix.cli.option_values import Jobs, Json, Quiet, Seed, at_least, number
from mallowmix.cli.outputs import try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen


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
            help="A NetCDF file with all draws, for xarray and arviz; none is written unless "
            "given.",
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
    outputs = [output] if output else []
    try_outputs(*outputs, inputs=[votes])
    from mallowmix.infer.posterior.convergence import check_convergence
    from mallowmix.infer.posterior.posterior_priors import PosteriorPriors
    from mallowmix.infer.posterior.posterior_sample import load_arviz
    from mallowmix.infer.posterior.sample_posterior import sample_posterior

    load_arviz()  # before the work
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
    found = check_convergence(sample)
    write_all({path: sample.to_xarray().to_netcdf for path in outputs})
    if json:
        echo_json(found.to_dict() | {"output": None if output is None else str(output)})
    elif not quiet:
        echo(f"{votes}: {sizes(comparisons)}.\n")
        _print_components(sample)
        _print_convergence(found)
        echo(f"\nWrote {output}." if output else "")


def _print_components(sample: Any) -> None:
    """Show each component: its share and φ with 90% intervals, the first items by mean position."""
    import numpy as np

    table = new_table("component", "share", "phi", "ranking", numeric=("component",))
    table.show_lines = True
    ends = [0.05, 0.5, 0.95]
    share, phi = (np.quantile(sample.pooled(name), ends, axis=0) for name in ("share", "phi"))
    position = sample.pooled("sigma").mean(axis=0)
    items = sample.items.tolist()
    for k in range(share.shape[1]):
        low, middle, high = map(as_percent, share[:, k])
        order = np.argsort(position[k], kind="stable")[:8]
        table.add_row(
            str(k + 1),
            f"{middle} [{low}, {high}]",
            f"{phi[1, k]:.3f} [{phi[0, k]:.3f}, {phi[2, k]:.3f}]",
            ", ".join(safe(items[i]) for i in order) + (", …" if len(items) > 8 else ""),
        )
    screen().print(table)
    C, D = sample.log_likelihood.shape
    chains = counted(C, "chain", "chains")
    echo(f"\nMedians and 90 % intervals of {D:,} draws of {chains}, as one.\n")


def _print_convergence(found: Any) -> None:
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
    for note in found.notes:
        echo(note)
