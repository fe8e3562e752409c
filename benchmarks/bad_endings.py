"""Made-up runs that end badly: a cause sets in, the score falls some steps later. For measuring how early a diagnosis warns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from assistant.run import Column, FloatArray, Run, Segment, Style

Curves = dict[str, FloatArray]


@dataclass(frozen=True)
class Ending:
    """``spoil`` adds what leads to the fall; ``grown`` (n,) says how far it has come, from 0 to 1, ``noise`` (n,) is around 1."""

    name: str
    right: frozenset[str]
    spoil: Callable[[Curves, FloatArray, FloatArray], None]


def _entropy(c: Curves, grown: FloatArray, noise: FloatArray) -> None:
    c["actor/entropy"] *= np.exp(2.4 * grown) * noise


def _collapse(c: Curves, grown: FloatArray, noise: FloatArray) -> None:
    c["actor/entropy"] *= np.exp(-4.5 * grown) * noise


def _kl(c: Curves, grown: FloatArray, noise: FloatArray) -> None:
    c["actor/kl_loss"] += 4 * grown**2 * noise
    c["actor/grad_norm"] *= 1 + 3 * grown


def _gradient(c: Curves, grown: FloatArray, noise: FloatArray) -> None:
    c["actor/grad_norm"] *= 1 + 60 * grown * noise**3


def _mismatch(c: Curves, grown: FloatArray, noise: FloatArray) -> None:
    c["training/rollout_probs_diff_mean"] *= (1 + 9 * grown) * noise


def _longer(c: Curves, grown: FloatArray, noise: FloatArray) -> None:
    c["response_length/mean"] *= (1 + 4 * grown) * noise
    c["response_length/clip_ratio"] += 0.7 * grown**2


def _shorter(c: Curves, grown: FloatArray, noise: FloatArray) -> None:
    c["response_length/mean"] *= (1 - 0.95 * grown) * noise


ENDINGS = (
    Ending("entropy explodes", frozenset({"entropy-explosion"}), _entropy),
    Ending("entropy collapses", frozenset({"entropy-collapse", "policy-degenerate"}), _collapse),
    Ending("KL runs away", frozenset({"kl-blowup", "kl-estimator-saturated"}), _kl),
    Ending("gradients explode", frozenset({"gradient-explosion"}), _gradient),
    Ending("rollout and training part", frozenset({"rollout-mismatch", "rollout-mismatch-drift"}), _mismatch),
    Ending("answers meet the limit", frozenset({"truncation", "length-explosion"}), _longer),
    Ending("answers shrink", frozenset({"length-collapse", "short-answer-hacking"}), _shorter),
)


def made_up_endings(seeds: int = 3, n: int = 200) -> Iterator[tuple[str, frozenset[str], Run]]:
    """Name, right findings and run of ``n`` steps, for each ending and seed: other onsets, speeds, noises and lags of the score."""
    for ending in ENDINGS:
        for seed in range(seeds):
            rng = np.random.default_rng(1000 * seed + len(ending.name))
            at = np.arange(n)
            onset, width, lag = rng.integers(n // 4, n // 2), rng.integers(15, n // 4), rng.uniform(0.3, 0.8)
            grown = np.clip((at - onset) / width, 0, 1)
            fallen = np.clip((at - onset - lag * width) / width, 0, 1)
            mean = (0.3 + 0.2 * at / n) * (1 - rng.uniform(0.6, 0.95) * fallen) + rng.normal(0, 0.015, n)
            curves: Curves = {
                "actor/entropy": rng.uniform(0.3, 0.5) * np.exp(rng.normal(0, 0.04, n)),
                "actor/kl_loss": 0.002 + 0.03 * at / n * np.exp(rng.normal(0, 0.15, n)),
                "actor/grad_norm": 0.25 * np.exp(rng.normal(0, 0.2, n)),
                "actor/pg_loss": rng.normal(0, 0.01, n),
                "critic/score/mean": mean.clip(0, 1),
                "critic/score/max": np.ones(n),
                "critic/score/min": np.zeros(n),
                "response_length/mean": 450 * np.exp(rng.normal(0, 0.04, n)),
                "response_length/clip_ratio": np.zeros(n),
                "training/rollout_probs_diff_mean": 0.003 * np.exp(rng.normal(0, 0.08, n)),
            }
            ending.spoil(curves, grown, np.exp(rng.normal(0, 0.1, n)))
            yield f"{ending.name}, {seed}", ending.right, _run(curves, n)


def _run(curves: Curves, n: int) -> Run:
    rows, steps = np.arange(n, dtype=np.int32), np.arange(1, n + 1, dtype=np.int64)
    columns = {name: Column(rows, values, np.full(n, Style.REPR, np.uint8)) for name, values in curves.items()}
    return Run(
        framework="verl",
        era="0.6",
        row_steps=steps,
        row_lines=steps,
        row_records=rows.astype(np.int64),
        columns=columns,
        segments=[Segment(0, n - 1, 1, n, 1)],
        n_lines=n,
    )
