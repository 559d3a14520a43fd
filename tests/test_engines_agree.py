"""The same model from threads, from disk, and from a cluster of real processes, also when one of
them is killed.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import mallowmix as mm
from mallowmix.engine import ThreadEngine, make_shards
from mallowmix.engine.out_of_core.disk import DiskEngine
from mallowmix.engine.out_of_core.finished_passes import FinishedPasses
from mallowmix.engine.out_of_core.store import store_comparisons
from mallowmix.engine.selection import make_engine
from mallowmix.errors import EngineError, MallowmixWarning, OptionError
from mallowmix.learn.spectral.large_data import tabulate_all_users
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.signed_moment import _count_step
from mallowmix.model.fit_options import SpectralOptions
from planted import error, planted
from slow_step import failing_step, slow_count

TRUTH = planted(10, 2, 0.5)


@pytest.fixture(scope="module")
def votes():
    return TRUTH.sample(900, np.arange(900) % 40 + 1, seed=2).comparisons


@pytest.fixture(scope="module")
def stored(votes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    table = votes.to_arrow()
    (folder / "votes").mkdir()
    for i, rows in enumerate(np.array_split(np.random.default_rng(0).permutation(len(table)), 3)):
        pq.write_table(table.take(rows), folder / "votes" / f"part-{i}.parquet")
    return store_comparisons(folder / "votes", folder / "blocks", memory="300MB")


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    """A sample of 4,000 comparisons, so that small data goes the way of large data: a sample first,
    then everybody.
    """
    monkeypatch.setattr("mallowmix.learn.spectral.user_sample.ENOUGH", 4000)


def bytes_of(model, folder):
    mm.save(model, folder / "model.m4")
    return (folder / "model.m4").read_bytes()


def fitted(comparisons, folder, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return bytes_of(mm.fit(comparisons, 2, seed=3, **options, predictor=False), folder)


@pytest.fixture(scope="module")
def expected(votes, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mallowmix.learn.spectral.user_sample.ENOUGH", 4000)
        return fitted(votes, tmp_path_factory.mktemp("expected"), n_jobs=1)


@pytest.mark.slow
def test_threads_and_disk_give_the_same_bytes(votes, stored, expected, tmp_path):
    assert fitted(votes, tmp_path, n_jobs=2) == expected
    assert fitted(stored, tmp_path) == expected
    assert fitted(stored, tmp_path, engine=DiskEngine(1, memory="256MB")) == expected
    assert fitted(stored, tmp_path, engine="threads") == expected
    model = mm.load(tmp_path / "model.m4")
    assert model.report.spectral.sampled_share < 1 and error(model, TRUTH) < 0.05
    assert not (stored.folder / "passes").exists()  # a fit that went well leaves nothing behind


def test_small_data_gives_the_same_bytes_too(votes, stored, tmp_path, monkeypatch):
    monkeypatch.setattr("mallowmix.learn.spectral.user_sample.ENOUGH", 10**6)
    assert fitted(votes, tmp_path, method=SpectralOptions(refine="short")) == fitted(
        stored, tmp_path, method=SpectralOptions(refine="short"), engine="disk"
    )


KILLED = """
import os, signal, sys, warnings
import mallowmix as mm
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.learn.spectral import user_sample as sample
sample.ENOUGH = 4000
warnings.simplefilter("ignore")
def report(step, done, total):
    if step == "all users":
        os.kill(os.getpid(), signal.SIGKILL)
