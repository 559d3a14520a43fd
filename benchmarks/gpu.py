"""The passes on a real GPU.

Data drawn there, compared with the processor, timed against what the GPU can copy and gather.

`python benchmarks/gpu.py -o FOLDER` needs numpy, SciPy and CuPy alone; `--small` is a run of a few
seconds, with numpy where no GPU is. It prints its results as JSON and writes gpu.json into FOLDER.
"""

import argparse
import importlib.util
import json
import statistics
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]


def _reach_ours() -> None:
    """Where the package's needs are not met, its folders stand in for it.

    What needs numpy and SciPy alone still imports.
    """
    needs = ("lazy_loader", "numba", "pyarrow", "sklearn", "threadpoolctl")
    if all(importlib.util.find_spec(name) for name in needs):
        return
    for name in ("mallowmix", "mallowmix.engine", "mallowmix.learn"):
        package = types.ModuleType(name)
        package.__path__ = [str(ROOT.joinpath("src", *name.split(".")))]
        sys.modules[name] = package


_reach_ours()
from benchmarks import gpu_fit  # noqa: E402
from mallowmix.engine.gpu import device_arrays as device  # noqa: E402
from mallowmix.model.permutations import match_components  # noqa: E402

BATCH = 100_000_000  # comparisons drawn, and passed over, at a time
FULL = {"comparisons": 1_000_000_000, "items": 200, "components": 20, "per_person": 100}
SMALL = {"comparisons": 200_000, "items": 30, "components": 3, "per_person": 100}
CHECK = {"comparisons": 1_000_000, "items": 60, "components": 5, "per_person": 100}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Check against the processor, then time; what was found is printed, even if a part fails."""
    options = _parser().parse_args(arguments)
    size = (SMALL if options.small else FULL) | {
        name: int(value) for name in FULL if (value := getattr(options, name)) is not None
    }
    on, wait = _device(options.small)
    result: dict[str, Any] = {"about": _about(on), "size": size}
    _keep(result, "check", lambda: check(on, SMALL if options.small else CHECK, wait))
    _keep(result, "rates", lambda: rates(on, wait, options.small))
    _keep(result, "fit", lambda: timed_fit(on, size, result.get("rates", {}), wait))
    _keep(result, "streamed", lambda: streamed(on, size, wait))
    print(json.dumps(result, indent=1))
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "gpu.json").write_text(
            json.dumps(result, indent=1) + "\n", encoding="utf-8"
        )
    return result


def _keep(result: dict[str, Any], name: str, call: Callable[[], Any]) -> None:
    start = time.perf_counter()
    try:
        result[name] = call()
    except (
        Exception
    ) as error:  # a GPU costs too much for one mistake to lose the other measurements
        result[name] = {"failed": f"{type(error).__name__}: {error}"[:2000]}
    print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


def _device(small: bool) -> tuple[device.Arrays, Callable[[], None]]:
    """The GPU; for a small run the processor where there is none."""
    try:
        on = device.on_gpu()
    except Exception as error:
        if not small:
            sys.exit(
                f"This needs CuPy and a GPU ({type(error).__name__}: {error}). "
                "Without them, --small runs with numpy."
            )
        return device.on_processor(), lambda: None
    return on, lambda: on.xp.cuda.Device().synchronize()


def _about(on: device.Arrays) -> dict[str, Any]:
    if on.kernels is None:
        return {"gpu": None, "numpy": np.__version__}
    properties = on.xp.cuda.runtime.getDeviceProperties(0)
    return {"gpu": properties["name"].decode(), "cupy": on.xp.__version__, "numpy": np.__version__}


def check(on: device.Arrays, size: dict[str, int], wait: Callable[[], None]) -> dict[str, Any]:
    """The same people on the GPU, by fused kernels and by array programs, and on the processor.

    How far apart the passes are.
    """
    here, K = device.on_processor(), size["components"]
    truth = gpu_fit.planted(size["items"], K, phi=0.3)
    batch = gpu_fit.draw(
        here, truth, size["comparisons"] // size["per_person"], size["per_person"], 1
    )
    plain = device.Arrays(on.xp, on.sparse, on.special)
    weighted = batch._replace(
        weight=np.float32([1.0, 2.0, 2.5, 1.0])[np.arange(len(batch.pair)) % 4]
    )
    weighted = weighted._replace(
        user_weight=np.float32([1.0, 0.5, 2.0])[np.arange(len(batch.starts) - 1) % 3]
    )
    differences = {}
    for name, data in (("whole", batch), ("weighted", weighted)):
        expected = _passes(here, data, truth)
        for form, device_arrays in (("kernels", on), ("arrays", plain)):
            found = _passes(device_arrays, _moved(device_arrays, data), truth)
            differences[f"{name} {form}"] = {
                key: _apart(found[key], value) for key, value in expected.items()
            }
    fits = [gpu_fit.fit_short(each, [_moved(each, batch)], K, wait) for each in (here, on)]
    same = bool(np.array_equal(fits[0]["sigma"], fits[1]["sigma"]))
    phi = float(np.abs(fits[0]["phi"] - fits[1]["phi"]).max())
    return {
        "size": size,
        "largest relative difference": differences,
        "same rankings": same,
        "largest difference of phi": phi,
    }


def _passes(
    on: device.Arrays, batch: device.Batch, truth: gpu_fit.Planted
) -> dict[str, np.ndarray]:
    K = len(truth.sigma)
    moment = gpu_fit.Moment(on, [batch])
    V = np.random.default_rng(0).standard_normal((len(moment.pairs.share), K + 7))
    table, prior = (
        on.take(gpu_fit.beta_table(truth.sigma, np.full(K, 0.5)), np.float32),
        on.take(np.full(K, 0.2)),
    )
    counts, bound, sums, gamma = device.batch_e_step(on, batch, table, prior)
    again = device.batch_e_step(on, batch, table, prior, gamma)
    found = {
        "pairs": moment.pairs.count,
        "moment": moment.apply(V),
        "counts": counts,
        "bound": bound,
        "sums": sums,
    }
    found |= {"gamma": gamma, "second gamma": again[3], "second bound": again[1]}
    return {name: on.give(value).astype(np.float64) for name, value in found.items()}


def _apart(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def _moved(on: device.Arrays, batch: device.Batch) -> device.Batch:
    return device.Batch(
        batch.n_items, *(None if array is None else on.take(array) for array in batch[1:])
    )


def rates(on: device.Arrays, wait: Callable[[], None], small: bool) -> dict[str, float]:
    """Bytes a second: copied within the GPU (read and written), and gathered from a table of
    40,000 rows of 128 bytes.
    """
    n = 1 << (20 if small else 30)
    source = on.xp.zeros(n, np.float32)
    target = on.xp.empty_like(source)
    copied = 8 * n / _seconds(lambda: on.xp.copyto(target, source), wait)
    table = on.xp.zeros((40_000, 32), np.float32)
    if on.kernels:
        kernels, rounds = on.kernels, 64 if small else 4096
        nbytes = kernels.gather(table, rounds)
        gathered = nbytes / _seconds(lambda: kernels.gather(table, rounds), wait)
    else:
        rows = np.random.default_rng(0).integers(0, 40_000, 100_000)
        gathered = 128 * len(rows) / _seconds(lambda: table[rows], wait)
    return {"copied": copied, "gathered": gathered}


def timed_fit(
    on: device.Arrays, size: dict[str, int], rate: dict[str, float], wait: Callable[[], None]
) -> dict[str, Any]:
    """Draw all users; the floor of a pass; the seconds of each pass, and of the whole short fit."""
    n, K, per_person = size["comparisons"], size["components"], size["per_person"]
    truth = gpu_fit.planted(size["items"], K)
    start = time.perf_counter()
    batches = [
        gpu_fit.draw(
            on,
            truth,
            (min(n, first + BATCH) - first) // per_person,
            per_person,
            10 + first // BATCH,
        )
        for first in range(0, n, BATCH)
    ]
    wait()
    _free(on)
    found: dict[str, Any] = {"drawn in": time.perf_counter() - start, "batches": len(batches)}
    width = K - 1 + gpu_fit.EXTRA
    found["floor"] = floors = _floors(n, width, K, rate)
    moment = gpu_fit.Moment(on, batches)
    V = np.random.default_rng(0).standard_normal((len(moment.pairs.share), width))
    table, alpha = gpu_fit.beta_table(truth.sigma, np.full(K, 0.5)), np.full(K, 0.1)
    gamma: list[Any] = [None] * len(batches)
    passes = {
        "counts": _seconds(
            lambda: [device.batch_pair_counts(on, batch) for batch in batches], wait
        ),
        "moment": _seconds(lambda: moment.apply(V), wait),
        "e_step": _seconds(lambda: gpu_fit.e_step(on, batches, table, alpha, gamma), wait, 3),
    }
    found |= {
        "pass": passes,
        "times the floor": {
            name: passes[name] / floors[name] for name in passes if floors.get(name)
        },
    }
    gamma.clear()
    start = time.perf_counter()
    fit = gpu_fit.fit_short(on, batches, K, wait)
    found |= {
        "whole fit": time.perf_counter() - start,
        "parts": fit["seconds"],
        "subspace passes": fit["passes"],
    }
    found |= {"start": fit["start"], "bounds": fit["bounds"]}
    found["error"] = float(match_components(fit["sigma"], truth.sigma).kendall.mean())
    found["phi"] = {
        "planted": truth.phi,
        "largest difference": float(np.abs(fit["phi"] - truth.phi).max()),
    }
    if on.kernels:
        found["GPU memory held"] = int(on.xp.get_default_memory_pool().total_bytes())
    return found


def _floors(n: int, width: int, K: int, rate: dict[str, float]) -> dict[str, float]:
    """The larger of token bytes over the copy rate and gathered + scattered bytes over the gather
    rate, in seconds.
    """
    if "copied" not in rate:
        return {}
    tokens = 4 * n / rate["copied"]
    # a row of W read and one added to; a row of β read four times, added once
    moment, e_step = (2 * 4 * width * n, 5 * 4 * K * n)
    return {
        "counts": tokens,
        "moment": max(tokens, moment / rate["gathered"]),
        "e_step": max(tokens, e_step / rate["gathered"]),
    }


def streamed(on: device.Arrays, size: dict[str, int], wait: Callable[[], None]) -> dict[str, Any]:
    """A pass over people who are not on the GPU: each batch is copied to it and left again."""
    n = min(size["comparisons"], 200_000_000) // 100 * 100
    truth = gpu_fit.planted(size["items"], size["components"])
    drawn = gpu_fit.draw(on, truth, n // 100, 100, 3)
    batch = device.Batch(drawn.n_items, on.give(drawn.starts), on.give(drawn.pair))
    del drawn
    _free(on)
    parts = [_part(batch, first, first + n // 1000) for first in range(0, n // 100, n // 1000)]
    moment = gpu_fit.Moment(on, [_moved(on, parts[0])])
    sent = on.take(
        np.random.default_rng(0).standard_normal((len(moment.pairs.share), size["components"] + 7)),
        np.float32,
    )

    scales = [device.user_scale(on, _moved(on, part)) for part in parts]

    def one_pass() -> None:
        for part, scale in zip(parts, scales, strict=True):
            device.signed_apply(on, _moved(on, part), scale, moment.index, moment.value, sent)

    copies = _seconds(lambda: [_moved(on, part) for part in parts], wait, 3)
    return {"comparisons": n, "pass": _seconds(one_pass, wait, 3), "copying alone": copies}


def _part(batch: device.Batch, first: int, last: int) -> device.Batch:
    rows = slice(int(batch.starts[first]), int(batch.starts[min(last, len(batch.starts) - 1)]))
    starts = batch.starts[first : last + 1]
    return device.Batch(batch.n_items, starts - starts[0], batch.pair[rows])


def _seconds(call: Callable[[], Any], wait: Callable[[], None], times: int = 5) -> float:
    """The median of a few calls after one that does not count."""
    runs = []
    for _ in range(times + 1):
        start = time.perf_counter()
        call()
        wait()
        runs.append(time.perf_counter() - start)
    return statistics.median(runs[1:])


def _free(on: device.Arrays) -> None:
    if on.kernels:
        on.xp.get_default_memory_pool().free_all_blocks()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.gpu", description=__doc__.splitlines()[0]
    )
    parser.add_argument("-o", "--output", type=Path, help="the folder that gpu.json is written to")
    parser.add_argument(
        "--small", action="store_true", help="a few seconds, with numpy where there is no GPU"
    )
    for name, value in FULL.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=float, dest=name, help=f"{value:,} unless given"
        )
    return parser


if __name__ == "__main__":
    main()
