"""The index on disk: built once, whole or not at all, by however many processes, and built anew when it is damaged."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.retrieval.embedding import EmbeddingError, Vectors
from assistant.retrieval.vectors import DONE, Passage, VectorError, index_key, open_index
from tests.retrieval.conftest import Letters

WORDS = ["entropy falls", "loss explodes", "reward stuck", "熵坍缩", "out of memory", "gradient norm", "clip fraction", "slow step"]
PASSAGES = [Passage(f"findings/{word.replace(' ', '-')}#{i}", f"{word} {i}") for word in WORDS for i in range(30)]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RUNWHY_CHROMA_URL", raising=False)
    return tmp_path / "runwhy"


class Counting(Letters):
    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts) -> Vectors:  # type: ignore[no-untyped-def]
        self.embedded += len(texts)
        return super().embed(texts)


def folder(home: Path) -> Path:
    return home / f"search-{index_key(PASSAGES, Letters())}"


def nearest(embedder: Letters) -> str:
    index = open_index(PASSAGES, embedder)
    found = index.nearest("entropy falls 7")[0][0]
    index.close()
    return found


def test_it_is_built_once_and_then_opened(home: Path) -> None:
    done: list[tuple[int, int]] = []
    index = open_index(PASSAGES, Letters(), lambda *at: done.append(at))
    rows = index.nearest("reward stuck 3")
    index.close()
    assert rows[0][0] == "findings/reward-stuck"
    assert rows[0][1] == pytest.approx(1.0, abs=1e-4)
    assert len({card for card, _ in rows}) == len(rows)
    assert done[-1] == (len(PASSAGES), len(PASSAGES))
    again = Counting()
    assert nearest(again) == "findings/entropy-falls"
    assert again.embedded == 1  # the question, no passage
    assert [path.name for path in home.glob("search-*")] == [folder(home).name]


def test_other_texts_or_another_embedder_are_another_index() -> None:
    other = Letters()
    other.id = "letters-33"
    assert len({index_key(PASSAGES, Letters()), index_key(PASSAGES, other), index_key(PASSAGES[1:], Letters())}) == 3


@pytest.mark.parametrize("damage", ["vectors cut", "vectors garbled", "database garbled", "database gone", "half copied", "not finished"])
def test_a_damaged_index_is_built_anew(home: Path, damage: str) -> None:
    nearest(Letters())
    place = folder(home)
    data = next(place.rglob("data_level0.bin"))
    if damage == "vectors cut":
        data.write_bytes(data.read_bytes()[:100])
    elif damage == "vectors garbled":
        data.write_bytes(bytes(255 - byte for byte in data.read_bytes()))
    elif damage == "database garbled":
        (place / "chroma.sqlite3").write_bytes(b"SQLite format 3\0" + os.urandom(8192))
    elif damage == "database gone":
        (place / "chroma.sqlite3").unlink()
    elif damage == "half copied":
        data.unlink()
    else:
        (place / DONE).unlink()
    again = Counting()
    assert nearest(again) == "findings/entropy-falls"
    assert again.embedded == len(PASSAGES) + 1
    assert [path.name for path in home.glob("search-*")] == [place.name]


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runwhy").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RUNWHY_CHROMA_URL", raising=False)
    assert nearest(Letters()) == "findings/entropy-falls"


def test_leftovers_of_old_cards_are_swept_and_fresh_ones_kept(home: Path) -> None:
    old, fresh = home / "search-old", home / "search-fresh"
    for made in (old, fresh):
        made.mkdir(parents=True)
        (made / DONE).write_text("{}")
    os.utime(old / DONE, (1, 1))
    nearest(Letters())
    assert not old.exists()
    assert fresh.exists()


PROCESS = """
import sys
from assistant.retrieval.vectors import open_index
from tests.retrieval.conftest import Letters
from tests.retrieval.test_vectors import PASSAGES
index = open_index(PASSAGES, Letters())
for _ in range(20):
    assert index.nearest("gradient norm 4")[0][0] == "findings/gradient-norm"
print(index.collection.count())
"""


def start(environment: dict[str, str]) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", PROCESS], env={**os.environ, **environment}, cwd=root, text=True, **pipes)  # type: ignore[call-overload, no-any-return]


def test_several_processes_may_start_at_once(home: Path) -> None:
    processes = [start({}) for _ in range(4)]
    answers = [process.communicate(timeout=120) for process in processes]
    assert [out.strip() for out, _ in answers] == [str(len(PASSAGES))] * 4, answers
    assert {path.name for path in home.glob("search*")} == {folder(home).name, "search.lock"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real ``chroma run``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).parent / "chroma"), "run", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--path", str(tmp_path_factory.mktemp("server"))]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=20)


def test_a_shared_server_serves_several_processes(home: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = [start({"RUNWHY_CHROMA_URL": server}) for _ in range(2)]
    answers = [process.communicate(timeout=120) for process in processes]
    assert [out.strip() for out, _ in answers] == [str(len(PASSAGES))] * 2, answers
    monkeypatch.setenv("RUNWHY_CHROMA_URL", server)
    again = Counting()
    assert nearest(again) == "findings/entropy-falls"
    assert again.embedded == 1
    assert not list(home.glob("search-*"))


def test_a_server_that_is_not_there_is_one_clear_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNWHY_CHROMA_URL", "http://127.0.0.1:9")
    with pytest.raises(VectorError, match="Chroma: "):
        open_index(PASSAGES, Letters())


def test_an_embedder_that_fails_leaves_nothing_behind(home: Path) -> None:
    class Failing(Letters):
        def embed(self, texts) -> Vectors:  # type: ignore[no-untyped-def]
            raise EmbeddingError("service: no")

    with pytest.raises(EmbeddingError, match="service: no"):
        open_index(PASSAGES, Failing())
    assert not list(home.glob("search-*"))
