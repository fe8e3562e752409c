"""A finding in words: the card's sentences with the run's own numbers, and the config keys of the run's own version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.cards import card, pick
from assistant.diagnosis.finding import Diagnosis, Finding
from assistant.diagnosis.fix_values import change
from assistant.diagnosis.settings import settings
from assistant.diagnosis.stepless import UNKNOWN, without_steps
from assistant.diagnosis.translate import of_trainer, own_fix
from assistant.diagnosis.view import era_matches
from assistant.messages import Language, has, say
from assistant.run import Note, Run, Style, json_value


def title(finding: Finding, language: Language = "en") -> str:
    return card(f"findings/{finding.id}").title(language)


def template(finding: Finding, language: Language = "en") -> str:
    """The card's sentence for this variant, placeholders unfilled."""
    says: Mapping[str, Any] = card(f"findings/{finding.id}").front.get("says") or {}
    text = pick(says.get(finding.variant) or says.get("default"), language)
    return finding.words(text) if finding.words is not None else text


def summary(finding: Finding, language: Language = "en") -> str:
    """What is seen, in this run's numbers. Raises KeyError when the card asks for a fact that the detector did not give."""
    text = template(finding, language)
    if unknown := [name for name, fact in finding.facts.items() if fact.text == UNKNOWN]:
        text = without_steps(text, unknown)
    return text.format(**{name: fact.text for name, fact in finding.facts.items()})


def causes(finding: Finding, language: Language = "en") -> list[str]:
    """Causes, most likely first."""
    rows = card(f"findings/{finding.id}").front.get("causes") or ()
    if finding.causes is not None:
        by_id = {row["id"]: row for row in rows}
        rows = [by_id[name] for name in finding.causes]
    return [own_words(finding, pick(row, language)) for row in rows]


def own_words(finding: Finding, text: str) -> str:
    """A text of a card with the metric names and settings of the framework whose log it is, without what it does not have."""
    return finding.words.advice(text) if finding.words is not None else text


def fixes(finding: Finding, run: Run, language: Language = "en") -> list[dict[str, Any]]:
    """What to change: ``{"key", "from", "to", "why", "check"}``; a key that this version lacks is left out.

    ``from`` is the value in the log's config or metrics, else the default of this version unless the metrics refute it, else None.
    ``to`` lies from there in the direction that the fix means; None when only the direction can be said. ``key`` is None for a step
    that is not a setting. A fix that has nowhere to go from the present value is left out.
    """
    rows = card(f"findings/{finding.id}").front.get("fixes") or ()
    if finding.fixes is not None:
        wanted = finding.fixes
        by_id = {row["id"]: row for row in rows}
        rows = [{**by_id[name], "to": by_id[name].get("to") if to is None else to} for name, to in wanted.items()]
    observed, era, trainer = settings(run), _era(run), of_trainer(run)
    out = []
    for generic in rows:
        key = _spelled(generic.get("key"), run, observed)
        if isinstance(generic.get("key"), Mapping) and key is None:
            continue
        row = own_fix(generic, key, run.framework, trainer)
        if row is None:
            continue
        setting = row.get("key") if key is not None or row is not generic else None
        start, to = None, by_era(row.get("to"), era, language)
        if setting is not None:
            default = by_era(row.get("default"), era)
            computed = bool(finding.fixes) and (finding.fixes or {}).get(row["id"]) is not None
            changed = change(row, key or setting, to, current=observed.get(setting), default=default, run=run, computed=computed)
            if changed is None:
                continue
            start, to = changed
        out.append(
            {
                "key": setting,
                "from": start,
                "to": to,
                "why": own_words(finding, pick(row.get("why"), language)),
                "check": _check(finding, pick(row.get("check"), language), language),
            }
        )
    return out


def _check(finding: Finding, text: str, language: Language) -> str:
    """What to watch next; the finding itself where the card names a metric that this framework does not print."""
    if finding.words is not None and finding.words.foreign(text):
        return say("diagnosis.check_gone", language)
    return own_words(finding, text)


def _spelled(key: Any, run: Run, observed: Mapping[str, Any]) -> Any:
    """The key as this version spells it; as the log's own config does, when the version is unknown."""
    own = [name for name in key.values() if name in observed] if isinstance(key, Mapping) and run.era == "unknown" else ()
    return own[-1] if own else by_era(key, _era(run))


def _era(run: Run) -> str:
    """The version, or the last one that printed three decimals where a verl log does and says nothing else of its version."""
    if run.era != "unknown" or not run.framework.startswith("verl"):
        return run.era
    return "0.4" if any(len(c.styles) and c.styles[-1] == Style.FIXED3 for c in run.columns.values()) else run.era


