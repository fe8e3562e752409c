"""Several questions in one text: where it comes apart, and whether the parts ask for different things."""

from __future__ import annotations

import re
from dataclasses import replace

from assistant.answers.grounding.context import Context
from assistant.answers.understanding.question import Question, understand
from assistant.lexicon import of_run

MOST = 3
LONGEST = 400
"""Characters beyond which a text is read as one question with its story."""
_ENDS = re.compile(
    r"[?？]\s*|[,，;；]\s*(?=(?:and |also )?(?:what|why|when|how|is|are|should|does|do|did|which|where|can|will)\b)"
    r"|\s(?=and (?:what|why|when|how|should|which|where)\b)|[,，;；。]\s*(?=(?:还有|另外|以及|顺便|为什么|怎么|要不要|该不该|"
    r"什么时候|还要))",
    re.IGNORECASE,
)
_ALONE = frozenset({"unknown", "concept", "which", "happened", "two_steps", "same", "compare", "top_why", "more", "sure", "others"})
"""Intents that are not made out of a part of a sentence."""
_BEGINS = re.compile(
    r"^\W*(?:and |also |so )?(?:what|why|when|how|is|are|should|does|do|did|which|where|can|could|will|would|has|have)\b"
    r"|^\W*(?:还有|另外|以及|顺便)?(?:为什么|怎么|要不要|该不该|什么时候|还要|是不是|有没有)",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"^\W*(?:when|if|while|as|since|after|once|because|given)\b|^\W*(?:当|如果|若|既然|因为|在)", re.IGNORECASE)
_ENDS_ASKING = re.compile(r"(?:吗|么|呢|为什么|怎么回事|多少|多久|什么|够不够|怎么办|几步|哪里?)\W*$")


def questions_in(context: Context) -> list[Question]:
    """The questions of a text when they are about different things, each read on its own; else an empty list."""
    whole = context.question
    if whole.follow_up or whole.intent in _ALONE or len(whole.text) > LONGEST:
        return []
    texts = [part.strip() for part in _asked(whole.text)]
    texts = [re.sub(r"^(?:and|also|还有|另外|以及|顺便)\s*", "", text, flags=re.IGNORECASE) for text in texts]
    if not 2 <= len(texts) <= MOST:
        return []
    run = context.diagnosis.run
    present = {name.canonical for name in context.view.names.values()}
    lexicon = of_run(run)
    read = [understand(f"{text}?", run_lexicon=lexicon, present=present, language=whole.language) for text in texts]
    read = [replace(one, earlier=whole.earlier, talk=whole.talk) for one in read]
    subjects = [_subject(one) for one in read]
    if any(not subject or one.intent in _ALONE for subject, one in zip(subjects, read, strict=True)):
        return []
    if sum(subject == {"overview"} for subject in subjects) == len(read):
        return []
    apart = all(not subjects[i] & subjects[j] for i in range(len(read)) for j in range(i))
    return read if apart else []


def _asked(text: str) -> list[str]:
    """The parts of a text when each of them asks: ends with a question mark, or begins with a question word; else nothing."""
    out, start = [], 0
    for match in (*_ENDS.finditer(text), None):
        part = text[start : match.start() if match else len(text)]
        marked = match is not None and match[0].strip()[:1] in ("?", "？")
        start = match.end() if match else len(text)
        if not part.strip(" ?？.。!！"):
            continue
        if not marked and _CONDITION.search(part):
            return []
        if not marked and not _BEGINS.search(part) and not _ENDS_ASKING.search(part):
            return []
        out.append(part)
    return out


def _subject(question: Question) -> set[str]:
    """What a question is about: metrics, settings, findings, a topic, the time or the whole run."""
    named = {*question.metrics, *question.extra_keys, *question.settings, *question.findings}
    if named:
        return named
    if question.topic:
        return {question.topic}
    return {question.intent} if question.intent in ("time", "overview", "crash") else set()
