"""A file of a message, fetched with the bot's token: from Slack's own file servers only, never further than they say, up to a size."""

from __future__ import annotations

import re
import tempfile
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from assistant.slack.jobs import FileRef

if TYPE_CHECKING:
    from slack_sdk import WebClient

CHUNK = 1 << 20
MOST_REDIRECTS = 3
Why = Literal["elsewhere", "too_large", "no_access", "gone", "unreachable", "empty"]


class NotFetched(Exception):
    """``why`` is a key of the messages ``slack.file_…``; ``size`` is in bytes where it matters."""

    def __init__(self, why: Why, size: int = 0) -> None:
        super().__init__(why)
        self.why, self.size = why, size


@dataclass(frozen=True, slots=True)
class Fetcher:
    """``hosts`` are names with or without a port; plain http is taken from this machine only (tests, a proxy)."""

    token: str
    hosts: tuple[str, ...]
    max_bytes: int
    timeout: float = 30.0

    def allowed(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return False
        host = (parts.hostname or "").lower()
        if parts.username or parts.password or not host:
            return False
        named = host in self.hosts if port in (None, 443) else f"{host}:{port}" in self.hosts
        return named and (parts.scheme == "https" or (parts.scheme == "http" and host in ("127.0.0.1", "localhost")))

    def fetch(self, file: FileRef, into: Path, *, alive: Callable[[], None] = lambda: None) -> Path:
        """The file's contents as a new file in ``into``, under a safe name. Raises NotFetched; ``alive`` is called now and then."""
        if file.mode in ("tombstone", "hidden_by_limit"):
            raise NotFetched("gone")
        if file.size > self.max_bytes:
            raise NotFetched("too_large", file.size)
        if not self.allowed(file.url):
            raise NotFetched("elsewhere")
        into.mkdir(parents=True, exist_ok=True)
        target = into / safe_name(file.name)
        try:
            with self._open(file.url) as answer, target.open("xb") as out:
                self._copy(answer, out, alive)
        except HTTPError as problem:
            raise NotFetched("gone" if problem.code in (404, 410) else "no_access") from problem
        except (URLError, TimeoutError, ConnectionError) as problem:
            raise NotFetched("unreachable") from problem
        if not target.stat().st_size:
            raise NotFetched("empty")
        return target

    def _open(self, url: str) -> IO[bytes]:
        """Redirects are followed by hand: on to an allowed host only, so that the token goes nowhere else."""
        for _ in range(MOST_REDIRECTS + 1):
            request = Request(url, headers={"Authorization": f"Bearer {self.token}", "User-Agent": "runwhy"})
            answer = _opener().open(request, timeout=self.timeout)
            if answer.status not in (301, 302, 303, 307, 308):
                break
            url = urljoin(url, answer.headers.get("Location", ""))
            answer.close()
            if not self.allowed(url):
                raise NotFetched("elsewhere")
        else:
            raise NotFetched("elsewhere")
        if "text/html" in answer.headers.get("Content-Type", ""):  # Slack's sign-in page: the token may not read files
            answer.close()
            raise NotFetched("no_access")
        said = int(answer.headers.get("Content-Length") or 0)
        if said > self.max_bytes:
            answer.close()
            raise NotFetched("too_large", said)
        found: IO[bytes] = answer
        return found

    def _copy(self, answer: IO[bytes], out: IO[bytes], alive: Callable[[], None]) -> None:
        total = 0
        while chunk := answer.read(CHUNK):
            total += len(chunk)
            if total > self.max_bytes:
                raise NotFetched("too_large", total)
            out.write(chunk)
            alive()


def looked_up(client: WebClient, file: FileRef) -> FileRef:
    """A file of which the message says no more than its id (in a channel shared with another workspace). Raises NotFetched."""
    from slack_sdk.errors import SlackApiError

    from assistant.slack.events import files_of

    try:
        found = files_of([client.files_info(file=file.id).get("file") or {}])
    except SlackApiError as problem:
        gone = problem.response.get("error") in ("file_not_found", "file_deleted")
        raise NotFetched("gone" if gone else "no_access") from problem
    except OSError as problem:
        raise NotFetched("unreachable") from problem
    if not found or (not found[0].url and found[0].mode not in ("tombstone", "hidden_by_limit", "external")):
        raise NotFetched("no_access")
    return found[0]


class _NoRedirect(HTTPRedirectHandler):
    """The answer itself instead of the next one."""

    def http_error_302(self, req, fp, code, msg, headers):  # type: ignore[no-untyped-def]
        fp.status = code
        return fp

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _opener() -> OpenerDirector:
    return build_opener(_NoRedirect())


def safe_name(name: str) -> str:
    """A file name that means nothing to a file system or a terminal: no folders, no leading dot, no control or direction marks."""
    name = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(letter for letter in name if unicodedata.category(letter)[0] not in ("C", "Z") or letter == " ")
    name = re.sub(r"[<>:\"|?*`$&;!\n]", "_", name).strip(" .")
    if len(name.encode()) > 120:
        stem, dot, ending = name.rpartition(".")
        ending = dot + ending if dot and len(ending) < 12 else ""
        name = (stem if ending else name).encode()[:100].decode(errors="ignore") + ending
    return name or "log"


def folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="runwhy-slack-")
