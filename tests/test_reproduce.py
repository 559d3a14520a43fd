"""The paper's experiments by command: on a small stand-in for MovieLens, with numbers checked by
hand or by other means.
"""

import csv
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import mallowmix as mm
from command_line import run
from film_ratings import N_FILMS, N_RATERS, write_moviedata
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.heldout_options import LeftToRightOptions
from mallowmix.infer.heldout.left_to_right import left_to_right
from mallowmix.model.separability import separability
from mallowmix.model.table_model import TableModel
from mallowmix.paper.experiment import Request
from mallowmix.paper.figure2 import run as figure2
from mallowmix.paper.figure2.plane import example_plane, planar_solid_angles
from mallowmix.paper.figure3 import references
from mallowmix.paper.figure3 import run as figure3
from mallowmix.paper.figure4 import fitted_systems, movielens_split
from mallowmix.paper.figure4 import run as figure4
from mallowmix.paper.figure4.report import SCORING_METHODS
from mallowmix.paper.footnote import run as footnote
from mallowmix.paper.movielens_files import MOVIELENS_SHA256, MOVIELENS_URL, read_films
from mallowmix.paper.table1 import populations
from mallowmix.paper.table1 import run as table1
from mallowmix.paper.table1.mixtures import RANKING_MIXTURES
from mallowmix.paper.table2 import run as table2
from mallowmix.paper.table2 import settings_choice
from mallowmix.paper.theory.solid_angles import solid_angles, triangle_solid_angles


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    return write_moviedata(tmp_path_factory.mktemp("ml"))


