"""The head and the foot of a report, as HTML: what this log is, the verdict, what is fine, what cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from assistant.diagnosis import Diagnosis, Finding, render
from assistant.messages import Language, has, say
from assistant.run import Run
from assistant.web.chips import line_link
from assistant.web.markup import escape, fold, inline

SHORT_LOG = 10
"""Steps below which a clean log proves little."""

FRAMEWORKS = {
    "areal": "AReaL",
    "cleanrl": "CleanRL",
    "deepspeed": "DeepSpeed",
    "deepspeed-chat": "DeepSpeed-Chat",
    "hf-trainer": "Hugging Face Trainer",
    "llama-factory": "LLaMA-Factory",
    "megatron": "Megatron-LM",
    "mlx": "MLX",
    "nemo-rl": "NeMo RL",
    "openrlhf": "OpenRLHF",
    "rllib": "RLlib",
    "roll": "ROLL",
    "sb3": "Stable-Baselines3",
    "skyrl": "SkyRL",
    "torchtitan": "TorchTitan",
    "trl": "TRL",
    "trlx": "trlX",
    "unsloth": "Unsloth",
}
"""How frameworks write their names, where that differs from the name they have here."""

Mask = Callable[[str], str]


def head(diagnosis: Diagnosis, name: str, language: Language, *, mask: Mask = str, more: str = "") -> str:
    """Name, verdict, and the facts of the log. ``mask`` takes out what must not be shown of a log line, ``more`` is HTML for below."""
    below = counts(diagnosis, language) if diagnosis.healthy else following(diagnosis, language)
    lead = f'<p class="lead">{escape(below)}</p>' if below else ""
    return (
        f'<header class="report-head {tone(diagnosis)}">'
        f'<p class="report-of">{escape(say("web.report_of", language, name=name or say("web.pasted_log", language)))}</p>'
        f'<h1 tabindex="-1" id="verdict">{inline(verdict(diagnosis, language))}</h1>{lead}'
        f"{_facts(diagnosis.run, language)}{newcomer(language)}{recognised(diagnosis.run, language, mask)}{more}"
        f'<a class="jump" href="#ask-title" data-show="ask">{escape(say("web.jump_to_chat", language))}</a></header>'
    )


def following(diagnosis: Diagnosis, language: Language) -> str:
    """How many of the findings come, by whatever way, from the one that the verdict names; "" for none."""
    faults = diagnosis.faults
    if not faults or any(is_crash(finding) for finding in faults):
        return ""
    caused = {faults[0].id}
    for _ in faults:
        caused |= {finding.id for finding in faults if caused.intersection(finding.follows)}
    n = len(caused.intersection(finding.id for finding in faults[1:]))
    return "" if not n else say("web.verdict_follow_one" if n == 1 else "web.verdict_follow", language, n=n)


def newcomer(language: Language) -> str:
    """The two ways on for somebody to whom the findings say little."""
    ways = "".join(
        f' <button type="button" data-show="{name}">{escape(say(f"web.newcomer_{name}", language))}</button>' for name in ("guide", "teach")
    )
    return f'<p class="newcomer"><span>{escape(say("web.newcomer", language))}</span>{ways}</p>'


def tone(diagnosis: Diagnosis) -> str:
    return "tone-healthy" if diagnosis.healthy else f"tone-{diagnosis.faults[0].severity or 'medium'}"


def verdict(diagnosis: Diagnosis, language: Language) -> str:
    """The one sentence that a reader takes away."""
    faults = diagnosis.faults
    if not faults:
        n = len(diagnosis.run.steps)
        if n >= SHORT_LOG:
            return say("web.verdict_healthy", language)
        return say("web.verdict_short_one", language) if n == 1 else say("web.verdict_short", language, n=n)
    crash = next((finding for finding in faults if is_crash(finding)), None)
    first = crash or faults[0]
    filled = {"title": render.title(first, language), "since": when(first, diagnosis.run, language, "comma")}
    if crash:
        key = {1: "verdict_crash", 2: "verdict_crash_two"}.get(len(faults), "verdict_crash_many")
        return say(f"web.{key}", language, n=len(faults) - 1, **filled)
    kind = "minor" if all(finding.severity == "low" for finding in faults) else "verdict"
    return say(f"web.{kind}_{'one' if len(faults) == 1 else 'many'}", language, n=len(faults), **filled)


def is_crash(finding: Finding) -> bool:
    return finding.id.startswith("crash-")


def when(finding: Finding, run: Run, language: Language, form: str = "step") -> str:
    """``since step 33``, ``at step 33``, ``steps 33–60``; with ``comma`` as the end of a sentence. "" without a step."""
    first, last = finding.first_step, finding.last_step
    if first is None:
        return ""
    prefix, suffix = ("comma_", "") if form == "comma" else ("", "_step")
    if is_crash(finding):
        return say(f"web.{prefix}after{suffix}", language, step=first)
    if last == first and run.last_step != first:
        return say(f"web.{prefix}at{suffix}", language, step=first)
    if form == "step" and last is not None and run.last_step is not None and last < run.last_step:
        return say("web.steps_to", language, first=first, last=last)
    key = "at" if run.first_step == run.last_step else "since"
    return say(f"web.{prefix}{key}{suffix}", language, step=first)


def counts(diagnosis: Diagnosis, language: Language) -> str:
    return say("web.healthy_counts", language, fine=len(diagnosis.fine), unknown=len(diagnosis.unknown))


def _facts(run: Run, language: Language) -> str:
    framework = FRAMEWORKS.get(run.framework, run.framework)
    if run.framework == "verl":  # a version is told for verl only
        framework += f" {run.era}" if run.era != "unknown" else f" ({say('web.version_unknown', language)})"
    elif run.era != "unknown":
        framework += f" {run.era}"
    if run.first_step is None:
        steps = say("web.steps_none", language)
    elif run.first_step == run.last_step and not run.total_steps:
        steps = str(run.first_step)
    elif run.total_steps:
        steps = say("web.steps_of", language, first=run.first_step, last=run.last_step, total=run.total_steps)
    else:
        steps = say("web.steps_range", language, first=run.first_step, last=run.last_step)
    rows = [
        ("framework", framework),
        *([("algorithm", run.algorithm or say("web.not_recognised", language))] if run.algorithm or run.framework == "verl" else []),
        ("steps", steps),
        ("metrics", f"{len(run.columns):,}"),
        ("settings", f"{len(run.config):,}"),
        ("lines", f"{run.n_lines:,}"),
    ]
    cells = "".join(f"<div><dt>{escape(say(f'web.{key}', language))}</dt><dd>{escape(value)}</dd></div>" for key, value in rows)
    return f'<dl class="facts">{cells}</dl>'


def recognised(run: Run, language: Language, mask: Mask = str) -> str:
    """Why this version and estimator, the reader's notes, lines that were not read, and the form to correct it."""
    parts = []
    if run.era_evidence:
        parts.append(f"<p><b>{escape(say('web.why_version', language))}</b> {escape('; '.join(render.era_evidence(run, language)))}</p>")
    if run.algorithm_evidence:
        parts.append(f"<p><b>{escape(say('web.why_algorithm', language))}</b> {escape(render.algorithm_evidence(run, language))}</p>")
    if noticed := notes(run, language):
        items = "".join(f"<li>{escape(note)}</li>" for note in noticed)
        parts.append(f"<p><b>{escape(say('web.notes', language))}</b></p><ul>{items}</ul>")
    if run.unread_lines:
        samples = "".join(f"<li>{excerpt_line(number, mask(text), language)}</li>" for number, text in run.unread_samples[:5])
        parts.append(f'<p>{escape(say("web.not_read", language, n=run.unread_lines))}</p><ul class="excerpt">{samples}</ul>')
    elif run.n_rows:
        parts.append(f"<p>{escape(say('web.all_read', language))}</p>")
    parts.append(correction(run, language))
    return fold(escape(say("web.recognised", language)), "".join(parts), css="quiet")


