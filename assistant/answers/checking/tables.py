"""Tables of a text (``| step | entropy |``): which metric, step and role a cell has, held against the log.

The header of a column or the first cell of a row names the metric; a step column, a heading such as "step 40", or "first", "last",
"max", "min", "mean" says which of its values a cell must be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assistant.answers.checking.grounds import Grounds, agrees
from assistant.answers.checking.numerals import Numeral, approximate
from assistant.answers.checking.on_curves import Judgement, scales
from assistant.answers.checking.scope import Mention, Sentence

_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_STEP_HEAD = re.compile(r"^[\s`*]*(?:steps?|iterations?|iters?|global[_ ]step|步数?|训练步数?|第几步)[\s`*]*$", re.IGNORECASE)
_STEP_CELL = re.compile(r"^[\s`*]*(?:(?:steps?|第)\s*)?(\d[\d,]*)\s*步?[\s`*]*$", re.IGNORECASE)
_AT_STEP = re.compile(r"(?:\bstep\s*|第\s?|@\s?)(\d[\d,]*)", re.IGNORECASE)
_ROLES = re.compile(
    r"^[\s`*]*(?:(?P<first>first|start(?:ing)?|initial|begin\w*|首步?|起始|开始|初始|最初|第一步)|(?P<last>last|final|end(?:ing)?|now|末步?"
    r"|最后|最终|结束|目前|当前)"
    r"|(?P<high>max(?:imum)?|highest|peak|最大|最高|峰值)|(?P<low>min(?:imum)?|lowest|最小|最低)|(?P<mean>mean|average|avg|平均|均值))"
    r"(?:\s?(?:value|step|值))?(?:\s*[(（][^)）]*[)）])?[\s`*]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Cell:
    start: int
    end: int
    text: str


def table_claims(text: str, rows: Sequence[Sentence], grounds: Grounds) -> Judgement:
    """Proven and wrong numerals in the tables of ``text``; ``rows`` are its sentences."""
    out = Judgement()
    if "|" not in text:
        return out
    numbers = [n for row in rows for n in row.numbers]
    mentions = [m for row in rows for m in row.mentions if m.kind == "metric" and m.keys]
    for head, body in _tables(text):
        for line in body:
            _line(head, line, numbers, mentions, text, grounds, out)
    return out


def _tables(text: str) -> Iterator[tuple[list[Cell], list[list[Cell]]]]:
    lines, at = [], 0
    for line in text.split("\n"):
        lines.append((at, line))
        at += len(line) + 1
    for i in range(1, len(lines) - 1):
        if _RULE.match(lines[i][1]) and "|" in lines[i - 1][1] and "-" in lines[i][1]:
            body = []
            for start, line in lines[i + 1 :]:
                if "|" not in line:
                    break
                body.append(_cells(start, line))
            yield _cells(*lines[i - 1]), body


def _cells(start: int, line: str) -> list[Cell]:
    bounds = [-1, *(m.start() for m in re.finditer(r"(?<!\\)\|", line)), len(line)]
    cells = [Cell(start + a + 1, start + b, line[a + 1 : b]) for a, b in pairwise(bounds)]
    if cells and not cells[0].text.strip():
        cells = cells[1:]
    return cells[:-1] if cells and not cells[-1].text.strip() else cells


def _line(
    head: Sequence[Cell],
    line: Sequence[Cell],
    numbers: Sequence[Numeral],
    mentions: Sequence[Mention],
    text: str,
    grounds: Grounds,
    out: Judgement,
) -> None:
    step: int | None = None
    for title, cell in zip(head, line, strict=False):
        if _STEP_HEAD.match(title.text) and (m := _STEP_CELL.match(cell.text)):
            step = int(m[1].replace(",", ""))
            if step in grounds.run.steps:
                out.right |= {n.start for n in numbers if cell.start <= n.start < cell.end}
    own = _named(line[0], mentions) if line else None
    for title, cell in zip(head, line, strict=False):
        if _STEP_HEAD.match(title.text):
            continue
        metric = _named(title, mentions) or own
        inside = [n for n in numbers if cell.start <= n.start < cell.end]
        if metric is None or len(inside) != 1 or inside[0].unit not in ("", "%") or (metric is own and cell is line[0]):
            continue
        placed = _AT_STEP.search(title.text)
        at = int(placed[1].replace(",", "")) if placed else step
        role = _ROLES.match(title.text) or (_ROLES.match(line[0].text) if cell is not line[0] else None)
        if at is None and role is None:
            continue
        right = _judged(inside[0], metric, at, role.lastgroup if role else "", text, grounds)
        if right is None:
            out.right.add(inside[0].start)
        elif right:
            out.wrong.append((inside[0].start, inside[0].end, right))


def _named(cell: Cell, mentions: Sequence[Mention]) -> Mention | None:
    inside = [m for m in mentions if m.start < cell.end and m.end > cell.start]
    return inside[0] if len(inside) == 1 else None


def _judged(n: Numeral, metric: Mention, step: int | None, role: str | None, text: str, grounds: Grounds) -> str | None:
    """None for a value that is right, "" where nothing can be said, else what is right."""
    near, first = approximate(text, n), ""
    for key in metric.keys:
        series = grounds.series(key)
        if series is None or not series.finite.any():
            continue
        if step is not None:
            index = series.index_at(step)
            if index is None:
                continue
            wanted, shown = [float(series.values[index])], series.text(index)
        else:
            one = series.take(series.finite)
            i = {"first": 0, "last": len(one) - 1, "high": int(one.values.argmax()), "low": int(one.values.argmin())}.get(role or "", -1)
            wanted = [float(one.values.mean())] if i < 0 else [float(one.values[i])]
            shown = f"{wanted[0]:.4g}" if i < 0 else one.text(i)
            if role in ("first", "last", "mean"):
                told = [f for f in grounds.by_metric.get(key, ()) if f.kind == "derived" and role in f.formula]
                wanted += [f.value for f in told if isinstance(f.value, float)]
        first = first or shown
        if any(agrees(n, w * k, loose=near) or (np.isnan(w) and np.isnan(n.value)) for w in wanted for k in scales(n, series)):
            return None
    return first
