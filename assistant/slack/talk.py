"""A message: the log in it is read and looked at, the question in it is answered."""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.slack import incoming
from assistant.slack.blocks import cut
from assistant.slack.context import Doing, size_of
from assistant.slack.files import Fetcher, NotFetched, folder, looked_up
from assistant.slack.look import first_look, next_steps
from assistant.slack.mrkdwn import escape, plain, words
from assistant.slack.reply import Said, answer_blocks
from assistant.slack.streaming import Stream, close_begun

if TYPE_CHECKING:
    from assistant.charts import Panels
    from assistant.diagnosis import Diagnosis, Finding
    from assistant.sessions import Session

log = logging.getLogger("runwhy.slack")
MOST_QUESTION = 4000
SMALL = 200_000
BIG = 2 << 20
"""Bytes of a log from which on it is said that it is being read: beside the bot's name, and in a message of its own."""
_DRAWING = threading.Lock()


def message(doing: Doing) -> None:
    """A message, a shortcut on one, a command with words, a dialogue that was sent."""
    job = doing.job
    pasted, question = incoming.divided(job.text, job.code)
    doing.said = question
    if what := incoming.forget_request(question):
        from assistant.slack.buttons import ask_to_forget

        doing.find_session()
        return ask_to_forget(doing, what)
    if token := shared_token(job.text, doing.settings.web_url):
        return _open_link(doing, token)
    if len(question) > MOST_QUESTION:
        return doing.tell(doing.say("too_long", limit=MOST_QUESTION))
    with_log = bool(pasted or job.files)
    if not with_log and job.addressed and incoming.help_request(question):
        doing.ask_for_log()
        return doing.tell(doing.say("help"))
    _begin_thread(doing, question, with_log)
    if with_log:
        if not _read_all(doing, pasted):
            return doing.close()
    elif doing.find_session() is None:
        return _without_log(doing, question)
    if doing.session is None:
        return doing.close()
    if question and _is_asked(doing, doing.session, question, with_log):
        answer(doing, doing.session, question)
    else:
        doing.settle(None, session=doing.session)
    doing.close()


def _is_asked(doing: Doing, session: Session, question: str, with_log: bool) -> bool:
    """Whether these words want an answer: "look at this" beside a log does not, nor do colleagues who talk about it in the thread."""
    from assistant.answers import understand
    from assistant.charts.asked import asked

    if question.rstrip().endswith(("?", "？")):
        return True
    meant = understand(question, history=session.turns)
    if meant.intents or asked(question, session.diagnosis, session.turns) is not None:
        return True
    if not doing.job.addressed:
        return False
    return not with_log or bool(meant.metrics or meant.findings or meant.concepts)


def _begin_thread(doing: Doing, question: str, with_log: bool) -> None:
    """A command has no message to answer: one is made, and the talk hangs on it."""
    job = doing.job
    if job.ts or job.kind not in ("command", "modal") or not (question or with_log):
        return
    asked = words(doing.masked(cut(question, 500)))
    text = doing.say("command_started", user=job.user, question=asked) if question else doing.say("command_log", user=job.user)
    ts = doing.delivery.post("root", (), text)
    doing.task.job = replace(job, ts=ts, thread=ts)
    doing.delivery.thread = ts


def _without_log(doing: Doing, question: str) -> None:
    """No log in this thread: how to send one; or the card that the question is about. Nothing to colleagues among themselves."""
    from assistant.slack.general import general

    job = doing.job
    if not job.addressed:
        doing.settle(None)
        return doing.close()
    doing.ask_for_log()
    if doing.store.bound(job.lane) is not None:
        return doing.tell(doing.say("log_gone"))
    if (known := general(question, doing.language, doing.allowed)) is not None:
        return doing.tell(known[1], blocks=known[0])
    doing.tell(doing.say("no_log_here"))


def shared_token(text: str, web_url: str) -> str:
    """The token of a link to our own web page; "" when there is none."""
    if not web_url:
        return ""
    found = re.search(re.escape(web_url) + r"/?\S*?[#?&]link=([\w-]{20,200})", text)
    return found[1] if found else ""


def _open_link(doing: Doing, token: str) -> None:
    shared = doing.store.by_token(token)
    session = doing.store.fork(shared.id, owner=doing.job.owner) if shared is not None else None  # as the web page does: a copy
    if session is None:
        return doing.tell(doing.say("link_unknown"))
    doing.bind(session)
    rest = doing.job.text.partition(token)[2].strip()
    doing.said = rest
    name = words(doing.masked(session.name or doing.say("pasted_log")))
    _show_look(doing, session, session.diagnosis, session.name, intro=doing.say("link_opened", name=name))
    if len(rest) > 3:
        answer(doing, session, rest)
    else:
        doing.settle(None, session=session)
    doing.close()


