"""The first version beside today's: the table, and the options of the studies that make one."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from benchmarks.record import RESULTS


def side_by_side(rows: Iterable[tuple[str, str, str]]) -> str:
    """A Markdown table of what was looked at, what the first version gave, and today's."""
    lines = ["| | first version | today |", "|---|---:|---:|"]
    return "\n".join(lines + [f"| {what} | {first} | {today} |" for what, first, today in rows])


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Where the data are, and where the result goes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    return parser
