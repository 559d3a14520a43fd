"""Numbers in the docs against result files, in a small repository made here; records of runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.record import save
from command_line import run
from mallowmix.paper.footnote import run as footnote
from mallowmix.paper.provenance import changed_modules, code_hash, run_record
from mallowmix.paper.result_log import add_run, runs_file
from tools import claims
from tools.result_values import NUMBER
from tools.sources import unbacked_numbers

CLAIMS = """
[m4_10]
file = "fig.csv"
where = { system = "M4", k = 10 }
column = "value"

[error_3]
file = "small.json"
where = { K = 3 }
column = "error"
times = 100
format = ".1f"
bare = false

[two_rows]
file = "fig.csv"
where = { system = "M4" }
column = "value"

[seconds]
file = "small.json"
path = "about.seconds"
format = ".0f"
"""
PAGE = """\
# A page

M4 has <!--=m4_10-->−.514<!--/=--> and an error of <!--=error_3-->12.3<!--/=--> in
<!--=seconds-->61<!--/=--> s. The paper has <!--given-->.8241<!--/given-->, `0.123` and $0.05$.

<!--=table fig.md 1-->
| K | error |
|---|---:|
| 5 | .012 |
<!--/=-->
"""


@pytest.fixture
def root(tmp_path):
    results = tmp_path / "benchmarks" / "results"
    results.mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "src" / "mallowmix").mkdir(parents=True)
    (tmp_path / "src" / "mallowmix" / "core.py").write_text("x = 1\n")
    record = {"modules": {"mallowmix.core": code_hash("x = 1")}, "clean": True, "commit": "c"}
    (results / "fig.csv").write_text("system,k,value\nM4,5,-0.53\nM4,10,-0.5140\nTM,10,-0.55\n")
    (results / "fig.runs.json").write_text(json.dumps([record | {"rows": [["M4", "5"]]}]))
    (results / "fig.md").write_text("words\n\n| K | error |\n|---|---:|\n| 5 | .012 |\n\nmore\n")
    small = {"about": {"seconds": 60.7}, "rows": [{"K": 2, "error": 0.1}, {"K": 3, "error": 0.123}]}
    (results / "small.json").write_text(json.dumps(small | {"record": record}))
    (tmp_path / "docs" / "claims.toml").write_text(CLAIMS)
    (tmp_path / "docs" / "page.md").write_text(PAGE)
    (tmp_path / "README.md").write_text("Nothing is claimed here, in version 1.2 or 3.11.\n")
    return tmp_path


def kinds(root: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for finding in claims.all_findings(root):
        found.setdefault(finding.kind, []).append(finding.where)
    return found


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_all_is_well(root):
    assert claims.all_findings(root) == []


@pytest.mark.parametrize(
    ("old", "new"), [("−.514", "−.512"), (">61<", ">62<"), ("12.3", "12.4"), (".012", ".013")]
)
def test_a_number_that_differs_is_found_and_filled_in(root, old, new):
    change(root / "docs" / "page.md", old, new)
    assert list(kinds(root)) == ["differs"]
    claims.write_claims(root)
    assert (root / "docs" / "page.md").read_text() == PAGE


def test_a_new_result_is_filled_in(root):
    change(root / "benchmarks" / "results" / "fig.csv", "-0.5140", "-0.4996")
    assert kinds(root) == {"differs": ["docs/page.md:3"]}
    claims.write_claims(root)
    assert "−.500" in (root / "docs" / "page.md").read_text() and not kinds(root)


@pytest.mark.parametrize("name", ["nothing", "two_rows", "table none.md 1", "table fig.md 7"])
def test_a_claim_that_cannot_be_looked_up(root, name):
    change(root / "docs" / "page.md", "m4_10", name)
    assert kinds(root) == {"unknown": ["docs/page.md:3"]}


def test_results_of_other_code_and_without_a_record(root):
    core = root / "src" / "mallowmix" / "core.py"
    core.write_text('"""Words."""\n\nx = 1  # more of them\n')
    assert not kinds(root)
    core.write_text("x = 2\n")
    results = [f"benchmarks/results/{name}" for name in ("small.json", "fig.csv")]
    assert kinds(root) == {"stale": results}
    core.unlink()
    assert kinds(root) == {"stale": results}
    (root / "benchmarks" / "results" / "fig.runs.json").unlink()
    assert kinds(root)["no record"] == results[1:]


def test_results_from_changed_files(root):
    change(root / "benchmarks" / "results" / "small.json", '"clean": true', '"clean": false')
    assert kinds(root) == {"dirty": ["benchmarks/results/small.json"]}


def test_numbers_without_a_source(root):
    (root / "README.md").write_text("It gains .038 nats, or 12 %.\n\n`0.77` and $0.05$ are not.\n")
    found = claims.all_findings(root)
    assert [(each.kind, each.where, each.what) for each in found] == [
        ("no source", "README.md:1", ".038"),
        ("no source", "README.md:1", "12 %"),
    ]


@pytest.mark.parametrize(("strict", "code"), [((), 0), (("--strict",), 1)])
def test_only_strict_fails_for_numbers_without_a_source(root, strict, code, monkeypatch, capsys):
    monkeypatch.delenv("STRICT", raising=False)
    (root / "README.md").write_text("It gains .038 nats.\n")
    monkeypatch.setattr(sys, "argv", ["claims", "--root", str(root), *strict])
    assert claims.main() == code
    assert "README.md:1: no source: .038" in capsys.readouterr().out


# ---- numbers in a text, and what holds them ----

SOURCES = """
[[source]]
page = "README.md"
at = "It gains"
from = "fig.csv"
where = { k = 10 }
columns = ["value"]
differences = true
"""


def sourced(root: Path, words: str, entries: str = SOURCES) -> list[tuple[str, str]]:
    (root / "README.md").write_text(words)
    (root / "docs" / "claims.toml").write_text(CLAIMS + entries)
    return [(each.kind, each.where) for each in claims.all_findings(root)]


def test_a_number_of_a_text_is_looked_up_in_its_source(root):
    assert sourced(root, "It gains .036 over −.550.\n") == []
    assert sourced(root, "It gains .037.\n") == [("differs", "README.md:1")]
    assert sourced(root, "It gains .53.\n") == [("differs", "README.md:1")]  # K = 5 is not meant
    # the next paragraph has no source
    assert sourced(root, "It gains .036.\n\nOther: .036\n") == [("no source", "README.md:3")]


def test_a_number_without_a_sign_may_be_the_size_of_a_negative_one(root):
    assert sourced(root, "It gains .550.\n") == []
    positive = SOURCES.replace("differences = true", "times = -1")
    assert sourced(root, "It gains −.550.\n", positive) == [("differs", "README.md:1")]


@pytest.mark.parametrize(
    ("entry", "words", "wrong"),
    [
        ('from = "small.json"\npath = "about"', "60.70", []),
        ('from = "small.json"\npath = "rows"\ncolumns = ["error"]', "12.3%", []),
        ('from = "small.json"\nratios = true\npath = ["rows.0.error", "rows.1.error"]', "1.23", []),
        ('from = "tests/test_it.py::Test::test_one"', "0.75", []),
        ('from = "tests/test_it.py::Test::test_one"', "0.25", ["differs"]),
        ('from = "tests/test_it.py::test_none"', "0.75", ["differs", "unknown"]),
        ('from = "docs/page.md::code"', "0.123", ["differs", "unknown"]),
        ('from = "nothing.csv"', "0.75", ["differs", "unknown"]),
        ('made_by = "tests/test_it.py::Test::test_one"', "0.11", []),
        ('given = "a bound"', "0.11", []),
        ('given = "a bound"\nnumbers = ["0.12"]', "0.11", ["differs"]),
        ('given = "a bound"\nfrom = "fig.csv"', "0.11", ["unknown"]),
    ],
)
def test_kinds_of_sources(root, entry, words, wrong):
    (root / "tests").mkdir()
    (root / "tests" / "test_it.py").write_text(
        "class Test:\n    def test_one(self):\n        assert 0.75\n\n\ndef test_two():\n    0.25\n"
    )
    entry = f'[[source]]\npage = "README.md"\nat = "It is"\n{entry}\n'
    assert [kind for kind, _ in sourced(root, f"It is {words}\n", entry)] == wrong


@pytest.mark.parametrize("old", ["README.md", "It gains"])
def test_a_source_of_no_page_or_phrase(root, old):
    found = sourced(root, "It gains .036.\n", SOURCES.replace(old, "It loses"))
    assert ("unknown", "docs/claims.toml") in found


def test_a_level_is_no_result_and_items_of_a_list_are_apart(root):
    assert sourced(root, "The 95% interval.\n\n- It gains .036\n- and .037\n") == [
        ("no source", "README.md:4")
    ]


def test_every_number_of_this_repository_has_a_source():
    wrong = [each for each in claims.all_findings(claims.HERE) if each.kind in LOOKED_UP]
    assert wrong == []


LOOKED_UP = ("differs", "unknown", "no source")


def test_which_numbers_need_a_source():
    """Decimals and percentages; versions, numbers of propositions and whole numbers do not."""
    text = "1.5 of 30 (25.8, −.03; 70.1 % and 90%), v2.1, 3.11.7"
    assert NUMBER.findall(text) == ["1.5", "25.8", "−.03", "70.1 %", "90%"]
    page, block = "a.md", "Proposition 2.1 of Python 3.11: a 95% interval, 3.4 of them."
    assert [each.number for each in unbacked_numbers(page, block, block, [], Path())] == ["3.4"]


def test_what_a_module_does_has_a_hash():
    one = 'def f(x):\n    """Words."""\n    return x + 1\n'
    other = "def f(x):  # said elsewhere\n    return (x + 1)\n"
    assert code_hash(one) == code_hash(other) != code_hash(one.replace("1", "2"))
    assert code_hash('"""Only words."""') == code_hash('"""Others."""')


@pytest.mark.slow
def test_a_record_names_the_study_that_runs(tmp_path):
    """Python calls it `__main__`, whose change would go unseen."""
    study = "benchmarks.projections_recovery"
    options = ["--sizes", "20", "--seeds", "1", "--out", str(tmp_path)]
    command = [sys.executable, "-W", "ignore", "-m", study, *options]
    repository = Path(__file__).resolve().parent.parent
    subprocess.run(command, check=True, capture_output=True, cwd=repository)
    found = json.loads((tmp_path / "projections_recovery.json").read_text(encoding="utf-8"))
    modules = found["record"]["modules"]
    assert changed_modules(modules, repository) == []
    assert changed_modules(modules | {study: "other"}, repository) == [study]
    text = (repository / "benchmarks" / "projections_recovery.py").read_text(encoding="utf-8")
    assert modules[study] == code_hash(text) and "__main__" not in modules


def test_how_records_are_kept_decides_no_number(root):
    core = {"mallowmix.core": code_hash("x = 1")}
    keeper = {"mallowmix.paper.provenance": code_hash("x = 2")}
    assert changed_modules(core | keeper, root) == []
    assert changed_modules({"mallowmix.core": code_hash("x = 2")} | keeper, root) == [
        "mallowmix.core"
    ]


@pytest.mark.slow
def test_a_record_says_what_ran_and_not_where(tmp_path):
    record = run_record({"output": tmp_path / "here", "n": 3, "size": "quick"}, [0, 1])
    assert record["options"] == {"output": "here", "n": 3, "size": "quick"}
    assert record["seeds"] == [0, 1] and str(tmp_path) not in json.dumps(record)
    assert record["modules"]["mallowmix.paper.provenance"]
    repository = Path(__file__).resolve().parent.parent
    assert changed_modules(record["modules"], repository) == []
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True)
    assert said.returncode or record["commit"] == said.stdout.decode().strip()


@pytest.mark.slow
def test_benchmarks_and_experiments_leave_a_record(tmp_path, monkeypatch):
    file = save("small", {"rows": [1]}, tmp_path, seeds=(4,))
    saved = json.loads(file.read_text())
    assert saved["rows"] == [1] and saved["record"]["seeds"] == [4]
    monkeypatch.setattr(footnote, "_QUICK_DRAWS", 2)
    run("reproduce", "footnote", "--quick", "-o", tmp_path, "-q")
    (record,) = json.loads((tmp_path / "footnote.runs.json").read_text())
    assert len(record["rows"]) == 4 and record["options"]["size"] == "quick"
    assert "mallowmix.paper.footnote.run" in record["modules"]
    run("reproduce", "footnote", "--quick", "-o", tmp_path, "-q")  # nothing is left to compute
    assert json.loads((tmp_path / "footnote.runs.json").read_text()) == [record]


@pytest.mark.slow
def test_a_record_names_what_computes_and_no_pictures_or_other_commands(tmp_path):
    """In a process of its own: here other tests have imported everything."""
    options = ["--quick", "-o", str(tmp_path), "-q", "--n-jobs", "1"]
    command = [sys.executable, "-m", "mallowmix", "reproduce", "fig2", *options]
    subprocess.run(command, check=True, capture_output=True)
    (record,) = json.loads((tmp_path / "fig2.runs.json").read_text())
    named = set(record["modules"])
    assert {"mallowmix.cli.reproduce", "mallowmix.paper.figure2.run"} <= named
    assert "mallowmix.model.mallows" in named
    assert not any(name.startswith("mallowmix.plots") for name in named)
    assert "mallowmix.paper.figure2.report" not in named
    assert {name for name in named if name.startswith("mallowmix.cli")} == {
        "mallowmix.cli.reproduce"
    }


def test_rows_that_are_computed_again_belong_to_the_later_run(tmp_path):
    path = tmp_path / "fig.csv"
    add_run(path, {"rows": [["a"], ["b"]], "date": "1"})
    add_run(path, {"rows": [["b"], ["c"]], "date": "2"})
    add_run(path, {"rows": [["a"]], "date": "3"})
    runs = json.loads(runs_file(path).read_text())
    assert [(each["date"], each["rows"]) for each in runs] == [
        ("2", [["b"], ["c"]]),
        ("3", [["a"]]),
    ]
