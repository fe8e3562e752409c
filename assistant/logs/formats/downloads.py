"""Curves downloaded from TensorBoard's page: a file a tag, whose name carries the tag (``run-.-tag-train_loss.csv``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from assistant.logs.files.finished import finish
from assistant.logs.formats.base import BlockReader
from assistant.logs.formats.csv_table import CsvReader
from assistant.logs.formats.json_document import JsonDocumentReader
from assistant.logs.stream import Source
from assistant.run import Run

_TAG = re.compile(r"(?:^|[-_])tag-(?P<tag>.+)\.(?:csv|json)$")
_CSV_HEAD = b"Wall time,Step,Value"


class TagDownload:
    name = "tensorboard-download"
    shape = "table"
    frameworks: Sequence[str] = ("generic",)

    def claims(self, path: Path | None, head: bytes) -> str:
        named = path is not None and _TAG.search(path.name)
        return "a downloaded curve" if named and head.lstrip().startswith((_CSV_HEAD, b"[[")) else ""

    def open(self, source: Path | bytes, progress: Callable[[int], None] | None = None) -> Run:
        stream = Source(source, progress)
        reader: BlockReader | None = None
        for block, final in stream.blocks():
            if reader is None:
                reader = JsonDocumentReader() if block.lstrip().startswith(b"[[") else CsvReader()
            reader.feed(block, final)
        assert reader is not None
        reader.finish()
        run = Run(format=self.name, **reader.table.finish())
        found = _TAG.search(source.name) if isinstance(source, Path) else None
        if found and len(run.columns) == 1:
            run.columns = {found["tag"]: next(iter(run.columns.values()))}
        run.n_lines, run.n_bytes, run.sha256 = max(reader.line - 1, 1), stream.n_bytes, stream.sha256
        finish(run)
        return run


FORMATS = (TagDownload(),)
