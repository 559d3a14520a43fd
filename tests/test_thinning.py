"""Thinning: at most so many comparisons of a person and so many people, by seed and person alone;
what `compare` does with it.
"""

import csv
import json

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.assess import compare as compare_module
from mallowmix.assess.prediction_task import make_task
from mallowmix.assess.resource_meter import Meter, resident
from mallowmix.assess.thinning import draw_users, rated, thinned
from mallowmix.data.ratings import rating_table
from mallowmix.errors import DataError, DataWarning, OptionError
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.peers import validation
from mallowmix.peers.component_mixture import of_model
from mallowmix.peers.validation import predicted_rows
from mallowmix.readers import read
from tests.command_line import run
from tests.planted import planted

PARTS = ("train", "given", "held_out")


def stars_of(n_people, n_items, seed=0):
    """Columns of ratings: people rated from a third to all of the items."""
    random = np.random.default_rng(seed)
    rated_by = [
        np.sort(random.permutation(n_items)[: random.integers(n_items // 3, n_items + 1)])
        for _ in range(n_people)
    ]
    user = np.repeat([f"u{m:04d}" for m in range(n_people)], [len(items) for items in rated_by])
    item = np.concatenate(rated_by)
    return user.tolist(), [f"i{i:03d}" for i in item], random.integers(1, 6, len(item)).tolist()


@pytest.fixture(scope="module")
def votes():
    return planted(8, 2, 0.3, 0.2).sample(90, np.arange(90) % 40 + 1, seed=1).comparisons


@pytest.fixture(scope="module")
def ratings():
    return stars_of(60, 30)


def rows_of(comparisons):
    """Rows with labels, as a set: oracles compare these."""
    users, items = comparisons.users.tolist(), comparisons.items.tolist()
    columns = zip(comparisons.user, comparisons.winner, comparisons.loser, strict=True)
    return {(users[m], items[i], items[j]) for m, i, j in columns}


def pairs_by_hand(user, item, rating):
    """Every two things that one person rated differently."""
    given = {}
    for m, i, stars in zip(user, item, rating, strict=True):
        given.setdefault(m, []).append((i, stars))
    return {(m, i, j) for m, rows in given.items() for i, a in rows for j, b in rows if a > b}


def everybody(comparisons):
    return np.arange(comparisons.n_users)


# ---- comparisons ----


@pytest.mark.parametrize("most", [1, 7, 25])
def test_so_many_comparisons_of_each_person_and_no_others(votes, most):
    kept, made = thinned(votes, most, "train", 3, everybody(votes))
    assert kept.per_user().tolist() == np.minimum(votes.per_user(), most).tolist()
    assert made == votes.n_comparisons and rows_of(kept) <= rows_of(votes)
    assert kept.users.tolist() == votes.users.tolist()
    again = mm.Comparisons.from_codes(
        kept.user, kept.winner, kept.loser, kept.weight, kept.items, kept.users
    )
    assert again == kept, "in the normal form"


def test_where_nothing_is_left_out_the_very_same_comparisons_come_back(votes):
    for most in (None, 40, 10**6):
        assert thinned(votes, most, "given", 3, everybody(votes)).kept is votes


def test_a_draw_is_the_persons_own(votes):
    """The same for a person alone as among others; another for another seed or part."""
    kept = thinned(votes, 10, "given", 3, everybody(votes)).kept
    alone = thinned(votes.take_users([39]), 10, "given", 3, np.array([39])).kept
    assert rows_of(alone) == rows_of(kept.take_users([39]))
    others = [
        thinned(votes, 10, *how, everybody(votes)).kept
        for how in (("given", 4), ("held_out", 3), ("train", 3))
    ]
    assert all(rows_of(other) != rows_of(kept) for other in others)


def test_weights_are_as_many_comparisons_and_a_rest_is_one_more():
    few = mm.Comparisons.from_arrays(["u"] * 3, ["a", "b", "c"], ["b", "c", "a"], [5, 2, 0.5])
    sums = [
        thinned(few, 4, "given", seed, np.zeros(1, np.int64)).kept.n_comparisons
        for seed in range(40)
    ]
    assert set(sums) == {4.0, 3.5}


# ---- ratings ----


def test_few_ratings_make_the_comparisons_that_they_make_by_hand():
    """13 things make 78 = 6 · 13 pairs at most: nothing is left out, and the arrays are those of
    `comparisons_from_ratings`.
    """
    columns = stars_of(40, 13)
    table = rating_table(columns)
    kept, made = rated(table, np.ones(len(table), bool), None, "train", 0)
    assert rows_of(kept) == pairs_by_hand(*columns) and made == len(kept)
    from_all = mm.comparisons_from_ratings(*columns).with_items(kept.items)
    assert kept == from_all and kept.user.dtype == from_all.user.dtype


@pytest.mark.parametrize(("most", "cap"), [(None, 150), (40, 40), (400, 400)])
def test_of_n_ratings_at_most_six_each_and_so_many_in_all(ratings, most, cap):
    table = rating_table(ratings)
    some = table.item % 3 > 0
    kept, made = rated(table, some, most, "held_out", 5)
    columns = [
        [value for value, keep in zip(column, some[order_of(ratings)], strict=True) if keep]
        for column in ratings
    ]
    whole = pairs_by_hand(*columns)
    assert rows_of(kept) <= whole and len(whole) == made
    for m, name in enumerate(table.users.tolist()):
        n = columns[0].count(name)
        assert kept.per_user()[m] == min(sum(row[0] == name for row in whole), 6 * n, cap)


def order_of(columns):
    """The place of each given row in the table, whose rows are sorted by person and thing: these
    already are.
    """
    assert list(zip(*columns[:2], strict=True)) == sorted(zip(*columns[:2], strict=True))
    return np.arange(len(columns[0]))


def test_every_pair_is_as_likely_as_any_other():
    """One person's 20 ratings over 600 seeds: each pair within 5 standard errors; by chance once in
    9,000 for 190 pairs.
    """
    table = rating_table((["u"] * 20, [f"i{i:02d}" for i in range(20)], list(range(20))))
    total = np.zeros(400)
    for seed in range(600):
        kept = rated(table, np.ones(20, bool), 57, "train", seed).kept
        total[kept.pair] += 1
    share = total[total > 0] / 600
    assert len(share) == 190 and share.mean() == pytest.approx(57 / 190)
    assert np.abs(share - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 600)


def test_the_order_of_rows_plays_no_part(ratings):
    turn = np.random.default_rng(1).permutation(len(ratings[0]))
    turned = tuple([column[n] for n in turn] for column in ratings)
    one, two = (
        make_task(rating_table(columns), "people", 0.5, 2, 30) for columns in (ratings, turned)
    )
    assert all(getattr(one, part) == getattr(two, part) for part in PARTS)


def test_a_task_holds_what_is_kept_alone():
    """Millions of pairs are gone through, and less than 8 bytes for each of them ever held (a row
    of comparisons has 20).
    """
    if resident() is None:
        pytest.skip("this system does not say how much memory is in use")
    make_task(rating_table(stars_of(9, 30)), "people", 0.5, 0)  # compiled
    table = rating_table(stars_of(600, 170))
    with Meter() as meter:
        task = make_task(table, "people", 0.5, 0)
    assert task.made > 1_500_000 and task.kept < 200_000
    assert meter.megabytes * 2**20 / task.made < 8


# ---- tasks ----


@pytest.mark.parametrize("split", ["people", "items", "comparisons"])
def test_every_part_is_thinned_on_its_own(votes, split):
    whole, task = (make_task(votes, split, 0.5, 3, most) for most in (None, 5))
    for part in PARTS:
        before, after = getattr(whole, part), getattr(task, part)
        assert after.per_user().tolist() == np.minimum(before.per_user(), 5).tolist()
        assert rows_of(after) <= rows_of(before) and after.users.tolist() == before.users.tolist()
    assert whole.made == whole.kept == task.made > task.kept
    assert (task.train is task.given) == (split != "people")
    same = make_task(votes, split, 0.5, 3, 10**6)
    assert all(getattr(same, part) == getattr(whole, part) for part in PARTS)


@pytest.mark.parametrize("split", ["people", "items", "comparisons"])
def test_every_part_of_ratings_too(ratings, split):
    task = make_task(rating_table(ratings), split, 0.5, 3, 20)
    assert all(getattr(task, part).per_user().max() <= 20 for part in PARTS)
    assert task.made > task.kept and (task.train is task.given) == (split != "people")
    assert (task.ratings is None) == (split == "comparisons")
    if task.ratings:
        assert len(task.ratings.train[0]) + len(task.ratings.held_out[0]) == len(ratings[0]), (
            "ratings stay whole"
        )


def test_nothing_may_be_given_but_something_is_learnt(ratings):
    assert len(make_task(rating_table(ratings), "people", 0.0, 3).given) == 0
    alike = (["u", "u", "v", "v", "w", "w"], ["a", "b"] * 3, [3] * 6)
    with pytest.raises(
        DataError,
        match="There are no comparisons to learn from: nobody rated two things differently",
    ):
        make_task(rating_table(alike), "people", 0.5, 0)


def test_so_many_people_at_random(votes, ratings):
    table = rating_table(ratings)
    ballots = mm.Rankings.from_orders([list("abc")] * 9, users=[f"u{m}" for m in range(9)])
    for data, n in ((votes, 30), (table, 20), (ballots, 4)):
        drawn = [draw_users(data, n, seed) for seed in (0, 0, 1)]
        assert all(each.n_users == n for each in drawn)
        names = [each.users.tolist() for each in drawn]
        assert names[0] == names[1] != names[2] and set(names[0]) < set(data.users.tolist())
        assert draw_users(data, None, 0) is data and draw_users(data, data.n_users, 0) is data
    few = draw_users(table, 20, 0)
    stars = {(m, i): s for m, i, s in zip(*ratings, strict=True)}
    given = zip(few.users[few.user].tolist(), few.items[few.item].tolist(), few.rating, strict=True)
    assert (
        sum(stars[m, i] == s for m, i, s in given)
        == len(few)
        == sum(m in few.users.tolist() for m, _ in stars)
    )


# ---- compare ----


def test_notes_say_what_was_left_out(votes, ratings):
    found = mm.compare(votes, 2, systems=["coin"], n_users=60, max_per_user=5, n_splits=2)
    assert found.n_users <= 60 and found.n_comparisons <= 5 * 20 * 2
    seeds = [child_seed(0, Step.COMPARE_SPLIT, n) for n in range(2)]
    tasks = [make_task(draw_users(votes, 60, 0), "people", 0.5, seed, 5) for seed in seeds]
    kept, made = sum(task.kept for task in tasks), sum(task.made for task in tasks)
    assert found.notes[-1] == (
        f"Thinned at random to at most 5 comparisons of a person in a part: {kept:,.12g} of "
        f"{made:,.12g} comparisons were kept."
    )
    assert mm.compare(votes, 2, systems=["coin"]).notes == ()
    said = mm.compare(ratings, 2, systems=["coin"]).notes[-1]
    assert said.startswith(
        "Thinned at random to at most 150 comparisons of a person, and 6 for each of their "
        "ratings, in a part: "
    )


def test_much_to_learn_from_is_said_to_take_long(votes, monkeypatch):
    monkeypatch.setattr(compare_module, "_MANY", 1000)
    with pytest.warns(
        DataWarning,
        match=r"There are 1,\d+ comparisons to learn from, .*max_per_user=150.*n_users=3000",
    ):
        mm.compare(votes, 2, systems=["coin"])


def test_options_out_of_range(votes):
    with pytest.raises(OptionError, match="n_users is 2; it must be at least 3"):
        mm.compare(votes, 2, n_users=2)
    with pytest.raises(OptionError, match="max_per_user is 0; it must be at least 1"):
        mm.compare(votes, 2, max_per_user=0)


def test_fewer_people_at_a_time_are_predicted_the_same(votes, monkeypatch):
    task, fitted = make_task(votes, "people", 0.5, 0), of_model(planted(8, 2, 0.3, 0.2))
    whole = predicted_rows(fitted, task.given, task.held_out)
    monkeypatch.setattr(validation, "_CELLS", 40)
    starts = task.held_out.starts()
    runs = validation._together(starts, 8)
    assert len(runs) > 10 and sum(starts[last] - starts[first] for first, last in runs) == len(
        task.held_out
    )
    assert all(
        last == first + 1 or (last - first) * min(starts[last] - starts[first], 28) <= 40
        for first, last in runs
    )
    assert np.array_equal(predicted_rows(fitted, task.given, task.held_out), whole)


# ---- the command ----


def write(path, names, columns):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *zip(*columns, strict=True)])
    return path


def test_the_command_takes_so_many(tmp_path, ratings):
    path = write(tmp_path / "stars.csv", ["user", "item", "rating"], ratings)
    words = ("compare", path, "-k", 2, "--systems", "coin", "--n-users", 30, "--max-per-user", 20)
    words = (*words, "--n-splits", 1)
    said, _ = run(*words)
    assert (
        "Thinned at random to at most 20 comparisons of a person, and 6 for each of their ratings"
        in " ".join(said.split())
    )
    values = json.loads(run(*words, "--json")[0])
    found = mm.compare(ratings, 2, systems=["coin"], n_users=30, max_per_user=20, n_splits=1)
    assert (
        values["notes"] == list(found.notes)
        and values["n_comparisons"] == found.n_comparisons <= 200
    )


def test_the_command_says_that_equal_ratings_are_left_out(tmp_path, ratings):
    path = write(tmp_path / "stars.csv", ["user", "item", "rating"], ratings)
    plain, half = (
        run("compare", path, "-k", 2, "--systems", "coin", "--ties", ties, "--json")
        for ties in ("drop", "half")
    )
    assert (
        "equal ratings are left out all the same" in " ".join(half[1].split())
        and "equal ratings" not in plain[1]
    )
    assert json.loads(half[0])["n_comparisons"] == json.loads(plain[0])["n_comparisons"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--n-users", "2"), "2 is too small; it must be at least 3."),
        (("--n-users", "many"), "'many' is not a whole number."),
        (("--max-per-user", "0"), "0 is too small; it must be at least 1."),
        (("--max-per-user", "1.5"), "'1.5' is not a whole number."),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path, ratings, words, message):
    path = write(tmp_path / "stars.csv", ["user", "item", "rating"], ratings)
    _, said = run("compare", path, "-k", 2, *words, code=2)
    assert message in " ".join(said.replace("│", " ").split())


def test_ratings_that_were_left_out_in_reading_stay_out(tmp_path, ratings):
    """The most rated things alone, and no row that lacks a value: systems are measured on what was
    read.
    """
    columns = [[*column, end] for column, end in zip(ratings, ("u9999", "i000", ""), strict=True)]
    path = write(tmp_path / "stars.csv", ["user", "item", "rating"], columns)
    found = read(path, top_items=5, missing="drop", ties="drop")
    top = sorted(set(ratings[1]), key=lambda name: (-ratings[1].count(name), name))[:5]
    assert (
        set(found.ratings["item"].to_pylist()) == set(top) == set(found.comparisons.items.tolist())
    )
    expected = [row for row in zip(*ratings, strict=True) if row[1] in top]
    assert (
        list(zip(*(column.to_pylist() for column in found.ratings.columns), strict=True))
        == expected
    )
    words = (
        "compare",
        path,
        "-k",
        2,
        "--systems",
        "coin",
        "--n-splits",
        1,
        "--json",
        "--missing",
        "drop",
        "--ties",
        "drop",
    )
    few, all_of_them = (
        json.loads(run(*words, *more)[0])["n_comparisons"] for more in (("--top-items", 5), ())
    )
    assert 0 < few <= 20 * 3 < all_of_them
