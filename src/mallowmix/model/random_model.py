"""Models with uniformly random reference rankings, for simulations, examples and tests."""

import numpy as np
from numpy.typing import ArrayLike

from mallowmix.errors import OptionError, check_count
from mallowmix.model.m4 import M4
from mallowmix.model.mallows import check_phi
from mallowmix.numerics.randomness import Step, generator


def random_model(
    n_items: int, n_components: int, *, phi: ArrayLike = 0.2, alpha: ArrayLike = 0.1, seed: int = 0
) -> M4:
    """Draw a model: K uniformly random reference rankings of Q items.

    Parameters
    ----------
    n_items, n_components : int
        Q and K.
    phi, alpha : float or (K,) array
        Dispersions and Dirichlet parameters; a single number stands for all components.
    seed : int
        The same seed gives the same model.

    Returns
    -------
    M4
        Over the items "item001", "item002", …

    Examples
    --------
    >>> import mallowmix as mm
    >>> truth = mm.random_model(30, 4, phi=0.2, seed=1)
    >>> comparisons = truth.sample(1000, 100, seed=1).comparisons
    """
    check_count("n_items", n_items, 1)
    check_count("n_components", n_components, 1)
    phis = [check_phi(value) for value in _for_each("phi", phi, n_components)]
    alphas = _for_each("alpha", alpha, n_components)
    if alphas.min() <= 0:
        raise OptionError(option="alpha", value=alphas.min(), expected="above 0")
    ranked = np.tile(np.arange(n_items, dtype=np.int32), (n_components, 1))
    sigma = generator(seed, Step.SIMULATE).permuted(ranked, axis=1)  # (K, Q)
    width = max(3, len(str(n_items)))
    names = [f"item{i:0{width}d}" for i in range(1, n_items + 1)]  # numbering and text sort alike
    return M4(sigma, np.array(phis), alphas, np.array(names, object))


def _for_each(option: str, values: ArrayLike, count: int) -> np.ndarray:
    """One number for each component: as given, or the single one repeated."""
    expected = f"one number, or one for each of the {count} components"
    try:
        numbers = np.atleast_1d(np.asarray(values, np.float64))
    except (TypeError, ValueError):
        raise OptionError(option=option, value=values, expected=expected) from None
    if numbers.shape not in ((1,), (count,)):
        raise OptionError(option=option, value=numbers.tolist(), expected=expected)
    return np.broadcast_to(numbers, count).copy()
