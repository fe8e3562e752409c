"""Made-up runs with nothing wrong: every number follows from simulated answers, groups, lengths and timers.

Each seed is another set-up (batch, group size, task, length, version, printed decimals) of one of `KINDS`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assistant.run import FloatArray, Run, Style
from tests.builders import run_of

KINDS = (
    "noise around zero",
    "slow growth",
    "long chains of thought",
    "warm-up",
    "critic warming up",
    "saturating below the top",
    "small batches",
    "fast growth",
)

Metrics = dict[str, list[float | None]]


@dataclass(frozen=True)
class Setup:
    kind: str
    steps: int
    prompts: int
    group: int
    start: float  # share of right answers at first, and at the end
    end: float
    updates: int
    validate_every: int
    validation_size: int
    length: float
    length_growth: float
    limit: int
    gpus: int
    era: str
    style: Style


def setup(seed: int) -> Setup:
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    steps = int(rng.choice([40, 80, 150, 300]))
    prompts = int(rng.choice([8, 12, 16]) if kind == "small batches" else rng.choice([32, 64, 128, 256]))
    start = float(rng.uniform(0.15, 0.5))
    gain = {"slow growth": 0.08, "saturating below the top": 0.85 - start, "fast growth": 0.45, "noise around zero": 0.12}.get(kind, 0.2)
    length = float(rng.uniform(150, 600))
    growth = float(rng.uniform(2.0, 3.0)) if kind == "long chains of thought" else float(rng.uniform(0.9, 1.15))
    era, style = [("0.2", Style.FIXED3), ("0.4", Style.FIXED3), ("0.6", Style.REPR), ("0.7", Style.REPR)][int(rng.integers(4))]
    return Setup(
        kind=kind,
        steps=steps,
        prompts=prompts,
        group=1 if kind == "critic warming up" else int(rng.choice([4, 8, 16])),
        start=start,
        end=min(start + gain, 0.86),
        updates=int(rng.choice([1, 2, 4])),
        validate_every=int(rng.choice([5, 10, 20])),
        validation_size=int(rng.choice([200, 500, 1319])),
        length=length,
        length_growth=growth,
        limit=2 ** int(np.ceil(np.log2(7 * length * max(growth, 1.0)))),
        gpus=int(rng.choice([1, 4, 8, 16])),
        era=era,
        style=style,
    )


def healthy_run(seed: int) -> Run:
    metrics, config, s = healthy_metrics(seed)
    return run_of(metrics, style=s.style, era=s.era, config=config, total_steps=s.steps)


def healthy_metrics(seed: int) -> tuple[Metrics, dict[str, object], Setup]:
    """The curves of a healthy run by printed name, its settings, and what it was made from."""
    s = setup(seed)
    rng = np.random.default_rng(1000 + seed)
    course = 1 - np.exp(-3 * np.arange(s.steps) / s.steps)
    if s.kind == "saturating below the top":
        course = 1 - np.exp(-8 * np.arange(s.steps) / s.steps)
    skill = s.start + (s.end - s.start) * course / course[-1]
    batches = _batches(s, skill, course, rng)
    metrics: Metrics = {}
    _policy(metrics, s, course, batches, rng)
    _rewards(metrics, s, batches)
    if s.group == 1:
        _critic(metrics, s, batches, rng)
    _lengths(metrics, s, batches)
    _times(metrics, s, batches, rng)
    _validations(metrics, s, skill, rng)
    config = {
        "algorithm.adv_estimator": "gae" if s.group == 1 else "grpo",
        "data.train_batch_size": s.prompts,
        "data.max_response_length": s.limit,
        "actor_rollout_ref.rollout.n": s.group,
        "actor_rollout_ref.actor.ppo_mini_batch_size": max(s.prompts // s.updates, 1),
        "actor_rollout_ref.actor.use_kl_loss": s.group > 1,
        "actor_rollout_ref.actor.optim.lr": 1e-6,
        "trainer.n_gpus_per_node": s.gpus,
        "trainer.nnodes": 1,
        "trainer.test_freq": s.validate_every,
    }
    return metrics, config, s


@dataclass(frozen=True)
class Batch:
    rewards: FloatArray  # (prompts, group)
    advantages: FloatArray  # (prompts, group)
    lengths: FloatArray  # (prompts × group,)
    prompt_lengths: FloatArray


def _batches(s: Setup, skill: FloatArray, course: FloatArray, rng: np.random.Generator) -> list[Batch]:
    found = []
    for i in range(s.steps):
        odds = np.log(skill[i] / (1 - skill[i])) + rng.normal(0, 1.2, (s.prompts, 1))
        rewards = (rng.random((s.prompts, s.group)) < 1 / (1 + np.exp(-odds))).astype(np.float64)
        if s.group == 1:
            advantages = rewards - skill[i] + rng.normal(0, 0.05, rewards.shape)
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        else:
            spread = rewards.std(axis=1, ddof=1, keepdims=True)
            advantages = (rewards - rewards.mean(axis=1, keepdims=True)) / (spread + 1e-6)
        mean = s.length * (1 + (s.length_growth - 1) * course[i])
        lengths = np.minimum(np.round(rng.lognormal(np.log(mean) - 0.125, 0.5, s.prompts * s.group)), s.limit)
        found.append(Batch(rewards, advantages, np.maximum(lengths, 5), np.round(rng.normal(120, 25, s.prompts).clip(30))))
    return found


def _policy(metrics: Metrics, s: Setup, course: FloatArray, batches: list[Batch], rng: np.random.Generator) -> None:
    n = s.steps
    quiet = np.array([float((np.ptp(b.rewards, axis=1) > 0).mean()) if s.group > 1 else 1.0 for b in batches])
    norm = rng.uniform(0.1, 0.6) * np.exp(rng.normal(0, 0.15, n)) * np.sqrt(quiet) * (1 + 0.3 * (rng.random(n) < 0.01) * 20)
    first = rng.uniform(0.25, 0.5)
    lr = np.full(n, 1e-6)
    if s.kind == "warm-up":
        lr *= np.minimum(np.arange(1, n + 1) / (n // 5), 1.0)
    metrics["actor/entropy_loss" if s.era == "0.2" else "actor/entropy"] = list(first * (1 - 0.35 * course) + rng.normal(0, 0.008, n))
    metrics["actor/pg_loss"] = list(rng.normal(0, 0.004 + 0.3 / np.sqrt(s.prompts * s.group) / 10, n))
    metrics["actor/grad_norm"] = list(norm)
    metrics["actor/lr"] = list(lr)
    if s.updates == 1:
        metrics["actor/ppo_kl"] = metrics["actor/pg_clipfrac"] = metrics["actor/pg_clipfrac_lower"] = [0.0] * n
    else:
        metrics["actor/ppo_kl"] = list(rng.normal(2e-4, 3e-4, n))
        metrics["actor/pg_clipfrac"] = list(np.abs(rng.normal(0.004, 0.002, n)))
        metrics["actor/pg_clipfrac_lower"] = [0.0] * n
    if s.group > 1:
        metrics["actor/kl_loss"] = list(np.abs(0.002 + 0.06 * course * (1 + rng.normal(0, 0.15, n))) * (np.arange(n) > 0))
        metrics["actor/kl_coef"] = [0.001] * n


def _rewards(metrics: Metrics, s: Setup, batches: list[Batch]) -> None:
    for name, of in (("score", "rewards"), ("rewards", "rewards"), ("advantages", "advantages"), ("returns", "advantages")):
        values = [getattr(b, of if s.group > 1 or name != "returns" else "rewards") for b in batches]
        if name in ("advantages", "returns"):  # over tokens: longer answers weigh more
            metrics[f"critic/{name}/mean"] = [float(np.average(v.ravel(), weights=b.lengths)) for v, b in zip(values, batches, strict=True)]
        else:
            metrics[f"critic/{name}/mean"] = [float(v.mean()) for v in values]
        metrics[f"critic/{name}/max"] = [float(v.max()) for v in values]
        metrics[f"critic/{name}/min"] = [float(v.min()) for v in values]


def _critic(metrics: Metrics, s: Setup, batches: list[Batch], rng: np.random.Generator) -> None:
    n, at = s.steps, np.arange(s.steps)
    late = np.exp(-at / 8.0)
    score = np.array([b.rewards.mean() for b in batches])
    metrics["critic/values/mean"] = list(score - 1.5 * late + rng.normal(0, 0.05, n))
    metrics["critic/values/max"] = list(1.1 + 2.0 * late + np.abs(rng.normal(0, 0.1, n)))
    metrics["critic/values/min"] = list(-0.2 - 4.0 * late - np.abs(rng.normal(0, 0.1, n)))
    metrics["critic/vf_explained_var"] = list(0.45 * (1 - late) - 3.0 * late + rng.normal(0, 0.05, n))
    metrics["critic/vf_loss"] = list(0.06 + 3.0 * late * np.exp(rng.normal(0, 0.1, n)))
    metrics["critic/vf_clipfrac"] = list(0.3 * late + np.abs(rng.normal(0, 0.004, n)))
    metrics["critic/vpred_mean"] = metrics["critic/values/mean"]
    metrics["critic/grad_norm"] = list((3 + 120 * late) * np.exp(rng.normal(0, 0.25, n)))
    metrics["critic/lr"] = [1e-5] * n


def _lengths(metrics: Metrics, s: Setup, batches: list[Batch]) -> None:
    for name, rows in (("response_length", [b.lengths for b in batches]), ("prompt_length", [b.prompt_lengths for b in batches])):
        metrics[f"{name}/mean"] = [float(r.mean()) for r in rows]
        metrics[f"{name}/max"] = [float(r.max()) for r in rows]
        metrics[f"{name}/min"] = [float(r.min()) for r in rows]
        limit = s.limit if name == "response_length" else 1024
        metrics[f"{name}/clip_ratio"] = [float((r >= limit).mean()) for r in rows]


def _times(metrics: Metrics, s: Setup, batches: list[Batch], rng: np.random.Generator) -> None:
    n = s.steps
    answers = np.array([b.lengths.sum() for b in batches])
    tokens = answers + np.array([b.prompt_lengths.sum() * s.group for b in batches])
    longest = np.array([b.lengths.max() for b in batches])
    rate = rng.uniform(2000, 6000)

    def jitter(scale: float = 0.03) -> FloatArray:
        return np.exp(rng.normal(0, scale, n))

    gen = 0.7 * answers / rate * jitter() * (longest / longest.mean()) ** 0.5
    old, update = 0.12 * tokens / rate * jitter(), 0.5 * tokens / rate * jitter()
    parts = {"gen": gen, "old_log_prob": old, "adv": 0.05 * jitter(), "update_actor": update}
    if s.group > 1:
        parts["ref"] = 0.1 * tokens / rate * jitter()
    else:
        parts["values"], parts["update_critic"] = 0.1 * tokens / rate * jitter(), 0.4 * tokens / rate * jitter()
    step = np.sum(list(parts.values()), axis=0) + 0.3
    testing: list[float | None] = [
        float(0.04 * s.validate_every * step.mean() * rng.normal(1, 0.05)) if _validates(s, i) else None for i in range(n)
    ]
    if s.era < "0.6":  # validation is inside the step there
        step = step + np.array([t or 0.0 for t in testing])
    for name, values in parts.items():
        metrics[f"timing_s/{name}"] = list(values)
    metrics["timing_s/step"], metrics["timing_s/testing"] = list(step), testing
    metrics["timing_per_token_ms/gen"] = list(1000 * gen / answers)
    if s.era != "0.2":
        metrics["perf/total_num_tokens"], metrics["perf/time_per_step"] = list(tokens), list(step)
        metrics["perf/throughput"] = list(tokens / (step * s.gpus))
        metrics["perf/max_memory_allocated_gb"] = list(40 + np.maximum.accumulate(rng.normal(0, 0.3, n)))
        metrics["perf/max_memory_reserved_gb"] = list(46 + np.maximum.accumulate(rng.normal(0, 0.3, n)))
        metrics["perf/cpu_memory_used_gb"] = list(120 + 8 * (1 - np.exp(-np.arange(n) / 6)) + rng.normal(0, 0.4, n))
        metrics["perf/mfu/actor"] = list(0.32 * jitter(0.05))
    mean = tokens / s.gpus
    metrics["global_seqlen/mean"], metrics["global_seqlen/max"] = list(mean), list(mean * 1.06)
    metrics["global_seqlen/min"], metrics["global_seqlen/minmax_diff"] = list(mean * 0.95), list(mean * 0.11)
    metrics["global_seqlen/balanced_max"], metrics["global_seqlen/balanced_min"] = list(mean * 1.002), list(mean * 0.998)


def _validates(s: Setup, index: int) -> bool:
    return (index + 1) % s.validate_every == 0 or index == s.steps - 1


def _validations(metrics: Metrics, s: Setup, skill: FloatArray, rng: np.random.Generator) -> None:
    key = "val/test_score/openai/gsm8k" if s.era == "0.2" else "val-core/openai/gsm8k/reward/mean@1"
    metrics[key] = [
        float(rng.binomial(s.validation_size, min(skill[i] + 0.03, 0.99)) / s.validation_size) if _validates(s, i) else None
        for i in range(s.steps)
    ]
