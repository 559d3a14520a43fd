"""Amounts of memory, written as people write them: 2GB, 512 MiB, 1.5g, or a number of bytes."""

import re

from mallowmix.errors import OptionError

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
LEAST_MEMORY = 256 * 10**6


def as_bytes(size: str | float, option: str = "memory") -> int:
    """The number of bytes of a size such as "2GB"; an OptionError where it is none."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?i?)b?\s*", str(size).lower())
    if match is None or match[2] not in _UNITS:
        raise OptionError(
            option=option, value=size, expected="a number and a unit, as in 2GB or 512MB"
        )
    return int(float(match[1]) * _UNITS[match[2]])


def check_memory(size: str | float) -> int:
    """The same, and at least what DuckDB and a few blocks need."""
    nbytes = as_bytes(size)
    if nbytes < LEAST_MEMORY:
        raise OptionError(
            option="memory",
            value=size,
            expected=f"at least {LEAST_MEMORY // 10**6}MB, for a few blocks and their sums",
        )
    return nbytes
