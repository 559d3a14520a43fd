"""What kernels do at an edge: the first and last position, a user with one answer."""

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.infer.posterior import split_moves
from mallowmix.model.mallows import beta_matrix
from planted import planted


def inserted(order, r, s):
    """The items with the one in position r put into position s, by a list."""
    items = list(order)
    items.insert(s, items.pop(r))
    return tuple(items)


@pytest.mark.parametrize("side", [0, 1])
def test_insertions_reach_every_position_from_the_first_to_the_last(side):
    """All single insertions are proposed, and nothing else: the last item may become the first."""
    first, seen, state = np.array([[0, 1, 2, 3], [3, 1, 0, 2]]), set(), np.uint64(5)
    for _ in range(1000):
        sigma = first.copy()
        given = (False, side, sigma, 1.0, np.arange(4), 0.0)
        state, ratio = split_moves._propose_rankings(np.uint64(state), *given)
        assert np.array_equal(sigma[1 - side], first[1 - side])
        if ratio == -np.inf:
            assert np.array_equal(sigma, first)
        else:
            seen.add(tuple(np.argsort(sigma[side]).tolist()))
    order = np.argsort(first[side]).tolist()
    assert seen == {inserted(order, r, s) for r in range(4) for s in range(4) if r != s}


@pytest.mark.parametrize("estimate", ["map", "mean"])
def test_a_user_with_one_answer_has_other_weights_than_one_with_none(estimate):
    """One answer, against the fixed point in plain numpy (the most likely weights)."""
    truth = planted(4, 2, 0.3, 1.5, seed=3)
    beta = np.array([beta_matrix(s, p) for s, p in zip(truth.sigma, truth.phi, strict=True)])
    at = np.abs(beta[0] - beta[1])
    winner, loser = np.unravel_index(int(at.argmax()), at.shape)
    votes = mm.Comparisons.from_codes(
        np.array([0]), np.array([winner]), np.array([loser]), np.ones(1), truth.items, ["one"]
    )
    (found,) = np.asarray(mm.weights(truth, votes, estimate=estimate))
    towards = int(beta[0, winner, loser] < beta[1, winner, loser])
    assert found[towards] > 0.55
    if estimate == "map":
        theta = np.full(2, 0.5)
        for _ in range(2000):
            share = theta * beta[:, winner, loser]
            theta = truth.alpha + share / share.sum()
            theta /= theta.sum()
        assert found == pytest.approx(theta, abs=1e-3)
