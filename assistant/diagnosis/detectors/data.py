"""What goes in: prompts cut at their limit, data filtered out before training."""

from __future__ import annotations

import re

import numpy as np

from assistant.diagnosis.detector import Thresholds, detector
from assistant.diagnosis.facts import count, percent, printed
from assistant.diagnosis.finding import Finding, NotChecked, Quantity
from assistant.diagnosis.score import known, step_at
from assistant.diagnosis.stats import median, sustained
from assistant.diagnosis.view import RunView
from assistant.run import Event, SourceLine

_COUNT = re.compile(r"dataset len:\s*(\d+)")


@detector("prompt-truncated", needs=("prompt_clip_ratio",))
def prompt_truncated(view: RunView, t: Thresholds) -> Finding | None:
    """Prompts as long as the limit were cut, unless the version does not cut or the run would have stopped at one.

    verl: ``data.truncation`` is acted on up to 0.6; 0.7 neither cuts nor stops; from 0.8 on text prompts are cut whatever is set.
    """
    stops = view.setting("data.truncation") == "error" and view.era_is(">=0.8") is not True
    if stops or view.era_is(">=0.7,<0.8") or view.setting("data.filter_overlong_prompts") is True:
        return None
    series, longest = known(view, "prompt_clip_ratio"), known(view, "prompt_length_max")
    assert series is not None
    limit = view.number("data.max_prompt_length")
    level = t.level if view.setting("data.truncation") or view.era_is("<0.9") else t.unsure_level
    high = series.scaled > level
    if view.era_is(">=0.9"):  # there the ratio counts prompts as long as the longest of the batch
        if limit is None or longest is None:
            return None
        high &= np.isin(series.steps, longest.steps[longest.scaled >= limit])
    spells = sustained(high, int(min(t.k, len(series))), int(t.of))
    if not spells or not (spells[-1].open or spells[-1].end - spells[-1].start >= t.of):
        return None
    spell = spells[-1]
    share = median(series.scaled[spell.start : spell.end + 1])
    facts: dict[str, Quantity] = {
        "share": percent(share, f"median of {series.name} while it lasts", metric=series.name),
        "last": printed(series.point(spell.end)),
    }
    evidence = [series.point(spell.start)] + ([series.point(spell.end)] if spell.end != spell.start else [])
    if longest is not None and len(longest):
        evidence.append(longest.point(-1))
    return Finding(
        "prompt-truncated",
        severity="high" if share > t.grave else "medium",
        confidence=0.8,
        first_step=step_at(series, spell.start),
        last_step=step_at(series, spell.end),
        evidence=evidence,
        facts=facts,
    )


def _size(event: Event) -> int | None:
    found = _COUNT.search(event.text)
    if found:
        return int(found[1])
    numbers = [value for value in event.data.values() if isinstance(value, int) and not isinstance(value, bool)]
    return numbers[0] if len(numbers) == 1 else None


@detector("data-filtered")
def data_filtered(view: RunView, t: Thresholds) -> Finding | NotChecked | None:
    """``dataset len`` and the ``filter dataset len`` that follows it, for each data set that the log names."""
    events = sorted(view.events("dataset-size", "dataset-filtered"), key=lambda event: event.line)
    pairs: list[tuple[int, int, Event, Event]] = []
    whole: Event | None = None
    for event in events:
        number = _size(event)
        if event.kind == "dataset-size" and not event.text.strip().startswith("filter"):
            whole = event
        elif event.kind == "dataset-filtered" and whole is not None and number is not None:
            if size := _size(whole):
                pairs.append((size, number, whole, event))
            whole = None
    if not pairs:
        return NotChecked("dataset len / filter dataset len")
    before, after, whole, event = min(pairs, key=lambda pair: pair[1] / pair[0])
    if after >= t.kept * before:
        return None
    facts = {
        "before": Quantity(before, str(before), "run", line=whole.line),
        "after": Quantity(after, str(after), "run", line=event.line),
        "lost": percent(1 - after / before, "1 − filtered / all"),
        "line": count(event.line),
    }
    excerpt = [SourceLine(one.line, one.text) for one in (whole, event)]
    return Finding("data-filtered", "high" if after < t.grave_kept * before else "medium", 0.9, facts=facts, excerpt=excerpt)
