"""What lies in a run's folder: which files hold metrics or words of a run, and which of them belong together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assistant.logs.files.mlflow_store import is_metrics_folder

_MAX_DEPTH = 8
_MAX_FILES = 20_000
_SKIPPED_FOLDERS = frozenset(
    {"node_modules", "site-packages", "__pycache__", "artifacts", "code", "tmp", "media", "rollouts", "generations"}
)
_LOG_SUFFIXES = frozenset({".log", ".out", ".err", ".txt", ".stdout", ".stderr"})
_PACKED = frozenset({".gz", ".zst"})
_NO_LOGS = re.compile(
    r"(?:requirements|readme|license|notice|merges|vocab|commit|top_level|entry_points|.*package_data|debug(?:-internal|-core)?"
    r"|conda-environment|diff)\.(?:txt|log|patch)$",
    re.IGNORECASE,
)
_METRICS_JSON = re.compile(r"log|histor|metric|result|summar|progress|stats|loss|reward|curve|scalars|\btag-", re.IGNORECASE)
_NO_METRICS = re.compile(r"(?:.*config|.*metadata|.*\.index|dataset_infos?|package.*|tokenizer.*)\.json$", re.IGNORECASE)
_NOT_A_RUN = frozenset(
    {"files", "logs", "log", "metrics", "events", "tensorboard", "tensorboard_log", "tb", "tb_logs", "runs", "debug", "trainer_state"}
)
_CHECKPOINT = re.compile(r"(?:checkpoint|global_step|step|epoch)[-_]?\d+$", re.IGNORECASE)
_SIDES = frozenset({"train", "training", "eval", "evaluation", "val", "valid", "validation", "test"})
_DATED = re.compile(r"tfevents\.(\d+)")


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or for ``kind`` ``mlflow`` a folder, that may hold part of a run. ``run`` is the folder of its run."""

    path: Path
    kind: str
    run: Path
    time: float

    @property
    def order(self) -> tuple[float, str]:
        return self.time, self.path.name


def sources_in(folder: Path) -> list[Source]:
    """Everything of interest in a folder and below it; links are not followed."""
    found: list[Source] = []
    n = 0
    for base, folders, files in os.walk(folder, followlinks=False):
        here = Path(base)
        depth = len(here.relative_to(folder).parts)
        if "metrics" in folders and _is_mlflow(here / "metrics"):
            folders.remove("metrics")
            found.append(_source(here / "metrics", "mlflow", here))
        if here == folder and _is_mlflow_files(here, files):
            found.append(_source(here, "mlflow", here))
            files = []
        if any(name.startswith(("run-", "offline-run-")) for name in folders):  # wandb's link to one of them, copied
            folders[:] = [name for name in folders if name != "latest-run"]
        if any(name.endswith(".swanlab") for name in files):  # its points, once more, a file a metric
            folders[:] = [name for name in folders if name != "logs"]
        folders[:] = sorted(
            name
            for name in folders
            if depth < _MAX_DEPTH and not name.startswith(".") and name not in _SKIPPED_FOLDERS and not (here / name).is_symlink()
        )
        for name in sorted(files):
            n += 1
            path = here / name
            if n > _MAX_FILES or path.is_symlink() or not path.is_file():
                continue
            if kind := kind_of(path.name):
                found.append(_source(path, kind, _run_folder(here, folder)))
    return _latest_states(found)


def kind_of(name: str) -> str:
    """What a file's name says it may hold: "" for nothing of a run."""
    lower = name.lower()
    if lower.startswith("."):
        return ""
    if "tfevents" in lower and not lower.endswith((".json", ".csv", ".txt", ".jsonl")):
        return "events"
    stem, suffix = os.path.splitext(lower)
    if suffix in _PACKED:
        suffix = os.path.splitext(stem)[1]
    if suffix in (".wandb", ".swanlab"):
        return suffix[1:]
    if suffix in (".db", ".sqlite", ".sqlite3"):
        return "database"
    if suffix in (".jsonl", ".ndjson", ".csv", ".tsv"):
        return "table"
    if lower == "trainer_state.json":
        return "state"
    if suffix == ".json":
        return "json" if _METRICS_JSON.search(lower) and not _NO_METRICS.match(lower) else ""
    if suffix in (".yaml", ".yml"):
        return "settings" if lower == "config.yaml" else ""
    if (suffix in _LOG_SUFFIXES or lower in ("log", "output", "nohup.out")) and not _NO_LOGS.match(lower):
        return "log"
    return ""


