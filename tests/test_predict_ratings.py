"""Ratings predicted from comparisons: against a slow twin with the formulas written out, on planted
people, on any scale.
"""

import math
import warnings

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from scipy.special import roots_jacobi

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.frames import as_frame, frame_kind
from mallowmix.data.ratings import rating_table
from mallowmix.errors import DataError, DataWarning, OptionError
from mallowmix.infer.predict import predict
from mallowmix.infer.rating_prediction import predict_ratings
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.m4 import M4
from tests.planted import planted


def population(Q=6, M=12, seed=0, share=0.6):
    """Ratings of 1 to 5 by M people of part of Q items, as lists of (user, item, stars)."""
    random = np.random.default_rng(seed)
    items = [f"i{i:03d}" for i in range(Q)]
    return [
        (f"u{m}", item, int(random.integers(1, 6)))
        for m in range(M)
        for item in items
        if random.random() < share
    ]


def columns(rows):
    return tuple(map(list, zip(*rows, strict=True)))


def twin(model, rows, user, item, rule, a=3.0, b=6.0, c=6.0):
    """p(s) with every sum written out; p_ij from the public `predict`, one pair at a time."""
    levels = sorted({stars for *_, stars in rows})
    own = [(thing, stars) for name, thing, stars in rows if name == user]
    wins = [(x, y) for x, r in own for y, s in own if r > s]
    votes = (
        Comparisons.from_arrays(["x"] * len(wins), *columns(wins)).with_items(model.items)
        if wins
        else None
    )
    h = {
        s: sum(r == s for _, r in own) + c * sum(r == s for *_, r in rows) / len(rows)
        for s in levels
    }
    p = {
        thing: float(predict(model, votes, [(item, thing)])[0, 0])
        for thing, _ in own
        if thing != item
    }
    own = [(thing, r) for thing, r in own if thing != item]
    scores = []
    for s in levels:
        score = math.fsum(math.log(p[j]) for j, r in own if r < s) + math.fsum(
            math.log(1 - p[j]) for j, r in own if r > s
        )
        if rule == "posterior":
            score += math.fsum(
                0.5 * (math.log(p[j]) + math.log(1 - p[j])) for j, r in own if r == s
            )
            score = math.log(h[s]) + a / (len(own) + b) * score
        scores.append(score)
    top = np.exp(np.array(scores) - max(scores))
    return top / top.sum()


@pytest.mark.parametrize("rule", ["posterior", "marginals"])
def test_the_slow_twin_agrees(rule):
    truth = planted(6, 2, phi=0.5, seed=1)
    model = FittedModel(
        truth,
        ensemble=Ensemble((planted(6, 3, phi=0.3, alpha=0.4, seed=2),)),
        calibration=Calibration(likelihood_weight=0.5, vertex_share=0.2),
    )
    rows = population(seed=3)
    targets = [(f"u{m}", f"i{(m * 5) % 6:03d}") for m in range(12)] + [
        ("u3", "i000"),
        ("u3", "i005"),
    ]
    found = predict_ratings(model, columns(rows), columns(targets), rule)
    for (user, item), p in zip(targets, found.distribution, strict=True):
        np.testing.assert_allclose(p, twin(model, rows, user, item, rule), atol=1e-6)
    np.testing.assert_allclose(
        found.mean,
        [sum(s * q for s, q in zip(range(1, 6), p, strict=True)) for p in found.distribution],
    )
    assert found.mode.tolist() == [1 + int(np.argmax(p)) for p in found.distribution]
    assert found.rounded.tolist() == [math.floor(mean + 0.5) for mean in found.mean]
    assert set(found.basis) == {"comparisons"}


def products(p):
    """p(s) of the paper's example for D's probabilities p of winning over A, B and C."""
    A, B, C = p
    return [
        (1 - A) * (1 - B) * (1 - C),
        (1 - A) * (1 - C),
        (1 - A) * B * (1 - C),
        B * (1 - C),
        A * B,
    ]