mm.fit(StoredComparisons(sys.argv[1]), 2, seed=3, progress=report)
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_and_gives_the_same_bytes(stored, expected, tmp_path, monkeypatch):
    """Killed in the pass over everybody: the count of pairs before it was finished, and is not done
    again.
    """
    killed = subprocess.run([sys.executable, "-c", KILLED, str(stored.folder)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list((stored.folder / "passes").glob("*.npz"))) == 1
    kept, found = [], []
    keep, find = FinishedPasses.keep, FinishedPasses.find
    monkeypatch.setattr(
        FinishedPasses,
        "keep",
        lambda self, step, *rest: (kept.append(step), keep(self, step, *rest))[1],
    )
    monkeypatch.setattr(
        FinishedPasses,
        "find",
        lambda self, step, *rest: (found.append(find(self, step, *rest)), found[-1])[1],
    )
    assert fitted(stored, tmp_path) == expected
    assert [there for _, there in found].count(True) == 1
    assert "count pairs" not in {step.name for step in kept}


def test_a_damaged_pass_is_done_again(stored, tmp_path):
    engine = DiskEngine(1)
    shards = make_shards(stored.blocks())
    with engine.session(stored, 2):
        first, _ = engine.reduce(_count_step, shards)
        (file,) = (stored.folder / "passes").glob("*.npz")
        file.write_bytes(file.read_bytes()[:50])
        again, _ = engine.reduce(_count_step, shards)
    assert again.tobytes() == first.tobytes() == stored.pair_counts.tobytes()
    assert not (stored.folder / "passes").exists()


def test_memory_decides_how_many_threads_have_room():
    engine = DiskEngine(8, memory="2GB")
    assert engine._room(200, 20) >= 2
    with pytest.raises(
        OptionError,
        match=r"memory is '300MB'; it must be at least [\d,]+MB for the work arrays of "
        r"50 components and 400 items\. Raise it, or lower n_components\.",
    ):
        DiskEngine(1, memory="300MB")._room(400, 50)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"method": "projections"}, 'method="projections"'),
        ({"components": "bradley-terry"}, 'components="bradley-terry"'),
        ({"n_fits": 2}, "n_fits=2"),
    ],
)
def test_what_needs_memory_says_so(stored, options, wanted):
    with pytest.raises(OptionError, match=f"{wanted} needs the comparisons in memory"):
        mm.fit(stored, 2, **options, predictor=False)


def test_weights_and_held_out_likelihood_from_disk(votes, stored):
    assert mm.weights(TRUTH, stored, engine="disk").tobytes() == mm.weights(TRUTH, votes).tobytes()
    one, two = (mm.heldout(TRUTH, data, "completion", engine="disk") for data in (stored, votes))
    assert one == two


def test_engines_by_name():
    assert type(make_engine(None, n_jobs=1)) is ThreadEngine and isinstance(
        make_engine(None, memory="1GB"), DiskEngine
    )
    with pytest.raises(
        OptionError, match="engine is 'cloud'; it must be one of 'threads', 'disk', 'dask'"
    ):
        make_engine("cloud")
    with pytest.raises(OptionError, match='scheduler goes with engine="dask", not with disk'):
        make_engine("disk", scheduler="tcp://127.0.0.1:1")


def test_halves_add_up_to_everybody(votes):
    """The tables of even and of odd people, against tables of each half alone: the same draws, so
    the same sums of logarithms.
    """
    blocks = mm.engine.make_blocks(votes)
    columns, alpha = (
        MallowsComponents(np.array(TRUTH.sigma), np.array(TRUTH.phi)),
        np.array(TRUTH.alpha),
    )
    halves = tabulate_all_users(blocks, columns, alpha, ThreadEngine(2), seed=4)
    P = 45
    assert halves.shape == (2, 2 * P, 15)
    for odd in (0, 1):
        alone = [_only(block, odd) for block in blocks]
        tables = tabulate_all_users(alone, columns, alpha, ThreadEngine(1), seed=4)
        np.testing.assert_allclose(
            tables[:, :P] + tables[:, P:], halves[:, odd * P : (odd + 1) * P], rtol=1e-4, atol=1e-3
        )


