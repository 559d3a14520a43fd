"""What readers count and weigh: ties, both bad, shares of people, item-disjoint halves, voters,
notes; against slow twins.
"""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

import mallowmix as mm
from mallowmix.errors import DataError, DataWarning, OptionError
from mallowmix.readers import read
from mallowmix.readers.mat_files import read_mat
from mallowmix.readers.order_weights import with_user_weights
from mallowmix.writers import as_table, preflib_text, rankings_of, sample_profile
from mallowmix.writers.files import check_writable

ITEMS = list("vwxyz")


def as_dict(votes):
    rows = zip(votes.user, votes.winner, votes.loser, votes.weight, strict=True)
    return {(votes.users[m], votes.items[i], votes.items[j]): weight for m, i, j, weight in rows}


# ---- battles ----

OUTCOMES = ["left", "right", "tie", "both_bad"]
battle = st.tuples(
    st.sampled_from("abc"),
    st.permutations(ITEMS).map(lambda order: order[:2]),
    st.sampled_from(OUTCOMES),
    st.integers(1, 3),
)


def battle_twin(rows, ties, both_bad):
    """Row by row, in a dictionary."""
    found = {}
    for user, (left, right), outcome, weight in rows:
        tied = outcome == "tie" or (outcome == "both_bad" and both_bad == "tie")
        pairs = {"left": [(left, right, 1)], "right": [(right, left, 1)]}.get(outcome, [])
        pairs = [(left, right, 0.5), (right, left, 0.5)] if tied and ties == "half" else pairs
        for winner, loser, part in pairs:
            found[user, winner, loser] = found.get((user, winner, loser), 0) + part * weight
    return found


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(battle, min_size=1, max_size=12),
    ties=st.sampled_from(["drop", "half"]),
    both_bad=st.sampled_from(["drop", "tie"]),
)
def test_battles_against_a_slow_twin(rows, ties, both_bad):
    table = {
        "user": [row[0] for row in rows],
        "left": [row[1][0] for row in rows],
        "right": [row[1][1] for row in rows],
        "outcome": [row[2] for row in rows],
        "weight": [row[3] for row in rows],
    }
    expected = battle_twin(rows, ties, both_bad)
    if not expected:
        with pytest.raises(DataError, match="not one battle has a winner"):
            read(table, ties=ties, both_bad=both_bad)
        return
    found = read(table, ties=ties, both_bad=both_bad)
    assert as_dict(found.comparisons) == expected
    counts = {word: sum(row[3] for row in rows if row[2] == word) for word in OUTCOMES}
    assert found.n_both_bad == counts["both_bad"]
    assert found.n_ties == counts["tie"] + (counts["both_bad"] if both_bad == "tie" else 0)
    assert found.sides.weight.sum() == counts["left"] + counts["right"]
    assert found.sides.weight[found.sides.left_won].sum() == counts["left"]


def test_what_is_left_out_without_a_word_is_said():
    table = {
        "judge": ["a"] * 3,
        "model_a": ["x"] * 3,
        "model_b": ["y"] * 3,
        "winner": ["model_a", "tie", "tie (bothbad)"],
    }
    with pytest.warns(DataWarning) as notes:
        mm.read_comparisons(table)
    said = [str(note.message) for note in notes]
    assert said[0] == (
        "The table was read as battles (left from 'model_a', right from 'model_b', outcome from "
        "'winner', user from 'judge'); "
        'pass format="battles" to say so yourself.'
    )
    assert said[1].startswith('1 of 3 battles are ties and were left out; ties="half" counts each')
    assert said[2].startswith(
        "In 1 of 3 battles both were bad: that is not a tie, and they were left out"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mm.read_battles(table, ties="drop", both_bad="drop")


def test_plain_comparisons_need_no_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mm.read_comparisons({"user": ["a"], "winner": ["x"], "loser": ["y"]})
        mm.read_comparisons(
            {"judge": ["a"], "winner": ["x"], "loser": ["y"]}, columns={"user": "judge"}
        )
    with pytest.warns(DataWarning, match="read as comparisons \\(user from 'judge'\\)"):
        mm.read_comparisons({"judge": ["a"], "winner": ["x"], "loser": ["y"]})


def test_without_people_one_user_must_insist():
    pairs = [("x", "y"), ("y", "z")]
    with pytest.raises(DataError, match="so it needs a column of users"):
        mm.read_choix(pairs)
    assert mm.read_choix(pairs, one_user=True) == mm.Comparisons.from_arrays(
        ["everybody"] * 2, ["x", "y"], ["y", "z"]
    )


@pytest.mark.parametrize(
    "table",
    [
        {"item": ["x", "y"], "rank": [1, 2]},
        {"ranking": ["x > y"]},
        {"rank_1": ["x"], "rank_2": ["y"]},
        {"x": [1], "y": [2]},
    ],
    ids=", ".join,
)
def test_one_user_may_have_given_rankings_of_any_shape(table):
    expected = mm.Comparisons.from_arrays(["everybody"], ["x"], ["y"])
    assert mm.read_rankings(table, one_user=True) == expected


# ---- ratings and rankings ----


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    stars=st.dictionaries(
        st.sampled_from("abcd"),
        st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 4), min_size=1),
        min_size=1,
    )
)
def test_ratings_rankings_and_shares_against_a_slow_twin(stars):
    """The same weak orders as ratings and as rankings; what a person counts, counted by hand."""
    rows = [(who, item, rating) for who, given in stars.items() for item, rating in given.items()]
    user, item, rating = (list(column) for column in zip(*rows, strict=True))
    expected, ties = {}, 0
    for who, given_by in stars.items():
        for a, b in itertools.permutations(given_by, 2):
            if given_by[a] > given_by[b]:
                expected[who, a, b] = 1
            ties += given_by[a] == given_by[b] and a < b
    if not expected:
        return
    found = read({"user": user, "item": item, "rating": rating}, ties="drop")
    ranks = read({"user": user, "item": item, "rank": [5 - each for each in rating]}, ties="drop")
    assert as_dict(found.comparisons) == as_dict(ranks.comparisons) == expected
    assert found.n_ties == ranks.n_ties == ties
    half = read({"user": user, "item": item, "rating": rating}, ties="half").comparisons
    assert half.n_comparisons == len(expected) + ties
    for how in ("ratings", "equal"):
        votes = with_user_weights(found.comparisons, how)
        made = {who: sum(key[0] == who for key in expected) for who in stars}
        links = {who: len(stars[who]) - 1 for who in stars if made[who]}
        for m, who in enumerate(votes.users):
            say = links[who] if how == "ratings" and made[who] else np.mean(list(links.values()))
            assert votes.user_weight[m] == pytest.approx(say / made[who] if made[who] else 1)
            assert how == "equal" or votes.user_weight[m] <= 1


