"""FittedModel: what `fit` returns: parameters, report, calibration and ensemble."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels, text_of
from mallowmix.errors import DataError
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.calibration import Calibration
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.dispersion import phi_of_beta
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fit_report import FitReport
from mallowmix.model.m4 import M4
from mallowmix.model.names import (
    check_component_names,
    with_component_names,
    with_item_labels,
)
from mallowmix.model.predictor import Predictor


@dataclass(frozen=True, eq=False, repr=False)
class FittedModel(ComponentModel):
    """A fitted model: its parameters, how it was learnt, and what predictions need besides.

    It is frozen, and `sigma`, `phi`, `alpha`, `items`, `share` and `beta()` can be read directly.

    Parameters
    ----------
    m4 : M4
        Reference rankings, dispersions and prior.
    report : FitReport
        How the model was learnt.
    calibration : Calibration
        The likelihood weight of a comparison and the scale of the prior, in inference about a user.
    ensemble : Ensemble
        Other fits of the same data: predictions are averaged over them, all other results ignore
        them.
    bradley_terry : BradleyTerryModel
        Scores instead of rankings, for ``components="bradley-terry"``; `m4` then holds the order
        of the items by score and the nearest dispersions.
    predictor : Predictor
        What predicts users' answers, where it was learnt: models of different kinds, pooled.
        Without it the components do, with their calibration and ensemble.
    component_names : tuple of str
        What people call the components; empty where they have numbers alone (see `named`).

    Examples
    --------
    >>> import mallowmix as mm
    >>> model = mm.FittedModel(mm.load_dishes().model)
    >>> model.n_components, model.share.round(2).tolist()
    (3, [0.44, 0.32, 0.24])
    """

    m4: M4
    report: FitReport = field(default_factory=FitReport)
    calibration: Calibration = field(default_factory=Calibration)
    ensemble: Ensemble = field(default_factory=Ensemble)
    bradley_terry: BradleyTerryModel | None = None
    predictor: Predictor | None = None
    component_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.component_names:
            check_component_names(self.component_names, self.m4.n_components)
        self.ensemble.check_items(self.m4.items)
        if self.predictor is not None:
            self.predictor.check_items(self.m4.items)
        bt = self.bradley_terry
        if bt is None:
            return
        same = text_of(bt.items) == text_of(self.m4.items) and np.array_equal(
            bt.alpha, self.m4.alpha
        )
        if not same:
            raise DataError(
                "The Bradley–Terry scores must be of the same components and items as the model."
            )

    @property
    def components(self) -> M4 | BradleyTerryModel:
        """The components that β comes from: Bradley–Terry where there are scores, else Mallows."""
        return self.m4 if self.bradley_terry is None else self.bradley_terry

    @property
    def members(self) -> tuple[M4 | BradleyTerryModel, ...]:
        """All models that predictions are averaged over, this one first."""
        return (self.components, *self.ensemble)

    @property
    def sigma(self) -> NDArray[np.int32]:
        """(K, Q) positions of the items, 0 is best."""
        return self.m4.sigma

    @property
    def order(self) -> NDArray[np.int32]:
        """(K, Q) items by position."""
        return self.m4.order

    @property
    def phi(self) -> NDArray[np.float64]:
        """(K,) dispersions."""
        return self.m4.phi

    @property
    def alpha(self) -> NDArray[np.float64]:  # type: ignore[override]
        """(K,) parameters of the Dirichlet prior."""
        return self.m4.alpha

    @property
    def items(self) -> Labels:  # type: ignore[override]
        """(Q,) the labels of the items."""
        return self.m4.items

    def beta(self) -> NDArray[np.float64]:
        """(K, Q, Q) ranking matrix: beta[k, i, j], that component k prefers i to j."""
        return self.components.beta()

    def table(self, n_top: int | None = None) -> list[dict[str, Any]]:
        """One row a component, as `M4.table`; named components also have the key name."""
        rows = self.m4.table(n_top)
        if not self.component_names:
            return rows
        return [row | {"name": self.component_names[row["component"] - 1]} for row in rows]

    def to_frame(self, like: Any = None) -> Any:
        """Component, name, share, phi, position (1 is best), item: a row for each item of each.

        Parameters
        ----------
        like : {"pandas", "polars", "pyarrow"} or a table, optional
            The kind of table that is wanted; Arrow unless given.
        """
        from mallowmix.data.frames import as_frame

        rows = [
            (row["component"], row.get("name", ""), row["share"], row["phi"], n, str(item))
            for row in self.table()
            for n, item in enumerate(row["items"], 1)
        ]
        names = ("component", "name", "share", "phi", "position", "item")
        return as_frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), like)

    def component_name(self, component: int) -> str:
        """The name of a component, by its number from 1; "" where it has none."""
        return self.component_names[component - 1] if self.component_names else ""

    def named(
        self,
        components: Mapping[int, str] | Sequence[str] = (),
        items: Mapping[str, str] | None = None,
    ) -> "FittedModel":
        """The same model with names for its components, and other labels for its items.

        Parameters
        ----------
        components : mapping of int to str, or sequence of str
            Names by the number of a component, from 1; or one for each, in their order. Those
            that are left out keep the name they have; "" takes it away.
        items : mapping of str to str, optional
            New labels by the old ones; items that are left out keep theirs.

        Returns
        -------
        FittedModel

        Examples
        --------
        >>> import mallowmix as mm
        >>> model = mm.FittedModel(mm.load_dishes().model)
        >>> named = model.named({1: "comfort", 3: "spicy"}, items={"pizza": "Pizza"})
        >>> named.component_names
        ('comfort', '', 'spicy')
        """
        names = with_component_names(self.component_names, components, self.n_components)
        model = replace(self, component_names=names)
        return model if items is None else with_item_labels(model, items)

    def __repr__(self) -> str:
        return self.m4.in_lines(self.component_names)

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        return self.m4.in_html(self.component_names)

    def __eq__(self, other: object) -> bool:
        names = [each.name for each in fields(self)]
        return isinstance(other, FittedModel) and all(
            getattr(self, name) == getattr(other, name) for name in names
        )

    __hash__ = None  # type: ignore[assignment]


AnyModel: TypeAlias = FittedModel | M4


def as_fitted(model: AnyModel | BradleyTerryModel) -> FittedModel:
    """A bare model as a fitted one: no report, no calibration, no ensemble."""
    if isinstance(model, FittedModel):
        return model
    if isinstance(model, M4):
        return FittedModel(model)
    return with_scores(model)


def with_scores(bt: BradleyTerryModel, fitted: FittedModel | None = None) -> FittedModel:
    """A fitted model with Bradley–Terry components, and all else that `fitted` holds."""
    beta, sigma = bt.beta(), bt.sigma
    phi = np.array([phi_of_beta(table, row) for table, row in zip(beta, sigma, strict=True)])
    m4 = M4(sigma, phi, bt.alpha, bt.items)
    if fitted is None:
        return FittedModel(m4, bradley_terry=bt)
    return replace(fitted, m4=m4, bradley_terry=bt)


def names_in(model: object) -> tuple[str, ...]:
    """The names of a model's components; none where it is not a `FittedModel` with names."""
    return model.component_names if isinstance(model, FittedModel) else ()
