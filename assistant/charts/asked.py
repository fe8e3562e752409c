"""Requests for a chart: "plot entropy against score", "show me the kl curve", "画一下熵和奖励", "smooth with window 10".

A face calls ``asked(question, diagnosis, history)`` beside answering; with a request it shows ``request.panels(view)`` (or, on the page,
the figure behind ``request.query()``) together with the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qs, urlencode

from assistant.charts.curves import Panels
from assistant.charts.selection import against, panels_of, times_of
from assistant.diagnosis.finding import Diagnosis
from assistant.diagnosis.view import RunView
from assistant.run import NO_STEP

if TYPE_CHECKING:
    from assistant.answers.understanding.question import Turn
    from assistant.answers.understanding.windows import Window

Kind = Literal["lines", "scatter", "times"]
WINDOW = 10
"""Values of a moving mean when one is asked for without a number."""
WIDEST = 10_000

_VERB = re.compile(
    r"(?:^|[,.;:!?]\s*|\b(?:please|pls|you|me|to|and|then|now|just|us|also|let's|lets|again|wanna|gonna)\s+)"
    r"(?:re)?(?:plot|draw|graph|chart|visuali[sz]e)\b(?!\s+(?:show|mean|look|say|tell|is|was|were|are)s?\b)"
    r"|\b(?:show|give|make|need|want|see|get|display|render|create|produce|generate|look at|send)\b[^.?!]*?"
    r"\b(?:plots?|charts?|(?<!cuda )(?<!computation )graphs?|curves?|figures?(?! out)|scatter)\b"
    r"|\b(?:curve|plot|chart|graph) of\b(?=[^?]*$)|\bshow\b[^.?!]*\b(?:against|vs\.?|versus|over (?:time|the steps?|steps))\b"
    r"|\bscatter\b|\bon (?:a|the) log(?:arithmic)?[- ](?:scale|axis)\b"
    r"|(?<![动漫])画(?![面像])|绘制|绘图|作图|做图|出图|可视化|散点|(?:给|看|要|来|展示|显示|生成)[^？?。]{0,16}(?:曲线|走势|(?<![试企意力贪])图)"
    r"|(?:曲线|走势图|折线图)(?:图)?[。！\s]*$"
    r"|\b(?:curves?|plots?|charts?|graphs?)(?:,? (?:please|pls|thanks))?[.!\s]*$|^[^?]{2,40}\s(?:vs\.?|versus|against)\s[^?]{2,40}$"
)
_QUESTION = re.compile(
    r"^\s*(?:why|what|how|is|are|does|do|did|was|were|should|which|when|where|who|为什么|为何|怎么|是否|什么)|为什么|说明了?什么|什么意思|正常吗"
)
_LOG = re.compile(
    r"\b(?:on |in |with |using )?(?:an? |the )?log(?:arithmic)?[- ]?(?:scale|axis|y|plot)\b|\bsemilog\w*|\blogarithmic(?:ally)?\b"
    r"|(?:用|按|取)?对数(?:坐标|轴|尺度|刻度)?"
)
_LINEAR = re.compile(r"\b(?:on |in |with )?(?:an? |the )?linear(?: scale| axis)?\b|线性(?:坐标|轴|尺度|刻度)?")
_SMOOTH = re.compile(
    r"\b(?:smooth(?:ed|ing)?|moving average|rolling (?:mean|average)|running (?:mean|average))\b"
    r"(?:\s+(?:with|by|over|using|of|it|them|and|an?|the|window|size|width|=|:)){0,6}"
    r"[\s=:]*(\d{1,6})?(?:[\s-]*(?:steps?|points?|values?|wide))?|\bwindow(?:\s+(?:of|size))?[\s=:]*(\d{1,6})"
    r"|(?:平滑|滑动平均|移动平均)(?:一下)?(?:[，,\s]*(?:窗口|窗宽|大小|为|是|用|取|=|:|：|按))*\s*(\d{1,6})?\s*(?:步|个点|个)?"
    r"|窗口\s*(?:大小)?\s*(?:为|=|:|：)?\s*(\d{1,6})"
)
_UNSMOOTHED = re.compile(r"\b(?:no|without|not|don't|un)[\s-]*smooth\w*|不(?:要|用)?平滑|原始值")
_SCATTER = re.compile(r"\bscatter\b|\bcorrelat\w+|散点|相关性")
_TIMES = re.compile(
    r"\b(?:time|timing|timings|duration|seconds)\b[^.?!]*\b(?:stack\w*|by part|breakdown|by phase|per part|per phase|where it goes)\b"
    r"|\b(?:stack\w*|breakdown)\b[^.?!]*\b(?:time|timing|timings|seconds)\b|\b(?:step times?|times? per step|where (?:the )?time goes)\b"
    r"|(?:耗时|时间|用时)[^。？?]*(?:堆叠|分布|构成|占比|分解|花在|去哪)|堆叠[^。？?]*(?:耗时|时间)|每步(?:耗时|用时|时间)"
)
_SHOW = re.compile(r"\s*(?:please |can you |could you )?(?:show|display|see)\b")
_IMPERATIVE = re.compile(
    r"(?:^|[.?!,;，。？！；]\s*)(?:please |can you |could you |would you |and |帮我|请|麻烦|再)?\s*"
    r"(?:plot|draw|show|graph|chart|visuali[sz]e|画(?:一下|出|个|张|下|一)|绘制|给我看)"
)
_THAT = re.compile(r"\b(?:it|that|them|those|these|this|both)\b|它|这个|这些|^\W*(?:plot|draw|graph|chart|画图?|画一下)\W*$")
_PROBLEM = re.compile(r"\b(?:problem|issue|finding|fault|what is wrong|it)\b|问题|异常|故障")


@dataclass(frozen=True, slots=True)
class Request:
    """What to draw. ``metrics`` are names as printed (or canonical where nothing of that meaning is printed); ``first`` and ``last`` are
    steps, ``logarithmic`` None leaves the choice to the values, ``window`` 0 means not smoothed."""

    kind: Kind
    metrics: tuple[str, ...] = ()
    first: int | None = None
    last: int | None = None
    logarithmic: bool | None = None
    window: int = 0

    def panels(self, view: RunView) -> Panels:
        """False when there is nothing to draw."""
        if self.kind == "times":
            return times_of(view, first=self.first, last=self.last)
        if self.kind == "scatter" and len(self.metrics) >= 2:
            y, x = self.metrics[:2]
            return against(y, x, view, first=self.first, last=self.last, logarithmic=self.logarithmic)
        return panels_of(self.metrics, view, first=self.first, last=self.last, logarithmic=self.logarithmic, window=self.window)

    def query(self) -> str:
        """As a URL's query: ``kind=lines&metric=actor%2Fentropy&log=1``."""
        pairs: list[tuple[str, str]] = [("kind", self.kind), *(("metric", name) for name in self.metrics)]
        pairs += [(name, str(value)) for name, value in (("from", self.first), ("to", self.last)) if value is not None]
        if self.logarithmic is not None:
            pairs.append(("log", "1" if self.logarithmic else "0"))
        if self.window:
            pairs.append(("window", str(self.window)))
        return urlencode(pairs)

    @classmethod
    def of_query(cls, query: str) -> Request:
        """The request behind a query; whatever is not understood counts as not given."""
        given = parse_qs(query, max_num_fields=60)
        kind = given.get("kind", ["lines"])[0]
        log = given.get("log", [""])[0]
        window = _int(given.get("window", [""])[0]) or 0
        return cls(
            kind if kind in ("lines", "scatter", "times") else "lines",  # type: ignore[arg-type]
            tuple(dict.fromkeys(given.get("metric", ()))),
            _int(given.get("from", [""])[0]),
            _int(given.get("to", [""])[0]),
            {"1": True, "0": False}.get(log),
            min(max(window, 0), WIDEST),
        )


