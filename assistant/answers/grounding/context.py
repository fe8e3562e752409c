"""What every writer of an answer is given, and the sentences that they share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assistant.answers.grounding.evidence import Curve, Evidence, code, curve, length, plain_value, sentences
from assistant.answers.grounding.setting_values import known_from, printed_setting
from assistant.answers.grounding.shape import shape_of
from assistant.answers.understanding.question import Question
from assistant.cards import card, cards, pick
from assistant.diagnosis import render
from assistant.diagnosis.detector import registered
from assistant.diagnosis.finding import SEVERITIES, Diagnosis, Finding
from assistant.diagnosis.naming import metric_card
from assistant.diagnosis.view import RunView
from assistant.messages import Language, say
from assistant.run import Point, Series

BUDGET = 190
"""Words that an answer should not exceed by much; parts that do not fit are left out, never cut."""


FEW_VALUES = 8
"""Values below which no rank test can tell a trend (its p stays above one in a hundred, nearly whatever they are)."""
_NAMES = frozenset({"key", "name", "a", "b"})
_CODE_END = re.compile(r"[`\r\n]")


def main_validation(view: RunView) -> Series | None:
    """The validation curve to show: a core one, unless it has no course and a mean of another variable has one."""
    found = list(view.validations())
    if not found:
        return None
    if len(found[0].series) < 3:
        means = [one for one in found if one.key.statistic.startswith("mean@") and len(one.series) > 2 * len(found[0].series)]
        found = sorted(means, key=lambda one: -len(one.series)) or found
    return found[0].series


@dataclass(slots=True)
class Context:
    question: Question
    diagnosis: Diagnosis
    view: RunView
    evidence: Evidence
    curves: dict[str, Curve | None] = field(default_factory=dict)

    @property
    def language(self) -> Language:
        return self.question.language

    def say(self, key: str, /, **values: str) -> str:
        """A sentence of the catalogue; names of metrics and settings, which come from the log, cannot leave their code span."""
        safe = {name: _CODE_END.sub("'", value) if name in _NAMES else value for name, value in values.items()}
        return say(f"answers.{key}", self.language, **safe)

    def glue(self, parts: Iterable[str]) -> str:
        """Sentences of one paragraph."""
        return ("" if self.language == "zh" else " ").join(part for part in parts if part)

    # Series

    def series(self, metric: str) -> Series | None:
        """The series of a canonical metric; for validation the main one."""
        if metric == "validation":
            if (wanted := self.question.key_of(metric)) and (own := self.view.printed(wanted)) is not None:
                return own
            return main_validation(self.view)
        series = self.view[metric]
        wanted = self.question.key_of(metric)
        if wanted and wanted in self.diagnosis.run.columns and (series is None or wanted != series.name):
            return self.view.printed(wanted) or series
        return series if series is not None and len(series) else None

    def curve(self, metric: str) -> Curve | None:
        if metric not in self.curves:
            series = self.series(metric)
            self.curves[metric] = None if series is None else curve(series)
        return self.curves[metric]

    def key(self, metric: str) -> str:
        """The printed key of a metric in this log, else the newest name that its card knows."""
        if (series := self.series(metric)) is not None:
            return series.name
        if asked := self.question.key_of(metric):
            return asked
        card_id = metric_card(metric)
        for row in card(card_id).front.get("metrics", ()) if card_id else ():
            if row["id"] == metric:
                for names in (row.get("names") or {}).values():
                    for name in names:
                        return str(name["key"] if isinstance(name, dict) else name)
        return metric

    def at(self, point: Point) -> str:
        """``0.031 (step 140)``, noted as a fact."""
        fact = self.evidence.point(point)
        return fact.text if point.step is None else self.say("at_step", value=fact.text, step=str(point.step))

    def trend(self, found: Curve) -> str:
        return trend_words(self, found)

    def scaled_note(self, found: Curve) -> str:
        """For a metric whose name carries a unit (``actor/lr(1e-4)``): the last value in its own unit; else ""."""
        series = found.series
        if series.scale == 1.0 or found.last is None:
            return ""
        unit = self.evidence.derived(series.scale, f"unit in the name of {series.name}", metric=series.name, text=f"{series.scale:.3g}")
        real = float(f"{series.values[found.last] * series.scale:.6g}")
        fact = self.evidence.derived(real, f"last {series.name} × {series.scale:.3g}", metric=series.name, text=f"{real:.4g}")
        return self.say(
            "scaled", key=series.name, unit=unit.text, printed=self.evidence.point(found.point(found.last)).text, value=fact.text
        )

    # Findings

    def since(self, finding: Finding) -> str:
        if finding.first_step is None:
            return ""
        fact = self.evidence.count(finding.first_step, f"onset of {finding.id}")
        return self.say("since", step=fact.text)

    def titled(self, finding: Finding) -> str:
        return self.evidence.title(finding)

    def joined(self, parts: Sequence[str]) -> str:
        return self.say("list_join").join(part.rstrip("。.;； ") for part in parts)

    def mentioned(self, finding: Finding) -> bool:
        return finding.id in self.evidence.findings


OF_CRITIC = frozenset(
    (
        "value_loss",
        "value_clip_fraction",
        "value_prediction_mean",
        "value_mean",
        "value_max",
        "value_min",
        "explained_variance",
        "critic_grad_norm",
        "critic_lr",
        "critic_total_loss",
        "mfu_critic",
        "time_values",
        "time_update_critic",
        "per_token_values",
        "per_token_update_critic",
    )
)
"""Metrics that only a run with a value model prints."""


def explaining(context: Context, metrics: Sequence[str]) -> tuple[list[Finding], list[Finding]]:
    """Findings that are about the metrics, and those that only touch them; each in the diagnosis's order, faults first."""
    about: list[Finding] = []
    touching: list[Finding] = []
    names = context.view.names
    wanted = {stem(metric) for metric in metrics}
    cards_of = {metric_card(metric) for metric in metrics}
    for finding in context.diagnosis.findings:
        stems = [stem(names[point.metric].canonical) for point in finding.evidence if point.metric in names]
        share = sum(stem in wanted for stem in stems)
        detector = registered().get(finding.id)
        needs_first = detector.needs[0] if detector and detector.needs else ""
        if finding.id == "no-critic-by-design":
            is_about = bool(set(metrics) & OF_CRITIC)
        elif finding.severity == "info":
            exact = [names[point.metric].canonical for point in finding.evidence if point.metric in names]
            is_about = bool(exact and exact[0] in metrics) or needs_first in metrics
        else:
            is_about = bool(stems and (stems[0] in wanted or share * 2 >= len(stems))) or stem(needs_first) in wanted
        if is_about:
            about.append(finding)
        elif share or any(q.metric in names and stem(names[q.metric].canonical) in wanted for q in finding.facts.values() if q.metric):
            touching.append(finding)
        elif not any(context.series(metric) for metric in metrics) and (
            _related(finding.id) & cards_of
            or card(f"findings/{finding.id}").front.get("needs") in metrics
            or (finding.id == "no-critic-by-design" and set(metrics) & OF_CRITIC)
        ):
            (about if finding.severity == "info" else touching).append(finding)
    about.sort(key=lambda f: f.severity == "info")
    return about, touching


