"""MLflow's file store: ``metrics/<key>`` with a point a line (``<ms> <value> <step>``), ``params/<key>``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from assistant.logs.files.finished import finish
from assistant.logs.files.points import Points
from assistant.logs.files.rows import flat_settings
from assistant.logs.files.settings import json_value
from assistant.logs.files.values import Cell, of_text, whole
from assistant.run import Run

_MAX_FILES = 5000
_MAX_PARAM = 10_000


def looks_like(line: bytes) -> bool:
    """Whether a line is a point of a metric file: a time in milliseconds, a value, and (but for old files) a step."""
    return _point(line) is not None


def _point(line: bytes) -> tuple[int, Cell, int] | None:
    parts = line.decode("ascii", "replace").split()
    if len(parts) not in (2, 3) or not parts[0].isdecimal() or not 9 <= len(parts[0]) <= 18:
        return None
    cell = of_text(parts[1])
    if cell is None or (len(parts) == 3 and whole(parts[2]) is None):
        return None
    return int(parts[0]), cell, whole(parts[2]) or 0 if len(parts) == 3 else 0


def is_metrics_folder(folder: Path, files: Sequence[str]) -> bool:
    """Whether the files of a folder are metric files (one is looked at)."""
    for name in sorted(files)[:3]:
        path = folder / name
        if path.suffix or not path.is_file():
            continue
        with path.open("rb") as file:
            return looks_like(file.readline(400))
    return False


def read_metrics(folder: Path, params: Path | None = None) -> tuple[Run, int]:
    """(the run of a ``metrics`` folder, the bytes read). Lines are counted through the files in the order of their names."""
    points = Points()
    rows: list[tuple[int, int, str, int, Cell]] = []
    n_lines = n_bytes = 0
    for name, path in sorted(_files(folder)):
        content = path.read_bytes()
        n_bytes += len(content)
        for raw in content.splitlines():
            n_lines += 1
            found = _point(raw)
            if found is not None:
                rows.append((found[0], n_lines, name, found[2], found[1]))
    rows.sort(key=lambda row: row[:2])
    for _, line, name, step, cell in rows:
        points.add(name, step, line, *cell)
    run = Run(format="mlflow", **points.fields())
    run.n_lines = n_lines
    if params is not None:
        found_params = {name: path.read_bytes()[:_MAX_PARAM].decode("utf-8", "replace").strip() for name, path in _files(params)}
        run.config = flat_settings({name: json_value(value) for name, value in found_params.items()})
    return finish(run), n_bytes


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """(metric, path): folders below are parts of the name."""
    n = 0
    for base, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = Path(base) / file
            if not path.is_symlink() and n < _MAX_FILES:
                n += 1
                yield path.relative_to(folder).as_posix(), path
