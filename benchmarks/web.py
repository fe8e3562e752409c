"""The web chat under load: the real server process, spoken to as the page does (Gradio's queue over HTTP).

    python benchmarks/web.py [--people 40] [--sessions 500] [--upload-mb 200] [--out FILE.json]

1. ``--people`` people at once each paste a real log of about 1 MB (each a different one) and ask three questions, answered by the
   built-in writer. Checked: no error, nobody sees another's run, p95 from paste to findings at most 4 s.
2. ``--sessions`` further logs, a few at a time: the server's memory must stop growing.
3. A log of ``--upload-mb`` is uploaded; its reading must tell how far it is.

Without ``../shared/cases`` the sample logs stand in, which is said. Exits 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT.parent / "shared" / "cases" / "verl"
LOGS = (
    "02_healthy_grpo_deepseek7b_gsm8k_1120", "21_grpo_rollout_n1_no_baseline_700", "23_grpo_n4_batch2_zero_advantage_groups_699",
    "13_opd_slow_gain_noisy_val_238",
)  # fmt: skip
LARGE_PASTE = 500_000
"""Characters from which the page sends a paste as a file (``static/10-base.js``)."""
QUESTIONS = ("why is my pg_loss positive?", "what is critic/score/mean at the last step?", "where does the time go?")
P95_SECONDS = 4.0
GROWTH = 1.25
"""Memory after the last quarter of the sessions, over that after the third."""


def texts(n: int, size: int = 1_000_000) -> list[str]:
    """``n`` different logs of about ``size`` bytes: the beginnings of real ones, each ending at another line."""
    found = [CASES / name / "log.txt" for name in LOGS if (CASES / name / "log.txt").exists()]
    if not found:
        print("no ../shared/cases: the sample logs stand in")
        found = [ROOT / "assistant" / "web" / "samples" / f"{key}.log" for key in ("healthy", "collapse")]
    lines = [path.read_text(encoding="utf-8", errors="replace")[:size].splitlines(keepends=True)[:-1] for path in found]
    return ["".join(rows[: len(rows) - 2 * (k // len(lines))]) for k in range(n) for rows in [lines[k % len(lines)]]]


@dataclass
class Server:
    """The process, and the ids of its events."""

    address: str
    process: subprocess.Popen[bytes]
    events: dict[str, int] = field(default_factory=dict)

    @property
    def memory(self) -> float:
        """Resident memory of the server and its helpers, in MB."""
        total = 0
        for pid in [self.process.pid, *_children(self.process.pid)]:
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            total += int(re.search(r"VmRSS:\s+(\d+)", status)[1]) if "VmRSS" in status else 0  # type: ignore[index]
        return total / 1024


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def start(store: str) -> Server:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "RUNWHY_STORE": store,
        "RUNWHY_DATA": tempfile.mkdtemp(prefix="runwhy-bench-"),
        "RUNWHY_CONFIG": os.devnull,
    }
    process = subprocess.Popen([sys.executable, "app.py", "--port", str(port)], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            config = httpx.get(f"{address}/config").json()
            break
        except httpx.HTTPError:
            time.sleep(0.1)
    time.sleep(5)  # it loads its cards in the background
    elements = {c["props"].get("elem_id"): c["id"] for c in config["components"] if c["props"].get("elem_id")}

    def event(element: str, kind: str) -> int:
        own = [d for d in config["dependencies"] if [elements[element], kind] in d["targets"] and d["backend_fn"]]
        return int(max(own, key=lambda d: len(d["outputs"]))["id"])

    return Server(address, process, {"go": event("go", "click"), "send": event("send", "click"), "file": event("file", "upload"),
                                     "fill": event("retext", "click")})  # fmt: skip


class Person:
    """One browser tab."""

    def __init__(self, client: httpx.AsyncClient, server: Server) -> None:
        self.client, self.server, self.tab = client, server, uuid.uuid4().hex[:12]
        self.told: list[str] = []

    async def queued(self, name: str, data: list[Any]) -> list[Any]:
        """An event that goes through the queue: its last output."""
        number = self.server.events[name]
        body = {"data": data, "fn_index": number, "session_hash": self.tab, "event_data": None, "trigger_id": None}
        joined = await self.client.post("/gradio_api/queue/join", json=body)
        joined.raise_for_status()
        async with self.client.stream("GET", "/gradio_api/queue/data", params={"session_hash": self.tab}) as stream:
            async for line in stream.aiter_lines():
                if not line.startswith("data:"):
                    continue
                message = json.loads(line[5:])
                if message["msg"] == "progress":
                    self.told += [part.get("desc") or "" for part in message.get("progress_data") or ()]
                if message["msg"] == "process_completed":
                    assert message["success"], message
                    return list(message["output"]["data"])
        raise AssertionError("the stream ended")

    async def at_once(self, name: str, data: list[Any]) -> list[Any]:
        body = {"data": data, "fn_index": self.server.events[name], "session_hash": self.tab, "event_data": None}
        answer = await self.client.post("/gradio_api/run/predict", json=body)
        answer.raise_for_status()
        return list(answer.json()["data"])

    async def uploaded(self, name: str, body: Any) -> dict[str, Any]:
        """The file as an event takes it."""
        sent = await self.client.post("/gradio_api/upload", files={"files": (name, body)})
        sent.raise_for_status()
        return {"path": sent.json()[0], "meta": {"_type": "gradio.FileData"}, "orig_name": name}

    async def open(self, text: str) -> tuple[str, str, float]:
        """Session id, the page's contents, and the seconds until they are there. A large paste is sent as a file, as the page does."""
        began = time.monotonic()
        if len(text) < LARGE_PASTE:
            session = str((await self.queued("go", [text, "", "en"]))[0])
        else:
            given = await self.uploaded("pasted.log", text.encode())
            session = str((await self.queued("file", [[given], "", "en"]))[0])
        shown = json.dumps(await self.at_once("fill", [session, "en"]), ensure_ascii=False)
        return session, shown, time.monotonic() - began


