"""The guide and the first reading in the page: in a real browser, and inert for hostile logs."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from assistant.cards import card
from assistant.diagnosis import Diagnosis, diagnose
from assistant.guide import default_walk, page
from assistant.logs import read
from assistant.messages import Language, say
from assistant.web.panels.guide import guide_html
from assistant.web.panels.teach import lessons_html
from tests.web import browsing
from tests.web.browsing import Tab

LOG = Path(__file__).parents[1] / "cases" / "a_rewards_always_zero" / "log.txt"
TRACEBACK = """step:1 - actor/<img src=x onerror="window.hacked=1">:0.5 - critic/score/mean:0.1 - actor/entropy:0.4
Traceback (most recent call last):
  File "a.py", line 3, in <module>
ValueError: `</code><script>window.hacked=1</script>` ![x](http://evil.example/x.png) password=hunter2hunter2
RuntimeError: CUDA out of memory. Tried to allocate <b onmouseover="window.hacked=1">2.00 GiB</b>
"""
Open = Callable[..., Tab]
browser_test = pytest.mark.skipif(bool(browsing.why_not()), reason=browsing.why_not() or "-")


class Tags(HTMLParser):
    """Names of the elements and of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes.update(name for name, _ in attrs)


@pytest.fixture(scope="module")
def sick() -> Diagnosis:
    return diagnose(read(LOG))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pages_and_lessons_hold_no_element_of_a_hostile_log(tmp_path: Path, language: Language) -> None:
    (tmp_path / "log.txt").write_text(TRACEBACK, encoding="utf-8")
    diagnosis = diagnose(read(tmp_path / "log.txt"))
    assert diagnosis.faults
    shown = [
        guide_html(one, language) for guide in ("crashed", "oom", "walk-through") for one in default_walk(diagnosis, guide, (), language)
    ]
    shown.append(lessons_html(diagnosis, language))
    assert any("hacked" in text for text in shown)
    for text in shown:
        tags = Tags(text)
        assert not tags.elements & {"script", "img", "b onmouseover", "a", "iframe", "svg"}
        assert not any(name.startswith("on") for name in tags.attributes)


def test_what_is_quoted_is_masked(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(TRACEBACK, encoding="utf-8")
    diagnosis = diagnose(read(tmp_path / "log.txt"))
    for one in default_walk(diagnosis, "crashed"):
        assert "hacked" not in guide_html(one, "en", lambda text: text.replace("hacked", "MASKED"))


def test_values_are_chips_that_know_their_line(sick: Diagnosis) -> None:
    first = page(sick, "reward-flat")
    row = first.rows[0]
    shown = guide_html(first, "en")
    assert f'data-metric="{row.metric}"' in shown
    assert f'data-line="{row.line}"' in shown


@pytest.mark.browser
@browser_test
@pytest.mark.parametrize(("language", "locale", "width"), [("en", "en-US", 1360), ("zh", "zh-CN", 390)])
def test_a_walk_by_suggestions_reaches_the_result_and_back(
    open_tab: Open, sick: Diagnosis, language: Language, locale: str, width: int
) -> None:
    tab = open_tab(locale, width, 900)
    tab.paste(LOG.read_text())
    tab.show("guide")
    assert tab.text("#guide-title") == say("guide.start_title", language)
    for depth in range(12):
        if tab.page.locator("#guide .guide-outcome").count():
            break
        suggested = tab.page.locator("#guide .suggested-choice, #guide .only-choice").first
        suggested.click()
        tab.until(f"document.querySelector('#guide .guide')?.dataset.depth === '{depth + 1}'")
    expected = default_walk(sick, "start", (), language)[-1]
    assert expected.outcome is not None
    shown = tab.text("#guide")
    assert expected.outcome.title in shown
    assert card(f"findings/{expected.outcome.findings[0]}").title(language) in shown
    assert say("guide.head_changes", language) in shown
    tab.until("document.activeElement && document.activeElement.id === 'guide-title'")
    depth = len(expected.choices)
    tab.page.click("#guide [data-guide='<back>']")
    tab.until(f"document.querySelector('#guide .guide')?.dataset.depth === '{depth - 1}'")
    tab.page.click("#guide [data-guide='<again>']")
    tab.until("document.querySelector('#guide .guide')?.dataset.depth === '0'")


@pytest.mark.browser
@browser_test
def test_the_place_is_kept_over_a_change_of_language_and_a_reload_and_its_numbers_lead_to_lines(open_tab: Open) -> None:
    tab = open_tab()
    tab.paste(LOG.read_text())
    tab.show("guide")
    tab.page.locator("#guide [data-guide='reward-flat']").press("Enter")
    tab.until("document.querySelector('#guide .guide')?.dataset.depth === '1'")
    english = tab.text("#guide-title")
    tab.language("zh")
    tab.until("/[\\u4e00-\\u9fff]/.test(document.querySelector('#guide-title')?.textContent || '')")
    assert tab.page.locator("#guide .guide").get_attribute("data-depth") == "1"
    tab.language("en")
    tab.see("#guide-title", english)
    tab.page.wait_for_timeout(800)
    tab.reload()
    tab.show("guide")
    tab.see("#guide-title", english)

    number = tab.page.locator("#guide .guide-rows .num").first
    line = number.get_attribute("data-line")
    number.focus()
    tab.see("#chip-card")
    number.press("Enter")
    tab.see(f".log-row.chosen, .log-detail:has-text('{line}')")


@pytest.mark.browser
@browser_test
def test_teach_shows_eight_numbers_with_this_runs_values(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    tab.show("teach")
    tab.see(".lessons")
    assert tab.page.locator(".lesson").count() == 8
    assert tab.page.locator(".lesson .num").count() >= 8
    assert "critic/score/mean" in tab.text(".lesson:first-child")
    assert re.search(r"looks good|needs attention|looks odd", tab.text(".lessons"))
