"""Mutation testing: `make mutants` changes one term at a time and runs the tests of its module.

It is killed when a test that imports its module fails or takes far longer: see docs/quality.md.
"""

import argparse
import ast
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mallowmix.numerics.clustered_error import wilson_interval
from tools.mutations import Mutant, mutants_of

HERE = Path(__file__).resolve().parent.parent
CORE = ["model.mallows", "model.permutations", "numerics", "learn", "infer", "assess.intervals"]
PYTEST = (sys.executable, "-m", "pytest")
MOST_FILES = 5  # of tests, for one module
RUN = (  # within 8 GB, and ended with all its children after so many seconds
    'ulimit -v 8388608; exec timeout -s KILL "$@" -x -q -p no:xdist -p no:cacheprovider '
    '-W "ignore:overflow encountered in scalar:RuntimeWarning" >/dev/null 2>&1'
)


class Project:
    """A package below `src`, its tests, and who imports what."""

    def __init__(self, root: Path, package: str) -> None:
        self.root, self.package, self.source = root, package, root / "src"
        files = {file.relative_to(self.source): file for file in self.source.rglob("*.py")}
        self.modules = {".".join(name.with_suffix("").parts): files[name] for name in files}
        stub = self.source / package / "__init__.pyi"  # of names as in mm.fit
        given = re.findall(r"from \.(\S+) import (\w+)", stub.read_text() if stub.exists() else "")
        self._public = {f"{package}.{name}": f"{package}.{module}" for module, name in given}
        self._used = {name: self._imports(file) for name, file in self.modules.items()}
        self._tests = {test: self._imports(test) for test in (root / "tests").glob("test_*.py")}

    def _imports(self, file: Path) -> set[str]:
        names = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names |= {f"{node.module}.{a.name}" for a in node.names} | {str(node.module)}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names.add(f"{self.package}.{node.attr}")
        return {self._public.get(name, name) for name in names}

    def importers(self, module: str) -> Iterator[set[str]]:
        """The module, then the modules that import it, then those that import these, …"""
        level, seen = {module}, set()
        while level:
            yield level
            seen |= level
            level = {name for name, used in self._used.items() if used & level} - seen

    def tests_of(self, module: str) -> list[str]:
        """Tests that import a module, or else what imports it: of its name, or of few others."""
        word, tests = module.rpartition(".")[2], self._tests
        levels = ([t for t in tests if tests[t] & level] for level in self.importers(module))
        found = next(filter(None, levels), [])
        found.sort(key=lambda test: (word not in test.stem, len(tests[test]), test))
        return [str(test.relative_to(self.root)) for test in found[:MOST_FILES]]

    def test(self, module: str, source: bytes, limit: float, jit: bool) -> dict[str, Any]:
        """What the tests say of a module with this source, with 8 GB and so many seconds."""
        begun = time.monotonic()
        importers = self.importers(module) if b"@compiled" in source else [{module}]
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            stale = [f"{name.rpartition('.')[2]}.*.nb?" for name in set().union(*importers)]
            ignored = shutil.ignore_patterns(*(stale if jit else ["*.nb?"]))  # kernels
            shutil.copytree(self.source, folder, ignore=ignored, dirs_exist_ok=True)
            Path(folder, self.modules[module].relative_to(self.source)).write_bytes(source)
            path = os.pathsep.join([folder, str(self.root)])
            code = subprocess.run(
                ["sh", "-c", RUN, "-", str(limit), *PYTEST, *self.tests_of(module)],
                cwd=self.root,
                env=os.environ | {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": str(int(not jit))},
            ).returncode
        outcome = {0: "survived", -9: "timeout", 137: "timeout"}.get(code, "killed")
        return {"outcome": outcome, "seconds": round(time.monotonic() - begun, 1), "jit": jit}


class Run:
    """Rows of a results file by what was run and what it was run on; missing ones are added."""

    def __init__(self, project: Project, results: Path, limit: float) -> None:
        self.project, self.results, self.limit = project, results, limit
        text = results.read_text(encoding="utf-8") if results.exists() else ""
        text = text[: text.rfind("\n") + 1]  # the last line may be cut
        results.write_text(text, encoding="utf-8")
        rows = map(json.loads, text.splitlines())
        self.rows = {(row["id"], row["digest"]): row for row in rows}

    def all(self, mutants: list[Mutant], jobs: int = 1) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(self._plain, sorted({mutant.module for mutant in mutants})))
            return list(pool.map(self._mutant, mutants))

    def _plain(self, module: str) -> dict[str, Any]:
        """How the tests of a module run without any change: with Numba where they must."""
        tests, file = self.project.tests_of(module), self.project.modules[module]
        read = [file, *(self.project.root / test for test in tests)]
        digest = hashlib.sha256(b"".join(each.read_bytes() for each in read)).hexdigest()[:16]
        row, new = {"outcome": "survived", "jit": False}, (module, digest) not in self.rows
        source = file.read_bytes()
        for jit in (b"@compiled" not in source, True) if new and tests else ():
            row = self.project.test(module, source, (2, 10)[jit] * self.limit, jit)
            if row["outcome"] == "survived":
                break
        return self._row(module, digest, row | {"tests": tests})

    def _mutant(self, mutant: Mutant) -> dict[str, Any]:
        """What became of a mutant; not counted where the tests fail without it, too."""
        plain, name = self._plain(mutant.module), ":".join(map(str, mutant))
        row = plain if plain["outcome"] == "survived" else {"outcome": "not counted"}
        if row is plain and plain["tests"] and (name, plain["digest"]) not in self.rows:
            source = mutant.made_in(self.project.modules[mutant.module].read_bytes())
            limit = self.limit + 3 * plain["seconds"]
            row = self.project.test(mutant.module, source, limit, plain["jit"])
        return self._row(name, plain["digest"], row | mutant._asdict())

    def _row(self, name: str, digest: str, row: dict[str, Any]) -> dict[str, Any]:
        if (name, digest) not in self.rows:
            self.rows[name, digest] = row | {"id": name, "digest": digest}
            with self.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.rows[name, digest]) + "\n")
        return self.rows[name, digest]


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """How many were killed, with the interval, by kind, and which survived."""
    for kind in ("all", *sorted({row["kind"] for row in rows})):
        count = Counter(row["outcome"] for row in rows if kind in ("all", row["kind"]))
        killed = count["killed"] + count["timeout"]
        n = killed + count["survived"]
        low, high = wilson_interval(killed / n, n, 1.96) if n else (0.0, 1.0)
        yield f"{kind}: {killed} of {n} killed, 95% interval {low:.1%} to {high:.1%}; {dict(count)}"
    for row in sorted(rows, key=lambda row: (row["outcome"], row["module"], row["line"])):
        if row["outcome"] not in ("killed", "timeout"):
            yield f"{row['outcome']}: {row['module']}:{row['line']}  {row['old']}  ->  {row['new']}"


def main(arguments: list[str] | None = None) -> None:
    """Run a sample, and print its summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=CORE, help="modules or packages within")
    parser.add_argument("--results", type=Path, default=HERE / "benchmarks/results/mutants.jsonl")
    parser.add_argument("--sample", type=int, default=500, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--limit", type=float, default=60, help="seconds beyond 3 times the usual")
    given = parser.parse_args(arguments)
    project = Project(HERE, "mallowmix")
    wanted = tuple(f"mallowmix.{part}" for part in given.parts)
    files = [each for each in sorted(project.modules.items()) if each[0].startswith(wanted)]
    mutants = [mutant for name, file in files for mutant in mutants_of(name, file.read_bytes())]
    sample = random.Random(given.seed).sample(mutants, min(given.sample, len(mutants)))
    rows = Run(project, given.results, given.limit).all(sample, given.jobs)
    print(f"{len(rows):,} of {len(mutants):,} mutants", *summary(rows), sep="\n")


if __name__ == "__main__":
    main()
