"""The app: all commands under one name; every error becomes a sentence and an exit code here.

Nothing here or in a command's module imports numpy at its top, so that `--help` answers at once;
commands import what they need, and are themselves imported when they are run.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from mallowmix._version import __version__
from mallowmix.cli.help_words import kind_in_words
from mallowmix.cli.lazy_commands import LazyCommands
from mallowmix.cli.memory_limit import refuse_low_limit
from mallowmix.cli.plain_values import convert_plainly
from mallowmix.cli.shell import EXIT_CODES, exit_with_code, use_option_names
from mallowmix.cli.start_lightly import start_lightly

_EPILOG = (
    "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + "."
)
_GROUPS: dict[str, tuple[str, ...]] = {  # in the order of the help text
    "Start here": ("demo", "check", "fit", "show", "report"),
    "Data": ("convert", "simulate", "update"),
    "People": ("leaderboard", "weights", "predict", "rank", "next-pair", "compare-groups"),
    "How far to rely on it": (
        "choose-k",
        "intervals",
        "sample-posterior",
        "diagnose",
        "calibrate",
        "heldout",
        "compare",
        "compare-on-split",
        "compare-models",
    ),
    "Share": ("name", "plot", "serve"),
    "Research": ("evaluate", "separability", "reproduce"),
}


def _help_switch(option: Any) -> Any:
    """`--help`, off unless given: for None, typer would import pydantic, which is slow."""
    if option is None:
        return None
    option.default = False
    return kind_in_words(option)


class Command(TyperCommand):
    """A command, in whose names errors and warnings are written."""

    def __init__(self, *values: Any, **options: Any) -> None:
        super().__init__(*values, **options)
        for param in self.params:
            kind_in_words(convert_plainly(param))

    def get_help_option(self, ctx: Any) -> Any:
        """A switch, off unless given, described as all others."""
        return _help_switch(super().get_help_option(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        refuse_low_limit()
        group = ctx.parent.command if ctx.parent is not None else None
        use_option_names(self, getattr(group, "commands", {}))
        return super().invoke(ctx)


class Group(TyperGroup):
    """The group of commands; any error inside ends as one sentence on stderr and an exit code."""

    def __init__(self, *values: Any, **options: Any) -> None:
        super().__init__(*values, **options)
        self.commands: Any = LazyCommands(_GROUPS, Command)
        self._listing = False
        for param in self.params:
            kind_in_words(convert_plainly(param))

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, in the order of the help text."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; while the help is written, without its options."""
        if self._listing:
            return self.commands.listed(cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with a line for each command."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def get_help_option(self, ctx: Any) -> Any:
        """A switch, off unless given, described as all others."""
        return _help_switch(super().get_help_option(ctx))

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **_: Any
    ) -> NoReturn:
        """Run one command; without arguments, print the help."""
        given = list(sys.argv[1:] if args is None else args)
        with (
            exit_with_code(given),
            self.make_context(prog_name or "mallowmix", given or ["--help"]) as context,
        ):
            self.invoke(context)
        sys.exit(0)


app = typer.Typer(
    name="mallowmix",
    cls=Group,
    epilog=_EPILOG,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"mallowmix {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Learn what a crowd of different people likes from their pairwise choices.

    Start with `mallowmix demo`, or with a file that has the columns user, winner, loser:
    `mallowmix fit votes.csv -k 3`.
    """


def main() -> NoReturn:
    """The entry point."""
    given = sys.argv[1:]
    start_lightly(given)
    with exit_with_code(given):
        command = typer.main.get_command(app)
    command.main(given, prog_name="mallowmix")
    raise AssertionError("Group.main always exits")
