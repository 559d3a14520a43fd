"""Figure 4: settings chosen on training people for the task that is scored; the paper's method."""

import csv
import dataclasses

import numpy as np
import pytest

import mallowmix as mm
from command_line import run
from film_ratings import N_FILMS, write_moviedata
from mallowmix.errors import FitError
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.heldout_scores import paired_difference
from mallowmix.model.table_model import TableModel
from mallowmix.numerics.dirichlet import dirichlet_from_smallest, dirichlet_moments
from mallowmix.paper.experiment import Request
from mallowmix.paper.figure4 import fitted_systems, movielens_split
from mallowmix.paper.figure4 import run as figure4
from mallowmix.paper.figure4.fitted_systems import PAPER_SYSTEM, FittedSystems
from mallowmix.paper.figure4.movielens_split import read_movielens_split, settings_trial
from mallowmix.paper.paper_method import PaperMethod, chosen_settings
from mallowmix.peers.validation import best_of_growing, double_odds, half_odds


@pytest.fixture
def films(tmp_path, monkeypatch):
    for name, value in {"_N_ITEMS": N_FILMS, "_N_FIRST": 60, "_N_SUBSET": 5}.items():
        monkeypatch.setattr(movielens_split, name, value)
    monkeypatch.setattr(movielens_split, "_LEARNT_PER_USER", 12)
    return write_moviedata(tmp_path)


@pytest.mark.parametrize("best", [0.0004, 0.013, 0.3, 0.97, 0.9995])
def test_candidates_grow_until_the_best_lies_between_worse_ones(best):
    """The loss is a parabola in the log-odds: no candidate is nearer to its least value than half a
    doubling of the odds, and the answer is never an end of what was tried.
    """
    tried = []

    def loss(x):
        tried.append(x)
        return np.log(x / (1 - x) * (1 - best) / best) ** 2

    found = best_of_growing((0.05, 0.1, 0.2), loss, half_odds, double_odds)
    assert min(tried) < found < max(tried) and found in tried
    odds = found / (1 - found) * (1 - best) / best
    assert 0.5 <= odds <= 2 and len(tried) == len(set(tried))


def test_candidates_stop_growing_where_the_loss_is_flat():
    tried = []

    def loss(x):
        tried.append(x)
        return x**2

    found = best_of_growing((0.1, 0.2), loss, half_odds, double_odds)
    assert found < 0.01 and len(tried) < 12


def test_the_odds_are_halved_and_doubled():
    for share in (0.01, 0.5, 0.9):
        odds = share / (1 - share)
        for other, factor in ((half_odds(share), 0.5), (double_odds(share), 2)):
            assert other / (1 - other) == pytest.approx(factor * odds)


@pytest.mark.slow
def test_settings_are_chosen_by_training_people_with_all_their_comparisons(films):
    split = read_movielens_split(films, "whole")
    trial = settings_trial(split)
    learners, judges = set(trial.training.users.tolist()), set(trial.judges.users.users.tolist())
    assert learners | judges == set(split.training.users.tolist()) and not learners & judges
    assert len(judges) == 60 // 7
    assert not judges & set(split.held_out.users.users.tolist())
    whole = dict(zip(split.training_whole.users, split.training_whole.per_user(), strict=True))
    own = trial.judges.users
    assert all(n == whole[user] for user, n in zip(own.users, own.per_user(), strict=True))
    assert own.per_user().max() > trial.training.per_user().max() == 12
    # those who are learnt from are capped, those who judge are not
    assert split.learnt.user_weight.max() <= 1 and (own.user_weight == 1).all()


def test_in_full_nothing_is_left_out(films):
    split = read_movielens_split(films, "full")
    assert split.training.weight.sum() == split.training_whole.weight.sum()
    assert split.held_out.subset is split.held_out.users
    thinned = read_movielens_split(films, "whole")
    assert thinned.training.weight.sum() < split.training.weight.sum()
    assert thinned.held_out.subset.n_users == 5


@pytest.mark.slow
@pytest.mark.parametrize("system", ["TM", "TM, not rounded"])
def test_no_floor_scores_the_judges_better_than_the_chosen_one(films, system, monkeypatch):
    """Brute force over 60 floors with β written out, scored by `completion` on the judges: the
    chosen ε loses less than 10⁻³ to the best of them, though its candidates began far away.
    """
    monkeypatch.setattr(fitted_systems, "_FLOORS", (0.9, 0.95))
    split, trial = (made := read_movielens_split(films, "whole")), settings_trial(made)
    systems = FittedSystems(split, Request())
    _, settings = systems.fitted(system, 2, "completion")
    chosen = float(settings.removeprefix("floor "))
    tried = systems._single_rankings(trial.training, system == "TM", "trial of TM")
    beta = tried.beta.T.reshape(2, N_FILMS, N_FILMS)

    def score(eps):
        model = TableModel((1 - eps) * beta + eps / 2, tried.alpha, split.training.items)
        return completion(model, trial.judges.users).log_likelihood_per_comparison

    best = max(score(eps) for eps in np.linspace(0.005, 0.99, 60))
    assert 0 < chosen < 0.9 and score(chosen) > best - 1e-3


@pytest.mark.parametrize("alpha", [[0.1, 0.4, 0.2], [3.0, 2.0], [50.0, 20.0, 1.0, 1.0]])
def test_the_reference_s_prior_from_exact_moments(alpha):
    a, R = dirichlet_moments(alpha)
    np.testing.assert_allclose(dirichlet_from_smallest(a, R), alpha, rtol=1e-9)
    # other entries of R play no part
    R[np.argmax(a), np.argmax(a)] = 7
    np.testing.assert_allclose(dirichlet_from_smallest(a, R), alpha, rtol=1e-9)


