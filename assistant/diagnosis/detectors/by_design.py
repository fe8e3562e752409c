"""What looks odd because of the algorithm, the version or a setting that has no effect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assistant.diagnosis.crash_fixes import data_parallel, samples
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, derived, printed, quoted
from assistant.diagnosis.failure import records_after
from assistant.diagnosis.finding import Finding, Quantity
from assistant.diagnosis.view import RunView
from assistant.run import SourceLine

_ACTOR = "actor_rollout_ref.actor"
WITH_CRITIC = ("gae", "ppo")
_CLIP = 0.2
"""Default of ``clip_ratio`` and, from verl 0.4 on, of its two sides."""


@detector("no-critic-by-design", needs=("score_mean",))
def no_critic_by_design(view: RunView, t: Thresholds) -> Finding | None:
    """Only where updates are printed: a line cut before the critic's metrics says nothing."""
    if view.run.framework != "verl" or not view.has("policy_loss"):
        return None
    if any(view.has(name) for name in ("value_loss", "value_mean", "explained_variance", "critic_grad_norm")):
        return None
    named = view.setting("algorithm.adv_estimator")
    if str(view.estimator or "").lower() in WITH_CRITIC or view.setting("critic.enable") is True:
        return None
    score = view["score_mean"]
    assert score is not None
    line = view.run.config_lines.get("algorithm.adv_estimator", 0)
    facts = {"estimator": quoted(str(named), line)} if named else {}
    step = score.point(-1).step
    return Finding(
        "no-critic-by-design",
        confidence=0.3,  # it is there in every such run: below whatever else is odd
        first_step=score.point(0).step,
        last_step=step,
        evidence=[score.point(-1)],
        facts=facts,
        variant="default" if named else "inferred",
    )


@detector("critic-warmup", needs=("value_loss",))
def critic_warmup(view: RunView, t: Thresholds) -> Finding | None:
    critic, actor = view["value_loss"], view["policy_loss"]
    assert critic is not None
    warmup = view.number("trainer.critic_warmup")
    last = int(critic.steps[-1])
    if actor is None or not len(actor):
        if warmup is None:
            return _without_actor(view)
        if last >= warmup:
            return None
        line = view.run.config_lines.get("trainer.critic_warmup")
        facts = {"warmup": Quantity(warmup, f"{warmup:g}", "config", "trainer.critic_warmup", line=line), "last": count(last)}
        return Finding(
            "critic-warmup", confidence=0.9, first_step=int(critic.steps[0]), last_step=last, evidence=[critic.point(-1)], facts=facts
        )
    start = int(actor.steps[0])
    if int(critic.steps[0]) >= start or warmup == 0:
        return None
    return Finding(
        "critic-warmup",
        confidence=0.8,
        first_step=int(critic.steps[0]),
        last_step=start - 1,
        evidence=[critic.point(0), actor.point(0)],
        facts={"start": count(start)},
        variant="done",
    )


def _without_actor(view: RunView) -> Finding | None:
    """Warm-up that only the metrics tell of: the critic's update is timed, the actor's is not, and no metric of the actor is printed."""
    critic = view["value_loss"]
    if critic is None or view["time_update_critic"] is None or view["time_update_actor"] is not None:
        return None
    if any(name.startswith(("actor/", "perf/mfu/actor", "mfu/actor")) for name in view.run.columns):
        return None
    first, last = int(critic.steps[0]), int(critic.steps[-1])
    return Finding(
        "critic-warmup",
        confidence=0.7,
        first_step=first,
        last_step=last,
        evidence=[critic.point(-1)],
        facts={"last": count(last)},
        variant="seen",
    )


@detector("setting-ignored")
def setting_ignored(view: RunView, t: Thresholds) -> Finding | None:
    """The first setting, in order of harm, that the resolved configuration shows to be without effect."""
    for rule in (_group_filter, _overlong_penalty, _kl_in_reward, _kl_loss, _clip_ratio):
        if found := rule(view):
            return found
    return None


def _group_filter(view: RunView) -> Finding | None:
    key = "algorithm.filter_groups.enable"
    if view.setting(key) is not True or view.era_is("<0.9") is not True or view.n_steps < 1:
        return None
    filtered = any("filter" in name or "num_gen_batches" in name for name in view.run.columns) or view.events("generation-rounds")
    return None if filtered else _ignored(view, key, variant="no_groups", cause="other-trainer", fix="dapo-trainer")


