"""`mallowmix diff`: two models side by side."""

from pathlib import Path
from typing import Annotated

import typer

from mallowmix.cli.options import Json
from mallowmix.cli.shell import say, say_json
from mallowmix.cli.words import safe


def diff(
    old: Annotated[Path, typer.Argument(help="A model file.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="Another model file.", show_default=False)],
    json: Json = False,
) -> None:
    """Say what changed between two models: rankings, dispersions, shares, items. They may differ in their numbers of each."""
    from mallowmix.assess.changes import compare_models
    from mallowmix.storage import load

    changes = compare_models(load(old), load(new))
    if json:
        say_json(changes.to_dict())
    else:
        for line in changes.words().splitlines():
            say(safe(line))
