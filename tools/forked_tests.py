"""Tests in a process forked from one that has imported pytest and Numba: it starts at once.

`Changed` gives a module another source when it is imported; nothing is written. Numba's cache stays
right: changed kernels, and those that contain them or a changed constant, are compiled anew.
"""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import pytest
from numba.core import event

QUIET = ["-q", "--no-header", "-p", "no:cacheprovider"]
OVERFLOW = ["-W", "ignore:overflow encountered in scalar:RuntimeWarning"]  # without Numba
BYTES = 8 << 30
FIRST = 12  # tests: most mutants fail one of them, and to collect the others takes longer
OUT_OF_BUDGET = 77  # an exit status that pytest does not use


class Job(NamedTuple):
    """What a forked process runs: tests, each with its most seconds, until one fails.

    No test is begun after `budget` seconds. A plugin watches the tests instead, and all are run.
    """

    root: str
    package: str
    tests: Mapping[str, float]
    budget: float
    jit: bool = True
    module: str = ""
    source: bytes = b""
    stale: frozenset[str] = frozenset()  # names: what contains them is compiled anew
    plugin: Any = None


class Outcome(NamedTuple):
    """What came of it: "passed", "failed", "timeout", or "unfinished"; and the last test begun."""

    what: str
    test: str


class Changed(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Finds one module, and loads it with another source under the name of its file."""

    def __init__(self, module: str, path: str, source: bytes) -> None:
        super().__init__(module, path)
        self.source = source

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """The specification of this one module."""
        if fullname == self.name:
            return importlib.util.spec_from_file_location(fullname, self.path, loader=self)
        return None

    def get_code(self, fullname: str) -> CodeType:
        """The changed source, compiled; never the one that Python keeps beside the file."""
        return compile(self.source, self.path, "exec")


class Compiling(event.Listener):
    """How many seconds Numba has compiled; a limit for what runs between two compilations."""

    def __init__(self) -> None:
        self.seconds, self._depth, self._start, self._limit = 0.0, 0, 0.0, 0.0
        event.register("numba:compile", self)

    def within(self, seconds: float) -> None:
        """SIGPROF comes, and ends the process, after so many seconds of work; 0 is no limit."""
        self._limit = seconds
        signal.setitimer(signal.ITIMER_PROF, seconds)

    def on_start(self, event: Any) -> None:
        """Compiling has no limit."""
        if not self._depth:
            self._start = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """What runs now has one."""
        self._depth -= 1
        if not self._depth:
            self.seconds += time.process_time() - self._start
            signal.setitimer(signal.ITIMER_PROF, self._limit)


class Watch:
    """A plugin of pytest: says which test runs, and ends a process whose test takes too long."""

    def __init__(self, job: Job, begun: Path) -> None:
        self.job, self.begun, self.compiling = job, begun, Compiling()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[Any]:
        """One test, with its fixtures."""
        self.begun.write_text(item.nodeid, encoding="utf-8")
        if time.process_time() - self.compiling.seconds > self.job.budget:
            os._exit(OUT_OF_BUDGET)
        self.compiling.within(self.job.tests[item.nodeid])
        result = yield
        self.compiling.within(0.0)
        return result


def run(job: Job, seconds: float) -> Outcome:
    """What came of it, in at most so many seconds of one core.

    A process that sleeps is ended after four times as long.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tools.warm"])
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as begun:
        process = context.Process(target=_work, args=(job, seconds, Path(begun.name)))
        process.start()
        process.join(4 * seconds)
        ended = process.exitcode is not None
        _end_group(process.pid)  # its children, too
        process.join()
        late = {-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGPROF}
        named = {0: "passed", OUT_OF_BUDGET: "unfinished"} | dict.fromkeys(late, "timeout")
        what = named.get(process.exitcode, "failed") if ended else "timeout"
        return Outcome(what, begun.read())


def _end_group(leader: int | None) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader or os.getpid(), signal.SIGKILL)


def _work(job: Job, seconds: float, begun: Path) -> None:
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 6))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        code = _prepared(job, begun)
    except BaseException:  # a mutant may raise anything while it is imported
        traceback.print_exc()
        code = 1
    os._exit(code)


def _prepared(job: Job, begun: Path) -> int:
    import numba

    os.chdir(job.root)
    source = Path(job.root, "src")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(source), job.root])
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # no test of the core needs one
    sys.path[:0] = [str(source), job.root]
    for name in [name for name in sys.modules if name.split(".")[0] in (job.package, "tests")]:
        del sys.modules[name]
    config: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]
    config.DISABLE_JIT = int(not job.jit)
    if job.stale:
        numba.njit = _without_cache_of(job.stale, numba.njit)
    if job.module:
        file = source.joinpath(*job.module.split("."))
        path = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        sys.meta_path.insert(0, Changed(job.module, str(path), job.source))
    options = [*QUIET, *([] if job.plugin else ["-x"]), *([] if job.jit else OVERFLOW)]
    plugin, tests = job.plugin or Watch(job, begun), list(job.tests)
    for some in filter(None, (tests[:FIRST], tests[FIRST:])):
        if code := int(pytest.main([*options, *some], plugins=[plugin])):
            return code
    return 0


def _without_cache_of(stale: frozenset[str], njit: Any) -> Any:
    """Numba's `njit`, but kernels that contain these names are neither read nor kept by it."""

    def contains(function: Any) -> bool:
        code = function.__code__
        if stale & {code.co_name, *code.co_names}:
            return True
        used = (function.__globals__.get(name) for name in code.co_names)
        return any(contains(each._function) for each in used if hasattr(each, "_function"))

    def of(*function: Any, **options: Any) -> Any:
        def made(function: Any) -> Any:
            cache = options.get("cache", False) and not contains(function)
            return njit(**options | {"cache": cache})(function)

        return njit(*function, **options) if function else made

    return of
