"""Check a written answer against what is known: every numeral, direction word, name and verdict.

``verify`` takes a model's draft and hands back what may be shown: placeholders filled, wrong parts marked, each numeral with what
it was matched to.

What is checked, and how strictly:

* ``{{E7}}`` (also ``{E7}``, ``{{E7.value}}``, ``{{E7.step}}``, ``{{E7.line}}``) is filled with the fact's text and then checked like
  any other numeral: the right number beside the wrong metric is wrong. An id that does not exist is marked. ``[E7]`` and ``[K2]``
  are citations and are taken out.
* A numeral that has a metric near it (named right after it, before it in the sentence, or in the sentence before) must be a value of
  that metric: the printed one of the step beside it, or a fact of that metric. Without a step it must be a fact, not any of its values.
* Equal means: the digits shown are the rounding of the value. 0.031 may be written 0.03, not 0.0 and not 0.0312. After "about" the
  last digit that is not zero decides.
* Percentages, multiples and differences are recomputed from the two values in the same sentence, else from the metric's own ends
  (first, last, extremes, start and end medians). A percentage also stands for a share (0.48 is 48 %).
* A step must be one that a fact, a finding or the user speaks of, or that has the value beside it. "for 160 steps" must be a
  distance between such steps, a count of the log, or a window that a fact or card names.
* A setting's numeral must be its value in the log's config, or what a finding or a shown card proposes for it.
* A number of a shown card stands when the sentence is general (a rule of thumb, a threshold, advice) or names no metric. It does
  not stand as the run's own value.
* Not numerals: list marks, ordinals, digits in names, small number words that count things in prose ("two causes"), one-digit counts
  of reasons, options or steps to take.
* Direction words are checked only where they claim something of this run: conditions, advice, negations and general statements
  are left alone, and so is a part of a run that the words do not bound by steps.
* What is said of all values ("never below 0.1", "always 0.4", "did not change", "back to its start", "becomes negative", "highest at the
  end", "the third highest at step 66") is held against every printed one. Fractions ("a quarter of its start", 三分之一, ¼) and multiples
  in words are recomputed like percentages; "by 20 %" and "to 20 % of its start" are told apart.
* Claims on a curve are recomputed, so that they need no fact when they are right: where it peaks, bottoms out, jumps or first passes a
  level, in how many steps it is above one, between which levels it stays, its mean, median or deviation over a stretch or the whole run,
  two of its steps compared (``curves.py``, ``levels.py``). So are two metrics compared or moving together, their ratio, which finding came
  first and where one began, a "from … to …" that runs backwards (``relations.py``), and how many problems, steps, GPUs, updates a step and
  answers a prompt there are, how often it validates, which algorithm it is (``whole_log.py``).
* In a table, the column or row names metric, step and role (first, last, max, min, mean) of a cell (``tables.py``).
* Keys in code, or shaped like ``actor/pg_loss`` or ``algorithm.gamma``, must exist in the log, in a card, or in the user's words; so must
  options (``--flag``, ``+key=``) that are not among the usual ones of torchrun, pip, ray, vLLM and the trainers.
* "The run is healthy" against findings, "the run has collapsed" without any, and a finding that was checked and is fine, are
  contradictions; a finding that neither the checks nor the shown cards carry is marked as the model's own guess.
* Tolerances: a peak within 8 % of the curve's range (15 % where "peak" may be a local one) and an onset one step off pass; a claim must be
  wrong for every key that a name can mean.
* Limits: a value without a metric's name beside it passes when any fact has it ("134 tokens at the start"); events that are told in order
  without steps ("the reward fell first, then the length"), a cause in words, epochs, "hardly any", and a place in words ("in the first
  third") are not checked; "since step 40 it falls" only when the trend is clear; a right value that no fact has is marked unless its step,
  its place (last, highest) or its stretch is named; a value beside a step in words (第二百步, "step two hundred") is checked without it;
  circled and raised digits, 1/4 in digits and ranks without a step are not read.
* Links keep their text, images and HTML lose their effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assistant.answers.checking.claims import judged
from assistant.answers.checking.curves import curve_claims
from assistant.answers.checking.directions import settled, wrong_directions
from assistant.answers.checking.grounds import Grounds, Proof
from assistant.answers.checking.matching import Matcher
from assistant.answers.checking.names import without_active_content, wrong_names
from assistant.answers.checking.numbers import Number
from assistant.answers.checking.numerals import Numeral, numerals
from assistant.answers.checking.relations import relation_claims
from assistant.answers.checking.scope import scoped
from assistant.answers.checking.tables import table_claims
from assistant.answers.checking.universals import holding_bounds, wrong_universals
from assistant.answers.grounding.evidence import Evidence, Fact
from assistant.messages import Language, say

_PLACEHOLDER = re.compile(r"\{\{?\s*([EK]\d+)(?:\.(value|step|line|text))?\s*\}\}?")
_CITATION = re.compile(r"\s?(?:\[|【|\(|（)\s*(?:[EK]\d+(?:\s*[,，;、/]\s*)?)+\s*(?:\]|】|\)|）)|(?<![\w{])\b[EK]\d{1,3}(?=\s?=)\s?=\s?")


@dataclass(frozen=True, slots=True)
class Issue:
    """Something that may not be shown unmarked: ``kind`` is a key ``verify.<kind>`` of the catalogue; ``right`` what would be true."""

    kind: str
    start: int
    end: int
    text: str
    right: str = ""


@dataclass(slots=True)
class Verified:
    """``markdown`` has the marks in it; ``plain`` is the filled text that the issues' positions refer to."""

    markdown: str
    plain: str
    numbers: list[Number]
    issues: list[Issue]
    n_sentences: int = 0
    cited: frozenset[str] = field(default_factory=frozenset)

    @property
    def n_wrong(self) -> int:
        return len(self.issues)


