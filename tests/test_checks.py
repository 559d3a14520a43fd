"""The data report, against a slow twin and by reading what it says."""

import json
import warnings
from itertools import combinations
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mallowmix.checks.data_report import check, warn_about
from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataWarning, OptionError
from mallowmix.readers import read


def comparisons_of(rows, items=None):
    user, winner, loser = zip(*rows, strict=True)
    comparisons = Comparisons.from_arrays(list(user), list(winner), list(loser))
    return comparisons if items is None else comparisons.with_items(items)


FINE = [(user, *pair) for user in "abc" for pair in [("x", "y"), ("y", "z"), ("z", "x")]]


def spread(counts):
    return {"min": min(counts), "median": median(counts), "max": max(counts)}


def twin(rows, items):
    """The numbers of the report from plain rows, by Python alone."""
    users = sorted({row[0] for row in rows})
    counts = [sum(row[0] == user for row in rows) for user in users]
    winners, losers = {row[1] for row in rows}, {row[2] for row in rows}
    pieces = [{item} for item in winners | losers]
    for _, winner, loser in rows:
        joined = [piece for piece in pieces if winner in piece or loser in piece]
        pieces = [piece for piece in pieces if piece not in joined] + [set().union(*joined)]
    pieces = sorted(map(sorted, pieces), key=lambda piece: (-len(piece), piece[0]))
    return {
        "n_users": len(users),
        "n_items": len(items),
        "n_comparisons": len(rows),
        "n_rows": len(set(rows)),
        "pairs_seen": len({frozenset(row[1:]) for row in rows}),
        "pairs_possible": len(list(combinations(items, 2))),
        "per_user": {"min": min(counts), "median": median(counts), "max": max(counts)},
        "activity": {
            f"{p} %": sorted(counts)[max(0, -(-p * len(counts) // 100) - 1)]
            for p in (10, 25, 50, 75, 90)
        },
        "busy_share": sum(sorted(counts)[-max(1, round(len(counts) / 10)) :]) / len(rows),
        "per_pair": spread(
            [
                sum(frozenset(row[1:]) == pair for row in rows)
                for pair in {frozenset(row[1:]) for row in rows}
            ]
        ),
        **dict.fromkeys(("form", "n_ties", "ties", "n_both_bad", "position", "support", "cycle")),
        "users_below_two": [user for user, count in zip(users, counts, strict=True) if count < 2],
        "never_compared": [item for item in items if item not in winners | losers],
        "never_win": sorted(losers - winners),
        "never_lose": sorted(winners - losers),
        "pieces": [len(piece) for piece in pieces],
        "smaller_pieces": pieces[1:],
        "n_repeated": len(rows) - len(set(rows)),
        "n_contradictions": sum((user, loser, winner) in rows for user, winner, loser in set(rows))
        // 2,
    }


def too_small(rows, items):
    """How many of the three rules of thumb are far from met with one component."""
    users = sorted({row[0] for row in rows})
    counts = [sum(row[0] == user for row in rows) for user in users]
    of_an_item = 2 * len(rows) / len(items)
    return (sum(n >= 2 for n in counts) < 10) + (median(counts) < 2) + (of_an_item < 20)


ROW = st.tuples(
    st.sampled_from("abcd"), st.sampled_from("stuvwxyz"), st.sampled_from("stuvwxyz")
).filter(lambda row: row[1] != row[2])


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=14))
def test_every_number_against_a_slow_twin(rows):
    report = check(comparisons_of(rows, list("stuvwxyz"))).to_dict()
    sentences, advice = report.pop("warnings"), report.pop("advice")
    assert len(report.pop("shortage")) == too_small(rows, list("stuvwxyz"))
    assert report == twin(rows, list("stuvwxyz"))
    concerns = [
        report["users_below_two"],
        report["never_compared"],
        report["never_win"],
        report["never_lose"],
        report["smaller_pieces"],
    ]
    assert len(sentences) == len(advice) == sum(map(bool, concerns))


def test_good_data_raises_no_concern():
    report = check(comparisons_of(FINE))
    assert report.warnings == [] and report.advice == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about(comparisons_of(FINE))


def test_users_with_fewer_than_two_comparisons():
    report = check(comparisons_of([*FINE, ("d", "x", "y"), ("e", "y", "x"), ("f", "x", "z")]))
    assert report.warnings == [
        "3 users made fewer than two comparisons: they show nothing about which choices go "
        "together, and are left out of the moments."
    ]
    assert report.advice == [
        "Ask 'd', 'e' and 'f' for more comparisons, or leave them as they are: nobody else is "
        "affected."
    ]
    one = check(comparisons_of([*FINE, ("d", "x", "y")]))
    assert one.warnings[0].startswith("1 user made fewer than two comparisons: it shows nothing")
    assert one.warnings[0].endswith("and is left out of the moments.")


def test_a_repeated_comparison_counts_as_two():
    assert check(comparisons_of([*FINE, ("d", "x", "y"), ("d", "x", "y")])).users_below_two == []


def test_items_that_never_lose():
    report = check(comparisons_of([*FINE, ("a", "tea", "x"), ("b", "tea", "z")]))
    assert report.warnings == [
        "'tea' never loses: the data cannot tell how far above the others it should stand."
    ]
    assert report.advice == [
        "Ask for comparisons of 'tea' with other popular items, or leave it out."
    ]


def test_items_that_never_win():
    report = check(comparisons_of([*FINE, ("a", "x", "tea"), ("b", "z", "milk")]))
    assert report.warnings == [
        "'milk' and 'tea' never win: the data cannot tell how far below the others they should "
        "stand."
    ]
    assert report.advice == [
        "Ask for comparisons of 'milk' and 'tea' with other unpopular items, or leave them out."
    ]


def test_long_lists_are_cut_short():
    report = check(comparisons_of([*FINE, *(("a", "x", f"tea{n}") for n in range(8))]))
    assert report.warnings[0].startswith(
        "'tea0', 'tea1', 'tea2', 'tea3', 'tea4' and 3 more never win"
    )
    assert len(report.never_win) == 8


def test_items_that_were_never_compared():
    report = check(comparisons_of(FINE, ["x", "y", "z", "tea"]))
    assert report.warnings == [
        "'tea' is in no comparison: its position in every ranking would be a guess."
    ]
    assert report.pieces == [3] and report.never_win == report.never_lose == []


@pytest.mark.parametrize("users", ["ab", "abcdefghijklmnop"])  # fewer and more rows than Q²
def test_a_comparison_graph_in_pieces(users):
    apart = [
        (user, *pair) for user in users for pair in [("p", "q"), ("q", "p"), ("m", "n"), ("n", "m")]
    ]
    report = check(comparisons_of([*FINE, *apart]))
    assert report.pieces == [3, 2, 2] and report.smaller_pieces == [["m", "n"], ["p", "q"]]
    assert report.warnings == [
        "The comparisons fall into 3 pieces (of 3, 2, 2 items): nothing was compared across "
        "them, directly or through other items, so the order between pieces would be a guess."
    ]
    assert report.advice == [
        "Ask for comparisons across the pieces, of 'm' with 'x' for example, or fit each piece "
        "alone."
    ]


def test_contradictions_are_those_of_one_person():
    rows = [("a", "x", "y"), ("b", "y", "x"), ("b", "x", "y"), ("b", "x", "y")]
    report = check(comparisons_of(rows))
    assert report.n_contradictions == 1 and report.n_repeated == 1


def test_a_user_left_without_comparisons_is_counted():
    comparisons = comparisons_of([*FINE, ("d", "p", "q"), ("d", "q", "p")]).with_items(
        ["x", "y", "z"], unknown_items="drop"
    )
    report = check(comparisons)
    assert report.users_below_two == ["d"] and report.per_user["min"] == 0


def test_no_comparisons_at_all_still_gives_a_report():
    empty = comparisons_of([("a", "x", "y")]).with_items(["p", "q"], unknown_items="drop")
    report = check(empty)
    assert report.pieces == [] and report.pairs_seen == 0 and report.never_compared == ["p", "q"]


def test_each_concern_is_given_as_a_warning_that_points_at_the_caller():
    comparisons = comparisons_of([*FINE, ("d", "p", "q")])
    with pytest.warns(DataWarning) as caught:
        warn_about(comparisons)
    assert [str(warning.message) for warning in caught] == check(comparisons).warnings
    assert len(caught) == 4 and {warning.filename for warning in caught} == {__file__}


def test_the_report_is_plain_json_with_text_labels():
    numbers = Comparisons.from_arrays([1, 2], [10, 30], [20, 40])
    report = check(numbers).to_dict()
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["users_below_two"] == ["1", "2"] and report["smaller_pieces"] == [["30", "40"]]


# ---- sides, ties, support ----


def planted_sides(bias, *, n_users=150, per_user=40, seed=0, unfair=False):
    """Battles of four things of worth 1, .5, −.5, −1; left's log-odds are raised by `bias`; unfair:
    the better stands left.
    """
    random = np.random.default_rng(seed)
    worth, n = np.array([1.0, 0.5, -0.5, -1.0]), n_users * per_user
    left = random.integers(0, 4, n)
    right = (left + random.integers(1, 4, n)) % 4
    if unfair:
        left, right = np.minimum(left, right), np.maximum(left, right)
    won = random.random(n) < 1 / (1 + np.exp(-(bias + worth[left] - worth[right])))
    names = np.array(list("abcd"))
    user = np.repeat(np.arange(n_users), per_user)
    return {
        "user": user,
        "left": names[left],
        "right": names[right],
        "outcome": np.where(won, "left", "right"),
    }


@pytest.mark.parametrize("unfair", [False, True])
def test_position_bias_is_found_and_not_blamed_on_the_items(unfair):
    """Standard error of b about .03: 4 of them are .12, once in 16,000. Better items on the left of
    fair sides: no bias.
    """
    biased = check(read(planted_sides(0.5, unfair=unfair))).position
    assert abs(np.log(biased.left_wins / (1 - biased.left_wins)) - 0.5) < 0.15
    assert biased.clear and biased.low < biased.left_wins < biased.high
    fair = check(read(planted_sides(0.0, seed=1, unfair=unfair)))
    assert abs(fair.position.left_wins - 0.5) < 0.035
    assert (fair.position.share_left > 0.6) == unfair
    assert not any("side more often" in warning for warning in fair.warnings)


@pytest.mark.slow
def test_the_interval_of_position_bias_holds_the_truth():
    """95 % of 60 small samples: at most 8 misses but once in 500."""
    truth = 1 / (1 + np.exp(-0.3))
    found = [
        check(read(planted_sides(0.3, n_users=40, per_user=15, seed=seed))).position
        for seed in range(60)
    ]
    assert sum(not each.low <= truth <= each.high for each in found) <= 8


def planted_battles(n_users, per_user, n_seeds):
    """Intervals of what is no bias, from few people."""
    return [
        check(read(planted_sides(0.0, n_users=n_users, per_user=per_user, seed=seed))).position
        for seed in range(n_seeds)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("n_users", "per_user"), [(3, 40), (1, 120)])
def test_the_interval_of_position_bias_of_few_people(n_users, per_user):
    """60 of them, each misses with 5 %: more than 8 once in 500. Scores of one person sum to 0."""
    found = planted_battles(n_users, per_user, 60)
    assert sum(each.clear for each in found) <= 8
    assert np.median([each.high - each.low for each in found]) > 0.1


def test_position_bias_is_said_in_words():
    report = check(read(planted_sides(-0.6)))
    assert any(
        "People choose the right side more often than they should" in warning
        for warning in report.warnings
    )
    assert report.to_dict()["position"]["n_battles"] == 6000


def test_ties_are_no_contradictions():
    table = {
        "user": ["a"] * 4,
        "left": ["x", "x", "y", "x"],
        "right": ["y", "y", "x", "z"],
        "outcome": ["left", "tie", "left", "tie"],
    }
    for ties in ("drop", "half"):
        report = check(read(table, ties=ties))
        assert (report.n_contradictions, report.n_ties, report.ties, report.form) == (
            1,
            2,
            ties,
            "battles",
        )
    ratings = {"user": ["a"] * 3, "item": list("xyz"), "rating": [1, 1, 2]}
    assert check(read(ratings, ties="half")).n_contradictions == 0


def test_three_people_are_too_few_for_any_fit():
    """3 people, 6 comparisons of 3 items: 4 an item. Twelve with 3 each are few, and no more."""
    rows = [(user, *pair) for user in "abc" for pair in [("x", "y"), ("y", "z")]]
    said = check(comparisons_of(rows)).shortage
    assert said[0].startswith("3 people made two comparisons or more: far too few")
    assert said[1].startswith("An item takes part in 4 comparisons: far too few")
    assert len(said) == 2 and said[0] in check(comparisons_of(rows))._repr_html_()
    assert check(comparisons_of(rows), 2).shortage == []  # said of two components instead
    pairs = [("x", "y"), ("y", "z"), ("z", "x")]
    few = [(user, *pair) for user in "abcdefghijkl" for pair in pairs]
    assert check(comparisons_of(few)).shortage == []
    one = check(comparisons_of([("a", "x", "y")])).shortage
    assert one[1].startswith("A typical person made 1 comparison: far too few")


def test_support_by_hand():
    """12 people with 3 comparisons of 3 items each: 6 people a component, 3 comparisons a person,
    12 an item and component.
    """
    rows = [
        (user, *pair) for user in "abcdefghijkl" for pair in [("x", "y"), ("y", "z"), ("z", "x")]
    ]
    report = check(comparisons_of(rows), n_components=2)
    support = report.support
    assert (support.people_per_component, support.per_person, support.per_item_and_component) == (
        6,
        3,
        12,
    )
    assert support.verdict == "no" and support.most_components == 0
    assert support.sentences[0].startswith(
        "6 people for each of 2 components made two comparisons or more: far too few"
    )
    assert "This data cannot support 2 components" in report.warnings[-1]
    thin = check(comparisons_of(rows), n_components=1).support
    assert thin.verdict == "thin" and thin.sentences[2].startswith(
        "An item takes part in 24 comparisons for the one component: few"
    )
    many = Comparisons.from_arrays(
        np.repeat(np.arange(200), 20), ["x", "y"] * 2000, ["y", "z"] * 2000
    )
    assert check(many, 4).support.verdict == "yes" and check(many, 4).support.most_components == 4
    with pytest.raises(OptionError, match="n_components is 0"):
        check(many, 0)
