"""Whatever is done in whatever order: memory and database agree, and the disk holds the logs of the sessions there are, no others."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from assistant.sessions import MemoryStore, NoSession, open_log
from assistant.sessions.database import DatabaseStore
from tests.sessions.conftest import Clock
from tests.sessions.logs import log_text, turn

LOGS = [log_text(n) for n in (5, 8, 11)]
DIAGNOSES = [open_log(data) for data in LOGS]
WHICH = st.integers(0, 5)
LOG = st.integers(0, len(LOGS) - 1)
OWNER = st.sampled_from(["", "ann", "bob"])


PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without making a failing run short: each of its tries makes a database."""


class Stores(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.folder = Path(tempfile.mkdtemp(prefix="rw-same-"))
        self.stores: tuple[Any, Any] = (
            MemoryStore(ttl=10_000, clock=self.clock),
            DatabaseStore("", self.folder, ttl=10_000, clock=self.clock, sweep_every=0.0),
        )
        self.sessions: list[tuple[str, str]] = []
        self.questions: list[tuple[str, str]] = []
        self.tokens: list[tuple[Any, Any]] = []

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def both(self, do: Any) -> tuple[Any, Any]:
        results = []
        for number, store in enumerate(self.stores):
            try:
                results.append(do(store, number))
            except (NoSession, ValueError) as problem:
                results.append(type(problem))
        return results[0], results[1]

    def same(self, do: Any) -> Any:
        one, other = self.both(do)
        assert one == other
        return one

    @initialize(log=LOG)
    def first(self, log: int) -> None:
        self.create(log, "ann", True)

    @rule(log=LOG, owner=OWNER, source=st.booleans())
    def create(self, log: int, owner: str, source: bool) -> None:
        given = LOGS[log] if source else None
        made = self.both(lambda store, _: store.create(DIAGNOSES[log], f"{log}.log", source=given, owner=owner))
        self.sessions.append((made[0].id, made[1].id))

    def chosen(self, which: int) -> tuple[str, str]:
        return self.sessions[-1 - which % len(self.sessions)]

    @rule(which=WHICH, log=LOG)
    def add_run(self, which: int, log: int) -> None:
        ids = self.chosen(which)
        self.same(lambda store, n: bool(store.add_run(ids[n], DIAGNOSES[log], "more", source=LOGS[log])))

    @rule(which=WHICH, index=st.integers(-1, 2))
    def remove_run(self, which: int, index: int) -> None:
        ids = self.chosen(which)
        self.same(lambda store, n: bool(store.remove_run(ids[n], index)))

    @rule(which=WHICH, words=st.text(max_size=5))
    def add_turn(self, which: int, words: str) -> None:
        ids = self.chosen(which)
        self.same(lambda store, n: store.add_turn(ids[n], turn(words.replace("\x00", ""))))

    @rule(which=WHICH, index=st.integers(0, 3), good=st.sampled_from([True, False, None]))
    def feedback(self, which: int, index: int, good: bool | None) -> None:
        ids = self.chosen(which)
        self.same(lambda store, n: store.feedback(ids[n], index, good, "because"))

    @rule(which=WHICH, value=st.one_of(st.none(), st.integers(0, 9)))
    def keep(self, which: int, value: int | None) -> None:
        ids = self.chosen(which)
        self.same(lambda store, n: store.keep(ids[n], "k", value))

    @rule(which=WHICH, key=st.sampled_from("xyz"))
    def bind(self, which: int, key: str) -> None:
        ids = self.chosen(which)
        self.same(lambda store, n: store.bind(key, ids[n]))

    @rule(which=WHICH, hours=st.sampled_from([0.5, 5]))
    def share(self, which: int, hours: float) -> None:
        ids = self.chosen(which)
        tokens = self.both(lambda store, n: store.share(ids[n], hours))
        assert (tokens[0] is None) == (tokens[1] is None)
        if tokens[0]:
            self.tokens.append(tokens)

    @precondition(lambda self: self.tokens)
    @rule(which=WHICH, token=WHICH, all_=st.booleans())
    def unshare(self, which: int, token: int, all_: bool) -> None:
        ids, tokens = self.chosen(which), self.tokens[token % len(self.tokens)]
        self.same(lambda store, n: bool(store.unshare(ids[n], None if all_ else tokens[n])))

    @rule(which=WHICH, owner=OWNER)
    def fork(self, which: int, owner: str) -> None:
        ids = self.chosen(which)
        made = self.both(lambda store, n: store.fork(ids[n], owner=owner))
        assert (made[0] is None) == (made[1] is None)
        if made[0] is not None:
            self.sessions.append((made[0].id, made[1].id))

    @rule(which=WHICH, key=st.sampled_from("abcd"), early=st.booleans(), owner=OWNER)
    def ask(self, which: int, key: str, early: bool, owner: str) -> None:
        ids = self.chosen(which)
        made = self.both(lambda store, n: store.ask("" if early else ids[n], f"about {key}", key=key, owner=owner, hours=1))
        assert type(made[0]) is type(made[1])
        if hasattr(made[0], "id"):
            self.questions.append((made[0].id, made[1].id))

    @precondition(lambda self: self.questions)
    @rule(which=WHICH, worker=st.sampled_from("vw"), seconds=st.sampled_from([50, 500]))
    def claim(self, which: int, worker: str, seconds: float) -> None:
        ids = self.questions[-1 - which % len(self.questions)]
        self.same(lambda store, n: store.claim(ids[n], worker, seconds))

    @precondition(lambda self: self.questions)
    @rule(which=WHICH, worker=st.sampled_from(["", "v", "w"]), delivered=st.booleans(), to=st.one_of(st.none(), WHICH))
    def answered(self, which: int, worker: str, delivered: bool, to: int | None) -> None:
        ids = self.questions[-1 - which % len(self.questions)]
        target = ("", "") if to is None else self.chosen(to)
        self.same(lambda store, n: store.answered(ids[n], turn("done"), worker=worker, session_id=target[n], delivered=delivered))

    @rule(lane=st.sampled_from(["", "one", "two"]), key=st.sampled_from("efg"))
    def ask_in_lane(self, lane: str, key: str) -> None:
        made = self.both(lambda store, _: store.ask("", key, key=key, hours=1, lane=lane))
        assert (made[0] is None) == (made[1] is None)
        if made[0] is not None:
            self.questions.append((made[0].id, made[1].id))

    @precondition(lambda self: self.questions)
    @rule(which=WHICH, worker=st.sampled_from("vw"))
    def release(self, which: int, worker: str) -> None:
        ids = self.questions[-1 - which % len(self.questions)]
        self.same(lambda store, n: store.release(ids[n], worker))

    @rule(which=WHICH, feedback=st.booleans())
    def remove(self, which: int, feedback: bool) -> None:
        ids = self.chosen(which)
        self.same(lambda store, n: store.remove(ids[n], feedback=feedback))

    @rule(owner=OWNER)
    def forget(self, owner: str) -> None:
        self.stores[1].sweep()  # what is too old counts no more
        self.same(lambda store, n: store.forget(owner))

    @rule(seconds=st.sampled_from([100, 700, 6_000]))
    def wait(self, seconds: int) -> None:
        self.clock.now += seconds

    @invariant()
    def they_agree(self) -> None:
        for ids in self.sessions[-6:]:
            self.same(lambda store, n, ids=ids: _about(store.about(ids[n])))
            self.same(lambda store, n, ids=ids: [(one.index, one.question, one.good, one.reason) for one in store.transcript(ids[n])])
        self.same(lambda store, n: sorted(str((one.question, one.attempts, one.turn_index)) for one in store.open_questions()))
        self.same(lambda store, n: sorted((row["question"], row["good"], row["at"]) for row in store.given_feedback()))
        self.same(lambda store, n: len(store.sessions()))
        self.same(lambda store, n: [store.ahead(lane, asked) for lane in ("one", "two", "") for asked in (None, self.clock.now - 50)])
        self.same(lambda store, n: [store.known(f"ask {key}") for key in "abcdefg"])

    @invariant()
    def the_disk_holds_what_there_is(self) -> None:
        for one in self.stores:
            one.sweep()
        store = self.stores[1]
        wanted = set()
        with store.engine.connect() as connection:
            for about in store.sessions():
                wanted |= {row.sha256 for row in store._run_rows(connection, about.id) if row.sha256}
        assert {path.name.partition(".")[0] for path in store.logs.folder.glob("??/*.zst")} == wanted
        memory = self.stores[0]
        held = {path.name.partition(".")[0] for path in memory._logs.folder.glob("??/*.zst")} if memory._logs else set()
        assert held == wanted


def _about(about: Any) -> Any:
    if about is None:
        return None
    return about.name, about.owner, about.created, about.used, about.expires, about.n_turns, about.n_runs, about.findings


Stores.TestCase.settings = settings(
    max_examples=10, stateful_step_count=25, deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck)
)
TestSame = Stores.TestCase
