"""Results and bootstraps without a fit: made by hand, and what they say read off by hand."""

import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import mallowmix as mm
import oracles
from mallowmix.assess.intervals import bootstrap_intervals, little_bootstraps, replicates
from mallowmix.assess.intervals.interval_estimates import Intervals
from mallowmix.assess.intervals.little_bootstraps import (
    around,
    comparisons_of_blocks,
    draw_positions,
    is_large,
    subset_share,
)
from mallowmix.assess.intervals.replicates import Replicates, Start, in_order_of
from mallowmix.assess.simulated_error import Simulated
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.infer.heldout.heldout_scores import Heldout, paired_difference
from mallowmix.infer.posterior.person_spread import QuantityIntervals
from mallowmix.infer.posterior.posterior_intervals import PosteriorIntervals
from mallowmix.infer.posterior.posterior_sample import PosteriorSample
from mallowmix.infer.user_explanation import ItemDifference, UserExplanation
from mallowmix.infer.user_results import WeightIntervals
from mallowmix.learn.spectral.user_scores import Smooth, phi_and_share
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.numerics import kernel_cache

# ---- intervals ----

VALUES = np.arange(1.0, 20.0) / 20  # of nineteen replicates: 80% is from rank 2 to rank 18
SIGMA = np.array([[0, 1, 2], [2, 0, 1]], np.int32)


@pytest.fixture
def found():
    """Two components of three items; in three of nineteen replicates the first two change."""
    sigma = np.tile(SIGMA, (19, 1, 1))
    sigma[:3, 0] = [1, 0, 2]
    draws = Replicates(
        sigma, np.column_stack([VALUES, VALUES / 2]), np.column_stack([VALUES, 1 - VALUES])
    )
    return Intervals(
        0.8, np.array(["a", "b", "c"]), SIGMA, np.array([0.3, 0.2]), np.array([0.6, 0.4]), draws
    )


def test_ends_of_intervals_are_replicates_of_rank_p_of_n_plus_one(found):
    assert found.phi_low == pytest.approx([0.1, 0.05])
    assert found.phi_high == pytest.approx([0.9, 0.45])
    assert found.share_low == pytest.approx([0.1, 0.1])
    assert found.share_high == pytest.approx([0.9, 0.9])
    assert found.position_low.tolist() == found.position_high.tolist() == SIGMA.tolist()
    wide = replace(found, level=0.95)  # 16 of 19 are fewer than that
    assert wide.position_low.tolist() == [[0, 0, 2], [2, 0, 1]]
    assert wide.position_high.tolist() == [[1, 1, 2], [2, 0, 1]]


def test_rows_of_intervals_count_components_and_positions_from_one(found):
    rows = replace(found, level=0.95).table()
    assert [row["quantity"] for row in rows[:5]] == ["share", "phi"] + ["position"] * 3
    assert {row["component"] for row in rows[:5]} == {1} and rows[5]["component"] == 2
    assert rows[2] == {
        "quantity": "position", "component": 1, "item": "a", "estimate": 1, "low": 1, "high": 2,
    }  # fmt: skip
    assert [row["item"] for row in rows[7:]] == ["b", "c", "a"]
    assert rows[1]["estimate"] == 0.3 and rows[0]["item"] is None
    named = replace(found, component_names=("first", "second")).table()
    assert [row["name"] for row in named] == ["first"] * 5 + ["second"] * 5
    columns = found.columns()
    assert columns["estimate"][:2] == [0.6, 0.3] and len(columns["low"]) == 10


def test_what_lies_outside_its_interval_is_said(found):
    assert found.notes == []
    small = replace(found, phi=np.array([0.09, 0.2])).notes
    assert len(small) == 1 and "phi of component 1:" in small[0] and "too small" in small[0]
    large = replace(found, phi=np.array([0.3, 0.46])).notes
    assert len(large) == 1 and "phi of component 2:" in large[0] and "stopped" in large[0]
    for share in ([0.91, 0.4], [0.09, 0.4]):
        (note,) = replace(found, share=np.array(share)).notes
        assert "share of component 1:" in note
    (both,) = replace(found, phi=np.array([0.09, 0.46]), refined=False).notes
    assert "phi of components 1 and 2:" in both and "full" in both


