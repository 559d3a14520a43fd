"""M4: the mixed membership Mallows model, and what follows from its parameters alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.labels import Labels, as_labels, text_of
from mallowmix.data.text import name_of, percent, table_of
from mallowmix.errors import DataError
from mallowmix.model.component_model import ComponentModel, checked_items, checked_prior
from mallowmix.model.mallows import beta_matrix, check_phi
from mallowmix.model.permutations import as_permutations, order_of, sigma_of

if TYPE_CHECKING:
    from mallowmix.model.fitted_model import FittedModel


@dataclass(frozen=True, eq=False, repr=False)
class M4(ComponentModel):
    """K shared Mallows components and the Dirichlet prior of users' weights over them.

    Parameters
    ----------
    sigma : (K, Q) array of int
        Positions: sigma[k, i] is the position of item i in the k-th reference ranking, 0 is best
        (the paper's σ_k(i)).
    phi : (K,) array of float
        Dispersions, 0 ≤ φ ≤ 1: how noisily each reference ranking is followed.
    alpha : (K,) array of float
        Dirichlet parameters of Pr(θ); alpha / alpha.sum() are the shares of the components.
    items : (Q,) labels
        The items, in the order of their numbers.

    Examples
    --------
    >>> import mallowmix as mm
    >>> model = mm.M4.from_orders([["tea", "water", "milk"], ["milk", "tea", "water"]], phi=0.2)
    >>> model.sigma.tolist()
    [[2, 0, 1], [0, 1, 2]]
    >>> float(model.probability([1.0, 0.0], "tea", "milk").round(3))
    0.941
    """

    sigma: NDArray[np.int32]
    phi: NDArray[np.float64]
    alpha: NDArray[np.float64]
    items: Labels

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
        sigma.setflags(write=False)
        phi.setflags(write=False)
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "phi", phi)
        object.__setattr__(self, "alpha", checked_prior(alpha, K))
        object.__setattr__(self, "items", checked_items(items, Q))

    @classmethod
    def from_orders(
        cls,
        orders: Sequence[Sequence[object]],
        phi: ArrayLike = 0.0,
        alpha: ArrayLike = 1.0,
        items: Sequence[object] | None = None,
    ) -> "M4":
        """From reference rankings written as lists of labels, best first.

        Parameters
        ----------
        orders : sequence of sequences of labels
            One ranking a component.
        phi, alpha : float or (K,) array
            A single number stands for all components.
        items : sequence of labels
            The items in the order of their numbers; sorted by text unless given.
        """
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
    def order(self) -> NDArray[np.int32]:
        """(K, Q) items by position, σ_k⁻¹."""
        return order_of(self.sigma)

    def beta(self) -> NDArray[np.float64]:
        """(K, Q, Q) ranking matrix: beta[k, i, j], that component k prefers i to j."""
        return np.stack(
            [beta_matrix(sigma, phi) for sigma, phi in zip(self.sigma, self.phi, strict=True)]
        )

    def table(self, n_top: int | None = None) -> list[dict[str, Any]]:
        """One row a component, largest share first.

        Parameters
        ----------
        n_top : int, optional
            How many items to list; all unless given.

        Returns
        -------
        list of dict
            With the keys component (its number from 1), share, phi, and items (best first).
        """
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

    def named(
        self,
        components: Mapping[int, str] | Sequence[str] = (),
        items: Mapping[str, str] | None = None,
    ) -> "FittedModel":
        """The same model with names, as `FittedModel.named`; what holds names is a `FittedModel`.

        Parameters
        ----------
        components : mapping of int to str, or sequence of str
            Names by the number of a component, from 1; or one for each, in their order.
        items : mapping of str to str, optional
            New labels by the old ones; items that are left out keep theirs.

        Returns
        -------
        FittedModel

        Examples
        --------
        >>> import mallowmix as mm
        >>> mm.load_dishes().model.named({1: "comfort", 3: "spicy"}).component_names
        ('comfort', '', 'spicy')
        """
        from mallowmix.model.fitted_model import FittedModel  # here, as it is made of M4

        return FittedModel(self).named(components, items)

    def __repr__(self) -> str:
        return self.in_lines()

    def in_lines(self, names: Sequence[str] = ()) -> str:
        """The model in a few lines; the names are of components, in their order."""
        lines = [f"M4 of {self.n_components} components over {self.n_items} items"]
        for row in self.table(n_top=3):
            top = " > ".join(map(str, row["items"])) + (" > …" if self.n_items > 3 else "")
            numbers = f"{row['component']:>3}  share {row['share']:.3f}  phi {row['phi']:.3f}"
            name = names[row["component"] - 1] if names else ""
            lines.append(f"  {numbers}  {f'{name}: ' if name else ''}{top}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """A table for notebooks: share, dispersion, and the top of each ranking."""
        return self.in_html()

    def in_html(self, names: Sequence[str] = ()) -> str:
        """The table for notebooks; the names are of components, in their order."""
        rows = [
            (
                f"{row['component']} {name_of(names[row['component'] - 1]) if names else ''}",
                percent(row["share"]),
                f"{row['phi']:.3f}",
                " &gt; ".join(map(name_of, row["items"])),
            )
            for row in self.table(n_top=8)
        ]
        more = "" if self.n_items <= 8 else ", best 8"
        headings = ("component", "share", "phi", f"ranking{more}")
        caption = f"M4 of {self.n_components} components over {self.n_items} items"
        return table_of(headings, rows, caption)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, M4)
            and text_of(self.items) == text_of(other.items)
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("sigma", "phi", "alpha")
            )
        )

    __hash__ = None  # type: ignore[assignment]


def _check_same_items(row: list[str], names: list[str]) -> None:
    odd = sorted(set(row) ^ set(names)) or [name for name in row if row.count(name) > 1]
    if odd:
        raise DataError(
            f"The rankings are not of the same {len(names)} items, each once: look for {odd[0]!r}."
        )
