"""Algorithm 2 against a dense twin that forms every distance and follows the definition, and what
it does in bad cases.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine
from mallowmix.errors import FitError, OptionError
from mallowmix.learn.paper.neighbourhoods import Balls, Distances, is_in
from mallowmix.learn.paper.novel_pairs import (
    _AHEAD,
    _CHUNK,
    _STEP,
    _accept,
    _solid_angles,
    find_novel_pairs,
)
from mallowmix.learn.paper.pair_moments import HalfMoments, ModelMoments
from mallowmix.model.m4 import M4
from mallowmix.model.separability import separability
from mallowmix.numerics.dirichlet import dirichlet_moments
from mallowmix.numerics.randomness import generator
from oracles import algorithm2, dense_distances


def model(seed, Q, K, phi=0.2, alpha=0.3):
    random = np.random.default_rng(seed)
    return M4(
        [random.permutation(Q) for _ in range(K)], np.full(K, phi), np.full(K, alpha), range(Q)
    )


def population(m4):
    return ModelMoments(m4.ranking_matrix(), *dirichlet_moments(m4.alpha))


def directions(seed, n_pairs, P):
    """The directions of Algorithm 2 for a seed, as the package draws them: a chunk at a time."""
    widths = [min(_CHUNK, P - start) for start in range(0, P, _CHUNK)]
    return np.hstack(
        [
            generator(seed, _STEP, _CHUNK * c).standard_normal((n_pairs, width))
            for c, width in enumerate(widths)
        ]
    )


def compare_with_twin(E, K, zeta, metric, P=70, seed=3):
    """Solid angles and accepted rows of the package and of the dense twin, over the candidates."""
    candidates = np.flatnonzero(E.present)
    dense = E.rows(range(len(E.counts))) * np.outer(E.present, E.present)
    distance = dense_distances(dense, metric)[np.ix_(candidates, candidates)]
    distances = Distances(E, candidates, metric)
    if zeta == "auto":
        places = np.unique(
            np.linspace(0, len(candidates) - 1, min(len(candidates), 256)).astype(int)
        )
        zeta = max(0.3 * np.quantile(distance[places], 0.999), 1e-12)
        assert distances.auto_zeta() == pytest.approx(zeta, rel=1e-6, abs=1e-7)
    least = zeta / 2 if metric == "moment" else zeta
    apart = distance[~np.eye(len(distance), dtype=bool)]
    assume(np.abs(apart - least).min() > 1e-6)  # on the edge, rounding decides
    D = directions(seed, len(E.counts), P)
    q, accepted = algorithm2(dense[candidates], D, distance, least, E.counts[candidates], K)
    balls = Balls(distances, zeta)
    angles = _solid_angles(E, candidates, balls, P, seed, None)
    np.testing.assert_allclose(angles, q, atol=1e-12)
    assert _accept(angles, E.counts[candidates], balls, K).tolist() == accepted
    if len(accepted) == K:
        found = find_novel_pairs(E, K, n_projections=P, zeta=zeta, metric=metric, seed=seed)
        assert found.pairs.tolist() == candidates[accepted].tolist()
        assert found.solid_angles.tolist() == pytest.approx([q[i] for i in accepted])
        assert found.zeta == zeta


zetas = st.sampled_from([0.0, 0.05, 0.5, 2.0, "auto"])
metrics = st.sampled_from(["moment", "euclidean"])


@settings(max_examples=60)
@given(
    st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 4), st.floats(0.1, 2), zetas, metrics
)
def test_solid_angles_and_accepted_rows_are_those_of_the_definition_in_population(
    seed, Q, K, spread, zeta, metric
):
    """For any non-negative B, some of whose rows are empty; no two rows are equal, so that the
    definition has no ties.
    """
    random = np.random.default_rng(seed)
    B = (
        random.gamma(spread, size=(Q * Q, K))
        * (random.random((Q * Q, 1)) < 0.8)
        * ~np.eye(Q, dtype=bool).reshape(-1, 1)
    )
    assume(np.count_nonzero(B.any(axis=1)) >= 2)
    compare_with_twin(
        ModelMoments(B / B.sum(axis=0), *dirichlet_moments(random.gamma(1, size=K) + 0.1)),
        K,
        zeta,
        metric,
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.integers(0, 10**6), st.integers(3, 5), st.integers(1, 4), st.integers(1, 12), zetas, metrics
)
def test_solid_angles_and_accepted_rows_are_those_of_the_definition_in_samples(
    seed, Q, K, per_user, zeta, metric
):
    """Few comparisons: pairs in one half alone, noisy distances (negative ones too), people with
    one comparison.
    """
    comparisons = model(seed, Q, K).sample(25, per_user, seed=seed).comparisons
    E = HalfMoments(comparisons, seed=seed, engine=ThreadEngine(1))
    assume(np.count_nonzero(E.present) >= 2)
    assume(
        len(np.unique(np.round(E.rows(np.flatnonzero(E.present)), 9), axis=0))
        == np.count_nonzero(E.present)
    )
    compare_with_twin(E, K, zeta, metric)


def test_e1_the_printed_distance_of_a_row_to_itself_is_not_zero():
    """Printed: ‖E_i − 2E_j‖, which is ‖E_i‖ at j = i. Corrected: 0 there, and (B̄_i − B̄_j) R̄
    (B̄_i − B̄_j)ᵀ elsewhere.
    """
    E = population(model(1, 6, 3))
    candidates = np.flatnonzero(E.present)
    rows = E.rows(candidates)
    printed = [np.linalg.norm(row - 2 * row) for row in rows]
    assert min(printed) > 0.5
    least = min(np.linalg.norm(row - 2 * other) for row in rows for other in rows)
    assert least == pytest.approx(5.4, abs=0.05)
    ours = Distances(E, candidates).between(np.arange(len(candidates)))
    np.testing.assert_allclose(np.diag(ours), 0, atol=1e-12)
    Bbar = E.Bbar[candidates]
    expected = [[(b - c) @ E.Rbar @ (b - c) for c in Bbar] for b in Bbar]
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_the_euclidean_distance_is_over_the_columns_that_multiply():
    """Also where pairs were seen in one half only: a row's distance to itself is 0, and equal rows
    are equal.
    """
    E = HalfMoments(model(2, 5, 2).sample(12, 5, seed=1).comparisons)
    assert (E.counts > 0).sum() > E.present.sum()
    candidates = np.flatnonzero(E.present)
    distance = Distances(E, candidates, "euclidean").between(np.arange(len(candidates)))
    rows = E.rows(candidates)[:, candidates]
    np.testing.assert_allclose(
        distance, np.linalg.norm(rows[:, None] - rows[None], axis=2), atol=1e-6
    )


def test_the_projected_distance_is_the_euclidean_one_seen_in_512_directions():
    """A distance seen in S directions has the relative error 1/√(2S), 3%; all within 16% in all but
    1 of 1000 tries.
    """
    E = HalfMoments(model(2, 10, 3, phi=0.3).sample(60, 40, seed=1).comparisons)
    candidates = np.flatnonzero(E.present)
    exact, seen = (
        Distances(E, candidates, metric).between(np.arange(len(candidates)))
        for metric in ("euclidean", "projected")
    )
    apart = ~np.eye(len(candidates), dtype=bool)
    ratio = seen[apart] / exact[apart]
    assert 0.84 < ratio.min() < ratio.max() < 1.16
    assert abs(ratio.mean() - 1) < 0.03
    assert np.diag(seen).max() < 1e-3 * exact.max()  # rounding in float32


def test_pairs_that_nobody_answered_twice_need_another_distance():
    """E_ii is then 0 for all pairs, and no two rows lie apart by the moment."""
    drawn = model(4, 8, 2, phi=0.1).sample(400, 60, seed=3).comparisons
    asked = (
        drawn.user * 64
        + np.minimum(drawn.winner, drawn.loser) * 8
        + np.maximum(drawn.winner, drawn.loser)
    )
    once = np.unique(asked, return_index=True)[1]
    codes = (part[once] for part in (drawn.user, drawn.winner, drawn.loser))
    votes = Comparisons.from_codes(*codes, np.ones(len(once)), drawn.items, drawn.users)
    E = HalfMoments(votes)
    with pytest.raises(FitError, match=r'pass metric="projected", or take the default method'):
        find_novel_pairs(E, 2)
    found = find_novel_pairs(E, 2, metric="auto", zeta="auto", min_count=0.5).pairs
    assert (
        found.tolist()
        == find_novel_pairs(E, 2, metric="projected", zeta="auto", min_count=0.5).pairs.tolist()
    )
    # each novel pair is likely in one component alone
    beta = model(4, 8, 2, phi=0.1).beta().reshape(2, -1)[:, found]
    assert sorted((beta > 0.7).argmax(axis=0).tolist()) == [0, 1]
    assert (beta.min(axis=0) < 0.3).all()


def test_e2_exactly_k_rows_are_accepted():
    for K in (1, 2, 3, 5):
        found = find_novel_pairs(population(model(4, 12, K, phi=0.1)), K)
        assert len(found.pairs) == K
        assert len(set(found.pairs.tolist())) == K
        assert (np.diff(found.solid_angles) <= 0).all()
        assert found.notes == []


def test_e3_equal_rows_share_credit_and_are_accepted_once():
    """Two opposite rankings at φ = 0: every row of B̄ is (1, 0) or (0, 1); in any direction all
    rows at one of the two win.
    """
    E = population(M4([[0, 1, 2, 3], [3, 2, 1, 0]], [0, 0], [0.5, 0.5], range(4)))
    candidates = np.flatnonzero(E.present)
    angles = _solid_angles(E, candidates, Balls(Distances(E, candidates), 0.05), 200, 0, None)
    up = candidates // 4 < candidates % 4
    assert len(set(angles[up].tolist())) == len(set(angles[~up].tolist())) == 1
    assert angles[up][0] + angles[~up][0] == pytest.approx(1)
    found = find_novel_pairs(E, 2)
    assert sorted((found.pairs // 4 < found.pairs % 4).tolist()) == [False, True]


def test_the_novel_pairs_are_those_of_the_model():
    """φ = 0 and λ = 0: every accepted row is pure, one for each component."""
    for seed in range(5):
        m4 = model(seed, 15, 4, phi=0.0)
        assert separability(m4.beta()) == 0
        E = population(m4)
        found = find_novel_pairs(E, 4, seed=seed)
        np.testing.assert_allclose(
            np.sort(E.Bbar[found.pairs], axis=1), [[0, 0, 0, 1]] * 4, atol=1e-12
        )
        assert sorted(E.Bbar[found.pairs].argmax(axis=1).tolist()) == [0, 1, 2, 3]


def test_a_row_that_wins_no_direction_is_never_accepted():
    """Only two corners are extreme when all people follow two rankings: the third is refused, not
    made up.
    """
    E = population(M4([[0, 1, 2, 3], [3, 2, 1, 0]], [0, 0], [0.5, 0.5], range(4)))
    with pytest.raises(
        FitError,
        match=r"Only 2 of the 3 novel pairs could be found: .*, add people, or raise "
        r"n_projections\.",
    ):
        find_novel_pairs(E, 3)
    candidates = np.flatnonzero(E.present)
    balls = Balls(Distances(E, candidates), 1e-6)
    angles = np.zeros(len(candidates))
    angles[3] = 0.5
    assert _accept(angles, E.counts[candidates], balls, 2).tolist() == [3]


def test_ties_go_to_the_row_seen_more_often():
    E = population(model(3, 4, 2))
    candidates = np.flatnonzero(E.present)
    balls = Balls(Distances(E, candidates), 0.0)
    angles, counts = np.full(len(candidates), 0.1), np.arange(len(candidates)) % 4
    assert _accept(angles, counts, balls, 3).tolist() == [3, 7, 11]


def test_too_large_a_zeta_is_halved_and_said():
    E = population(model(5, 12, 3, phi=0.1))
    found = find_novel_pairs(E, 3, zeta=100.0)
    assert len(found.pairs) == 3
    assert found.zeta < 100
    assert found.notes[0].startswith("Only 1 of 3 novel pairs lay apart at ζ = 100: lowered to ")
    assert found.notes[-1].endswith(f": lowered to {found.zeta:.3g}.")
    assert np.log2(100 / found.zeta) % 1 == 0  # halved, and halved again
    assert found.pairs.tolist() == find_novel_pairs(E, 3, zeta=found.zeta).pairs.tolist()


def test_where_distances_are_zero_zeta_goes_to_zero_at_once():
    """Few comparisons of many pairs: most entries of Ê are 0, and so are most distances; no half of
    ζ can part such rows.
    """
    E = HalfMoments(model(1, 20, 2).sample(1000, 4, seed=2).comparisons)
    found = find_novel_pairs(E, 2, seed=0)
    assert found.zeta == 0
    assert found.notes[-1] == "Only 1 of 2 novel pairs lay apart at ζ = 0.05: lowered to 0."


def test_more_components_than_rows_says_so():
    comparisons = Comparisons.from_arrays(list("uuvv"), list("abab"), list("baba"))
    with pytest.raises(
        FitError,
        match=r"Only \d ordered pairs were seen often enough .* is needed for each of 3 components",
    ):
        find_novel_pairs(HalfMoments(comparisons), 3)


def test_pairs_never_seen_or_seen_in_one_half_are_no_candidates_and_the_latter_are_counted():
    E = HalfMoments(model(2, 5, 2).sample(12, 6, seed=1).comparisons)
    lost = int(((E.counts > 0) & ~E.present).sum())
    assert lost > 0
    assert (E.counts == 0).sum() > 5  # the diagonal, and more
    found = find_novel_pairs(E, 2)
    assert E.present[found.pairs].all()
    assert (
        found.notes[0]
        == "Seen in one half of the comparisons only, and so no candidates for novel pairs: "
        f"{lost} ordered pairs."
    )


def test_min_count_leaves_rare_rows_out():
    E = HalfMoments(model(2, 8, 3).sample(200, 20, seed=1).comparisons)
    seen = E.counts > 0
    for least in (0.2, 0.9, 1.0):
        found = find_novel_pairs(E, 3, min_count=least)
        assert (E.half_counts[found.pairs] >= least * np.median(E.half_counts[seen])).all()
    with pytest.raises(FitError, match="lower n_components or min_count, or add comparisons"):
        find_novel_pairs(E, 3, min_count=50)


def test_progress_is_reported():
    calls = []
    find_novel_pairs(
        population(model(1, 6, 2)), 2, n_projections=100, progress=lambda *call: calls.append(call)
    )
    assert calls == [("projections", 64, 100), ("projections", 100, 100)]


def test_balls_are_found_once():
    E = population(model(1, 6, 2))
    candidates = np.flatnonzero(E.present)
    distances = Distances(E, candidates)
    asked = []
    between = distances.between
    distances.between = lambda places: asked.extend(places.tolist()) or between(places)
    balls = Balls(distances, 0.3)
    one = balls.of(np.array([4, 2, 4]))
    two = balls.of(np.array([2, 7]))
    assert sorted(asked) == [2, 4, 7]
    assert one[1].tolist() == two[0].tolist()
    assert (
        np.unpackbits(two, axis=1, count=len(candidates)).tolist()
        == (between(np.array([2, 7])) < 0.15).tolist()
    )
    assert is_in(two, np.array([2, 2])).tolist() == [
        True,
        bool(between(np.array([7]))[0, 2] < 0.15),
    ]
    assert balls.n_found == 3


def test_only_the_balls_of_the_furthest_rows_are_found():
    """With balls of one row each, a direction needs that of the row that wins it, and those found
    in the same pass.
    """
    E = population(model(1, 12, 3))
    candidates = np.flatnonzero(E.present)
    balls = Balls(Distances(E, candidates), 1e-9)
    _solid_angles(E, candidates, balls, 4, 0, None)
    assert balls.n_found <= 4 * _AHEAD < len(candidates)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"zeta": -0.1}, 'zeta is -0.1; it must be a number of at least 0, or "auto"'),
        ({"zeta": float("nan")}, 'zeta is nan; it must be a number of at least 0, or "auto"'),
        ({"zeta": "large"}, "zeta is 'large'; it must be a number of at least 0, or \"auto\""),
        ({"zeta": True}, 'zeta is True; it must be a number of at least 0, or "auto"'),
        (
            {"metric": "cosine"},
            "metric is 'cosine'; it must be one of 'moment', 'euclidean', 'projected', 'auto'",
        ),
        ({"n_projections": 0}, "n_projections is 0; it must be at least 1"),
        ({"min_count": -1}, "min_count is -1; it must be at least 0"),
    ],
)
def test_wrong_options_say_what_is_wanted(options, says):
    with pytest.raises(OptionError, match=says):
        find_novel_pairs(population(model(1, 4, 2)), 2, **options)
    with pytest.raises(OptionError, match="n_components is 0; it must be at least 1"):
        find_novel_pairs(population(model(1, 4, 2)), 0)
