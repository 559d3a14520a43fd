"""Which tests call which functions of a package, and how long each takes: a map made once.

A plugin of pytest looks at every call. Numba's kernels are seen where Python calls them, with the
kernels that they name; what a fixture calls counts for each test that uses it.
"""

import hashlib
import json
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tools.forked_tests import Compiling, Job, run

TEST, FILE = 10.0, 100.0  # seconds: of the longest test that is of use, and for all of a file
PLAIN = 1.0  # seconds that a test may take without Numba to be of use so


class TooSlow(BaseException):
    """A test that takes longer than a mutant is worth."""


class CallMap:
    """Writes {"tests": {test: {"seconds", "passed", "calls"}}, "modules"} after each test."""

    def __init__(self, package: str, file: Path) -> None:
        self.package, self.file = package, file
        self.tests: dict[str, dict[str, Any]] = {}
        self.calls: set[str] = set()
        self.of_fixtures: dict[str, set[str]] = defaultdict(set)
        self._codes: dict[Any, str] = {}
        self._compiling: Any = None

    def _seen(self, frame: Any, event: str, _: Any) -> None:
        name = self._codes.get(frame.f_code)
        if name is None:
            module = str(frame.f_globals.get("__name__"))
            inside = module.split(".")[0] == self.package
            name = _name(module, frame.f_code) if inside else ""
            self._codes[frame.f_code] = name
        if name:
            self.calls.add(name)
            if name.endswith(":Kernel.__call__"):
                self._add_kernel(getattr(frame.f_locals["self"], "_function", None))

    def _add_kernel(self, function: Any) -> None:
        if function is None:
            return
        name = _name(function.__module__, function.__code__)
        if name not in self.calls:
            self.calls.add(name)
            for used in function.__code__.co_names:
                self._add_kernel(getattr(function.__globals__.get(used), "_function", None))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Calls of a fixture are kept by its name."""
        before, self.calls = self.calls, set()
        try:
            return (yield)
        finally:
            self.of_fixtures[fixturedef.argname] |= self.calls
            self.calls = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[Any]:
        """Watch one test, from its fixtures to its end."""
        self._compiling = self._compiling or Compiling()
        self.calls, start = set(), self._worked()
        row = self.tests[item.nodeid] = {"passed": True}
        signal.signal(signal.SIGPROF, _stop)
        self._compiling.within(TEST)
        threading.settrace(self._seen)
        sys.settrace(self._seen)
        try:
            return (yield)
        except TooSlow:
            row["passed"] = False
        finally:
            sys.settrace(None)
            threading.settrace(None)  # pyright: ignore[reportArgumentType]
            self._compiling.within(0.0)
            row["seconds"] = round(self._worked() - start, 3)
            fixtures = (self.of_fixtures[name] for name in item.fixturenames)
            row["calls"] = sorted(self.calls.union(*fixtures))
            _forget(self.package)
            self._write()
            if self._worked() > FILE:
                item.session.shouldstop = "enough of this file"

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test that fails, or is skipped, says nothing about a mutant."""
        if report.outcome != "passed":
            self.tests[report.nodeid]["passed"] = False

    def _worked(self) -> float:
        return time.process_time() - self._compiling.seconds

    def _write(self) -> None:
        modules = sorted(name for name in sys.modules if name.split(".")[0] == self.package)
        found = {"modules": modules, "tests": self.tests}
        self.file.write_text(json.dumps(found), encoding="utf-8")


def _name(module: str, code: Any) -> str:
    """A function or method, also for what stands within it."""
    return f"{module}:{code.co_qualname.split('.<')[0]}"


def _stop(*_: Any) -> None:
    raise TooSlow


def _forget(package: str) -> None:
    """Empty the caches of functions: the next test must call what it needs itself."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in (package, "tests"):
            for value in list(vars(module).values()):
                if callable(getattr(value, "cache_clear", None)):
                    value.cache_clear()


class Calls:
    """The maps of all test files, kept in a folder.

    A map is made again when its test file has changed, what all of them share, or a module that was
    imported when it was made.
    """

    def __init__(self, root: Path, modules: dict[str, Path], folder: Path) -> None:
        self.root, self.folder = root, folder
        self.package = next(iter(modules)).split(".")[0]
        self._digests = {name: digest(file.read_bytes()) for name, file in modules.items()}
        shared = sorted(set(root.glob("tests/*.py")) - set(root.glob("tests/test_*")))
        self._shared = [file.read_bytes() for file in shared]
        self._rows: dict[str, dict[str, Any]] = {}
        self._files: dict[str, dict[str, Any]] = {}
        self._kept: dict[str, Path] = {}
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def make(self, files: Iterable[str], jobs: int = 1) -> Iterator[tuple[str, int]]:
        """Read or make the map of each file; say how many of its tests are of use."""
        files = list(files)
        with ThreadPoolExecutor(jobs) as pool:
            for file, found in zip(files, pool.map(self._map_of, files), strict=True):
                self._files[file] = found
                passed = {name: row for name, row in found["tests"].items() if row["passed"]}
                self._rows |= passed
                yield file, len(passed)

    def _map_of(self, file: str) -> dict[str, Any]:
        kept = self._name(file)  # of the text as it is now
        self._kept[file] = kept
        found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        if not found or found["state"] != self._state(found):
            found = self._made(file)
            kept.write_text(json.dumps(found), encoding="utf-8")
        return found

    def calling(self, module: str, function: str) -> dict[str, float]:
        """The seconds of tests that call a function, or ("") any of a module; or import it."""
        name = f"{module}:{function}"
        found = {
            test: row["seconds"]
            for test, row in self._rows.items()
            if (name in row["calls"] if function else any(c.startswith(name) for c in row["calls"]))
        }
        if found or function:
            return found
        files = {file for file, each in self._files.items() if module in each["modules"]}
        within = (test for test in self._rows if test.partition("::")[0] in files)
        return {test: self._rows[test]["seconds"] for test in within}

    def passes_without_numba(self, test: str) -> bool:
        """Whether it passes so, soon: tried once."""
        with self._lock:
            known = self._files[test.partition("::")[0]]["plain"]
            if test not in known:
                job = Job(str(self.root), self.package, {test: PLAIN}, FILE, jit=False)
                known[test] = run(job, FILE).what == "passed"
                self._keep(test.partition("::")[0])
            return known[test]

    def fails_without_numba(self, test: str) -> bool:
        """Whether that has been seen."""
        return self._files[test.partition("::")[0]]["plain"].get(test) is False

    def _made(self, file: str) -> dict[str, Any]:
        part = self._kept[file].with_suffix(".part")
        part.write_text('{"modules": [], "tests": {}}', encoding="utf-8")
        plugin = CallMap(self.package, part)
        run(Job(str(self.root), self.package, {file: 0.0}, 0.0, plugin=plugin), 5 * FILE)
        found = json.loads(part.read_text(encoding="utf-8"))
        part.unlink()
        return found | {"state": self._state(found), "plain": {}}

    def _keep(self, file: str) -> None:
        self._kept[file].write_text(json.dumps(self._files[file]), encoding="utf-8")

    def _name(self, file: str) -> Path:
        path = self.root / file
        return self.folder / f"{path.stem}-{digest(*self._shared, path.read_bytes())}.json"

    def _state(self, found: dict[str, Any]) -> str:
        """Of the modules that were imported."""
        digests = (self._digests.get(name, "gone") for name in found["modules"])
        return digest(*(each.encode() for each in digests))


def digest(*texts: bytes) -> str:
    """A name for texts."""
    return hashlib.sha256(b"".join(texts)).hexdigest()[:16]
