"""One request to a model over Chat Completions, through LangChain (imported at first use), with every failure as a `ModelFault`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.answers.model.faults import ModelFault
from assistant.answers.model.settings import Endpoint
from assistant.answers.model.stream import pause, watched

Message = dict[str, str]
"""``{"role": "system" | "user" | "assistant", "content": …}``."""

RETRIED = frozenset({"rate", "server", "unreachable", "broken-stream"})
LONGEST_WAIT = 20.0
_REFUSED: dict[tuple[str, str], set[str]] = {}
"""Parameters that a server has refused once, by base URL and model: they are not sent again."""

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_LATE_THINKING = re.compile(r"\A.*?</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)


@dataclass(slots=True)
class Usage:
    """Tokens and seconds of an answer, over all its calls. ``exact`` is False when the server did not count."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    exact: bool = True

    def cost(self, endpoint: Endpoint) -> float | None:
        """Price in the currency of the settings; None when no price is set."""
        if endpoint.price_in is None or endpoint.price_out is None:
            return None
        return (self.tokens_in * endpoint.price_in + self.tokens_out * endpoint.price_out) / 1e6

    def to_json(self, endpoint: Endpoint) -> dict[str, Any]:
        row: dict[str, Any] = {
            "calls": self.calls,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "seconds": round(self.seconds, 2),
            "exact": self.exact,
        }
        if (cost := self.cost(endpoint)) is not None:
            row["cost"] = round(cost, 6)
        return row


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    model: str = ""
    cut: bool = False