# Logs


def _read_all(doing: Doing, pasted: str) -> bool:
    """Read every log of the message; whether there was one to talk about. The first of a thread is the run, later ones are compared."""
    job, seen = doing.job, False
    doing.find_session()
    if not doing.store.bound(job.lane):
        doing.session = None  # in a direct message a new log is a new talk
    if sum(file.size for file in job.files) > SMALL:
        doing.delivery.status(doing.say("reading"))
    with folder() as place:
        sources: list[tuple[str, bytes | Path]] = [("", pasted.encode())] if pasted else []
        for number, file in enumerate(job.files):
            name = file.name or file.id
            if file.size > BIG and not seen and not sources:
                doing.delivery.begin("look-0", escape(doing.say("reading_begun", name=words(name), size=size_of(file.size))))
            try:
                fetcher = Fetcher(doing.client.token or "", doing.settings.file_hosts, doing.settings.max_file, doing.settings.timeout)
                known = file if file.url else looked_up(doing.client, file)
                name = known.name or known.id
                sources.append((name, fetcher.fetch(known, Path(place) / str(number))))
            except NotFetched as problem:
                log.info("file refused: id=%s why=%s size=%d", doing.task.pending.id, problem.why, problem.size)
                _not_fetched(doing, name, problem, f"look-{number}" if not sources else f"file-{number}")
        for number, (name, source) in enumerate(sources):
            seen = _read_one(doing, name, source, number) or seen
    if not seen:
        if job.addressed and doing.session is None:
            doing.ask_for_log()
        doing.settle(None)
    return seen


def _not_fetched(doing: Doing, name: str, problem: NotFetched, part: str) -> None:
    limit = size_of(doing.settings.max_file)
    text = doing.say(f"file_{problem.why}", name=words(doing.masked(cut(name, 100))), size=size_of(problem.size), limit=limit)
    doing.delivery.post(part, (), text)


def _read_one(doing: Doing, name: str, source: bytes | Path, number: int) -> bool:
    from assistant.sessions import Cancelled, Unreadable, open_log
    from assistant.slack.delivery import Lost

    part = f"look-{number}"
    if doing.task.again and (read := _read_before(doing, part)) is not None:
        _show_look(doing, *read, part=part)
        return True

    def going_on(_: int) -> None:
        if doing.task.stopping.is_set():
            raise Cancelled

    try:
        diagnosis = open_log(source, name=name, progress=going_on)
    except Unreadable as problem:
        log.info("log unreadable: id=%s kind=%s", doing.task.pending.id, problem.kind)
        if not doing.job.addressed and isinstance(source, bytes):
            return False  # colleagues who show each other a line of something
        reason = words(problem.sentence(doing.language))
        shown = words(doing.masked(cut(name, 100))) or doing.say("pasted_log")
        doing.delivery.post(part, (), doing.say("unreadable", name=shown, reason=reason))
        return False
    except Cancelled:
        raise Lost from None
    if doing.session is None:
        session = doing.store.create(diagnosis, name, source=source, owner=doing.job.owner, language=doing.language)
        doing.bind(session)
        doing.store.keep(session.id, f"slack:{doing.delivery.mark}:{part}", 0)
        _show_look(doing, session, diagnosis, name, part=part)
        return True
    first = doing.session.name or doing.say("pasted_log")
    longer = doing.store.add_run(doing.session.id, diagnosis, name, source=source)
    if longer is None:
        doing.session = None
        return _read_one(doing, name, source, number)
    doing.store.keep(longer.id, f"slack:{doing.delivery.mark}:{part}", len(longer.others))
    doing.session = longer
    intro = doing.say("compared_with", name=words(doing.masked(first)))
    _show_look(doing, longer, diagnosis, name, part=part, intro=intro)
    if not doing.said:
        doing.said = doing.say("compare_question")
        answer(doing, longer, doing.say("compare_question"), part=f"compare-{number}", settles=False)
    return True


def _read_before(doing: Doing, part: str) -> tuple[Session, Diagnosis, str] | None:
    """What a process that died later had read for this part."""
    bound = doing.store.bound(doing.job.lane)
    session = doing.store.get(bound) if bound else None
    at = session.kept.get(f"slack:{doing.delivery.mark}:{part}") if session is not None else None
    if session is None or not isinstance(at, int) or at > len(session.others):
        return None
    doing.session = session
    name, diagnosis = session.others[at - 1] if at else (session.name, session.diagnosis)
    return session, diagnosis, name


def _show_look(doing: Doing, session: Session, diagnosis: Diagnosis, name: str, part: str = "look-0", intro: str = "") -> None:
    from assistant.web.chat import suggestions

    blocks, text = first_look(diagnosis, name, doing.language, doing.masked, intro=intro)
    blocks += next_steps(suggestions(diagnosis, doing.language), doing.language, link=doing.link(session))
    from assistant.slack.blocks import context

    blocks.append(context(doing.say("how_to_go_on")))
    doing.delivery.post(part, blocks, text)
    plot(doing, diagnosis, part)


