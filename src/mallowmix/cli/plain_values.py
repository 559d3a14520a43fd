"""Options and arguments that need no pydantic: importing it takes longer than many an answer.

Newer versions of typer convert every value by pydantic. Values here are text, a path, a switch, or
what a parser of ours makes of them, and are converted as typer would. Anything else, and anything
wrong, is left to typer, which says what is wrong.
"""

import os
from pathlib import Path
from typing import Any, get_args, get_origin

LEFT_TO_TYPER = object()


def convert_plainly(param: Any) -> Any:
    """Let a parameter convert plain values itself.

    Parameters
    ----------
    param : an option or an argument of typer
        Changed in place. One of a version that does not use pydantic stays as it is.

    Returns
    -------
    the same parameter
    """
    described = getattr(param, "type_descriptor", None)
    if described is None or param.callback is not None:
        return param
    usual = param.process_value

    def process_value(ctx: Any, value: Any) -> Any:
        converted = plain_value(param, value)
        return usual(ctx, value) if converted is LEFT_TO_TYPER else converted

    param.process_value = process_value
    return param


def plain_value(param: Any, value: Any) -> Any:
    """A value as typer would convert it, or a mark that typer must.

    Parameters
    ----------
    param : an option or an argument of typer
    value : str, bool, None, a default, or a list of them
        As it stands on the command line, or the default.
    """
    kind, about = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    several = param.nargs != 1 or getattr(param, "multiple", False)
    if value is None:
        missing: Any = () if several else None
        return LEFT_TO_TYPER if param.required else missing
    if not several:
        return _converted(kind, about, value)
    if get_origin(kind) is not list or not isinstance(value, list | tuple) or not value:
        return LEFT_TO_TYPER
    each = [_converted(get_args(kind)[0], about, one) for one in value]
    return LEFT_TO_TYPER if any(one is LEFT_TO_TYPER for one in each) else each


def _converted(kind: Any, about: Any, value: Any) -> Any:
    if about.parser is not None:
        try:
            return about.parser(value)
        except ValueError:
            return LEFT_TO_TYPER
    if kind in (str, bool) and type(value) is kind:
        return value
    if kind is Path and isinstance(value, str | Path) and _is_any_path(about, value):
        return Path(value)
    return LEFT_TO_TYPER


def _is_any_path(about: Any, path: str | Path) -> bool:
    """Whether nothing is asked of a path, but that it can be read if it is there."""
    if about.exists or about.writable or about.resolve_path or about.allow_dash:
        return False
    if not (about.file_okay and about.dir_okay) or about.path_type is not None:
        return False
    return os.access(path, os.R_OK) or not os.path.lexists(path)
