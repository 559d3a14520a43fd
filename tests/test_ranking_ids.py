"""Ranking ids: they go where the rows go, only the sets of rows that they name matter, and they
say how many independent answers comparisons are worth.
"""

import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.assess.intervals.little_bootstraps import comparisons_of_blocks
from mallowmix.data.dependence import independent_shares, mean_independent_share
from mallowmix.data.splits import first_half, split_comparisons
from mallowmix.data.tie_halves import tie_halves
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.engine.out_of_core import store
from mallowmix.engine.out_of_core.partition import Plan
from mallowmix.engine.out_of_core.store import store_comparisons
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.errors import DataError
from mallowmix.infer.gibbs_draws import pieces
from mallowmix.learn.spectral.user_sample import sample_blocks
from mallowmix.numerics.randomness import as_key
from mallowmix.readers import read_comparisons
from mallowmix.writers import as_table, write_table

DATA = Path(__file__).parent / "data"
rows_strategy = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "cleo"]),
        st.permutations("abcd").map(lambda order: tuple(order[:2])),
        st.sampled_from([0.5, 1.0, 1.0, 2.0]),
        st.none() | st.integers(0, 3),
    ),
    min_size=1,
    max_size=25,
)


def made(rows):
    users, pairs, weights, ids = zip(*rows, strict=True)
    winner, loser = zip(*pairs, strict=True)
    return mm.Comparisons.from_arrays(users, winner, loser, weights, ranking_id=pa.array(ids))


def rankings_of_rows(rows):
    """For each user the sets of comparisons of their rankings, with total weights of each set.

    A slow twin of the normal form: comparisons alone in their ranking count as without one.
    """
    total = defaultdict(float)
    for user, pair, weight, number in rows:
        total[user, number, pair] += weight
    grouped = defaultdict(dict)
    for (user, number, pair), weight in total.items():
        grouped[user, number][pair] = weight
    merged, own = defaultdict(lambda: defaultdict(float)), defaultdict(float)
    for (user, number), pairs in grouped.items():
        if number is None or len({frozenset(pair) for pair in pairs}) == 1:
            for pair, weight in pairs.items():
                own[user, pair] += weight
        else:
            for pair, weight in pairs.items():
                merged[user, frozenset(pairs)][pair] += weight
    return {key: dict(pairs) for key, pairs in merged.items()}, dict(own)


def rankings_of_comparisons(comparisons):
    ids = comparisons.ranking_id
    ids = np.full(len(comparisons), -1) if ids is None else ids
    label = comparisons.items.tolist()
    users = comparisons.users.tolist()
    grouped, own = defaultdict(dict), {}
    for m, i, j, weight, number in zip(
        comparisons.user, comparisons.winner, comparisons.loser, comparisons.weight, ids,
        strict=True,
    ):  # fmt: skip
        pair = label[i], label[j]
        if number < 0:
            assert (users[m], pair) not in own  # merged
            own[users[m], pair] = weight
        else:
            assert pair not in grouped[users[m], number]
            grouped[users[m], number][pair] = weight
    found = {(user, frozenset(pairs)): pairs for (user, _), pairs in grouped.items()}
    assert len(found) == len(grouped)  # no ranking of a user stands there twice
    return found, own


@pytest.mark.slow
@given(rows=rows_strategy)
def test_the_normal_form_holds_every_ranking_of_a_user(rows):
    found, own = rankings_of_comparisons(made(rows))
    expected, expected_own = rankings_of_rows(rows)
    assert (found, own) == (expected, expected_own)
    assert (made(rows).ranking_id is None) == (not expected)


