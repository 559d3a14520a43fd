"""What the predictor is made of: which members stay, how many factors, and people like nobody."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from benchmarks import simulated_people
from mallowmix.engine import ThreadEngine, make_blocks, some_users
from mallowmix.fitting.stacking.candidates import fold_predictions
from mallowmix.fitting.stacking.held_out_users import first_held_out, make_folds, mean_loss
from mallowmix.fitting.stacking.member_choice import (
    Judged,
    as_few_as_will_do,
    judged_by,
    pool_weights,
)
from mallowmix.fitting.stacking.utilities_scale import UtilitiesScale, best_scale, rescaled
from mallowmix.fitting.stacking.utilities_search import _far_below, utilities_candidates
from mallowmix.model.utilities_model import UtilitiesModel

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


def judged(*columns, utilities=None):
    n = len(columns[0])
    kind = np.ones(len(columns), bool) if utilities is None else np.array(utilities)
    return Judged(np.column_stack(columns), np.ones(n), np.arange(n) % 3, np.arange(n), kind)


@pytest.mark.slow
def test_a_member_that_adds_nothing_is_left_out():
    """The second is the first again; the third is worse everywhere; the fourth knows other rows."""
    half = np.random.default_rng(0).random(900) < 0.5
    first, other = np.where(half, 0.9, 0.4), np.where(half, 0.4, 0.9)
    found = as_few_as_will_do(judged(first, first, 0.6 * first, other))
    assert len(found) == 2 and 3 in found and 2 not in found


def test_with_few_users_members_stay_unless_they_harm():
    good = np.random.default_rng(0).uniform(0.5, 0.95, 90)
    assert as_few_as_will_do(judged(good, good)) == [0, 1]


def test_a_member_of_another_kind_must_add_more_than_noise():
    """One that is noise beside the utilities would get a weight by chance; one that knows other
    rows keeps its own. (By chance noise would stay in one category of forty.)
    """
    random = np.random.default_rng(1)
    good = np.where(random.random(900) < 0.7, 0.7, 0.3)
    noisy = np.clip(good + random.normal(0, 0.05, 900), 0.05, 0.95)
    found = pool_weights(judged(good, noisy, utilities=[True, False]))
    assert np.allclose(found, [[0.99, 0.01]] * 3, atol=1e-3)
    assert (pool_weights(judged(good, noisy))[:, 1] > 0.02).any()
    half = random.random(900) < 0.5
    first, other = np.where(half, 0.9, 0.4), np.where(half, 0.4, 0.9)
    assert (pool_weights(judged(first, other, utilities=[True, False])) > 0.3).all()


def test_the_utilities_are_there_to_be_added_to():
    """Of two kinds that predict alike the utilities stay: nothing shows that the other adds."""
    good = np.where(np.random.default_rng(3).random(900) < 0.7, 0.7, 0.3)
    assert as_few_as_will_do(judged(good, good, utilities=[True, False])) == [0]
    assert as_few_as_will_do(judged(good, good, utilities=[False, True])) == [1]


@pytest.mark.slow
def test_it_counts_where_it_adds_and_nowhere_else():
    """The other kind knows half of the third category, and nothing of the others."""
    half = np.random.default_rng(2).random(900) < 0.5
    good = np.where(half, 0.9, 0.4)
    other = np.where(np.arange(900) % 3 == 2, np.where(half, 0.4, 0.9), 0.3)
    found = pool_weights(judged(good, other, utilities=[True, False]))
    assert np.allclose(found[:2, 1], 0.01, atol=1e-3) and found[2, 1] > 0.2


def people_with_factors(n_users, seed=0):
    """Ten items, two planted factors, twenty comparisons each."""
    random = np.random.default_rng(seed)
    V = random.normal(0, 1.5, (10, 2))
    u = random.normal(size=(n_users, 2)) @ V.T
    user = np.repeat(np.arange(n_users), 20)
    first = random.integers(10, size=len(user))
    second = (first + random.integers(1, 10, size=len(user))) % 10
    wins = random.random(len(user)) < 1 / (1 + np.exp(u[user, second] - u[user, first]))
    pairs = np.where(wins, first, second), np.where(wins, second, first)
    return mm.Comparisons.from_codes(user, *pairs, None, range(10), range(n_users))


def test_the_search_stops_where_more_factors_do_not_help():
    votes = people_with_factors(400)
    folds = make_folds(votes, 0)
    found = utilities_candidates(folds, make_blocks(votes), votes.items, 0, ThreadEngine(1))
    tried = [(each.members[0].n_components, each.members[0].n_factors) for each in found]
    assert tried[0] == (1, 2) and len(tried) <= 5
    assert all(isinstance(member, UtilitiesModel) for each in found for member in each.members)
    assert isinstance(found[0].finish(), UtilitiesModel)


def test_nothing_more_is_tried_where_mixed_membership_is_far_ahead():
    """By a fifth of the log-loss of every category that occurs; else the search goes on."""
    votes = people_with_factors(400)
    folds = make_folds(votes, 0)
    blocks, engine = make_blocks(votes), ThreadEngine(1)
    plain = utilities_candidates(folds, blocks, votes.items, 0, engine)

    def tried(power):
        mixed = replace(plain[0], probabilities=tuple(p**power for p in plain[0].probabilities))
        found = utilities_candidates(folds, blocks, votes.items, 0, engine, mixed=mixed)
        return {(each.members[0].n_components, each.members[0].n_factors) for each in found}

    # log-losses are multiplied by the power; the first try is judged before it is rescaled
    assert tried(0.5) == {(1, 2)} and len(tried(0.95)) > 1


@pytest.mark.parametrize(
    ("mixed", "first", "far"),
    [
        ([0.4, 0.4, 0.4], [0.6, 0.6, 0.6], True),
        ([0.4, 0.59, 0.4], [0.6, 0.6, 0.6], False),
        ([0.4, 0.4, 0.0], [0.6, 0.6, 0.0], True),  # no pair of two items that were compared before
        ([0.49, 0.49, 0.49], [0.6, 0.6, 0.6], False),
        ([0.47, 0.47, 0.47], [0.6, 0.6, 0.6], True),
    ],
)
def test_far_ahead_is_a_fifth_in_every_category(mixed, first, far):
    assert _far_below(np.array(mixed), np.array(first)) is far


def test_no_factors_are_tried_where_two_are_the_most_that_help():
    """200 people who compare six of 40 items, each with utilities of its own: what two factors
    find there is noise.
    """
    random = np.random.default_rng(4)
    u = random.normal(size=40) + random.normal(0, 1, (200, 40))
    shown = [random.permutation(40)[:6] for _ in range(200)]
    ordered = [own[np.argsort(-u[m, own])] for m, own in enumerate(shown)]
    rows = [(m, i, j) for m, own in enumerate(ordered) for i, j in itertools.combinations(own, 2)]
    votes = mm.Comparisons.from_codes(*np.array(rows).T, None, range(40), range(200))
    folds = make_folds(votes, 0)
    found = utilities_candidates(folds, make_blocks(votes), votes.items, 0, ThreadEngine(1))
    loss = {
        each.members[0].n_factors: np.mean(
            [mean_loss(f.held_out, p) for f, p in zip(folds, each.probabilities, strict=True)]
        )
        for each in reversed(found)
    }
    assert loss[0] < loss[2]


def test_scales_put_right_what_was_spoilt():
    """Loadings of a quarter of their variance, and items of four times theirs: held-out people find
    both again, within what noise and the last step allow.
    """
    votes = people_with_factors(400)
    folds = make_folds(votes, 0)
    found = utilities_candidates(folds, make_blocks(votes), votes.items, 0, ThreadEngine(1))
    spoilt = UtilitiesScale(loadings=0.25, variances=4.0)
    wrong = [rescaled(member, spoilt) for member in found[0].members]
    scale = best_scale(folds, wrong, known=False)
    assert scale.loadings > 2 and scale.variances < 0.5

    def loss(members):
        parts = zip(folds, members, strict=True)
        return np.mean([mean_loss(f.held_out, fold_predictions(f, member)) for f, member in parts])

    right = loss([rescaled(member, scale) for member in wrong])
    assert right < loss(wrong) - 0.01 and right < loss(found[0].members) + 0.003


def test_utilities_for_known_items_must_add_more_than_noise_elsewhere():
    """Made for items that were compared before, they are measured as another kind is."""
    votes = people_with_factors(300)
    folds = make_folds(votes, 0)
    found = utilities_candidates(folds, make_blocks(votes), votes.items, 0, ThreadEngine(1))
    assert [each.for_known for each in found[:-1]] == [False] * (len(found) - 1)
    known = [replace(found[0], for_known=True)]
    assert judged_by([*found[:1], *known], folds).utilities.tolist() == [True, False]


def test_few_people_leave_the_scales_alone():
    """Nine people, three of whom judge at a time, say nothing about three factors."""
    votes = people_with_factors(9)
    folds = make_folds(votes, 0)
    found = utilities_candidates(folds, make_blocks(votes), votes.items, 0, ThreadEngine(1))
    scale = best_scale(folds, found[0].members, known=True)
    assert all(0.5 < factor < 2 for factor in scale)


def test_the_first_of_the_held_out_users():
    whole = make_folds(people_with_factors(90), 0)[0].held_out
    part = first_held_out(whole, 7)
    assert part.block.n_users == 7 and len(part.queries.starts) == 8
    n = len(part.queries.pair)
    assert np.array_equal(part.queries.pair, whole.queries.pair[:n])
    assert np.array_equal(part.block.pair, whole.block.pair[: len(part.block.pair)])
    assert len(part.category) == len(part.counts) == n
    everyone = first_held_out(whole, 10**6)
    assert everyone.n_users == whole.n_users
    assert np.array_equal(everyone.queries.pair, whole.queries.pair)


def test_some_rows_of_the_held_out_users():
    """Each user keeps what is given, but those of whom nothing is asked."""
    whole = make_folds(people_with_factors(90), 0)[0].held_out
    chosen = np.random.default_rng(3).random(len(whole.category)) < 0.03
    part = whole.of_rows(chosen)
    owner = np.repeat(np.arange(whole.block.n_users), np.diff(whole.queries.starts))
    assert np.array_equal(part.queries.pair, whole.queries.pair[chosen])
    assert np.array_equal(part.queries.users(), owner[chosen])
    assert np.array_equal(part.category, whole.category[chosen])
    assert part.counts.sum() == pytest.approx(whole.counts[chosen].sum())
    assert part.n_users == whole.n_users and part.block.n_users == whole.block.n_users
    for m in range(whole.block.n_users):
        old, new = (slice(*each.block.starts[m : m + 2]) for each in (whole, part))
        given = whole.block.pair[old] if m in owner[chosen] else []
        assert part.block.pair[new].tolist() == list(given)
    assert 0 < len(part.block.pair) < len(whole.block.pair)


@pytest.mark.parametrize(("n", "n_folds"), [(90, 3), (400, 2), (1000, 1)])
def test_folds_by_the_number_of_users(n, n_folds):
    folds = make_folds(people_with_factors(n), 0)
    assert len(folds) == n_folds
    for fold in folds:
        assert fold.train.n_users + fold.held_out.n_users == n
        cells = np.bincount(
            fold.held_out.queries.users() * 3 + fold.held_out.category, fold.held_out.counts
        )
        n_masks = fold.held_out.block.n_users // fold.held_out.n_users
        assert np.allclose(cells[cells > 0], 1 / n_masks)


@pytest.mark.parametrize("n", [30, 1000, 2000])
def test_short_lists_are_hidden_several_times(n):
    """Weights rest on hidden comparisons: people who say little are asked with other masks."""
    held_out = make_folds(people_with_factors(n), 0)[0].held_out
    n_masks = held_out.block.n_users // held_out.n_users
    one_mask = np.searchsorted(held_out.queries.users(), held_out.n_users)
    assert n_masks == min(20_000 // one_mask, 6) > 1


def test_some_users_come_from_all_blocks():
    blocks = make_blocks(people_with_factors(300))
    found = some_users(blocks, 60)
    assert len(found) == len(blocks)
    assert 60 <= sum(block.n_users for block in found) <= 60 + len(blocks)
    for part, whole in zip(found, blocks, strict=True):
        assert np.array_equal(part.pair, whole.pair[: len(part.pair)])
        assert part.starts[-1] == len(part.pair)


@pytest.mark.slow
def test_simulated_rankings_follow_mallows():
    """4,000 rankings of four items against the probabilities of all 24; χ² of 23 degrees of freedom
    exceeds 49.7 once in a thousand.
    """
    random, reference, phi = np.random.default_rng(0), np.array([2, 0, 3, 1]), 0.6
    drawn = [tuple(simulated_people.mallows(reference, phi, random)) for _ in range(4000)]
    weight = {}
    for order in itertools.permutations(range(4)):
        position = np.argsort(order)
        pairs = itertools.combinations(reference, 2)
        weight[order] = phi ** sum(int(position[i] > position[j]) for i, j in pairs)
    total = sum(weight.values())
    chi = sum(
        (drawn.count(order) - 4000 * w / total) ** 2 / (4000 * w / total)
        for order, w in weight.items()
    )
    assert chi < 49.7


def test_held_out_answers_are_a_fifth():
    parts = simulated_people.split_answers(simulated_people.consistent_people(0)[:50], 0)
    held, given = (sum(len(w) for w, _ in side) for side in (parts.held_out, parts.given))
    assert 0.15 < held / (held + given) < 0.25
    assert parts.train is parts.given
