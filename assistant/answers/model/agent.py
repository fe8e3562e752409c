"""The lane with tools: LangChain's agent over the toolbox, with limits on its calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from assistant.answers.model.client import Client, Message, Reply, text_of, without_reasoning
from assistant.answers.model.faults import ModelFault
from assistant.answers.model.limits import MODEL_CALLS, TOOL_CALLS
from assistant.answers.model.stream import watched
from assistant.answers.model.tools import Toolbox


def run_agent(
    client: Client,
    messages: Sequence[Message],
    toolbox: Toolbox,
    *,
    on_text: Callable[[str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Reply:
    """The agent's last words. Raises ModelFault: ``unsupported`` (parameter ``tools``) when the server cannot call tools."""
    try:
        from langchain.agents import create_agent
        from langchain.agents.middleware import ModelCallLimitMiddleware, ToolCallLimitMiddleware
    except ImportError as error:
        raise ModelFault("not-installed", str(error)) from error
    limits: list[Any] = [
        ModelCallLimitMiddleware(run_limit=MODEL_CALLS, exit_behavior="end"),
        ToolCallLimitMiddleware(run_limit=TOOL_CALLS, exit_behavior="continue"),
    ]
    agent: Any = create_agent(client.chat_model(), tools=toolbox.functions(), system_prompt=messages[0]["content"], middleware=limits)
    asked = {"messages": [{"role": m["role"], "content": m["content"]} for m in messages[1:]]}
    started = time.monotonic()
    said, finish, current, last_id = "", "", "", ""
    tool_requests = 0

    def start() -> Iterable[Any]:
        return agent.stream(asked, stream_mode="messages", config={"recursion_limit": 4 * MODEL_CALLS + 8})  # type: ignore[no-any-return]

    try:
        for chunk, _ in watched(start, seconds=client.left, cancelled=cancelled):
            if not type(chunk).__name__.startswith("AIMessage"):
                continue
            if chunk.id != last_id:
                last_id, current, finish = chunk.id, "", ""
                client.usage.calls += 1
            if getattr(chunk, "tool_call_chunks", None) or getattr(chunk, "tool_calls", None):
                tool_requests += 1
            current += text_of(chunk)
            finish = finish or str(chunk.response_metadata.get("finish_reason") or chunk.response_metadata.get("stop_reason") or "")
            client._count(chunk)
            said = current
            if on_text is not None and said:
                on_text(without_reasoning(said))
    finally:
        client.usage.seconds += time.monotonic() - started
    text = without_reasoning(said, ended=True)
    if not text.strip() or (not finish and tool_requests) or finish == "tool_calls":
        raise ModelFault("empty", "the model went on calling tools")
    if not finish:
        raise ModelFault("broken-stream", "the stream ended without a finish reason")
    return Reply(text, cut=finish in ("length", "max_tokens"))
