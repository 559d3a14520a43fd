"""Small steps of EM and of what is read off a fit, each against a hand calculation: histograms of
tokens, samples of users, one ranking for all, older sums forgotten, scores of a population.
"""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.assess.intervals import score_sums
from mallowmix.engine import Block, ThreadEngine, make_blocks
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.priors import dirichlet_prior
from mallowmix.learn.population_scores import _outer, _rates, win_rate_draws
from mallowmix.learn.rankings import rankings_em
from mallowmix.learn.rankings.rankings_pass import RankingsSums
from mallowmix.learn.spectral import large_data, split_merge, stability
from mallowmix.learn.spectral.fit_notes import (
    extreme_notes,
    halves_note,
    is_unstable,
    optima_note,
    spectrum_note,
)
from mallowmix.learn.spectral.gibbs_sweep import (
    _first_shares,
    _histogram,
    _swept,
    gibbs_step,
    most_tokens,
    new_chains,
    swept_chains,
)
from mallowmix.learn.spectral.likelihood_tables import NODES
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo, groups
from mallowmix.learn.spectral.one_ranking import _count_halves, refine_one_ranking, tables_of_wins
from mallowmix.learn.spectral.user_sample import sample_blocks, sample_users, sampled_share
from mallowmix.learn.spectral.user_scores import Smooth
from mallowmix.model.mallows import gap_probabilities
from mallowmix.numerics.dirichlet import dirichlet_moments
from mallowmix.numerics.randomness import Step, child_seed
from planted import planted

BETA = np.array([[0.9, 0.2], [0.3, 0.6], [0.5, 0.95]])
ALPHA = np.array([0.7, 1.4])


def _block(Q, pairs, weight=None, user_weight=None, first_user=0):
    starts = np.cumsum([0, *map(len, pairs)])
    codes = np.concatenate([np.asarray(each, np.int32) for each in pairs])
    weight = np.ones(len(codes)) if weight is None else np.asarray(weight, float)
    users = np.ones(len(pairs)) if user_weight is None else np.asarray(user_weight, float)
    return Block(first_user, Q, starts, codes, weight, users, None)


# ---- Gibbs sweeps ----


def test_users_are_counted_by_their_tokens_in_each_component():
    block = _block(2, [[1], [2], [1]], None, [1.0, 2.0, 0.5])
    tokens = np.array([[2.0, 0.0], [1.4, 1.0], [9.0, 3.0]])
    found = _histogram(tokens, block, 5)
    expected = np.zeros((3, 5))
    expected[0, [2, 1, 4]] = 1.0, 2.0, 0.5  # beyond the last, as the last
    expected[1, [0, 1, 3]] = 1.0, 2.0, 0.5
    expected[2, 2] = 1.0 + 2.0  # 2.4 is two
    expected[2, 4] = 0.5
    assert found.tolist() == expected.tolist()
    assert most_tokens(_block(2, [[1, 2], [1]], [1.5, 2.0, 3.0])) == 3.5


def test_a_sweep_goes_on_from_its_tokens_and_draws_weights_given_them():
    block = _block(2, [[0, 1], [], [2]], [1.5, 1.0, 1.0])
    z, theta = np.ones(4, np.uint8), np.full((3, 2), 0.5)
    rows = block.starts, block.pair, block.weight
    kept = z.copy()
    drawn, tokens = _swept(*rows, BETA, ALPHA, kept, theta, 0, 3, np.uint64(1), 0)
    assert kept.tolist() == z.tolist()
    assert tokens == pytest.approx(np.array([[0, 2.5], [0, 0], [0, 1.0]]), abs=1e-12)
    assert drawn.sum(axis=1) == pytest.approx(np.ones(3))
    for sweep in range(3):
        _, tokens = _swept(*rows, BETA, ALPHA, z, theta, 2, sweep, np.uint64(1), 0)
        expected = np.bincount(z[:3], [1.0, 0.5, 1.0], 2), [0, 0], np.bincount(z[3:], minlength=2)
        assert tokens == pytest.approx(np.array(expected), abs=1e-9)


