"""Options of a method from values by name: what the command line and files hold."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from mallowmix.data.text import joined
from mallowmix.errors import Option, OptionError, check_choice

Options = TypeVar("Options")


def method_options(
    kinds: Mapping[str, type[Options]], method: str, values: Mapping[str, Any]
) -> Options:
    """The options of a method from values by name.

    Parameters
    ----------
    kinds : mapping
        The dataclass of options of every method.
    method : str
        The method.
    values : mapping
        Values of some of its options.

    Raises
    ------
    OptionError
        For a method that is not there, and for an option of another one.
    """
    check_choice("method", method, tuple(kinds))
    names = _names(kinds[method])
    for name, value in values.items():
        if name not in names:
            owners = [repr(other) for other, kind in kinds.items() if name in _names(kind)]
            raise OptionError(
                Option(name),
                " is no option of ",
                Option("method", method),
                f"; it goes with {joined(owners)}." if owners else f", which has {joined(names)}.",
                option=name,
                value=value,
                expected=f"left out with the method {method!r}",
            )
    return kinds[method](**values)


def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)]
