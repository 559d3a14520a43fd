"""The documentation is run: every code block, every command, every link, every name of code or of a
test that it mentions.
"""

import ast
import contextlib
import importlib
import re
import shlex
import shutil
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mallowmix
from mallowmix.cli import app
from tools.page_blocks import (
    SHELL,
    Command,
    blocks,
    commands,
    missing_output,
    run_command,
    run_python,
    without_blocks,
    words_without_a_shell,
)

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", *DOCS]
PROSE = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAPER = ROOT / "docs" / "paper.md"
MADE = ROOT / "docs" / "figures" / "made"  # by the build; test_site.py asks for each of them
ARCHITECTURE = ROOT / "docs" / "architecture.md"

# commands that set up a machine; everything else in a shell block is run or checked
NOT_RUN = ("pip", "git", "cd", ".venv/bin/")
# other names of the tested languages, under which a block would escape the tests
UNTESTED = ("py", "pycon", "sh", "shell", "zsh")
# pages whose commands are processes of their own, started from a shell as by somebody who reads
# them; those of other pages run in the process of the tests, which has imported everything already
FROM_A_SHELL = ("README.md", "docs/install.md", "docs/index.md")


def read(file: Path) -> str:
    """A text file, in the same encoding everywhere."""
    return file.read_text(encoding="utf-8")


def make_targets() -> set[str]:
    """The targets of the Makefile."""
    return set(re.findall(r"^([\w-]+):", read(ROOT / "Makefile"), re.M))


def run_mallowmix(command: str, folder: Path, shell: bool) -> tuple[int, str]:
    """Run a `mallowmix` command, from a shell where asked or needed; its exit code and output."""
    words = words_without_a_shell(command)
    if shell or words is None:
        done = run_command(command, folder)
        return done.returncode, f"{done.stdout}\n{done.stderr}"
    with contextlib.chdir(folder):
        ended = CliRunner().invoke(app, words[1:], env={"COLUMNS": "100"})
    return ended.exit_code, f"{ended.stdout}\n{ended.stderr}"


def check_command(given: Command, where: str, folder: Path, shell: bool = True) -> None:
    """Run a `mallowmix` command and look for the output that the page shows; check that `make` has
    the targets; let what sets up a machine pass; refuse everything else.
    """
    command = given.text
    if command.startswith("mallowmix"):
        code, printed = run_mallowmix(command, folder, shell)
        assert code == 0, f"{where}: `{command}` ended with {code}:\n{printed}"
        assert missing_output(given.output, printed) == [], (
            f"{where}: `{command}` prints:\n{printed}"
        )
    elif command.startswith("make"):
        asked = [
            word
            for word in shlex.split(command, comments=True)[1:]
            if "=" not in word and not word.startswith("-")
        ]
        assert set(asked) <= make_targets(), (
            f"{where}: `{command}` asks for a target that the Makefile does not have"
        )
    else:
        assert command.startswith(NOT_RUN), (
            f"{where}: `{command}` is neither run nor on the list of commands that need not be"
        )


def title(page: Path) -> str:
    """How a page is called in test names and messages."""
    return page.relative_to(ROOT).as_posix()


# ---- blocks ----


@pytest.mark.slow
@pytest.mark.parametrize("shell", [True, False])
def test_a_failing_command_and_an_unknown_one_are_noticed(tmp_path, shell):
    with pytest.raises(AssertionError, match=r"here: `mallowmix no-such-command` ended with"):
        check_command(Command("mallowmix no-such-command"), "here", tmp_path, shell)
    with pytest.raises(AssertionError, match="neither run nor on the list"):
        check_command(Command("rm -r x"), "here", tmp_path, shell)
    with pytest.raises(AssertionError, match="prints:"):
        check_command(Command("mallowmix --version", ("mallowmix 99",)), "here", tmp_path, shell)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=title)
def test_every_block_runs(page, tmp_path, monkeypatch):
    """One folder and one namespace a page, its blocks in the order of reading: what one block
    writes, the next may read.
    """
    monkeypatch.chdir(tmp_path)
    if page.name == "exports.md":
        shutil.copytree(ROOT / "tests" / "data" / "exports", tmp_path, dirs_exist_ok=True)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(read(page)):
        where = f"{title(page)} line {block.line}"
        assert block.language not in UNTESTED, (
            f"{where}: call the language python, console or bash, so that it is tested"
        )
        if block.language == "python":
            run_python(block, page, namespace)
        elif block.language in SHELL:
            for command in commands(block.text):
                check_command(command, where, tmp_path, title(page) in FROM_A_SHELL)


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md"], ids=title)
def test_contributing_names_make_targets_that_exist(page, tmp_path):
    for block in blocks(read(page)):
        for command in commands(block.text) if block.language in SHELL else []:
            check_command(command, f"{title(page)} line {block.line}", tmp_path)


# ---- links ----


