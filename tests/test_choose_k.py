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
from mallowmix.fitting.k_rules import Evidence, difference, ratio, recommend
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.held_out_rows import predict_held_out
from mallowmix.infer.heldout.heldout_options import CompletionOptions
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


def evidence(k, gains, agreement=1.0, value=2.0):
    """Held-out scores of people with 10 comparisons each: `gains` above a coin, per person."""
    scores = np.column_stack(
        [10 * -math.log(2) + np.asarray(gains, float), np.full(len(gains), 10.0)]
    )
    return Evidence(
        k, scores, (1.0,) * (k - 1) + (agreement,), 1 / k, None if k == 1 else value, 1.0
    )


ONE, TWO = evidence(1, [2, 3, 4, 3]), evidence(2, [4, 5, 6, 5.1])


@pytest.mark.parametrize(
    ("third", "says"),
    [
        (
            evidence(3, [5, 6, 7, 6.2], agreement=0.749),
            "2: a third component is not stable: 0.74 agreement between halves.",
        ),
        (
            evidence(3, [4, 5, 6.3, 4.9]),
            "2: a third component does not predict new people better: +0.0025 per comparison, "
            "give or take",
        ),
        (
            evidence(3, [5, 6, 7, 6.2], value=0.9),
            "2: a third component is not above the noise of the spectrum: 0.90 of its edge.",
        ),
    ],
)
def test_the_reason_says_what_is_wrong_with_one_more(third, says):
    k, reason, certain = recommend([ONE, TWO, third], shown=2)
    assert k == 2 and reason.startswith(says)
    assert certain == (difference(third, TWO)[0] <= 2 * difference(third, TWO)[1])


def test_the_largest_number_tried_is_not_certain():
    assert recommend([ONE, TWO], shown=2) == (
        2,
        "2: the largest number tried is supported; more may be, too.",
        False,
    )


def test_one_unstable_ranking_is_too_little_data():
    assert recommend([evidence(1, [2, 3, 4, 3], agreement=0.6)], shown=1)[:2] == (
        None,
        "cannot tell: too little data, even one ranking is not stable: 0.60 agreement between "
        "halves.",
    )


def test_names_of_numbers():
    rows = [evidence(k, [3, 4, 5, 4], agreement=1.0 if k < 8 else 0.6) for k in (7, 8)]
    assert recommend(rows, 7)[1].startswith("7: an eighth component")
    rows = [evidence(k, [3, 4, 5, 4], agreement=1.0 if k < 8 else 0.6) for k in (7, 10)]
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


def test_people_are_dealt_evenly_once_each():
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
