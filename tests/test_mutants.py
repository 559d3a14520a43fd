"""Mutation testing, on a small package: a mutant that a test kills, one that survives, one that
hangs, kernels with and without Numba; only what the kept results do not cover is run again.
"""

import ast

import pytest

from tools.call_map import Calls
from tools.mutants import HERE, Run, enclosing, sample_of, summary
from tools.mutations import mutants_of
from tools.project import Project

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

KERNELS = """
class Kernel:
    def __init__(self, function):
        self._function = function

    def __call__(self, *given):
        import numba

        return numba.njit(cache=True)(self._function)(*given)


def compiled(function):
    return Kernel(function)


@compiled
def twice(x):
    return 2 * x


@compiled
def thrice(x):
    return 3 * x
"""
KERNEL_TESTS = """
import numba
import pytest
from toy.kernels import thrice, twice

@pytest.fixture(scope="module")
def six():
    return twice(3)

def test_twice(six):
    assert six == 6

def test_twice_again(six):
    assert six > 0

def test_thrice_where_numba_is_on():
    assert not numba.config.DISABLE_JIT
    assert thrice(3) == 9
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
    (tmp_path / "src" / "toy" / "kernels.py").write_text(KERNELS)
    (tmp_path / "tests" / "test_kernels.py").write_text(KERNEL_TESTS)
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


@pytest.mark.slow
def test_every_mutant_of_the_package_is_another_program():
    """Of kernels and of plain code; letters of more than one byte stand before some of them."""
    for name in ("model/mallows.py", "infer/posterior/split_moves.py"):
        source = (HERE / "src" / "mallowmix" / name).read_bytes()
        plain, found = ast.dump(ast.parse(source)), mutants_of(name, source)
        programs = {ast.dump(ast.parse(mutant.made_in(source))) for mutant in found}
        assert len(found) > 40 and plain not in programs
        assert len(programs) == len(found)


@pytest.mark.slow
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
    cache = tmp_path / "maps"
    Run(toy, results, cache).all(sample[:3], jobs=2)
    assert len(Run(toy, results, cache).all(sample, minutes=0.0)) == 3
    rows = Run(toy, results, cache).all(sample)  # only what is missing: the one that hangs
    assert [row["outcome"] for row in rows] == list(wanted.values())
    text = list(summary(rows))
    # Wilson's interval of 3 of 5: (3 + z²/2 ± z √(3 · 2 / 5 + z²/4)) / (5 + z²), z = 1.96
    assert text[0].startswith("all: 3 of 5 killed, 95% interval 23.1% to 88.2%")
    assert [line for line in text if line.startswith("survived")] == [
        "survived: toy.alone:1  1  ->  (2)  (no test calls it)",
        "survived: toy.shapes:3  width < 0  ->  (width <= 0)  (1 tests)",
    ]
    kept = results.read_text()
    assert len(kept.splitlines()) == 5
    results.write_text(kept + '{"id": "cut')  # a run that was killed while it wrote
    assert Run(toy, results, cache).all(sample) == rows and results.read_text() == kept


@pytest.mark.slow
def test_survivors_are_tried_again_when_a_test_is_new(toy, tmp_path):
    mutants = by_change(mutants_in(toy, "shapes"))
    sample = [mutants["width < 0", "(width <= 0)"], mutants["-width", "(width)"]]
    results, cache = tmp_path / "rows.jsonl", tmp_path / "maps"
    before = Run(toy, results, cache).all(sample)
    with (tmp_path / "tests" / "test_shapes.py").open("a") as file:
        file.write("\n\ndef test_zero():\n    assert area(0.0) == 0.0\n")
    after = Run(toy, results, cache).all(sample)
    assert [row["outcome"] for row in before] == ["survived", "killed"]
    assert [row["outcome"] for row in after] == ["killed", "killed"]
    assert after[1] == before[1] and len(results.read_text().splitlines()) == 3


@pytest.mark.slow
def test_tests_that_fail_anyway_kill_nothing(toy, tmp_path):
    (tmp_path / "tests" / "test_shapes.py").write_text(TEST + "    assert countdown(3) == 1\n")
    mutant = by_change(mutants_in(toy, "shapes"))["n > 0", "(n <= 0)"]
    row = Run(toy, tmp_path / "rows.jsonl", tmp_path / "maps").all([mutant])[0]
    assert row["outcome"] == "survived" and row["tests_run"] == 1  # the test of `area`


def test_a_mutant_that_cannot_be_imported_is_killed(toy, tmp_path):
    """No function of its module is called: there is none. Types are no terms."""
    (tmp_path / "src" / "toy" / "names.py").write_text("KIND = int | str\nHALF = [1, 2][1]\n")
    (tmp_path / "tests" / "test_names.py").write_text(
        "from toy.names import KIND\n\ndef test_kind():\n    assert isinstance(1, KIND)\n"
    )
    project = Project(tmp_path, "toy")
    mutants = mutants_in(project, "names")[-1:]
    rows = Run(project, tmp_path / "rows.jsonl", tmp_path / "maps").all(mutants)
    assert [(row["new"], row["outcome"]) for row in rows] == [("(2)", "killed")]


@pytest.mark.slow
def test_kernels_run_without_numba_or_are_compiled_anew(toy, tmp_path):
    """`thrice` is in Numba's cache by then; a mutant that read it from there would survive."""
    mutants = by_change(mutants_in(toy, "kernels"))
    sample = [mutants["2 * x", "(2 / x)"], mutants["3 * x", "(3 / x)"]]
    rows = Run(toy, tmp_path / "rows.jsonl", tmp_path / "maps").all(sample)
    assert list((tmp_path / "src" / "toy" / "__pycache__").glob("*thrice*.nbc"))
    assert [(row["outcome"], row["jit"]) for row in rows] == [("killed", False), ("killed", True)]


