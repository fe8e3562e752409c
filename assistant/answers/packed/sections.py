"""The parts of the evidence: each writes itself from the run, the findings and the cards, noting its facts on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assistant.answers.grounding.context import Context, explaining
from assistant.answers.grounding.evidence import Fact, curve
from assistant.answers.packed.card_entries import Write, card_entry, fits, flat
from assistant.answers.packed.metric_rows import asked_values, metric_row, point_text
from assistant.answers.packed.prompts import labels
from assistant.answers.packed.setting_rows import MAIN_SETTINGS, asked_settings, change_text, setting_row
from assistant.answers.writing.problems import KEY_METRICS, needed
from assistant.answers.writing.speed import slow_findings
from assistant.answers.writing.writer import write
from assistant.cards import cards
from assistant.derived import derived_quantities
from assistant.diagnosis import render
from assistant.diagnosis.facts import number
from assistant.diagnosis.finding import Finding
from assistant.diagnosis.naming import metric_card
from assistant.diagnosis.timing import step_times
from assistant.run import Style

BY_UPDATES = frozenset({"policy_step_kl", "policy_clip_fraction", "policy_clip_fraction_lower", "value_clip_fraction", "policy_loss"})
"""Metrics that read differently with one update a step and with several."""
EXCERPT = 400
"""Characters of a line of the log that are shown."""
CALLS = 5
"""Innermost calls of a traceback that are shown."""
SHORT_LOG = 3
"""Records up to which the other metrics are given with their values."""
UNKNOWN = 14
"""Checks that could not run that are listed."""
NAMED = 150
"""Names of other metrics that are listed."""


@dataclass(frozen=True, slots=True)
class Section:
    """``rank`` says how much it matters (0 first), ``place`` where it stands; ``name`` is how it is called when it is left out."""

    heading: str
    name: str
    rank: float
    place: float
    write: Write


def sections(context: Context, retrieved: Sequence[str]) -> list[Section]:
    """Every part that this question and run give, not yet weighed against a budget."""
    out = [Section("run", "run", 0, 0, _run)]
    out += _findings(context)
    out.append(Section("draft", "draft", 4, 2, lambda c: flat(write(c))))
    out += _metrics(context)
    out += _settings(context)
    out.append(Section("derived", "computed quantities", 2.45 if set(context.question.metrics) & BY_UPDATES else 9.5, 5, _derived))
    out += [*_time(context), *_excerpts(context), *_cards(context, retrieved)]
    out.append(Section("fine", "checks passed", 24, 9, _fine))
    out.append(Section("unknown", "what cannot be told", 17, 9.1, _unknown))
    out.append(Section("others", "names of other metrics", 40, 9.2, _others))
    return out


# The log


def _run(context: Context) -> str:
    run, view, words = context.diagnosis.run, context.view, labels()
    lines = [f"{run.framework} {run.era if run.era != 'unknown' else '(version unknown)'}, {run.algorithm or 'algorithm unknown'}"]
    if run.first_step is not None:
        lines.append(words["seen"].format(first=run.first_step, last=run.last_step, n=len(run.steps), lines=run.n_lines))
        context.evidence.count(len(run.steps), "steps of the log")
    else:
        lines.append(words["seen_none"].format(lines=run.n_lines))
    if any(len(c.styles) and c.styles[-1] == Style.FIXED3 for c in run.columns.values()):
        lines.append(words["three_decimals"])
    if len(view.attempts) > 1 and view.attempt is not None:
        lines.append(words["attempts"].format(n=len(view.attempts), used=view.attempt + 1))
    return "\n".join(lines)


# Findings


def _findings(context: Context) -> list[Section]:
    diagnosis, question = context.diagnosis, context.question
    if not diagnosis.findings:
        return [Section("findings", "findings", 1, 1, lambda c: labels()["no_findings"])]
    about = {f.id for group in explaining(context, question.metrics) for f in group} if question.metrics else set()
    about |= set(question.findings)
    faults = list(diagnosis.faults)
    out: list[Section] = []
    if not faults:
        out.append(Section("findings", "findings", 1, 1, lambda c: labels()["only_info"]))
    infos = [f for f in diagnosis.findings if f.severity == "info"]
    for index, finding in enumerate(faults):
        asked = finding.id in about
        out.append(Section("findings", finding.id, 1 + index * 0.01, 1 + index * 0.01, _head(finding, index)))
        detail = 2.0 + index * 0.1 if asked else 3.0 + index * 1.5
        out.append(Section("findings", f"{finding.id} (causes and fixes)", detail, 1.001 + index * 0.01, _detail(finding)))
    for index, finding in enumerate(infos):
        rank = 2.5 + index * 0.1 if finding.id in about else 12 + index
        out.append(Section("findings", finding.id, rank, 1.5 + index * 0.01, _head(finding, len(faults) + index)))
    return out


def _head(finding: Finding, index: int) -> Write:
    def text(context: Context) -> str:
        words = labels()
        severity = words["info"] if finding.severity == "info" else finding.severity
        when = f"; {words['since']} {finding.first_step}" if finding.first_step is not None and finding.severity != "info" else ""
        if when and finding.last_step is not None and finding.last_step != finding.first_step:
            when += f" {words['until']} {finding.last_step}"
        follows = f"; {words['follows']} {', '.join(finding.follows)}" if finding.follows else ""
        summary = context.evidence.summary(finding)
        facts = [context.evidence.quantity(q) for q in finding.facts.values()]
        ids = ", ".join(f"{f.id}={f.text}" + (f"@{f.step}" if f.step is not None else "") for f in _once(facts) if len(f.text) <= 24)
        return f"{index + 1}. {finding.id} [{severity}{when}{follows}] {context.evidence.title(finding)}: {summary}" + (
            f" ({ids})" if ids else ""
        )

    return text


def _detail(finding: Finding) -> Write:
    def text(context: Context) -> str:
        words, language, run = labels(), context.language, context.diagnosis.run
        lines = []
        if reasons := render.causes(finding, language)[:4]:
            lines.append(f"   {words['causes']}: " + "; ".join(reasons))
        settled = {
            fix["key"]: fix["to"]
            for f in context.diagnosis.findings
            if f.id in finding.follows
            for fix in render.fixes(f, run)
            if fix["to"] is not None
        }
        for fix in render.fixes(finding, run, language)[:4]:
            if fix["key"] and fix["to"] is not None and settled.get(fix["key"], fix["to"]) != fix["to"]:
                continue  # the earlier finding moves this setting elsewhere
            change = change_text(context, fix, finding.id)
            lines.append(f"   {words['fix']}: {change}{fix['why']}" + (f" ({words['check']}: {fix['check']})" if fix["check"] else ""))
        if finding.severity != "info" and (against := render.rules_out(finding, language)[:2]):
            lines.append(f"   {words['rules_out']}: " + " ".join(against))
        return "\n".join(lines)

    return text


# Metrics


def _metrics(context: Context) -> list[Section]:
    question, view = context.question, context.view
    chosen: dict[str, tuple[float, bool]] = {}  # canonical → (rank, in full)

    def want(metric: str, rank: float, full: bool) -> None:
        if metric not in chosen or chosen[metric][0] > rank:
            chosen[metric] = (rank, full or chosen.get(metric, (0, False))[1])

    for index, metric in enumerate(question.metrics):
        want(metric, 2.2 + index * 0.1, True)
        found = cards().get(metric_card(metric) or "")
        for near, other in enumerate((found.front.get("watch_with") or ()) if found else ()):
            want(str(other), 6 + index + near * 0.3, False)
    names = view.names
    for index, finding in enumerate(context.diagnosis.findings[:6]):
        for near, point in enumerate(finding.evidence[:4]):
            if point.metric in names and names[point.metric].canonical:
                want(names[point.metric].canonical, (3.5 if index < 2 else 8) + index + near * 0.2, index == 0 and not question.metrics)
    for index, metric in enumerate(KEY_METRICS):
        want(metric, (5.2 if not question.metrics else 10) + index * 0.3, False)
    out = []
    for index, (metric, (rank, full)) in enumerate(sorted(chosen.items(), key=lambda row: row[1][0])):
        if context.series(metric) is not None:
            out.append(Section("metrics", context.key(metric), rank, 3 + index * 0.01, _row(metric, full)))
        elif metric in question.metrics:
            out.append(Section("metrics", metric, rank, 3 + index * 0.01, _absent(metric)))
    for index, key in enumerate(question.extra_keys):
        out.append(Section("metrics", key, 2.2, 3.5 + index * 0.01, _printed(key)))
    if question.steps and not question.metrics:
        out.append(Section("metrics", "values at the step asked about", 2.3, 3.9, _around))
    return out


def _absent(metric: str) -> Write:
    return lambda context: labels()["absent"].format(key=context.key(metric))


def _printed(key: str) -> Write:
    def text(context: Context) -> str:
        series = context.view.printed(key)
        return "" if series is None or not len(series) else metric_row(context, curve(series), True, "")

    return text


def _row(metric: str, full: bool) -> Write:
    def text(context: Context) -> str:
        found = context.curve(metric)
        if found is None:
            return ""
        card = cards().get(metric_card(metric) or "")
        title = card.title(context.language) if card else ""
        return metric_row(context, found, full, title)

    return text


def _around(context: Context) -> str:
    lines = []
    for metric in KEY_METRICS:
        series = context.series(metric)
        if series is not None and (values := asked_values(context, series, set())):
            lines.append(f"{series.name} " + " ".join(values))
    return "\n".join(lines)


# Settings, quantities, time


def _settings(context: Context) -> list[Section]:
    asked = asked_settings(context)
    out = []
    if asked:
        out.append(
            Section(
                "config",
                "settings of the findings",
                5,
                4,
                lambda c: "\n".join(line for key in asked if (line := setting_row(c, key, True))),
            )
        )
    if not context.diagnosis.run.config:
        return [*out, Section("config", "settings", 11, 4.1, lambda c: labels()["no_config"])]
    rest = [key for key in MAIN_SETTINGS if key not in asked]
    return [
        *out,
        Section("config", "main settings", 11, 4.1, lambda c: "\n".join(line for key in rest if (line := setting_row(c, key, False)))),
    ]


def _derived(context: Context) -> str:
    lines = []
    for name, found in derived_quantities(context.view).items():
        fact = context.evidence.derived(found.value, found.formula)
        lines.append(f"{fact.id} {name} = {fact.text} ({found.formula})")
    return "\n".join(lines)


def _time(context: Context) -> list[Section]:
    times = step_times(context.view)
    if times is None or not any(row.name for row in times.table()):
        return []
    asked = context.question.intent == "time" or any(
        m.startswith(("time_", "throughput", "mfu", "per_token", "seconds")) for m in context.question.metrics
    )
    slow = any(f.severity != "info" for f in slow_findings(context)) or any(
        "OOM" in f.id or "slow" in f.id for f in context.diagnosis.faults
    )
    return [Section("time", "time table", 2.4 if asked else 9 if slow else 20, 6, _time_table)]


def _time_table(context: Context) -> str:
    times = step_times(context.view)
    if times is None:
        return ""
    total = context.evidence.derived(times.typical, "median seconds of a step, validation and checkpoints left out")
    lines = [f"median step {total.id}={total.text} s"]
    for row in times.table()[:10]:
        name = row.name or "in no timer"
        seconds = context.evidence.derived(row.seconds, f"mean of {row.name or 'step time in no timer'}", metric=row.name or None)
        share = context.evidence.derived(
            row.share,
            f"sum of {row.name or 'time in no timer'} / sum of the step time",
            metric=row.name or None,
            text=f"{number(round(100 * row.share, 1))}%",
        )
        few = f", in {row.n} of {len(times.steps)} steps" if row.name and row.parent != "outside" and row.n < len(times.steps) else ""
        inside = {"gen": " (inside gen)", "adv": " (inside adv)", "outside": f" (outside the step, in {row.n} steps)"}.get(row.parent, "")
        lines.append(f"{name}{inside} {seconds.id}={seconds.text} s{few}, {share.id}={share.text} of all step time")
        if row.parent == "outside" or few:
            context.evidence.count(row.n, f"steps with {row.name}")
    return "\n".join(lines)


# Words of the log


def _excerpts(context: Context) -> list[Section]:
    rows = {row.line: row.text for f in context.diagnosis.findings for row in f.excerpt} | {
        event.line: event.text for event in context.diagnosis.run.events if event.fatal
    }
    if not rows:
        return []
    crash = any(f.excerpt for f in context.diagnosis.faults)
    rows |= _beside(context)
    lines = sorted(rows.items())[:16]
    return [
        Section(
            "excerpt", "log text", 2.6 if crash else 19, 7, lambda c: "\n".join(f"line {line}: {_cut(flat(text))}" for line, text in lines)
        )
    ]


def _beside(context: Context) -> dict[int, str]:
    """What the log prints beside a crash: the biggest processes of a node out of memory, and the calls that led to an exception."""
    run = context.diagnosis.run
    crashes = {f.id for f in context.diagnosis.faults if f.id.startswith("crash")}
    out: dict[int, str] = {}
    for event in run.events:
        if event.kind == "memory-user" and "crash-host-oom" in crashes and len(out) < 6:
            n = int(event.data.get("repeats", 1))
            out[event.line] = event.text + (f" (and {n - 1} more such lines)" if n > 1 else "")
        frames = event.data.get("frames")
        if crashes and frames and (event.fatal or event.kind == "traceback-unfinished"):
            calls = [f"{str(one['file']).rpartition('/')[2]}:{one['line']} {one['function']}" for one in list(frames)[-CALLS:]]
            out.setdefault(event.line, event.text)
            out[event.line] = f"{out[event.line][:EXCERPT]} [calls: {' > '.join(calls)}]"
    return out


# Cards


def _cards(context: Context, retrieved: Sequence[str]) -> list[Section]:
    wanted: dict[str, float] = {}
    for index, metric in enumerate(context.question.metrics):
        if card := metric_card(metric):
            wanted.setdefault(card, 2.8 + index * 1.2)
    lead = [f for f in context.diagnosis.findings if f.id in context.question.findings] or list(context.diagnosis.faults)
    for index, finding in enumerate(lead[:3]):
        wanted.setdefault(f"findings/{finding.id}", 4.5 + index * 2.5)
    for index, name in enumerate([*(f"findings/{n}" for n in context.question.findings), *context.question.concepts]):
        wanted.setdefault(name, 3.2 + index * 0.5)
    for index, name in enumerate([name for name in retrieved if fits(context, name)][:6]):
        wanted.setdefault(name, 4.8 + index * 1.6)
    known = cards()
    return [Section("cards", name, rank, 8 + rank / 1000, card_entry(name, rank < 7)) for name, rank in wanted.items() if name in known]


# What was checked


def _fine(context: Context) -> str:
    names = [name for name in context.diagnosis.fine if not name.startswith("crash-")]
    crashes = any(name.startswith("crash-") for name in context.diagnosis.fine) and not any(
        f.id.startswith("crash-") for f in context.diagnosis.findings
    )
    return ", ".join([*names, *([labels()["no_crash"]] if crashes else [])])


def _unknown(context: Context) -> str:
    asked = set(context.question.findings)
    order = sorted(context.diagnosis.unknown, key=lambda u: (u.finding not in asked, "=" not in u.needs or u.needs.startswith("steps>=")))
    texts = [(u.finding, needed(context, u.needs)) for u in order]
    texts.sort(key=lambda row: (row[0] not in asked, not row[1]))
    rows = [name + (f" (needs {text})" if text else "") for name, text in texts]
    return "; ".join(rows[:UNKNOWN]) + (f"; … ({len(rows) - UNKNOWN} more)" if len(rows) > UNKNOWN else "")


def _others(context: Context) -> str:
    """What else is printed: in a short log with its values, else by name, the statistics of one quantity together."""
    run = context.diagnosis.run
    shown = {fact.metric for fact in context.evidence.facts}
    left = [key for key in run.columns if key not in shown]
    if run.n_rows <= SHORT_LOG:
        found = [(key, series) for key in left if (series := context.view.printed(key)) is not None and len(series)]
        rows = [f"{key} {point_text(context, series, len(series) - 1)}" for key, series in found[:NAMED]]
        return ", ".join(rows) + (f", … ({len(found) - NAMED} more)" if len(found) > NAMED else "")
    together: dict[str, list[str]] = {}
    for key in left:
        stem, _, last = key.rpartition("/")
        together.setdefault(stem, []).append(last)
    names = [
        f"{stem}/{{{','.join(lasts)}}}" if stem and len(lasts) > 1 else "/".join(filter(None, (stem, last)))
        for stem, lasts in together.items()
        for last in (lasts[:1] if stem else lasts)
    ]
    return ", ".join(names[:NAMED]) + (f", … ({len(names) - NAMED} more)" if len(names) > NAMED else "")


def _cut(text: str) -> str:
    return text if len(text) <= EXCERPT else text[:EXCERPT] + " … (line goes on)"


def _once(facts: Sequence[Fact]) -> list[Fact]:
    return list({fact.id: fact for fact in facts}.values())
