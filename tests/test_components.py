"""Algorithm 4: exact B gives σ and φ back; ties, zeros, and the printed estimate of φ; any topic
model's matrix.
"""

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.errors import DataError, OptionError
from mallowmix.learn.paper.components_from_topics import components_from_topics, conditional_beta
from mallowmix.model.mallows import MAX_PHI
from oracles import beta
from strategies import rankings

EXAMPLES = Path(__file__).parents[1] / "examples"


def ranking_matrix(sigmas, phis):
    """B by counting over all rankings, uniform μ: (Q², K)."""
    tables = [
        np.array(beta(tuple(sigma), phi), float) for sigma, phi in zip(sigmas, phis, strict=True)
    ]
    Q = len(sigmas[0])
    return np.stack([table.ravel() for table in tables], axis=1) / (Q * (Q - 1) / 2)


@st.composite
def mixtures(draw):
    first = draw(rankings(2, 5))
    others = draw(st.lists(st.permutations(range(len(first))), max_size=2))
    sigmas = [first, *map(tuple, others)]
    phis = draw(
        st.lists(
            st.sampled_from([0.0, 0.99]) | st.floats(0, 0.99),
            min_size=len(sigmas),
            max_size=len(sigmas),
        )
    )
    return sigmas, phis


@given(mixtures(), st.sampled_from(["pooled", "ml", "printed"]))
def test_exact_b_gives_rankings_and_dispersions_back(mixture, dispersion):
    sigmas, phis = mixture
    found = components_from_topics(ranking_matrix(sigmas, phis), dispersion=dispersion)
    assert found.sigma.tolist() == [list(sigma) for sigma in sigmas]
    np.testing.assert_allclose(found.phi, phis, atol=1e-5)


@given(mixtures(), st.integers(0, 99))
def test_proposition_1a_pair_frequencies_cancel(mixture, seed):
    """β = B_ij / (B_ij + B_ji) for any symmetric μ and any scale of the columns."""
    sigmas, phis = mixture
    Q, random = len(sigmas[0]), np.random.default_rng(seed)
    mu = random.random((Q, Q)) + 0.01
    B = (
        ranking_matrix(sigmas, phis)
        * (mu + mu.T).reshape(-1, 1)
        * random.uniform(0.1, 10, len(sigmas))
    )
    expected = [
        np.array(beta(tuple(s), phi), float) + 0.5 * np.eye(Q)
        for s, phi in zip(sigmas, phis, strict=True)
    ]
    np.testing.assert_allclose(conditional_beta(B), expected, atol=1e-12)
    assert components_from_topics(B).sigma.tolist() == [list(sigma) for sigma in sigmas]


def column(entries, Q):
    """A one-column B with these weights on "i over j"."""
    B = np.zeros((Q * Q, 1))
    for (i, j), value in entries.items():
        B[i * Q + j] = value
    return B


def test_e6_a_pair_seen_in_neither_order_is_one_half():
    """Items 0 and 2 were never compared: β is ½, not 0/0, and their places follow from item 1."""
    found = components_from_topics(column({(0, 1): 3, (1, 2): 3}, 3))
    assert found.beta[0, 0, 2] == found.beta[0, 2, 0] == 0.5
    assert np.isfinite(found.beta).all()
    assert found.sigma.tolist() == [[0, 1, 2]]


def test_e7_a_tie_is_half_a_win_for_each():
    """Item 0 ties with all three others: one win and a half. Rounding ½ to even gives it none, and
    puts it below item 1.
    """
    ties = {(0, j): 1 for j in (1, 2, 3)} | {(j, 0): 1 for j in (1, 2, 3)}
    B = column(ties | {(1, 2): 55, (2, 1): 45, (3, 1): 95, (1, 3): 5, (3, 2): 9, (2, 3): 1}, 4)
    rounded = np.round(conditional_beta(B)[0] * (1 - np.eye(4))).sum(axis=1)
    assert rounded.tolist() == [0, 1, 0, 2]
    # 3, then 0 and 1 with 1.5 wins each and Σβ = 1.5 and 1.1, then 2
    assert components_from_topics(B).sigma.tolist() == [[1, 2, 3, 0]]


