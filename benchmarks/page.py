"""Write docs/benchmarks.md from the result files: `python -m benchmarks.page`.

A test compares the two.

Seconds stay in the files: they belong to one machine. The page has ratios to what ran beside us.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.growth import allowed_bytes
from benchmarks.readers import GOAL_BYTES, GOAL_RATIO
from benchmarks.record import RESULTS, load

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
Result = dict[str, Any]

_START = """# Benchmarks

<!-- Written by benchmarks/page.py from benchmarks/results: run the benchmarks, not an editor. -->

Speed, memory and error beside what one would use instead, on the same data in the same run. The
data are drawn from a planted model with random reference rankings; the error is the fraction of
pairs in the wrong order, after matching, where a random ranking has .5. `none`, `short` and `full`
are the levels of `refine` of `mallowmix.fit`. Only ratios are shown: seconds belong to one machine,
and stand in `benchmarks/results`. To measure on yours, in about 20 minutes:

```bash
make bench
```
"""
_NOT_RUN = "This benchmark has not been run.\n"


def page(folder: Path = RESULTS) -> str:
    """The whole page, from the result files in `folder`."""
    sections = [
        _section(title, words, load(name, folder), write) for name, title, words, write in SECTIONS
    ]
    return "\n".join([_START, *sections])


def _section(title: str, words: str, result: Result | None, write: Any) -> str:
    body = _NOT_RUN if result is None else f"{write(result)}\n{_circumstances(result)}\n"
    return f"## {title}\n\n{words.strip()}\n\n{body}"


def _circumstances(result: Result) -> str:
    about, setting = result["about"], result.get("setting", {})
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    versions = fill(
        f"Python {about['python']}, {packages}; {about['cores']} cores, {about['processor']}.", 100
    )
    if "n_items" not in setting:
        return versions
    planted = (
        f"Q = {setting['n_items']}, K = {setting['n_components']}, N = {setting['per_user']}, "
        f"φ = {setting['phi']:g}, α = {setting['alpha']:g} each"
    )
    return f"{planted}.\n{versions}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def number(value: float, digits: int = 3) -> str:
    """A number to that many significant digits, never as a power of ten."""
    if value == 0:
        return "0"
    text = f"{float(f'{value:.{digits}g}'):.12f}".rstrip("0").rstrip(".")
    return text if abs(value) < 1e4 else f"{float(text):,.0f}"


def _goal(met: bool, words: str) -> str:
    return f"{words}: {'met' if met else 'not met'}"


# ------------------------------------------------------------------------------------- the sections


def _speed(result: Result) -> str:
    return "\n".join(_speed_of(run) for run in result["runs"])


def _speed_of(run: Result) -> str:
    """Every method's speed in units of the fastest peer's."""
    peers = [row for row in run["rows"] if row["kind"] == "peer"]
    fastest = min(peers, key=lambda row: row["seconds"])
    least_error = min(row["error"] for row in peers)
    rows = [_speed_row(row, fastest, least_error) for row in run["rows"]]
    head = [f"M = {run['users']:,}", "error", f"times as fast as {fastest['method']}", "goal"]
    return table(head, rows)


_SPEED_GOALS = {"none": 20.0, "short": 3.0, "full": 1.0}


def _speed_row(row: Result, fastest: Result, least_error: float) -> list[str]:
    speed = fastest["seconds"] / row["seconds"]
    bound = "at most " if row.get("stopped") == "at the cap" else ""
    shown = bound + number(speed) if row["kind"] != "error only" else ""
    goal = ""
    if row["kind"] == "ours":
        least = _SPEED_GOALS[row["method"]]
        met = speed >= least and row["error"] < least_error
        goal = _goal(met, f"≥ {least:g} and a smaller error than any of them")
    name = (
        f"`{row['method']}`"
        if row["kind"] == "ours" or row["method"] == "projections"
        else row["method"]
    )
    return [name, number(row["error"], 2), shown, goal]


def _floor(result: Result) -> str:
    return "\n".join([*map(_multiples, result["runs"]), *map(_steps, result["runs"])])


_FLOOR_GOALS = {"none": 25.0, "full": 250.0}


def _multiples(run: Result) -> str:
    """Fits in units of one product, a column for each number of threads."""
    threads = sorted({row["threads"] for row in run["rows"]})
    rows = []
    for method in dict.fromkeys(row["method"] for row in run["rows"]):
        times = {
            row["threads"]: row["seconds"] / run["product_seconds"]
            for row in run["rows"]
            if row["method"] == method
        }
        most = _FLOOR_GOALS.get(method)
        goal = _goal(times[threads[-1]] <= most, f"≤ {most:g}") if most else ""
        rows.append([f"`{method}`", *(number(times[n]) for n in threads), goal])
    head = [
        f"products, M = {run['users']:,}",
        *(f"{n} thread{'s' if n > 1 else ''}" for n in threads),
        "goal",
    ]
    return table(head, rows)


def _steps(run: Result) -> str:
    """The steps' shares of the time with one thread; those below 1% everywhere are left out."""
    methods = list(run["steps"])
    totals = {method: sum(run["steps"][method].values()) for method in methods}
    shares = {
        step: [run["steps"][method].get(step, 0.0) / totals[method] for method in methods]
        for step in dict.fromkeys(
            step for method in reversed(methods) for step in run["steps"][method]
        )
    }
    rows = [
        [f"`{step}`", *(f"{share:.0%}" for share in row)]
        for step, row in shares.items()
        if max(row) >= 0.01
    ]
    return table(
        [f"share of the time, M = {run['users']:,}", *(f"`{method}`" for method in methods)], rows
    )


