"""The fenced blocks of a Markdown page: found, and run in the order of reading.

The tests run every page; `docs/make_figures.py` runs those whose blocks draw figures.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[\w-]*)[^\n]*\n(?P<text>.*?)^(?P=fence)[ ]*$", re.M | re.S
)
SHELL = ("console", "bash")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int  # of its first line of text


class Command(NamedTuple):
    """A command of a shell block, and the lines of output that the page shows below it."""

    text: str
    output: tuple[str, ...] = ()


def blocks(markdown: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(m["language"], m["text"], markdown.count("\n", 0, m.start("text")) + 1)
        for m in FENCE.finditer(markdown)
    ]


def without_blocks(markdown: str) -> str:
    """The prose alone."""
    return FENCE.sub("", markdown)


def commands(text: str) -> list[Command]:
    """The commands of a shell block: the lines after `$ ` where there are such (the others are
    output), all lines where not.
    """
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    if not any(line.startswith("$ ") for line in lines):
        return [Command(line) for line in lines if line.strip() and not line.startswith("#")]
    found: list[Command] = []
    for line in lines:
        if line.startswith("$ "):
            found.append(Command(line.removeprefix("$ ")))
        elif line.strip() not in ("", "…"):
            found[-1] = Command(found[-1].text, (*found[-1].output, line.strip()))
    return found


def words_without_a_shell(command: str) -> list[str] | None:
    """The words of a command that means the same without a shell; None where it needs one, for a
    pipe, a file to write to, a variable or a pattern of names.
    """
    if set(_QUOTED.sub("", command)) & set("|&;<>()$`*?[]{}~\\\n"):
        return None
    return shlex.split(command, comments=True)


def run_command(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of a page as somebody would who reads it, with our `mallowmix`."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=1800,
    )


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    """Run a Python block, with the line numbers of its page in tracebacks."""
    exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)


def missing_output(shown: tuple[str, ...], printed: str) -> list[str]:
    """The lines that a page shows and a command did not print.

    Words must be the same, up to a "…" at the end; a number may differ by a twentieth, or by .02,
    since another processor or version rounds in another way.
    """
    lines = [line.strip() for line in printed.splitlines()]
    return [line for line in shown if not any(_alike(line, other) for other in lines)]


def _alike(shown: str, printed: str) -> bool:
    start = shown.removesuffix("…").rstrip()
    words = _words(printed)
    if _words(start) != (words[: len(_words(start))] if start != shown else words):
        return False
    pairs = zip(_numbers(start), _numbers(printed), strict=start == shown)
    return all(abs(a - b) <= max(0.02, 0.05 * abs(a)) for a, b in pairs)


def _words(line: str) -> str:
    return " ".join(_NUMBER.sub("0", line).split())


def _numbers(line: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _NUMBER.findall(line)]
