"""The contract that every peer keeps, and for each: its formulas against dense twins, and data from
its own model.
"""

import numpy as np
import pytest
from scipy.special import ndtr

from mallowmix.data.ratings import rating_table
from mallowmix.errors import DataError, OptionError
from mallowmix.peers.bias import Bias
from mallowmix.peers.bpmf import BPMF, Side, _sides
from mallowmix.peers.interface import FittedPeer, FittedRatings, Peer, rmse
from mallowmix.peers.pmf import PMF, gradient

QUICK = [PMF(n_epochs=5), BPMF(n_epochs=3, start=PMF(n_epochs=3)), Bias(n_sweeps=5)]
by_name = pytest.mark.parametrize("peer", QUICK, ids=lambda peer: peer.name)


def low_rank(M=120, Q=25, K=2, noise=0.4, share=0.5, seed=0):
    """Ratings 3 + u·v + noise, not rounded, and which of all (person, thing) are rated: the model
    of PMF and BPMF.
    """
    random = np.random.default_rng(seed)
    U, V = random.normal(0, 0.8, (M, K)), random.normal(0, 0.8, (Q, K))
    score = 3 + U @ V.T
    seen = random.random((M, Q)) < share
    return score, np.round(score + random.normal(0, noise, (M, Q)), 6), seen


def columns(ratings, rows):
    user, item = np.nonzero(rows)
    return [f"u{m:03d}" for m in user], [f"i{i:03d}" for i in item], ratings[rows]


# ---- the contract ----


@pytest.mark.slow
@by_name
def test_the_contract(peer):
    _, ratings, seen = low_rank(M=30, Q=8)
    assert isinstance(peer, Peer)
    assert peer.needs == "ratings"
    fitted = peer.fit(columns(ratings, seen), 2, seed=1)
    assert isinstance(fitted, FittedPeer)
    assert fitted.components.shape == (2, 8)
    pairs = [("i000", "i001"), ("i001", "i000"), ("i002", "i007")]
    p = fitted.predict_proba(["u003", "nobody"], pairs)
    assert p.shape == (2, 3)
    np.testing.assert_allclose(p[:, 0] + p[:, 1], 1)
    assert ((p > 0) & (p < 1)).all()
    found = fitted.predict(["u003", "u003", "nobody"], ["i001", "no thing", "no thing"])
    assert ((found >= ratings[seen].min()) & (found <= ratings[seen].max())).all()
    assert set(fitted.predict_integers(["u003"] * 8, [f"i{i:03d}" for i in range(8)]) % 1) <= {
        0.0,
        ratings[seen].max() % 1,
    }


@by_name
def test_the_seed_decides_and_the_order_of_rows_does_not(peer):
    _, ratings, seen = low_rank(M=30, Q=8)
    data = columns(ratings, seen)
    asked = (data[0][:20], data[1][:20])
    first, again, other = (
        peer.fit(rows, 2, seed=seed).predict(*asked)
        for rows, seed in ((data, 1), (tuple(column[::-1] for column in data), 1), (data, 2))
    )
    assert np.array_equal(first, again)
    assert isinstance(peer, Bias) or not np.array_equal(first, other)


@by_name
def test_what_cannot_be_read_is_refused(peer):
    with pytest.raises(DataError, match="There are no ratings"):
        peer.fit(([], [], []), 2)
    fitted = peer.fit((["a", "a", "b"], ["x", "y", "x"], [1, 2, 3]), 1)
    with pytest.raises(DataError, match="There are 1 users and 2 items to predict"):
        fitted.predict(["a"], ["x", "y"])


def test_probabilities_are_those_of_two_noisy_ratings():
    fitted = PMF(n_epochs=2).fit((["a", "a", "b"], ["x", "y", "x"], [1, 2, 3]), 2)
    score = fitted.mean + fitted.user_scores[0] @ fitted.item_scores[0].T
    expected = ndtr((score[0, 0] - score[0, 1]) / np.sqrt(2 * fitted.noise**2))
    assert fitted.predict_proba(["a"], [("x", "y")])[0, 0] == pytest.approx(expected)


def test_draws_are_averaged_after_clipping():
    scores = np.array([[[10.0], [0.0]], [[-1.0], [0.0]]])
    fitted = FittedRatings(
        np.array(["a"]), np.array(["x"]), scores, np.ones((2, 2, 1)), 3.0, 1.0, 5.0, 1.0
    )
    assert fitted.predict(["a"], ["x"])[0] == (5 + 2) / 2
    assert fitted.predict_integers(["a"], ["x"])[0] == 4
    assert fitted.predict(["z"], ["z"])[0] == 3


def test_rmse():
    assert rmse([1, 2], [1, 4]) == pytest.approx(2**0.5)


# ---- PMF ----


