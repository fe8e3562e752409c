"""What a panel of the report view is: a part of the page with its own components, events and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from assistant.messages import Language

if TYPE_CHECKING:
    from assistant.sessions import Session
    from assistant.web.page import Page


PRIVATE: dict[str, Any] = {"api_visibility": "private"}
"""For every event: none is a public function."""
LIGHT: dict[str, Any] = {"queue": False, "show_progress": "hidden", **PRIVATE}
"""For events that are answered at once."""


def ended(event: Any, js: str) -> None:
    """Run a script when an event is over, whether or not it failed (Gradio's ``then`` is not called after a fault)."""
    event.then(None, js=js, **PRIVATE)
    event.failure(None, js=js, **PRIVATE)


def html(value: str = "", **more: Any) -> Any:
    """A `gr.HTML` without Gradio's own styles for what is in it."""
    import gradio as gr

    return gr.HTML(value, apply_default_css=False, **more)


class Panel:
    """One panel. ``name`` is its place in the page (``#panel-<name>``), and its title is the message ``web.tab_<name>``.

    The page calls ``build`` inside the panel's own column, then ``wire`` when all panels are built. See `assistant.web.page`.
    """

    name: ClassVar[str]

    def build(self) -> None:
        """Make the components; keep those that change as attributes."""
        raise NotImplementedError

    def wire(self, page: Page) -> None:
        """Register events: ``page.on_open``, ``page.on_view``, or Gradio's own on the panel's components."""

    def turned(self, tab: str, session_id: str) -> None:
        """A browser's tab shows this session from now on ("" none). Called before it is filled."""

    def close(self) -> None:
        """The server ends."""

    def relabel(self, language: Language) -> dict[Any, Any]:
        """``{component: update}`` for every fixed text of the panel. Called once at start and when the language changes."""
        return {}


class Shown(Panel):
    """A panel of a single body: made anew from the session each time it is looked at, emptied when another log is opened.

    ``body_id`` is the body's id in the page ("" for the panel's own name).
    """

    body_id: ClassVar[str] = ""

    def build(self) -> None:
        self.body = html("", elem_id=self.body_id or self.name)

    def wire(self, page: Page) -> None:
        self.page = page
        page.on_view(self.name, self.show, [self.body])
        page.on_open(lambda session_id, language: "", [self.body])

    def show(self, session_id: str, language: Language) -> str:
        from assistant.web import texts

        session = self.page.store.get(session_id) if session_id else None
        if session is None:
            return texts.gone(language, self.page.limits)
        return texts.of(session_id, language, self.content(session, language))

    def content(self, session: Session, language: Language) -> str:
        """The body as HTML."""
        raise NotImplementedError