def test_the_win_rate_of_a_pair_is_that_of_both_components(found):
    def rate(sigma, phi, share, i, j):
        tables = [oracles.beta(tuple(map(int, s)), p) for s, p in zip(sigma, phi, strict=True)]
        return float(share @ [table[i][j] for table in tables])

    draws = found.draws
    for i, j in ((0, 1), (2, 0)):
        estimate, low, high = found.win_rate("abc"[i], "abc"[j])
        assert estimate == pytest.approx(rate(SIGMA, found.phi, found.share, i, j))
        each = sorted(rate(*draw, i, j) for draw in zip(*draws, strict=True))
        assert (low, high) == pytest.approx((each[1], each[17]))


def test_a_notebook_shows_intervals_with_positions_from_one(found):
    page = replace(found, level=0.95)._repr_html_()
    assert "0.300 [" in page and "[1–2]" in page and "95 %" in page
    first, last = (page.index(f">{name}<") for name in "ac")
    assert first < last and page[first:].split("[", 1)[1].startswith("1–2]")
    assert page[last:].split("[", 1)[1].startswith("3–3]")


# ---- bootstraps ----


def test_what_is_large_is_at_least_four_times_a_sample():
    assert is_large(SimpleNamespace(n_users=4000, n_comparisons=200_000.0))
    assert not is_large(SimpleNamespace(n_users=4000, n_comparisons=199_999.0))
    assert not is_large(SimpleNamespace(n_users=3999, n_comparisons=400_000.0))  # 1,000 people each
    assert is_large(SimpleNamespace(n_users=20_001, n_comparisons=20_001.0))
    assert subset_share(4000, 400_000.0) == pytest.approx(1000 / 4000)
    assert subset_share(10_000, 400_000.0) == pytest.approx(50_000 / 400_000)
    assert subset_share(40_000, 400_000.0) == pytest.approx(10_000 / 40_000)
    assert subset_share(40_000, 32e6) == pytest.approx(4e6 / 5 / 32e6)
    assert subset_share(500, 20_000.0) == 1.0


def test_moves_of_a_sample_are_scaled_and_rounded_outwards():
    sigma = np.array([[0, 1, 2, 3, 4]])
    draws = np.array([[[0, 1, 2, 3, 4]], [[0, 1, 2, 3, 4]], [[3, 1, 0, 2, 4]]])
    half = around(sigma, draws, 0.5)
    assert half[:2].tolist() == [sigma.tolist()] * 2
    assert half[2].tolist() == [[2, 1, 1, 2, 4]]  # 3 → 2, −2 → −1, −1 → −1
    assert around(sigma, draws, 1.0).tolist() == draws.tolist()
    assert around(sigma, draws + 4, 1.0)[2, 0].tolist() == [3, 1, 0, 2, 4]  # from their median
    assert around(sigma[:, ::-1], draws, 1.0)[2, 0, 0] == 4  # no position beyond the last


def test_samples_share_the_replicates_and_have_weights_of_their_own(monkeypatch):
    model = mm.M4.from_orders(["abcd"], 0.4)
    seen = []

    def rankings(start, smooth, u, *, seed, draw):
        seen.append((start, len(u), draw, float(u[0])))
        return np.array([[3, 1, 2, 0]] if draw in (0, 3) else [[0, 1, 2, 3]])

    monkeypatch.setattr(little_bootstraps, "replicate_rankings", rankings)
    monkeypatch.setattr(little_bootstraps, "replicate_start", lambda *given, **_: given[1])
    subsets, shown = [SimpleNamespace(n_users=4), SimpleNamespace(n_users=9)], []
    found = draw_positions(model, None, subsets, 36, 7, progress=lambda *given: shown.append(given))
    assert found.shape == (7, 1, 4)
    assert [row[1:3] for row in seen] == [(4, r) for r in (0, 2, 4, 6)] + [
        (9, r) for r in (1, 3, 5)
    ]
    assert len({row[3] for row in seen}) == 7
    assert shown == [("replicates", n, 7) for n in range(1, 8)]
    moved = found[0, 0]  # of four of 36 users: a third of three positions
    assert moved.tolist() == [1, 1, 2, 2]
    assert found[5, 0].tolist() == [2, 1, 2, 1]  # of nine: a half, rounded outwards


def test_users_of_blocks_are_comparisons_again():
    votes = mm.Comparisons.from_codes(
        [0, 0, 1, 2], [0, 1, 2, 0], [1, 2, 0, 2], [1.0, 2.0, 0.5, 1.0], list("abc"), list("uvw"),
        [1.0, 3.0, 1.0],
    )  # fmt: skip
    again = comparisons_of_blocks(make_blocks(votes), votes.items, votes.users)
    assert oracles.labelled_rows(again) == oracles.labelled_rows(votes)
    assert again.user_weight.tolist() == votes.user_weight.tolist()
    assert comparisons_of_blocks(make_blocks(votes), votes.items).users.tolist() == [0, 1, 2]
    assert bootstrap_intervals._in_memory(votes) is votes


