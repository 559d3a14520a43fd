"""`mallowmix compare-models`: two models side by side."""

from pathlib import Path
from typing import Annotated

import typer

from mallowmix.cli.model_text import safe
from mallowmix.cli.option_values import Json
from mallowmix.cli.shell import echo, echo_json


def compare_models_command(
    old: Annotated[Path, typer.Argument(help="A model file.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="Another model file.", show_default=False)],
    json: Json = False,
) -> None:
    """Show what changed between two models: rankings, dispersions, shares, items.

    The models may differ in their numbers of components and items.
    """
    from mallowmix.assess.model_diff import compare_models
    from mallowmix.model.model_file import load

    changes = compare_models(load(old), load(new))
    if json:
        echo_json(changes.to_dict())
    else:
        for line in changes.words().splitlines():
            echo(safe(line))
