"""What the command line prints and how it ends: results, notes, errors and exit codes."""

import contextlib
import json
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

from mallowmix.cli.help_words import arguments_in_usage
from mallowmix.cli.memory_limit import no_memory
from mallowmix.cli.option_names import as_typed, option_names
from mallowmix.errors import (
    FileError,
    MallowmixError,
    MallowmixWarning,
    Option,
    OptionError,
    written,
)

EXIT_CODES = {
    0: "all went well",
    1: "the data, a file or the fit is not usable",
    2: "the command or an option is wrong",
    70: "a bug in mallowmix",
    130: "interrupted by Ctrl-C",
    141: "whoever read the output closed it",
}
DEBUG = "MALLOWMIX_DEBUG"
_PIPE_WIDTH = 120  # columns of a table that goes into a file or a pipe

files_written: list[Path] = []  # by the running command
_line: list[str] = []  # the arguments of the running command, as they were typed
_names: dict[str, str] = {}  # how the running command writes each option
_commands: list[Mapping[str, Any]] = []  # all commands, by their names


class Screen(Console):
    """A rich console that prints text as it is, without markup, and raises on a closed pipe."""

    def on_broken_pipe(self) -> None:
        """Called by rich where the reader has gone."""
        raise BrokenPipeError


def screen(*, stderr: bool = False) -> Screen:
    """Return the console of results (stdout) or of progress, notes and errors (stderr)."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Screen(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


def echo(message: str, *, style: str = "") -> None:
    """Print a line of the result."""
    screen().print(Text(message, style=style), soft_wrap=True)


def echo_json(value: Any) -> None:
    """Print one JSON object on one line of stdout."""
    print(json.dumps(value, allow_nan=False))


def _print_labelled(kind: str, style: str, message: str) -> None:
    screen(stderr=True).print(Text.assemble((kind, style), message), soft_wrap=True)


def echo_note(message: str) -> None:
    """Print a note on stderr."""
    _print_labelled("Note: ", "bold yellow", message)


@contextlib.contextmanager
def exit_with_code(arguments: Sequence[str] = ()) -> Iterator[None]:
    """Run a command: warnings become notes, any error becomes a sentence and an exit code."""
    _line[:] = arguments
    files_written.clear()
    _names.clear()
    closed = sys.stdout is None
    sys.stdout, sys.stderr = (each or _nowhere() for each in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # a console without φ is no reason to fail
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        if closed:
            raise FileError(
                "The standard output is closed: send it to a file, or to /dev/null, and run this "
                "again."
            )
        with _notes():
            yield
        sys.stdout.flush()
    except BaseException as error:
        raise SystemExit(explain(error)) from None


def _nowhere() -> TextIO:
    """A stream for text that nobody reads, where the caller closed a stream."""
    return Path(os.devnull).open("w", encoding="utf-8")


def use_option_names(command: Any, commands: Mapping[str, Any]) -> None:
    """Let messages name options as this command does, and those of other commands as they do."""
    _names.clear()
    _names.update(option_names(command))
    _commands[:] = [commands]


def message_text(message: Any) -> str:
    """Return an error or a warning as text, with options as the running command names them."""
    if not isinstance(message, MallowmixError | MallowmixWarning):
        return str(message)
    return written(message.parts, _typed)


def _typed(option: Option) -> str:
    """An option as the command types it that has it: the running one, or that of its function."""
    name = option.function.replace("_", "-")
    other = next((commands[name] for commands in _commands if name in commands), None)
    return as_typed(option, _names if other is None else option_names(other))


@contextlib.contextmanager
def _notes() -> Iterator[None]:
    """Show each warning of mallowmix once, as a note; other warnings as Python does."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", MallowmixWarning)
        warnings.showwarning = _once(warnings.showwarning)
        yield


def _once(usual: Callable[..., Any]) -> Callable[..., Any]:
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, MallowmixWarning):
            usual(message, category, *where, **more)
        elif (said := message_text(message)) not in seen:
            seen.add(said)
            echo_note(said)

    return show


