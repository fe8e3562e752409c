"""Diagnoses for tests of the model's side, made once."""

from __future__ import annotations

from functools import cache

import numpy as np

from assistant.answers.model.settings import Endpoint
from assistant.diagnosis import Diagnosis, diagnose
from assistant.logs import read
from assistant.run import Style
from tests.answers.model.server import ChatServer
from tests.builders import run_of

CONFIG = {
    "data.train_batch_size": 1024,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 256,
    "actor_rollout_ref.actor.optim.lr": 1e-6,
    "actor_rollout_ref.actor.clip_ratio_high": 0.2,
    "actor_rollout_ref.rollout.n": 8,
}


@cache
def collapsed() -> Diagnosis:
    """Entropy falls to nothing and takes the score with it."""
    n = 200
    x = np.arange(n)
    noise = np.random.default_rng(0)
    entropy = 0.4 * np.exp(-x / 30) + 0.004
    score = np.where(x < 90, 0.2 + 0.005 * x, np.maximum(0.65 - 0.008 * (x - 90), 0.03)) + 0.004 * noise.standard_normal(n)
    run = run_of(
        {
            "actor/entropy": entropy.round(6).tolist(),
            "critic/score/mean": score.round(6).tolist(),
            "actor/grad_norm": (1.7 + 0.02 * noise.random(n)).round(6).tolist(),
            "actor/pg_loss": (0.01 * noise.standard_normal(n)).round(6).tolist(),
            "response_length/mean": (400 + 3 * x).astype(float).tolist(),
            "timing_s/step": (100 + noise.random(n)).round(3).tolist(),
            "timing_s/gen": (60 + noise.random(n)).round(3).tolist(),
        },
        config=CONFIG,
        era="0.6",
        algorithm="grpo",
        style=Style.REPR,
    )
    run.sha256 = "collapsed"
    return diagnose(run)


@cache
def healthy() -> Diagnosis:
    n = 120
    x = np.arange(n)
    noise = np.random.default_rng(1)
    run = run_of(
        {
            "actor/entropy": (0.45 - 0.0012 * x + 0.003 * noise.standard_normal(n)).round(6).tolist(),
            "critic/score/mean": (0.2 + 0.004 * x + 0.01 * noise.standard_normal(n)).round(6).tolist(),
            "actor/grad_norm": (1.7 + 0.02 * noise.random(n)).round(6).tolist(),
            "response_length/mean": (400 + 3 * noise.standard_normal(n)).round(3).tolist(),
        },
        config=CONFIG,
        era="0.6",
        algorithm="grpo",
    )
    run.sha256 = "healthy"
    return diagnose(run)


def crashed(words: str) -> Diagnosis:
    """A log that ends in a CUDA out-of-memory error with ``words`` in and after the message."""
    steps = "\n".join(
        f"step:{i} - actor/entropy:{0.4 - i * 0.001:.3f} - critic/score/mean:{0.2 + i * 0.002:.3f} - timing_s/step:90.1"
        for i in range(1, 31)
    )
    error = f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. {words}"
    return diagnose(
        read(
            f'{steps}\nTraceback (most recent call last):\n  File "/home/alice/train.py", line 3, in <module>\n{error}\n{words}\n'.encode()
        )
    )


def endpoint(server: ChatServer, **changes: object) -> Endpoint:
    given: dict[str, object] = {
        "model": "test-model",
        "base_url": server.url,
        "timeout": 10.0,
        "redact": "off",
        "window": 32_768,
        **changes,
    }
    return Endpoint(**given)  # type: ignore[arg-type]
