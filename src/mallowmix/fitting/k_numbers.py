"""Which numbers of components to try: far apart first, then ever closer to the best.

The numbers 1, 2, 3, 4, 5, 8, 13, … (from 5 on Fibonacci's) are tried until clearly larger ones than
the best predict no better. 4 is among them because three and five components may both predict no
better than two where four do: rankings around four references were seen to be so. Then the gaps on
both sides of the best are halved until none is left. Where scores rise up to one number and fall
from there on, this finds that number, for a few tries more than the logarithm of it.
"""

from collections.abc import Callable, Collection, Iterator

_ALL_BELOW = 5  # every smaller number is tried
_HALF_AS_MANY, _TWO_MORE = 1.5, 2  # how far beyond the best to look, whichever is further


def numbers_to_try(most: int) -> Iterator[int]:
    """1, 2, 3, 4, 5, 8, 13, … below `most`, and `most` itself.

    Parameters
    ----------
    most : int
        The largest number, at least 1.

    Examples
    --------
    >>> from mallowmix.fitting.k_numbers import numbers_to_try
    >>> list(numbers_to_try(10))
    [1, 2, 3, 4, 5, 8, 10]
    """
    yield from range(1, min(most, _ALL_BELOW))
    k, following = _ALL_BELOW, _ALL_BELOW + 3
    while k < most:
        yield k
        k, following = following, k + following
    yield most


def far_enough(tried: Collection[int], best: int) -> bool:
    """Whether numbers so much larger than the best one were tried that it lies at no edge.

    Parameters
    ----------
    tried : collection of int
        The numbers.
    best : int
        The one of them that predicts best.
    """
    return max(tried) >= max(_HALF_AS_MANY * best, best + _TWO_MORE)


def halfway(tried: Collection[int], best: int) -> int | None:
    """The number in the middle of the gap below the best one, else above; None without a gap.

    Smaller numbers come first: they take less time, and of equals the smallest is chosen.

    Parameters
    ----------
    tried : collection of int
        The numbers, with 1.
    best : int
        One of them, whose neighbours are wanted.

    Examples
    --------
    >>> from mallowmix.fitting.k_numbers import halfway
    >>> halfway([1, 2, 3, 5, 8, 13], 8), halfway([1, 2, 3, 5, 6, 7, 8, 13], 8)
    (6, 10)
    """
    below = max((k for k in tried if k < best), default=best)
    above = min((k for k in tried if k > best), default=best)
    for low, high in ((below, best), (best, above)):
        if high - low > 1:
            return (low + high) // 2
    return None


def search_numbers(
    attempt: Callable[[int], None],
    best: Callable[[], int],
    chosen: Callable[[], int],
    most: int,
) -> None:
    """Try numbers until the one to choose, and both of its neighbours, are among them.

    Parameters
    ----------
    attempt : callable
        ``attempt(k)`` tries a number; none is tried twice.
    best, chosen : callable
        Of those tried, the one that predicts best, beyond which larger ones are tried; and the one
        that would be chosen, near which gaps are closed.
    most : int
        The largest number that may be tried.
    """
    tried: list[int] = []

    def attempt_one(k: int) -> None:
        attempt(k)
        tried.append(k)

    for k in numbers_to_try(most):
        attempt_one(k)
        if far_enough(tried, best()):
            break
    while (k := halfway(tried, chosen())) is not None:
        attempt_one(k)
