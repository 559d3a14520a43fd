"""The last step of a fit: φ and α at the maximum of the marginal likelihood, rankings held fixed.

Monte-Carlo EM moves φ and α by a part of their distance to the maximum in each cycle: the less a
user's answers say about their weights, the smaller the part. It stops when the rankings do, and φ
and α may then be many standard errors away. A score test says how many: with g = Σ_m u_m s_m and
I = Σ_m u_m s_m s_mᵀ (`learn.spectral.user_scores`), the distance is √(gᵀ I⁻¹ g / 2K) standard
errors a parameter, about 1 by chance at the true parameters and 0 at the maximum. With many users
a sample of them is tested first. They have a maximum of their own, about one of their own standard
errors away: only a distance that is larger than by chance calls for a look at all users.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from mallowmix.engine import Block, Engine
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.user_sample import sample_blocks
from mallowmix.learn.spectral.user_scores import Smooth, newton_step, smooth_at
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.typing import Array

_ENOUGH = 200_000  # comparisons that the first test is made on
_NEAR = 1.0  # standard errors a parameter: a fit that is nearer is left alone
_CHANCE = 0.01  # with which a sample's distance is larger than it should be
_SWEEPS = 20  # behind a score of the test, and of the steps towards the maximum
_MOST_STEPS = 12  # towards the maximum
_FINE_SWEEPS, _FINE_STEPS = 120, 3  # of the last steps: short chains remember where they began
_AVERAGED = 2  # of the last steps, against Monte-Carlo noise
_CLOSE = 0.5  # standard errors a parameter: what a step from here corrects is mostly that noise
_LEAST_CONCENTRATION = 0.1  # Σα below which users hold one component each: scores are mere noise


class Maximum(NamedTuple):
    """Components and prior at the maximum, and the distances before each step.

    Attributes
    ----------
    components : MallowsComponents
        The same rankings, with the φ found.
    alpha : ndarray, shape (K,)
    distances : tuple of float
        In standard errors a parameter; one number where the fit was left alone.
    """

    components: MallowsComponents
    alpha: Array
    distances: tuple[float, ...]


def marginal_maximum(
    components: MallowsComponents,
    alpha: Array,
    blocks: list[Block],
    engine: Engine,
    *,
    seed: int,
    fine: bool = True,
) -> Maximum:
    """Newton steps in φ and α, where the fit is more than a standard error from the maximum.

    Parameters
    ----------
    components : MallowsComponents
        What Monte-Carlo EM found.
    alpha : ndarray, shape (K,)
    blocks : list of Block
        The users, in memory.
    engine : Engine
    seed : int
    fine : bool
        Whether to go to the maximum itself, at last with long chains. Otherwise φ and α may be as
        far from it as those of a sample are by chance, which is near enough to predict by.

    Returns
    -------
    Maximum
    """
    if alpha.sum() < _LEAST_CONCENTRATION:
        return Maximum(components, alpha, ())
    n_rows = sum(len(block.pair) for block in blocks)
    share = min(1.0, _ENOUGH / max(n_rows, 1))
    part = sample_blocks(blocks, share, seed, engine)
    at = smooth_at(*components, alpha, part, engine, sweeps=_SWEEPS, seed=seed)
    first = score_distance(at, _users(part))
    if first <= (_NEAR if share == 1 and fine else far_by_chance(2 * len(alpha))):
        return Maximum(components, alpha, (first,))
    found = _ascend(components, alpha, blocks, engine, seed, is_far=share == 1, fine=fine)
    nearer = found.distances[-1] < found.distances[0]
    return found if nearer else Maximum(components, alpha, found.distances)


def far_by_chance(n_parameters: int) -> float:
    """The distance that a sample of the users passes once in a hundred at the maximum of all.

    Its square is about χ² / p, with p degrees of freedom.

    Parameters
    ----------
    n_parameters : int
        p.
    """
    return float(np.sqrt(chdtri(n_parameters, _CHANCE) / n_parameters))


def score_distance(smooth: Smooth, users: Array) -> float:
    """√(gᵀ I⁻¹ g / 2K), the distance to the maximum in standard errors a parameter.

    Parameters
    ----------
    smooth : Smooth
        Scores and information at the parameters.
    users : ndarray, shape (M,)
        How often each user counts; a factor common to all of them says nothing.
    """
    slope = users @ smooth.scores
    square = slope @ np.linalg.solve(smooth.information, slope) / users.mean()
    return float(np.sqrt(square / len(slope)))


def _ascend(
    components: MallowsComponents,
    alpha: Array,
    blocks: list[Block],
    engine: Engine,
    seed: int,
    *,
    is_far: bool = True,
    fine: bool = True,
) -> Maximum:
    """Newton steps; none where it is not sure that the fit is far, and all users say it is near."""
    users, n_fine = _users(blocks), _FINE_STEPS if fine else 0
    near = _NEAR if fine else far_by_chance(2 * len(alpha))
    distances: list[float] = []
    path: list[Array] = []
    far = True
    while far or (len(path) < n_fine and not (path and distances[-1] <= _CLOSE)):
        step_seed = child_seed(seed, Step.MARGINAL_MAXIMUM, len(distances))
        sweeps = _SWEEPS if far else _FINE_SWEEPS
        found = smooth_at(*components, alpha, blocks, engine, sweeps=sweeps, seed=step_seed)
        distances.append(score_distance(found, users))
        if not is_far and distances[0] <= near:
            break
        eta = newton_step(found, users @ found.scores)
        components, alpha = _at(components, eta)
        path += [] if far else [eta]
        far = far and distances[-1] > near and len(distances) < _MOST_STEPS
    if path:
        components, alpha = _at(components, np.mean(path[-_AVERAGED:], axis=0))
    return Maximum(components, alpha, tuple(distances))


def _at(components: MallowsComponents, eta: Array) -> tuple[MallowsComponents, Array]:
    """The same rankings with the φ and α of η."""
    smooth = Smooth(eta, np.empty(0), np.empty(0))
    return MallowsComponents(components.sigma, smooth.phi), smooth.alpha


def _users(blocks: list[Block]) -> Array:
    return np.concatenate([block.user_weight for block in blocks])
