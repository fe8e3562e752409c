"""A real browser against a real server: paste a log, see the verdict, ask, get an answer, and load nothing from elsewhere."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

pytest.importorskip("selenium")
pytest.importorskip("gradio")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver")]

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

from assistant.web.samples import sample_text  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
REAL = ROOT.parent / "shared" / "cases" / "verl" / "02_healthy_grpo_deepseek7b_gsm8k_1120" / "log.txt"
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
HOSTILE = 'step:1 - actor/<img src=x onerror="window.hacked=1">:0.5 - actor/pg_loss:${window.hacked=1} - {{constructor}}/x:1.0\n'


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "app.py", "--port", str(port)], cwd=ROOT, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urlopen(f"{address}/health").close()
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(10)


class Tab:
    """One browser window with the page open."""

    def __init__(self, address: str, profile: Path, language: str, width: int, height: int) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"intl.accept_languages": language})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.driver.get(address)
        self.see("#go")

    def see(self, css: str, text: str = "") -> Any:
        def found(driver: Any) -> Any:
            return next((e for e in driver.find_elements(By.CSS_SELECTOR, css) if text in e.get_attribute("textContent")), None)

        return WebDriverWait(self.driver, 20, ignored_exceptions=[Exception]).until(found)

    def paste(self, text: str) -> None:
        """As the clipboard does: the text is there at once."""
        script = (
            "const box = arguments[0]; box.focus();"
            "Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(box, arguments[1]);"
            "box.dispatchEvent(new Event('input', {bubbles: true}));"
        )
        self.driver.execute_script(script, self.see("#paste textarea"), text)
        self.driver.find_element(By.ID, "go").click()

    def script(self, code: str) -> Any:
        return self.driver.execute_script(f"return {code}")

    def fetched(self) -> list[str]:
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        requests = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in requests if not url.startswith(("data:", "blob:", "chrome:", "about:"))]


@pytest.fixture
def open_tab(address: str, tmp_path: Path) -> Iterator[Any]:
    tabs: list[Tab] = []

    def opened(language: str = "en-US", width: int = 1360, height: int = 900) -> Tab:
        tabs.append(Tab(address, tmp_path / str(len(tabs)), language, width, height))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.driver.quit()


def test_paste_read_ask(open_tab: Any, address: str) -> None:
    tab = open_tab()
    tab.paste(REAL.read_text(encoding="utf-8") if REAL.exists() else sample_text("collapse"))
    assert tab.see("#verdict").text
    assert tab.see(".facts").text.startswith("Framework\nverl")
    tab.see("#question textarea").send_keys("why is my pg_loss positive?", Keys.ENTER)
    answer = tab.see("#conversation .bot.message", "pg_loss")
    assert "Numbers checked" in answer.get_attribute("textContent")
    assert [url for url in tab.fetched() if not url.startswith(address)] == []


def test_a_chinese_browser_gets_chinese_and_can_switch(open_tab: Any) -> None:
    tab = open_tab("zh-CN,zh", 390, 844)
    tab.see("#start h1", "这次训练出了什么问题")
    tab.see("#samples button", "策略熵坍缩").click()
    tab.see("#verdict", "第")
    tab.see(".plot .js-plotly-plot svg")
    assert tab.script("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.script("document.documentElement.lang") == "zh-CN"
    tab.script("document.querySelector('#language input[value=en]').click()")
    tab.see("#verdict", "since step")
    tab.see("#ask-title", "Ask about this run")


def test_dark_is_remembered(open_tab: Any, address: str) -> None:
    tab = open_tab()
    brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    assert tab.script(brightness) > 600
    tab.see("#theme").click()
    assert tab.script(brightness) < 150
    tab.driver.get(address)
    tab.see("#go")
    WebDriverWait(tab.driver, 10).until(lambda _: tab.script(brightness) < 150)


def test_hostile_text_does_nothing(open_tab: Any) -> None:
    tab = open_tab()
    tab.paste(HOSTILE + sample_text("collapse"))
    tab.see("#verdict")
    tab.see("#question textarea").send_keys("what is <img src=x onerror=window.hacked=1> ![x](http://192.0.2.1/x.png)?", Keys.ENTER)
    tab.see("#conversation .bot.message", ".")
    assert not tab.script("window.hacked")
    assert tab.script("document.querySelectorAll('#report img, #report script, #report iframe').length") == 0


def test_a_large_paste_is_read_at_once(open_tab: Any) -> None:
    tab = open_tab()
    lines = "".join(f"step:{n} - actor/entropy:0.4{n % 10} - critic/score/mean:0.5 - response_length/mean:200.0\\n" for n in range(1, 9000))
    tab.script(
        f"(box => {{ const data = new DataTransfer(); data.setData('text/plain', `{lines}`); box.focus();"
        " box.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true})) })"
        "(document.querySelector('#paste textarea'))"
    )
    tab.see("#verdict")
    assert tab.see(".report-of").text == "Report on pasted log"
    assert "8999" in tab.see(".facts").text


def test_what_cannot_be_read_is_said_on_the_start_page(open_tab: Any) -> None:
    tab = open_tab()
    tab.paste("Dear all,\nI think the run is fine.\n")
    assert tab.see("#status .problem").text.endswith(".")
    tab.see("#paste textarea").clear()
    tab.paste(sample_text("healthy"))
    tab.see("#verdict", "Healthy")


def test_the_keyboard_is_enough(open_tab: Any) -> None:
    tab = open_tab()
    reached = []
    tab.driver.find_element(By.CSS_SELECTOR, "#paste textarea").click()
    for _ in range(8):
        webdriver.ActionChains(tab.driver).send_keys(Keys.TAB).perform()
        reached.append(tab.script("document.activeElement.id || document.activeElement.textContent"))
    assert "go" in reached
    assert any("entropy" in name for name in reached)
    unnamed = (
        "[...document.querySelectorAll('input:not([type=file]), textarea, button')].filter(e => e.offsetParent && !e.labels?.length"
        " && !e.textContent.trim() && !e.ariaLabel && !e.title).length"
    )
    assert tab.script(unnamed) == 0
