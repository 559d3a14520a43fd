"""`python -m benchmarks [NAME ...] [--quick]`.

Measure, keep the numbers in benchmarks/results, and write docs/benchmarks.md.
"""

import argparse
import ast
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from benchmarks import floor, foldin, growth, page, readers, speed, threads
from benchmarks.record import RESULTS, save
from mallowmix.fitting.warm_up import warm

BENCHMARKS: dict[str, ModuleType] = {
    "speed": speed,
    "floor": floor,
    "growth": growth,
    "threads": threads,
    "foldin": foldin,
    "readers": readers,
}


def main(arguments: list[str] | None = None) -> None:
    """Run the named benchmarks, or all. A quick run shows its page and keeps nothing."""
    options = _parser().parse_args(arguments)
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        sys.exit(f"There is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}.")
    names = options.names or list(BENCHMARKS)
    if not options.quick:
        run(names, RESULTS, quick=False)
        page.main()
        return
    with tempfile.TemporaryDirectory() as folder:
        run(names, Path(folder), quick=True)
        print(page.page(Path(folder)))


def run(names: list[str], folder: Path, *, quick: bool) -> None:
    """Compile the kernels, then one benchmark after the other.

    Each result is written as soon as it is there.
    """
    warm()
    for name in names:
        module = BENCHMARKS[name]
        save(name, module.measure(module.QUICK if quick else module.FULL, _teller(name)), folder)


def scripts() -> dict[str, str]:
    """The studies in this folder that are run alone, `python -m benchmarks.NAME`.

    Their names and first lines.
    """
    found = {}
    for file in sorted(Path(__file__).parent.glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "argparse" in text and file.name != "__main__.py":
            found[file.stem] = (ast.get_docstring(ast.parse(text)) or "").splitlines()[0]
    return found


def _teller(name: str):
    return lambda text: print(f"{name}: {text}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    alone = "\n".join(
        f"  python benchmarks/{name}.py\n      {line}" for name, line in scripts().items()
    )
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"Studies that are run alone:\n{alone}" if alone else "",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which: {', '.join(BENCHMARKS)}; all unless given"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, a minute; nothing is kept"
    )
    return parser


if __name__ == "__main__":
    main()
