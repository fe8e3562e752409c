"""What stands before the message on a console line: colours, Ray's process tag, progress bars, timestamps."""

from __future__ import annotations

import re
from functools import lru_cache

ANSI = re.compile(
    rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\)|[()][A-Z0-9]|[78=>cM])"
    rb"|(?<![\w)])\[[0-9;]{1,12}m|(?<=\))\[[0-9;]{1,4}m"
)
"""Terminal codes (colours, cursor, titles); of colours also those whose ESC byte copy and paste lost (``[36m``)."""

CODE_AT_END = re.compile(rb"(?:\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[78=>cM]|\[[0-9;]{0,12}[mKAGHJ])+$")

# (WorkerDict pid=7, ip=10.0.0.2), (pid=7), (VGNd5CWorkerDict_0:0 WorkerDict pid=7), (raylet), (autoscaler +2m3s)
RAY = rb"\((?:[^()\n]{0,120}?\bpid=\d+[^()\n]{0,80}|raylet(?:[ ,][^()\n]{0,60})?|autoscaler[^()\n]{0,40})\)"
_COLOUR = rb"(?:\x1b?\[[0-9;]*m)*"
_TAG = re.compile(_COLOUR + rb"(" + RAY + rb")" + _COLOUR + rb" ?")
_RANK = re.compile(rb"\[(?:default\d+\]:\[)?(rank ?\d+)\]:? ?", re.IGNORECASE)
_TAG_AT_END = re.compile(rb"(" + RAY + rb")\s*$")
_BAR_AT_END = re.compile(rb"(?:it/s|s/it|\?it|steps?/s|s/step)[^\]\n]{0,60}\]\s*$")
_REPEATED = re.compile(rb"\s*" + _COLOUR + rb"\s*\[repeated \d+x across cluster\].*$", re.DOTALL)
_TIME = rb"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d)?\]?[\s:,\-]*"
_END_CODE = re.compile(rb"(?:\x1b\[[0-9;?]*[A-Za-z]|\[[0-9;]*m)$")
_CODE_ENDS = b"mKAGHJBCDhl"
_HARMLESS = re.compile(
    rb"(?:\d+[:\t|-] ?)?"  # line numbers of grep -n, cat -n; srun --label
    rb"(?:[\w.\-/]{1,60}\s+\|\s)?"  # docker compose, kubectl: name |
    rb"(?:[\w.\-]{0,60}\d:\s+)?"  # pdsh: node-0:
    rb"(?:\[\d+,\d+\]<std(?:out|err)>:\s*)?"  # mpirun
    rb"(?:" + _TIME + rb")?"
    rb"(?:\[[^\[\]\n]{1,60}\][:\s\-]*){0,4}"  # [rank0]:, [2025-01-01 10:00:00,123][__main__][INFO] -
    rb"(?:(?:INFO|WARNING|DEBUG|ERROR)[\s:]*(?:" + _TIME + rb")?)?"
    rb"(?:stdout|stderr)?(?:\s+F\s+)?"  # containerd
    rb"[\s>*`'\"\x00]*",
    re.IGNORECASE,
)


def strip_colours(text: bytes) -> bytes:
    return ANSI.sub(b"", text) if b"[" in text or b"\x1b" in text else text


@lru_cache(maxsize=4096)
def _tag_name(tag: bytes) -> str:
    return tag[1:-1].decode("utf-8", "replace").strip()


def split_process(line: bytes) -> tuple[str, bytes]:
    """The process that printed a line, and the rest of the line.

    ``b"(WorkerDict pid=7) hello"`` → ``("WorkerDict pid=7", b"hello")``. A tag in a tag (vLLM's engine inside a Ray actor)
    is joined by ``/``. A line without a tag gives "".
    """
    names = []
    start = 0
    while (found := _TAG.match(line, start)) is not None:
        names.append(_tag_name(found[1]))
        start = found.end()
    if not names and (rank := _RANK.match(line)) is not None:
        return rank[1].decode().replace(" ", ""), line[rank.end() :]
    return "/".join(names), line[start:]


@lru_cache(maxsize=8192)
def before_metrics(text: bytes) -> tuple[bool, str]:
    """Whether ``text`` may stand before a metric line (and not, for example, a sentence that quotes one), and its process."""
    text = text.rpartition(b"\r")[2]
    if text and text[-1] in _CODE_ENDS and (code := CODE_AT_END.search(text, max(0, len(text) - 24))):
        text = text[: code.start()]
    plain = strip_colours(text)
    if tag := _TAG_AT_END.search(plain):
        return True, _tag_name(tag[1])
    if _BAR_AT_END.search(plain):
        return True, split_process(text)[0]
    return _HARMLESS.fullmatch(plain) is not None, split_process(text)[0]


def strip_repeated(text: bytes) -> bytes:
    """Without Ray's ``[repeated 7x across cluster]``."""
    return _REPEATED.sub(b"", text) if b"across cluster]" in text else text


def strip_end(text: bytes) -> bytes:
    """Without trailing white space, colour codes and Ray's ``[repeated 7x across cluster]``."""
    text = strip_repeated(text).rstrip()
    while text and text[-1] in _CODE_ENDS and (found := _END_CODE.search(text, max(0, len(text) - 40))):
        text = text[: found.start()].rstrip()
    return text
