"""Settings as evidence: their value in the log, what the metrics show of them, or the default that then holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import plain_value
from assistant.answers.grounding.setting_values import known_from, printed_setting
from assistant.answers.packed.prompts import labels
from assistant.config_cards import UNLISTED, default
from assistant.diagnosis import render
from assistant.diagnosis.naming import family
from assistant.diagnosis.translate import settings_of

MAIN_SETTINGS = (
    "algorithm.adv_estimator",
    "data.train_batch_size",
    "actor_rollout_ref.actor.ppo_mini_batch_size",
    "actor_rollout_ref.actor.ppo_epochs",
    "actor_rollout_ref.rollout.n",
    "actor_rollout_ref.actor.optim.lr",
    "actor_rollout_ref.actor.use_kl_loss",
    "actor_rollout_ref.actor.kl_loss_coef",
    "algorithm.use_kl_in_reward",
    "actor_rollout_ref.actor.clip_ratio_low",
    "actor_rollout_ref.actor.clip_ratio_high",
    "actor_rollout_ref.actor.entropy_coeff",
    "actor_rollout_ref.actor.loss_agg_mode",
    "data.max_prompt_length",
    "data.max_response_length",
    "actor_rollout_ref.rollout.temperature",
    "actor_rollout_ref.rollout.name",
    "trainer.total_epochs",
    "trainer.n_gpus_per_node",
    "trainer.nnodes",
)


def asked_settings(context: Context) -> list[str]:
    """Settings of the question and of the fixes of the first findings, as this framework spells them."""
    run = context.diagnosis.run
    asked = [key for name in context.question.settings for key in _own(name, context)]
    for finding in context.diagnosis.faults[:4]:
        asked += [str(fix["key"]) for fix in render.fixes(finding, run) if fix["key"]]
    return list(dict.fromkeys(asked))


def _own(key: str, context: Context) -> Iterator[str]:
    """A setting of the question; one of verl in another framework's log under that framework's name, or not at all."""
    run = context.diagnosis.run
    if key in run.config or "." not in key or family(run.framework) == "verl" or run.framework == "unknown":
        yield key
    elif own := (settings_of(run).get(key) or {}).get("key"):
        yield str(own)


def setting_row(context: Context, key: str, even_absent: bool) -> str:
    """``E7 key = value`` as the log's config has it; else, when wanted, that it is not there and what is known of it."""
    run, words = context.diagnosis.run, labels()
    if key in run.config:
        fact = context.evidence.config(key, run.config[key])
        return f"{fact.id} {key} = {fact.text[:80]}{'…' if len(fact.text) > 80 else ''}"
    if not even_absent:
        return ""
    absent = words["absent_setting"].format(key=key)
    if (point := printed_setting(context, key)) is not None:
        fact = context.evidence.point(point)
        return f"{absent} ({words['printed'].format(metric=point.metric, value=f'{fact.id}={fact.text}', step=point.step)})"
    seen = next((fix["from"] for f in context.diagnosis.findings for fix in render.fixes(f, run) if fix["key"] == key), None)
    where: Literal["config", "metrics", "default"] = "default"
    if seen is not None:
        where = known_from(run, key)
    else:
        seen = default(key, run.era)
    if seen is None or seen is UNLISTED or "${" in str(seen):
        return absent
    formula = f"default of {key}" if where == "default" else f"{key} as the metrics show it"
    context.evidence.derived(_real(seen), formula, metric=key, text=plain_value(seen))
    return f"{absent} ({words['observed' if where == 'metrics' else 'default'].format(value=plain_value(seen))})"


def change_text(context: Context, fix: dict[str, Any], finding_id: str) -> str:
    """``key now → new. `` of a fix, with what the present value rests on where no config shows it; "" for a step that is no setting."""
    key = fix["key"]
    if not key:
        return ""
    if fix["to"] is not None:
        context.evidence.derived(_real(fix["to"]), f"proposed by {finding_id}", metric=str(key), text=plain_value(fix["to"]))
    start = ""
    if fix["from"] is not None:
        where = known_from(context.diagnosis.run, str(key))
        note = "" if where == "config" else f" ({labels()['by_metrics' if where == 'metrics' else 'by_default']})"
        start = f" {plain_value(fix['from'])}{note} →"
    elif fix["to"] is not None:
        start = " →"
    return f"{key}{start}{' ' + plain_value(fix['to']) if fix['to'] is not None else ''}. "


def _real(value: Any) -> float | str:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else plain_value(value)
