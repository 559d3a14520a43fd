"""How far the variational weights are from the exact posterior mean, for K = 2 … 8.

`python -m benchmarks.weights_error` takes minutes. Exact are Gauss–Jacobi quadrature for two and
three components, and for more the mean over many Gibbs sweeps.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import RESULTS, about, save
from mallowmix.infer.weights import infer_weights
from mallowmix.model.random_model import random_model
from mallowmix.typing import Array

N_ITEMS, PHI, ALPHA = 12, 0.3, 0.3  # α of each component
PER_USER = (6, 30)
KS = (2, 3, 4, 5, 6, 8)
N_USERS, N_SWEEPS = 100, 100_000


def measure(ks: tuple[int, ...], n_users: int, n_sweeps: int, seed: int = 0) -> dict[str, Any]:
    """The largest and the mean absolute error of a weight, and the error of Gibbs sampling."""
    rows = []
    for K in ks:
        model = random_model(N_ITEMS, K, phi=PHI, alpha=ALPHA, seed=seed)
        for n in PER_USER:
            votes = model.sample(n_users, n, seed=seed).comparisons
            method = "quadrature" if K <= 3 else "gibbs"
            options = {"method": method, "n_sweeps": n_sweeps, "seed": 1}
            exact = infer_weights(model, votes, **options)
            row = {"components": K, "comparisons": n, "exact_by": method}
            rows.append(row | _errors(infer_weights(model, votes), exact, ""))
            sampled = infer_weights(model, votes, method="gibbs", seed=2)
            rows[-1] |= _errors(sampled, exact, "gibbs_")
    setting = {"items": N_ITEMS, "phi": PHI, "alpha": ALPHA, "users": n_users, "sweeps": n_sweeps}
    return {"about": about(), "setting": setting, "rows": rows}


def _errors(found: Array, exact: Array, prefix: str) -> dict[str, float]:
    error = np.abs(found - exact)
    return {f"{prefix}largest": float(error.max()), f"{prefix}mean": float(error.mean())}


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=RESULTS)
    result = measure(KS, N_USERS, N_SWEEPS)
    save("weights_error", result, parser.parse_args().output, seeds=(0, 1, 2))
    for row in result["rows"]:
        print({key: round(x, 4) if isinstance(x, float) else x for key, x in row.items()})


if __name__ == "__main__":
    main()
