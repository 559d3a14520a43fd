"""The app: all commands under one name; every error becomes a sentence and an exit code here.

Nothing here or in a command's module imports numpy at its top, so that `--help` answers at once;
commands import what they need.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from mallowmix._version import __version__
from mallowmix.cli.calibrate import calibrate_command
from mallowmix.cli.check import check_command
from mallowmix.cli.choose_k import choose_k_command
from mallowmix.cli.compare import compare_command
from mallowmix.cli.compare_groups import compare_groups_command
from mallowmix.cli.compare_models import compare_models_command
from mallowmix.cli.compare_on_split import compare_on_split_command
from mallowmix.cli.convert import convert_command
from mallowmix.cli.demo import demo_command
from mallowmix.cli.diagnose import diagnose_command
from mallowmix.cli.evaluate import evaluate_command
from mallowmix.cli.fit import fit_command
from mallowmix.cli.heldout import heldout_command
from mallowmix.cli.help_words import kind_in_words
from mallowmix.cli.intervals import intervals_command
from mallowmix.cli.leaderboard import leaderboard_command
from mallowmix.cli.memory_limit import refuse_low_limit
from mallowmix.cli.name import name_command
from mallowmix.cli.next_pair import next_pair_command
from mallowmix.cli.plain_values import convert_plainly
from mallowmix.cli.plot import plot_command
from mallowmix.cli.predict import predict_command
from mallowmix.cli.rank import rank_command
from mallowmix.cli.report import report_command
from mallowmix.cli.reproduce import reproduce_command
from mallowmix.cli.sample_posterior import sample_posterior_command
from mallowmix.cli.separability import separability_command
from mallowmix.cli.serve import serve_command
from mallowmix.cli.shell import EXIT_CODES, exit_with_code, use_option_names
from mallowmix.cli.show import show_command
from mallowmix.cli.simulate import simulate_command
from mallowmix.cli.update import update_command
from mallowmix.cli.weights import weights_command
from mallowmix.cli.without_pandas import leave_pandas_out

_EPILOG = (
    "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + "."
)
_GROUPS: dict[str, dict[str, Callable[..., None]]] = {  # in the order of the help text
    "Start here": {
        "demo": demo_command,
        "check": check_command,
        "fit": fit_command,
        "show": show_command,
        "report": report_command,
    },
    "Data": {
        "convert": convert_command,
        "simulate": simulate_command,
        "update": update_command,
    },
    "People": {
        "leaderboard": leaderboard_command,
        "weights": weights_command,
        "predict": predict_command,
        "rank": rank_command,
        "next-pair": next_pair_command,
        "compare-groups": compare_groups_command,
    },
    "How far to rely on it": {
        "choose-k": choose_k_command,
        "intervals": intervals_command,
        "sample-posterior": sample_posterior_command,
        "diagnose": diagnose_command,
        "calibrate": calibrate_command,
        "heldout": heldout_command,
        "compare": compare_command,
        "compare-on-split": compare_on_split_command,
        "compare-models": compare_models_command,
    },
    "Share": {
        "name": name_command,
        "plot": plot_command,
        "serve": serve_command,
    },
    "Research": {
        "evaluate": evaluate_command,
        "separability": separability_command,
        "reproduce": reproduce_command,
    },
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
        for param in self.params:
            kind_in_words(convert_plainly(param))

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
for _group, _commands in _GROUPS.items():
    for _name, _function in _commands.items():
        app.command(_name, cls=Command, rich_help_panel=_group)(_function)


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
    leave_pandas_out(given)
    with exit_with_code(given):
        command = typer.main.get_command(app)
    command.main(given, prog_name="mallowmix")
    raise AssertionError("Group.main always exits")
