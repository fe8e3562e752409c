"""Random examples: the same in every run, so that a fault is met where it was made; ``make fuzz`` looks for new ones."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("steady", derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fuzz", derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("RUNWHY_EXAMPLES", "steady"))