def _growth(result: Result) -> str:
    slopes = [
        [f"`{method}`", number(slope), _goal(slope <= 1.05, "≤ 1.05")]
        for method, slope in result["slope"].items()
    ]
    K = result["setting"]["n_components"]
    return "\n".join(
        [
            table(["slope of log time in comparisons", "", "goal"], slopes),
            _points("comparisons", result["by_comparisons"], K),
            _points("items", result["by_items"], K),
        ]
    )


def _points(what: str, rows: list[Result], K: int) -> str:
    """Time in units of the first point's, and peak memory beside its goal."""
    first = {row["method"]: row["seconds"] for row in reversed(rows)}
    lines = []
    for row in rows:
        share = row["peak_bytes"] / allowed_bytes(row, K)
        lines.append(
            [
                f"{row[what]:,.0f}",
                f"`{row['method']}`",
                number(row["seconds"] / first[row["method"]]),
                number(row["peak_bytes"] / row["comparisons"]),
                _goal(share <= 1, f"{number(share, 2)} of what is allowed"),
            ]
        )
    return table([what, "", "time, first row = 1", "peak bytes a comparison", "goal"], lines)


def _threads(result: Result) -> str:
    rows = []
    for row in result["rows"]:
        gain = row["one"] / row["two"]
        same = "the same" if row["same_model"] else "another"
        rows.append(
            [
                f"{row['users']:,}",
                f"`{row['method']}`",
                number(gain),
                same,
                _goal(gain >= 1.6, "≥ 1.6"),
            ]
        )
    return table(["M", "", "one thread / two", "model", "goal"], rows)


_FOLDIN_GOALS = {"map": 40.0}


def _foldin(result: Result) -> str:
    """Many people in units of one product, and one person in units of one `solve`."""
    threads = sorted({row["threads"] for row in result["rows"]})
    rows = []
    for estimate in dict.fromkeys(row["estimate"] for row in result["rows"]):
        times = {
            r["threads"]: r["seconds"] / r["product_seconds"]
            for r in result["rows"]
            if r["estimate"] == estimate
        }
        most = _FOLDIN_GOALS.get(estimate)
        goal = _goal(times[threads[-1]] <= most, f"≤ {most:g}") if most else ""
        rows.append([f"`{estimate}`", *(number(times[n]) for n in threads), goal])
    head = [
        f"products, M = {result['users']:,}",
        *(f"{n} thread{'s' if n > 1 else ''}" for n in threads),
        "goal",
    ]
    one = result["one"]
    each = {
        estimate: seconds / one["solve_seconds"] for estimate, seconds in one["seconds"].items()
    }
    lines = [
        [f"`{estimate}`", number(times), _goal(times <= 3, "≤ 3")]
        for estimate, times in each.items()
    ]
    return "\n".join(
        [
            table(head, rows),
            table([f"one person, {one['comparisons']} comparisons", "solves", "goal"], lines),
        ]
    )


