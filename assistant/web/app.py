"""The ASGI application around the page: limits, security headers, health; and the server that runs it."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import inspect
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

# Before Gradio is imported: it reads these once.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import gradio as gr
from fastapi import FastAPI, Response

from assistant.sessions import MemoryStore, SessionStore, UnusableStore, open_log, open_store
from assistant.web import CannotServe
from assistant.web.guard import BodyLimit, Login, SameOrigin, SecurityHeaders
from assistant.web.limits import LOCAL, BadWebSettings, Limits, configured
from assistant.web.models import Models
from assistant.web.page import Page
from assistant.web.routes import add_library, router
from assistant.web.workers import Workers

if TYPE_CHECKING:
    from gradio.themes import Base

log = logging.getLogger(__name__)

TIDY_EVERY = 300.0
"""Seconds."""
UPLOADS = "runwhy-"
UPLOAD_KEPT = 3600.0
"""Seconds after which an upload that was broken off, or never read, is deleted."""
CONTAINER = ".gradio-container" * 3
STATIC = Path(__file__).resolve().parent / "static"


def build(
    store: SessionStore | None = None, limits: Limits | None = None, models: Models | None = None, workers: Workers | None = None
) -> FastAPI:
    limits = limits or Limits()
    store = store if store is not None else MemoryStore(ttl=limits.session_hours * 3600, max_bytes=limits.session_bytes)
    page = Page(store, limits, models or Models(None, limits.own_model), workers)
    page.blocks.queue(max_size=limits.waiting, default_concurrency_limit=8, api_open=False, status_update_rate=2)
    page.blocks.max_threads = limits.threads
    page.blocks.state_session_capacity = limits.sessions  # Gradio keeps what each tab shows
    app = FastAPI(title="runwhy", docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    app.include_router(router(page))
    add_library(app)
    app.add_middleware(BodyLimit, largest=limits.body, largest_upload=limits.upload + 1_000_000)
    app.add_middleware(Login, logins=limits.logins, user_header=limits.user_header)
    app.add_middleware(SameOrigin, hosts=limits.hosts)
    app.add_middleware(SecurityHeaders)
    quicken(page.blocks)
    threading.Thread(target=_tidy, args=(page,), name="runwhy-tidy", daemon=True).start()
    mounted: FastAPI = gr.mount_gradio_app(
        app,
        page.blocks,
        path="/",
        allowed_paths=[],
        max_file_size=limits.upload,
        show_error=False,
        footer_links=[],
        run_history=False,
        ssr_mode=False,
        enable_monitoring=False,
        pwa=False,
        mcp_server=False,
        theme=theme(),
        head=add_static(app),
        favicon_path=str(STATIC / "favicon.svg"),
    )
    mounted.state.page = page
    return mounted


def quicken(blocks: gr.Blocks) -> None:
    """Gradio asks for the signature of every component's class for every tab, and looks through its queue a thousand times a second."""
    for made in {type(block).__init__ for block in blocks.blocks.values()}:
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            made.__signature__ = inspect.signature(made)  # type: ignore[attr-defined]
    if hasattr(blocks._queue, "sleep_when_free"):
        blocks._queue.sleep_when_free = 0.01


def _tidy(page: Page) -> None:
    """From time to time: give up what was not used for long, in the store and in Gradio's memory of what each tab shows."""
    while not page.closed.wait(TIDY_EVERY):
        try:
            page.store.sweep()
            forget_idle(page, page.limits.session_hours * 3600)
            remove_uploads(Path(os.environ.get("GRADIO_TEMP_DIR", "")), UPLOAD_KEPT)
        except Exception:
            log.exception("tidying failed")


def remove_uploads(folder: Path, seconds: float) -> int:
    """Delete files of the server's own upload folder that nobody wrote to for so long; returns how many."""
    n = 0
    for path in folder.rglob("*") if folder.name.startswith(UPLOADS) else ():
        with contextlib.suppress(OSError):
            if path.is_file() and time.time() - path.stat().st_mtime > seconds:
                path.unlink()
                n += 1
    return n


def forget_idle(page: Page, seconds: float) -> int:
    """Drop what Gradio remembers of tabs that asked nothing for so long; returns how many."""
    holder = getattr(page.blocks, "state_holder", None)
    if holder is None:
        return 0
    oldest = datetime.now() - timedelta(seconds=seconds)
    with holder.lock:
        idle = [tab for tab, used in holder.time_last_used.items() if used < oldest]
        for tab in idle:
            holder.time_last_used.pop(tab, None)
            holder.session_data.pop(tab, None)
    return len(idle)


