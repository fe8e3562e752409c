"""What somebody meets who has never read a training log: ways on, ways back, and nothing that is only the page's own business."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assistant.diagnosis import Diagnosis
from assistant.web import chat, findings, overview, talk
from tests.builders import run_of
from tests.web import browsing
from tests.web.browsing import Tab
from tests.web.conftest import finding, run, sick

Open = Callable[..., Tab]
in_browser = [pytest.mark.browser, pytest.mark.skipif(bool(browsing.why_not()), reason=browsing.why_not() or "-")]


# What is said


@pytest.mark.usefixtures("own_cards")
def test_the_verdict_says_how_many_findings_follow() -> None:
    assert overview.following(sick(), "en") == "One of them follows from it."
    made = run()
    chain = [
        finding("entropy-collapse", made),
        finding("truncation", made, follows=("no-learning-signal",)),
        finding("no-learning-signal", made, follows=("entropy-collapse",)),
    ]
    assert overview.following(Diagnosis(made, chain, [], []), "zh") == "其中 2 项由它引起。"
    alone = Diagnosis(made, [finding("truncation", made), finding("entropy-collapse", made)], [], [])
    assert overview.following(alone, "en") == ""


@pytest.mark.usefixtures("own_cards")
def test_frameworks_have_their_own_names_and_no_version_where_none_is_told() -> None:
    made = run_of({"train/approx_kl": [0.1] * 12}, framework="sb3")
    head = overview.head(Diagnosis(made, [], [], []), "log", "en")
    assert "<dd>Stable-Baselines3</dd>" in head
    assert "version unknown" not in head
    assert "Advantage estimator" not in head


@pytest.mark.parametrize(("framework", "title"), [("verl", "As command-line overrides"), ("sb3", "As settings to copy")])
def test_overrides_are_a_command_line_for_verl_only(framework: str, title: str) -> None:
    assert f"<summary>{title}</summary>" in findings._overrides([{"key": "learning_rate", "to": 0.0001}], framework, "en")


def test_suggestions_name_the_metric_as_the_log_does() -> None:
    asked = chat.suggestions(Diagnosis(run_of({"train/policy_gradient_loss": [-0.1] * 12}, framework="sb3"), [], [], []), "en")
    assert "Why is my policy_gradient_loss negative?" in asked


def test_what_was_asked_is_not_suggested_again() -> None:
    given = chat.next_questions(
        ["What should I change?"], ["What should I change first?", "Why?", "Where does the time go?"], ["why", "Hello"]
    )
    assert given == ["What should I change?", "Where does the time go?"]


def test_each_row_of_the_evidence_says_what_it_is() -> None:
    answer = {"answer": "Since 383.", "language": "en", "facts": [{"id": "F1", "value": 383, "text": "383", "kind": "run"}]}
    assert '<td><span class="formula">printed in the log</span></td>' in talk.evidence(talk.Shown("q", answer))


# In the browser


def marked(test: Callable[..., None]) -> Callable[..., None]:
    for mark in in_browser:
        test = mark(test)
    return test


@marked
def test_a_tab_chosen_while_the_report_opens_is_kept(open_tab: Open) -> None:
    tab = open_tab()
    tab.page.click("#sample-collapse")
    tab.page.click("#tab-guide")
    tab.see("#guide .guide")
    tab.page.wait_for_timeout(400)
    tab.see("#tab-guide[aria-selected=true]")


@marked
def test_a_number_leads_to_its_place_in_the_line_then_to_the_plot_and_back(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    tab.run("window.scrollTo(0, 400)")
    chip = tab.page.locator("#findings .evidence .num[data-line]").first
    metric = chip.get_attribute("data-metric")
    chip.click()
    assert tab.text(".log-whole mark").startswith(f"{metric}:")
    before = tab.run("runwhy.session()")
    tab.page.get_by_role("button", name="in the plot").click()
    tab.see("#plots .js-plotly-plot")
    tab.page.click("#way-back")
    tab.see("#panel-log .log-row.chosen")
    tab.page.go_back()
    tab.see("#tab-findings[aria-selected=true]")
    tab.until("Math.abs(window.scrollY - 400) < 60")
    tab.until("document.activeElement.matches('#findings .num')")
    assert tab.run("runwhy.session()") == before
    assert not tab.page.locator("#way-back").is_visible()


@marked
def test_back_leads_to_the_start_and_forward_to_the_report(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("floor")
    tab.show("teach")
    tab.reload()
    tab.see("#teach .lesson")
    tab.page.go_back()
    tab.see("#verdict")
    tab.page.go_back()
    tab.see("#go")
    assert not tab.page.locator("#last-session").is_visible()
    assert [box for box in tab.page.locator("#start textarea").all() if box.is_visible()] != []
    assert tab.page.locator("#start textarea:visible").count() == 1
    tab.page.go_forward()
    tab.see("#verdict")


@marked
@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_a_newcomer_is_led_on_by_a_phone(open_tab: Open, language: str) -> None:
    tab = open_tab(language, 390, 844)
    tab.open_sample("collapse")
    tab.see("#tabs .more")
    tab.see(".newcomer [data-show=teach]").click()
    tab.see("#teach .lesson")
    tab.see("#way-back").click()
    tab.see(".newcomer [data-show=guide]").click()
    for _ in range(9):
        shown = tab.see("#guide .guide").get_attribute("data-depth")
        if tab.page.locator("#guide .guide-choice").count() == 0:
            break
        tab.see("#guide .suggested-choice, #guide .only-choice").click()
        tab.until(f"document.querySelector('#guide .guide').dataset.depth !== '{shown}'")
    tab.see("#guide .guide-outcome")
    tab.see("#guide .guide-moves [data-show=compare]").click()
    tab.see("#compare-add")
    assert tab.run("document.documentElement.scrollWidth <= window.innerWidth")


@marked
def test_a_question_that_is_too_long_stays_in_the_box(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    answer = tab.ask("why? " * 790)
    assert answer.locator(".asked").bounding_box()["height"] < 260
    tab.page.fill("#question textarea", "why? " * 900)
    tab.page.press("#question textarea", "Enter")
    tab.see("#live .problem", "4000")
    assert len(tab.page.input_value("#question textarea")) > 4000
    assert len(tab.text("#live .asked")) < 300


@marked
def test_a_value_printed_once_says_why_it_has_no_curve(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    tab.run("runwhy.openPlot('val/once', 3)")
    tab.see(".plotter-said", "val/once is printed once")
    tab.show("findings")
    tab.page.locator("#findings .evidence .num[data-line]").first.click()
    tab.see(".log-row.chosen")
    assert tab.text(".log-head mark") == tab.text(".log-whole mark")