def test_top_k_lists_put_the_others_below():
    table = {"user": ["a"], "ranking": [["x", "y"]]}
    both = {"user": ["a", "b"], "ranking": [["x"], ["y", "z"]]}
    assert mm.read_rankings(table).n_comparisons == 1
    found = mm.read_rankings(both, unlisted="below", ties="drop")
    assert as_dict(found) == dict.fromkeys(
        [("a", "x", "y"), ("a", "x", "z"), ("b", "y", "z"), ("b", "y", "x"), ("b", "z", "x")], 1
    )


def test_integer_weights_equal_repeated_rows():
    """Frequencies: the same comparisons, the same model."""
    rows = [("a", "x", "y", 2), ("a", "y", "z", 1), ("b", "z", "x", 3), ("c", "x", "z", 1)]
    repeated = [row[:3] for row in rows for _ in range(row[3])]
    assert mm.read_comparisons(rows) == mm.read_comparisons(repeated)
    table = {"user": ["a", "b"], "ranking": ["x > y > z", "z > x"], "weight": [2, 1]}
    twice = {"user": ["a", "a", "b"], "ranking": ["x > y > z", "x > y > z", "z > x"]}
    assert mm.read_rankings(table) == mm.read_rankings(twice)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_halves_share_no_item_of_a_person(seed):
    votes = mm.load_dishes(n_users=20, per_user=30).comparisons
    halves = mm.split_items(votes, seed=seed)
    assert halves == mm.split_items(votes, seed=seed)
    things = [
        {(m, i) for m, *pair in zip(half.user, half.winner, half.loser, strict=True) for i in pair}
        for half in halves
    ]
    assert not things[0] & things[1]
    whole = as_dict(votes)
    for half in halves:
        assert half.n_users == votes.n_users and as_dict(half).items() <= whole.items()


def test_about_half_of_the_comparisons_are_within_a_half():
    """Each comparison stays with probability ½; were all of a person's to stay or go together, 0.1
    would be 5 standard errors.
    """
    votes = mm.load_dishes().comparisons
    kept = sum(half.n_comparisons for half in mm.split_items(votes)) / votes.n_comparisons
    assert abs(kept - 0.5) < 0.1


# ---- MATLAB ----


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32, np.float32, np.float64])
def test_matlab_files_against_scipy(tmp_path, compressed, kind):
    tables = {
        "train_vec": np.arange(12).reshape(4, 3).astype(kind),
        "other": np.eye(2),
        "words": "text",
        "probe_vec": np.ones((1, 3), kind),
    }
    savemat(tmp_path / "a.mat", tables, do_compression=compressed)
    found = read_mat(tmp_path / "a.mat", ("train_vec", "probe_vec"))
    assert set(found) == {"train_vec", "probe_vec"}
    for name, table in found.items():
        np.testing.assert_array_equal(table, tables[name])


# ---- PrefLib ----

