"""Settings that all tests share."""

import os
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, settings

from sfumato._core.testing import ReplayedNoise

# Timings differ between machines: a slow example is not a wrong one. What is known to go wrong is
# an explicit example of its test; the random ones look for what is not known.
settings.register_profile(
    "usual", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# A planted bug is found by an example that is written down, never by a lucky draw.
settings.register_profile(
    "mutants", settings.get_profile("usual"), phases=[Phase.explicit], database=None
)
settings.load_profile(os.environ.get("SFUMATO_HYPOTHESIS", "usual"))


@pytest.fixture
def seeded_noise(monkeypatch):
    """The noise of a fit is a function of its number: real laws, the same draws in every run."""
    numbers = count(1)
    for module in ("curator", "releases.histograms", "local.randomizer"):
        place = f"sfumato._core.{module}.SecureNoise"
        monkeypatch.setattr(place, lambda: ReplayedNoise(next(numbers)))