def stem(metric: str) -> str:
    """Mean, maximum and minimum of a quantity are one subject; so are the score and the reward made of it."""
    stem = metric
    for ending in ("_mean", "_max", "_min"):
        stem = stem.removesuffix(ending)
    return "score" if stem == "reward" else stem


def _related(finding_id: str) -> set[str | None]:
    return set(card(f"findings/{finding_id}").front.get("related") or ())


def checks_passed(context: Context, metric: str) -> int:
    """How many checks read this metric, could run and found nothing."""
    fine = set(context.diagnosis.fine)
    return sum(name in fine and metric in one.needs for name, one in registered().items())


def harmless(finding: Finding) -> bool:
    """Whether a finding that is a fault elsewhere was looked at here and does no harm (an ``info`` variant of it)."""
    return finding.severity == "info" and card(f"findings/{finding.id}").front.get("severity", "medium") != "info"


def grade(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity or "medium")


# Sentences on values


def trend_words(context: Context, found: Curve) -> str:
    """The direction of a curve, with the step of its turn or its medians where first and last value alone tell another tale."""
    shape, key = shape_of(found), found.series.name
    if shape.turn is not None:
        step = context.evidence.count(int(found.series.steps[shape.turn]), f"turn of {key}, running median")
        return context.say(shape.kind, step=step.text)
    if shape.kind == "none":
        return context.say("few_values" if found.n_finite < FEW_VALUES else "no_trend")
    if shape.plain:
        return context.say(shape.kind)
    start = context.evidence.derived(shape.start, f"median of the first {shape.k} finite {key}", metric=key)
    end = context.evidence.derived(shape.end, f"median of the last {shape.k} finite {key}", metric=key)
    n = context.evidence.count(shape.k, f"values of {key} in each median")
    return context.say(f"{shape.kind}_by_median", start=start.text, end=end.text, n=n.text)


