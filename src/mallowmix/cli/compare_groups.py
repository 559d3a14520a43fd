"""`mallowmix compare-groups`: whether groups of people follow different shared rankings."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.engine_options import Cache, EngineChoice, EngineOption, Memory, Scheduler
from mallowmix.cli.model_text import as_percent, new_table, safe
from mallowmix.cli.option_values import Jobs, Json, Model, Quiet, Seed, at_least
from mallowmix.cli.outputs import check_table_name, table_writer, try_outputs, write_all
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.cli.user_options import UnknownItems


@reads_votes
def compare_groups_command(
    model: Model,
    votes: Votes,
    attributes: Annotated[
        Path,
        typer.Option(
            help="A table (.csv, .tsv, .parquet) with a column user and what is known about them.",
            show_default=False,
        ),
    ],
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Group by this column; may be given again. All with few values unless given.",
            show_default=False,
        ),
    ] = None,
    user: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column of the table that holds the users.")
    ] = "user",
    n_permutations: Annotated[
        int,
        typer.Option(
            help="How many times groups are assigned at random.",
            parser=at_least(19),
            metavar="NUMBER",
        ),
    ] = 1999,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A table of the shares: attribute, group, n_people, component, share, low, high.",
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
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare groups of people by the shared rankings that they follow.

    Shares come with intervals, and with a permutation test of the difference between groups.
    """
    keep_quiet(quiet)
    outputs = [output] if output else []
    for path in outputs:
        check_table_name(path)
    try_outputs(*outputs, inputs=[model, votes, attributes])
    from mallowmix.assess.groups import compare_groups
    from mallowmix.model.model_file import load

    choice = EngineChoice(engine, memory, scheduler, cache)
    with choice.opened(votes, read, n_jobs) as (comparisons, run):
        found = compare_groups(
            load(model),
            comparisons,
            attributes,
            by=by or None,
            user=user,
            n_permutations=n_permutations,
            unknown_items=unknown_items,
            seed=seed,
            engine=run,
        )
    for path in outputs:
        write_all({path: table_writer(found.to_frame("pyarrow"), path)})
    if json:
        echo_json(found.to_dict())
    elif not quiet:
        _print_result(found)
        echo(f"\nWrote {output}." if output else "")


def _print_result(found: Any) -> None:
    from mallowmix.data.natural_order import natural_key
    from mallowmix.model.names import component_titles

    K = max(row.component for row in found.shares)
    headings = [safe(title) for title in component_titles(found.component_names, K)]
    table = new_table("attribute", "group", "people", *headings, numeric=("people", *headings))
    groups = [found.shares[start : start + K] for start in range(0, len(found.shares), K)]
    attributes = list(dict.fromkeys(rows[0].attribute for rows in groups))
    for rows in sorted(
        groups, key=lambda rows: (attributes.index(rows[0].attribute), natural_key(rows[0].group))
    ):
        cells = (
            f"{as_percent(row.share)} [{as_percent(row.low)}, {as_percent(row.high)}]"
            for row in rows
        )
        table.add_row(safe(rows[0].attribute), safe(rows[0].group), f"{rows[0].n_people:,}", *cells)
    screen().print(table)
    echo(f"\nIn brackets, intervals at {100 * found.level:g} %.\n")
    echo(found.words())
