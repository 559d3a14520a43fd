"""The app: the commands under one name, and the one place where every error becomes a sentence and an exit code.

Nothing here or in a command's module imports numpy at its top, so that `--help` answers at once; commands import what they need.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from mallowmix._version import __version__
from mallowmix.cli.calibrate import calibrate
from mallowmix.cli.check import check
from mallowmix.cli.choose_k import choose_k
from mallowmix.cli.compare import compare
from mallowmix.cli.convert import convert
from mallowmix.cli.demo import demo
from mallowmix.cli.diagnose import diagnose
from mallowmix.cli.diff import diff
from mallowmix.cli.evaluate import evaluate
from mallowmix.cli.fit import fit
from mallowmix.cli.groups import groups
from mallowmix.cli.heldout import heldout
from mallowmix.cli.intervals import intervals
from mallowmix.cli.next import next as next_questions
from mallowmix.cli.plot import plot
from mallowmix.cli.predict import predict
from mallowmix.cli.rank import rank
from mallowmix.cli.report import report
from mallowmix.cli.reproduce import reproduce
from mallowmix.cli.separability import separability
from mallowmix.cli.serve import serve
from mallowmix.cli.shell import EXIT_CODES, plain_words
from mallowmix.cli.show import show
from mallowmix.cli.simulate import simulate
from mallowmix.cli.update import update
from mallowmix.cli.weights import weights

_EPILOG = (
    "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + "."
)
_COMMANDS = (
    fit,
    update,
    calibrate,
    show,
    check,
    convert,
    evaluate,
    heldout,
    weights,
    predict,
    rank,
    next_questions,
    simulate,
    separability,
    demo,
    reproduce,
    choose_k,
    compare,
    intervals,
    diagnose,
    groups,
    diff,
    report,
    plot,
    serve,
)


class Group(TyperGroup):
    """The group of commands; whatever goes wrong inside ends as one sentence on stderr and an exit code."""

    def get_help_option(self, ctx: Any) -> Any:
        """Not asked for is False, which typer takes as it is; for None it would first import pydantic, a third of the time."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **_: Any
    ) -> NoReturn:
        """Run one command; no arguments at all ask for help."""
        given = list(sys.argv[1:] if args is None else args)
        with (
            plain_words(),
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
for _command in _COMMANDS:
    app.command()(_command)


def _version(asked: bool) -> None:
    if asked:
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

    Start with `mallowmix demo`, or with a file of the columns user, winner, loser: `mallowmix fit votes.csv -k 3`.
    """


def main() -> NoReturn:
    """The entry point."""
    command = typer.main.get_command(app)
    command.main(prog_name="mallowmix")
    raise AssertionError("Group.main always exits")