def course(context: Context, metric: str, *, short: bool = False) -> str:
    """A metric's values in one sentence: first, last, lowest, highest, direction."""
    found = context.curve(metric)
    return "" if found is None else course_of(context, found, short=short)


def course_of(context: Context, found: Curve, *, short: bool = False) -> str:
    key = found.series.name
    if found.first is None or found.last is None or found.lowest is None or found.highest is None:
        n = context.evidence.count(len(found.series), f"values of {key}")
        if len(found.series) == 1:
            return context.say("single", key=key, last=context.at(found.point(0)))
        return context.say("no_finite", key=key, n=n.text)
    last = context.at(found.point(found.last))
    if found.n_finite == 1:
        return context.say("single", key=key, last=last)
    if not found.moves:
        n = context.evidence.count(found.n_finite, f"finite values of {key}")
        return context.say("constant", key=key, last=context.evidence.point(found.point(found.last)).text, n=n.text)
    first = context.at(found.point(found.first))
    if short or found.n_finite < 3:
        return context.say("course_short", key=key, first=first, last=last)
    low, high = context.at(found.point(found.lowest)), context.at(found.point(found.highest))
    return context.say("course", key=key, first=first, last=last, low=low, high=high, trend=context.trend(found))


def read_with(context: Context, metric: str, most: int = 3) -> str:
    """Last values of the metrics that the card says to read together with this one, where the log has them."""
    found = context.evidence.metric_card(metric)
    values: list[str] = []
    for other in (found.front.get("watch_with") or ()) if found else ():
        shape = context.curve(str(other))
        if shape is not None and shape.last is not None and len(values) < most:
            values.append(f"`{shape.series.name}` {context.at(shape.point(shape.last))}")
    return context.say("read_with", values=context.say("comma").join(values)) if values else ""


_ABSOLUTE = frozenset({"policy_loss", "policy_step_kl", "reward_kl", "rollout_kl"})


def in_range(context: Context, metric: str) -> str:
    """Which of the card's rule-of-thumb ranges the last value is in."""
    shape, found = context.curve(metric), context.evidence.metric_card(metric)
    if shape is None or shape.last is None or found is None:
        return ""
    value = float(shape.series.scaled[shape.last])
    value = abs(value) if metric in _ABSOLUTE else value
    for row in found.front.get("ranges") or ():
        if row.get("metric") not in (None, metric):
            continue
        low, high = row.get("low"), row.get("high")
        if (low is None or value >= low) and (high is None or value < high):
            bounds = "below" if low is None else "above" if high is None else "between"
            shown = context.say(bounds, low=_plain(low), high=_plain(high))
            return context.say("in_range", range=shown, text=pick(row, context.language).rstrip("。. "))
    return ""


def _plain(value: float | None) -> str:
    return "" if value is None else str(value)


# Sentences on findings


