"""`compare`: the protocol, the sums behind every number of the table, failures as rows; and the
command.
"""

import csv
import json

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.assess import compare as compare_module
from mallowmix.assess.prediction_task import make_task
from mallowmix.assess.resource_meter import Meter, resident
from mallowmix.assess.system_scores import clustered
from mallowmix.data.ratings import rating_table
from mallowmix.errors import DataError, FileError, OptionError
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.peers.baselines import BradleyTerry, Coin
from mallowmix.peers.bias import Bias
from mallowmix.peers.validation import predicted_rows
from mallowmix.plots import plot_compared
from tests.command_line import run
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
FEW = ("m4-one", "bradley-terry", "coin")


@pytest.fixture(scope="module")
def votes():
    return planted(8, 2, 0.3, 0.2).sample(90, 25, seed=1).comparisons


@pytest.fixture(scope="module")
def ratings():
    """Stars of 60 people for 12 things, two tastes."""
    random = np.random.default_rng(0)
    taste = random.normal(size=(2, 12))
    rows = [(m, i) for m in range(60) for i in range(12) if random.random() < 0.9]
    stars = [
        int(np.clip(np.rint(3 + 1.2 * taste[m % 2, i] + random.normal(0, 0.4)), 1, 5))
        for m, i in rows
    ]
    return [f"u{m:02d}" for m, _ in rows], [f"i{i:02d}" for _, i in rows], stars


@pytest.fixture(scope="module")
def found(votes):
    return mm.compare(votes, 2, systems=FEW, n_splits=2)


# ---- the number of components ----


def test_a_given_list_whose_largest_number_is_chosen_is_said(votes):
    found = mm.compare(votes, (1, 2), systems=["m4-one", "coin"], n_splits=1)
    assert found.table[0].n_components == (2,) and "(2) was chosen by m4-one" in found.notes[0]
    assert not mm.compare(votes, (2, 3), systems=["coin"], n_splits=1).notes


def test_unless_given_larger_numbers_are_tried_where_they_help(votes, monkeypatch):
    monkeypatch.setattr(compare_module, "COMPONENTS", (1, 2))
    found = mm.compare(votes, systems=["m4-one"], n_splits=1)
    assert found.n_components == (1, 2) and not found.notes
    (K,) = found.table[0].n_components
    assert K >= 2
    chosen = mm.compare(votes, (1, 2, 3, 5), systems=["m4-one"], n_splits=1)
    assert chosen.table[0].n_components == (K,)


# ---- an interrupted comparison ----


class Stopped(Exception):
    """In the place of Ctrl-C."""


def test_an_interrupted_comparison_goes_on_where_it_was(votes, tmp_path, monkeypatch):
    """Scores are those of a run in one go, and no system that is kept is learnt again."""
    options = {"systems": ["borda", "coin"], "n_splits": 2}
    whole = mm.compare(votes, 2, **options)

    def stop(system, done, total):
        if done == 1:
            raise Stopped

    with pytest.raises(Stopped):
        mm.compare(votes, 2, **options, keep_in=tmp_path / "runs", progress=stop)
    kept = sorted((tmp_path / "runs").iterdir())
    assert len(kept) == 2  # borda on two splits

    def learn_again(*_, **__):
        raise AssertionError("It was kept.")

    with monkeypatch.context() as changed:
        changed.setattr("mallowmix.peers.baselines.Borda.fit", learn_again)
        found = mm.compare(votes, 2, **options, keep_in=tmp_path / "runs")
    assert [row.log_loss for row in found.table] == [row.log_loss for row in whole.table]
    assert [row.settings for row in found.table] == [row.settings for row in whole.table]

    kept[0].write_bytes(kept[0].read_bytes()[:-40])  # cut short: it is run again
    again = mm.compare(votes, 2, **options, keep_in=tmp_path / "runs")
    assert [row.log_loss for row in again.table] == [row.log_loss for row in whole.table]


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"given": 0.4}, {"n_components": 3}, {"split": "comparisons"}]
)
def test_what_is_kept_serves_the_same_comparison_only(votes, tmp_path, other):
    options = {"n_components": 2, "systems": ["m4-one"], "n_splits": 1}
    mm.compare(votes, **options, keep_in=tmp_path)
    changed = options | other
    found = mm.compare(votes, **changed, keep_in=tmp_path)
    assert found.table[0].log_loss == mm.compare(votes, **changed).table[0].log_loss
    assert len(list(tmp_path.iterdir())) == 2


