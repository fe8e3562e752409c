"""What a sentence says about the run as a whole, held against the diagnosis: healthy, collapsed, a fault that no check found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assistant.answers.checking.grounds import Grounds
from assistant.answers.checking.scope import Mention, Sentence
from assistant.cards import card, cards
from assistant.diagnosis import render
from assistant.messages import Language

_EVENTS: Mapping[str, re.Pattern[str]] = {
    "gradient-explosion": re.compile(
        r"\b(?:gradients?|grad(?:ient)? norms?)\b[^.,;]{0,16}?\b(?:explod(?:es|ed)|bl[eo]ws? up)\b|梯度(?:范数)?(?:已经)?爆(?:炸|了|掉)",
        re.I,
    ),
    "kl-blowup": re.compile(r"\bkl\b[^.,;]{0,24}?\b(?:explod(?:es|ed)|blew up|blows up|ran away)\b|kl\s?(?:已经)?(?:爆炸|爆了|失控)", re.I),
    "entropy-explosion": re.compile(r"\bentropy\b[^.,;]{0,16}?\b(?:explod(?:es|ed)|blew up|blows up)\b|熵(?:已经)?(?:爆炸|爆了)", re.I),
}
"""Sentences that state a fault without its name."""
_LANGUAGES: tuple[Language, ...] = ("en", "zh")
_HEALTHY = re.compile(
    r"\b(?:run|training|train|job|model|experiment|everything|all (?:the )?metrics|overall|it|log|this|things?|curves?|"
    r"loss curves?)\b[^.,;]{0,30}?\b(?:is|are|looks?|seems?|appears?|remains?|goes|going|"
    r"'s)\b(?: to be)?[^.,;]{0,20}?\b(?:healthy|fine|normal|ok(?:ay)?|perfect(?:ly)?|good|well|in order|as expected|stable|"
    r"successful)\b"
    r"|\b(?:no|zero|without any) (?!such\b|nan\b|cuda\b|gpu\b|oom\b|nccl\b|memory\b|inner\b|other\b)(?:[a-z]+ ){0,2}?"
    r"(?:problems?|issues?|faults?|anomal(?:y|ies)|errors?|concerns?|findings?(?! (?:says?|names?|shows?|carries|supports?"
    r"|begins?|starts?|falls?|lies?)\b)|"
    r"signs? of (?:trouble|problems?|instability)|red flags)\b"
    r"|\bnothing (?:is |looks |seems |was )?(?:wrong|abnormal|unusual|to worry|to fix|to change|to do)\b(?! (?:for|about|"
    r"because)| with (?!this|the (?:run|training|log)|your (?:run|training)|it\b))|\b(?:healthy|normal|successful|"
    r"stable) (?:run|training|log)\b|\bno (?:action|change|fix)s? (?:is |are )?(?:needed|required|necessary)\b|"
    r"\bno need to (?:worry|change|act)\b|\bverdict\W{0,6}(?:healthy|ok|pass)"
    r"|(?:训练|运行|任务|模型|一切|整体|总体|所有指标|全部指标|各项指标|日志|曲线|这次|本次)[^。，；,;]{0,12}?(?:健康|正常|"
    r"良好|没有问题|没问题|无异常|稳定|完美|顺利)|(?:没有|未|并未|无)(?:发现|检测到|看到|任何|存在|出现)*(?:问题|异常|故障|"
    r"毛病|错误)|一切正常|无需(?:担心|修改|处理|调整|改动)|不用(?:担心|改动)|不需要(?:修改|处理|调整|做)",
    re.IGNORECASE,
)
_BROKEN = re.compile(
    r"\b(?:run|training|job|model|policy|experiment)\b[^.,;]{0,16}?\b(?:has |have |is |was |had |completely |totally |"
    r"already )*(?:collapsed|broken|diverged|diverging|crashed|failed|failing|unstable|unhealthy|ruined|degenerate[d]?|dead|"
    r"exploded)\b"
    r"|(?:训练|模型|策略|运行|任务)(?:已经|已|完全|彻底)?(?:崩溃|崩了|发散|失败|不健康|不稳定|坍缩|坏了|废了|爆炸|挂了)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:nothing|not?|never|none|without|isn't|aren't|wasn't|doesn't|don't|didn't|hasn't|no sign|rather than|instead of|unlikely|"
    r"rule[sd]? out|excludes?|absent|neither|nor|far from|free of|contradict\w*)\b|n't\b|没有|未|并非|不是|不会|无|排除|"
    r"而非|并不|不算|非|谈不上|不像|看不出",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|would|should|could|can|risks?|prevent\w*|avoid\w*|until|before|unless|whether|once|when|to (?:see|check|"
    r"confirm|rule)|watch(?: for)?|check|sign of|look for|may lead|might lead|leads? to|called|named|defined|in general|"
    r"usually|typically|e\.g|such as|like|related to|compared? (?:to|with)|difference|versus|vs|means?|otherwise|what)\b"
    r"|如果|若|风险|避免|防止|之前|是否|一旦|当|确认|观察|可能导致|会导致|容易|叫做|称为|一般|通常|例如|比如|区别|相比|意味|"
    r"指的?是|否则|除非|预防|担心|警惕|什么",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"[\s`*\"”」』]*(?:(?:was|is|were|has been) )?(?:checked|ruled out|excluded|not|absent|fine)\b|[\s`*\"”」』]*(?:已检查|"
    r"已排除|不成立|没有|未)",
    re.IGNORECASE,
)
_GOOD = re.compile(r"^(?:but|except|apart|other than|besides|aside)|除了|以外|之外|但", re.IGNORECASE)


def judged(sentence: Sentence, grounds: Grounds, language: Language) -> Iterator[tuple[str, int, int, str]]:
    """(kind, start, end, what is right) of each contradiction or guess in the sentence."""
    diagnosis = grounds.evidence.diagnosis
    serious = [f for f in diagnosis.faults if f.severity in ("critical", "high", "medium")]
    text = _without_titles(sentence)
    if serious and (m := _HEALTHY.search(text)) and _of_whole_run(sentence, m, grounds):
        yield "verdict", sentence.start, sentence.end, "; ".join(render.title(f, language) for f in serious[:2])
        return
    if not diagnosis.faults and (m := _BROKEN.search(text)):
        first, last = sentence.clause(sentence.start + m.start())
        if not _NEGATED.search(sentence.whole[first : sentence.start + m.end()]) and not _CONDITION.search(sentence.whole[first:last]):
            yield "broken", sentence.start, sentence.end, ""
            return
    reported = {f.id for f in diagnosis.findings} | {name for f in diagnosis.findings for name in f.follows}
    for name, pattern in _EVENTS.items():
        if name in reported or (m := pattern.search(sentence.text)) is None:
            continue
        start, end = sentence.start + m.start(), sentence.start + m.end()
        first, last = sentence.clause(start)
        named = any(x.kind == "finding" and x.start < end and x.end > start for x in sentence.mentions)
        if not named and not _NEGATED.search(sentence.whole[first:end]) and not _CONDITION.search(sentence.whole[first:last]):
            known = name in diagnosis.fine
            yield ("fine" if known else "guess"), start, end, card(f"findings/{name}").title(language) if known else ""
    for mention in sentence.mentions:
        if mention.kind != "finding" or set(mention.names) & reported:
            continue
        first, last = sentence.clause(mention.start)
        lead = sentence.whole[max(first, mention.start - 60) : mention.start]
        if (
            _NEGATED.search(lead)
            or _CONDITION.search(sentence.whole[first:last])
            or _NEGATED.search(sentence.whole[mention.end : min(last, mention.end + 30)])
            or _SETTLED.match(sentence.whole[mention.end : mention.end + 40])
        ):
            continue
        if any(name in diagnosis.fine for name in mention.names) and _stated(sentence, mention):
            yield "fine", mention.start, mention.end, card(f"findings/{mention.names[0]}").title(language)
        elif not _carried(sentence, mention, grounds):
            yield "guess", mention.start, mention.end, ""


def _without_titles(sentence: Sentence) -> str:
    """The sentence with names of findings blanked: "Policy entropy collapsed" is a title here, no verdict of its own."""
    text = sentence.text
    for mention in sentence.mentions:
        if mention.kind == "finding":
            a, b = mention.start - sentence.start, mention.end - sentence.start
            text = text[:a] + "_" * (b - a) + text[b:]
    return text


def _of_whole_run(sentence: Sentence, found: re.Match[str], grounds: Grounds) -> bool:
    """Whether "fine" is said of the run, or of a metric that a fault is about; not of another metric, and not as a negation."""
    start, end = sentence.start + found.start(), sentence.start + found.end()
    if re.search(r"方面|\bchecks? (?:calls|of|on)\b|这一?项|该项", sentence.whole[max(sentence.start, start - 24) : end], re.IGNORECASE):
        return False
    first, last = sentence.clause(start)
    lead = sentence.whole[max(sentence.start, start - 30) : start]
    inside = found[0]
    if re.search(
        r"\b(?:not|isn't|aren't|far from|hardly|neither)\b|n't\b|不(?!用|需要|需)|并非|谈不上", inside, re.IGNORECASE
    ) and not re.search(r"\b(?:no|nothing|without)\b|没有|未|无|一切", inside, re.IGNORECASE):
        return False
    if re.search(
        r"\b(?:not|isn't|doesn't|never|cannot|can't|hardly|if|whether|until|when|would|should|healthy run|"
        r"a healthy)\s[^.]{0,16}$|不是|并非|不能说|是否|如果|若|直到",
        lead,
        re.IGNORECASE,
    ):
        return False
    if _CONDITION.search(sentence.whole[first:last]) and not re.search(
        r"\b(?:run|training) (?:is|looks)\b|训练.{0,4}正常", inside, re.IGNORECASE
    ):
        return False
    if _GOOD.search(sentence.whole[end : end + 24].strip()) or re.search(
        r"\b(?:other|remaining|rest|besides|apart|otherwise)\b|其他|其余|除", sentence.whole[first:end], re.IGNORECASE
    ):
        return False
    metrics = [m for m in sentence.mentions if m.kind == "metric" and m.end <= end + 12]
    if not metrics:
        return not any(m.kind == "setting" for m in sentence.mentions if m.end <= end)
    faulty = {point.metric for f in grounds.evidence.diagnosis.faults for point in f.evidence[:1]}
    names_run = re.search(r"\b(?:run|training|everything|overall)\b|训练|整体|一切|运行", inside, re.IGNORECASE)
    return bool(names_run) or any(set(m.keys) & faulty for m in metrics)


def _stated(sentence: Sentence, mention: Mention) -> bool:
    """Whether the text says that it happens, not only what it is."""
    after = sentence.whole[mention.end : mention.end + 40]
    lead = sentence.whole[max(sentence.start, mention.start - 40) : mention.start]
    return bool(
        re.match(
            r"[\s`*\"”」』]*(?:\b(?:is|was|has|happen\w*|occur\w*|started|began|since|at step|from step|detected|found|"
            r"in this run)\b|发生|出现|从第|自第|了|存在)",
            after,
            re.IGNORECASE,
        )
        or re.search(
            r"(?:\b(?:is|was|shows?|suffers? from|signs of|clear|due to|because of|caused by|result of|from|has|have|had)|"
            r"出现了?|发生了?|存在|由于|因为|表明|说明|属于|是)\s*(?:a |an |the )?(?:case of )?[\"“「『`*\s]*$",
            lead,
            re.IGNORECASE,
        )
    )


def _carried(sentence: Sentence, mention: Mention, grounds: Grounds) -> bool:
    """Whether a cause of a reported finding names it, or, where it is only mentioned, a shown card or the user does."""
    evidence = grounds.evidence
    causes = " ".join(cause for f in evidence.diagnosis.findings for cause in render.causes(f, evidence.language)).lower()
    mentioned = not _stated(sentence, mention)
    for name in mention.names:
        found = cards().get(f"findings/{name}")
        titles = [name, *(found.title(lang).lower() for lang in _LANGUAGES)] if found else [name]
        if any(title in causes for title in titles) or sentence.whole[mention.start : mention.end].lower() in causes:
            return True
        if mentioned and (f"findings/{name}" in evidence.cards or any(title in grounds.said.lower() for title in titles)):
            return True
    return False
