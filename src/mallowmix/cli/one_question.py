"""Commands that answer one question about little data: starting is most of their work."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_question(so: bool = True) -> Iterator[None]:
    """Within it (if `so`), little is computed without Numba, and Arrow keeps no memory in hand."""
    if not so:
        yield
        return
    import pyarrow as pa

    from mallowmix.numerics.small_work import one_answer

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        with one_answer():
            yield
    finally:
        pa.set_memory_pool(before)