def rules_out(finding: Finding, language: Language = "en") -> list[str]:
    """What would show that this finding is wrong, in what this framework has."""
    rows = [row for row in card(f"findings/{finding.id}").front.get("rules_out") or () if finding.variant not in row.get("not_for", ())]
    if finding.words is not None:
        rows = [row for row in rows if "verl" not in row.get("only", ()) and not finding.words.foreign(pick(row, language))]
    return [own_words(finding, pick(row, language)) for row in rows]


def by_era(value: Any, era: str, language: Language = "en") -> Any:
    """A card's value for this version: a plain value, words in both languages, or a mapping of conditions (``">=0.8"``), of
    which the first match wins.

    With the version unknown the last entry holds (cards list the newest last).
    """
    if not isinstance(value, Mapping):
        return value
    if "en" in value:
        return pick(value, language)
    if era == "unknown":
        chosen = list(value.values())[-1] if value else None
    else:
        chosen = next((v for condition, v in value.items() if era_matches(era, condition)), None)
    return pick(chosen, language) if isinstance(chosen, Mapping) else chosen


def needs(unknown_needs: str, language: Language = "en") -> str:
    """What to log or paste so that a detector can judge."""
    if unknown_needs.startswith("steps>="):
        return say("diagnosis.needs_steps", language, n=unknown_needs[7:])
    if has(f"diagnosis.needs_{unknown_needs}"):
        return say(f"diagnosis.needs_{unknown_needs}", language)
    if "=" in unknown_needs or "/" in unknown_needs:
        return unknown_needs
    return say("diagnosis.needs_metric", language, metric=metric_title(unknown_needs, language))


def metric_title(canonical: str, language: Language = "en") -> str:
    from assistant.diagnosis.naming import metric_card

    found = metric_card(canonical)
    return card(found).title(language) if found else canonical


def era_evidence(run: Run, language: Language = "en") -> list[str]:
    """On what the version rests, a sentence a clue."""
    spans = (say(f"logs.span.{clue.data['span']}", language, **clue.data) for clue in run.era_evidence)
    return [f"{_clue(clue, language)}: {span}" for clue, span in zip(run.era_evidence, spans, strict=True)]


def algorithm_evidence(run: Run, language: Language = "en") -> str:
    """On what the advantage estimator rests; "" when it is not known."""
    return _clue(run.algorithm_evidence, language) if run.algorithm_evidence else ""


def _clue(clue: Note, language: Language) -> str:
    where = f" ({say('diagnosis.line', language, line=clue.line)})" if clue.line else ""
    return say(f"logs.{clue.kind}", language, **clue.data) + where


def log_json(run: Run) -> dict[str, Any]:
    """The ``log`` object of the contract."""
    return {
        "framework": run.framework,
        "era": run.era,
        "algorithm": run.algorithm,
        "first_step": run.first_step,
        "last_step": run.last_step,
        "n_steps": len(run.steps),
        "n_records": run.n_records,
        "n_metrics": len(run.columns),
        "n_lines": run.n_lines,
        "sha256": run.sha256,
    }


def finding_json(finding: Finding, run: Run, language: Language = "en") -> dict[str, Any]:
    return {
        "id": finding.id,
        "severity": finding.severity,
        "confidence": round(finding.confidence, 2),
        "title": title(finding, language),
        "summary": summary(finding, language),
        "first_step": finding.first_step,
        "last_step": finding.last_step,
        "evidence": [
            {"metric": p.metric, "step": p.step, "value": json_value(p.value), "text": p.text, "line": p.line} for p in finding.evidence
        ],
        "excerpt": [{"line": row.line, "text": row.text} for row in finding.excerpt],
        "causes": causes(finding, language),
        "fixes": fixes(finding, run, language),
        "rules_out": rules_out(finding, language),
        "follows": list(finding.follows),
        "card": f"findings/{finding.id}",
    }


def diagnosis_json(diagnosis: Diagnosis, language: Language = "en") -> dict[str, Any]:
    """The object that ``runwhy diagnose --json`` prints."""
    from assistant.diagnosis.story import story, story_json

    return {
        "log": log_json(diagnosis.run),
        "findings": [finding_json(f, diagnosis.run, language) for f in diagnosis.findings],
        "story": story_json(story(diagnosis)),
        "fine": list(diagnosis.fine),
        "unknown": [{"finding": u.finding, "needs": needs(u.needs, language)} for u in diagnosis.unknown],
    }