def fix_lines(context: Context, finding: Finding, most: int = 2) -> list[str]:
    """What to change, as lines: key, from → to, why, what to watch."""
    lines: list[str] = []
    config = context.diagnosis.run.config
    rows = render.fixes(finding, context.diagnosis.run, context.language)
    useful = [row for row in rows if not (row["key"] in config and row["to"] is not None and config[row["key"]] == row["to"])]
    for fix in (useful or rows)[:most]:
        lines.append(context.glue([_fix(context, finding, fix), _check(context, fix["check"])]))
    return lines


def asked_settings(context: Context, shown: str) -> str:
    """What the findings say about a setting that the question names, unless ``shown`` already does."""
    lines: list[str] = []
    named = [Finding(name) for name in context.question.findings if f"findings/{name}" in cards()]
    for finding in [*context.diagnosis.findings, *named]:
        for fix in render.fixes(finding, context.diagnosis.run, context.language):
            key = fix["key"]
            if key in context.question.settings and f"`{key}`" not in shown and not any(f"`{key}`" in line for line in lines):
                context.evidence.cite(f"findings/{finding.id}")
                lines.append(context.glue([_fix(context, finding, fix), _check(context, fix["check"])]))
    if not lines:
        lines = [line for metric in context.question.metrics[:2] if (line := _advice_on_settings(context, metric, shown))]
    return context.say("label_setting") + context.glue(lines[:2]) if lines else ""


def _advice_on_settings(context: Context, metric: str, shown: str) -> str:
    """The sentences of a metric's advice that speak of a setting in the question."""
    advice = context.evidence.text_of(context.evidence.metric_card(metric), "advice")
    names = [key.rpartition(".")[2] for key in context.question.settings]
    found = [s for s in sentences(advice, context.language) if any(name in s for name in names) and s not in shown]
    return context.glue(found[:2])


def _fix(context: Context, finding: Finding, fix: dict[str, object]) -> str:
    key, to, why = fix["key"], fix["to"], ended(str(fix["why"] or ""), context)
    if not key:
        return context.say("fix_step", why=why)
    if to is None:
        return context.say("fix_key", key=str(key), why=why)
    target = context.evidence.derived(_number(to), f"proposed by {finding.id}", metric=str(key), text=plain_value(to)).text
    if fix["from"] is None:
        if (point := printed_setting(context, str(key))) is not None:
            return context.say("fix_printed", key=str(key), now=context.at(point), to=target, why=why)
        return context.say("fix_to", key=str(key), to=target, why=why)
    where = known_from(context.diagnosis.run, str(key))
    if where == "config":
        current = _inline(context.evidence.config(str(key), fix["from"]).text)
    elif where == "metrics":
        current = context.evidence.derived(_number(fix["from"]), f"{key} as the metrics show it", text=plain_value(fix["from"])).text
    else:
        current = (
            f"{plain_value(fix['from'])} ({context.say('default_note')})"
            if context.language == "en"
            else f"{plain_value(fix['from'])}（{context.say('default_note')}）"
        )
        context.evidence.derived(_number(fix["from"]), f"default of {key}", metric=str(key), text=plain_value(fix["from"]))
    return context.say("fix", key=str(key), from_=current, to=target, why=why)


def _inline(text: str) -> str:
    """A value out of the log's config inside a sentence."""
    return text if re.fullmatch(r"[-+.\w]*", text) else code(text)


def ended(text: str, context: Context) -> str:
    """``text`` as a sentence: with a full stop."""
    text = text.strip()
    text = text[:1].upper() + text[1:] if re.match(r"[a-z]+ ", text) else text
    return text if not text or text[-1] in ".。!！?？:：;；" else text + context.say("stop")


def _check(context: Context, check: object) -> str:
    return context.say("check", check=ended(str(check), context)) if check else ""


def _number(value: object) -> float | str:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else plain_value(value)


def causes(context: Context, finding: Finding, most: int = 3) -> str:
    rows = render.causes(finding, context.language)[:most]
    if not rows:
        return ""
    if len(rows) == 1:
        return context.say("cause_one", cause=rows[0].rstrip("。. "))
    return context.say("causes", causes=context.joined(rows))


def words_of(parts: Iterable[str]) -> int:
    return sum(length(part) for part in parts)
