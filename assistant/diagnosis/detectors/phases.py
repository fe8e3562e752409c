"""Which phase of the step takes the time, and whether it has to."""

from __future__ import annotations

import numpy as np

from assistant.diagnosis import stats
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, derived, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked, Quantity, Severity
from assistant.diagnosis.lasting import certainty, evidence, holds
from assistant.diagnosis.timing import StepTimes, step_number, step_times
from assistant.diagnosis.view import RunView
from assistant.run import FloatArray, SourceLine


def _shared(times: StepTimes, *parts: str) -> dict[str, Quantity]:
    """Facts every sentence about a phase uses: its seconds, the step's, the share."""
    names = " + ".join(p.name for p in times.parts if p.canonical in parts)
    return {
        "seconds": derived(stats.median(times.seconds(*parts)), f"median of {names}"),
        "step_seconds": derived(times.typical, "median seconds per step without validation and checkpoints"),
        "share": percent(stats.median(times.share(*parts)), f"median of ({names}) / step"),
    }


def _ends(times: StepTimes) -> tuple[int | None, int | None]:
    return step_number(times.steps, 0), step_number(times.steps, -1)


@detector("generation-bound")
def generation_bound(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    times = step_times(view)
    if times is None or times.part("time_gen") is None:
        return NotChecked("timing_s/gen")
    if view.has("async_trainer_idle"):
        return None  # there this timer is the trainer's wait: trainer-idle judges it
    if not times.measured and sum(part.parent == "step" for part in times.parts) < 2:
        return NotChecked("timing_s/step")  # what else a step does is not in this log
    share = times.share("time_gen", "time_gen_max")
    few = len(times.steps) < t.min_steps
    if few and not _slow_by_itself(times, share, t):
        return NotChecked(f"steps>={int(t.min_steps)}")
    if not (stats.median(share) >= t.share and stats.tail(share) >= t.share) or _around_engine(view, times)[1] > t.share / 2:
        return None
    first, last = _ends(times)
    points = evidence(view, [last], "time_gen", "time_step")
    return Finding("generation-bound", None, 0.6 if few else 0.8, first, last, points, _shared(times, "time_gen", "time_gen_max"))


def _slow_by_itself(times: StepTimes, share: FloatArray, t: Thresholds) -> bool:
    """Whether one or two steps are enough: past the first, and minutes of generation that dwarf everything else."""
    late = bool((times.steps > 1).all())
    return late and float(share.min()) >= t.alone_share and float(times.seconds("time_gen", "time_gen_max").min()) >= t.alone_seconds


@detector("update-bound")
def update_bound(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Most of the step is the policy update, and there is evidence that it could be faster."""
    times = step_times(view)
    if times is None or times.part("time_update_actor") is None:
        return NotChecked("timing_s/update_actor")
    if not stats.median(times.share("time_update_actor")) > t.share:
        return None
    mfu = view["mfu_actor"]
    level = stats.median(mfu.values) if mfu is not None else 0.0
    open_fixes = _update_fixes(view)
    if level >= t.mfu:
        return None
    if not level > 0 and not open_fixes:
        return None if view.run.config else NotChecked("perf/mfu/actor")
    first, last = _ends(times)
    facts = _shared(times, "time_update_actor")
    known = mfu is not None and level > 0
    if known and mfu is not None:
        facts["mfu"] = percent(level, f"median of {mfu.name}", metric=mfu.name)
    points = evidence(view, [last], "time_update_actor", "time_step", *(("mfu_actor",) if known else ()))
    return Finding(
        "update-bound",
        None,
        0.8 if known and open_fixes else 0.7,
        first,
        last,
        points,
        facts,
        "low-mfu" if known else "default",
        fixes=open_fixes or None,
    )


def _update_fixes(view: RunView) -> dict[str, object]:
    """Fixes of the card that the log's config leaves open."""
    wanted: dict[str, tuple[str, object]] = {
        "remove-padding": ("actor_rollout_ref.model.use_remove_padding", False),
        "dynamic-batch": ("actor_rollout_ref.actor.use_dynamic_bsz", False),
        "param-offload": ("actor_rollout_ref.actor.fsdp_config.param_offload", True),
        "optimizer-offload": ("actor_rollout_ref.actor.fsdp_config.optimizer_offload", True),
        "micro-batch": ("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", 1),
    }
    return {name: None for name, (key, slow) in wanted.items() if view.setting(key) == slow}


@detector("padding-waste", needs=("response_length_mean",))
def padding_waste(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Sequences much shorter than the padded width, and padding not removed."""
    width = [view.number("data.max_prompt_length"), view.number("data.max_response_length")]
    if width[0] is None or width[1] is None:
        return NotChecked("data.max_prompt_length=, data.max_response_length=")
    key = "actor_rollout_ref.model.use_remove_padding"
    off = view.setting(key)
    times = step_times(view)
    answers, prompts = view["response_length_mean"], view["prompt_length_mean"]
    if off is None:
        return NotChecked(f"{key}=")
    if off is not False or answers is None or prompts is None or times is None:
        return None
    used = stats.median(answers.values) + stats.median(prompts.values)
    passes = times.share("time_update_actor", "time_update_critic", "time_old_log_prob", "time_ref", "time_values")
    if not used / (width[0] + width[1]) < t.used or not stats.median(passes) > t.share:
        return None
    first, last = _ends(times)
    facts = {
        "used": derived(used, f"median of {prompts.name} + median of {answers.name}"),
        "width": derived(width[0] + width[1], "data.max_prompt_length + data.max_response_length"),
        "filled": percent(used / (width[0] + width[1]), "mean tokens per sequence / padded width"),
        "share": percent(stats.median(passes), "update and log-probability passes / step"),
    }
    return Finding("padding-waste", None, 0.85, first, last, [answers.point(-1), prompts.point(-1)], facts)


@detector("logprob-heavy")
def logprob_heavy(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    times = step_times(view)
    passes = ("time_old_log_prob", "time_ref")
    if times is None or not any(times.part(name) for name in passes):
        return NotChecked("timing_s/old_log_prob")
    if not stats.median(times.share(*passes)) > t.share:
        return None
    first, last = _ends(times)
    old, ref = stats.median(times.seconds("time_old_log_prob")), stats.median(times.seconds("time_ref"))
    facts = _shared(times, *passes)
    facts |= {"old": derived(old, "median of timing_s/old_log_prob"), "ref": derived(ref, "median of timing_s/ref")}
    variant, causes, fixes = "default", None, None
    if old > 0 and ref > t.uneven * old:
        variant, causes = "reference", ["reference-slow", "reference-bigger", "micro-batch"]
        facts["times"] = derived(ref / old, "median of timing_s/ref / median of timing_s/old_log_prob")
        fixes = {"ref-offload": None, "ref-micro-batch": None}
    points = evidence(view, [last], *passes, "time_step")
    return Finding("logprob-heavy", None, certainty(len(times.steps)), first, last, points, facts, variant, causes, fixes)


def _around_engine(view: RunView, times: StepTimes) -> tuple[FloatArray, float]:
    """Seconds of ``gen`` in which the engine does not generate, shape (n,), and their median share of the step."""
    engine = times.seconds("time_generate_sequences")
    slowest = view["generation_timing_max"]
    if not engine.any():
        return np.zeros(len(times.steps)), 0.0
    if slowest is not None:
        engine = np.maximum(engine, stats.median(slowest.values))
    around = np.maximum(times.seconds("time_gen") - engine, 0.0)
    return around, stats.median(around / np.maximum(times.net, 1e-9)) if times.measured else 0.0


@detector("weight-sync-heavy")
def weight_sync_heavy(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Moving weights to the engine (or waking it up) takes a large part of the step."""
    times = step_times(view)
    if times is None or not times.measured:
        return NotChecked("timing_s/step")
    parts = ("time_reshard", "time_update_weights")
    if not any(times.part(name) for name in (*parts, "time_generate_sequences")):
        return NotChecked("timing_s/update_weights")
    if len(times.steps) < t.min_steps:
        return NotChecked(f"steps>={int(t.min_steps)}")
    first, last = _ends(times)
    if stats.median(times.share(*parts)) > t.share:
        points = evidence(view, [last], *parts, "time_step")
        return Finding("weight-sync-heavy", None, 0.8, first, last, points, _shared(times, *parts))
    around, share = _around_engine(view, times)
    if not share > t.around:
        return None
    facts = {
        "around": derived(stats.median(around), "median of timing_s/gen − timing_s/generate_sequences"),
        "engine": derived(stats.median(times.seconds("time_generate_sequences")), "median of timing_s/generate_sequences"),
        "step_seconds": derived(times.typical, "median seconds per step without validation and checkpoints"),
        "share": percent(share, "median of (timing_s/gen − timing_s/generate_sequences) / step"),
    }
    points = evidence(view, [last], "time_gen", "time_generate_sequences", "time_step")
    return Finding("weight-sync-heavy", "low", 0.75, first, last, points, facts, "around-engine")


@detector("dataloader-stall")
def dataloader_stall(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """In the v1 trainer, fetching prompts is part of the step but of no timer: the unexplained rest."""
    times = step_times(view)
    v1 = view.has("staleness_mean") or any(name.startswith("training/num_turns/") for name in view.run.columns)
    if times is None or not times.measured or not v1 or view.era_is("<0.9"):
        return NotChecked("progress_bar")
    if len(times.steps) < t.min_steps or times.part("time_gen") is None or times.part("time_update_actor") is None:
        return NotChecked(f"steps>={int(t.min_steps)}")
    with np.errstate(all="ignore"):
        share = np.where(times.net > 0, times.residual / times.net, np.nan)
    at = holds(share > t.share, 3, 5)
    if at is None:
        return None
    facts = {
        "rest": derived(stats.median(times.residual[at.start :]), "timing_s/step − all named timers"),
        "step_seconds": derived(times.typical, "median seconds per step without validation and checkpoints"),
        "share": percent(stats.median(share[at.start :]), "(timing_s/step − all named timers) / timing_s/step"),
    }
    first, last = step_number(times.steps, at.start), step_number(times.steps, at.end)
    return Finding("dataloader-stall", None, 0.6, first, last, evidence(view, [last], "time_step", "time_gen"), facts)


@detector("checkpoint-stall")
def checkpoint_stall(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    return _occasional(view, t, "time_save_checkpoint", "checkpoint-stall")


@detector("validation-costly")
def validation_costly(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    return _occasional(view, t, "time_testing", "validation-costly")


def _occasional(view: RunView, t: Thresholds, name: str, finding: str) -> Finding | NotChecked | None:
    """Validation or checkpoints that take a large share of all the time, seen at least twice."""
    times, series = step_times(view), view[name]
    if times is None or series is None:
        return NotChecked("timing_s/testing" if name == "time_testing" else "timing_s/save_checkpoint")
    series = series.take(series.finite & (series.steps >= times.steps[0]))
    series = series.take(series.values > 0)
    if len(series) < t.min_times:
        return None
    spent, trained = float(series.values.sum()), float(times.net.sum())
    if not spent / (spent + trained) > t.share:
        return None
    facts = {
        "seconds": derived(stats.median(series.values), f"median of {series.name}", metric=series.name),
        "every": count(int(np.median(np.diff(series.steps))), f"median distance of the steps with {series.name}"),
        "step_seconds": derived(times.typical, "median seconds per step without validation and checkpoints"),
        "share": percent(spent / (spent + trained), f"sum of {series.name} / (that sum + all steps)"),
    }
    return Finding(finding, None, 0.85, int(series.steps[0]), int(series.steps[-1]), [series.point(0), series.point(-1)], facts, fixes=None)


@detector("reward-slow")
def reward_slow(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """The reward takes a large part of the step: in its own timer, inside ``adv``, or inside generation."""
    times = step_times(view)
    if times is None or not (view.has("time_reward") or view.has("time_adv") or view.has("agent_score_max")):
        return NotChecked("timing_s/reward")
    first, last = _ends(times)
    if not times.measured and times.part("time_gen") is None:
        return _slow_without_step(view, t, times)
    for name, variant in (("time_reward", "default"), ("time_adv", "advantage")):
        share = times.share(name)
        at = holds(share > t.share, 3, 5)
        if at is None or (name == "time_adv" and _adv_is_something_else(times)):
            continue
        level = stats.median(share[at.start :])
        severity: Severity = "high" if level > t.severe else "medium"
        since = step_number(times.steps, at.start)
        points = evidence(view, [step_number(times.steps, at.end)], name, "time_step")
        n = at.end - at.start + 1
        return Finding("reward-slow", severity, certainty(n, 0.9), since, last, points, _shared(times, name), variant)
    score, gen = view["agent_score_max"], times.seconds("time_gen")
    if score is not None and stats.median(score.values) > t.inside * stats.median(gen) > 0:
        facts = {
            "seconds": derived(stats.median(score.values), f"median of {score.name}", metric=score.name),
            "gen": derived(stats.median(gen), "median of timing_s/gen"),
        }
        points = evidence(view, [last], "agent_score_max", "time_gen")
        return Finding("reward-slow", None, 0.7, first, last, points, facts, "in-generation")
    return None


def _adv_is_something_else(times: StepTimes) -> bool:
    """The reward has a timer of its own that shows it, or ``adv`` holds the log-probability passes (rLLM)."""
    return stats.median(times.seconds("time_reward")) > 0.05 * times.typical or any(p.parent == "adv" for p in times.parts)


def _slow_without_step(view: RunView, t: Thresholds, times: StepTimes) -> Finding | None:
    """A paste of a single timer: minutes in ``reward`` or ``adv`` need no step to compare with."""
    for name, variant in (("time_reward", "alone"), ("time_adv", "advantage-alone")):
        series = view[name]
        if series is not None and stats.median(series.values) > t.seconds:
            facts = {"seconds": printed(series.point(-1)), "minutes": derived(series.values[-1] / 60, f"{series.name} / 60")}
            step = series.point(-1).step
            return Finding("reward-slow", "high", 0.8, step, step, [series.point(-1)], facts, variant)
    return None


@detector("tool-latency", needs=("agent_tool_max", "time_gen"))
def tool_latency(view: RunView, t: Thresholds) -> Finding | None:
    """Agents wait for their tools or environment: the slowest sample's tool calls fill most of generation."""
    both = view.together("agent_tool_max", "time_gen")
    if both is None:
        return None
    tool, gen = both
    with np.errstate(all="ignore"):
        ratio = np.where(gen.values > 0, tool.values / gen.values, np.nan)
    at = holds(ratio > t.share, 7, 10)
    slowest, thinking = view.printed(_SLOWEST + "tool_calls"), view.printed(_SLOWEST + "generate_sequences")
    if at is None or not stats.tail(ratio) > t.share:
        return None
    if slowest is not None and thinking is not None and stats.median(slowest.values) < stats.median(thinking.values):
        return None  # the sample that ends last is held up by generating, not by tools
    tail = slice(max(at.start, at.end - 9), at.end + 1)
    facts = {
        "tool": derived(stats.median(tool.values[tail]), f"median of {tool.name}, last steps", metric=tool.name),
        "gen": derived(stats.median(gen.values[tail]), f"median of {gen.name}, last steps", metric=gen.name),
        "share": percent(stats.median(ratio[tail]), f"median of {tool.name} / {gen.name}, last steps"),
        "first_tool": printed(tool.point(0)),
    }
    first, last = step_number(tool.steps, at.start), step_number(tool.steps, at.end)
    points = [tool.point(0), tool.point(at.end), gen.point(at.end)]
    return Finding("tool-latency", None, certainty(at.end - at.start + 1), first, last, points, facts)


_SLOWEST = "timing_s/agent_loop/slowest/"


@detector("kv-preemption")
def kv_preemption(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Requests thrown out of the KV cache and computed again; −1 means that the engine does not say."""
    for event in view.events("kv-preempted"):
        if (times := int(event.data.get("repeats", 1))) >= t.messages:
            facts: dict[str, Quantity] = {"times": count(times, "messages"), "line": count(event.line)}
            excerpt = (SourceLine(event.line, event.text),)
            last = event.data.get("last_step", event.step)
            return Finding("kv-preemption", None, 0.8, event.step, last, (), facts, variant="engine", excerpt=excerpt)
    series = view["agent_preempted_mean"]
    if series is None:
        return NotChecked("agent_preempted_mean")
    at = holds(series.values > t.level, 3, 5)
    if at is None:
        return None
    facts = {"mean": printed(series.point(at.end)), "step": count(int(series.steps[at.end])), "since": count(int(series.steps[at.start]))}
    top = view["agent_preempted_max"]
    points = [series.point(at.start), series.point(at.end), *([top.point(-1)] if top is not None else [])]
    return Finding("kv-preemption", None, 0.85, int(series.steps[at.start]), int(series.steps[at.end]), points, facts)


@detector("straggler", needs=("generation_timing_max", "generation_timing_min"), min_points=5)
def straggler(view: RunView, t: Thresholds) -> Finding | None:
    """One rank generates much longer than the fastest, step after step."""
    both = view.together("generation_timing_max", "generation_timing_min")
    times = step_times(view)
    if both is None:
        return None
    slow, fast = both
    gap = slow.values - fast.values
    wide = (slow.values > t.ratio * fast.values) & (gap > t.share * (times.typical if times is not None else 0.0))
    at = holds(wide, 7, 10)
    if at is None:
        return None
    facts = {
        "slow": derived(stats.median(slow.values[at.start :]), f"median of {slow.name}", metric=slow.name),
        "fast": derived(stats.median(fast.values[at.start :]), f"median of {fast.name}", metric=fast.name),
        "since": count(int(slow.steps[at.start])),
    }
    points = [slow.point(at.end), fast.point(at.end)]
    return Finding("straggler", None, 0.7, int(slow.steps[at.start]), int(slow.steps[at.end]), points, facts)


@detector("sequence-imbalance", needs=("seqlen_max", "seqlen_min"))
def sequence_imbalance(view: RunView, t: Thresholds) -> Finding | None:
    """Ranks get very different numbers of tokens, and wait for the largest share."""
    both = view.together("seqlen_balanced_max", "seqlen_balanced_min")
    variant, limit = ("default", t.balanced) if both else ("unbalanced", t.raw)
    both = both or view.together("seqlen_max", "seqlen_min")
    if both is None:
        return None
    most, least = both
    with np.errstate(all="ignore"):
        ratio = np.where(least.values > 0, most.values / least.values, np.inf)
    at = holds(ratio > limit, 7, 10)
    if at is None:
        return None
    level = stats.median(ratio[at.start : at.end + 1])
    facts = {
        "most": printed(most.point(at.end)),
        "least": printed(least.point(at.end)),
        "step": count(int(most.steps[at.end])),
        "ratio": derived(level, f"median of {most.name} / {least.name}"),
    }
    points = [most.point(at.end), least.point(at.end)]
    first, last = step_number(most.steps, at.start), step_number(most.steps, at.end)
    return Finding("sequence-imbalance", None, certainty(at.end - at.start + 1, 0.8), first, last, points, facts, variant)
