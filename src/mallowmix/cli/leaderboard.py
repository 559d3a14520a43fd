"""`mallowmix leaderboard`: all items by how often they win in the population, with intervals."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.model_text import as_percent, new_table, safe
from mallowmix.cli.option_values import Json, Model, Quiet
from mallowmix.cli.read_options import AS_GIVEN, MaybeVotes, Reader, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.cli.user_options import Level, TopItems, save_table, try_table

_SHOWN_COMPONENTS = 6  # beside the population's; a table has them all


@reads_votes
def leaderboard_command(
    model: Model,
    votes: MaybeVotes = None,
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
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Rank all items for the population, with intervals and the positions each item may have.

    With VOTES, the comparisons of the fit, ties are counted, and position bias is measured and
    taken out.
    """
    keep_quiet(quiet)
    try_table(output, model, votes)
    from mallowmix.infer.population_leaderboard import leaderboard
    from mallowmix.model.model_file import load

    fitted, reading = load(model), None if votes is None else read.reading(votes)
    found = leaderboard(fitted, reading, level=level)
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
    about = {
        "ties": None if found.ties is None else asdict(found.ties),
        "position": None if found.position is None else asdict(found.position),
        "corrected": found.correction is not None,
    }
    if any(found.component_names):
        about["component_names"] = list(found.component_names)
    return {"level": found.level} | about | {"leaderboard": rows}


def _print(found: Any, n_top: int | None) -> None:
    known = found.low[0] == found.low[0]  # not NaN
    echo("The population's ranking, by how often an item wins against another:\n")
    screen().print(_table(found, n_top, known))
    K = len(found.component_positions)
    shown = f"c1 to c{K}" if K <= _SHOWN_COMPONENTS else f"c1 to c{_SHOWN_COMPONENTS} of {K}"
    echo(f"\n{shown if K > 1 else 'c1'}: the item's position in each component{_named(found)}.")
    echo(
        f"Interval (in %) and positions hold with {100 * found.level:g} %, over samples of people "
        "such as these."
        if known
        else "Intervals need a model that was fitted with its predictor."
    )
    for note in found.notes() or [
        "Give the comparisons of the fit after the model to see ties and position bias."
    ]:
        echo(note)


def _named(found: Any) -> str:
    """The names of components, where there are some."""
    names = [f"c{k}: {safe(name)}" for k, name in enumerate(found.component_names, 1) if name]
    return f" ({', '.join(names)})" if names else ""


def _table(found: Any, n_top: int | None, known: bool) -> Any:
    names = [f"c{k + 1}" for k in range(min(len(found.component_positions), _SHOWN_COMPONENTS))]
    numeric = ("position", "win rate", "interval", "may be", *names)
    table = new_table("position", "item", *numeric[1:], numeric=numeric)
    for n, item in enumerate(found.items.tolist()[:n_top]):
        ends = f"{100 * found.low[n]:.1f} to {100 * found.high[n]:.1f}"
        table.add_row(
            str(n + 1),
            safe(item),
            as_percent(found.win_rate[n]),
            ends if known else "–",
            f"{found.rank_low[n]} to {found.rank_high[n]}" if known else "–",
            *(str(found.component_positions[k][n]) for k in range(len(names))),
        )
    return table
