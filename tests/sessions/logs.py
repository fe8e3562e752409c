"""Logs for these tests, and short ways to sessions about them."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from typing import Any

import zstandard

from assistant.answers import Turn
from assistant.sessions import Session, open_log


def log_text(n_steps: int = 30, *, start: float = 0.4, name: str = "actor/entropy") -> bytes:
    lines = [f"step:{n} - {name}:{start - n / 1000} - critic/score/mean:{n / 100} - actor/pg_loss:0.0{n}" for n in range(1, n_steps + 1)]
    return "\n".join(lines).encode() + b"\n"


def opened(store: Any, data: bytes | None = None, name: str = "", **options: Any) -> Session:
    data = log_text() if data is None else data
    session: Session = store.create(open_log(data, name=name), name, source=data, **options)
    return session


def turn(question: str = "why?", answer: str = "") -> Turn:
    return Turn(question, ("policy_entropy",), ("entropy-collapse",), answer)


def shown(session: Session | None) -> Any:
    """What people see of a session's run, for comparing."""
    assert session is not None
    run = session.diagnosis.run
    return (
        [
            (f.id, f.severity, f.first_step, f.last_step, [(p.metric, p.step, p.text, p.line) for p in f.evidence])
            for f in session.diagnosis.findings
        ],
        session.diagnosis.fine,
        session.diagnosis.unknown,
        run.framework,
        run.era,
        run.format,
        run.n_lines,
        run.n_bytes,
        run.sha256,
        {name: repr(column.values.tolist()) for name, column in run.columns.items()},
    )


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return out.getvalue()


PLAIN = log_text(25)
PACKED = {
    "gz": gzip.compress(PLAIN),
    "zst": zstandard.compress(PLAIN),
    "utf16": PLAIN.decode().encode("utf-16"),
    "zip": zipped({"run/train.log": PLAIN}),
    "tar.gz": tarred({"run/train.log": PLAIN}),
}
