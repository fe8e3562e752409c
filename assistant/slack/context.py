"""What a handler has at hand for one job: where to answer, in which language, about which session."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

from assistant.messages import Language, say
from assistant.slack.blocks import Block, section
from assistant.slack.delivery import Delivery, Lost
from assistant.slack.people import People, written_in

if TYPE_CHECKING:
    from slack_sdk import WebClient

    from assistant.answers import Answer, Turn
    from assistant.sessions import Session, SessionStore
    from assistant.slack.jobs import Job
    from assistant.slack.settings import Settings, Team
    from assistant.slack.work import Task


THREAD = "slack-thread"
"""Under which a session keeps where it is talked about, for the home tab."""
TALK = "slack-talk "
"""Before the name of a thread in which the bot asked for a log: the next one there is for it, with or without a mention."""
TALK_HOURS = 24.0


@dataclass
class Doing:
    """One job being done. ``said`` is what the person wrote beside a log, set as soon as it is known."""

    task: Task
    client: WebClient
    store: SessionStore
    settings: Settings
    people: People
    address_of: Callable[[str], str]
    said: str = ""
    session: Session | None = None
    closed: bool = False
    chosen: Language | None = None
    _delivery: Delivery | None = field(default=None, repr=False)

    @property
    def job(self) -> Job:
        return self.task.job

    @property
    def delivery(self) -> Delivery:
        if self._delivery is None:
            self._delivery = Delivery(self.client, self.task)
        return self._delivery

    @property
    def team(self) -> Team:
        return self.settings.team(self.job.team)

    @property
    def language(self) -> Language:
        """What the person writes, what the talk is in, what their Slack is set to: the first that is known."""
        if self.chosen is None:
            self.chosen = written_in(self.said) or (self.session.language if self.session else None)
        if self.chosen is None:
            self.chosen = self.people.language(self.client, self.job.team, self.job.user)
        return self.chosen

    @cached_property
    def masked(self) -> Callable[[str], str]:
        """Hides keys, names and addresses; the same word gets the same mark in all of one answer."""
        from assistant.redaction import Redactor

        return Redactor(self.team.endpoint.patterns if self.team.endpoint else ()).mask

    def allowed(self, address: str) -> bool:
        """Links that may be live: to our own web page, and the sources of the cards."""
        own = self.settings.web_url
        return bool(own and address.startswith(own + "/")) or address in known_links()

    def say(self, key: str, **values: object) -> str:
        return say(f"slack.{key}", self.language, **values)

    # The session

    def find_session(self) -> Session | None:
        """The session of this thread; in a direct message also the last one of this talk, or the person's last run."""
        job, store = self.job, self.store
        bound = store.bound(job.lane)
        if bound is None and job.direct:
            bound = store.bound(job.room) or next((about.id for about in store.sessions(job.owner, limit=1)), None)
        self.session = store.get(bound) if bound else None
        return self.session

    def bind(self, session: Session) -> None:
        self.store.bind(self.job.lane, session.id)
        self.store.keep(session.id, THREAD, {"channel": self.job.channel, "ts": self.job.thread or self.job.ts})
        if self.job.direct:
            self.store.bind(self.job.room, session.id)
        self.session = session

    def link(self, session: Session) -> str:
        """An address that opens the session in the web chat, "" without one."""
        if not self.settings.web_url:
            return ""
        token = self.store.share(session.id, self.settings.share_hours)
        return f"{self.settings.web_url}/#link={token}" if token else ""

    # Saying something

    def tell(self, text: str, part: str = "told", blocks: Sequence[Block] = ()) -> None:
        """A short message into the thread, and the job is done."""
        self.settle(None)
        self.delivery.post(part, list(blocks) or [section(text)], text)
        self.close()

    def ask_for_log(self) -> None:
        """What was just said asks for a log: one that comes into this thread needs no mention."""
        if not self.job.direct:
            self.store.seen(TALK + self.job.lane, TALK_HOURS)

    def settle(self, turn: Turn | None, answer: Answer | None = None, session: Session | None = None) -> int:
        """Note down that the answer is there, before it is shown; returns its turn's index. Raises Lost when it is not ours to show."""
        pending = self.task.pending
        if pending.turn_index is not None:
            return pending.turn_index
        index = self.store.answered(
            pending.id, turn, answer=answer, worker=self.task.worker, session_id=session.id if session else "", delivered=False
        )
        if index is None:
            raise Lost
        return index

    def close(self) -> None:
        """The job is done, whatever it was."""
        if not self.closed:
            self.closed = True
            self.store.delivered(self.task.pending.id)


def size_of(n_bytes: int) -> str:
    """``1.2 MB``."""
    size = float(n_bytes)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


@cache
def known_links() -> frozenset[str]:
    """Every address that a card names."""
    from assistant.cards import cards

    found: set[str] = set()
    for card in cards().values():
        for text in [*card.body.values(), str(card.front.get("sources") or "")]:
            found.update(re.findall(r"https?://[^\s<>\"'`)\],]+", text))
    return frozenset(found)
