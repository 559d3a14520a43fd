"""Whether there is so little to compute that importing Numba would take longer than computing.

A command that answers one question in a process of its own says so with `one_answer`. What it asks
is then computed by NumPy and Python where it is little (`infer.without_numba`), and without Numba,
whose import takes a second. Elsewhere (in a server, in a notebook, in a fit) kernels are called
often, and are compiled.

Which way is taken depends on the command and on the amount of data, never on what ran before or
on the number of workers: both ways give the same answer up to rounding, and one way gives the same
bytes each time.
"""

from collections.abc import Iterator
from contextlib import contextmanager

MOST_NUMBERS = 1 << 17
INTERPRETED = 20  # numbers that NumPy works through while Python works through one
_asked = 0  # how many `one_answer` are open


@contextmanager
def one_answer() -> Iterator[None]:
    """What is computed within is asked once, by a process that ends then."""
    global _asked
    _asked += 1
    try:
        yield
    finally:
        _asked -= 1


def is_small(n_numbers: int) -> bool:
    """Whether work on so many numbers is to be done without Numba."""
    return _asked > 0 and n_numbers <= MOST_NUMBERS
