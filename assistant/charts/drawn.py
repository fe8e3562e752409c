"""Charts as PNG (Slack) and SVG (report), by matplotlib without pyplot, a display or any global state but its settings.

The same chart gives the same bytes. A PNG holds names, numbers and "step" only, since no font for other scripts can be relied on; an
SVG keeps its text as text, in any script, and its colours as CSS variables (``--c2a8780``) with the light paper's colour behind them.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from assistant.charts import palette
from assistant.charts.caption import spoken
from assistant.charts.curves import Panels
from assistant.messages import Language, say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, MOST_BYTES = 760, 200_000
"""Width in points (a PNG has two pixels a point), and the largest PNG."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot hold, or that turn the text around them."""
_LOCK = Lock()  # matplotlib's settings belong to the process
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "runwhy",
    "font.family": ["DejaVu Sans"],
    "path.simplify": False,
    "agg.path.chunksize": 10_000,
    "axes.unicode_minus": True,
    "text.usetex": False,
    "text.parse_math": False,
}


def png(panels: Panels, *, width: int = WIDTH, most_bytes: int = MOST_BYTES) -> bytes:
    """The chart on white paper, ``width`` points wide, at most ``most_bytes``. Raises ValueError for a chart without panels."""
    image = b""
    for dpi in (144, 108, 72, 48):
        image = _rendered(panels, width, _Words(None), lambda figure, dpi=dpi: _as_png(figure, dpi))  # type: ignore[misc]
        if len(image) <= most_bytes:
            break
    return image


def svg(panels: Panels, language: Language = "en", *, width: int = WIDTH) -> str:
    """The chart as one ``<svg>`` element that scales with its place. Raises ValueError for a chart without panels."""
    words = _Words(language)
    drawing = _rendered(panels, width, words, _as_svg).decode("utf-8")
    return _tidy(drawing, words, spoken(panels, language))


class _Words:
    """Texts of a drawing. With a language each text is drawn as a short mark, which the real one replaces in the SVG, so that
    matplotlib needs no font for it; without one only characters that its own font has are kept."""

    def __init__(self, language: Language | None) -> None:
        self.language, self.marks = language, list[str]()

    def name(self, text: str, most: int = 88) -> str:
        """A name from the log; the middle of a very long one is left out."""
        text = _CONTROL.sub(" ", text)
        short = text if len(text) <= most else f"{text[: most - 25]} … {text[-20:]}"
        if self.language is None:
            return "".join(char if ord(char) in _glyphs() else "?" for char in short)
        self.marks.append(short)
        return f"[[{len(self.marks) - 1}]]"

    def say(self, key: str, neutral: str, **values: object) -> str:
        return neutral if self.language is None else self.name(say(f"charts.{key}", self.language, **values))


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap())


def _rendered(panels: Panels, width: int, words: _Words, save: Callable[[Figure], bytes]) -> bytes:
    import matplotlib
    from matplotlib.figure import Figure

    from assistant.charts.axes import lay_out

    if not panels:
        raise ValueError("a chart without panels cannot be drawn")
    with _LOCK, matplotlib.rc_context(_SETTINGS):
        figure = Figure(facecolor="none", edgecolor="none")
        lay_out(figure, panels, width, words)
        return save(figure)


def _as_png(figure: Figure, dpi: int) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi, facecolor=palette.PAPER, metadata={"Software": None})
    return out.getvalue()


def _as_svg(figure: Figure) -> bytes:
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    FigureCanvasSVG(figure)
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")), transparent=True)
    return out.getvalue()


_COLOURS = re.compile("|".join(palette.DARK), re.IGNORECASE)
_FONT = "ui-sans-serif, system-ui, 'Segoe UI', 'PingFang SC', 'Noto Sans CJK SC', sans-serif"


def _tidy(drawing: str, words: _Words, label: str) -> str:
    """Only the ``<svg>`` element, without a size of its own, ids that nothing uses, and styles that would reach beyond it."""
    body = drawing[drawing.index("<svg") :]
    head, rest = body.split(">", 1)
    box = re.search(r'viewBox="([^"]+)"', head)
    rest = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", rest, count=1, flags=re.DOTALL)
    rest = re.sub(r"<!--.*?-->", "", rest, flags=re.DOTALL)
    used = set(re.findall(r"(?:#)([\w.-]+)(?=[\"\)])", rest))
    rest = re.sub(r'(<(?:g|path|text|rect|image)\b[^>]*?) id="([^"]+)"', lambda m: m[0] if m[2] in used else m[1], rest)
    rest = re.sub(r"font: ([^;\"]*?) 'DejaVu Sans'[^;\"]*", rf"font: \1 {_FONT}", rest)
    rest = _COLOURS.sub(lambda m: f"var(--c{m[0][1:].lower()}, {m[0].lower()})", rest)
    rest = re.sub(r"\[\[(\d+)\]\]", lambda m: html.escape(words.marks[int(m[1])]), rest)
    rest = re.sub(r"\n\s*", "\n", rest).strip()
    label = _CONTROL.sub(" ", label)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{box[1] if box else ""}" '
        f'class="chart" role="img" aria-label="{html.escape(label)}" style="stroke-linejoin: round; stroke-linecap: butt">'
    )
    return f"{opening}\n{rest}"
