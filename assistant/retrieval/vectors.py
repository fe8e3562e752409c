"""The cards' vectors in Chroma: a folder of this user's cache, or a shared server named by ``RUNWHY_CHROMA_URL``.

A folder is built aside under a lock and renamed when it is complete, so that a process that starts meanwhile sees either
nothing or all of it. Its name carries everything that decides its content. A folder that does not pass its own checks is
put away and built anew; where no folder can be written, the vectors are kept in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from assistant.cards import cache_folder
from assistant.retrieval.embedding import Embedder, EmbeddingError

FORMAT = 3
ADD = 200
UNUSED_DAYS = 14
DONE = "done.json"

Progress = Callable[[int, int], None]


class VectorError(RuntimeError):
    """There is no vector index to ask; the message says why."""


@dataclass(frozen=True, slots=True)
class Passage:
    """``id`` is the card's id, ``#`` and a number."""

    id: str
    text: str

    @property
    def card(self) -> str:
        return self.id.rpartition("#")[0]


@dataclass(slots=True)
class VectorIndex:
    embedder: Embedder
    collection: Any
    client: Any

    def nearest(self, question: str, n: int = 60) -> list[tuple[str, float]]:
        """(card, cosine) of the cards whose passages are nearest to ``question``, each card once, nearest first."""
        vector = self.embedder.embed([question])
        try:
            found = self.collection.query(query_embeddings=vector, n_results=n, include=["distances"])
        except Exception as error:
            raise VectorError(f"Chroma: {error}") from error
        best: dict[str, float] = {}
        for passage, distance in zip(found["ids"][0], found["distances"][0], strict=True):
            best.setdefault(passage.rpartition("#")[0], 1.0 - float(distance))
        return list(best.items())

    def close(self) -> None:
        for client in (self.client, getattr(self.client, "_admin_client", None)):
            session = getattr(getattr(client, "_server", None), "_session", None)
            if session is not None:  # Chroma leaves its connections to a server open
                session.close()
        self.client.close()


def index_key(passages: Sequence[Passage], embedder: Embedder) -> str:
    """Names an index: the cards' passages, the embedder and the layout."""
    parts = orjson.dumps([FORMAT, embedder.id, [[p.id, p.text] for p in passages]])
    return hashlib.sha256(parts).hexdigest()[:20]