def test_rankings_of_a_replicate_are_numbered_as_the_models():
    reference = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], np.int32)
    assert in_order_of(reference[::-1], reference).tolist() == reference.tolist()
    near = np.array([[0, 1, 3, 2], [3, 2, 1, 0]], np.int32)
    assert in_order_of(near[::-1], reference).tolist() == near.tolist()


def test_a_replicate_weighs_users_and_runs_a_few_passes(monkeypatch):
    votes = mm.Comparisons.from_codes(
        [0, 1, 2], [0, 1, 0], [1, 0, 1], None, list("ab"), list("uvw"), [1.0, 2.0, 3.0]
    )
    blocks, seen = make_blocks(votes), {}

    def em(blocks, components, alpha, chains, engine, **named):
        seen.update(named, weights=np.concatenate([block.user_weight for block in blocks]))
        return SimpleNamespace(components=components, chains="burnt in")

    monkeypatch.setattr(replicates, "monte_carlo_em", em)
    smooth = Smooth(np.array([0.0, np.log(2.0)]), np.empty(0), np.empty(0))
    start = Start(blocks, np.array([[0, 1]], np.int32), "chains")
    u = np.array([0.5, 4.0, 1.0])
    found = replicates.replicate_rankings(start, smooth, u, seed=1, draw=2)
    assert found.tolist() == [[0, 1]] and seen["weights"].tolist() == [0.5, 8.0, 3.0]
    assert seen["min_burn_in"] == seen["max_burn_in"] < seen["min_average"] == seen["max_average"]
    first = seen["seed"]
    replicates.replicate_rankings(start, smooth, u, seed=1, draw=3)
    assert seen["seed"] != first
    model = mm.M4.from_orders(["ab"], 0.4)
    begun = replicates.replicate_start(model, votes, ThreadEngine(1), seed=1)
    assert begun.chains == "burnt in" and begun.sigma.tolist() == [[0, 1]]
    assert {seen[name] for name in seen if name.startswith(("min", "max"))} == {1}
    assert begun.people.tolist() == [1.0, 2.0, 3.0]


def test_the_bootstrap_of_all_users_moves_by_the_weighted_scores(monkeypatch):
    """η̂ + I⁻¹ Σ w (u − 1) s, logit φ less the bias."""
    votes = mm.Comparisons.from_codes(
        [0, 1], [0, 1], [1, 0], None, list("ab"), list("uv"), [1.0, 2.0]
    )
    eta, scores = np.array([0.2, -0.3]), np.array([[1.0, 0.5], [-2.0, 0.25]])
    smooth, u = Smooth(eta, scores, np.diag([2.0, 4.0])), np.array([[0.5, 3.0], [1.0, 1.0]])
    start = SimpleNamespace(blocks=None, people=np.array([1.0, 2.0]))
    for name, value in {
        "replicate_start": start,
        "maximise_likelihood": smooth,
        "simulate_phi": Simulated(0.1, 0.0, 1.5),
        "replicate_weights": u,
        "replicate_rankings": np.array([[0, 1]]),
    }.items():
        monkeypatch.setattr(bootstrap_intervals, name, lambda *_, value=value, **__: value)
    model = mm.M4.from_orders(["ab"], 0.4)
    found = bootstrap_intervals._of_all_users(model, votes, 2, 0, ThreadEngine(1), None)
    step = np.array([-0.5 * 1.0 + 2 * 2 * -2.0, -0.5 * 0.5 + 4 * 0.25]) / [2.0, 4.0]
    logit = eta[0] + 1.5 * np.array([step[0], 0.0]) - 0.1
    assert found.phi[:, 0] == pytest.approx(1 / (1 + np.exp(-logit)))
    assert found.share.tolist() == [[1.0], [1.0]] and found.sigma.shape == (2, 1, 2)


def test_dispersions_and_shares_of_many_parameters():
    eta = np.array([[0.0, 1.0, 800.0, 800.0 + np.log(3.0)]])
    phi, share = phi_and_share(eta)
    assert phi[0] == pytest.approx([0.5, 1 / (1 + np.exp(-1))])
    assert share[0] == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize(
    ("method", "refine", "refined"),
    [("spectral", "full", True), ("spectral", "short", False), ("update", "none", True)],
)
def test_only_a_full_fit_or_an_update_is_refined(method, refine, refined):
    report = SimpleNamespace(options=SpectralOptions(refine=refine), method=method)
    assert bootstrap_intervals._is_refined(report) == refined
    report.options = None
    assert bootstrap_intervals._is_refined(report) == (method == "update")


