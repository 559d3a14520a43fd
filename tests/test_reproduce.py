"""The paper's experiments by command: on a small stand-in for MovieLens, with numbers checked by hand or by other means."""

import csv
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from mallowmix.paper.any_components import AnyColumns
from scipy.io import savemat

import mallowmix as mm
from command_line import run
from mallowmix.cli.reproduce import EXPERIMENTS
from mallowmix.data.ratings import rating_table
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.left_to_right import left_to_right
from mallowmix.model.separability import separability
from mallowmix.paper import references
from mallowmix.paper.experiment import Request, digits, markdown_table
from mallowmix.paper.figure2 import run as geometry
from mallowmix.paper.figure2.run import planar_solid_angles, plane
from mallowmix.paper.figure3 import run as people_needed
from mallowmix.paper.figure4 import run as new_people
from mallowmix.paper.footnote import run as footnote
from mallowmix.paper.footnote.run import PRINTED as FOOTNOTE
from mallowmix.paper.movielens_files import SHA256, URL, read_films
from mallowmix.paper.table1 import populations as table1_data
from mallowmix.paper.table1 import report as table1_report
from mallowmix.paper.table1 import run as table1
from mallowmix.paper.table2 import run as star_ratings
from mallowmix.paper.table2 import star_profiles
from mallowmix.paper.table2.ratings_split import read_split
from mallowmix.paper.table2.report import PRINTED
from mallowmix.paper.theory.solid_angles import solid_angles, triangle_solid_angles

Q, M = 12, 90


def stars(seed: int = 0) -> np.ndarray:
    """(n, 3) user, film, stars: two tastes with opposite orders of twelve films, everybody rates nine or so."""
    random = np.random.default_rng(seed)
    rows = []
    for user in range(1, M + 1):
        taste = np.arange(Q) if user % 2 else np.arange(Q)[::-1]
        seen = random.choice(Q, 9, replace=False)
        given = np.clip(np.rint(1 + 4 * taste[seen] / (Q - 1) + 0.5 * random.normal(size=9)), 1, 5)
        rows.append(np.column_stack([np.full(9, user), 10 + seen, given]))
    return np.concatenate(rows)


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """A folder with moviedata.mat: a tenth of the ratings are the test part."""
    folder, rows = tmp_path_factory.mktemp("ml"), stars()
    test = np.random.default_rng(1).permutation(len(rows)) < len(rows) // 10
    parts = {"train_vec": rows[~test].astype(np.uint16), "probe_vec": rows[test].astype(np.uint16)}
    savemat(folder / "moviedata.mat", parts)
    return folder


def table_of(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_files(folder, name, columns):
    """All three files are there, the table says where it comes from, and a second run adds no row."""
    rows = table_of(folder / f"{name}.csv")
    assert tuple(rows[0]) == columns
    assert f"`mallowmix reproduce {name}`" in (folder / f"{name}.md").read_text(encoding="utf-8")
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return rows


# ------------------------------------------------------------------------------------------------------------ the footnote


def test_footnote_is_within_chance_of_the_paper(tmp_path, monkeypatch):
    """Four differences of means of 200 draws and of the paper's 1000, the seed fixed: another seed would pass 3.5 standard errors
    once in 500.
    """
    monkeypatch.setattr(footnote, "PAPER_DRAWS", 200)
    said, _ = run("reproduce", "footnote", "--quick", "-o", tmp_path)
    rows = check_files(
        tmp_path,
        "footnote",
        ("phi", "draws", "probability", "standard_error", "paper", "lemma3_bound", "version"),
    )
    assert "4 of 4: φ = 0.5" in said and "difference in standard errors" in said
    for row in rows:
        p, paper = float(row["probability"]), FOOTNOTE[float(row["phi"])]
        assert abs(p - paper) < 3.5 * math.sqrt(p * (1 - p) / 200 + paper * (1 - paper) / 1000)
        assert float(row["lemma3_bound"]) < 0


# ---------------------------------------------------------------------------------------------------------------- figure 2


def test_planar_solid_angles_of_a_square_a_triangle_and_a_cloud():
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.4]])
    assert planar_solid_angles(square) == pytest.approx([0.25, 0.25, 0.25, 0.25, 0])
    triangle = np.array([[0, 0], [3, 0], [1, 2.0]])
    assert planar_solid_angles(triangle) == pytest.approx(triangle_solid_angles(triangle))
    cloud = np.random.default_rng(3).normal(size=(30, 2))
    exact, sampled = planar_solid_angles(cloud), solid_angles(cloud)
    assert exact.sum() == pytest.approx(1)
    # 30 tests: 2e-5
    assert np.all(np.abs(exact - sampled.q) < 5 * np.sqrt(exact * (1 - exact) / 100_000) + 1e-12)