def test_the_first_sweep_draws_by_the_weights_given_and_later_ones_by_the_prior():
    """Two thousand users with one comparison each."""
    M = 2000
    block = _block(2, [[0]] * M)
    theta = np.tile([0.8, 0.2], (M, 1))
    rows = block.starts, block.pair, block.weight
    z = np.zeros(M, np.uint8)
    _swept(*rows, BETA, ALPHA, z, theta, 1, 0, np.uint64(2), 0)
    assert np.mean(z == 0) == pytest.approx(0.72 / 0.76, abs=0.03)
    _swept(*rows, BETA, ALPHA, z, theta, 1, 1, np.uint64(2), 0)
    w = ALPHA * BETA[0] / (ALPHA @ BETA[0])
    assert np.mean(z == 0) == pytest.approx(w[0], abs=0.05)
    drawn = swept_chains([block], BETA, ALPHA, 2, np.uint64(3))[0].theta
    assert drawn.mean(axis=0) == pytest.approx(w @ ((ALPHA + np.eye(2)) / 3.1), abs=0.03)
    (chain,) = new_chains([block], [theta])
    (histogram, squares, n_users), after = gibbs_step(
        block, (BETA, ALPHA, 1, 0, np.uint64(2), 4), chain
    )
    assert squares == pytest.approx((after.theta**2).sum()) and n_users == M
    assert histogram.sum(axis=1).tolist() == [M] * 3 and histogram[2, 1] == M
    assert not chain.z.any()  # the old chain stays as it was


def test_first_shares_are_of_one_component_and_about_six_comparisons():
    """By the likelihood of a user who followed a single one, to the power of 6 / n, at most 1."""
    block = _block(2, [[0, 1], [], [0] * 30], np.r_[2.5, 1.0, np.ones(30)])
    found = _first_shares(block.starts, block.pair, block.weight, np.log(BETA), ALPHA)
    few = ALPHA * BETA[0] ** 2.5 * BETA[1]
    many = ALPHA * BETA[0] ** 6
    expected = np.array([each / each.sum() for each in (few, ALPHA, many)])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("mixed", "expected"), [(1.0, 1), (2.0, 1), (3.2, 2), (6.0, 3), (99.0, 5)])
def test_two_of_the_components_that_a_user_mixes_move_together(mixed, expected):
    """Σ θ² is one over the number that a user mixes."""
    assert groups(10 / mixed, 10.0, 5) == expected


# ---- samples of users ----


def test_a_sample_of_users_keeps_their_rows():
    block = _block(3, [[1, 2], [], [5], [6, 7, 3]], np.arange(1.0, 7.0), [1.0, 2.0, 3.0, 4.0], 20)
    assert sample_users(block, 1.0, 3) is block
    seen = set()
    for seed in range(40):
        found = sample_users(block, 0.5, seed)
        who = [int(w) - 1 for w in found.user_weight]
        seen |= set(who)
        for m, n in enumerate(who):
            own, old = (slice(b.starts[i], b.starts[i + 1]) for b, i in ((found, m), (block, n)))
            assert found.pair[own].tolist() == block.pair[old].tolist()
            assert found.weight[own].tolist() == block.weight[old].tolist()
    assert seen == {0, 1, 2, 3}


def test_half_of_the_users_are_about_half_and_the_same_in_any_blocks():
    votes = planted(4, 1, seed=1).sample(600, 2, seed=1).comparisons
    blocks, engine = make_blocks(votes), ThreadEngine(1)
    found = sample_blocks(blocks, 0.5, 7, engine)
    n = sum(block.n_users for block in found)
    assert abs(n - 300) < 5 * np.sqrt(150)
    assert [block.first_user for block in found] == np.cumsum(
        [0, *(block.n_users for block in found[:-1])]
    ).tolist()
    assert sum(block.n_users for block in sample_blocks(blocks, 1.0, 7, engine)) == 600


