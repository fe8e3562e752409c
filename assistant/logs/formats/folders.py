"""A folder: of the runs in it the latest, put together from all its files (console output, tracker files, states)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from assistant.logs import verl_jsonl
from assistant.logs.files.finished import other_runs
from assistant.logs.files.folder_files import NUMBERS, Source, runs_of, side_of, sources_in
from assistant.logs.files.merge import merged
from assistant.logs.files.mlflow_store import read_metrics
from assistant.logs.files.settings import yaml_settings
from assistant.logs.files.source import Pieces, Progress
from assistant.logs.formats import choose
from assistant.logs.formats.base import Head
from assistant.logs.formats.tensorboard import EventReader, run_of
from assistant.logs.stream import Source as Stream
from assistant.logs.stream import UnreadableLog
from assistant.run import Note, Run

_MAX_TEXTS = 40
_CONTINUES = 0.5


class Folder:
    name = "folder"
    shape = "folder"
    frameworks: Sequence[str] = ("generic", "trl", "hf-trainer", "verl", "sb3")

    def claims(self, path: Path | None, head: bytes) -> str:
        return "a folder" if path is not None and path.is_dir() else ""

    def open(self, source: Path | bytes, progress: Callable[[int], None] | None = None) -> Run:
        assert isinstance(source, Path)
        return read_folder(source, progress)


def read_folder(folder: Path, progress: Progress | None = None) -> Run:
    """The latest run that holds numbers; when none does, what words there are."""
    try:
        found = sources_in(folder)
    except OSError as error:
        raise UnreadableLog("denied", f"{folder}: {error.strerror}") from error
    runs = runs_of(found, folder)
    names = [run.relative_to(folder).as_posix() for run in runs]
    best = Run()
    for place in reversed(range(len(runs))):
        root, sources = list(runs.items())[place]
        run = _read(root, sources, progress)
        if run.n_rows or (not best.n_rows and (run.events or run.config) and not (best.events or best.config)):
            best = run
            others = [name for name in names if name != names[place]]
            best.notes = [*other_runs(names[place], others), *best.notes]
        if run.n_rows:
            break
    if not (best.n_rows or best.events or best.config):
        best.notes.append(Note("empty-folder", data={"n": len(found)}))
    return best


class _Counter:
    """Progress through several files: each starts again at zero."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done = 0
        self._last = 0

    def __call__(self, n_bytes: int) -> None:
        self._last = n_bytes
        if self._progress is not None:
            self._progress(self._done + n_bytes)

    def next(self) -> None:
        self._done += self._last
        self._last = 0


def _read(root: Path, sources: Sequence[Source], progress: Progress | None) -> Run:
    counter = _Counter(progress)
    runs: list[tuple[str, Run]] = []
    notes: list[Note] = []
    settings: dict[str, object] = {}
    logs = [source for source in sources if source.kind == "log"]
    numbers = [source for source in sources if source.kind in NUMBERS and source.kind != "events"]
    for source in _one_folder(numbers, ("wandb", "swanlab", "mlflow"), notes)[:_MAX_TEXTS]:
        run = _one(source, counter)
        if run is not None and run.n_rows:
            runs.append((_name(source.path, root), _sided(run, side_of(source, root))))
    if (events := [source for source in sources if source.kind == "events"]) and (run := _events(events, root, counter, notes)).n_rows:
        runs.append((_name(events[0].path.parent, root) if len(events) > 1 else _name(events[0].path, root), run))
    for source in sorted(logs, key=lambda one: one.order)[-_MAX_TEXTS:]:
        run = _one(source, counter)
        if run is not None and (run.n_rows or run.events or run.config):
            runs.append((_name(source.path, root), run))
    for source in sources:
        if source.kind == "settings":
            settings |= yaml_settings(source.path.read_bytes()[: 4 << 20])
    left = max(0, len(numbers) - _MAX_TEXTS) + max(0, len(logs) - _MAX_TEXTS)
    if left:
        notes.append(Note("files-left", data={"n": left}))
    run = merged(runs)
    for key, value in settings.items():
        run.config.setdefault(key, value)
    run.notes = [*notes, *run.notes]
    return run


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) and path != root else path.name


