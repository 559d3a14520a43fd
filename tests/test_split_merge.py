"""Split and merge: a doubled taste finds its way to the one that was missed; nothing happens where
components differ.
"""

import warnings

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.learn.paper.halves import split_block
from mallowmix.learn.spectral import refinement, split_merge
from mallowmix.learn.spectral.fit_state import FitState
from mallowmix.learn.spectral.gibbs_sweep import new_chains
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo, monte_carlo_em
from mallowmix.learn.spectral.split_merge import predicted_halves, split_and_merge
from mallowmix.learn.spectral.variational_em import variational_em
from mallowmix.model.permutations import kendall, match_components, sigma_of
from mallowmix.numerics.randomness import as_key

ENGINE = ThreadEngine(2)
Q, K = 20, 4


def neighbours(seed: int) -> np.ndarray:
    """Four rankings: two far apart, and two that are near the first."""
    random = np.random.default_rng(seed)
    first, last = random.permutation(Q), random.permutation(Q)
    near = [sigma_of(np.argsort(first + random.normal(0, 4, Q))) for _ in range(2)]
    return np.stack([first, *near, last]).astype(np.int32)


@pytest.fixture(scope="module")
def crowd():
    truth = mm.M4(neighbours(3), np.full(K, 0.3), np.full(K, 0.15), [f"{i:02d}" for i in range(Q)])
    return truth, make_blocks(truth.sample(600, 60, seed=1).comparisons)


def climb(blocks, components, alpha):
    """The refinement that `fit` uses, from these components."""
    start = variational_em(blocks, components, alpha, ENGINE, n_iter=6)
    theta = [gamma / gamma.sum(axis=1, keepdims=True) for gamma in start.gamma]
    return monte_carlo_em(blocks, start.components, start.alpha, new_chains(blocks, theta), ENGINE)


def stuck(truth) -> MonteCarlo:
    """The last taste twice, the three alike under one ranking."""
    sigma = truth.sigma[[0, 1, 3, 3]].copy()
    sigma[3, [4, 5]] = sigma[3, [5, 4]]
    components = MallowsComponents(sigma, np.array([0.3, 0.7, 0.3, 0.3]))
    return MonteCarlo(components, np.array([0.15, 0.3, 0.08, 0.07]), [], [])


@pytest.mark.slow
def test_a_doubled_taste_gives_way_to_the_one_that_was_missed(crowd):
    truth, blocks = crowd
    before = stuck(truth)
    assert match_components(before.components.sigma, truth.sigma).kendall.max() > 0.05
    after, scores = split_and_merge(blocks, before, lambda c, a: climb(blocks, c, a), ENGINE)
    assert match_components(after.components.sigma, truth.sigma).kendall.max() < 0.03
    assert len(scores) > 1 and scores == sorted(scores)


def test_components_that_differ_are_left_alone(crowd):
    _, blocks = crowd
    sigma = np.stack([np.roll(np.arange(Q), 5 * k) for k in range(3)]).astype(np.int32)
    assert (
        min(
            kendall(a, b)
            for a, b in ((sigma[0], sigma[1]), (sigma[1], sigma[2]), (sigma[0], sigma[2]))
        )
        > 0.15
    )
    found = MonteCarlo(MallowsComponents(sigma, np.full(3, 0.3)), np.full(3, 0.2), [], [])
    after, scores = split_and_merge(
        blocks, found, lambda c, a: pytest.fail("nothing is to be refined"), ENGINE
    )
    assert after is found and scores == []


def test_a_move_that_does_not_predict_better_is_not_made(crowd):
    truth, blocks = crowd
    found = MonteCarlo(MallowsComponents(truth.sigma, truth.phi), truth.alpha, [], [])
    worse = MonteCarlo(
        MallowsComponents(truth.sigma[::-1, ::-1].copy(), truth.phi), truth.alpha, [], []
    )
    after, scores = split_and_merge(blocks, found, lambda c, a: worse, ENGINE)
    assert after is found and len(scores) == 1


def test_halves_are_predicted_as_quadrature_says():
    """Two components: the weight of one on a grid, its posterior given the told half, then the
    asked half token by token.

    A person's γ is variational, so the two differ by a little: by .0008 here.
    """
    truth = mm.M4(
        np.stack([np.arange(8), np.arange(8)[::-1]]), [0.3, 0.5], [0.5, 0.8], list("abcdefgh")
    )
    blocks = make_blocks(truth.sample(80, 20, seed=2).comparisons)
    found = predicted_halves(
        blocks, MallowsComponents(truth.sigma, truth.phi), truth.alpha, ENGINE, seed=4
    )
    beta = truth.beta().reshape(2, -1).T
    t = (np.arange(2000) + 0.5) / 2000
    prior = -0.5 * np.log(t) - 0.2 * np.log(1 - t)  # log of t^(α₁−1) (1−t)^(α₂−1)
    total = n = 0.0
    for block in blocks:
        told, asked = split_block(block, as_key(4))
        for m in range(block.n_users):
            rows = slice(block.starts[m], block.starts[m + 1])
            p = np.outer(beta[block.pair[rows], 0], t) + np.outer(beta[block.pair[rows], 1], 1 - t)
            log = prior + told[rows] @ np.log(p)
            posterior = np.exp(log - log.max())
            total += asked[rows] @ np.log(p @ (posterior / posterior.sum()))
            n += asked[rows].sum()
    assert found == pytest.approx(total / n, abs=2e-3)


