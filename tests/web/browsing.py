"""A real server process and real browser tabs. A tab fails its test when its console shows an error or it fetches from elsewhere.

def test_something(open_tab):
    tab = open_tab("zh-CN", 390, 844)
    tab.open_sample("collapse")
    tab.show("log")
    tab.see(".log-row.marked")
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
WAIT = 20_000
"""Milliseconds that something may take to appear."""


def why_not() -> str:
    """Why browser tests cannot run here; "" when they can."""
    for module in ("playwright", "gradio"):
        if not __import__("importlib.util").util.find_spec(module):
            return f"{module} is not installed"
    return "" if CHROMIUM else "no chromium on this machine"


@contextlib.contextmanager
def served(**environment: str) -> Iterator[str]:
    """The address of a server of its own, with everything kept in memory."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    known = {name: value for name, value in os.environ.items() if not name.startswith(("RUNWHY_", "OPENAI_", "DEEPSEEK_", "DASHSCOPE_"))}
    server = subprocess.Popen(
        [sys.executable, "app.py", "--port", str(port)],
        cwd=ROOT,
        env={**known, "RUNWHY_STORE": "memory", "RUNWHY_CONFIG": os.devnull, **environment},
        stdout=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urlopen(f"{address}/health").close()
                break
            assert server.poll() is None, "the server ended"
            time.sleep(0.1)
        yield address
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


class Tab:
    """One browser tab (a context of its own) with the page open."""

    def __init__(self, browser: Any, address: str, language: str, width: int, height: int, dark: bool, path: str = "") -> None:
        self.address = address
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, locale=language, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        self.context.set_default_timeout(WAIT)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._asked)
        self.page.goto(address + path)
        self.page.wait_for_function("!document.body.classList.contains('restoring') && document.querySelector('#go, #verdict')")

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:", "about:")):
            self.elsewhere.append(request.url)

    # Looking and doing

    def see(self, css: str, text: str | None = None) -> Any:
        """The first visible element of ``css`` (with ``text`` in it), as soon as it is there."""
        found = self.page.locator(css)
        if text is not None:
            found = found.filter(has_text=text)
        found = found.locator("visible=true").first
        found.wait_for()
        return found

    def text(self, css: str) -> str:
        return str(self.see(css).inner_text())

    def run(self, script: str) -> Any:
        return self.page.evaluate(script)

    def until(self, script: str) -> None:
        """Wait until the expression is true."""
        self.page.wait_for_function(script)

    def paste(self, text: str) -> None:
        self.page.fill("#paste textarea", text)
        self.page.click("#go")
        self.see("#verdict, #status .problem")

    def drop(self, *files: dict[str, Any] | Path) -> None:
        self.page.set_input_files("#file input[type=file]", list(files))
        self.see("#verdict, #status .problem")

    def open_sample(self, key: str) -> None:
        self.page.click(f"#sample-{key}")
        self.see("#verdict")

    def show(self, name: str) -> None:
        """A panel, by its tab."""
        self.page.click(f"#tab-{name}")
        self.see(f"#panel-{name}")

    def ask(self, question: str) -> Any:
        """The finished answer."""
        before = self.page.locator(".turn[data-turn]").count()
        if not self.page.locator("#question").is_visible():
            self.show("ask")
        self.page.fill("#question textarea", question)
        self.page.press("#question textarea", "Enter")
        self.page.wait_for_function("n => document.querySelectorAll('.turn[data-turn]').length > n", arg=before)
        return self.see("#live .turn[data-turn]")

    def language(self, language: str) -> None:
        self.page.evaluate(f"document.querySelector('#language input[value={language}]').click()")
        self.until(f"document.documentElement.lang === '{'zh-CN' if language == 'zh' else 'en'}'")

    def reload(self) -> None:
        self.page.reload()
        self.page.wait_for_function("!document.body.classList.contains('restoring') && document.querySelector('#go, #verdict')")

    def close(self) -> None:
        self.context.close()


def browsers() -> Iterator[Any]:
    if reason := why_not():
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def tabs(browser: Any, address: str) -> Iterator[Callable[..., Tab]]:
    opened: list[Tab] = []

    def open_tab(
        language: str = "en-US", width: int = 1360, height: int = 900, *, dark: bool = False, at: str = address, path: str = ""
    ) -> Tab:
        opened.append(Tab(browser, at, language, width, height, dark, path))
        return opened[-1]

    yield open_tab
    for tab in opened:
        tab.close()
    assert [error for tab in opened for error in tab.errors] == []
    assert [url for tab in opened for url in tab.elsewhere] == []
