"""The table and the growth curves of docs/scale.md from scale.json.

`python -m benchmarks.scale_page`.
"""

import re
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, load

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
FIGURE = PAGE.parent / "figures" / "scale.svg"
_START, _END = "<!-- scale -->", "<!-- /scale -->"
_COLUMNS = (
    *("comparisons", "scan", "sort", "spectral", "refined"),
    *("scans, spectral", "scans, refined", "peak", "error"),
)


def main() -> None:
    """Write both."""
    rows = (load("scale", RESULTS) or {"rows": []})["rows"]
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(filled(text, rows), encoding="utf-8")
    draw(rows, FIGURE)


def filled(text: str, rows: list[dict[str, Any]]) -> str:
    """The page with its table between the two marks."""
    return re.sub(
        f"{_START}.*{_END}", lambda _: f"{_START}\n{table(rows)}\n{_END}", text, flags=re.S
    )


def table(rows: list[dict[str, Any]]) -> str:
    """One line a size."""
    lines = [f"| {' | '.join(_COLUMNS)} |", "|" + "---|" * len(_COLUMNS)]
    return "\n".join(lines + [f"| {' | '.join(cells(row))} |" for row in rows])


def cells(row: dict[str, Any]) -> list[str]:
    """Seconds, ratios, the most memory that a stage had resident, interpreter and all, and how far
    the rankings are off.
    """
    stages = [row.get(name) for name in ("scan", "store", "none", "full")]
    seconds = [f"{stage['seconds']:.1f} s" if stage else "" for stage in stages]
    ratios = [
        f"{row['scans'][name]:.1f}" if name in row.get("scans", {}) else ""
        for name in ("none", "full")
    ]
    peak = max(stage["peak"] for stage in stages[1:] if stage and "peak" in stage)
    last = next((stage for stage in (*stages[:1:-1],) if stage), {})
    error = f"{last['error']:.4f}" if "error" in last else ""
    return [f"{row['comparisons']:,}", *seconds, *ratios, f"{peak / 1e9:.2f} GB", error]


def draw(rows: list[dict[str, Any]], file: Path) -> None:
    """Seconds and memory by the number of comparisons, on logarithmic axes, with a line of slope
    one.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained")
    time, memory = figure.subplots(1, 2)
    for name, label in (
        ("scan", "a scan"),
        ("store", "sorting"),
        ("none", "spectral fit"),
        ("full", "refined fit"),
    ):
        points = [(row["comparisons"], row[name]) for row in rows if name in row]
        time.plot(
            [n for n, _ in points], [stage["seconds"] for _, stage in points], "o-", label=label
        )
        held = [
            (n, stage["peak"] / 1e9) for n, stage in points if name != "scan" and "peak" in stage
        ]
        memory.plot([n for n, _ in held], [peak for _, peak in held], "o-", label=label)
    for axes, title in ((time, "seconds"), (memory, "GB at the peak")):
        axes.set(xscale="log", xlabel="comparisons", title=title)
    time.set(yscale="log")
    time.legend(fontsize=7)
    memory.set(ylim=(0, None))
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    main()
