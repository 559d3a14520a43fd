"""Algorithm 2: novel pairs, the rows of E with the largest solid angles, by random projections."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.errors import FitError, Option, check_at_least, check_choice
from mallowmix.learn.paper.neighbourhoods import METRICS, Balls, Distances, Metric, is_in
from mallowmix.learn.paper.pair_moments import HalfMoments, Moments
from mallowmix.model.fit_options import check_zeta
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Progress

_STEP = Step.PROJECTIONS
_CHUNK = 64  # projections at a time
_AHEAD = 4  # balls of so many ranks are found in one pass
_LOWERED = 10  # how often ζ is lowered before it is set to 0
_ZERO = 1e-12  # distances that are rounding


class NovelPairEstimate(NamedTuple):
    """K novel pairs, one for each component, and how they were found."""

    pairs: NDArray[np.int64]  # (K,) codes i·Q + j, largest solid angle first
    # (K,) the share of directions in which each is the extreme row
    solid_angles: NDArray[np.float64]
    zeta: float  # the ζ that was used in the end
    notes: list[str]  # what had to be changed, in words


def find_novel_pairs(
    E: Moments,
    n_components: int,
    *,
    n_projections: int | None = None,
    zeta: float | Literal["auto"] = 0.05,
    metric: Metric | Literal["auto"] = "moment",
    min_count: float = 0.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> NovelPairEstimate:
    """Accept rows by decreasing solid angle that lie outside the ζ-balls of those accepted before.

    A row that is extreme in no direction is never accepted. If fewer than K rows are found, ζ is
    halved and the search repeated, and `notes` says so.

    Parameters
    ----------
    E : Moments
        The co-occurrence of ordered pairs.
    n_components : int
        K.
    n_projections : int, optional
        P; 150 K unless given.
    zeta : float or "auto"
        ζ, how far rows must lie apart to count as different; "auto" is 0.3 × the 99.9% quantile of
        distances.
    metric : {"moment", "euclidean", "projected", "auto"}
        As in `neighbourhoods.Distances`; the first needs users who answered a pair twice, and
        "auto" is the first where there are some, else "projected".
    min_count : float
        Rows with fewer than this fraction of the median row's count in either half are no
        candidates; 0 admits all.
    seed : int
        Of the projections.
    progress : callable, optional
        Called as ``progress(step, done, total)``.

    Returns
    -------
    NovelPairEstimate
        The pairs, largest solid angle first.

    Raises
    ------
    FitError
        Where fewer than K rows are found at any ζ.
    """
    check_at_least("n_components", n_components, 1)
    P = 150 * n_components if n_projections is None else n_projections
    check_at_least("n_projections", P, 1)
    check_at_least("min_count", min_count, 0)
    check_zeta(zeta)
    candidates, notes = candidate_pairs(E, min_count)
    check_enough(candidates, n_components)
    distances = Distances(
        E, candidates, _checked_metric(E, candidates, n_components, metric), seed=seed
    )
    zeta = distances.auto_zeta() if zeta == "auto" else float(zeta)
    return _search(distances, n_components, P, zeta, notes, seed, progress)


def _search(
    distances: Distances,
    K: int,
    P: int,
    zeta: float,
    notes: list[str],
    seed: int,
    progress: Progress | None,
) -> NovelPairEstimate:
    """Algorithm 2 at ζ, and at half of it for as long as fewer than K rows lie apart."""
    found = _at(distances, K, P, zeta, seed, progress)
    if len(found.pairs) == K:
        return found._replace(notes=notes)
    last = _at(distances, K, P, 0.0, seed, progress)
    if len(last.pairs) < K:  # too few rows are extreme, or noise makes their distances negative
        raise FitError(
            f"Only {len(found.pairs)} of the {K} novel pairs could be found: the data does not "
            "show that many different components to this method. Lower ",
            Option("n_components"),
            ", add people, or raise ",
            Option("n_projections"),
            ".",
        )
    for _ in range(_LOWERED):
        lower = _lower(distances, found)
        notes.append(
            f"Only {len(found.pairs)} of {K} novel pairs lay apart at ζ = {found.zeta:.3g}: "
            f"lowered to {lower:.3g}."
        )
        found = _at(distances, K, P, lower, seed, progress) if lower > 0 else last
        if len(found.pairs) == K:
            return found._replace(notes=notes)
    return last._replace(notes=[*notes, "Only at ζ = 0 were there enough novel pairs."])


def _lower(distances: Distances, found: NovelPairEstimate) -> float:
    """ζ halved until a row leaves the ball of an accepted one; 0 if none ever does."""
    distance = distances.between(np.searchsorted(distances.candidates, found.pairs))
    inside = distance[(distance > 0) & (distance < distances.threshold(found.zeta))]
    zeta, furthest = found.zeta, inside.max(initial=0.0)
    while distances.threshold(zeta) > furthest > _ZERO:
        zeta /= 2
    return zeta if furthest > _ZERO else 0.0


def _at(
    distances: Distances, K: int, P: int, zeta: float, seed: int, progress: Progress | None
) -> NovelPairEstimate:
    """Algorithm 2 at one ζ: K novel pairs, or as many as there are."""
    E, candidates, balls = distances.E, distances.candidates, Balls(distances, zeta)
    angles = _solid_angles(E, candidates, balls, P, seed, progress)
    accepted = _accept(angles, E.counts[candidates], balls, K)
    return NovelPairEstimate(candidates[accepted], angles[accepted], zeta, [])


def _checked_metric(
    E: Moments, candidates: NDArray[np.int64], K: int, metric: Metric | Literal["auto"]
) -> Metric:
    """The metric to use; "moment" fails where nobody answered a pair twice: every E_ii is 0."""
    check_choice("metric", metric, (*METRICS, "auto"))
    estimable = K == 1 or E.diagonal()[candidates].any()
    if metric == "auto":
        return "moment" if estimable else "projected"
    if metric == "moment" and not estimable:
        raise FitError(
            "Nobody answered the same pair in both halves of their comparisons, so the distances "
            "of the printed method cannot be estimated (its E_ii are all 0): pass ",
            Option("metric", "projected"),
            ", or take the default method.",
        )
    return metric


def candidate_pairs(E: Moments, min_count: float) -> tuple[NDArray[np.int64], list[str]]:
    """Codes of rows seen in both halves, not too rarely in either, and notes on those left out.

    Parameters
    ----------
    E : Moments
        The co-occurrence of ordered pairs.
    min_count : float
        The least count, as a fraction of the median row's; 0 admits all.
    """
    notes = []
    seen = E.counts > 0
    lost = int(np.count_nonzero(seen & ~E.present))
    if lost:
        notes.append(
            "Seen in one half of the comparisons only, and so no candidates for novel pairs: "
            f"{lost} ordered pairs."
        )
    keep = E.present
    if min_count > 0 and isinstance(E, HalfMoments):
        least = min_count * np.median(E.half_counts[seen])
        keep = keep & (E.half_counts >= least)
    return np.flatnonzero(keep), notes


def check_enough(candidates: NDArray[np.int64], n_components: int) -> None:
    """Raise a FitError unless there is a row for each component."""
    if len(candidates) < n_components:
        raise FitError(
            f"Only {len(candidates)} ordered pairs were seen often enough to be novel pairs, one "
            f"is needed for each of {n_components} components: lower ",
            Option("n_components"),
            " or ",
            Option("min_count"),
            ", or add comparisons.",
        )


def _solid_angles(
    E: Moments,
    candidates: NDArray[np.int64],
    balls: Balls,
    P: int,
    seed: int,
    progress: Progress | None,
) -> NDArray[np.float64]:
    """q_i: the fraction of P directions in which no row outside i's ball projects beyond i."""
    credit = np.zeros(len(candidates))
    for start in range(0, P, _CHUNK):
        width = min(_CHUNK, P - start)
        D = generator(seed, _STEP, start).standard_normal((len(E.counts), width))
        _credit(E.apply(D)[candidates], balls, credit)
        if progress:
            progress("projections", start + width, P)
    return credit / P


