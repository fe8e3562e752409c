"""Claims on whole curves for ``verifier.py``: places, levels, stretches, comparisons, tables; each true one is computed from the log."""

from __future__ import annotations

import random

import numpy as np

from assistant.run import Series
from benchmarks.verifier_scenes import Pair, Scene, s


def _curve(scene: Scene, rng: random.Random, least: int = 24) -> Series | None:
    """A curve with enough values that differ, not one of batch extremes (which are often the same in every step)."""
    for _ in range(12):
        name = rng.choice(sorted({str(f.metric) for f in scene.points}))
        series = scene.view.printed(name)
        if series is None or np.count_nonzero(series.finite) < least or len(set(series.steps.tolist())) < len(series):
            continue
        one = series.take(series.finite)
        if np.ptp(one.values) > 0.02 * np.abs(one.values).max() and one.values.min() != np.median(one.values) != one.values.max():
            return one
    return None


def place(scene: Scene, rng: random.Random) -> Pair | None:
    one = _curve(scene, rng)
    if one is None:
        return None
    high = rng.random() < 0.5
    best = int(one.values.argmax() if high else one.values.argmin())
    far = np.abs(one.values - one.values[best]) > 0.4 * np.ptp(one.values)
    near = np.convolve(~far, np.ones(5), "same") > 0
    others = [int(step) for step in one.steps[~near]]
    form = rng.choice(
        [
            s(scene, "The {w} `{m}` is at step {s}.", "`{m}` 的{w}点在第 {s} 步。"),
            s(scene, "At step {s} `{m}` is at its {w} value.", "第 {s} 步的 `{m}` {w}。"),
        ]
    )
    word = s(scene, "highest" if high else "lowest", "最高" if high else "最低")
    wrong = [form.format(m=one.name, w=word, s=rng.choice(others))] if others else []
    return "place", form.format(m=one.name, w=word, s=int(one.steps[best])), wrong


def crossing(scene: Scene, rng: random.Random) -> Pair | None:
    one = _curve(scene, rng)
    if one is None or one.values[-1] == one.values[0]:
        return None
    up = bool(one.values[-1] > one.values[0])
    level = float(f"{(one.values[0] + one.values[-1]) / 2:.3g}")
    beyond = one.values > level if up else one.values < level
    if not beyond.any() or beyond[0] or "e" in f"{level:g}":
        return None
    first = int(np.argmax(beyond))
    if one.values[first] == level or (np.asarray(one.values) == level).any():
        return None
    form = s(scene, "`{m}` first {w} {v} at step {s}.", "`{m}` 在第 {s} 步首次{w} {v}。")
    word = s(scene, "exceeded" if up else "fell below", "超过" if up else "低于")
    wrong = [form.format(m=one.name, w=word, v=f"{level:g}", s=int(one.steps[rng.randrange(first)]))]
    if len(one) - first > 12:
        wrong.append(form.format(m=one.name, w=word, v=f"{level:g}", s=int(one.steps[rng.randrange(first + 5, len(one))])))
    return "crossing", form.format(m=one.name, w=word, v=f"{level:g}", s=int(one.steps[first])), wrong


def stretch(scene: Scene, rng: random.Random) -> Pair | None:
    one = _curve(scene, rng, 30)
    if one is None:
        return None
    begin = rng.randrange(len(one) - 12)
    a, b = int(one.steps[begin]), int(one.steps[begin + 9])
    value = float(one.values[begin : begin + 10].mean())
    shown, off = f"{value:.4g}", f"{value * 1.3:.4g}"
    if "e" in shown + off or not value:
        return None
    form = s(scene, "`{m}` averaged {v} over steps {a}–{b}.", "第 {a}–{b} 步 `{m}` 的平均值是 {v}。")
    told = [f.text for f in scene.grounds.by_metric.get(one.name, ()) if "mean" in f.formula]
    return "stretch", form.format(m=one.name, v=shown, a=a, b=b), [form.format(m=one.name, v=off, a=a, b=b)] if off not in told else []


def steps_compared(scene: Scene, rng: random.Random) -> Pair | None:
    one = _curve(scene, rng)
    if one is None:
        return None
    i, j = rng.sample(range(len(one)), 2)
    if one.values[i] == one.values[j]:
        return None
    up = bool(one.values[i] > one.values[j])
    form = s(scene, "`{m}` is {w} at step {a} than at step {b}.", "第 {a} 步的 `{m}` 比第 {b} 步{w}。")
    words = {True: s(scene, "higher", "高"), False: s(scene, "lower", "低")}
    given = {"m": one.name, "a": int(one.steps[i]), "b": int(one.steps[j])}
    return "steps compared", form.format(w=words[up], **given), [form.format(w=words[not up], **given)]


def table(scene: Scene, rng: random.Random) -> Pair | None:
    one = _curve(scene, rng)
    if one is None:
        return None
    rows = sorted(rng.sample(range(len(one)), 3))
    values = [one.text(i) for i in rows]
    if len({round(float(v), 9) for v in values}) < 3:
        return None
    head = s(scene, "| step | {m} |", "| 步数 | {m} |").format(m=one.name)

    def text(shown: list[str]) -> str:
        return "\n".join([head, "|---|---|", *(f"| {int(one.steps[i])} | {v} |" for i, v in zip(rows, shown, strict=True))])

    return "table", text(values), [text([values[1], values[0], values[2]])]


def ends(scene: Scene, rng: random.Random) -> Pair | None:
    one = _curve(scene, rng)
    if one is None:
        return None
    a, b = one.text(0), one.text(len(one) - 1)
    x, y = float(one.values[0]), float(one.values[-1])
    if abs(x - y) < 0.3 * np.ptp(one.values):
        return None
    form = s(scene, "`{m}` started at {a} and ended at {b}.", "`{m}` 起初为 {a}，最后为 {b}。")
    return "ends", form.format(m=one.name, a=a, b=b), [form.format(m=one.name, a=b, b=a)]


CLAIMS = [place, crossing, stretch, steps_compared, table, ends]