def add_static(app: FastAPI) -> str:
    """Routes for the page's own style and script; returns the tags that load them. Their addresses change with what is in them."""
    tags = []
    for kind, media, tag in (
        ("css", "text/css", '<link rel="stylesheet" href="{}">'),
        ("js", "text/javascript", '<script src="{}"></script>'),
    ):
        body = joined(kind).encode()
        address = f"/static/page-{hashlib.sha256(body).hexdigest()[:12]}.{kind}"
        answer = Response(body, media_type=media, headers={"cache-control": "public, max-age=31536000, immutable"})
        app.add_api_route(address, partial(_as_it_is, answer), include_in_schema=False, response_class=Response)
        tags.append(tag.format(address))
    return "\n".join(tags)


def _as_it_is(answer: Response) -> Response:
    return answer


def joined(kind: str) -> str:
    """All files ``static/*.<kind>``, in the order of their names. Style rules hold inside the page's container only (so that they win
    over Gradio's), but for files that begin with 0."""
    parts = []
    for path in sorted(STATIC.glob(f"*.{kind}")):
        text = path.read_text(encoding="utf-8")
        parts.append(f"{CONTAINER} {{\n{text}\n}}" if kind == "css" and not path.name.startswith("0") else text)
    return "\n".join(parts)


def opened_store(limits: Limits) -> SessionStore:
    """The store that the environment names (``RUNWHY_STORE``, ``RUNWHY_DATA``); in memory where the database's packages are missing.

    Raises UnusableStore.
    """
    try:
        return open_store()
    except UnusableStore as problem:
        if problem.kind != "needs_sqlalchemy":
            raise
    return MemoryStore(ttl=limits.session_hours * 3600, max_sessions=limits.sessions, max_bytes=limits.session_bytes)


def theme() -> Base:
    """Gradio's plain theme with fonts that every system has: no font is fetched."""
    sans = ["ui-sans-serif", "system-ui", "Segoe UI", "Roboto", "PingFang SC", "Noto Sans CJK SC", "Microsoft YaHei", "sans-serif"]
    mono = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace"]
    return gr.themes.Base(font=sans, font_mono=mono, radius_size="sm", primary_hue="teal", neutral_hue="stone")


@dataclass(frozen=True, slots=True)
class Service:
    """A page ready to be served, with the store and the processes that it closes at the end."""

    app: FastAPI
    store: SessionStore
    workers: Workers

    def close(self) -> None:
        self.app.state.page.end()
        self.workers.close()
        self.store.close()


def prepared(host: str) -> Service:
    """As the environment says. Raises CannotServe."""
    from assistant.answers.model.settings import BadSettings
    from assistant.answers.model.settings import configured as configured_model

    try:
        limits = configured(public=host not in LOCAL)
        models = Models(configured_model(), limits.own_model)
        store = opened_store(limits)
    except BadWebSettings as problem:
        raise CannotServe("web.bad_setting", name=problem.name, wanted=problem.wanted) from problem
    except BadSettings as problem:
        raise CannotServe("web.model_bad", reason=str(problem)) from problem
    except UnusableStore as problem:
        raise CannotServe(f"sessions.{problem.kind}", reason=problem.reason) from problem
    workers = Workers(limits.at_once)
    threading.Thread(target=_warm, name="runwhy-warm", daemon=True).start()
    return Service(build(store, limits, models, workers), store, workers)


def _warm() -> None:
    """Cards, charts and words are loaded before the first visitor needs them."""
    from assistant.web.answering import Answering
    from assistant.web.panels.findings import report
    from assistant.web.samples import sample_text

    store = MemoryStore()
    session = store.create(open_log(sample_text("collapse")))
    report(session, "en")
    Answering(session, "why is my pg_loss positive?", "en", store).at_once()
    import matplotlib.pyplot  # Gradio imports it when the first event runs  # noqa: F401

    gc.collect()
    gc.freeze()  # what is loaded now stays: no later collection looks through it again


def free_port(host: str, port: int) -> None:
    """Raises CannotServe when the address is taken, before anything is set up."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as problem:
            reason = problem.strerror or str(problem)
            raise CannotServe("web.no_port", host=host, port=port, reason=reason) from problem


def run(host: str, port: int, open_browser: bool) -> None:
    import webbrowser

    import uvicorn

    free_port(host, port)
    # uvicorn ends by raising the signal again: with the system's own handler the clean-up below would not run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix=UPLOADS) as uploads:
        os.environ["GRADIO_TEMP_DIR"] = uploads
        service = prepared(host)
        try:
            address = f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0', '::') else host}:{port}/"
            print(f"runwhy: {address}", flush=True)
            if open_browser:
                threading.Timer(1.0, webbrowser.open, [address]).start()
            uvicorn.run(
                service.app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=2, server_header=False
            )
        finally:
            service.close()
