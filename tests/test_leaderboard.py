"""The leaderboard with its data: ties counted, position bias planted and taken out, and its order
against Bradley–Terry's.
"""

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize

import mallowmix as mm
from tests.command_line import run

FAST = mm.SpectralOptions(refine="short")
SCORES = {"a": 1.2, "b": 0.6, "c": 0.2, "d": -0.6, "e": -1.4}
NAMES = list(SCORES)
SIDES = ("model_a", "model_b")
COLUMNS = {"user": "judge", "left": SIDES[0], "right": SIDES[1], "outcome": "winner"}


def battles(n_users=150, per_user=20, bias=0.0, tied=0.0, favourite=None, seed=0):
    """Battles by true scores, with a bias (log-odds) for the left; `favourite` always stands
    left.
    """
    random, rows = np.random.default_rng(seed), []
    for m in range(n_users):
        for _ in range(per_user):
            left, right = random.permutation(NAMES)[:2].tolist()
            if right == favourite:
                left, right = right, left
            odds = bias + SCORES[left] - SCORES[right]
            won = "left" if random.random() < 1 / (1 + np.exp(-odds)) else "right"
            rows.append((f"u{m:03d}", left, right, "tie" if random.random() < tied else won))
    user, left, right, winner = zip(*rows, strict=True)
    table = {"judge": user, "model_a": left, "model_b": right, "winner": winner}
    return pa.table({name: list(column) for name, column in table.items()})


def read(table, ties="half"):
    return mm.read(table, format="battles", columns=COLUMNS, ties=ties)


def logistic_scores(rows, with_side):
    """Bradley–Terry by a general optimiser, with or without a term for the left side."""
    left, right = (np.array([NAMES.index(x) for x in rows[c].to_pylist()]) for c in SIDES)
    won = np.array(rows["winner"].to_pylist()) == "left"

    def loss(x):
        odds = x[0] * with_side + x[1:][left] - x[1:][right]
        return np.logaddexp(0, np.where(won, -odds, odds)).sum() + 0.5e-3 * x[1:] @ x[1:]

    return minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-8}).x[1:]


def rates_of(scores):
    table = 1 / (1 + np.exp(scores[None] - scores[:, None]))
    np.fill_diagonal(table, 0)
    return table.sum(axis=1) / (len(scores) - 1)


def model_of(table):
    data = read(table).comparisons
    return mm.fit(data, 1, method=FAST, components="bradley-terry", predictor=False)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["half", "drop"])
def test_ties_are_counted(ties):
    table = battles(tied=0.3)
    n_tied = table["winner"].to_pylist().count("tie")
    board = mm.leaderboard(model_of(table), read(table, ties))
    assert board.ties.share == pytest.approx(n_tied / 3000) and board.ties.n_comparisons == 3000
    assert board.ties.treatment == ties
    words = {"half": "counted as half", "drop": "left out"}[ties]
    assert words in board.notes()[0] and f"{n_tied / 30:.1f}%" in board.notes()[0]


def test_ties_of_comparisons_whose_sides_are_not_known():
    rows = [("u", "a", "b", 0.5), ("u", "b", "a", 0.5), ("u", "c", "a", 3), ("v", "c", "a", 0.5)]
    user, winner, loser, weight = zip(*rows, strict=True)
    data = mm.Comparisons.from_arrays(user, winner, loser, weight)
    board = mm.leaderboard(mm.M4.from_orders(["abc"], phi=0.5), data)
    assert board.ties.share == pytest.approx(1 / 4.5)
    assert board.position is None and board.correction is None
    assert "not known" in board.notes()[1]
    assert mm.leaderboard(mm.M4.from_orders(["abc"], phi=0.5)).notes() == []


def test_without_bias_nothing_is_corrected():
    table = battles()
    board = mm.leaderboard(model_of(table), read(table))
    assert board.position.low < 0.5 < board.position.high and board.correction is None
    assert "no sign of position bias" in board.notes()[1]
    assert np.array_equal(board.win_rate, mm.leaderboard(model_of(table)).win_rate)


