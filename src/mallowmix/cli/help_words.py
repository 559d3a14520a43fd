"""What the help says about arguments and options: kinds of values in words, plain usage lines."""

from typing import Any

_WORDS = {"path": "FILE", "str": "TEXT", "int": "NUMBER", "float": "NUMBER"}


def kind_in_words(param: Any) -> Any:
    """Let a parameter describe itself in words: FILE, NUMBER, a choice; a switch needs none.

    Parameters
    ----------
    param : an option or an argument of typer
        Changed in place.

    Returns
    -------
    the same parameter
    """
    word = _word(param)
    param.display_type_rich = lambda ctx=None: word
    if param.param_type_name == "argument":
        param._usage_display_name = lambda: _in_usage(param)
    return param


def _word(param: Any) -> str | None:
    if param.param_type_name == "argument" or getattr(param, "is_flag", False):
        return None  # an argument is called after what it is
    if param.metavar is not None:
        return param.metavar
    name = str(getattr(getattr(param, "type", None), "name", "")).lower()
    described = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    name = getattr(described, "__name__", name).lower()
    return next((word for kind, word in _WORDS.items() if kind in name), "VALUE")


def arguments_in_usage(command: Any) -> str:
    """The arguments that a command must be given, as in MODEL VOTES."""
    arguments = (each for each in command.params if each.param_type_name == "argument")
    return " ".join(_in_usage(each) for each in arguments if each.required)


def _in_usage(param: Any) -> str:
    """VOTES where it must be given, [VOTES] where not, [MORE...] for any number."""
    name = (param.metavar or param.name).strip("[].").upper()
    name += "..." if param.nargs != 1 else ""
    return name if param.required else f"[{name}]"