def test_equal_wins_are_separated_by_how_clearly_they_were_won():
    """A cycle 0 > 1 > 2 > 0: one win each; Σβ puts the clearest winner first."""
    B = column({(0, 1): 9, (1, 0): 1, (1, 2): 7, (2, 1): 3, (2, 0): 6, (0, 2): 4}, 3)
    assert components_from_topics(B).sigma.tolist() == [[0, 2, 1]]  # Σβ: 1.3, 0.8, 0.9


def test_nothing_known_keeps_the_order_of_the_items():
    found = components_from_topics(np.zeros((9, 2)))
    assert found.sigma.tolist() == [[0, 1, 2]] * 2
    assert found.phi == pytest.approx(MAX_PHI, abs=1e-9)


def test_e8_the_printed_dispersion_explodes_when_one_beta_is_zero():
    """Neighbours in the ranking with β = 1/(1 + φ), but for one β̂ = 0: the mean of 1/β is infinite
    and ends at its clip.
    """
    Q, phi = 20, 0.2
    B = mm.M4([np.arange(Q)], [phi], [1.0], range(Q)).ranking_matrix().copy()
    B[7 * Q + 8] = 0  # 8 always beats 7 …
    for j in (15, 17):
        # … but ties with two low ones, so that it has no more wins, and a smaller Σβ
        B[8 * Q + j] = B[j * Q + 8]
    found = {
        name: components_from_topics(B, dispersion=name) for name in ("printed", "pooled", "ml")
    }
    assert all(part.sigma.tolist() == [list(range(Q))] for part in found.values())
    assert found["printed"].phi.tolist() == [1.0]
    mean = 18 / 19 / (1 + phi)
    assert found["pooled"].phi == pytest.approx([(1 - mean) / mean])
    assert abs(found["pooled"].phi[0] - phi) < 0.07
    assert abs(found["ml"].phi[0] - phi) < 0.2


def test_e8_the_printed_dispersion_is_biased_up_by_noise():
    """φ = 0.2, noise of sd 0.08 on β, Q = 100: 0.21 printed, 0.20 pooled. The means over 30 draws
    have an error below 0.001.
    """
    random, Q = np.random.default_rng(0), 100
    exact = mm.M4([np.arange(Q)], [0.2], [1.0], range(Q)).beta()[0]
    phis = {"printed": [], "pooled": []}
    for _ in range(30):
        noise = np.triu(random.normal(0, 0.08, (Q, Q)), 1)
        table = np.clip(exact + noise - noise.T, 0.01, 0.99)
        for name, values in phis.items():
            values.append(components_from_topics(table.reshape(-1, 1), dispersion=name).phi[0])
    assert np.mean(phis["printed"]) > np.mean(phis["pooled"]) + 0.005
    assert np.mean(phis["pooled"]) == pytest.approx(0.2, abs=0.01)


def test_a_dispersion_stays_in_its_range():
    """Neighbours in the wrong order would give φ > 1."""
    B = column({(0, 1): 9, (1, 0): 1, (1, 2): 9, (2, 1): 1, (2, 0): 9, (0, 2): 1}, 3)
    B += column({(0, 1): 1, (1, 2): 1, (2, 0): 0.5}, 3)
    for name in ("pooled", "ml", "printed"):
        assert 0 <= components_from_topics(B, dispersion=name).phi[0] <= 1


def test_wrong_matrices_and_options_say_so():
    with pytest.raises(
        DataError, match=r"B must have Q² rows, one for each code i·Q \+ j .*; got shape \(10, 2\)"
    ):
        components_from_topics(np.ones((10, 2)))
    for shape in [(9,), (1, 2), (9, 0), (3, 3, 3)]:
        with pytest.raises(DataError, match="B must have Q² rows"):
            components_from_topics(np.ones(shape))
    for bad in (-1.0, np.nan, np.inf):
        B = np.ones((4, 1))
        B[1] = bad
        with pytest.raises(DataError, match="B must hold finite numbers of at least 0"):
            components_from_topics(B)
    with pytest.raises(
        OptionError, match="dispersion is 'mean'; it must be one of 'pooled', 'ml', 'printed'"
    ):
        components_from_topics(np.ones((4, 1)), dispersion="mean")


@pytest.mark.slow
def test_lemma_1_topics_of_scikit_learns_lda_become_mallows_components(capsys):
    """The example of the documentation: planted K = 2, found by LDA on people × words."""
    error = runpy.run_path(str(EXAMPLES / "lda_to_mallows.py"))["main"]()
    assert error == 0
    assert "Kendall error 0.000" in capsys.readouterr().out
