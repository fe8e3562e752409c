"""A model's answer as it is written: Slack's streaming calls, or edits of one message at most once a second where they do not work."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from assistant.slack.blocks import Block, cut
from assistant.slack.delivery import Delivery, code_of
from assistant.slack.mrkdwn import live_markdown, to_mrkdwn

if TYPE_CHECKING:
    from slack_sdk.web.chat_stream import ChatStream

log = logging.getLogger("runwhy.slack")
BUFFER = 512
"""Characters that are gathered before a call."""
EDIT_SECONDS = 1.2
MOST_STREAMED = 11_000


class Stream:
    """``show`` takes the answer so far, ``finish`` the final blocks; between them nothing of it can be lost or shown twice.

    The message's ts is handed to ``note`` as soon as it is known, so that a process that takes over finds the beginning.
    """

    def __init__(
        self, delivery: Delivery, note: Callable[[str], None], begun: str = "", *, part: str = "answer", waiting: str = "…"
    ) -> None:
        self.delivery, self._note, self._waiting, self.part = delivery, note, waiting, part
        self.noted = False
        self._stream: ChatStream | None = None
        self._sent = ""
        self._ts = begun
        self._edits = bool(begun)
        self._last = 0.0
        self._closed_early = False

    def show(self, markdown: str) -> None:
        """The answer so far. Never raises: a stream that breaks is made good in `finish`."""
        from slack_sdk.errors import SlackApiError

        try:
            if self._edits:
                self._edit(markdown)
            elif not self._closed_early:
                self._append(live_markdown(markdown))
        except SlackApiError as problem:
            log.info("no streaming: id=%s error=%s", self.delivery.task.pending.id, code_of(problem))
            if self._ts:
                close_begun(self.delivery, self._ts)
            self._stream, self._edits = None, True
        except Exception as problem:
            log.warning("stream broke: id=%s error=%s", self.delivery.task.pending.id, type(problem).__name__)
            self._closed_early = True

    def finish(self, markdown: str, blocks: list[Block], below: list[Block], text: str) -> str:
        """Show the whole answer: ``blocks`` in full, or only what stands ``below`` when the text is streamed already. Returns the ts."""
        if self._stream is not None and self._stream.ts and (ts := self._stopped(live_markdown(markdown), below)) is not None:
            return ts
        if self._ts:
            return self.delivery.update(self._ts, blocks, text, self.part)
        return self.delivery.post(self.part, blocks, text)

    def _append(self, whole: str) -> None:
        if not whole.startswith(self._sent) or len(whole) > MOST_STREAMED:
            self._closed_early = True  # what was shown changed: the final update puts it right
            return
        if self._stream is None:
            self.delivery.task.mine()
            job = self.delivery.task.job
            self._stream = self.delivery.client.chat_stream(
                channel=self.delivery.channel,
                thread_ts=self.delivery.thread,
                recipient_team_id=job.team,
                recipient_user_id=job.user,
                buffer_size=BUFFER,
            )
        self._stream.append(markdown_text=whole[len(self._sent) :])
        self._sent = whole
        if self._stream.ts and not self._ts:
            self._ts = self._stream.ts
            self._noted()

    def _edit(self, markdown: str) -> None:
        now = time.monotonic()
        if now - self._last < EDIT_SECONDS:
            return
        self._last = now
        text = cut(to_mrkdwn(markdown), 2900) + " …"
        if not self._ts:
            self._ts = self.delivery.begin(self.part, self._waiting)
            self._noted()
        self.delivery.client.chat_update(channel=self.delivery.channel, ts=self._ts, text=text, parse="none")

    def _noted(self) -> None:
        self.noted = True
        self._note(self._ts)

    def _stopped(self, whole: str, below: list[Block]) -> str | None:
        """Stop the stream; None when its text is not the final one and an update must follow."""
        assert self._stream is not None
        fits = not self._closed_early and whole.startswith(self._sent) and len(whole) <= MOST_STREAMED
        try:
            self._stream.stop(
                markdown_text=whole[len(self._sent) :] if fits else None,
                blocks=below if fits else None,
                metadata=self.delivery.metadata(self.part),
            )
        except Exception as problem:
            log.warning("stream not stopped: id=%s error=%s", self.delivery.task.pending.id, type(problem).__name__)
            close_begun(self.delivery, self._ts)
            return None
        return self._ts if fits else None


def close_begun(delivery: Delivery, ts: str) -> None:
    """End a stream that broke, or that a dead process left open, so that the message can be edited."""
    try:
        delivery.client.chat_stopStream(channel=delivery.channel, ts=ts)
    except Exception as problem:
        log.debug("stop: %s", type(problem).__name__)
