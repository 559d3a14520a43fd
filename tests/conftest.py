"""What every test shares: examples are found the same way each time, without a clock."""

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


@pytest.fixture(autouse=True)
def wrong_admin_tokens_are_forgotten(monkeypatch):
    """A server slows guesses down: those of one test must not slow the next."""
    admin = sys.modules.get("mallowmix.web.admin")
    if admin is not None:
        tries = type(admin._tries)(rate=admin._tries.rate, burst=admin._tries.burst)
        monkeypatch.setattr(admin, "_tries", tries)
