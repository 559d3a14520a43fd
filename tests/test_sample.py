"""Samples of people."""

import numpy as np
import pytest

from mallowmix.engine import Block, ThreadEngine, make_blocks
from mallowmix.engine.blocks import block_edges
from mallowmix.learn.spectral.user_sample import (
    ENOUGH,
    people,
    sample_blocks,
    sample_users,
    sampled_share,
)
from planted import planted


def rows_of(block):
    """(user, pair, weight) of every row, by plain loops."""
    return [
        (m, int(block.pair[row]), float(block.weight[row]))
        for m in range(block.n_users)
        for row in range(block.starts[m], block.starts[m + 1])
    ]


def test_the_person_of_each_row():
    block = Block(0, 3, np.array([0, 2, 2, 3]), np.array([1, 2, 3]), np.ones(3), np.ones(3))
    assert people(block).tolist() == [0, 0, 2]


@pytest.fixture(scope="module")
def population():
    return (
        planted(6, 2)
        .sample(3000, np.random.default_rng(0).integers(0, 6, 3000), seed=0)
        .comparisons
    )


def drawn(comparisons, share, seed):
    """The users that a sample holds: their weight, which is their number, tells who they are."""
    numbered = type(comparisons)(
        comparisons.user,
        comparisons.winner,
        comparisons.loser,
        comparisons.weight,
        comparisons.items,
        comparisons.users,
        np.arange(comparisons.n_users, dtype=float),
    )
    return [sample_users(block, share, seed) for block in make_blocks(numbered)]


def test_a_sample_holds_whole_people_in_their_order(population):
    for full, part in zip(make_blocks(population), drawn(population, 0.3, 5), strict=True):
        who = part.user_weight.astype(int) - full.first_user
        renumbered = {m: new for new, m in enumerate(who)}
        assert rows_of(part) == [
            (renumbered[m], pair, w) for m, pair, w in rows_of(full) if m in renumbered
        ]
        assert part.first_user == full.first_user and part.n_items == full.n_items


def test_who_is_drawn_depends_on_the_seed_and_their_number_alone(population):
    """Also when the same people are cut into other blocks, and more people follow."""
    chosen = np.concatenate([block.user_weight for block in drawn(population, 0.3, 5)])
    fewer = np.concatenate(
        [block.user_weight for block in drawn(population.take_users(range(1000)), 0.3, 5)]
    )
    assert fewer.tolist() == chosen[chosen < 1000].tolist()
    other = np.concatenate([block.user_weight for block in drawn(population, 0.3, 6)])
    assert set(other) != set(chosen)
    more = np.concatenate([block.user_weight for block in drawn(population, 0.5, 5)])
    assert set(chosen) < set(more)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_share_is_about_right(population, share):
    """Binomial: ±5 standard deviations, by chance less than once in a million."""
    n = sum(block.n_users for block in drawn(population, share, 1))
    assert abs(n - 3000 * share) < 5 * np.sqrt(3000 * share * (1 - share))


def test_a_whole_sample_is_everybody(population):
    block = make_blocks(population)[0]
    assert sample_users(block, 1.0, 0) is block
    assert sample_users(block, 1e-12, 0).n_users == 0


def test_how_many_to_sample_depends_on_the_number_of_comparisons_alone():
    assert sampled_share(0) == sampled_share(ENOUGH) == sampled_share(1.5 * ENOUGH) == 1
    assert sampled_share(10 * ENOUGH) == pytest.approx(0.1)
    sizes = np.linspace(1.6 * ENOUGH, 50 * ENOUGH, 20)
    assert [n * sampled_share(n) for n in sizes] == pytest.approx([ENOUGH] * 20)


def test_a_sample_is_cut_into_blocks_of_its_own(population):
    """The same people with the same rows as block by block, in their order, numbered through, in
    blocks of the usual size.
    """
    everybody = make_blocks(population)
    parts = [sample_users(block, 0.3, 5) for block in everybody]
    found = sample_blocks(everybody, 0.3, 5, ThreadEngine(2))
    n_users, n_rows = sum(part.n_users for part in parts), sum(len(part.pair) for part in parts)
    assert [block.first_user for block in found] == block_edges(n_users, n_rows, 6)[:-1]
    starts = np.cumsum([0, *(part.n_users for part in parts)])
    expected = [
        (start + m, *row)
        for start, part in zip(starts, parts, strict=False)
        for m, *row in rows_of(part)
    ]
    assert [
        (block.first_user + m, *row) for block in found for m, *row in rows_of(block)
    ] == expected
    assert all(
        a is b
        for a, b in zip(sample_blocks(everybody, 1.0, 5, ThreadEngine(1)), everybody, strict=True)
    )
