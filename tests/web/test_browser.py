"""The page in a real browser, as its users meet it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.web.samples import SAMPLES
from tests.web import browsing
from tests.web.browsing import Tab

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(browsing.why_not()), reason=browsing.why_not() or "-")]

Open = Callable[..., Tab]
REAL = browsing.ROOT.parent / "shared" / "cases" / "verl" / "02_healthy_grpo_deepseek7b_gsm8k_1120" / "log.txt"
NO_SIDEWAYS = "document.documentElement.scrollWidth <= window.innerWidth"
BRIGHTNESS = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"


def sample(key: str) -> str:
    from assistant.web.samples import sample_text

    return sample_text(key)


# Opening a log


def test_paste_read_ask(open_tab: Open) -> None:
    tab = open_tab()
    tab.paste(REAL.read_text(encoding="utf-8")[:400_000] if REAL.exists() else sample("healthy"))
    assert tab.text("#verdict")
    assert tab.text(".facts").startswith("Framework\nverl")
    answer = tab.ask("why is my pg_loss positive?")
    assert "pg_loss" in answer.inner_text()
    assert "Numbers checked" in answer.inner_text()
    assert tab.run("document.activeElement.closest('#question') !== null")


@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_every_sample_opens_on_a_phone(open_tab: Open, language: str) -> None:
    tab = open_tab(language, 390, 844)
    chinese = language.startswith("zh")
    for key in SAMPLES:
        tab.open_sample(key)
        assert any("一" <= c <= "鿿" for c in tab.text("#verdict")) == chinese
        assert tab.run(NO_SIDEWAYS)
        tab.show("ask")
        tab.see("#suggestions .chip").click()
        assert tab.see("#live .turn .answer").inner_text()
        assert tab.run(NO_SIDEWAYS)
        tab.page.click("#another")
        tab.see("#go")


def test_a_chinese_browser_gets_chinese_and_can_switch(open_tab: Open) -> None:
    tab = open_tab("zh-CN", 390, 844)
    tab.see("#start h1", "这次训练出了什么问题")
    tab.open_sample("collapse")
    tab.see("#verdict", "第")
    tab.see("figure.chart.drawn .js-plotly-plot, .js-plotly-plot")
    tab.language("en")
    tab.see("#verdict", "step")
    tab.see("#tab-findings", "Findings")
    tab.show("log")
    tab.language("zh")
    tab.see("#tab-log[aria-selected=true]", "日志")
    tab.see(".log-head", "第")


def test_a_large_paste_is_read_at_once(open_tab: Open) -> None:
    tab = open_tab()
    lines = "".join(f"step:{n} - actor/entropy:0.4{n % 10} - critic/score/mean:0.5 - response_length/mean:200.0\n" for n in range(1, 9000))
    tab.page.evaluate(
        "text => { const data = new DataTransfer(); data.setData('text/plain', text); const about = {clipboardData: data, bubbles: true};"
        " const box = document.querySelector('#paste textarea'); box.focus();"
        " box.dispatchEvent(new ClipboardEvent('paste', {...about, cancelable: true})) }",
        lines,
    )
    tab.see("#verdict")
    assert tab.text(".report-of") == "Report on pasted log"
    assert "8999" in tab.text(".facts")


def test_what_cannot_be_read_is_said_and_the_page_goes_on(open_tab: Open) -> None:
    tab = open_tab()
    tab.page.click("#go")
    assert tab.text("#status .problem") == "Paste a log or drop a file first."
    tab.paste("Dear all,\nI think the run is fine.\n")
    assert tab.text("#status .problem").endswith(".")
    tab.paste(sample("healthy"))
    tab.see("#verdict", "Healthy")


def test_archives_are_read_and_several_files_are_one_talk(open_tab: Open, tmp_path: Path) -> None:
    import zipfile

    packed = tmp_path / "runs.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("run/console.log", sample("healthy"))
    tab = open_tab()
    tab.drop(packed)
    tab.see("#verdict", "Healthy")
    tab.page.click("#another")
    tab.see("#go")
    tab.drop(
        {"name": "first.log", "mimeType": "text/plain", "buffer": sample("collapse").encode()},
        {"name": "second.log", "mimeType": "text/plain", "buffer": sample("healthy").encode()},
        {"name": "letter.txt", "mimeType": "text/plain", "buffer": b"Dear all, nothing to see here.\n"},
    )
    tab.see(".report-of", "first.log")
    tab.see(".note", "Also read, to compare with: second.log")
    tab.see(".note", "letter.txt was left out")


# The talk goes on


def test_a_reload_keeps_the_session_and_the_talk(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    tab.ask("why is my pg_loss positive?")
    said = tab.ask("and what is the entropy?").inner_text()
    tab.reload()
    tab.see("#verdict")
    tab.page.wait_for_function("document.querySelectorAll('#talk .turn').length === 2")
    assert tab.text("#talk .turn:last-of-type .answer") in said
    assert tab.page.locator("#talk .turn .num").count() > 4
    tab.ask("where does the time go?")
    assert tab.page.locator(".turn").count() == 3
    stored = tab.run("JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])")
    assert "entropy" not in stored


def test_another_log_and_back(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    first = tab.text("#verdict")
    tab.page.click("#another")
    tab.see("#go")
    tab.see("#back", "PPO, entropy collapsed").click()
    tab.see("#verdict", first[:20])
    tab.page.click("#another")
    tab.open_sample("healthy")
    tab.see("#verdict", "Healthy")
    assert tab.page.locator(".turn").count() == 0


def test_a_log_can_be_forgotten_at_once(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    session = tab.run("runwhy.session()")
    tab.show("settings")
    tab.page.click("#forget")
    tab.see("#go")
    assert tab.page.request.get(f"{tab.address}/session/{session}/lines?first=1&last=2").status == 404
    assert not tab.page.locator("#back").is_visible()
    tab.reload()
    tab.see("#go")
    assert tab.run("sessionStorage.length") == 0


def test_two_tabs_do_not_see_each_other(open_tab: Open) -> None:
    one, two = open_tab(), open_tab()
    one.open_sample("collapse")
    two.open_sample("crash")
    one.ask("why is my pg_loss positive?")
    two.ask("why did it crash?")
    assert one.run("runwhy.session()") != two.run("runwhy.session()")
    assert "memory" not in one.text("#conversation").lower()
    assert "pg_loss" not in two.text("#live")


def test_a_link_opens_a_copy_and_can_be_revoked(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    tab.ask("why is my pg_loss positive?")
    tab.show("settings")
    tab.page.click("#share")
    link = tab.see("#share-link input.link")
    tab.until("document.querySelector('#share-link input.link').value.includes('#link=')")
    path = link.input_value().removeprefix(tab.address)
    guest = open_tab(path=path)
    guest.see("#verdict")
    guest.page.wait_for_function("document.querySelectorAll('#talk .turn').length === 1")
    guest.ask("where does the time go?")
    assert "link" not in guest.page.url
    assert guest.run("runwhy.session()") != tab.run("runwhy.session()")
    tab.page.click("#unshare")
    tab.see("#share-link", "Links revoked: 1")
    late = open_tab(path=path)
    late.see("#status .problem", "expired or was revoked")
    assert tab.page.locator(".turn").count() == 1


# Numbers


def test_a_number_says_where_it_stands_and_leads_there(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    chip = tab.see("#findings .evidence .num")
    chip.hover()
    assert "printed in the log" in tab.text("#chip-card")
    assert "line" in chip.get_attribute("aria-label")
    line, value = chip.get_attribute("data-line"), chip.inner_text()
    chip.focus()
    tab.page.keyboard.press("Enter")
    tab.see(f".log-row.chosen[data-at='{line}']")
    tab.see(".log-whole", value)


def test_an_answer_has_chips_and_evidence_and_goes_on(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("collapse")
    answer = tab.ask("what is the entropy at the end?")
    chips = answer.locator(".answer .num")
    assert chips.count() > 1
    assert {chips.nth(n).get_attribute("data-about") for n in range(chips.count())}
    answer.locator("summary").click()
    rows = answer.locator(".behind tbody tr")
    assert rows.count() > 1
    assert "actor/" in rows.first.inner_text()
    answer.locator(".answer .num-run[data-line]").first.click()
    tab.see(".log-row.chosen")
    follow = tab.see("#suggestions .chip")
    question = follow.inner_text()
    follow.click()
    tab.see("#live .asked", question)
    assert tab.page.locator(".turn").count() == 2


# The log


@pytest.fixture
def long_log() -> str:
    rows = [f"step:{n} - actor/entropy:0.4{n % 10} - actor/pg_loss:0.0{n % 7} - critic/score/mean:0.5{n % 9}\n" for n in range(1, 4000)]
    rows[2999] = "x" * 5000 + " needle\n"
    rows[10] = "export WANDB_API_KEY=" + "0123456789abcdef" * 2 + "01234567 on host gpu-node-17.corp.internal\n"
    rows[20] = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>\n"
    return "".join(rows)


def test_any_line_can_be_reached_and_searched_and_does_nothing(open_tab: Open, long_log: str) -> None:
    tab = open_tab()
    tab.drop({"name": "long.log", "mimeType": "text/plain", "buffer": long_log.encode()})
    tab.show("log")
    assert tab.page.locator(".log-row").count() < 80
    tab.page.fill(".log-bar input[type=search]", "NEEDLE")
    tab.page.keyboard.press("Enter")
    tab.see(".log-row.chosen[data-at='3000']")
    assert tab.text(".log-said") == "1 of 1"
    assert "needle" not in tab.text(".log-whole")
    tab.see(".log-tools button", "Show all").click()
    tab.see(".log-whole", "needle")
    tab.page.focus(".log-box")
    tab.page.keyboard.press("End")
    tab.see(".log-row.chosen[data-at='3999']")
    tab.page.keyboard.press("Home")
    tab.see(".log-row.chosen[data-at='1']")
    tab.page.keyboard.press("ArrowDown")
    tab.see(".log-row.chosen[data-at='2']")
    tab.page.fill(".log-bar input[type=search]", "nowhere at all")
    tab.page.keyboard.press("Enter")
    tab.see(".log-said", "Not found")
    tab.run("runwhy.openLine(11)")
    tab.see(".log-whole", "[SECRET_1]")
    assert "0123456789abcdef" not in tab.run("document.body.innerText")
    tab.run("runwhy.openLine(21)")
    tab.see(".log-whole", "<img src=x")
    assert tab.page.locator("#log img, #log script").count() == 0
    assert not tab.run("window.hacked")
    tab.show("settings")
    tab.page.click("#mask-preview")
    tab.see("#masked", "HOST_1")
    assert "gpu-node-17.corp.internal" not in tab.text("#masked")


# What the log is


def test_what_was_recognised_can_be_corrected(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("healthy")
    before = tab.text(".facts dd")
    tab.page.click("details.quiet > summary")
    tab.page.select_option(".correct select[name=era]", "0.6")
    tab.page.click(".correct button")
    tab.see(".facts dd", "verl 0.6")
    assert before != "verl 0.6"
    tab.reload()
    tab.see(".facts dd", "verl 0.6")
    tab.page.click("details.quiet > summary")
    tab.page.select_option(".correct select[name=framework]", "stable-baselines3" if _has(tab, "stable-baselines3") else "sb3")
    tab.page.click(".correct button")
    tab.see("#correct-said .problem, .facts dd")


def _has(tab: Tab, framework: str) -> bool:
    return bool(tab.page.locator(f".correct option[value='{framework}']").count())


# After the answer


def test_copy_rate_and_take_along(open_tab: Open) -> None:
    tab = open_tab()
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.open_sample("collapse")
    answer = tab.ask("why is my pg_loss positive?")
    answer.locator("[data-do=copy]").click()
    tab.see(".said", "Copied")
    assert "pg_loss" in tab.run("navigator.clipboard.readText()")
    answer.locator("[data-do=prompt]").click()
    tab.until("navigator.clipboard.readText().then(text => text.length > 1500)")
    answer.locator("[data-do=bad]").click()
    tab.see(".reason input").fill("the step is wrong")
    tab.page.keyboard.press("Enter")
    tab.see(".said", "Thank you")
    assert answer.locator("[data-do=bad]").get_attribute("aria-pressed") == "true"
    tab.reload()
    tab.see("#talk .turn [data-do=bad][aria-pressed=true]")


def test_the_same_walk_in_chinese(open_tab: Open) -> None:
    tab = open_tab("zh-CN")
    tab.page.click("#go")
    assert tab.text("#status .problem") == "请先粘贴日志或拖入文件。"
    tab.open_sample("collapse")
    chip = tab.see("#findings .evidence .num")
    chip.hover()
    assert "日志里的原值" in tab.text("#chip-card")
    answer = tab.ask("熵最后是多少？")
    assert "数字核对" in answer.inner_text()
    answer.locator("summary").click()
    assert "查看依据" in answer.inner_text()
    answer.locator("[data-do=bad]").click()
    tab.see(".reason label", "哪里不对").locator("input").fill("步数不对")
    tab.page.keyboard.press("Enter")
    tab.see(".said", "谢谢")
    english = tab.ask("why is my pg_loss positive?")
    assert "Numbers checked" in english.inner_text()
    tab.show("log")
    tab.page.fill(".log-bar input[type=search]", "step:399")
    tab.page.keyboard.press("Enter")
    tab.see(".log-said", "第 1 处，共 1 处")
    tab.show("settings")
    tab.page.click("#mask-preview")
    tab.see("#masked", "检查了")
    tab.page.click("#share")
    tab.see("#share-link", "72 小时内有效")
    tab.page.click("#tab-findings")
    tab.page.click("details.quiet > summary")
    tab.page.select_option(".correct select[name=era]", "0.4")
    tab.page.click(".correct button")
    tab.see(".facts dd", "verl 0.4")
    for name in tab.run("[...document.querySelectorAll('#tabs [role=tab]')].map(t => t.dataset.panel)"):
        if name != "ask":
            tab.show(name)
            tab.until(f"/[一-鿿]/.test(document.querySelector('#panel-{name}').innerText)")
    tab.page.click("#another")
    tab.see("#back", "回到")


# Keyboard


def test_the_keyboard_is_enough_and_dark_is_remembered(open_tab: Open) -> None:
    tab = open_tab()
    assert tab.run(BRIGHTNESS) > 600
    tab.page.click("#theme-switch")
    assert tab.run(BRIGHTNESS) < 150
    tab.reload()
    tab.until(f"{BRIGHTNESS} < 150")
    reached = []
    tab.page.click("#paste textarea")
    for _ in range(8):
        tab.page.keyboard.press("Tab")
        reached.append(tab.run("document.activeElement.id || document.activeElement.textContent"))
    assert "go" in reached
    assert "sample-collapse" in reached
    tab.page.focus("#sample-collapse")
    tab.page.keyboard.press("Enter")
    tab.see("#verdict")
    tab.until("document.activeElement.id === 'verdict'")
    tab.page.focus("#tab-findings")
    tab.page.keyboard.press("ArrowRight")
    assert tab.run("document.activeElement.getAttribute('aria-selected')") == "true"
    tab.page.keyboard.press("End")
    tab.see("#panel-settings")
    assert tab.run("document.querySelectorAll('#tabs [role=tab][tabindex=\"0\"]').length") == 1
    unnamed = (
        "[...document.querySelectorAll('input:not([type=file]), textarea, select, button')].filter(e => e.offsetParent && !e.labels?.length"
        " && !e.textContent.trim() && !e.ariaLabel && !e.title).map(e => e.outerHTML.slice(0, 120))"
    )
    assert tab.run(unnamed) == []


@pytest.mark.parametrize(("language", "width", "dark"), [("en-US", 1360, False), ("zh-CN", 390, True)])
def test_axe_finds_no_serious_fault(open_tab: Open, language: str, width: int, dark: bool) -> None:
    """In every panel, with a second run to compare with and one step into the guide; the dark panels by their contrast only."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab = open_tab(language, width, 900, dark=dark)
    found = {}

    def look(where: str, panel: str = "") -> None:
        tab.at_rest()
        only = {"runOnly": ["color-contrast"]} if dark and panel else {}
        options = {"resultTypes": ["violations"], **only}
        result = axe.run(tab.page, context=f"#panel-{panel}" if panel else None, options=options).response["violations"]
        bad = [v for v in result if v["impact"] in ("serious", "critical")]
        if bad:
            found[where] = [(v["id"], [node["target"] for node in v["nodes"]][:3], v["nodes"][0]["failureSummary"][:200]) for v in bad]
        assert tab.run(NO_SIDEWAYS), where

    look("start")
    files = [{"name": f"{key}.log", "mimeType": "text/plain", "buffer": sample(key).encode()} for key in ("collapse", "healthy")]
    tab.drop(*files)
    tab.see(".js-plotly-plot")
    look("findings")
    tab.ask("why is my pg_loss positive?")
    look("ask", "ask")
    ready = {
        "plots": "#plots .js-plotly-plot .scatterlayer",
        "compare": "#compare figure.chart.drawn",
        "guide": "#guide h2",
        "teach": "#teach h2",
    }
    for name in tab.run("[...document.querySelectorAll('#tabs [role=tab]')].map(t => t.dataset.panel)"):
        if name not in ("findings", "ask"):
            tab.show(name)
            if name in ready:
                tab.see(ready[name])
            look(name, name)
        if name == "guide":
            tab.page.locator("#guide [data-guide='reward-flat']").click()
            tab.until("document.querySelector('#guide .guide')?.dataset.depth === '1'")
            look("guide, one step", "guide")
    assert found == {}, json.dumps(found, indent=1, ensure_ascii=False)
