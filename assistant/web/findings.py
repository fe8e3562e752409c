"""One finding as HTML, in two parts: what is seen (above its plot), and what to do (below it)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assistant.cards import card
from assistant.diagnosis import Diagnosis, Finding, Quantity, render
from assistant.diagnosis.settings import observed
from assistant.messages import Language, say
from assistant.run import Run
from assistant.web.chips import Held, chip, line_link, of_quantity
from assistant.web.markup import escape, fold, inline, paragraphs
from assistant.web.overview import Mask, excerpt_line, when

SURE, FAIRLY_SURE = 0.8, 0.55


def seen(finding: Finding, number: int | None, run: Run, language: Language, mask: Mask = str) -> str:
    """Title, severity, onset, the summary in this run's numbers, and the printed values. ``mask`` is for what is quoted of the log."""
    severity = finding.severity or "medium"
    about = [
        f'<span class="severity sev-{severity}">{escape(say(f"web.severity_{severity}", language))}</span>',
        *(f"<span>{escape(part)}</span>" for part in (when(finding, run, language), confidence(finding, language)) if part),
    ]
    count = f'<span class="number" aria-hidden="true">{number}</span>' if number is not None else ""
    follows = ""
    if finding.follows:
        names = ("、" if language == "zh" else ", ").join(render.title(Finding(name), language) for name in finding.follows)
        follows = f'<p class="follows">{escape(say("web.follows", language, names=names))}</p>'
    head = f'<h3>{count}{inline(render.title(finding, language))}</h3><p class="about">{" ".join(about)}</p>'
    return (
        f'<section class="seen">{head if severity != "info" else ""}'
        f'<p class="summary">{summary(finding, language, mask)}</p>{follows}{evidence(finding, language, mask)}</section>'
    )


def summary(finding: Finding, language: Language, mask: Mask = str) -> str:
    """The finding's sentence with its numbers as chips."""
    held = Held()
    facts = {name: Held.clean(mask(quantity.text)) for name, quantity in finding.facts.items()}
    marked = {
        name: (held.put(of_quantity(quantity, language)) if _numeric(quantity) else None) or facts[name]
        for name, quantity in finding.facts.items()
    }
    return held.fill(inline(render.template(finding, language).format(**marked)))


def _numeric(quantity: Quantity) -> bool:
    """Words that a sentence quotes are no numbers."""
    return (len(quantity.text) <= 24 and any(c.isdigit() for c in quantity.text)) or quantity.text.lower() in ("nan", "inf", "-inf")


def title(finding: Finding, language: Language) -> str:
    """The title as plain text."""
    return render.title(finding, language).replace("`", "")


def line(finding: Finding, number: int, run: Run, language: Language) -> str:
    """``4. Answers hit the length limit (high, since step 12)``, as plain text."""
    about = [say(f"web.severity_{finding.severity or 'medium'}", language), when(finding, run, language)]
    opening, joint, closing = ("（", "，", "）") if language == "zh" else (" (", ", ", ")")
    return f"{number}. {title(finding, language)}{opening}{joint.join(part for part in about if part)}{closing}"


def confidence(finding: Finding, language: Language) -> str:
    if finding.severity == "info":
        return ""
    level = "high" if finding.confidence >= SURE else "medium" if finding.confidence >= FAIRLY_SURE else "low"
    return say(f"web.confidence_{level}", language)


def evidence(finding: Finding, language: Language, mask: Mask = str) -> str:
    """The printed values that carry the finding, then the lines that do."""
    parts = []
    if finding.evidence:
        heads = "".join(f"<th>{escape(say(f'web.column_{key}', language))}</th>" for key in ("metric", "step", "value", "line"))
        rows = "".join(
            f"<tr><td><code>{metric_name(p.metric)}</code></td><td>{'' if p.step is None else p.step}</td>"
            f'<td class="value">{chip(p.text, language, metric=p.metric, step=p.step, line=p.line or None)}</td>'
            f"<td>{line_link(p.line, language) if p.line else ''}</td></tr>"
            for p in finding.evidence
        )
        caption = escape(say("web.evidence", language))
        table = f'<table class="evidence"><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        parts.append(f'<div class="scroll">{table}</div>')
    if finding.excerpt:
        items = "".join(f"<li>{excerpt_line(row.line, mask(row.text), language)}</li>" for row in finding.excerpt)
        parts.append(f'<p class="label">{escape(say("web.excerpt", language))}</p><ul class="excerpt">{items}</ul>')
    return "".join(parts)


