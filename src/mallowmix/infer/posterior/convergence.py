"""Whether the chains agree: R-hat and effective sample sizes, through arviz."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mallowmix.data.argument_kinds import check_kind
from mallowmix.infer.posterior.posterior_sample import PosteriorSample, load_arviz
from mallowmix.typing import Array

_DRAW = "Draw one with mallowmix.sample_posterior(comparisons, n_components)."
_TAILS = (0.05, 0.95)  # the quantiles of "tail"; ArviZ 1 has none of its own
R_HAT = 1.05  # above it the chains have not converged to one distribution
# quantities that do not depend on how the components are numbered, and those that do
UNLABELLED = ("log_likelihood", "sorted_share", "sorted_phi", "win_rate")
LABELLED = ("phi", "share", "alpha", "sigma")


@dataclass(frozen=True)
class Convergence:
    """How well the draws of one quantity are known.

    Attributes
    ----------
    quantity : str
        As in `PosteriorSample.to_xarray`.
    n_values : int
        How many numbers it has; the worst of them is given.
    r_hat : float
        Rank-normalised split R-hat, the largest.
    ess_bulk, ess_tail : float
        Effective sample sizes, the least.
    by_label : bool
        Whether it depends on how the components are numbered.
    """

    quantity: str
    n_values: int
    r_hat: float
    ess_bulk: float
    ess_tail: float
    by_label: bool


@dataclass(frozen=True)
class ConvergenceReport:
    """R-hat and effective sample sizes, and whether chains stay in different optima.

    Attributes
    ----------
    table : tuple of Convergence
        Quantities that do not depend on the numbering of components first.
    chain_log_likelihood : tuple of float
        The mean log-likelihood of each chain.
    converged : bool
        Whether R-hat is below 1.05 for all quantities that do not depend on the numbering.
    notes : tuple of str
        What to do where it is not.
    """

    table: tuple[Convergence, ...]
    chain_log_likelihood: tuple[float, ...]
    converged: bool
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def check_convergence(sample: PosteriorSample) -> ConvergenceReport:
    """Compute R-hat and effective sample sizes.

    Parameters
    ----------
    sample : PosteriorSample
        From `sample_posterior`, with at least four draws a chain.

    Returns
    -------
    ConvergenceReport

    Raises
    ------
    MissingPackageError
        Where arviz is not installed.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=20)
    >>> sample = mm.sample_posterior(dishes.comparisons, 2, n_warmup=20, n_draws=10, thin=1)
    >>> [row.quantity for row in mm.check_convergence(sample).table][:2]
    ['log_likelihood', 'sorted_share']
    """
    check_kind("sample", sample, PosteriorSample, "what `sample_posterior` returns", _DRAW)
    az, data = load_arviz(), sample.to_xarray()
    table = tuple(
        _row(az, name, np.asarray(data[name], np.float64)) for name in (*UNLABELLED, *LABELLED)
    )
    converged = all(row.r_hat < R_HAT for row in table if not row.by_label)
    means = tuple(float(value) for value in sample.log_likelihood.mean(axis=1))
    return ConvergenceReport(table, means, converged, _notes(sample, table, means))


def _row(az: Any, name: str, draws: Array) -> Convergence:
    """The worst of all numbers of one quantity, those left out that never change in any chain."""
    flat = draws.reshape(*draws.shape[:2], -1)
    moving = [n for n in range(flat.shape[2]) if np.ptp(flat[:, :, n]) > 1e-9]
    r_hat = max((float(az.rhat(flat[:, :, n])) for n in moving), default=1.0)
    bulk, tail = (
        min((float(az.ess(flat[:, :, n], **how)) for n in moving), default=np.nan)
        for how in ({"method": "bulk"}, {"method": "tail", "prob": _TAILS})
    )
    return Convergence(name, flat.shape[2], r_hat, bulk, tail, name in LABELLED)


def _notes(
    sample: PosteriorSample, table: tuple[Convergence, ...], means: tuple[float, ...]
) -> tuple[str, ...]:
    notes = list(sample.notes)
    worst = max((row for row in table if not row.by_label), key=lambda row: row.r_hat)
    if worst.r_hat >= R_HAT:
        each = ", ".join(
            f"{name} {value:.1f}" for name, value in zip(sample.initialisations, means, strict=True)
        )
        notes.append(
            f"R-hat of {worst.quantity} is {worst.r_hat:.2f}, so the chains do not agree: they are "
            "too short, or stay in different optima. Their mean log-likelihoods by "
            f"initialisation: {each}. Draw more, or lower the number of components; do not pool "
            "these chains."
        )
    elif (label := max(table, key=lambda row: row.r_hat)).r_hat >= R_HAT:
        notes.append(
            f"The chains agree in all that does not depend on how components are numbered, but "
            f"R-hat of {label.quantity} is {label.r_hat:.2f}: draw more; where that does not help, "
            "this data does not separate all components."
        )
    return tuple(notes)
