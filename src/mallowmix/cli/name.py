"""`mallowmix name`: names for the components of a model, and labels for its items."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mallowmix.cli.model_text import components_table
from mallowmix.cli.option_values import Model, NewModel, Quiet
from mallowmix.cli.outputs import model_writer, try_outputs, write_all
from mallowmix.cli.read_options import ItemNamesFile
from mallowmix.cli.shell import echo, keep_quiet, screen
from mallowmix.errors import Option, OptionError

if TYPE_CHECKING:
    from mallowmix.model.fitted_model import FittedModel


def name_command(
    model: Model,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="A component's number, =, and its name, as in 1=comfort 2='mostly spicy'; nothing "
            "after = takes a name away.",
            show_default=False,
        ),
    ] = None,
    item_names: ItemNamesFile = None,
    output: NewModel = None,
    quiet: Quiet = False,
) -> None:
    """Name the components of a model, and its items, as they are to be shown.

    The names are kept in the model file and shown by every command, in pictures and in reports.
    """
    keep_quiet(quiet)
    if not names and item_names is None:
        raise OptionError(
            "There is nothing to name: write 1=comfort 2=spicy after the model, or ",
            Option("item_names"),
            " with a file.",
            option="names",
            value=None,
            expected="a number, =, and a name",
        )
    target = output or model
    try_outputs(target)
    from mallowmix.model.model_file import load

    loaded = load(model)
    named = loaded.named(_numbered(names or []), _labels(item_names, loaded))
    write_all({target: model_writer(named)})
    if not quiet:
        screen().print(components_table(named))
        echo(f"\nWrote {target}.")


def _numbered(names: list[str]) -> dict[int, str]:
    found: dict[int, str] = {}
    for text in names:
        number, equals, name = text.partition("=")
        if not equals or not number.strip().isdecimal() or int(number) in found:
            raise OptionError(
                f"{text!r} does not fit: write a component's number, =, and its name, each "
                "component once, as in 1=comfort.",
                option="names",
                value=text,
                expected="a number, =, and a name",
            )
        found[int(number)] = name
    return found


def _labels(file: Path | None, model: "FittedModel") -> dict[str, str] | None:
    """The labels of the items that the model has."""
    if file is None:
        return None
    from mallowmix.data.labels import text_of
    from mallowmix.readers.names_file import read_item_names

    return read_item_names(file).labels_of(text_of(model.items))