def asked(question: str, diagnosis: Diagnosis, history: Sequence[Turn] = ()) -> Request | None:
    """The chart that ``question`` asks for; None when it asks for none, or for metrics that are not named.

    "Plot it" draws what the last turn was about; "plot the problem" and the like draw the first finding's metrics.
    """
    from assistant.answers.understanding.question import understand
    from assistant.lexicon import normal, of_run

    lowered = normal(question)
    wanted = _VERB.search(lowered) or _SMOOTH.match(lowered.strip()) or (_SHOW.match(lowered) and _TIMES.search(lowered))
    if not wanted or (_QUESTION.search(lowered) and not _IMPERATIVE.search(lowered)):
        return None
    view = RunView(diagnosis.run)
    window, rest = _window_of(lowered)
    logarithmic = True if _LOG.search(rest) else False if _LINEAR.search(rest) else None
    rest = _LINEAR.sub(" ", _LOG.sub(" ", rest))
    scatter, times = bool(_SCATTER.search(rest)), bool(_TIMES.search(rest))
    rest = re.sub(r"\bscatter\b", " ", rest)
    present = {name.canonical for name in view.names.values()}
    asking = understand(rest, run_lexicon=of_run(diagnosis.run), present=present, history=history)
    first, last = _steps_of(asking.window, view)
    if asking.window is None and len(asking.steps) == 2:
        first, last = min(asking.steps), max(asking.steps)
    if times and (not asking.metrics or set(asking.metrics) <= {"time_step", "seconds_per_step"}):
        return Request("times", (), first, last)
    names = [_printed(metric, asking.key_of(metric), view) for metric in asking.metrics]
    names = list(dict.fromkeys([*(name for name in names if name), *asking.extra_keys, *(k for k in asking.unknown_keys if "/" in k)]))
    if not names and history and (window or _THAT.search(lowered)):
        names = [_printed(metric, None, view) for metric in history[-1].metrics]
    if not names and _PROBLEM.search(lowered) and diagnosis.findings:
        names = list(dict.fromkeys(point.metric for point in diagnosis.findings[0].evidence))
    if not names:
        return None
    return Request("scatter" if scatter and len(names) >= 2 else "lines", tuple(names), first, last, logarithmic, window)


