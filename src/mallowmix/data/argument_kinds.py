"""Arguments of the wrong kind: a model where a result belongs, a number where a path belongs."""

from os import PathLike, fspath
from pathlib import Path
from typing import Any

from mallowmix.data.text import a_or_an
from mallowmix.errors import Option, OptionError


def check_kind(option: str, value: object, kind: type, expected: str, hint: str = "") -> None:
    """Raise an OptionError, with what to call instead, unless a value is of a kind.

    Parameters
    ----------
    option : str
        The name of the parameter.
    value : object
        What was given.
    kind : type
        What it must be.
    expected : str
        The same in words, as in "what `choose_k` returns".
    hint : str
        What to do, as a sentence.
    """
    if isinstance(value, kind):
        return
    found = value.__name__ if isinstance(value, type) else type(value).__name__
    raise OptionError(
        Option(option),
        f" is {a_or_an(found)}; it must be {expected}.{' ' * bool(hint)}{hint}",
        option=option,
        value=found,
        expected=expected,
        hint=hint or (),
    )


def as_path(value: Any, option: str = "path", what: str = "file") -> Path:
    """A path from text or from a path; an OptionError for anything else."""
    text = fspath(value) if isinstance(value, str | PathLike) else ""
    if not isinstance(text, str) or not text or "\0" in text:
        raise OptionError(option=option, value=value, expected=f"the name of a {what}, as text")
    return Path(value)
