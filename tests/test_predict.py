"""Predictions and rankings: against quadrature, enumeration and brute force on the same draws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution

import mallowmix as mm
from mallowmix.errors import DataError, OptionError
from mallowmix.infer.gibbs_draws import weight_draws
from mallowmix.infer.predict import predict_each
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fitted_model import FittedModel
from oracles import mallows_pmf

TWO = mm.M4([[0, 1, 2, 3, 4, 5], [5, 2, 4, 1, 3, 0]], [0.3, 0.4], [0.7, 0.4], list("abcdef"))
OTHER = mm.M4(
    [[1, 0, 2, 3, 4, 5], [5, 2, 4, 3, 1, 0], [0, 5, 1, 4, 2, 3]],
    [0.2, 0.5, 0.4],
    [0.3, 0.3, 0.6],
    list("abcdef"),
)
PAIRS = [("a", "b"), ("b", "a"), ("f", "c"), ("e", "d")]
BOTH = Calibration(likelihood_weight=0.5, prior_scale=2, vertex_share=0.3, spam_share=0.1)


def exact_prediction(model, comparisons, m, first, second, n=4000):
    """∫ p(first over second | θ) p(θ | comparisons) dθ for K = 2, on points of equal prior mass."""
    t = beta_distribution.ppf((np.arange(n) + 0.5) / n, *model.alpha)
    rows = comparisons.user == m
    one, two = model.beta()[:, comparisons.winner[rows], comparisons.loser[rows]]
    mass = np.exp(np.log(np.outer(t, one) + np.outer(1 - t, two)) @ comparisons.weight[rows])
    i, j = "abcdef".index(first), "abcdef".index(second)
    return mass @ (t * model.beta()[0, i, j] + (1 - t) * model.beta()[1, i, j]) / mass.sum()


@pytest.mark.slow
@pytest.mark.parametrize(("per_user", "worst", "mean"), [(4, 0.06, 0.015), (60, 0.03, 0.007)])
def test_averaged_over_the_posterior(per_user, worst, mean):
    """Beside the integral over θ, for 30 people; the point that is most likely errs more than three
    times as much.
    """
    comparisons = TWO.sample(30, per_user, seed=1).comparisons
    exact = np.array(
        [[exact_prediction(TWO, comparisons, m, *pair) for pair in PAIRS] for m in range(30)]
    )
    error = np.abs(mm.predict(TWO, comparisons, PAIRS) - exact)
    assert error.max() < worst and error.mean() < mean
    if per_user == 4:
        beta = TWO.beta()[
            :, ["abcdef".index(a) for a, _ in PAIRS], ["abcdef".index(b) for _, b in PAIRS]
        ]
        plugged = mm.weights(TWO, comparisons, estimate="map") @ beta
        assert np.abs(plugged - exact).mean() > 2 * error.mean()


def test_a_vertex_prior_is_a_mixture_by_enumeration():
    """Everybody holds one component: Bayes over the two of them, every probability by counting over
    all rankings.
    """
    small = mm.M4.from_orders(["abcd", "dbca"], phi=[0.3, 0.6], alpha=[1.0, 2.0])
    model = FittedModel(small, calibration=Calibration(vertex_share=1))
    votes = mm.Comparisons.from_arrays(["u", "u"], ["a", "b"], ["c", "d"])
    tables = [
        mallows_pmf(tuple(sigma.tolist()), phi)
        for sigma, phi in zip(small.sigma, small.phi.tolist(), strict=True)
    ]

    def above(table, i, j):
        return sum(p for ranking, p in table.items() if ranking[i] < ranking[j])

    mass = [
        a * above(table, 0, 2) * above(table, 1, 3)
        for a, table in zip(small.share, tables, strict=True)
    ]
    expected = sum(m * above(table, 0, 3) for m, table in zip(mass, tables, strict=True)) / sum(
        mass
    )
    np.testing.assert_allclose(mm.predict(model, votes, [("a", "d")]), [[expected]], rtol=1e-9)


@pytest.mark.parametrize("calibration", [Calibration(), BOTH], ids=str)
def test_the_two_orders_of_a_pair_add_up_to_one(calibration):
    model = FittedModel(
        replace(TWO, phi=np.array([0.0, 0.4])), calibration=calibration, ensemble=Ensemble((OTHER,))
    )
    comparisons = TWO.sample(9, 7, seed=2).comparisons
    found = mm.predict(model, comparisons, [*PAIRS, *((b, a) for a, b in PAIRS)])
    assert found.shape == (9, 8) and np.all((found > 0) & (found < 1))
    np.testing.assert_allclose(found[:, :4] + found[:, 4:], 1, atol=1e-12)


def test_the_population():
    """Σ_k a_k β; with spam, that part of it is a coin; with further fits, their mean."""
    chance = TWO.share @ TWO.beta()[:, 5, 2]
    assert mm.predict(TWO, None, [("f", "c")]) == pytest.approx(chance)
    spammed = FittedModel(TWO, calibration=Calibration(spam_share=0.2, vertex_share=0.4))
    assert mm.predict(spammed, None, [("f", "c")]) == pytest.approx(0.8 * chance + 0.1)
    averaged = mm.predict(FittedModel(TWO, ensemble=Ensemble((OTHER,))), None, [("f", "c")])
    assert averaged == pytest.approx((chance + OTHER.share @ OTHER.beta()[:, 5, 2]) / 2)
    nobody = mm.Comparisons.from_codes([], [], [], None, list("abcdef"), ["someone"])
    np.testing.assert_allclose(
        mm.predict(spammed, nobody, PAIRS), mm.predict(spammed, None, PAIRS), rtol=1e-12
    )


def test_members_are_averaged_and_use_the_models_calibration():
    comparisons = TWO.sample(6, 9, seed=3).comparisons
    model = FittedModel(TWO, calibration=BOTH, ensemble=Ensemble((OTHER,)))
    alone = [
        mm.predict(FittedModel(fit, calibration=BOTH), comparisons, PAIRS) for fit in (TWO, OTHER)
    ]
    np.testing.assert_allclose(
        mm.predict(model, comparisons, PAIRS), np.mean(alone, axis=0), rtol=1e-12
    )


def test_unknown_items_and_bad_pairs():
    votes = mm.Comparisons.from_arrays(list("uuv"), ["a", "x", "x"], ["b", "a", "z"])
    with pytest.raises(DataError, match=r"2 of the 4 items are unknown: 'x', 'z'\."):
        mm.predict(TWO, votes, PAIRS)
    found = mm.predict(TWO, votes, PAIRS, unknown_items="drop")
    known = mm.Comparisons.from_arrays(["u"], ["a"], ["b"])
    np.testing.assert_allclose(found[0], mm.predict(TWO, known, PAIRS)[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], mm.predict(TWO, None, PAIRS)[0], rtol=1e-12)
    assert [len(ranking) for ranking in mm.rank(TWO, votes, unknown_items="drop")] == [6, 6]
    with pytest.raises(DataError, match="2 of the 4 items are unknown"):
        mm.rank(TWO, votes)
    with pytest.raises(DataError, match="Pair 2: the model has no item 'x'; it has 6 others"):
        mm.predict(TWO, None, [("a", "b"), ("a", "x")])
    with pytest.raises(
        DataError, match="Pair 1 compares 'a' with itself: give two different items"
    ):
        mm.predict(TWO, None, [("a", "a")])
    for pair in ("ab", ("a", "b", "c"), 7):
        with pytest.raises(DataError, match="it must be two items, as in"):
            mm.predict(TWO, None, [pair])


def test_no_pairs_nobody_and_numbers_for_labels():
    comparisons = TWO.sample(3, 4).comparisons
    assert mm.predict(TWO, comparisons, []).shape == (3, 0)
    assert mm.predict(TWO, comparisons.take_users([]), PAIRS).shape == (0, 4)
    assert list(mm.rank(TWO, comparisons.take_users([]))) == []
    numbered = mm.M4([[0, 1, 2]], [0.5], [1.0], [1, 2, 3])
    assert mm.predict(numbered, None, [(1, "2"), ("1", 2)]).tolist() == [
        [numbered.beta()[0, 0, 1]] * 2
    ]


def test_threads_rows_and_company_play_no_part():
    comparisons = TWO.sample(70, 8, seed=4).comparisons
    model = FittedModel(TWO, calibration=BOTH, ensemble=Ensemble((OTHER,)))
    found, ranked = (
        mm.predict(model, comparisons, PAIRS, n_jobs=1),
        mm.rank(model, comparisons, n_draws=20, n_jobs=1),
    )
    assert found.tobytes() == mm.predict(model, comparisons, PAIRS, n_jobs=3).tobytes()
    assert list(ranked) == list(mm.rank(model, comparisons, n_draws=20, n_jobs=3))
    alone = comparisons.take_users([41])
    np.testing.assert_allclose(mm.predict(model, alone, PAIRS)[0], found[41], rtol=1e-12)
    assert [(line.item, line.low, line.high) for line in mm.rank(model, alone, n_draws=20)[0]] == [
        (line.item, line.low, line.high) for line in ranked[41]
    ]


# ---- rankings ----


def mean_wins(table):
    """(Q,) the mean of a table of win probabilities over the other items, by a double loop."""
    Q = len(table)
    return [sum(table[i][j] for j in range(Q) if j != i) / (Q - 1) for i in range(Q)]


def test_order_against_brute_force():
    """Items by their mean predicted win against every other one."""
    comparisons = TWO.sample(8, 6, seed=5).comparisons
    model = FittedModel(TWO, calibration=BOTH, ensemble=Ensemble((OTHER,)))
    every = [(a, b) for a in "abcdef" for b in "abcdef" if a != b]
    predicted = mm.predict(model, comparisons, every)
    for ranking, p in zip(mm.rank(model, comparisons), predicted, strict=True):
        table = np.zeros((6, 6))
        table[~np.eye(6, dtype=bool)] = p
        wins = mean_wins(table)
        assert [line.item for line in ranking] == [
            "abcdef"[i] for i in sorted(range(6), key=lambda i: -wins[i])
        ]
        assert [line.position for line in ranking] == [1, 2, 3, 4, 5, 6]
        np.testing.assert_allclose(
            [line.win_rate for line in ranking], sorted(wins, reverse=True), rtol=1e-9
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "calibration", [Calibration(), Calibration(vertex_share=0.5), BOTH], ids=str
)
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_rank_intervals_against_brute_force(calibration, level):
    """Every draw's whole ranking, item by item: so many draws have the item's place within the
    interval, and not far more.
    """
    model = FittedModel(TWO, calibration=calibration)
    comparisons = TWO.sample(5, 6, seed=6).comparisons
    draws = weight_draws(model, comparisons, 200)
    for m, ranking in enumerate(mm.rank(model, comparisons, level=level)):
        places = []
        for theta in draws[m]:
            known = theta[:2] if theta[:2].sum() > 0 else TWO.share  # where all is spam
            wins = np.round(mean_wins(np.einsum("k,kij->ij", known / known.sum(), TWO.beta())), 12)
            places.append(
                [1 + sum((wins[j], -j) > (wins[i], -i) for j in range(6)) for i in range(6)]
            )
        for line in ranking:
            mine = sorted(row["abcdef".index(line.item)] for row in places)
            cut = (1 - level) / 2
            assert line.low == min(mine[int(np.floor(cut * 199))], line.position)
            assert line.high == max(mine[int(np.ceil((1 - cut) * 199))], line.position)
            assert np.mean([line.low <= place <= line.high for place in mine]) >= level


def test_rank_intervals_narrow_as_comparisons_come_in():
    def width(n):
        votes = TWO.sample(15, n, seed=7).comparisons
        return np.mean(
            [line.high - line.low for ranking in mm.rank(TWO, votes) for line in ranking]
        )

    assert width(2) > width(30) > width(400)


def test_the_population_has_one_ranking_without_range():
    (ranking,) = mm.rank(TWO)
    wins = mean_wins(np.einsum("k,kij->ij", TWO.share, TWO.beta()))
    assert [line.item for line in ranking] == ["abcdef"[i] for i in np.argsort(-np.array(wins))]
    assert all(line.low == line.position == line.high for line in ranking)


def test_top_and_small_models():
    comparisons = TWO.sample(3, 6, seed=5).comparisons
    full, top = mm.rank(TWO, comparisons), mm.rank(TWO, comparisons, n_top=2)
    assert list(top) == [ranking[:2] for ranking in full]
    assert list(mm.rank(TWO, comparisons, n_top=99)) == list(full)
    pair = mm.M4([[0, 1], [1, 0]], [0.1, 0.1], [1.0, 1.0], "ab")
    votes = mm.Comparisons.from_arrays(["u"], ["b"], ["a"], [9])
    for calibration in (Calibration(), BOTH, Calibration(vertex_share=1)):
        (ranking,) = mm.rank(FittedModel(pair, calibration=calibration), votes)
        assert [line.item for line in ranking] == ["b", "a"]
    one = mm.M4([[1, 0, 2]], [0.3], [1.0], "abc")
    (ranking,) = mm.rank(one, mm.Comparisons.from_arrays(["u"], ["a"], ["b"]))
    assert [(line.item, line.low, line.high) for line in ranking] == [
        ("b", 1, 1),
        ("a", 2, 2),
        ("c", 3, 3),
    ]


def test_options_are_checked():
    for options, message in (
        ({"n_top": 0}, "n_top is 0"),
        ({"level": 0}, "level is 0"),
        ({"n_draws": 3}, "n_draws is 3"),
    ):
        with pytest.raises(OptionError, match=message):
            mm.rank(TWO, **options)


# ---- a person in each row ----


def test_each_row_for_its_person(monkeypatch):
    """As the whole table says, row by row, also when few people are looked at together; strangers
    get the population's.
    """
    comparisons = TWO.sample(9, 7, seed=2).comparisons
    model = FittedModel(TWO, calibration=BOTH)
    users = ["u4", "zoe", "u1", "u4", "u9", "adam", "u6", "u1", "u2"]
    pairs = [("abcdef"[n % 6], "abcdef"[(n * n + n + 1) % 6]) for n in range(9)]
    pairs = [pair if pair[0] != pair[1] else ("a", "f") for pair in pairs]
    whole, anybody = mm.predict(model, comparisons, pairs), mm.predict(model, None, pairs)[0]
    labels = comparisons.users.tolist()
    expected = [
        whole[labels.index(user), n] if user in labels else anybody[n]
        for n, user in enumerate(users)
    ]
    for together in (1, 2, 500):
        monkeypatch.setattr("mallowmix.infer.predict._USERS", together)
        probability, known = predict_each(model, comparisons, users, pairs)
        np.testing.assert_allclose(probability, expected, rtol=1e-12)
        assert known.tolist() == [user not in ("zoe", "adam") for user in users]
    assert predict_each(model, comparisons, [], [])[0].shape == (0,)
    with pytest.raises(DataError, match="Pair 2: the model has no item 'x'"):
        predict_each(model, comparisons, ["u1", "u1"], [("a", "b"), ("x", "a")])