@pytest.mark.slow
@given(rows=rows_strategy, order=st.randoms(use_true_random=False), names=st.permutations("wxyz"))
def test_neither_the_order_of_rows_nor_the_names_of_ids_matter(rows, order, names):
    before = made(rows)
    again = [(u, pair, w, None if n is None else names[n]) for u, pair, w, n in rows]
    order.shuffle(again)
    after = made(again)
    assert after == before
    for name in ("user", "winner", "loser", "weight", "ranking_id"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert mean_independent_share(after) == mean_independent_share(before)


@pytest.mark.slow
@given(rows=rows_strategy)
def test_without_ids_all_is_as_if_there_had_never_been_any(rows):
    users, pairs, weights, _ = zip(*rows, strict=True)
    plain = mm.Comparisons.from_arrays(users, *zip(*pairs, strict=True), weights)
    found = made(rows).without_ranking_id()
    assert found.ranking_id is None
    assert plain.fingerprint() == found.fingerprint()
    assert (made(rows) == plain) == (made(rows).ranking_id is None)


def test_a_fingerprint_without_ids_is_that_of_before_there_were_any():
    expected = (DATA / "store_format_1.fingerprint").read_text()
    assert read_comparisons(DATA / "store_format_1.csv").fingerprint() == expected


@pytest.mark.slow
@given(rows=rows_strategy, numbers=st.permutations(range(3)))
def test_ids_survive_taking_users(rows, numbers):
    everybody = made(rows)
    chosen = [m for m in numbers[:2] if m < everybody.n_users]
    names = everybody.users[chosen].tolist()
    taken = everybody.take_users(chosen)
    found, own = rankings_of_comparisons(taken)
    expected, expected_own = rankings_of_rows([row for row in rows if row[0] in names])
    assert (found, own) == (expected, expected_own)
    assert everybody.of(*names) == taken
    assert everybody.take_users(np.arange(everybody.n_users)) == everybody


@pytest.mark.slow
@given(rows=rows_strategy, items=st.permutations("abcd"))
def test_ids_survive_other_items(rows, items):
    before = made(rows)
    assert before.with_items([*items, "e"]).with_items(before.items) == before
    few = before.with_items(["c", "b", "a"], unknown_items="drop")
    kept = [row for row in rows if "d" not in row[1]]
    assert rankings_of_comparisons(few) == rankings_of_rows(kept)


@pytest.mark.slow
@given(rows=rows_strategy)
def test_ids_survive_tables(rows):
    before = made(rows)
    assert ("ranking_id" in before.to_arrow().column_names) == (before.ranking_id is not None)
    for like in ("pyarrow", "pandas", "polars"):
        assert read_comparisons(before.to_frame(like)) == before


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".sqlite"])
@settings(max_examples=5)
@given(rows=rows_strategy)
def test_ids_survive_files(tmp_path_factory, ending, rows):
    before, file = made(rows), tmp_path_factory.mktemp("files") / f"votes{ending}"
    write_table(as_table(before), file)
    after = read_comparisons(
        file, **({"query": "SELECT * FROM votes"} if ending == ".sqlite" else {})
    )
    assert after == before


@pytest.mark.slow
@settings(max_examples=15)
@given(rows=rows_strategy, order=st.randoms(use_true_random=False))
def test_ids_survive_a_store(tmp_path_factory, rows, order):
    before, folder = made(rows), tmp_path_factory.mktemp("store")
    table = before.to_arrow()
    rows_in_any_order = list(range(table.num_rows))
    order.shuffle(rows_in_any_order)
    pq.write_table(table.take(pa.array(rows_in_any_order)), folder / "votes.parquet")
    write_table(table, folder / "votes.csv")
    for ending in ("parquet", "csv"):
        stored = store_comparisons(folder / f"votes.{ending}", folder / ending)
        assert stored.ranked == (before.ranking_id is not None)
        assert stored.fingerprint() == before.fingerprint()
        for mine, theirs in zip(stored.blocks(), make_blocks(before), strict=True):
            for name in ("starts", "pair", "weight", "ranking_id"):
                np.testing.assert_array_equal(getattr(mine.load(), name), getattr(theirs, name))


def ranked_sample(n_users=300):
    """Users with three rankings of four items each, and two answers of their own."""
    random = np.random.default_rng(0)
    user, winner, loser, ids = [], [], [], []
    for m in range(n_users):
        for number in range(3):
            order = random.permutation(list("abcdefg"))[:4].tolist()
            for better in range(4):
                for worse in range(better + 1, 4):
                    user.append(m)
                    winner.append(order[better])
                    loser.append(order[worse])
                    ids.append(number)
        for _ in range(2):
            better, worse = random.permutation(list("abcdefg"))[:2].tolist()
            user.append(m)
            winner.append(better)
            loser.append(worse)
            ids.append(None)
    return mm.Comparisons.from_arrays(user, winner, loser, ranking_id=ids)


def test_parts_of_which_only_some_have_ids_make_the_same_store(tmp_path, monkeypatch):
    sample = ranked_sample(40)
    ids = np.where(sample.user < 20, -1, sample.ranking_id)
    late = mm.Comparisons.from_codes(
        sample.user, sample.winner, sample.loser, sample.weight, sample.items, sample.users,
        ranking_id=ids,
    )  # fmt: skip
    pq.write_table(late.to_arrow(), tmp_path / "votes.parquet")
    for number, plan in enumerate([Plan(1, 40, np.uint32), Plan(7, 6, np.uint64)]):
        monkeypatch.setattr(store, "plan_parts", lambda *_, plan=plan, **__: plan)
        stored = store_comparisons(tmp_path / "votes.parquet", tmp_path / f"x{number}")
        assert stored.fingerprint() == late.fingerprint()
    files = [{file.name for file in (tmp_path / name).iterdir()} for name in ("x0", "x1")]
    assert files[0] == files[1] and "ranking_id" in files[0]
    assert all((tmp_path / "x0" / n).read_bytes() == (tmp_path / "x1" / n).read_bytes()
               for n in files[0])  # fmt: skip


