"""The state of a spectral fit: users, counts of pairs, and what the report will say."""

from dataclasses import dataclass, field, replace

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.learn.spectral.signed_moment import count_all_pairs, count_pairs
from mallowmix.learn.spectral.subspace import PairStatistics, Subspace, pair_statistics
from mallowmix.learn.spectral.user_sample import sample_blocks, sampled_share
from mallowmix.model.fit_report import SpectralTrace
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.typing import Progress


@dataclass
class FitState:
    """The state that all steps share: users, counts of pairs, and what the report will say."""

    blocks: list[Block]
    pairs: PairStatistics
    engine: Engine
    seed: int
    progress: Progress | None
    n_items: int
    trace: SpectralTrace = field(default_factory=SpectralTrace)
    notes: list[str] = field(default_factory=list)
    unstable: tuple[int, ...] = ()
    subspace: Subspace | None = None

    def show(self, step: str, done: int, total: int) -> None:
        """Report progress."""
        if self.progress:
            self.progress(step, done, total)


def new_fit_state(
    comparisons: Comparisons | StoredComparisons,
    all_blocks: list[Block],
    engine: Engine,
    seed: int,
    progress: Progress | None,
) -> FitState:
    """Choose the users to learn from (a sample of very many), and count pairs over all of them.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        What users preferred.
    all_blocks : list of blocks
        All users.
    engine, seed, progress
        As in `fit`.
    """
    share = sampled_share(comparisons.n_comparisons)
    blocks = sample_blocks(all_blocks, share, seed, engine)
    counts = count_all_pairs(all_blocks, engine) if share < 1 else count_pairs(blocks, engine)
    pairs = pair_statistics(counts, comparisons.n_items)
    trace = SpectralTrace(sampled_share=share)
    return FitState(blocks, pairs, engine, seed, progress, comparisons.n_items, trace)


def some_of(
    state: FitState, n_comparisons: float, step: Step, *, from_times: float = 2.0
) -> FitState:
    """The same state with a sample of the users, who have about so many comparisons.

    Parameters
    ----------
    state : FitState
        All users.
    n_comparisons : float
        How many comparisons are enough.
    step : Step
        Whose random numbers draw the users.
    from_times : float
        The state itself is returned where there are no more than so many times as many.
    """
    total = sum(float(block.weight.sum()) for block in state.blocks)
    if total <= from_times * n_comparisons:
        return state
    share = n_comparisons / total
    blocks = sample_blocks(state.blocks, share, child_seed(state.seed, step), state.engine)
    return replace(state, blocks=blocks, progress=None)
