"""What a command costs before it computes: imports, memory, and compiling in a fresh install."""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import mallowmix as mm
from benchmarks.record import RESULTS, about, save

ROOT = Path(__file__).parents[1]
REPEATS = 2
COMMANDS = {
    "--help": ("--help",),
    "show": ("show", "model.m4"),
    "rank": ("rank", "model.m4"),
    "rank of a person": ("rank", "model.m4", "votes.csv", "--user", "u001"),
    "predict": ("predict", "model.m4", "votes.csv", "--pairs", "pairs.csv"),
}


# runs a command and says what it used; a process counts the memory of the one it was forked from,
# so that this must be a small one
_LAUNCHER = """
import os, sys
child = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ,
    file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, used = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss)
"""


# a fit by somebody who has just installed the package; `n_jobs=1`: nobody waits for another thread
FIRST_FITS = {
    "model": "mm.fit('votes.csv', 3, n_jobs=1, predictor=False)",
    "model and predictor": "mm.fit('votes.csv', 3, n_jobs=1)",
}


def cost(words: tuple[str, ...], folder: Path) -> dict[str, float]:
    """Processor seconds and peak memory of a command in a process of its own; the least of some."""
    runs = [_used(("-m", "mallowmix", *words), folder) for _ in range(REPEATS + 1)]
    return {"seconds": min(run[0] for run in runs), "bytes": min(run[1] for run in runs)}


def first_fits(folder: Path) -> dict[str, float]:
    """Processor seconds of a process that fits a file and has no compiled kernels."""
    seconds = {}
    for name, fit in FIRST_FITS.items():
        with tempfile.TemporaryDirectory() as empty:
            words = ("-c", f"import mallowmix as mm; {fit}")
            seconds[name] = _used(words, folder, NUMBA_CACHE_DIR=empty)[0]
    return seconds


def _used(words: tuple[str, ...], folder: Path, **environment: str) -> tuple[float, int]:
    """Processor seconds and peak memory of Python with these arguments."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # or each run would parse the package again
    launched = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *words],
        cwd=folder, env=variables,
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    code, seconds, size = launched.stdout.split()
    if code != "0":
        raise RuntimeError(f"{' '.join(words)} ended with {code}.")
    return float(seconds), int(size)


def compiling() -> dict[str, dict[str, float]]:
    """Processor seconds and kernels of a first fit without and with predictor, weights, rank."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.compile_times"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[0]: {"seconds": float(line[1]), "kernels": int(line[4])} for line in lines}


def measure() -> dict[str, Any]:
    """All of it, on the dishes."""
    votes = mm.load_dishes().comparisons
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mm.save(mm.fit(votes, 3), folder / "model.m4")
        rows = votes.to_frame("pyarrow").select(["user", "winner", "loser"]).to_pylist()
        lines = [",".join(row.values()) for row in rows]
        (folder / "votes.csv").write_text("\n".join(["user,winner,loser", *lines, ""]))
        first, second = votes.items[:2]
        (folder / "pairs.csv").write_text(f"first,second\n{first},{second}\n")
        commands = {name: cost(words, folder) for name, words in COMMANDS.items()}
        fits = first_fits(folder)
    return {
        "about": about(),
        "commands": commands,
        "first_fits": fits,
        "compiling": compiling(),
    }


def main() -> None:
    """Measure, and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    save("starting", measure(), RESULTS)


if __name__ == "__main__":
    main()
