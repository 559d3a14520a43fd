"""What every test shares: examples are found the same way each time, without a clock."""

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