# ---- the posterior ----


@pytest.fixture
def sample():
    """Two chains of three draws of two components, two items and four users."""
    random = np.random.default_rng(0)
    sigma = np.tile(np.array([[0, 1], [1, 0]], np.int16), (2, 3, 1, 1))
    phi = random.uniform(0.1, 0.9, (2, 3, 2))
    alpha = random.uniform(0.5, 2, (2, 3, 2))
    rates = random.uniform(size=(2, 3, 2))
    return PosteriorSample(
        np.array(["a", "b"]), np.array(list("uvwx")), sigma, phi, alpha, None,
        random.normal(size=(2, 3)), np.zeros((2, 3, 4), np.float32), rates, rates, np.zeros((4, 2)),
        None, None, ("fit", "random"), 4.4, 1.0, None, 3,
    )  # fmt: skip


def test_draws_have_shares_and_are_sorted_by_size(sample):
    assert sample.share.sum(axis=-1) == pytest.approx(np.ones((2, 3)))
    assert sample.share == pytest.approx(sample.alpha / sample.alpha.sum(axis=2)[..., None])
    for values in (sample.sorted_share, sample.sorted_phi):
        assert np.all(values[..., 0] >= values[..., 1])
    assert np.sort(sample.sorted_phi, axis=2).tolist() == np.sort(sample.phi, axis=2).tolist()
    assert sample.pooled("phi").tolist() == [row for chain in sample.phi.tolist() for row in chain]
    assert sample.pooled("log_likelihood").shape == (6,)


def test_one_draw_is_a_model_and_a_pair_has_a_probability_in_each(sample):
    found = sample.probability("a", "b")
    for c, d in np.ndindex(2, 3):
        model = sample.m4(c, d)
        assert found[c, d] == pytest.approx(model.share @ model.beta()[:, 0, 1])
    back = sample.probability("b", "a")
    assert found + back == pytest.approx(np.ones((2, 3)))


def test_a_sample_of_the_users_is_said_to_be_one(sample):
    assert not sample.sampled and sample.notes == ()  # 4.4 is four users, by weight
    few = replace(sample, n_users=4.6)
    assert few.sampled and "4 of 5" in few.notes[0]


def test_tables_of_the_posterior(sample):
    frame = sample.to_frame().to_pydict()
    low, middle, high = np.quantile(sample.win_rate.reshape(6, 2), [0.05, 0.5, 0.95], axis=0)
    assert frame["item"] == ["a", "b"] and frame["win_rate"] == pytest.approx(middle.tolist())
    assert frame["low"] == pytest.approx(low.tolist())
    assert frame["high"] == pytest.approx(high.tolist())
    page = sample._repr_html_()
    assert page.count("<tr>") == 3 and f"{sample.phi[..., 1].mean():.2f}" in page
    ends = np.quantile(sample.phi[..., 0], [0.05, 0.95])
    assert f"[{ends[0]:.2f}, {ends[1]:.2f}]" in page
    assert page.index("<bdi>a</bdi>, <bdi>b</bdi>") < page.index("<bdi>b</bdi>, <bdi>a</bdi>")


def test_rows_of_posterior_intervals():
    def made(values):
        values = np.array(values, float)
        return QuantityIntervals(values, values - 0.25, values + 0.5, values, values, values + 9)

    found = PosteriorIntervals(
        np.array(["a", "b"]), 0.9, made([0.3]), made([1.0]), made([[1, 0]]), made([0.4, 0.6]),
        made([1, 0]), np.ones(1), True, ("noted",),
    )  # fmt: skip
    rows = found.table()
    kinds = ["share", "phi", "position", "position", "win_rate", "win_rate", "leaderboard"]
    assert [row["quantity"] for row in rows] == [*kinds, "leaderboard"]
    assert [row["component"] for row in rows] == [1, 1, 1, 1, None, None, None, None]
    assert [row["item"] for row in rows] == [None, None, "a", "b", "a", "b", "a", "b"]
    assert [row["estimate"] for row in rows] == [1.0, 0.3, 2, 1, 0.4, 0.6, 2, 1]
    assert [row["low"] for row in rows[2:4]] == [1.75, 0.75]
    assert [row["high"] for row in rows[6:]] == [2.5, 1.5] and rows[0]["scale"] == 10.0
    page = found._repr_html_()
    assert page.index(">b<") < page.index(">a<") and "noted" in page and "0.75 to 1.5" in page


