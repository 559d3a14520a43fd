"""Mutation testing: `make mutants` changes one term at a time and runs the tests of its module.

It is killed when a test that imports its module fails or takes far longer: see docs/quality.md.
"""

import argparse
import ast
import json
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from benchmarks.record import about, save
from mallowmix.numerics.clustered_error import wilson_interval
from tools.call_map import PLAIN, Calls, digest
from tools.forked_tests import Job, Outcome, run
from tools.mutations import Mutant, mutants_of
from tools.project import Project

HERE = Path(__file__).resolve().parent.parent
CORE = ["model.mallows", "model.permutations", "numerics", "learn", "infer", "assess.intervals"]
CACHE = Path(tempfile.gettempdir()) / "mallowmix-call-map"
BUDGET, MOST = 6.0, 40  # seconds of tests for one mutant, and how many
MORE, MOST_MORE = 30.0, 300  # of other tests, for one that survives these
TRIES = 3  # tests that fail or take long without Numba, before a kernel is compiled anew
COLLECT = 0.1  # seconds to collect one more file


class Run:
    """Rows of a results file by what was run and what it was run on; missing ones are added."""

    def __init__(
        self, project: Project, results: Path, cache: Path, parts: tuple[str, ...] = ()
    ) -> None:
        self.project, self.results = project, results
        self.parts = parts or (project.package,)
        self.calls = Calls(project.root, project.modules, cache)
        text = results.read_text(encoding="utf-8") if results.exists() else ""
        text = text[: text.rfind("\n") + 1]  # the last line may be cut
        results.write_text(text, encoding="utf-8")
        rows = [json.loads(line) for line in text.splitlines()]
        self.rows = {row["id"]: row for row in rows}
        self.first = {row["id"]: row for row in reversed(rows)}

    def all(
        self, mutants: list[Mutant], jobs: int = 1, minutes: float = math.inf
    ) -> list[dict[str, Any]]:
        """Rows of all mutants, or of the first ones: none is begun after so many minutes.

        New ones come before survivors whose tests have changed.
        """
        files = self.project.test_files(self.parts)
        for n, (file, tests) in enumerate(self.calls.make(files, jobs), 1):
            print(f"\r{n} of {len(files)} test files: {file} has {tests} tests\x1b[K", end="")
        print()
        end = time.monotonic() + 60 * minutes
        with ThreadPoolExecutor(jobs) as pool:
            order = sorted(mutants, key=lambda mutant: mutant.id in self.rows)
            rows = dict(
                zip(order, pool.map(lambda each: self._mutant(each, end), order), strict=True)
            )
        # a sample still: of those after the first that is missing, quick ones may be known
        return [row for row in takewhile(bool, map(rows.get, mutants)) if row]

    def _mutant(self, mutant: Mutant, end: float) -> dict[str, Any] | None:
        """What became of a mutant. One that survived is tried again when its tests are others."""
        old = self.rows.get(mutant.id)
        source = self.project.modules[mutant.module].read_bytes()
        around = enclosing(mutant, source)
        quick, others = self._chosen(mutant.module, around.function)
        tests = quick | others
        files = sorted({test.partition("::")[0] for test in tests})
        texts = [(self.project.root / file).read_bytes() for file in files]
        now = {"source": digest(source), "tests": digest(*texts, *map(str.encode, tests))}
        known = old if old and old["source"] == now["source"] else None
        if known and (known["outcome"] != "survived" or known["tests"] == now["tests"]):
            return known
        if time.monotonic() > end:
            return known
        start = time.monotonic()
        job = Job(str(self.project.root), self.project.package, quick, BUDGET)
        changed = mutant.made_in(source)
        job = job._replace(module=mutant.module, source=changed, stale=around.names)
        found = self._tried(job, around.kernel)
        if found["outcome"] == "survived" and others:
            found = self._compiled(job._replace(tests=others, budget=MORE))
        row = mutant._asdict() | now | {"tests_run": len(tests)} | found
        row["seconds"] = round(time.monotonic() - start, 1)
        self.rows[mutant.id] = row
        self.first.setdefault(mutant.id, row)
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        return row

    def _chosen(self, module: str, function: str) -> tuple[dict[str, float], dict[str, float]]:
        """The quickest tests that call a function, or else anything of its module; and some others.

        Those of files that name the function or import the module come first.
        """
        found = self.calls.calling(module, function) or self.calls.calling(module, "")
        near = self.project.near(module)
        files = {test: test.partition("::")[0] for test in found}
        named = self.project.naming(function.rpartition(".")[2])
        nearest = {file: (file in named) + (file in near) for file in files.values()}
        order = sorted(found, key=lambda test: (-nearest[files[test]], found[test]))
        quick = _within(BUDGET, MOST, {test: found[test] for test in order})
        left = {test: found[test] for test in order if test not in quick}
        return quick, _within(MORE, MOST_MORE, left)

    def _tried(self, job: Job, kernel: bool) -> dict[str, Any]:
        """What became of it. Kernels run without Numba first; what cannot, is compiled anew."""
        found, unable = self._without_numba(job) if kernel else (None, job.tests)
        if found:
            return _row(found, jit=False)
        return self._compiled(job._replace(tests=unable))

    def _compiled(self, job: Job) -> dict[str, Any]:
        """What became of it, with Numba."""
        limits = {test: 5 + 5 * seconds for test, seconds in job.tests.items()}
        return _row(run(job._replace(tests=limits), 300.0) if limits else None, jit=True)

    def _without_numba(self, job: Job) -> tuple[Outcome | None, dict[str, float]]:
        """Which test kills it; or else which tests cannot tell without Numba."""
        left = [test for test in job.tests if not self.calls.fails_without_numba(test)]
        unable = set(job.tests) - set(left)
        for _ in range(TRIES):
            if not left:
                break
            plain = job._replace(tests=dict.fromkeys(left, 2 * PLAIN), budget=BUDGET / TRIES)
            found = run(plain._replace(jit=False), 300.0)
            begun = left.index(found.test) if found.test in left else len(left)
            if found.what in ("passed", "unfinished"):
                left = left[begun:] if found.what == "unfinished" else []
                break
            if not found.test or self.calls.passes_without_numba(found.test):
                return found, {}
            unable.add(found.test)
            left = left[begun + 1 :]
        return None, {test: job.tests[test] for test in job.tests if test in unable.union(left)}