@pytest.mark.slow
def test_what_a_fixture_calls_counts_for_each_test_that_uses_it(toy, tmp_path):
    calls = Calls(tmp_path, toy.modules, tmp_path / "maps")
    assert list(calls.make(["tests/test_kernels.py"])) == [("tests/test_kernels.py", 3)]
    found = calls.calling("toy.kernels", "twice")
    assert {name.rpartition("::")[2] for name in found} == {"test_twice", "test_twice_again"}
    assert len(calls.calling("toy.kernels", "")) == 3
    assert calls.calling("toy.kernels", "thric") == {}


@pytest.mark.slow
def test_a_map_is_made_again_when_a_module_that_its_tests_import_has_changed(toy, tmp_path):
    files, maps = toy.test_files(("toy",)), tmp_path / "maps"

    def made():
        before = {file: file.stat().st_mtime_ns for file in maps.glob("*.json")}
        list(Calls(tmp_path, toy.modules, maps).make(files))
        after = {file: file.stat().st_mtime_ns for file in maps.glob("*.json")}
        return sorted(each.stem.split("-")[0] for each in after if after[each] != before.get(each))

    assert made() == ["test_kernels", "test_shapes"]
    assert made() == []
    toy.modules["toy.shapes"].write_bytes(SOURCE + b"\nSIDES = 4\n")
    assert made() == ["test_shapes"]


def test_the_function_around_a_mutant():
    source = b"""
LIMIT = 1
HALF: float = LIMIT / 6
OTHER = 7
class A:
    size = 2
    def area(self):
        def half(x):
            return x / 3
        return half(
            4
        )
@compiled(fastmath=True)
def kernel(x):
    return x + 5
"""
    found = {mutant.old: enclosing(mutant, source) for mutant in mutants_of("m", source)}
    assert found["1"] == ("", False, {"LIMIT", "HALF"}) and found["6"] == ("", False, {"HALF"})
    assert found["2"] == ("", False, set())
    assert found["3"] == found["4"] == ("A.area", False, set())
    assert found["5"] == ("kernel", True, {"kernel"})


def test_lines_keep_their_numbers():
    """Numba finds kernels in its cache by their line."""
    source = b"a = (\n  1\n  +\n  2)\ndef f():\n    return (\n        3)\nlast = 0\n"
    for mutant in mutants_of("m", source):
        assert ast.parse(mutant.made_in(source)).body[-1].lineno == 8


@pytest.mark.slow
def test_the_tests_near_a_module_import_it_or_what_imports_it():
    project = Project(HERE, "mallowmix")
    assert "tests/test_mallows.py" in project.near("mallowmix.model.mallows")
    assert "tests/test_weights.py" in project.near("mallowmix.infer.weights")  # as mm.weights
    assert "tests/test_personal_rankings.py" in project.near("mallowmix.numerics.insertion_gibbs")
    of_core = set(project.test_files(("mallowmix.learn", "mallowmix.infer")))
    assert "tests/test_weights.py" in of_core
    others = {"tests/test_mutants.py", "tests/test_web_browser.py", "tests/test_csv_quotes.py"}
    assert not others & of_core
    levels = list(project.importers("mallowmix.numerics.insertion_gibbs"))
    assert levels[0] == {"mallowmix.numerics.insertion_gibbs"}
    assert "mallowmix.learn.rankings.rankings_pass" in levels[1]


def test_a_sample_stays_when_other_code_changes():
    """But it is another one with another seed, and a longer one begins with a shorter one."""
    before = mutants_of("m", SOURCE)
    after = mutants_of("m", b"LIMIT = 1 + 2\n\n\n" + SOURCE)
    small = [mutant.id for mutant in sample_of(before, 0, 5)]
    assert [mutant.id for mutant in sample_of(before, 0, 9)][:5] == small
    assert [mutant.id for mutant in sample_of(before, 1, 5)] != small
    known = {mutant.id for mutant in before}
    kept = [mutant.id for mutant in sample_of(after, 0, len(after)) if mutant.id in known]
    assert kept[:5] == small and len(kept) == len(known) == len(before)


@pytest.mark.slow
def test_one_that_survives_the_first_tests_meets_others(toy, tmp_path, monkeypatch):
    """The first is the only quick one there is room for, and lets everything pass."""
    monkeypatch.setattr("tools.mutants.MOST", 1)
    (tmp_path / "tests" / "test_area.py").write_text(
        "import time\nimport pytest\nfrom toy.shapes import area\n\n"
        "def test_a():\n    area(1.0)\n\n"
        "@pytest.mark.slow\ndef test_b():\n    time.sleep(0.01)\n    assert area(1.0) == -3.0\n"
    )
    (tmp_path / "tests" / "test_shapes.py").unlink()
    project = Project(tmp_path, "toy")
    mutants = by_change(mutants_in(project, "shapes"))
    sample = [mutants["-width", "(width)"], mutants["width < 0", "(width <= 0)"]]
    rows = Run(project, tmp_path / "rows.jsonl", tmp_path / "maps").all(sample)
    assert [row["outcome"] for row in rows] == ["killed", "survived"]
    assert rows[0]["by"] == "tests/test_area.py::test_b"
