"""What one command asks is computed without Numba where it is little, and is the same."""

import json
from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from command_line import imports_of
from mallowmix.engine import Block
from mallowmix.infer import (
    collapsed_variational,
    gibbs_draws,
    member_evidence,
    pair_queries,
    utilities_prediction,
)
from mallowmix.infer.collapsed_variational import fold_in, vertex_posterior
from mallowmix.infer.member_evidence import mixed_membership_left_out
from mallowmix.infer.pair_queries import Queries, query_categories
from mallowmix.infer.prepared_model import PreparedModel
from mallowmix.infer.utilities_prediction import (
    probabilities_and_left_out,
    utilities_probabilities,
)
from mallowmix.learn.utilities import conditioned_utilities, laplace_arrays
from mallowmix.learn.utilities.conditioned_utilities import condition
from mallowmix.model.predictor import CalibratedModel, Predictor
from mallowmix.numerics import small_work
from mallowmix.numerics.compiled import Kernel, compiled
from mallowmix.numerics.randomness import child_seed, philox
from mallowmix.numerics.small_work import is_small, one_answer

Q, K = 7, 3
ITEMS = [f"i{n}" for n in range(Q)]


def some_users(seed, *, whole=False, n_users=12):
    """Users of different lengths, one without rows; weights that are and are not whole."""
    random = np.random.default_rng(seed)
    user = np.sort(random.choice(n_users - 1, 90, p=np.arange(1, n_users) / 66))
    winner = random.integers(0, Q, 90)
    pair = winner * Q + (winner + random.integers(1, Q, 90)) % Q
    weight = random.choice([1.0, 2.0] if whole else [0.25, 1.0, 2.5], 90)
    starts = np.searchsorted(user, np.arange(n_users + 1))
    return Block(0, Q, starts, pair.astype(np.int32), weight, np.ones(n_users))


def prepared(seed, vertex_share=0.0, likelihood_weight=1.0):
    """A model of random components."""
    random = np.random.default_rng(seed)
    beta = random.uniform(0.02, 0.98, (Q * Q, K))
    alpha = np.array([0.3, 0.8, 0.2])
    return PreparedModel(beta, alpha, alpha / alpha.sum(), likelihood_weight, vertex_share)


def utilities(seed, r=2):
    random = np.random.default_rng(seed)
    parts = random.normal(size=(K, Q)), random.normal(size=(Q, r)), random.uniform(0.1, 0.5, Q)
    return mm.UtilitiesModel(*parts, np.array([0.5, 0.3, 0.2]), ITEMS)


@pytest.fixture
def kernels_refused(monkeypatch):
    """No compiled kernel may be called."""

    def refuse():
        for module, name in (
            (collapsed_variational, "_collapsed"),
            (conditioned_utilities, "_condition"),
            (gibbs_draws, "_gibbs_chains"),
            (utilities_prediction, "_predict"),
            (member_evidence, "_left_out"),
        ):
            monkeypatch.setattr(module, name, None)

    return refuse


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limits", [(1, 1e-9), (7, 1e-9), (12, 1e-9), (300, 1e-2), (300, 1e-4)])
def test_weights_are_the_same(seed, limits, kernels_refused):
    """At the end, extrapolation by a ratio of rounding errors makes them the same to `tol`."""
    block, model = some_users(seed), prepared(seed, likelihood_weight=0.7)
    weight = np.where(np.arange(len(block.pair)) % 9 == 0, 0.0, block.weight)
    options = dict(zip(("max_iter", "tol"), limits, strict=True))
    expected = fold_in(block, model, weight, **options)
    kernels_refused()
    with one_answer():
        plain = fold_in(block, model, weight, **options)
    assert plain[1] == expected[1]
    within = 1e-10 if limits[1] != 1e-4 else 3e-4
    assert plain[0] == pytest.approx(expected[0], abs=within, rel=0)
    assert plain[0][-1] == pytest.approx(model.prior_mean)


def test_users_at_a_vertex_are_the_same():
    block, model = some_users(1), prepared(1, vertex_share=0.4)
    block = replace(block, weight=np.ones(len(block.pair)))  # rows of a pair are in no order
    expected = vertex_posterior(block, model, block.weight)
    with one_answer():
        plain = vertex_posterior(block, model, block.weight)
    for found, other in zip(plain, expected, strict=True):
        assert found == pytest.approx(other, abs=1e-10, rel=0)


