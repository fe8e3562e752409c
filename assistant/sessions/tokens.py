"""Ids and tokens that cannot be guessed, and small values that faces leave with a session."""

from __future__ import annotations

import hashlib
import secrets
import string
from typing import Any

import orjson

MOST_KEPT = 64_000
MOST_ASKED = 2_000_000
"""Bytes of what a face keeps with a question: a pasted log may be in it."""


_LETTERS = string.ascii_letters + string.digits
"""Nothing that a command line takes for an option, or a chat for its marks."""


def new_id() -> str:
    """190 random bits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(32))


def new_token() -> str:
    """256 random bits; only their hash is kept."""
    return "".join(secrets.choice(_LETTERS) for _ in range(43))


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def small_json(value: Any, largest: int = MOST_KEPT) -> Any:
    """The value as JSON gives it back. Raises ValueError when it is none, or above ``largest`` bytes."""
    try:
        data = orjson.dumps(clean_json(value))
    except (TypeError, orjson.JSONEncodeError) as error:
        raise ValueError("not JSON") from error
    if len(data) > largest:
        raise ValueError("too large to be kept")
    return orjson.loads(data)


def clean(text: str) -> str:
    """Text without what databases and UTF-8 refuse: the zero character and halves of surrogate pairs become U+FFFD."""
    text = text.replace("\x00", "\ufffd") if "\x00" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: Any) -> Any:
    """A JSON value with all its texts clean."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(name)): clean_json(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_json(one) for one in value]
    return value
