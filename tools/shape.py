"""The shape of the code in numbers: `make shape` prints them beside those of the first version.

Those are written by `python -m tools.shape --commit 5f63736 --write benchmarks/results`, with
today's list of words.
"""

import argparse
import ast
import re
import statistics
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from benchmarks.record import load, save
from tools.words import banned_words

HERE = Path(__file__).resolve().parent.parent
RESULTS, FIRST = HERE / "benchmarks" / "results", "shape_first"
MOST_COLUMNS = 100


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table; with a folder, write the numbers as those of the first version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=HERE, help="the repository to measure")
    parser.add_argument("--commit", help="measure this commit, not the files as they are")
    parser.add_argument("--write", type=Path, help=f"write {FIRST}.json to this folder")
    given = parser.parse_args(arguments)
    now = measure_commit(given.root, given.commit) if given.commit else measure(given.root)
    if given.write:
        save(FIRST, now, given.write, seeds=())
    first = load(FIRST, RESULTS) or {}
    print(f"{'':44s}{'first version':>14s}{'now':>10s}")
    for name, value in now.items():
        print(f"{name:44s}{first.get(name, ''):>14}{value:>10}")


def measure_commit(root: Path, commit: str) -> dict[str, float]:
    """The numbers of the files of a commit."""
    packed = subprocess.run(
        ["git", "-C", str(root), "archive", "--format=zip", commit], capture_output=True, check=True
    )
    with tempfile.TemporaryDirectory() as folder:
        with ZipFile(BytesIO(packed.stdout)) as files:
            files.extractall(folder)
        return measure(Path(folder))


def measure(root: Path) -> dict[str, float]:
    """Each number by its name."""
    package = root / "src" / "mallowmix"
    files = sorted(package.rglob("*.py"))
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    lengths = [length for tree in trees.values() for length in function_lengths(tree)]
    prose = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    everything = [*files, *sorted((root / "tests").rglob("*.py")), *prose]
    texts = {file: file.read_text(encoding="utf-8") for file in {*everything, *prose}}
    return {
        "files": len(files),
        "lines": sum(texts[file].count("\n") for file in files),
        "files over 300 lines": sum(texts[file].count("\n") > 300 for file in files),
        "most files in one folder": max(Counter(file.parent for file in files).values()),
        "public names defined in two modules": len(names_defined_twice(package, trees)),
        "file names used twice": len(file_names_twice(package, files)),
        "banned words": sum(len(list(banned_words(root, file))) for file in [*files, *prose]),
        "Any": sum(len(re.findall(r"\bAny\b", texts[file])) for file in files),
        "**options in a signature": sum(len(open_options(tree)) for tree in trees.values()),
        "lines over 100 columns": sum(
            len(line) > MOST_COLUMNS for text in texts.values() for line in text.splitlines()
        ),
        "median length of a function": statistics.median(lengths),
        "90th percentile of that length": sorted(lengths)[int(0.9 * len(lengths))],
    }


def function_lengths(tree: ast.Module) -> Iterator[int]:
    """Lines of each function without its docstring and its signature."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body:
                yield (node.body[-1].end_lineno or 0) - body[0].lineno + 1


def names_defined_twice(package: Path, trees: dict[Path, ast.Module]) -> dict[str, list[str]]:
    """Public functions and classes that stand at the top of several modules.

    Free are `run` and `report` of the folders under `paper/`.
    """
    found = defaultdict(set)
    for file, tree in trees.items():
        where = file.relative_to(package)
        for node in tree.body:
            named = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith(
                "_"
            )
            if named and not (where.parts[0] == "paper" and node.name in ("run", "report")):
                found[node.name].add(str(where))
    return {name: sorted(where) for name, where in found.items() if len(where) > 1}


def file_names_twice(package: Path, files: list[Path]) -> dict[str, list[str]]:
    """File names that stand in several folders.

    Free are `__init__`, modules of `cli` named after commands, reader and writer pairs, and
    `run` and `report` under `paper/`.
    """
    found = defaultdict(list)
    for file in files:
        where = file.relative_to(package)
        free = where.stem == "__init__" or (
            where.parts[0] == "paper" and where.stem in ("run", "report")
        )
        if not free:
            found[where.stem].append(where)
    return {
        name: [str(file) for file in where] for name, where in found.items() if not _allowed(where)
    }


def _allowed(where: list[Path]) -> bool:
    """One file; or more that are a command and what it calls, or a reader and its writer."""
    rooms = Counter(file.parts[0] for file in where)
    commands = {file.stem for file in where if file.parts[0] == "cli"} & command_names()
    others = len(where) - len(commands)
    return others <= 1 or (others == 2 and rooms["readers"] == rooms["writers"] == 1)


def command_names() -> set[str]:
    """The commands, as their modules are called."""
    modules = (HERE / "src" / "mallowmix" / "cli").glob("*.py")
    return {
        m.stem
        for m in modules
        if (m.read_text(encoding="utf-8").startswith(f'"""`mallowmix {m.stem.replace("_", "-")}`'))
    }


def open_options(tree: ast.Module) -> list[str]:
    """Public functions that take `**options`, whatever the name of it."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [f.name for f in functions if f.args.kwarg is not None and not f.name.startswith("_")]


if __name__ == "__main__":
    main()
