"""The application over HTTP, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import pytest

gradio = pytest.importorskip("gradio")

from fastapi.testclient import TestClient  # noqa: E402

from assistant.answers import answer  # noqa: E402
from assistant.messages.web import TEXT  # noqa: E402
from assistant.sessions import MemoryStore, open_log  # noqa: E402
from assistant.web import create_app  # noqa: E402
from assistant.web.app import forget_idle, remove_uploads  # noqa: E402
from assistant.web.limits import Limits  # noqa: E402
from assistant.web.page import Page  # noqa: E402
from assistant.web.samples import sample_text  # noqa: E402
from tests.web import browsing  # noqa: E402

# Gradio leaves event loops and sockets to the garbage collector: it is not held against these tests, nor against those of other files.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True, scope="module")
def collected_last() -> Iterator[None]:
    yield
    asyncio.set_event_loop(None)  # lets go of the loop that Gradio made this thread's own
    gc.collect()


ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits(paste=200_000, upload=300_000)


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture(scope="module")
def client(store: MemoryStore) -> Iterator[TestClient]:
    with TestClient(create_app(store, LIMITS)) as client:
        yield client


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(MemoryStore(), LIMITS)


@pytest.fixture(scope="module")
def config(client: TestClient) -> dict[str, Any]:
    return client.get("/config").json()  # type: ignore[no-any-return]


def event(config: dict[str, Any], elem_id: str) -> int:
    """Id of the first server event that a click on the element starts."""
    element = next(c["id"] for c in config["components"] if c["props"].get("elem_id") == elem_id)
    return next(d["id"] for d in config["dependencies"] if [element, "click"] in d["targets"] and d["backend_fn"])


def call(client: TestClient, number: int, data: list[Any], tab: str = "tab") -> dict[str, Any]:
    """Queue an event as the page does and wait for its last output."""
    last: dict[str, Any] = {}
    joined = client.post("/gradio_api/queue/join", json={"data": data, "fn_index": number, "session_hash": tab, "event_data": None})
    assert joined.status_code == 200, joined.text
    with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": tab}) as stream:
        for line in stream.iter_lines():
            if line.startswith("data:"):
                message = json.loads(line[5:])
                if message["msg"] == "process_completed":
                    last = message
                if message["msg"] == "close_stream":
                    break
    assert last["success"], last
    return last["output"]  # type: ignore[no-any-return]


def test_health(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}


def test_the_server_starts_by_itself_and_leaves_nothing_behind(tmp_path: Path) -> None:
    port = browsing.free_port()
    command = [sys.executable, "app.py", "--port", str(port)]
    server = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path), "RUNWHY_STORE": "memory"}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == f"runwhy: http://localhost:{port}/\n"
        for _ in range(200):
            with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/health") as answer:
                assert json.load(answer) == {"status": "ok"}
                break
            time.sleep(0.05)
        else:
            pytest.fail("the server did not answer")
        assert list(tmp_path.glob("runwhy-*"))
    finally:
        server.terminate()
        server.communicate(timeout=15)
    assert not list(tmp_path.glob("runwhy-*"))


def test_the_page_fetches_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "http" not in policy
    assert "default-src 'self'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"']([^\"']+)", page.text)
    assert not [address for address in loaded if re.match(r"(https?:)?//", address)]
    assert "fonts.googleapis" not in page.text


def test_no_event_is_public(config: dict[str, Any]) -> None:
    assert config["dependencies"]
    assert {d["api_visibility"] for d in config["dependencies"]} == {"private"}
    assert not config.get("analytics_enabled")


def test_no_file_of_the_server_is_served(client: TestClient) -> None:
    for path in ("/etc/passwd", "pyproject.toml", "assistant/web/page.py"):
        assert client.get(f"/gradio_api/file={path}").status_code in (403, 404)


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_over_the_limit_is_refused(client: TestClient, announced: bool) -> None:
    size = LIMITS.body + 1
    body: Any = b"x" * size if announced else iter([b"x" * 100_000] * (size // 100_000 + 1))
    answer = client.post("/gradio_api/queue/join", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_an_upload_over_the_limit_is_refused(client: TestClient) -> None:
    answer = client.post("/gradio_api/upload", files={"files": ("a.log", b"x" * 2_000_000)})
    assert answer.status_code == 413


def test_a_pasted_log_becomes_a_session_and_a_question_gets_an_answer(
    client: TestClient, config: dict[str, Any], store: MemoryStore
) -> None:
    before = len(store)
    opened = call(client, event(config, "go"), [sample_text("collapse"), None, "en"])
    assert len(store) == before + 1
    session_id = opened["data"][0]
    assert store.get(session_id) is not None
    asked = call(client, event(config, "send"), ["why is my pg_loss positive?", session_id, "en"])
    conversation = json.dumps(asked["data"][0])
    assert "pg_loss" in conversation
    assert "from the log" in conversation


def test_an_empty_paste_is_one_sentence_and_no_session(client: TestClient, config: dict[str, Any], store: MemoryStore) -> None:
    before = len(store)
    refused = call(client, event(config, "go"), ["   ", None, "zh"], tab="empty")
    assert TEXT["nothing_pasted"][1] in json.dumps(refused, ensure_ascii=False)
    assert len(store) == before


def test_every_text_of_the_page_follows_the_language(page: Page) -> None:
    english, chinese = page.relabel("en"), page.relabel("zh")
    same = [one for one in english if english[one] == chinese[one]]
    assert english.keys() == chinese.keys()
    assert same == []


def asked(page: Page, question: str, session_id: str) -> dict[str, Any]:
    """Values by the panel's attribute, after the last step of the event."""
    panel = next(panel for panel in page.panels if panel.name == "ask")
    *_, last = panel.ask(question, session_id, "en", SimpleNamespace(session_hash="t"))  # type: ignore[attr-defined]
    return {name: last[part] for name in ("live", "next", "question") if (part := getattr(panel, name)) in last}


