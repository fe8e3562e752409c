"""What a model may look up by itself: read-only views of this run and of the cards. Every number that it gets becomes a fact."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from assistant.answers.grounding.context import Context
from assistant.answers.grounding.evidence import curve, shortened
from assistant.answers.model.limits import LONGEST_RESULT
from assistant.answers.model.prompting import safe
from assistant.answers.packed.card_entries import card_entry
from assistant.answers.packed.metric_rows import metric_row
from assistant.answers.packed.prompts import tool_descriptions
from assistant.answers.writing.problems import KEY_METRICS
from assistant.diagnosis.stats import correlation
from assistant.run import Series, SourceLine

MOST_VALUES = 30
MOST_LINES = 40


@dataclass(slots=True)
class Toolbox:
    """The tools of one answer. ``source`` reads lines of the log when it is at hand; ``seen`` collects what was handed out."""

    context: Context
    source: Callable[[int, int], Sequence[SourceLine]] | None = None
    seen: list[str] | None = None
    mask: Callable[[str], str] = str
    restore: Callable[[str], str] = str

    def series(self, metric: str, first: int = -1, last: int = -1) -> str:
        found = self._series(metric)
        if isinstance(found, str):
            return found
        low = first if first >= 0 else -(2**62)
        high = last if last >= 0 else 2**62
        where = np.flatnonzero((found.steps >= low) & (found.steps <= high))
        if not len(where):
            return f"{found.name} has no value between these steps."
        picked = where[np.linspace(0, len(where) - 1, min(len(where), MOST_VALUES)).round().astype(np.int64)]
        note = "" if len(picked) == len(where) else f" ({len(picked)} of {len(where)} values, evenly spaced)"
        return f"{found.name}{note}: " + " ".join(self._fact(found, int(i)) for i in picked)

    def around(self, step: int) -> str:
        lines = []
        for metric in dict.fromkeys([*self.context.question.metrics, *KEY_METRICS]):
            found = self.context.series(metric)
            if found is None or not len(found):
                continue
            near = np.flatnonzero(np.abs(found.steps - step) <= 2)
            if not len(near):
                near = np.array([int(np.argmin(np.abs(found.steps - step)))])
            lines.append(f"{found.name}: " + " ".join(self._fact(found, int(i)) for i in near))
        return "\n".join(lines) or "Nothing was printed near this step."

    def statistics(self, metric: str) -> str:
        found = self._series(metric)
        return found if isinstance(found, str) else metric_row(self.context, curve(found), True, "")

    def config(self, key: str) -> str:
        settings = self.context.diagnosis.run.config
        wanted = key.strip().lstrip("+")
        hits = [name for name in settings if name == wanted] or [
            name for name in settings if name.endswith("." + wanted) or wanted in name
        ][:8]
        if not hits:
            return f"{wanted} is not in the log's configuration." if settings else "This log holds no configuration."
        facts = [self.context.evidence.config(name, settings[name]) for name in hits]
        return "\n".join(f"{fact.id} {fact.metric} = {fact.text[:120]}" for fact in facts)

    def log_lines(self, first: int, last: int) -> str:
        last = min(last, first + MOST_LINES - 1)
        rows: Sequence[SourceLine] = self.source(first, last) if self.source else ()
        if not rows:
            known = {e.line: e.text for e in self.context.diagnosis.run.events}
            known |= {row.line: row.text for f in self.context.diagnosis.findings for row in f.excerpt}
            rows = [SourceLine(line, known[line]) for line in sorted(known) if first <= line <= last]
        return "\n".join(f"line {row.line}: {row.text[:300]}" for row in rows) or "These lines are not at hand."

    def search_knowledge(self, question: str) -> str:
        from assistant.retrieval import search

        diagnosis = self.context.diagnosis
        hits = search(question, limit=3, run=diagnosis.run, findings=[f.id for f in diagnosis.findings]).hits
        return (
            "\n".join(shortened(card_entry(hit.card, True)(self.context), 150, self.context.language) for hit in hits)
            or "No card was found."
        )

    def compare(self, metric_a: str, metric_b: str) -> str:
        a, b = self._series(metric_a), self._series(metric_b)
        if isinstance(a, str) or isinstance(b, str):
            return a if isinstance(a, str) else str(b)
        shared = np.intersect1d(a.steps, b.steps)
        if not len(shared):
            return "The two are never printed for the same step."
        one, two = a.take(np.isin(a.steps, shared)), b.take(np.isin(b.steps, shared))
        lines = [self.statistics(a.name), self.statistics(b.name)]
        r = correlation(one.values, two.values)
        if not np.isnan(r):
            fact = self.context.evidence.derived(r, f"rank correlation of {a.name} and {b.name}")
            lines.append(f"rank correlation {fact.id}={fact.text}")
        return "\n".join(lines)

    # Internals

    def _series(self, metric: str) -> Series | str:
        name = metric.strip().strip("`")
        view = self.context.view
        found = view.printed(name) if name in view.names else view[name]
        if found is None or not len(found):
            close = [key for key in view.names if name.rpartition("/")[2].lower() in key.lower()][:6]
            return f"{name} is not printed in this log." + (f" Close names: {', '.join(close)}" if close else "")
        return found

    def _fact(self, series: Series, index: int) -> str:
        fact = self.context.evidence.point(series.point(index))
        return f"{fact.id}={fact.text}" + (f"@{fact.step}" if fact.step is not None else "")

    def functions(self) -> list[Callable[..., str]]:
        """The tools as functions with a description, none of which raises or writes."""
        names = tool_descriptions()
        return [self._guarded(getattr(self, name), names[name]) for name in names]

    def _guarded(self, function: Callable[..., str], description: str) -> Callable[..., str]:
        @wraps(function)
        def tool(*args: Any, **kwargs: Any) -> str:
            args = tuple(self.restore(a) if isinstance(a, str) else a for a in args)
            kwargs = {name: self.restore(a) if isinstance(a, str) else a for name, a in kwargs.items()}
            try:
                result = function(*args, **kwargs)
            except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError) as error:
                result = f"The call could not be answered: {type(error).__name__}."
            result = safe(result)
            result = result if len(result) <= LONGEST_RESULT else result[:LONGEST_RESULT] + " … (cut)"
            if self.seen is not None:
                self.seen.append(result)
            return self.mask(result)

        tool.__doc__ = description
        tool.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return tool
