"""`mallowmix separability`: how often random rankings are separable, beside Lemma 3's bound."""

import math
from typing import Annotated, Any

import typer

from mallowmix.cli.model_text import new_table
from mallowmix.cli.option_values import Json, Numbers, Seed, at_least, number, numbers
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.shell import echo, echo_json, screen
from mallowmix.errors import OptionError


def separability_command(
    n_items: Annotated[
        int, typer.Option(help="Q, the number of items.", parser=at_least(2), metavar="NUMBER")
    ] = 100,
    n_components: Annotated[
        int,
        typer.Option(
            "-k",
            "--n-components",
            help="K, the number of random reference rankings.",
            parser=at_least(1),
            metavar="NUMBER",
        ),
    ] = 10,
    phi: Annotated[
        Numbers,
        typer.Option(
            parser=numbers,
            metavar="NUMBER,…",
            help="Dispersions, each from 0 to 1, with commas between them.",
        ),
    ] = "0,0.1,0.2,0.5",  # type: ignore[assignment]
    threshold: Annotated[
        Any,
        typer.Option(
            parser=number,
            metavar="NUMBER",
            help="λ: the others may follow a novel pair this many times as often.",
        ),
    ] = "0.05",
    n_draws: Annotated[
        int,
        typer.Option(
            help="How many random sets of rankings.", parser=at_least(1), metavar="NUMBER"
        ),
    ] = 1000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Estimate how often random rankings are separable, which is what the paper's method needs."""
    rows = _rows(n_items, n_components, phi, threshold, n_draws, seed)
    if json:
        sizes = {
            "n_items": n_items,
            "n_components": n_components,
            "threshold": threshold,
            "n_draws": n_draws,
            "seed": seed,
        }
        echo_json(sizes | {"results": rows})
    else:
        _print_result(n_items, n_components, threshold, n_draws, rows)


def _rows(
    n_items: int, n_components: int, phis: Numbers, threshold: float, n_draws: int, seed: int
) -> list[dict[str, Any]]:
    from mallowmix.model.separability import separability_probability

    rows = []
    with progress() as report:
        for n, phi in enumerate(phis):
            tick = report and (
                lambda done, total, n=n: report(
                    "random rankings", n * total + done, len(phis) * total
                )
            )
            p, error = separability_probability(
                n_items,
                n_components,
                phi,
                threshold=threshold,
                n_draws=n_draws,
                seed=seed,
                progress=tick,
            )
            bound = _bound(n_items, n_components, phi, threshold)
            rows.append(
                {"phi": phi, "probability": p, "standard_error": error, "lemma3_bound": bound}
            )
    return rows


def _bound(n_items: int, n_components: int, phi: float, threshold: float) -> float | None:
    """Lemma 3's bound (corrected), or None where it has no margin to work with."""
    from mallowmix.model.separability import lemma3_bound

    try:
        return lemma3_bound(n_items, n_components, phi, threshold)
    except OptionError:
        return None


def _print_result(
    n_items: int, n_components: int, threshold: float, n_draws: int, rows: list[dict[str, Any]]
) -> None:
    echo(
        f"{n_draws:,} times, {n_components} random rankings of {n_items} items: how often does "
        "every one of them have a pair that "
        f"the others follow at most {threshold:g} times as often?\n"
    )
    headings = ("phi", "probability", "standard error", "Lemma 3 promises")
    table = new_table(*headings, numeric=headings)
    for row in rows:
        # only probabilities have three decimals
        error = f"{100 * row['standard_error']:.1f} %"
        table.add_row(
            f"{row['phi']:g}", f"{row['probability']:.3f}", error, _promise(row["lemma3_bound"])
        )
    screen().print(table)


def _promise(bound: float | None) -> str:
    if bound is None or bound <= 0:
        return "nothing"
    return f"at least {math.floor(100 * bound) / 100:.2f}"  # a lower bound is rounded down
