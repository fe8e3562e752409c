"""``runwhy sessions``: the conversations that are kept, for whoever runs the server (or works alone)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.loading import Unreadable
from assistant.messages import Language, say

if TYPE_CHECKING:
    from assistant.sessions import About, SessionStore

group = typer.Typer(help="Conversations that are kept: list, show, export, delete, forget.", no_args_is_help=True)

from assistant.cli.commands import InLanguage, Json, _guarded, language_of, print_json  # noqa: E402  (commands adds this group)

Id = Annotated[str, typer.Argument(metavar="ID", help="A conversation, by the beginning of its id (at least 6 characters).")]
SHORTEST = 6


@contextmanager
def opened(language: Language) -> Iterator[SessionStore]:
    """The store of the environment. Raises Unreadable with the sentence that says why not."""
    from dataclasses import replace

    from assistant.sessions.settings import MEMORY, UnusableStore, configured, open_store

    try:
        settings = configured()
        if settings.url == MEMORY:
            raise Unreadable(say("sessions.memory_only", language))
        store = open_store(replace(settings, sweep_every=0.0))
    except UnusableStore as problem:
        raise Unreadable(problem.sentence(language)) from problem
    try:
        yield store
    finally:
        store.close()


def find(store: SessionStore, start: str, language: Language) -> About:
    """The one conversation whose id begins so. Raises Unreadable."""
    if found := store.about(start):
        return found
    hits = [about for about in store.sessions(limit=100_000) if about.id.startswith(start)] if len(start) >= SHORTEST else []
    if len(hits) != 1:
        raise Unreadable(say("sessions.several" if hits else "sessions.no_session", language, id=start, n=SHORTEST))
    return hits[0]


@group.command("list")
@_guarded
def list_(
    owner: Annotated[str | None, typer.Option(help="Only those of this person, as the face names people (slack:T…:U…).")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many, the last used first.")] = 50,
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """The conversations, last used first."""
    language = language_of(lang)
    with opened(language) as store:
        found = store.sessions(owner, limit=limit)
    if as_json:
        print_json({"sessions": [about.to_json() for about in found]})
        return
    from assistant.cli.sessions_shown import print_list

    print_list(found, language)


@group.command()
@_guarded
def show(session: Id, as_json: Json = False, lang: InLanguage = None) -> None:
    """One conversation: its log, and what was asked and answered."""
    language = language_of(lang)
    with opened(language) as store:
        about = find(store, session, language)
        talk = store.transcript(about.id)
    if as_json:
        print_json({**about.to_json(), "transcript": [one.to_json() for one in talk]})
        return
    from assistant.cli.sessions_shown import print_session

    print_session(about, talk, language)


@group.command()
@_guarded
def export(
    session: Annotated[str | None, typer.Argument(metavar="[ID]", help="A conversation; none: all of them.")] = None,
    feedback: Annotated[bool, typer.Option("--feedback", help="The feedback that people gave (redacted), for evaluation.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write there instead of printing.")] = None,
    lang: InLanguage = None,
) -> None:
    """Conversations, or feedback, as JSON lines."""
    from assistant.cli.sessions_shown import write_lines

    language = language_of(lang)
    with opened(language) as store:
        if feedback:
            rows = store.given_feedback()
        else:
            chosen = [find(store, session, language)] if session else store.sessions(limit=100_000)
            rows = ({**about.to_json(), "transcript": [one.to_json() for one in store.transcript(about.id)]} for about in chosen)
        n = write_lines(rows, output)
    if output is not None:
        print(say("sessions.exported", language, n=n, path=output), file=sys.stderr)


@group.command()
@_guarded
def delete(
    sessions: Annotated[list[str], typer.Argument(metavar="ID…", help="Conversations, by the beginnings of their ids.")],
    feedback: Annotated[bool, typer.Option("--feedback", help="Also the feedback that was given in them.")] = False,
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """Delete conversations, with their logs unless another one has the same."""
    language = language_of(lang)
    with opened(language) as store:
        chosen = [find(store, start, language) for start in dict.fromkeys(sessions)]
        for about in chosen:
            store.remove(about.id, feedback=feedback)
    if as_json:
        print_json({"deleted": [about.id for about in chosen]})
    else:
        print(say("sessions.deleted", language, n=len(chosen)))


@group.command()
@_guarded
def forget(
    owner: Annotated[str, typer.Argument(metavar="PERSON", help="As the face names people (see list): slack:T…:U….")],
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """Delete everything of a person: conversations, open questions, feedback, logs."""
    language = language_of(lang)
    if not owner:
        raise Unreadable(say("sessions.nobody", language))
    with opened(language) as store:
        n = store.forget(owner)
    if as_json:
        print_json({"forgotten": owner, "sessions": n})
    else:
        print(say("sessions.forgotten", language, n=n))