WHOLE_HEADER = """# FILE NAME: 00001-00000001.toi
# TITLE: A vote: drinks
# DESCRIPTION:
# DATA TYPE: toi
# MODIFICATION TYPE: original
# RELATES TO:
# RELATED FILES: 00001-00000001.toc
# PUBLICATION DATE: 2013-08-17
# MODIFICATION DATE: 2022-09-16
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 6
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: tea: green
# ALTERNATIVE NAME 2: milk
# ALTERNATIVE NAME 3: Käse
3: 1,{2,3}
2: 2
1: {3}, 1
"""


@pytest.mark.parametrize(
    "change",
    [
        str,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text + "\n\n",
    ],
)
def test_every_line_of_the_format_is_read(tmp_path, change):
    (tmp_path / "votes.toi").write_bytes(change(WHOLE_HEADER).encode())
    found = read(tmp_path / "votes.toi", ties="drop")
    assert (found.form, found.n_ties, found.comparisons.n_users) == ("preflib", 3, 6)
    expected = {(m, "tea: green", other): 1 for m in (1, 2, 3) for other in ("Käse", "milk")} | {
        (6, "Käse", "tea: green"): 1
    }
    assert as_dict(found.comparisons) == expected


# ---- writers ----


def test_comparisons_that_are_no_ranking_are_named():
    for rows in (
        [("a", "x", "y"), ("a", "y", "z")],
        [("a", "x", "y"), ("a", "y", "x")],
        [("a", "x", "y"), ("a", "y", "z"), ("a", "z", "x")],
    ):
        with pytest.raises(
            DataError, match="The comparisons of user 'a' are not those of one ranking"
        ):
            rankings_of(mm.read_comparisons(rows))


@settings(max_examples=40, deadline=None)
@given(
    orders=st.lists(st.permutations(ITEMS), min_size=1, max_size=5),
    ties=st.sampled_from(["drop", "half"]),
    cut=st.integers(2, 5),
)
def test_rankings_come_back_from_their_comparisons(orders, ties, cut):
    """Partial orders of `cut` items, the second and third tied."""
    given_orders = [
        [order[0], list(order[1:3]), *order[3:cut]] if cut > 2 else list(order[:2])
        for order in orders
    ]
    rankings = mm.Rankings.from_orders(
        given_orders, [str(n) for n in range(len(orders))], items=ITEMS
    )
    assert rankings_of(rankings.comparisons(ties)) == rankings


def test_what_a_form_cannot_hold_is_said():
    votes = mm.read_battles(
        {"user": ["a", "a"], "left": ["x", "x"], "right": ["y", "z"], "outcome": ["tie", "left"]},
        ties="half",
    )
    assert read(as_table(votes, "battles"), ties="half", format="battles").comparisons == votes
    with pytest.raises(DataError, match="There are ties, which best-worst cannot hold"):
        as_table(votes, "best-worst")
    with pytest.raises(DataError, match="weights that are not whole, which choix cannot hold"):
        as_table(mm.read_comparisons([("a", "x", "y", 0.3)]), "choix")
    with pytest.raises(OptionError, match="form is 'votes'"):
        as_table(votes, "votes")


def test_only_endings_that_can_be_written(tmp_path):
    for name in ("a.txt", "a.parquet.gz", "a"):
        with pytest.raises(OptionError, match="does not tell how to write it"):
            check_writable(tmp_path / name)


def test_preflib_text_by_hand():
    rankings = mm.Rankings.from_orders([["b", ["a", "c"]], ["b", ["a", "c"]], ["a"]])
    lines = preflib_text(rankings, "votes.toi").splitlines()
    assert lines[2:6] == [
        "# DATA TYPE: toi",
        "# NUMBER ALTERNATIVES: 3",
        "# NUMBER VOTERS: 3",
        "# NUMBER UNIQUE ORDERS: 2",
    ]
    assert lines[6:] == [
        "# ALTERNATIVE NAME 1: a",
        "# ALTERNATIVE NAME 2: b",
        "# ALTERNATIVE NAME 3: c",
        "2: 2,{1,3}",
        "1: 1",
    ]
    with pytest.raises(
        DataError, match=r"these rankings are with ties, incomplete; use the ending \.toi"
    ):
        preflib_text(rankings, "votes.soc")


def test_voters_drawn_from_a_model_have_its_pairwise_probabilities():
    """P(i over j) = Σ_k (α_k / α₀) β_k(i, j). Standard errors are below .0036: 4 of them, for 15
    pairs, fail once in 1,000.
    """
    model = mm.M4.from_orders(["abcdef", "fdbeca"], [0.3, 0.6], [1.0, 2.0])
    profile = sample_profile(model, 20_000, seed=5)
    assert profile.is_full and profile.n_users == 20_000
    places = profile.positions()
    wins = (places[:, :, None] < places[:, None, :]).mean(axis=0)
    expected = np.einsum("k,kij->ij", model.alpha / model.alpha.sum(), model.beta())
    assert np.abs(wins - expected)[~np.eye(6, dtype=bool)].max() < 0.0145
    assert profile == sample_profile(model, 20_000, seed=5)
