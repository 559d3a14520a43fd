"""How much the chosen number of components depends on how people are split.

python -m benchmarks.number_by_split --data DIR [--sets rankings,llmfao,dublin,ml100] [--splits 10]
    writes benchmarks/results/number_by_split.json

`fit` compares numbers of components on one split of the people, the same for every seed. Here the
same data are split otherwise, again and again: each line has the numbers that `choose_k` takes, and
by how much the first split's number predicts worse than the one chosen there, per comparison (0
where it is the same, or was not tried). The data are those of `benchmarks.seeds_agree`.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import mallowmix as mm
from benchmarks.record import RESULTS, save
from benchmarks.seeds_agree import SETS, data_of
from mallowmix.fitting.k_choice import Choice


def run_set(name: str, folder: Path, n_splits: int) -> dict[str, Any]:
    """The numbers of each split, and what the first one's number costs in the others."""
    data = data_of(name, folder)
    choices = [mm.choose_k(data, seed=seed, n_jobs=1) for seed in range(n_splits)]
    first = choices[0].k
    return {
        "numbers": [choice.k for choice in choices],
        "costs of the first number": [_cost(choice, first) for choice in choices],
    }


def _cost(choice: Choice, number: int | None) -> float:
    """How much worse a number predicts than the one chosen, per comparison."""
    scores = {row.k: row.log_likelihood_per_comparison for row in choice.table}
    if choice.k not in scores or number not in scores:
        return 0.0
    return scores[choice.k] - scores[number]


def main() -> None:
    """Run the data sets asked for; results of others are kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="holds llmfao/, irish/, ml-1m/")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    wanted = given.sets.split(",")
    for name in wanted:
        if name not in SETS:
            parser.error(f"no set {name!r}: choose from {', '.join(SETS)}")
    file = given.output / "number_by_split.json"
    for name in wanted:
        old = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        result = run_set(name, given.data, given.splits)
        print(name, json.dumps(result), flush=True)
        save("number_by_split", old | {name: result}, given.output, range(given.splits))


if __name__ == "__main__":
    main()
