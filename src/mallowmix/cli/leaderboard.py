"""`mallowmix leaderboard`: all items by how often they win in the population, with intervals."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.model_text import as_percent, new_table, safe
from mallowmix.cli.option_values import Json, Model, Quiet
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.cli.user_options import Level, TopItems, save_table, try_table

_SHOWN_COMPONENTS = 6  # beside the population's; a table has them all


def leaderboard_command(
    model: Model,
    n_top: TopItems = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A table: position, item, win_rate, low, high, rank_low, rank_high, "
            "component_1, … (.csv or .parquet).",
            show_default=False,
        ),
    ] = None,
    level: Level = "0.95",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Rank all items for the population, with intervals and the positions each item may have."""
    keep_quiet(quiet)
    try_table(output, model, None)
    from mallowmix.infer.population_leaderboard import leaderboard
    from mallowmix.model.model_file import load

    found = leaderboard(load(model), level=float(level))
    if output is not None:
        save_table(found.to_frame("pyarrow"), output)
    if json:
        echo_json(_values(found, n_top))
    elif not quiet:
        _print(found, n_top)
        if output is not None:
            echo(f"\nWrote {output}.")


def _values(found: Any, n_top: int | None) -> dict[str, Any]:
    columns = found.to_frame("pyarrow").slice(0, n_top).to_pylist()
    rows = [
        {name: None if value != value else value for name, value in row.items()} for row in columns
    ]
    return {"level": found.level, "leaderboard": rows}


def _print(found: Any, n_top: int | None) -> None:
    K = min(len(found.component_positions), _SHOWN_COMPONENTS)
    names = [f"component {k + 1}" for k in range(K)]
    table = new_table(
        "position", "item", "win rate", "interval", "may be", *names,
        numeric=("position", "win rate", "interval", "may be", *names),
    )  # fmt: skip
    known = found.low[0] == found.low[0]  # not NaN
    for n, item in enumerate(found.items.tolist()[:n_top]):
        interval = f"{as_percent(found.low[n])} to {as_percent(found.high[n])}" if known else "–"
        table.add_row(
            str(n + 1),
            safe(item),
            as_percent(found.win_rate[n]),
            interval,
            f"{found.rank_low[n]} to {found.rank_high[n]}" if known else "–",
            *(str(found.component_positions[k][n]) for k in range(K)),
        )
    echo("The population's ranking, by how often an item wins against another:\n")
    screen().print(table)
    if known:
        echo(
            f"\nInterval and position hold with {100 * found.level:g} %, over samples of people "
            "such as these."
        )
    else:
        echo("\nIntervals need a model that was fitted with its predictor.")
