"""runwhy: paste a training log, ask why."""

__version__ = "0.1.0"
