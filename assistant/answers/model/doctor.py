"""Does the configured model work, and if not, what to do: one check after the other, each with its own advice."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal

from assistant.answers.model.client import Client, list_models, without_reasoning
from assistant.answers.model.faults import ModelFault
from assistant.answers.model.settings import BadSettings, Endpoint, configured
from assistant.answers.model.stream import watched
from assistant.answers.packed.prompts import prompt
from assistant.messages import Language, say

State = Literal["ok", "note", "bad"]
SECONDS = 45.0


@dataclass(frozen=True, slots=True)
class Check:
    """``name`` and ``detail`` are words for the user; ``advice`` says what to do, "" when nothing is to be done."""

    id: str
    state: State
    name: str
    detail: str = ""
    advice: str = ""

    def to_json(self) -> dict[str, str]:
        return {"id": self.id, "state": self.state, "name": self.name, "detail": self.detail, "advice": self.advice}


def examine(language: Language, endpoint: Endpoint | None = None) -> Iterator[Check]:
    """Every check in turn; those that need what has failed are left out. Contacts only the configured endpoint."""

    def check(name: str, state: State, detail: str = "", advice: str = "", **values: Any) -> Check:
        words = say(f"doctor.{advice}", language, **values) if advice else ""
        return Check(name, state, say(f"doctor.name_{name}", language), detail, words)

    if endpoint is None:
        try:
            endpoint = configured()
        except BadSettings as problem:
            yield check("settings", "bad", str(problem))
            return
    if endpoint is None:
        lying = [name for name in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY", "DASHSCOPE_API_KEY") if os.environ.get(name)]
        yield check(
            "settings", "note", say("doctor.no_model", language), "name_a_model_key" if lying else "name_a_model", key=", ".join(lying)
        )
        return
    where = endpoint.provider or endpoint.base_url
    yield check(
        "settings", "ok", f"{endpoint.name or '?'} · {where} · {say('doctor.masked' if endpoint.redacts else 'doctor.unmasked', language)}"
    )
    if missing := _missing(endpoint):
        yield check("installed", "bad", missing, "install")
        return
    yield check("installed", "ok")
    if endpoint.provider:
        yield from _talk(endpoint, check, language)
        return
    started = time.monotonic()
    try:
        listed: list[dict[str, Any]] | None = list_models(endpoint)
    except ModelFault as fault:
        if fault.kind in ("model-missing", "protocol", "rejected", "server", "forbidden"):
            listed = None
        else:
            yield check(
                "reachable" if fault.kind in ("unreachable", "timeout") else "key",
                "bad",
                fault.detail,
                _ADVICE.get(fault.kind, "see_server"),
                where=where,
            )
            return
    yield check("reachable", "ok", f"{time.monotonic() - started:.2f} s")
    if listed is not None:
        names = [str(row.get("id")) for row in listed]
        if not endpoint.model and len(names) == 1:
            endpoint = replace(endpoint, model=names[0])
        if endpoint.model not in names and names:
            yield check(
                "model", "bad" if endpoint.is_local else "note", ", ".join(names[:12]) + (" …" if len(names) > 12 else ""), "choose_model"
            )
            if not endpoint.model:
                return
        else:
            yield check("model", "ok", endpoint.model)
        if (window := _window(next((row for row in listed if row.get("id") == endpoint.model), {}))) is not None:
            yield _window_check(check, endpoint, window)
    yield from _talk(endpoint, check, language)


_ADVICE = {
    "unreachable": "start_server",
    "timeout": "slow_server",
    "key": "check_key",
    "forbidden": "check_key",
    "quota": "check_quota",
    "rate": "wait",
    "model-missing": "choose_model",
    "context": "set_window",
    "empty": "other_model",
    "unsupported": "see_server",
}


def _talk(endpoint: Endpoint, check: Callable[..., Check], language: Language) -> Iterator[Check]:
    client = Client(replace(endpoint, max_output=400, timeout=min(endpoint.timeout, SECONDS), retries=0))
    pieces: list[str] = []
    started = time.monotonic()
    try:
        client.complete([{"role": "user", "content": prompt("doctor")}], on_text=pieces.append)
    except ModelFault as fault:
        yield check("chat", "bad", fault.detail or fault.kind, _ADVICE.get(fault.kind, "see_server"), where=endpoint.base_url)
        return
    yield check("chat", "ok", f"{time.monotonic() - started:.1f} s")
    yield check("streaming", "ok" if len(pieces) > 1 else "note", "" if len(pieces) > 1 else say("doctor.one_piece", language))
    try:
        reply = client.complete([{"role": "user", "content": prompt("doctor_json")}])
        yield check("json", *(("ok",) if _is_json(reply.text) else ("note", "", "json_weak")))
    except ModelFault as fault:
        yield check("json", "note", fault.kind, "json_weak")
    able = _calls_tools(client)
    state: State = "ok" if able else "note"
    yield check(
        "tools",
        state,
        say("doctor.tools_on" if endpoint.uses_tools else "doctor.tools_off", language),
        "" if able or not endpoint.uses_tools else "tools_off",
    )
    for parameter in sorted(client.refused):
        yield check("parameter", "note", parameter, "dropped")


def _calls_tools(client: Client) -> bool:
    def answer(number: int) -> str:
        """Takes a number."""
        return str(number)

    def start() -> Iterable[Any]:
        yield client.chat_model().bind_tools([answer]).invoke([("user", prompt("doctor_tool"))])

    try:
        return any(bool(getattr(message, "tool_calls", None)) for message in watched(start, seconds=client.left or SECONDS))
    except ModelFault:
        return False


def _is_json(text: str) -> bool:
    inner = re.sub(r"^```\w*|```$", "", without_reasoning(text, ended=True).strip(), flags=re.MULTILINE).strip()
    try:
        return bool(json.loads(inner) == {"ok": True})
    except json.JSONDecodeError:
        return False


def _window(row: dict[str, Any]) -> int | None:
    """Tokens that the server says the model takes."""
    meta = row.get("meta") or {}
    for value in (
        row.get("max_model_len"),
        meta.get("n_ctx"),
        row.get("context_length"),
        row.get("context_window"),
        row.get("max_context_length"),
        row.get("loaded_context_length"),
    ):
        if isinstance(value, int) and value > 0:
            return value
    return None


def _window_check(check: Callable[..., Check], endpoint: Endpoint, window: int) -> Check:
    if window < endpoint.prompt_tokens + endpoint.output_tokens:
        return check("window", "bad", str(window), "set_window_to", n=window)
    if window > 2 * endpoint.window and endpoint.prompt_tokens < endpoint.budget:
        return check("window", "note", str(window), "raise_window_to", n=window)
    return check("window", "ok", str(window))


def _missing(endpoint: Endpoint) -> str:
    """Packages that are not installed."""
    wanted = ("langchain",) if endpoint.provider else ("langchain_openai", "openai")
    return ", ".join(name for name in wanted if find_spec(name) is None)
