"""The result of `choose_k`: a number of components, its reason, and a table."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from mallowmix.data.frames import FramedResult
from mallowmix.data.text import percent, table_of
from mallowmix.infer.heldout.scored_on import ScoredOn


@dataclass(frozen=True)
class KRow:
    """What was measured for one number of components.

    Attributes
    ----------
    k : int
        The number of components.
    log_likelihood_per_comparison, standard_error : float
        Of held-out comparisons of users whom the model was not learnt from (a coin has −log 2).
    difference, difference_error : float
        To the best number tried, 0 for that one, and its standard error, paired by user.
    agreement : float
        Of two models, each from one half of the users, with matched components: the fraction of
        pairs of items that both put in the same order, for the component that agrees least
        (random rankings agree in .5). NaN where it was not measured.
    agreements : tuple of float
        The same for every component, most first.
    smallest_share : float
        Of a component, the mean over the folds.
    eigenvalue : float or None
        The last one that this many components need, the (k−1)-th; None for one component.
    noise_edge : float
        What an eigenvalue must pass to be more than noise; NaN where it was not measured.
    likelihood_weight : float
        What one comparison of a user counted for when the others were predicted, the mean over
        the folds.
    """

    k: int
    log_likelihood_per_comparison: float
    standard_error: float
    difference: float
    difference_error: float
    agreement: float
    agreements: tuple[float, ...]
    smallest_share: float
    eigenvalue: float | None
    noise_edge: float
    likelihood_weight: float = 1.0


@dataclass(frozen=True)
class Choice(FramedResult):
    """A recommended number of components, and why.

    Attributes
    ----------
    k : int or None
        None where nothing can be said: nobody made two comparisons, no number of rankings, not even
        one, predicts new users better than a coin, or one is enough but not found again in both
        halves of them.
    reason : str
        One sentence; "cannot tell: …" where k is None.
    certain : bool
        Whether all components are found again in both halves of the users, the spectrum alone
        shows the same number, fewer components predict worse and none better, by two standard
        errors.
    table : tuple of KRow
        One row for each number tried.
    scored_on : ScoredOn or None
        On whom and on which questions the numbers were compared; None where they were not.
    """

    k: int | None
    reason: str
    certain: bool
    table: tuple[KRow, ...]
    scored_on: ScoredOn | None = None
    frame_kind: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The choice as plain JSON values."""
        return {
            "k": self.k,
            "reason": self.reason,
            "certain": self.certain,
            "table": [_plain(asdict(row)) for row in self.table],
            "scored_on": self.scored_on.to_dict() if self.scored_on else None,
        }

    def columns(self) -> dict[str, Any]:
        """A row for each number tried, as `KRow` has it, but for `agreements`."""
        rows = [_plain(asdict(row)) for row in self.table]
        names = [each.name for each in fields(KRow) if each.name != "agreements"]
        return {name: [row[name] for row in rows] for name in names}

    def _repr_html_(self) -> str:
        """The reason and the table, for notebooks."""
        headings = (
            "K",
            "log-likelihood per comparison",
            "to the best",
            "give or take",
            "agreement",
            "smallest share",
        )
        return table_of(headings, [_cells(row, row.k == self.k) for row in self.table], self.reason)


def _cells(row: KRow, chosen: bool) -> list[str]:
    values = (
        f"{row.log_likelihood_per_comparison:.4f}",
        f"{row.difference:+.4f}",
        f"{row.difference_error:.4f}",
    )
    cells = [str(row.k), *values, f"{row.agreement:.2f}", percent(row.smallest_share)]
    return [f"<strong>{cell}</strong>" for cell in cells] if chosen else cells


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """No infinite error (of a single user) in JSON."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }
    return finite | {"agreements": list(row["agreements"])}
