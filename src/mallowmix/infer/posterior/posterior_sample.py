"""Draws of the posterior with their labels: arrays, xarray, arviz."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.frames import as_frame
from mallowmix.data.labels import Labels, text_of
from mallowmix.data.optional_packages import optional_package
from mallowmix.data.text import name_of, percent, table_of
from mallowmix.errors import DataError, check_choice
from mallowmix.infer.posterior.component_labels import beta_tables
from mallowmix.infer.posterior.posterior_priors import PosteriorPriors
from mallowmix.model.m4 import M4
from mallowmix.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorSample:
    """Draws from the posterior of everything, C chains of D draws each.

    Components have the same number in all draws, as far as they can be matched. `log_likelihood`,
    `win_rate`, `sorted_share` and `sorted_phi` do not depend on how they are numbered.

    Attributes
    ----------
    items : (Q,) labels
    users : (M,) labels
        The users that the draws were made from, each as often as they count.
    sigma : (C, D, K, Q) array of int16
        Positions, 0 is best.
    phi, alpha : (C, D, K) arrays
    theta : (C, D, M, K) array of float32, or None
        Users' weights, where they were kept.
    log_likelihood : (C, D) array
        Of the comparisons, given θ and the components.
    user_log_likelihood : (C, D, M) array of float32
        Of each user's comparisons, given the components and α, with θ integrated out.
    win_rate : (C, D, Q) array
        How often each item is preferred to another one, by the population, as M4 says.
    matched_win_rate : (C, D, Q) array
        The same, with every item winning as often as it was seen to win.
    win_influence : (M, Q) array
        What that gains from each user's answers, the draw held fixed.
    crowd, crowd_phi : (C, D, Q) and (C, D) arrays, or None
        The crowd's ranking and φ_0, where the prior of rankings is "mallows".
    initialisations : tuple of str
        How each chain began.
    n_users : float
        How many users the data has, by their weights; `users` is a sample where it is shorter.
    likelihood_weight : float
        How much a comparison counted.
    priors : PosteriorPriors
    seed : int
    """

    items: Labels
    users: Labels
    sigma: NDArray[np.int16]
    phi: Array
    alpha: Array
    theta: NDArray[np.float32] | None
    log_likelihood: Array
    user_log_likelihood: NDArray[np.float32]
    win_rate: Array
    matched_win_rate: Array
    win_influence: Array
    crowd: NDArray[np.int16] | None
    crowd_phi: Array | None
    initialisations: tuple[str, ...]
    n_users: float
    likelihood_weight: float
    priors: PosteriorPriors
    seed: int

    def __repr__(self) -> str:
        C, D, K, Q = self.sigma.shape
        return f"PosteriorSample({C} chains of {D} draws, {K} components of {Q} items)"

    def to_frame(self, like: Any = None) -> Any:
        """Item, win_rate, low, high: by the population, if all people answered as M4 says.

        Intervals of 90%, all chains alike. `posterior_intervals` has intervals of everything, which
        also know how chains differ and how people do.

        Parameters
        ----------
        like : {"pandas", "polars", "pyarrow"} or a table, optional
            The kind of table that is wanted; Arrow unless given.
        """
        low, middle, high = np.quantile(self.win_rate, [0.05, 0.5, 0.95], axis=(0, 1))
        rates = {"win_rate": middle, "low": low, "high": high}
        return as_frame({"item": self.items.tolist()} | rates, like)

    def _repr_html_(self) -> str:
        """A row for each component: share and φ with intervals of 90%, and its best items."""
        rows = []
        for k in range(self.sigma.shape[2]):
            ends = [np.quantile(draws[..., k], [0.05, 0.95]) for draws in (self.share, self.phi)]
            best = np.argsort(self.sigma[:, :, k].mean(axis=(0, 1)), kind="stable")[:3]
            share, phi = (draws[..., k].mean() for draws in (self.share, self.phi))
            cells = (
                f"{percent(share)} [{percent(ends[0][0])}, {percent(ends[0][1])}]",
                f"{phi:.2f} [{ends[1][0]:.2f}, {ends[1][1]:.2f}]",
                ", ".join(name_of(self.items[i]) for i in best),
            )
            rows.append((str(k + 1), *cells))
        return table_of(("component", "share", "phi", "best on average"), rows, repr(self))

    @property
    def share(self) -> Array:
        """(C, D, K) the components' shares, α_k / Σ α."""
        return self.alpha / self.alpha.sum(axis=-1, keepdims=True)

    @property
    def sorted_share(self) -> Array:
        """(C, D, K) the shares of each draw, the largest first."""
        return -np.sort(-self.share, axis=-1)

    @property
    def sorted_phi(self) -> Array:
        """(C, D, K) the dispersions of each draw, the largest first."""
        return -np.sort(-self.phi, axis=-1)

    @property
    def sampled(self) -> bool:
        """Whether the draws were made from a sample of the users."""
        return len(self.users) < round(self.n_users)

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the result."""
        if not self.sampled:
            return ()
        return (
            f"The draws were made from a sample of {len(self.users):,} of {self.n_users:,.0f} "
            "users, to bound the cost: they are as uncertain as that many users leave them.",
        )

    def m4(self, chain: int, draw: int) -> M4:
        """One draw as a model."""
        at = (chain, draw)
        return M4(self.sigma[at], self.phi[at], self.alpha[at], self.items)

    def probability(self, first: object, second: object) -> Array:
        """(C, D) the probability that the population prefers one item to another.

        Parameters
        ----------
        first, second : labels
            Two items.
        """
        i, j = self._number(first), self._number(second)
        out = np.empty(self.log_likelihood.shape)
        for at in np.ndindex(*out.shape):
            beta = beta_tables(self.sigma[at], self.phi[at])[:, i * len(self.items) + j]
            out[at] = self.share[at] @ beta
        return out

    def _number(self, item: object) -> int:
        names = text_of(self.items)
        if str(item) not in names:
            raise DataError(f"There is no item {item!r} among the {len(names)} items.")
        return names.index(str(item))

    def to_xarray(self) -> Any:
        """An xarray Dataset with the dimensions chain, draw, component, item and user.

        Raises
        ------
        MissingPackageError
            Where xarray is not installed.
        """
        xr = optional_package("xarray", "A table of labelled draws")
        C, D, K, _ = self.sigma.shape
        labels = {
            "chain": np.arange(C),
            "draw": np.arange(D),
            "component": np.arange(1, K + 1),
            "item": text_of(self.items),
        }
        labels["user"] = text_of(self.users)
        return xr.Dataset(self._variables(), labels, self._attributes())

    def _variables(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        each, K = ("chain", "draw"), ("component",)
        found: dict[str, tuple[tuple[str, ...], Any]] = {
            "sigma": ((*each, *K, "item"), self.sigma),
            "phi": (each + K, self.phi),
            "alpha": (each + K, self.alpha),
            "share": (each + K, self.share),
            "sorted_share": ((*each, "largest_first"), self.sorted_share),
            "sorted_phi": ((*each, "largest_first"), self.sorted_phi),
            "win_rate": ((*each, "item"), self.win_rate),
            "matched_win_rate": ((*each, "item"), self.matched_win_rate),
            "log_likelihood": (each, self.log_likelihood),
            "user_log_likelihood": ((*each, "user"), self.user_log_likelihood),
        }
        if self.theta is not None:
            found["theta"] = ((*each, "user", "component"), self.theta)
        if self.crowd is not None:
            found["crowd"] = ((*each, "item"), self.crowd)
            found["crowd_phi"] = (each, self.crowd_phi)
        return found

    def _attributes(self) -> dict[str, Any]:
        return {
            "initialisations": ", ".join(self.initialisations),
            "n_users": self.n_users,
            "n_sampled_users": len(self.users),
            "likelihood_weight": self.likelihood_weight,
            "priors": repr(self.priors),
            "seed": str(self.seed),
        }

    def to_arviz(self) -> Any:
        """An arviz InferenceData, for its plots and summaries.

        Raises
        ------
        MissingPackageError
            Where arviz is not installed.
        """
        return load_arviz().convert_to_inference_data(self.to_xarray())

    def pooled(self, name: str) -> Any:
        """The draws of one quantity, those of all chains in one row: (C · D, …).

        Parameters
        ----------
        name : str
            As in `to_xarray`: "phi", "share", "win_rate", …
        """
        known = self._variables()
        check_choice("name", name, known)
        values = known[name][1]
        return values.reshape(-1, *values.shape[2:])


def load_arviz() -> Any:
    """The module arviz; a MissingPackageError where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its announcement of a new version
        return optional_package("arviz", "A check of convergence")
