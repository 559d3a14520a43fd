"""M4: the mixed membership Mallows model, and what follows from its parameters alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_labels, check_distinct, text_of
from mallowmix.data.text import name_of, percent, table_of
from mallowmix.errors import DataError
from mallowmix.model.calibration import Calibration
from mallowmix.model.mallows import beta_matrix, check_phi
from mallowmix.model.permutations import as_permutations, order_of, sigma_of
from mallowmix.model.sampling import Sample, draw_population, pair_distribution


@dataclass(frozen=True, eq=False)
class M4:
    """K shared Mallows components and the Dirichlet prior of people's weights over them.

    sigma : (K, Q) positions; sigma[k, i] is the place of item i in the k-th reference ranking, 0 is best (the paper's σ_k(i))
    phi : (K,) dispersions, 0 ≤ φ ≤ 1: how noisily each reference ranking is followed
    alpha : (K,) Dirichlet parameters of Pr(θ); alpha / alpha.sum() are the shares of the components in the population
    items : (Q,) labels
    report : what is known of how the model came about (method, options, seed, notes); plain JSON values
    scores : (K, Q) Bradley–Terry scores, where the columns are β_(i,j),k = 1 / (1 + exp(s_kj − s_ki)) and not Mallows; σ then
        orders the items by score, and φ is that of the nearest Mallows column
    calibration : how far a person's comparisons and the prior are trusted in inference (from `calibrate`)
    others : further fits of the same data, from `fit(n_fits=…)`: predictions are averaged over them, everything else ignores them
    """

    sigma: NDArray[np.int32]
    phi: NDArray[np.float64]
    alpha: NDArray[np.float64]
    items: Labels
    report: Mapping[str, Any] = field(default_factory=dict)
    scores: NDArray[np.float64] | None = None
    calibration: Calibration = field(default_factory=Calibration)
    others: tuple["M4", ...] = ()

    def __post_init__(self) -> None:
        sigma = np.atleast_2d(as_permutations(self.sigma))
        if sigma.ndim > 2:
            raise DataError(f"sigma must have one row a component; got the shape {sigma.shape}.")
        K, Q = sigma.shape
        phi, alpha = np.array(self.phi, np.float64), np.array(self.alpha, np.float64)
        items = as_labels(self.items)
        if phi.shape != (K,) or alpha.shape != (K,) or items.shape != (Q,):
            raise DataError(
                f"sigma has {K} components of {Q} items, "
                f"but phi has the shape {phi.shape}, alpha {alpha.shape} and items {items.shape}."
            )
        for value in phi:
            check_phi(value)
        if not np.all(np.isfinite(alpha) & (alpha > 0)):
            raise DataError(f"alpha must hold finite numbers above 0; got {alpha.tolist()}.")
        check_distinct(items, "item")
        for name, array in (("sigma", sigma), ("phi", phi), ("alpha", alpha), ("items", items)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.scores is not None:
            object.__setattr__(self, "scores", _checked_scores(self.scores, (K, Q)))
        object.__setattr__(self, "others", tuple(self.others))
        for other in self.others:
            if other.others or text_of(other.items) != text_of(items):
                raise DataError(
                    "others must be models of the same items, in the same order, without others of their own."
                )

    @classmethod
    def from_orders(
        cls,
        orders: Sequence[Sequence[object]],
        phi: ArrayLike = 0.0,
        alpha: ArrayLike = 1.0,
        items: Sequence[object] | None = None,
    ) -> "M4":
        """From reference rankings written as lists of labels, best first; `phi` and `alpha` may be single numbers."""
        if not len(orders):
            raise DataError("There are no rankings: give at least one, best item first.")
        names = list(items) if items is not None else sorted(orders[0], key=str)
        position = {str(name): i for i, name in enumerate(names)}
        for row in orders:
            _check_same_items(text_of(row), list(position))
        order = as_permutations([[position[str(name)] for name in row] for row in orders], "orders")
        phi, alpha = (
            np.full(len(order), value) if np.ndim(value) == 0 else np.asarray(value)
            for value in (phi, alpha)
        )
        return cls(sigma_of(order), phi, alpha, as_labels(names))

    @property
    def n_components(self) -> int:
        """K, the number of components."""
        return len(self.sigma)

    @property
    def n_items(self) -> int:
        """Q, the number of items."""
        return self.sigma.shape[1]

    @property
    def order(self) -> NDArray[np.int32]:
        """(K, Q) items by position, σ_k⁻¹."""
        return order_of(self.sigma)

    @property
    def share(self) -> NDArray[np.float64]:
        """(K,) the mean weight of each component in the population, the paper's a."""
        return self.alpha / self.alpha.sum()

    def beta(self) -> NDArray[np.float64]:
        """(K, Q, Q) ranking matrix: beta[k, i, j] is the probability that component k prefers i to j."""
        if self.scores is not None:
            return expit(self.scores[:, :, None] - self.scores[:, None, :])
        return np.stack(
            [beta_matrix(sigma, phi) for sigma, phi in zip(self.sigma, self.phi, strict=True)]
        )

    def ranking_matrix(self, mu: ArrayLike | None = None) -> NDArray[np.float64]:
        """(Q², K) the paper's B: μ_ij β_(i,j),k for ordered pairs i·Q + j; each column sums to one.

        mu : how likely each unordered pair is asked, as a symmetric (Q, Q) matrix of non-negative numbers; uniform unless given
        """
        K, Q = self.sigma.shape
        asked = np.zeros((Q, Q))
        asked[np.triu_indices(Q, 1)] = pair_distribution(mu, Q)
        B = (asked + asked.T) * self.beta()  # μ_ij = μ_ji, 0 on the diagonal
        return B.reshape(K, Q * Q).T  # (Q², K)

    def probability(self, theta: ArrayLike, winner: object, loser: object) -> NDArray[np.float64]:
        """The probability that people with weights θ (one row each) prefer `winner` to `loser`: Σ_k θ_k β_(i,j),k."""
        i, j = self.item_number(winner), self.item_number(loser)
        theta = np.asarray(theta, np.float64)
        if theta.shape[-1:] != (self.n_components,):
            raise DataError(
                f"theta has shape {theta.shape}; each row must hold {self.n_components} weights, one a component."
            )
        return theta @ self.beta()[:, i, j]

    def item_number(self, label: object) -> int:
        """The number of an item, by its label."""
        try:
            return text_of(self.items).index(str(label))
        except ValueError:
            raise DataError(
                f"The model has no item {label!r}; it has {self.n_items} others."
            ) from None

    def log_likelihood(
        self, comparisons: Comparisons, theta: ArrayLike, *, include_mu: bool = False
    ) -> float:
        """The likelihood: log p(w | θ) = Σ weight · log Σ_k θ_mk β_(w),k, with one row of θ a user.

        μ, the choice of which pairs to compare, cancels between models and is left out unless `include_mu`, which adds
        Σ weight · log μ_ij with μ estimated from the pair counts.
        """
        comparisons = comparisons.with_items(self.items)
        theta = np.ascontiguousarray(theta, np.float64)
        if theta.shape != (comparisons.n_users, self.n_components):
            raise DataError(
                f"theta has shape {theta.shape}; it must be {(comparisons.n_users, self.n_components)}, one row a user."
            )
        value = _log_likelihood(
            comparisons.user,
            comparisons.winner,
            comparisons.loser,
            comparisons.weight,
            theta,
            self.beta(),
        )
        return value + (_log_mu(comparisons) if include_mu else 0.0)

    def sample(
        self,
        n_users: int,
        per_user: int | ArrayLike,
        *,
        mu: ArrayLike | None = None,
        prior: str | ArrayLike = "dirichlet",
        seed: int = 0,
    ) -> Sample:
        """Draw a population and its comparisons from the model (see `mallowmix.model.sampling.draw_population`)."""
        return draw_population(
            self.beta(), self.alpha, self.items, n_users, per_user, mu=mu, prior=prior, seed=seed
        )

    def table(self, n_top: int | None = None) -> list[dict[str, Any]]:
        """One row a component, largest share first: its number, share, dispersion, and its items best first."""
        by_share, items = np.argsort(-self.share, kind="stable"), self.items.tolist()
        return [
            {
                "component": int(k) + 1,
                "share": float(self.share[k]),
                "phi": float(self.phi[k]),
                "items": [items[i] for i in self.order[k][:n_top]],
            }
            for k in by_share
        ]

    def __repr__(self) -> str:
        lines = [f"M4 of {self.n_components} components over {self.n_items} items"]
        for row in self.table(n_top=3):
            top = " > ".join(map(str, row["items"])) + (" > …" if self.n_items > 3 else "")
            lines.append(
                f"  {row['component']:>3}  share {row['share']:.3f}  phi {row['phi']:.3f}  {top}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """A table for notebooks: share, dispersion, and the top of each ranking."""
        rows = [
            (
                str(row["component"]),
                percent(row["share"]),
                f"{row['phi']:.3f}",
                " &gt; ".join(map(name_of, row["items"])),
            )
            for row in self.table(n_top=8)
        ]
        more = "" if self.n_items <= 8 else ", best 8"
        headings = ("component", "share", "phi", f"ranking{more}")
        return table_of(
            headings, rows, f"M4 of {self.n_components} components over {self.n_items} items"
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, M4)
            and text_of(self.items) == text_of(other.items)
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("sigma", "phi", "alpha")
            )
            and dict(self.report) == dict(other.report)
            and _same(self.scores, other.scores)
            and (self.calibration, self.others) == (other.calibration, other.others)
        )

    __hash__ = None  # type: ignore[assignment]


def _same(a: NDArray[np.float64] | None, b: NDArray[np.float64] | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)


def _checked_scores(scores: ArrayLike, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Scores as a frozen (K, Q) array of finite numbers."""
    array = np.array(scores, np.float64)
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise DataError(
            f"scores must hold finite numbers in the shape {shape}; got the shape {array.shape}."
        )
    array.setflags(write=False)
    return array


def _check_same_items(row: list[str], names: list[str]) -> None:
    odd = sorted(set(row) ^ set(names)) or [name for name in row if row.count(name) > 1]
    if odd:
        raise DataError(
            f"The rankings are not of the same {len(names)} items, each once: look for {odd[0]!r}."
        )


@nb.njit(cache=True, nogil=True)
def _log_likelihood(user, winner, loser, weight, theta, beta):
    total = 0.0
    for n in range(len(user)):
        p = 0.0
        for k in range(theta.shape[1]):
            p += theta[user[n], k] * beta[k, winner[n], loser[n]]
        total += weight[n] * math.log(p) if p > 0 else -np.inf
    return total


def _log_mu(comparisons: Comparisons) -> float:
    Q = comparisons.n_items
    low, high = (
        np.minimum(comparisons.winner, comparisons.loser),
        np.maximum(comparisons.winner, comparisons.loser),
    )
    counts = np.bincount(low.astype(np.int64) * Q + high, comparisons.weight)
    counts = counts[counts > 0]
    return float(counts @ np.log(counts / counts.sum()))
