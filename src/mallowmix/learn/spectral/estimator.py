"""The default method: spectral starts from the signed pair moment, the better of two, refined on the direct likelihood."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks
from mallowmix.errors import FitError, check_choice
from mallowmix.learn.spectral.corners import HUNTERS
from mallowmix.learn.spectral.initialisation import (
    Start,
    embed_pairs,
    start_from_pairs,
    start_from_people,
)
from mallowmix.learn.spectral.large_data import learn_from_everybody
from mallowmix.learn.spectral.mallows_mstep import Columns, fit_column_phi
from mallowmix.learn.spectral.monte_carlo_em import (
    MonteCarlo,
    Progress,
    monte_carlo_em,
    start_chains,
)
from mallowmix.learn.spectral.number_of_components import estimate_rank, noise_edge
from mallowmix.learn.spectral.signed_moment import (
    PairStatistics,
    SignedMoment,
    count_everybody,
    count_pairs,
    leading_subspace,
    pair_statistics,
)
from mallowmix.learn.spectral.split_merge import split_and_merge
from mallowmix.learn.spectral.stability import half_distances
from mallowmix.learn.spectral.user_sample import sample_blocks, sampled_share
from mallowmix.learn.spectral.variational_em import Variational, variational_em
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import sigma_of
from mallowmix.numerics.kemeny import borda_order, insertion_search

Refine = Literal["full", "short", "none"]
Array = NDArray[np.float64]
_ONE_MORE = 1.15  # the next eigenvalue is this much above the noise edge: there is a component more
_LOOSE = 0.1  # halves that differ by more than this warn
_START_STEPS = 6  # of variational EM, before a start is judged or refined
_START_PHI = 0.8  # refinement begins with doubt: a small φ would lock the rankings in


@dataclass
class Work:
    """What the steps share: the people, the pairs, and what is reported in the end."""

    blocks: list[Block]
    pairs: PairStatistics
    engine: Engine
    seed: int
    progress: Progress | None
    n_items: int
    report: dict[str, Any] = field(default_factory=dict)


def fit_spectral(
    comparisons: Comparisons,
    n_components: int | Literal["auto"],
    *,
    refine: Refine = "full",
    vertices: Literal["spa", "projections", "ddp", "fast-anchor-words"] = "spa",
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> M4:
    """Learn an M4 near the statistical limit.

    refine : "none" stops at the start from pairs, "short" after a few variational EM steps from the better of two starts, "full"
        goes on with Monte-Carlo EM on the direct likelihood
    vertices : how corners are found among the pairs: smoothed successive projections, random directions, or as other separable
        topic models do (`learn.paper.ddp`, `learn.paper.fast_anchor_words`)
    n_components : a number, or "auto": as many as the spectrum shows above its noise
    """
    check_choice("refine", refine, ("full", "short", "none"))
    check_choice("vertices", vertices, tuple(HUNTERS))
    engine = engine or ThreadEngine()
    everybody = make_blocks(comparisons)
    share = sampled_share(comparisons.n_comparisons)
    blocks = sample_blocks(everybody, share, seed, engine)
    counts = count_everybody(everybody, engine) if share < 1 else count_pairs(blocks, engine)
    pairs = pair_statistics(counts, comparisons.n_items)
    work = Work(
        blocks,
        pairs,
        engine,
        seed,
        progress,
        comparisons.n_items,
        {"refine": refine, "sampled_share": share, "notes": []},
    )
    K = _number_of_components(work, n_components)
    first, people = _starts(work, K, vertices, both=refine != "none")
    if refine == "none":
        return as_model(first.columns, first.alpha, comparisons, work)
    best = _better_start(work, [start for start in (first, people) if start is not None])
    if refine == "short":
        return as_model(best.columns, best.alpha, comparisons, work)
    if K > 1:
        _note_spectrum(work, K)
    outcome = refine_start(work, best, everybody if share < 1 else None)
    return as_model(outcome.columns, outcome.alpha, comparisons, work)


def _number_of_components(work: Work, n_components: int | Literal["auto"]) -> int:
    if n_components == "auto":
        estimate = estimate_rank(work.blocks, work.pairs, work.engine, seed=work.seed)
        work.report["auto"] = estimate.words()
        work.report["noise_edge"] = estimate.edge
        return estimate.n_components
    if n_components - 1 > len(work.pairs.share):
        raise FitError(
            f"{work.n_items} items make {len(work.pairs.share)} pairs, which cannot tell {n_components} components apart: "
            f"ask for at most {len(work.pairs.share) + 1}."
        )
    return n_components


def _starts(work: Work, K: int, vertices: str, *, both: bool) -> tuple[Start, Start | None]:
    """Steps 1 to 3: the subspace, and the starts from pairs and from people. One component needs neither."""
    if K == 1:
        return _single(work), None
    _tell(work, "spectrum", 0, 1)
    subspace = leading_subspace(
        SignedMoment(work.blocks, work.pairs, work.engine), K - 1, seed=work.seed
    )
    work.report |= {"spectrum": subspace.values.tolist(), "subspace_passes": subspace.passes}
    if not (subspace.converged or both):  # refinement has a better test of its own: `_note_support`
        work.report["notes"].append(
            "The leading eigenvectors had not settled after the last pass: the data may not show this many components."
        )
    first = start_from_pairs(
        embed_pairs(subspace, work.pairs, K - 1),
        work.pairs,
        work.n_items,
        vertices=vertices,
        seed=work.seed,
    )
    _tell(work, "spectrum", 1, 1)
    if not both:
        return first, None
    return first, start_from_people(
        work.blocks, subspace, work.pairs, K - 1, work.engine, seed=work.seed
    )


def _single(work: Work) -> Start:
    """One ranking for all: its items by wins, then insertion search."""
    Q = work.n_items
    wins = count_pairs(work.blocks, work.engine).reshape(Q, Q)
    sigma = sigma_of(insertion_search(wins, borda_order(wins)))
    return Start("wins", Columns(sigma[None], np.array([fit_column_phi(wins, sigma)])), np.ones(1))


def _better_start(work: Work, starts: list[Start]) -> Variational:
    """Step 4: a few variational EM steps from each start; the higher bound, with its KL term, wins."""
    outcomes = []
    for i, start in enumerate(starts):
        K = len(start.alpha)
        columns = Columns(start.columns.sigma, np.full(K, _START_PHI)) if K > 1 else start.columns
        outcomes.append(
            variational_em(
                work.blocks,
                columns,
                start.alpha / start.alpha.sum(),
                work.engine,
                n_iter=_START_STEPS,
            )
        )
        _tell(work, "starts", i + 1, len(starts))
    best = int(np.argmax([outcome.elbo[-1] for outcome in outcomes]))
    work.report |= {
        "start": starts[best].name,
        "elbo": {start.name: outcome.elbo for start, outcome in zip(starts, outcomes, strict=True)},
    }
    return outcomes[best]


def refine_start(
    work: Work,
    start: Variational,
    everybody: list[Block] | None,
    *,
    min_settle: int = 4,
    explore: bool = True,
) -> MonteCarlo:
    """Steps 5 and 6 in one: Monte-Carlo EM on the direct likelihood; after a sample, a few passes over everybody.

    explore : look for better tops than the nearest where components came out alike (`learn.spectral.split_merge`)
    """
    blocks = work.blocks
    outcome = _climb(work, start, min_settle)
    if explore and len(start.alpha) > 2:
        outcome, foretold = split_and_merge(
            blocks, outcome, lambda c, a: _climb_anew(work, c, a), work.engine, seed=work.seed
        )
        work.report |= {"foretold_halves": foretold}
    work.report["moved"] = outcome.moved
    if everybody is None:
        distances = half_distances(
            blocks, outcome.columns, [chain.theta for chain in outcome.chains], work.engine
        )
    else:
        options = {"seed": work.seed, "progress": work.progress}
        outcome, distances = learn_from_everybody(
            everybody, blocks, outcome, work.engine, **options
        )
        work.report["moved_by_all"] = outcome.moved
    _note_support(work, outcome, distances)
    return outcome


def _climb(work: Work, start: Variational, min_settle: int = 4) -> MonteCarlo:
    theta = [gamma / gamma.sum(axis=1, keepdims=True) for gamma in start.gamma]
    chains = start_chains(work.blocks, theta)
    options = {"min_settle": min_settle, "seed": work.seed, "progress": work.progress}
    return monte_carlo_em(work.blocks, start.columns, start.alpha, chains, work.engine, **options)


def _climb_anew(work: Work, columns: Columns, alpha: Array) -> MonteCarlo:
    return _climb(
        work, variational_em(work.blocks, columns, alpha, work.engine, n_iter=_START_STEPS)
    )


def _note_spectrum(work: Work, K: int) -> None:
    """Say whether the spectrum shows fewer components than were asked for, or more."""
    edge = noise_edge(work.blocks, work.pairs, work.engine, seed=work.seed)
    values = np.array(work.report["spectrum"])
    work.report["noise_edge"] = edge
    shown = 1 + int(np.count_nonzero(values[: K - 1] > edge))
    if shown < K:
        work.report["notes"].append(
            f"The spectrum shows only {shown} of the {K} components above its noise: the others may be guesses. "
            "Ask for fewer, or add people or comparisons."
        )
    elif len(values) >= K and values[K - 1] > _ONE_MORE * edge:
        work.report["notes"].append(
            f"The spectrum shows at least {K + 1} components; {K} were asked for."
        )


def _note_support(work: Work, outcome: MonteCarlo, distances: Array) -> None:
    """Say which rankings two halves of the people would place differently: those the data does not pin down."""
    order = np.argsort(-outcome.alpha, kind="stable")
    distances = distances[order]
    work.report["half_distances"] = distances.tolist()
    loose = np.flatnonzero(distances > _LOOSE)
    if len(loose):
        names = ", ".join(str(k + 1) for k in loose[:10]) + (", …" if len(loose) > 10 else "")
        work.report["notes"].append(
            f"The data does not pin down component {names}: two halves of the people put {distances[loose].mean():.0%} of all "
            "pairs in different order. Ask for fewer components, or add comparisons."
        )


def as_model(columns: Columns, alpha: Array, comparisons: Comparisons, work: Work) -> M4:
    """Components in the order of their shares."""
    order = np.argsort(-alpha, kind="stable")
    return M4(
        columns.sigma[order], columns.phi[order], alpha[order], comparisons.items, work.report
    )


def _tell(work: Work, step: str, done: int, total: int) -> None:
    if work.progress:
        work.progress(step, done, total)
