"""Crashes: one finding for the first real error, with what to change at the place where it happened."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assistant.cards import card
from assistant.diagnosis.crash_fixes import DROP, computed, number
from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, quoted
from assistant.diagnosis.failure import Failure, failure
from assistant.diagnosis.finding import Finding, NotChecked, Quantity
from assistant.diagnosis.render import by_era
from assistant.diagnosis.view import RunView
from assistant.run import SourceLine

IDS = (
    "crash-gpu-oom",
    "crash-host-oom",
    "crash-nccl",
    "crash-engine-init",
    "crash-batch-divisibility",
    "crash-token-budget",
    "crash-prompt-too-long",
    "crash-config",
    "crash-reward-function",
    "crash-import-version",
    "crash-disk",
    "crash-cuda-kernel",
    "crash-network",
    "crash-checkpoint",
    "crash-killed",
    "crash-no-usable-groups",
    "shutdown-noise",
)
ELSEWHERE = frozenset({"hang", "non-finite", "loss-scale-collapse"})
"""Findings that other detectors report, with the error that ended the run where the metrics do not show them."""

QUOTE = 240
"""Longest quotation of the log in a sentence, in characters."""

OTHERS = 3
"""Following errors shown as excerpt."""


@detector("crash-worker-died", also=IDS)
def crash(view: RunView, t: Thresholds) -> Finding | None:
    found = failure(view)
    if found is None or found.finding in ELSEWHERE:
        return None
    if found.after_end:
        return _noise(found)
    return _finding(found, view)


def stopped_by(finding_id: str, view: RunView) -> Finding | None:
    """The error that ended the run, told as the finding that it is a sign of."""
    found = failure(view)
    return _finding(found, view) if found is not None and found.finding == finding_id and not found.after_end else None


@detector("hang")
def hang(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """Only what a watchdog or Ray says: step lines carry no time, so a silent log proves nothing."""
    found = failure(view)
    if found is not None:
        return _finding(found, view) if found.finding == "hang" and not found.after_end else None
    last_row = int(view.run.row_lines.max()) if view.run.n_rows else 0
    waiting = [event for event in view.events("ray-unschedulable") if int(event.data.get("last_line", event.line)) > last_row]
    if waiting:
        event = waiting[-1]
        facts = {"line": count(event.line), "message": quoted(_quotation(event.text), event.line)}
        excerpt = (SourceLine(event.line, event.text),)
        return Finding(
            "hang",
            severity="high",
            confidence=0.6,
            first_step=event.step,
            last_step=event.step,
            facts=facts,
            variant="resources",
            causes=("resources",),
            fixes={"ray-status": None},
            excerpt=excerpt,
        )
    return None if view.events("final-validation") else NotChecked("timestamps")


def _finding(found: Failure, view: RunView) -> Finding:
    front = card(f"findings/{found.finding}").front
    facts = _facts(found)
    variant = _variant(found, front, facts)
    causes, fixes = _choices(found, variant, front)
    return Finding(
        found.finding,
        confidence=found.confidence,
        first_step=found.step,
        last_step=found.step,
        facts=facts,
        variant=variant,
        causes=causes,
        fixes=_values(found, fixes, front, view),
        excerpt=_excerpt(found),
    )


def _noise(found: Failure) -> Finding:
    facts = {"line": count(found.line), "message": quoted(_quotation(found.root.text), found.line)}
    return Finding("shutdown-noise", confidence=0.8, first_step=found.step, last_step=found.step, facts=facts, excerpt=_excerpt(found))


# Words and numbers


def _facts(found: Failure) -> dict[str, Quantity]:
    """Line, quotation, exception type, the numbers that the card reads out of the message, and those computed from them."""
    data, line = found.root.data, found.line
    facts = {
        "line": count(line),
        "message": quoted(_quotation(found.root.text), line),
        "others": count(len(found.others), "further error lines that follow from it"),
    }
    if kind := str(data.get("type", "")):
        facts["type"] = quoted(kind.rpartition(".")[2], line)
    extract = found.error_card.front.get("extract") or {} if found.error_card else {}
    read = dict(data)
    for other in found.others:
        if other.kind == found.root.kind:  # one message printed over two lines
            read = {**other.data, **read}
    for name in extract:
        if name in read and str(read[name]):
            facts[name] = _read(str(read[name]).rstrip("."), line)
    size, divisor = number(data, "size"), number(data, "divisor")
    if size and divisor and size % divisor and size > divisor:
        facts |= {"size": Quantity(size, str(size), "run", line=line), "divisor": Quantity(divisor, str(divisor), "run", line=line)}
        below = size // divisor * divisor
        facts["below"] = Quantity(below, str(below), formula=f"largest multiple of {divisor} below {size}")
        facts["above"] = Quantity(below + divisor, str(below + divisor), formula=f"smallest multiple of {divisor} above {size}")
    if timeout := number(data, "timeout_ms"):
        facts["timeout"] = Quantity(timeout / 1000, f"{timeout / 1000:g}", formula="Timeout(ms) / 1000", line=line)
    if found.finding == "crash-config" and (full := _FULL_KEY.search(f"{found.root.text}\n{data.get('message', '')}")):
        facts["key"] = quoted(full[1], line)
    return facts


def _read(text: str, line: int) -> Quantity:
    """A value of the message: its number when it starts with one (``4.78 GiB``), else words."""
    found = re.match(r"-?\d+(?:\.\d+)?(?![\w.]*[.:]\d)", text)
    return Quantity(float(found[0]), text, "run", line=line) if found else quoted(text, line)


_FULL_KEY = re.compile(r"full_key: ([\w.]+)")

_NUMBERS = {
    "crash-host-oom": ("ray", "ray_numbers", ("used", "total")),
    "crash-nccl": ("timeout", "timeout_numbers", ("op", "seq", "timeout")),
    "crash-batch-divisibility": ("default", "numbers", ("size", "divisor", "below", "above")),
    "crash-token-budget": ("default", "numbers", ("budget", "longest")),
    "crash-prompt-too-long": ("default", "numbers", ("length", "limit")),
    "crash-config": ("key", "key_named", ("key",)),
    "crash-network": ("unreachable", "unreachable_numbers", ("seconds", "address")),
    "crash-killed": ("default", "signal", ("signal",)),
    "crash-no-usable-groups": ("default", "numbers", ("batches", "limit")),
}
"""Finding → plain variant, the variant that uses numbers, and the facts it needs."""


def _variant(found: Failure, front: Mapping[str, Any], facts: Mapping[str, Quantity]) -> str:
    says = front.get("says") or {}
    if found.finding == "crash-gpu-oom" and found.variant == "default" and found.phase in says:
        return found.phase
    if found.finding in ("crash-disk", "crash-checkpoint") and found.variant in ("default", found.phase) and found.phase in says:
        return found.phase
    if found.finding == "crash-reward-function":
        if found.variant == "data_source" and found.root.data.get("data_source") == "":
            return "data_source_empty"
        return found.variant if found.variant != "default" or "type" in facts else "not_found"
    if found.finding == "crash-killed" and _SCHEDULER.search(found.root.text):
        return "scheduler"
    plain, numbered, names = _NUMBERS.get(found.finding, ("", "", ()))
    if found.variant == plain and all(name in facts for name in names):
        return numbered
    return found.variant if found.variant in says else "default"


_SCHEDULER = re.compile(r"TIME LIMIT|PREEMPTION|CANCELLED AT")
_STAMP = re.compile(r"^(?=[^\]]{0,80}\d\d:\d\d:\d\d)[^\]]{0,100}\]\s*")


def _quotation(text: str) -> str:
    """The message on one line, cut at a word, without a progress bar or prefix glued to its front."""
    text = re.sub(r"^.*?(?:s/it|it/s)\]", "", " ".join(text.split()))
    text = _STAMP.sub("", text) or text
    if len(text) <= QUOTE:
        return text
    return text[:QUOTE].rpartition(" ")[0] + " …"


def _excerpt(found: Failure) -> tuple[SourceLine, ...]:
    rows = [SourceLine(found.line, found.root.text)]
    seen = {found.root.kind, "hydra-exit"}
    for event in found.others:
        if event.kind not in seen and len(rows) <= OTHERS:
            seen.add(event.kind)
            rows.append(SourceLine(event.line, event.text))
    return tuple(rows)


# Causes and fixes


def _choices(found: Failure, variant: str, front: Mapping[str, Any]) -> tuple[Sequence[str] | None, Sequence[str]]:
    """Cause ids (None: the card's order) and fix ids: by phase, else of the error card, else of the sentence."""
    chosen: Mapping[str, Any] = {}
    if found.finding == "crash-gpu-oom":
        chosen = (front.get("phases") or {}).get(variant) or {}
    told = found.error_card.front if found.error_card and found.error_card.front["finding"] == found.finding else {}
    if not chosen and (told.get("causes") or told.get("fixes")):
        chosen = told
    if not chosen:
        chosen = (front.get("variants") or {}).get(variant) or {}
    causes = chosen.get("causes")
    telling = (front.get("operations") or {}).get(str(found.root.data.get("op", "")).strip("_").removesuffix("_BASE"))
    if telling and causes:
        causes = [telling, *causes]
    sent = (front.get("operations") or {}).get(str(found.root.data.get("signal", "")))
    if sent:
        chosen = (front.get("variants") or {}).get(sent) or {}
        causes = [sent]
    every = [row["id"] for row in front.get("fixes") or ()]
    return causes, chosen.get("fixes") or every


def _values(found: Failure, ids: Sequence[str], front: Mapping[str, Any], view: RunView) -> dict[str, Any]:
    """Fix id → new value (None: the card's), without those that change nothing in this run.

    The cards' keys are verl's: for another framework only the advice that is no setting is given.
    """
    values = computed(found, view)
    rows = {row["id"]: row for row in front.get("fixes") or ()}
    ours = view.run.framework == "unknown" or view.run.framework.startswith("verl")
    chosen: dict[str, Any] = {}
    for name in ids:
        value = values.get(name)
        if value is DROP:
            continue
        key = by_era(rows[name].get("key"), view.run.era)
        if key is not None and not ours:
            continue
        to = by_era(rows[name].get("to"), view.run.era) if value is None else value
        now = view.setting(key, default=by_era(rows[name].get("default"), view.run.era)) if key else None
        if key is None or to is None or now != to:
            chosen[name] = value
    return chosen
