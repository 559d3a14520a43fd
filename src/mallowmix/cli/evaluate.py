"""`mallowmix evaluate`: a model beside the truth, component by component."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.model_text import as_percent, new_table
from mallowmix.cli.option_values import Json, Model
from mallowmix.cli.shell import echo, echo_json, screen
from mallowmix.errors import DataError


def evaluate_command(
    model: Model,
    truth: Annotated[
        Path,
        typer.Option(
            help="The model file to compare with (from simulate --truth).", show_default=False
        ),
    ],
    json: Json = False,
) -> None:
    """Compare a model with the true one: discordant pairs, and errors of the other parameters."""
    from mallowmix.model.model_file import load

    found, true = load(model), load(truth)
    values = against_truth(found, true, str(model), str(truth))
    if json:
        echo_json(values)
    else:
        _print_result(found, true, values)


def against_truth(
    found: Any, true: Any, found_name: str = "The model", true_name: str = "the truth"
) -> dict[str, Any]:
    """Match components to the true ones and measure the error of each.

    Returns
    -------
    dict
        Components are numbered from 1 and come in the order of the truth.
    """
    import numpy as np

    from mallowmix.model.permutations import match_components

    matching = match_components(_with_items_of(true, found, found_name, true_name), true.sigma)
    f, t = matching.found, matching.truth
    return {
        "kendall": float(matching.kendall.mean()),
        "kendall_per_component": matching.kendall.tolist(),
        "phi_error": float(np.abs(found.phi[f] - true.phi[t]).mean()),
        "alpha_error": float(np.abs(found.alpha[f] - true.alpha[t]).mean()),
        "share_error": float(np.abs(found.share[f] - true.share[t]).mean()),
        "matched": [[int(a) + 1, int(b) + 1] for a, b in zip(f, t, strict=True)],
        "unmatched_found": [k + 1 for k in matching.unmatched_found],
        "unmatched_truth": [k + 1 for k in matching.unmatched_truth],
    }


def _with_items_of(true: Any, found: Any, found_name: str, true_name: str) -> Any:
    """Return the found positions with the items in the order of the truth, matched by text."""
    number = {str(item): i for i, item in enumerate(found.items.tolist())}
    wanted = [str(item) for item in true.items.tolist()]
    odd = sorted(set(number) ^ set(wanted))
    if odd:
        where = found_name if odd[0] in number else true_name
        raise DataError(
            f"{found_name} and {true_name} are not about the same items: {odd[0]!r} is only "
            f"in {where}"
            f"{f' (and {len(odd) - 1:,} more are in one alone)' if len(odd) > 1 else ''}. Compare "
            "models of the same items."
        )
    return found.sigma[:, [number[item] for item in wanted]]


def _print_result(found: Any, true: Any, values: dict[str, Any]) -> None:
    columns = (
        "found",
        "true",
        "discordant pairs",
        "phi found",
        "phi true",
        "share found",
        "share true",
    )
    table = new_table(*columns, numeric=columns)
    for (a, b), kendall in zip(values["matched"], values["kendall_per_component"], strict=True):
        phis = [f"{m.phi[k - 1]:.3f}" for m, k in ((found, a), (true, b))]
        shares = [as_percent(m.share[k - 1]) for m, k in ((found, a), (true, b))]
        table.add_row(str(a), str(b), as_percent(kendall), *phis, *shares)
    screen().print(table)
    echo(
        f"\nOn average {as_percent(values['kendall'])} of the pairs are in the wrong order; phi is "
        f"off by {values['phi_error']:.3f}."
    )
    for name, where in (
        ("unmatched_found", "Found, but not true"),
        ("unmatched_truth", "True, but not found"),
    ):
        if values[name]:
            echo(
                f"{where}: component{'s' * (len(values[name]) > 1)} "
                f"{', '.join(map(str, values[name]))}."
            )
