"""What is a user's own: planted users, and win rates against the library's other answers."""

import json

import numpy as np
import pytest
from fastapi.testclient import TestClient

import mallowmix as mm
from mallowmix.errors import DataError
from mallowmix.model.predictor import CalibratedModel, Predictor
from mallowmix.numerics.small_work import one_answer
from mallowmix.web.application import create_app
from mallowmix.web.settings import Settings
from mallowmix.web.site import Site
from tests.command_line import run

DISHES = mm.load_dishes(n_users=20)
M4, ITEMS = DISHES.model, DISHES.model.items.tolist()
UTILITIES = mm.UtilitiesModel(
    -0.5 * (M4.sigma - 7.5), np.zeros((16, 0)), np.full(16, 9.0), M4.share, M4.items
)
MODEL = mm.FittedModel(
    M4, predictor=Predictor((UTILITIES, CalibratedModel(M4)), np.tile([0.97, 0.03], (3, 1)))
)
SPICY = list(M4.order[1])  # the second component, best first


def person(order, repeats=1):
    """Someone who answers all pairs by an order of the items, without errors."""
    rows = [("me", ITEMS[i], ITEMS[j]) for n, i in enumerate(order) for j in order[n + 1 :]]
    return mm.read_comparisons(rows * repeats)


def moved(item, to):
    rest = [i for i in SPICY if i != ITEMS.index(item)]
    return [*rest[:to], ITEMS.index(item), *rest[to:]]


def test_a_component_and_one_dish_of_their_own():
    """The order of the second component, but for pizza, which is first instead of 13th."""
    found = mm.explain_user(MODEL, person(moved("pizza", 0)))
    assert found.theta.argmax() == 1 and found.theta[1] > 0.5
    assert [line.item for line in found.more] == ["pizza"] and found.less == []
    (pizza,) = found.more
    assert pizza.win_rate > 0.9 and pizza.mixture_win_rate < 0.5 and pizza.low > 0
    assert "Mostly component 2" in found.summary() and "pizza" in found.summary()


def test_a_dish_that_is_liked_less():
    found = mm.explain_user(MODEL, person(moved("vindaloo", 15)))
    assert [line.item for line in found.less] == ["vindaloo"] and found.more == []
    assert found.less[0].high < 0


def test_nothing_is_named_of_who_follows_a_component_or_says_nothing():
    nobody = mm.Comparisons.from_codes([], [], [], None, ITEMS, ["someone"])
    for comparisons in (person(SPICY), nobody):
        found = mm.explain_user(MODEL, comparisons)
        assert found.more == found.less == []


def test_three_items_at_most_in_each_direction():
    """The reverse of a component: nearly all items are out of place."""
    found = mm.explain_user(MODEL, person(SPICY[::-1], repeats=3))
    assert len(found.more) <= 3 and len(found.less) <= 3
    assert found.more == sorted(found.more, key=lambda x: -x.difference)


def test_win_rates_are_those_of_rank_and_of_the_weights():
    comparisons = person(moved("pizza", 0))
    found = mm.explain_user(MODEL, comparisons)
    ranking = mm.rank(MODEL, comparisons)[0]
    assert [(x.item, x.win_rate) for x in found.lines] == [(x.item, x.win_rate) for x in ranking]
    theta = np.asarray(mm.weights(MODEL, comparisons))[0]
    np.testing.assert_allclose(found.theta, theta, atol=1e-12)
    table = np.einsum("k,kij->ij", theta, np.clip(M4.beta(), 1e-4, 1 - 1e-4))
    np.fill_diagonal(table, 0)
    for line in found.lines:
        expected = table[ITEMS.index(line.item)].sum() / 15
        assert line.mixture_win_rate == pytest.approx(expected, abs=1e-6)
        assert line.low <= line.difference <= line.high
    frame = found.to_frame("pandas")
    assert frame.columns.tolist() == [
        "item", "win_rate", "mixture_win_rate", "difference", "low", "high",
    ]  # fmt: skip
    np.testing.assert_allclose(frame["win_rate"] - frame["mixture_win_rate"], frame["difference"])


