"""Settings that all tests share."""

import os

from hypothesis import HealthCheck, Phase, settings

# Timings differ between machines: a slow example is not a wrong one.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A planted bug has to be found, not explained: no shrinking, no database.
settings.register_profile(
    "mutants", settings.get_profile("house"), phases=[Phase.explicit, Phase.generate], database=None
)
settings.load_profile(os.environ.get("SFUMATO_HYPOTHESIS", "house"))
