"""Tests in a process forked from one that has imported pytest and Numba: it starts at once.

`Changed` gives a module another source when it is imported; nothing is written. Numba's cache stays
right: kernels of a changed module, and those that contain them, are compiled anew.
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
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

WARM = ["numba", "pytest", "hypothesis", "hypothesis.extra.numpy", "scipy.optimize", "scipy.stats"]
WARM += ["scipy.sparse.linalg", "scipy.spatial", "_pytest.assertion.rewrite", "_pytest.doctest"]
QUIET = ["-q", "--no-header", "-p", "no:xdist", "-p", "no:cacheprovider"]
OVERFLOW = ["-W", "ignore:overflow encountered in scalar:RuntimeWarning"]  # without Numba
BYTES = 8 << 30


class Job(NamedTuple):
    """What a forked process runs: groups of tests, one after the other, until one fails."""

    root: str
    package: str
    groups: Sequence[Sequence[str]]
    jit: bool = True
    module: str = ""
    source: bytes = b""
    stale: frozenset[str] = frozenset()
    plugin: Any = None


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


def run(job: Job, seconds: float) -> str:
    """What came of it: "passed", "failed", or "timeout" after so many seconds of one core.

    A process that sleeps is ended after four times as long.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(WARM)
    process = context.Process(target=_work, args=(job, seconds))
    process.start()
    process.join(4 * seconds)
    ended = process.exitcode is not None
    _end_group(process.pid)  # its children, too
    process.join()
    if not ended or process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "timeout"
    return "passed" if process.exitcode == 0 else "failed"


def _end_group(leader: int | None) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader or os.getpid(), signal.SIGKILL)


def _work(job: Job, seconds: float) -> None:
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 6))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        code = _prepared(job)
    except BaseException:  # a mutant may raise anything while it is imported
        traceback.print_exc()
        code = 1
    os._exit(code)


def _prepared(job: Job) -> int:
    import numba
    import pytest

    os.chdir(job.root)
    source = Path(job.root, "src")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(source), job.root])
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
    plugins = [job.plugin] if job.plugin else []
    options = [*QUIET, *([] if plugins else ["-x"]), *([] if job.jit else OVERFLOW)]
    for tests in job.groups:
        code = int(pytest.main([*options, *tests], plugins=plugins))
        if code:
            return code
    return 0


def _without_cache_of(stale: frozenset[str], njit: Any) -> Any:
    """Numba's `njit`, but kernels of these modules are neither read from its cache nor written."""

    def of(*function: Any, **options: Any) -> Any:
        def made(function: Any) -> Any:
            cache = options.get("cache", False) and function.__module__ not in stale
            return njit(**options | {"cache": cache})(function)

        return njit(*function, **options) if function else made

    return of
