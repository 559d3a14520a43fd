"""Logarithms of many numbers side by side, in the lanes of vector registers.

`math.log` in a loop of a kernel is called once for each number. Here a float is taken apart: of
2^e f, 1 ≤ f < 2, the logarithm is e log 2 + log f, and that of f is a short series.
"""

import math

import numpy as np

from mallowmix.numerics.compiled import compiled

LANES = 16  # numbers side by side: a kernel is given this number, see `add_logarithms`
_LOG_2 = math.log(2)
# of the 64 bits of a float: where the exponent begins, the fraction below it, and the bits of 1
_SHIFT, _FRACTION, _ONE = np.uint64(52), np.uint64((1 << 52) - 1), np.uint64(1023 << 52)


@compiled(fastmath=True)
def add_logarithms(values, bits, weight, which, n, table, lanes):
    """Add weight[i] · log values[i] to row which[i] of a table, for n of them; set them to 1.

    The logarithms are right to 2e-11.

    Parameters
    ----------
    values : (n, LANES) array
        Positive numbers.
    bits : (n, LANES) array of uint64
        The same memory: of 2^e f, the bits of e + 1023 and of f.
    weight : (n,) array
        Of each row.
    which : (n,) array of uint16
        Rows of the table.
    n : int
        How many rows.
    table : (K, LANES) array
        Is added to.
    lanes : int
        `LANES`, but not known to the compiler, which would unroll the loops and not vectorise them.
    """
    # With s = (f − √2) / (f + √2), |s| < .172, log f is log √2 + 2 (s + s³/3 + s⁵/5 + …). What is
    # left out is below 2e-11.
    for i in range(n):
        k, w = np.uint64(which[i]), weight[i]
        for c in range(lanes):
            exponent = np.int64(bits[i, c] >> _SHIFT) - 1023
            table[k, c] += w * _LOG_2 * (exponent + 0.5)
            bits[i, c] = (bits[i, c] & _FRACTION) | _ONE
        for c in range(lanes):
            s = (values[i, c] - math.sqrt(2)) / (values[i, c] + math.sqrt(2))
            x = s * s
            odd = 1 + x * (1 / 3 + x * (1 / 5 + x * (1 / 7 + x * (1 / 9 + x / 11))))
            table[k, c] += w * 2 * s * odd
            values[i, c] = 1.0
