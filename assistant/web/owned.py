"""Gradio's blocks, with one check before every event: another user's session is, to who asks, one that is no longer there.

And with less work after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from typing import Any

import gradio as gr
from gradio.blocks import Block

from assistant.web.guard import owner_of

GONE = "gone"
"""What an event is given in the place of another user's session."""
SKIPPED = gr.skip()
_ID = re.compile(r"[A-Za-z0-9]{32}")
"""As `assistant.sessions.tokens.new_id` makes them."""


class OwnedBlocks(gr.Blocks):
    """``foreign(session_id, owner)`` says whether a session belongs to somebody else. Sessions reach events as values of text boxes;
    every text that looks like an id is asked about, so that no panel has to."""

    def __init__(self, foreign: Callable[[str, str], bool], **more: Any) -> None:
        self._foreign = foreign
        super().__init__(**more)

    async def process_api(
        self, block_fn: Any, inputs: list[Any], state: Any = None, request: Any = None, *given: Any, **more: Any
    ) -> dict[str, Any]:
        owner = owner_of(request) if request is not None and not isinstance(request, list) else ""
        checked = [GONE if isinstance(one, str) and _ID.fullmatch(one) and self._foreign(one, owner) else one for one in inputs]
        made: dict[str, Any] = await super().process_api(block_fn, checked, state, request, *given, **more)
        return made

    async def postprocess_data(self, block_fn: Any, predictions: Any, state: Any) -> list[Any]:
        """As Gradio does it, but for outputs that an event leaves as they are: it would make each of their components anew."""
        if isinstance(predictions, dict) and predictions and all(isinstance(key, Block) for key in predictions):
            predictions = [predictions.get(output, SKIPPED) for output in block_fn.outputs]
        elif len(block_fn.outputs) < 2 or not isinstance(predictions, (list, tuple)) or len(predictions) != len(block_fn.outputs):
            return list(await super().postprocess_data(block_fn, predictions, state))
        changed = [n for n, one in enumerate(predictions) if not (isinstance(one, dict) and one == SKIPPED)]
        narrow = copy(block_fn)
        narrow.outputs = [block_fn.outputs[n] for n in changed]
        given = [predictions[n] for n in changed]
        made = iter(await super().postprocess_data(narrow, given[0] if len(given) == 1 else given, state) if changed else [])
        return [next(made) if n in changed else dict(SKIPPED) for n in range(len(block_fn.outputs))]
