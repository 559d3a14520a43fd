"""Groups of people: false alarms at the stated rate, real differences found, tables read from
anywhere.
"""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom, ttest_ind

import mallowmix as mm
from mallowmix.assess.groups import GroupTest, _means, _moments, _statistic, _sums, _with_holm
from mallowmix.assess.user_attributes import read_attributes
from mallowmix.errors import DataError, DataWarning, FileError, OptionError
from tests.command_line import run
from tests.planted import planted

MODEL = planted(8, 2, 0.3, 0.5, seed=1)


def people(M=80, seed=1, per_user=15, theta=None):
    return MODEL.sample(
        M, per_user, seed=seed, prior="dirichlet" if theta is None else theta
    ).comparisons


@pytest.mark.slow
def test_false_alarms_come_at_the_stated_rate():
    """Groups that mean nothing, of unequal sizes, one of them three times as active: p ≤ .1 in
    about 6 of 60.

    Fails by chance once in 1,000 on either side.
    """
    alarms = 0
    for seed in range(60):
        group = np.arange(60) < 18
        votes = people(60, seed, np.where(group, 30, 10))
        found = mm.compare_groups(
            MODEL,
            votes,
            {"user": votes.users, "old": group},
            n_permutations=49,
            seed=seed,
            n_jobs=1,
        )
        alarms += found.tests[0].p_value <= 0.1
    assert binom.ppf(0.001, 60, 0.1) <= alarms <= binom.ppf(0.999, 60, 0.1)


@pytest.mark.slow
def test_a_real_difference_is_found_and_a_meaningless_one_is_not():
    theta = np.repeat([[0.8, 0.2], [0.5, 0.5]], 60, axis=0)
    votes = people(120, 2, theta=theta)
    table = {
        "user": votes.users,
        "side": ["left"] * 60 + ["right"] * 60,
        "coin": np.arange(120) % 2,
        "id": np.arange(120),
    }
    with pytest.warns(DataWarning, match="more than 20 different values: id"):
        found = mm.compare_groups(MODEL, votes, table)
    side, coin = found.tests
    assert side.p_holm < 0.01 < coin.p_holm
    assert (
        side.p_holm == pytest.approx(min(1, 2 * side.p_value))
        and "side: its groups differ" in found.words()
    )
    left = next(row for row in found.shares if row.group == "left" and row.component == 1)
    assert (
        left.share == pytest.approx(0.8, abs=0.1)
        and left.low < left.share < left.high
        and left.n_people == 60
    )


def test_two_groups_by_the_studentised_difference():
    """For two groups and one component the statistic is Welch's t squared."""
    random = np.random.default_rng(3)
    theta, group = random.random((30, 1)), np.arange(30) % 3 > 0
    sums = _sums(group.astype(int), _moments(theta, np.ones(30)), 2)
    welch = ttest_ind(theta[group, 0], theta[~group, 0], equal_var=False).statistic
    assert _statistic(sums) == pytest.approx(welch**2)


def test_people_of_weight_two_count_twice_in_the_mean():
    theta, u = np.array([[0.2], [0.8], [0.5]]), np.array([2.0, 1.0, 1.0])
    n, mean, variance = _means(_sums(np.zeros(3, int), _moments(theta, u), 1))
    assert mean[0, 0] == pytest.approx((0.4 + 0.8 + 0.5) / 4) and n[0] == 3
    m = mean[0, 0]
    by_hand = 3 / 2 * sum(w**2 * (x - m) ** 2 for w, x in zip(u, theta[:, 0], strict=True)) / 16
    assert variance[0, 0] == pytest.approx(by_hand)


def test_holm_by_hand():
    tests = [
        GroupTest(name, 2, 9, 1.0, p, None)
        for name, p in zip("abcd", (0.04, 0.01, None, 0.03), strict=True)
    ]
    assert [test.p_holm for test in _with_holm(tests)] == pytest.approx([0.06, 0.03, None, 0.06])


