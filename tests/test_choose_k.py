"""The number of components: planted ones are found, noise is called noise, and the reason says what
was seen.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import counted_users, split_users
from mallowmix.errors import OptionError
from mallowmix.fitting.k_rules import Evidence, ratio, recommend
from mallowmix.fitting.k_users import make_choice_folds
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.held_out_rows import predict_held_out
from mallowmix.infer.heldout.heldout_options import CompletionOptions
from mallowmix.infer.heldout.scored_on import hard_questions
from tests.command_line import run
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


def coins(Q: int, M: int, N: int, seed: int = 0) -> Comparisons:
    random = np.random.default_rng(seed)
    winner = random.integers(0, Q, M * N)
    loser = (winner + random.integers(1, Q, M * N)) % Q
    people = [f"u{m:04d}" for m in range(M)]
    return Comparisons.from_codes(
        np.repeat(np.arange(M), N), winner, loser, None, [f"i{i:02d}" for i in range(Q)], people
    )


# ---- planted and noise ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("K", "Q", "M", "N"), [(2, 12, 200, 40), (3, 20, 300, 60), (5, 30, 500, 80)]
)
def test_planted_numbers_are_found(K, Q, M, N):
    """benchmarks/choose_k.py has larger ones, up to K = 8."""
    choice = mm.choose_k(
        planted(Q, K, 0.3, 0.1, seed=K).sample(M, N, seed=K).comparisons, range(K - 1, K + 2)
    )
    assert choice.k == K and choice.certain
    assert choice.reason.startswith(f"{K}: a")
    assert [row.k for row in choice.table] == [K - 1, K, K + 1]
    best = choice.table[1]
    assert best.agreement > 0.9 and best.eigenvalue > best.noise_edge
    assert choice.table[2].difference <= 2 * choice.table[2].difference_error


@pytest.mark.slow
@pytest.mark.parametrize(("Q", "M", "N"), [(12, 200, 40), (6, 40, 10)])
def test_coin_answers_cannot_be_told(Q, M, N):
    """A false alarm needs a held-out gain of two standard errors (1 in 44) and agreement of three
    pairs in four, at the least.
    """
    choice = mm.choose_k(coins(Q, M, N), range(1, 4))
    assert choice.k is None and not choice.certain
    assert (
        choice.reason.startswith("cannot tell: even") and "no better than a coin" in choice.reason
    )


@pytest.mark.slow
def test_opposite_tastes_are_two_although_one_ranking_is_no_better_than_a_coin():
    model = mm.M4(
        [range(12), range(12)[::-1]], [0.3, 0.3], [0.1, 0.1], [f"i{i:02d}" for i in range(12)]
    )
    choice = mm.choose_k(model.sample(200, 40, seed=1).comparisons, [2, 3])
    # 1 is tried, but was not asked for
    assert choice.k == 2 and [row.k for row in choice.table] == [2, 3]


@pytest.mark.slow
def test_few_people_and_little_said():
    votes = planted(12, 2, 0.3, 0.1).sample(7, 50, seed=0).comparisons
    assert (
        mm.choose_k(votes).reason
        == "cannot tell: 7 people are too few to learn from some and test on others."
    )
    few = planted(20, 3, 0.3, 0.1, seed=1).sample(20, 3, seed=1).comparisons
    assert mm.choose_k(few, range(1, 4)).reason.startswith("cannot tell: ")


@pytest.mark.slow
def test_three_items_have_room_for_four_tastes_at_most():
    votes = planted(3, 1, 0.3).sample(40, 10, seed=0).comparisons
    assert [row.k for row in mm.choose_k(votes, range(1, 9)).table] == [1, 2, 3, 4]


# ---- rules ----


def evidence(k, gains, agreement=1.0):
    """Held-out scores of people with 10 comparisons each: `gains` above a coin, per person."""
    scores = np.column_stack(
        [10 * -math.log(2) + np.asarray(gains, float), np.full(len(gains), 10.0)]
    )
    return Evidence(k, scores, 1 / k, 1.0, (1.0,) * (k - 1) + (agreement,))


ONE, TWO = evidence(1, [2, 3, 4, 3]), evidence(2, [4, 5, 6, 5.1])


@pytest.mark.parametrize(
    ("third", "k", "says"),
    [
        # a gain of +0.0025, by hand: (0 + 0 + .3 − .2) / 40
        (
            evidence(3, [4, 5, 6.3, 4.9]),
            2,
            "2: a third component does not predict new people better: +0.0025 per comparison, "
            "give or take",
        ),
        # better for each of them, if by little: 3 is the best, and 2 is not within its error
        (
            evidence(3, [5, 6, 7, 6.2]),
            3,
            "3: the largest number tried predicts new people best; more may predict still better",
        ),
        # by the same in everybody, but next to nothing: .0004 per comparison
        (
            evidence(3, [4.004, 5.004, 6.004, 5.104]),
            2,
            "2: a third component does not predict new people better: +0.0004 per comparison",
        ),
    ],
)
def test_the_smallest_number_within_one_standard_error_of_the_best(third, k, says):
    found, reason, certain = recommend([ONE, TWO, third], shown=k)
    assert found == k and reason.startswith(says)
    assert certain == (k == 2)


def test_certain_needs_the_spectrum_stable_components_and_a_larger_number():
    third = evidence(3, [4, 5, 5.9, 4.9])
    assert recommend([ONE, TWO, third], shown=2)[2]
    assert not recommend([ONE, TWO, third], shown=3)[2]
    assert not recommend([ONE, TWO, third], shown=None)[2]
    assert not recommend([ONE, evidence(2, [4, 5, 6, 5.1], agreement=0.7), third], shown=2)[2]
    assert not recommend([ONE, TWO], shown=2)[2]


def test_one_ranking_is_enough():
    reason = recommend([ONE, evidence(2, [2, 3, 4, 2.9])], shown=1)[1]
    assert reason.startswith(
        "1: one ranking is enough, a second component does not predict new people better: -0.0025"
    )


def test_it_says_where_the_number_hardly_matters():
    """Each person gains .015 by a second component, of 10 comparisons: .0015 each."""
    second = evidence(2, np.array([2, 3, 4, 3]) + 0.015)
    k, reason, _ = recommend([ONE, second, evidence(3, [2, 3, 4, 3])], shown=1)
    assert k == 2
    assert "the number hardly matters: 1 to 3 predict within 0.002 of each other" in reason


def test_one_unstable_ranking_is_too_little_data():
    assert recommend([evidence(1, [2, 3, 4, 3], agreement=0.6)], shown=1)[:2] == (
        None,
        "cannot tell: too little data, even one ranking is not stable: 0.60 agreement between "
        "halves.",
    )


def test_names_of_numbers():
    rows = [evidence(k, [3, 4, 5, 4]) for k in (7, 8)]
    assert recommend(rows, 7)[1].startswith("7: an eighth component")
    rows = [evidence(k, [3, 4, 5, 4]) for k in (7, 10)]
    assert recommend(rows, 7)[1].startswith("7: a model of 10 components")


def test_the_error_of_a_ratio_by_the_jackknife():
    """Leaving one person out at a time: nearly the same variance as the linear formula, from no
    shared code.
    """
    random = np.random.default_rng(0)
    n = random.integers(5, 15, 400).astype(float)
    scores = np.column_stack([-0.5 * n + random.normal(0, 1, 400), n])
    left = np.array([(scores[:, 0].sum() - s) / (n.sum() - m) for s, m in scores])
    jackknife = math.sqrt(399 / 400 * np.sum((left - left.mean()) ** 2))
    mean, error = ratio(scores)
    assert mean == pytest.approx(scores[:, 0].sum() / n.sum()) and error == pytest.approx(
        jackknife, rel=0.01
    )


# ---- people, held out ----


def mallows_orders(sigma, phi, n, random):
    """Rankings by repeated insertion: item by item, j positions from the end by φ^j."""
    found = []
    for _ in range(n):
        order = []
        for item in np.argsort(sigma):
            p = phi ** np.arange(len(order) + 1)
            order.insert(len(order) - random.choice(len(order) + 1, p=p / p.sum()), f"i{item:02d}")
        found.append(order)
    return found


def planted_rankings(K, Q=10, M=400, phi=0.5, seed=0):
    """Everybody has one ranking, around one of K reference rankings."""
    random = np.random.default_rng(seed)
    orders = [mallows_orders(random.permutation(Q), phi, M // K, random) for _ in range(K)]
    return mm.Rankings.from_orders([order for each in orders for order in each]).comparisons()


def test_what_is_held_out_shares_no_item_with_what_is_given():
    """Of rankings no item; of votes, one item of each held-out pair at least."""
    for data, ranked in ((planted_rankings(2, M=60), True), (coins(8, 60, 20), False)):
        folds = make_choice_folds(data, hard_questions(data), 3, seed=4)
        assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(60))
        for fold in folds:
            assert fold.train.n_users == 40
            for split in fold.splits:
                check_held_out(split, data.n_items, 0 if ranked else 1)


def check_held_out(split, Q, most):
    """Everybody has held-out pairs, with so many items at most that are in given ones."""
    assert split.given.n_users == 20
    for m in range(20):
        rows = slice(*split.given.starts[m : m + 2])
        given = {x for p in split.given.pair[rows] for x in divmod(p, Q)}
        mine = split.held_out.pair[slice(*split.held_out.starts[m : m + 2])]
        known = [sum(x in given for x in divmod(p, Q)) for p in mine]
        assert len(mine) and max(known) <= most


def test_few_comparisons_are_split_several_times_and_every_time_anew():
    few, many = coins(8, 60, 20), coins(8, 60, 334)
    questions = hard_questions(few)
    folds = make_choice_folds(few, questions, 3, seed=4)
    for fold in folds:
        assert len(fold.splits) == 4
        given = {tuple(split.given.weight) for split in fold.splits}
        assert len(given) == 4
    once = make_choice_folds(many, questions, 3, seed=4)
    assert [len(fold.splits) for fold in once] == [1, 1, 1]


def test_where_nobody_made_two_comparisons_nothing_is_chosen():
    """A tie, half for either, is one."""
    votes = [(u, *("ab" if u % 3 else "cb")) for u in range(30)]
    ties = mm.Comparisons.from_arrays(
        np.repeat(np.arange(30), 2), list("ab") * 30, list("ba") * 30, np.full(60, 0.5)
    )
    for data in (votes, ties):
        choice = mm.choose_k(data)
        assert choice.k is None and "nobody made two comparisons" in choice.reason
    assert mm.fit(votes, predictor=False).n_components == 1


@pytest.mark.slow
@pytest.mark.parametrize("K", [1, 2, 3])
def test_fit_takes_the_number_that_is_recommended(K):
    """And planted rankings, one for each person, are counted."""
    data = planted_rankings(K, seed=K)
    model, choice = mm.fit(data, predictor=False, seed=2), mm.choose_k(data)
    assert model.n_components == choice.k == K
    assert model.report.spectral.choice_of_k == choice.reason
    assert ("one ranking is enough" in choice.reason) == (K == 1)


@pytest.mark.slow
def test_larger_numbers_are_tried_while_the_best_lies_at_the_edge():
    votes = planted(20, 5, 0.2, 0.1, seed=1).sample(400, 60, seed=1).comparisons
    choice = mm.choose_k(votes)
    assert choice.k == 5 and [row.k for row in choice.table] == [1, 2, 3, 4, 5, 6, 8]


def test_asking_agrees_with_completion():
    model = planted(10, 3, 0.4, 0.3)
    votes = model.sample(60, 25, seed=3).comparisons
    held_out = predict_held_out(model, votes, given=0.4, seed=7, n_jobs=1)
    whole = completion(model, votes, CompletionOptions(given=0.4), seed=7)
    s, n = held_out.per_user(60).sum(axis=0)
    assert n == whole.n_comparisons and s / n == pytest.approx(
        whole.log_likelihood_per_comparison, abs=1e-12
    )
    assert np.all((held_out.probability > 0) & (held_out.probability < 1))


def test_people_are_split_evenly_once_each():
    part = split_users(11, 3, seed=5)
    assert sorted(np.bincount(part)) == [3, 4, 4]
    assert not np.array_equal(part, split_users(11, 3, seed=6))


def test_people_without_weight_do_not_count():
    votes = planted(6, 1).sample(5, 4, seed=0).comparisons
    assert counted_users(replace(votes, user_weight=np.array([1.0, 0, 1, 0, 1]))).n_users == 3


@pytest.mark.slow
def test_the_same_for_any_threads_and_any_order_of_rows():
    votes = planted(8, 2, 0.3, 0.1).sample(60, 20, seed=2).comparisons
    table = votes.to_arrow().to_pylist()
    shuffled = [tuple(table[n].values()) for n in np.random.default_rng(0).permutation(len(table))]
    one = mm.choose_k(votes, [1, 2], n_jobs=1)
    assert one == mm.choose_k(mm.read_comparisons(shuffled), [1, 2], n_jobs=3)


def test_options_are_checked():
    votes = planted(6, 1).sample(9, 4, seed=0).comparisons
    for ks, says in (([], "ks is empty"), ([0], "ks holds 0"), ([2.5], "ks holds 2.5")):
        with pytest.raises(OptionError, match=says):
            mm.choose_k(votes, ks)
    with pytest.raises(OptionError, match="folds is 1; it must be at least 2"):
        mm.choose_k(votes, [1], n_folds=1)


# ---- command line ----


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    run(
        "simulate",
        path,
        "--items",
        10,
        "--components",
        2,
        "--users",
        150,
        "--per-user",
        30,
        "--phi",
        0.2,
        "--seed",
        3,
    )
    return path


@pytest.mark.slow
def test_the_command_writes_a_table_a_picture_and_json(votes, tmp_path):
    import csv
    import json

    said, _ = run("choose-k", votes, "-k", "2-3", "-o", tmp_path / "choice")
    assert "2: a third component" in said and "log-likelihood" in said
    with (tmp_path / "choice" / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["k"] for row in rows] == ["2", "3"]
    kept = json.loads((tmp_path / "choice" / "choice.json").read_text())
    assert kept["k"] == 2 and kept["reason"] in said
    assert float(rows[0]["agreement"]) == kept["table"][0]["agreement"]
    assert (tmp_path / "choice" / "choice.png").read_bytes().startswith(b"\x89PNG")
    printed, _ = run("choose-k", votes, "-k", "2,3", "--json")
    assert json.loads(printed) == kept


def test_the_command_refuses_odd_numbers(votes, tmp_path):
    assert "'5-2' runs backwards" in run("choose-k", votes, "-k", "5-2", code=2)[1]
    assert "'x' is not a whole number" in run("choose-k", votes, "-k", "x", code=2)[1]
    (tmp_path / "file").write_text("")
    assert (
        "cannot be used as a folder" in run("choose-k", votes, "-o", tmp_path / "file", code=1)[1]
    )
    assert (
        "--output names a folder" in run("choose-k", votes, "-o", tmp_path / "model.m4", code=2)[1]
    )
    assert not (tmp_path / "model.m4").exists()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_few_very_active_people_do_not_decide(seed):
    """150 people, of whom the most active made a fifth of all comparisons; three components.

    If every comparison counted the same, 5, 9 and 8 would be chosen here.
    """
    counts = np.maximum(300 // np.arange(1, 151), 2)
    votes = planted(15, 3).sample(150, counts, seed=0).comparisons
    assert mm.choose_k(votes, seed=seed).k == 3