def test_only_from_six_million_comparisons_on_users_are_sampled():
    assert sampled_share(6e6) == 1.0 and sampled_share(6e6 + 1) == pytest.approx(4 / 6)
    assert sampled_share(40e6) == pytest.approx(0.1)


# ---- one ranking ----


def test_pairs_are_counted_for_users_of_even_and_of_odd_number():
    block = _block(2, [[1], [2, 1], [1]], [1.0, 2.0, 0.5, 3.0], [1.0, 2.0, 1.0], first_user=5)
    (counts, _) = _count_halves(block, None, None)
    assert counts.tolist() == [[0, 1.0, 4.0, 0], [0, 4.0, 0, 0]]


def test_one_ranking_is_the_most_likely_of_all():
    wins = np.array([[0, 6, 3, 9], [2, 0, 7, 1], [5, 1, 0, 6], [1, 5, 2, 0.0]])
    table = tables_of_wins(wins)
    low, high = np.triu_indices(4, 1)
    for p, (i, j) in enumerate(zip(low, high, strict=True)):
        expected = wins[i, j] * np.log(NODES) + wins[j, i] * np.log(1 - NODES)
        assert table[0, p] == pytest.approx(expected, rel=1e-5)
    rows = [(i, j) for i in range(4) for j in range(4) for _ in range(int(wins[i, j]))]
    user = np.arange(len(rows)) % 6
    winner, loser = np.array(rows).T
    votes = mm.Comparisons.from_codes(user, winner, loser, None, list("abcd"), list("uvwxyz"))
    start = MallowsComponents(np.array([[3, 1, 2, 0]], np.int32), np.array([0.5]))
    found, distances = refine_one_ranking(make_blocks(votes), start, np.ones(1), ThreadEngine(1))

    def value(sigma, phi):
        win, lose = gap_probabilities(4, phi)
        total = 0.0
        for i, j in permutations(range(4), 2):
            gap = sigma[j] - sigma[i]
            total += wins[i, j] * np.log(win[gap] if gap > 0 else lose[-gap])
        return total

    best = max(
        value(sigma, phi) for sigma in permutations(range(4)) for phi in np.linspace(0.2, 0.99, 80)
    )
    sigma, phi = found.components.sigma[0].tolist(), float(found.components.phi[0])
    assert value(sigma, phi) == pytest.approx(best, abs=0.02)
    assert found.moved[0] > 0 and found.moved[-1] == 0 and 0 <= distances[0] <= 1


# ---- EM ----


def test_older_sums_are_forgotten_in_the_first_half_of_the_rounds(monkeypatch):
    given = []
    monkeypatch.setattr(rankings_em, "rankings_tables", lambda model: None)
    monkeypatch.setattr(rankings_em, "_m_step", lambda model, sums: given.append(sums.errors))

    class Engine:
        def reduce(self, step, blocks, sent, state):
            n = float(sent.number)
            return RankingsSums(np.zeros(1), np.zeros((1, 1, 1)), np.zeros(1), 10.0**n, 1.0), n

    rankings_em.fit_personal_rankings([], None, Engine(), n_rounds=4)
    f = 0.7
    assert given == pytest.approx(
        [
            1.0,
            (f + 10) / (f + 1),
            (f + 10 + 100) / (f + 2),
            (f + 10 + 100 + 1000) / (f + 3),
        ]
    )


def test_split_and_merge_ends_where_no_components_are_alike(monkeypatch):
    """And makes every move that brings more than the least gain."""
    components = MallowsComponents(np.zeros((3, 4), np.int32), np.full(3, 0.5))
    first = MonteCarlo(components, np.ones(3), [], [])
    left, scores = [[((0, 1), 2)], [((0, 1), 2)], []], iter([-1.0, -0.9, -0.5])
    monkeypatch.setattr(split_merge, "_moves", lambda *_: left[0])
    monkeypatch.setattr(split_merge, "_moved", lambda *given: given)
    monkeypatch.setattr(split_merge, "predicted_halves", lambda *_, **__: next(scores))

    def refine(*_):
        left.pop(0)
        return MonteCarlo(components, np.ones(3), [], [len(left)])

    found, path = split_merge.split_and_merge([], first, refine, None)
    assert path == [-1.0, -0.9, -0.5] and found.moved == [1]


