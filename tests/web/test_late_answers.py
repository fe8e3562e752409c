"""What comes late, comes twice or never comes: what the visitor did last is what stands, and nothing is lost.

Requests are held back in the page (`Tab.delay`), as a slow network does.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assistant.messages import say
from assistant.sessions import MemoryStore, open_log
from assistant.web.limits import Limits
from assistant.web.page import Page
from assistant.web.reading import Readings
from assistant.web.samples import sample_text
from tests.answers.model.server import Act, serving
from tests.web import browsing
from tests.web.browsing import Tab
from tests.web.test_model_lane import KEY, WORDS, choose

Open = Callable[..., Tab]
QUESTION = "#question textarea"
CHINESE = "/[\\u4e00-\\u9fff]/"
OTHERS = "[...document.querySelectorAll('.of, .turns')].some(one => one.dataset.session !== runwhy.session() && one.checkVisibility())"


def marked(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.browser(pytest.mark.skipif(bool(browsing.why_not()), reason=browsing.why_not() or "-")(test))


# Gradio leaves event loops and sockets to the garbage collector: it is not held against these tests, nor against those of other files.
pytestmark = [pytest.mark.filterwarnings("ignore::ResourceWarning"), pytest.mark.usefixtures("collected_last")]


# Without a browser


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(MemoryStore(), Limits())


def visitor(tab: str) -> Any:
    return SimpleNamespace(session_hash=tab, headers={})


def test_of_two_openings_at_once_the_second_is_wanted() -> None:
    readings = Readings()
    first = readings.start("tab")
    second = readings.start("tab")
    assert first.is_set()
    assert not readings.wanted("tab", first)
    assert readings.wanted("tab", second)
    readings.drop("tab")
    assert second.is_set()
    assert not readings.wanted("tab", second)
    readings.done("tab", second)
    assert len(readings) == 0


def test_a_log_that_is_read_when_another_was_chosen_is_not_shown(page: Page) -> None:
    start, before = page.start_panel, len(page.store)  # type: ignore[arg-type]
    opening = start.open_paste(sample_text("floor"), "", "en", visitor("tab"), lambda *given, **more: None)  # type: ignore[arg-type]
    next(opening)
    newer = start.readings.start("tab")
    assert list(opening) == []
    assert len(page.store) == before  # type: ignore[arg-type]
    assert start.readings.wanted("tab", newer)


def chat(page: Page) -> Any:
    return next(panel for panel in page.panels if panel.name == "ask")


@pytest.fixture
def streamed(page: Page) -> Iterator[tuple[str, Any]]:
    """A session whose answers a slow model writes, and the event that asks."""
    from assistant.answers.model.settings import Endpoint

    session = page.store.create(open_log(sample_text("collapse")))
    with serving(Act(WORDS, pace=0.05, chunk=16), key=KEY) as model:
        page.models.choose(session.id, "own", Endpoint("test-model", base_url=model.url, api_key=KEY))
        yield session.id, chat(page).ask("what is wrong?", session.id, "en", visitor("tab"))


def test_an_answer_nobody_waits_for_any_longer_is_kept(page: Page, streamed: tuple[str, Any]) -> None:
    """The page was reloaded in mid-stream: the generator is dropped, and the page that is opened again finds what was said."""
    session_id, event = streamed
    next(event)
    event.close()
    page.turn_to(session_id, "en", visitor("after the reload"))
    assert [one.question for one in page.store.transcript(session_id)] == ["what is wrong?"]


def test_an_answer_is_silent_when_another_log_was_opened(page: Page, streamed: tuple[str, Any]) -> None:
    session_id, event = streamed
    next(event)
    page.turn_to("another", "en", visitor("tab"))
    assert [given for given in event if "Look at the entropy first" in str(given)] == []
    assert [one.question for one in page.store.transcript(session_id)] == ["what is wrong?"]


def test_an_answer_is_kept_when_the_server_ends(streamed: tuple[str, Any]) -> None:
    session_id, event = streamed
    own = event.gi_frame.f_locals["self"].page
    next(event)
    chat(own).close()
    assert len(own.store.transcript(session_id)) == 1


# In the browser


@marked
def test_a_language_changed_twice_while_a_panel_is_filled(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    tab.delay(0.5)
    tab.page.click("#tab-settings")
    for language in ("zh", "en", "zh"):
        tab.language(language)
    tab.see("#model-said .note", "内置")
    tab.until("!document.querySelector('#panel-settings').inert")
    tab.page.click("#tab-guide")
    tab.until(f"{CHINESE}.test(document.querySelector('#guide-title')?.textContent)")
    tab.page.click("#tab-findings")
    tab.until(f"{CHINESE}.test(document.querySelector('#verdict')?.textContent)")


@marked
def test_a_panel_whose_filling_failed_takes_input_and_is_filled_later(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    tab.page.route("**/queue/join*", lambda route: route.fulfill(status=503, json={"detail": "full"}))
    tab.page.click("#tab-compare")
    tab.until("document.querySelector('#panel-compare [class*=error], .toast-body')")
    tab.until("!document.querySelector('#panel-compare').inert")
    tab.page.unroute("**/queue/join*")
    tab.page.click("#tab-guide")
    tab.see("#guide .guide")
    tab.errors.clear()  # the browser reports the 503


@marked
def test_what_was_asked_is_answered_once_and_what_is_typed_meanwhile_stays(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    tab.delay(0.7, "queue/")
    tab.page.fill(QUESTION, "why is my pg_loss positive?")
    tab.page.press(QUESTION, "Enter")
    tab.see(".coming", "why is my pg_loss positive?")
    tab.page.fill(QUESTION, "and the entropy?")
    tab.page.press(QUESTION, "Enter")
    tab.page.click("#send")
    tab.see("#live .turn[data-turn]", "why is my pg_loss positive?")
    tab.until("!document.querySelector('.coming') && document.querySelector('#live').ariaBusy === 'false'")
    assert tab.page.locator(".turn").count() == 1
    assert tab.page.input_value(QUESTION) == "and the entropy?"
    tab.page.press(QUESTION, "Enter")
    tab.see("#live .turn[data-turn]", "and the entropy?")
    tab.until("document.querySelector('#live').ariaBusy === 'false'")
    chips = tab.page.locator("#suggestions .chip")
    first, second = chips.nth(0).inner_text(), chips.nth(1).inner_text()
    chips.nth(0).click()
    tab.run("document.querySelectorAll('#suggestions .chip')[1].click()")
    tab.see("#live .turn[data-turn]", first)
    assert tab.page.input_value(QUESTION) == second
    assert tab.page.locator(".turn[data-turn]").count() == 3


@marked
def test_an_answer_that_comes_when_another_log_is_open_is_not_shown(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    tab.page.click("#tab-guide")
    tab.see("#guide .guide")
    tab.page.click("#tab-findings")
    tab.delay(1.0, "queue/join")
    tab.page.fill(QUESTION, "why is my pg_loss positive?")
    tab.page.press(QUESTION, "Enter")
    tab.page.click("#another")
    tab.see("#sample-floor").click()
    tab.see(".report-of", "Reward stays at zero")
    tab.page.click("#tab-guide")
    tab.see("#guide .guide")
    assert tab.page.locator(".turn:visible").count() == 0
    assert not tab.run(OTHERS)
    answer = tab.ask("why is the reward flat?")
    assert "383" not in answer.inner_text()
    assert tab.page.locator(".turn:visible").count() == 1


@marked
def test_choices_made_quickly_one_after_the_other(open_tab: Open) -> None:
    """The order of a comparison, what the log is, the guide's options: the last choice stands."""
    tab = open_tab()
    files = [{"name": f"{key}.log", "mimeType": "text/plain", "buffer": sample_text(key).encode()} for key in ("healthy", "floor")]
    tab.drop(*files)
    tab.show("compare")
    tab.see("#compare .verdict")
    tab.delay(0.5)
    order = tab.page.locator("#compare-order input")
    for choice in (1, 0, 1):
        order.nth(choice).click()
    tab.until("document.querySelector('#compare .facts').textContent.indexOf('floor.log') < document.querySelector('#compare .facts')"
              ".textContent.indexOf('healthy.log')")  # fmt: skip
    tab.page.wait_for_timeout(800)
    assert order.nth(1).is_checked()

    tab.page.click("#tab-findings")
    tab.run(
        "(() => { const form = document.querySelector('form.correct'); ['0.6', '0.4'].forEach((era, n) =>"
        " setTimeout(() => { form.era.value = era; form.requestSubmit(); }, 100 * n)); })()"
    )
    tab.see(".facts dd", "verl 0.4")

    tab.page.click("#tab-guide")
    tab.see("#guide .guide")
    tab.run("document.querySelectorAll('#guide [data-guide]').forEach((one, n) => { if (n < 2) one.click(); })")
    tab.until("document.querySelector('#guide .guide').dataset.depth === '1'")
    tab.page.locator("#guide [data-guide]").first.click()
    tab.language("zh")
    tab.until(f"{CHINESE}.test(document.querySelector('#guide-title')?.textContent)")
    tab.until("!document.querySelector('#guide .guide').ariaBusy")


