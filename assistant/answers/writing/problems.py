"""Answers about findings: one that the question names, a crash, what to change, and the whole run."""

from __future__ import annotations

import re
from collections import Counter

from assistant.answers.grounding.context import BUDGET, Context, causes, course, ended, fix_lines, harmless, words_of
from assistant.answers.grounding.evidence import escaped, shortened
from assistant.answers.understanding.words import BARE_WHY
from assistant.cards import card
from assistant.diagnosis import render
from assistant.diagnosis.detector import registered
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.naming import family, first_names
from assistant.diagnosis.order import stops
from assistant.diagnosis.story import dated, story
from assistant.diagnosis.translate import ELSEWHERE, words
from assistant.lexicon import known_metrics

FEW_STEPS = 10
_WILL = re.compile(r"\b(?:will|going to|gonna|about to)\b|会不会|什么时候会|快要|会崩|会挂", re.IGNORECASE)
KEY_METRICS = (
    "score_mean",
    "validation",
    "policy_entropy",
    "response_length_mean",
    "policy_grad_norm",
    "reference_kl",
    "train_loss",
    "val_loss",
    "time_step",
)


def finding(context: Context) -> list[str]:
    """The findings that the question names or describes: shown in this log, checked and fine, or not to be told."""
    by_id = {f.id: f for f in context.diagnosis.findings}
    names = sorted(context.question.findings, key=lambda name: name not in by_id)
    present = [by_id[name] for name in names if name in by_id]
    if not present and names[0].startswith(("crash", "hang")) and crashed(context):
        return crash(context)
    if not present:
        near = _kin(context, names[0])
        return told(context, near) if near is not None else _not_present(context, names[0])
    if context.question.follow_up and all(f.severity == "info" for f in present) and BARE_WHY.search(context.question.text.lower()):
        return top_why(context)
    order = context.question.findings if context.question.follow_up else [f.id for f in context.diagnosis.findings]
    lead = min(present, key=lambda f: (f.severity == "info", list(order).index(f.id)))
    return told(context, lead)


def _kin(context: Context, name: str) -> Finding | None:
    """The grave fault of this log that is what the question means, when the finding itself could not be checked: the cards name each
    other, and both rest on one metric ("entropy collapse" of a log too short to show a fall)."""
    unread = any(u.finding == name for u in context.diagnosis.unknown)
    if not unread and name not in context.diagnosis.fine:
        return None
    detectors, listed = registered(), set(card(f"findings/{name}").front.get("related") or ())
    own = set(detectors[name].needs[:1]) if name in detectors else set()
    for other in context.diagnosis.faults:
        theirs = detectors[other.id].needs[:1] if other.id in detectors else ()
        linked = f"findings/{other.id}" in listed or f"findings/{name}" in (card(f"findings/{other.id}").front.get("related") or ())
        shared = (not own or not theirs or own & set(theirs)) if unread else (own and theirs and own == set(theirs))
        if linked and shared and other.severity in ("critical", "high"):
            return other
    return None


def top_why(context: Context) -> list[str]:
    """A bare "why?": the reason of the first finding; of a healthy run its state."""
    faults = context.diagnosis.faults
    if faults:
        return told(context, faults[0])
    if not context.question.earlier or not context.diagnosis.fine:
        return overview(context)
    infos = [f for f in context.diagnosis.findings if f.severity == "info" and not harmless(f)]
    lead = context.say("nothing_to_explain", n=_n(context, len(context.diagnosis.fine), "checks that ran and passed"))
    return [lead, *(context.evidence.summary(f) for f in infos[:3])]


def told(context: Context, lead: Finding) -> list[str]:
    """One finding in full: verdict, what is seen, why, what to do, what would speak against it."""
    key = "harmless" if harmless(lead) else "info" if lead.severity == "info" else "fault_low" if lead.severity == "low" else "fault"
    parts = [context.say(key, title=context.titled(lead), since="" if lead.severity == "info" else context.since(lead))]
    parts.append(context.evidence.summary(lead))
    if harmless(lead):
        return parts
    if reasons := reasons_of(context, lead):
        parts.append(context.say("label_why") + reasons)
    parts.append(to_do(context, root(context, lead)))
    against = render.rules_out(lead, context.language)
    if against and lead.severity != "info" and words_of(parts) < BUDGET - 40:
        parts.append(context.say("label_rules_out") + ended(shortened(against[0], 40, context.language), context))
    return parts


def root(context: Context, finding: Finding) -> Finding:
    """The finding of this run from which ``finding`` follows, or itself: what is done is done about the cause.

    A crash has its own remedy: what led to it is told beside it.
    """
    if stops(finding):
        return finding
    return next((f for f in context.diagnosis.findings if f.id in finding.follows), finding)


def reasons_of(context: Context, finding: Finding) -> str:
    """Why: the earlier finding that explains this one, in its own numbers, else the card's causes."""
    cause = root(context, finding)
    if cause is finding:
        return causes(context, finding)
    told_already = context.mentioned(cause)
    lead = context.say("follows", titles=context.titled(cause) + context.since(cause))
    return context.glue([lead, "" if told_already else context.evidence.summary(cause)])


