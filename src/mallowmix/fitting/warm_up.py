"""Compile the Numba kernels once, into the cache: `python -m mallowmix.fitting.warm_up`."""

import sys
import warnings


def warm() -> None:
    """Run learning and inference on a small population, so that later calls need not compile."""
    from mallowmix.datasets import load_dishes
    from mallowmix.fitting.fit import fit
    from mallowmix.infer.rank_items import rank
    from mallowmix.infer.weights import weights
    from mallowmix.model.mallows import sample_orders
    from mallowmix.model.mallows_likelihood import fit_rankings
    from mallowmix.model.separability import separability_probability

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dishes = load_dishes(n_users=200, per_user=60)
        fit(dishes.comparisons, 2, method="projections", predictor=False)
        model = fit(dishes.comparisons, 2)
        weights(model, dishes.comparisons)
        weights(model, dishes.comparisons, estimate="map")
        rank(model, dishes.comparisons.take_users([0]), n_draws=10)
        fit_rankings(sample_orders(list(range(14)), 0.5, 5))
        separability_probability(10, 2, 0.1, n_draws=2)


if __name__ == "__main__":
    print("Compiling the kernels, once …", file=sys.stderr)
    warm()
