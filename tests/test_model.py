"""M4 against the paper's statements by enumeration, a slow twin of its likelihood, and a message
for each misuse.
"""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, OptionError
from mallowmix.model.m4 import M4
from strategies import dispersions

UNIFORM3 = {frozenset(pair): Fraction(1, 3) for pair in combinations(range(3), 2)}
UNEVEN3 = {
    frozenset((0, 1)): Fraction(1, 2),
    frozenset((0, 2)): Fraction(1, 3),
    frozenset((1, 2)): Fraction(1, 6),
}
COMPONENTS = [((0, 1, 2), Fraction(1, 5)), ((2, 0, 1), Fraction(1, 2))]
PRIOR = [
    (Fraction(1, 4), (Fraction(1, 10), Fraction(9, 10))),
    (Fraction(3, 4), (Fraction(2, 3), Fraction(1, 3))),
]


def matrix(mu: dict) -> np.ndarray:
    return np.array([[float(mu.get(frozenset((i, j)), 0)) for j in range(3)] for i in range(3)])


def model_of(components, alpha=1.0) -> M4:
    sigma = [list(s) for s, _ in components]
    return M4(
        sigma,
        [float(phi) for _, phi in components],
        np.full(len(sigma), alpha),
        [f"i{n}" for n in range(len(sigma[0]))],
    )


def said(model: M4, *words: tuple[int, int]) -> Comparisons:
    """One person who says all this."""
    winners, losers = zip(*words, strict=True)
    return Comparisons.from_codes([0] * len(words), winners, losers, None, model.items, ["u"])


def probability_of(model: M4, words, theta) -> float:
    return math.exp(
        model.log_likelihood(said(model, *words), [[float(weight) for weight in theta]])
    )


def tastes() -> M4:
    return M4.from_orders(
        [["tea", "milk", "wine"], ["wine", "tea", "milk"]], phi=[0.1, 0.3], alpha=[1, 3]
    )