def _starting(result: Result) -> str:
    """Commands and compiling in units of `--help`."""
    commands, unit = result["commands"], result["commands"]["--help"]["seconds"]
    first = table(
        ["command", "times `--help`", "peak memory"],
        [
            [f"`{name}`", number(each["seconds"] / unit), f"{each['bytes'] / 1e6:.0f} MB"]
            for name, each in commands.items()
        ],
    )
    second = table(
        ["compiled for", "times `--help`", "kernels"],
        [
            [f"`{name}`", number(each["seconds"] / unit), str(each["kernels"])]
            for name, each in result["compiling"].items()
        ],
    )
    return f"{first}\n{second}"


def _readers(result: Result) -> str:
    """Reading in units of pyarrow's hashing, and the memory of ratings."""
    seconds, memory, sizes = result["seconds"], result["memory"], result["sizes"]
    names = {
        "numbers": "text to numbers, in the order of the text",
        "read_comparisons": "`read_comparisons`, checked and merged",
    }
    rows = []
    for name, words in names.items():
        ratio = seconds[name] / seconds["dictionary_encode"]
        rows.append(
            [
                words,
                number(ratio),
                _goal(ratio <= GOAL_RATIO, f"≤ {GOAL_RATIO:g}") if name == "numbers" else "",
            ]
        )
    first = table(
        [f"times `dictionary_encode`, {sizes['rows']:,} rows × 3 columns", "ratio", "goal"], rows
    )
    beyond = [
        f"{memory['ratings']:,}",
        f"{memory['comparisons']:,}",
        f"{memory['beyond'] / 1e6:,.0f} MB",
    ]
    head = ["ratings", "comparisons", "peak beyond input and result", "goal"]
    return f"{first}\n{table(head, [[*beyond, _goal(memory['beyond'] <= GOAL_BYTES, '≤ 1 GB')]])}"


SECTIONS = (
    (
        "speed",
        "Beside the peers",
        """
Topic models of other packages are given the ordered pairs as words, the true α, and two threads.
Each trains until the likelihood of people whom it has not seen (half of their comparisons given,
the other half predicted) has not risen by 0.0001 a comparison for three checks; then Algorithm 4
(`mallowmix.components_from_topics`) reads the rankings off its topics. The clock leaves out the
checks, the conversion of the data, and everything after the best check. "At most" marks a peer that
was still improving when its time was over. `projections` is the paper's method. EM from random
starts, the best of up to three by its bound, is there for its error alone. gensim has two classes,
the plain `LdaModel` and `LdaMulticore`; rows called *gensim LDA* are of the second, before both
were measured.
""",
        _speed,
    ),
    (
        "floor",
        "Above the floor",
        """
The floor is one product of the users × ordered pairs matrix (scipy, compressed rows, float64, one
thread) with K + 10 columns, about what a single pass over the data costs. Then, where the time
goes: passes over the people by the name of their step, other work by module.
""",
        _floor,
    ),
    (
        "growth",
        "Growth",
        """
Time as the comparisons or the items become more, and peak resident memory over a warmed-up process:
the data and the fit together. What is allowed is 40 bytes a comparison and 100 · W · K bytes, W =
Q(Q − 1). Each row is a process of its own.
""",
        _growth,
    ),
    ("threads", "Two threads", "The same fit with one thread and with two.", _threads),
    (
        "foldin",
        "People",
        """
`mallowmix.weights` for people whom the model was not learnt from, in units of one product of their
users × ordered pairs matrix with K + 10 columns (scipy, one thread): the most likely weights, and
the posterior mean. Then the same for one person, on arrays, in units of `numpy.linalg.solve` with a
matrix of 100 × 100.
""",
        _foldin,
    ),
    (
        "readers",
        "Reading",
        """
An Arrow table of text (100,000 people, 1,000 items) in units of what pyarrow's `dictionary_encode`
needs to hash its three columns, on the same table in the same run: processor time, the least of
five. Then ratings, ten a person, that become comparisons: what the process holds at its peak beyond
the ratings and the comparisons.
""",
        _readers,
    ),
    (
        "starting",
        "Starting",
        """
`python -m benchmarks.starting`: what commands on the dishes (600 people, 16 dishes) cost in a
process of their own with compiled kernels, in units of `mallowmix --help`: processor time, the
least of a few runs. Then the kernels that a fresh install compiles, for a plain `fit` with its
predictor, then for `weights`, then for `rank`, in the same unit.
""",
        _starting,
    ),
)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