def _only(block, odd):
    """The block with nobody counted but people of even or of odd number."""
    from dataclasses import replace

    number = block.first_user + np.arange(block.n_users)
    weight = block.weight.copy()
    return replace(block, weight=weight, user_weight=np.where(number % 2 == odd, 1.0, 0.0))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and three workers, each a process of its own, on the loopback."""
    pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    tests = {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    quiet = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "cwd": folder,
        "env": os.environ | tests,
    }
    head = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
    ]
    processes = [subprocess.Popen([*head, "--no-dashboard", "--scheduler-file", file], **quiet)]
    worker = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        "--scheduler-file",
        str(file),
        "--nthreads",
        "1",
    ]
    processes += [
        subprocess.Popen([*worker, "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"], **quiet)
        for _ in range(3)
    ]
    from distributed import Client

    deadline = time.monotonic() + 600
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    client = Client(scheduler_file=str(file), timeout=300)
    client.wait_for_workers(3, timeout=600)
    yield client, processes[1:]
    client.close()
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes_and_a_killed_worker_changes_nothing(
    cluster, stored, expected, tmp_path
):
    from mallowmix.engine.dask import DaskEngine

    client, processes = cluster
    engine = DaskEngine(client)
    assert fitted(stored, tmp_path, engine=engine) == expected  # three workers

    shards = make_shards(stored.blocks()) * 4
    calm, _ = ThreadEngine(1).reduce(slow_count, shards, 0.0)
    running = client.submit(lambda: os.getpid(), pure=False).result()
    victim = next(process for process in processes if process.pid == running)
    seen = []

    def kill(done, total):
        seen.append(done)
        if done == 1:
            victim.kill()

    shaken, _ = engine.reduce(slow_count, shards, 0.15, progress=kill)
    assert victim.wait(timeout=300) == -signal.SIGKILL
    assert shaken.tobytes() == calm.tobytes() and seen == list(range(1, len(shards) + 1))
    assert len(client.nthreads()) == 2
    assert fitted(stored, tmp_path, engine=engine) == expected  # two workers
    client.retire_workers([next(iter(client.nthreads()))])
    assert fitted(stored, tmp_path, engine=engine) == expected  # one
    names = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert any(name.startswith("mallowmix") for name in names)


@pytest.fixture
def one_address(tmp_path):
    """Start a scheduler and a worker, any number of times, at one address; and stop them."""
    pytest.importorskip("distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, running = f"tcp://127.0.0.1:{port}", []
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    quiet = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "cwd": tmp_path,
        "env": os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)},
    }

    def stop():
        while running:
            process = running.pop()
            process.kill()
            process.wait()

    def start():
        own = ["--host", "127.0.0.1", "--no-dashboard"]
        scheduler = ["distributed.cli.dask_scheduler", "--port", str(port), *own]
        worker = ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", *own]
        running.extend(
            subprocess.Popen([sys.executable, "-m", *arguments], **quiet)
            for arguments in (scheduler, worker)
        )

    yield address, start, stop
    stop()


@pytest.mark.slow
def test_a_pass_goes_on_when_a_lost_scheduler_is_back(one_address, stored, monkeypatch):
    from mallowmix.engine import dask

    address, start, stop = one_address
    start()
    monkeypatch.setattr(dask, "_PATIENCE", 300.0)
    engine = None
    for _ in range(100):  # the first start takes a while
        try:
            engine = dask.DaskEngine(address)
            break
        except OptionError:
            time.sleep(0.5)
    shards = make_shards(stored.blocks()) * 4
    calm, _ = ThreadEngine(1).reduce(slow_count, shards, 0.0)
    seen = []

    def lose(done, total):
        seen.append(done)
        if done == 2:
            stop()
            start()

    shaken, _ = engine.reduce(slow_count, shards, 0.05, progress=lose)
    assert shaken.tobytes() == calm.tobytes() and seen == list(range(1, len(shards) + 1))

    monkeypatch.setattr(dask, "_PATIENCE", 2.0)
    with pytest.raises(EngineError, match=f"The Dask scheduler at {address} was lost, and was not"):
        engine.reduce(slow_count, shards, 0.05, progress=lambda done, total: stop())
    start()
    monkeypatch.setattr(dask, "_PATIENCE", 300.0)
    with pytest.raises(FileNotFoundError):  # what a step raises is no lost scheduler
        engine.reduce(failing_step, shards, "nothing.parquet")
    engine.client.close()


def test_no_scheduler_there(tmp_path):
    pytest.importorskip("distributed")
    from mallowmix.engine import dask

    with pytest.raises(OptionError, match="No Dask scheduler answers at nonsense://nowhere"):
        dask.DaskEngine("nonsense://nowhere")


SCRIPT = """
import sys, warnings
import mallowmix as mm
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.learn.spectral import user_sample as sample
sample.ENOUGH = 4000
warnings.simplefilter("ignore")
data = StoredComparisons(sys.argv[1])
model = mm.fit(data, 2, seed=3, engine="dask", n_jobs=1, predictor=False)
mm.save(model, sys.argv[2])
"""


@pytest.mark.slow
def test_a_plain_script_without_a_guard_starts_its_own_cluster(stored, expected, tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [
        sys.executable,
        str(tmp_path / "script.py"),
        str(stored.folder),
        str(tmp_path / "model.m4"),
    ]
    subprocess.run(command, check=True, timeout=1200, capture_output=True)
    assert (tmp_path / "model.m4").read_bytes() == expected