def test_a_question_without_its_session_says_so(page: Page) -> None:
    assert "This log is no longer kept here" in asked(page, "why?", "no-such-session")["live"]
    assert "live" not in asked(page, "  ", "")


def test_a_question_that_is_far_too_long_is_refused(page: Page) -> None:
    session = page.store.create(open_log(sample_text("healthy")))
    live = asked(page, "x" * 5_000, session.id)["live"]
    assert "longer than 4000" in live
    assert "x" * 4_001 not in live


def test_what_the_page_fetches_is_there_for_who_knows_the_id_only(client: TestClient, store: MemoryStore) -> None:
    data = sample_text("collapse").encode()
    session = store.create(open_log(data), source=data)
    other = store.create(open_log(data), source=data, owner="web:ann")
    base = f"/session/{session.id}"
    lines = client.get(f"{base}/lines", params={"first": 2, "last": 3}).json()
    assert [row[0] for row in lines["lines"]] == [2, 3]
    series = client.get(f"{base}/series", params={"metric": "actor/pg_loss"}).json()
    assert len(series["steps"]) == len(series["values"]) == len(series["lines"]) == len(session.diagnosis.run.steps)
    assert client.get(f"{base}/search", params={"words": "entropy"}).json()["hits"]
    figure = client.get(f"{base}/finding-figure", params={"index": 0, "lang": "zh"}).json()
    assert figure["data"]
    assert figure["caption"]
    prompt = client.get(f"{base}/prompt", params={"question": "why?"})
    assert "why?" in prompt.text
    for path in ("lines?first=1&last=2", "series?metric=actor/pg_loss", "search?words=a", "finding-figure?index=0", "prompt?question=a"):
        assert client.get(f"/session/nobody/{path}").status_code == 404
        assert client.get(f"/session/{other.id}/{path}").status_code == 404
        assert client.get(f"{base}/{path}").headers["cache-control"] == "private, no-store"
    for path in ("series?metric=nothing", "finding-figure?index=99", "finding-figure?index=-1"):
        assert client.get(f"{base}/{path}").status_code == 404


def test_no_event_of_the_page_shows_another_user_s_session() -> None:
    """Whatever event is asked with the id: to who is not the owner, the session is not there, and stays as it is."""
    store = MemoryStore()
    data = sample_text("collapse").encode()
    session = store.create(open_log(data), "anns-secret-name.log", source=data, owner="web:ann")
    with TestClient(create_app(store, Limits(logins={"ann": "secret", "bob": "other"}))) as client:
        found = client.get("/config", auth=("ann", "secret")).json()
        values = {c["id"]: c["props"].get("value") for c in found["components"]}
        box = next(c["id"] for c in found["components"] if c["props"].get("elem_id") == "session-id")
        wired = [d for d in found["dependencies"] if d["backend_fn"] and box in d["inputs"] and not d["queue"]]
        assert len(wired) > 8

        def told(user: str, password: str, dependency: dict[str, Any]) -> str:
            given = [session.id if one == box else values.get(one) for one in dependency["inputs"]]
            body = {"data": given, "fn_index": dependency["id"], "session_hash": f"tab-{user}", "event_data": None}
            return client.post("/gradio_api/run/predict", json=body, auth=(user, password)).text

        for dependency in wired:
            shown = told("bob", "other", dependency)
            assert "anns-secret-name" not in shown
            assert "entropy" not in shown
        assert store.about(session.id) is not None
        retext = next(c["id"] for c in found["components"] if c["props"].get("elem_id") == "retext")
        assert "anns-secret-name" in told("ann", "secret", next(one for one in wired if [retext, "click"] in one["targets"]))


