"""What a limit of memory does to a command: too low a one is refused, an error is recognised."""

from mallowmix.errors import MallowmixError

# Bytes of address space. The packages that commands load reserve up to 2.6 GB on two cores, of
# which they use a sixth (benchmarks/faults.py); with less, a library may wait or crash.
LEAST = 2560 * 2**20

_reserve = [bytearray(4 * 2**20)]  # for a last sentence; never touched, so it takes no memory


def refuse_low_limit() -> None:
    """Raise an error where this process may have too little address space to load packages.

    Raises
    ------
    MallowmixError
        The limit, and how much is needed.
    """
    most = _limit()
    if most is not None and most < LEAST:
        raise MallowmixError(
            f"This process may have {most // 2**20:,} MB of address space, and the packages that "
            f"mallowmix loads reserve {LEAST // 2**20:,} MB (most of it is never used): raise the "
            f"limit, as with ulimit -v {LEAST // 2**10}."
        )


def _limit() -> int | None:
    """Bytes of address space that this process may have; None where there is no limit."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def no_memory(error: BaseException | None) -> str | None:
    """What an error says of memory that could not be had; None where it is of another kind.

    Where it is of this kind, some memory is freed, with which that can be said.

    Parameters
    ----------
    error : exception
        It, or what it came from: a library may pass a MemoryError on as another one.
    """
    while error is not None:
        if isinstance(error, MemoryError) or _is_no_thread(error):
            _reserve.clear()
            return str(error) or "no more is said"
        error = error.__cause__ or error.__context__
    return None


def _is_no_thread(error: BaseException) -> bool:
    """Whether a thread had no room to begin, for which Python has no class of its own."""
    return isinstance(error, RuntimeError) and str(error) == "can't start new thread"
