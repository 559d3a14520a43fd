"""The command line: help at once, and simulate and fit write what the library computes."""

import csv
import importlib.util
import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import mallowmix as mm
from command_line import imports_of, run
from mallowmix.cli.fit import default_name
from mallowmix.model.fit_options import ProjectionsOptions
from mallowmix.model.model_file import dumps

DOCS = Path(__file__).parents[1] / "docs"
SIMULATE = (
    "--items",
    "8",
    "--components",
    "2",
    "--users",
    "300",
    "--per-user",
    "40",
    "--phi",
    "0.1",
    "--alpha",
    "0.2",
    "--seed",
    "1",
)
FIT = ("-k", "2", "--method", "projections", "--zeta", "auto", "--min-count", "0.2", "--seed", "0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """votes.parquet, truth.m4, theta.parquet and a fitted model.m4."""
    place = tmp_path_factory.mktemp("cli")
    run(
        "simulate",
        place / "votes.parquet",
        *SIMULATE,
        "--truth",
        place / "truth.m4",
        "--weights",
        place / "theta.parquet",
    )
    run("fit", place / "votes.parquet", *FIT, "-o", place / "model.m4")
    return place


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- the start ----


@pytest.mark.slow
def test_help_needs_no_numpy_and_answers_at_once():
    script = (
        "import sys, mallowmix.cli; "
        "heavy = ('numpy', 'numba', 'pyarrow', 'scipy', 'sklearn'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
    took = []
    for words in (["--help"], ["fit", "--help"]):
        started = _seconds_of_children()
        shown = subprocess.run(
            [sys.executable, "-c", "from mallowmix.cli import main; main()", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        took.append(_seconds_of_children() - started)
        assert "Usage: mallowmix" in shown.stdout
    # of processor time, which does not grow with what else the machine does; about .4
    assert min(took) < 0.9


@pytest.mark.slow
def test_a_command_imports_itself_alone():
    """Each command is imported when it is run, or when all are listed."""
    modules = "mallowmix.cli.show mallowmix.cli.fit mallowmix.cli.rank"
    assert imports_of("show", "--help", of=modules)[1] == ["mallowmix.cli.show"]
    assert imports_of("--help", of=modules)[1] == modules.split()


def _seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_help_lists_the_commands_and_the_exit_codes():
    text = " ".join(run("--help")[0].split())
    for command in ("fit", "show", "check", "evaluate", "simulate", "separability", "demo"):
        assert re.search(rf"\b{command} ", text)
    assert "Exit codes: 0 all went well; 1 the data" in text and "130 interrupted by Ctrl-C" in text
    assert " ".join(run()[0].split()) == text  # no command at all asks for help


def test_version():
    assert run("--version")[0] == f"mallowmix {mm.__version__}\n"


def test_the_reference_page_is_what_the_app_says():
    spec = importlib.util.spec_from_file_location("make_cli", DOCS / "make_cli.py")
    make_cli = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_cli)
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert make_cli.page() == written, "run python docs/make_cli.py"
    assert "Default: auto.\n" in written and "Required.\n" in written


# ---- simulate ----


@pytest.mark.slow
def test_simulate_writes_what_the_true_model_draws(folder):
    truth, votes = mm.load(folder / "truth.m4"), mm.read_comparisons(folder / "votes.parquet")
    drawn = truth.sample(300, 40, seed=1)
    assert votes == drawn.comparisons and votes.n_comparisons == 12_000
    assert votes.items.tolist() == [f"item{i:03d}" for i in range(1, 9)]
    theta = pq.read_table(folder / "theta.parquet")
    assert theta.column_names == ["user", "component_1", "component_2"]
    assert theta.column("user").to_pylist() == votes.users.tolist()
    assert np.array_equal(
        np.column_stack([theta.column(k).to_numpy() for k in (1, 2)]), drawn.theta
    )
    assert truth.phi.tolist() == [0.1, 0.1] and truth.alpha.tolist() == [0.2, 0.2]


def test_simulate_writes_the_same_as_csv(folder, here):
    said, _ = run("simulate", "votes.csv", *SIMULATE, "--weights", "theta.csv")
    assert (
        "Wrote votes.csv: 12,000 comparisons of 8 items by 300 people." in said
        and "Wrote theta.csv" in said
    )
    assert mm.read_comparisons("votes.csv") == mm.read_comparisons(folder / "votes.parquet")
    lines = Path("votes.csv").read_text().splitlines()
    assert lines[0] == "user,winner,loser,weight" and re.fullmatch(
        r"u001,item\d{3},item\d{3},\d+", lines[1]
    )
    with Path("theta.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["component_1"]) for row in rows] == pq.read_table(
        folder / "theta.parquet"
    ).column(1).to_pylist()


def test_simulate_takes_a_number_for_each_component_and_other_priors(here):
    few = (
        "--items",
        "5",
        "--components",
        "2",
        "--users",
        "30",
        "--per-user",
        "20",
        "--quiet",
        "--truth",
        "t.m4",
        "--weights",
        "w.csv",
    )
    said = run(
        "simulate", "v.csv", *few, "--phi", "0,0.5", "--alpha", "0.3, 1", "--prior", "vertices"
    )
    assert said == ("", "")
    truth = mm.load("t.m4")
    assert truth.phi.tolist() == [0.0, 0.5] and truth.alpha.tolist() == [0.3, 1.0]
    theta = np.loadtxt("w.csv", delimiter=",", skiprows=1, usecols=(1, 2))
    assert set(theta.ravel()) == {0.0, 1.0} and (theta.sum(axis=1) == 1).all()
    run("simulate", "v.csv", *few, "--prior", "logistic-normal")
    assert np.loadtxt("w.csv", delimiter=",", skiprows=1, usecols=1).min() > 0


def test_simulated_references_are_uniform(here):
    """All 6 rankings of 3 items by 300 components: χ² with 5 degrees of freedom passes 25.7 once in
    10,000 seeds.
    """
    run(
        "simulate",
        "v.csv",
        "--items",
        3,
        "--components",
        300,
        "--users",
        2,
        "--per-user",
        50,
        "--truth",
        "t.m4",
        "--seed",
        5,
    )
    _, counts = np.unique(mm.load("t.m4").sigma, axis=0, return_counts=True)
    assert len(counts) == 6 and ((counts - 50) ** 2 / 50).sum() < 25.7


def test_the_seed_of_simulate_decides_everything(here):
    few = ("--items", "6", "--users", "20", "--truth")
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        run("simulate", f"{name}.parquet", *few, f"{name}.m4", "--seed", seed)
    for ending in ("parquet", "m4"):
        a, b, c = (Path(f"{name}.{ending}").read_bytes() for name in "abc")
        assert a == b != c


def test_simulate_notes_items_that_were_never_drawn(here):
    _, noted = run("simulate", "v.csv", "--items", "50", "--users", "1", "--per-user", "2")
    assert re.search(
        r"Note: 4[67] items were never drawn into a comparison: who reads v.csv cannot know of "
        r"them",
        noted,
    )


# ---- fit ----


@pytest.mark.slow
def test_fit_writes_the_model_of_the_library(folder):
    votes = mm.read_comparisons(folder / "votes.parquet")
    model = mm.fit(votes, 2, method=ProjectionsOptions(zeta="auto", min_count=0.2), seed=0)
    assert (folder / "model.m4").read_bytes() == dumps(model)


@pytest.mark.slow
def test_fit_gives_the_same_bytes_on_one_thread_and_on_two(folder, here):
    for n_jobs in (1, 2):
        run("fit", folder / "votes.parquet", *FIT, "--n-jobs", n_jobs, "-o", f"{n_jobs}.m4", "-q")
    assert (
        Path("1.m4").read_bytes() == Path("2.m4").read_bytes() == (folder / "model.m4").read_bytes()
    )


@pytest.mark.slow
def test_fit_names_its_output_after_the_input_and_tells(folder, here):
    said, _ = run("fit", folder / "votes.parquet", *FIT)
    assert "Wrote votes.m4. See it again with: mallowmix show votes.m4" in said
    model = mm.load("votes.m4")
    assert "12,000 comparisons of 8 items by 300 people; 2 components." in said
    for row in model.table():
        assert " > ".join(row["items"]) in said  # short rankings are shown whole
        assert f"{100 * row['share']:.1f} %" in said and f"{row['phi']:.3f}" in said
    assert "the people who put item" in said


@pytest.mark.parametrize(
    "name", ["votes.csv", "votes.csv.gz", "votes.parquet", "votes.TSV", "votes"]
)
def test_names_of_models(name, here):
    if name == "votes":
        Path(name).mkdir()
    assert default_name(Path("somewhere", name) if name != "votes" else Path(name)) == "votes.m4"


@pytest.mark.slow
def test_fit_takes_its_default_method_and_other_columns(folder, here):
    table = pq.read_table(folder / "votes.parquet").rename_columns(
        ["judge", "better", "worse", "times"]
    )
    pq.write_table(table, "other.parquet")
    names = "user=judge,winner=better,loser=worse,weight=times"
    run("fit", "other.parquet", "-k", "2", "--columns", names, "-o", "a.m4")
    assert dumps(mm.load("a.m4")) == dumps(mm.fit(mm.read_comparisons(folder / "votes.parquet"), 2))


@pytest.mark.slow
def test_auto_finds_the_number_of_components_and_says_why(folder, here):
    told, _ = run("fit", folder / "votes.parquet", "-k", "auto", "-o", "auto.m4")
    assert mm.load("auto.m4").n_components == 2
    assert "Why 2: a third component does not predict new people better" in told


@pytest.mark.slow
def test_fit_leaves_out_rows_and_weights_on_demand(here):
    votes = (
        mm.M4.from_orders(["abcd"], 0.2).sample(40, 30, seed=2).comparisons.to_arrow().to_pylist()
    )
    rows = [f"{row['user']},{row['winner']},{row['loser']},{row['weight']:g}" for row in votes]
    Path("v.csv").write_text(
        "user,winner,loser,weight\nu1,a,a,1\nu1,a,,1\n" + "\n".join(rows) + "\n"
    )
    run(
        "fit",
        "v.csv",
        "-k",
        "1",
        "--method",
        "projections",
        "--self-pairs",
        "drop",
        "--missing",
        "drop",
        "--columns",
        "weight=",
        "-q",
    )
    assert mm.load("v.m4").report.n_comparisons == len(rows)


@pytest.mark.slow
def test_fit_passes_every_option_on(folder, here):
    options = (
        "--zeta",
        "2.5",
        "--n-projections",
        "50",
        "--tol",
        "0.001",
        "--min-count",
        "0.1",
        "--metric",
        "euclidean",
    )
    run(
        "fit",
        folder / "votes.parquet",
        "-k",
        "2",
        "--method",
        "projections",
        *options,
        "--seed",
        "7",
        "-o",
        "a.m4",
    )
    report = mm.load("a.m4").report
    assert report.options == mm.ProjectionsOptions(
        zeta=2.5, n_projections=50, tol=0.001, min_count=0.1, metric="euclidean"
    )
    assert (report.method, report.seed) == ("projections", 7)


@pytest.mark.slow
def test_fit_can_be_quiet_or_speak_json(folder, here):
    assert run("fit", folder / "votes.parquet", *FIT, "-o", "a.m4", "--quiet") == ("", "")
    said, _ = run("fit", folder / "votes.parquet", *FIT, "-o", "a.m4", "--json")
    shown, _ = run("show", "a.m4", "--json")
    assert said.count("\n") == 1
    assert json.loads(said) == json.loads(shown) | {"output": "a.m4"}


@pytest.mark.slow
def test_warnings_are_notes_each_once(here):
    rows = [f"u{m},{a},{b}" for m in range(30) for a, b in ("ab", "ba", "bc", "cb", "ac", "ca")] + [
        "v,a,d",
        "w,b,d",
    ]
    Path("v.csv").write_text("user,winner,loser\n" + "\n".join(rows) + "\n")
    _, noted = run("fit", "v.csv", "-k", "1", "--method", "projections")
    assert (
        noted.count(
            "Note: 'd' never wins: the data cannot tell how far below the others it should stand."
        )
        == 1
    )
    assert noted.count("Note: 2 users made fewer than two comparisons") == 1
    assert "DataWarning" not in noted and ".py" not in noted


def test_the_whole_way_finds_the_truth(folder):
    values = json.loads(
        run("evaluate", folder / "model.m4", "--truth", folder / "truth.m4", "--json")[0]
    )
    assert len(values["kendall_per_component"]) == 2
    assert values["kendall"] < 0.25  # far from the ½ of chance; the seed is fixed
