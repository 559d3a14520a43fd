"""`mallowmix report`: one page about a model and its people, to look at, print and send."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.engine_options import EngineChoice, EngineOption
from mallowmix.cli.model_text import safe
from mallowmix.cli.option_values import Jobs, Model, Quiet, Seed, at_least
from mallowmix.cli.outputs import try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, keep_quiet
from mallowmix.cli.user_options import UnknownItems
from mallowmix.errors import OptionError

_ENDINGS = (".html", ".htm")


@reads_votes
def report_command(
    model: Model,
    votes: Votes,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page, one HTML file.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="Its heading.")] = "What people like",
    n_replicates: Annotated[
        int,
        typer.Option(
            help="How many times people are weighted anew for intervals, 10 or more; 0: no "
            "intervals.",
            parser=at_least(0),
            metavar="NUMBER",
        ),
    ] = 40,
    choose_k: Annotated[bool, typer.Option(help="Try other numbers of components too.")] = True,
    refit: Annotated[
        bool, typer.Option(help="Judge predictions by people whom the model has not seen.")
    ] = True,
    n_simulations: Annotated[
        int,
        typer.Option(
            help="How often data is drawn anew to see what error to expect; 0: not at all.",
            parser=at_least(0),
            metavar="NUMBER",
        ),
    ] = 2,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Leave out what takes long: intervals, other numbers of components, refits, "
            "simulations.",
        ),
    ] = False,
    unknown_items: UnknownItems = "error",
    seed: Seed = 0,
    n_jobs: Jobs = None,
    engine: EngineOption = None,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
) -> None:
    """Write a report for any reader: rankings, their differences, how people mix, reliability.

    VOTES are the comparisons that the model was learnt from. The page is one file, works offline,
    and names no person.
    """
    keep_quiet(quiet)
    if output.suffix.lower() not in _ENDINGS:
        raise OptionError(
            f"{output}: a report is a page; give a name that ends in .html.",
            option="output",
            value=output,
            expected="a name that ends in .html",
        )
    try_outputs(output, inputs=[model, votes])
    from mallowmix.model.model_file import load
    from mallowmix.report import make_report

    where = EngineChoice(engine, in_memory=True)
    with (
        where.opened(votes, read.reading, n_jobs) as (reading, run),
        progress(hidden=quiet) as report,
    ):
        found = make_report(
            load(model),
            reading,
            title=title,
            n_replicates=0 if quick else n_replicates,
            choose_k=choose_k and not quick,
            refit=refit and not quick,
            n_simulations=0 if quick else n_simulations,
            unknown_items=unknown_items,
            seed=seed,
            engine=run,
            progress=report,
        )
    html = found.html()
    write_all(
        {output: lambda temporary: temporary.write_text(html, encoding="utf-8", newline="\n")}
    )
    if not quiet:
        _print_result(found, output)


def _print_result(found: Any, output: Path) -> None:
    from mallowmix.report import given_data
    from mallowmix.report import report_text as words

    echo(words.headline(found.contents), style="bold")
    for sentence in [given_data.lead(found.contents), *given_data.left_out(found.contents)]:
        echo(sentence.replace(chr(0xA0), " "))
    for sentence in words.in_short(found.contents):
        echo(f"- {safe(sentence.replace(chr(0xA0), ' '))}")
    echo(f"\nWrote {output}.")
