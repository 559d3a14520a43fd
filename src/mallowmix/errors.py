"""The errors and warnings of mallowmix.

    MallowmixError
    ├── DataError (ValueError)     the data: self-pairs, missing values, bad weights, unknown items
    ├── FileError                  a file that cannot be read or written
    │   └── ModelFileError         a model file: truncated, altered, foreign, of a newer version
    ├── MissingPackageError (ImportError)   a package that a plain install leaves out
    ├── OptionError (ValueError)   an option out of its range: option, value, expected and hint
    ├── EngineError                the cluster that a step ran on was lost
    └── FitError (ValueError)      too little data for what was to be learnt

    MallowmixWarning (UserWarning)
    ├── DataWarning                the data can be used, but something in it limits the answer
    └── FitWarning                 the fit went on with another setting; says which option to change

Every message says in one sentence or two where, what, and what to do. A message that names an
option holds an `Option` instead of text, so that the library (``self_pairs="drop"``), the command
line (``--self-pairs drop``) and the HTTP API each write it in their own way. The text of a message
is never parsed.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from numbers import Integral, Real
from typing import Any, Protocol, TypeAlias, runtime_checkable

_MOST_COMPARED = 20_000  # labels that a mistyped one is compared with: a second at most
_LONGEST_SHOWN = 80  # letters of a wrong value in a message
_OF_A_PART = 0.75  # how alike a part of a value must be: more than a whole one


@dataclass(frozen=True)
class Unset:
    """No value: the option is only named."""


@dataclass(frozen=True)
class Option:
    """An option that a message names, with a value where one is meant.

    `function` is the function whose option it is, where that is not the one that was called.

    Examples
    --------
    >>> str(Option("self_pairs", "drop")), str(Option("n_jobs"))
    ('self_pairs="drop"', 'n_jobs')
    """

    name: str
    value: object = Unset()
    function: str = ""

    @property
    def has_value(self) -> bool:
        """Whether a value goes with it."""
        return not isinstance(self.value, Unset)

    def __str__(self) -> str:
        if not self.has_value:
            return self.name
        return f"{self.name}={python_literal(self.value)}"


Part: TypeAlias = str | Option


@runtime_checkable
class Scalar(Protocol):
    """A number of NumPy, whose repr is not how one would write it."""

    def item(self) -> object:
        """The number as one of Python."""
        ...


def python_literal(value: object) -> str:
    """A value as one would write it in Python, texts in double quotes."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Mapping):
        entries = (f"{python_literal(a)}: {python_literal(b)}" for a, b in value.items())
        return "{" + ", ".join(entries) + "}"
    return repr(value.item() if isinstance(value, Scalar) else value)


def written(parts: Iterable[Part], write: Callable[[Option], str] = str) -> str:
    """A message as text, its options written by `write`."""
    return "".join(part if isinstance(part, str) else write(part) for part in parts)


class MallowmixError(Exception):
    """The root of every error raised on purpose; `parts` are the pieces of its message."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)
        self.parts: tuple[Part, ...] = parts

    def __str__(self) -> str:
        return written(self.parts)


class DataError(MallowmixError, ValueError):
    """The data cannot be used as it is."""


class FileError(MallowmixError):
    """A file cannot be read or written."""


class ModelFileError(FileError):
    """A model file is truncated, altered, foreign, or written by a newer version."""


class MissingPackageError(MallowmixError, ImportError):
    """A package that a plain install leaves out is needed, and is not installed.

    Parameters
    ----------
    package : str
        Its name.
    install : str
        What pip is to install: an extra of mallowmix, or the package itself.
    what : str
        What needs it: the beginning of a sentence.

    Examples
    --------
    >>> str(MissingPackageError("DuckDB", "'mallowmix[data]'", "A DuckDB file"))
    "A DuckDB file needs DuckDB, which is not installed: pip install 'mallowmix[data]'."
    """

    def __init__(self, package: str, install: str, what: str) -> None:
        self.package, self.install, self.what = package, install, what
        super().__init__(f"{what} needs {package}, which is not installed: pip install {install}.")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it with its fields, so that one process can pass it to another."""
        return MissingPackageError, (self.package, self.install, self.what)


