"""Commands that answer one question about little data: starting is most of their work."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_MEMORY_POOL = "ARROW_DEFAULT_MEMORY_POOL"  # an environment variable, read when it is imported


@contextmanager
def one_question(so: bool = True) -> Iterator[None]:
    """Within it (if `so`), little is computed without Numba, and Arrow keeps no memory in hand."""
    if not so:
        yield
        return
    from mallowmix.numerics.small_work import one_answer

    with one_answer(), _arrow_by_the_system():
        yield


@contextmanager
def _arrow_by_the_system() -> Iterator[None]:
    """Arrow takes memory from the system and gives it back, also where it is imported within."""
    if "pyarrow" not in sys.modules:
        os.environ.setdefault(_MEMORY_POOL, "system")
        yield
        return
    import pyarrow as pa

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)
