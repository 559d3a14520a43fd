"""Kernels that Numba compiles, made when first called: importing them does not import Numba.

Importing Numba takes longer than most commands take in all. A function marked with `compiled` is a
plain object until it is called, or until another kernel that calls it is compiled. Where there is
little to do, `interpreted` runs it as the Python that it is.
"""

import functools
import gc
import threading
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Literal

import numpy as np

_LOCK = threading.Lock()
_thread = threading.local()  # `plain`: kernels that this thread calls run as Python


class Kernel:
    """A function that is compiled when first called, kept in Numba's cache, and runs in threads.

    For other kernels that call it, it is compiled without what calls from Python need: that would
    take as long again for a small one.

    Parameters
    ----------
    function : callable
        What to compile.
    options : mapping
        Of `numba.njit`, beside those that all kernels have.
    """

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._outer: Any = None
        self._inner: Any = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compile for these types unless that was done, and run."""
        if getattr(_thread, "plain", False):
            return self._function(*arguments, **named)
        return (self._outer or self._make_outer())(*arguments, **named)

    def interpreted(self, *arguments: Any) -> Any:
        """Run as Python, with all kernels that it calls: for so little that compiling takes longer.

        The answer is that of the compiled kernel, up to the order in which `fastmath` adds up.
        """
        before = getattr(_thread, "plain", False)
        _thread.plain = True
        try:
            with np.errstate(over="ignore"):  # hashes and random numbers are modulo 2⁶⁴
                return self._function(*arguments)
        finally:
            _thread.plain = before

    def __getattr__(self, name: str) -> Any:
        """What Numba asks of a function called in another kernel is answered by its dispatcher."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._inner or self._make_inner(), name)

    def __reduce__(self) -> str:
        """Pickled by its name, as a function is."""
        return self._function.__qualname__

    def _make_outer(self) -> Any:
        with _LOCK:
            self._outer = self._outer or self._dispatcher(self._function)
            return self._outer

    def _make_inner(self) -> Any:
        old = self._function
        parts: Any = (
            old.__code__,
            old.__globals__,
            old.__name__,
            old.__defaults__,
            old.__closure__,
        )
        twin = FunctionType(*parts)
        twin.__module__, twin.__doc__ = old.__module__, old.__doc__
        twin.__qualname__ = f"inner_{old.__name__}"  # of a file of its own in the cache
        with _LOCK:
            self._inner = self._inner or self._dispatcher(twin, no_cpython_wrapper=True)
            return self._inner

    def _dispatcher(self, function: Callable[..., Any], **options: Any) -> Any:
        import numba

        _compile_without_collecting()
        # a division by 0 is inf or nan: to raise an error takes a sixth longer to compile
        common: Any = {
            "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy",
        }  # fmt: skip
        return numba.njit(**common, **self._options, **options)(function)


@functools.cache
def _compile_without_collecting() -> None:
    """From now on Python collects no garbage while Numba compiles: a twentieth of that time.

    Numba makes millions of objects that live to the end, and each collection looks at all of them.
    """
    from numba.core.event import Event, Listener, register

    class Pause(Listener):
        depth, collects = 0, False

        def on_start(self, event: Event) -> None:
            """One kernel may call others; Numba compiles in one thread at a time."""
            if self.depth == 0:
                self.collects = gc.isenabled()
                gc.disable()
            self.depth += 1

        def on_end(self, event: Event) -> None:
            self.depth -= 1
            if self.depth == 0 and self.collects:
                gc.enable()

    register("numba:compile", Pause())


def unwritable(array: Any) -> Any:
    """The same array as one that cannot be written, for what a kernel only reads.

    Numba compiles a kernel separately for arrays that can and that cannot: where both come, the
    second kind would take seconds more, for every user.
    """
    view = array.view()
    view.setflags(write=False)
    return view


def compiled(
    function: Callable[..., Any] | None = None,
    *,
    fastmath: bool | set[str] = False,
    inline: Literal["never", "always"] = "never",
) -> Any:
    """Mark a function as a kernel: `@compiled`, or `@compiled(fastmath=True)`.

    Parameters
    ----------
    function : callable
        The function.
    fastmath, inline
        As in `numba.njit`.

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
        return functools.partial(compiled, fastmath=fastmath, inline=inline)
    return Kernel(function, {"fastmath": fastmath, "inline": inline})
