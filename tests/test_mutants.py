"""Mutation testing, on a small package: a mutant that a test kills, one that survives, one that
hangs; results are kept, and only what they do not cover is run again.
"""

import ast
import json

import pytest

from tools.mutants import HERE, Project, Run, summary
from tools.mutations import mutants_of

SOURCE = b"""
def area(width: float = 2.5, *, deep: bool = True) -> float:
    if width < 0:
        raise ValueError(f"{width + 1} is too small" + "!")
    return -width * 3


def countdown(n):
    while n > 0 and True:
        n -= 1
    return n
"""
TEST = """
from toy.shapes import area, countdown

def test_area():
    assert area(2.0) == -6.0

def test_countdown():
    assert countdown(3) == 0
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # starts sooner
    (tmp_path / "src" / "toy").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "src" / "toy" / "__init__.py").write_text("")
    (tmp_path / "src" / "toy" / "shapes.py").write_bytes(SOURCE)
    (tmp_path / "src" / "toy" / "alone.py").write_text("ONE = 1\n")
    (tmp_path / "tests" / "test_shapes.py").write_text(TEST)
    return Project(tmp_path, "toy")


def mutants_in(project, name):
    return mutants_of(f"toy.{name}", project.modules[f"toy.{name}"].read_bytes())


def by_change(mutants):
    return {(mutant.old, mutant.new): mutant for mutant in mutants}


def test_the_changes_are_those_that_were_meant():
    assert sorted((mutant.line, mutant.old, mutant.new) for mutant in mutants_of("m", SOURCE)) == [
        (2, "2.5", "(5.0)"),
        (2, "True", "(False)"),
        (3, "0", "(1)"),
        (3, "width < 0", "(width <= 0)"),
        (3, "width < 0", "(width >= 0)"),
        (5, "-width", "(width)"),
        (5, "-width * 3", "(-width / 3)"),
        (5, "3", "(4)"),
        (5, "return -width * 3", "return None"),
        (9, "0", "(1)"),
        (9, "True", "(False)"),
        (9, "n > 0", "(n <= 0)"),
        (9, "n > 0", "(n >= 0)"),
        (9, "n > 0 and True", "(n > 0 or True)"),
        (10, "1", "(2)"),
        (10, "n -= 1", "n += 1"),
        (11, "return n", "return None"),
    ]


def test_every_mutant_of_the_package_is_another_program():
    """Of kernels and of plain code; letters of more than one byte stand before some of them."""
    for name in ("model/mallows.py", "infer/posterior/split_moves.py"):
        source = (HERE / "src" / "mallowmix" / name).read_bytes()
        plain, found = ast.dump(ast.parse(source)), mutants_of(name, source)
        programs = {ast.dump(ast.parse(mutant.made_in(source))) for mutant in found}
        assert len(found) > 40 and plain not in programs
        assert len(programs) == len(found)


def test_a_mutant_is_killed_or_survives_or_hangs(toy, tmp_path):
    mutants = by_change(mutants_in(toy, "shapes"))
    wanted = {
        ("-width * 3", "(-width / 3)"): "killed",
        ("width < 0", "(width <= 0)"): "survived",
        ("n > 0", "(n >= 0)"): "killed",
        ("n -= 1", "n += 1"): "timeout",
        ("1", "(2)"): "survived",  # no test imports its module
    }
    mutants["1", "(2)"] = mutants_in(toy, "alone")[0]
    sample, results = [mutants[change] for change in wanted], tmp_path / "rows.jsonl"
    Run(toy, results, limit=60.0).all(sample[:3], jobs=2)
    rows = Run(toy, results, limit=2.0).all(sample)  # only what is missing: the one that hangs
    assert [row["outcome"] for row in rows] == list(wanted.values())
    text = list(summary(rows))
    # Wilson's interval of 3 of 5: (3 + z²/2 ± z √(3 · 2 / 5 + z²/4)) / (5 + z²), z = 1.96
    assert text[0].startswith("all: 3 of 5 killed, 95% interval 23.1% to 88.2%")
    assert [line for line in text if line.startswith("survived")] == [
        "survived: toy.alone:1  1  ->  (2)",
        "survived: toy.shapes:3  width < 0  ->  (width <= 0)",
    ]
    kept = results.read_text()
    assert len(kept.splitlines()) == 5 + 2  # and the two modules without a change
    results.write_text(kept + '{"id": "cut')  # a run that was killed while it wrote
    assert Run(toy, results, limit=60.0).all(sample) == rows and results.read_text() == kept


def test_mutants_are_tried_again_when_a_test_is_new(toy, tmp_path):
    mutant = by_change(mutants_in(toy, "shapes"))["width < 0", "(width <= 0)"]
    results = tmp_path / "rows.jsonl"
    row = {"outcome": "survived", "id": ":".join(map(str, mutant)), "digest": "of before"}
    results.write_text(json.dumps(row) + "\n")
    with (tmp_path / "tests" / "test_shapes.py").open("a") as file:
        file.write("\n\ndef test_zero():\n    assert area(0.0) == 0.0\n")
    assert Run(toy, results, limit=60.0).all([mutant])[0]["outcome"] == "killed"


def test_tests_that_fail_anyway_say_nothing(toy, tmp_path):
    (tmp_path / "tests" / "test_shapes.py").write_text(TEST + "    assert countdown(3) == 1\n")
    mutant = mutants_in(toy, "shapes")[0]
    rows = Run(toy, tmp_path / "rows.jsonl", limit=60.0).all([mutant])
    assert rows[0]["outcome"] == "not counted" and "all: 0 of 0" in next(summary(rows))


def test_the_tests_of_a_module_import_it_or_what_imports_it():
    project = Project(HERE, "mallowmix")
    assert project.tests_of("mallowmix.model.mallows")[0] == "tests/test_mallows.py"
    assert project.tests_of("mallowmix.infer.weights")[0] == "tests/test_weights.py"  # mm.weights
    assert "tests/test_personal_rankings.py" in project.tests_of(
        "mallowmix.numerics.insertion_gibbs"
    )
    levels = list(project.importers("mallowmix.numerics.insertion_gibbs"))
    assert levels[0] == {"mallowmix.numerics.insertion_gibbs"}
    assert "mallowmix.learn.rankings.rankings_pass" in levels[1]
