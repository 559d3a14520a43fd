"""Each person's comparisons in two halves: sizes, fairness, weights, and independence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from mallowmix.engine import Block, make_blocks
from mallowmix.learn.paper.halves import split_block
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import as_key


def block_of(weights_by_user, pairs_by_user=None, first_user=0):
    """A block with these row weights for each user."""
    starts = np.cumsum([0, *map(len, weights_by_user)])
    weight = np.array([w for user in weights_by_user for w in user], float)
    pair = (
        np.arange(len(weight))
        if pairs_by_user is None
        else np.array([p for user in pairs_by_user for p in user])
    )
    return Block(
        first_user,
        100,
        starts.astype(np.int64),
        pair.astype(np.int32),
        weight,
        np.ones(len(weights_by_user)),
    )


people = st.lists(st.lists(st.integers(1, 5), max_size=8), min_size=1, max_size=6)


@given(people, st.integers(0, 2**64 - 1), st.integers(0, 10**6))
def test_every_comparison_is_in_one_half_and_sizes_differ_by_one_at_most(weights, seed, first_user):
    block = block_of(weights, first_user=first_user)
    first, second = split_block(block, as_key(seed))
    assert (first + second).tolist() == block.weight.tolist()
    for half in (first, second):
        assert (half >= 0).all()
        assert (half == np.floor(half)).all()  # whole comparisons
    for m in range(block.n_users):
        rows = slice(block.starts[m], block.starts[m + 1])
        assert abs(first[rows].sum() - second[rows].sum()) == block.weight[rows].sum() % 2


@pytest.mark.slow
@given(
    st.lists(st.lists(st.floats(0.01, 4), min_size=1, max_size=6), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_a_fractional_rest_goes_as_one_piece(weights, seed):
    block = block_of(weights)
    first, second = split_block(block, as_key(seed))
    # exactly: every piece is a multiple of the last digit
    assert (first + second).tolist() == block.weight.tolist()
    for whole, one in zip(block.weight, first, strict=True):
        rest = whole - np.floor(whole)
        assert one == np.floor(one) or one - rest == pytest.approx(round(one - rest), abs=1e-12)
    for m in range(block.n_users):
        rows = slice(block.starts[m], block.starts[m + 1])
        pieces_first = np.ceil(first[rows]).sum()
        pieces_second = np.ceil(second[rows]).sum()
        assert abs(pieces_first - pieces_second) <= 1


def test_each_comparison_is_in_the_first_half_with_probability_one_half():
    """Also a person's only one, and the odd one of three. Fails by chance with rate 6 · 1e-6."""
    for n in (1, 2, 3):
        first, _ = split_block(block_of([[1] * n] * 20_000), as_key(5))
        for token in range(n):
            assert binomtest(int(first[token::n].sum()), 20_000, 0.5).pvalue > 1e-6


def test_two_comparisons_share_a_half_as_seldom_as_equal_halves_allow():
    """Of n = 4, two given ones are together with probability (n/2 − 1)/(n − 1) = 1/3. Fails by
    chance with rate 6e-6.
    """
    first, _ = split_block(block_of([[1] * 4] * 20_000), as_key(6))
    tokens = first.reshape(-1, 4)
    for i in range(4):
        for j in range(i):
            together = int((tokens[:, i] == tokens[:, j]).sum())
            assert binomtest(together, 20_000, 1 / 3).pvalue > 1e-6


def test_people_are_split_independently():
    """Neighbours' only comparisons are together half of the time. Fails by chance: rate 1e-6."""
    first, _ = split_block(block_of([[1]] * 20_001), as_key(7))
    assert binomtest(int((first[1:] == first[:-1]).sum()), 20_000, 0.5).pvalue > 1e-6


@given(people, st.integers(0, 99))
def test_an_integer_weight_is_that_many_rows(weights, seed):
    expanded = block_of([[1] * sum(user) for user in weights])
    rows = np.repeat(np.arange(sum(map(len, weights))), [w for user in weights for w in user])
    first, _ = split_block(block_of(weights), as_key(seed))
    one_by_one, _ = split_block(expanded, as_key(seed))
    assert first.tolist() == np.bincount(rows, one_by_one, len(first)).tolist()


@given(people, st.integers(0, 6), st.integers(0, 99))
def test_where_blocks_are_cut_does_not_matter(weights, cut, seed):
    whole = split_block(block_of(weights), as_key(seed))
    parts = [block_of(weights[:cut]), block_of(weights[cut:], first_user=min(cut, len(weights)))]
    assert (
        np.concatenate([split_block(part, as_key(seed)).first for part in parts]).tolist()
        == whole.first.tolist()
    )


def test_the_order_of_rows_does_not_matter_and_the_seed_does():
    comparisons = M4([[0, 1, 2, 3]], [0.5], [1.0], list("abcd")).sample(30, 9, seed=2).comparisons
    shuffled = np.random.default_rng(0).permutation(len(comparisons))
    again = type(comparisons).from_codes(
        comparisons.user[shuffled],
        comparisons.winner[shuffled],
        comparisons.loser[shuffled],
        comparisons.weight[shuffled],
        comparisons.items,
        comparisons.users,
    )

    def halves(data, seed):
        return np.concatenate(
            [split_block(block, as_key(seed)).first for block in make_blocks(data)]
        ).tobytes()

    assert halves(comparisons, 1) == halves(again, 1)
    assert halves(comparisons, 1) != halves(comparisons, 2)


def test_the_halves_of_a_tie_stay_together():
    """Rows 0 over 1 and 1 over 0 of weight ½ (or 1½) each, beside whole ones, for many people."""
    pairs = [[0 * 100 + 1, 0 * 100 + 2, 1 * 100 + 0, 2 * 100 + 1]] * 200
    first, _ = split_block(block_of([[0.5, 1, 1.5, 1]] * 200, pairs), as_key(3))
    part = (first - np.floor(first)).reshape(200, 4)
    assert (part[:, 0] == part[:, 2]).all() and 50 < (part[:, 0] == 0.5).sum() < 150
    assert not part[:, [1, 3]].any()
