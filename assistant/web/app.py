"""The ASGI application around the page: limits, security headers, health; and the server that runs it."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

# Before Gradio is imported: it reads these once.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import gradio as gr
from fastapi import FastAPI

from assistant.sessions import MemoryStore, SessionStore
from assistant.web.guard import BodyLimit, SecurityHeaders
from assistant.web.limits import Limits
from assistant.web.page import Page

if TYPE_CHECKING:
    from gradio.themes import Base

HERE = Path(__file__).resolve().parent


def build(store: SessionStore | None = None, limits: Limits | None = None) -> FastAPI:
    limits = limits or Limits()
    store = store if store is not None else memory_store(limits)
    page = Page(store, limits)
    page.blocks.queue(max_size=limits.waiting, default_concurrency_limit=8, api_open=False)
    page.blocks.max_threads = limits.threads
    app = FastAPI(title="runwhy", docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    app.add_middleware(BodyLimit, largest=limits.body, largest_upload=limits.upload + 1_000_000)
    app.add_middleware(SecurityHeaders)
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
        css=(HERE / "style.css").read_text(encoding="utf-8"),
        head=f"<script>{(HERE / 'page.js').read_text(encoding='utf-8')}</script>",
        favicon_path=str(HERE / "favicon.svg"),
    )
    return mounted


def memory_store(limits: Limits) -> MemoryStore:
    return MemoryStore(ttl=limits.session_hours * 3600, max_sessions=limits.sessions, max_bytes=limits.session_bytes)


def theme() -> Base:
    """Gradio's plain theme with fonts that every system has: no font is fetched."""
    sans = ["ui-sans-serif", "system-ui", "Segoe UI", "Roboto", "PingFang SC", "Noto Sans CJK SC", "Microsoft YaHei", "sans-serif"]
    mono = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace"]
    return gr.themes.Base(font=sans, font_mono=mono, radius_size="sm", primary_hue="teal", neutral_hue="stone")


def run(host: str, port: int, open_browser: bool) -> None:
    import webbrowser

    import uvicorn

    # uvicorn ends by raising the signal again: with the system's own handler the clean-up below would not run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix="runwhy-") as uploads:
        os.environ["GRADIO_TEMP_DIR"] = uploads
        app = build()
        address = f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0', '::') else host}:{port}/"
        print(f"runwhy: {address}", flush=True)
        if open_browser:
            threading.Timer(1.0, webbrowser.open, [address]).start()
        uvicorn.run(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=2)