@dataclass(slots=True)
class Client:
    """Talks to one endpoint. ``usage`` adds up over its calls."""

    endpoint: Endpoint
    usage: Usage = field(default_factory=Usage)
    deadline: float = 0.0
    _models: dict[frozenset[str], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.endpoint.timeout

    @property
    def refused(self) -> set[str]:
        return _REFUSED.setdefault((self.endpoint.base_url, self.endpoint.name), set())

    @property
    def left(self) -> float:
        """Seconds until the answer must be there."""
        return max(0.0, self.deadline - time.monotonic())

    def complete(
        self, messages: Sequence[Message], *, on_text: Callable[[str], None] | None = None, cancelled: Callable[[], bool] | None = None
    ) -> Reply:
        """The model's reply to ``messages``; ``on_text`` gets what it has said so far. Raises ModelFault."""
        empty = 0
        attempt = 0
        while True:
            attempt += 1
            try:
                reply = self._once(messages, on_text, cancelled)
            except ModelFault as fault:
                self._again(fault, attempt, cancelled)
                continue
            if reply.text.strip():
                return reply
            empty += 1
            if empty > 1 or reply.cut:
                raise ModelFault("empty", "the whole reply was reasoning" if reply.cut else "")

    def _again(self, fault: ModelFault, attempt: int, cancelled: Callable[[], bool] | None) -> None:
        """Prepare another try after ``fault``, or raise it."""
        if fault.kind == "unsupported" and fault.parameter != "tools" and fault.parameter not in self.refused:
            self.refused.add(fault.parameter)
            return
        if fault.kind not in RETRIED or attempt > self.endpoint.retries:
            raise fault
        wait = (
            min(0.5 * 2 ** (attempt - 1), LONGEST_WAIT)
            if fault.kind != "rate"
            else min(max(_retry_after(fault), 0.5 * 2 ** (attempt - 1)), LONGEST_WAIT)
        )
        if wait >= self.left:
            raise fault
        pause(wait, cancelled)

    def _once(self, messages: Sequence[Message], on_text: Callable[[str], None] | None, cancelled: Callable[[], bool] | None) -> Reply:
        started = time.monotonic()
        self.usage.calls += 1
        said, finish, model, counted = "", "", "", False
        try:
            for chunk in watched(lambda: self._stream(messages), seconds=self.left, cancelled=cancelled):
                said += text_of(chunk)
                finish = finish or str(chunk.response_metadata.get("finish_reason") or chunk.response_metadata.get("stop_reason") or "")
                model = model or str(chunk.response_metadata.get("model_name") or "")
                counted = self._count(chunk) or counted
                if on_text is not None and said:
                    on_text(without_reasoning(said))
        except ModelFault as fault:
            if said and fault.kind in ("unreachable", "protocol"):
                raise ModelFault("broken-stream", fault.detail) from fault
            raise
        finally:
            self.usage.seconds += time.monotonic() - started
            if said and not counted:
                self._estimate(messages, said)
        if finish == "content_filter":
            raise ModelFault("unusable", "content filter")
        if not finish and said:
            raise ModelFault("broken-stream", "the stream ended without a finish reason")
        return Reply(without_reasoning(said, ended=True), model, cut=finish in ("length", "max_tokens"))

    def _stream(self, messages: Sequence[Message]) -> Iterable[Any]:
        return self.chat_model().stream([(m["role"], m["content"]) for m in messages])  # type: ignore[no-any-return]

    def _count(self, chunk: Any) -> bool:
        used = getattr(chunk, "usage_metadata", None)
        if not used or not used.get("input_tokens"):
            return False
        self.usage.tokens_in += int(used["input_tokens"])
        self.usage.tokens_out += int(used.get("output_tokens", 0))
        return True

    def _estimate(self, messages: Sequence[Message], said: str) -> None:
        from assistant.answers.grounding.tokens import counter

        count = counter()
        self.usage.tokens_in += sum(count(m["content"]) + 4 for m in messages)
        self.usage.tokens_out += count(said) if said else 0
        self.usage.exact = False

    def chat_model(self) -> Any:
        """LangChain's chat model for this endpoint, without what the server has refused."""
        refused = frozenset(self.refused)
        if refused not in self._models:
            try:
                self._models[refused] = _build(self.endpoint, refused)
            except ImportError as error:
                raise ModelFault("not-installed", str(error)) from error
            except ModelFault:
                raise
            except Exception as error:  # a provider's own complaint about its settings
                raise ModelFault("settings", str(error)) from error
        return self._models[refused]


def _build(endpoint: Endpoint, refused: frozenset[str]) -> Any:
    common: dict[str, Any] = {"timeout": endpoint.timeout, "max_retries": 0}
    if endpoint.temperature is not None and "temperature" not in refused:
        common["temperature"] = endpoint.temperature
    if endpoint.provider:
        from langchain.chat_models import init_chat_model

        if endpoint.api_key:
            common["api_key"] = endpoint.api_key
        return init_chat_model(endpoint.model, model_provider=endpoint.provider, max_tokens=endpoint.output_tokens, **common)
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    body = dict(endpoint.extra_body)
    limit = (
        "max_completion_tokens"
        if (not endpoint.legacy_max_tokens or "max_tokens" in refused) and "max_completion_tokens" not in refused
        else "max_tokens"
    )
    if limit not in refused:
        body[limit] = endpoint.output_tokens
    return ChatOpenAI(
        model=endpoint.model,
        base_url=endpoint.base_url,
        api_key=SecretStr(endpoint.api_key or "none"),
        use_responses_api=False,
        stream_usage="stream_options" not in refused,
        stream_chunk_timeout=endpoint.timeout,
        extra_body=body or None,
        **common,
    )


def text_of(message: Any) -> str:
    """The words of a message or chunk; blocks of reasoning are none."""
    content = message.content
    if isinstance(content, str):
        return content
    return "".join(
        block if isinstance(block, str) else str(block.get("text", "")) if block.get("type") in ("text", "output_text", None) else ""
        for block in content
    )


def without_reasoning(text: str, *, ended: bool = False) -> str:
    """``text`` without what a reasoning model thinks aloud, finished or not; a tag that is only half there is held back."""
    text = _THINKING.sub("", text)
    text = _LATE_THINKING.sub("", text)
    if not ended:
        text = re.sub(r"<[a-z/]{0,10}\Z", "", text)
    return text.lstrip("\n") if not ended else text.strip()


def _retry_after(fault: ModelFault) -> float:
    cause = fault.__cause__
    headers = getattr(getattr(cause, "response", None), "headers", None) or {}
    try:
        return float(headers.get("retry-after", 0))
    except (TypeError, ValueError):
        return 0.0


def list_models(endpoint: Endpoint, seconds: float = 10.0) -> list[dict[str, Any]]:
    """What ``/models`` of the endpoint lists. Raises ModelFault."""
    try:
        from openai import OpenAI
    except ImportError as error:
        raise ModelFault("not-installed", str(error)) from error

    def start() -> Iterable[Any]:
        with OpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key or "none", timeout=seconds, max_retries=0) as client:
            yield [one.model_dump() for one in client.models.list().data]

    for rows in watched(start, seconds=seconds):
        return list(rows)
    return []
