"""The shape of the code: file names, public names and random streams, each used once."""

import ast
import io
import json
import re
import subprocess
import tokenize

import pytest

from mallowmix.numerics.randomness import Step
from tools.shape import HERE, file_names_twice, main, measure, measure_commit, names_defined_twice

PACKAGE = HERE / "src" / "mallowmix"
FILES = sorted(PACKAGE.rglob("*.py"))
SEED_SUM = re.compile(r"seed\b\s*\+|\+\s*\w*seed\b")


def code_of(text: str) -> str:
    """The source without comments and strings, tokens separated by blanks."""
    skipped = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return " ".join(token.string for token in tokens if token.type not in skipped)


@pytest.mark.slow
def test_a_file_name_is_used_once():
    assert file_names_twice(PACKAGE, FILES) == {}


@pytest.mark.slow
def test_a_public_name_is_defined_in_one_module():
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in FILES}
    assert names_defined_twice(PACKAGE, trees) == {}


def test_every_step_has_a_number_of_its_own():
    """An alias, two names for one number, is a member of `__members__` only."""
    numbers = [int(step) for step in Step.__members__.values()]
    assert len(set(numbers)) == len(numbers) > 50


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_seed_is_made_by_adding_to_another(file):
    """Neighbouring seeds would share their streams: `child_seed` makes seeds of parts."""
    assert not SEED_SUM.search(code_of(file.read_text(encoding="utf-8")))


def test_sums_of_seeds_are_found():
    for text in ("f(seed + 1)", "f(1+seed)", "x = self.seed+n", "own_seed += 1"):
        assert SEED_SUM.search(code_of(text + "\n"))
    for text in ("# seed + 1", '"""``seed + number`` would not do."""', "f(seed, +1)", "seeds + 1"):
        assert not SEED_SUM.search(code_of(text + "\n"))


@pytest.fixture
def repository(tmp_path):
    """One file with one function is committed, a second one is not."""
    package = tmp_path / "src" / "mallowmix"
    package.mkdir(parents=True)
    (tmp_path / "README.md").write_text("Words.\n")
    (package / "first.py").write_text("def one():\n    x = 1\n    return x\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    (package / "second.py").write_text("x = 1\n")
    return tmp_path


@pytest.mark.slow
def test_a_commit_is_measured_as_it_was(repository):
    then, now = measure_commit(repository, "HEAD"), measure(repository)
    assert (then["files"], then["lines"], then["median length of a function"]) == (1, 3, 2)
    assert (now["files"], now["lines"]) == (2, 4)


@pytest.mark.slow
def test_the_numbers_of_a_commit_have_a_record(repository, tmp_path, capsys):
    main(["--root", str(repository), "--commit", "HEAD", "--write", str(tmp_path)])
    assert "first version" in capsys.readouterr().out
    found = json.loads((tmp_path / "shape_first.json").read_text(encoding="utf-8"))
    assert found["lines"] == 3 and found["record"]["modules"]["benchmarks.record"]
