"""How the command line writes an option of the library: as the running command calls it."""

import shlex
from collections.abc import Mapping
from typing import Any

from mallowmix.errors import Option

_SHORT = "-k"  # the one short name that says more than the long one


def option_names(command: Any) -> dict[str, str]:
    """How a command (of click) writes each of its options, by the name of the parameter."""
    return {
        param.name: _written_name(param.opts)
        for param in command.params
        if param.param_type_name == "option"
    }


def _written_name(names: list[str]) -> str:
    long = [name for name in names if name.startswith("--")]
    return _SHORT if _SHORT in names or not long else long[0]


def as_typed(option: Option, names: Mapping[str, str]) -> str:
    """Write an option as one types it, as in ``--self-pairs drop``.

    An option that the command does not have is written as in the library.

    Examples
    --------
    >>> as_typed(Option("self_pairs", "drop"), {"self_pairs": "--self-pairs"})
    '--self-pairs drop'
    """
    if option.name not in names:
        return str(option)
    if not option.has_value or option.value is True:
        return names[option.name]
    if option.value is False:
        return names[option.name].replace("--", "--no-", 1)
    return f"{names[option.name]} {shlex.quote(_text(option.value))}"


def _text(value: object) -> str:
    """A value as the command line reads it: user=judge,winner=better for a mapping."""
    if isinstance(value, Mapping):
        return ",".join(
            f"{ours}={'' if theirs is None else theirs}" for ours, theirs in value.items()
        )
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)
