"""An answer short first: what is worth least goes until it is short enough; "more" brings it back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from assistant.answers.grounding.context import Context, words_of
from assistant.answers.grounding.evidence import length, sentences
from assistant.answers.writing.about import speaks, terms_of

SHORT = 120
"""Words that an answer has at most, unless more is asked for; its verdict, what is seen and the first remedy always stay."""
LONG = 150
"""Words from which on also what speaks of the question's own words goes."""
_DETAILS = re.compile(
    r"\b(?:in detail|details|in depth|(?:tell|explain|know|say|show)\b.{0,12} everything|everything about|step by step|at length|"
    r"thorough\w*)\b|详细|具体说|展开|深入|全部原因|所有原因",
    re.IGNORECASE,
)
_ONE = re.compile(r"\bin (?:one|a|a single) sentence\b|\btl;?\s?dr\b|\bone[- ]liner\b|一句话|一句总结", re.IGNORECASE)
_FIRST_TO_GO = ("label_watch", "label_rules_out", "label_similar", "label_version", "label_healthy", "label_meaning")
_HEARD = ("You may have", "你可能")
_ROWS = re.compile(r"(?<=[.。])\s*(?=`[^`\n]+`\s?[:：])")
_DEFINITION = re.compile(r"`[^`\n]+`\s?[:：]\s?[^\d\s-]")
CAUSES = 2


def brief(context: Context, parts: Sequence[str]) -> list[str]:
    """``parts`` (paragraphs, the verdict first) with at most `SHORT` words where that can be had by leaving whole sentences out.

    What goes first: what a card says in general, further causes, values of metrics that were not named, the second remedy. What
    speaks of the question's own words goes last.
    """
    kept = [part.strip() for part in parts if part.strip()]
    if _ONE.search(context.question.text) and len(kept) > 1:
        return [context.glue([kept[0], *sentences(kept[1], context.language)[:1]])]
    if _DETAILS.search(context.question.text):
        return kept
    wanted = terms_of(context)
    labels = [
        context.say(label).strip() for label in _FIRST_TO_GO if not (label == "label_meaning" and context.question.intent == "meaning")
    ]
    starts = (*labels, *_HEARD)
    for start in starts:
        general = [part for part in kept[1:] if part.startswith(start) and (start == labels[0] or not speaks(part, wanted))]
        _drop(kept, general.__contains__)
    _drop(kept, lambda part: part.startswith(context.say("label_setting").strip()) and "`" not in part)
    for name in ("setting_pitfall", "setting_shows", "setting_safe", "setting_effect"):
        start = context.say(name, text="").strip()
        _drop(kept, lambda part, start=start: part.startswith(start))  # type: ignore[misc]
    for name in ("looks_odd", "cannot_tell"):
        start = context.say(name, titles="\0", n="\0", needs="").partition("\0")[0].strip()
        _drop(kept, lambda part, start=start: part.startswith(start))  # type: ignore[misc]
    for shorten in (_fewer_causes, _fewer_values, _one_remedy):
        _shorten(context, kept, shorten)
    _drop(kept, lambda part: part.startswith(starts), LONG)
    if context.evidence.findings and context.question.intent == "compare":
        _drop(kept, lambda part: bool(_DEFINITION.match(part)))
    for shorten in (_shorter_root, _first_row):
        _shorten(context, kept, shorten)
    for shorten in (_shorter_summary, _one_cause, _shorter_story):
        _shorten(context, kept, shorten, LONG)
    return kept


def _drop(kept: list[str], go: Callable[[str], bool], most: int = SHORT) -> None:
    """Take out the paragraphs that may go, the last first, until the rest is short enough; never the first one."""
    for part in [part for part in kept[1:] if go(part)][::-1]:
        if words_of(kept) > most:
            kept.remove(part)


def _shorten(context: Context, kept: list[str], shorten: Callable[[Context, str], str], most: int = SHORT) -> None:
    for index, part in enumerate(kept):
        if index and words_of(kept) > most:
            kept[index] = shorten(context, part)


def _shorter_root(context: Context, part: str) -> str:
    """Of the earlier problem that explains this one, its name and its first sentence."""
    lead = context.say("label_why") + context.say("follows", titles="\0").partition("\0")[0]
    if not part.startswith(lead):
        return part
    rows = sentences(part.removeprefix(lead), context.language)
    return lead + context.glue(rows[:2])


def _first_row(context: Context, part: str) -> str:
    label = context.say("label_values")
    return label + _ROWS.split(part.removeprefix(label))[0] if part.startswith(label) else part


def _fewer_causes(context: Context, part: str) -> str:
    """The likeliest causes of a list of them."""
    lead = context.say("label_why") + context.say("causes", causes="\0").partition("\0")[0]
    if not part.startswith(lead):
        return part
    joint = context.say("list_join")
    rows = part.removeprefix(lead).split("\n")[0].split(joint)
    if len(rows) <= CAUSES or length(part) < 20:
        return part
    return lead + joint.join(rows[:CAUSES]).rstrip(".。") + context.say("stop")


def _shorter_summary(context: Context, part: str) -> str:
    """Of what is seen the first two sentences and the last: what it means."""
    if part.startswith(("**", "-", "`")) or "\n" in part or "“" in part:
        return part
    rows = sentences(part, context.language)
    return context.glue([*rows[:2], rows[-1]]) if len(rows) > 3 else part


def _one_cause(context: Context, part: str) -> str:
    """The likeliest cause alone."""
    lead = context.say("label_why") + context.say("causes", causes="\0").partition("\0")[0]
    if not part.startswith(lead) or "\n" in part:
        return part
    rows = part.removeprefix(lead).split(context.say("list_join"))
    return lead + rows[0].rstrip(".。") + context.say("stop") if len(rows) > 1 else part


def _shorter_story(context: Context, part: str) -> str:
    """Of the further findings of a run the first one by name."""
    lead = context.say("then", titles="\0").partition("\0")[0]
    rows = part.removeprefix(lead).split(context.say("list_join"))
    return lead + rows[0].rstrip(".。") + context.say("stop") if part.startswith(lead) and len(rows) > 1 else part


def _fewer_values(context: Context, part: str) -> str:
    """The first row of values, and those of metrics that the question names."""
    label = context.say("label_values")
    if not part.startswith(label):
        return part
    rows = _ROWS.split(part.removeprefix(label))
    named = {context.key(metric) for metric in context.question.metrics} | set(context.question.extra_keys)
    kept = [row for index, row in enumerate(rows) if not index or any(row.startswith(f"`{key}`") for key in named)]
    return label + context.glue(kept)


def _one_remedy(context: Context, part: str) -> str:
    """The first of several remedies: the mildest one that acts on the likeliest cause."""
    label = context.say("label_do")
    lines = [line for line in part.removeprefix(label).split("\n") if line.startswith("- ")]
    return label + lines[0].removeprefix("- ") if part.startswith(label.strip()) and len(lines) > 1 else part