def plot(doing: Doing, diagnosis: Diagnosis, part: str) -> None:
    """One picture: the curves of the gravest finding that has some, or of the metrics that say how a healthy run went."""
    from assistant.charts import panels_of
    from assistant.diagnosis import RunView

    view = RunView(diagnosis.run)
    healthy = [name for name in ("score_mean", "reward_mean", "policy_entropy", "train_loss", "policy_loss") if view.has(name)][:3]
    chosen: list[Finding | list[str]] = [*diagnosis.faults[:3], healthy]
    for what in chosen:
        panels = panels_of(what, view)
        if not panels:
            continue
        return _upload_plot(doing, panels, "plot" if part == "look-0" else f"plot-{part[5:]}")


def _upload_plot(doing: Doing, panels: Panels, stem: str) -> None:
    from assistant.charts import caption, png, spoken

    try:
        with _DRAWING:
            image = png(panels)
    except Exception as problem:
        log.warning("plot failed: id=%s error=%s", doing.task.pending.id, type(problem).__name__)
        return
    alt = cut(doing.masked(spoken(panels, doing.language)), 900)
    names = " · ".join(name for panel in panels.panels if (name := getattr(panel, "name", "")))
    title = doing.masked(f"{names}: {caption(panels, doing.language)}" if names else caption(panels, doing.language))
    doing.delivery.upload(stem, ".png", image, cut(plain(title), 250), alt)


# Questions


def answer(doing: Doing, session: Session, question: str, part: str = "answer", *, asker: str = "", settles: bool = True) -> None:
    """Answer in the thread: from the evidence, by the team's model where there is one (shown as it writes), else built in."""
    from assistant.answers import answer as answered

    pending, language = doing.task.pending, doing.language
    if not settles and doing.delivery.shown(part) is not None:
        return
    begun_key = f"slack-stream:{doing.delivery.mark}"
    begun = str(session.kept.get(begun_key) or "") if doing.task.again else ""
    if begun:
        close_begun(doing.delivery, begun)
    stream = Stream(
        doing.delivery, lambda ts: doing.store.keep(session.id, begun_key, ts), begun, part=part, waiting=escape(doing.say("writing_begun"))
    )
    if settles and pending.turn_index is not None and pending.turn_index >= 0:
        said = _kept_answer(doing, session, pending.turn_index)
    else:
        endpoint = doing.team.endpoint
        if endpoint is not None:  # without a model there is no time to read it
            doing.delivery.status(doing.say("answering"))
        given = answered(
            question,
            session.diagnosis,
            language=None if any(letter.isalpha() for letter in question) else language,
            history=session.turns,
            others=session.others,
            name=session.name,
            model=endpoint,
            on_progress=(lambda text: stream.show(doing.masked(text))) if endpoint else None,
            cancelled=doing.task.stopping.is_set,
            source=lambda first, last: doing.store.lines(session.id, first, last),
        )
        if settles:
            said = Said(given.to_json(), question, given.language, doing.settle(given.turn, given, session))
        else:
            said = Said(given.to_json(), question, given.language, doing.store.add_turn(session.id, given.turn, answer=given))
    blocks, text, cut_off = answer_blocks(said, doing.masked, doing.allowed, asker=asker, questions=said.followups[:3])
    below, _, _ = answer_blocks(said, doing.masked, doing.allowed, questions=said.followups[:3], body=False)
    stream.finish(doing.masked(said.markdown), blocks, below, text)
    if begun or stream.noted:
        doing.store.keep(session.id, begun_key, None)
    asked_plot(doing, session, question, part)
    if cut_off:
        title = doing.say("full_answer")
        doing.delivery.upload(part, ".md", doing.masked(said.markdown).encode(), title)


def _kept_answer(doing: Doing, session: Session, index: int) -> Said:
    """What a process that died before it could show it had written."""
    kept = next(one for one in doing.store.transcript(session.id) if one.index == index)
    language = kept.answer.get("language")
    return Said({**kept.answer, "answer": kept.markdown}, kept.question, language if language in ("en", "zh") else doing.language, index)


def asked_plot(doing: Doing, session: Session, question: str, part: str) -> None:
    """The picture, when the question asks for one ("plot entropy against score")."""
    from assistant.charts.asked import asked
    from assistant.diagnosis import RunView

    wanted = asked(question, session.diagnosis, session.turns)
    if wanted is not None and (panels := wanted.panels(RunView(session.diagnosis.run))):
        _upload_plot(doing, panels, f"chart-{part}")
