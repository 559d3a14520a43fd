"""`mallowmix compare-on-split`: systems and models on a split that was made elsewhere."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.compared_output import (
    ComponentCounts,
    Folder,
    Names,
    compared_paths,
    names,
    print_compared,
    systems_option,
    write_compared,
)
from mallowmix.cli.option_values import Json, Quiet, Seed
from mallowmix.cli.outputs import try_outputs
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, reads_votes, votes_source
from mallowmix.cli.shell import echo_json, keep_quiet

_DEFAULT = ("mallowmix", "low-rank", "bradley-terry")


def _votes(help: str, metavar: str) -> Any:
    return typer.Argument(help=help, parser=votes_source, metavar=metavar, show_default=False)


@reads_votes
def compare_on_split_command(
    train: Annotated[Any, _votes("Choices of the people to learn from.", "TRAIN")],
    given: Annotated[Any, _votes("Choices that are known of the test people.", "GIVEN")],
    held_out: Annotated[Any, _votes("Choices of theirs to be predicted.", "HELD_OUT")],
    n_components: ComponentCounts = None,
    systems: Annotated[
        Names | None, systems_option("mallowmix, low-rank and bradley-terry (none with --models)")
    ] = None,
    models: Annotated[
        Names | None,
        typer.Option(
            parser=names,
            metavar="FILE,…",
            help="Model files to measure too, as they are.",
            show_default=False,
        ),
    ] = None,
    output: Folder = None,
    seed: Seed = 0,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure systems and models on a split of your own.

    Systems learn from TRAIN; of the test people what is in GIVEN is known, and what is in HELD_OUT
    is predicted.
    """
    keep_quiet(quiet)
    outputs = compared_paths(output)
    try_outputs(*outputs.values(), inputs=[train, given, held_out])
    parts = [read(votes) for votes in (train, given, held_out)]
    from mallowmix.assess.prepared_split import compare_on_split
    from mallowmix.model.model_file import load

    chosen: dict[str, Any] = {name: load(Path(name)) for name in models or ()}
    chosen |= {name: name for name in systems or (() if models else _DEFAULT)}
    with progress(hidden=quiet) as report:
        found = compare_on_split(
            chosen, *parts, n_components=n_components, seed=seed, progress=report
        )
    if outputs:
        write_compared(found, outputs)
    if json:
        echo_json(found.to_dict())
    elif not quiet:
        print_compared(found, outputs)
