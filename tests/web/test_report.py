"""The report as HTML: head, findings, foot."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from assistant.diagnosis import Diagnosis
from assistant.messages import Language
from assistant.run import Note
from assistant.web import findings, overview
from tests.builders import run_of
from tests.web.conftest import HOSTILE, finding, hostile, run, sick

pytestmark = pytest.mark.usefixtures("own_cards")


class Balanced(HTMLParser):
    """Every tag that opens is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") or name in ("src", "style") for name, _ in attrs)
        assert all((value or "").startswith("#") for name, value in attrs if name == "href")
        if tag not in ("br", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def whole(diagnosis: Diagnosis, language: Language, name: str = "") -> str:
    parts = [overview.head(diagnosis, name, language)]
    for number, one in enumerate(diagnosis.findings, 1):
        parts += [findings.seen(one, number, diagnosis.run, language), findings.to_do(one, diagnosis.run, language)]
    parts.append(overview.foot(diagnosis, language))
    return "".join(parts)


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.replace("<wbr>", "")))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hostile_log_text_stays_text(language: Language) -> None:
    html = whole(hostile(), language, name=HOSTILE)
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert not parser.seen & {"img", "script", "iframe", "style", "svg"}
    assert html.count("&lt;script&gt;") >= 8


@pytest.mark.parametrize(
    ("language", "verdict", "since", "fixed"),
    [
        ("en", "2 things to act on. Start with: Title of entropy-collapse, since step 12.", "since step 12", "0.1 (in this log) → 0.28"),
        ("zh", "有 2 项需要处理。先看：entropy-collapse 的标题，自第 12 步起。", "自第 12 步起", "0.1 (本次配置) → 0.28"),
    ],
)
def test_findings_say_since_when_what_and_what_to_do(language: Language, verdict: str, since: str, fixed: str) -> None:
    diagnosis = sick()
    html = whole(diagnosis, language)
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert overview.verdict(diagnosis, language) == verdict
    text = text_of(html)
    assert since in text
    assert fixed in text
    last = diagnosis.findings[0].evidence[1]
    assert f"{last.metric} 30 {last.text} 30" in text
    assert "some.key=0.28" in text


def test_a_default_is_called_a_default() -> None:
    made = run()
    made.config = {}
    assert "0.2 (default) → 0.28" in text_of(findings.to_do(finding("entropy-collapse", made), made, "en"))


def test_what_follows_names_its_cause() -> None:
    diagnosis = sick()
    assert "Follows from: Title of entropy-collapse" in findings.seen(diagnosis.findings[1], 2, diagnosis.run, "en")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [(30, "Healthy"), (3, "the log is short (3 steps)"), (1, "a single step")],
)
def test_a_run_without_a_fault(steps: int, expected: str) -> None:
    diagnosis = Diagnosis(run_of({"actor/entropy": [0.4] * steps}), [], ["truncation"], [])
    assert expected in overview.verdict(diagnosis, "en")
    assert overview.tone(diagnosis) == "tone-healthy"
    assert "1 possible faults checked" in whole(diagnosis, "en") or "Checked, and not the case (1)" in whole(diagnosis, "en")


def test_only_odd_things_are_no_fault() -> None:
    made = run()
    diagnosis = Diagnosis(made, [finding("positive-pg-loss", made)], [], [])
    assert "Healthy" in overview.verdict(diagnosis, "en")
    assert findings.parted(diagnosis) == ([], list(diagnosis.findings))


def test_a_crash_comes_first_in_the_verdict() -> None:
    made = run()
    diagnosis = Diagnosis(made, [finding("truncation", made), finding("crash-gpu-oom", made, first_step=30)], [], [])
    assert overview.verdict(diagnosis, "en") == "The run crashed: Title of crash-gpu-oom, after step 30. One more finding below."


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [(12, 30, "since step 12"), (12, 20, "steps 12–20"), (12, 12, "at step 12"), (None, None, ""), (30, 30, "since step 30")],
)
def test_when(first: int | None, last: int | None, expected: str) -> None:
    made = run()
    assert overview.when(finding("truncation", made, first_step=first, last_step=last), made, "en") == expected


def test_a_long_line_is_cut_and_says_so() -> None:
    html = overview.excerpt_line(3, "x" * 1000, "en")
    assert "x" * 400 in html
    assert "x" * 401 not in html
    assert "600 characters left out" in html


def test_unknown_checks_are_grouped_by_what_they_need() -> None:
    html = overview.foot(sick(), "en")
    assert "<code>some.flag=True</code>" in html
    assert "Title of crash-gpu-oom" in html


def test_a_note_without_a_sentence_is_left_out() -> None:
    made = run()
    made.notes = [Note("no-such-kind", 3)]
    assert overview.notes(made, "en") == []


def test_what_is_set_already_is_not_advised() -> None:
    made = run()
    made.config = {"some.key": 0.28}
    html = findings.to_do(finding("entropy-collapse", made), made, "en")
    assert "some.key</code>" not in html.replace("see <code>some.key</code>", "")
    assert "Restart." in html


def test_small_things_do_not_sound_grave() -> None:
    made = run()
    diagnosis = Diagnosis(made, [finding("truncation", made, severity="low")], [], [])
    assert overview.verdict(diagnosis, "en").startswith("Nothing serious. Worth a look: Title of truncation")
    assert overview.tone(diagnosis) == "tone-low"


def test_one_line_of_a_finding() -> None:
    made = run()
    assert findings.line(finding("truncation", made), 4, made, "en") == "4. Title of truncation (high, since step 12)"
    assert findings.line(finding("truncation", made, first_step=None), 4, made, "zh") == "4. truncation 的标题（严重）"
