"""Which lines of the package the tests run: `make coverage` measures, this writes the shares.

    python -m tools.line_coverage coverage.json

reads what `coverage json` wrote and writes benchmarks/results/line_coverage.json: the share of
lines that were run, in all and by folder, and the files with the lowest shares. Kernels that Numba
compiles are left out (their lines are never run by Python), as `pyproject.toml` says; each has
tests against something slower.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarks.record import RESULTS, save

_PACKAGE = "mallowmix"
_LOWEST = 20  # files that are listed


def main() -> None:
    """Read the measurement, write the shares and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", type=Path, help="what `coverage json` wrote")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    found = shares(json.loads(given.measured.read_text(encoding="utf-8")))
    file = save("line_coverage", found, given.output)
    for name, share in found["folders"].items():
        print(f"{name:24s}{share:8.3f}")
    print(f"{found['run']} of {found['lines']} lines run: {found['share']:.3f}; {file}")


def shares(measured: dict[str, Any]) -> dict[str, Any]:
    """The share of lines that were run: in all, by folder of the package, and of the lowest files.

    Parameters
    ----------
    measured : dict
        In the form of `coverage json`.
    """
    lines, run = defaultdict[str, int](int), defaultdict[str, int](int)
    files: dict[str, float] = {}
    for name, each in measured["files"].items():
        inside = _inside_package(name)
        n_lines, n_run = each["summary"]["num_statements"], each["summary"]["covered_lines"]
        folder = inside.parts[0] if len(inside.parts) > 1 else "."
        lines[folder] += n_lines
        run[folder] += n_run
        if n_lines:
            files[str(inside)] = round(n_run / n_lines, 3)
    total, total_run = sum(lines.values()), sum(run.values())
    return {
        "lines": total,
        "run": total_run,
        "share": round(total_run / max(total, 1), 4),
        "folders": {name: round(run[name] / lines[name], 3) for name in sorted(lines)},
        "lowest": dict(sorted(files.items(), key=lambda each: each[1])[:_LOWEST]),
    }


def _inside_package(name: str) -> PurePosixPath:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return PurePosixPath(*parts[parts.index(_PACKAGE) + 1 :])


if __name__ == "__main__":
    main()
