"""How long an example takes says more about the machine than about the code: no deadlines (speed is measured in benchmarks/)."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