def test_a_store_of_before_there_were_ids_is_read(tmp_path):
    shutil.copytree(DATA / "store_format_1", tmp_path / "old")
    stored = StoredComparisons(tmp_path / "old")
    expected = read_comparisons(DATA / "store_format_1.csv")
    assert not stored.ranked
    assert stored.fingerprint() == (DATA / "store_format_1.fingerprint").read_text()
    for mine, theirs in zip(stored.blocks(), make_blocks(expected), strict=True):
        assert mine.load().ranking_id is None
        for name in ("starts", "pair", "weight"):
            np.testing.assert_array_equal(getattr(mine.load(), name), getattr(theirs, name))


def test_blocks_pieces_and_samples_hold_the_ids_of_their_rows():
    sample = ranked_sample()
    blocks = make_blocks(sample)
    assert len(blocks) > 1
    joined = comparisons_of_blocks(blocks, sample.items, sample.users)
    assert joined == sample
    parts = [part for block in blocks for _, part in pieces(block)]
    assert comparisons_of_blocks(parts, sample.items, sample.users) == sample
    drawn = sample_blocks(blocks, 0.5, 3, ThreadEngine(1))
    some = comparisons_of_blocks(drawn, sample.items)
    assert 100 < some.n_users < 200 and some.ranking_id is not None
    per_user = [rankings_of_comparisons(sample.take_users([m])) for m in range(sample.n_users)]
    known = [[frozenset(pairs) for _, pairs in found] for found, _ in per_user]
    for m in range(some.n_users):
        found, _ = rankings_of_comparisons(some.take_users([m]))
        assert [frozenset(pairs) for _, pairs in found] in known


@pytest.mark.parametrize("by", ["comparisons", "items"])
def test_ids_survive_splits(by):
    sample = ranked_sample(60)
    parts = split_comparisons(sample, by, 0.5, 1)
    whole = rankings_of_comparisons(sample)[0]
    for part in parts:
        found = rankings_of_comparisons(part)[0]
        assert found
        for (user, _), pairs in found.items():
            assert any(user == name and set(pairs) <= all_of for name, all_of in whole)
    if by == "comparisons":
        assert sum(part.n_comparisons for part in parts) == sample.n_comparisons


