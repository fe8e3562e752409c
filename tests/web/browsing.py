"""A real server process and real browser tabs. A tab fails its test when its console shows an error or it fetches from elsewhere.

def test_something(open_tab):
    tab = open_tab("zh-CN", 390, 844)
    tab.open_sample("collapse")
    tab.show("log")
    tab.see(".log-row.marked")
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
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
WAIT = 60_000
"""Milliseconds that something may take to appear, on a machine that does much else."""
READY = "!document.body.classList.contains('restoring') && document.querySelector('#go, #verdict')"
ABORTED = ("AbortError: signal is aborted", "Unexpected error Connection errored out.")
CHINESE = "/[\\u4e00-\\u9fff]/"
AT_REST = (
    "document.getAnimations().every(one => one.playState !== 'running' || one.effect.getComputedTiming().iterations === Infinity)"
    " && [...document.querySelectorAll('figure.chart')].every(one => !one.offsetParent || one.classList.contains('drawn')"
    " || one.getBoundingClientRect().top > window.innerHeight || one.querySelector('.js-plotly-plot'))"
)


def why_not() -> str:
    """Why browser tests cannot run here; "" when they can."""
    for module in ("playwright", "gradio"):
        if not __import__("importlib.util").util.find_spec(module):
            return f"{module} is not installed"
    return "" if CHROMIUM else "no chromium on this machine"


def free_port() -> int:
    """Below the ports that connections get by themselves: no other test takes it before the server is there."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as free:
            free.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def served(port: int = 0, **environment: str) -> Iterator[str]:
    """The address of a server of its own, with everything kept in memory."""
    with serving_process(port or free_port(), **environment) as (address, _):
        yield address


@contextlib.contextmanager
def serving_process(port: int, **environment: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
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
        yield address, server
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        server.wait(20)


class Browsers:
    """One real browser for all tests. A tab of the same kind (language, colours) gets the same context again, emptied, so that the page
    comes out of its cache; two tabs at once never share one: to the server they are two browsers."""

    def __init__(self, browser: Any, loop: asyncio.AbstractEventLoop) -> None:
        """``loop`` is Playwright's, which for this thread seems to run all the time: between browser tests it is out of the others' way."""
        self.browser, self.loop = browser, loop
        self._idle: dict[tuple[str, bool], list[Any]] = {}

    def take(self, language: str, dark: bool) -> Any:
        if idle := self._idle.get((language, dark)):
            return idle.pop()
        context = self.browser.new_context(locale=language, color_scheme="dark" if dark else "light", reduced_motion="reduce")
        context.set_default_timeout(WAIT)
        return context

    def give_back(self, context: Any, page: Any, language: str, dark: bool) -> None:
        try:
            for one in context.pages:
                if one is not page:
                    one.close()
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
            page.close()
            context.clear_cookies()
            context.clear_permissions()
        except Exception:  # a page that hangs must not be met again
            context.close()
        else:
            self._idle.setdefault((language, dark), []).append(context)


class Tab:
    """One browser tab with the page open."""

    def __init__(self, browsers: Browsers, address: str, language: str, width: int, height: int, dark: bool, path: str = "") -> None:
        self.address, self.browsers, self.kind = address, browsers, (language, dark)
        self.context = browsers.take(language, dark)
        self.page = self.context.new_page()
        self.page.set_viewport_size({"width": width, "height": height})
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._asked)
        self.page.goto(address + path)
        self.page.wait_for_function(READY)
        if language.startswith("zh"):  # the page comes in English and asks for the browser's language
            self.page.wait_for_function(f"!document.querySelector('#go') || {CHINESE}.test(document.querySelector('#go').textContent)")

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

    def at_rest(self) -> None:
        """Wait until nothing moves and the plots in view are drawn."""
        self.page.wait_for_function(AT_REST)
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

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

    def delay(self, seconds: float, *parts: str) -> None:
        """From now on requests whose address has one of ``parts`` in it (without any: all) leave so much later; 0 for at once."""
        self.page.evaluate(
            "([wait, parts]) => { const now = window.undelayed || (window.undelayed = window.fetch);"
            " window.fetch = async (to, ...more) => { const address = String((to && to.url) || to);"
            " const late = !parts.length || parts.some(one => address.includes(one));"
            " if (late) await new Promise(done => setTimeout(done, wait)); return now(to, ...more); } }",
            [1000 * seconds, list(parts)],
        )

    def reload(self) -> None:
        before = len(self.errors)
        self.page.reload()
        self.page.wait_for_function(READY)
        # Gradio's client of the page that is left reports the requests that leaving aborts.
        self.errors[before:] = [error for error in self.errors[before:] if not error.startswith(ABORTED)]

    def close(self) -> None:
        self.browsers.give_back(self.context, self.page, *self.kind)


def browsers() -> Iterator[Browsers]:
    if reason := why_not():
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        loop = asyncio.get_running_loop()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        asyncio._set_running_loop(None)
        yield Browsers(browser, loop)
        asyncio._set_running_loop(loop)
        browser.close()


def tabs(browser: Browsers, address: str) -> Iterator[Callable[..., Tab]]:
    opened: list[Tab] = []

    def open_tab(
        language: str = "en-US", width: int = 1360, height: int = 900, *, dark: bool = False, at: str = address, path: str = ""
    ) -> Tab:
        opened.append(Tab(browser, at, language, width, height, dark, path))
        return opened[-1]

    asyncio._set_running_loop(browser.loop)
    yield open_tab
    found = [(tab.errors[:], tab.elsewhere[:]) for tab in opened]
    for tab in opened:
        tab.close()
    asyncio._set_running_loop(None)
    faults = [error for errors, _ in found for error in errors]
    assert not faults, faults
    assert [url for _, elsewhere in found for url in elsewhere] == []
