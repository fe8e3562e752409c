"""The web page and the bot on one store: the same findings and numbers, and one talk that goes from the one to the other."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

gradio = pytest.importorskip("gradio")

from fastapi.testclient import TestClient  # noqa: E402

from assistant.diagnosis import render  # noqa: E402
from assistant.sessions import Settings, open_store  # noqa: E402
from assistant.slack.mrkdwn import to_mrkdwn  # noqa: E402
from assistant.web import create_app  # noqa: E402
from tests.slack.conftest import Space, log_of  # noqa: E402
from tests.slack.server import Message  # noqa: E402

# Gradio leaves event loops and sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

QUESTION = "why did the entropy collapse?"
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-\d+)?")


class Face:
    """A running page of the web chat, spoken to as the browser does."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.config = client.get("/config").json()

    def event(self, target: str, kind: str = "click") -> int:
        """Id of the first server event of an element ("" for the page itself)."""
        ids = {c["props"].get("elem_id"): c["id"] for c in self.config["components"]}
        at = ids.get(target)
        rows = self.config["dependencies"]
        return next(d["id"] for d in rows if d["backend_fn"] and any(kind == k and (not target or i == at) for i, k in d["targets"]))

    def call(self, number: int, *data: Any) -> list[Any]:
        body = {"data": list(data), "fn_index": number, "session_hash": "tab", "event_data": None}
        assert self.client.post("/gradio_api/queue/join", json=body).status_code == 200
        last: dict[str, Any] = {}
        with self.client.stream("GET", "/gradio_api/queue/data", params={"session_hash": "tab"}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    message = json.loads(line[5:])
                    last = message if message["msg"] == "process_completed" else last
                    if message["msg"] == "close_stream":
                        break
        assert last["success"], last
        return list(last["output"]["data"])

    def paste(self, log: str) -> str:
        """The session of a pasted log."""
        return str(self.call(self.event("go"), log, None, "en")[0])

    def ask(self, question: str, session_id: str) -> str:
        """The turn that the page shows, without its markup."""
        return words(json.dumps(self.call(self.event("send"), question, session_id, "en")[0], ensure_ascii=False))

    def opened(self, link: str) -> str:
        """The session that a link opens, "" for none."""
        return str(self.call(self.event("", "load"), f"link:{link.partition('#link=')[2]}", "en")[0] or "")


def words(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html))


@pytest.fixture
def web(space: Space) -> Iterator[Face]:
    """The page, on the store of the bot."""
    store = open_store(Settings(folder=Path(space.data)))
    with TestClient(create_app(store)) as client:
        yield Face(client)
    store.close()
    asyncio.set_event_loop(None)  # lets go of the loop that Gradio made this thread's own
    gc.collect()


def link_in(look: Message) -> str:
    return str(next(button["url"] for button in look.buttons() if button.get("url")))


def test_one_log_two_faces_one_talk(space: Space, web: Face, channel: str) -> None:
    log = log_of("m").decode()
    asked = space.write(QUESTION, channel=channel, files=[space.slack.add_file("train.log", log.encode())])
    look, reply = space.replies(asked, 2)
    store = open_store(Settings(folder=Path(space.data)))
    try:
        # The same findings and the same answer
        on_web = web.paste(log)
        said = web.ask(QUESTION, on_web)
        in_slack = next(one for one in store.sessions() if one.kept.get("slack-thread", {}).get("channel") == channel)
        about = store.about(on_web)
        assert about is not None
        assert about.findings == in_slack.findings
        assert len(about.findings) > 1
        (here,), (there,) = store.transcript(on_web), store.transcript(in_slack.id)
        assert here.markdown == there.markdown
        assert here.answer["facts"] == there.answer["facts"]
        numbers = set(NUMBER.findall(here.markdown))
        assert len(numbers) > 3
        assert numbers <= set(NUMBER.findall(said))
        assert numbers <= set(NUMBER.findall(reply.shown))
        report = web.client.get(f"/session/{on_web}/report.md")
        session = store.get(on_web)
        assert session is not None
        for finding in session.diagnosis.faults:
            assert to_mrkdwn(render.title(finding)).replace("*", "") in look.shown
            for point in finding.evidence[:2]:
                assert point.text in look.shown
                assert point.text in report.text

        # The thread's link opens the talk on the web, where it goes on; the thread does not see it
        copy = web.opened(link_in(look))
        assert copy
        assert copy != in_slack.id
        assert [one.question for one in store.transcript(copy)] == [QUESTION]
        assert "clip_ratio_high" in web.ask("what should I change first?", copy)
        assert len(store.transcript(in_slack.id)) == 1
        assert web.opened("#link=" + "x" * 43) == ""

        # And a link of the web goes on in Slack
        token = store.share(copy)
        elsewhere = space.write(f"https://runwhy.lab.test/#link={token} and since when?", channel=channel)
        space.replies(elsewhere, 2)
        forked = next(one for one in store.sessions() if one.kept.get("slack-thread", {}).get("ts") == elsewhere.ts)
        assert [one.question for one in store.transcript(forked.id)][:2] == [QUESTION, "what should I change first?"]
    finally:
        store.close()