def _credit(V: NDArray[np.float64], balls: Balls, credit: NDArray[np.float64]) -> None:
    """Count the directions (columns of V) in which each row is extreme, into `credit`."""
    # A row is extreme where all rows that project further are in its ball.
    # Walk down from the row that projects furthest, in all directions at once, and keep the rows
    # that lie in the ball of every row passed so far. The next row is extreme iff it is still among
    # them; when none is left, no row further down is. So only the balls of the few rows passed are
    # needed. (Equal rows are in each other's balls, and each is counted.)
    # ranked: (n, P) candidates by projection, furthest first
    ranked = np.argsort(-V, axis=0, kind="stable")
    walking = np.arange(V.shape[1])  # directions in which there are rows left
    kept = np.packbits(np.ones(V.T.shape, bool), axis=1)  # (P, n/8) bits
    for depth, here in enumerate(ranked):
        if depth % _AHEAD == 0:
            balls.find(ranked[depth : depth + _AHEAD, walking].ravel())
        here = here[walking]
        np.add.at(credit, here, is_in(kept, here))
        kept &= balls.of(here)
        kept[np.arange(len(here)), here // 8] &= ~(128 >> here % 8).astype(np.uint8)  # passed
        left = kept.any(axis=1)
        kept, walking = kept[left], walking[left]
        if not len(walking):
            return


def _accept(
    angles: NDArray[np.float64], counts: NDArray[np.float64], balls: Balls, K: int
) -> NDArray[np.int64]:
    """Rows by decreasing solid angle, ties by count, outside the balls of those before them."""
    accepted: list[int] = []
    taken = np.zeros(len(angles), bool)
    for row in np.lexsort((-counts, -angles)):
        if len(accepted) == K or angles[row] == 0:
            break
        if not taken[row]:
            accepted.append(int(row))
            taken |= np.unpackbits(balls.of(np.array([row]))[0], count=len(taken)).astype(bool)
    return np.array(accepted, np.int64)