def to_do(context: Context, lead: Finding, most: int = 2) -> str:
    lines = fix_lines(context, lead, most)
    if not lines:
        return context.say("label_do") + context.say("nothing_to_do") if lead.severity == "info" else ""
    return context.say("label_do") + ("\n".join(["", *(f"- {line}" for line in lines)]) if len(lines) > 1 else lines[0])


def _not_present(context: Context, name: str) -> list[str]:
    """A finding that this log does not show; what its card says is marked as general."""
    found = context.evidence.cite(f"findings/{name}")
    title = found.title(context.language) if found else name
    unknown = next((u for u in context.diagnosis.unknown if u.finding == name), None)
    if name.startswith("crash") or name == "hang":
        parts = [no_crash(context)]
    elif unknown is not None:
        parts = [context.say("finding_unknown", title=title, needs=needs(context, unknown.needs))]
    else:
        parts = [context.say("finding_fine" if name in context.diagnosis.fine else "finding_unseen", title=title)]
    if context.question.intents & {"why", "change"} and unknown is None and (near := _instead(context, name)) is not None:
        return [*parts, *told(context, near)]
    detector = registered().get(name)
    if detector and detector.needs and (text := course(context, detector.needs[0])):
        parts.append(context.say("label_values") + text)
    if found and (body := found.body.get(context.language, "")):
        parts.append(context.say("label_general") + shortened(body.split("\n\n")[0], 70, context.language))
    if name.startswith("crash") and context.diagnosis.faults:
        parts.insert(1, context.say("in_this_log") + verdict_on_run(context))
    if found and found.front.get("causes") and name not in context.diagnosis.fine:
        rows = [row.get(context.language) or row.get("en", "") for row in found.front["causes"]][:3]
        parts.append(context.say("usual_causes", causes=context.joined(rows)))
    return parts


def _instead(context: Context, name: str) -> Finding | None:
    """The grave fault that this log does show when it does not show the one asked about: one that the cards relate, else the first."""
    grave = [f for f in context.diagnosis.faults if f.severity in ("critical", "high")]
    mine = set(card(f"findings/{name}").front.get("related") or ())
    linked = (f for f in grave if f"findings/{f.id}" in mine or f"findings/{name}" in (card(f"findings/{f.id}").front.get("related") or ()))
    return next(linked, None) or next(iter(grave), None)


def needs(context: Context, what: str) -> str:
    """What to log, as words; a config assignment in code."""
    text = needed(context, what) or context.say("needs_elsewhere")
    context.evidence.note_numbers(text, "what the check needs")
    return f"`{text}`" if ("=" in text and " " not in text) or " --" in text else text


def needed(context: Context, what: str) -> str:
    """``needs`` in plain text, by this log's own names; "" where it is something that this framework does not have."""
    if what == ELSEWHERE:
        return ""
    text = render.needs(what, context.language)
    if what in known_metrics():
        run = context.diagnosis.run
        key = first_names("verl" if run.framework == "unknown" else run.framework).get(what)
        text = key or ("" if family(run.framework) != "verl" and run.framework != "unknown" else text)
    own = words(context.view)
    return text if own is None else "" if own.foreign(text) else own(text)


def crash(context: Context) -> list[str]:
    """Why the job stopped: the first crash finding, else that none is recorded."""
    crashes = crashed(context) or [f for f in context.diagnosis.faults if f.id == "non-finite"]
    if crashes:
        return told(context, crashes[0])
    grave = next((f for f in context.diagnosis.faults if f.severity in ("critical", "high") and "memory" in f.id), None)
    if grave is not None and _WILL.search(context.question.text):
        lead_text = context.say("crash_when", title=context.titled(grave), since=context.since(grave))
        return [lead_text, context.evidence.summary(grave), to_do(context, root(context, grave), 1)]
    parts = [no_crash(context)]
    if incomplete := next((f for f in context.diagnosis.findings if f.id == "log-incomplete"), None):
        parts.append(context.evidence.summary(incomplete))
    parts.append(context.say("no_crash_hint"))
    return parts


def crashed(context: Context) -> list[Finding]:
    """The findings of this run that say why the job stopped."""
    return [f for f in context.diagnosis.faults if f.id.startswith("crash") or f.id in ("hang", "all-aborted")]


def no_crash(context: Context) -> str:
    last = context.diagnosis.run.last_step
    lead = context.say("no_crash")
    if last is None:
        return lead
    return context.glue([lead, context.say("no_crash_last", step=context.evidence.count(last, "last step of the log").text)])


def verdict_on_run(context: Context) -> str:
    """One sentence on a run that has findings above ``info``: how many, and the first to act on."""
    faults = context.diagnosis.faults
    lead = faults[0]
    key = "problem_one" if len(faults) == 1 else "problems"
    if all(f.severity == "low" for f in faults):
        key = "only_low"
    return context.say(key, n=_n(context, len(faults), "findings above info"), title=context.titled(lead), since=context.since(lead))