def _overlong_penalty(view: RunView) -> Finding | None:
    names = ("reward_model.overlong_buffer.enable", "reward.reward_kwargs.overlong_buffer_cfg.enable")
    key = next((name for name in names if view.setting(name) is True), None)
    manager = next(
        (name for name in ("reward.reward_manager.name", "reward_model.reward_manager") if isinstance(view.setting(name), str)), None
    )
    if key is None or manager is None or view.setting(manager) not in ("naive", "prime", "batch"):
        return None
    return _ignored(view, key, manager, cause="switch-off", fix="reward-manager")


def _kl_in_reward(view: RunView) -> Finding | None:
    key, switch = "algorithm.kl_ctrl.kl_coef", "algorithm.use_kl_in_reward"
    value = view.number(key)
    if not value or value in (0.001, 0.0001) or view.setting(switch) is not False or view.setting(f"{_ACTOR}.use_kl_loss") is True:
        return None
    return _ignored(view, key, switch, cause="switch-off", fix="kl-reward")


def _kl_loss(view: RunView) -> Finding | None:
    key, switch = f"{_ACTOR}.kl_loss_coef", f"{_ACTOR}.use_kl_loss"
    value = view.number(key)
    if not value or value == 0.001 or view.setting(switch) is not False or view.setting("algorithm.use_kl_in_reward") is True:
        return None
    return _ignored(view, key, switch, cause="switch-off", fix="kl-loss")


def _clip_ratio(view: RunView) -> Finding | None:
    """verl ≥ 0.4 sets the two sides to 0.2 and uses them; ``clip_ratio`` counts only where a side is null."""
    key, sides = f"{_ACTOR}.clip_ratio", (f"{_ACTOR}.clip_ratio_low", f"{_ACTOR}.clip_ratio_high")
    value = view.number(key)
    if value is None or value == _CLIP or not (view.era_is(">=0.4") or all(side in view.run.config for side in sides)):
        return None
    if any(view.setting(side, default=_CLIP) != _CLIP for side in sides):
        return None
    facts = {"key": _setting(view, key, name=True), "value": _setting(view, key)}
    facts["other_value"] = Quantity(_CLIP, f"{_CLIP:g}", "config", sides[1], line=view.run.config_lines.get(sides[1]))
    fixes = {"clip-low": value, "clip-high": value}
    return Finding("setting-ignored", confidence=0.7, facts=facts, variant="clip", causes=("overridden",), fixes=fixes)


def _ignored(view: RunView, key: str, other: str = "", *, variant: str = "default", cause: str, fix: str) -> Finding:
    facts = {"key": _setting(view, key, name=True), "value": _setting(view, key)}
    if other:
        facts |= {"other": _setting(view, other, name=True), "other_value": _setting(view, other)}
    return Finding("setting-ignored", confidence=0.7, facts=facts, variant=variant, causes=(cause,), fixes={fix: None})


def _setting(view: RunView, key: str, name: bool = False) -> Quantity:
    value = view.setting(key)
    number = float(value) if isinstance(value, (int, float)) else 0.0
    return Quantity(number, key if name else str(value), "config", key, line=view.run.config_lines.get(key))


@detector("all-aborted")
def all_aborted(view: RunView, t: Thresholds) -> Finding | None:
    series = view["aborted_ratio"]
    if series is not None and len(series):
        recent = series.values[-int(t.of_last) :]
        hits = np.flatnonzero(recent >= t.share)
        if not len(hits):
            return None
        index = len(series) - len(recent) + int(hits[-1])
        point = series.point(index)
        every = np.flatnonzero(series.values >= t.share)
        return Finding(
            "all-aborted",
            confidence=0.9,
            first_step=int(series.steps[every[0]]),
            last_step=point.step,
            evidence=[series.point(int(every[0])), point],
            facts={"step": count(int(series.steps[index])), "ratio": printed(point)},
        )
    for event in reversed(view.events("all-aborted")):
        line = int(event.data.get("last_line", event.line))
        if records_after(view, line) < t.of_last:
            facts = {"line": count(event.line), "message": quoted(" ".join(event.text.split())[:200], event.line)}
            excerpt = (SourceLine(event.line, event.text),)
            step = event.data.get("last_step", event.step)
            return Finding(
                "all-aborted", confidence=0.8, first_step=event.step, last_step=step, facts=facts, variant="message", excerpt=excerpt
            )
    return None


