"""Mutation testing: `make mutants` changes one term at a time and runs the tests of its module.

It is killed when a test that imports its module fails or takes far longer: see docs/quality.md.
"""

import argparse
import ast
import hashlib
import json
import math
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product, takewhile
from pathlib import Path
from typing import Any

from benchmarks.record import about, save
from mallowmix.numerics.clustered_error import wilson_interval
from tools.call_map import QUICK, THOROUGH, Effort, Timings
from tools.forked_tests import Job, run
from tools.mutations import Mutant, mutants_of

HERE = Path(__file__).resolve().parent.parent
CORE = ["model.mallows", "model.permutations", "numerics", "learn", "infer", "assess.intervals"]
CACHE = Path(tempfile.gettempdir()) / "mallowmix-call-map"
MOST_FILES = 5  # of tests, for one module


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
        names: set[str] = set()
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

    def stale(self, module: str) -> frozenset[str]:
        """The module and all that may contain its kernels: they must be compiled anew."""
        return frozenset(set().union(*self.importers(module)))


class Run:
    """Rows of a results file by what was run and what it was run on; missing ones are added."""

    def __init__(
        self,
        project: Project,
        results: Path,
        limit: float,
        cache: Path,
        efforts: Sequence[Effort] = (QUICK, THOROUGH),
    ) -> None:
        self.project, self.results, self.limit, self.efforts = project, results, limit, efforts
        root, package = project.root, project.package
        self.timings = [Timings(root, package, cache, effort) for effort in efforts]
        text = results.read_text(encoding="utf-8") if results.exists() else ""
        text = text[: text.rfind("\n") + 1]  # the last line may be cut
        results.write_text(text, encoding="utf-8")
        self.rows = {row["id"]: row for row in map(json.loads, text.splitlines())}

    def all(
        self, mutants: list[Mutant], jobs: int = 1, minutes: float = math.inf
    ) -> list[dict[str, Any]]:
        """Rows of all mutants, or of the first ones: none is begun after so many minutes."""
        end = time.monotonic() + 60 * minutes
        with ThreadPoolExecutor(jobs) as pool:
            rows = list(pool.map(lambda mutant: self._mutant(mutant, end), mutants))
        # a sample still: of those after the first that is missing, only killed ones were kept
        return [row for row in takewhile(bool, rows) if row]

    def _mutant(self, mutant: Mutant, end: float) -> dict[str, Any] | None:
        """What became of a mutant. One that survived is tried again when its tests are others."""
        name, old = ":".join(map(str, mutant)), self.rows.get(":".join(map(str, mutant)))
        source = self.project.modules[mutant.module].read_bytes()
        files = self.project.tests_of(mutant.module)
        texts = [(self.project.root / file).read_bytes() for file in files]
        now = {"source": _digest(source), "tests": _digest(*texts, str(self.efforts).encode())}
        killed = old and old["outcome"] in ("killed", "timeout")
        if old and old["source"] == now["source"] and (killed or old["tests"] == now["tests"]):
            return old
        if time.monotonic() > end:
            return None
        row = mutant._asdict() | {"id": name} | now | self._tried(mutant, source, files)
        self.rows[name] = row
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        return row

    def _tried(self, mutant: Mutant, source: bytes, files: list[str]) -> dict[str, Any]:
        """The quick tests that call the mutant's function, then slow ones, until one fails.

        Where no test calls the function, all that call anything of its module are tried; where none
        does, a mutant outside of functions may fail while it is imported, in any test.
        """
        function, kernel = enclosing(mutant, source)
        anew = self.project.stale(mutant.module) if kernel or not function else frozenset()
        job = Job(str(self.project.root), self.project.package, [], module=mutant.module)
        job = job._replace(source=mutant.made_in(source), stale=anew)
        done: set[tuple[str, bool]] = set()
        wider = [(mutant.module, ""), ("", "") if not function else (mutant.module, function)]
        for where in dict.fromkeys([(mutant.module, function), *wider]):
            for timings, file in product(self.timings, files):
                tests = timings.calling(file, *where)
                plain = timings.without_numba(file, tests) if kernel else {}
                jit, tests = not plain, plain or tests
                new = [test for test in tests if (test, jit) not in done]
                done |= {(test, jit) for test in new}
                if not new:
                    continue
                longer = 60.0 if anew and jit else 0.0
                seconds = self.limit + longer + 5 * sum(tests[test] for test in new)
                outcome = run(job._replace(groups=[new], jit=jit), seconds)
                if outcome != "passed":
                    outcome = {"failed": "killed"}.get(outcome, outcome)
                    return {"outcome": outcome, "by": file, "tests_run": len(done), "jit": jit}
            if done:
                break
        return {"outcome": "survived", "by": None, "tests_run": len(done), "jit": None}


