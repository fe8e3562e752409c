"""Tracebacks out of interleaved output: frames are gathered per process until the exception's own line comes."""

from __future__ import annotations

import re
from typing import Any

_FRAME = re.compile(r'\s*File "([^"\n]{1,400})", line (\d+)(?:, in (.{1,200}))?')
_EXCEPTION = re.compile(
    r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:\([\w.]+\))?)(?::\s*(?P<message>.*))?$",
    re.DOTALL,
)
_ENDING = re.compile(r"(?:Error|Exception|Exit|Interrupt|Iteration|Warning|Timeout|Expired|Failure|Fault|Died|OOM|Missing\w*)$")
_NOT_TYPES = frozenset({"Traceback", "During", "The", "Set", "Original", "INFO", "WARNING", "ERROR", "DEBUG"})
_HEADER = "Traceback (most recent call last)"
MAX_FRAMES = 12
MAX_MESSAGE = 2000

PHASES = (
    "update_actor",
    "update_policy",
    "update_critic",
    "compute_ref_log_prob",
    "compute_log_prob",
    "compute_values",
    "compute_rm_score",
    "compute_reward",
    "compute_score",
    "generate_sequences",
    "generate",
    "wake_up",
    "sleep",
    "update_weights",
    "save_checkpoint",
    "load_checkpoint",
    "_validate",
    "init_model",
    "init_workers",
    "_build_rollout",
    "training_step",
    "fit_batch",
    "compute_advantage",
    "validate_config",
    "_create_dataloader",
)
_PHASE_OF = {"update_policy": "update_actor", "generate": "generate_sequences", "fit_batch": "training_step"}
_PHASE = re.compile(r"(?:^|[._])(" + "|".join(sorted(PHASES, key=len, reverse=True)) + r")$")
_RAY_METHOD = re.compile(r"ray::(?:[\w.]*\.)?(\w+)\(")


def phase_of(functions: list[str], headline: str = "") -> str:
    """What the run was doing: the innermost known function (``update_actor``), else the Ray method; "" when unknown."""
    names = [re.sub(r"^(?:actor_rollout|actor|rollout|critic|ref|rm)_(?=\w+_)", "", name) for name in functions]
    if headline and (method := _RAY_METHOD.search(headline)):
        names.insert(0, re.sub(r"^(?:actor_rollout_ref|actor_rollout|actor|rollout|critic|ref|rm)_", "", method[1]))
    for name in reversed(names):
        if found := _PHASE.search(name):
            return _PHASE_OF.get(found[1], found[1])
    return ""


class Traceback:
    """One traceback of one process. `feed` takes its lines; `done` when the exception's own line has come and gone."""

    def __init__(self, process: str, line: int, text: str = "") -> None:
        self.process = process
        self.line = line
        self.frames: list[dict[str, Any]] = []
        self.functions: list[str] = []
        self.type = ""
        self.message = ""
        self.exception_line = 0
        self.seen = 0
        self.done = False
        if frame := _FRAME.match(text):  # the header is missing, or is Ray's
            self._frame(frame)

    @staticmethod
    def starts(text: str) -> bool:
        return _HEADER in text or _FRAME.match(text) is not None

    def feed(self, line: int, text: str) -> bool:
        """Takes a line of the same process; False when it is not part of this traceback (which is then over)."""
        self.seen += 1
        if self.exception_line:
            return self._after(text)
        if frame := _FRAME.match(text):
            self._frame(frame)
            return True
        if not text.strip() or text[0] in " \t|" or text.lstrip().startswith(("^", "~")):
            return True
        if _HEADER in text:
            return False
        if self.frames and (found := exception(text)):
            self.type, self.message = found
            self.exception_line = line
            return True
        if self.seen > 400 or (not self.frames and self.seen > 3):
            self.done = True
            return False
        return bool(self.frames) and "raise " not in text and len(text) < 400

    def _frame(self, found: re.Match[str]) -> None:
        function = (found[3] or "").strip()
        self.frames.append({"file": found[1], "line": int(found[2]), "function": function})
        self.functions.append(function)
        del self.frames[:-MAX_FRAMES]
        del self.functions[:-200]

    def _after(self, text: str) -> bool:
        """Lines of the message itself: indented, and no frame."""
        if (
            text[:1] in (" ", "\t")
            and text.strip()
            and not text.lstrip().startswith('File "')
            and len(self.message) < MAX_MESSAGE
            and self.seen < 400
        ):
            self.message += "\n" + text.rstrip()
            return True
        self.done = True
        return False

    @property
    def text(self) -> str:
        """The exception's own line."""
        return f"{self.type}: {self.message}" if self.message else self.type

    @property
    def place(self) -> str:
        """The innermost frame in words, as Python prints it."""
        frame = self.frames[-1]
        return f'File "{frame["file"]}", line {frame["line"]}, in {frame["function"]}'

    @property
    def wrapper(self) -> bool:
        """An exception that only carries another one: Ray's, raised again at the caller."""
        return self.type.startswith("ray.exceptions.RayTaskError") or self.type.startswith("RayTaskError")

    def data(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "message": self.message[:MAX_MESSAGE],
            "frames": list(self.frames),
            "phase": phase_of(self.functions, self.message),
            "traceback_line": self.line,
            "wrapper": self.wrapper,
        }


def exception(text: str) -> tuple[str, str] | None:
    """Type and message of an exception's line (``ValueError: …``), or None when it is none."""
    found = _EXCEPTION.match(text.strip())
    if not found or found["type"] in _NOT_TYPES:
        return None
    bare = re.sub(r"\([\w.]+\)$", "", found["type"])
    if not (_ENDING.search(bare) or ("." in bare and bare.rpartition(".")[2][:1].isupper())):
        return None
    return found["type"], (found["message"] or "").strip()