def test_the_example_of_figure_2():
    here = plane()
    assert separability(here.model.beta()) < 0.02
    angle = dict(zip(here.role, here.exact, strict=True))
    assert min(angle[f"novel {k}"] for k in (1, 2, 3)) > 0.29 and 0.01 < angle["extreme"] < 0.05
    E = here.moments.B_bar @ here.moments.Y
    # nothing of a row lies outside the plane
    assert here.points @ here.axes + here.origin == pytest.approx(E)
    assert here.corners @ here.axes + here.origin == pytest.approx(here.moments.Y)


def test_figure_2_from_more_people_is_nearer(tmp_path, monkeypatch):
    monkeypatch.setattr(geometry, "PEOPLE", (0, 500, 20_000, 100_000))
    run("reproduce", "fig2", "--quick", "-o", tmp_path, "-q")
    rows = check_files(tmp_path, "fig2", geometry.COLUMNS)
    off = {
        n: sum(abs(float(r["exact"]) - float(r["directions"])) for r in rows if r["people"] == n)
        for n in ("0", "500", "20000")
    }
    assert (
        len(rows) == 3 * 20
        and off["0"] < 0.02 < 0.1 < off["500"]
        and off["20000"] < 0.5 * off["500"]
    )


# ---------------------------------------------------------------------------------------------------------------- figure 3


def test_references_from_films_are_rankings_that_differ(films, monkeypatch):
    monkeypatch.setattr(references, "_FEW", 4)
    sigma = references.movielens_references(
        mm.readers.movielens.read_movielens(films), Q, 2, n_starts=3
    )
    assert np.array_equal(np.sort(sigma, axis=1), np.tile(np.arange(Q), (2, 1)))
    agree = np.corrcoef(sigma)[0, 1]
    assert agree < -0.9  # the two planted tastes are each other's reverse
    assert references.fingerprint(sigma)[0] == 0 and len(references.fingerprint(sigma)) == 4


def test_figure_3(films, tmp_path, monkeypatch):
    for name, value in {"Q": Q, "K": 2, "N": 40, "QUICK_PEOPLE": (60, 300)}.items():
        monkeypatch.setattr(people_needed, name, value)
    people_needed._from_movielens.cache_clear()
    said, _ = run("reproduce", "fig3", "--quick", "--data", films, "-o", tmp_path)
    rows = check_files(tmp_path, "fig3", people_needed.COLUMNS)
    assert (
        len(rows) == 2 * 2 * 2 * 3
        and "24 of 24: random references, φ = 0.5, M = 300, seed 0, printed" in said
    )
    errors = [
        float(row["error"])
        for row in rows
        if row["method"] == "full" and row["people"] == "300" and row["phi"] == "0.0"
    ]
    assert errors == [0.0, 0.0]
    people_needed._from_movielens.cache_clear()


# ---------------------------------------------------------------------------------------------------------------- figure 4


def test_any_columns_score_as_the_model_they_are_taken_from():
    model = mm.M4.from_orders(["abcd", "dcba"], [0.3, 0.5], [0.5, 0.5])
    votes = model.sample(40, 10, seed=1).comparisons
    twin = AnyColumns(model.items, model.beta(), model.alpha)
    assert completion(twin, votes) == completion(model, votes)  # type: ignore[arg-type]
    options = {"particles": 8, "max_particles": 8, "tol": 10.0}
    assert left_to_right(twin, votes, **options) == left_to_right(model, votes, **options)  # type: ignore[arg-type]


def test_figure_4(films, tmp_path, monkeypatch):
    for name, value in {
        "N_ITEMS": Q,
        "N_FIRST": 60,
        "KS": (2,),
        "MOST_ASKED": 10,
        "FLOORS": (0.1, 0.3),
    }.items():
        monkeypatch.setattr(new_people, name, value)
    said, _ = run("reproduce", "fig4", "--data", films, "-o", tmp_path)
    rows = check_files(tmp_path, "fig4", new_people.COLUMNS)
    value = {(row["system"], row["method"]): float(row["log_likelihood"]) for row in rows}
    assert len(rows) == len(value) == 7 * 2
    for method in new_people.METHODS:
        assert (
            min(value[system, method] for system in new_people.MIXTURES)
            > value["one ranking", method] + 0.1
        )
        # two opposite tastes: one ranking is a coin
        assert value["M4", method] > value["one ranking", method] + 0.1
        assert value["one ranking", method] == pytest.approx(-math.log(2), abs=0.05)
    assert {row["users"] for row in rows if row["method"] == "left-to-right"} == {"10"}
    assert {task.system for task in new_people.tasks(Request(quick=True))} == {
        row["system"] for row in rows
    } - {"TM, not rounded"}
    assert (
        "M4 is above TM in" in (tmp_path / "fig4.md").read_text(encoding="utf-8")
        and "14 of 14" in said
    )