def test_other_stars_with_the_same_order_are_other_data(ratings, tmp_path):
    user, item, stars = ratings
    options = {"systems": ["bias"], "n_splits": 1, "keep_in": tmp_path}
    first = mm.compare(ratings, 2, **options).table[0].rmse
    doubled = mm.compare((user, item, [2 * each for each in stars]), 2, **options).table[0].rmse
    assert doubled == pytest.approx(2 * first)


def test_a_folder_that_cannot_be_used_is_said(votes, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be used as a folder"):
        mm.compare(votes, 2, systems=["coin"], keep_in=tmp_path / "file")


# ---- the protocol ----


def items_of(part, m):
    return set(part.winner[part.user == m]) | set(part.loser[part.user == m])


def test_new_people_and_no_item_both_given_and_held_out(votes):
    task = make_task(votes, "people", 0.5, 3)
    assert not set(task.train.users.tolist()) & set(task.given.users.tolist())
    assert (task.train.n_users, task.given.n_users) == (60, 30)
    assert (
        task.given.users.tolist()
        == task.held_out.users.tolist()
        == votes.users[task.people].tolist()
    )
    assert all(not items_of(task.given, m) & items_of(task.held_out, m) for m in range(30))
    other = make_task(votes, "people", 0.5, 4)
    assert other.people.tolist() != task.people.tolist()
    assert make_task(votes, "people", 0.5, 3).held_out == task.held_out


@pytest.mark.parametrize("split", ["items", "comparisons"])
def test_other_splits_learn_from_what_is_given_of_everybody(votes, split):
    task = make_task(votes, split, 0.5, 3)
    assert task.train is task.given and task.given.n_users == 90
    together = task.given.n_comparisons + task.held_out.n_comparisons
    assert (
        together == votes.n_comparisons
        if split == "comparisons"
        else together < votes.n_comparisons
    )


def test_where_items_cannot_be_held_out_a_note_says_so():
    two = mm.Comparisons.from_arrays(
        list("uvwxyz") * 2, ["a"] * 6 + ["b"] * 6, ["b"] * 6 + ["a"] * 6
    )
    assert make_task(two, "people", 0.5, 0).note == (
        "People compared too few pairs for items to be held out: single comparisons are."
    )
    with pytest.raises(
        DataError, match=r"There are 2 people with comparisons; .* give three at least"
    ):
        make_task(two.take_users([0, 1]), "people", 0.5, 0)


@pytest.mark.slow
def test_ratings_are_split_before_comparisons_are_made(ratings):
    table = rating_table(ratings)
    task = make_task(table, "people", 0.5, 1)
    assert task.given.n_users == 20 and task.train.n_users == 40
    stars = dict(zip(zip(*ratings[:2], strict=True), ratings[2], strict=True))
    for part in (task.given, task.held_out):
        names = part.users.tolist(), part.items.tolist()
        assert all(
            stars[names[0][m], names[1][i]] > stars[names[0][m], names[1][j]]
            for m, i, j in zip(part.user, part.winner, part.loser, strict=True)
        )
    assert all(not items_of(task.given, m) & items_of(task.held_out, m) for m in range(20))
    assert max(task.held_out.per_user()) <= 36
    held_out = set(zip(*task.ratings.held_out[:2], strict=True))
    assert not held_out & set(zip(*task.ratings.train[:2], strict=True))
    assert len(held_out) + len(task.ratings.train[0]) == len(ratings[0])


# ---- the numbers ----


@pytest.mark.slow
def test_the_table_is_what_the_systems_predict(votes, found):
    """Every number of one row, by hand, from the same splits; people of whom something is held out
    in both are one cluster.
    """
    sums = {}
    for n in range(2):
        task = make_task(votes, "people", 0.5, child_seed(0, Step.COMPARE_SPLIT, n))
        p = predicted_rows(BradleyTerry().fit(task.train), task.given, task.held_out)
        for m, w, q in zip(task.people[task.held_out.user], task.held_out.weight, p, strict=True):
            n, loss, right = sums.get(m, (0, 0, 0))
            sums[m] = (n + w, loss - w * np.log(q), right + w * (q > 0.5))
    n, loss, right = np.array(list(sums.values())).T
    row = next(row for row in found.table if row.system == "bradley-terry")
    mean = loss.sum() / n.sum()
    error = np.sqrt(len(n) / (len(n) - 1) * np.sum((loss - mean * n) ** 2)) / n.sum()
    assert row.log_loss == pytest.approx(mean)
    assert (row.low, row.high) == pytest.approx((mean - 1.96 * error, mean + 1.96 * error))
    assert row.accuracy == pytest.approx(right.sum() / n.sum())
    assert row.log_loss_by_person == pytest.approx(np.mean(loss / n))
    half = 1.96 * np.std(loss / n, ddof=1) / np.sqrt(len(n))
    assert row.by_person_high - row.log_loss_by_person == pytest.approx(half)
    assert row.log_loss_by_person - row.by_person_low == pytest.approx(half)
    assert (found.n_users, found.n_comparisons) == (len(n), n.sum())


def test_the_best_comes_first_and_the_others_are_behind_it(found):
    assert [row.system for row in found.table] == ["m4-one", "bradley-terry", "coin"]
    best, *others = found.table
    assert best.behind == 0 and best.behind_error == 0
    for row in others:
        assert row.behind == pytest.approx(row.log_loss - best.log_loss) and row.behind_error > 0
        half = 1.96 * row.behind_error
        assert (row.behind_low, row.behind_high) == pytest.approx(
            (row.behind - half, row.behind + half)
        )
    assert (
        others[-1].log_loss == pytest.approx(np.log(2))
        and others[-1].slope is None
        and others[-1].accuracy == 0.5
    )
    assert best.seconds > 0 and 0.5 < best.slope < 1.5


def test_intervals_cover_a_clustered_mean():
    """1000 draws of 40 people with 1 to 20 correlated outcomes: a 95% interval covers 92 to 97.5%
    (4 s.e. are .028).
    """
    random, covered = np.random.default_rng(0), 0
    for _ in range(1000):
        n = random.integers(1, 21, 40)
        total = n * random.normal(0, 1, 40) + np.sqrt(n) * random.normal(size=40)
        mean, error = clustered(total.astype(float), n.astype(float))
        covered += abs(mean) < 1.96 * error
    assert 0.915 < covered / 1000 < 0.975
    assert clustered(np.array([3.0, 0.0]), np.array([6.0, 0.0])) == (0.5, None)


def test_a_system_that_fails_is_a_row_with_its_reason(votes, monkeypatch):
    def broken():
        class Broken(Coin):
            def fit(self, data, n_components=1, *, seed=0):
                raise ZeroDivisionError("no luck")

        return Broken()

    monkeypatch.setitem(compare_module.SYSTEMS, "borda", broken)
    found = mm.compare(votes, 2, systems=["borda", "bias", "coin"])
    assert [(row.system, row.failed) for row in found.table] == [
        ("coin", None),
        ("borda", "no luck"),
        ("bias", "This system learns from ratings, split by people or by items."),
    ]


@pytest.mark.slow
def test_ratings_bring_systems_for_ratings_and_their_error(ratings):
    found = mm.compare(ratings, 2, systems=["m4-one", "bias", "coin"], n_splits=1)
    rows = {row.system: row for row in found.table}
    assert rows["coin"].rmse is None and rows["m4-one"].log_loss < 0.6
    split, learn = (child_seed(0, step, 0) for step in (Step.COMPARE_SPLIT, Step.COMPARE_FIT))
    task = make_task(rating_table(ratings), "people", 0.5, split)
    predicted = Bias().fit(task.ratings.train, seed=learn).predict(*task.ratings.held_out[:2])
    assert rows["bias"].rmse == pytest.approx(
        np.sqrt(np.mean((predicted - task.ratings.held_out[2]) ** 2))
    )
    assert rows["m4-one"].rmse < rows["bias"].rmse, "two opposite tastes have no common bias"


def test_a_path_a_table_and_tuples_are_comparisons(tmp_path):
    votes = mm.load_dishes(n_users=30, per_user=6).comparisons
    rows = votes.to_frame("pandas").assign(weight=1)
    votes = mm.read_comparisons(rows)
    rows.to_csv(tmp_path / "votes.csv", index=False)
    tuples = [(row.user, row.winner, row.loser) for row in rows.itertuples()]
    expected = [row.log_loss for row in mm.compare(votes, 1, systems=["coin", "borda"]).table]
    for given in (tmp_path / "votes.csv", str(tmp_path / "votes.csv"), rows, tuples):
        found = mm.compare(given, 1, systems=["coin", "borda"])
        assert [row.log_loss for row in found.table] == expected
        assert not any(row.failed for row in found.table)


def test_options_out_of_range(votes):
    for options, message in (
        ({"systems": ["m5"]}, "systems is 'm5'; it must be one of 'mallowmix', 'm4', 'm4-one'"),
        ({"systems": "m5"}, "systems is 'm5'; it must be one of 'mallowmix', 'm4', 'm4-one'"),
        ({"systems": []}, "systems is empty; name one at least"),
        ({"split": "rows"}, "split is 'rows'; it must be one of 'people', 'items', 'comparisons'"),
        ({"given": 1.0}, "given is 1.0; it must be at least 0 and below 1"),
        ({"n_splits": 0}, "n_splits is 0; it must be at least 1"),
    ):
        with pytest.raises(OptionError, match=message):
            mm.compare(votes, 2, **options)


def test_progress_names_the_system_at_work(votes):
    said = []
    mm.compare(votes, 2, systems=["coin", "borda"], progress=lambda *step: said.append(step))
    assert said == [("coin", 0, 2), ("borda", 1, 2), ("borda", 2, 2)]


def test_a_meter_sees_time_and_memory():
    with Meter() as meter:
        held = np.ones(30_000_000)
    assert meter.seconds > 0 and held[0] == 1
    assert meter.megabytes is None if resident() is None else 150 < meter.megabytes < 400


# ---- the picture and the command ----


def test_the_picture_has_a_line_for_each_system(found):
    figure = plot_compared(found)
    loss, accuracy, slope = figure.axes
    assert [text.get_text() for text in loss.get_yticklabels()] == [row.name for row in found.table]
    dots = [line.get_xdata()[0] for line in loss.lines if line.get_marker() == "o"]
    assert dots == [row.log_loss for row in found.table]
    assert [line.get_xdata()[0] for line in accuracy.lines if line.get_marker() == "o"] == [
        row.accuracy for row in found.table
    ]
    assert len([line for line in slope.lines if line.get_marker() == "o"]) == 2, (
        "a coin has no slope"
    )


@pytest.mark.slow
def test_the_command(tmp_path, votes):
    table = votes.to_arrow().to_pydict()
    with (tmp_path / "votes.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["user", "winner", "loser", "weight"], *zip(*table.values(), strict=True)]
        )
    words = (
        "compare",
        tmp_path / "votes.csv",
        "-k",
        2,
        "--systems",
        "bradley-terry,coin,bias",
        "--n-splits",
        2,
    )
    said, _ = run(*words, "-o", tmp_path / "out")
    assert "bradley-terry: Bradley–Terry (choix)" in said and "0.6931" in said
    assert "bias: user + item bias gave no result. This system learns from ratings" in said
    assert "Held out by people:" in said and ", in 2 splits; K = 2." in said
    rows = list(csv.DictReader((tmp_path / "out" / "table.csv").open()))
    assert [row["system"] for row in rows] == ["bradley-terry", "coin", "bias"]
    assert (tmp_path / "out" / "compared.png").stat().st_size > 5000
    values = json.loads(run(*words, "--json")[0])
    kept = json.loads((tmp_path / "out" / "compared.json").read_text())
    for value in (values, kept):
        for row in value["table"]:
            del row["seconds"], row["megabytes"]
    assert values == kept and float(rows[0]["log_loss"]) == values["table"][0]["log_loss"]


def test_the_command_reads_ratings(tmp_path, ratings):
    with (tmp_path / "stars.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["user", "item", "rating"], *zip(*ratings, strict=True)])
    said, _ = run("compare", tmp_path / "stars.csv", "-k", 2, "--systems", "bias,coin")
    assert "RMSE" in said and "bias: user + item bias" in said


def test_the_command_says_what_is_wrong(tmp_path):
    (tmp_path / "votes.csv").write_text("user,winner,loser\nu,a,b\nv,a,b\nw,b,a\n")
    _, said = run("compare", tmp_path / "votes.csv", "-k", 2, "--systems", "m5", code=2)
    assert "--systems is 'm5'; it must be one of 'mallowmix', 'm4', 'm4-one'" in said
    _, said = run("compare", tmp_path / "none.csv", "-k", 2, code=1)
    assert "There is no file" in said
    (tmp_path / "folder").write_text("")
    _, said = run("compare", tmp_path / "votes.csv", "-k", 2, "-o", tmp_path / "folder", code=1)
    assert "cannot be used as a folder" in said
    (tmp_path / "stars.csv").write_text("user,item,rating\nu,a,x\nv\n")
    _, said = run("compare", tmp_path / "stars.csv", "-k", 2, code=1)
    assert "stars.csv" in said and "Traceback" not in said
