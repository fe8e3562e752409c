"""What a sentence says of places in a curve, held against every printed value: where it is highest, when it first passed a level, what
it averages over a stretch, in how many steps it is above a level, where it jumped, between which levels it stayed.

Such a claim is recomputed from the log, so that it is known to be right as well as wrong: the numbers of one that holds need no fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from assistant.answers.checking.grounds import Grounds, agrees
from assistant.answers.checking.levels import counts, crossings, statistics, stays
from assistant.answers.checking.numerals import Numeral, approximate
from assistant.answers.checking.on_curves import IN_PART, Claims, Judgement, Verdict, decide, scales
from assistant.answers.checking.phrases import DIFFERENCE, FROM, ROLE
from assistant.answers.checking.scope import Sentence
from assistant.run import FloatArray, Series

_HIGH = (
    r"\b(?:peak(?:s|ed)?|topped out|(?:highest|maximum|largest|all-time high)(?: (?:point|value|level|reading))?)\b"
    r"|峰值|最高(?:点|值|处)?|最大值?|顶点"
)
_LOW = r"\b(?:bottom(?:s|ed) out|(?:lowest|minimum|smallest)(?: (?:point|value|level|reading))?)\b|谷底|最低(?:点|值|处)?|最小值?"
_PLACE = re.compile(
    rf"(?<!second )(?<!third )(?<!fourth )(?<!fifth )(?<!second-)(?<!third-)(?<!第[二三四五])(?:(?P<high>{_HIGH})|(?P<low>{_LOW}))"
    r"(?!\s?(?:jump|drop|rise|increase|fall|change|gain)|的?(?:跳|变化|跌幅|涨幅|突变|降幅|波动))",
    re.IGNORECASE,
)
_STRETCH = re.compile(r"\bsteps \d+\s?(?:–|-|to|and)\s?\d|第?\s?\d+\s?步?\s?(?:–|-|~|至|到)\s?第?\s?\d+\s?步", re.IGNORECASE)
_LOCAL = re.compile(r"peak|bottom|峰值|谷底", re.IGNORECASE)
_JUMP = re.compile(
    r"\b(?:largest|biggest|sharpest|steepest)\b[^.;]{0,14}?\b(?:(?P<down>drop|fall|decrease|decline)|(?P<up>rise|increase|gain)"
    r"|(?P<any>jump|change|spike|step|swing))\b"
    r"|最大的?(?:一次)?(?:单步)?(?:(?P<down_zh>跌幅|降幅|下降)|(?P<up_zh>涨幅|升幅|上升)|(?P<any_zh>跳变|跳跃|变化|突变|波动))",
    re.IGNORECASE,
)
_BURST = re.compile(
    r"(?P<up>\b(?:spik(?:es|ed)|shot up|surged|soared|jumped up)\b|飙升|突增|跳升|暴涨|激增|冲高)"
    r"|(?P<down>\b(?:plunged|plummeted|crashed|dropped sharply|fell sharply)\b|暴跌|骤降|突降|骤跌)",
    re.IGNORECASE,
)
_THAN = re.compile(
    r"(?P<up>\b(?:higher|larger|greater|bigger|longer|more)\b)[^.;]{0,24}?\bthan (?:it (?:was|is) )?(?:at|in|on)\b"
    r"|(?P<down>\b(?:lower|smaller|shorter|less|fewer)\b)[^.;]{0,24}?\bthan (?:it (?:was|is) )?(?:at|in|on)\b",
    re.IGNORECASE,
)
_THAN_ZH = re.compile(
    r"比\s?第\s?\d+\s?步(?:时|处)?的?[^。；，]{0,3}(?:还|更|要)?(?:(?P<up>高|大|长|多)|(?P<down>低|小|短|少))(?!约|出?\d)"
)
_LAST_STEP = re.compile(
    r"\b(?:at|in|by|on) the (?:very )?(?:last|final) (?:step|iteration|value)\b|\bat the end\b|\bin the end\b|最后一?步|末步|最后", re.I
)
_IN_LAST = re.compile(
    r"^(?:[^.;,。；，]|\.(?=\d)){0,24}?(?:(?:at|in|of) the (?:very )?(?:last|final) (?:step|value)|at the end\b"
    r"|(?:出现)?在最后一?步|在末步)",
    re.IGNORECASE,
)
_BEHIND_END = re.compile(r"^[\s`*%]*(?:tokens?|s|GB)?\s?(?:at the (?:very )?(?:end|last step|final step)|in the end)\b", re.IGNORECASE)
_FINAL_SIGN = re.compile(
    r"\b(?:is|was|ends?(?: up)?|ended(?: up)?|stays?) (?:(?P<up>positive)|(?P<down>negative)) (?:at the end|now|at the last step)\b"
    r"|(?:最后|末尾|结束时)[^。；，]{0,4}为(?:(?P<up_zh>正)|(?P<down_zh>负))(?!常|确|好|载|责|面)",
    re.IGNORECASE,
)


def curve_claims(row: Sentence, grounds: Grounds) -> Judgement:
    """What ``row`` says of places in curves: proven numerals and wrong spans."""
    out = Judgement()
    metrics = [m for m in row.mentions if m.kind == "metric" and m.keys]
    if not metrics:
        return out
    claims = Claims(row, grounds, metrics)
    out.right |= _named_ends(claims)
    for judge in (_places, crossings, counts, statistics, _jumps, _bursts, stays, _two_steps, _fraction_of_step, _at_end, _final_sign):
        for numerals, right in judge(claims):
            if right is None:
                out.right |= {n.start for n in numerals if isinstance(n, Numeral)}
            else:
                out.wrong += [(n.start, n.end, right) if isinstance(n, Numeral) else (*n, right) for n in numerals[:1]]
    out.right -= {start for start, _, _ in out.wrong}
    return out


def _places(c: Claims) -> Iterator[Verdict]:
    """ "peaked at step 40", "最低点在第 12 步"."""
    for m in _PLACE.finditer(c.text):
        start, end = c.row.start + m.start(), c.row.start + m.end()
        step = c.step_near(start, end)
        if step is None and not c.steps and _IN_LAST.match(c.text[m.end() :]) and not c.hypothetical(start):
            yield from _last_is(c, start, end, high=bool(m["high"]))
        if step is None or c.hypothetical(start) or IN_PART.search(c.row.plain(*c.row.clause(start))) or _STRETCH.search(c.text):
            continue
        if len({m.keys for m in c.metrics}) > 1 and not any(start - 30 <= x.end and x.start <= end + 30 for x in c.metrics):
            continue
        high, local, loose = bool(m["high"]), bool(_LOCAL.search(m[0])), approximate(c.row.whole, step)

        def judge(one: Series, high: bool = high, local: bool = local, loose: bool = loose, at: int = int(step.value)) -> str | None:
            index = one.index_at(at)
            if index is None:
                return ""
            best = int(one.values.argmax() if high else one.values.argmin())
            spread = float(np.ptp(one.values)) or 1.0
            reach = max(1, len(one) // 20) if loose else 1
            near = one.values[max(0, index - reach) : index + reach + 1]
            off = abs(float(one.values[best]) - float(near.max() if high else near.min()))
            if off <= (0.15 if local or loose else 0.08) * spread or (local and _locally(one.values, index, high)):
                return None if abs(float(one.values[best]) - float(one.values[index])) <= 0.02 * spread else ""
            return f"{one.text(best)} @ {int(one.steps[best])}"

        right = decide(c.subject(start, end), judge)
        if right != "":
            yield [step], right


def _last_is(c: Claims, start: int, end: int, *, high: bool) -> Iterator[Verdict]:
    """ "its maximum is at the last step"."""

    def judge(one: Series) -> str | None:
        best = int(one.values.argmax() if high else one.values.argmin())
        far = abs(float(one.values[best] - one.values[-1])) > 0.08 * float(np.ptp(one.values))
        return f"{one.text(best)} @ {int(one.steps[best])}" if far else ""

    if right := decide(c.subject(start, end), judge):
        yield [(start, end)], right


def _locally(values: FloatArray, index: int, high: bool) -> bool:
    reach = max(3, len(values) // 10)
    around = values[max(0, index - reach) : index + reach + 1]
    return bool(values[index] >= around.max() if high else values[index] <= around.min())


def _jumps(c: Claims) -> Iterator[Verdict]:
    """ "the largest jump is at step 40"."""
    for m in _JUMP.finditer(c.text):
        start, end = c.row.start + m.start(), c.row.start + m.end()
        step = c.step_near(start, end)
        if step is None or c.hypothetical(start) or IN_PART.search(c.text):
            continue
        sign = -1 if m["down"] or m["down_zh"] else 1 if m["up"] or m["up_zh"] else 0

        def judge(one: Series, sign: int = sign, at: int = int(step.value)) -> str | None:
            index = one.index_at(at)
            moves = np.diff(one.values)
            moves = np.abs(moves) if sign == 0 else sign * moves
            best = int(moves.argmax())
            if index is None or moves[best] <= 0:
                return ""
            here = float(moves[max(0, index - 1) : index + 1].max()) if index < len(one) else 0.0
            if here >= 0.999 * moves[best]:
                return None
            return "" if here > 0.7 * moves[best] else f"@ {int(one.steps[best + 1])}"

        right = decide(c.subject(start, end), judge)
        if right != "":
            yield [step], right


def _bursts(c: Claims) -> Iterator[Verdict]:
    """ "spiked at step 40": wrong where the curve is not above what it was before."""
    for m in _BURST.finditer(c.text):
        start, end = c.row.start + m.start(), c.row.start + m.end()
        step = c.step_near(start, end)
        if step is None or c.hypothetical(start):
            continue

        def judge(one: Series, up: bool = bool(m["up"]), at: int = int(step.value)) -> str | None:
            index = one.index_at(at)
            if index is None or index < 4:
                return ""
            usual = float(np.median(one.values[max(0, index - 10) : index - 1]))
            near = one.values[max(0, index - 1) : index + 3]
            wrong = float(near.max()) <= usual if up else float(near.min()) >= usual
            return f"{one.text(index)} @ {at}" if wrong else ""

        right = decide(c.subject(start, end), judge)
        if right:
            yield [step], right


def _two_steps(c: Claims) -> Iterator[Verdict]:
    """ "higher at step 10 than at step 90", "第 10 步的熵比第 90 步高"."""
    if len(c.steps) != 2:
        return
    a, b = c.steps
    for m in [*_THAN.finditer(c.text), *_THAN_ZH.finditer(c.text)]:
        start, end = c.row.start + m.start(), c.row.start + m.end()
        if c.hypothetical(start) or (m.re is _THAN and not end <= b.start <= end + 12) or (m.re is _THAN_ZH and not a.end <= start):
            continue

        def judge(one: Series, up: bool = bool(m["up"])) -> str | None:
            i, j = one.index_at(int(a.value)), one.index_at(int(b.value))
            if i is None or j is None:
                return ""
            x, y = float(one.values[i]), float(one.values[j])
            return None if (x > y) == up and x != y else f"{one.text(i)} @ {int(a.value)}, {one.text(j)} @ {int(b.value)}"

        right = decide(c.subject(start, end), judge)
        if right is None:
            yield [a, b], None
        elif right:
            yield [(start, end)], right


def _named_ends(c: Claims) -> set[int]:
    """Starts of values that are the first, last, highest or lowest one as the words before say, whether or not a fact has them."""
    out: set[int] = set()
    if c.steps and not re.search(r"\bat step\b|第", c.text):
        return out
    for n in c.values:
        subject = c.row.subject(n, ("metric",))
        if subject is None or n.unit in ("x",) or c.row.step_of(n) is not None:
            continue
        lead, behind = c.row.plain(c.row.start, n.start), c.row.plain(n.end, min(c.row.end, n.end + 24))
        roles = [m.lastgroup for m in ROLE.finditer(lead)][-1:] + (["last"] if _LAST_STEP.search(lead) or _LAST_STEP.search(behind) else [])
        roles += ["last"] if re.search(r"(?:→|->|&gt;)\s*[`*]*$", lead) else ["first"] if re.match(r"^[\s`*]*(?:→|->)", behind) else []
        if FROM.search(lead):
            roles.append("first")
        elif re.search(r"(?:\bto|[到至])\s*(?:about )?[`*]*$", lead) and re.search(r"\bfrom\b|从", lead):
            roles.append("last")
        for one in c.curves(subject):
            values = {"first": one.values[0], "last": one.values[-1], "high": one.values.max(), "low": one.values.min()}
            if any(agrees(n, float(values[role or ""]) * k) for role in roles for k in scales(n, one)):
                out.add(n.start)
    return out


def _fraction_of_step(c: Claims) -> Iterator[Verdict]:
    """ "at step 2000 a third of that at step 1", "第 20 步是第 1 步的两倍": the ratio of two printed values."""
    if len(c.steps) != 2:
        return
    a, b = c.steps
    for n in c.values:
        if n.unit not in ("%", "x"):
            continue
        between = c.row.whole[n.end : b.start] if n.end <= b.start else ""
        behind = re.match(
            r"^[\s`*]*(?:of|as \w+ as)\s(?:that|what it was|the value|its value|it was|the one)?\s?(?:at|of|in"
            r"|on)?\s?step\s$",
            between,
            re.I,
        )
        before = b.end <= n.start and re.match(r"^[\s`*]*步(?:时|处)?的\s?(?:约|大约)?[`*]*$", c.row.whole[b.end : n.start])
        if not (behind or before) or c.hypothetical(n.start):
            continue

        def judge(one: Series, n: Numeral = n) -> str | None:
            i, j = one.index_at(int(a.value)), one.index_at(int(b.value))
            if i is None or j is None or not one.values[j]:
                return ""
            ratio = float(one.values[i] / one.values[j]) * (100 if n.unit == "%" else 1)
            near = approximate(c.row.whole, n) or n.spelled
            return None if agrees(n, ratio, loose=near) else f"{ratio:.3g}" + ("%" if n.unit == "%" else "×")

        right = decide(c.subject(a.end if before else n.start, n.end), judge)
        if right != "":
            yield [n, a, b], right


def _at_end(c: Claims) -> Iterator[Verdict]:
    """ "0.9 at the end": one of the last values, or a median of them."""
    for n in c.values:
        subject = c.row.subject(n, ("metric",))
        if n.unit == "x" or subject is None or not _BEHIND_END.match(c.row.plain(n.end, c.row.end)) or c.hypothetical(n.start):
            continue
        lead = c.row.plain(c.row.start, n.start)
        if FROM.search(lead) or DIFFERENCE.search(lead) or re.search(r"\b(?:than|above|below|over|under)\s*[`*]*$", lead, re.IGNORECASE):
            continue

        def judge(one: Series, n: Numeral = n) -> str | None:
            told = [f.value for f in c.grounds.by_metric.get(one.name, ()) if "last" in f.formula and isinstance(f.value, float)]
            near = approximate(c.row.whole, n)
            known = [*(float(v) for v in one.values[-3:]), *told]
            return "" if any(agrees(n, v * k, loose=near) for v in known for k in scales(n, one)) else one.text(len(one) - 1)

        right = decide(c.curves(subject), judge)
        if right:
            yield [n], right


def _final_sign(c: Claims) -> Iterator[Verdict]:
    for m in _FINAL_SIGN.finditer(c.text):
        start, end = c.row.start + m.start(), c.row.start + m.end()
        if c.hypothetical(start):
            continue
        up = bool(m["up"] or m["up_zh"])

        def judge(one: Series, up: bool = up) -> str | None:
            return one.text(len(one) - 1) if (one.values[-1] < 0 if up else one.values[-1] > 0) else None

        right = decide(c.subject(start, end), judge)
        if right:
            yield [(start, end)], right