# ----------------------------------------------------------------------------------------------------------------- table 1


def test_table_1(tmp_path, monkeypatch):
    """Three of the systems, few new people: what is recovered, what is refused and why; every system has its model."""
    assert all(table1_report.own_model(system) == model for system, model in table1.OWN.items())
    assert set(table1.OWN) == set(table1.MAKE) and set(table1.OWN.values()) == set(
        table1_data.MODELS
    )
    assert set(table1_report.PAPER) <= set(table1.OWN) and len(table1_report.PAPER) == 7
    few = ("M4", "sparse choice", "MPM")
    monkeypatch.setattr(table1, "OWN", {system: table1.OWN[system] for system in few})
    monkeypatch.setattr(table1_data, "NEW", 60)
    said, _ = run("reproduce", "table1", "--quick", "-o", tmp_path)
    rows = check_files(tmp_path, "table1", table1.COLUMNS)
    found = {(row["data"], row["system"]): row for row in rows}
    assert len(rows) == len(found) == 3 + 2 + 2 and "7 of 7: MPM on data of MPM" in said
    assert all(
        found[system, system]["recovered"] == "yes"
        and float(found[system, system]["error"]) <= 0.02
        for system in few
    )
    assert (
        found["sparse choice", "M4"]["recovered"] == "yes"
        and found["M4", "MPM"]["recovered"] == "no"
    )
    assert (
        "With noise every one of them looks like a new weight"
        in found["M4", "sparse choice"]["note"]
    )
    page = (tmp_path / "table1.md").read_text(encoding="utf-8")
    assert (
        "| sparse choice | pairwise | single ranking | vertices | recovered, .000, .0" in page
        and "| refused |" in page
    )


# ----------------------------------------------------------------------------------------------------------------- table 2


def test_the_paper_s_table():
    assert (
        PRINTED["M4", "printed rule", 20] == 0.8241
        and PRINTED["BPMF", "rounded", 10] == 0.8723
        and len(PRINTED) == 15
    )
    everything, quick = (star_ratings.tasks(Request(quick=quick)) for quick in (False, True))
    assert len(everything) == 2 + 3 * 11 and {task.k for task in quick} == {0, 20}
    assert set(PRINTED) <= {tuple(task) for task in everything}


def test_table_2(films, tmp_path, monkeypatch):
    for name, value in {"N_ITEMS": Q, "KS": (2, 3), "N_FITS": 2, "TEMPERS": (1.0, 3.0)}.items():
        monkeypatch.setattr(star_ratings, name, value)
    said, _ = run("reproduce", "table2", "--quick", "--data", films, "-o", tmp_path)
    rows = check_files(tmp_path, "table2", star_ratings.COLUMNS)
    error = {(row["system"], row["variant"]): float(row["rmse"]) for row in rows}
    assert len(rows) == 13 and {row["k"] for row in rows} == {"0", "3"} and "13 of 13" in said
    # tastes explain what biases cannot
    assert error["M4", "star profiles"] < 0.8 * error["user + item bias", "real"]
    assert error["M4", "posterior"] < error["user + item bias", "real"]
    whole = (tmp_path / "table2.csv").read_bytes()
    lines = whole.splitlines(keepends=True)
    (tmp_path / "table2.csv").write_bytes(b"".join(lines[:7]))
    said, _ = run("reproduce", "table2", "--quick", "--data", films, "-o", tmp_path)
    assert "holds 6 of 13 rows already" in said and (tmp_path / "table2.csv").read_bytes() == whole


def test_star_profiles_predict_as_the_conditional_mean_of_the_joint_normal():
    """Against the covariance of all ratings of one person written out, on random numbers."""
    random = np.random.default_rng(0)
    table = rating_table(
        (np.repeat([1, 2], 4), np.tile([1, 2, 3, 4], 2)[:8], random.integers(1, 6, 8)),
        scale=[1, 2, 3, 4, 5],
    )
    S = random.normal(size=(4, 2))
    profiles = star_profiles.StarProfiles(np.array([3.0, 3.2, 2.8, 3.1]), S @ S.T, 0.1, 0.05)
    joint = 0.1 * S @ S.T + 0.05 + star_profiles.NOISE * np.eye(4)
    told = star_profiles.replace(
        table, user=table.user[1:], item=table.item[1:], level=table.level[1:]
    )
    rest = table.rating[1:4] - profiles.center[1:]
    by_hand = 3.0 + joint[0, 1:] @ np.linalg.inv(joint[1:, 1:]) @ rest
    found = star_profiles.predict_stars(profiles, told, np.array([0, -1, 1]), np.array([0, 2, -1]))
    assert found[0] == pytest.approx(np.clip(by_hand, 1, 5))
    # nobody we know; a film that we do not know
    assert found[1] == pytest.approx(2.8) and found[2] == pytest.approx(3.025)


