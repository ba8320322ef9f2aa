"""Settings that all tests share."""

import os

from hypothesis import HealthCheck, Phase, settings

# Timings differ between machines: a slow example is not a wrong one.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A planted bug is found by an example that is written down, never by a lucky draw.
settings.register_profile(
    "mutants", settings.get_profile("house"), phases=[Phase.explicit], database=None
)
settings.load_profile(os.environ.get("SFUMATO_HYPOTHESIS", "house"))