def verify(
    draft: str, evidence: Evidence, language: Language, *, shown: str = "", said: str = "", grounds: Grounds | None = None
) -> Verified:
    """``draft`` checked. ``shown`` is the text that the model was given, ``said`` the user's words (question and earlier ones)."""
    grounds = grounds or Grounds(evidence, shown, said)
    text, cited, issues = filled(without_active_content(draft), grounds.by_id)
    numbers, found, n_sentences = check_text(text, cited, grounds, language)
    return finished(text, numbers, [*issues, *found], n_sentences, cited, language)


def check_text(text: str, cited: Mapping[int, str], grounds: Grounds, language: Language) -> tuple[list[Number], list[Issue], int]:
    """Each numeral of ``text`` with what it stands for, and what is wrong; ``cited`` gives the fact of each filled placeholder."""
    found = numerals(grounds.without_names(text))
    rows = scoped(text, found, grounds.evidence)
    matcher = Matcher(grounds, cited=dict(cited))
    issues: list[Issue] = []
    numbers: list[Number] = []
    previous = None
    of_tables = table_claims(text, rows, grounds)
    for row in rows:
        quoted = grounds.quoted(row.text)
        claims = [of_tables, curve_claims(row, grounds), relation_claims(row, grounds)]
        holding = holding_bounds(row, grounds.series).union(*(one.right for one in claims))
        contradicted = {start: right for one in claims for start, _, right in one.wrong}
        for numeral, proof in matcher.match(row, previous):
            if proof is None:
                continue
            if numeral.start in contradicted and not quoted:
                proof, matcher.right[numeral.start] = Proof("unverified", "number"), contradicted[numeral.start]
            elif proof.status == "unverified" and numeral.start in holding:
                proof = Proof("derived")
            if quoted and proof.status == "unverified":
                proof = Proof("knowledge")
            numbers.append(Number(numeral.text, numeral.start, proof.status, proof.source))
            if proof.status == "unverified":
                issues.append(
                    Issue(proof.source or "number", numeral.start, numeral.end, numeral.text, matcher.right.get(numeral.start, ""))
                )
                numbers[-1] = Number(numeral.text, numeral.start, "unverified")
        if quoted:
            continue
        printed = {key: grounds.series(key) for mention in row.mentions for key in mention.keys}
        for claim in wrong_directions(row, printed, settled(row.numbers) | matcher.changes):
            issues.append(Issue("direction", claim.start, claim.end, claim.text, say(f"verify.{claim.right}", language)))
        wrong = [*wrong_universals(row, grounds.series), *(found for one in claims[1:] for found in one.wrong)]
        issues += [Issue("number", start, end, text[start:end], right) for start, end, right in wrong]
        issues += [Issue(kind, start, end, text[start:end], right) for kind, start, end, right in judged(row, grounds, language)]
        if any(m.kind == "metric" for m in row.mentions) or not row.text.strip(" \n*-#>"):
            previous = row
        elif "\n\n" in row.text:
            previous = None
    issues += [Issue("name", start, end, text[start:end]) for start, end in wrong_names(text, grounds)]
    return numbers, issues, len(rows)


