"""Cards of our own, so that these tests say how a page is drawn and not what any finding means."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant import cards
from assistant.diagnosis import Diagnosis, Finding, RunView, Unknown, naming
from assistant.diagnosis.facts import printed
from assistant.run import Note, Run, SourceLine
from tests.builders import run_of
from tests.web import browsing

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
CARD = """---
title: {{en: "Title of {id}", zh: "{id} 的标题"}}
severity: {severity}
says:
  default: {{en: "It fell to {{now}}.", zh: "降到 {{now}}。"}}
  words: {{en: "The log says so.", zh: "日志这么说。"}}
causes:
  - {{id: a, en: "First cause, see `some.key`.", zh: "第一原因，见 `some.key`。"}}
  - {{id: b, en: "Second cause.", zh: "第二原因。"}}
fixes:
  - {{id: f, key: some.key, default: 0.2, to: 0.28, why: {{en: "Because.", zh: "因为。"}}, check: {{en: "`m` rises", zh: "`m` 上升"}}}}
  - {{id: g, why: {{en: "Restart.", zh: "重启。"}}}}
rules_out:
  - {{en: "If m rises, it is something else.", zh: "若 m 上升则另有原因。"}}
sources: ["verl 0.6.1 some/file.py"]
---

## en
Body **text** of {id}.

- a point

## zh
{id} 的正文。
"""
IDS = {
    "entropy-collapse": "high",
    "no-learning-signal": "medium",
    "positive-pg-loss": "info",
    "crash-gpu-oom": "critical",
    "truncation": "high",
}


def forget() -> None:
    for cached in (cards._cards, naming.metric_card, naming._table):
        cached.cache_clear()


@pytest.fixture
def own_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "knowledge" / "findings"
    folder.mkdir(parents=True)
    for name, severity in IDS.items():
        (folder / f"{name}.md").write_text(CARD.format(id=name, severity=severity), encoding="utf-8")
    monkeypatch.setenv("RUNWHY_KNOWLEDGE", str(tmp_path / "knowledge"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forget()
    yield
    monkeypatch.undo()
    forget()


def run() -> Run:
    made = run_of(
        {"actor/entropy": [0.4 - 0.01 * i for i in range(30)], "actor/grad_norm": [1.0] * 30},
        era="0.6",
        algorithm="grpo",
        config={"some.key": 0.1},
        total_steps=100,
    )
    made.era_evidence = (Note("clue.printed", data={"name": "a/key", "span": "only", "low": "0.6", "high": "0.6"}),)
    return made


def finding(name: str, made: Run, **more: object) -> Finding:
    series = RunView(made).printed("actor/entropy")
    assert series is not None
    given = {"severity": IDS[name], "first_step": 12, "last_step": 30, "evidence": [series.point(0), series.point(-1)]} | more
    return Finding(name, facts={"now": printed(series.point(-1))}, **given)  # type: ignore[arg-type]


def sick() -> Diagnosis:
    made = run()
    findings = [
        finding("entropy-collapse", made),
        finding("no-learning-signal", made, follows=("entropy-collapse",), confidence=0.6),
        finding("positive-pg-loss", made, first_step=None),
    ]
    return Diagnosis(made, findings, ["truncation"], [Unknown("crash-gpu-oom", "some.flag=True")])


def hostile() -> Diagnosis:
    """A log that tries to put markup into every place that shows its text."""
    made = run_of({f"actor/{HOSTILE}": [float(i) for i in range(20)]}, config={HOSTILE: HOSTILE}, algorithm=HOSTILE, framework=HOSTILE)
    made.era = HOSTILE
    made.era_evidence = (Note("clue.printed", data={"name": HOSTILE, "span": "only", "low": "0.6", "high": "0.6"}),)
    made.algorithm_evidence = Note("clue.configured", data={"name": "algorithm.adv_estimator", "value": HOSTILE})
    made.unread_lines, made.unread_samples = 3, [(7, HOSTILE)]
    series = made.series(f"actor/{HOSTILE}")
    assert series is not None
    found = Finding(
        "crash-gpu-oom", "critical", first_step=5, last_step=20, evidence=[series.point(0), series.point(19)], variant="words",
        excerpt=[SourceLine(9, HOSTILE * 20)],
    )  # fmt: skip
    return Diagnosis(made, [found], [], [Unknown("truncation", f"a.b={HOSTILE}")])


# Browser tests (`tests.web.browsing`); others may import these fixtures.


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    yield from browsing.browsers()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with browsing.served() as found:
        yield found


@pytest.fixture(scope="module")
def collected_last() -> Iterator[None]:
    """For tests that run Gradio in this process: what it leaves behind is collected before those of other files begin."""
    yield
    asyncio.set_event_loop(None)
    gc.collect()


@pytest.fixture
def open_tab(browser: Any, address: str) -> Iterator[Callable[..., browsing.Tab]]:
    yield from browsing.tabs(browser, address)