def _one(source: Source, counter: _Counter) -> Run | None:
    """A single file, whatever it is; None when it cannot be opened."""
    from assistant.logs.reader import read

    counter.next()
    try:
        if source.kind in ("table", "json") and not _promising(source.path):
            return None
        if source.kind == "mlflow":
            run, n_bytes = read_metrics(source.path, source.path.parent / "params" if source.path.name == "metrics" else None)
            run.n_bytes, run.sha256 = n_bytes, _digest(source.path)
            return run
        return read(source.path, progress=counter)
    except OSError:
        return None


def _promising(path: Path) -> bool:
    """Whether the beginning of a data file can be read as metrics: folders hold data sets, too."""
    head = next((block for block, _ in Stream(path).blocks()), b"")
    first = head.lstrip().split(b"\n", 1)[0]
    return bool(first) and (verl_jsonl.looks_like(first) or choose(Head(head, final=False))[0] is not None)


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            digest.update(path.relative_to(folder).as_posix().encode() + b"\n" + path.read_bytes())
    return digest.hexdigest()


def _sided(run: Run, side: str) -> Run:
    if side and not side.startswith("train"):
        run.columns = {name if name.startswith(side) else side + name: column for name, column in run.columns.items()}
    return run


def _one_folder(sources: Sequence[Source], kinds: Iterable[str], notes: list[Note]) -> list[Source]:
    """Of trackers that keep a folder a run, only the latest run's file."""
    kept = list(sources)
    for kind in kinds:
        own = sorted((source for source in kept if source.kind == kind), key=lambda one: one.order)
        if len(own) > 1:
            names = [source.path.parent.name for source in own]
            notes += other_runs(names[-1], names[:-1])
            kept = [source for source in kept if source.kind != kind or source is own[-1]]
    return kept


def _events(sources: Sequence[Source], root: Path, counter: _Counter, notes: list[Note]) -> Run:
    """Event files: those of one folder follow one another, folders below it name their tags; of other folders the latest."""
    by_folder: dict[Path, list[Source]] = {}
    for source in sources:
        by_folder.setdefault(source.path.parent, []).append(source)
    folders = sorted(by_folder, key=lambda folder: max(source.order for source in by_folder[folder]))
    tops = [folder for folder in folders if not any(folder != other and folder.is_relative_to(other) for other in folders)]
    sides = {folder: side_of(by_folder[folder][0], root) for folder in tops}
    chosen = tops if all(sides.values()) else tops[-1:]
    if len(tops) > len(chosen):
        chosen = _continued(tops, by_folder, counter)
        if len(tops) > len(chosen):
            names = [_name(folder, root) for folder in tops if folder not in chosen]
            notes += other_runs(_name(chosen[-1], root), names)
    runs = []
    for group in [[top] for top in chosen] if all(sides.values()) else [chosen]:
        reader = EventReader()
        n_bytes = 0
        digest = hashlib.sha256()
        for top in group:
            for folder in [top, *(one for one in folders if one != top and one.is_relative_to(top))]:
                prefix = "" if folder == top else folder.relative_to(top).as_posix() + "/"
                for source in sorted(by_folder[folder], key=lambda one: one.order):
                    counter.next()
                    pieces = Pieces(source.path, counter)
                    reader.read(pieces, prefix)
                    n_bytes += pieces.n_bytes
                    digest.update(pieces.sha256.encode())
        run = run_of(reader)
        run.n_bytes, run.sha256 = n_bytes, digest.hexdigest()
        runs.append((_name(group[0], root), _sided(run, sides[group[0]])))
    return merged(runs) if len(runs) > 1 else runs[0][1]


def _continued(tops: Sequence[Path], by_folder: dict[Path, list[Source]], counter: _Counter) -> list[Path]:
    """The latest folder, and the ones before it that it goes on from (its steps do not start over)."""
    chosen = [tops[-1]]
    first, _ = _span(by_folder[tops[-1]])
    for folder in reversed(tops[:-1]):
        low, high = _span(by_folder[folder])
        if first is None or low is None or high is None or first <= low or first < _CONTINUES * high:
            break
        chosen.insert(0, folder)
        first = low
    return chosen


def _span(sources: Sequence[Source]) -> tuple[int | None, int | None]:
    reader = EventReader()
    for source in sources:
        reader.read(Pieces(source.path))
    steps = reader.points.steps
    return (min(steps), max(steps)) if steps else (None, None)


FORMATS = (Folder(),)
