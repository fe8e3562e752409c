"""Makes the pictures of the web chat in this folder: ``python docs/screenshots.py [NAME …]``. Needs chromium and the ``dev`` extra.

Each picture is a real page of a real server with one of the sample runs open.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.web.browsing import CHROMIUM, FLAGS, Browsers, Tab, served  # noqa: E402

HERE = Path(__file__).resolve().parent


def start(tab: Tab) -> None:
    tab.see("#go")


def findings(tab: Tab) -> None:
    tab.open_sample("collapse")
    tab.see(".js-plotly-plot")


def ask(tab: Tab) -> None:
    tab.open_sample("collapse")
    tab.ask("为什么 pg_loss 是正的？" if tab.run("document.documentElement.lang") == "zh-CN" else "why is my pg_loss positive?")


def panel(name: str, key: str = "collapse") -> Callable[[Tab], None]:
    def shown(tab: Tab) -> None:
        tab.open_sample(key)
        tab.show(name)
        tab.page.wait_for_timeout(1500)

    return shown


def compare(tab: Tab) -> None:
    from assistant.web.samples import sample_text

    tab.drop(
        *({"name": f"{key}.log", "mimeType": "text/plain", "buffer": sample_text(key).encode()} for key in ("collapse", "healthy")),
    )
    tab.show("compare")
    tab.page.wait_for_timeout(2000)


DESKTOP, PHONE = (1360, 900), (390, 844)
SHOTS: dict[str, tuple[Callable[[Tab], None], str, tuple[int, int], bool]] = {
    "screenshot": (ask, "en-US", DESKTOP, False),
    "web-start": (start, "en-US", DESKTOP, False),
    "web-start-zh-phone-dark": (start, "zh-CN", PHONE, True),
    "web-findings-zh": (findings, "zh-CN", DESKTOP, False),
    "web-findings-dark": (findings, "en-US", DESKTOP, True),
    "web-findings-phone": (findings, "en-US", PHONE, False),
    "web-ask-zh-phone-dark": (ask, "zh-CN", PHONE, True),
    "web-log": (panel("log"), "en-US", DESKTOP, False),
    "web-log-phone": (panel("log", "crash"), "zh-CN", PHONE, False),
    "web-plots": (panel("plots", "healthy"), "en-US", DESKTOP, False),
    "web-compare": (compare, "en-US", DESKTOP, False),
    "web-guide": (panel("guide"), "en-US", DESKTOP, False),
    "web-guide-zh-phone": (panel("guide"), "zh-CN", PHONE, False),
    "web-teach": (panel("teach", "healthy"), "en-US", DESKTOP, False),
    "web-report": (panel("report"), "en-US", DESKTOP, True),
    "web-settings": (panel("settings"), "en-US", DESKTOP, False),
}


def main(names: list[str]) -> None:
    import asyncio

    from playwright.sync_api import sync_playwright

    wanted = names or list(SHOTS)
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        browsers = Browsers(browser, asyncio.get_running_loop())
        for name in wanted:
            make, language, (width, height), dark = SHOTS[name]
            tab = Tab(browsers, address, language, width, height, dark)
            make(tab)
            tab.page.mouse.move(0, 0)
            tab.page.wait_for_timeout(700)
            tab.page.screenshot(path=str(HERE / f"{name}.png"))
            print(name, *tab.errors, sep="\n  ")
            tab.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