@marked
def test_back_and_forward_before_the_page_has_followed(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("floor")
    tab.delay(0.5)
    tab.page.go_back()
    tab.page.go_forward()
    tab.until("document.querySelector('#report').checkVisibility() && history.state.view === 'findings'")
    tab.page.wait_for_timeout(800)
    tab.see("#verdict")
    tab.page.go_back()
    tab.see("#back")
    tab.page.go_forward()
    tab.page.go_back()
    tab.page.wait_for_timeout(800)
    tab.until("document.querySelector('#go')?.checkVisibility() && history.state.view === 'start' && !runwhy.session()")


@marked
def test_a_reload_in_mid_stream_keeps_what_was_said_and_what_is_typed(open_tab: Open) -> None:
    with serving(Act(WORDS, pace=0.1, chunk=12), key=KEY) as model:
        tab = open_tab()
        tab.open_sample("collapse")
        choose(tab, model)
        tab.page.click("#model-use")
        tab.see("#model-said", "test-model")
        tab.page.fill(QUESTION, "what is wrong here?")
        tab.page.press(QUESTION, "Enter")
        tab.see("#live .growing .answer", "settled")
        tab.page.fill(QUESTION, "half a quest")
        tab.reload()
        tab.see("#talk .turn .asked", "what is wrong here?")
        tab.until("document.querySelector('#question textarea').value === 'half a quest'")
        assert "half a quest" not in tab.run("JSON.stringify(Object.entries(sessionStorage))")


@marked
def test_the_server_is_killed_in_mid_stream_and_comes_back(browser: Any, tmp_path: Path) -> None:
    where = {"RUNWHY_STORE": f"sqlite:///{tmp_path}/talks.db", "RUNWHY_DATA": str(tmp_path)}
    port = browsing.free_port()
    opened = browsing.tabs(browser, f"http://127.0.0.1:{port}")
    with serving(Act(WORDS, pace=0.1, chunk=12), key=KEY) as model:
        with browsing.serving_process(port, **where) as (_, server):
            tab = next(opened)("zh-CN")
            tab.open_sample("collapse")
            tab.ask("why is my pg_loss positive?")
            tab.page.evaluate("runwhy.show('settings')")
            tab.language("en")
            tab.see("#tab-settings", "Settings")
            choose(tab, model)
            tab.page.click("#model-use")
            tab.see("#model-said", "test-model")
            tab.language("zh")
            tab.page.fill(QUESTION, "what is wrong here?")
            tab.page.press(QUESTION, "Enter")
            tab.see("#live .growing .answer", "settled")
            server.send_signal(signal.SIGKILL)
            server.wait(20)
            tab.see(".toast-body", say("web.lost", "zh"))
        with browsing.serving_process(port, **where):
            tab.until("!document.querySelector('.toast-body') && !document.body.classList.contains('restoring')")
            tab.see("#talk .turn .asked", "why is my pg_loss positive?")
            tab.until("document.querySelector('#question textarea').value === 'what is wrong here?'")
            tab.errors.clear()  # of the connection
            tab.page.press(QUESTION, "Enter")
            tab.see("#live .turn[data-turn]")
            with pytest.raises(StopIteration):
                next(opened)


@marked
def test_an_upload_says_how_far_it_is_and_can_be_stopped(open_tab: Open, tmp_path: Path) -> None:
    large = tmp_path / "large.log"
    large.write_text("".join(f"step:{n} - actor/entropy:0.4{n % 10} - critic/score/mean:0.5\n" for n in range(400_000)))
    tab = open_tab()
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 300_000}
    network = tab.context.new_cdp_session(tab.page)
    network.send("Network.emulateNetworkConditions", slow)
    tab.page.set_input_files("#file input[type=file]", large)
    tab.see(".sending", "large.log")
    tab.see(".sending .cancel-upload").click()
    tab.until("!document.body.hasAttribute('data-uploading')")
    tab.page.set_input_files("#file input[type=file]", large)
    tab.see(".sending", "large.log")
    tab.page.click("#sample-floor")
    network.send("Network.emulateNetworkConditions", {**slow, "uploadThroughput": -1})
    tab.see(".report-of", "Reward stays at zero")
    tab.page.wait_for_timeout(800)
    assert "Reward stays at zero" in tab.text(".report-of")
