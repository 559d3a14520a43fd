"""`mallowmix choose-k`: how many shared rankings the comparisons support, and why."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.engine_options import EngineChoice, EngineOption
from mallowmix.cli.model_text import as_percent, new_table, sizes
from mallowmix.cli.option_values import Counts, Jobs, Json, Quiet, Seed, at_least, counts
from mallowmix.cli.outputs import table_writer, try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.data.new_folder import make_folder
from mallowmix.errors import Option, OptionError

_FILES = ("table.csv", "choice.json", "choice.png")
_COMPARES = (
    "To compare numbers, nobody counts for more than three typical people, and each number has the "
    "likelihood weight that suits it; mallowmix diagnose scores a model as it is, so its figures "
    "differ."
)
_OF_FILES = (".csv", ".html", ".json", ".m4", ".parquet", ".png", ".tsv")


@reads_votes
def choose_k_command(
    votes: Votes,
    ks: Annotated[
        Counts | None,
        typer.Option(
            "-k",
            "--ks",
            parser=counts,
            metavar="FROM-TO",
            help="Which numbers to try: 2-12, or 2,4,8. As many as are needed unless given.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="A folder for table.csv, choice.json and choice.png; made if need be. Nothing is "
            "written unless given.",
            show_default=False,
        ),
    ] = None,
    n_folds: Annotated[
        int,
        typer.Option(
            help="People are split into so many parts, each predicted from the others.",
            parser=at_least(2),
            metavar="NUMBER",
        ),
    ] = 3,
    refine: Annotated[
        str,
        typer.Option(
            metavar="short|full", help="How far each model is refined; full takes longer."
        ),
    ] = "short",
    seed: Seed = 0,
    n_jobs: Jobs = None,
    engine: EngineOption = None,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Recommend how many shared rankings to learn, with the reason.

    The smallest number is taken that predicts new people as well as the best. `fit -k auto` takes
    the same number. Also shown: whether the rankings are found again in both halves of the people,
    and which eigenvalues rise above the noise.
    """
    keep_quiet(quiet)
    outputs = _output_paths(output)
    try_outputs(*outputs.values(), inputs=[votes])

    where = EngineChoice(engine, in_memory=True)
    with (
        where.opened(votes, read, n_jobs) as (comparisons, run),
        progress(hidden=quiet) as report,
    ):
        from mallowmix.fitting.choose_k import choose_k

        choice = choose_k(
            comparisons,
            ks,
            n_folds=n_folds,
            refine=refine,  # type: ignore[arg-type]
            seed=seed,
            engine=run,
            progress=report,
        )
    if outputs:
        _write(choice, outputs)
    if json:
        echo_json(choice.to_dict())
    elif not quiet:
        echo(f"{votes}: {sizes(comparisons)}.\n")
        _print_result(choice)
        echo(f"\nWrote {', '.join(map(str, outputs.values()))}." if outputs else "")


def _output_paths(folder: Path | None) -> dict[str, Path]:
    if folder is None:
        return {}
    if folder.suffix in _OF_FILES:
        raise OptionError(
            Option("output"),
            f" names a folder, and {folder} looks like a file: give it a name without "
            f"{folder.suffix}.",
            option="output",
            value=folder,
            expected="the name of a folder",
        )
    make_folder(folder)
    return {name: folder / name for name in _FILES}


def _print_result(choice: Any) -> None:
    headings = (
        "K",
        "log-likelihood",
        "to the best",
        "give or take",
        "agreement",
        "smallest share",
        "eigenvalue / noise",
    )
    table = new_table(*headings, numeric=headings)
    for row in choice.table:
        above = "" if row.eigenvalue is None else f"{row.eigenvalue / row.noise_edge:.2f}"
        table.add_row(
            str(row.k),
            f"{row.log_likelihood_per_comparison:.4f}",
            f"{row.difference:+.4f}",
            f"{row.difference_error:.4f}",
            f"{row.agreement:.2f}",
            as_percent(row.smallest_share),
            above,
            style="bold" if row.k == choice.k else "",
        )
    if choice.table:
        screen().print(table)
        echo(f"Measured on {choice.scored_on}. {_COMPARES}\n" if choice.scored_on else "")
    echo(choice.reason[0].upper() + choice.reason[1:], style="bold")
    if choice.k is not None and not choice.certain:
        echo("This is not certain: what was looked at does not all point to the same number.")


def _write(choice: Any, outputs: dict[str, Path]) -> None:
    import json

    import pyarrow as pa

    from mallowmix.plots import plot_choice

    values = choice.to_dict()
    rows = [
        {name: value for name, value in row.items() if name != "agreements"}
        for row in values["table"]
    ]
    table = pa.Table.from_pylist(rows, schema=_schema())
    write_all(
        {
            outputs["table.csv"]: table_writer(table, outputs["table.csv"]),
            outputs["choice.json"]: lambda temporary: temporary.write_text(
                json.dumps(values, indent=1) + "\n", encoding="utf-8"
            ),
            outputs["choice.png"]: lambda temporary: plot_choice(choice).savefig(
                temporary, format="png", dpi=150
            ),
        }
    )


def _schema() -> Any:
    import pyarrow as pa

    numbers = ("log_likelihood_per_comparison", "standard_error", "difference", "difference_error")
    more = ("agreement", "smallest_share", "eigenvalue", "noise_edge", "likelihood_weight")
    return pa.schema([("k", pa.int64()), *((name, pa.float64()) for name in numbers + more)])
