"""The page: a start view to paste a log into, and a report view of panels about it.

The browser's tab holds nothing but a session's id; the log's data stays on the server (`assistant.sessions`).

**To add a panel** write ``assistant/web/panels/<name>.py`` with a subclass of `assistant.web.panel.Panel` (of its `Shown` when it is one
body made from the session), add it to `panels` below (its place there is its place in the tabs), and its title ``tab_<name>`` to
``assistant/messages/web.py``. Then:

- ``build()`` makes the components, inside the column ``#panel-<name>``; give those that tests or CSS need an ``elem_id``.
- ``wire(page)`` registers events. ``page.session`` (a hidden text box: the session's id, "" when no log is open) and
  ``page.language`` (``"en"`` or ``"zh"``) are inputs; ``page.store.get(id)`` is the session or None (gone: show
  ``texts.gone(language, page.limits)``). Gradio's own events need ``api_visibility="private"`` (``**PRIVATE`` of `assistant.web.panel`).
  - ``page.on_view(self.name, fill, outputs)``: ``fill(session_id, language)`` is called when the panel is first looked at after a
    log was opened, and again when the language changes while it is. This is where work belongs: opening a log must stay quick.
  - ``page.on_open(reset, outputs)``: called for every log that is opened (and on a reload of the page, with the session of before).
    Keep it cheap.
  - ``page.on_text(fill, outputs)``: called when a log is opened and when the language changes.
  - ``page.then_refill(event)`` after an event by which the panel changed the session (`SessionStore.reread`, ``add_run``): everything
    that shows the session is asked again.
  - ``page.then_check(self.name, event)`` after any other event that writes into the panel: should another log or language have been
    chosen before its answer came, the panel is filled anew.
- Answers may come late. What shows a session is wrapped by `assistant.web.texts.of`, by which the page hides what is another session's.
  Events that set what the visitor chooses have ``trigger_mode="always_last"`` and do not write to the component that was chosen in.
- ``relabel(language)`` returns ``{component: update}`` for the fixed texts.
- CSS and JavaScript go to ``assistant/web/static/<name>.css|.js``; `assistant.web.app` joins all of them in the order of their names.
  The page's own script is ``window.runwhy``: ``runwhy.session()`` is the id, ``runwhy.show(name)`` opens a panel,
  ``runwhy.openLine(line)`` the log at a line, ``runwhy.openPlot(metric, step)`` the plot (the plots panel sets it),
  ``runwhy.on("opened" | "view", callback)`` tells when a log was opened or a panel shown (``callback(name)``).
- A plot is ``<figure class="chart" data-src="/session/<id>/…"><div class="canvas"></div></figure>`` whose route answers a plotly figure as
  JSON (``{"data", "layout"}``); it is drawn when it comes into view. ``runwhy.draw(element, figure)`` draws one from a script. Points whose
  ``customdata`` is ``[text, line]`` lead to the log line. Prefer this to ``gr.Plot``: it costs nothing until it is looked at.
- What the browser fetches by itself goes to `assistant.web.routes` (``/session/<id>/…``, read-only).
- HTML components are made with `assistant.web.panel.html`. Rules in ``static/*.css`` are nested in the page's
  container (`assistant.web.app.joined`): write ``.x {…}``, colours as ``var(--ink)``
  (``00-global.css``), and ``.dark & .x`` only if needed.
- Whatever comes out of a log, a file name or a question is shown through `assistant.web.markup.escape`, never as Markdown or HTML.
  A number that stands in the log is shown as a chip: `assistant.web.chips.chip`.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

from assistant.messages import Language, say
from assistant.sessions import Session, SessionStore
from assistant.web import texts
from assistant.web.guard import owner_of
from assistant.web.limits import Limits
from assistant.web.masked import MaskedLogs
from assistant.web.models import Models
from assistant.web.owned import OwnedBlocks
from assistant.web.panel import LIGHT, PRIVATE, Panel, ended, html
from assistant.web.panels.chat import ChatPanel
from assistant.web.panels.compare import ComparePanel
from assistant.web.panels.findings import FindingsPanel
from assistant.web.panels.guide import GuidePanel
from assistant.web.panels.log import LogPanel
from assistant.web.panels.plots import PlotsPanel
from assistant.web.panels.report import ReportPanel
from assistant.web.panels.settings import SettingsPanel
from assistant.web.panels.start import StartPanel
from assistant.web.panels.teach import TeachPanel
from assistant.web.workers import Workers

log = logging.getLogger(__name__)

STARTING = "(...given) => runwhy.starting()"
LANGUAGE_CHANGED = "(language) => runwhy.setLanguage(language)"
OPENED = "() => runwhy.opened()"
MOST_TABS = 10_000
EMPTYING = "() => runwhy.emptying()"
NOW = "() => runwhy.given()"

Fill = Callable[[str, Language], Any]


def panels(models: Models) -> list[Panel]:
    """The panels of the report view, in the order of their tabs."""
    looked_at = [FindingsPanel(), ChatPanel(), LogPanel(), PlotsPanel(), ComparePanel()]
    return [*looked_at, GuidePanel(), TeachPanel(), ReportPanel(), SettingsPanel(models)]


class Page:
    """Builds the blocks; its panels answer their own events."""

    def __init__(self, store: SessionStore, limits: Limits, models: Models | None = None, workers: Workers | None = None) -> None:
        """Without ``workers`` logs are read in this process."""
        self.store, self.limits, self.workers = store, limits, workers
        self.closed = threading.Event()
        self.models = models or Models(None, limits.own_model)
        self.logs = MaskedLogs(store)
        self.start_panel = StartPanel(limits)
        self.panels = panels(self.models)
        self._views: dict[str, list[tuple[Fill, Sequence[Any]]]] = {}
        self._opens: list[tuple[Fill, Sequence[Any]]] = []
        self._texts: list[tuple[Fill, Sequence[Any]]] = []
        self._changes: list[Any] = []
        self._shown: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()
        self.blocks: gr.Blocks = self._build()

    def on_view(self, name: str, fill: Fill, outputs: Sequence[Any]) -> None:
        self._views.setdefault(name, []).append((fill, outputs))

    def on_open(self, fill: Fill, outputs: Sequence[Any]) -> None:
        self._opens.append((fill, outputs))

    def on_text(self, fill: Fill, outputs: Sequence[Any]) -> None:
        self._texts.append((fill, outputs))

    def then_refill(self, event: Any) -> None:
        self._changes.append(event)

    def then_check(self, name: str, event: Any) -> None:
        ended(event, f"() => runwhy.check('{name}')")

    # Layout

    def _build(self) -> Any:
        with OwnedBlocks(self._foreign, title="runwhy", analytics_enabled=False, delete_cache=(3600, 3600)) as blocks:
            self.session = gr.Textbox("", visible="hidden", elem_id="session-id", label="session")
            with gr.Row(elem_id="masthead"):
                self.brand = html(texts.brand("en"), elem_id="brand")
                self.another = gr.Button(say("web.another_log"), visible=False, size="sm", elem_id="another")
                self.language = gr.Radio(
                    [("English", "en"), ("中文", "zh")], value="en", label=say("web.language"), show_label=False, elem_id="language"
                )
                self.theme = html(texts.theme_button("en"), elem_id="theme")
            with gr.Column(elem_id="start") as self.start:
                self.start_panel.build()
            with gr.Column(elem_id="report", visible=False) as self.report:
                self.tabs = html(texts.tabs("en", [panel.name for panel in self.panels]), elem_id="tabs")
                with gr.Row(elem_id="panels"):
                    for panel in self.panels:
                        with gr.Column(elem_id=f"panel-{panel.name}", min_width=0):
                            panel.build()
                self.empty, self.retext = (gr.Button(visible="hidden", elem_id=name) for name in ("empty", "retext"))
                self.viewed = {panel.name: gr.Button(visible="hidden", elem_id=f"viewed-{panel.name}") for panel in self.panels}
            self._wire(blocks)
        for component, change in self.relabel("en").items():
            for name, value in change.items() if isinstance(change, dict) else (("value", change),):
                if not name.startswith("__"):
                    setattr(component, name, value)
        return blocks

    @property
    def opened_parts(self) -> list[Any]:
        """What `show_report` changes."""
        return [self.start, self.report, self.another]

    def show_report(self, shown: bool) -> dict[Any, Any]:
        return {
            self.start: gr.update(visible=not shown),
            self.report: gr.update(visible=shown),
            self.another: gr.update(visible=shown),
        }

    # Events

    def _wire(self, blocks: gr.Blocks) -> None:
        for panel in (self.start_panel, *self.panels):
            panel.wire(self)
        now = [self.session, self.language]
        fixed = list(self.relabel("en"))
        restored = [self.session, self.language, *self.opened_parts, self.start_panel.status]
        loaded = blocks.load(self.restore, now, restored, js=STARTING, show_progress="hidden", **PRIVATE)
        loaded.success(None, js="() => runwhy.restored()", **PRIVATE)
        loaded.failure(None, js="() => runwhy.unrestored()", **PRIVATE)
        self.language.change(self.relabel, self.language, fixed, js=LANGUAGE_CHANGED, **LIGHT)
        # Each of these is one event however it was caused, so that two of it never overtake each other; the last one always runs.
        # Session and language are the page's own at that moment: the values that Gradio keeps of its components may lag behind.
        last: dict[str, Any] = {"trigger_mode": "always_last", **LIGHT}
        ended(self.empty.click(self.turn_to, now, _outputs(self._opens), js=EMPTYING, **last), "() => runwhy.emptied()")
        self.retext.click(_joined(self._texts), now, _outputs(self._texts), js=NOW, **last)
        self.session.change(None, js="() => runwhy.refill()", **PRIVATE)
        for event in self._changes:
            event.success(None, js="() => { runwhy.refill(); runwhy.opened(); }", **PRIVATE)
        for name, button in self.viewed.items():
            views, filled = self._views.get(name, []), f"() => runwhy.filled('{name}')"
            if views:
                given = {"js": f"() => runwhy.sending('{name}')", "show_progress": "minimal", "trigger_mode": "always_last", **PRIVATE}
                ended(button.click(_joined(views), now, _outputs(views), **given), filled)
            else:
                button.click(None, js=filled, **PRIVATE)
        closed = self.another.click(self.close, now, [self.session, *self.opened_parts, *self.start_panel.closed_parts], **LIGHT)
        closed.success(None, js="() => runwhy.closed()", **PRIVATE)

    def turn_to(self, session_id: str, language: Language, request: gr.Request) -> Any:
        """The browser's tab shows this session from now on ("" none)."""
        tab = request.session_hash or ""
        with self._lock:
            self._shown[tab] = session_id
            self._shown.move_to_end(tab)
            while len(self._shown) > MOST_TABS:
                self._shown.popitem(last=False)
        for panel in self.panels:
            panel.turned(tab, session_id)
        return _joined(self._opens)(session_id, language)

    def end(self) -> None:
        """The server ends; the store is still open."""
        self.closed.set()
        for panel in self.panels:
            panel.close()

    def shows(self, request: gr.Request, session_id: str) -> bool:
        """Whether the tab that sent this still shows the session: what took long may come to an end when another one is open."""
        return self._shown.get(request.session_hash or "", session_id) == session_id

    def restore(self, wanted: str, language: Language, request: gr.Request) -> dict[Any, Any]:
        """The session of before a reload, or the one of a link (``link:<token>``: a copy of it, so that two people do not mix)."""
        unchanged = {self.language: language}
        if not wanted:
            return unchanged
        session = self.session_of(wanted, request)
        if session is None:
            gone = say("web.link_gone" if wanted.startswith("link:") else "web.session_gone", language, hours=self.limits.hours)
            return {**unchanged, self.session: "", self.start_panel.status: texts.problem(gone)}
        return {**unchanged, self.session: session.id, **self.show_report(True)}

    def session_of(self, wanted: str, request: gr.Request) -> Session | None:
        if wanted.startswith("link:"):
            shared = self.store.by_token(wanted.removeprefix("link:"))
            return self.store.fork(shared.id, owner=owner_of(request)) if shared else None
        about = self.store.about(wanted)
        return self.store.get(wanted) if about is not None and about.owner in ("", owner_of(request)) else None

    def _foreign(self, session_id: str, owner: str) -> bool:
        """Whether the session is another user's."""
        about = self.store.about(session_id)
        return about is not None and about.owner not in ("", owner)

    def close(self, session_id: str, language: Language) -> dict[Any, Any]:
        """Back to the start view; the report can be opened again from there until it is too old."""
        about = self.store.about(session_id)
        return {self.session: "", **self.show_report(False), **self.start_panel.closed(about, language)}

    def relabel(self, language: Language) -> dict[Any, Any]:
        """Every fixed text in ``language``; what was read from the log follows by itself."""
        changed: dict[Any, Any] = {
            self.brand: texts.brand(language),
            self.another: gr.update(value=say("web.another_log", language)),
            self.language: gr.update(label=say("web.language", language)),
            self.theme: texts.theme_button(language),
            self.tabs: texts.tabs(language, [panel.name for panel in self.panels]),
        }
        for panel in (self.start_panel, *self.panels):
            changed |= panel.relabel(language)
        return changed


def _outputs(fills: Sequence[tuple[Fill, Sequence[Any]]]) -> list[Any]:
    return [output for _, outputs in fills for output in outputs]


def _joined(fills: Sequence[tuple[Fill, Sequence[Any]]]) -> Fill:
    """One event instead of one for each; a panel that fails leaves the others alone."""

    def fill(session_id: str, language: Language) -> Any:
        given: list[Any] = []
        for one, outputs in fills:
            try:
                made = one(session_id, language)
            except Exception:
                log.exception("a panel could not be filled")
                sentence = texts.problem(say("web.panel_failed", language))
                made = [sentence if isinstance(output, gr.HTML) and n == 0 else gr.skip() for n, output in enumerate(outputs)]
            if isinstance(made, dict):
                given += [made.get(output, gr.skip()) for output in outputs]
            else:
                given += [made] if len(outputs) == 1 and not isinstance(made, (list, tuple)) else list(made)
        return given[0] if len(given) == 1 else given

    return fill
