"""The shape of the code: file names, public names and random streams, each used once."""

import ast
import io
import re
import tokenize

import pytest

from mallowmix.numerics.randomness import Step
from tools.shape import HERE, file_names_twice, names_defined_twice

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
