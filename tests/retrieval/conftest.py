from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from assistant.cards import cards
from assistant.retrieval import Searcher, searcher
from assistant.retrieval.embedding import BuiltIn, Vectors


class Letters:
    """A quick embedder for tests of storage: letter triples counted into 32 bins."""

    id = "letters-32"

    def embed(self, texts: Sequence[str]) -> Vectors:
        out = np.zeros((len(texts), 32), np.float32)
        for row, text in zip(out, texts, strict=True):
            for i in range(len(text)):
                row[hashlib.blake2b(text[i : i + 3].encode(), digest_size=1).digest()[0] % 32] += 1
            row /= max(float(np.linalg.norm(row)), 1e-6)
        return out


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's cache folder of this test session, and none of the settings that the person who runs the tests may have."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        for name in ("RUNWHY_CHROMA_URL", "RUNWHY_EMBEDDINGS_URL", "RUNWHY_CARDS"):
            patch.delenv(name, raising=False)
        yield folder


@pytest.fixture(scope="session")
def by_words() -> Searcher:
    return Searcher(dict(cards()), None)


@pytest.fixture(scope="session")
def full(cache: Path) -> Iterator[Searcher]:
    """The real searcher over a real index, built once a session."""
    made = Searcher(dict(cards()), BuiltIn())
    made.search("build the index")
    yield made
    searcher.cache_clear()
