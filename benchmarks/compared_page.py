"""The tables of docs/peers.md from compare_llmfao.json and compare_movielens.json.

`python -m benchmarks.compared_page`.
"""

import re
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, load

PAGE = Path(__file__).parents[1] / "docs" / "peers.md"
NAMES = ("llmfao", "movielens")
_COLUMNS = ("system", "log-loss", "by person", "behind, by person", "K", "accuracy", "slope")


def main() -> None:
    """Write the tables whose results are there."""
    text = PAGE.read_text(encoding="utf-8")
    for name in NAMES:
        found = load(f"compare_{name}", RESULTS)
        text = text if found is None else filled(text, name, found["table"])
    PAGE.write_text(text, encoding="utf-8")


def filled(text: str, name: str, rows: list[dict[str, Any]]) -> str:
    """The page with a table between the two marks of its name."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    return re.sub(f"{start}.*{end}", lambda _: f"{start}\n{table(rows)}\n{end}", text, flags=re.S)


def table(rows: list[dict[str, Any]]) -> str:
    """One line a system, those that learn ratings alone and those that failed left out."""
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---|" + "---:|" * (len(_COLUMNS) - 1)]
    shown = [row for row in rows if row["failed"] is None and row["log_loss"] is not None]
    return "\n".join(lines + [f"| {' | '.join(cells(row))} |" for row in shown])


def cells(row: dict[str, Any]) -> list[str]:
    """Log-losses, the paired difference with half of its 95% interval, and what was chosen."""
    bold = "**" if row["system"] == "mallowmix" else ""
    behind = row["behind_by_person"]
    half = (row["behind_by_person_high"] - row["behind_by_person_low"]) / 2
    counts = sorted(set(row["n_components"]))
    return [
        f"{bold}{row['name']}{bold}",
        _short(row["log_loss"]),
        _short(row["log_loss_by_person"]),
        f"{_short(behind)} ± {_short(half)}" if half else "",
        "–".join(str(each) for each in dict.fromkeys((*counts[:1], *counts[-1:]))),
        f"{100 * row['accuracy']:.1f} %",
        "" if row["slope"] is None else f"{row['slope']:.2f}".removeprefix("0"),
    ]


def _short(value: float) -> str:
    """Three digits, as in .573 and −.012."""
    return f"{value:.3f}".replace("0.", ".", 1).replace("-", "−")


if __name__ == "__main__":
    main()
