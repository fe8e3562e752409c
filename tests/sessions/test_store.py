from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from assistant.answers import Turn
from assistant.diagnosis import Diagnosis
from assistant.sessions import MemoryStore
from assistant.sessions.session import size_of
from tests.builders import run_of


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def diagnosis(n_steps: int = 10) -> Diagnosis:
    return Diagnosis(run_of({"actor/entropy": [0.4] * n_steps}), [], [], [])


def turn(question: str) -> Turn:
    return Turn(question, (), ())


def test_a_session_is_found_by_its_id_and_by_no_other() -> None:
    store = MemoryStore()
    one, two = store.create(diagnosis(), "a.log"), store.create(diagnosis(), "b.log")
    assert store.get(one.id) is one
    assert store.get(two.id) is two
    assert store.get("") is None
    assert store.get(one.id[:-1]) is None
    assert len(one.id) >= 32


def test_turns_are_kept_in_order_and_only_the_latest() -> None:
    store = MemoryStore(max_turns=3)
    session = store.create(diagnosis())
    for number in range(5):
        store.add_turn(session.id, turn(str(number)))
    kept = store.get(session.id)
    assert kept is not None
    assert [t.question for t in kept.turns] == ["2", "3", "4"]


def test_a_turn_for_a_session_that_is_gone_is_dropped() -> None:
    store = MemoryStore()
    session = store.create(diagnosis())
    store.remove(session.id)
    store.add_turn(session.id, turn("still there?"))
    assert store.get(session.id) is None
    assert len(store) == 0
    assert store.n_bytes == 0


def test_age_counts_from_the_last_use() -> None:
    clock = Clock()
    store = MemoryStore(ttl=100, clock=clock)
    used, unused = store.create(diagnosis()), store.create(diagnosis())
    clock.now += 60
    assert store.get(used.id)
    clock.now += 60
    assert store.get(used.id)
    assert store.get(unused.id) is None


def test_the_least_recently_used_makes_room() -> None:
    store = MemoryStore(max_sessions=2)
    first, second = store.create(diagnosis()), store.create(diagnosis())
    store.get(first.id)
    third = store.create(diagnosis())
    assert store.get(second.id) is None
    assert store.get(first.id)
    assert store.get(third.id)


def test_bytes_are_limited_but_the_newest_log_always_stays() -> None:
    small, large = size_of(diagnosis(10).run), size_of(diagnosis(5000).run)
    store = MemoryStore(max_bytes=small * 2)
    first = store.create(diagnosis(10))
    huge = store.create(diagnosis(5000))
    assert large > small * 2
    assert store.get(first.id) is None
    assert store.get(huge.id)
    after = store.create(diagnosis(10))
    assert store.get(huge.id) is None
    assert store.get(after.id)


@given(st.lists(st.tuples(st.sampled_from(["create", "get", "remove", "wait"]), st.integers(0, 9)), max_size=60))
def test_the_count_and_the_bytes_agree_with_what_can_be_found(actions: list[tuple[str, int]]) -> None:
    clock = Clock()
    store = MemoryStore(ttl=50, max_sessions=4, clock=clock)
    ids: list[str] = []
    for action, number in actions:
        if action == "create":
            ids.append(store.create(diagnosis(number + 1)).id)
        elif action == "wait":
            clock.now += number * 5
        elif ids:
            (store.get if action == "get" else store.remove)(ids[number % len(ids)])
        assert len(store) <= 4
    alive = [session for i in ids if (session := store.get(i))]
    assert len(alive) == len(store)
    assert store.n_bytes == sum(size_of(session.diagnosis.run) for session in alive)


def test_threads_do_not_lose_turns() -> None:
    store = MemoryStore(max_turns=1000)
    session = store.create(diagnosis())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.add_turn(session.id, turn(str(n))), range(400)))
    kept = store.get(session.id)
    assert kept is not None
    assert sorted(int(t.question) for t in kept.turns) == list(range(400))
