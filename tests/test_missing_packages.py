"""A plain install reads, checks, fits, predicts and reports; each missing extra is one sentence."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import mallowmix as mm
from mallowmix.data.optional_packages import EXTRA_OF, missing, optional_package
from mallowmix.errors import MissingPackageError

HERE = Path(__file__).parent
PLAIN = [  # in this order: later ones use what earlier ones write
    "check votes.csv",
    "fit votes.csv -k 2 -o model.m4 --no-predictor --refine short",
    "show model.m4",
    "weights model.m4 votes.csv",
    "predict model.m4 votes.csv --pairs wanted.csv",
    "rank model.m4 votes.csv --user u1",
    "leaderboard model.m4",
    "convert votes.csv other.parquet",
    "choose-k votes.csv --ks 1,2 --n-folds 2 --refine short",
    "report model.m4 votes.csv -o report.html --quick",
    "demo --help",
]
MEMORY = "fit {} --memory 1GB -k 2"
NEEDS = {  # what is run -> the extra
    **{
        MEMORY.format(name): "data"
        for name in (
            *("votes.csv", "votes.tsv", "votes.csv.gz", "votes.parquet", "folder"),
            "folder/*.parquet",
        )
    },
    "fit votes.csv votes2.csv -k 2": "data",
    "fit votes.csv -k 2 --engine disk": "data",
    "fit votes.csv -k 2 --cache rows": "data",
    "weights model.m4 votes.parquet --memory 1GB": "data",
    "check votes.duckdb": "data",
    "check votes.xlsx": "data",
    "mm.fit('votes.xlsx', 2)": "data",
    "convert votes.csv other.duckdb": "data",
    "check postgresql://localhost/votes --query SELECT": "data",
    "fit votes.csv -k 2 --engine dask": "dask",
    "fit votes.csv -k 2 --scheduler tcp://127.0.0.1:1": "dask",
    "plot components model.m4 -o picture.png": "plots",
    "plot mixtures model.m4 votes.csv -o picture.svg": "plots",
    "choose-k votes.csv -o chosen": "plots",
    "compare votes.csv -k 2 -o compared": "plots",
    "compare-on-split votes.csv votes.csv votes.csv -o compared": "plots",
    "serve model.m4": "web",
    "sample-posterior votes.csv -k 2": "posterior",
    "mm.store_comparisons('votes.csv', 'rows')": "data",
    "mm.make_engine('dask')": "dask",
    "mm.plots.plot_components(model)": "plots",
    "mm.plots.plot_positions(model)": "plots",
    "mm.plots.plot_pairs(model)": "plots",
    "mm.plots.plot_distances(model)": "plots",
    "mm.plots.plot_mixtures(mm.weights(model, votes))": "plots",
    "mm.plots.plot_largest_share(mm.weights(model, votes))": "plots",
    "from mallowmix.peers.baselines import BradleyTerry; BradleyTerry().fit(votes)": "peers",
    "from mallowmix.peers.grade_of_membership import _arviz; _arviz()": "posterior",
    "import mallowmix.web.application": "web",
    "mm.weights(model, votes).to_frame('pandas')": "pandas",
    "mm.weights(model, votes).to_frame('polars')": "polars",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """What every command and function answered, and which blocked packages were imported."""
    folder = tmp_path_factory.mktemp("bare")
    _write_votes(folder)
    commands = [line for line in [*PLAIN, *NEEDS] if not re.match("mm|from|import", line)]
    asked = {"commands": commands, "functions": [line for line in NEEDS if line not in commands]}
    (folder / "asked.json").write_text(json.dumps(asked))
    subprocess.run(
        [sys.executable, str(HERE / "bare_environment.py")], cwd=folder, env=os.environ, check=True
    )
    answers, imported = json.loads((folder / "answers.json").read_text())
    return folder, answers, imported


def _write_votes(folder):
    dishes = mm.load_dishes(n_users=40, per_user=30, seed=3)
    rows = dishes.comparisons.to_frame()
    users = [f"u{int(user[1:])}" if user[1:].isdigit() else user for user in map(str, rows["user"])]
    table = rows.set_column(0, "user", [users]).select(["user", "winner", "loser"])
    for name in ("votes.csv", "votes2.csv"):
        pa_csv.write_csv(table, folder / name)
    pq.write_table(table, folder / "votes.parquet")
    (folder / "folder").mkdir()
    pq.write_table(table, folder / "folder" / "part.parquet")
    text = (folder / "votes.csv").read_text().replace(",", "\t")
    (folder / "votes.tsv").write_text(text)
    import gzip

    (folder / "votes.csv.gz").write_bytes(gzip.compress((folder / "votes.csv").read_bytes()))
    (folder / "votes.duckdb").write_bytes(b"")
    (folder / "votes.xlsx").write_bytes(b"PK")
    first = table.slice(0, 3)
    pa_csv.write_csv(first.rename_columns(["user", "first", "second"]), folder / "wanted.csv")


@pytest.mark.slow
def test_a_plain_install_reads_checks_fits_predicts_and_reports(bare):
    folder, answers, imported = bare
    failed = {line: answers[line] for line in PLAIN if answers[line][0] != 0}
    assert not failed
    assert imported == []
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<section") >= 4 and "Plotly.newPlot" in page


@pytest.mark.slow
def test_every_missing_extra_is_one_sentence_with_the_command(bare):
    folder, answers, _ = bare
    wrong = {}
    for line, extra in NEEDS.items():
        code, _, said = answers[line]
        install = f"'mallowmix[{extra}]'" if extra in EXTRA_OF.values() else extra
        sentence = rf"Error: [^\n]+ needs \S+, which is not installed: pip install {install}\.\n?"
        if code != 1 or not re.fullmatch(sentence.replace("[", r"\[").replace(r"\[^", "[^"), said):
            wrong[line] = (code, said)
    assert not wrong
    left = {path.name for path in folder.iterdir()} & {"rows", "picture.png", "votes.blocks"}
    assert not left


def test_extras_are_those_of_the_package():
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    extras = {
        name: {re.split(r"[\[><=]", each)[0].replace("-", "_") for each in packages}
        for name, packages in project["optional-dependencies"].items()
    }
    for name, extra in EXTRA_OF.items():
        assert any(package.startswith(name) for package in extras[extra]), (name, extra)
    plain = {re.split(r"[\[><=]", each)[0] for each in project["dependencies"]}
    assert not plain & {name.replace("_", "-") for name in EXTRA_OF}


def test_the_error_keeps_its_fields_between_processes():
    import pickle

    error = pickle.loads(pickle.dumps(missing("duckdb", "A DuckDB file")))
    assert isinstance(error, MissingPackageError) and isinstance(error, ImportError)
    assert (error.package, error.install) == ("DuckDB", "'mallowmix[data]'")


def test_a_package_that_is_there_but_cannot_be_loaded_is_not_said_to_be_missing(
    tmp_path, monkeypatch
):
    (tmp_path / "half_broken.py").write_text("raise ImportError('cannot map')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="cannot map") as told:
        optional_package("half_broken", "A file")
    assert not isinstance(told.value, MissingPackageError)
    with pytest.raises(MissingPackageError):
        optional_package("not_there_at_all", "A file")