def open_index(passages: Sequence[Passage], embedder: Embedder, progress: Progress | None = None) -> VectorIndex:
    """The index of ``passages``, built where there is none yet. Raises VectorError or EmbeddingError."""
    if find_spec("chromadb") is None:
        raise VectorError("chromadb is not installed")
    key = index_key(passages, embedder)
    with _errors():
        if url := os.environ.get("RUNWHY_CHROMA_URL"):
            return _on_server(url, key, passages, embedder, progress)
        folder = cache_folder() / f"search-{key}"
        if (index := _usable(folder, len(passages), embedder)) is not None:
            return index
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with _lock(folder.parent / "search.lock"):
                if (index := _usable(folder, len(passages), embedder)) is None:
                    _build(folder, passages, embedder, progress)
                    index = _usable(folder, len(passages), embedder)
                _sweep(folder)
        except OSError:
            index = None
        return index if index is not None else _in_memory(key, passages, embedder, progress)


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Chroma's Rust core raises panics that are no ``Exception``."""
    try:
        yield
    except (VectorError, EmbeddingError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise VectorError(f"Chroma: {type(error).__name__}: {error}") from error


def _settings() -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


def _collection(client: Any, key: str) -> Any:
    """The collection of ``key``. Small ``sync_threshold``: all is in its files when it is closed, and opening it changes none."""
    from chromadb.api.collection_configuration import CreateCollectionConfiguration

    hnsw = {"space": "cosine", "ef_construction": 100, "ef_search": 100, "max_neighbors": 16, "batch_size": 2, "sync_threshold": 2}
    configuration = CreateCollectionConfiguration(hnsw=hnsw)  # type: ignore[typeddict-item]
    return client.get_or_create_collection(_name(key), configuration=configuration, embedding_function=None)


def _name(key: str) -> str:
    return f"runwhy-{key}"


def _fill(collection: Any, passages: Sequence[Passage], embedder: Embedder, progress: Progress | None) -> None:
    """Write the vectors under fixed ids, so that filling twice, or from two processes at once, changes nothing."""
    for start in range(0, len(passages), ADD):
        part = passages[start : start + ADD]
        collection.upsert(
            ids=[p.id for p in part], embeddings=embedder.embed([p.text for p in part]), metadatas=[{"card": p.card} for p in part]
        )
        if progress:
            progress(min(start + ADD, len(passages)), len(passages))


def _on_server(url: str, key: str, passages: Sequence[Passage], embedder: Embedder, progress: Progress | None) -> VectorIndex:
    import chromadb

    parts = urlsplit(url if "//" in url else f"http://{url}")
    secure = parts.scheme == "https"
    client = chromadb.HttpClient(parts.hostname or "localhost", parts.port or (443 if secure else 8000), ssl=secure, settings=_settings())
    collection = _collection(client, key)
    if collection.count() < len(passages):
        _fill(collection, passages, embedder, progress)
    return VectorIndex(embedder, collection, client)


def _in_memory(key: str, passages: Sequence[Passage], embedder: Embedder, progress: Progress | None) -> VectorIndex:
    import chromadb

    client = chromadb.EphemeralClient(settings=_settings())
    collection = _collection(client, key)
    if collection.count() < len(passages):
        _fill(collection, passages, embedder, progress)
    return VectorIndex(embedder, collection, client)


def _build(folder: Path, passages: Sequence[Passage], embedder: Embedder, progress: Progress | None) -> None:
    """Build beside ``folder`` and rename; what stood there, damaged, goes."""
    import chromadb

    aside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        client: Any = chromadb.PersistentClient(str(aside), settings=_settings())
        _fill(_collection(client, folder.name.removeprefix("search-")), passages, embedder, progress)
        client.close()
        sums = {path.relative_to(aside).as_posix(): _sum(path) for path in _fixed_files(aside)}
        (aside / DONE).write_bytes(orjson.dumps({"passages": len(passages), "files": sums}))
        if folder.exists():
            damaged = Path(tempfile.mkdtemp(prefix=f"{folder.name}.old.", dir=folder.parent))
            folder.rename(damaged / "index")
            shutil.rmtree(damaged, ignore_errors=True)
        aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _usable(folder: Path, n: int, embedder: Embedder) -> VectorIndex | None:
    """The index in ``folder``, or None when it is missing, incomplete or damaged."""
    try:
        done = orjson.loads((folder / DONE).read_bytes())
        if done["passages"] != n or any(_sum(folder / name) != wanted for name, wanted in done["files"].items()):
            return None
        if not _sound(folder / "chroma.sqlite3"):
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    import chromadb

    try:
        client: Any = chromadb.PersistentClient(str(folder), settings=_settings())
        collection = client.get_collection(_name(folder.name.removeprefix("search-")), embedding_function=None)
        if collection.count() != n:
            client.close()
            return None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None
    with contextlib.suppress(OSError):
        os.utime(folder / DONE)
    return VectorIndex(embedder, collection, client)


def _fixed_files(folder: Path) -> list[Path]:
    """Files that stay as they are when the index is opened; SQLite's own is checked by SQLite."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("chroma.sqlite3"))


def _sum(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def _sound(database: Path) -> bool:
    """Whether SQLite finds its file whole. A file that is not there would be created by asking, hence the URI."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)) as connection:
            return bool(connection.execute("pragma quick_check(1)").fetchone() == ("ok",))
    except sqlite3.Error:
        return False


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One builder at a time where the system has file locks; without them two build, and the first to finish stays."""
    with open(path, "a") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass
        yield


def _sweep(keep: Path) -> None:
    """Remove what builders that died left behind, and indexes of earlier cards that nothing has opened for two weeks."""
    old = time.time() - UNUSED_DAYS * 86400
    for folder in keep.parent.glob("search-*"):
        done = folder / DONE
        with contextlib.suppress(OSError):
            if folder != keep and folder.is_dir() and (done if done.exists() else folder).stat().st_mtime < old:
                shutil.rmtree(folder, ignore_errors=True)