@detector("stats-artefact-by-version")
def stats_artefact_by_version(view: RunView, t: Thresholds) -> Finding | None:
    if view.run.framework != "verl" or view.run.era != "0.1":
        return None
    for canonical in ("advantage_max", "return_max", "value_max"):
        series = view[canonical]
        if series is None or not series.finite.any():
            continue
        size = np.where(series.finite, np.abs(series.values), -1.0)
        point = series.point(int(np.argmax(size)))
        facts = {"metric": quoted(series.name, point.line), "value": printed(point), "step": count(point.step or 0)}
        return Finding(
            "stats-artefact-by-version",
            confidence=0.6,
            first_step=int(series.steps[0]),
            last_step=int(series.steps[-1]),
            evidence=[point],
            facts=facts,
        )
    return None


@detector("loss-scale-by-version")
def loss_scale_by_version(view: RunView, t: Thresholds) -> Finding | None:
    """Only where the settings show that the factor is not 1, and the loss is large enough for its scale to matter."""
    rules: dict[str, tuple[str, Callable[[RunView], float | None]]] = {"0.6": ("divided", _micro_batches), "0.7": ("summed", _updates)}
    series = view["policy_loss"]
    if view.run.framework != "verl":
        return None
    if view.era_is(">=0.8,<0.9"):
        return _summed_critic(view, t)
    if view.run.era[:3] not in rules or series is None:
        return None
    if not str(view.setting(f"{_ACTOR}.strategy", default="fsdp")).startswith("fsdp"):
        return None
    variant, factor = rules[view.run.era[:3]]
    times = factor(view)
    if times is None or times <= 1:
        return None
    point = series.point(-1)
    if abs(point.value) < t.zero:
        return None
    facts = {
        "era": quoted(view.run.era, point.line),
        "metric": quoted(series.name, point.line),
        "value": printed(point),
        "step": count(point.step or 0),
        "factor": Quantity(times, f"{times:g}", formula="from the batch sizes in the config"),
    }
    return Finding(
        "loss-scale-by-version",
        confidence=0.4,
        first_step=int(series.steps[0]),
        last_step=point.step,
        evidence=[point],
        facts=facts,
        variant=variant,
    )


def _summed_critic(view: RunView, t: Thresholds) -> Finding | None:
    """verl 0.8 adds the critic's micro-batch losses up: critic/loss / critic/vf_loss is their number per mini-batch."""
    pair = view.together("critic_total_loss", "value_loss")
    if pair is None:
        return None
    total, each = pair
    usable = total.finite & each.finite & (each.values > 0)
    if not usable.any():
        return None
    times = float(np.median(total.values[usable] / each.values[usable]))
    if times < t.critic:
        return None
    point = total.point(int(np.flatnonzero(usable)[-1]))
    facts = {
        "era": quoted(view.run.era, point.line),
        "value": printed(point),
        "step": count(point.step or 0),
        "factor": derived(times, f"median of {total.name} / {each.name}"),
    }
    first, last = int(total.steps[0]), point.step
    return Finding("loss-scale-by-version", None, 0.6, first, last, [point, each.point(int(np.flatnonzero(usable)[-1]))], facts, "critic")


def _updates(view: RunView) -> float | None:
    return view.updates_per_step


def _micro_batches(view: RunView) -> float | None:
    """Micro-batches of one mini-batch on one GPU: ppo_mini_batch_size × n / ranks / micro-batch."""
    if view.setting(f"{_ACTOR}.use_dynamic_bsz") is True:
        return None
    mini, micro, ranks = (
        view.number(f"{_ACTOR}.ppo_mini_batch_size"),
        view.number(f"{_ACTOR}.ppo_micro_batch_size_per_gpu"),
        data_parallel(view),
    )
    return mini * samples(view) / ranks / micro if mini and micro and ranks else None