class TestPaper:
    @pytest.mark.parametrize("mu", [UNIFORM3, UNEVEN3], ids=["uniform", "uneven"])
    def test_proposition_1a_beta_from_b(self, mu):
        """β_(i,j) = B_(i,j) / (B_(i,j) + B_(j,i))."""
        B3 = model_of(COMPONENTS).ranking_matrix(matrix(mu)).T.reshape(2, 3, 3)  # (K, Q, Q)
        for k, (sigma, phi) in enumerate(COMPONENTS):
            exact = oracles.beta(sigma, phi)
            for i, j in oracles.outcomes(3):
                assert B3[k, i, j] / (B3[k, i, j] + B3[k, j, i]) == pytest.approx(
                    float(exact[i][j]), rel=1e-14
                )

    @pytest.mark.parametrize("mu", [UNIFORM3, UNEVEN3], ids=["uniform", "uneven"])
    def test_lemma_1_m4_is_a_topic_model_with_topics_b(self, mu):
        """All 36 things a person can say in two comparisons, and a prior of two points: the same
        distribution.
        """
        B = model_of(COMPONENTS).ranking_matrix(matrix(mu))
        np.testing.assert_allclose(B.sum(axis=0), 1, rtol=1e-14)  # E27: μ over unordered pairs
        assert B.shape == (9, 2)
        assert not B[[0, 4, 8]].any()
        total = 0.0
        for words in oracles.sequences(3, 2):
            topics = sum(
                p * np.prod([B[3 * i + j] @ np.array(theta) for i, j in words])
                for p, theta in PRIOR
            )
            assert float(topics) == pytest.approx(
                float(oracles.m4_marginal(words, COMPONENTS, PRIOR, mu)), rel=1e-13
            )
            total += float(topics)
        assert total == pytest.approx(1, rel=1e-13)

    def test_proposition_2_1_without_dispersion_rankings_are_topics(self):
        """φ = 0: each component says one ranking, Pr(i over j) = Σ_k θ_k 1[σ_k(i) < σ_k(j)]; and φ
        → 0 tends to it.
        """
        sigmas, theta = [(0, 1, 2), (2, 0, 1)], (0.3, 0.7)
        for words in oracles.sequences(3, 2):
            single = math.prod(
                sum(t for t, s in zip(theta, sigmas, strict=True) if s[i] < s[j]) for i, j in words
            )
            assert probability_of(
                model_of([(s, 0.0) for s in sigmas]), words, theta
            ) == pytest.approx(single, rel=1e-14)
            for phi in (1e-3, 1e-6):
                nearly = probability_of(model_of([(s, phi) for s in sigmas]), words, theta)
                assert nearly == pytest.approx(single, abs=4 * phi)

    def test_proposition_2_2_a_vertex_prior_is_a_mixture_of_mallows(self):
        """θ at a vertex: a person follows one component, Σ_k π_k Π_n p_k(i over j), a ranking drawn
        each time.
        """
        model, share = model_of(COMPONENTS), (Fraction(1, 4), Fraction(3, 4))
        vertices = [(share[0], (1, 0)), (share[1], (0, 1))]
        for words in oracles.sequences(3, 2):
            tables = [oracles.beta(sigma, phi) for sigma, phi in COMPONENTS]
            mixture = sum(
                pi * math.prod(table[i][j] for i, j in words)
                for pi, table in zip(share, tables, strict=True)
            )
            assert oracles.m4_marginal(words, COMPONENTS, vertices, UNIFORM3) == mixture * Fraction(
                1, 9
            )
            found = sum(float(pi) * probability_of(model, words, theta) for pi, theta in vertices)
            assert found == pytest.approx(float(mixture), rel=1e-13)

    def test_proposition_2_2_is_not_the_mixture_with_one_ranking_a_person(self):
        """A person who keeps to one ranking never contradicts it; in M4 they do. For one comparison
        a person the two agree.
        """

        def kept(words):
            return sum(
                p
                for s, p in oracles.mallows_pmf(*COMPONENTS[0]).items()
                if all(s[i] < s[j] for i, j in words)
            )

        model, once, twice = model_of(COMPONENTS), [(0, 1)], [(0, 1), (1, 0)]
        assert probability_of(model, once, (1, 0)) == pytest.approx(float(kept(once)))
        assert kept(twice) == 0
        assert probability_of(model, twice, (1, 0)) == pytest.approx(
            float(Fraction(5, 6) * Fraction(1, 6))
        )


class TestBeta:
    @settings(max_examples=20)
    @given(
        st.lists(
            st.tuples(st.permutations(range(4)).map(tuple), dispersions), min_size=1, max_size=3
        )
    )
    def test_each_component_is_its_own(self, components):
        beta = model_of(components).beta()
        assert beta.shape == (len(components), 4, 4)
        for table, (sigma, phi) in zip(beta, components, strict=True):
            np.testing.assert_allclose(
                table - np.eye(4) / 2, oracles.beta(sigma, phi), rtol=1e-12, atol=1e-300
            )

    def test_ranking_matrix_takes_any_weights_of_pairs(self):
        model = model_of(COMPONENTS)
        np.testing.assert_allclose(
            model.ranking_matrix(7 * matrix(UNEVEN3)),
            model.ranking_matrix(matrix(UNEVEN3)),
            rtol=1e-14,
        )
        np.testing.assert_allclose(
            model.ranking_matrix(np.ones((3, 3))), model.ranking_matrix(), rtol=1e-14
        )