def table_of(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_files(folder, name, columns):
    """All three files are there, and the page says where it comes from."""
    rows = table_of(folder / f"{name}.csv")
    assert tuple(rows[0]) == columns
    assert f"`mallowmix reproduce {name}`" in (folder / f"{name}.md").read_text(encoding="utf-8")
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return rows


# --- the footnote ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_footnote_is_within_chance_of_the_paper(tmp_path, monkeypatch):
    """Four differences of means of 200 draws and of the paper's 1000, the seed fixed: another seed
    would pass 3.5 standard errors once in 500.
    """
    monkeypatch.setattr(footnote, "_QUICK_DRAWS", 200)
    said, _ = run("reproduce", "footnote", "--quick", "-o", tmp_path)
    rows = check_files(
        tmp_path,
        "footnote",
        ("phi", "draws", "probability", "standard_error", "paper", "lemma3_bound", "version"),
    )
    assert "4 of 4: φ = 0.5" in said and "difference in standard errors" in said
    for row in rows:
        p, paper = float(row["probability"]), footnote.PAPER_PROBABILITIES[float(row["phi"])]
        assert abs(p - paper) < 3.5 * math.sqrt(p * (1 - p) / 200 + paper * (1 - paper) / 1000)
        assert float(row["lemma3_bound"]) < 0


# --- figure 2 -------------------------------------------------------------------------------------


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
    here = example_plane()
    assert separability(here.model.beta()) < 0.02
    angle = dict(zip(here.role, here.solid_angle, strict=True))
    assert min(angle[f"novel {k}"] for k in (1, 2, 3)) > 0.29 and 0.01 < angle["extreme"] < 0.05
    E = here.moments.B_bar @ here.moments.Y
    # nothing of a row lies outside the plane
    assert here.points @ here.axes + here.origin == pytest.approx(E)
    assert here.corners @ here.axes + here.origin == pytest.approx(here.moments.Y)


@pytest.mark.slow
def test_figure_2_from_more_users_is_nearer(tmp_path, monkeypatch):
    monkeypatch.setattr(figure2, "_N_USERS", (0, 500, 20_000, 100_000))
    run("reproduce", "fig2", "--quick", "-o", tmp_path, "-q")
    rows = check_files(tmp_path, "fig2", figure2.EXPERIMENT.columns)
    off = {
        n: sum(abs(float(r["exact"]) - float(r["directions"])) for r in rows if r["users"] == n)
        for n in ("0", "500", "20000")
    }
    assert (
        len(rows) == 3 * 20
        and off["0"] < 0.02 < 0.1 < off["500"]
        and off["20000"] < 0.5 * off["500"]
    )


# --- figure 3 -------------------------------------------------------------------------------------


def test_references_from_films_are_rankings_that_differ(films, monkeypatch):
    monkeypatch.setattr(references, "_LEAST_RATINGS", 4)
    sigma = references.movielens_references(
        mm.readers.movielens.read_movielens(films), N_FILMS, 2, n_initialisations=3
    )
    assert np.array_equal(np.sort(sigma, axis=1), np.tile(np.arange(N_FILMS), (2, 1)))
    agree = np.corrcoef(sigma)[0, 1]
    assert agree < -0.9  # the two planted tastes are each other's reverse
    assert references.separability_profile(sigma)[0] == 0
    assert len(references.separability_profile(sigma)) == 4


def test_references_from_coordinates_rank_films_by_what_separates_people(films):
    """Two planted tastes, each other's reverse: one coordinate ranks the films by them."""
    ratings = mm.readers.movielens.read_movielens(films)
    sigma = references.pmf_references(ratings, N_FILMS, 1, n_initialisations=2)
    clusters = references.movielens_references(ratings, N_FILMS, 2, n_initialisations=1)
    assert sigma.shape == (1, N_FILMS) and sorted(sigma[0]) == list(range(N_FILMS))
    assert abs(np.corrcoef(sigma[0], clusters[0])[0, 1]) > 0.8


def test_the_paper_s_method_runs_on_a_thinned_grid():
    tasks = figure3.EXPERIMENT.tasks(Request(n_seeds=3))
    ours = [task for task in tasks if task.method == "full"]
    assert len(ours) == 6 * 3 * 4 * 3 == sum(task.method == "oracle" for task in tasks)
    paper = [task for task in tasks if task.method.startswith("paper")]
    assert {task.seed for task in paper} == {0, 1} and {task.users for task in paper} >= {100_000}
    assert {task.phi for task in paper if task.users > 3000} == {0.0, 0.5}
    assert {task.phi for task in paper if task.users == 3000} == {0.0, 0.1, 0.2, 0.5}


@pytest.mark.slow
def test_figure_3(films, tmp_path, monkeypatch):
    for name, value in {"_Q": N_FILMS, "_K": 2, "_N": 40, "_QUICK_N_USERS": (60, 300)}.items():
        monkeypatch.setattr(figure3, name, value)
    figure3._from_films.cache_clear()
    said, _ = run("reproduce", "fig3", "--quick", "--data", films, "-o", tmp_path)
    rows = check_files(tmp_path, "fig3", figure3.EXPERIMENT.columns)
    assert (
        len(rows) == 2 * 3 * 2 * 4
        and "48 of 48: random references, φ = 0.5, M = 300, seed 0, paper-auto" in said
    )
    errors = [
        float(row["error"])
        for row in rows
        if row["method"] == "full" and row["users"] == "300" and row["phi"] == "0.0"
    ]
    assert len(errors) == 3 and errors[::2] == [0.0, 0.0]  # clusters and random references
    figure3._from_films.cache_clear()


# --- figure 4 -------------------------------------------------------------------------------------


def test_tables_score_as_the_model_that_they_are_taken_from():
    model = mm.M4.from_orders(["abcd", "dcba"], [0.3, 0.5], [0.5, 0.5])
    votes = model.sample(40, 10, seed=1).comparisons
    twin = TableModel(model.beta(), model.alpha, model.items)
    assert completion(twin, votes) == completion(model, votes)
    options = LeftToRightOptions(n_particles=8, max_particles=8, tol=10.0)
    assert left_to_right(twin, votes, options) == left_to_right(model, votes, options)


@pytest.mark.slow
def test_figure_4(films, tmp_path, monkeypatch):
    for name, value in {"_N_ITEMS": N_FILMS, "_N_FIRST": 60, "_N_SUBSET": 10}.items():
        monkeypatch.setattr(movielens_split, name, value)
    monkeypatch.setattr(fitted_systems, "_FLOORS", (0.1, 0.3))
    monkeypatch.setattr(figure4, "_KS", (2,))
    said, _ = run("reproduce", "fig4", "--data", films, "-o", tmp_path)
    rows = check_files(tmp_path, "fig4", figure4.EXPERIMENT.columns)
    value = {(row["system"], row["method"]): float(row["log_likelihood"]) for row in rows}
    assert len(rows) == len(value) == 9 * 2
    tuned = {row["system"] for row in rows if row["settings"]}
    assert tuned == {"TM", "TM, not rounded", fitted_systems.PAPER_SYSTEM}
    for method in SCORING_METHODS:
        assert (
            min(value[system, method] for system in fitted_systems.VERTEX_SYSTEMS)
            > value["one ranking", method] + 0.1
        )
        # two opposite tastes: one ranking is a coin
        assert value["M4", method] > value["one ranking", method] + 0.1
        assert value["one ranking", method] == pytest.approx(-math.log(2), abs=0.05)
    assert {row["users"] for row in rows if row["method"] == "left-to-right"} == {"10"}
    assert {task.system for task in figure4.EXPERIMENT.tasks(Request(quick=True))} == {
        row["system"] for row in rows
    } - {"TM, not rounded", fitted_systems.PAPER_SYSTEM}
    assert (
        "M4 is above TM in" in (tmp_path / "fig4.md").read_text(encoding="utf-8")
        and "18 of 18" in said
    )


# --- table 1 --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_table_1(tmp_path, monkeypatch):
    """Three of the systems, few new people: what is recovered, what is refused and why; every
    system has its model.
    """
    own = {mixture.own_model for mixture in RANKING_MIXTURES.values()}
    assert own == set(populations.PLANTED_MODELS)
    assert sum(mixture.printed is not None for mixture in RANKING_MIXTURES.values()) == 7
    few = ("M4", "sparse choice", "MPM")
    monkeypatch.setattr(table1, "RANKING_MIXTURES", {name: RANKING_MIXTURES[name] for name in few})
    monkeypatch.setattr(populations, "_N_NEW", 60)
    said, _ = run("reproduce", "table1", "--quick", "-o", tmp_path)
    rows = check_files(tmp_path, "table1", table1.EXPERIMENT.columns)
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


# --- table 2 --------------------------------------------------------------------------------------


def test_the_paper_s_table():
    paper = table2.PAPER_ERRORS
    assert paper["M4", "printed rule", 20] == 0.8241 and paper["BPMF", "rounded", 10] == 0.8723
    everything, quick = (table2.EXPERIMENT.tasks(Request(quick=quick)) for quick in (False, True))
    assert len(everything) == 2 + 3 * 21 and {task.k for task in quick} == {0, 20}
    assert len(paper) == 18 and set(paper) <= {tuple(task) for task in everything}


@pytest.mark.slow
def test_table_2(films, tmp_path, monkeypatch):
    monkeypatch.setattr(table2, "_N_ITEMS", N_FILMS)
    monkeypatch.setattr(table2, "_KS", (2, 3))
    monkeypatch.setattr(settings_choice, "_K", 2)
    monkeypatch.setattr(settings_choice, "_PART_OF_USERS", 1)
    said, _ = run("reproduce", "table2", "--quick", "--data", films, "-o", tmp_path)
    rows = check_files(tmp_path, "table2", table2.EXPERIMENT.columns)
    error = {(row["system"], row["variant"]): float(row["rmse"]) for row in rows}
    assert len(rows) == 23 and {row["k"] for row in rows} == {"0", "3"} and "23 of 23" in said
    # tastes explain what biases cannot
    assert error["M4", "star profiles"] < 0.8 * error["user + item bias", "real"]
    assert error["M4", "posterior"] < error["user + item bias", "real"]
    whole = (tmp_path / "table2.csv").read_bytes()
    lines = whole.splitlines(keepends=True)
    (tmp_path / "table2.csv").write_bytes(b"".join(lines[:7]))
    said, _ = run("reproduce", "table2", "--quick", "--data", films, "-o", tmp_path)
    assert "holds 6 of 23 rows already" in said and (tmp_path / "table2.csv").read_bytes() == whole


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.slow
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
    assert len(read_films(None)) == 9 * N_RATERS
    assert asked == [(MOVIELENS_URL, f"sha256:{MOVIELENS_SHA256}", "moviedata.mat")]
    assert len(MOVIELENS_SHA256) == 64
    monkeypatch.setenv("MALLOWMIX_DATA", str(films))
    assert len(read_films(None)) == 9 * N_RATERS and len(asked) == 1  # what is named is not fetched
    monkeypatch.delenv("MALLOWMIX_DATA")
    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace(retrieve=lambda *_, **__: 1 / 0))
    _, said = run("reproduce", "table2", "-o", tmp_path, code=1)
    assert (
        "could not be fetched from http://www.cs.toronto.edu" in said
        and "(division by zero). Name a folder" in said
    )