@pytest.mark.slow
def test_intervals_hold_as_often_as_they_say():
    """Users who are drawn from the pool's utilities: the interval of the difference holds it in
    about 90 % of cases. The difference is taken to the mean of the mixture's rates.
    """
    random, held, only = np.random.default_rng(3), [], Predictor((UTILITIES,), np.ones((3, 1)))
    model = mm.FittedModel(M4, predictor=only)
    for m in range(40):
        k = random.choice(3, p=M4.share)
        u = UTILITIES.means[k] + 3 * random.standard_normal(16)
        i, j = random.integers(16, size=(2, 60))
        i, j = i[i != j], j[i != j]
        first = random.random(len(i)) < 1 / (1 + np.exp(u[j] - u[i]))
        votes = mm.Comparisons.from_codes(
            np.zeros(len(i), int), np.where(first, i, j), np.where(first, j, i), None, ITEMS, [m]
        )
        found = mm.explain_user(model, votes, seed=m)
        p = 1 / (1 + np.exp(u - u[:, None]))
        truth = dict(zip(ITEMS, (p.sum(axis=1) - 0.5) / 15, strict=True))
        held += [x.low <= truth[x.item] - x.mixture_win_rate <= x.high for x in found.lines]
    # too wide rather than too narrow: the mixture's own uncertainty is in the interval
    assert np.mean(held) > 0.87


def test_messages():
    with pytest.raises(DataError, match=r"This model has no predictor.*predictor=True"):
        mm.explain_user(M4, person(SPICY))
    with pytest.raises(
        DataError, match="An explanation is of one user; these are comparisons of 2"
    ):
        mm.explain_user(MODEL, [("a", "pizza", "ramen"), ("b", "pizza", "ramen")])


def test_on_the_command_line(tmp_path):
    comparisons = person(moved("pizza", 0))
    mm.save(MODEL, tmp_path / "model.m4")
    rows = [f"me,{a},{b}" for a, b in zip(*_labels(comparisons), strict=True)]
    (tmp_path / "votes.csv").write_text("user,winner,loser\n" + "\n".join(rows))
    arguments = ["rank", tmp_path / "model.m4", tmp_path / "votes.csv", "--user", "me", "--explain"]
    said, _ = run(*arguments)
    assert "by the mixture" in said and "Likes pizza (wins" in said
    found = json.loads(run(*arguments, "--json")[0])["explanation"]
    with one_answer():
        expected = mm.explain_user(MODEL, comparisons)
    assert found["more"] == ["pizza"] and found["summary"] == expected.summary()
    assert found["items"] == expected.to_frame("pyarrow").to_pylist()
    _, wrong = run(*arguments[:3], "--explain", "-o", tmp_path / "all.csv", code=2)
    assert "--user" in wrong


def _labels(comparisons):
    items = comparisons.items
    return items[comparisons.winner], items[comparisons.loser]


@pytest.mark.slow
def test_the_result_of_a_survey_says_so(tmp_path):
    site = Site(str(tmp_path / "votes.db"), Settings(rate=0.0, nice=0), model=MODEL)
    comparisons = person(moved("pizza", 0))
    with TestClient(create_app(site)) as client:
        told = client.post("/api/v1/people", json={"token": True}).json()
        client.cookies.clear()
        headers = {"Authorization": f"Bearer {told['token']}"}
        number = {item["name"]: item["id"] for item in client.get("/api/v1/items").json()}
        for n, (a, b) in enumerate(zip(*_labels(comparisons), strict=True)):
            vote = {"key": f"key-{n:05d}", "first": number[a], "second": number[b]}
            client.post("/api/v1/votes", headers=headers, json=vote | {"choice": "first"})
        own = client.get("/api/v1/me/result", headers=headers).json()["own"]
    expected = mm.explain_user(MODEL, comparisons).more[0]
    assert own["less"] == [] and [line["item"] for line in own["more"]] == ["pizza"]
    assert own["more"][0]["wins"] == pytest.approx(expected.win_rate, abs=1e-9)
    assert own["more"][0]["mixture"] == pytest.approx(expected.mixture_win_rate, abs=1e-9)
