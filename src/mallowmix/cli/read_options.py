"""Reading votes: the options of every command that reads, and the reader that they make."""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from mallowmix.cli.option_values import at_least, column_names, words_for

PANEL = "How to read the votes"
# the forms that can be written, too
FORMS = "comparisons|battles|ratings|rankings|preflib|best-worst|bayesmallows|choix|implicit"
_FORMATS = (
    f"{FORMS.replace('|', ', ')}, movielens; or an export of polis, all-our-ideas, lmarena, "
    "label-studio, argilla, qualtrics, google-forms, sawtooth, or preference-pairs"
)
_HELP = (
    "Choices: .csv, .tsv, .jsonl, .json (or .gz, .zst of these), .parquet, a folder or a pattern "
    "('votes-*.parquet') of such files, .xlsx, "
    ".sqlite, .duckdb, PrefLib's and MovieLens' files, or a postgresql:// address."
)


class Address:
    """Where a database is; its password is never shown."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __str__(self) -> str:
        from mallowmix.readers.sql import without_password

        return without_password(self.url)


def votes_source(text: str) -> Any:
    """Parse a path, or the address of a database."""
    if not text.strip():
        raise typer.BadParameter("it is empty; give the name of a file.")
    return Address(text) if "://" in text else Path(text)


Votes: TypeAlias = Annotated[
    Any, typer.Argument(help=_HELP, parser=votes_source, metavar="VOTES", show_default=False)
]
MaybeVotes: TypeAlias = Annotated[
    Any, typer.Argument(help=_HELP, parser=votes_source, metavar="[VOTES]", show_default=False)
]


@dataclass(frozen=True)
class Reader:
    """A reader with the given options: `read(votes)` returns comparisons; notes go to stderr."""

    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, votes: Any) -> Any:
        """The comparisons."""
        small = self._small(votes)
        return self.reading(votes).comparisons if small is None else small

    def _small(self, votes: Any) -> Any:
        """The comparisons of a small file, where no option was given; else None."""
        from mallowmix.readers.small_csv import small_comparisons

        usual = all(value == OPTIONS[name][1] for name, value in self.options.items())
        return small_comparisons(votes) if usual and isinstance(votes, Path) else None

    def reading(self, votes: Any) -> Any:
        """Return the comparisons and what was counted."""
        from mallowmix.readers import read

        options = {name: value for name, value in self.options.items() if name != "item_names"}
        found = read(votes.url if isinstance(votes, Address) else votes, **options)
        for note in found.notes:
            warnings.warn(note, stacklevel=2)
        if "item_names" not in self.options:
            return found
        from mallowmix.readers.names_file import read_item_names

        names = read_item_names(self.options["item_names"])
        return found.relabelled(names.shown(found.comparisons.items.tolist()))


AS_GIVEN = Reader()


def _option(
    help: str, metavar: str, parser: Callable[[str], Any] = str, default: str | None = None
) -> tuple[Any, Any]:
    """An option's annotation and its default."""
    shown = default is not None
    option = typer.Option(
        help=help, metavar=metavar, parser=parser, show_default=shown, rich_help_panel=PANEL
    )
    return Annotated[Any, option], default


_ITEM_NAMES = (
    "A CSV file of names: id, label, and perhaps description and picture. Items are shown by their "
    "labels."
)
ItemNamesFile: TypeAlias = Annotated[
    Path | None, typer.Option(help=_ITEM_NAMES, metavar="FILE", show_default=False)
]
OPTIONS = {
    "format": _option(
        f"What the votes are: {_FORMATS}. Recognised by their columns unless given.", "FORM"
    ),
    "columns": _option(
        "Names of your columns where they differ, as in user=judge,loser=worse. "
        "weight= leaves weights out.",
        "OURS=YOURS,…",
        column_names,
    ),
    "query": _option(
        "The query to a database, as in 'SELECT user, winner, loser FROM votes'.", "SQL"
    ),
    "self_pairs": _option(
        "What to do with a row that compares an item with itself.", "error|drop", default="error"
    ),
    "missing": _option("What to do with a row that lacks a value.", "error|drop", default="error"),
    "ties": _option(
        "Leave ties out (and say how many), count each as half a win for both, or refuse.",
        "drop|half|error",
    ),
    "both_bad": _option(
        "Battles: leave out those in which both were bad, take them as ties, or refuse.",
        "drop|tie|error",
    ),
    "outcomes": _option(
        "Battles: words for left, right, tie or both_bad, as in draw=tie,A+=left.",
        "WORD=…",
        words_for,
    ),
    "one_user": (
        Annotated[
            bool,
            typer.Option(
                "--one-user",
                help="Take all rows for one person's, if nobody is named.",
                rich_help_panel=PANEL,
            ),
        ],
        False,
    ),
    "per_user": _option(
        "Ratings, rankings: what a person counts: all their comparisons, about as many as their "
        "ratings, or as every other user.",
        "comparisons|ratings|equal",
    ),
    "top_items": _option("Ratings: keep this many of the most rated items.", "NUMBER", at_least(2)),
    "unlisted": _option(
        "Rankings: items not listed are not compared, or are below those that are (top-k).",
        "unknown|below",
    ),
    "zero": _option("Rankings: what the position 0 means.", "error|missing|best"),
    "item_names": _option(_ITEM_NAMES, "FILE", Path),
    "design": _option(
        "Sawtooth's MaxDiff: the file that says what each version showed in each task.",
        "FILE",
        Path,
    ),
    "separator": _option(
        "Text files: what stands between fields; found out unless given.",
        "comma|semicolon|tab|space|CHARACTER",
    ),
    "decimal": _option("Text files: the decimal sign of numbers.", ".|,"),
    "encoding": _option(
        "Text files: their encoding, as in cp1252, latin-1 or utf-16; UTF-8 unless given or "
        "marked in the file.",
        "NAME",
    ),
    "header": (
        Annotated[
            bool,
            typer.Option(
                "--header/--no-header",
                help="Text files, .xlsx: whether the first line names the columns. If not, they "
                "are user, winner, loser[, weight], or what --columns says (user=1,winner=2,…).",
                rich_help_panel=PANEL,
            ),
        ],
        True,
    ),
}


def reads_votes(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the command's parameter `read` by the reading options; it gets a `Reader` of them."""
    signature = inspect.signature(command)
    parameters = [
        new
        for old in signature.parameters.values()
        for new in (_parameters() if old.name == "read" else [old])
    ]

    @wraps(command)
    def run(*values: Any, **options: Any) -> None:
        said = {name: options.pop(name) for name in OPTIONS if name in options}
        command(
            *values,
            **options,
            read=Reader({name: value for name, value in said.items() if value is not None}),
        )

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    del run.__wrapped__  # type: ignore[attr-defined]
    return run


def _parameters() -> list[inspect.Parameter]:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [
        inspect.Parameter(name, kind, default=default, annotation=hint)
        for name, (hint, default) in OPTIONS.items()
    ]
