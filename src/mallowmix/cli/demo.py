"""`mallowmix demo`: what six hundred people like to eat; what was planted beside what was found."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.evaluate import against_truth
from mallowmix.cli.model_text import as_percent, chain, new_table
from mallowmix.cli.outputs import model_writer, table_writer, try_outputs, votes_table, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.shell import echo, screen
from mallowmix.data.new_folder import make_folder

if TYPE_CHECKING:
    from mallowmix.model.fitted_model import FittedModel

_TOP, _PEOPLE = 5, 5


def demo_command(
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="A folder to keep votes.csv, truth.m4 and model.m4 in; made if need be.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Fit a small built-in population and show what was planted beside what was found."""
    if output is not None:
        _prepare(output)
    from mallowmix.datasets import load_dishes

    dishes = load_dishes()
    votes = dishes.comparisons
    echo(
        "A population was made up, to see whether its tastes can be found again from its "
        "choices alone."
    )
    size = (
        f"{votes.n_users} people made {votes.n_comparisons:,.0f} choices between two of "
        f"{votes.n_items} dishes"
    )
    echo(f"{size}; each of them mixes {len(dishes.tastes)} tastes.\n")
    model = _fitted(votes)
    matched = against_truth(model, dishes.model)
    _print_components(dishes, model, matched)
    _print_weights(dishes, model, matched)
    if output is not None:
        _keep(output, dishes, model)
    _print_next_steps(output)


def _prepare(folder: Path) -> None:
    make_folder(folder)
    try_outputs(*(folder / name for name in ("votes.csv", "truth.m4", "model.m4")))


def _fitted(votes: Any) -> Any:
    from mallowmix.fitting.fit import fit

    with progress() as report:
        return fit(votes, 3, seed=0, progress=report)


def _print_components(dishes: Any, model: "FittedModel", matched: dict[str, Any]) -> None:
    table = new_table(
        "taste",
        "",
        "share",
        "phi",
        "off",
        f"the {_TOP} dishes it likes best",
        numeric=("share", "phi", "off"),
    )
    for (found, true), kendall in zip(
        matched["matched"], matched["kendall_per_component"], strict=True
    ):
        table.add_row(dishes.tastes[true - 1], "planted", *_row(dishes.model, true - 1, ""))
        table.add_row("", "found", *_row(model, found - 1, as_percent(kendall)), end_section=True)
    screen().print(table)
    echo(
        "off: how many of all pairs of dishes the found ranking has in the wrong order; guessing "
        "gives 50 %"
    )


def _row(model: "FittedModel", k: int, off: str) -> tuple[str, str, str, str]:
    best = [model.items[i] for i in model.order[k][:_TOP]]
    return as_percent(model.share[k]), f"{model.phi[k]:.2f}", off, chain(best)


def _print_weights(dishes: Any, model: "FittedModel", matched: dict[str, Any]) -> None:
    """Print a few people's weights: planted, and inferred from their own choices."""
    from mallowmix.infer.weights import weights

    some = dishes.comparisons.take_users(range(_PEOPLE))
    theta = weights(model, some)
    echo(f"\nHow {_PEOPLE} of them mix the tastes, planted | found from their choices:\n")
    table = new_table("person", *dishes.tastes, numeric=dishes.tastes)
    for m, person in enumerate(some.users.tolist()):
        cells = [
            f"{dishes.theta[m, true - 1]:4.0%} | {theta[m, found - 1]:4.0%}"
            for found, true in matched["matched"]
        ]
        table.add_row(str(person), *cells)
    screen().print(table)


def _keep(folder: Path, dishes: Any, model: "FittedModel") -> None:
    votes = folder / "votes.csv"
    write_all(
        {
            votes: table_writer(votes_table(dishes.comparisons), votes),
            folder / "truth.m4": model_writer(dishes.model),
            folder / "model.m4": model_writer(model),
        }
    )


def _print_next_steps(output: Path | None) -> None:
    folder = output or Path("dishes")
    keep = (
        []
        if output
        else [(f"mallowmix demo --output {folder}", "keep these choices and models in a folder")]
    )
    steps = [
        *keep,
        (f"mallowmix check {folder / 'votes.csv'}", "look at the choices"),
        (
            f"mallowmix fit {folder / 'votes.csv'} -k 3",
            "learn from them (your own file needs user, winner, loser)",
        ),
        ("mallowmix show votes.m4", "see the tastes again"),
        (
            f"mallowmix report votes.m4 {folder / 'votes.csv'} -o tastes.html",
            "a page that anybody can read",
        ),
        (
            "mallowmix serve votes.m4 --votes answers.db",
            "ask people, and show them their own taste",
        ),
    ]
    echo("\nWhat to try next:", style="bold")
    for command, why in steps:
        echo(f"  {command:<{max(len(command) for command, _ in steps)}}   {why}")