def slug(heading: str) -> str:
    """The anchor that a heading gets: small letters, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", without_blocks(read(page)), re.M)}


@pytest.mark.parametrize("page", PROSE, ids=title)
def test_relative_links_lead_somewhere(page):
    prose = without_blocks(read(page))
    patterns = (r"\]\(([^)\s]+)\)", r"(?:src|href)=\"([^\"]+)\"", r"(?m)^\[[^\]]+\]: (\S+)$")
    targets = [target for pattern in patterns for target in re.findall(pattern, prose)]
    for target in (t for t in targets if not re.match(r"[a-z]+:", t)):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists() or file.parent == MADE, (
            f"{title(page)} links to {target}, which does not exist"
        )
        assert not anchor or anchor in anchors(file), (
            f"{title(page)} links to {target}, but {file.name} has no such heading"
        )


@pytest.mark.parametrize("figure", sorted((ROOT / "docs" / "figures").glob("*.svg")), ids=title)
def test_figures_are_well_formed(figure):
    assert ElementTree.parse(figure).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_the_plate_drawing_shows_every_variable_and_shades_the_observed_ones():
    root = ElementTree.parse(ROOT / "docs" / "figures" / "plate.svg").getroot()
    circles = {c.get("id"): c.get("fill") for c in root.iter("{http://www.w3.org/2000/svg}circle")}
    assert set(circles) == {"sigma-k", "phi-k", "theta", "z", "sigma-mn", "pair", "w"}
    assert {name for name, fill in circles.items() if fill} == {"pair", "w"}
    words = {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert words >= {"K", "M", "N", "α", "μ", "σk", "φk", "θm", "zm,n", "σm,n", "wm,n", "{i, j}"}
    assert "figures/plate.svg" in read(PAPER)


# ---- names ----


def resolve(name: str) -> object:
    """The object behind a dotted name: the longest part that is a module is imported, the rest are
    attributes.
    """
    words = name.split(".")
    for n in range(len(words), 0, -1):
        try:
            found = importlib.import_module(".".join(words[:n]))
        except ModuleNotFoundError:
            continue
        for word in words[n:]:
            found = getattr(found, word)
        return found
    raise ModuleNotFoundError(name)


def resolves(name: str) -> bool:
    try:
        resolve(name)
    except (ModuleNotFoundError, AttributeError):
        return False
    return True


def test_resolving_tells_names_that_exist_from_names_that_do_not():
    assert resolves("mallowmix.model.m4.M4.beta") and resolves("mallowmix.M4")
    assert not resolves("mallowmix.model.m4.M4.gamma") and not resolves("mallowmix.nowhere.at_all")


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_code_names_exist(page):
    names = re.findall(r"`(mallowmix(?:\.\w+)+)(?:\([^`]*\))?`", without_blocks(read(page)))
    assert [name for name in dict.fromkeys(names) if not resolves(name)] == []


def defined_tests() -> set[str]:
    """The tests there are, by the names that pytest gives them: file.py::test_name or
    file.py::TestClass::test_name.
    """
    found = set()
    for file in sorted((ROOT / "tests").glob("test_*.py")):
        for node in ast.parse(read(file)).body:
            inside = node.body if isinstance(node, ast.ClassDef) else [node]
            names = [inner.name for inner in inside if isinstance(inner, ast.FunctionDef)]
            found |= {
                f"{file.name}::{node.name}::{name}"
                if isinstance(node, ast.ClassDef)
                else f"{file.name}::{name}"
                for name in names
            }
    return found


@pytest.mark.slow
def test_names_of_tests_exist():
    quoted = set(re.findall(r"`(test_[^`]*)`", read(PAPER)))
    assert quoted, "docs/paper.md names no test"
    assert sorted(quoted - defined_tests()) == []


@pytest.mark.slow
def test_every_statement_has_a_verdict_and_what_shows_it():
    """A test or a file that is there; errata that are in paper.md."""
    page = PAPER.with_name("statements.md")
    rows = [line.split("|")[1:-1] for line in read(page).splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in row] for row in rows if row[0].strip() != "statement"]
    verdict = re.compile(r"reproduced|corrected|not |open: ")
    assert len(rows) > 40 and all(len(row) == 3 and verdict.match(row[1]) for row in rows)
    tests = {name for row in rows for name in re.findall(r"`(test_[^`]*)`", row[2])}
    assert sorted(tests - defined_tests()) == []
    files = [name for row in rows for name in re.findall(r"\]\(([^)]*)\)", row[2])]
    assert [name for name in files if not (page.parent / name).exists()] == []
    assert all("`test_" in row[2] or "](" in row[2] for row in rows)
    errata = {int(n) for n in re.findall(r"^### E(\d+)\b", read(PAPER), re.M)}
    named = {int(n) for row in rows for n in re.findall(r"\bE(\d+)\b", row[1])}
    assert named <= errata


def test_all_errata_are_there_once_and_in_order():
    numbers = [int(n) for n in re.findall(r"^### E(\d+)\b", read(PAPER), re.M)]
    assert numbers == list(range(1, 30))


@pytest.mark.parametrize("page", DOCS, ids=title)
def test_mathematics_is_balanced(page):
    """An odd dollar turns the rest of a paragraph upside down."""
    prose = re.sub(r"`[^`\n]*`", "", without_blocks(read(page)))
    odd = [part.strip()[:60] for part in re.split(r"\n\s*\n", prose) if part.count("$") % 2]
    assert odd == []


# ---- facts told twice ----


def layers() -> list[str]:
    contracts = tomllib.loads(read(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    return contracts[0]["layers"]


def test_the_architecture_page_has_the_layers_that_are_checked():
    drawn = [block.text for block in blocks(read(ARCHITECTURE)) if block.text.startswith("cli ")]
    assert len(drawn) == 1
    assert [line.split("  ")[0].strip() for line in drawn[0].splitlines()] == layers()


def test_the_version_is_the_same_everywhere():
    citation = read(ROOT / "CITATION.cff")
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == mallowmix.__version__
    assert mallowmix.__version__ in read(ROOT / "CHANGELOG.md")
