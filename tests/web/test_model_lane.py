"""A model answers in the page: its words stream in, can be stopped, may fail; a visitor's key stays where it belongs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.answers.model.server import Act, ChatServer, serving
from tests.web import browsing
from tests.web.browsing import Tab

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(browsing.why_not()), reason=browsing.why_not() or "-")]

KEY = "sk-visitor-0123456789abcdefghij"
WORDS = (
    "The policy has settled on one answer. Short replies win here because nothing rewards the long ones. Exploration has dried up, so "
    "no better reply is ever tried. The score cannot rise any more in this state. A larger clip range on the upper side would help rare "
    "words. A fresh start from an earlier checkpoint is the other way out. Look at the entropy first."
)


def choose(tab: Tab, model: ChatServer, key: str = KEY) -> None:
    tab.show("settings")
    tab.page.click("#model-kind label:has-text('my own model')")
    tab.see("#own-model")
    tab.page.click("#model-preset input")
    tab.page.click("#model-preset [role=option]:has-text('other'), [role=option]:has-text('other')")
    tab.see("#model-address")
    tab.page.fill("#model-name input, #model-name textarea", "test-model")
    tab.page.fill("#model-address input, #model-address textarea", model.url)
    tab.page.fill("#model-key input", key)


def test_a_visitor_s_own_model_streams_and_can_be_stopped(open_tab: Callable[..., Tab]) -> None:
    with serving(Act(WORDS, pace=0.05, chunk=16), key=KEY) as model:
        tab = open_tab()
        tab.open_sample("collapse")
        choose(tab, model)
        tab.page.click("#model-test")
        tab.see("#model-said .check-ok", "Answers a question")
        tab.see("#model-said .check", "Server reachable")
        tab.page.click("#model-use")
        tab.see("#model-said", "Answers are written by test-model")
        assert tab.page.input_value("#model-key input") == ""
        tab.page.fill("#question textarea", "what is wrong here?")
        tab.page.press("#question textarea", "Enter")
        tab.see("#live .growing .answer", "settled on one answer")
        tab.see("#stop")
        done = tab.see("#live .turn[data-turn]")
        assert "Look at the entropy first" in done.inner_text()
        assert "Written by test-model" in done.inner_text()
        assert "tokens" in done.locator(".by").inner_text()
        tab.see("#send")
        tab.page.fill("#question textarea", "and why is that, in other words?")
        tab.page.press("#question textarea", "Enter")
        tab.see("#live .growing .answer", "settled")
        tab.page.click("#stop")
        stopped = tab.see("#live .turn[data-turn]")
        assert "Look at the entropy first" not in stopped.inner_text()
        tab.see("#send")
        kept = tab.run("JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie])")
        assert KEY not in kept + tab.page.content()
        assert all(KEY not in str(request) for request in model.requests)
        tab.reload()
        tab.show("settings")
        tab.see("#model-said", "Answers are written by test-model")
        assert KEY not in tab.page.content()
        tab.page.click("#another")
        tab.open_sample("floor")
        tab.show("settings")
        tab.see("#model-said", "Answers are written by test-model")


def test_a_model_that_fails_leaves_the_built_in_answer_and_says_so(open_tab: Callable[..., Tab]) -> None:
    with serving(Act(status=500, error="broken"), key=KEY) as model:
        tab = open_tab()
        tab.open_sample("collapse")
        choose(tab, model, key="wrong")
        tab.page.click("#model-test")
        tab.see("#model-said .check-bad")
        tab.page.click("#model-use")
        tab.see("#model-said", "test-model")
        answer = tab.ask("why is my pg_loss positive?")
        assert "pg_loss" in answer.inner_text()
        assert "Numbers checked" in answer.inner_text()
        assert model.url in answer.inner_text() or "key" in answer.inner_text().lower()


def test_a_choice_is_not_undone_by_the_filling_of_its_panel(open_tab: Callable[..., Tab]) -> None:
    """The server's answers of the queue come late: what is chosen in a panel that is still being filled must stay chosen."""
    with serving(Act(WORDS), key=KEY) as model:
        tab = open_tab()
        tab.open_sample("collapse")
        choose(tab, model)
        tab.page.click("#model-use")
        tab.see("#model-said", "Answers are written by test-model")
        tab.delay(1.0, "queue/data")
        tab.language("zh")
        tab.see("#tabs", "设置")
        tab.page.click("#model-kind label >> nth=0")
        tab.see("#model-said", "内置")
        tab.page.wait_for_timeout(800)
        assert "内置" in tab.text("#model-said")
        assert tab.page.locator("#model-kind input").first.is_checked()


def test_entries_that_cannot_be_used_are_told(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    with serving(Act("x")) as model:
        choose(tab, model)
        tab.page.fill("#model-address input, #model-address textarea", "ftp://nowhere")
        tab.page.click("#model-use")
        tab.see("#model-said .problem", "base_url")
        tab.page.fill("#model-address input, #model-address textarea", "")
        tab.page.click("#model-use")
        tab.see("#model-said .problem", "address")
        assert model.requests == []


def test_what_one_visitor_chose_is_not_another_s(open_tab: Callable[..., Tab]) -> None:
    with serving(Act(WORDS), key=KEY) as model:
        one, two = open_tab(), open_tab()
        one.open_sample("collapse")
        two.open_sample("collapse")
        choose(one, model)
        one.page.click("#model-use")
        one.see("#model-said", "test-model")
        two.ask("why is my pg_loss positive?")
        assert model.requests == []
        assert two.page.locator(".by").count() == 0