def metric_name(name: str) -> str:
    """A metric key that may break after a slash, and nowhere else."""
    return escape(name).replace("/", "/<wbr>")


def to_do(finding: Finding, run: Run, language: Language) -> str:
    """Cause, changes, and (folded) other causes, what would rule it out, the card's own text and sources."""
    causes, fixes = render.causes(finding, language), [fix for fix in render.fixes(finding, run, language) if not _is_set(fix, run)]
    parts = []
    if causes:
        parts.append(f"<h4>{escape(say('web.cause', language))}</h4><p>{inline(causes[0])}</p>")
    if fixes:
        parts.append(f'<h4>{escape(say("web.fix", language))}</h4><ol class="fixes">{"".join(_fix(f, run, language) for f in fixes)}</ol>')
        parts.append(_overrides(fixes, run.framework, language))
    if causes[1:]:
        parts.append(fold(escape(say("web.other_causes", language)), _list(causes[1:], "ol")))
    if excluded := render.rules_out(finding, language):
        parts.append(fold(escape(say("web.rules_out", language)), _list(excluded, "ul")))
    parts.append(_card(finding, language))
    return f'<section class="to-do">{"".join(parts)}</section>' if any(parts) else ""


def _fix(fix: dict[str, Any], run: Run, language: Language) -> str:
    parts = []
    if fix["key"]:
        parts.append(f'<p class="change"><code>{escape(fix["key"])}</code>{_change(fix, run, language)}</p>')
    if fix["why"]:
        parts.append(f"<p>{inline(fix['why'])}</p>")
    if fix["check"]:
        parts.append(f'<p class="check">{inline(say("web.check", language, text=fix["check"]))}</p>')
    return f"<li>{''.join(parts)}</li>"


def _is_set(fix: dict[str, Any], run: Run) -> bool:
    """The log's configuration already has the value that is advised."""
    return fix["key"] in run.config and fix["from"] == fix["to"]


def _change(fix: dict[str, Any], run: Run, language: Language) -> str:
    """``0.2 (default) → 0.28``."""
    text = ""
    if fix["from"] is not None:
        origin = say("web.in_log" if observed(run, fix["key"]) is not None else "web.by_default", language)
        text += f' <span class="from">{escape(value(fix["from"]))} <i>({escape(origin)})</i></span>'
    if fix["to"] is not None:
        arrow = "→" if text else escape(say("web.set_to", language))
        text += f' {arrow} <b class="to">{escape(value(fix["to"]))}</b>'
    return text


def value(setting: Any) -> str:
    """A setting as Hydra writes it."""
    if isinstance(setting, bool):
        return "True" if setting else "False"
    return "null" if setting is None else str(setting)


def _overrides(fixes: Sequence[dict[str, Any]], framework: str, language: Language) -> str:
    rows = [f"{fix['key']}={value(fix['to'])}" for fix in fixes if fix["key"] and isinstance(fix["to"], (int, float, bool))]
    if not rows:
        return ""
    title = say("web.as_overrides" if framework == "verl" else "web.as_settings", language)
    return fold(escape(title), f"<pre>{escape(chr(10).join(rows))}</pre>")


def _list(texts: Sequence[str], tag: str) -> str:
    return f"<{tag}>" + "".join(f"<li>{inline(text)}</li>" for text in texts) + f"</{tag}>"


def _card(finding: Finding, language: Language) -> str:
    found = card(f"findings/{finding.id}")
    body = paragraphs(found.body.get(language) or found.body.get("en") or "")
    if sources := found.front.get("sources") or ():
        items = "".join(f"<li>{escape(source)}</li>" for source in sources)
        body += f'<p class="label">{escape(say("web.sources", language))}</p><ul class="sources">{items}</ul>'
    return fold(escape(say("web.more_about", language)), body) if body else ""


def parted(diagnosis: Diagnosis) -> tuple[list[Finding], list[Finding]]:
    """Findings to act on, and those that only look odd."""
    return list(diagnosis.faults), [finding for finding in diagnosis.findings if finding.severity == "info"]