def test_weights_elsewhere_do_not_see_the_rating_itself(films):
    """Turn the ratings of one fold upside down: the weights that stand beside that fold's ratings do not change."""
    train = read_split(films, Q).train
    table = rating_table(train, scale=[1, 2, 3, 4, 5])
    model = mm.M4.from_orders(
        [list(map(str, range(10, 10 + Q))), list(map(str, range(9 + Q, 9, -1)))], 0.5, [0.5, 0.5]
    )
    before = star_profiles.tastes(model, table)
    turned = star_profiles.replace(
        table, level=np.where(before.fold == 3, 4 - table.level, table.level).astype(np.int32)
    )
    after = star_profiles.tastes(model, turned)
    same = before.fold == 3
    assert np.array_equal(before.elsewhere[same], after.elsewhere[same])
    assert not np.allclose(before.elsewhere[~same], after.elsewhere[~same])


def test_ridge_against_stacked_least_squares():
    random = np.random.default_rng(4)
    X, y = random.normal(size=(20, 3)), random.normal(size=20)
    stacked = np.vstack([np.column_stack([X, np.ones(20)]), np.diag(np.sqrt([7.0, 7, 7, 2]))])
    by_lstsq = np.linalg.lstsq(stacked, np.r_[y, np.zeros(4)], rcond=None)[0]
    assert star_profiles.ridge(X, y, 7.0) == pytest.approx(by_lstsq)


# ------------------------------------------------------------------------------------------------------------------- words


def test_data_that_is_missing_or_has_no_test_part(tmp_path, monkeypatch):
    monkeypatch.delenv("MALLOWMIX_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)  # as if it were not installed
    for name in ("table2", "fig3", "fig4"):
        _, said = run("reproduce", name, "--quick", "-o", tmp_path, code=1)
        assert "No folder with MovieLens ratings was named." in said
    (tmp_path / "ratings.dat").write_text("1::2::3::4\n1::3::5::6\n2::3::1::6\n")
    _, said = run("reproduce", "table2", "--data", tmp_path, "-o", tmp_path, code=1)
    assert "no test part" in said and "moviedata.mat" in said


def test_ratings_are_fetched_where_pooch_is_there(films, tmp_path, monkeypatch):
    monkeypatch.delenv("MALLOWMIX_DATA", raising=False)
    asked = []

    def retrieve(url, known_hash, fname):
        asked.append((url, known_hash, fname))
        return str(films / fname)

    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace(retrieve=retrieve))
    assert len(read_films(None)) == 9 * M
    assert asked == [(URL, f"sha256:{SHA256}", "moviedata.mat")] and len(SHA256) == 64
    monkeypatch.setenv("MALLOWMIX_DATA", str(films))
    assert len(read_films(None)) == 9 * M and len(asked) == 1  # what is named is not fetched
    monkeypatch.delenv("MALLOWMIX_DATA")
    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace(retrieve=lambda *_, **__: 1 / 0))
    _, said = run("reproduce", "table2", "-o", tmp_path, code=1)
    assert (
        "could not be fetched from http://www.cs.toronto.edu" in said
        and "(division by zero). Name a folder" in said
    )


def test_every_experiment_has_the_same_form():
    from importlib import import_module

    for module, about in EXPERIMENTS.values():
        experiment = import_module(f"mallowmix.paper.{module}").EXPERIMENT
        assert about and {*experiment.key, "version"} <= set(experiment.columns)
        todo = [*experiment.tasks(Request(quick=True)), *experiment.tasks(Request(n_seeds=2))]
        assert all(
            task.key[-1] == mm.__version__ and len(task.key) == len(experiment.key) + 1
            for task in todo
        )


def test_small_things():
    assert [digits(x) for x in (0.5, -0.25, 1.04914, None, "")] == [
        ".5000",
        "-.2500",
        "1.0491",
        "–",
        "–",
    ]
    assert markdown_table(("a", "b"), [("1", "2")]) == "| a | b |\n|---|---:|\n| 1 | 2 |"