# ---- users ----


def test_weights_of_users_without_comparisons_are_those_of_the_prior():
    mean = np.array([[0.25, 0.75], [0.5, 0.5]])
    found = WeightIntervals(
        np.array(["ann", "bob"]), mean, mean - 0.1, mean + 0.1, np.array([3.0, 0.0]), 0.9
    )
    assert found.is_prior.tolist() == [False, True] and found.values is mean
    columns = found.columns()
    assert list(columns)[2:] == ["component_1", "low_1", "high_1", "component_2", "low_2", "high_2"]
    assert columns["low_2"].tolist() == pytest.approx([0.65, 0.4])
    page = found._repr_html_()
    assert page.count("<tr>") == 3 and "90%" in repr(found) and "ann" in page


def test_the_difference_of_two_scores_is_that_of_users():
    def scored(values):
        rows = np.column_stack([values, [2.0, 4.0, 0.0]])
        return Heldout(0.0, 0.0, 0.0, {}, by_user=rows, users=np.array(list("uvw")))

    found = paired_difference(scored([-3.0, -5.0, 0.0]), scored([-2.0, -8.0, 0.0]))
    assert found.by_user[:, 0].tolist() == [-1.0, 3.0, 0.0]
    assert found.users.tolist() == list("uvw")
    with pytest.raises(mm.errors.DataError):
        paired_difference(scored([0.0] * 3), replace(scored([0.0] * 3), by_user=None))


def test_an_item_is_named_from_a_clear_difference_of_a_fifth_on():
    def line(item, own, mixed, low, high):
        return ItemDifference(item, own, mixed, low, high)

    lines = (
        line("at a fifth", 0.75, 0.5, 0.1, 0.3),
        line("below", 0.625, 0.5, 0.1, 0.2),
        line("not clear", 0.875, 0.5, 0.0, 0.5),
        line("less", 0.25, 0.5, -0.3, -0.1),
        line("not clearly less", 0.125, 0.5, -0.5, 0.0),
        *(line(f"much {n}", 0.9 + n / 100, 0.5, 0.2, 0.6) for n in range(3)),
    )
    found = UserExplanation("u", np.array([0.6, 0.4]), lines, 0.9)
    assert [x.item for x in found.more] == ["much 2", "much 1", "much 0"]  # three at most
    assert [x.item for x in found.less] == ["less"]
    few = replace(found, lines=lines[:5])
    assert [x.item for x in few.more] == ["at a fifth"]
    assert [round(x.difference, 3) for x in few.lines] == [0.25, 0.125, 0.375, -0.25, -0.375]


# ---- where kernels are kept ----


def test_kernels_go_to_the_first_folder_that_can_be_written(tmp_path, monkeypatch):
    made = tmp_path / "made"
    monkeypatch.setenv(kernel_cache.VARIABLE, "")
    monkeypatch.setattr(kernel_cache, "_temporary_folder", lambda: made)
    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(config=SimpleNamespace(CACHE_DIR="")))
    for package, user, used in ((True, False, False), (False, True, False), (False, False, True)):
        answers = iter([package, user])
        monkeypatch.setattr(kernel_cache, "_writable", lambda _, answers=answers: next(answers))
        kernel_cache.use_writable_cache()
        assert (os.environ.get(kernel_cache.VARIABLE) == str(made)) == used
        assert (str(made) == sys.modules["numba"].config.CACHE_DIR) == used


def test_a_folder_that_is_missing_can_be_written_where_the_one_above_can(tmp_path):
    assert kernel_cache._writable(tmp_path / "a" / "b" / "c")
    (tmp_path / "file").write_text("")
    assert not kernel_cache._writable(tmp_path / "file")
    assert not kernel_cache._writable(tmp_path / "file" / "below")


def test_the_folder_of_a_user_is_that_of_the_system(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(kernel_cache.sys, "platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert kernel_cache._user_cache() == tmp_path / ".cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert kernel_cache._user_cache() == tmp_path / "other"
    monkeypatch.setattr(kernel_cache.sys, "platform", "darwin")
    assert kernel_cache._user_cache() == tmp_path / "Library" / "Caches"
    monkeypatch.setattr(kernel_cache.sys, "platform", "win32")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert kernel_cache._user_cache() == tmp_path / "AppData" / "Local"
