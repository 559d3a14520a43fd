"""Which tests call which functions of a package, and how long each takes: a map made once.

A plugin of pytest looks at every call. Numba's kernels are seen where Python calls them, with the
kernels that they name; what a fixture calls counts for each test that uses it.
"""

import hashlib
import json
import re
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tools.forked_tests import Job, run


class TooSlow(BaseException):
    """A test that takes longer than a mutant is worth."""


class CallMap:
    """Writes {test: {"seconds", "passed", "calls"}} to a file when the tests are done."""

    def __init__(self, package: str, file: Path, limit: float) -> None:
        self.package, self.file, self.limit = package, file, limit
        self.tests: dict[str, dict[str, Any]] = {}
        self.calls: set[str] = set()
        self.of_fixtures: dict[str, set[str]] = defaultdict(set)
        self._codes: dict[Any, str] = {}

    def _seen(self, frame: Any, event: str, _: Any) -> None:
        if event != "call":
            return
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
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Watch one test, from its fixtures to its end."""
        self.calls, start = set(), time.process_time()
        row = self.tests[item.nodeid] = {"passed": True}
        signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, self.limit, 1.0)
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)
        try:
            return (yield)
        except TooSlow:
            row["passed"] = False
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # pyright: ignore[reportArgumentType]
            signal.setitimer(signal.ITIMER_PROF, 0)
            row["seconds"] = round(time.process_time() - start, 3)
            fixtures = (self.of_fixtures[name] for name in item.fixturenames)
            row["calls"] = sorted(self.calls.union(*fixtures))
            _forget(self.package)
            self.file.write_text(json.dumps(self.tests), encoding="utf-8")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test that fails, or is skipped, says nothing about a mutant."""
        if report.outcome != "passed":
            self.tests[report.nodeid]["passed"] = False


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


class Effort(NamedTuple):
    """How long tests may take to be of use: each, all of a file, and those of one mutant."""

    test: float
    file: float
    mutant: float


QUICK, THOROUGH = Effort(1.5, 20.0, 8.0), Effort(15.0, 120.0, 40.0)


class Timings:
    """The maps of test files, made when first asked for, and kept in a folder."""

    def __init__(self, root: Path, package: str, folder: Path, effort: Effort = QUICK) -> None:
        self.root, self.package, self.folder, self.effort = root, package, folder, effort
        folder.mkdir(parents=True, exist_ok=True)
        tests = root / "tests"
        read = [*(root / "src").rglob("*.py"), *set(tests.glob("*.py")) - set(tests.glob("test_*"))]
        self._state = hashlib.sha256(b"".join(each.read_bytes() for each in sorted(read)))
        self._lock = threading.Lock()

    def calling(self, file: str, module: str, function: str) -> dict[str, float]:
        """The quickest tests of a file that call a function, or ("") any of a module, or any."""
        found = self._kept(file, True)
        with self._lock:
            if not found.exists():
                self._map(found.with_suffix(".part"), [file], True).replace(found)
        rows = json.loads(found.read_text(encoding="utf-8"))
        wanted = re.compile(re.escape(f"{module}:{function}") + ("$" if function else ""))
        called = [test for test, row in rows.items() if any(map(wanted.match, row["calls"]))]
        called = called if module else list(rows)
        return self._quickest({test: rows[test] for test in called})

    def without_numba(self, file: str, tests: dict[str, float]) -> dict[str, float]:
        """Those that pass without Numba, too, and how long they take then."""
        found = self._kept(file, False)
        with self._lock:
            rows = json.loads(found.read_text(encoding="utf-8")) if found.exists() else {}
            missing = [test for test in tests if test not in rows]
            if missing:
                part = self._map(found.with_suffix(".part"), missing, False)
                rows |= {test: {"passed": False, "seconds": 0.0} for test in missing}
                rows |= json.loads(part.read_text(encoding="utf-8"))
                found.write_text(json.dumps(rows), encoding="utf-8")
        return self._quickest({test: rows[test] for test in tests})

    def _map(self, to: Path, tests: list[str], jit: bool) -> Path:
        to.write_text("{}", encoding="utf-8")
        plugin = CallMap(self.package, to, self.effort.test)
        run(Job(str(self.root), self.package, [tests], jit=jit, plugin=plugin), self.effort.file)
        return to

    def _kept(self, file: str, jit: bool) -> Path:
        state = self._state.copy()
        state.update((self.root / file).read_bytes())
        kind = f"{'jit' if jit else 'plain'}{self.effort.file:g}"
        return self.folder / f"{Path(file).stem}-{kind}-{state.hexdigest()[:16]}.json"

    def _quickest(self, rows: dict[str, Any]) -> dict[str, float]:
        """The quickest 15 tests that pass, in the time of one mutant."""
        chosen: dict[str, float] = {}
        passed = [(row["seconds"], test) for test, row in rows.items() if row["passed"]]
        for used, test in sorted(passed)[:15]:
            if sum(chosen.values()) + used <= self.effort.mutant:
                chosen[test] = used
        return chosen