@pytest.mark.slow
def test_fit_looks_further_where_tastes_came_out_alike():
    """And nowhere else; an update stays where it was."""
    random = np.random.default_rng(0)
    for spread, looked in ((2.5, True), (60, False)):
        sigma = np.stack(
            [sigma_of(np.argsort(np.arange(30) + random.normal(0, spread, 30))) for _ in range(3)]
        )
        truth = mm.M4(sigma, np.full(3, 0.2), np.full(3, 0.1), [f"{i:02d}" for i in range(30)])
        votes = truth.sample(300, 60, seed=5).comparisons
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = mm.fit(votes, 3, seed=0, predictor=False)
            again = mm.update(model, votes)
        assert bool(model.report.spectral.predicted_halves) == looked
        assert not again.report.spectral.predicted_halves
        assert match_components(model.sigma, truth.sigma).kendall.max() < 0.03


def test_a_move_merges_two_components_and_splits_a_third():
    """Their priors are added and halved; the items of the split one move by a few positions."""
    rng, Q = np.random.default_rng(0), 40
    sigma = np.array([rng.permutation(Q) for _ in range(3)])
    phi, alpha = np.array([0.2, 0.3, 0.4]), np.array([0.5, 0.2, 0.8])
    found = MonteCarlo(MallowsComponents(sigma, phi), alpha, [], [])
    moved, shares = split_merge._moved(found, (0, 1), 2, 3, 0)
    assert shares == pytest.approx([0.7, 0.4, 0.4]) and moved.phi.tolist() == [0.2, 0.8, 0.8]
    assert moved.sigma[0].tolist() == sigma[0].tolist()
    for k in (1, 2):  # normal noise of 0.15 Q on every position: about a tenth of all pairs
        assert 0.03 < kendall(moved.sigma[k], sigma[2]) < 0.25
    assert kendall(moved.sigma[1], moved.sigma[2]) > 0.03
    assert found.alpha.tolist() == [0.5, 0.2, 0.8] and found.components.phi.tolist() == [
        0.2,
        0.3,
        0.4,
    ]


def test_the_two_most_alike_may_be_one_and_the_noisiest_are_split():
    one, other = np.arange(8), np.arange(8)[::-1]
    like = np.array([1, 0, *range(2, 8)])  # a single pair of 28 the other way round
    far = np.array([3, 0, 6, 1, 7, 2, 5, 4])
    components = MallowsComponents(
        np.array([one, far, like, other]), np.array([0.1, 0.5, 0.2, 0.9])
    )
    alpha = np.array([0.4, 0.3, 0.5, 0.1])
    # the smaller of the two goes; noise is φ α
    assert split_merge._moves(components, alpha) == [((2, 0), 1), ((2, 0), 3)]
    apart = MallowsComponents(components.sigma[[0, 1, 3]], components.phi[[0, 1, 3]])
    assert split_merge._moves(apart, alpha[:3]) == []


@pytest.mark.parametrize(("K", "times"), [(2, 0), (3, 1)])
def test_two_components_are_never_one_that_is_split(K, times, monkeypatch):
    asked = []

    def no_move(blocks, outcome, *_, **__):
        asked.append(len(outcome.alpha))
        return outcome, [-0.5]

    components = MallowsComponents(np.tile(np.arange(4), (K, 1)), np.full(K, 0.5))
    outcome = MonteCarlo(components, np.ones(K), [], [7])
    monkeypatch.setattr(refinement, "_ascend", lambda *_: outcome)
    monkeypatch.setattr(refinement, "split_and_merge", no_move)
    monkeypatch.setattr(refinement, "_at_maximum", lambda state, found, **_: found)
    monkeypatch.setattr(refinement, "half_distances", lambda *_: np.zeros(K))
    monkeypatch.setattr(refinement, "say_little", lambda blocks: False)
    state = FitState([], None, ENGINE, 0, None, 4)
    assert refinement.refine(state, state, outcome, None) is outcome
    assert len(asked) == times and state.trace.moved == (7,)
    assert state.trace.predicted_halves == (-0.5,) * times
