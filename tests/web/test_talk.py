"""Turns as HTML: every number a chip, nothing of a log or a question alive."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from assistant.answers import Answer, answer
from assistant.diagnosis import Diagnosis
from assistant.sessions import MemoryStore, open_log
from assistant.web import talk
from assistant.web.samples import sample_text


@pytest.fixture(scope="module")
def floor() -> Diagnosis:
    return open_log(sample_text("floor"))


@pytest.fixture(scope="module")
def given(floor: Diagnosis) -> Answer:
    return answer("what is critic/score/mean at step 4?", floor)


class Inert(HTMLParser):
    """Collects tags and attributes; a turn has none that act or load."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "srcdoc", "style", "href", "action")]


def shown(markdown: str, **more: object) -> str:
    return talk.turn(talk.Shown("q", {"answer": markdown, "language": "en", **more}, 0))


def test_each_number_is_a_chip_with_its_place(given: Answer) -> None:
    html = talk.turn(talk.of_answer("q", given, 0))
    body = html[html.index('<div class="answer"') : html.index("</div>")]
    chips = re.findall(r'<button type="button" class="num num-(\w+)"([^>]*)>([^<]+)</button>', body)
    assert [text for _, _, text in chips] == [number.text for number in given.numbers]
    assert [status for status, _, _ in chips] == [number.status for number in given.numbers]
    fact = next(fact for fact in given.facts if fact.metric and fact.line and any(n.fact == fact.id for n in given.numbers))
    assert any(f'data-line="{fact.line}"' in attributes and f'data-metric="{fact.metric}"' in attributes for _, attributes, _ in chips)
    assert all("aria-label=" in attributes for _, attributes, _ in chips)


def test_the_words_stay_as_they_are(given: Answer) -> None:
    html = talk.words(talk.of_answer("q", given, 0))
    plain = talk.rendered(given.markdown)
    assert re.sub(r"<[^>]+>", "", html) == re.sub(r"<[^>]+>", "", plain)


def test_a_kept_turn_looks_as_it_did(floor: Diagnosis, given: Answer) -> None:
    store = MemoryStore()
    session = store.create(floor)
    index = store.add_turn(session.id, given.turn, answer=given)
    (kept,) = store.transcript(session.id)
    assert talk.words(talk.of_exchange(kept, "en")) == talk.words(talk.of_answer("q", given, index))


def test_the_number_of_a_list_is_no_chip() -> None:
    numbers = [{"text": "1", "status": "run", "fact": None}, {"text": "2", "status": "run", "fact": None}]
    html = shown("1. first\n2. second", numbers=numbers)
    assert "<ol>" in html
    assert "num-" not in html


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "![x](http://example.org/x.png)", "[x](javascript:alert(1))",
        "<http://example.org>", "[x]: http://example.org\n\n[x]", "`<svg onload=alert(1)>`", "| a |\n|---|\n| <b>1</b> |",
        '"><iframe srcdoc="<script>alert(1)</script>">', "\ue000\ue100\ue001", "<details open ontoggle=alert(1)>", "&lt;img src=x&gt;",
    ],
)  # fmt: skip
def test_markup_in_an_answer_stays_text(text: str) -> None:
    facts = [{"id": "E1", "metric": text, "step": 1, "value": 1.0, "line": 1, "text": "1", "kind": "run", "formula": text}]
    html = talk.turn(
        talk.Shown(
            text, {"answer": f"{text} 1", "language": "en", "facts": facts, "numbers": [{"text": "1", "status": "run", "fact": "E1"}]}, 0
        )
    )
    assert not Inert(html).tags & {"img", "script", "iframe", "svg", "a", "b"}
    assert html.count("num-run") >= 1
    assert not Inert(talk.growing(text, text, "en")).tags & {"img", "script", "iframe", "svg", "a"}
    assert not Inert(talk.suggestions([text], "en")).tags & {"img", "script", "iframe", "svg", "a"}


def test_the_footer_counts_the_checked_numbers() -> None:
    footer = talk.footer({"run": 11, "derived": 2, "knowledge": 0, "unverified": 0}, "en")
    assert footer == '<p class="checked">Numbers checked: 11 from the log, 2 computed from it</p>'
    assert "doubtful" in talk.footer({"run": 1, "unverified": 1}, "en")
    assert talk.footer({"run": 3}, "zh") == '<p class="checked">数字核对：3 个来自日志</p>'
    assert talk.footer({"run": 0}, "en") == ""


def test_which_model_wrote_and_what_it_took_is_said() -> None:
    made = talk.Shown(
        "q", {"answer": "a", "language": "en", "model": "m-1"}, 0, usage={"calls": 2, "tokens_in": 900, "tokens_out": 80, "seconds": 1.5}
    )
    assert "Written by m-1 · 2 calls, 900 + 80 tokens, 1.5 s" in talk.turn(made)


def test_evidence_lists_every_fact(given: Answer) -> None:
    html = talk.evidence(talk.of_answer("q", given, 0))
    assert html.count("<tr>") == len(given.facts) + 1