def papers_example(model, rule, **options):
    """A, B, C have 4, 2 and 5 stars; D at 3 stars gives (A,D), (D,B), (C,D), and at 4 stars (D,B),
    (C,D): the tie is ignored.
    """
    rated = (["m"] * 3, ["A", "B", "C"], [4, 2, 5])
    scale = [1, 2, 3, 4, 5]
    return predict_ratings(model, rated, (["m"], ["D"]), rule, scale=scale, **options).distribution[
        0
    ]


TWO = M4.from_orders([list("ABCD"), list("DCBA")], phi=[0.5, 0.2], alpha=[0.4, 0.3])


def test_marginals_in_the_papers_example():
    votes = Comparisons.from_arrays(["m"] * 3, ["A", "C", "C"], ["B", "A", "B"]).with_items(
        TWO.items
    )
    w = products(predict(TWO, votes, [("D", "A"), ("D", "B"), ("D", "C")])[0])
    np.testing.assert_allclose(papers_example(TWO, "marginals"), np.array(w) / sum(w), rtol=1e-6)


def integrated(model, n_nodes=200):
    """p(s) of the paper's example, θ integrated by Gauss–Jacobi quadrature over its posterior."""
    first, second = model.alpha
    x, mass = roots_jacobi(n_nodes, second - 1, first - 1)
    theta = np.stack([(1 + x) / 2, (1 - x) / 2])  # (2, nodes)
    beta = {
        f"{a}{b}": theta.T @ model.beta()[:, i, j]
        for i, a in enumerate("ABCD")
        for j, b in enumerate("ABCD")
    }
    mass = mass * beta["AB"] * beta["CA"] * beta["CB"]
    w = [mass @ product for product in products((beta["DA"], beta["DB"], beta["DC"]))]
    return np.array(w) / sum(w)


def test_the_printed_rule_integrates_over_a_persons_weights():
    """Against quadrature: 40,000 draws leave an error of about .3/200 in each weight; the product
    of marginals is far outside of that.
    """
    expected = integrated(TWO)
    found = papers_example(TWO, "printed", n_draws=40_000)
    np.testing.assert_allclose(found, expected, atol=0.006)
    assert np.abs(papers_example(TWO, "marginals") - expected).max() > 0.03
    assert found.tolist() == papers_example(TWO, "printed", n_draws=40_000).tolist()
    assert found.tolist() != papers_example(TWO, "printed", n_draws=40_000, seed=1).tolist()


def test_both_rules_are_one_where_a_person_has_one_component():
    one = M4.from_orders([list("ABCD")], phi=[0.5])
    np.testing.assert_allclose(
        papers_example(one, "printed"), papers_example(one, "marginals"), rtol=1e-9
    )