def test_the_reference_s_prior_at_its_limits():
    assert dirichlet_from_smallest([1.0], [[1.0]]).tolist() == [1.0]
    assert dirichlet_from_smallest([0.6, 0.4], np.diag([0.7, 0.4])).sum() == pytest.approx(1e-3)
    assert dirichlet_from_smallest([0.6, 0.4], [[0.3, 0], [0, 0]]).sum() == pytest.approx(1e3)


@pytest.mark.slow
def test_the_paper_s_method_with_settings_chosen_on_other_people():
    """φ = .1 and opposite rankings: found exactly, and by a grid no metric and ζ does better."""
    up = np.arange(10)
    truth = mm.M4([up, up[::-1]], [0.1, 0.1], [0.1, 0.1], "abcdefghij")
    train, judges = (truth.sample(M, 60, seed=M).comparisons for M in (2000, 100))
    method = PaperMethod(train, 2)

    def loss(model):
        return -completion(model, judges).log_likelihood_per_comparison

    options = chosen_settings(method, loss)
    model, _ = method.learn(options)
    assert mm.match_components(model.sigma, truth.sigma).kendall.max() == 0
    others = [
        mm.ProjectionsOptions(metric=metric, zeta=zeta)
        for metric in ("moment", "projected")
        for zeta in (0.01, 0.2, 1.0, 3.0)
    ]
    assert loss(model) < min(loss(method.learn(other)[0]) for other in others) + 2e-3


@pytest.mark.slow
def test_a_metric_that_the_data_does_not_allow_is_left_out(films):
    """With ratings nobody answers a pair twice."""
    users = read_movielens_split(films, "full").training
    method = PaperMethod(users, 2)
    with pytest.raises(FitError, match="Nobody answered the same pair"):
        method.learn(mm.ProjectionsOptions(metric="moment"))
    assert chosen_settings(method, lambda _: 0.0).metric == "projected"


def test_the_paper_s_own_method_is_a_system_at_every_k_and_size():
    for request, size in ((Request(), "whole"), (Request(full=True), "full")):
        mine = [t for t in figure4.EXPERIMENT.tasks(request) if t.system == PAPER_SYSTEM]
        assert {task.size for task in mine} == {size}
        assert {task.k for task in mine} == {5, 10, 15, 20, 25} and len(mine) == 10


@pytest.mark.slow
def test_one_system_alone_by_command(films, tmp_path, monkeypatch):
    monkeypatch.setattr(figure4, "_KS", (2,))
    arguments = ("reproduce", "fig4", "--full", "--data", films, "-o", tmp_path)
    said, _ = run(*arguments, "--system", PAPER_SYSTEM)
    assert "2 of 2" in said and "metric projected" in said
    _, said = run(*arguments, "--system", "nobody", code=2)
    assert "nobody" in said and "'TM, not rounded'" in said
    _, said = run(*arguments, "--quick", code=2)
    assert "--full" in said


@pytest.mark.slow
def test_m4_and_tm_by_command_come_with_their_paired_margin(films, tmp_path, monkeypatch):
    """The margin is the difference of the two rows; its standard error, by hand from each user's
    own scores, is that of differences.
    """
    monkeypatch.setattr(figure4, "_KS", (2,))
    kept = []
    original = figure4.paired_difference
    monkeypatch.setattr(
        figure4, "paired_difference", lambda *pair: kept.append(pair) or original(*pair)
    )
    arguments = ("reproduce", "fig4", "--data", films, "-o", tmp_path)
    said, _ = run(*arguments, "--system", "M4", "--system", "TM")
    assert "6 of 6" in said
    with (tmp_path / "fig4.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["system"], row["method"]): row for row in csv.DictReader(file)}
    assert {system for system, _ in rows} == {"M4", "TM", "M4 above TM"}
    for method, (ours, theirs) in zip(("completion", "left-to-right"), kept, strict=True):
        values = [float(rows[name, method]["log_likelihood"]) for name in ("M4", "TM")]
        margin = rows["M4 above TM", method]
        assert float(margin["log_likelihood"]) == pytest.approx(values[0] - values[1], abs=1e-12)
        users = [
            (a - b, n)
            for (a, n), (b, _) in zip(ours.by_user.tolist(), theirs.by_user.tolist(), strict=True)
            if n
        ]
        total = sum(n for _, n in users)
        mean = sum(d for d, _ in users) / total
        spread = sum((d - mean * n) ** 2 for d, n in users) * len(users) / (len(users) - 1)
        assert float(margin["standard_error"]) == pytest.approx(spread**0.5 / total)
        half = 1.96 * spread**0.5 / total
        assert f"{mean:+.4f} ± {half:.4f}" in (tmp_path / "fig4.md").read_text(encoding="utf-8")
    alone, _ = run(*arguments[:-1], tmp_path / "alone", "--system", "TM")
    assert "2 of 2" in alone


def test_scores_of_other_comparisons_are_not_paired():
    people = mm.random_model(4, 2, seed=1).sample(5, 6, seed=2).comparisons
    model = mm.random_model(4, 2, seed=3)
    score = completion(model, people)
    assert paired_difference(score, score).log_likelihood_per_comparison == 0
    with pytest.raises(mm.errors.DataError, match="the same"):
        paired_difference(score, completion(model, people.take_users(range(4))))
    with pytest.raises(mm.errors.DataError, match="own"):
        paired_difference(score, dataclasses.replace(score, by_user=None))