@pytest.mark.parametrize(("gain", "accepted"), [(0.5e-4, 0), (2e-4, 12)])
def test_split_and_merge_tries_twelve_moves_at_most(gain, accepted, monkeypatch):
    components = MallowsComponents(np.zeros((3, 4), np.int32), np.full(3, 0.5))
    first, calls = MonteCarlo(components, np.ones(3), [], []), []
    monkeypatch.setattr(split_merge, "_moves", lambda *_: [((0, 1), 2)])
    monkeypatch.setattr(split_merge, "_moved", lambda *given: given)
    monkeypatch.setattr(split_merge, "predicted_halves", lambda *_, **__: gain * len(calls))

    def refine(*given):
        calls.append(given[-1])
        return first

    _, path = split_merge.split_and_merge([], first, refine, None)
    assert len(path) == 1 + accepted and calls == list(range(1, max(accepted, 1) + 1))


# ---- what is read off a fit ----


def test_win_rates_of_scores_are_means_over_the_others():
    scores = np.array([[1.0, 0.0, -0.5]])

    def p(i, j):
        return 1 / (1 + np.exp(scores[0, j] - scores[0, i]))

    expected = [(p(i, (i + 1) % 3) + p(i, (i + 2) % 3)) / 2 for i in range(3)]
    assert _rates(scores)[0] == pytest.approx(expected)


def test_gradients_of_users_are_added_as_squares():
    block = _block(3, [[1, 5], [], [6]], [1.0, 2.0, 1.0], [1.0, 1.0, 3.0])
    scores, total = np.array([0.4, -0.1, 0.2]), np.zeros((3, 3))
    for pairs, weight, user in (([1, 5], [1.0, 2.0], 1.0), ([6], [1.0], 3.0)):
        g = np.zeros(3)
        for code, w in zip(pairs, weight, strict=True):
            i, j = divmod(code, 3)
            e = user * w * (1 - 1 / (1 + np.exp(scores[j] - scores[i])))
            g[i] += e
            g[j] -= e
        total += np.outer(g, g)
    found, n_users = _outer(block.starts, block.pair, block.weight, block.user_weight, scores)
    assert found == pytest.approx(total) and n_users == 2


def test_draws_of_win_rates_spread_as_samples_of_users_do():
    """Two items: the logit of the share of wins has a known standard error."""
    M, wins = 400, 280
    winner = np.r_[np.zeros(wins, int), np.ones(M - wins, int)]
    votes = mm.Comparisons.from_codes(np.arange(M), winner, 1 - winner, None, list("ab"), range(M))
    found = win_rate_draws(make_blocks(votes), 2, ThreadEngine(1), 1)
    p = wins / M
    assert found[0, 0] == pytest.approx(p, abs=0.005)
    assert found[1:, 0].std() == pytest.approx(np.sqrt(p * (1 - p) / M), rel=0.15)
    assert found[1:, 0].mean() == pytest.approx(p, abs=0.01)
    assert found.sum(axis=1) == pytest.approx(np.ones(len(found)))


def test_components_are_unstable_from_either_comparison():
    found = is_unstable(np.array([0.9, 0.0, 0.0]), np.array([0.0, 0.9, 0.0]))
    assert found.tolist() == [True, True, False]
    assert optima_note(np.zeros(3)) is None and halves_note(np.zeros(3)) is None
    one, two = optima_note(np.array([0.0, 0.9, 0.0])), optima_note(np.array([0.8, 0.0, 0.4]))
    assert "omponent 2 is unstable" in one and "90%" in one
    assert "omponents 1 and 3 are unstable" in two and "60%" in two
    many = optima_note(np.full(12, 0.9))
    assert "10" in many and "…" in many and "11" not in many
    assert "component 2" in halves_note(np.array([0.0, 0.9])).lower()


