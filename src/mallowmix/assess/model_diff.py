"""Two models side by side: which components match, what moved, what is new."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.frames import as_frame
from mallowmix.data.labels import text_of
from mallowmix.data.text import list_of
from mallowmix.errors import DataError
from mallowmix.model.fitted_model import AnyModel, names_in
from mallowmix.model.names import component_title
from mallowmix.model.pair_model import check_model
from mallowmix.model.permutations import Matching, match_components, order_of, sigma_of

_MOVED = 5  # items named that moved most


@dataclass(frozen=True)
class Move:
    """An item whose position changed; positions count from 1, among the items of both models."""

    item: str
    old_position: int
    new_position: int


@dataclass(frozen=True)
class Couple:
    """Two matched components, numbered from 1, and what changed.

    `kendall` is the fraction of pairs in different order; `moved` are the items that moved most.
    """

    old: int
    new: int
    kendall: float
    old_phi: float
    new_phi: float
    old_share: float
    new_share: float
    moved: tuple[Move, ...]


@dataclass(frozen=True)
class Changes:
    """What differs between two models.

    Attributes
    ----------
    identical : bool
        The same items, rankings, dispersions and shares, whatever the numbering of the components.
    couples : tuple of Couple
        Matched components, in the order of the old model.
    only_old, only_new : tuple of int
        Components without a match, numbered from 1.
    items_only_old, items_only_new : tuple of str
        Items of one model alone; rankings are compared on the others.
    old_names, new_names : tuple of str
        The names of the components of each model; () where none has a name.
    """

    identical: bool
    couples: tuple[Couple, ...]
    only_old: tuple[int, ...]
    only_new: tuple[int, ...]
    items_only_old: tuple[str, ...]
    items_only_new: tuple[str, ...]
    old_names: tuple[str, ...] = ()
    new_names: tuple[str, ...] = ()

    @property
    def kendall(self) -> float:
        """The mean fraction of pairs in different order over the matched components."""
        return float(np.mean([couple.kendall for couple in self.couples]))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        values = asdict(self) | {"kendall": self.kendall}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value or not name.endswith("_names")
        }

    def to_frame(self, like: Any = None) -> Any:
        """Old, new, kendall, old_phi, new_phi, old_share, new_share: a row for matched components.

        Where components have names, old_name and new_name come last.

        Parameters
        ----------
        like : {"pandas", "polars", "pyarrow"} or a table, optional
            The kind of table; Arrow unless given.
        """
        names = ("old", "new", "kendall", "old_phi", "new_phi", "old_share", "new_share")
        columns = {name: [getattr(each, name) for each in self.couples] for name in names}
        for side in ("old", "new"):
            names = getattr(self, f"{side}_names")
            if names:
                columns[f"{side}_name"] = [names[getattr(each, side) - 1] for each in self.couples]
        return as_frame(columns, like)

    def _repr_html_(self) -> str:
        """The sentences, as a list for notebooks."""
        return list_of(self.words().splitlines())

    def words(self) -> str:
        """The changes in sentences, one per line."""
        if self.identical:
            return "The two models are identical."
        old, new = self.old_names, self.new_names
        lines = [_couple_words(couple, old, new) for couple in self.couples]
        lines += [
            f"{component_title(old, k, 'Component ')} of the old model has no partner in the new "
            "one."
            for k in self.only_old
        ]
        lines += [
            f"{component_title(new, k, 'Component ')} of the new model is new."
            for k in self.only_new
        ]
        for items, where in ((self.items_only_old, "old"), (self.items_only_new, "new")):
            if items:
                named = ", ".join(items[:_MOVED]) + (", …" if len(items) > _MOVED else "")
                lines.append(f"Only in the {where} model: {named} ({len(items)} of its items).")
        return "\n".join(lines)


def compare_models(old: AnyModel, new: AnyModel) -> Changes:
    """Match the components of two models so that their rankings differ least, and say what changed.

    Parameters
    ----------
    old, new : AnyModel
        They may differ in their number of components and in their items; rankings are compared on
        the items of both.

    Returns
    -------
    Changes

    Raises
    ------
    DataError
        Where the models have fewer than two items in common.

    Examples
    --------
    >>> import mallowmix as mm
    >>> old = mm.M4.from_orders([["tea", "water", "milk"]], phi=0.2)
    >>> new = mm.M4.from_orders([["water", "tea", "milk"]], phi=0.3)
    >>> changes = mm.compare_models(old, new)
    >>> changes.couples[0].moved[0]
    Move(item='tea', old_position=1, new_position=2)
    >>> round(changes.kendall, 3)
    0.333
    """
    check_model(old, "old")
    check_model(new, "new")
    here, there = text_of(old.items), text_of(new.items)
    common = [item for item in here if item in set(there)]
    if len(common) < 2:
        raise DataError(
            f"The models have {len(common)} items in common; "
            "at least two are needed to compare rankings."
        )
    first, second = _among(old.sigma, here, common), _among(new.sigma, there, common)
    matching = match_components(second, first)
    couples = tuple(
        _couple(old, new, first, second, common, int(a), int(b), float(d))
        for a, b, d in zip(matching.truth, matching.found, matching.kendall, strict=True)
    )
    return Changes(
        _identical(old, new, matching, set(here) == set(there)),
        couples,
        tuple(k + 1 for k in matching.unmatched_truth),
        tuple(k + 1 for k in matching.unmatched_found),
        tuple(item for item in here if item not in set(there)),
        tuple(item for item in there if item not in set(here)),
        names_in(old),
        names_in(new),
    )


def _among(sigma: NDArray[np.int32], items: list[str], common: list[str]) -> NDArray[np.int32]:
    """(K, n) positions among the common items."""
    number = {item: i for i, item in enumerate(items)}
    return sigma_of(order_of(sigma[:, [number[item] for item in common]]))


def _couple(
    old: AnyModel,
    new: AnyModel,
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    common: list[str],
    a: int,
    b: int,
    distance: float,
) -> Couple:
    shift = np.abs(second[b] - first[a])
    most = [i for i in np.argsort(-shift, kind="stable")[:_MOVED] if shift[i]]
    moved = tuple(Move(common[i], int(first[a, i]) + 1, int(second[b, i]) + 1) for i in most)
    phis, shares = (
        (float(old.phi[a]), float(new.phi[b])),
        (float(old.share[a]), float(new.share[b])),
    )
    return Couple(a + 1, b + 1, distance, *phis, *shares, moved)


def _identical(old: AnyModel, new: AnyModel, matching: Matching, same_items: bool) -> bool:
    if not same_items or old.n_components != new.n_components or matching.kendall.any():
        return False
    f, t = matching.found, matching.truth
    return bool(
        np.array_equal(old.phi[t], new.phi[f]) and np.array_equal(old.alpha[t], new.alpha[f])
    )


def _couple_words(couple: Couple, old: Sequence[str], new: Sequence[str]) -> str:
    name, now = component_title(old, couple.old, ""), component_title(new, couple.new, "")
    name = f"Component {name}" + (f" (now {now})" if now != name else "")
    shares = f"share {100 * couple.old_share:.1f} % → {100 * couple.new_share:.1f} %"
    phis = f"phi {couple.old_phi:.3f} → {couple.new_phi:.3f}"
    order = (
        f"{100 * couple.kendall:.1f} % of the pairs in different order"
        if couple.kendall
        else "the same ranking"
    )
    moved = "; ".join(
        f"{move.item} {move.old_position} → {move.new_position}" for move in couple.moved[:3]
    )
    return f"{name}: {order}, {shares}, {phis}" + (f"; moved most: {moved}." if moved else ".")
