"""Sentences about a run, true and false, for ``verifier.py``: each maker gives one true sentence and mutated ones."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable

import numpy as np

from assistant.answers.checking.numerals import numerals
from assistant.answers.grounding.evidence import Fact
from assistant.cards import cards
from assistant.diagnosis.stats import trend
from benchmarks.verifier_scenes import Pair, Scene, false_value, key_or_name, s, value_mutations, wrong_digit

# Sentences


def at_step(scene: Scene, rng: random.Random) -> Pair | None:
    fact = rng.choice(scene.points)
    name, metric = key_or_name(scene, str(fact.metric), rng), str(fact.metric)
    form = rng.choice(
        [
            s(scene, "{m} is {v} at step {s}.", "第 {s} 步的 {m} 是 {v}。"),
            s(scene, "At step {s}, {m} was {v}.", "{m} 在第 {s} 步为 {v}。"),
            s(scene, "{m} reads {v} (step {s}), which is worth a look.", "{m} 为 {v}（第 {s} 步），值得留意。"),
            s(scene, "The log shows {v} for {m} at step {s}.", "到第 {s} 步，{m} 为 {v}。"),
            s(scene, "- {m}: {v} @ step {s}", "- {m}：{v}（第 {s} 步）"),
        ]
    )
    wrong = [form.format(m=name, v=v, s=fact.step) for v in value_mutations(fact.text, rng) if false_value(scene, metric, v, fact.step)]
    series = scene.view.printed(metric)
    assert series is not None
    others = [
        int(step) for step in series.steps if abs(scene.grounds.at(metric, int(step)) - float(fact.value)) > 2 * numerals(fact.text)[0].half
    ]  # type: ignore[operator,arg-type]
    if others:
        wrong.append(form.format(m=name, v=fact.text, s=rng.choice(others)))
    rivals = [f for f in scene.points if f.metric != metric and false_value(scene, str(f.metric), fact.text, fact.step)]
    if rivals:
        wrong.append(form.format(m=f"`{rng.choice(rivals).metric}`", v=fact.text, s=fact.step))
    return "value at step", form.format(m=name, v=fact.text, s=fact.step), wrong


def without_step(scene: Scene, rng: random.Random) -> Pair | None:
    fact = rng.choice(scene.points)
    metric = str(fact.metric)
    form = rng.choice(
        [s(scene, "{m} stands at {v} now and then.", "{m} 有时为 {v}。"), s(scene, "One value of {m} is {v}.", "{m} 的一个取值是 {v}。")]
    )
    wrong = [
        form.format(m=f"`{metric}`", v=v)
        for v in value_mutations(fact.text, rng)
        if false_value(scene, metric, v, None) and not asked_or_card(scene, v)
    ]
    return "value", form.format(m=f"`{metric}`", v=fact.text), wrong


def asked_or_card(scene: Scene, shown: str) -> bool:
    one = numerals(shown)[0]
    return scene.grounds.asked(one)


def from_to(scene: Scene, rng: random.Random) -> Pair | None:
    pair = two_points(scene, rng)
    if pair is None:
        return None
    a, b = pair
    up = float(b.value) > float(a.value)  # type: ignore[arg-type]
    verbs = {
        True: s(scene, rng.choice(["rose", "climbed", "increased"]), rng.choice(["上升", "升高"])),
        False: s(scene, rng.choice(["fell", "dropped", "decreased"]), rng.choice(["下降", "下跌"])),
    }
    form = s(scene, "`{m}` {w} from {a} (step {sa}) to {b} (step {sb}).", "`{m}` 从 {a}（第 {sa} 步）{w}到 {b}（第 {sb} 步）。")
    given = {"m": a.metric, "a": a.text, "b": b.text, "sa": a.step, "sb": b.step}
    wrong = [form.format(**{**given, "w": verbs[not up]}), form.format(**{**given, "w": verbs[up], "a": b.text, "b": a.text})]
    wrong += [
        form.format(**{**given, "w": verbs[up], "b": v})
        for v in value_mutations(b.text, rng)[:1]
        if false_value(scene, str(b.metric), v, b.step)
    ]
    return "from to", form.format(**given, w=verbs[up]), wrong


def two_points(scene: Scene, rng: random.Random) -> tuple[Fact, Fact] | None:
    by_metric: dict[str, list[Fact]] = defaultdict(list)
    for fact in scene.points:
        by_metric[str(fact.metric)].append(fact)
    rows = [facts for facts in by_metric.values() if len({f.value for f in facts}) > 1]
    if not rows:
        return None
    facts = rng.choice(rows)
    for _ in range(20):
        a, b = sorted(rng.sample(facts, 2), key=lambda f: int(f.step or 0))
        if a.value != b.value and a.step != b.step and a.text != b.text:
            return a, b
    return None


def story(scene: Scene, rng: random.Random) -> Pair | None:
    """Two values with their steps in one sentence, as people write them."""
    pair = two_points(scene, rng)
    if pair is None:
        return None
    one, two = pair
    metric = str(one.metric)
    name = f"`{metric}`"
    n = rng.randrange(3)

    def text(first: str, second: str) -> str:
        return s(
            scene,
            [
                f"{name} went from {first} at step {one.step} to {second} at step {two.step}.",
                f"{name} was {first} at step {one.step} and later {second} (step {two.step}).",
                f"At step {one.step} {name} was {first}; at step {two.step} it was {second}.",
            ][n],
            [
                f"{name} 从第 {one.step} 步的 {first} 变到第 {two.step} 步的 {second}。",
                f"{name} 在第 {one.step} 步为 {first}，后来为 {second}（第 {two.step} 步）。",
                f"第 {one.step} 步 {name} 为 {first}，第 {two.step} 步为 {second}。",
            ][n],
        )

    bad = [text(wrong, two.text) for wrong in value_mutations(one.text, rng) if false_value(scene, metric, wrong, one.step)]
    bad += [text(one.text, wrong) for wrong in value_mutations(two.text, rng) if false_value(scene, metric, wrong, two.step)]
    if false_value(scene, metric, two.text, one.step) and false_value(scene, metric, one.text, two.step):
        bad.append(text(two.text, one.text))
    return "story", text(one.text, two.text), bad


def change(scene: Scene, rng: random.Random) -> Pair | None:
    pair = two_points(scene, rng)
    if pair is None:
        return None
    a, b = pair
    x, y = float(a.value), float(b.value)  # type: ignore[arg-type]
    if x <= 0 or y <= 0 or abs(y - x) / x < 0.02:
        return None
    share = abs(100 * (y - x) / x)
    ratio = max(x, y) / min(x, y)
    if rng.random() < 0.5 or ratio < 1.2 or ratio > 1000:
        shown = f"{share:.1f}" if share < 1000 else f"{share:.0f}"
        form = s(
            scene,
            "`{m}` went from {a} to {b}, a change of {p}%.",
            rng.choice(["`{m}` 从 {a} 变到 {b}，变化了 {p}%。", "`{m}` 从 {a} 变到 {b}，变化百分之{p}。"]),
        )
        off = [f"{share * k:.1f}" for k in (1.3, 0.6, 1.08)]
        good, bad = (
            shown,
            [
                o
                for o in off
                if all(abs(float(o) - v) > 0.06 for v in (share, 100 * y / x, 100 * x / y, 100 * abs(y - x), 100 * abs(y - x) / y))
            ],
        )
    else:
        good = f"{ratio:.1f}"
        form = s(scene, "`{m}` went from {a} to {b}, a factor of {p}×.", "`{m}` 从 {a} 变到 {b}，相差 {p} 倍。")
        bad = [f"{ratio * k:.1f}" for k in (1.5, 2.2) if abs(ratio * k - ratio) > 0.2]
    text = {"m": a.metric, "a": a.text, "b": b.text}
    return "change", form.format(**text, p=good), [form.format(**text, p=p) for p in bad]


def extremes(scene: Scene, rng: random.Random) -> Pair | None:
    metric = rng.choice(sorted({str(f.metric) for f in scene.points}))
    series = scene.view.printed(metric)
    if series is None or np.count_nonzero(series.finite) < 5:
        return None
    masked_high = np.where(series.finite, series.values, -np.inf)
    masked_low = np.where(series.finite, series.values, np.inf)
    high, low = series.point(int(masked_high.argmax())), series.point(int(masked_low.argmin()))
    known = {f.text for f in scene.grounds.by_metric.get(metric, ())}
    texts = [t for t in (high.text, low.text) if t in known]
    if (
        len(texts) < 2
        or high.value == low.value
        or "/max" in metric
        or "/min" in metric
        or abs(high.value - low.value) <= 2 * numerals(high.text)[0].half
    ):
        return None
    form = s(scene, "The highest value of `{m}` is {h}, the lowest {l}.", "`{m}` 的最大值是 {h}，最小值是 {l}。")
    return "extremes", form.format(m=metric, h=high.text, l=low.text), [form.format(m=metric, h=low.text, l=high.text)]


def direction(scene: Scene, rng: random.Random) -> Pair | None:
    metric = rng.choice(sorted({str(f.metric) for f in scene.points}))
    series = scene.view.printed(metric)
    if series is None or np.count_nonzero(series.finite) < 12:
        return None
    values = series.values[series.finite]
    found = trend(values)
    moved = float(np.median(values[-5:]) - np.median(values[:5]))
    if abs(found.z) < 5 or not ((found.rising and moved > 0) or (found.falling and moved < 0)):
        return None
    up = found.rising
    n = rng.randrange(3)
    words = {
        True: s(
            scene,
            ["`{m}` is rising.", "`{m}` rose over the run.", "`{m}` has been increasing."][n],
            ["`{m}` 一路上升。", "`{m}` 在上涨。", "`{m}` 整体走高。"][n],
        ),
        False: s(
            scene,
            ["`{m}` is falling.", "`{m}` fell over the run.", "`{m}` has been decreasing."][n],
            ["`{m}` 一路下降。", "`{m}` 在下跌。", "`{m}` 整体走低。"][n],
        ),
    }
    return "direction", words[up].format(m=metric), [words[not up].format(m=metric)]


def setting(scene: Scene, rng: random.Random) -> Pair | None:
    rows = [f for f in scene.packed.evidence.facts if f.kind == "config" and isinstance(f.value, float)]
    if not rows:
        return None
    fact = rng.choice(rows)
    form = rng.choice(
        [
            s(scene, "`{k}` is set to {v}.", "`{k}` 设为 {v}。"),
            s(scene, "`{k}={v}` in this run.", "这次训练里 `{k}={v}`。"),
            s(scene, "The config has `{k}`: {v}.", "配置里 `{k}` 是 {v}。"),
        ]
    )
    known = scene.grounds.settings_of(str(fact.metric))
    shown_cards = {one.value for text in scene.grounds.card_texts.values() for one in numerals(text)}
    wrong = []
    for v in {wrong_digit(fact.text, rng), f"{float(fact.value) * 3:g}", f"{float(fact.value) * 10:g}"}:
        value = numerals(v)[0].value
        if value not in known["config"] | known["knowledge"] and value not in shown_cards:
            wrong.append(form.format(k=fact.metric, v=v))
    return "setting", form.format(k=fact.metric, v=fact.text), wrong


def counts(scene: Scene, rng: random.Random) -> Pair | None:
    run = scene.diagnosis.run
    if run.first_step is None or len(run.steps) < 12:
        return None
    form = s(scene, "The log covers {n} steps, from step {a} to step {b}.", "这份日志共 {n} 步，从第 {a} 步到第 {b} 步。")
    n, a, b = len(run.steps), run.first_step, run.last_step
    wrong = [
        form.format(n=n + k, a=a, b=b)
        for k in (7, 23)
        if n + k not in scene.grounds.spans and n + k not in scene.grounds.counts and n + k not in scene.grounds.steps
    ]
    wrong.append(form.format(n=n, a=a, b=int(b or 0) + 37))
    return "counts", form.format(n=n, a=a, b=b), wrong


def onset(scene: Scene, rng: random.Random) -> Pair | None:
    rows = [f for f in scene.diagnosis.faults if f.first_step is not None]
    if not rows:
        return None
    finding = rng.choice(rows)
    title = cards()[f"findings/{finding.id}"].title(scene.language)  # type: ignore[arg-type]
    form = s(scene, "{t}: it begins at step {n}.", "{t}：从第 {n} 步开始。")
    others = [n for n in range(1, int(scene.diagnosis.run.last_step or 0)) if n not in scene.grounds.steps]
    return "onset", form.format(t=title, n=finding.first_step), [form.format(t=title, n=rng.choice(others))] if others else []


def knowledge(scene: Scene, rng: random.Random) -> Pair | None:
    rows = []
    for name in scene.packed.evidence.cards:
        for row in cards()[name].front.get("ranges") or ():
            if row.get("low") is not None and row.get("high") is not None:
                rows.append((name, row))
    if not rows:
        return None
    name, row = rng.choice(rows)
    title = re.sub(r"\s*[(（].*", "", cards()[name].title(scene.language))  # type: ignore[arg-type]
    form = s(scene, "As a rule of thumb, {t} usually lies between {a} and {b}.", "按经验，{t} 通常在 {a} 到 {b} 之间。")
    shown = {one.value for text in scene.grounds.card_texts.values() for one in numerals(text)} | {
        f.value for f in scene.packed.evidence.facts
    }
    bad = [v for v in (row["high"] * 7.3, row["high"] * 13.7) if not any(isinstance(k, float) and abs(k - v) < 0.05 * v for k in shown)]
    return "knowledge", form.format(t=title, a=row["low"], b=row["high"]), [form.format(t=title, a=row["low"], b=f"{v:.4g}") for v in bad]


def placeholder(scene: Scene, rng: random.Random) -> Pair | None:
    fact = rng.choice(scene.points)
    form = s(scene, "`{m}` is {{{{{e}}}}} at step {{{{{e}.step}}}}.", "第 {{{{{e}.step}}}} 步 `{m}` 为 {{{{{e}}}}}。")
    rivals = [f for f in scene.points if f.metric != fact.metric and false_value(scene, str(f.metric), fact.text, fact.step)]
    wrong = [form.format(m=rng.choice(rivals).metric, e=fact.id)] if rivals else []
    wrong.append(form.format(m=fact.metric, e=f"E{len(scene.packed.evidence.facts) + rng.randrange(5, 99)}"))
    return "placeholder", form.format(m=fact.metric, e=fact.id), wrong


def written_otherwise(scene: Scene, rng: random.Random) -> Pair | None:
    """The same value as k, %, full-width digits, a power of ten, minutes, or rounded with "about"."""
    fact = rng.choice(scene.points)
    value, metric = float(fact.value), str(fact.metric)  # type: ignore[arg-type]
    form = s(scene, "`{m}` is {v} at step {s}.", "第 {s} 步 `{m}` 为 {v}。")
    kind = rng.randrange(5)
    if kind == 0 and abs(value) >= 1000:
        good, bad = f"{value / 1000:.1f}k", f"{value / 1000 * 1.4:.1f}k"
    elif kind == 1 and 0 < value < 1 and any(w in metric for w in ("ratio", "frac", "score", "acc")):
        good, bad = f"{100 * value:.1f}%", f"{100 * value * 1.5 + 1:.1f}%"
    elif kind == 2:
        full = str.maketrans("0123456789.", "０１２３４５６７８９．")
        good, bad = fact.text.translate(full), wrong_digit(fact.text, rng).translate(full)
    elif kind == 3 and value:
        good, bad = f"{value:.2e}".replace("e", " × 10^"), f"{value * 10:.2e}".replace("e", " × 10^")
    elif kind == 4 and metric.startswith("timing_s/") and value >= 90:
        good, bad = (
            s(scene, f"{value / 60:.1f} minutes", f"{value / 60:.1f} 分钟"),
            s(scene, f"{value / 60 * 1.3:.1f} minutes", f"{value / 60 * 1.3:.1f} 分钟"),
        )
    else:
        rounded = f"{value:.2g}"
        if "e" in rounded or value == 0:
            return None
        good, bad = s(scene, f"about {rounded}", f"约 {rounded}"), s(scene, f"about {value * 1.37:.2g}", f"约 {value * 1.37:.2g}")
    if kind in (2, 3) and value == 0:
        return None
    if bad == good or ("e" in bad and "×" not in bad):
        return None
    if kind == 2 and not false_value(scene, metric, bad, fact.step):
        return None
    return "written otherwise", form.format(m=metric, v=good, s=fact.step), [form.format(m=metric, v=bad, s=fact.step)]


def names(scene: Scene, rng: random.Random) -> Pair | None:
    metric = rng.choice(sorted(scene.diagnosis.run.columns))
    form = s(scene, "Look at `{m}` next.", "接下来看 `{m}`。")
    return "name", form.format(m=metric), [form.format(m=metric + "_rate_x")] if "/" in metric else []


def verdicts(scene: Scene, rng: random.Random) -> Pair | None:
    serious = [f for f in scene.diagnosis.faults if f.severity in ("critical", "high", "medium")]
    n = rng.randrange(4)
    fine = s(
        scene,
        [
            "The run is healthy.",
            "No problems were found.",
            "Everything looks normal, training goes well.",
            "There is nothing wrong with this run.",
        ][n],
        ["训练一切正常。", "没有发现任何问题。", "这次训练很健康。", "整体运行良好，无需调整。"][n],
    )
    broken = s(
        scene,
        ["The run has collapsed.", "The training diverged.", "The model is broken.", "Training has failed."][n],
        ["训练已经崩溃。", "模型已经发散。", "训练失败了。", "策略已经坍缩。"][n],
    )
    if serious:
        return "verdict", s(scene, "The run is not healthy.", "这次训练不健康。"), [fine]
    if not scene.diagnosis.faults:
        return "verdict", fine, [broken]
    return None


KINDS: list[Callable[[Scene, random.Random], Pair | None]] = [
    at_step,
    at_step,
    without_step,
    from_to,
    story,
    change,
    extremes,
    direction,
    setting,
    counts,
    onset,
    knowledge,
    placeholder,
    written_otherwise,
    names,
    verdicts,
]
