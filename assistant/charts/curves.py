"""What is drawn, as data: curves, panels, and which values of a long log were left out. Nothing here knows how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from assistant.run import FloatArray, IntArray, Series

MOST_POINTS = 1500
"""Values of one curve that are drawn; of more, the lowest and highest of each stretch and both ends."""
LOG_SPAN = 1000.0
"""Largest over smallest positive value from which a logarithmic axis shows more."""
ZEROS = 0.2
"""Share of values that print as zero up to which a logarithmic axis is still chosen (they stand at its lower edge)."""


@dataclass(frozen=True, slots=True)
class Band:
    """Where a metric usually is, by its card (None: open on that side). ``words`` says for whom, in both languages."""

    low: float | None
    high: float | None
    words: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric of one run. Arrays have shape (n,): the values drawn, as printed, non-finite ones included.

    ``texts`` are the digits as printed, ``lines`` the log's lines, ``marked`` the indices of evidence. ``total`` counts the values there
    were, ``n_broken`` the non-finite ones among them. ``smooth`` is the moving mean where one was asked for, shape (n,). ``run`` is "A"
    or "B" where two runs are drawn. ``start`` is the run's step that stands at 0 where runs are laid over each other by their starts:
    ``steps`` then count from it.
    """

    name: str
    steps: IntArray
    values: FloatArray
    texts: tuple[str, ...]
    lines: IntArray
    marked: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    total: int = 0
    n_broken: int = 0
    smooth: FloatArray | None = None
    run: str = ""
    start: int = 0

    @property
    def broken(self) -> IntArray:
        """Indices of the non-finite values among the drawn."""
        return np.flatnonzero(~np.isfinite(self.values)).astype(np.int64)

    @property
    def finite(self) -> FloatArray:
        kept: FloatArray = self.values[np.isfinite(self.values)]
        return kept


@dataclass(frozen=True, slots=True)
class LinePanel:
    """Curves of one metric over the steps. ``below`` counts drawn values ≤ 0 that a logarithmic axis has no place for."""

    name: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False
    band: Band | None = None
    canonical: str = ""

    @property
    def finite(self) -> FloatArray:
        return np.concatenate([curve.finite for curve in self.curves]) if self.curves else np.zeros(0)

    @property
    def below(self) -> int:
        return int(np.count_nonzero(self.finite <= 0)) if self.logarithmic else 0


@dataclass(frozen=True, slots=True)
class Layer:
    """One part of a stack: seconds at each step, shape (n,). ``name`` "" is what no part accounts for."""

    name: str
    seconds: FloatArray


@dataclass(frozen=True, slots=True)
class StackPanel:
    """Seconds per step, by part, largest first. ``steps`` has shape (n,); ``span`` counts the steps each of them stands for (means)."""

    steps: IntArray
    layers: tuple[Layer, ...]
    total: int
    span: int = 1

    @property
    def name(self) -> str:
        return "s / step"


@dataclass(frozen=True, slots=True)
class ScatterPanel:
    """Two metrics against each other where both were printed. Arrays have shape (n,); ``left_out`` counts pairs that are not finite."""

    name: str
    across: str
    x: FloatArray
    y: FloatArray
    steps: IntArray
    texts: tuple[tuple[str, str], ...]
    lines: IntArray
    total: int
    left_out: int = 0
    logarithmic: tuple[bool, bool] = (False, False)


Panel = LinePanel | StackPanel | ScatterPanel


@dataclass(frozen=True, slots=True)
class Panels:
    """A chart: panels one above the other that share their steps. False when there is nothing to draw.

    ``onset`` and ``until`` mark where a finding holds, ``window`` is the moving mean's width (0: nothing smoothed), ``runs`` what the
    two runs are called, ``missing`` asked-for metrics without two values to draw, ``beyond`` those past the most panels of one chart,
    ``linear`` those that were to have a logarithmic axis and have no value above 0, ``starts`` the steps at which the two runs begin
    where both are drawn from their starts.
    """

    panels: tuple[Panel, ...] = ()
    onset: int | None = None
    until: int | None = None
    window: int = 0
    runs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    linear: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.panels)

    @property
    def curves(self) -> tuple[Curve, ...]:
        return tuple(curve for panel in self.panels if isinstance(panel, LinePanel) for curve in panel.curves)

    @property
    def names(self) -> tuple[str, ...]:
        """What is drawn, each once."""
        named: list[str] = []
        for panel in self.panels:
            named += [panel.across, panel.name] if isinstance(panel, ScatterPanel) else [panel.name]
        return tuple(dict.fromkeys(named))

    @property
    def steps(self) -> tuple[int, int] | None:
        """First and last step drawn."""
        arrays = [curve.steps for curve in self.curves] + [p.steps for p in self.panels if not isinstance(p, LinePanel)]
        found = [array for array in arrays if len(array)]
        return (int(min(a.min() for a in found)), int(max(a.max() for a in found))) if found else None

    @property
    def begins(self) -> int | None:
        """The onset where it lies inside what is drawn: a line at the first step would say nothing."""
        span = self.steps
        return self.onset if self.onset is not None and span is not None and span[0] < self.onset <= span[1] else None

    @property
    def stretch(self) -> tuple[int, int] | None:
        """The steps of the drawing in which the finding holds."""
        span = self.steps
        if self.onset is None or self.until is None or span is None:
            return None
        low, high = max(self.onset, span[0]), min(self.until, span[1])
        return (low, high) if low < high else None


