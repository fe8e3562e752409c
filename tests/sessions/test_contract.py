"""What every store must do, whatever it is made of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from assistant.answers import answer
from assistant.sessions import NoSession, SessionStore, Unreadable, open_log
from tests.counting import calls
from tests.sessions.conftest import Kind
from tests.sessions.logs import log_text, opened, shown, turn

NOBODY = "A" * 32


def test_a_session_is_found_by_its_id_and_by_no_other(store: SessionStore) -> None:
    one, two = opened(store, name="a.log", owner="slack:T:U"), opened(store, log_text(20), name="b.log", language="zh")
    assert len(one.id) >= 32
    first, second = store.get(one.id), store.get(two.id)
    assert first is not None
    assert second is not None
    assert (first.name, first.owner, first.language, second.name, second.language) == ("a.log", "slack:T:U", None, "b.log", "zh")
    assert shown(first) == shown(one)
    assert shown(second) == shown(two)
    assert store.get("") is store.get(NOBODY) is store.get(one.id[:-1]) is None
    assert store.about(NOBODY) is None


def test_ids_and_tokens_are_plain_letters_and_digits(store: SessionStore) -> None:
    """A command line takes nothing in them for an option, a chat takes nothing for its marks."""
    session = opened(store)
    for made in (session.id, store.share(session.id), *(store.create(session.diagnosis).id for _ in range(20))):
        assert made is not None
        assert made.isascii()
        assert made.isalnum()


def test_what_is_known_of_a_session_without_its_log(kind: Kind) -> None:
    store = kind.open(ttl=100)
    session = opened(store, name="a.log")
    kind.clock.now += 1
    store.add_turn(session.id, turn())
    about = store.about(session.id)
    assert (about.id, about.name, about.n_turns, about.n_runs) == (session.id, "a.log", 1, 1)
    assert about.findings == tuple(f.id for f in session.diagnosis.findings)
    assert (about.log["framework"], about.log["last_step"], about.log["n_lines"]) == ("verl", 30, 30)
    assert about.expires == pytest.approx(about.used + 100)


def test_sessions_are_listed_last_used_first(kind: Kind) -> None:
    store = kind.open()
    ids = []
    for owner in ("ann", "bob", "ann"):
        ids.append(opened(store, owner=owner).id)
        kind.clock.now += 1000
    store.add_turn(ids[0], turn())
    assert [about.id for about in store.sessions()] == [ids[0], ids[2], ids[1]]
    assert [about.id for about in store.sessions("ann")] == [ids[0], ids[2]]
    assert [about.id for about in store.sessions("ann", limit=1)] == [ids[0]]
    assert store.sessions("") == []


# Age and room


def test_age_counts_from_the_last_use(kind: Kind) -> None:
    store = kind.open(ttl=1000)
    used, unused, short, long = (opened(store, ttl=ttl) for ttl in (None, None, 10, 86400))
    kind.clock.now += 600
    assert store.get(used.id)
    kind.clock.now += 600
    assert store.get(used.id)
    assert store.get(unused.id) is store.get(short.id) is None
    assert store.get(long.id)
    store.sweep()
    assert {about.id for about in store.sessions()} == {used.id, long.id}


def test_looking_at_the_list_is_no_use(kind: Kind) -> None:
    store = kind.open(ttl=1000)
    session = opened(store)
    kind.clock.now += 900
    assert store.about(session.id)
    assert store.transcript(session.id) == []
    assert len(store.sessions()) == 1
    kind.clock.now += 101
    assert store.about(session.id) is None


@pytest.mark.parametrize("use", ["add_turn", "feedback", "lines", "keep", "bind", "share"])
def test_every_kind_of_use_keeps_a_session(kind: Kind, use: str) -> None:
    store = kind.open(ttl=1000)
    session = opened(store)
    store.add_turn(session.id, turn())
    kind.clock.now += 900
    {
        "add_turn": lambda: store.add_turn(session.id, turn()),
        "feedback": lambda: store.feedback(session.id, 0, True),
        "lines": lambda: store.lines(session.id, 1, 2),
        "keep": lambda: store.keep(session.id, "guide", 1),
        "bind": lambda: store.bind("slack:1", session.id),
        "share": lambda: store.share(session.id, hours=0.001),
    }[use]()
    kind.clock.now += 900
    assert store.get(session.id)


def test_the_least_recently_used_makes_room(kind: Kind) -> None:
    store = kind.open(max_sessions=2)
    first, second = opened(store), opened(store)
    kind.clock.now += 100
    store.get(first.id)
    kind.clock.now += 100
    third = opened(store)
    store.sweep()
    assert store.get(second.id) is None
    assert store.get(first.id)
    assert store.get(third.id)


# Turns


def test_turns_are_kept_in_order_with_what_stands_behind_the_answer(store: SessionStore) -> None:
    session = opened(store)
    given = answer("why is the entropy falling?", session.diagnosis)
    assert [store.add_turn(session.id, given.turn, answer=given), store.add_turn(session.id, turn("and then?", "That."))] == [0, 1]
    again = store.get(session.id)
    assert again is not None
    assert again.turns == (given.turn, turn("and then?", "That."))
    first, second = store.transcript(session.id)
    assert (first.question, first.markdown, first.index) == (given.turn.question, given.markdown, 0)
    assert first.answer["facts"] == [fact.to_json() for fact in given.facts]
    assert first.answer["numbers"] == [number.to_json() for number in given.numbers]
    assert (first.answer["language"], first.answer["mode"]) == ("en", "builtin")
    assert not {"usage", "prompt"} & set(first.answer)
    assert (second.markdown, second.answer, second.good) == ("That.", {}, None)


def test_a_session_brings_its_latest_turns_the_transcript_has_all(store: SessionStore) -> None:
    session = opened(store)
    for number in range(60):
        assert store.add_turn(session.id, turn(str(number))) == number
    again = store.get(session.id)
    assert again is not None
    assert [t.question for t in again.turns] == [str(n) for n in range(10, 60)]
    assert [one.question for one in store.transcript(session.id)] == [str(n) for n in range(60)]


def test_a_turn_for_a_session_that_is_gone_is_dropped(store: SessionStore) -> None:
    session = opened(store)
    store.remove(session.id)
    store.remove(NOBODY)
    assert store.add_turn(session.id, turn()) is None
    assert store.transcript(session.id) == []
    assert store.lines(session.id, 1, 5).total == 0
    assert store.search(session.id, "step") == ([], False)
    assert store.share(session.id) is store.fork(session.id) is None
    assert not store.feedback(session.id, 0, True)
    store.keep(session.id, "a", 1)
    store.set_language(session.id, "zh")
    assert store.add_run(session.id, session.diagnosis) is store.reread(session.id, era="0.6") is store.remove_run(session.id, 0) is None
    assert store.sessions() == []


def test_threads_do_not_lose_turns(store: SessionStore) -> None:
    session = opened(store)
    with ThreadPoolExecutor(8) as pool:
        indexes = list(pool.map(lambda n: store.add_turn(session.id, turn(str(n))), range(80)))
    assert sorted(indexes) == list(range(80))
    kept = store.transcript(session.id)
    assert [one.index for one in kept] == list(range(80))
    assert sorted(int(one.question) for one in kept) == list(range(80))


# Runs


def test_further_runs_of_a_talk(store: SessionStore) -> None:
    session = opened(store, name="a.log")
    second, third = log_text(40, start=0.9), log_text(15)
    store.add_run(session.id, open_log(second), "b.log", source=second)
    more = store.add_run(session.id, open_log(third), "c.log", source=third)
    assert more is not None
    assert [(name, d.run.last_step) for name, d in more.others] == [("b.log", 40), ("c.log", 15)]
    assert [store.lines(session.id, 1, 1, run=n).total for n in range(4)] == [30, 40, 15, 0]
    assert store.lines(session.id, 2, 2, run=1)[0].text == second.decode().split("\n")[1]
    less = store.remove_run(session.id, 0)
    assert less is not None
    assert [name for name, _ in less.others] == ["c.log"]
    assert store.lines(session.id, 1, 1, run=1).total == 15
    assert store.remove_run(session.id, 7) == store.remove_run(session.id, -1)
    about = store.about(session.id)
    assert about is not None
    assert about.n_runs == 2


def test_a_run_is_read_again_as_the_user_says_it_is(store: SessionStore) -> None:
    data = b"".join(
        b"{'loss': %.2f, 'grad_norm': 0.5, 'learning_rate': 1e-06, 'reward': 0.3, 'epoch': %.2f}\n" % (1 / n, n / 10) for n in range(1, 30)
    )
    session = opened(store, data, name="a.log")
    store.add_turn(session.id, turn())
    told = store.reread(session.id, format="hf-trainer", era="4.9")
    assert told is not None
    assert (told.diagnosis.run.framework, told.diagnosis.run.era, told.format, told.era) == ("hf-trainer", "4.9", "hf-trainer", "4.9")
    assert told.turns == (turn(),)
    assert told.diagnosis.run.n_rows == session.diagnosis.run.n_rows
    with pytest.raises(Unreadable, match="unknown-format"):
        store.reread(session.id, format="no such thing")
    again = store.get(session.id)
    assert again is not None
    assert again.format == "hf-trainer"
    back = store.reread(session.id)
    assert shown(back) == shown(session)
    assert back is not None
    assert (back.format, back.era) == (None, None)


def test_without_its_source_a_session_has_no_lines_and_is_not_read_again(store: SessionStore) -> None:
    session = store.create(open_log(log_text()), "a.log")
    assert shown(store.get(session.id)) == shown(session)
    assert store.lines(session.id, 1, 3).total == 0
    assert store.reread(session.id, era="0.6") is None


# Feedback


def test_feedback_is_kept_with_question_evidence_and_answer(store: SessionStore) -> None:
    session = opened(store)
    given = answer("why is the entropy falling?", session.diagnosis)
    store.add_turn(session.id, given.turn, answer=given)
    store.add_turn(session.id, turn("q from ann@example.org?", "see /home/annlee/run"))
    assert store.feedback(session.id, 0, True)
    assert store.feedback(session.id, 1, False, "wrong, says bob@example.org")
    assert not store.feedback(session.id, 2, True)
    assert not store.feedback(session.id, -1, True)
    rated = [(one.good, one.reason) for one in store.transcript(session.id)]
    assert rated == [(True, ""), (False, "wrong, says bob@example.org")]
    first, second = store.given_feedback()
    assert (first["question"], first["answer"], first["good"]) == (given.turn.question, given.markdown, True)
    assert first["facts"] == [fact.to_json() for fact in given.facts]
    assert first["run"]["framework"] == "verl"
    assert first["run_findings"] == [f.id for f in session.diagnosis.findings]
    assert "example.org" not in str(second)
    assert "annlee" not in str(second)
    assert "@" not in second["reason"]
    assert second["reason"].startswith("wrong, says ")
    assert not any(owner in str(first) for owner in (session.id,))


def test_feedback_can_be_changed_and_taken_back_and_outlives_the_session(kind: Kind) -> None:
    store = kind.open(ttl=1000)
    kept, gone = opened(store, owner="ann"), opened(store, owner="ann")
    for session in (kept, gone):
        store.add_turn(session.id, turn(f"q {session.id}"))
        store.feedback(session.id, 0, True)
        kind.clock.now += 1
    store.feedback(kept.id, 0, False, "no")
    assert sorted(row["good"] for row in store.given_feedback()) == [False, True]
    store.feedback(kept.id, 0, None)
    assert [row["good"] for row in store.given_feedback()] == [True]
    assert store.transcript(kept.id)[0].good is None
    store.feedback(kept.id, 0, False, "no")
    kind.clock.now += 2000
    store.sweep()
    assert store.sessions() == []
    assert len(list(store.given_feedback())) == 2
    store.remove(gone.id)
    assert len(list(store.given_feedback())) == 2
    store.remove(gone.id, feedback=True)
    assert [row["good"] for row in store.given_feedback()] == [False]
    assert store.forget("ann") == 0
    assert list(store.given_feedback()) == []


# What faces remember


def test_small_values_language_and_threads(kind: Kind) -> None:
    store = kind.open()
    session, other = opened(store), opened(store)
    store.keep(session.id, "guide", {"id": "reward-flat", "choices": ["yes", "没有"]})
    store.keep(session.id, "gone", 1)
    store.keep(session.id, "gone", None)
    store.set_language(session.id, "zh")
    again = store.get(session.id)
    assert again is not None
    assert (again.kept, again.language) == ({"guide": {"id": "reward-flat", "choices": ["yes", "没有"]}}, "zh")
    with pytest.raises(ValueError, match="large"):
        store.keep(session.id, "log", "x" * 70_000)
    with pytest.raises(ValueError, match="JSON"):
        store.keep(session.id, "log", object())
    assert store.bound("slack:T:C:1.1") is None
    store.bind("slack:T:C:1.1", session.id)
    store.bind("slack:T:C:2.2", session.id)
    store.bind("slack:T:C:2.2", other.id)
    assert (store.bound("slack:T:C:1.1"), store.bound("slack:T:C:2.2")) == (session.id, other.id)
    with pytest.raises(NoSession):
        store.bind("slack:T:C:3.3", NOBODY)
    store.remove(session.id)
    assert store.bound("slack:T:C:1.1") is None


# Links


def test_a_link_opens_a_session_until_it_expires_or_is_revoked(kind: Kind) -> None:
    store = kind.open(ttl=3600)
    session, other = opened(store, name="a.log"), opened(store)
    short, long, third = (store.share(session.id, hours=hours) for hours in (2, 48, 48))
    assert len({short, long, third, session.id}) == 4
    assert all(len(token) >= 43 for token in (short, long, third))
    assert {store.by_token(token).id for token in (short, long, third)} == {session.id}
    assert store.by_token("") is store.by_token(session.id) is store.by_token(short[:-1]) is None
    kind.clock.now += 3 * 3600
    assert store.sweep() == 1  # the other one; a link keeps its session
    assert store.get(other.id) is None
    assert store.by_token(short) is None
    assert store.by_token(long).name == "a.log"
    assert store.unshare(other.id, third) == 0
    assert store.unshare(session.id, third) == 1
    assert store.by_token(third) is None
    assert store.by_token(long)
    assert store.unshare(session.id) >= 1
    assert store.by_token(long) is None
    assert store.get(session.id)
    kind.clock.now += 2 * 3600
    assert store.get(session.id) is None  # without links its age counts again


def test_a_copy_goes_its_own_way(store: SessionStore) -> None:
    session = opened(store, name="a.log", owner="ann")
    second = log_text(12)
    store.add_run(session.id, open_log(second), "b.log", source=second)
    store.add_turn(session.id, turn("first"))
    store.feedback(session.id, 0, True)
    store.keep(session.id, "guide", 1)
    copy = store.fork(session.id, owner="bob")
    assert copy is not None
    assert copy.id != session.id
    assert (copy.owner, copy.name, copy.turns, copy.kept, len(copy.others)) == ("bob", "a.log", (turn("first"),), {}, 1)
    assert store.add_turn(copy.id, turn("second")) == 1
    assert len(store.transcript(session.id)) == 1
    assert store.transcript(copy.id)[0].good is None
    short = store.fork(session.id, ttl=60)
    assert short is not None
    first, same, other = (store.about(one.id) for one in (session, copy, short))
    assert first is not None
    assert same is not None
    assert other is not None
    assert round(first.expires - first.used) == round(same.expires - same.used) == 6 * 3600
    assert round(other.expires - other.used) == 60
    store.remove(session.id)
    assert [store.lines(copy.id, 1, 1, run=n).total for n in (0, 1)] == [30, 12]
    assert shown(store.get(copy.id)) == shown(session)


# Forgetting


def test_a_person_is_forgotten_and_nobody_else(store: SessionStore) -> None:
    shared = log_text()
    mine, mine_too, other = opened(store, shared, owner="ann"), opened(store, log_text(9), owner="ann"), opened(store, shared, owner="bob")
    for session in (mine, other):
        store.add_turn(session.id, turn("q"))
        store.feedback(session.id, 0, False, session.owner)
    mine_asked = store.ask(mine.id, "open", key="1", owner="ann")
    before_reading = store.ask("", "diagnose this", key="2", owner="ann")
    others_asked = store.ask(other.id, "open", key="3", owner="bob")
    assert mine_asked
    assert before_reading
    assert others_asked
    token = store.share(mine.id)
    assert token
    assert store.forget("ann") == 2
    assert store.get(mine.id) is store.get(mine_too.id) is store.by_token(token) is None
    assert [row["reason"] for row in store.given_feedback()] == ["bob"]
    assert [pending.id for pending in store.open_questions()] == [others_asked.id]
    assert not store.claim(before_reading.id, "w")
    assert shown(store.get(other.id)) == shown(other)
    assert store.lines(other.id, 1, 1).total == 30
    assert store.forget("ann") == store.forget("nobody") == 0
    with pytest.raises(ValueError, match="nobody"):
        store.forget("")
    assert store.get(other.id)


# Questions


def test_a_question_is_noted_once_claimed_once_and_answered_once(kind: Kind) -> None:
    store = kind.open()
    session = opened(store)
    pending = store.ask(session.id, "why?", key="Ev1", owner="ann", data={"channel": "C1", "ts": "1.2"})
    assert store.ask(session.id, "why?", key="Ev1") is None
    assert (pending.question, pending.data, pending.owner, pending.attempts) == ("why?", {"channel": "C1", "ts": "1.2"}, "ann", 0)
    assert store.open_questions() == [pending]
    assert store.claim(pending.id, "one", lease_seconds=10)
    assert not store.claim(pending.id, "two", lease_seconds=10)
    assert store.open_questions() == []
    kind.clock.now += 8
    assert store.claim(pending.id, "one", lease_seconds=10)  # prolonged
    kind.clock.now += 8
    assert not store.claim(pending.id, "two")
    assert store.answered(pending.id, turn("why?", "So."), worker="two") is None
    assert store.answered(pending.id, turn("why?", "So."), worker="one") == 0
    assert store.answered(pending.id, turn("why?", "Otherwise."), worker="one") is None
    assert [one.markdown for one in store.transcript(session.id)] == ["So."]
    assert store.open_questions() == []
    assert not store.claim(pending.id, "two")
    assert store.ask(session.id, "why?", key="Ev1") is None
    assert not store.claim(NOBODY, "one")


def test_a_lease_that_ran_out_gives_the_question_to_another(kind: Kind) -> None:
    store = kind.open()
    session = opened(store)
    pending = store.ask(session.id, "why?", key="Ev1")
    assert store.claim(pending.id, "dead", lease_seconds=10)
    kind.clock.now += 11
    assert [(one.id, one.attempts) for one in store.open_questions()] == [(pending.id, 1)]
    assert store.claim(pending.id, "alive", lease_seconds=10)
    assert not store.claim(pending.id, "dead")
    assert store.answered(pending.id, turn("why?", "late"), worker="dead") is None
    store.release(pending.id, "dead")
    assert store.open_questions() == []
    store.release(pending.id, "alive")
    assert [one.attempts for one in store.open_questions()] == [2]
    assert store.claim(pending.id, "alive")
    assert store.answered(pending.id, turn("why?", "in time"), worker="alive") == 0
    assert [one.markdown for one in store.transcript(session.id)] == ["in time"]


def test_an_answer_may_be_there_and_not_yet_delivered(kind: Kind) -> None:
    store = kind.open()
    session = opened(store)
    pending = store.ask(session.id, "why?", key="Ev1")
    assert store.claim(pending.id, "one", lease_seconds=10)
    assert store.answered(pending.id, turn("why?", "So."), worker="one", delivered=False) == 0
    assert store.open_questions() == []
    kind.clock.now += 11
    waiting = store.open_questions()
    assert [(one.id, one.turn_index) for one in waiting] == [(pending.id, 0)]
    assert store.claim(pending.id, "two")
    assert store.answered(pending.id, turn("why?", "Again."), worker="two") is None
    assert store.transcript(session.id)[waiting[0].turn_index].markdown == "So."
    store.delivered(pending.id)
    kind.clock.now += 1000
    assert store.open_questions() == []


def test_a_question_may_come_before_its_log_is_read(kind: Kind) -> None:
    store = kind.open()
    pending = store.ask("", "diagnose this", key="Ev1", data={"file": "F1", "text": "x" * 200_000})
    assert pending.session_id == ""
    assert store.claim(pending.id, "one")
    session = opened(store)
    assert store.answered(pending.id, turn("diagnose this", "Look."), worker="one", session_id=session.id) == 0
    assert [one.question for one in store.transcript(session.id)] == ["diagnose this"]
    first_look = store.ask("", "log", key="Ev2")
    assert store.answered(first_look.id, None) == -1
    assert store.open_questions() == []
    lost = store.ask("", "log", key="Ev3")
    with pytest.raises(NoSession):
        store.answered(lost.id, turn(), session_id=NOBODY)
    assert [one.id for one in store.open_questions()] == [lost.id]
    with pytest.raises(NoSession):
        store.ask(NOBODY, "why?", key="Ev4")
    assert store.ask(session.id, "why?", key="Ev4")  # it was not noted as seen


def test_questions_go_with_their_session(store: SessionStore) -> None:
    session = opened(store)
    pending = store.ask(session.id, "why?", key="Ev1")
    assert pending
    store.remove(session.id)
    assert store.open_questions() == []
    assert store.answered(pending.id, turn()) is None


def test_keys_are_remembered_for_their_time(kind: Kind) -> None:
    store = kind.open()
    session = opened(store, ttl=10 * 86400)
    assert not store.seen("Ev1", hours=1)
    assert store.seen("Ev1", hours=1)
    assert store.ask(session.id, "q", key="Ev1", hours=1)  # of another kind
    kind.clock.now += 3601
    store.sweep()
    assert not store.seen("Ev1", hours=1)
    assert store.ask(session.id, "q", key="Ev1", hours=1)


def test_looking_whether_a_key_is_known_remembers_nothing(kind: Kind) -> None:
    store = kind.open()
    assert not store.known("Ev1")
    assert not store.known("Ev1")
    assert not store.seen("Ev1", hours=1)
    assert store.known("Ev1")
    kind.clock.now += 3601
    assert not store.known("Ev1")


def test_what_was_asked_before_in_the_same_talk_is_ahead_until_it_is_answered(kind: Kind) -> None:
    store = kind.open()
    session = opened(store)
    first = store.ask("", "", key="Ev1", lane="slack:T1:C1:1.0")
    kind.clock.now += 1
    second = store.ask("", "", key="Ev2", lane="slack:T1:C1:1.0")
    store.ask("", "", key="Ev3", lane="slack:T1:C1:2.0")
    store.ask("", "", key="Ev4")

    def ahead() -> list[bool]:
        return [store.ahead("slack:T1:C1:1.0", one.asked) for one in (first, second)]

    assert ahead() == [False, True]
    assert store.claim(first.id, "one", lease_seconds=10)
    assert ahead() == [False, True]  # whoever holds it
    kind.clock.now += 11
    assert ahead() == [False, True]  # also when who held it died
    assert store.ahead("slack:T1:C1:1.0")
    assert store.answered(first.id, None, session_id=session.id, delivered=False) == -1
    assert ahead() == [False, False]  # what follows may begin while the answer is still being shown
    assert store.answered(second.id, None) == -1
    assert not store.ahead("slack:T1:C1:1.0")
    assert not store.ahead("")


def test_open_questions_come_oldest_first(kind: Kind) -> None:
    store = kind.open()
    session = opened(store)
    for number in range(8):
        store.ask(session.id, str(number), key=str(number))
        kind.clock.now += 1
    assert [one.question for one in store.open_questions()] == [str(n) for n in range(8)]
    assert [one.question for one in store.open_questions(limit=3)] == ["0", "1", "2"]


# Whatever people paste

HOSTILE = [
    "\x00",
    "a\x00b",
    "\ud800",
    "x\udfff\ud83d",
    "'; DROP TABLE sessions; --",
    "<script>alert(1)</script>",
    "../../../../etc/passwd",
    "C:\\Windows\\system32\\con",
    "%s %(x)s :id ?1 {0}",
    "🧪" * 50,
    "线" * 5000,
    "\u202egnp.exe",
    "a" * 100_000,
    "",
]


def test_any_text_can_be_kept(store: SessionStore) -> None:
    for text in HOSTILE:
        session = opened(store, name=text, owner=text)
        given: Any = answer(f"entropy {text}", session.diagnosis)
        assert store.add_turn(session.id, given.turn, answer=given) == 0
        assert store.add_turn(session.id, turn(text, text)) == 1
        assert store.feedback(session.id, 1, False, text)
        store.keep(session.id, text[:100], text[:100])
        store.bind(text, session.id)
        assert store.bound(text) == session.id
        pending = store.ask(session.id, text, key=text, owner=text, data={text[:100]: text})
        assert pending is not None
        assert store.claim(pending.id, text or "w")
        assert store.search(session.id, text)[0] == []
        again = store.get(session.id)
        assert again is not None
        expected = text.replace("\x00", "\ufffd") if text.isascii() else None
        if expected is not None and store.__class__.__name__ != "MemoryStore":
            assert (again.name, again.turns[1].question, store.transcript(session.id)[1].markdown) == (expected, expected, expected)
        assert store.lines(session.id, 1, 1).total == 30
    rows = list(store.given_feedback())
    assert len(rows) == len(HOSTILE)
    import orjson

    assert all(orjson.dumps(row) for row in rows)


def test_opening_a_long_list_reads_no_log_again(store: SessionStore) -> None:
    data = log_text(5)
    diagnosis = open_log(data)
    for number in range(60):
        store.create(diagnosis, str(number), source=data)
    assert len(store.sessions(limit=50)) == 50
    assert calls(lambda: store.sessions(limit=50)) < calls(lambda: open_log(data))
