"""The language of a question: English or Chinese; everything else is answered in English."""

from __future__ import annotations

import re

from assistant.messages import Language

_HAN = re.compile(r"[\u3400-\u9fff]")
_OTHER = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")  # kana and hangul: Han beside them is not Chinese
_WORDS = re.compile(r"[A-Za-z]+")
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”|「[^」\n]*」|`[^`\n]*`')
_ASKS = re.compile(
    r"(?:为什么|为何|为啥|怎么\w{0,6}|什么|如何|是否|是不是|有没有|正常|原因|怎样|咋\w{0,3}|多少|哪\w{0,3}|吗|呢|么|求助|请问)[^A-Za-z\n]*$"
    r"|^\W*(?:为什么|为何|为啥|怎么|如何|请问|请|是不是|求助|什么|报错)(?=[^A-Za-z]*[A-Za-z\u3400-\u9fff])"
)
"""A question word at the end or the beginning: the sentence is Chinese, however long the English message in it is."""
_ENGLISH = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "at",
        "be",
        "because",
        "but",
        "can",
        "did",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "not",
        "of",
        "on",
        "or",
        "should",
        "so",
        "than",
        "that",
        "the",
        "then",
        "there",
        "these",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "why",
        "will",
        "with",
        "would",
        "you",
    ]
)


def detect(text: str, default: Language = "en") -> Language:
    """``text`` is Chinese when Han characters carry the sentence, not only a name inside an English one.

    English metric names do not count against Chinese: only English function words do.
    """
    sample = text[:4000]
    han = len(_HAN.findall(sample))
    if not han:
        return "en" if _WORDS.search(sample) else default
    if _OTHER.search(sample):
        return "en"
    if _ASKS.search(_QUOTED.sub(" ", sample).strip()):
        return "zh"
    english = sum(word.lower() in _ENGLISH for word in _WORDS.findall(sample))
    return "zh" if han >= 2 * english else "en"
