"""Philox against its published answers and a twin in Python integers; uniforms against the uniform
distribution.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import oracles
from mallowmix.errors import OptionError
from mallowmix.numerics.randomness import (
    as_key,
    generator,
    log_gamma_draw,
    philox,
    uniform_pairs,
    uniforms,
)

words = st.integers(0, 2**32 - 1)
ONES = 0xFFFFFFFF

KNOWN_ANSWERS = [  # the test vectors published with Salmon et al. (2011)
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counters", "key", "answer"), KNOWN_ANSWERS)
def test_philox_known_answers(counters, key, answer):
    assert tuple(map(int, philox(*counters, np.uint64(key[0] | key[1] << 32)))) == answer
    assert oracles.philox4x32(counters, key[0] | key[1] << 32) == answer


@given(st.tuples(words, words, words, words), st.integers(0, 2**64 - 1))
def test_philox_against_its_twin(counters, key):
    assert tuple(map(int, philox(*counters, np.uint64(key)))) == oracles.philox4x32(counters, key)


@given(words, words, words, words, st.integers(0, 2**64 - 1))
def test_uniforms_are_the_upper_53_bits(step, user, token, draw, key):
    x0, x1, x2, x3 = oracles.philox4x32((token, user, step, draw), key)
    assert uniforms(np.uint64(key), step, user, token, draw) == (
        (x0 << 32 | x1) // 2**11 / 2**53,
        (x2 << 32 | x3) // 2**11 / 2**53,
    )


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["step", "user", "token", "draw"])
def test_uniforms_are_uniform_and_independent_along_every_counter(axis):
    """Kolmogorov-Smirnov for both, and a chi-square of the couple in 10 × 10 cells: false alarms 3
    × 1e-4 a case.
    """
    fixed = {"step": 3, "user": 5, "token": 7, "draw": 0}
    couples = np.array([uniforms(np.uint64(11), **(fixed | {axis: n})) for n in range(5000)])
    assert (
        min(
            stats.kstest(couples[:, 0], "uniform").pvalue,
            stats.kstest(couples[:, 1], "uniform").pvalue,
        )
        > 1e-4
    )
    cells = np.histogram2d(*couples.T, bins=10, range=[[0, 1], [0, 1]])[0].ravel()
    assert oracles.chi_square_p(cells, [0.01] * 100) > 1e-4


def test_generators_of_different_seeds_steps_and_counters_differ():
    draws = [
        generator(*key).random()
        for key in [(0, 1), (1, 1), (0, 2), (0, 1, 1), (2**60, 1), (2**60 + 1, 1), (2**64 - 1, 1)]
    ]
    assert len(set(draws)) == len(draws)
    assert generator(2**63 + 5, 1).random() == generator(2**63 + 5, 1).random()


@pytest.mark.parametrize("seed", [0, 1, np.int64(7), 2**64 - 1])
def test_seeds(seed):
    assert int(as_key(seed)) == int(seed)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, "1", None, True])
def test_what_is_no_seed(seed):
    with pytest.raises(OptionError, match=r"; it must be a whole number from 0 to 2\*\*64 - 1"):
        as_key(seed)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 6.0, 30.0])
def test_gamma_draws_have_their_distribution(shape):
    """Kolmogorov–Smirnov on 20,000 draws, fails by chance with rate 1e-4."""
    state, draws = np.uint64(5), []
    for _ in range(20_000):
        state, value = log_gamma_draw(np.uint64(state), shape)
        draws.append(value)
    assert stats.kstest(np.exp(draws), stats.gamma(shape).cdf).pvalue > 1e-4


def test_uniforms_of_arrays_are_those_of_each_counter():
    user, token = np.array([3, 0, 2**33]), np.array([1, 7, 2])
    u, v = uniform_pairs(np.uint64(9), 31, user, token, 4)
    for i in range(3):
        one = uniforms.interpreted(np.uint64(9), 31, int(user[i]), int(token[i]), 4)
        assert (u[i], v[i]) == one
