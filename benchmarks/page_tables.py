"""The tables of docs/benchmarks.md, one function a section: ratios, and whether goals are met."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.growth import allowed_bytes
from benchmarks.readers import GOAL_BYTES, GOAL_RATIO

Result = dict[str, Any]


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


def speed_table(result: Result) -> str:
    """Seconds and errors beside the peers."""
    return "\n".join(speed_rows(run) for run in result["runs"])


def speed_rows(run: Result) -> str:
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


def floor_table(result: Result) -> str:
    """Multiples of what no program can do without."""
    return "\n".join([*map(_multiples, result["runs"]), *map(_steps, result["runs"])])


_FLOOR_GOALS = {"none": 25.0, "full": 250.0}


def _multiples(run: Result) -> str:
    """Fits in units of one product, a column for each number of threads."""
    rows = [row | {"product_seconds": run["product_seconds"]} for row in run["rows"]]
    return _in_products(rows, "method", _FLOOR_GOALS, run["users"])


def _in_products(rows: Sequence[Result], name: str, goals: dict[str, float], users: int) -> str:
    """What was timed in units of one product, a column for each number of threads."""
    threads, lines = sorted({row["threads"] for row in rows}), []
    for each in dict.fromkeys(row[name] for row in rows):
        times = {
            row["threads"]: row["seconds"] / row["product_seconds"]
            for row in rows
            if row[name] == each
        }
        most = goals.get(each)
        goal = _goal(times[threads[-1]] <= most, f"≤ {most:g}") if most else ""
        lines.append([f"`{each}`", *(number(times[n]) for n in threads), goal])
    counts = (f"{n} thread{'s' if n > 1 else ''}" for n in threads)
    return table([f"products, M = {users:,}", *counts, "goal"], lines)


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


def growth_table(result: Result) -> str:
    """How seconds and memory grow."""
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


def threads_table(result: Result) -> str:
    """What more threads give."""
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


_CORE_GOALS = {"none": 6.0, "full": 11.0}  # with the most cores


def many_cores_table(result: Result) -> str:
    """How many times as fast each number of cores is as one."""
    rows, cores = result["rows"], sorted({row["cores"] for row in result["rows"]})
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = {row["cores"]: row for row in rows if row["method"] == method}
        gains = [mine[1]["seconds"] / mine[n]["seconds"] for n in cores]
        if method not in _CORE_GOALS:
            lines.append([method, *(number(gain) for gain in gains), "", ""])
            continue
        same = "the same" if all(row["same_model"] for row in mine.values()) else "another"
        goal, whole = _CORE_GOALS[method], cores[-1] == 16
        said = _goal(gains[-1] >= goal, f"≥ {goal:g} with 16 cores") if whole else ""
        lines.append([f"`{method}`", *(number(gain) for gain in gains), same, said])
    counts = (f"{n} core{'s' if n > 1 else ''}" for n in cores)
    heading = f"times one core, {result['comparisons']:,.0f} comparisons"
    return table([heading, *counts, "model", "goal"], lines)


_FOLDIN_GOALS = {"map": 40.0}


def foldin_table(result: Result) -> str:
    """Many people in units of one product, and one person in units of one `solve`."""
    many = _in_products(result["rows"], "estimate", _FOLDIN_GOALS, result["users"])
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
            many,
            table([f"one person, {one['comparisons']} comparisons", "solves", "goal"], lines),
        ]
    )


_FIRST_FIT_SECONDS = 10  # of a process that fits a model, and compiles all that it needs


def starting_table(result: Result) -> str:
    """Commands, first fits and compiling in units of `--help`."""
    commands, unit = result["commands"], result["commands"]["--help"]["seconds"]
    first = table(
        ["command", "times `--help`", "peak memory"],
        [
            [f"`{name}`", number(each["seconds"] / unit), f"{each['bytes'] / 1e6:.0f} MB"]
            for name, each in commands.items()
        ],
    )
    alone = result["first_fits"]["model"]
    goal = _goal(alone <= _FIRST_FIT_SECONDS, f"≤ {_FIRST_FIT_SECONDS} CPU-seconds")
    second = table(
        ["first `fit` of a fresh install", "times `--help`", "goal"],
        [
            [name, number(seconds / unit), goal if name == "model" else ""]
            for name, seconds in result["first_fits"].items()
        ],
    )
    third = table(
        ["compiled for", "times `--help`", "kernels"],
        [
            [name, number(each["seconds"] / unit), str(each["kernels"])]
            for name, each in result["compiling"].items()
        ],
    )
    return f"{first}\n{second}\n{third}"


# products: what full fits of so many comparisons may take
_MOST_PRODUCTS = {1_000_000: 90, 10_000_000: 60}
_MOST_TIMES = 4  # what a fit with its predictor may take, beside the first version's fit
_RATIO = {"earlier_seconds", "seconds_with_predictor"}


def cpu_table(result: Result) -> str:
    """Fits on one thread in units of a product; with the predictor beside an earlier version."""
    head = ["data", "K", "components alone", "with the predictor", "error", "goal"]
    text = table(head, [_cpu_row(row) for row in result["rows"]])
    measured = [row for row in result["rows"] if _RATIO.issubset(row)]
    if measured:
        head = ["data", "first version", "with the predictor, times the first version", "goal"]
        text += "\n" + table(head, [_earlier_row(row) for row in measured])
    for row in result["rows"]:
        if "bradley_terry_seconds" in row:
            ratio = number(row["seconds"] / row["bradley_terry_seconds"])
            text += f"\n{row['name']}: {ratio} times Bradley–Terry.\n"
    return text


def _cpu_row(row: Result) -> list[str]:
    products = row["seconds"] / row["product_seconds"]
    whole = row.get("seconds_with_predictor", math.nan) / row["product_seconds"]
    goal = _MOST_PRODUCTS.get(round(row["comparisons"], -5)) if row["n_components"] > 1 else None
    return [
        row["name"],
        str(row["n_components"]),
        number(products),
        "" if math.isnan(whole) else number(whole),
        f"{row['error']:.2g}" if "error" in row else "",
        _goal(products <= goal, f"≤ {goal}") if goal else "",
    ]


def _earlier_row(row: Result) -> list[str]:
    earlier, whole = row["earlier_seconds"], row["seconds_with_predictor"]
    goal = _goal(whole <= _MOST_TIMES * earlier, f"≤ {_MOST_TIMES}")
    return [row["name"], number(earlier / row["product_seconds"]), number(whole / earlier), goal]


def readers_table(result: Result) -> str:
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
