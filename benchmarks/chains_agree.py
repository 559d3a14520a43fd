"""Do chains of the posterior that begin in different places agree on real people?

python -m benchmarks.chains_agree --data DIR [--cases llmfao-2,dublin-3,…]
    writes benchmarks/results/chains_agree.json

A case is a data set and a number of components. Four chains begin at a short fit, at random
rankings, at a short fit of half of the people and near the crowd's ranking. R-hat and effective
sample sizes are the worst of quantities that do not depend on how components are numbered. The
default length is tried first, and a longer one where it does not do. Of ballots and films a sample
of 1,000 people is used, as `sample_posterior` does unless told otherwise. CPU-seconds are of one
thread.
"""

import argparse
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mallowmix as mm
from benchmarks.record import RESULTS, save, timed
from benchmarks.seeds_agree import data_of

CASES = ("llmfao-2", "llmfao-3", "dublin-3", "dublin-4", "ml100-3")


class Length(NamedTuple):
    """Of a chain: steps before the first draw, draws, and steps between two draws."""

    n_warmup: int
    n_draws: int
    thin: int


LENGTHS = (Length(500, 250, 4), Length(2000, 500, 16))


def run_case(data: mm.Comparisons, K: int, length: Length) -> dict[str, Any]:
    """Draw the chains, and say whether they agree."""
    options = {**length._asdict(), "keep_theta": False, "n_jobs": 1}
    cpu, sample = timed(lambda: mm.sample_posterior(data, K, **options), time.process_time)
    found = mm.check_convergence(sample)
    rows = {row.quantity: row for row in found.table if not row.by_label}
    return {
        **length._asdict(),
        "converged": found.converged,
        "r_hat": {name: round(row.r_hat, 3) for name, row in rows.items()},
        "ess": {name: _whole(min(row.ess_bulk, row.ess_tail)) for name, row in rows.items()},
        "log-likelihood": [round(mean, 1) for mean in found.chain_log_likelihood],  # of each chain
        "cpu": round(cpu, 1),
    }


def _whole(size: float) -> int | None:
    """An effective sample size; None of what never changes."""
    return None if math.isnan(size) else round(size)


def run_lengths(data: mm.Comparisons, K: int, lengths: Sequence[Length]) -> list[dict[str, Any]]:
    """Longer chains in turn, until they agree."""
    found: list[dict[str, Any]] = []
    for length in lengths:
        found.append(run_case(data, K, length))
        if found[-1]["converged"]:
            break
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cases asked for; results of others are kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="holds llmfao/, irish/, ml-1m/")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--longest", type=int, default=len(LENGTHS), help="how many lengths")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result file")
    given = parser.parse_args(arguments)
    file = given.out / "chains_agree.json"
    for case in given.cases.split(","):
        name, _, K = case.partition("-")
        old = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        found = run_lengths(data_of(name, given.data), int(K), LENGTHS[: given.longest])
        print(case, json.dumps(found, indent=1), flush=True)
        save("chains_agree", old | {case: found}, given.out)


if __name__ == "__main__":
    main()
