"""Kernels that Numba compiles, made when first called: importing them does not import Numba.

Importing Numba takes longer than most commands take in all. A function marked with `compiled` is a
plain object until it is called, or until another kernel that calls it is compiled.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any

_LOCK = threading.Lock()


class Kernel:
    """A function that is compiled when first called, kept in Numba's cache, and runs in threads.

    Parameters
    ----------
    function : callable
        What to compile.
    **options
        Of `numba.njit`, beside those that all kernels have.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._made: Any = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compile for these types unless that was done, and run."""
        return (self._made or self._make())(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        """What Numba asks of a function called in another kernel is answered by its dispatcher."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._make(), name)

    def __reduce__(self) -> str:
        """Pickled by its name, as a function is."""
        return self._function.__qualname__

    def _make(self) -> Any:
        with _LOCK:
            if self._made is None:
                import numba

                decorate = numba.njit(
                    cache=True, nogil=True, no_cfunc_wrapper=True, **self._options
                )
                self._made = decorate(self._function)
            return self._made


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Mark a function as a kernel: `@compiled`, or `@compiled(fastmath=True)`.

    Parameters
    ----------
    function : callable
        The function.
    **options
        Of `numba.njit`.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from mallowmix.numerics.compiled import compiled
    >>> @compiled
    ... def twice(x):
    ...     return 2 * x
    """
    if function is None:
        return functools.partial(compiled, **options)
    return Kernel(function, **options)