def test_the_spectrum_may_show_another_number_of_components():
    assert spectrum_note(np.array([3.0, 2.0, 0.5]), 1.0, 3) is None
    fewer = spectrum_note(np.array([3.0, 0.9, 0.5]), 1.0, 3)
    more = spectrum_note(np.array([3.0, 2.0, 1.5]), 1.0, 3)
    assert fewer is not None and more is not None and fewer != more
    assert spectrum_note(np.array([3.0, 2.0, 1.1]), 1.0, 3) is None  # hardly above the edge


def test_stored_comparisons_have_no_notes_on_extremes():
    assert extreme_notes(mm.M4.from_orders(["ab"], 0.4), object()) == []


# ---- many users ----


@pytest.mark.parametrize(("mixed", "n_passes"), [(1.0, 1), (4.0, 2), (20.0, 3)])
def test_passes_over_all_users_move_a_part_of_the_components_each(mixed, n_passes, monkeypatch):
    K, Q, seen, seeds = 20, 3, [], []
    theta = np.zeros((5, K))
    theta[:, : int(mixed)] = 1 / int(mixed)
    components = MallowsComponents(np.tile(np.arange(Q, dtype=np.int32), (K, 1)), np.full(K, 0.5))
    turned = MallowsComponents(components.sigma[:, ::-1].copy(), components.phi)

    def tables(*_, seed, **__):
        seeds.append(seed)
        halves = np.zeros((K, 2 * Q, 2), np.float32)
        halves[:, :Q], halves[:, Q:] = 1.0, 2.0
        return halves

    def search(found, now, *, which=None, n_jobs=1):
        assert found.shape == (K, Q, 2)
        seen.append((float(found[0, 0, 0]), None if which is None else list(which)))
        return turned if found[0, 0, 0] == 2.0 else components

    monkeypatch.setattr(large_data, "tabulate_all_users", tables)
    for module in (large_data, stability):  # the rankings, and those of halves of the users
        monkeypatch.setattr(module, "search_components", search)
    monkeypatch.setattr(
        large_data, "_converged", lambda sample, found, *rest: found._replace(moved=rest[-1])
    )
    passed = []

    def phi_of_all(whole, drawn_by, alpha, outcome, *_):
        assert alpha is first.alpha
        passed.append((float(whole[0, 0, 0]), drawn_by))
        return np.full(K, 0.25)

    monkeypatch.setattr(large_data, "_phi_of_all", phi_of_all)
    first = MonteCarlo(turned, np.ones(K), [SimpleNamespace(theta=theta)], [])
    engine = SimpleNamespace(n_jobs=1)
    found, distances = large_data.learn_from_all_users([], [], first, engine)
    assert seen[:-2] == [(3.0, list(range(i, K, n_passes))) for i in range(n_passes)]
    assert seen[-2:] == [(1.0, None), (2.0, None)] and len(set(seeds)) == n_passes
    assert distances.tolist() == [1.0] * K  # one half says the reverse of the other
    assert found.components.sigma is components.sigma and (found.components.phi == 0.25).all()
    # φ is that of the last pass, in which θ were drawn by what the pass before it found
    assert passed == [(3.0, turned if n_passes == 1 else components)]
    # the first search turns every ranking round, which leaves the middle item where it was
    assert found.moved == [K * (Q - 1)] + [0] * (n_passes - 1)