def test_pmf_gradient_matches_finite_differences():
    random = np.random.default_rng(0)
    U, V = random.normal(size=(4, 2)), random.normal(size=(3, 2))
    user, item = np.array([0, 0, 1, 3, 3]), np.array([0, 2, 1, 0, 1])
    r = random.normal(size=5)

    def loss(flat):
        A, B = flat[:8].reshape(4, 2), flat[8:].reshape(3, 2)
        return sum(
            (A[u] @ B[i] - x) ** 2 + 0.5 * 0.3 * (A[u] @ A[u] + B[i] @ B[i])
            for u, i, x in zip(user, item, r, strict=True)
        )

    flat = np.r_[U.ravel(), V.ravel()]
    slope = [(loss(flat + e) - loss(flat - e)) / 2e-6 for e in 1e-6 * np.eye(14)]
    found = gradient(U, V, user, item, r, 0.3)
    np.testing.assert_allclose(
        np.r_[found[0].ravel(), found[1].ravel()], slope, rtol=1e-6, atol=1e-6
    )


def test_pmf_one_batch_is_a_momentum_step():
    random = np.random.default_rng(1)
    user, item, r = (
        np.array([0, 1, 1], np.int32),
        np.array([0, 0, 1], np.int32),
        random.normal(size=3),
    )
    sizes = (2, 2, 1)
    U0, V0 = PMF(n_epochs=0).factors(user, item, r, sizes, 5)
    dU, dV = gradient(U0, V0, user, item, r, 0.01)
    U1, V1 = U0 - 0.5 / 3 * dU, V0 - 0.5 / 3 * dV
    ddU, _ = gradient(U1, V1, user, item, r, 0.01)
    U2 = U1 - (0.8 * 0.5 / 3 * dU + 0.5 / 3 * ddU)
    found = PMF(n_epochs=2, n_batches=1, learning_rate=0.5).factors(user, item, r, sizes, 5)[0]
    np.testing.assert_allclose(found, U2, rtol=1e-12)


@pytest.mark.slow
def test_pmf_takes_shorter_steps_where_long_ones_run_away():
    """Steps of 50 overflow on thirty people; halved until they do not, they give what a shorter
    step gives from the start.
    """
    _, ratings, seen = low_rank(M=30, Q=8)
    table = rating_table(columns(ratings, seen))
    data = (table.user, table.item, table.rating - table.rating.mean(), (30, 8, 2), 3)
    with np.errstate(all="ignore"):
        runs = [PMF()._run(*data, 50 / 2**n) for n in range(12)]
    assert not np.isfinite(runs[0][0]).all()
    assert any(np.array_equal(PMF().factors(*data)[0], run[0]) for run in runs[1:])


# ---- BPMF ----


def test_bpmf_conditional_means_and_spreads_match_dense_algebra():
    """Means with normals of 0, and the covariance from unit normals: the columns of P^(−½) multiply
    to P⁻¹.
    """
    random = np.random.default_rng(2)
    K, starts, other = 3, np.array([0, 2, 2, 5]), np.array([0, 3, 1, 2, 3], np.int32)
    r, V, mu = random.normal(size=5), random.normal(size=(4, K)), random.normal(size=K)
    A = random.normal(size=(K, K))
    precision = A @ A.T + np.eye(K)
    peer, side = BPMF(noise_precision=1.7), Side(starts, other, r)
    means = peer.draw_factors(side, V, mu, precision, np.zeros((3, K)))
    unit = [
        peer.draw_factors(side, V, mu, precision, np.tile(e, (3, 1))) - means for e in np.eye(K)
    ]
    for m in range(3):
        rows = slice(starts[m], starts[m + 1])
        X = V[other[rows]]
        covariance = np.linalg.inv(precision + 1.7 * X.T @ X)
        np.testing.assert_allclose(
            means[m], covariance @ (precision @ mu + 1.7 * X.T @ r[rows]), rtol=1e-9
        )
        root = np.column_stack([u[m] for u in unit])
        np.testing.assert_allclose(root @ root.T, covariance, rtol=1e-9)


def test_bpmf_prior_parameters_match_the_textbook():
    """The normal-Wishart update, term by term; S has N − 1 as in the published code."""
    X = np.random.default_rng(3).normal(size=(7, 2))
    scale, freedom, center, strength = BPMF().prior_parameters(X)
    x_bar = [sum(X[:, k]) / 7 for k in range(2)]
    for i in range(2):
        for j in range(2):
            S = sum((X[n, i] - x_bar[i]) * (X[n, j] - x_bar[j]) for n in range(7)) / 6
            expected = (i == j) + 7 * S + 7 * 2 / (7 + 2) * x_bar[i] * x_bar[j]
            assert np.linalg.inv(scale)[i, j] == pytest.approx(expected)
    assert (freedom, strength) == (2 + 7, 2 + 7)
    np.testing.assert_allclose(center, [7 * x / 9 for x in x_bar])


