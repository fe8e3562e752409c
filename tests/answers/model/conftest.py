"""Each test starts without replies kept from another: a port may come back."""

from __future__ import annotations

import pytest

from assistant.answers.model import answering, client
from assistant.answers.model.cache import ReplyCache


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_REPLIES", ReplyCache())
    monkeypatch.setattr(client, "_REFUSED", {})
