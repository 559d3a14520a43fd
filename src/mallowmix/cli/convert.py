"""`mallowmix convert`: votes into another form that can hold them, or voters drawn from a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mallowmix.cli.model_text import counted, sizes
from mallowmix.cli.option_values import Quiet, Seed, at_least
from mallowmix.cli.outputs import try_outputs, write_all
from mallowmix.cli.read_options import AS_GIVEN, FORMS, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, keep_quiet
from mallowmix.errors import Option, OptionError

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons

_TO = FORMS
_PREFLIB = (".soc", ".soi", ".toc", ".toi")


@reads_votes
def convert_command(
    votes: Votes,
    output: Annotated[
        Path,
        typer.Argument(
            help="What to write: .csv, .tsv, .jsonl (or .gz, .zst of these), .parquet, .sqlite, "
            ".duckdb (a table called votes), "
            "or PrefLib's .soc, .soi, .toc, .toi.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar=_TO,
            help="The form to write; comparisons unless given, preflib by its endings.",
            show_default=False,
        ),
    ] = None,
    n_voters: Annotated[
        int | None,
        typer.Option(
            parser=at_least(1),
            metavar="NUMBER",
            help="If VOTES is a model file: draw so many voters from its population, a full "
            "ranking each.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
) -> None:
    """Convert votes into another form that can hold them, or draw a profile of voters from a model.

    Rankings, ratings and PrefLib can only hold comparisons that come from one ranking a person.
    """
    keep_quiet(quiet)
    form = _form(output, to)
    try_outputs(output, inputs=[votes])
    if isinstance(votes, Path) and votes.suffix.lower() == ".m4":
        said = _write_profile(votes, output, form, n_voters, seed)
    elif n_voters is not None:
        raise OptionError(
            Option("n_voters"),
            " goes with a model file (.m4): voters are drawn from its population.",
            option="n_voters",
            value=n_voters,
            expected="left out, unless a model is converted",
        )
    else:
        said = _write_votes(read(votes), output, form)
    if not quiet:
        echo(f"Wrote {output}: {said}, as {form}.")


def _form(output: Path, to: str | None) -> str:
    """Return the form to write; refuse what the ending cannot hold before anything is read."""
    from mallowmix.errors import check_choice
    from mallowmix.writers.files import check_writable

    is_preflib = output.suffix.lower() in _PREFLIB
    form = to or ("preflib" if is_preflib else "comparisons")
    check_choice("to", form, tuple(_TO.split("|")))
    if is_preflib != (form == "preflib"):
        raise OptionError(
            f"{output}: the endings {', '.join(_PREFLIB)} and ",
            Option("to", "preflib"),
            " go together.",
            option="to",
            value=form,
            expected="'preflib' for these endings, and for no others",
        )
    if not is_preflib:
        check_writable(output, *_PREFLIB)
    return form


def _write_votes(comparisons: "Comparisons", output: Path, form: str) -> str:
    from mallowmix.writers import as_table, preflib_text, rankings_of, write_table

    if form == "preflib":
        _write_text(preflib_text(rankings_of(comparisons), output.name), output)
    else:
        table = as_table(comparisons, form)
        write_all({output: lambda temporary: write_table(table, temporary, output)})
    return sizes(comparisons)


def _write_profile(model: Path, output: Path, form: str, n_voters: int | None, seed: int) -> str:
    from mallowmix.model.model_file import load
    from mallowmix.writers import as_table, preflib_text, sample_profile, write_table

    if n_voters is None:
        raise OptionError(
            f"{model} is a model: say how many voters to draw from its population with ",
            Option("n_voters"),
            ".",
            option="n_voters",
            value=None,
            expected="a number of voters",
        )
    profile = sample_profile(load(model), n_voters, seed=seed)
    if form == "preflib":
        _write_text(preflib_text(profile, output.name, f"Voters drawn from {model.name}"), output)
    else:
        table = as_table(profile.comparisons(), form)
        write_all({output: lambda temporary: write_table(table, temporary, output)})
    return counted(n_voters, "voter", "voters")


def _write_text(text: str, output: Path) -> None:
    write_all({output: lambda temporary: temporary.write_text(text, encoding="utf-8")})
