"""Does jobs: chooses the handler, and sees to it that whatever happens the person is told once and the job is closed."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from assistant.slack import buttons, incoming, talk
from assistant.slack.context import Doing
from assistant.slack.delivery import CLOSED, TOKEN, Lost, Undeliverable
from assistant.slack.home import MOST_RUNS, home_view, thread_link
from assistant.slack.limits import RateLimit
from assistant.slack.people import People
from assistant.slack.reply import ask_view

if TYPE_CHECKING:
    from slack_sdk import WebClient

    from assistant.sessions import SessionStore
    from assistant.slack.jobs import Kind
    from assistant.slack.settings import Settings
    from assistant.slack.work import Task

log = logging.getLogger("runwhy.slack")
MOST_ATTEMPTS = 4


class Bot:
    """``client_of`` gives the client of a workspace, ``address_of`` where its messages are on the web (``https://lab.slack.com/``)."""

    def __init__(
        self, settings: Settings, store: SessionStore, client_of: Callable[[str], WebClient], address_of: Callable[[str], str]
    ) -> None:
        self.settings, self.store, self._client_of, self._address_of = settings, store, client_of, address_of
        self.people = People()
        self.of_users, self.of_teams = RateLimit(*settings.user_limit), RateLimit(*settings.team_limit)
        self._told = RateLimit(1, settings.user_limit[1] / 4)

    def do(self, task: Task) -> None:
        """Do a claimed job. Never raises for what one message or Slack did."""
        from assistant.cards import with_cards_of

        job = task.job
        doing = Doing(task, self._client_of(job.team), self.store, self.settings, self.people, self._address_of)
        log.info(
            "job: id=%s kind=%s team=%s channel=%s attempt=%d", task.pending.id, job.kind, job.team, job.channel, task.pending.attempts
        )
        try:
            with with_cards_of(doing.team.cards):
                if task.pending.attempts >= MOST_ATTEMPTS:
                    log.error("gave up: id=%s kind=%s", task.pending.id, job.kind)
                    return doing.tell(doing.say("gave_up", id=task.pending.id[:8]), part="error")
                if task.begun or self._may(doing):
                    HANDLERS[job.kind](doing)
                doing.close()
        except Lost:
            log.info("taken over: id=%s", task.pending.id)
        except Undeliverable as problem:
            self._undeliverable(doing, problem)
        except Exception as problem:
            self._failed(doing, problem)

    def _may(self, doing: Doing) -> bool:
        """Whether the person and the workspace may ask now; says no once in a while, not each time."""
        job = doing.job
        if job.kind not in LIMITED or (job.kind == "button" and job.data.get("action") not in ("ask", "report")):
            return True
        wait, key = self.of_users.wait(job.owner), "user_limit"
        if not wait:
            wait, key = self.of_teams.wait(job.team), "team_limit"
        if not wait:
            return True
        log.info("limited: id=%s kind=%s team=%s", doing.task.pending.id, key, job.team)
        doing.said = incoming.divided(job.text, job.code)[1]
        if not self._told.wait(f"{job.owner} {key}"):
            n = max(1, round(wait))
            words = doing.say("wait_minutes", n=-(-n // 60)) if n >= 60 else doing.say("wait_seconds", n=n)
            doing.delivery.whisper(doing.say(key, wait=words))
        return False

    def _undeliverable(self, doing: Doing, problem: Undeliverable) -> None:
        """Slack will not have it here. What can be said elsewhere is; what may get better is left to a later attempt."""
        from assistant.slack.delivery import respond

        log.warning("not delivered: id=%s error=%s", doing.task.pending.id, problem.error)
        if problem.error in TOKEN:
            log.error("Slack no longer takes the token of team=%s: `runwhy doctor` says what to do", doing.job.team)
        hopeless = problem.error in CLOSED or (problem.error.startswith("invalid") and problem.error not in TOKEN)
        if not hopeless and doing.task.pending.attempts < MOST_ATTEMPTS:
            return  # the lease runs out, the sweep takes it up again
        if problem.error in ("not_in_channel", "channel_not_found") and (url := doing.job.data.get("response_url")):
            respond(str(url), doing.say("not_in_channel"))
        self._close(doing)

    def _failed(self, doing: Doing, problem: Exception) -> None:
        """A fault of ours: where it happened goes into our log (never what the message was), a reference to the person."""
        frames = traceback.extract_tb(problem.__traceback__)
        where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-6:]))
        log.error("failed: id=%s kind=%s error=%s at %s", doing.task.pending.id, doing.job.kind, type(problem).__name__, where)
        try:
            text = doing.say("failed", id=doing.task.pending.id[:8])
            if doing.job.kind in ("home", "welcome") or not doing.job.channel:
                return
            doing.delivery.post("error", (), text)
        except (Lost, Undeliverable) as other:
            log.warning("not told: id=%s error=%s", doing.task.pending.id, type(other).__name__)
        finally:
            self._close(doing)

    def _close(self, doing: Doing) -> None:
        try:
            doing.settle(None)
            doing.close()
        except Lost:
            pass


def _home(doing: Doing) -> None:
    runs = doing.store.sessions(doing.job.owner, limit=MOST_RUNS)
    doing.chosen = doing.people.language(doing.client, doing.job.team, doing.job.user)
    doing.settle(None)
    address = doing.address_of(doing.job.team)
    view = home_view([(about, thread_link(about, address)) for about in runs], doing.language, doing.masked)
    doing.client.views_publish(user_id=doing.job.user, view=view)
    doing.close()


def _welcome(doing: Doing) -> None:
    """An empty conversation with the bot was opened: what one could ask."""
    keys = ("help", "wrong", "change", "numbers") if doing.store.sessions(doing.job.owner, limit=1) else ("help", "numbers")
    prompts = [{"title": doing.say(f"prompt_{key}"), "message": doing.say(f"prompt_{key}")} for key in keys]
    doing.settle(None)
    try:
        doing.client.assistant_threads_setSuggestedPrompts(
            channel_id=doing.job.channel, thread_ts=doing.job.thread or None, title=doing.say("prompts_title"), prompts=prompts
        )
    except Exception as problem:
        log.info("no prompts: id=%s error=%s", doing.task.pending.id, type(problem).__name__)
    doing.close()


def _command(doing: Doing) -> None:
    """``/runwhy`` alone opens a dialogue; ``/runwhy help`` says how; anything else is a question or a log."""
    job = doing.job
    doing.said = job.text
    if job.text or job.code:
        if incoming.help_request(job.text) and not job.code:
            doing.settle(None)
            doing.delivery.whisper(doing.say("help"))
            return doing.close()
        return talk.message(doing)
    doing.settle(None)
    try:
        doing.client.views_open(trigger_id=str(job.data.get("trigger_id")), view=ask_view({"channel": job.channel}, doing.language))
    except Exception as problem:
        log.info("no dialogue: id=%s error=%s", doing.task.pending.id, type(problem).__name__)
        doing.delivery.whisper(doing.say("help"))
    doing.close()


HANDLERS: Mapping[Kind, Callable[[Doing], None]] = {
    "message": talk.message,
    "shortcut": talk.message,
    "modal": talk.message,
    "command": _command,
    "button": buttons.used,
    "reason": buttons.reason,
    "home": _home,
    "welcome": _welcome,
}
LIMITED = frozenset({"message", "shortcut", "modal", "command", "button"})