def planted_ratings(n_people=300, seed=0):
    """Two tastes, one the reverse of the other; everybody rates ten of twenty things by their place
    in a noisy ranking.
    """
    random = np.random.default_rng(seed)
    rows, held = [], []
    for m in range(n_people):
        place = np.arange(20) if m % 2 else np.arange(20)[::-1]
        stars = np.clip(5 - (place + random.normal(0, 2, 20)) // 4, 1, 5).astype(int)
        order = random.permutation(20)
        rows += [(f"u{m:03d}", f"i{i:02d}", stars[i]) for i in order[:10]]
        held += [(f"u{m:03d}", f"i{i:02d}", stars[i]) for i in order[10:]]
    items = [f"i{i:02d}" for i in range(20)]
    return M4.from_orders([items, items[::-1]], phi=0.6, alpha=0.2), rows, held


def rmse(a, b):
    return float(np.sqrt(np.mean((np.asarray(a, float) - b) ** 2)))


@pytest.mark.slow
def test_planted_people_are_predicted():
    """The people's own means have an error near 1.4, the noise alone near .55; the rule lies
    between with a wide margin.
    """
    model, rows, held = planted_ratings()
    user, item, stars = columns(held)
    found = predict_ratings(model, columns(rows), (user, item), a=10)
    by_user = {name: np.mean([s for u, _, s in rows if u == name]) for name in set(user)}
    assert rmse(found.mean, stars) < 0.8 < 1.2 < rmse([by_user[u] for u in user], stars)
    assert rmse(found.mean, stars) < rmse(found.rounded, stars)
    assert np.mean(found.mode == np.array(stars)) > 0.45  # a fifth by chance


def test_the_order_of_rows_and_threads_change_nothing():
    model, rows, held = planted_ratings(30)
    targets = held[:70]
    one = predict_ratings(model, columns(rows), columns(targets)[:2], n_jobs=1)
    two = predict_ratings(model, columns(rows[::-1]), columns(targets[::-1])[:2], n_jobs=2)
    assert np.array_equal(one.distribution, two.distribution[::-1])


def test_any_ordered_scale():
    """Half stars, 1 to 10, words, words with numbers: the same distribution on each, the mean on
    its own numbers.
    """
    model = planted(6, 2, phi=0.5, seed=1)
    user, item, stars = columns(population(seed=3))
    targets = (user[:9], item[:9])
    first = predict_ratings(model, (user, item, stars), targets)
    halves = predict_ratings(model, (user, item, [s / 2 for s in stars]), targets)
    doubled = predict_ratings(
        model, {"user": user, "item": item, "stars": [2 * s for s in stars]}, targets
    )
    names = ["awful", "bad", "fair", "good", "great"]
    words = predict_ratings(
        model, (user, item, [names[s - 1] for s in stars]), targets, scale=names
    )
    money = predict_ratings(
        model,
        (user, item, [names[s - 1] for s in stars]),
        targets,
        scale=dict(zip(names, [0, 1, 4, 9, 100], strict=True)),
    )
    for other, numbers in (
        (halves, [0.5, 1, 1.5, 2, 2.5]),
        (doubled, [2, 4, 6, 8, 10]),
        (words, [1, 2, 3, 4, 5]),
    ):
        assert np.array_equal(other.distribution, first.distribution)
        np.testing.assert_allclose(other.mean, first.distribution @ numbers)
    assert money.scale.tolist() == [0, 1, 4, 9, 100]
    assert set(money.rounded) <= {0, 1, 4, 9, 100}


def test_a_level_that_never_occurs_has_no_chance_in_the_posterior():
    model = planted(4, 2, seed=1)
    found = predict_ratings(
        model, (["u", "u"], ["i000", "i001"], [2, 4]), (["u"], ["i002"]), scale=[1, 2, 3, 4, 5]
    )
    assert found.distribution[0, [0, 2, 4]].tolist() == [0, 0, 0]


def test_people_and_things_that_are_not_known():
    model = planted(4, 2, seed=1)
    rated = (["a", "a", "b", "c"], ["i000", "i001", "i002", "new"], [1, 5, 5, 1])
    targets = (["a", "nobody", "a", "c"], ["i003", "i003", "other", "i003"])
    with pytest.warns(
        DataWarning, match="1 of 4 targets are of things that the model does not know"
    ):
        found = predict_ratings(model, rated, targets)
    assert found.basis.tolist() == ["comparisons", "population", "histogram", "histogram"]
    np.testing.assert_allclose(found.distribution[1], [0.5, 0.5])
    np.testing.assert_allclose(found.distribution[2], [0.5, 0.5])
    np.testing.assert_allclose(found.distribution[3], [(1 + 3) / 7, 3 / 7])


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_table_has_labels_and_is_of_the_callers_kind(kind):
    """Against the rows themselves; numbers stay numbers, and the order is that of the targets."""
    model = planted(4, 2, seed=1)
    rows = {"user": [7, 7, 9], "item": ["i000", "i001", "i002"], "rating": [1, 5, 2]}
    wanted = {"user": [9, 7, 7], "item": ["i003", "i003", "i002"]}
    found = predict_ratings(model, as_frame(rows, kind), as_frame(wanted, kind))
    frame = found.to_frame()
    assert frame_kind(frame) == kind
    columns = nw.from_native(frame).to_dict(as_series=False)
    assert (columns["user"], columns["item"]) == (wanted["user"], wanted["item"])
    assert columns["mean"] == found.mean.tolist() == np.asarray(found).tolist()
    assert list(columns)[-3:] == ["probability_1", "probability_2", "probability_5"]
    assert columns["probability_5"] == found.distribution[:, 2].tolist()
    assert "9" in found._repr_html_() and repr(found) == "Predictions of 3 ratings from 1 to 5"


def test_nobody_rated_two_things_differently():
    """Then everybody's θ is the prior's mean, and the rule still holds."""
    model = planted(4, 2, seed=1)
    rows = [("a", "i000", 3), ("b", "i001", 4)]
    found = predict_ratings(model, columns(rows), (["a"], ["i002"])).distribution[0]
    p = float(predict(model, None, [("i002", "i000")])[0, 0])
    h, tau = np.array([1 + 3, 3]), 3 / 7
    expected = h * np.exp(tau * np.array([0.5 * (math.log(p) + math.log(1 - p)), math.log(p)]))
    np.testing.assert_allclose(found, expected / expected.sum())


def test_tables_are_read_by_their_columns():
    rows = (["b", "a"], [2, 1], [1.0, 2.0])
    frame = pa.table({"user": rows[0], "item": rows[1], "rating": rows[2]})
    first, second = rating_table(rows), rating_table(frame)
    assert first.user.tolist() == second.user.tolist() == [0, 1]
    assert first.users.tolist() == second.users.tolist() == ["a", "b"]
    assert second.rating.tolist() == [2.0, 1.0]
    user, item = first.numbers(["b", "x"], ["1", "2"])
    assert (user.tolist(), item.tolist()) == ([1, -1], [0, 1])


@pytest.mark.parametrize(
    ("ratings", "options", "message"),
    [
        ((["u"], ["i000"], ["good"]), {}, "The ratings are labels: say with scale"),
        (
            (["u"], ["i000"], ["good"]),
            {"scale": ["bad", "ok"]},
            "The rating good is not on the scale, which has bad, ok",
        ),
        ((["u"], ["i000"], [None]), {}, "Row 1: the rating is missing"),
        ((["u", None], ["i000"] * 2, [1, 2]), {}, "Row 2: the user is missing"),
        ((["u"] * 2, ["i000"] * 2, [1, 2]), {}, "User 'u' rates 'i000' more than once"),
        ((["u"], ["i000", "i001"], [1]), {}, "have 1, 2 and 1 rows"),
        (([], [], []), {}, "There are no ratings"),
        ({"user": ["u"], "item": ["i000"]}, {}, "The ratings have no column 'rating'"),
        ((["u"], ["i000"], [math.inf]), {}, "not a finite number"),
    ],
)
def test_ratings_that_cannot_be_read(ratings, options, message):
    with pytest.raises(DataError, match=message):
        predict_ratings(planted(4, 2), ratings, (["u"], ["i001"]), **options)


def test_options_out_of_range():
    model, rated, asked = planted(4, 2), (["u"], ["i000"], [1]), (["u"], ["i001"])
    with pytest.raises(
        OptionError, match="rule is 'best'; it must be one of 'posterior', 'printed'"
    ):
        predict_ratings(model, rated, asked, "best")
    with pytest.raises(OptionError, match="c is 0"):
        predict_ratings(model, rated, asked, c=0)
    with pytest.raises(OptionError, match="at least two different levels, from worst to best"):
        predict_ratings(model, rated, asked, scale=[3, 1])
    with pytest.raises(DataError, match="2 users and 1 items"), warnings.catch_warnings():
        predict_ratings(model, rated, (["u", "v"], ["i001"]))