def _window_of(text: str) -> tuple[int, str]:
    """Width of the moving mean asked for (0: none), and the text without the words for it."""
    if _UNSMOOTHED.search(text):
        return 0, _UNSMOOTHED.sub(" ", text)
    width, found = 0, False
    for match in _SMOOTH.finditer(text):
        found = True
        width = next((int(group) for group in match.groups() if group), width)
    return (min(width, WIDEST) if width > 1 else WINDOW) if found else 0, _SMOOTH.sub(" ", text)


def _steps_of(window: Window | None, view: RunView) -> tuple[int | None, int | None]:
    """The stretch asked for as steps."""
    steps = view.steps[view.steps != NO_STEP]
    if window is None or not len(steps):
        return None, None
    if window.kind == "range":
        return window.low, window.high
    n = window.n if window.kind in ("last", "first") else max(1, round(abs(window.share) * len(steps)))
    n = min(n, len(steps))
    from_end = window.kind == "last" or (window.kind == "part" and window.share < 0)
    return (int(steps[-n]), None) if from_end else (None, int(steps[n - 1]))


def _printed(metric: str, key: str | None, view: RunView) -> str:
    """The name to draw a canonical metric by: the key that was meant, else what this log prints."""
    if key is not None and key in view.run.columns:
        return key
    if metric == "validation":
        return next((v.key.key for v in view.validations()), "validation")
    series = view[metric]
    return series.name if series is not None else key or metric


def _int(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?\d{1,12}", text) else None
