"""Commands that are imported when they are run: one question should not wait for all the others.

A command `choose-k` is the function `choose_k_command` of the module `cli.choose_k`.
"""

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperCommand


class LazyCommands(Mapping[str, TyperCommand]):
    """The commands by their names, each made when it is first asked for.

    Parameters
    ----------
    groups : mapping from the title of a group to names
        The names of the commands, in the order of the help text.
    kind : subclass of TyperCommand
        What a command is made as.
    """

    def __init__(self, groups: Mapping[str, tuple[str, ...]], kind: type[TyperCommand]) -> None:
        self._group = {name: group for group, names in groups.items() for name in names}
        self._kind = kind
        self._made: dict[str, TyperCommand] = {}

    def __getitem__(self, name: str) -> TyperCommand:
        if name not in self._made:
            self._made[name] = _made(name, self._group[name], self._kind)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._group)

    def __len__(self) -> int:
        return len(self._group)

    def listed(self, name: str) -> TyperCommand | None:
        """A command with its help and without its options, for the list of all commands."""
        if name not in self._group:
            return None
        text = inspect.getdoc(_function(name))
        return TyperCommand(name, help=text, rich_help_panel=self._group[name])


def _function(name: str) -> Callable[..., None]:
    """The function of a command."""
    word = name.replace("-", "_")
    return getattr(importlib.import_module(f"mallowmix.cli.{word}"), f"{word}_command")


def _made(name: str, group: str, kind: type[TyperCommand]) -> Any:
    alone = typer.Typer(add_completion=False)
    alone.command(name, cls=kind, rich_help_panel=group)(_function(name))
    return typer.main.get_command(alone)