def correction(run: Run, language: Language) -> str:
    """ "This is verl 0.6": the log read again as the user says (``static/70-correct.js`` sends it)."""
    from assistant.logs.era import VERSIONS
    from assistant.logs.formats import known_frameworks

    def options(values: Iterable[str], chosen: str) -> str:
        return "".join(f'<option value="{escape(v)}"{" selected" if v == chosen else ""}>{escape(v)}</option>' for v in values)

    known = known_frameworks()
    own = "" if run.framework in known else f'<option value="" selected>{escape(say("web.not_recognised", language))}</option>'
    unknown = f'<option value="">{escape(say("web.version_by_log", language))}</option>'
    return (
        f'<form class="correct"><p>{escape(say("web.correct_lead", language))}</p>'
        f'<label>{escape(say("web.framework", language))} <select name="framework">{own}{options(known, run.framework)}</select></label>'
        f'<label class="version">{escape(say("web.version", language))} '
        f'<select name="era">{unknown}{options(VERSIONS, run.era)}</select></label>'
        f'<button type="submit">{escape(say("web.read_again", language))}</button></form>'
    )


def others(names: Sequence[str], left_out: Sequence[Sequence[str]], language: Language) -> str:
    """Further runs that were dropped together with this one, and files that could not be read."""
    parts = []
    if names:
        listed = ("、" if language == "zh" else ", ").join(names)
        sentence = escape(say("web.other_runs", language, names=listed))
        go = escape(say("web.compare_them", language))
        parts.append(f'<p class="note">{sentence} <button type="button" class="link" data-show="compare">{go}</button></p>')
    for name, reason in left_out:
        parts.append(f'<p class="note">{escape(say("web.left_out", language, name=name, reason=reason))}</p>')
    return "".join(parts)