class OptionError(MallowmixError, ValueError):
    """An option is out of its range, or does not go with the others.

    Parameters
    ----------
    *parts : str or Option
        The message; made from the rest where there is none.
    option : str
        The name of the option, as the library calls it.
    value : object
        What it was.
    expected : str
        What it must be, to be read after "it must be".
    hint : str or sequence of str and Option
        What to do, as a sentence of its own.
    """

    def __init__(
        self,
        *parts: Part,
        option: str | None = None,
        value: object = Unset(),
        expected: str | None = None,
        hint: str | Iterable[Part] = (),
    ) -> None:
        self.option, self.value, self.expected = option, value, expected
        self.hint: tuple[Part, ...] = (hint,) if isinstance(hint, str) else tuple(hint)
        super().__init__(*(parts or self._sentence()))

    def _sentence(self) -> tuple[Part, ...]:
        """As in "n_jobs is 0; it must be at least 1.", then the hint."""
        about = f" is {shown_value(self.value)}; it must be {self.expected}."
        return (
            Option(self.option or "The option"),
            about,
            *((" ", *self.hint) if self.hint else ()),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it with its fields, so that one process can pass it to another."""
        return _option_error, (self.parts, self.option, self.value, self.expected, self.hint)


def _option_error(
    parts: tuple[Part, ...],
    option: str | None,
    value: object,
    expected: str | None,
    hint: tuple[Part, ...],
) -> OptionError:
    return OptionError(*parts, option=option, value=value, expected=expected, hint=hint)


class EngineError(MallowmixError):
    """The cluster that a step ran on was lost."""


class FitError(MallowmixError, ValueError):
    """The data cannot support what was to be learnt from it."""


class MallowmixWarning(UserWarning):
    """The root of every warning given by mallowmix; `parts` are the pieces of its message."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)
        self.parts: tuple[Part, ...] = parts

    def __str__(self) -> str:
        return written(self.parts)


class DataWarning(MallowmixWarning):
    """The data can be used, but something in it limits the answer."""


class FitWarning(MallowmixWarning):
    """The fit went on, but with another setting than was chosen."""


def shown_value(value: object) -> str:
    """A wrong value in a message: texts in quotes, numbers as written, what is long by its kind."""
    text = repr(value) if isinstance(value, str | bool) or value is None else str(value)
    short = len(text) <= _LONGEST_SHOWN and "\n" not in text and not text.startswith("<")
    return text if short or isinstance(value, str) else f"of the type {type(value).__name__}"


def did_you_mean(label: object, known: Iterable[object]) -> str:
    """A question with the nearest known label, after a blank; nothing where none is near.

    Examples
    --------
    >>> did_you_mean("Tee", ["tea", "milk"]), did_you_mean("xyz", ["tea", "milk"])
    (" Did you mean 'tea'?", '')
    """
    near = nearest(label, islice(known, _MOST_COMPARED), 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def nearest(label: object, known: Iterable[object], n: int, least: float = 0.6) -> list[str]:
    """The n known labels that are most alike, best first; case and leading zeros do not count.

    Examples
    --------
    >>> nearest("U01", ["u001", "u501", "bob"], 1), nearest("xyz", ["tea"], 1)
    (['u001'], [])
    """
    from difflib import get_close_matches

    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(_folded(each), str(each))
    if _folded(label) in folded:
        return [folded[_folded(label)]]
    return [folded[near] for near in get_close_matches(_folded(label), folded, n, least)]


def _folded(label: object) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", str(label).casefold().strip())


def did_you_choose(value: object, choices: Iterable[object]) -> str:
    """As `did_you_mean`, for the few values of an option; a word or the beginning of one will do.

    Examples
    --------
    >>> did_you_choose("ful", ["full", "none"]), did_you_choose("pairz", ["preference-pairs"])
    (" Did you mean 'full'?", " Did you mean 'preference-pairs'?")
    """
    if not isinstance(value, str) or len(value) < 2:
        return ""
    known = [str(choice) for choice in choices]
    parts = {
        part.casefold(): choice
        for choice in reversed(known)
        for part in (*choice.split("-"), choice[: max(len(value), 3)])
    }
    whole, part = nearest(value, known, 1), nearest(value, parts, 1, _OF_A_PART)
    near = whole or [parts[each] for each in part]
    return f" Did you mean {near[0]!r}?" if near else ""


def check_choice(option: str, value: object, choices: Iterable[str]) -> None:
    """Raise an OptionError, with the nearest choice, unless `value` is one of `choices`."""
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        expected = f"one of {', '.join(map(repr, known))}"
        near = did_you_choose(value, known).lstrip()
        raise OptionError(option=option, value=value, expected=expected, hint=near or ())


def check_at_least(option: str, value: float, least: float) -> None:
    """Raise an OptionError unless `value` is a number of at least `least`."""
    if not isinstance(value, Real):
        raise OptionError(option=option, value=value, expected=f"a number of at least {least}")
    if not value >= least:
        raise OptionError(option=option, value=value, expected=f"at least {least}")


def check_count(option: str, value: int, least: int) -> None:
    """Raise an OptionError unless `value` is a whole number of at least `least`, below 2**31."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value >= 2**31:
        expected = f"a whole number of at least {least}" if not whole else "below 2**31"
        raise OptionError(option=option, value=value, expected=expected)
    check_at_least(option, value, least)


def check_flag(option: str, value: bool) -> None:
    """Raise an OptionError unless `value` is True or False."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):  # NumPy's
        raise OptionError(option=option, value=value, expected="True or False")


def check_level(value: float) -> None:
    """Raise an OptionError unless `value` can be the level of an interval."""
    if not isinstance(value, Real) or not 0 < value < 1:
        raise OptionError(option="level", value=value, expected="between 0 and 1, as in 0.9")