class TestLikelihood:
    def rows(self) -> Comparisons:
        return Comparisons.from_arrays(
            ["a", "a", "b", "b"],
            ["tea", "milk", "wine", "tea"],
            ["milk", "wine", "tea", "wine"],
            [2, 1, 0.5, 3],
        )

    def test_against_a_slow_twin(self):
        theta = np.array([[0.2, 0.8], [1.0, 0.0]])
        # positions of milk, tea, wine
        tables = [oracles.beta((1, 0, 2), 0.1), oracles.beta((2, 1, 0), 0.3)]
        number = {"milk": 0, "tea": 1, "wine": 2}
        expected = sum(
            weight
            * math.log(
                sum(theta["ab".index(user)][k] * tables[k][number[w]][number[v]] for k in range(2))
            )
            for user, w, v, weight in oracles.labelled_rows(self.rows())
        )
        assert tastes().log_likelihood(self.rows(), theta) == pytest.approx(expected, rel=1e-13)

    def test_include_mu_adds_the_choice_of_pairs(self):
        """Pair counts: milk-tea 2, milk-wine 1, tea-wine 3.5, of 6.5."""
        theta = np.full((2, 2), 0.5)
        mu = 2 * math.log(2 / 6.5) + math.log(1 / 6.5) + 3.5 * math.log(3.5 / 6.5)
        without, with_mu = (
            tastes().log_likelihood(self.rows(), theta, include_mu=on) for on in (False, True)
        )
        assert with_mu - without == pytest.approx(mu, rel=1e-12)

    def test_the_impossible_has_no_likelihood(self):
        certain = M4.from_orders([["a", "b"]])
        assert certain.log_likelihood(said(certain, (1, 0)), [[1.0]]) == -math.inf
        assert certain.log_likelihood(said(certain, (0, 1)), [[1.0]]) == 0.0

    def test_items_are_matched_by_name(self):
        theta = np.full((2, 2), 0.5)
        turned = M4.from_orders(
            [["tea", "milk", "wine"], ["wine", "tea", "milk"]],
            [0.1, 0.3],
            items=["wine", "tea", "milk"],
        )
        assert turned.log_likelihood(self.rows(), theta) == pytest.approx(
            tastes().log_likelihood(self.rows(), theta)
        )

    def test_messages(self):
        with pytest.raises(
            DataError, match=r"^theta has shape \(2,\); it must be \(2, 2\), one row a user"
        ):
            tastes().log_likelihood(self.rows(), [0.5, 0.5])
        with pytest.raises(DataError, match=r"^1 of the 2 items is unknown: 'beer'"):
            tastes().log_likelihood(Comparisons.from_arrays(["a"], ["tea"], ["beer"]), [[0.5, 0.5]])


class TestProbability:
    def test_is_the_mixed_beta(self):
        first, second = oracles.beta((1, 0, 2), 0.1), oracles.beta((2, 1, 0), 0.3)
        assert tastes().probability([0.25, 0.75], "tea", "wine") == pytest.approx(
            0.25 * first[1][2] + 0.75 * second[1][2]
        )
        assert tastes().probability([[1, 0], [0, 1]], "tea", "wine") == pytest.approx(
            [first[1][2], second[1][2]]
        )

    def test_messages(self):
        with pytest.raises(DataError, match=r"^The model has no item 'beer'; it has 3 others"):
            tastes().probability([1, 0], "tea", "beer")
        with pytest.raises(
            DataError,
            match=r"^theta has shape \(3,\); each row must hold 2 weights, one a component",
        ):
            tastes().probability([1, 0, 0], "tea", "wine")

    def test_items_by_number_or_text(self):
        numbered = M4.from_orders([[10, 9, 8]])
        assert numbered.items.tolist() == [10, 8, 9]
        assert numbered.item_number(9) == numbered.item_number("9") == 2


