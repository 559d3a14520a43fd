"""`mallowmix simulate`: draw a population from a random model, and keep the truth beside it."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.model_text import sizes
from mallowmix.cli.option_values import Numbers, Quiet, Seed, at_least, numbers
from mallowmix.cli.outputs import (
    Writer,
    check_table_name,
    model_writer,
    table_writer,
    try_outputs,
    votes_table,
    weights_table,
    write_all,
)
from mallowmix.cli.shell import echo, keep_quiet
from mallowmix.errors import DataWarning

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons
    from mallowmix.model.m4 import M4


def simulate_command(
    out: Annotated[
        Path,
        typer.Argument(
            help="Where to write the comparisons: .parquet or .csv.", show_default=False
        ),
    ],
    n_items: Annotated[
        int,
        typer.Option(
            "--n-items",
            "--items",
            help="Q, the number of items.",
            parser=at_least(2),
            metavar="NUMBER",
        ),
    ] = 20,
    n_components: Annotated[
        int,
        typer.Option(
            "-k",
            "--n-components",
            "--components",
            help="K, the number of shared rankings, drawn uniformly.",
            parser=at_least(1),
            metavar="NUMBER",
        ),
    ] = 3,
    n_users: Annotated[
        int,
        typer.Option(
            "--n-users",
            "--users",
            help="M, the number of people.",
            parser=at_least(1),
            metavar="NUMBER",
        ),
    ] = 500,
    per_user: Annotated[
        int,
        typer.Option(
            help="N, the number of comparisons of each person.",
            parser=at_least(1),
            metavar="NUMBER",
        ),
    ] = 50,
    phi: Annotated[
        Numbers,
        typer.Option(
            parser=numbers,
            metavar="NUMBER,…",
            help="Dispersion, from 0 to 1: one, or one for each component.",
        ),
    ] = "0.2",  # type: ignore[assignment]
    alpha: Annotated[
        Numbers,
        typer.Option(
            parser=numbers,
            metavar="NUMBER,…",
            help="Dirichlet parameter of each component: one, or one for each.",
        ),
    ] = "0.1",  # type: ignore[assignment]
    prior: Annotated[
        str,
        typer.Option(
            metavar="dirichlet|vertices|logistic-normal",
            help="How people mix the components; vertices: each follows one alone.",
        ),
    ] = "dirichlet",
    seed: Seed = 0,
    truth: Annotated[
        Path | None, typer.Option(help="Where to write the true model (.m4).", show_default=False)
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="Where to write each person's true weights: .parquet or .csv.", show_default=False
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw random reference rankings and people who mix them, and write their comparisons."""
    keep_quiet(quiet)
    for table in filter(None, (out, weights)):
        check_table_name(table)
    try_outputs(*filter(None, (out, truth, weights)))
    from mallowmix.model.random_model import random_model

    model = random_model(n_items, n_components, phi=phi, alpha=alpha, seed=seed)
    comparisons, theta = model.sample(n_users, per_user, prior=prior, seed=seed)
    _note_absent(comparisons, out)
    write_all(_writers(out, truth, weights, model, comparisons, theta))
    if not quiet:
        _print_result(out, truth, weights, comparisons)


def _writers(
    out: Path,
    truth: Path | None,
    weights: Path | None,
    model: "M4",
    comparisons: "Comparisons",
    theta: Any,
) -> dict[Path, Writer]:
    writers = {out: table_writer(votes_table(comparisons), out)}
    if truth is not None:
        writers[truth] = model_writer(model)
    if weights is not None:
        writers[weights] = table_writer(weights_table(comparisons.users, theta), weights)
    return writers


def _print_result(
    out: Path, truth: Path | None, weights: Path | None, comparisons: "Comparisons"
) -> None:
    echo(f"Wrote {out}: {sizes(comparisons)}.")
    if truth is not None:
        echo(f"Wrote {truth}: the true model.")
    if weights is not None:
        echo(f"Wrote {weights}: everyone's true weights.")


def _note_absent(comparisons: "Comparisons", out: Path) -> None:
    import numpy as np

    absent = comparisons.n_items - len(np.union1d(comparisons.winner, comparisons.loser))
    if absent:
        words = "items were" if absent > 1 else "item was"
        message = (
            f"{absent} {words} never drawn into a comparison: who reads {out} cannot know "
            "of "
            "them. Draw more comparisons."
        )
        warnings.warn(DataWarning(message), stacklevel=2)
