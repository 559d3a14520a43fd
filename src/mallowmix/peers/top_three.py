"""Two Mallows components from the top three (Awasthi, Blum, Sheffet, Vijayaraghavan, NIPS 2014).

Under one Mallows model item i is first with probability x_i = φ^σ(i) / S_Q, and for three different
items

    Pr({i, j, l} are the first three) = c(φ) x_i x_j x_l,
    c(φ) = (1+φ)(1+φ+φ²) S_Q² / (φ³ S_{Q−1} S_{Q−2}).

So with the items in three parts at random, the tensor of the first three has rank two, one term for
each component. Its terms, with their scale from the first positions (Σ_t w_t x_t), give w, φ and
the heads of both rankings. The rest follows from the mean position of each item among the rankings
that a is first in: w_1 x_1(a) e_1(i) + w_2 x_2(a) e_2(i), linear in the two means e_t(i), one
equation for each a.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar, nnls

from mallowmix.data.rankings import Rankings
from mallowmix.engine import ThreadEngine
from mallowmix.errors import FitError
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.model.dispersion import LEAST_PHI
from mallowmix.model.permutations import sigma_of
from mallowmix.numerics.randomness import Step, generator
from mallowmix.peers.amp_people import FittedOneRanking
from mallowmix.peers.common_first import WithoutFirst, are_common, leave_out, on_top
from mallowmix.peers.mallows_mixture import Mixture, mixture_model
from mallowmix.peers.mallows_rankings import em_full, make_ranking_blocks
from mallowmix.peers.required_data import need_full
from mallowmix.typing import Array

_STEP = Step.TOP_THREE
_LEAST_ITEMS = 6  # two a part
_INSTEAD = (
    "Use the EM for mixtures of Mallows "
    "(mallows-rankings for rankings, mixture-mallows for comparisons)."
)


@dataclass(frozen=True)
class TwoMallowsTopThree:
    """Mixture of two Mallows components, one for each user, whose full ranking is drawn from it.

    Needs full rankings, thousands of them; assumes that the two differ in the items that tend to be
    first, or that they begin with the same ones and differ then (`peers.common_first`).

    Parameters
    ----------
    n_parts : int
        How many times the items are split into three parts; the five splits that separate the
        components best are averaged.
    polish : int
        Iterations of EM afterwards; with 0, the result is the method's own.
    """

    n_parts: int = 60
    polish: int = 0
    name: str = "two Mallows from the top three"
    needs: Literal["comparisons", "ratings", "rankings"] = "rankings"

    def fit(self, data: Rankings, n_components: int = 2, *, seed: int = 0) -> FittedOneRanking:
        """Learn two components from full rankings."""
        rankings = need_full(self, data, _INSTEAD)
        if n_components != 2:
            raise FitError(
                f"{self.name} finds two components, and {n_components} are asked for. {_INSTEAD}"
            )
        if rankings.n_items < _LEAST_ITEMS:
            raise FitError(
                f"{self.name} needs six items at least, two a part; there are {rankings.n_items}. "
                f"{_INSTEAD}"
            )
        weight = rankings.weight * rankings.user_weight[rankings.user]
        found = two_mallows(rankings.item.reshape(len(rankings), -1), weight, self.n_parts, seed)
        if self.polish:
            found = em_full(make_ranking_blocks(rankings), ThreadEngine(), found, self.polish)
        return FittedOneRanking(mixture_model(found, rankings.items, self.name))


class Terms(NamedTuple):
    """What one split of the items gives: (Q, 2) w_t x_t(i), and how far apart the terms are."""

    first: Array
    apart: float


def two_mallows(order: NDArray[np.int32], weight: Array, n_parts: int, seed: int) -> Mixture:
    """Find both components.

    Parameters
    ----------
    order : ndarray of int, shape (N, Q)
        Rankings, best item first.
    weight : ndarray, shape (N,)
        How often each was given.
    n_parts, seed : int

    Returns
    -------
    Mixture

    Raises
    ------
    FitError
        Where the noise hides the second component.
    """
    noise = 1 / np.sqrt(weight.sum())  # Poisson counts: Σ (noise of the entries)² = Σ entries / N
    random = generator(seed, _STEP)
    rest = WithoutFirst(order, np.arange(order.shape[1]))
    best: list[float] = []
    while True:
        first, good = _separated(rest.order, weight, n_parts, random)
        best.append(good[0].apart / noise if good else 0.0)
        if best[-1] >= 1:
            break
        if rest.order.shape[1] <= _LEAST_ITEMS:
            raise _not_separated(best[0])
        rest = leave_out(rest, int(np.argmax(first)), weight)
    y = _averaged([t.first for t in good])
    share = y.sum(axis=0)  # Σ_i w_t x_t(i) = w_t
    heads = (y / share).T
    phi, share = np.array([_phi_of(x) for x in heads]), share / share.sum()
    if not are_common(rest, phi, share, weight.sum()):
        raise _not_separated(best[0])
    orders = on_top(rest, recover_rest(rest.order, weight, first, y, heads))
    return Mixture(MallowsComponents(sigma_of(orders), phi), share, float("nan"))


def _separated(
    order: NDArray[np.int32], weight: Array, n_parts: int, random: np.random.Generator
) -> tuple[Array, list["Terms"]]:
    """(Q,) Pr(first), and the terms of the five splits that separate the components best."""
    tensor, first = first_three(order, weight)
    Q = order.shape[1]
    tries = [terms(tensor, first, np.array_split(random.permutation(Q), 3)) for _ in range(n_parts)]
    return first, sorted((t for t in tries if t is not None), key=lambda t: -t.apart)[:5]


def _not_separated(times: float) -> FitError:
    return FitError(
        "The two components cannot be separated by the first three items, nor by those after items "
        "that both have first: the second singular value of that table is "
        f"{times:.1f} times its noise at best. Give more rankings. {_INSTEAD}"
    )


def first_three(order: NDArray[np.int32], weight: Array) -> tuple[Array, Array]:
    """(Q, Q, Q) Pr(these are the first three), in all six orders; (Q,) Pr(first)."""
    Q, total = order.shape[1], weight.sum()
    a, b, c = np.sort(order[:, :3], axis=1).T.astype(np.int64)
    tensor = np.bincount((a * Q + b) * Q + c, weight / total, Q**3).reshape(Q, Q, Q)
    turns = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    return sum(tensor.transpose(turn) for turn in turns), np.bincount(
        order[:, 0], weight / total, Q
    )  # type: ignore[return-value]


def terms(tensor: Array, first: Array, parts: list[NDArray[np.int64]]) -> Terms | None:
    """The two terms of the tensor with one item of each part; None where they are not real."""
    T = tensor[np.ix_(*parts)]
    bases, second = [], []
    for mode in range(3):
        U, s, _ = np.linalg.svd(
            np.moveaxis(T, mode, 0).reshape(T.shape[mode], -1), full_matrices=False
        )
        bases.append(U[:, :2])
        second.append(float(s[1]))
    factors = two_terms(np.einsum("abc,ai,bj,cl->ijl", T, *bases))
    if factors is None:
        return None
    y = np.zeros((len(first), 2))
    for part, base, factor in zip(parts, bases, factors, strict=True):
        components = base @ factor
        components = components * np.where(components.sum(axis=0) < 0, -1.0, 1.0)
        scale, _ = nnls(components, first[part])  # Σ_t scale_t column_t = who of this part is first
        y[part] = np.maximum(components * scale, 0.0)
    return Terms(y, min(second) / float(np.sqrt(T.sum()))) if np.all(y.sum(axis=0) > 0) else None


def two_terms(core: Array) -> list[Array] | None:
    """Three (2, 2) matrices with core = Σ_t a_t ⊗ b_t ⊗ c_t up to scale; None if not real.

    By simultaneous diagonalisation; a_t, b_t, c_t are their columns t.
    """
    front, back = core[:, :, 0], core[:, :, 1]
    if abs(np.linalg.det(back)) < 1e-300:
        return None
    values, A = np.linalg.eig(front @ np.linalg.inv(back))  # A diag(c_1 / c_2) A⁻¹
    if np.any(np.imag(values)) or abs(np.linalg.det(A)) < 1e-9:
        return None
    A = np.real(A)  # NumPy 2.5 always gives complex numbers
    rest = np.einsum("ti,ijl->tjl", np.linalg.inv(A), core)  # b_t ⊗ c_t
    B, C = np.empty((2, 2)), np.empty((2, 2))
    for t in range(2):
        U, _, V = np.linalg.svd(rest[t])
        B[:, t], C[:, t] = U[:, 0], V[0]
    return [A, B, C]


def _averaged(found: list[Array]) -> Array:
    """The mean of several (Q, 2) tables, their components matched to the first one's."""
    total = np.zeros_like(found[0])
    for y in found:
        same, crossed = (float(np.sum((y[:, turn] - found[0]) ** 2)) for turn in ([0, 1], [1, 0]))
        total += y if same <= crossed else y[:, ::-1]
    return total / len(found)


