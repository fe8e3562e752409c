"""What a sentence says of the log and its settings as a whole: how many problems were found, how many steps there are, how often it
validates, which algorithm it is, on how many GPUs, with how many updates a step and answers a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from assistant.answers.checking.grounds import Grounds
from assistant.answers.checking.numerals import approximate, spelled_count
from assistant.answers.checking.phrases import ADVISES, HYPOTHETICAL
from assistant.answers.checking.scope import Sentence

_FOUND = re.compile(
    r"\b(?:checks?|diagnosis|diagnostics|analysis|detectors?|runwhy|log|run) (?:found|finds?|detected|shows?|reports?|reported"
    r"|flagged|has|have)\b"
    r"[a-z ]{0,12}?(?P<en>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2}) "
    r"(?:different |separate |main |serious )?(?:problems?|faults?|findings?|issues?)\b"
    r"|\bthere (?:are|were|is) (?P<en2>two|three|four|five|six|seven|eight|nine|ten|\d{1,2}) (?:findings|faults)\b"
    r"|(?:检测|诊断|检查|日志)[^。；，]{0,8}?(?:发现|给出|报告|检出)了?\s?(?P<zh>\d{1,2}|十[一二]|[一两二三四五六七八九十])\s?(?:个|项|处|条)(?:问题|故障|异常|发现)",
    re.IGNORECASE,
)
_LOG_STEPS = re.compile(
    r"(?:\b(?:log|run|training) (?:has|had|covers?|contains?|consists? of|comprises?|spans?|lasted|ran for|is)\s*(?:only |just"
    r" |about |exactly )?[`*]*$"
    r"|(?:日志|训练|运行)(?:一?共|总共|总计|只有|仅有|包含|覆盖|跑了)+(?:有|了)?\s?[`*]*$)",
    re.IGNORECASE,
)
_EVERY = re.compile(r"(?:\bevery|每隔?)\s?[`*]*$", re.IGNORECASE)
_VALIDATES = re.compile(r"\bvalidat\w+|\bevaluat\w+|\beval\b|\btested\b|验证|评测|评估", re.IGNORECASE)
_IS_RUN = re.compile(
    r"\bthis (?:run )?(?:is|was) an? (?P<en>PPO|GRPO|DPO|SFT|RLOO|ReMax)\b|\bthis (?P<en2>PPO|GRPO|DPO|SFT|RLOO|ReMax) (?:run"
    r"|training|job|log)\b"
    r"|这(?:是一?次|是|次是|次)\s?[^。，；]{0,18}?(?P<zh>PPO|GRPO|DPO|SFT|RLOO|ReMax)\s?(?:训练|运行|日志)",
    re.IGNORECASE,
)
_N = r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,4}"
_N_ZH = r"\d{1,4}|十[一二]|[一两二三四五六七八九十]"
_UPDATES = re.compile(
    rf"\b(?P<en>{_N}) (?:optimi[sz]er |gradient |policy )?updates? (?:per|in each|in every|every|a) step\b|每一?步(?:做|有|更新)\s?"
    rf"(?P<zh>{_N_ZH})\s?次",
    re.IGNORECASE,
)
_SAMPLES = re.compile(
    rf"\b(?P<en>{_N}) (?:samples?|responses?|rollouts?|answers?|completions?) (?:per|for each|for every) (?:prompt|question)\b"
    rf"|每个?\s?(?:prompt|问题|提示|题)\s?(?:采样|生成|采)\s?(?P<zh>{_N_ZH})\s?[条个次]",
    re.IGNORECASE,
)
_CARDS = re.compile(r"^[\s`*]*(?:GPUs?\b|[张块个]\s?(?:显?卡|GPU)|卡(?![片车住]))", re.IGNORECASE)
_ALGORITHMS = {"gae": "PPO", "ppo": "PPO", "grpo": "GRPO", "dpo": "DPO", "sft": "SFT", "rloo": "RLOO", "remax": "REMAX"}


def of_log(row: Sentence, grounds: Grounds, right: set[int]) -> Iterator[tuple[int, int, str]]:
    """How many problems were found, how many steps the log has, how often it validates, which algorithm it is."""
    diagnosis, run = grounds.evidence.diagnosis, grounds.run
    for m in _FOUND.finditer(row.text):
        name = next(g for g in ("en", "en2", "zh") if m[g])
        said = spelled_count(m[name])
        serious = [f for f in diagnosis.faults if f.severity in ("critical", "high", "medium")]
        high = [f for f in diagnosis.faults if f.severity in ("critical", "high")]
        known_counts = {len(diagnosis.faults), len(serious), len(high)}
        if re.search(r"finding|发现$", m[0], re.IGNORECASE) and "fault" not in row.whole[row.start + m.end() : row.end]:
            known_counts |= {len(diagnosis.findings), len(diagnosis.findings) - len(diagnosis.faults)}
        if said not in known_counts:
            yield row.start + m.start(name), row.start + m.end(name), str(len(diagnosis.faults))
    yield from _settings(row, grounds)
    for n in row.numbers:
        lead, following = row.whole[max(row.start, n.start - 40) : n.start], row.whole[n.end : n.end + 10]
        if not (n.unit == "step" or re.match(r"[\s`*]*(?:steps?\b|iterations?\b|步)", following)):
            continue
        if _LOG_STEPS.search(lead) and not row.is_step(n) and run.columns:
            known = {len(run.steps), grounds.evidence.view.n_steps, run.last_step, run.total_steps}
            near = approximate(row.whole, n) and any(k and abs(n.value - k) <= 0.1 * k for k in known)
            if n.value not in known and not near:
                yield n.start, n.end, str(len(run.steps))
        elif _EVERY.search(lead) and _VALIDATES.search(row.text):
            known_every = _intervals(grounds)
            if n.value in known_every:
                right.add(n.start)
            elif known_every:
                yield n.start, n.end, str(min(known_every))


def kind_of_run(row: Sentence, grounds: Grounds) -> Iterator[tuple[int, int, str]]:
    """ "This is a GRPO run", "on sixteen GPUs": the algorithm and the machines, where the log shows them."""
    run = grounds.run
    for m in _IS_RUN.finditer(row.text):
        name = next(g for g in ("en", "en2", "zh") if m[g])
        if re.search(r"\b(?:if|whether|unless)\b|如果|若|是否", row.text, re.IGNORECASE):
            continue
        known_name = _ALGORITHMS.get(str(run.algorithm or "").lower())
        if known_name is not None and m[name].upper() != known_name:
            yield row.start + m.start(name), row.start + m.end(name), known_name
    if HYPOTHETICAL.search(row.plain(row.start, row.end)) or ADVISES.search(row.text):
        return
    for n in row.numbers:
        if not _CARDS.match(row.whole[n.end : n.end + 8]) or n.value != int(n.value) or n.unit:
            continue
        per_node = {v for key in run.config if key.endswith("n_gpus_per_node") for v in grounds.settings_of(key)["config"]}
        nodes = {v for key in run.config if key.endswith("nnodes") for v in grounds.settings_of(key)["config"]} | {1.0}
        known = per_node | {a * b for a in per_node for b in nodes}
        if n.value not in known and not grounds.asked(n) and (known or n.spelled):
            yield n.start, n.end, "/".join(f"{k:g}" for k in sorted(known) if k)


def _settings(row: Sentence, grounds: Grounds) -> Iterator[tuple[int, int, str]]:
    """ "four updates per step", "每个 prompt 采样 5 条": small counts that follow from the settings."""
    run = grounds.run
    if not (_UPDATES.search(row.text) or _SAMPLES.search(row.text)) or ADVISES.search(row.text):
        return

    def values(*ends: str) -> set[float]:
        keys = [key for key in run.config if key.endswith(ends) and not key.endswith("val_kwargs.n")]
        return {v for key in keys for v in grounds.settings_of(key)["config"]}

    size, mini, epochs = values("train_batch_size"), values("actor.ppo_mini_batch_size"), values("actor.ppo_epochs") or {1.0}
    updates = {a / b * e for a in size for b in mini for e in epochs if b} | {a / b for a in size for b in mini if b}
    for pattern, known in ((_UPDATES, updates), (_SAMPLES, values("rollout.n", "num_generations"))):
        for m in pattern.finditer(row.text):
            name = "en" if m["en"] else "zh"
            said = spelled_count(m[name])
            if known and said not in known:
                yield row.start + m.start(name), row.start + m.end(name), "/".join(f"{k:g}" for k in sorted(known))


def _intervals(grounds: Grounds) -> set[int]:
    """Steps between validations: as set, and as printed."""
    known = {int(v) for key in grounds.run.config if key.endswith(("test_freq", "eval_steps")) for v in grounds.settings_of(key)["config"]}
    for one in grounds.evidence.view.validations():
        gaps: Sequence[int] = [int(g) for g in np.diff(one.series.steps)]
        known |= {max(set(gaps), key=gaps.count)} if gaps else set()
    for name in _held_out(grounds):
        gaps = [int(g) for g in np.diff(grounds.series(name).steps)]  # type: ignore[union-attr]
        known |= {max(set(gaps), key=gaps.count)} if len(gaps) > 1 else set()
    return {k for k in known if k > 0}


def _held_out(grounds: Grounds) -> list[str]:
    """Keys that only evaluations print."""
    return [k for k in grounds.run.columns if re.match(r"(?:eval|val|test)[_/-]", k) and grounds.series(k) is not None][:3]
