"""The language of a person: what they write first, then what their Slack is set to."""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING

from assistant.messages import Language

if TYPE_CHECKING:
    from slack_sdk import WebClient

KEPT_SECONDS = 6 * 3600
_LETTERS = re.compile(r"[A-Za-z\u3400-\u9fff]{2}")


def written_in(text: str) -> Language | None:
    """The language of a few words; None when there are none to tell by (a smile, a bare file)."""
    from assistant.answers.understanding.language import detect

    return detect(text) if _LETTERS.search(text) or re.search(r"[\u3400-\u9fff]", text) else None


class People:
    """Looks people's locale up once in a while. Safe for use from several threads."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Language]] = {}
        self._lock = threading.Lock()

    def language(self, client: WebClient, team: str, user: str) -> Language:
        """By ``users.info``; English when Slack does not say (no right to ask, no such person)."""
        name = f"{team}:{user}"
        with self._lock:
            kept = self._known.get(name)
        if kept is not None and time.monotonic() - kept[0] < KEPT_SECONDS:
            return kept[1]
        try:
            locale = str((client.users_info(user=user, include_locale=True).get("user") or {}).get("locale") or "")
        except Exception:
            return "en"
        found: Language = "zh" if locale.lower().startswith("zh") else "en"
        with self._lock:
            if len(self._known) > 20_000:
                self._known.clear()
            self._known[name] = (time.monotonic(), found)
        return found
