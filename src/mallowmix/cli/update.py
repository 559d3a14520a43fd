"""`mallowmix update`: continue from a model file with other comparisons."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mallowmix.cli.engine_options import Cache, EngineChoice, EngineOption, Memory, Scheduler
from mallowmix.cli.model_text import components_table, counted, model_values, safe, sizes
from mallowmix.cli.option_values import Jobs, Json, Model, NewModel, Quiet, Seed, Top
from mallowmix.cli.outputs import model_writer, try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons

_NAMED = 5  # new items named before "and … more"


@reads_votes
def update_command(
    model: Model,
    votes: Votes,
    output: NewModel = None,
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
    """Continue learning from a fitted model with other comparisons; the number of rankings stays.

    A model keeps rankings, not votes: give old and new comparisons in one file if both should
    count, the new ones alone if the old are out of date. New items are added to every ranking.
    """
    keep_quiet(quiet)
    target = output or model
    try_outputs(target, inputs=[votes])
    from mallowmix.model.model_file import load

    before, choice = load(model), EngineChoice(engine, memory, scheduler, cache)
    with choice.opened(votes, read, n_jobs) as (comparisons, run):
        updated = _updated(before, comparisons, seed, run, quiet)
        write_all({target: model_writer(updated)})
    if json:
        echo_json(model_values(updated, n_top) | {"output": str(target)})
    elif not quiet:
        _print_result(updated, comparisons, votes, target, n_top)


def _updated(before: Any, comparisons: "Comparisons", seed: int, run: Any, quiet: bool) -> Any:
    from mallowmix.fitting.update import update

    with progress(hidden=quiet) as report:
        return update(before, comparisons, seed=seed, engine=run, progress=report)


def _print_result(
    model: Any, comparisons: "Comparisons", votes: Any, target: Path, n_top: int | None
) -> None:
    echo(
        f"{votes}: {sizes(comparisons)}; {counted(model.n_components, 'component', 'components')}."
    )
    new = list(model.report.update.new_items)
    if new:
        more = f" and {len(new) - _NAMED:,} more" if len(new) > _NAMED else ""
        echo(f"New to the model: {', '.join(map(safe, new[:_NAMED]))}{more}.")
    echo("")
    screen().print(components_table(model, n_top))
    echo(f"\nWrote {target}. See it again with: mallowmix show {target}")
