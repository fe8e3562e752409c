"""What happens to healthy runs on ordinary clusters: slow steps, single outliers, swings with a memory, keys or lines left out."""

from __future__ import annotations

import numpy as np

from assistant.run import FloatArray, Run
from tests.builders import run_of
from tests.diagnosis.healthy_runs import Metrics, healthy_metrics


def troubled_run(seed: int) -> Run:
    """A healthy run, disturbed; a third of them without settings, a third cut at both ends."""
    metrics, config, s = healthy_metrics(seed)
    rng = np.random.default_rng(5000 + seed)
    n, start = s.steps, 1
    for name in ("actor/entropy", "actor/entropy_loss"):
        _times(metrics, name, np.exp(_swings(rng, n, 0.8, 0.08)))
    _times(metrics, "actor/grad_norm", np.exp(_swings(rng, n, 0.5, 0.3)) * np.where(rng.random(n) < 0.02, rng.uniform(5, 30), 1.0))
    _times(metrics, "actor/kl_loss", np.exp(_swings(rng, n, 0.8, 0.3)))
    for name in ("actor/kl_loss", "critic/grad_norm"):
        _times(metrics, name, np.where(np.arange(n) == rng.integers(2, n), 12.0, 1.0))
    loss = metrics["actor/pg_loss"]
    loss[int(rng.integers(2, n))] = 0.45
    slow = np.where(rng.random(n) < 0.03, rng.uniform(2, 4), 1.0)
    more = (slow - 1) * _values(metrics, "timing_s/gen")
    _times(metrics, "timing_s/gen", slow)
    _times(metrics, "timing_per_token_ms/gen", slow)
    longer = 1 + more / _values(metrics, "timing_s/step")
    for name in ("timing_s/step", "perf/time_per_step"):
        _times(metrics, name, longer)
    _times(metrics, "perf/throughput", 1 / longer)
    if "perf/cpu_memory_used_gb" in metrics:
        saw = 10 * ((np.arange(n) % 40) / 40)
        metrics["perf/cpu_memory_used_gb"] = list(_values(metrics, "perf/cpu_memory_used_gb") + saw)
    kept = [name for name in metrics if rng.random() > 0.15 or name == "critic/score/mean"]
    metrics = {name: metrics[name] for name in kept}
    if seed % 3 == 0 and n > 40:
        first, last = int(rng.integers(0, n // 2)), int(rng.integers(n // 2 + 12, n))
        metrics = {name: values[first:last] for name, values in metrics.items()}
        start += first
    return run_of(metrics, style=s.style, era=s.era, config=config if seed % 3 != 1 else {}, start=start)


def _swings(rng: np.random.Generator, n: int, memory: float, size: float) -> FloatArray:
    """Noise of standard deviation ``size`` that keeps the share ``memory`` of its last value. Shape (n,)."""
    swings = np.zeros(n)
    for i, push in enumerate(rng.normal(0, size * np.sqrt(1 - memory**2), n)):
        swings[i] = push + memory * swings[i - 1] if i else push
    return swings


def _values(metrics: Metrics, name: str) -> FloatArray:
    return np.array(metrics[name], np.float64)


def _times(metrics: Metrics, name: str, factor: FloatArray) -> None:
    if name in metrics:
        metrics[name] = [None if value is None else value * float(factor[i]) for i, value in enumerate(metrics[name])]
