from __future__ import annotations

import pytest

from assistant.sessions import MemoryStore, Session, open_log
from assistant.web.masked import MOST_LINES, MaskedLogs, plain

KEY = "hf_" + "a1B2" * 8
LINES = [f"step:{n} - actor/entropy:0.4{n % 10} - critic/score/mean:0.5" for n in range(1, 1001)]
LINES[99] = f"HF_TOKEN={KEY}"
LINES[199:203] = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA", "x9Zq", "-----END RSA PRIVATE KEY-----"]
LINES[299] = f"again {KEY} here"
LINES[399] = "word " * 2000


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def session(store: MemoryStore) -> Session:
    data = "\n".join(LINES).encode()
    return store.create(open_log(data), source=data)


def test_lines_are_given_by_number(store: MemoryStore, session: Session) -> None:
    given = MaskedLogs(store).lines(session.id, 5, 7)
    assert given == {"total": 1000, "lines": [[n, LINES[n - 1], 0] for n in (5, 6, 7)]}
    assert len(MaskedLogs(store).lines(session.id, 1, 10_000)["lines"]) == MOST_LINES
    assert MaskedLogs(store).lines(session.id, 1001, 1010)["lines"] == []
    assert MaskedLogs(store).lines("nobody", 1, 10) == {"total": 0, "lines": []}


def test_the_same_secret_has_the_same_mark_wherever_it_is_shown(store: MemoryStore, session: Session) -> None:
    logs = MaskedLogs(store)
    assert logs.lines(session.id, 300, 300)["lines"][0][1] == "again [SECRET_1] here"
    assert "[SECRET_1]" in logs.lines(session.id, 100, 100)["lines"][0][1]
    assert logs.mask(session.id, f"x {KEY}") == "x [SECRET_1]"


@pytest.mark.parametrize("first", [200, 201, 202, 203])
def test_a_private_key_is_masked_wherever_the_view_begins(store: MemoryStore, session: Session, first: int) -> None:
    text = " ".join(row[1] for row in MaskedLogs(store).lines(session.id, first, first + 2)["lines"])
    assert "MIIE" not in text
    assert "x9Zq" not in text


def test_a_long_line_is_cut_until_asked_for(store: MemoryStore, session: Session) -> None:
    logs = MaskedLogs(store)
    (line,) = logs.lines(session.id, 400, 400)["lines"]
    assert len(line[1]) + line[2] == len(LINES[399])
    assert line[2] > 0
    assert logs.lines(session.id, 400, 400, whole=True)["lines"] == [[400, LINES[399], 0]]


def test_search_finds_lines_in_any_case_and_nothing_masked(store: MemoryStore, session: Session) -> None:
    logs = MaskedLogs(store)
    found = logs.search(session.id, "STEP:77 ", 1)
    assert [hit[0] for hit in found["hits"]] == [77]
    assert found["next"] is None
    assert logs.search(session.id, "a1B2a1", 1)["hits"] == []
    many = logs.search(session.id, "entropy", 1)
    assert many["next"] is not None
    assert logs.search(session.id, "entropy", many["next"])["hits"][0][0] == many["next"]
    assert logs.search(session.id, "", 1)["hits"] == []


def test_what_is_masked_is_summed_up(store: MemoryStore, session: Session) -> None:
    found = MaskedLogs(store).summary(session.id)
    assert found["lines"] == found["total"] == 1000
    assert [KEY, 100] in [[word, line] for _, word, line in found["marks"]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[36m(main_task pid=1)\x1b[0m step:1", "(main_task pid=1) step:1"),
        ("10%|#   |\r20%|##  |\r", "20%|##  |"),
        ("a\x00b\x07c", "a\ufffdb\ufffdc"),
        ("\x1b]0;title\x07text", "text"),
        ("safe \u202e evil", "safe \ufffd evil"),
        ("熵 塌缩\tx", "熵 塌缩\tx"),
    ],
)
def test_controls_are_not_shown(text: str, shown: str) -> None:
    assert plain(text) == shown
