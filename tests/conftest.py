"""Hypothesis profiles for every test: reproducible by default, wider on request (`--hypothesis-profile=search`)."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seeds", type=int, default=4, help="random worlds per plan of attack")
    parser.addoption("--rewrite", action="store_true", help="write transcripts anew, to be reviewed as a diff")