class TestConstruction:
    def test_from_orders(self):
        model = tastes()
        assert model.items.tolist() == ["milk", "tea", "wine"]
        assert model.sigma.tolist() == [[1, 0, 2], [2, 1, 0]]
        assert model.order.tolist() == [[1, 0, 2], [2, 1, 0]]
        assert (model.n_components, model.n_items) == (2, 3)
        assert model.share.tolist() == [0.25, 0.75]

    def test_sigma_and_order_are_not_mixed_up(self):
        model = M4.from_orders([["b", "c", "a"]])
        assert (model.sigma.tolist(), model.order.tolist()) == ([[2, 0, 1]], [[1, 2, 0]])

    def test_the_smallest_models(self):
        one = M4([0, 1], [0.2], [1.0], ["a", "b"])  # K = 1, Q = 2
        assert one.beta()[0] == pytest.approx(np.array([[0.5, 1 / 1.2], [0.2 / 1.2, 0.5]]))
        assert one.ranking_matrix()[:, 0] == pytest.approx([0, 1 / 1.2, 0.2 / 1.2, 0])
        assert one.probability([1.0], "a", "b") == pytest.approx(1 / 1.2)

    def test_arrays_are_read_only_copies(self):
        phi = np.array([0.1, 0.2])
        model = M4([[0, 1], [1, 0]], phi, [1, 1], ["a", "b"])
        phi[0] = 0.9
        assert model.phi.tolist() == [0.1, 0.2]
        for name in ("sigma", "phi", "alpha", "items"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(model, name)[0] = 0

    def test_equality(self):
        assert tastes() == tastes()
        assert tastes() != M4(tastes().sigma, [0.1, 0.2], tastes().alpha, tastes().items)
        assert tastes() != M4(tastes().sigma, tastes().phi, tastes().alpha, ["a", "b", "c"])
        assert tastes() != 1

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            (
                {"sigma": [[0, 0]]},
                DataError,
                r"^sigma must hold permutations of 0 … Q-1, one a row",
            ),
            ({"sigma": np.zeros((0, 2))}, DataError, r"^sigma must hold permutations"),
            (
                {"sigma": [[[0, 1]]]},
                DataError,
                r"^sigma must have one row a component; got the shape \(1, 1, 2\)",
            ),
            (
                {"phi": [0.1, 0.2]},
                DataError,
                r"^sigma has 1 components of 2 items, but phi has the shape \(2,\), alpha \(1,\)",
            ),
            ({"alpha": 1.0}, DataError, r"alpha \(\) and items \(2,\)[.]$"),
            ({"items": ["a"]}, DataError, r"items \(1,\)[.]$"),
            ({"phi": [1.5]}, OptionError, r"^phi is 1.5; it must be between 0"),
            ({"phi": [np.nan]}, OptionError, r"^phi is nan; it must be between 0"),
            (
                {"alpha": [0.0]},
                DataError,
                r"^alpha must hold 1 finite numbers above 0, one a component; got \[0.0\]",
            ),
            ({"alpha": [np.inf]}, DataError, r"^alpha must hold 1 finite numbers above 0"),
            (
                {"items": ["1", "1"]},
                DataError,
                r"^The item labels are not all different as text: '1' is there twice",
            ),
        ],
    )
    def test_messages(self, change, error, message):
        with pytest.raises(error, match=message):
            M4(**({"sigma": [[0, 1]], "phi": [0.1], "alpha": [1.0], "items": ["a", "b"]} | change))

    @pytest.mark.parametrize(
        ("orders", "items", "odd"),
        [
            ([["a", "b"], ["a", "c"]], None, "b"),
            ([["a", "b"], ["a"]], None, "b"),
            ([["a", "b", "b"]], None, "b"),
            ([["a", "b", 1, "1"]], None, "1"),
            ([["a", "b"]], ["a", "b", "c"], "c"),
        ],
    )
    def test_rankings_of_different_items(self, orders, items, odd):
        with pytest.raises(
            DataError,
            match=rf"^The rankings are not of the same \d items, each once: look for '{odd}'",
        ):
            M4.from_orders(orders, items=items)

    def test_no_ranking_at_all(self):
        with pytest.raises(
            DataError, match=r"^There are no rankings: give at least one, best item first"
        ):
            M4.from_orders([])


class TestWords:
    def test_repr(self):
        assert repr(tastes()) == (
            "M4 of 2 components over 3 items\n"
            "    2  share 0.750  phi 0.300  wine > tea > milk\n"
            "    1  share 0.250  phi 0.100  tea > milk > wine"
        )
        assert repr(M4.from_orders([list("abcd")])).endswith(
            "share 1.000  phi 0.000  a > b > c > …"
        )

    def test_table(self):
        assert tastes().table(n_top=1) == [
            {"component": 2, "share": 0.75, "phi": 0.3, "items": ["wine"]},
            {"component": 1, "share": 0.25, "phi": 0.1, "items": ["tea"]},
        ]
        assert tastes().table()[1]["items"] == ["tea", "milk", "wine"]