def notes(run: Run, language: Language) -> list[str]:
    """The reader's notes that have a sentence."""
    told = []
    for note in run.notes:
        if has(f"logs.note.{note.kind}"):
            told.append(say(f"logs.note.{note.kind}", language, **{"line": note.line, **note.data}))
    return told


EXCERPT = 400
"""Characters of a log line that are shown."""


def excerpt_line(number: int, text: str, language: Language) -> str:
    cut = ""
    if len(text) > EXCERPT:
        cut = f" <i>… {escape(say('web.excerpt_cut', language, n=len(text) - EXCERPT))}</i>"
    where = line_link(number, language, say("web.line", language, line=number))
    return f"{where} <samp>{escape(text[:EXCERPT])}</samp>{cut}"


def foot(diagnosis: Diagnosis, language: Language) -> str:
    """What was checked and is fine, and what this log cannot tell."""
    parts = []
    if diagnosis.fine:
        names = "".join(f"<li>{escape(render.title(Finding(name), language))}</li>" for name in diagnosis.fine)
        parts.append(fold(escape(say("web.fine", language, n=len(diagnosis.fine))), f'<ul class="names">{names}</ul>', css="fine"))
    if diagnosis.unknown:
        by_need: dict[str, list[str]] = {}
        for unknown in diagnosis.unknown:
            by_need.setdefault(render.needs(unknown.needs, language), []).append(render.title(Finding(unknown.finding), language))
        rows = "".join(f"<tr><td>{'<br>'.join(map(escape, names))}</td><td>{_need(need)}</td></tr>" for need, names in by_need.items())
        body = f'<p>{escape(say("web.unknown_lead", language))}</p><table class="needs">{rows}</table>'
        parts.append(fold(escape(say("web.unknown", language, n=len(diagnosis.unknown))), body, css="unknown"))
    return f'<section class="report-foot">{"".join(parts)}</section>' if parts else ""


def _need(need: str) -> str:
    return f"<code>{escape(need)}</code>" if "=" in need and " " not in need else inline(need)