@pytest.mark.parametrize("seed", range(3))
def test_conditioned_utilities_are_the_same(seed, kernels_refused):
    block, model = some_users(seed), utilities(seed)
    (known,) = condition(block, model)
    kernels_refused()
    with one_answer():
        (plain,) = condition(block, model)
    assert plain.users == known.users
    for name in ("log_joint", "mean", "T"):
        found, expected = getattr(plain, name), getattr(known, name)
        assert found == pytest.approx(expected, abs=1e-10, rel=0), name


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spread", [1.0, 6.0])  # with 6 the first steps are too long
def test_predictions_and_answers_left_out_are_the_same(seed, spread, kernels_refused, monkeypatch):
    """With short last steps: the kernel ends sooner for components that hardly count."""
    for module in (utilities_prediction, laplace_arrays):
        monkeypatch.setattr(module, "TOL", 1e-12)
    block, model = some_users(seed), utilities(seed)
    model = replace(model, means=spread * model.means)
    pairs = np.flatnonzero(np.arange(Q * Q) // Q != np.arange(Q * Q) % Q)
    queries = Queries.same_for_all(block.n_users, pairs)
    expected = probabilities_and_left_out(block, model, queries)
    mixed = mixed_membership_left_out(block, prepared(seed, likelihood_weight=0.7))
    kernels_refused()
    with one_answer():
        plain = probabilities_and_left_out(block, model, queries)
        alone = utilities_probabilities(block, model, queries)
        left_out = mixed_membership_left_out(block, prepared(seed, likelihood_weight=0.7))
    for found, other in zip(plain, expected, strict=True):
        assert found == pytest.approx(other, abs=1e-9, rel=0)
    assert alone == pytest.approx(expected[0], abs=1e-9, rel=0)
    assert left_out == pytest.approx(mixed, abs=3e-4, rel=0)  # as exact as the weights


def test_how_many_items_of_a_pair_are_known_is_the_same(monkeypatch):
    block = some_users(2)
    block = replace(block, weight=np.where(np.arange(len(block.pair)) % 3, block.weight, 0.0))
    queries = Queries.same_for_all(block.n_users, np.arange(Q * Q))
    expected = query_categories(block, queries)
    monkeypatch.setattr(pair_queries, "_categories", None)
    with one_answer():
        assert query_categories(block, queries).tolist() == expected.tolist()
    assert set(expected) == {0, 1, 2}


@pytest.mark.parametrize("vertex_share", [0.0, 0.5])
def test_draws_are_the_same(vertex_share, kernels_refused):
    block, model = some_users(3, whole=True), prepared(3, vertex_share)
    expected = gibbs_draws.draw(block, model, 40, np.uint64(5))
    kernels_refused()
    with one_answer():
        plain = gibbs_draws.draw(block, model, 40, np.uint64(5))
    assert plain == pytest.approx(expected, abs=1e-10, rel=0)
    at_vertex = (plain == 1).any(axis=2).mean()
    assert at_vertex == 0 if vertex_share == 0 else 0.05 < at_vertex < 0.95


def test_only_little_work_that_is_asked_once_is_small():
    assert not is_small(1)
    with one_answer():
        assert is_small(small_work.MOST_NUMBERS) and not is_small(small_work.MOST_NUMBERS + 1)
        with one_answer():
            assert is_small(1)
        assert is_small(1)
    assert not is_small(1)


def model_with_predictor():
    """A small model with a predictor of two kinds of members."""
    components = mm.M4.from_orders([ITEMS, ITEMS[::-1]], phi=0.4)
    members = CalibratedModel(components), utilities(2)
    weights = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])  # by how many items are known
    predictor = Predictor(members, weights, evidence_weights=np.array([0.7, 0.2, 0.7]))
    return replace(mm.FittedModel(components), predictor=predictor)


def test_predictions_and_rankings_are_the_same():
    model, ann = model_with_predictor(), [("ann", "i0", f"i{n}") for n in range(1, Q)]
    rows = [*ann, ("bob", "i2", "i1"), ("bob", "i2", "i1"), ("cy", "i6", "i5")]
    pairs = [("i0", "i3"), ("i5", "i6")]
    expected = mm.predict(model, rows, pairs), mm.rank(model, rows, level=0.8)
    with one_answer():
        plain = mm.predict(model, rows, pairs), mm.rank(model, rows, level=0.8)
    assert np.asarray(plain[0]) == pytest.approx(np.asarray(expected[0]), abs=1e-8, rel=0)
    for name in ("win_rate", "low", "high"):
        found, other = getattr(plain[1], name), getattr(expected[1], name)
        assert found == pytest.approx(other, abs=1e-8, rel=0), name


@compiled
def compiled_words(number, step, key):
    return philox(number, 0, step, 1, key)


def test_a_kernel_that_is_interpreted_interprets_those_that_it_calls(monkeypatch):
    words = compiled_words(2, 3, np.uint64(7))
    expected = (int(words[0]) << 32) | int(words[1])

    def refuse(kernel):
        raise AssertionError(f"{kernel.__name__} is compiled")

    monkeypatch.setattr(Kernel, "_make_outer", refuse)
    assert child_seed(7, 3, 2) == expected
    with pytest.raises(AssertionError):
        compiled(lambda x: x)(1)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rank", "predict"])
def test_a_question_imports_no_heavy_package_and_is_answered_alike(command, tmp_path):
    """Each of these takes longer to import than all that the command does."""
    model = model_with_predictor()
    mm.save(model, tmp_path / "model.m4")
    rows = [("ann", f"i{n}", f"i{n + 1}") for n in range(Q - 1)]
    (tmp_path / "votes.csv").write_text(
        "\n".join(["user,winner,loser", *(",".join(row) for row in rows), "bob,i6,i2", ""])
    )
    (tmp_path / "pairs.csv").write_text("first,second\ni0,i3\n")
    words = [command, str(tmp_path / "model.m4"), str(tmp_path / "votes.csv"), "--json"]
    words += ["--user", "ann"] if command == "rank" else ["--pairs", str(tmp_path / "pairs.csv")]
    heavy = "pyarrow numpy.ma pydantic numba llvmlite narwhals scipy sklearn plotly pandas polars"
    heavy += " xarray"
    said, imported = imports_of(*words, of=heavy)
    assert imported == []
    answer = json.loads(said)
    if command == "rank":
        lines = mm.rank(model, rows)[0]
        assert [line["item"] for line in answer["ranking"]] == [line.item for line in lines]
        rates = [line["win_rate"] for line in answer["ranking"]]
        assert rates == pytest.approx([line.win_rate for line in lines], abs=1e-8)
    else:
        expected = mm.predict(model, rows, [("i0", "i3")])
        found = {row["user"]: row["probability"] for row in answer["predictions"]}
        assert found["ann"] == pytest.approx(np.asarray(expected)[0, 0], abs=1e-8)