def expected(text: str) -> tuple[str, str]:
    """Number of lines, and the last step, as the page must show them."""
    steps = re.findall(r"step:(\d+) - ", text)
    return f"{text.count(chr(10)):,}", steps[-1] if steps else ""


async def crowd(server: Server, people: int) -> dict[str, Any]:
    logs = texts(people)
    opened: list[float] = []
    answered: list[float] = []
    ids: set[str] = set()
    faults: list[str] = []
    limits = httpx.Limits(max_connections=4 * people)
    async with httpx.AsyncClient(base_url=server.address, timeout=300, limits=limits) as client:

        async def one(text: str) -> None:
            person = Person(client, server)
            session, shown, seconds = await person.open(text)
            opened.append(seconds)
            ids.add(session)
            lines, last = expected(text)
            if f">{lines}<" not in shown or f"–{last}" not in shown:
                faults.append(f"findings of another run? {lines} lines, last step {last}")
            for question in QUESTIONS:
                began = time.monotonic()
                answer = json.dumps(await person.queued("send", [question, session, "en"]), ensure_ascii=False)
                answered.append(time.monotonic() - began)
                if 'class=\\"problem\\"' in answer or "turn" not in answer:
                    faults.append(f"no answer to {question!r}")
                if "last step" in question and f">{last}<" not in answer:
                    faults.append(f"an answer about another run? last step {last}")

        await asyncio.gather(*(one(text) for text in logs))
    if len(ids) != people:
        faults.append(f"{people} people, {len(ids)} sessions")
    return {"people": people, "paste_to_findings": spread(opened), "question": spread(answered), "faults": faults}


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values) or [0.0]
    return {
        "median": round(statistics.median(ordered), 2),
        "p95": round(ordered[max(0, int(0.95 * len(ordered) + 0.5) - 1)], 2),
        "max": round(ordered[-1], 2),
    }


async def many(server: Server, sessions: int) -> dict[str, Any]:
    """Memory after each quarter."""
    logs = texts(40, 300_000)
    memory: list[float] = []
    gate = asyncio.Semaphore(4)
    async with httpx.AsyncClient(base_url=server.address, timeout=300) as client:

        async def one(n: int) -> None:
            async with gate:
                person = Person(client, server)
                session, _, _ = await person.open(logs[n % len(logs)])
                await person.queued("send", [QUESTIONS[n % len(QUESTIONS)], session, "en"])

        for quarter in range(4):
            await asyncio.gather(*(one(n) for n in range(quarter * sessions // 4, (quarter + 1) * sessions // 4)))
            memory.append(round(server.memory, 1))
    return {"sessions": sessions, "memory_mb": memory}


async def upload(server: Server, megabytes: int) -> dict[str, Any]:
    text = texts(1)[0]
    steps = text[text.index("step:") :] if "step:" in text else text
    with tempfile.NamedTemporaryFile(suffix=".log", delete=False) as file:
        file.write(text.encode())
        while file.tell() < megabytes * 1_000_000:
            file.write(steps.encode())
    path = Path(file.name)
    try:
        async with httpx.AsyncClient(base_url=server.address, timeout=900) as client:
            person = Person(client, server)
            began = time.monotonic()
            with path.open("rb") as body:
                given = await person.uploaded(path.name, body)
            uploaded = time.monotonic() - began
            session = (await person.queued("file", [[given], "", "en"]))[0]
            seconds = time.monotonic() - began
            told = sorted({words for words in person.told if words})
            lines = (await client.get(f"/session/{session}/lines", params={"first": 1_000_000_000, "last": 1_000_000_001})).json()
    finally:
        path.unlink()
    return {"megabytes": megabytes, "upload_seconds": round(uploaded, 1), "seconds": round(seconds, 1), "progress_told": len(told),
            "lines": lines["total"], "memory_mb": round(server.memory, 1)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--upload-mb", type=int, default=200)
    parser.add_argument("--store", default="memory", help="as RUNWHY_STORE")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    server = start(chosen.store)
    try:
        found: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "memory_mb_at_start": round(server.memory, 1)}
        if chosen.people:
            found["crowd"] = asyncio.run(crowd(server, chosen.people))
        if chosen.sessions:
            found["many"] = asyncio.run(many(server, chosen.sessions))
        if chosen.upload_mb:
            found["upload"] = asyncio.run(upload(server, chosen.upload_mb))
    finally:
        server.process.terminate()
        server.process.wait(20)
    text = json.dumps(found, indent=1)
    print(text)
    if chosen.out:
        chosen.out.write_text(text)
    missed = list(found.get("crowd", {}).get("faults", []))
    if chosen.people and found["crowd"]["paste_to_findings"]["p95"] > P95_SECONDS:
        missed.append("p95 from paste to findings")
    if chosen.sessions and found["many"]["memory_mb"][3] > GROWTH * found["many"]["memory_mb"][2]:
        missed.append("memory grows")
    if chosen.upload_mb and found["upload"]["progress_told"] < 3:
        missed.append("no progress of a large upload")
    if missed:
        print("missed:", "; ".join(missed[:10]))
        sys.exit(1)


if __name__ == "__main__":
    main()