def _phi_of(x: Array) -> float:
    """The φ whose φ^r / S_Q is nearest to the sorted probabilities of being first."""
    ranked, r = np.sort(x)[::-1], np.arange(len(x))

    def away(phi: float) -> float:
        expected = phi**r
        return float(np.sum((ranked - expected / expected.sum()) ** 2))

    best: Any = minimize_scalar(away, bounds=(LEAST_PHI, 0.999), method="bounded")
    return float(best.x)


def recover_rest(
    order: NDArray[np.int32], weight: Array, first: Array, y: Array, heads: Array
) -> NDArray[np.int32]:
    """(2, Q) both orders: heads by x_t, the others by mean position given the first item."""
    Q, total = order.shape[1], weight.sum()
    position = sigma_of(order)
    # [a, i]
    means = np.stack(
        [np.bincount(order[:, 0], weight / total * position[:, i], Q) for i in range(Q)], axis=1
    ).astype(float)
    orders = np.empty((2, Q), np.int32)
    expected = np.stack([_mean_positions(i, means, first, y) for i in range(Q)])  # (Q, 2)
    for t in range(2):
        head = np.flatnonzero(heads[t] >= max(0.1, 4 / np.sqrt(total)))  # beyond doubt
        head = head[np.argsort(-heads[t][head], kind="stable")]
        rest = np.setdiff1d(np.arange(Q), head)
        orders[t] = np.r_[head, rest[np.argsort(expected[rest, t], kind="stable")]]
    return orders


def _mean_positions(i: int, means: Array, first: Array, y: Array) -> Array:
    """e_t(i) from Σ_t y_t(a) e_t(i) = E[position of i, a first], weighted least squares over a."""
    rows = (np.arange(len(first)) != i) & (first > 0)
    root = 1 / np.sqrt(first[rows])
    return np.linalg.lstsq(y[rows] * root[:, None], means[rows, i] * root, rcond=None)[0]