def test_any_table_gives_the_same(tmp_path):
    votes = people(20)
    columns = {"user": votes.users.tolist(), "side": ["a", "b"] * 10}
    pd.DataFrame(columns).to_csv(tmp_path / "people.csv", index=False)
    pd.DataFrame(columns).to_parquet(tmp_path / "people.parquet")
    sources = [columns, pd.DataFrame(columns), pl.DataFrame(columns), pl.DataFrame(columns).lazy()]
    sources += [
        pl.DataFrame(columns).to_arrow(),
        tmp_path / "people.csv",
        str(tmp_path / "people.parquet"),
    ]
    first, *others = [
        mm.compare_groups(MODEL, votes, source, n_permutations=49) for source in sources
    ]
    assert all(other == first for other in others)


def test_missing_values_and_strangers_are_left_out():
    votes = people(6)
    users = votes.users.tolist()
    values = read_attributes(
        {"user": [*users[:5], "stranger"], "x": ["a", None, "", float("nan"), "b", "c"]},
        votes.users,
    )
    assert values == {"x": ["a", None, None, None, "b", None]}
    found = mm.compare_groups(
        MODEL, votes, {"user": users, "x": ["a", "a", None, "b", "c", "c"]}, n_permutations=19
    )
    assert {(row.group, row.n_people) for row in found.shares} == {("a", 2), ("b", 1), ("c", 2)}
    alone = [row for row in found.shares if row.group == "b"]
    assert all((row.low, row.high) == (0.0, 1.0) for row in alone)


def test_one_group_cannot_be_tested():
    votes = people(6)
    found = mm.compare_groups(
        MODEL, votes, {"user": votes.users, "x": ["a"] * 6}, n_permutations=19
    )
    assert found.tests[0].p_value is None and "no two groups" in found.words()


def test_messages(tmp_path):
    votes = people(30)
    users = votes.users.tolist()
    (tmp_path / "bad.csv").write_text("user,x\nu01,1,2\n")
    cases = [
        ({"name": users}, DataError, "no column 'user'; they have 'name'"),
        ({"user": [users[0], users[0]], "x": [1, 2]}, DataError, "more than once"),
        ({"user": ["nobody"], "x": [1]}, DataError, "None of the 30 users is in the attributes"),
        (7, OptionError, "cannot be read from an int"),
        (tmp_path / "none.csv", FileError, "There is no file"),
        (tmp_path / "bad.csv", DataError, "line 2: 3 fields where the first line has 2"),
    ]
    for source, kind, says in cases:
        with pytest.raises(kind, match=says):
            mm.compare_groups(MODEL, votes, source)
    with pytest.raises(OptionError, match="by is 'y', but"):
        mm.compare_groups(MODEL, votes, {"user": users, "x": users}, by="y")
    with pytest.raises(DataError, match="30 different values; cut it into 20 groups"):
        mm.compare_groups(MODEL, votes, {"user": users, "x": users}, by="x")


def test_the_command(tmp_path):
    votes, model, table, out = (
        tmp_path / name for name in ("votes.csv", "model.m4", "people.csv", "shares.csv")
    )
    run(
        "simulate",
        votes,
        "--items",
        6,
        "--components",
        2,
        "--users",
        40,
        "--per-user",
        20,
        "--truth",
        model,
    )
    users = sorted({line.split(",")[0] for line in votes.read_text().splitlines()[1:]})
    table.write_text(
        "person,side\n" + "".join(f"{user},{'ab'[n % 2]}\n" for n, user in enumerate(users))
    )
    words = (
        "compare-groups",
        model,
        votes,
        "--attributes",
        table,
        "--user",
        "person",
        "--by",
        "side",
        "--n-permutations",
        99,
    )
    said, _ = run(*words, "-o", out)
    assert "side: " in said and "component 2" in said
    assert out.read_text().startswith(
        "attribute,group,n_people,component,share,low,high\nside,a,20,1,"
    )
    values = json.loads(run(*words, "--json")[0])
    assert len(values["shares"]) == 4 and 0 < values["tests"][0]["p_value"] <= 1
    assert (
        "no column 'user'" in run("compare-groups", model, votes, "--attributes", table, code=1)[1]
    )