def _within(seconds: float, most: int, tests: dict[str, float]) -> dict[str, float]:
    """The first tests, as many as can be collected and run in so many seconds."""
    chosen: dict[str, float] = {}
    seen: set[str] = set()
    for test, cost in tests.items():
        file = test.partition("::")[0]
        needed = cost + COLLECT * (file not in seen)
        if needed <= seconds and len(chosen) < most:
            chosen[test], seconds = cost, seconds - needed
            seen.add(file)
    return chosen


def _row(found: Outcome | None, *, jit: bool) -> dict[str, Any]:
    if not found or found.what in ("passed", "unfinished"):
        return {"outcome": "survived", "by": None, "jit": None}
    outcome = {"failed": "killed"}.get(found.what, found.what)
    return {"outcome": outcome, "by": found.test, "jit": jit}


class Around(NamedTuple):
    """The outermost function around a mutant ("" where none is), and names that mean another thing.

    A kernel that contains such a name is not the one in Numba's cache.
    """

    function: str
    kernel: bool
    names: frozenset[str]


def enclosing(mutant: Mutant, source: bytes) -> Around:
    """What stands around a mutant."""
    body = within = ast.parse(source).body
    name = ""
    while True:
        around = [each for each in within if each.lineno <= mutant.line <= (each.end_lineno or 0)]
        match around:
            case [ast.ClassDef(name=one, body=within)]:
                name = f"{name}{one}."
            case [ast.FunctionDef(name=one, decorator_list=marks)]:
                kernel = any("compiled" in ast.unparse(mark) for mark in marks)
                return Around(name + one, kernel, frozenset({one} if kernel else ()))
            case _:
                return Around("", False, _constants(around, body))


def _constants(changed: list[ast.stmt], body: list[ast.stmt]) -> frozenset[str]:
    """The names that statements give a value to, and those that are made of them."""
    names: set[str] = set()
    for each in body:
        if isinstance(each, ast.Assign | ast.AnnAssign):
            used = {node.id for node in ast.walk(each) if isinstance(node, ast.Name)}
            if each in changed or used & names:
                names |= {n.id for n in ast.walk(each) if _is_target(n)}
    return frozenset(names)


def _is_target(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


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
            change = f"{' '.join(row['old'].split())}  ->  {row['new']}"
            yield f"survived: {row['module']}:{row['line']}  {change}  ({tests})"


def sample_of(mutants: list[Mutant], seed: int, size: int) -> list[Mutant]:
    """A random sample: those that are in it stay in it when other code changes."""
    return sorted(mutants, key=lambda mutant: digest(f"{seed}:{mutant.id}".encode()))[:size]


def main(arguments: list[str] | None = None) -> None:
    """Run a sample, and print its summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=CORE, help="modules or packages within")
    parser.add_argument("--results", type=Path, default=HERE / "benchmarks/results/mutants.jsonl")
    parser.add_argument("--sample", type=int, default=500, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin none after them")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder: which tests call what")
    given = parser.parse_args(arguments)
    project = Project(HERE, "mallowmix")
    wanted = tuple(f"mallowmix.{part}" for part in given.parts)
    files = [each for each in sorted(project.modules.items()) if each[0].startswith(wanted)]
    mutants = [mutant for name, file in files for mutant in mutants_of(name, file.read_bytes())]
    sample = sample_of(mutants, given.seed, given.sample)
    tried = Run(project, given.results, given.cache, tuple(f"mallowmix.{part}" for part in CORE))
    rows = tried.all(sample, given.jobs, given.minutes)
    first = figures([tried.first[row["id"]] for row in rows])["all"]
    lines = list(summary(rows))
    print(
        f"{len(rows):,} of a sample of {len(sample):,} of {len(mutants):,} mutants",
        f"when first tried: {first['killed']} killed",
        *lines,
        sep="\n",
    )
    counts = {"mutants": len(mutants), "sample": len(sample), "tried": len(rows)}
    counts |= {"first tried": first, "found": figures(rows), "summary": lines}
    save(given.results.stem, {"about": about()} | counts, given.results.parent, [given.seed])


if __name__ == "__main__":
    main()
