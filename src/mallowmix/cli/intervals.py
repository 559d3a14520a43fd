"""`mallowmix intervals`: how certain positions, dispersions and shares of a model are."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.engine_options import (
    Cache,
    EngineChoice,
    EngineOption,
    Memory,
    More,
    Scheduler,
)
from mallowmix.cli.model_text import TOP, as_percent, new_table, safe
from mallowmix.cli.option_values import Jobs, Json, Model, Quiet, Seed, Top, at_least, number
from mallowmix.cli.outputs import check_table_name, table_writer, try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.cli.user_options import UnknownItems

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons
    from mallowmix.model.fitted_model import FittedModel


@reads_votes
def intervals_command(
    model: Model,
    votes: Votes,
    more: More = None,
    n_replicates: Annotated[
        int,
        typer.Option(
            help="How many times people are weighted anew.", parser=at_least(10), metavar="NUMBER"
        ),
    ] = 100,
    level: Annotated[
        Any,
        typer.Option(
            parser=number, metavar="NUMBER", help="How often an interval should hold the truth."
        ),
    ] = "0.9",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A table of all intervals: quantity, component, item, estimate, low, high.",
            show_default=False,
        ),
    ] = None,
    unknown_items: UnknownItems = "error",
    seed: Seed = 0,
    n_jobs: Jobs = None,
    engine: EngineOption = None,
    memory: Memory = None,
    scheduler: Scheduler = None,
    cache: Cache = None,
    read: Reader = AS_GIVEN,
    n_top: Top = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compute intervals for every position, dispersion and share by a bootstrap over people.

    VOTES are the comparisons that the model was learnt from. Positions count from 1, and 1 is best.
    With more than 20,000 people, sums and samples of them are kept.
    """
    keep_quiet(quiet)
    outputs = [output] if output else []
    for path in outputs:
        check_table_name(path)
    try_outputs(*outputs, inputs=[model, votes, *(more or ())])
    from mallowmix.assess.intervals.bootstrap_intervals import check_request
    from mallowmix.model.model_file import load

    fitted, choice = load(model), EngineChoice(engine, memory, scheduler, cache, tuple(more or ()))
    check_request(fitted, n_replicates, level)
    with choice.opened(votes, read, n_jobs) as (comparisons, run):
        comparisons = comparisons.with_items(fitted.items, unknown_items=unknown_items)
        found = _found(fitted, comparisons, n_replicates, level, seed, run, quiet)
    for path in outputs:
        write_all({path: table_writer(_table(found), path)})
    if json:
        rows = [_plain(row) for row in found.table()]
        echo_json(
            {
                "level": level,
                "n_replicates": n_replicates,
                "intervals": rows,
                "unstable": list(found.unstable),
                "notes": found.notes,
            }
        )
    elif not quiet:
        _print_result(found, level, n_top or TOP)
        echo(f"\nWrote {output}." if output else "")


def _found(
    model: "FittedModel",
    comparisons: "Comparisons",
    n_replicates: int,
    level: float,
    seed: int,
    run: Any,
    quiet: bool,
) -> Any:
    from mallowmix.assess.intervals.bootstrap_intervals import intervals

    with progress(hidden=quiet) as report:
        return intervals(
            model, comparisons, n_replicates, level, seed=seed, engine=run, progress=report
        )


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"item": None if row["item"] is None else str(row["item"])}


def _table(found: Any) -> Any:
    import pyarrow as pa

    numbers = [(name, pa.float64()) for name in ("estimate", "low", "high")]
    schema = pa.schema(
        [
            ("quantity", pa.string()),
            ("component", pa.int64()),
            ("item", pa.string()),
            *numbers,
            *([("name", pa.string())] if found.component_names else []),
        ]
    )
    return pa.Table.from_pylist([_plain(row) for row in found.table()], schema=schema)


def _print_result(found: Any, level: float, top: int) -> None:
    from mallowmix.model.names import component_title

    echo(f"Intervals that should hold the truth in {100 * level:g} % of cases, in brackets.\n")
    table = new_table(
        "component", "share", "phi", "ranking, best first, with positions", numeric=("component",)
    )
    table.show_lines = True
    for k in range(len(found.phi)):
        share = (
            f"{as_percent(found.share[k])} [{as_percent(found.share_low[k])}, "
            f"{as_percent(found.share_high[k])}]"
        )
        phi = f"{found.phi[k]:.3f} [{found.phi_low[k]:.3f}, {found.phi_high[k]:.3f}]"
        title = safe(component_title(found.component_names, k + 1, ""))
        table.add_row(title, share, phi, _position_ranges(found, k, top))
    screen().print(table)
    sure = (found.position_low == found.position_high).mean()
    echo(f"\n{as_percent(float(sure))} of all positions are certain at this level.")
    for note in found.notes:
        echo(safe(note))


def _position_ranges(found: Any, k: int, top: int) -> str:
    """List the first items with their ranges of positions."""
    items, low, high = found.items.tolist(), found.position_low[k], found.position_high[k]
    by_position = sorted(range(len(items)), key=lambda i: found.position[k, i])[:top]
    runs = (
        f"{low[i] + 1}" if low[i] == high[i] else f"{low[i] + 1}–{high[i] + 1}" for i in by_position
    )
    return ", ".join(
        f"{safe(items[i])} [{run}]" for i, run in zip(by_position, runs, strict=True)
    ) + (", …" if len(items) > top else "")
