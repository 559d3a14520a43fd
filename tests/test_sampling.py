"""Drawn populations against the distribution they are drawn from, and against themselves.

Every statistical test here asks p > 1e-4: for a seed chosen blindly, one in ten thousand would fail
by chance. Seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats

import oracles
from mallowmix.errors import DataError, OptionError
from mallowmix.model.m4 import M4
from mallowmix.model.sampling import draw_weights, pair_distribution

MODEL = M4([[0, 1, 2, 3], [3, 1, 0, 2]], [0.2, 0.6], [0.5, 1.5], list("abcd"))
TABLES = [np.array(oracles.beta((0, 1, 2, 3), 0.2)), np.array(oracles.beta((3, 1, 0, 2), 0.6))]
EVEN = np.ones((4, 4)) - np.eye(4)
# the diagonal is never asked
UNEVEN = np.array([[9, 1, 0, 2], [1, 9, 3, 0], [0, 3, 9, 4], [2, 0, 4, 9]], float)


def expected_frequencies(theta, mu) -> np.ndarray:
    """Pr(i over j) of one comparison: μ_ij Σ_k θ_k β_(i,j),k, flat over ordered pairs."""
    asked = mu * (1 - np.eye(4))
    return (
        asked / (asked.sum() / 2) * sum(t * table for t, table in zip(theta, TABLES, strict=True))
    ).ravel()


def drawn_counts(comparisons) -> np.ndarray:
    return np.bincount(comparisons.pair, comparisons.weight, 16)


class TestFrequencies:
    @pytest.mark.parametrize("mu", [None, UNEVEN], ids=["uniform", "uneven"])
    @pytest.mark.parametrize("theta", [(1.0, 0.0), (0.0, 1.0), (0.3, 0.7)])
    def test_one_person_follows_theta_and_beta(self, theta, mu):
        sample = MODEL.sample(1, 40_000, mu=mu, prior=[theta], seed=1)
        expected = expected_frequencies(theta, EVEN if mu is None else mu)
        assert oracles.chi_square_p(drawn_counts(sample.comparisons), expected) > 1e-4

    @pytest.mark.parametrize(
        ("prior", "share"),
        [("dirichlet", (0.25, 0.75)), ("vertices", (0.25, 0.75)), ("logistic-normal", None)],
    )
    @pytest.mark.parametrize("mu", [None, UNEVEN], ids=["uniform", "uneven"])
    def test_many_people_follow_the_prior(self, prior, share, mu):
        """One comparison a person makes them independent, with the mean weight in place of θ (½
        each for equal alpha).
        """
        model = MODEL if share else M4(MODEL.sigma, MODEL.phi, [1.0, 1.0], MODEL.items)
        sample = model.sample(20_000, 1, mu=mu, prior=prior, seed=2)
        expected = expected_frequencies(share or (0.5, 0.5), EVEN if mu is None else mu)
        assert oracles.chi_square_p(drawn_counts(sample.comparisons), expected) > 1e-4

    def test_what_one_person_says_depends_through_theta_alone(self):
        """Two comparisons of each of 20,000 people: Pr(w₁, w₂) = Σ_k π_k B_w₁k B_w₂k for vertices,
        all 144 unordered couples.
        """
        sample = MODEL.sample(20_000, 2, prior="vertices", seed=3).comparisons
        rows = np.repeat(np.arange(len(sample)), sample.weight.astype(int))
        couples = sample.pair[rows].reshape(-1, 2)  # sorted within a person
        by_component = [expected_frequencies(vertex, EVEN) for vertex in ((1, 0), (0, 1))]
        joint = 0.25 * np.outer(by_component[0], by_component[0]) + 0.75 * np.outer(
            by_component[1], by_component[1]
        )
        unordered = np.triu(joint + np.tril(joint, -1).T)
        counts = np.bincount(couples[:, 0] * 16 + couples[:, 1], minlength=256)
        assert oracles.chi_square_p(counts, unordered.ravel()) > 1e-4


class TestWeights:
    def test_dirichlet(self):
        """Each weight is Beta(α_k, α₀ − α_k); the second moments are α_k(α_l + δ_kl) / (α₀(α₀ +
        1)).
        """
        alpha = np.array([0.2, 0.5, 1.3])
        theta = draw_weights(alpha, 20_000, seed=4)
        for k in range(3):
            assert stats.kstest(theta[:, k], "beta", args=(alpha[k], 2 - alpha[k])).pvalue > 1e-4
        R = (np.outer(alpha, alpha) + np.diag(alpha)) / (2 * 3)
        # five standard errors of a mean in [0, 1]
        assert np.abs(theta.T @ theta / 20_000 - R).max() < 5 * 0.5 / np.sqrt(20_000)

    def test_a_tiny_alpha_gives_vertices(self):
        theta = draw_weights([1e-4, 1e-4], 500, seed=5)
        assert np.isfinite(theta).all()
        assert np.median(theta.max(axis=1)) > 1 - 1e-9
        assert stats.binomtest(int((theta[:, 0] > 0.5).sum()), 500).pvalue > 1e-4

    def test_vertices(self):
        theta = draw_weights([1.0, 2.0, 5.0], 8000, "vertices", seed=6)
        assert set(map(tuple, theta)) == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
        assert oracles.chi_square_p(theta.sum(axis=0), [1 / 8, 2 / 8, 5 / 8]) > 1e-4

    def test_logistic_normal(self):
        """Log-ratios are normal with mean log(α_k / α_l) and variance 2."""
        theta = draw_weights([1.0, 3.0], 8000, "logistic-normal", seed=7)
        ratio = np.log(theta[:, 1] / theta[:, 0])
        assert stats.kstest(ratio, stats.norm(np.log(3), np.sqrt(2)).cdf).pvalue > 1e-4

    @pytest.mark.parametrize("prior", ["dirichlet", "vertices", "logistic-normal"])
    def test_rows_sum_to_one_and_do_not_depend_on_how_many_follow(self, prior):
        theta = draw_weights([0.1, 0.5, 2.0], 50, prior, seed=8)
        np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-14)
        np.testing.assert_array_equal(theta[:10], draw_weights([0.1, 0.5, 2.0], 10, prior, seed=8))

    def test_given_weights_are_used_as_they_are(self):
        theta = np.array([[0.3, 0.7], [1, 0]])
        np.testing.assert_array_equal(MODEL.sample(2, 3, prior=theta).theta, theta)


class TestShapes:
    @pytest.mark.parametrize("prior", ["dirichlet", "vertices", "logistic-normal"])
    def test_the_same_seed_gives_the_same_bytes(self, prior):
        one, same, other = (MODEL.sample(20, 15, prior=prior, seed=seed) for seed in (1, 1, 2))
        assert one.comparisons.fingerprint() == same.comparisons.fingerprint()
        assert one.theta.tobytes() == same.theta.tobytes()
        assert one.comparisons.fingerprint() != other.comparisons.fingerprint()
        assert one.theta.tobytes() != other.theta.tobytes()

    def test_what_people_say_does_not_depend_on_how_many_follow(self):
        few, many = MODEL.sample(12, 30, seed=9), MODEL.sample(90, 30, seed=9)
        np.testing.assert_array_equal(few.theta, many.theta[:12])
        first = many.comparisons.take_users(range(12))
        for name in ("user", "winner", "loser", "weight"):
            np.testing.assert_array_equal(getattr(few.comparisons, name), getattr(first, name))

    def test_more_comparisons_keep_the_first_ones(self):
        """Token n of a person is the same number whatever N is: counts of a longer record are never
        below a shorter one's.
        """
        short, long = (MODEL.sample(5, n, seed=3).comparisons for n in (10, 25))
        codes = [c.user.astype(int) * 16 + c.pair for c in (short, long)]
        counts = [
            np.bincount(code, c.weight, 80) for code, c in zip(codes, (short, long), strict=True)
        ]
        assert np.all(counts[1] >= counts[0])

    def test_labels_sort_as_their_numbers(self):
        users = MODEL.sample(11, 1).comparisons.users.tolist()
        assert users[:2] + users[-1:] == ["u01", "u02", "u11"]
        assert users == sorted(users)

    def test_one_number_of_comparisons_a_person(self):
        sample = MODEL.sample(3, [5, 0, 2])
        assert sample.comparisons.per_user().tolist() == [5, 0, 2]
        assert sample.comparisons.n_users == 3

    def test_the_smallest_populations(self):
        """One component, two items, fewer people than components: all can be drawn."""
        assert M4([[0, 1]], [0.5], [1.0], ["a", "b"]).sample(4, 3).theta.tolist() == [[1.0]] * 4
        few = M4([[0, 1, 2]] * 5, [0.1] * 5, [0.1] * 5, list("abc")).sample(2, 4)
        assert few.theta.shape == (2, 5)
        assert few.comparisons.n_comparisons == 8

    def test_without_dispersion_everybody_keeps_to_the_order(self):
        sample = M4.from_orders([list("abcd")]).sample(3, 200, seed=1).comparisons
        assert np.all(sample.winner < sample.loser)


class TestMessages:
    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"n_users": 0}, OptionError, r"^n_users is 0; it must be at least 1"),
            ({"per_user": -1}, OptionError, r"^per_user is -1; it must be at least 0"),
            (
                {"per_user": 0},
                OptionError,
                r"^per_user is 0; it must be above 0 for at least one user",
            ),
            (
                {"per_user": [1, 2]},
                OptionError,
                r"^per_user is \[1, 2\]; it must be one whole number, or one for each of the 3 "
                r"users",
            ),
            ({"per_user": 1.5}, OptionError, r"^per_user is 1.5; it must be one whole number"),
            (
                {"prior": "gauss"},
                OptionError,
                r"^prior is 'gauss'; it must be one of 'dirichlet', 'vertices', 'logistic-normal'",
            ),
            (
                {"prior": [[1, 0]]},
                DataError,
                r"^prior must be 3 rows of 2 weights that sum to one; got shape \(1, 2\)",
            ),
            ({"prior": [[2, -1]] * 3}, DataError, r"^prior must be 3 rows of 2 weights"),
            ({"prior": [[0.5, 0.4]] * 3}, DataError, r"^prior must be 3 rows of 2 weights"),
            (
                {"mu": np.ones((3, 3))},
                DataError,
                r"^mu must be a symmetric \(4, 4\) matrix of finite numbers of at least 0",
            ),
            ({"mu": np.triu(np.ones((4, 4)))}, DataError, r"^mu must be a symmetric"),
            ({"mu": -np.ones((4, 4))}, DataError, r"^mu must be a symmetric"),
            ({"mu": np.full((4, 4), np.inf)}, DataError, r"^mu must be a symmetric"),
            (
                {"mu": np.eye(4)},
                DataError,
                r"^mu is 0 for every pair; it must be above 0 for some pair",
            ),
            ({"seed": -1}, OptionError, r"^seed is -1; it must be a whole number"),
        ],
    )
    def test_sample(self, options, error, message):
        with pytest.raises(error, match=message):
            MODEL.sample(**({"n_users": 3, "per_user": 2} | options))

    def test_one_item(self):
        with pytest.raises(
            DataError, match=r"^One item alone cannot be compared with anything; give at least two"
        ):
            M4([[0]], [0.1], [1.0], ["a"]).sample(1, 1)
        with pytest.raises(DataError, match=r"^One item alone"):
            M4([[0]], [0.1], [1.0], ["a"]).ranking_matrix()

    def test_pair_distribution(self):
        assert pair_distribution(None, 3).tolist() == [pytest.approx(1 / 3)] * 3
        assert pair_distribution(UNEVEN, 4).tolist() == [0.1, 0, 0.2, 0.3, 0, 0.4]