def test_an_item_that_always_stood_left():
    """Item c is third; on the left it looks best. The correction is that of a general optimiser,
    and the leaderboard has the true order.
    """
    table = battles(bias=1.0, favourite="c")
    model, reading = model_of(table), read(table)
    board, plain = mm.leaderboard(model, reading), mm.leaderboard(model)
    assert plain.items.tolist()[0] == "c" and board.items.tolist() == NAMES
    assert board.position.low < 1 / (1 + np.exp(-1.0)) < board.position.high
    expected = rates_of(logistic_scores(table, True)) - rates_of(logistic_scores(table, False))
    np.testing.assert_allclose(board.correction, expected, atol=1e-5)
    before = dict(zip(plain.items.tolist(), plain.win_rate, strict=True))
    for item, rate, change in zip(board.items, board.win_rate, board.correction, strict=True):
        assert rate == pytest.approx(before[item] + change)
    assert "corrected" in board.notes()[1]


def test_where_ties_count_half_the_side_matters_in_the_other_comparisons_alone():
    table = battles(bias=1.0, favourite="c", tied=0.5)
    reading = read(table)
    board = mm.leaderboard(model_of(table), reading)
    decided = table.filter(pa.array([w != "tie" for w in table["winner"].to_pylist()]))
    full = rates_of(logistic_scores(decided, True)) - rates_of(logistic_scores(decided, False))
    order = [NAMES.index(item) for item in board.items.tolist()]
    np.testing.assert_allclose(board.correction, (1 - board.ties.share) * full[order], atol=1e-5)


def minorisation(wins):
    """Bradley–Terry by the iteration w_i = W_i / Σ_j n_ij / (w_i + w_j)."""
    w, n = np.ones(len(wins)), wins + wins.T
    for _ in range(3000):
        w = wins.sum(axis=1) / (n / (w[:, None] + w)).sum(axis=1)
        w /= w.sum()
    return np.log(w)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_its_order_is_that_of_bradley_terry_unless_intervals_overlap(seed):
    """People with utilities of their own around common ones: all pairs of items whose intervals do
    not overlap are ordered as Bradley–Terry orders them, and so is the first where it stands apart.
    """
    random, Q = np.random.default_rng(seed), 10
    common = np.r_[2.5, np.linspace(1, -1, Q - 1)]
    rows, wins = [], np.zeros((Q, Q))
    for m in range(150):
        u = common + random.standard_normal(Q)
        for i, j in random.integers(Q, size=(30, 2)).tolist():
            if i != j:
                first, second = (
                    (i, j) if random.random() < 1 / (1 + np.exp(u[j] - u[i])) else (j, i)
                )
                rows.append((m, f"i{first}", f"i{second}"))
                wins[first, second] += 1
    board = mm.leaderboard(mm.fit(rows, 2, method=FAST))
    s = minorisation(wins)
    number = [int(item[1:]) for item in board.items.tolist()]
    apart = [(n, m) for n in range(Q) for m in range(n + 1, Q) if board.low[n] > board.high[m]]
    assert len(apart) > Q and all(s[number[n]] > s[number[m]] for n, m in apart)
    assert number[0] == s.argmax() == 0 and board.low[0] > board.high[1:].max()


def test_on_the_command_line(tmp_path):
    table = battles(bias=1.0, favourite="c", tied=0.2)
    mm.save(model_of(table), tmp_path / "model.m4")
    rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    lines = ["judge,model_a,model_b,winner", *(",".join(row) for row in rows)]
    (tmp_path / "battles.csv").write_text("\n".join(lines))
    files = [tmp_path / "model.m4", tmp_path / "battles.csv"]
    options = ["--format", "battles", "--ties", "half"]
    said, _ = run("leaderboard", *files, *options)
    assert "were ties (counted as half a win for both)" in said and "position bias" in said
    found = json.loads(run("leaderboard", *files, *options, "--json")[0])
    board = mm.leaderboard(mm.load(files[0]), read(table))
    assert [row["item"] for row in found["leaderboard"]] == board.items.tolist()
    assert found["corrected"] and found["ties"]["share"] == board.ties.share
    assert found["position"]["left_wins"] == board.position.left_wins
    alone, _ = run("leaderboard", files[0])
    assert "Give the comparisons" in alone and "c1" in alone
