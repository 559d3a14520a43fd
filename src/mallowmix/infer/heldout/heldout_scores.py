"""What every held-out likelihood shares: the result, and its standard error over users."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.frames import FramedResult
from mallowmix.data.labels import Labels
from mallowmix.data.text import table_of
from mallowmix.engine import Engine, make_blocks
from mallowmix.engine.engine import MapStep
from mallowmix.errors import DataError, Part
from mallowmix.infer.heldout.scored_on import ScoredOn
from mallowmix.model import least_beta
from mallowmix.model.component_model import ComponentModel
from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.typing import Array, Progress

NOBODY: tuple[Part, ...] = ("nobody has any comparison of the model's items.",)


@dataclass(frozen=True)
class Heldout(FramedResult):
    """A held-out log-likelihood with its standard error; `to_frame` has a row for each user.

    Attributes
    ----------
    log_likelihood_per_comparison : float
        A coin has −log 2.
    standard_error : float
        Clustered by user, since a user's comparisons depend on each other.
    n_comparisons : float
        How many comparisons are held out.
    n_users : int
        Of how many users.
    details : dict
        How the number was found, in plain values; what it holds depends on the method.
    scored_on : ScoredOn, optional
        On whom and on which questions; None where the caller knows.
    by_user : (users, 2) array, optional
        Each user's summed log-likelihood and number of comparisons.
    users : (users,) labels, optional
        Whose rows those are.
    """

    log_likelihood_per_comparison: float
    standard_error: float
    n_comparisons: float
    n_users: int
    details: dict[str, Any] = field(default_factory=dict)
    scored_on: ScoredOn | None = None
    by_user: Array | None = field(default=None, repr=False, compare=False)
    users: Labels | None = field(default=None, repr=False, compare=False)
    frame_kind: str | None = field(default=None, repr=False, compare=False)

    def columns(self) -> dict[str, Any]:
        """User, n_comparisons, log_likelihood and log_likelihood_per_comparison, a row each.

        `n_comparisons` counts those that were predicted; where there are none, the last is NaN.
        """
        if self.by_user is None or self.users is None:
            raise DataError("This score does not say whose it is: only one of heldout has a table.")
        score, n = self.by_user.T
        per_comparison = np.divide(score, n, out=np.full(len(n), np.nan), where=n > 0)
        return {
            "user": self.users.tolist(),
            "n_comparisons": n,
            "log_likelihood": score,
            "log_likelihood_per_comparison": per_comparison,
        }

    def _repr_html_(self) -> str:
        """The score beside that of a coin, for notebooks."""
        found = f"{self.log_likelihood_per_comparison:.4f}"
        error = "" if np.isnan(self.standard_error) else f" ± {self.standard_error:.4f}"
        rows = [("this model", found + error), ("a coin", f"{-np.log(2):.4f}")]
        who = f"{self.n_comparisons:,.12g} comparisons of {self.n_users:,} people"
        on = f"; {self.scored_on}" if self.scored_on else ""
        return table_of(("", "log-likelihood per comparison"), rows, who + on)


def summary(
    scores: Array, reason: tuple[Part, ...], details: dict[str, Any] | None = None
) -> Heldout:
    """The mean over comparisons, a ratio of sums over users, with its clustered standard error.

    Parameters
    ----------
    scores : (users, 2) array
        Each user's summed log-likelihood and number of comparisons; users with none do not count.
    reason : tuple of str and Option
        Why nothing may be held out, for the message of the error.
    details : dict
        How the number was found.
    """
    n_users = int(np.count_nonzero(scores[:, 1] > 0))
    if not n_users:
        raise DataError("Nothing is held out: ", *reason)
    mean, error = clustered_ratio(scores[:, 0], scores[:, 1])
    n = float(scores[:, 1].sum())
    return Heldout(
        mean, error if n_users > 1 else np.nan, n, n_users, details or {}, by_user=scores
    )


def paired_difference(ours: Heldout, theirs: Heldout) -> Heldout:
    """How far one model is above another on the same users and comparisons.

    Parameters
    ----------
    ours, theirs : Heldout
        Two scores by one method, with `by_user`.

    Returns
    -------
    Heldout
        The difference per comparison; its standard error is that of users' own differences, far
        smaller than those of the two scores, which rise and fall together.
    """
    if ours.by_user is None or theirs.by_user is None:
        raise DataError("Two scores can be compared where both hold each user's own.")
    n = ours.by_user[:, 1]
    if not np.array_equal(n, theirs.by_user[:, 1]):
        raise DataError("Two scores can be compared where users and comparisons are the same.")
    gap = summary(np.column_stack([ours.by_user[:, 0] - theirs.by_user[:, 0], n]), NOBODY)
    return replace(gap, users=ours.users, frame_kind=ours.frame_kind)


def floored_beta(model: ComponentModel) -> Array:
    """(Q², K) β of ordered pairs, none below 10⁻⁴ and none above 1 − 10⁻⁴."""
    beta = np.clip(model.beta(), least_beta.INFERENCE, 1 - least_beta.INFERENCE)
    return np.ascontiguousarray(beta.reshape(model.n_components, -1).T)


def map_users(
    step: MapStep[Array],
    comparisons: Comparisons,
    broadcast: Any,
    engine: Engine,
    *,
    name: str,
    width: int,
    progress: Progress | None,
) -> Array:
    """Run a step over all users, which gives `width` numbers for each."""
    shown = partial(progress, name) if progress else None
    parts = engine.map(step, make_blocks(comparisons), broadcast, progress=shown)
    return np.concatenate([np.empty((0, width)), *parts])


def log_mu_by_user(comparisons: Comparisons) -> Array:
    """(M,) Σ weight · log μ_ij of each user's pairs, μ estimated from the counts of all users."""
    low, high = (
        np.minimum(comparisons.winner, comparisons.loser),
        np.maximum(comparisons.winner, comparisons.loser),
    )
    _, pair = np.unique(low.astype(np.int64) * comparisons.n_items + high, return_inverse=True)
    counts = np.bincount(pair, comparisons.weight)
    log_mu = np.log(counts[pair] / comparisons.weight.sum())
    return np.bincount(comparisons.user, comparisons.weight * log_mu, comparisons.n_users).astype(
        np.float64
    )
