"""Values of options: text to numbers, lists and mappings; and options that commands share."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


class Numbers(tuple[float, ...]):
    """One or more finite numbers."""


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.") from None
    if not math.isfinite(value):
        raise typer.BadParameter(f"{text!r} is not a finite number.")
    return value


def whole_number(text: str | int) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number.") from None


def at_least(least: int, most: int | None = None) -> Callable[[str | int], int]:
    """Return a parser of whole numbers that are not below `least`, nor above `most`."""

    def whole(text: str | int) -> int:
        value = whole_number(text)
        if value < least:
            raise typer.BadParameter(f"{value} is too small; it must be at least {least}.")
        if most is not None and value > most:
            raise typer.BadParameter(f"{value} is too large; it must be at most {most}.")
        return value

    return whole


class Counts(tuple[int, ...]):
    """Numbers of components."""


def counts(text: str) -> Counts:
    """2-12, or 2,4,8, or both: 1-4,8."""
    found: list[int] = []
    for part in text.split(","):
        low, dash, high = (word.strip() for word in part.partition("-"))
        first = at_least(1)(low)
        last = at_least(1)(high) if dash else first
        if last < first:
            raise typer.BadParameter(
                f"{part.strip()!r} runs backwards; write the smaller number first, as in 2-12."
            )
        found.extend(range(first, last + 1))
    return Counts(dict.fromkeys(found))


def number_or_auto(text: str) -> float | str:
    """A finite number, or the word auto."""
    if text == "auto":
        return text
    try:
        float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number (nor the word auto).") from None
    return number(text)


def count_or_auto(text: str) -> int | str:
    """A whole number, or the word auto."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number (nor the word auto).") from None


def numbers(text: str) -> Numbers:
    """Numbers with commas between them."""
    return Numbers(number(part.strip()) for part in text.split(","))


def column_names(text: str) -> dict[str, str | None]:
    """user=judge,winner=better as a mapping; weight= (nothing after it) leaves the weights out."""
    names: dict[str, str | None] = {}
    for part in text.split(","):
        ours, equals, theirs = (word.strip() for word in part.partition("="))
        if not equals or ours in names or not (theirs or ours == "weight"):
            raise typer.BadParameter(
                f"{part!r} does not fit: write our name, =, yours, each once, as in "
                "user=judge,winner=better."
            )
        names[ours] = theirs or None
    return names


def words_for(text: str) -> dict[str, str]:
    """draw=tie,A+=left as a mapping."""
    words: dict[str, str] = {}
    for part in text.split(","):
        word, equals, meaning = (each.strip() for each in part.rpartition("="))
        if not equals or not word or not meaning or word in words:
            raise typer.BadParameter(
                f"{part!r} does not fit: write a word, =, and what it means, each once, as in "
                "draw=tie."
            )
        words[word] = meaning
    return words


Model: TypeAlias = Annotated[Path, typer.Argument(help="A model file.", show_default=False)]
Seed: TypeAlias = Annotated[
    int,
    typer.Option(
        help="The same seed gives the same result.", parser=whole_number, metavar="NUMBER"
    ),
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many threads; all cores unless given. The result does not depend on it.",
        parser=at_least(1),
        metavar="NUMBER",
        show_default=False,
    ),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of words.")
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors (and what --json asks for).")
]
NewModel: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="The new model file; MODEL itself is replaced unless given.",
        show_default=False,
    ),
]
Top: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--n-top",
        help="How many items to show of each component.",
        parser=at_least(1),
        metavar="NUMBER",
        show_default=False,
    ),
]