def change(context: Context) -> list[str]:
    """What to change in this run: the fixes of the first findings."""
    faults = list(context.diagnosis.faults)
    if not faults:
        return [context.say("nothing_change"), *_healthy_tail(context)]
    lead = faults[0]
    parts = [verdict_on_run(context)]
    parts.append(context.evidence.summary(lead))
    parts.append(to_do(context, lead, 3))
    for other in faults[1:3]:
        if not set(other.follows) & {f.id for f in faults} and words_of(parts) < BUDGET - 40 and (lines := fix_lines(context, other, 1)):
            parts.append(
                f"**{context.titled(other)}.** {lines[0]}" if context.language == "en" else f"**{context.titled(other)}：**{lines[0]}"
            )
    return parts


def overview(context: Context) -> list[str]:
    """The run as a whole: verdict, first finding with its remedy, the others by name, what cannot be told."""
    faults = list(context.diagnosis.faults)
    parts = []
    if not faults:
        parts.append(_healthy(context))
        parts.append(log_line(context))
        parts.extend(_healthy_tail(context))
    else:
        lead = faults[0]
        parts.append(verdict_on_run(context))
        parts.append(context.evidence.summary(lead))
        if reasons := causes(context, lead, 2):
            parts.append(context.say("label_why") + reasons)
        parts.append(to_do(context, lead, 2))
        found = story(context.diagnosis)
        if found is not None:
            dates = [context.titled(f) + (context.since(f) if later else "") for f, later in dated(found.chain)]
            parts.append(context.say("story", chain=" → ".join(dates)))
        if others := [f for f in faults[1:] if found is None or f not in found.chain]:
            parts.append(context.say("then", titles=context.joined([context.titled(f) + context.since(f) for f in others[:3]])))
        parts.append(log_line(context))
    infos = [f for f in context.diagnosis.findings if f.severity == "info" and not harmless(f)]
    if infos and words_of(parts) < BUDGET:
        parts.append(context.say("looks_odd", titles=context.joined([context.titled(f) for f in infos[:3]])))
    if not faults and context.diagnosis.unknown and words_of(parts) < BUDGET:
        parts.append(_cannot_tell(context))
    return parts


def _healthy(context: Context) -> str:
    n = len(context.diagnosis.fine)
    steps = context.view.n_steps
    if not n:
        return context.say("no_checks")
    if steps < FEW_STEPS:
        return context.say("healthy_short", n=_n(context, steps, "steps with training metrics"))
    return context.say("healthy", n=_n(context, n, "checks that ran and passed"))


def _healthy_tail(context: Context) -> list[str]:
    rows = [course(context, metric, short=True) for metric in KEY_METRICS if context.series(metric) is not None][:4]
    return [context.say("label_values") + context.glue(rows)] if rows else []


def _cannot_tell(context: Context) -> str:
    wanted = [one for one in context.diagnosis.unknown if "=" in one.needs and not one.needs.startswith("steps") and grave(one.finding)]
    rows = [text for text, _ in Counter(needs(context, one.needs) for one in wanted if needed(context, one.needs)).most_common()]
    if not rows:
        return ""
    return context.say(
        "cannot_tell", n=_n(context, len(context.diagnosis.unknown), "checks that could not run"), needs=context.joined(rows[:2])
    )


def grave(finding_id: str) -> bool:
    return card(f"findings/{finding_id}").front.get("severity") in ("critical", "high")


def log_line(context: Context) -> str:
    """Framework, version, algorithm and steps of the log in one sentence."""
    run = context.diagnosis.run
    framework = context.say("framework_unknown") if run.framework == "unknown" else escaped(run.framework)
    era = "" if run.framework == "unknown" else context.say("version_unknown") if run.era == "unknown" else f" {run.era}"
    algorithm = context.say("algorithm", name=escaped(run.algorithm)) if run.algorithm else ""
    if run.first_step is None or run.last_step is None:
        return context.say("log_is_no_steps", framework=framework, era=era, algorithm=algorithm)
    first = context.evidence.count(run.first_step, "first step of the log").text
    if run.first_step == run.last_step:
        return context.say("log_is_one", framework=framework, era=era, algorithm=algorithm, first=first)
    last = context.evidence.count(run.last_step, "last step of the log").text
    n = _n(context, len(run.steps), "steps in the log")
    return context.say("log_is", framework=framework, era=era, algorithm=algorithm, n=n, first=first, last=last)


def urgent(context: Context) -> str:
    """One line on the gravest finding when the answer did not speak of it and it weighs more than what was asked."""
    faults = [f for f in context.diagnosis.faults if f.severity in ("critical", "high")]
    if not faults or context.mentioned(faults[0]):
        return ""
    return context.say("urgent", title=context.titled(faults[0]), since=context.since(faults[0]))


def _n(context: Context, value: int, formula: str) -> str:
    return context.evidence.count(value, formula).text
