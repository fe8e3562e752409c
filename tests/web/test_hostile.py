"""Forty ways to smuggle markup in, through every door: log lines, metric and setting names, file names, questions, model answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.answers.model.server import Act, serving
from tests.web import browsing
from tests.web.browsing import Tab
from tests.web.test_model_lane import KEY, choose

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(browsing.why_not()), reason=browsing.why_not() or "-")]

RUN = "window.hacked=1"
STRINGS = [
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<img src=x onerror='{RUN}'//",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<svg><a xlink:href=javascript:{RUN}><text>x</text></a></svg>",
    f"<iframe src=javascript:{RUN}></iframe>",
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<select autofocus onfocus={RUN}></select>",
    f"<textarea autofocus onfocus={RUN}></textarea>",
    f"<marquee onstart={RUN}>x</marquee>",
    f"<object data=javascript:{RUN}></object>",
    f"<embed src=javascript:{RUN}>",
    f"<form action=javascript:{RUN}><button>x</button></form>",
    f"<math><mtext></form><form><mglyph><style></math><img src onerror={RUN}>",
    f"<a href=javascript:{RUN}>x</a>",
    f'<a href="data:text/html,<script>{RUN}</script>">x</a>',
    f"<base href=javascript:{RUN}//>",
    f'<meta http-equiv=refresh content="0;url=javascript:{RUN}">',
    f"<link rel=stylesheet href=javascript:{RUN}>",
    f"<style>@import 'javascript:{RUN}';</style>",
    f"<style>*{{background:url(javascript:{RUN})}}</style>",
    f'<div style="width:expression({RUN})">x</div>',
    f"<div onmouseover={RUN} style=position:fixed;inset:0>x</div>",
    f'"><script>{RUN}</script>',
    f"' autofocus onfocus={RUN} x='",
    f'" autofocus onfocus={RUN} x="',
    f"</textarea><script>{RUN}</script>",
    f"</title></style></noscript><img src=x onerror={RUN}>",
    f"<!--><img src=x onerror={RUN}>-->",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"&lt;img src=x onerror={RUN}&gt;",
    f"${{{RUN}}}{{{{constructor.constructor('{RUN}')()}}}}",
    f'[x](javascript:{RUN}) ![x](x" onerror="{RUN})',
]
ALIVE = (
    "[...document.querySelectorAll('#report *, #start *')].filter(e => ['SCRIPT', 'IFRAME', 'OBJECT', 'EMBED', 'IMG', 'VIDEO', 'AUDIO',"
    " 'MARQUEE', 'BASE', 'META', 'LINK'].includes(e.tagName) || [...e.attributes].some(a => a.name.startsWith('on')"
    " || (['href', 'src', 'action', 'data', 'xlink:href'].includes(a.name) && /^\\s*(javascript|data:text)/i.test(a.value))))"
    ".map(e => e.outerHTML.slice(0, 160))"
)


def hostile_log() -> str:
    """A run that can be diagnosed, with each string in a line, a metric's name, a setting and an error."""
    names = "".join(f" - actor/{text.replace(' ', '_')}:0.5" for text in STRINGS)
    steps = [f"step:{n} - actor/entropy:{0.4 - n * 0.01:.3f} - actor/pg_loss:0.01 - critic/score/mean:0.0{names}\n" for n in range(1, 31)]
    settings = "".join(f"    algorithm.x{n}='{text}' \\\n" for n, text in enumerate(STRINGS))
    errors = "".join(f"RuntimeError: CUDA out of memory {text}\n" for text in STRINGS)
    lines = "".join(f"(TaskRunner pid=1) {text}\n" for text in STRINGS)
    return f"python -m verl.trainer.main_ppo \\\n{settings}\n{lines}{''.join(steps)}Traceback (most recent call last):\n{errors}"


def inert(tab: Tab) -> None:
    tab.at_rest()
    assert tab.run("window.hacked") is None
    assert tab.run(ALIVE) == []


def test_there_are_forty() -> None:
    assert len(set(STRINGS)) == 40


def test_a_hostile_log_does_nothing_in_any_panel(open_tab: Callable[..., Tab]) -> None:
    tab = open_tab()
    data = hostile_log().encode()
    names = (f"<img src=x onerror={RUN}>.log", f'"><svg onload={RUN}>.log')
    tab.drop(*({"name": name, "mimeType": "text/plain", "buffer": data} for name in names))
    tab.see("#verdict")
    tab.run("document.querySelectorAll('details').forEach(e => { e.open = true })")
    inert(tab)
    for name in tab.run("[...document.querySelectorAll('#tabs [role=tab]')].map(t => t.dataset.panel)"):
        if name != "ask":
            tab.show(name)
            tab.until(f"document.querySelector('#panel-{name}').innerText.trim()")
            inert(tab)
    tab.show("log")
    for n in range(len(STRINGS)):
        tab.run(f"runwhy.openLine({len(STRINGS) + 3 + n})")
    tab.see(".log-whole")
    inert(tab)
    tab.language("zh")
    inert(tab)


def test_hostile_questions_and_answers_do_nothing(open_tab: Callable[..., Tab]) -> None:
    """A model that repeats every string; the built-in writer that is asked with every string."""
    answer = "The run is fine so far. " + " ".join(f"It says {text} here." for text in STRINGS)
    with serving(Act(answer), key=KEY) as model:
        tab = open_tab()
        tab.open_sample("collapse")
        choose(tab, model)
        tab.page.click("#model-use")
        tab.see("#model-said", "Answers are written by test-model")
        tab.ask("what is " + " and ".join(STRINGS[:20]) + "?")
        inert(tab)
        tab.show("settings")
        tab.page.click("#model-kind label >> nth=0")
        tab.see("#model-said", "built-in")
        for start in range(0, 40, 10):
            answer_shown = tab.ask("why is entropy " + " ".join(STRINGS[start : start + 10]))
            assert "<" in answer_shown.locator(".asked").inner_text()
        inert(tab)
        tab.reload()
        tab.see("#talk .turn")
        inert(tab)
