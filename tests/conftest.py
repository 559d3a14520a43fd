"""What every test shares: examples are found the same way each time, without a clock; any order.

`pytest --order-seed 3` (`make test ORDER=3`) shuffles the files, and the tests of each file.
"""

import itertools
import random
import sys

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import postgres_server, postgres_url  # noqa: F401 fixtures

settings.register_profile(
    "mallowmix",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mallowmix")


def pytest_addoption(parser):
    parser.addoption("--order-seed", type=int, help="shuffle files, and the tests of each")


def pytest_collection_modifyitems(config, items):
    seed = config.getoption("--order-seed")
    if seed is not None:
        items[:] = shuffled(items, seed)


def shuffled(items, seed):
    """Files in another order, and the tests of each; those of a file stay together.

    What they share is then made once, as in the usual order.
    """
    chance = random.Random(seed)
    files = [list(own) for _, own in itertools.groupby(items, key=lambda item: item.path)]
    chance.shuffle(files)
    for own in files:
        chance.shuffle(own)
    return list(itertools.chain.from_iterable(files))


@pytest.fixture(autouse=True)
def wrong_admin_tokens_are_forgotten(monkeypatch):
    """A server slows guesses down: those of one test must not slow the next."""
    admin = sys.modules.get("mallowmix.web.admin")
    if admin is not None:
        tries = type(admin._tries)(rate=admin._tries.rate, burst=admin._tries.burst)
        monkeypatch.setattr(admin, "_tries", tries)
