"""SwanLab's run file (``run-<id>.swanlab``): scalars, settings and console output as records of protocol buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from assistant.logs.files.block_log import BlockLog
from assistant.logs.files.finished import finish
from assistant.logs.files.points import Points
from assistant.logs.files.source import Pieces
from assistant.logs.files.wire import Damaged, double, message, signed, text
from assistant.run import Note, Run

MAGIC = b":SWL"
_SCALAR, _LOG = 13, 16
_SYSTEM = "__swanlab__"


class SwanLabRun:
    name = "swanlab"
    shape = "binary"
    frameworks: Sequence[str] = ("generic", "verl", "trl", "hf-trainer", "ms-swift", "llama-factory")

    def claims(self, path: Path | None, head: bytes) -> str:
        return "SwanLab run file" if head.startswith(MAGIC) else ""

    def open(self, source: Path | bytes, progress: Callable[[int], None] | None = None) -> Run:
        pieces = Pieces(source, progress)
        log = BlockLog()
        points = Points()
        damaged: list[int] = []
        console: list[str] = []
        n = 0
        for n, record in enumerate(log.records(pieces), 1):
            try:
                known = message(record)
                scalar, line = known.get(_SCALAR), known.get(_LOG)
                if isinstance(scalar, bytes):
                    parts = message(scalar)
                    value, key = parts.get(5), text(parts.get(1))
                    if key and not key.startswith(_SYSTEM):
                        points.add(key, signed(parts.get(2)), n, double(message(value).get(1)) if isinstance(value, bytes) else 0.0)
                elif isinstance(line, bytes):
                    console.append(text(message(line).get(1)))
            except Damaged:
                damaged.append(n)
        if log.cut:
            damaged.append(n + 1)
        notes = [Note("cut-line", damaged[-1], {"n": len(damaged)})] if damaged else []
        if not len(points) and console:
            from assistant.logs.reader import read_text

            run = read_text("\n".join(console))
            run.notes = [*notes, *run.notes]
        else:
            run = finish(Run(**points.fields()), notes=notes)
            run.n_lines = n
        run.format = self.name
        return pieces.sign(run)


FORMATS = (SwanLabRun(),)
