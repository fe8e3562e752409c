"""What can go wrong with a model, as kinds that each have one plain sentence and one thing to do."""

from __future__ import annotations

import re
from typing import Any

KINDS = (
    "not-installed", "unreachable", "timeout", "key", "forbidden", "model-missing", "rate", "quota", "server", "context", "rejected",
    "unsupported", "empty", "broken-stream", "cut", "protocol", "cancelled", "unusable", "language", "settings",
)  # fmt: skip


class ModelFault(Exception):
    """The model gave no usable reply. ``kind`` is one of `KINDS` (``model.fault_<kind>`` in the catalogue), ``detail`` one line
    from the server or library for a developer, ``tokens`` the window when the server named it."""

    def __init__(self, kind: str, detail: str = "", *, status: int | None = None, tokens: int | None = None, parameter: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind, self.detail, self.status, self.tokens, self.parameter = kind, detail[:300], status, tokens, parameter


_CONTEXT = re.compile(
    r"context.{0,20}(?:length|window|size)|maximum context|too many tokens|exceeds? the (?:available )?(?:context|model)|"
    r"prompt is too long|"
    r"(?:input|prompt).{0,30}(?:too long|exceeds)|n_ctx|max_model_len|reduce the length|exceed_context_size",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"(?:maximum context length is|context (?:length|window|size)(?: of| is|:)?|n_ctx\W{1,4}|max_model_len\W{1,4}|limit of)\s*\(?(\d{3,8})",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"(?:unsupported|unrecognized|unknown|unexpected|extra|invalid|not support\w*|"
    r"additional propert\w*)[^.\n]{0,80}?['\"`]?\b(stream_options|max_completion_tokens|max_tokens|temperature|tools|"
    r"tool_choice|response_format|parallel_tool_calls|reasoning_effort|n|stop)\b"
    r"|['\"`]?\b(stream_options|max_completion_tokens|max_tokens|temperature|tools|tool_choice|response_format|"
    r"parallel_tool_calls|n|stop)\b['\"`]?[^.\n]{0,60}(?:unsupported|not supported|not permitted|not allowed|unrecognized|"
    r"unknown|only the default|does not support)"
    r"|does not support (tools|tool calling|function calling)",
    re.IGNORECASE,
)


def of_error(error: BaseException) -> ModelFault:
    """The fault behind an exception of the OpenAI client, of httpx or of LangChain, told by its name, status and text."""
    if isinstance(error, ModelFault):
        return error
    names = [kind.__name__ for kind in type(error).__mro__]
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    text = _text(error)
    if isinstance(status, int):
        return _of_status(status, text)
    if any("Timeout" in name for name in names) or isinstance(error, TimeoutError):
        return ModelFault("timeout", text)
    if (
        "APIConnectionError" in names
        or isinstance(error, ConnectionError)
        or any(name in ("ConnectError", "NetworkError") for name in names)
    ):
        return ModelFault("unreachable", _cause(error) or text)
    if any(name in ("RemoteProtocolError", "ReadError", "ProtocolError", "IncompleteRead", "StreamChunkTimeoutError") for name in names):
        return ModelFault("broken-stream", text)
    if "ContextOverflowError" in names or _CONTEXT.search(text):
        return ModelFault("context", text, tokens=_window(text))
    if isinstance(error, ImportError):
        return ModelFault("not-installed", text)
    if "APIError" in names:
        return ModelFault("server", text)
    return ModelFault("protocol", f"{type(error).__name__}: {text}")


def _of_status(status: int, text: str) -> ModelFault:
    if status in (400, 413, 422) and (_CONTEXT.search(text) or status == 413):
        return ModelFault("context", text, status=status, tokens=_window(text))
    if status in (400, 404, 422, 501) and (found := _PARAMETER.search(text)):
        parameter = next(group for group in found.groups() if group).lower()
        parameter = "tools" if parameter in ("tool calling", "function calling", "tool_choice", "parallel_tool_calls") else parameter
        return ModelFault("unsupported", text, status=status, parameter=parameter)
    if status == 429 and re.search(r"quota|balance|billing|insufficient", text, re.IGNORECASE):
        return ModelFault("quota", text, status=status)
    kind = {
        400: "rejected",
        401: "key",
        402: "quota",
        403: "forbidden",
        404: "model-missing",
        408: "timeout",
        422: "rejected",
        429: "rate",
        504: "timeout",
    }.get(status, "server" if status >= 500 else "rejected")
    return ModelFault(kind, text, status=status)


def _text(error: BaseException) -> str:
    body: Any = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict) and inner.get("message"):
            return re.sub(r"\s+", " ", str(inner["message"]))
    return re.sub(r"\s+", " ", str(error))


def _cause(error: BaseException) -> str:
    """The innermost reason of a connection error ("Connection refused", "Name or service not known")."""
    last: BaseException = error
    for _ in range(8):
        inner = last.__cause__ or last.__context__
        if inner is None:
            break
        last = inner
    return re.sub(r"\s+", " ", str(last)) if last is not error else ""


def _window(text: str) -> int | None:
    found = _WINDOW.search(text)
    return int(found[1]) if found else None
