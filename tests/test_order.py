"""The option that runs the tests in another order."""

import itertools
from types import SimpleNamespace

from tests.conftest import shuffled


def test_every_test_is_kept_and_those_of_a_file_stay_together():
    tests = [SimpleNamespace(path=f"test_{n // 5}.py", number=n) for n in range(40)]
    found = shuffled(tests, 3)
    assert sorted(item.number for item in found) == list(range(40))
    files = [item.path for item in found]
    starts = [n for n in range(40) if n == 0 or files[n] != files[n - 1]]
    assert starts == list(range(0, 40, 5))
    numbers = [item.number for item in found]
    assert numbers == [item.number for item in shuffled(tests, 3)]
    assert numbers != sorted(numbers) != [item.number for item in shuffled(tests, 4)]
    assert any(b < a for a, b in itertools.pairwise(numbers[:5]))