def keep_quiet(quiet: bool) -> None:
    """For the rest of the command, show no notes."""
    if quiet:
        warnings.simplefilter("ignore", MallowmixWarning)


def explain(error: BaseException) -> int:
    """Say on stderr what ended the command, and give the exit code."""
    if os.environ.get(DEBUG, "0") not in ("", "0") and not isinstance(
        error, SystemExit | typer.Exit
    ):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, OSError):
        return _explain_system(error)
    code, message = _sentence(error)
    if message:
        _print_labelled("Error: " if code != 130 else "", "bold red", message)
    return code


def _sentence(error: BaseException) -> tuple[int, str]:
    if isinstance(error, typer.Exit):
        return error.exit_code, ""
    if isinstance(error, KeyboardInterrupt | typer.Abort) or _came_in_a_kernel(error):
        return 130, _interrupted()
    if isinstance(error, FileError):
        return 1, _about_file(error)
    if isinstance(error, MallowmixError):
        return 2 if isinstance(error, OptionError) else 1, message_text(error)
    if (said := no_memory(error)) is not None:
        return 1, f"There is not enough memory for this ({said}): ask for less at a time."
    if isinstance(error, ImportError) and not (error.name or "").startswith("mallowmix"):
        return 1, _not_loaded(error)
    if hasattr(error, "format_message"):  # a usage error of typer, whichever click stands behind it
        return 2, _usage(error)
    return 70, (
        f"This is a bug in mallowmix ({type(error).__name__}: {error}). "
        f"Run it again with {DEBUG}=1 in the environment to see the traceback, and please "
        "report it."
    )


def _not_loaded(error: ImportError) -> str:
    """What keeps an installed package from being loaded: where that began, on one line."""
    first: BaseException = error
    while first.__cause__ is not None:
        first = first.__cause__
    return f"A package that this needs cannot be loaded: {' '.join(str(first).split())}."


def _about_file(error: FileError) -> str:
    """The message; where a folder was given, with the command that names a file instead."""
    from mallowmix.readers.folders import FolderError

    if not isinstance(error, FolderError):
        return message_text(error)

    def typed(file: str) -> str:
        line = [file if Path(each) == error.folder else each for each in _line]
        return f"mallowmix {shlex.join(line)}"

    return f"{error.found()}: type {error.instead(typed)}"


def _came_in_a_kernel(error: BaseException) -> bool:
    """Whether it is Ctrl-C while a compiled kernel ran, which Python reports as a SystemError."""
    return isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt)


def _interrupted() -> str:
    if not files_written:
        return "Interrupted; nothing was written."
    return f"Interrupted; {' and '.join(map(str, files_written))} had been written already."


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "mallowmix"
    near = getattr(error, "possibilities", None)
    if near:  # an option's name was mistyped
        return f"{error.message}. Did you mean {near[0]}? See {command} --help."
    message = error.format_message().strip().replace("\n", " ")
    missing: Any = getattr(error, "param", None) if hasattr(error, "param_type") else None
    if context is not None and getattr(missing, "param_type_name", "") == "argument":
        usage = arguments_in_usage(context.command)
        message = f"Missing argument '{missing.metavar or missing.name}': type {command} {usage}."
        message += _how_to_learn(context.command)
    return f"{message}{'' if message.endswith(('.', '?', '!')) else '.'} See {command} --help."


def _how_to_learn(command: Any) -> str:
    """Where votes were given to a command that takes a model first, how one comes by a model."""
    given = next((Path(word) for word in _line[1:] if not word.startswith("-")), None)
    if given is None or given.suffix.lower() == ".m4" or command.params[0].name != "model":
        return ""
    learn = shlex.join(["mallowmix", "fit", str(given)])
    return f" A model is learnt first, with {learn}."


def _explain_system(error: OSError) -> int:
    """Print an error of the system; a closed pipe (as with `| head`) prints nothing."""
    with contextlib.suppress(OSError, ValueError):
        # what is still buffered has nowhere to go
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 141
    where = f"{error.filename}: " if error.filename else ""
    _print_labelled(
        "Error: ", "bold red", f"{where}{error.strerror or error}; mallowmix could not go on."
    )
    return 1