def enclosing(mutant: Mutant, source: bytes) -> tuple[str, bool]:
    """The outermost function or method around a mutant ("" where none is); is it a kernel?"""
    within, name = ast.parse(source).body, ""
    while True:
        around = [each for each in within if each.lineno <= mutant.line <= (each.end_lineno or 0)]
        match around:
            case [ast.ClassDef(name=one, body=within)]:
                name = f"{name}{one}."
            case [ast.FunctionDef(name=one, decorator_list=marks)]:
                return name + one, any("compiled" in ast.unparse(mark) for mark in marks)
            case _:
                return "", False


def _digest(*texts: bytes) -> str:
    return hashlib.sha256(b"".join(texts)).hexdigest()[:16]


def figures(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """How many were killed, with Wilson's 95% interval: of all, and by kind."""
    found = {}
    for kind in ("all", *sorted({row["kind"] for row in rows})):
        count = Counter(row["outcome"] for row in rows if kind in ("all", row["kind"]))
        killed, n = count["killed"] + count["timeout"], count.total()
        low, high = wilson_interval(killed / n, n, 1.96) if n else (0.0, 1.0)
        found[kind] = {"killed": killed, "of": n, "from": low, "to": high}
        found[kind]["ended by time"] = count["timeout"]
    return found


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The figures, and which mutants survived."""
    for kind, each in figures(rows).items():
        interval = f"95% interval {each['from']:.1%} to {each['to']:.1%}"
        yield f"{kind}: {each['killed']} of {each['of']} killed, {interval}"
    for row in sorted(rows, key=lambda row: (row["module"], row["line"], row["start"])):
        if row["outcome"] == "survived":
            tests = f"{row['tests_run']} tests" if row["tests_run"] else "no test calls it"
            change = f"{row['old']}  ->  {row['new']}"
            yield f"survived: {row['module']}:{row['line']}  {change}  ({tests})"


def main(arguments: list[str] | None = None) -> None:
    """Run a sample, and print its summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=CORE, help="modules or packages within")
    parser.add_argument("--results", type=Path, default=HERE / "benchmarks/results/mutants.jsonl")
    parser.add_argument("--sample", type=int, default=500, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin none after them")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--limit", type=float, default=15, help="seconds beyond 5 times the usual")
    parser.add_argument("--quick", action="store_true", help="no tests of more than 1.5 seconds")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder: which tests call what")
    given = parser.parse_args(arguments)
    project = Project(HERE, "mallowmix")
    wanted = tuple(f"mallowmix.{part}" for part in given.parts)
    files = [each for each in sorted(project.modules.items()) if each[0].startswith(wanted)]
    mutants = [mutant for name, file in files for mutant in mutants_of(name, file.read_bytes())]
    sample = random.Random(given.seed).sample(mutants, min(given.sample, len(mutants)))
    efforts = (QUICK,) if given.quick else (QUICK, THOROUGH)
    tried = Run(project, given.results, given.limit, given.cache, efforts)
    rows = tried.all(sample, given.jobs, given.minutes)
    lines = list(summary(rows))
    print(
        f"{len(rows):,} of a sample of {len(sample):,} of {len(mutants):,} mutants",
        *lines,
        sep="\n",
    )
    counts = {"mutants": len(mutants), "sample": len(sample), "tried": len(rows)}
    counts["quick tests only"] = given.quick
    result = {"about": about()} | counts | {"found": figures(rows), "summary": lines}
    save(given.results.stem, result, given.results.parent, [given.seed])


if __name__ == "__main__":
    main()
