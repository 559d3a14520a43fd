"""Marks on one line that would cover each other, put into lanes above each other."""

from collections.abc import Sequence


def lanes(at: Sequence[float], width: float) -> list[int]:
    """The lane of each mark, from 0, so that two marks of one lane are `width` apart or more.

    Parameters
    ----------
    at : sequence of float
        Where the marks are.
    width : float
        Of a mark.

    Returns
    -------
    list of int
        As few lanes as it takes; a mark is in the first that has room, from the left.

    Examples
    --------
    >>> lanes([5.0, 1.0, 5.5, 9.0], 2.0)
    [0, 0, 1, 0]
    """
    ends: list[float] = []  # the last mark of each lane
    found = [0] * len(at)
    for n in sorted(range(len(at)), key=lambda n: (at[n], n)):
        lane = next((k for k, end in enumerate(ends) if at[n] - end >= width), len(ends))
        ends[lane : lane + 1] = [at[n]]
        found[n] = lane
    return found
