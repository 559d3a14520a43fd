"""What people gave: choices, rankings or ratings, what was left out, and which side they favour."""

from dataclasses import dataclass

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.dependence import independent_shares
from mallowmix.data.text import counted
from mallowmix.readers.reading import Reading
from mallowmix.report.contents import Contents


def lead(found: Contents) -> str:
    """How many people gave what, in a sentence or two."""
    data, given = found.data, given_answers(found.comparisons, found.reading)
    people = counted(data.n_users, "person", "people")
    if not given.n_rankings:
        made = counted(data.n_comparisons, "choice", "choices")
        return f"{people} made {made} between two of {data.n_items:,} things."
    also = f" and made {counted(given.n_single, 'choice', 'choices')}" if given.n_single else ""
    return (
        f"{people} {given.words(data.n_items)}{also}. From this follow "
        f"{counted(data.n_comparisons, 'pair', 'pairs')}, which are worth at most "
        f"{counted(round(given.n_independent), 'separate choice', 'separate choices')}."
    )


def left_out(found: Contents) -> list[str]:
    """What was dropped from the data, and whether the side counts, where the data say so."""
    board, said = found.leaderboard, []
    ties = board.ties
    if ties is not None and ties.share:
        done = (
            "each counts as half a win for both"
            if ties.treatment == "half"
            else "they were left out"
        )
        said.append(
            f"{_percent(ties.share)} of all {ties.n_comparisons:,.12g} answers were ties: {done}."
        )
    bad = 0 if found.reading is None else found.reading.n_both_bad
    if bad:
        said.append(f"{counted(bad, 'answer', 'answers')} called both things bad.")
    if found.n_unknown:
        said.append(
            f"{counted(found.n_unknown, 'comparison', 'comparisons')} with things that the model "
            "does not know were left out."
        )
    if board.position is not None and board.position.clear:
        side = "first (left)" if board.position.left_wins > 0.5 else "second (right)"
        rate = max(board.position.left_wins, 1 - board.position.left_wins)
        how = (
            "The leaderboard is corrected for it"
            if board.correction is not None
            else "Nothing here is corrected for it"
        )
        said.append(
            f"People favour a side: of two equally good things, the {side} one is chosen "
            f"{_percent(rate)} of the time. {how}."
        )
    return said


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


@dataclass(frozen=True)
class GivenAnswers:
    """What the comparisons were made of.

    Attributes
    ----------
    n_rankings : int
        Rankings, or sets of ratings; 0 where every comparison was made by itself.
    least, most : int
        The fewest and the most things in one of them.
    n_single, n_independent : float
        Comparisons made by themselves; how many separate choices all of it is worth at most.
    rated : bool
        Whether things were rated, not ranked.
    """

    n_rankings: int
    least: int
    most: int
    n_single: float
    n_independent: float
    rated: bool

    def words(self, n_items: int) -> str:
        """As in "gave 300 rankings, each of 5 to 8 of 8 things"."""
        size = f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"
        many = "all" if self.least == self.most == n_items else f"{size} of"
        if self.rated:
            return f"rated {many} {n_items:,} things"
        gave = counted(self.n_rankings, "ranking", "rankings")
        return f"gave {gave} of {many} {n_items:,} things"


def given_answers(comparisons: Comparisons, reading: Reading | None) -> GivenAnswers:
    """Count rankings and single comparisons.

    Parameters
    ----------
    comparisons : Comparisons
    reading : Reading, optional
        How they were read, where that is known.
    """
    form = "" if reading is None else reading.form
    if comparisons.ranking_id is None:
        return GivenAnswers(0, 0, 0, comparisons.n_comparisons, comparisons.n_comparisons, False)
    found = independent_shares(comparisons)
    ranked = found.ranking_id >= 0
    sizes = found.n_items[ranked]
    return GivenAnswers(
        int(np.count_nonzero(ranked)),
        int(sizes.min(initial=comparisons.n_items)),
        int(sizes.max(initial=0)),
        float(found.weight[~ranked].sum()),
        float(found.weight @ found.share),
        form in ("ratings", "movielens"),
    )