def test_phi_of_all_users_is_corrected_by_what_the_sample_shows(monkeypatch):
    """By the mean difference of logits, within bounds; the sample's pass has draws of its own."""
    K, Q, seeds = 2, 3, []
    sigma = np.tile(np.arange(Q, dtype=np.int32), (K, 1))
    drawn_by = MallowsComponents(sigma, np.full(K, 0.9))
    outcome = MonteCarlo(MallowsComponents(sigma, np.array([0.3, 0.0])), np.ones(K), [], [])
    drawn_with = np.full(K, 0.3)
    phi = {1.0: np.array([0.4, 0.5]), 5.0: np.array([0.2, 1e-9])}

    def tables(blocks, components, alpha, engine, *, marginal, seed):
        assert (
            not marginal and blocks == ["sample"] and components is drawn_by and alpha is drawn_with
        )
        seeds.append(seed)
        return np.concatenate([np.full((K, Q, 2), 2.0), np.full((K, Q, 2), 3.0)], axis=1)

    def best(found, components):
        assert found.shape == (K, Q, 2)
        return components._replace(phi=phi[float(found[0, 0, 0])])

    monkeypatch.setattr(large_data, "tabulate_all_users", tables)
    monkeypatch.setattr(large_data, "with_best_phi", best)
    whole = np.ones((K, Q, 2), np.float32)
    found = large_data._phi_of_all(whole, drawn_by, drawn_with, outcome, ["sample"], None, 7)
    # 1e-9 and 0 are both the least φ, so that the second component shows no difference
    off = 0.5 * (np.log(0.3 / 0.7) - np.log(0.2 / 0.8))
    by_definition = 1 / (1 + np.exp(-(np.log([0.4 / 0.6, 1.0]) + off)))
    assert found == pytest.approx(by_definition)
    passes = [child_seed(7, Step.ALL_USERS_PASS, i) for i in range(3)]
    assert len({*passes, *seeds}) == 4


def test_scores_of_all_users_are_summed_in_two_passes(monkeypatch):
    """Two Newton steps; replicates are weighted in the second pass alone."""
    wanted, seeds = [], []

    class Engine:
        def reduce(self, step, blocks, broadcast):
            _, share, n_replicates, _ = broadcast
            wanted.append((share, n_replicates))
            slope, shown = np.array([0.2, -0.1]), np.diag([4.0, 2.0])
            return (slope, shown / 2, shown, np.ones((n_replicates, 2))), None

    monkeypatch.setattr(score_sums, "make_shards", lambda blocks: blocks)
    monkeypatch.setattr(score_sums, "score_inputs", lambda *_, seed, **__: seeds.append(seed))
    near = Smooth(np.array([0.3, -0.4]), np.empty(0), np.empty(0))
    smooth, steps = score_sums.sum_scores(None, near, [], 3, Engine(), share=0.5)
    assert wanted == [(0.5, 0), (0.5, 3)] and len(set(seeds)) == 2
    assert smooth.information == pytest.approx(np.diag([2.0, 1.0]), rel=1e-6)
    assert smooth.eta == pytest.approx([0.3 + 2 * 0.1, -0.4 - 2 * 0.1])
    assert steps == pytest.approx(np.tile([0.5, 1.0], (3, 1)), rel=1e-6)


def test_a_path_of_alpha_begins_within_bounds_and_keeps_its_last_two_thirds(monkeypatch):
    """The first cycle's moments give α; then each cycle moves it."""
    given = []

    class Engine:
        def reduce(self, step, blocks, broadcast, chains):
            prepared, cycle, _ = broadcast
            given.append((cycle, prepared.alpha, chains))
            a, R = dirichlet_moments(np.array([1.0, 3.0]))
            return (5 * np.vstack([a, R]), 5.0), f"chains {cycle}"

    monkeypatch.setattr(dirichlet_prior, "_moved", lambda alpha, chains, engine: 2 * alpha)
    prepared = prepare(mm.M4.from_orders(["ab", "ba"], 0.3, [300.0, 100.0]))
    path = dirichlet_prior.dirichlet_path(prepared, [], Engine(), 6, 0)
    assert [cycle for cycle, _, _ in given] == list(range(6))
    assert given[0][1] == pytest.approx([37.5, 12.5])  # a sum of 50 at most
    assert given[1][1] == pytest.approx([2.0, 6.0]) and given[1][2] == "chains 0"
    assert np.exp(path) == pytest.approx(np.outer(2.0 ** np.arange(3, 7), [1.0, 3.0]))