def test_user_weights_do_not_touch_ids():
    sample = ranked_sample(5)
    assert replace(sample, user_weight=2 * sample.user_weight).ranking_id is sample.ranking_id


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mallowmix.errors.FitWarning")
def test_fits_are_the_same_with_and_without_ids():
    """Each user has one ranking: the rows are the same."""
    orders = [np.random.default_rng(m).permutation(list("abcde")).tolist() for m in range(60)]
    ranked = mm.Rankings.from_orders(orders).comparisons()
    assert ranked.ranking_id is not None
    one, other = (
        mm.fit(data, 2, seed=1, predictor=False) for data in (ranked, ranked.without_ranking_id())
    )
    for name in ("sigma", "phi", "alpha"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_every_best_worst_choice_has_its_id():
    table = {
        "user": ["ann", "ann", "bob"],
        "shown": ["a|b|c", "a|b|c|d", "a|b"],
        "best": ["a", "b", "a"],
        "worst": ["c", "d", "b"],
    }
    found, own = rankings_of_comparisons(read_comparisons(table, format="best-worst"))
    first = {("a", "c"), ("a", "b"), ("b", "c")}
    second = {("b", "d"), ("b", "a"), ("b", "c"), ("a", "d"), ("c", "d")}
    assert set(found) == {("ann", frozenset(first)), ("ann", frozenset(second))}
    assert own == {("bob", ("a", "b")): 1.0}


def test_every_list_of_clicks_has_its_id():
    table = {
        "user": ["ann"] * 6,
        "list": [1, 1, 1, 2, 2, 2],
        "item": ["a", "b", "c", "a", "b", "c"],
        "clicked": [1, 0, 0, 1, 1, 0],
    }
    found, own = rankings_of_comparisons(read_comparisons(table, format="implicit"))
    lists = {("a", "b"), ("a", "c")}, {("a", "c"), ("b", "c")}
    assert set(found) == {("ann", frozenset(pairs)) for pairs in lists} and not own


def test_several_rankings_of_one_user_are_kept_apart_and_equal_ones_merged():
    orders = [list("abc"), list("acb"), list("abc")]
    made_of = mm.Rankings.from_orders(orders, ["ann"] * 3).comparisons()
    found, own = rankings_of_comparisons(made_of)
    assert not own
    assert found == {
        ("ann", frozenset({("a", "b"), ("b", "c"), ("a", "c")})): {
            ("a", "b"): 2.0, ("b", "c"): 2.0, ("a", "c"): 2.0
        },
        ("ann", frozenset({("a", "c"), ("c", "b"), ("a", "b")})): {
            ("a", "c"): 1.0, ("c", "b"): 1.0, ("a", "b"): 1.0
        },
    }  # fmt: skip


def test_bad_ids():
    with pytest.raises(DataError, match="There are 1 ranking ids for 2 comparisons"):
        mm.Comparisons.from_arrays(["ann"] * 2, list("ab"), list("ba"), ranking_id=[1])
    with pytest.raises(DataError, match=r"ranking_id has the shape \(1,\) for 2 rows"):
        mm.Comparisons.from_codes([0, 0], [0, 1], [1, 0], None, list("ab"), ["ann"], ranking_id=[0])


def test_rows_that_are_dropped_take_their_ids_with_them():
    columns = ["ann"] * 4, ["a", "a", None, "b"], ["b", "a", "c", "c"]
    found = mm.Comparisons.from_arrays(
        *columns, ranking_id=["x", "y", "y", "x"], missing="drop", self_pairs="drop"
    )
    assert found.ranking_id.tolist() == [0, 0]


# ---- ties of several rankings ----


@pytest.mark.slow
def test_the_halves_of_every_ranking_s_tie_are_found_and_go_together():
    """Two rankings of each user tie a and b, a third one has a over b."""
    orders = [[["a", "b"], "c"], ["c", ["a", "b"]], ["a", "b", "c"]]
    data = mm.Rankings.from_orders(
        [order for _ in range(40) for order in orders], np.repeat(np.arange(40), 3).tolist()
    ).comparisons("half")
    rows = data.starts(), data.pair, data.weight, data.n_items
    half = data.weight == 0.5
    assert half.sum() == 4 * 40
    np.testing.assert_array_equal(tie_halves(*rows), np.where(half, 0.25, 0.0))
    first = first_half(*rows, 0, as_key(1))
    for m in range(data.n_users):
        mine = (data.user == m) & half
        for number in np.unique(data.ranking_id[mine]):
            pieces_of_tie = first[mine & (data.ranking_id == number)]
            assert pieces_of_tie[0] == pieces_of_tie[1] and pieces_of_tie[0] in (0, 0.5)
    # both happen: 80 ties, the chance that all go one way is 2^-79
    assert 0 < first[half].sum() < half.sum() / 2


# ---- how many independent answers ----


def slow_shares(comparisons):
    groups = defaultdict(list)
    ids = comparisons.ranking_id
    for row in range(len(comparisons)):
        number = -1 if ids is None else int(ids[row])
        groups[int(comparisons.user[row]), number].append(row)
    shares = {}
    for (user, number), rows in groups.items():
        pairs = {frozenset((int(comparisons.winner[r]), int(comparisons.loser[r]))) for r in rows}
        share = 1.0 if number < 0 else min(1.0, (len(set().union(*pairs)) - 1) / len(pairs))
        shares[user, number] = share, sum(comparisons.weight[r] for r in rows)
    return shares


@pytest.mark.slow
@given(rows=rows_strategy)
def test_shares_are_those_of_a_slow_twin(rows):
    data = made(rows)
    found, expected = independent_shares(data), slow_shares(data)
    keys = list(zip(found.user.tolist(), found.ranking_id.tolist(), strict=True))
    assert keys == sorted(expected)
    np.testing.assert_allclose(found.share, [expected[key][0] for key in keys])
    np.testing.assert_allclose(found.weight, [expected[key][1] for key in keys])
    worth = [
        sum(share * weight for (user, _), (share, weight) in expected.items() if user == m)
        / sum(weight for (user, _), (_, weight) in expected.items() if user == m)
        for m in range(data.n_users)
    ]
    assert mean_independent_share(data) == pytest.approx(np.mean(worth))


@pytest.mark.parametrize("n", [3, 4, 7, 12])
def test_a_ranking_of_n_items_is_worth_n_less_one_answers(n):
    one = mm.Rankings.from_orders([[str(i) for i in range(n)]]).comparisons()
    assert mean_independent_share(one) == pytest.approx(2 / n)
    users = ["ann"] * n, [str(i) for i in range(n)], list(range(n))
    assert mean_independent_share(mm.comparisons_from_ratings(*users)) == pytest.approx(2 / n)
    tied = mm.Rankings.from_orders([[[str(i) for i in range(n)]]]).comparisons("half")
    assert mean_independent_share(tied) == pytest.approx(2 / n)
    assert mean_independent_share(one.without_ranking_id()) == 1.0


def test_users_without_comparisons_do_not_count_in_the_mean():
    one = mm.Rankings.from_orders([list("abcd"), ["a"]]).comparisons()
    assert one.n_users == 2
    assert mean_independent_share(one) == pytest.approx(0.5)