@pytest.mark.slow
def test_bpmf_prior_draws_have_the_right_means():
    """3000 draws: E Λ = ν W with a relative s.e. near .5%, E μ = center with s.e. near .0008; five
    of each are allowed.
    """
    X = np.random.default_rng(4).normal([0.5, -0.2], 0.3, size=(60, 2))
    scale, freedom, center, _ = BPMF().prior_parameters(X)
    random = np.random.default_rng(5)
    draws = [BPMF().draw_prior(X, random) for _ in range(3000)]
    np.testing.assert_allclose(np.mean([m for m, _ in draws], axis=0), center, atol=0.004)
    np.testing.assert_allclose(
        np.mean([p for _, p in draws], axis=0), freedom * scale, atol=0.025 * freedom * scale.max()
    )


def test_bpmf_ratings_by_items_are_the_same_ratings():
    table = rating_table((["a", "b", "b"], ["y", "x", "y"], [1, 2, 4]))
    people, things = _sides(table, 2.0)
    assert (people.starts.tolist(), people.other.tolist(), people.residual.tolist()) == (
        [0, 1, 3],
        [1, 0, 1],
        [-1, 0, 2],
    )
    assert (things.starts.tolist(), things.other.tolist(), things.residual.tolist()) == (
        [0, 1, 3],
        [1, 0, 1],
        [0, -1, 2],
    )


# ---- data from their own model ----


@pytest.mark.parametrize(
    ("peer", "most"),
    [
        (PMF(learning_rate=5.0, n_epochs=60), 0.75),
        (BPMF(noise_precision=1 / 0.4**2, start=PMF(learning_rate=5.0)), 0.5),
    ],
    ids=["PMF", "BPMF"],
)
def test_factors_are_recovered(peer, most):
    """The unseen half of a rank-2 table: an error below a part of its spread (a guess of the mean
    has 1). Fixed data and seed.
    """
    score, ratings, seen = low_rank()
    fitted = peer.fit(columns(ratings, seen), 2, seed=0)
    user, item, truth = columns(score, ~seen)
    assert rmse(fitted.predict(user, item), truth) < most * np.std(truth)


def test_biases_are_recovered():
    """400 people and 30 things: a bias of a thing has a standard error near .04, one of a person
    near .13.
    """
    random = np.random.default_rng(6)
    b_user, b_item = random.normal(0, 0.5, 400), random.normal(0, 0.7, 30)
    score = 3 + b_user[:, None] + b_item
    seen = random.random((400, 30)) < 0.5
    data = columns(score + random.normal(0, 0.5, score.shape), seen)
    fitted = Bias().fit(data)
    user, item, truth = columns(score, ~seen)
    assert rmse(fitted.predict(user, item), truth) < 0.2
    assert np.corrcoef(fitted.components[1], b_item)[0, 1] > 0.97


def test_biases_solve_the_normal_equations():
    _, ratings, seen = low_rank(M=12, Q=5)
    table = rating_table(columns(ratings, seen))
    b_user, b_item, mean = Bias(n_sweeps=300).biases(table, np.ones(len(table), bool), 2.0, 3.0)
    X = np.zeros((len(table), table.n_users + table.n_items))
    X[np.arange(len(table)), table.user] = X[np.arange(len(table)), table.n_users + table.item] = 1
    penalty = np.diag([2.0] * table.n_users + [3.0] * table.n_items)
    expected = np.linalg.solve(X.T @ X + penalty, X.T @ (table.rating - mean))
    np.testing.assert_allclose(np.r_[b_user, b_item], expected, atol=1e-9)


def test_shrinkage_is_chosen_by_held_out_ratings():
    """Pure noise wants the strongest shrinkage, large biases with little noise the weakest; between
    them a number is found that is not among the candidates.
    """
    random = np.random.default_rng(7)
    everything = np.ones((60, 10), bool)
    noise = rating_table(columns(random.normal(3, 1, (60, 10)), everything))
    clear = rating_table(
        columns(3 + random.normal(0, 2, (60, 1)) + random.normal(0, 0.1, (60, 10)), everything)
    )
    peer = Bias(shrinkage=(0.1, 1000.0))
    assert peer.chosen(noise, 0)[0] >= 1000.0
    assert peer.chosen(clear, 0)[0] <= 0.1
    assert 0.1 < Bias(shrinkage=(500.0, 1000.0)).chosen(clear, 0)[0] < 500.0
    with pytest.raises(OptionError, match="shrinkage is \\(\\); it must be one or more numbers"):
        Bias(shrinkage=()).fit(noise)
