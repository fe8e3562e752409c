"""The Slack bot: a thread is a conversation about a log.

    events      Slack's payloads → `Job`, or nothing (bots, edits, other people's talk)
    app         Bolt listeners: a job is noted down in the session store, then acknowledged
    work        a bounded pool claims jobs and hands them to
    talk        what is done for each kind of job; `look`, `reply`, `guided`, `home` say it as blocks
    delivery    posts each part of an answer once, also after a restart in mid-answer

`serve` runs it over a socket (no public address is needed) or over HTTP with signed requests.
"""

from __future__ import annotations
