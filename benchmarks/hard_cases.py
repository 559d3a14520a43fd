"""Hard cases, and what happens.

The error, the warnings given, and signs by which a fit could know that it cannot be relied on.

python -m benchmarks.hard_cases    writes benchmarks/results/hard_cases.json, in some ten minutes

Unless said, Q = 50, K = 6, N = 150, M = 2,000, φ = .5, α = .1 each, uniform μ, random references.
The error is the fraction of discordant pairs, the mean over matched components. Signs: the last of
the K − 1 eigenvalues and the one after it in units of the noise edge, the least share, the least
distance between two found rankings, and the largest distance between the rankings of two halves of
the people (`mallowmix.learn.spectral.stability`).
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mallowmix as mm
from benchmarks.record import RESULTS, save
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import MallowmixWarning
from mallowmix.learn.spectral.number_of_components import count_components
from mallowmix.learn.spectral.signed_moment import count_pairs
from mallowmix.learn.spectral.subspace import pair_statistics
from mallowmix.model.mallows import sample_orders
from mallowmix.model.permutations import kendall, match_components, sigma_of
from mallowmix.model.sampling import Sample

Q, K = 50, 6


@dataclass(frozen=True)
class Case:
    """What is drawn, and how many components are asked for."""

    name: str
    n_users: int = 2000
    per_user: int = 150
    phi: float = 0.5
    around: float | None = (
        None  # references drawn from a Mallows model with this φ around one base ranking
    )
    alpha: tuple[float, ...] = (0.1,) * K
    activity: Callable[[int, int], Any] | None = None
    mu: Callable[[np.random.Generator], Any] | None = None
    asked: int = K


def zipf_activity(n_users: int, per_user: int) -> np.ndarray:
    """The m-th busiest person makes 1/m as many comparisons as the busiest, at least one.

    The mean is `per_user`.
    """
    share = 1 / np.arange(1, n_users + 1)
    return np.maximum(np.rint(share / share.sum() * n_users * per_user), 1).astype(int)


def zipf_pairs(random: np.random.Generator) -> np.ndarray:
    """The i-th most popular item is shown 1/i as often as the most popular.

    Popularity has nothing to do with preference.
    """
    popularity = random.permutation(1 / np.arange(1, Q + 1))
    return np.outer(popularity, popularity)


FIFTY_TO_ONE = tuple(0.6 * np.geomspace(50, 1, K) / np.geomspace(50, 1, K).sum())
CASES = (
    Case("nothing hard"),
    Case("references around a base, φ = .9", around=0.9),
    Case("references around a base, φ = .95", around=0.95),
    Case("references around a base, φ = .7", around=0.7),
    Case("references around a base, φ = .5", around=0.5),
    Case("φ = .8", phi=0.8),
    Case("N = 10, M = 30,000", 30_000, 10),
    Case("N = 10, M = 5,000", 5000, 10),
    Case("N = 10, M = 3,000", 3000, 10),
    Case("N = 10, M = 2,000", 2000, 10),
    Case("N = 5, M = 60,000", 60_000, 5),
    Case("N = 5, M = 20,000", 20_000, 5),
    Case("N = 5, M = 10,000", 10_000, 5),
    Case("N = 2, M = 150,000", 150_000, 2),
    Case("N = 2, M = 10,000", 10_000, 2),
    Case("Zipf activity", activity=zipf_activity),
    Case("Zipf μ", mu=zipf_pairs),
    Case("shares 50:1", alpha=FIFTY_TO_ONE),
    Case("shares 50:1, M = 300", 300, alpha=FIFTY_TO_ONE),
    Case("M = 100", 100),
    Case("α = 2 each", alpha=(2.0,) * K),
    Case("three too many", asked=K + 3),
    Case("three too few", asked=K - 3),
)


def planted(case: Case, seed: int) -> mm.M4:
    """The true model of a case."""
    random = np.random.default_rng(seed)
    orders = np.stack([random.permutation(Q) for _ in range(K)])
    if case.around is not None:
        orders = sample_orders(orders[0], case.around, K, seed=seed)
    return mm.M4(
        sigma_of(orders), np.full(K, case.phi), np.array(case.alpha), [f"{i:02d}" for i in range(Q)]
    )


def draw(case: Case, truth: mm.M4, seed: int) -> Sample:
    """The population of a case."""
    per_user = case.activity(case.n_users, case.per_user) if case.activity else case.per_user
    mu = case.mu(np.random.default_rng(seed + 1000)) if case.mu else None
    return truth.sample(case.n_users, per_user, mu=mu, seed=seed)


def measure(case: Case, seed: int) -> dict[str, Any]:
    """One fit: how far off, what was said, and the signs."""
    truth = planted(case, seed)
    votes = draw(case, truth, seed).comparisons.with_items(truth.items)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MallowmixWarning)
        found = mm.fit(votes, case.asked, seed=seed, predictor=False)
    matched = match_components(found.sigma, truth.sigma)
    values = np.concatenate([found.phi, found.alpha])
    return {
        "case": case.name,
        "seed": seed,
        "error": float(matched.kendall.mean()),
        "worst": float(matched.kendall.max()),
        "phi_off": float(np.abs(found.phi[matched.found] - truth.phi[matched.truth]).max()),
        "finite": bool(np.isfinite(values).all()),
        "warnings": [str(w.message) for w in caught if issubclass(w.category, MallowmixWarning)],
        **signs(votes, found, seed),
    }


def signs(votes: mm.Comparisons, found: mm.FittedModel, seed: int) -> dict[str, Any]:
    """What a fit could look at without knowing the truth."""
    blocks, engine = make_blocks(votes), ThreadEngine()
    rank = count_components(
        blocks, pair_statistics(count_pairs(blocks, engine), votes.n_items), engine, seed=seed
    )
    k = found.n_components
    between = [kendall(found.sigma[a], found.sigma[b]) for a in range(k) for b in range(a)]
    return {
        "last_eigenvalue": float(rank.values[k - 2] / rank.edge),
        "next_eigenvalue": float(rank.values[k - 1] / rank.edge),
        "least_share": float(found.share.min()),
        "least_distance": float(min(between)),
        "half_distances": found.report.spectral.half_distances,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--cases", nargs="*", help="parts of the names of the cases to run; all unless given"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result file")
    options = parser.parse_args(arguments)
    chosen = [
        case
        for case in CASES
        if not options.cases or any(part in case.name for part in options.cases)
    ]
    print(HEADING)
    rows: list[dict[str, Any]] = []
    for case in chosen:
        for seed in range(options.seeds):
            rows.append(row := measure(case, seed))
            print(line(row), flush=True)
            save("hard_cases", {"rows": rows}, options.out, range(options.seeds))


HEADING = (
    f"{'case':<34} {'error':>7} {'worst':>7} {'λ':>5} {'next':>5} "
    f"{'share':>6} {'apart':>6} {'halves':>6}  warnings"
)


def line(row: dict[str, Any]) -> str:
    """A line of the table."""
    errors = f"{row['case']:<34} {row['error']:>7.4f} {row['worst']:>7.4f}"
    spectrum = f"{row['last_eigenvalue']:>5.2f} {row['next_eigenvalue']:>5.2f}"
    halves = max(row["half_distances"])
    found = f"{row['least_share']:>6.3f} {row['least_distance']:>6.3f} {halves:>6.3f}"
    return (
        f"{errors} {spectrum} {found}  {'; '.join(text[:60] for text in row['warnings']) or 'none'}"
    )


if __name__ == "__main__":
    main()