def finished(
    text: str, numbers: Sequence[Number], issues: Sequence[Issue], n_sentences: int, cited: Mapping[int, str], language: Language
) -> Verified:
    """``text`` with its issues marked."""
    kept = _once(issues)
    ids = frozenset(fact for fact in cited.values() if fact)
    return Verified(marked(text, kept, language), text, sorted(numbers, key=lambda n: n.start), kept, n_sentences, ids)


def filled(draft: str, by_id: Mapping[str, Fact]) -> tuple[str, dict[int, str], list[Issue]]:
    """``draft`` with placeholders filled and citations taken out; position of each filled value → its fact."""
    out: list[str] = []
    cited: dict[int, str] = {}
    issues: list[Issue] = []
    size = 0

    def put(part: str) -> None:
        nonlocal size
        out.append(part)
        size += len(part)

    at = 0
    for m in _PLACEHOLDER.finditer(draft):
        put(_CITATION.sub("", draft[at : m.start()]))
        at = m.end()
        fact = by_id.get(m[1])
        value = None
        if fact is not None:
            wanted = m[2] or "value"
            value = fact.text if wanted in ("value", "text") else fact.step if wanted == "step" else fact.line
        if fact is None or value is None:
            if m[1].startswith("K"):
                continue
            issues.append(Issue("placeholder", size, size + len(m[0]), m[0]))
            put(m[0])
            continue
        if m[2] in (None, "value", "text"):
            cited[size] = fact.id
            if re.match(r"\s?%", draft[at : at + 2]) and str(value).endswith("%"):
                at += draft[at : at + 2].index("%") + 1
        put(str(value))
    put(_CITATION.sub("", draft[at:]))
    return "".join(out), cited, issues


def marked(text: str, issues: Sequence[Issue], language: Language) -> str:
    """``text`` with every issue struck or flagged where it stands."""
    out, at = [], 0
    for issue in sorted(issues, key=lambda i: (i.start, -i.end)):
        if issue.start < at:
            continue
        note = say(f"verify.{issue.kind}", language, right=issue.right)
        if issue.right and f"verify.{issue.kind}_right" in _WITH_RIGHT:
            note = say(f"verify.{issue.kind}_right", language, right=issue.right)
        inner = text[issue.start : issue.end]
        lead = len(inner) - len(inner.lstrip(" \n*-#>`"))
        body = inner[lead:].rstrip()
        rest = inner[lead + len(body) :]
        shown = f"{inner[:lead]}{body if issue.kind == 'guess' else _struck(body)} {note}{rest}"
        start, end = issue.start, issue.end
        # A code span cannot hold the mark: the whole span is struck.
        if (span := _code_span(text, start, end)) and span[0] >= at:
            start, end = span
            shown = f"{_struck(text[start:end])} {note}"
        out += [text[at:start], shown]
        at = end
    out.append(text[at:])
    return "".join(out)


_WITH_RIGHT = frozenset(
    {
        "verify.number_right",
        "verify.metric_right",
        "verify.run_right",
        "verify.step_right",
        "verify.direction_right",
        "verify.verdict_right",
        "verify.fine_right",
        "verify.setting_right",
    }
)


def _struck(body: str) -> str:
    return "~~" + re.sub(r"~~|\s*\n\s*", " ", body) + "~~" if body else ""


def _code_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    for m in re.finditer(r"`[^`\n]+`", line):
        a, b = line_start + m.start(), line_start + m.end()
        if a < start and end < b:
            return a, b
    return None


def _once(issues: Sequence[Issue]) -> list[Issue]:
    """One issue a place; a sentence-wide one swallows those inside it."""
    kept: list[Issue] = []
    for issue in sorted(issues, key=lambda i: (i.start - i.end, i.start)):
        if not any(other.start <= issue.start and issue.end <= other.end for other in kept):
            kept.append(issue)
    return sorted(kept, key=lambda i: i.start)


__all__ = ["Issue", "Numeral", "Verified", "filled", "marked", "verify"]
