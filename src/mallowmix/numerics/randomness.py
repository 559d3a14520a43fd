"""Counter-based random numbers: Philox 4x32-10 in numba, keyed by the seed and counted by (token, user, step, draw).

The same four counters give the same number in whatever order, thread or machine they are asked for, so results never
depend on how the work was split. (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011.)
"""

import numba as nb
import numpy as np

from mallowmix.errors import OptionError

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


@nb.njit(cache=True, nogil=True, inline="always")
def philox(c0, c1, c2, c3, key):
    """Four random 32-bit words (held in uint64) for four 32-bit counters and a 64-bit key."""
    x0, x1, x2, x3 = (
        np.uint64(c0) & _LOW,
        np.uint64(c1) & _LOW,
        np.uint64(c2) & _LOW,
        np.uint64(c3) & _LOW,
    )
    k0, k1 = np.uint64(key) & _LOW, np.uint64(key) >> _SHIFT
    for _ in range(10):
        p0, p1 = _M0 * x0, _M1 * x2
        x0, x1, x2, x3 = (p1 >> _SHIFT) ^ x1 ^ k0, p1 & _LOW, (p0 >> _SHIFT) ^ x3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return x0, x1, x2, x3


@nb.njit(cache=True, nogil=True, inline="always")
def uniforms(key, step, user, token, draw):
    """Two independent uniforms on [0, 1), 53 bits each."""
    x0, x1, x2, x3 = philox(token, user, step, draw, key)
    u = ((x0 << np.uint64(21)) ^ (x1 >> np.uint64(11))) * (1.0 / 9007199254740992.0)
    v = ((x2 << np.uint64(21)) ^ (x3 >> np.uint64(11))) * (1.0 / 9007199254740992.0)
    return u, v


@nb.njit(cache=True, nogil=True, inline="always")
def splitmix(state):
    """splitmix64: a new state and a uniform on [0, 1). A long stream, once Philox has given it a state of its own."""
    state = np.uint64(state) + np.uint64(0x9E3779B97F4A7C15)
    x = state
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return state, (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@nb.njit(cache=True, nogil=True)
def log_gamma_draw(state, shape):
    """A new state and the log of a Gamma(shape) draw (Marsaglia and Tsang), by way of shape + 1: tiny shapes do not underflow."""
    d = shape + 1.0 - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        state, u1 = splitmix(state)
        state, u2 = splitmix(state)
        x = np.sqrt(-2.0 * np.log(1.0 - u1)) * np.cos(2.0 * np.pi * u2)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        state, u = splitmix(state)
        if np.log(1.0 - u) < 0.5 * x * x + d - d * v + d * np.log(v):
            state, u = splitmix(state)
            return state, np.log(d * v) + np.log(1.0 - u) / shape  # Gamma(a) = Gamma(a + 1) U^(1/a)


@nb.njit(cache=True, nogil=True)
def draw_log_dirichlet(state, shape, out):
    """A new state; `out` becomes log θ of θ ~ Dirichlet(shape)."""
    for k in range(len(shape)):
        state, out[k] = log_gamma_draw(state, shape[k])
    top = out.max()
    out -= top + np.log(np.sum(np.exp(out - top)))
    return state


def generator(seed: int, step: int, counter: int = 0) -> np.random.Generator:
    """A numpy generator for one named step of one seed; `counter` opens an independent stream within the step."""
    # a list of both would pass through float64, where large seeds meet
    key = np.array([int(as_key(seed)), step], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, counter]))


def as_key(seed: int) -> np.uint64:
    """The seed as a 64-bit key; seeds are whole numbers from 0 to 2**64 - 1."""
    if (
        isinstance(seed, bool)
        or not isinstance(seed, int | np.integer)
        or not 0 <= int(seed) < 2**64
    ):
        raise OptionError(f"seed is {seed!r}; it must be a whole number from 0 to 2**64 - 1.")
    return np.uint64(int(seed))
