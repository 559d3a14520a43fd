"""How well the paper's method recovers planted rankings from samples, and why ζ = 0.05 fails.

Q = 30, K = 4, N = 100, φ = 0.1.

python -m benchmarks.projections_recovery    writes benchmarks/results/projections_recovery.json

Each seed draws reference rankings and a population; the same data is fitted with ζ = 0.05 and ζ =
"auto", with and without `min_count`. The error is the fraction of discordant pairs after matching.
An accepted row belongs to the component with the largest share of it in truth, argmax_k B̄_(i,j),k;
where two accepted rows belong to the same component, another has none.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

import mallowmix as mm
from benchmarks.record import RESULTS, save
from mallowmix.errors import MallowmixWarning
from mallowmix.model.fit_options import ProjectionsOptions
from mallowmix.model.permutations import match_components
from mallowmix.model.separability import separability

SETTINGS = [{"zeta": zeta, "min_count": least} for zeta in (0.05, "auto") for least in (0.0, 0.2)]


def planted(
    seed: int, n_items: int = 30, n_components: int = 4, phi: float = 0.1, alpha: float = 0.1
) -> mm.M4:
    """A model with random reference rankings."""
    random = np.random.default_rng(seed)
    sigma = np.stack([random.permutation(n_items) for _ in range(n_components)])
    return mm.M4(
        sigma, np.full(n_components, phi), np.full(n_components, alpha), np.arange(n_items)
    )


def shared_rows(truth: mm.M4, fitted: mm.FittedModel) -> int:
    """How many accepted rows belong to a component that has another accepted row already."""
    pairs = [(int(i), int(j)) for i, j in fitted.report.projections.novel_pairs]
    owners = [int(np.argmax(truth.share * truth.beta()[:, i, j])) for i, j in pairs]
    return len(owners) - len(set(owners))


def measure(truth: mm.M4, comparisons: mm.Comparisons, setting: dict) -> dict:
    """One fit: its error, and whether two novel pairs belong to the same component."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        fitted = mm.fit(
            comparisons, truth.n_components, method=ProjectionsOptions(**setting), predictor=False
        )
    error = float(match_components(fitted.sigma, truth.sigma).kendall.mean())
    return {
        "kendall": error,
        "rows_of_a_component_already_found": shared_rows(truth, fitted),
        "zeta_used": fitted.report.projections.zeta,
    }


def rows(sizes: list[int], seeds: list[int], per_user: int = 100) -> list[dict]:
    """Every size, seed and setting."""
    table = []
    for seed in seeds:
        truth = planted(seed)
        lam = float(separability(truth.beta()))
        for M in sizes:
            comparisons = truth.sample(M, per_user, seed=seed).comparisons
            run = {"M": M, "seed": seed, "lambda": lam}
            table += [run | setting | measure(truth, comparisons, setting) for setting in SETTINGS]
    return table


def summary(table: list[dict]) -> list[dict]:
    """One line a size and setting.

    Mean error, how often exact, how often a component was found twice.
    """
    lines = []
    for M, setting in [(M, s) for M in sorted({row["M"] for row in table}) for s in SETTINGS]:
        chosen = [
            row
            for row in table
            if row["M"] == M and all(row[name] == value for name, value in setting.items())
        ]
        twice = [row["rows_of_a_component_already_found"] > 0 for row in chosen]
        wrong = [row["kendall"] > 0 for row in chosen]
        lines.append(
            {"M": M}
            | setting
            | {
                "runs": len(chosen),
                "mean_kendall": float(np.mean([row["kendall"] for row in chosen])),
                "exact": len(wrong) - sum(wrong),
                "a_component_found_twice": sum(twice),
                "exact_without_that": sum(
                    not w and not t for w, t in zip(wrong, twice, strict=True)
                ),
            }
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000, 20_000])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result file")
    options = parser.parse_args()
    table = rows(options.sizes, list(range(options.seeds)))
    lines = summary(table)
    about = {"n_items": 30, "n_components": 4, "per_user": 100, "phi": 0.1, "alpha": 0.1}
    found = {"about": about, "summary": lines, "runs": table}
    save("projections_recovery", found, options.out, range(options.seeds))
    print(f"{'M':>6} {'zeta':>5} {'min_count':>9} {'error':>7} {'exact':>6} {'twice':>6}")
    for line in lines:
        print(
            f"{line['M']:>6} {line['zeta']!s:>5} {line['min_count']:>9} "
            f"{line['mean_kendall']:>7.4f} "
            f"{line['exact']:>3}/{line['runs']} {line['a_component_found_twice']:>3}/{line['runs']}"
        )


if __name__ == "__main__":
    main()