def test_a_hostile_site_and_a_hostile_name_get_nothing() -> None:
    with TestClient(create_app(MemoryStore(), Limits(hosts=("localhost",))), base_url="http://localhost:7860") as client:
        assert client.get("/config").status_code == 200
        assert client.get("/config", headers={"host": "evil.example:7860"}).status_code == 403
        refused = client.get("/config", headers={"origin": "https://evil.example"})
        assert refused.status_code == 403
        assert "access-control-allow-origin" not in refused.headers
        assert "set-cookie" not in client.get("/").headers


def test_errors_do_not_tell_where_things_are(client: TestClient, config: dict[str, Any]) -> None:
    client = TestClient(client.app, raise_server_exceptions=False)
    number = event(config, "go")
    bodies = [{"data": [], "fn_index": number}, {"data": [{"a": 1}] * 3, "fn_index": number}, {"data": [], "fn_index": 99999}]
    answers = [client.post("/gradio_api/run/predict", json={**body, "session_hash": "bad"}) for body in bodies]
    answers += [client.post("/gradio_api/queue/join", content=b"{", headers={"content-type": "application/json"})]
    answers += [client.post("/gradio_api/upload", content=b"x", headers={"content-type": "multipart/form-data; boundary=y"})]
    answers += [client.get("/gradio_api/file=../../etc/passwd"), client.get("/nothing/here"), client.get("/session/x/lines?first=a&last=b")]
    for given in answers:
        assert given.status_code >= 400
        assert str(ROOT) not in given.text
        assert "Traceback" not in given.text
        assert "site-packages" not in given.text


def test_a_file_name_leads_nowhere(client: TestClient) -> None:
    for name in ("../../../tmp/runwhy-escaped.log", "/tmp/runwhy-escaped.log", "..\\..\\escaped.log", "a/../../b.log", "x" * 600 + ".log"):
        answer = client.post("/gradio_api/upload", files={"files": (name, b"step:1 - a:1\n")})
        for path in answer.json() if answer.status_code == 200 else ():
            inside = Path(path).resolve()
            assert ".." not in Path(path).parts
            assert inside.name.endswith(".log")
            inside.unlink(missing_ok=True)
    assert not Path("/tmp/runwhy-escaped.log").exists()


def test_uploads_that_nobody_read_are_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "runwhy-uploads"
    (folder / "abc").mkdir(parents=True)
    old, new = folder / "abc" / "old.log", folder / "new.log"
    for path in (old, new):
        path.write_text("x")
    os.utime(old, (1, 1))
    assert remove_uploads(folder, 3600) == 1
    assert (old.exists(), new.exists()) == (False, True)
    assert remove_uploads(tmp_path, -1) == 0


def test_feedback_is_kept(client: TestClient, store: MemoryStore) -> None:
    session = store.create(open_log(sample_text("collapse")))
    given = answer("why is pg_loss positive?", session.diagnosis)
    index = store.add_turn(session.id, given.turn, answer=given)
    address = f"/session/{session.id}/feedback"
    assert client.post(address, json={"turn": index, "good": False, "reason": "wrong step"}).status_code == 200
    (kept,) = store.transcript(session.id)
    assert (kept.good, kept.reason) == (False, "wrong step")
    assert client.post(address, json={"turn": 7, "good": True}).status_code == 404
    assert client.post(address, json={"turn": index, "good": True, "reason": "x" * 3000}).status_code == 422
    assert client.post(address, content="turn=0", headers={"content-type": "application/x-www-form-urlencoded"}).status_code == 422


def test_what_gradio_remembers_of_a_tab_is_bounded(client: TestClient, config: dict[str, Any], page: Page) -> None:
    """It keeps what a tab shows: a log's findings must not outlive their session there."""
    app = create_app(MemoryStore(), Limits(sessions=3))
    with TestClient(app) as small:
        found = small.get("/config").json()
        for n in range(6):
            call(small, event(found, "go"), [sample_text("floor"), "", "en"], tab=f"tab{n}")
        holder = next(route.app for route in app.routes if hasattr(getattr(route, "app", None), "state_holder")).state_holder
        assert len(holder.session_data) <= 4
        holder.blocks.state_holder = holder
        assert forget_idle(SimpleNamespace(blocks=holder.blocks), -1) > 0  # type: ignore[arg-type]
        assert len(holder.session_data) == 0


def test_a_login_guards_everything_but_health(store: MemoryStore) -> None:
    with TestClient(create_app(store, Limits(logins={"ann": "secret"}))) as guarded:
        for path in ("/", "/config", "/gradio_api/info", "/static/plotly.js", "/session/x/lines?first=1&last=2"):
            assert guarded.get(path).status_code == 401
        assert guarded.get("/health").status_code == 200
        assert guarded.get("/", auth=("ann", "secret")).status_code == 200


def test_both_languages_have_the_same_places_to_fill() -> None:
    for key, (english, chinese) in TEXT.items():
        fields = [sorted(re.findall(r"{(\w+)}", text)) for text in (english, chinese)]
        assert fields[0] == fields[1], key
        assert english, key
        assert chinese, key
