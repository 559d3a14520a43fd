"""A profile of voters drawn from a fitted population: one ballot each, for voting rules."""

from typing import Any

import numpy as np

from mallowmix.data.rankings import Rankings
from mallowmix.errors import Option, OptionError, check_count
from mallowmix.model.fitted_model import as_fitted
from mallowmix.model.mallows import sample_orders
from mallowmix.model.pair_model import check_model
from mallowmix.model.sampling import draw_weights
from mallowmix.numerics.randomness import Step, generator

_STEP = Step.PROFILE


def sample_profile(model: Any, n_voters: int, *, seed: int = 0) -> Rankings:
    """Draw a profile: full rankings of voters from the population of a model.

    Each voter draws weights θ from the population, a component by θ, and a ranking from it.

    Parameters
    ----------
    model : M4 or FittedModel
        With Mallows components.
    n_voters : int
        How many voters.
    seed : int
        The same seed gives the same profile.

    Returns
    -------
    Rankings

    Examples
    --------
    >>> import mallowmix as mm
    >>> len(mm.sample_profile(mm.load_dishes(n_users=2).model, 3))
    3
    """
    check_model(model)
    check_count("n_voters", n_voters, 1)
    if as_fitted(model).bradley_terry is not None:
        raise OptionError(
            "The model has Bradley–Terry components, which are no distribution of rankings. "
            "Fit it with ",
            Option("components", "mallows", "fit"),
            ".",
            option="components",
            value="bradley-terry",
            expected="'mallows'",
        )
    theta = draw_weights(model.alpha, n_voters, seed=seed)
    coin = generator(seed, _STEP).random(n_voters)
    component = np.minimum(
        (theta.cumsum(axis=1) < coin[:, None]).sum(axis=1), model.n_components - 1
    )
    order = np.empty((n_voters, model.n_items), np.int32)
    for k in range(model.n_components):
        voters = np.flatnonzero(component == k)
        if len(voters):
            reference = np.argsort(model.sigma[k])
            its_seed = int(generator(seed, _STEP, k + 1).integers(2**63))
            order[voters] = sample_orders(
                reference, float(model.phi[k]), len(voters), seed=its_seed
            )
    return Rankings.from_sigma(
        np.argsort(order, axis=1), model.items.tolist(), list(range(1, n_voters + 1))
    )
