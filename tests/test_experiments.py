"""The folders of the paper's experiments: their form, and the registry that names them."""

import ast
from pathlib import Path

import pytest

import mallowmix as mm
from mallowmix import paper
from mallowmix.paper.experiment import Experiment, Request
from mallowmix.paper.markdown import decimal_text, markdown_table, wrap_markdown
from mallowmix.paper.registry import EXPERIMENTS
from mallowmix.paper.result_log import read_log

ROOT = Path(paper.__file__).parent
RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"
FURTHER_MODULES = {  # beside `run` and `report`
    "figure2": {"plane"},
    "figure3": {"references"},
    "figure4": {"fitted_systems", "movielens_split", "scoring"},
    "footnote": set(),
    "recovery": {"planted_settings"},
    "table1": {"mixtures", "populations"},
    "table2": {
        "fold_weights",
        "rating_settings",
        "rating_systems",
        "ratings_split",
        "settings_choice",
        "star_profiles",
        "utilities_stars",
    },
}


def public_names(file: Path) -> set[str]:
    """What a module defines at its top level under a name without an underscore."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        for target in getattr(node, "targets", []):
            names |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def test_every_folder_has_run_and_report_and_its_own_modules():
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert folders == {*FURTHER_MODULES, "theory"}
    for folder, further in FURTHER_MODULES.items():
        modules = {path.stem for path in (ROOT / folder).glob("*.py")}
        assert modules == {"__init__", "run", "report", *further}, folder


def test_the_registry_lists_every_folder_once():
    assert sorted(entry.folder for entry in EXPERIMENTS.values()) == sorted(FURTHER_MODULES)
    assert all(name == entry.name and entry.about for name, entry in EXPERIMENTS.items())


@pytest.mark.parametrize("folder", FURTHER_MODULES)
def test_run_has_the_experiment_and_report_the_report(folder):
    assert "EXPERIMENT" in public_names(ROOT / folder / "run.py")
    assert "report" in public_names(ROOT / folder / "report.py")


def test_a_public_name_is_defined_once():
    """Over all of `mallowmix.paper`, but for EXPERIMENT and report."""
    seen: dict[str, Path] = {}
    for file in sorted(ROOT.rglob("*.py")):
        for name in public_names(file) - {"EXPERIMENT", "report"}:
            assert name not in seen, (name, seen[name], file)
            seen[name] = file


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_the_same_form(name):
    experiment = EXPERIMENTS[name].load()
    assert isinstance(experiment, Experiment)
    assert {*experiment.key, "version"} <= set(experiment.columns)
    quick, whole = (experiment.tasks(Request(quick=quick, n_seeds=2)) for quick in (True, False))
    assert quick and whole
    for task in (*quick, *whole):
        assert task.key[-1] == mm.__version__ and len(task.key) == len(experiment.key) + 1
    assert len({task.key for task in quick}) == len(quick)


@pytest.mark.parametrize("file", [*EXPERIMENTS, "fig4_quick"])
def test_the_stored_page_is_what_the_report_writes_of_the_stored_rows(file):
    experiment = EXPERIMENTS[file.removesuffix("_quick")].load()
    found = {
        experiment.key_of(row)[:-1]: row
        for row in read_log(RESULTS / f"{file}.csv", experiment.columns)
    }
    quick, whole = (experiment.tasks(Request(quick=quick)) for quick in (True, False))
    tasks = whole if set(found) <= {task.key[:-1] for task in whole} else quick
    rows = [found[task.key[:-1]] for task in tasks if task.key[:-1] in found]
    assert len(rows) == len(found)
    page = (RESULTS / f"{file}.md").read_text(encoding="utf-8")
    assert experiment.report(rows, tasks).markdown == page


def test_numbers_tables_and_lines_of_the_pages():
    numbers = [decimal_text(x) for x in (0.5, -0.25, 1.04914, None, "")]
    assert numbers == [".5000", "-.2500", "1.0491", "–", "–"]
    assert markdown_table(("a", "b"), [("1", "2")]) == "| a | b |\n|---|---:|\n| 1 | 2 |"
    text = "word " * 18 + "`mallowmix reproduce fig2` writes it"
    assert wrap_markdown(text, "  ") == [
        ("word " * 18).strip(),
        "  `mallowmix reproduce fig2` writes it",
    ]
