"""Questions about the run itself: version, algorithm, GPUs, batch, time left and spent, totals."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from assistant.answers.grounding.context import Context, course
from assistant.answers.grounding.evidence import code, escaped
from assistant.answers.writing import outlook
from assistant.answers.writing.duration import largest_timer
from assistant.answers.writing.problems import log_line
from assistant.answers.writing.ranges import figure
from assistant.derived import Derived, n_gpus, responses_per_step
from assistant.diagnosis import render, stats
from assistant.diagnosis.timing import step_times

GPUS = "trainer.n_gpus_per_node"
NODES = "trainer.nnodes"
BATCH = ("data.train_batch_size", "data.gen_batch_size")
GROUP = "actor_rollout_ref.rollout.n"
TEST_FREQ = "trainer.test_freq"
EPOCHS = ("trainer.total_epochs", "trainer.total_training_steps")


def version(context: Context) -> list[str]:
    run = context.diagnosis.run
    if run.framework == "unknown":
        return [context.say("run_no_framework")]
    name = escaped(run.framework)
    if run.era == "unknown":
        lead = context.say("run_version_unknown", framework=name)
    else:
        lead = context.say(
            "run_version", framework=name, era=context.evidence.derived(run.era, "version that the printed keys fit", text=run.era).text
        )
    clues = [context.evidence.note_numbers(clue, "clue to the version") for clue in render.era_evidence(run, context.language)]
    because = context.say("run_because", clues=context.joined(clues)) if clues else ""
    return [context.glue([lead, because]), context.say("run_version_note") if run.era != "unknown" else ""]


def algorithm(context: Context) -> list[str]:
    run = context.diagnosis.run
    if not run.algorithm:
        return [context.say("run_no_algorithm"), log_line(context)]
    name = escaped(run.algorithm)
    clue = render.algorithm_evidence(run, context.language)
    context.evidence.note_numbers(clue, "clue to the algorithm")
    what = {"gae": "run_is_gae", "grpo": "run_is_grpo"}.get(run.algorithm, "run_is")
    return [context.glue([context.say(what, name=name), context.say("run_because", clues=clue) if clue else ""])]


# How many


def gpus(context: Context) -> list[str]:
    """GPUs of the config (a node × nodes) and those that the throughput is divided by; never a default that the log refutes."""
    parts = []
    configured, derived = _configured_gpus(context), n_gpus(context.view)
    if derived is not None:
        parts.append(context.say("gpus_derived", n=_count(context, derived)))
    if configured is not None:
        parts.append(_gpus_of_config(context))
        if derived is not None and configured != derived.value:
            parts.append(context.say("gpus_disagree"))
    if not parts:
        parts = [context.say("gpus_unknown")]
    return [context.glue(parts)]


def _configured_gpus(context: Context) -> float | None:
    each = context.view.number(GPUS)
    nodes = context.view.number(NODES)
    return None if each is None else each * (nodes or 1)


def _gpus_of_config(context: Context) -> str:
    run = context.diagnosis.run
    each = context.evidence.config(GPUS, run.config[GPUS])
    line = run.config_lines.get(GPUS)
    where = context.say("on_line", line=context.evidence.count(line, f"line of {GPUS}").text) if line else ""
    if NODES not in run.config:
        return context.say("gpus_config_each", key=GPUS, n=each.text, where=where)
    nodes = context.evidence.config(NODES, run.config[NODES])
    total = _configured_gpus(context) or 0
    text = context.evidence.derived(total, f"{GPUS} × {NODES}", text=figure(total)).text
    return context.say("gpus_config", n=each.text, nodes=nodes.text, total=text, where=where)


def _count(context: Context, derived: Derived) -> str:
    return context.evidence.derived(derived.value, derived.formula, text=str(int(derived.value))).text


def responses(context: Context) -> list[str]:
    view, run = context.view, context.diagnosis.run
    derived = responses_per_step(view)
    batch, key = next(((view.number(k), k) for k in BATCH if view.number(k) is not None), (None, ""))
    group = view.number(GROUP)
    parts = []
    if derived is not None:
        parts.append(context.say("responses_derived", n=_count(context, derived)))
    if batch is not None and group is not None:
        total = context.evidence.derived(batch * group, f"{key} × {GROUP}", text=str(int(batch * group)))
        values = [context.evidence.config(k, run.config[k]).text for k in (key, GROUP)]
        parts.append(context.say("responses_config", key=key, name=GROUP, batch=values[0], n=values[1], total=total.text))
        if derived is not None and derived.value != batch * group:
            parts.append(context.say("responses_disagree"))
    elif batch is not None:
        parts.append(context.say("setting_is_noline", key=key, value=context.evidence.config(key, run.config[key]).text))
    elif group is not None and derived is not None:
        n = context.evidence.config(GROUP, run.config[GROUP])
        prompts = context.evidence.derived(derived.value / group, f"responses per step / {GROUP}", text=figure(derived.value / group))
        parts.append(context.say("responses_prompts", name=GROUP, n=n.text, prompts=prompts.text))
    elif derived is not None:
        parts.append(context.say("responses_group_unknown", name=GROUP))
    return [context.glue(parts) if parts else context.say("responses_unknown")]


# Time


def eta(context: Context) -> list[str]:
    run, times = context.diagnosis.run, step_times(context.view)
    last = run.last_step
    if last is None:
        return [context.say("no_values")]
    step = context.evidence.count(last, "last step of the log").text
    seconds = times.typical if times is not None else None
    if run.total_steps is None and context.view.events("final-validation"):
        return [context.say("eta_final", step=step)]
    if run.total_steps is None:
        parts = [context.say("eta_no_total", step=step)]
        if seconds is not None:
            parts.append(context.say("eta_rate", seconds=_seconds(context, seconds)))
        return [context.glue([*parts, _epochs(context)]), _stopped(context)]
    total = context.evidence.count(run.total_steps, "steps announced by the log").text
    left = run.total_steps - last
    if left <= 0 or (left == 1 and context.view.events("final-validation")):
        return [context.say("eta_done", step=step, total=total)]
    remaining = context.evidence.count(left, "announced steps − last step").text
    if seconds is None:
        return [context.say("eta_steps_only", step=step, total=total, left=remaining), _stopped(context)]
    real = _with_occasional(context, seconds)
    duration = context.evidence.derived(left * real, "steps left × mean recent seconds of a step", text=duration_text(context, left * real))
    parts = [context.say("eta", left=duration.text, steps=remaining, step=step, total=total, seconds=_seconds(context, real))]
    parts.append(context.say("eta_note"))
    return [context.glue(parts), _stopped(context)]


def _with_occasional(context: Context, typical: float) -> float:
    """Mean seconds of the recent steps, validation and checkpoints among them."""
    times = step_times(context.view)
    if times is None:
        return typical
    recent = stats.finite(times.total[-50:])
    return float(recent.mean()) if len(recent) else typical


def _stopped(context: Context) -> str:
    from assistant.answers.writing.problems import crashed

    crashes = crashed(context)
    return context.say("eta_crashed", title=context.titled(crashes[0])) if crashes else ""


def _seconds(context: Context, value: float) -> str:
    return context.evidence.derived(value, "seconds of a step", text=figure(float(f"{value:.3g}"))).text


def _epochs(context: Context) -> str:
    run = context.diagnosis.run
    for key in EPOCHS:
        if run.config.get(key) not in (None, "null"):
            value = context.evidence.config(key, run.config[key]).text
            return context.say("setting_is_noline", key=key, value=value if value.isdigit() else code(value))
    return ""


def duration_text(context: Context, seconds: float) -> str:
    """``3.2 hours`` in the unit that people would take."""
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 1.5 * size:
            return context.say(f"unit_{unit}", n=figure(float(f"{seconds / size:.3g}")))
    return context.say("unit_seconds", n=figure(float(f"{seconds:.3g}")))


def validation_every(context: Context) -> list[str]:
    """The setting, and the usual distance between the validations of the log."""
    run = context.diagnosis.run
    parts = []
    if TEST_FREQ in run.config:
        parts.append(context.say("setting_is_noline", key=TEST_FREQ, value=context.evidence.config(TEST_FREQ, run.config[TEST_FREQ]).text))
    series = context.series("validation")
    if series is None:
        return [context.glue([*parts, context.say("no_validation")])]
    steps = series.steps[series.steps > 0]
    n = context.evidence.count(len(series), f"values of {series.name}").text
    if len(steps) >= 3:
        usual = context.evidence.count(int(np.median(np.diff(steps))), f"median distance between values of {series.name}")
        parts.append(context.say("validation_every", n=n, usual=usual.text))
    else:
        parts.append(context.say("validation_few", n=n))
    return [context.glue(parts)]


def step_seconds(context: Context) -> list[str]:
    times = step_times(context.view)
    if times is None:
        return [context.say("time_none")]
    good = stats.finite(times.total)
    parts = [context.say("step_seconds", seconds=_seconds(context, times.typical))]
    mean = float(good.mean()) if len(good) else times.typical
    if abs(mean - times.typical) > 0.02 * times.typical:
        n = context.evidence.count(len(good), "steps with a time")
        parts.append(context.say("step_seconds_all", mean=_seconds(context, mean), n=n.text))
    return [context.glue([*parts, largest_timer(context)]), course(context, "time_step")]


def elapsed(context: Context) -> list[str]:
    times = step_times(context.view)
    if times is None:
        return [context.say("time_none")]
    good = stats.finite(times.total)
    total = float(good.sum())
    n = context.evidence.count(len(good), "steps with a time").text
    text = context.evidence.derived(total, "sum of the step times", text=duration_text(context, total)).text
    parts = [context.say("elapsed", n=n, total=text, seconds=_seconds(context, times.typical))]
    cards = n_gpus(context.view)
    count = cards.value if cards is not None else _configured_gpus(context)
    if count:
        hours = context.evidence.derived(
            total * count / 3600, "sum of the step times × GPUs / 3600", text=figure(float(f"{total * count / 3600:.3g}"))
        )
        shown = context.evidence.count(int(count), cards.formula if cards is not None else f"{GPUS} × {NODES}")
        parts.append(context.say("gpu_hours", n=shown.text, hours=hours.text))
    return [context.glue([*parts, context.say("elapsed_note")])]


def steps_done(context: Context) -> list[str]:
    run = context.diagnosis.run
    if run.last_step is None:
        return [log_line(context)]
    parts = [log_line(context)]
    if run.total_steps is not None:
        parts.append(context.say("steps_total", total=context.evidence.count(run.total_steps, "steps announced by the log").text))
    epoch = context.curve("epoch")
    if epoch is not None and epoch.last is not None:
        parts.append(context.say("value_is", key=epoch.series.name, value=context.at(epoch.point(epoch.last))))
    return [context.glue([*parts, _epochs(context)])]


# Totals


def total_throughput(context: Context) -> list[str]:
    view = context.view
    cards, throughput = n_gpus(view), context.curve("throughput")
    direct = context.curve("tokens_per_second_total")
    if direct is not None and direct.last is not None:
        value = stats.tail(direct.series.values)
        fact = context.evidence.derived(
            value, f"median of the last ten {direct.series.name}", metric=direct.series.name, text=figure(float(f"{value:.4g}"))
        )
        return [context.say("total_direct", key=direct.series.name, value=fact.text)]
    found = view.together("total_tokens", "time_step") or view.together("total_tokens", "seconds_per_step")
    if found is not None:
        tokens, seconds = found
        with np.errstate(divide="ignore", invalid="ignore"):
            value = stats.tail(tokens.values / seconds.values)
        formula = f"median over the last ten steps of {tokens.name} / {seconds.name}"
        fact = context.evidence.derived(value, formula, text=figure(float(f"{value:.4g}")))
        parts = [context.say("total_throughput", value=fact.text, tokens=code(tokens.name), seconds=code(seconds.name))]
        if throughput is not None and throughput.last is not None and cards is not None:
            parts.append(
                context.say(
                    "total_per_gpu",
                    key=throughput.series.name,
                    value=context.at(throughput.point(throughput.last)),
                    n=_count(context, cards),
                )
            )
        return [context.glue(parts)]
    if throughput is not None and throughput.last is not None:
        count = cards.value if cards is not None else _configured_gpus(context)
        last = context.at(throughput.point(throughput.last))
        if not count:
            return [context.say("total_no_gpus", key=throughput.series.name, value=last)]
        value = float(throughput.value(throughput.last)) * count
        fact = context.evidence.derived(value, f"{throughput.series.name} × GPUs", text=figure(float(f"{value:.4g}")))
        n = context.evidence.count(int(count), "GPUs")
        return [context.say("total_from_gpus", key=throughput.series.name, value=last, n=n.text, total=fact.text)]
    return [_tokens_from_responses(context) or context.say("total_none")]


def _tokens_from_responses(context: Context) -> str:
    """Tokens a second from the settings: responses × (prompt + response) / seconds, for versions that print no throughput."""
    view = context.view
    found = view.together("prompt_length_mean", "response_length_mean", "time_step")
    batch = next((view.number(k) for k in BATCH if view.number(k) is not None), None)
    if found is None or batch is None:
        return ""
    n = batch * (view.number(GROUP) or 1)
    prompt, response, seconds = found
    value = stats.tail(n * (prompt.values + response.values) / seconds.values)
    formula = f"{BATCH[0]} × {GROUP} × ({prompt.name} + {response.name}) / {seconds.name}, median of the last ten steps"
    fact = context.evidence.derived(value, formula, text=figure(float(f"{value:.3g}")))
    count = context.evidence.derived(n, f"{BATCH[0]} × {GROUP}", text=figure(n))
    return context.say(
        "total_from_config",
        value=fact.text,
        n=count.text,
        prompt=code(prompt.name),
        response=code(response.name),
        seconds=code(seconds.name),
    )


def total_tokens(context: Context) -> list[str]:
    series = context.series("total_tokens")
    if series is None:
        return [context.say("tokens_none")]
    good = stats.finite(series.values)
    text = context.evidence.derived(float(good.sum()), f"sum of {series.name}", metric=series.name, text=figure(float(good.sum()))).text
    n = context.evidence.count(len(good), f"values of {series.name}").text
    return [context.say("tokens_total", key=series.name, value=text, n=n)]


TOPIC_WRITERS: Mapping[str, Callable[[Context], list[str]]] = {
    "version": version,
    "algorithm": algorithm,
    "gpus": gpus,
    "responses": responses,
    "eta": eta,
    "validation_every": validation_every,
    "step_seconds": step_seconds,
    "elapsed": elapsed,
    "steps_done": steps_done,
    "total_throughput": total_throughput,
    "total_tokens": total_tokens,
    "learning": outlook.learning,
    "critic_learning": outlook.critic_learning,
    "oom": outlook.oom,
    "memory": outlook.memory,
    "grad_clip": outlook.grad_clip,
}