def _source(path: Path, kind: str, run: Path) -> Source:
    dated = _DATED.search(path.name)
    try:
        changed = path.stat().st_mtime
    except OSError:
        changed = 0.0
    return Source(path, kind, run, float(dated[1]) if dated else changed)


def _is_mlflow(folder: Path) -> bool:
    try:
        files = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()][:5]
    except OSError:
        return False
    return is_metrics_folder(folder, files)


def _is_mlflow_files(folder: Path, files: Iterable[str]) -> bool:
    """A ``metrics`` folder that was given by itself: files without an ending, each with a point a line."""
    plain = [name for name in files if not name.startswith(".")]
    return bool(plain) and all("." not in name for name in plain) and is_metrics_folder(folder, plain)


def _run_folder(here: Path, root: Path) -> Path:
    """The folder of the run that a file belongs to: ``files``, ``tensorboard``, ``checkpoint-500`` are parts of one."""
    while here != root and (
        here.name.lower() in _NOT_A_RUN or _CHECKPOINT.match(here.name) or (here.parent.name == "runs" and here.parent != root)
    ):
        here = here.parent
    return here


def _latest_states(sources: list[Source]) -> list[Source]:
    """Each checkpoint repeats the history so far: the longest ``trainer_state.json`` of a run is enough."""
    states: dict[Path, Source] = {}
    for source in sources:
        if source.kind == "state":
            other = states.get(source.run)
            if other is None or _size(source.path) > _size(other.path):
                states[source.run] = source
    return [source for source in sources if source.kind != "state" or states[source.run] is source]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


NUMBERS = frozenset({"events", "wandb", "swanlab", "database", "table", "state", "json", "mlflow"})


def runs_of(sources: list[Source], root: Path) -> dict[Path, list[Source]]:
    """The sources by run, the latest run last. What lies in the folder itself goes with what lies below it: the curves that
    ``add_scalars`` puts into folders, a tracker's folder, and of several such runs the latest."""
    by_run: dict[Path, list[Source]] = {}
    for source in sources:
        by_run.setdefault(source.run, []).append(source)
    telling = {run for run, own in by_run.items() if any(source.kind != "settings" for source in own)}
    own = by_run.get(root, []) if root in telling else []
    below = telling - {root}
    if any(source.kind == "events" for source in own):
        curves = {run for run in below if all(source.kind == "events" for source in by_run[run])}
        own = own + [source for run in sorted(curves) for source in by_run[run]]
        below -= curves
    tops = [run for run in below if not any(other != run and run.is_relative_to(other) for other in below)]
    grouped = {top: [source for source in sources if source.run.is_relative_to(top)] for top in tops}
    ordered = dict(sorted(grouped.items(), key=lambda item: (max(source.time for source in item[1]), str(item[0]))))
    if not own and tops and all(run.parent == root and run.name.lower() in _SIDES for run in tops):
        return {root: sources}
    if own:
        latest = next(reversed(ordered), None)
        ordered = {
            **{run: group for run, group in ordered.items() if run != latest},
            root: own + ordered.get(latest, []) if latest else own,
        }
    return ordered


def side_of(source: Source, root: Path) -> str:
    """``validation/`` for a file of a folder of that name directly below the run's (``train`` and ``validation`` of one run)."""
    parts = source.path.relative_to(root).parts
    return f"{parts[0]}/" if len(parts) > 1 and parts[0].lower() in _SIDES else ""
