"""What a panel of the report view is: a part of the page with its own components, events and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from assistant.messages import Language

if TYPE_CHECKING:
    from assistant.web.page import Page


PRIVATE: dict[str, Any] = {"api_visibility": "private"}
"""For every event: none is a public function."""
LIGHT: dict[str, Any] = {"queue": False, "show_progress": "hidden", **PRIVATE}
"""For events that are answered at once."""


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

    def relabel(self, language: Language) -> dict[Any, Any]:
        """``{component: update}`` for every fixed text of the panel. Called once at start and when the language changes."""
        return {}