def renamed(panels: Panels, name: Callable[[str], str]) -> Panels:
    """The same chart with ``name`` applied to every name in it (to mask a path in a data source's name, say)."""

    def one(panel: Panel) -> Panel:
        if isinstance(panel, LinePanel):
            return replace(panel, name=name(panel.name), curves=tuple(replace(curve, name=name(curve.name)) for curve in panel.curves))
        if isinstance(panel, ScatterPanel):
            return replace(panel, name=name(panel.name), across=name(panel.across))
        return replace(panel, layers=tuple(replace(layer, name=name(layer.name) if layer.name else "") for layer in panel.layers))

    runs, missing, beyond, linear = (tuple(map(name, names)) for names in (panels.runs, panels.missing, panels.beyond, panels.linear))
    return replace(panels, panels=tuple(map(one, panels.panels)), runs=runs, missing=missing, beyond=beyond, linear=linear)


def curve_of(series: Series, *, marked: Iterable[int | None] = (), window: int = 0, most: int = MOST_POINTS, run: str = "") -> Curve:
    """The curve of ``series`` (rising steps), thinned to about ``most`` values; ``marked`` are steps of evidence, which always stay."""
    steps = np.array(sorted({step for step in marked if step is not None}), np.int64)
    at = np.flatnonzero(np.isin(series.steps, steps) & series.finite)
    broken = np.flatnonzero(~series.finite)
    if len(broken) > most:
        broken = broken[np.linspace(0, len(broken) - 1, most).astype(np.int64)]
    keep = np.union1d(np.union1d(thinned(series.values, most), at), broken)
    smooth = moving_mean(series.values, window)[keep] if window > 1 else None
    return Curve(
        series.name,
        series.steps[keep],
        series.values[keep],
        tuple(series.text(int(row)) for row in keep),
        series.lines[keep],
        np.flatnonzero(np.isin(keep, at)).astype(np.int64),
        len(series),
        series.n_nonfinite,
        smooth,
        run,
    )


def thinned(values: NDArray[np.float64], most: int = MOST_POINTS) -> IntArray:
    """Indices to draw: all of them, or the lowest and highest finite value of each stretch, and both ends. Shape (≤ most,)."""
    n = len(values)
    if n <= most:
        return np.arange(n)
    edges = np.linspace(0, n, (most - 2) // 2 + 1).astype(np.int64)
    low, high = np.where(np.isfinite(values), values, np.inf), np.where(np.isfinite(values), values, -np.inf)
    pairs = [(a + int(np.argmin(low[a:b])), a + int(np.argmax(high[a:b]))) for a, b in pairwise(edges.tolist()) if b > a]
    return np.unique(np.array([0, n - 1, *(i for pair in pairs for i in pair)], np.int64))


def moving_mean(values: FloatArray, window: int) -> FloatArray:
    """Mean of the finite values among the ``window`` around each value (fewer at the ends); NaN where there is none. Shape (n,)."""
    if not len(values):
        return values.copy()
    before = (window - 1) // 2
    padded = np.concatenate([np.full(before, np.nan), np.where(np.isfinite(values), values, np.nan), np.full(window - 1 - before, np.nan)])
    around = sliding_window_view(padded, window)
    counted = np.count_nonzero(~np.isnan(around), axis=1)
    with np.errstate(all="ignore"):
        means: FloatArray = np.where(counted > 0, np.nansum(around / np.maximum(counted, 1)[:, None], axis=1), np.nan)
    return means


def wants_log(values: FloatArray) -> bool:
    """Whether a logarithmic axis shows more of these finite values: they span more than `LOG_SPAN`, none is negative, few print zero."""
    if not len(values) or float(values.min()) < 0:
        return False
    positive = values[values > 0]
    if len(positive) < 2 or len(positive) < (1 - ZEROS) * len(values):
        return False
    with np.errstate(over="ignore"):
        return bool(positive.max() / positive.min() > LOG_SPAN)
