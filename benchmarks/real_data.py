"""Real people: MovieLens 1M, the first 4000 users to learn from, the others to predict.

Every way of fitting, side by side.

python -m benchmarks.real_data --data DIR [--quick]    writes benchmarks/results/real_data.json

Held out: the log-likelihood per comparison of half of each new person's comparisons given the other
half ("random"); and, where half of their films are given, of those between two films of the other
half ("films"), and of all with at least one of those ("either"). The last is easier: what a person
said of the given film helps, though it may be that film's noise alone. "Share" is the least share ×
K, 1 where all components are equally large.

Nobody compares two films twice, so no pair falls in both halves of a person's comparisons: the
diagonal of Ê is 0, and no distance Ê_ii − 2Ê_ij + Ê_jj of the printed method is above 0. All rows
then lie in one ball, whatever the number of directions: the printed method says so and gives up.
`metric="euclidean"` is the variant that can run.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import mallowmix as mm
from benchmarks.earlier_rows import earlier
from benchmarks.record import RESULTS, save
from mallowmix.engine import Block, ThreadEngine, make_blocks
from mallowmix.errors import MallowmixError, MallowmixWarning
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.held_out_rows import predicted, split_block_rows
from mallowmix.infer.heldout.heldout_options import CompletionOptions
from mallowmix.infer.heldout.heldout_scores import Heldout, summary
from mallowmix.infer.prepared_model import prepare_members
from mallowmix.learn.spectral.gibbs_sweep import new_chains
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import monte_carlo_em
from mallowmix.learn.spectral.variational_em import Variational, variational_em
from mallowmix.model.fit_options import FitOptions, ProjectionsOptions, SpectralOptions
from mallowmix.model.fit_report import SpectralTrace
from mallowmix.numerics.randomness import as_key
from mallowmix.readers.movielens import first_users, movielens_comparisons, read_movielens
from mallowmix.readers.rating_forms import capped
from mallowmix.typing import Array

Fit = Callable[[mm.Comparisons, int, int], mm.FittedModel]


def random_start(blocks: list[Block], K: int, seed: int) -> Variational:
    """EM from random rankings: 40 variational steps with a fixed prior."""
    random = np.random.default_rng(seed)
    sigma = np.stack([random.permutation(blocks[0].n_items) for _ in range(K)]).astype(np.int32)
    return variational_em(
        blocks,
        MallowsComponents(sigma, np.full(K, 0.8)),
        np.full(K, 1 / K),
        ThreadEngine(),
        n_iter=40,
    )


def model_of(
    components: MallowsComponents,
    alpha: Array,
    comparisons: mm.Comparisons,
    moved: Sequence[int] = (),
) -> mm.FittedModel:
    """What EM ended with, and the items that moved on the way."""
    m4 = mm.M4(components.sigma, components.phi, alpha, comparisons.items)
    return mm.FittedModel(m4, mm.FitReport(spectral=SpectralTrace(moved=tuple(moved))))


def random_em(comparisons: mm.Comparisons, K: int, seed: int) -> mm.FittedModel:
    """EM from random rankings, and 10 more steps that also fit the prior."""
    blocks = make_blocks(comparisons)
    with threadpool_limits(1):
        start = random_start(blocks, K, seed)
        end = variational_em(
            blocks,
            start.components,
            start.alpha,
            ThreadEngine(),
            n_iter=10,
            gamma=start.gamma,
            move_alpha=True,
        )
    return model_of(end.components, end.alpha, comparisons)


def random_refined(comparisons: mm.Comparisons, K: int, seed: int) -> mm.FittedModel:
    """EM from random rankings, then the very refinement that `spectral` ends with.

    What is left is the worth of the start.
    """
    blocks = make_blocks(comparisons)
    with threadpool_limits(1):
        start = random_start(blocks, K, seed)
        theta = [gamma / gamma.sum(axis=1, keepdims=True) for gamma in start.gamma]
        end = monte_carlo_em(
            blocks,
            start.components,
            start.alpha,
            new_chains(blocks, theta),
            ThreadEngine(),
            seed=seed,
        )
    return model_of(end.components, end.alpha, comparisons, end.moved)


def fitted(method: FitOptions | None = None, *, n_fits: int = 1, cap: float | None = None) -> Fit:
    """`mallowmix.fit` with these options, people with more than `cap` comparisons counting as if
    they had so many.
    """

    def run(comparisons: mm.Comparisons, K: int, seed: int) -> mm.FittedModel:
        data = comparisons if cap is None else capped(comparisons, cap)
        return mm.fit(
            data, K, method=method or SpectralOptions(), n_fits=n_fits, seed=seed, predictor=False
        )

    return run


def calibrated(n_fits: int = 1) -> Fit:
    """`mallowmix.fit`, averaged over fits if more than one, then `mallowmix.calibrate` on the same
    people (see there how).
    """

    def run(comparisons: mm.Comparisons, K: int, seed: int) -> mm.FittedModel:
        return mm.calibrate(
            mm.fit(comparisons, K, seed=seed, n_fits=n_fits, predictor=False),
            comparisons,
            seed=seed,
        )

    return run


METHODS: dict[str, Fit] = {
    "spectral": fitted(),
    "spectral, calibrated": calibrated(),
    "spectral, 4 fits": fitted(n_fits=4),
    "spectral, 4 fits, calibrated": calibrated(4),
    "EM from random rankings": random_em,
    "EM from random rankings, refined": random_refined,
    "spectral, people capped at 300": fitted(cap=300),
    "spectral, refine=short": fitted(SpectralOptions(refine="short")),
    "spectral, refine=none": fitted(SpectralOptions(refine="none")),
    "projections, printed distance": fitted(ProjectionsOptions()),
    "projections, printed, filtered": fitted(ProjectionsOptions(min_count=0.2, zeta="auto")),
    "projections, euclidean": fitted(ProjectionsOptions(metric="euclidean")),
    "projections, euclidean, filtered": fitted(
        ProjectionsOptions(metric="euclidean", min_count=0.2, zeta="auto")
    ),
}


def measure(name: str, train: mm.Comparisons, test: mm.Comparisons, K: int, seed: int) -> dict:
    """One fit: seconds, the least share, and both held-out likelihoods; or why there is none."""
    row = {"n_items": train.n_items, "n_components": K, "method": name, "seed": seed}
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            model = METHODS[name](train, K, seed)
    except MallowmixError as error:
        return row | {"error": str(error)}
    row |= {
        "seconds": time.perf_counter() - start,
        "least_share_times_K": float(model.share.min() * K),
    }
    row |= {
        "shares": model.share.tolist(),
        "phi": model.phi.tolist(),
        "alpha0": float(model.alpha.sum()),
    }
    trace = model.report.spectral or SpectralTrace()
    row |= {"start": trace.initialisation, "moved": list(trace.moved)}
    found = {
        "random": completion(model, test),
        "films": completion(model, test, CompletionOptions(split="items")),
        "either": with_either_held_out(model, test),
    }
    return row | {
        name: {
            "log_likelihood": each.log_likelihood_per_comparison,
            "standard_error": each.standard_error,
        }
        for name, each in found.items()
    }


def with_either_held_out(model: mm.FittedModel | mm.M4, test: mm.Comparisons) -> Heldout:
    """Half of each person's films are given as in `completion`.

    All comparisons but those between two given ones are predicted.
    """
    fits, scores = prepare_members(model), []
    for block in make_blocks(test):
        given, _ = split_block_rows(block, 0.5, "items", as_key(0))
        rows, person = np.flatnonzero(given == 0), block.users_of_rows()
        log_p = np.log(predicted(block, fits, given, person[rows], block.pair[rows]))
        sums = [
            np.bincount(person[rows], block.weight[rows] * value, block.n_users)
            for value in (log_p, np.ones(len(rows)))
        ]
        scores.append(np.column_stack(sums))
    return summary(np.concatenate(scores), ("nobody has a comparison that was not given.",))


def line(row: dict) -> str:
    """One row of the table."""
    head = f"{row['n_items']:>4} {row['n_components']:>3}  {row['method']:<34}"
    if "error" in row:
        return f"{head} {row['error']}"
    likelihoods = " ".join(
        f"{row[name]['log_likelihood']:>8.4f}" for name in ("random", "films", "either")
    )
    return f"{head} {likelihoods} {row['least_share_times_K']:>7.2f} {row['seconds']:>8.1f}"


def key(row: dict) -> tuple:
    """What makes two rows the same measurement."""
    return tuple(row[name] for name in ("n_items", "n_components", "method", "seed"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        type=Path,
        help="the folder with moviedata.mat or ratings.dat; or set MALLOWMIX_DATA",
    )
    parser.add_argument("--quick", action="store_true", help="100 films and 10 components alone")
    parser.add_argument("--items", type=int, nargs="+", default=[100, 200])
    parser.add_argument("--components", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result file")
    options = parser.parse_args(arguments)
    sizes, ks = ([100], [10]) if options.quick else (options.items, options.components)
    ratings, table = read_movielens(options.data), earlier("real_data", options.out).get("rows", [])
    print(
        f"{'Q':>4} {'K':>3}  {'method':<34} {'random':>8} {'films':>8} "
        f"{'either':>8} {'share':>7} {'seconds':>8}",
        flush=True,
    )
    for Q in sizes:
        train, test = first_users(movielens_comparisons(ratings, Q))
        for K, name, seed in [
            (K, name, s) for K in ks for name in options.methods for s in range(options.seeds)
        ]:
            row = measure(name, train, test, K, seed)
            table = [old for old in table if key(old) != key(row)] + [row]
            print(line(row), flush=True)
            save("real_data", {"rows": table}, options.out, range(options.seeds))


if __name__ == "__main__":
    main()
