"""The first run: kernels are compiled where they can be kept, and a sentence says so."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import command_line
import mallowmix as mm
from mallowmix.cli.compile_note import FIRST_FIT_SECONDS, watch_compiling
from mallowmix.numerics import kernel_cache
from mallowmix.numerics.compiled import compiled, unwritable

SOURCE = Path(mm.__file__).parent
# that a first fit of the dishes calls from Python, without and with its predictor
MOST_KERNELS = {"predictor=False": 15, "predictor=True": 23}
ONE_KERNEL = ("separability", "--n-items", "4", "-k", "2", "--n-draws", "3", "--phi", "0.1")


def run(*words, **environment):
    """A command in a process of its own, with the variables named here (None: not set)."""
    variables = {**os.environ, **environment}
    variables = {name: value for name, value in variables.items() if value is not None}
    command = [sys.executable, "-m", "mallowmix", *map(str, words)]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def read_only_copy(folder):
    """The package where nothing can be kept beside the source.

    The tests may run as root, whom permissions do not stop: a file in the place of each
    `__pycache__` does.
    """
    shutil.copytree(SOURCE, folder / "mallowmix", ignore=shutil.ignore_patterns("__pycache__"))
    for file in (folder / "mallowmix").rglob("*.py"):
        (file.parent / "__pycache__").touch()
    return folder


@pytest.mark.slow
def test_a_read_only_install_without_a_home_works(tmp_path):
    copy = read_only_copy(tmp_path / "copy")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {
        "PYTHONPATH": str(copy),
        "HOME": "/dev/null",
        "XDG_CACHE_HOME": None,
        "NUMBA_CACHE_DIR": None,
        "TMPDIR": str(temporary),
    }
    done = run(*ONE_KERNEL, **environment)
    assert done.returncode == 0, done.stderr
    kept = list(temporary.rglob("*.nbi"))
    assert kept and kept[0].is_relative_to(temporary / f"mallowmix-kernels-{os.getuid()}")
    assert "Compiling, once: about" in done.stderr
    again = run(*ONE_KERNEL, **environment)
    assert again.returncode == 0 and "ompiling" not in again.stderr
    assert again.stdout == done.stdout


def test_a_temporary_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mine = kernel_cache._temporary_folder()
    assert mine.stat().st_mode & 0o777 == 0o700
    assert kernel_cache._temporary_folder() == mine
    mine.chmod(0o777)  # anybody could put a kernel there
    other = kernel_cache._temporary_folder()
    assert other != mine and other.stat().st_mode & 0o777 == 0o700


def test_a_usable_folder_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(kernel_cache, "_temporary_folder", lambda: pytest.fail("not needed"))
    monkeypatch.setenv(kernel_cache.VARIABLE, "mine")
    kernel_cache.use_writable_cache()
    assert os.environ[kernel_cache.VARIABLE] == "mine"


def test_compiling_is_noticed_and_loading_is_not():
    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) * 2

    heard = []
    with watch_compiling(heard.append):
        assert outer(3) == 8
        assert len(heard) == 2 and heard[0] == 0 < heard[1] < FIRST_FIT_SECONDS
        outer(4)  # compiled already
    outer(1.5)  # nobody listens
    assert len(heard) == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["show", "rank"])
def test_showing_a_model_imports_no_heavy_package(command, tmp_path):
    """Each of these takes longer to import than all that the command does."""
    model = mm.M4.from_orders([["a", "b", "c"], ["c", "b", "a"]], phi=0.3)
    mm.save(model, tmp_path / "model.m4")
    heavy = "pydantic numba llvmlite pyarrow narwhals scipy sklearn plotly pandas polars xarray"
    assert command_line.imports_of(command, tmp_path / "model.m4", of=heavy)[1] == []


@pytest.mark.slow
def test_rank_of_a_person_imports_no_pandas_and_says_the_same(tmp_path):
    model = mm.M4.from_orders([["a", "b", "c"], ["c", "b", "a"]], phi=0.3)
    mm.save(model, tmp_path / "model.m4")
    (tmp_path / "votes.csv").write_text("user,winner,loser\nann,a,b\nann,b,c\nbob,c,a\n")
    words = ["rank", str(tmp_path / "model.m4"), str(tmp_path / "votes.csv"), "--user", "ann"]
    said, imported = command_line.imports_of(*words, "--json", of="pandas")
    assert imported == [] and said == command_line.run(*words, "--json")[0]


@compiled(inline="always")
def add_one(x):
    """One more."""
    return x + 1


@compiled
def half(x):
    return x / 2


@compiled(fastmath=True)
def halves_of_next(values):
    total = 0.0
    for value in values:
        total += half(add_one(value))
    return total


def test_a_kernel_calls_others_and_is_pickled_by_its_name():
    assert halves_of_next(np.array([1.0, 2.0])) == 2.5
    assert halves_of_next(values=np.array([3])) == 2
    assert pickle.loads(pickle.dumps(halves_of_next)) is halves_of_next
    assert add_one.__doc__ == "One more." and add_one.py_func(1) == 2
    assert not hasattr(add_one, "__array__")


@pytest.mark.slow
def test_importing_kernels_imports_no_numba():
    script = (
        "import sys\n"
        "from mallowmix.learn.spectral.gibbs_sweep import _sweep\n"
        "print('numba' in sys.modules, _sweep.__name__)\n"
        "_sweep.signatures\n"
        "print('numba' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "_sweep", "True"]


def test_a_kernel_is_compiled_once_for_arrays_that_can_and_cannot_be_written():
    kept, open_to_all = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    kept.setflags(write=False)
    assert halves_of_next(unwritable(kept)) == 2.5
    compiled_for = len(halves_of_next._outer.signatures)
    assert halves_of_next(unwritable(open_to_all)) == 2.5
    assert len(halves_of_next._outer.signatures) == compiled_for
    assert open_to_all.flags.writeable and np.shares_memory(unwritable(open_to_all), open_to_all)


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of Linux")
def test_the_users_cache_is_where_the_desktop_says(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel_cache._user_cache() == tmp_path
    for unset in ("", None):
        if unset is None:
            monkeypatch.delenv("XDG_CACHE_HOME")
        else:
            monkeypatch.setenv("XDG_CACHE_HOME", unset)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert kernel_cache._user_cache() == tmp_path / "home" / ".cache"


@pytest.mark.slow
@pytest.mark.parametrize("predictor", MOST_KERNELS)
def test_a_first_fit_compiles_few_kernels_and_each_for_one_kind_of_arrays(predictor):
    """Every kernel or kind of arrays more is waited for by every user, once."""
    script = (
        "import gc\n"
        "import mallowmix as mm\n"
        "from mallowmix.numerics.compiled import Kernel\n"
        f"mm.fit(mm.load_dishes().comparisons, 3, {predictor})\n"
        "made = [k for k in gc.get_objects() if type(k) is Kernel and k._outer is not None]\n"
        "for kernel in made:\n"
        "    print(kernel.__name__, len(kernel._outer.signatures))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    kinds = {name: int(n) for name, n in (line.split() for line in done.stdout.splitlines())}
    assert 10 < len(kinds) <= MOST_KERNELS[predictor]
    assert set(kinds.values()) == {1}
