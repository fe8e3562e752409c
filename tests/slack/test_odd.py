"""What people and Slack do besides: edits, deletions, withdrawn rights, other workspaces, many at once, old buttons."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assistant.sessions import Settings, open_store
from tests.slack.conftest import Space, log_of
from tests.slack.driver import BotProcess, bot, environment, event_body, message_event
from tests.slack.rules import alive
from tests.slack.server import BOT_USER, Message, SlackServer
from tests.slack.test_reliable import FREE, parts

COLLAPSE = "Policy entropy collapsed"
FAILED, CHANGE = "The reward function failed", "custom_reward_function"
"""What is said of a log of a few lines, for tests in which it does not matter which: nothing is drawn for it."""


def with_log(space: Space, channel: str, text: str = "", case: str = "l", **more: str) -> Message:
    return space.write(text, channel=channel, files=[space.slack.add_file("train.log", log_of(case))], **more)


def nothing_more(space: Space, channel: str, n: int) -> None:
    """Whatever else was sent is done (a marker in a thread of its own was answered), and there are ``n`` messages besides."""
    marker = space.write("hello", channel=f"{channel}x")
    space.replies(marker)
    time.sleep(0.2)
    assert len([m for m in space.slack.by_bot(channel) if not m.files]) == n


# Messages


def test_log_of_forty_kilobytes_in_a_message(space: Space, channel: str) -> None:
    pasted = log_of("m").decode()[-38_000:].partition("\n")[2]
    asked = space.write(f"what is wrong?\n```{pasted}```", channel=channel)
    look, reply = space.replies(asked, 2)
    assert "act on" in look.shown
    assert COLLAPSE in reply.shown


def test_forty_kilobytes_of_prose_are_told_to_be_too_long(space: Space, direct: str) -> None:
    asked = space.write("why is that so " * 2700, channel=direct)
    (told,) = space.replies(asked)
    assert "4000" in told.shown


def test_edits_and_deletions_are_no_questions(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    space.replies(asked)
    edited = {"type": "message", "user": "U1", "ts": asked.ts, "text": f"<@{BOT_USER}> why? (edited)", "edited": {"ts": "2.0"}}
    for event in (
        {"type": "message", "subtype": "message_changed", "channel": channel, "ts": "9.1", "message": edited, "hidden": True},
        {"type": "message", "subtype": "message_deleted", "channel": channel, "ts": "9.2", "deleted_ts": asked.ts, "hidden": True},
        {"type": "app_mention", "channel": channel, **{k: v for k, v in edited.items() if k != "type"}},
    ):
        space.event(event)
    nothing_more(space, channel, 1)


def test_thread_whose_first_message_was_deleted_goes_on(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    space.replies(asked)
    space.slack.messages.remove(asked)
    space.write("what should I change first?", channel=channel, thread=asked.ts, mention=False)
    assert CHANGE in space.replies(asked, 2)[1].shown


def test_private_channel(space: Space, channel: str) -> None:
    asked = with_log(space, f"G{channel}")
    space.replies(asked)
    later = space.slack.say(asked.channel, "U1", "what should I change first?", asked.ts)
    space.event(message_event(later) | {"channel_type": "group"})
    assert CHANGE in space.replies(asked, 2)[1].shown


def test_language_follows_the_question(space: Space, channel: str) -> None:
    space.slack.locales["UZH2"] = "zh-CN"
    asked = with_log(space, channel, case="m", user="UZH2")
    (look,) = space.replies(asked)
    assert "需要处理" in look.shown
    space.write("what should I change first?", channel=channel, thread=asked.ts, user="UZH2", mention=False)
    assert "numbers checked" in space.replies(asked, 2)[1].shown.lower()
    space.write("为什么熵下降了？", channel=channel, thread=asked.ts, user="UEN", mention=False)
    assert "数字核对" in space.replies(asked, 3)[2].shown


# Files


def test_two_files_in_a_direct_message_and_a_question_right_after(space: Space, direct: str) -> None:
    """The question does not wait in the thread of the logs, and is about them all the same, not about an older one."""
    old = with_log(space, direct, case="f", user="UDM2")
    space.replies(old)
    space.slack.slow("files.getUploadURLExternal", 1.0, times=1)
    files = [space.slack.add_file("a.log", log_of("m")), space.slack.add_file("b.log", log_of("f"))]
    asked = space.write("", channel=direct, files=files, user="UDM2")
    question = space.write("what should I change first?", channel=direct, user="UDM2")
    assert len(space.replies(asked, 3)) == 3  # two looks and the comparison
    (reply,) = space.replies(question)
    assert "`a.log`" in reply.shown
    assert "`b.log`" in reply.shown


@pytest.mark.parametrize(
    ("name", "mimetype", "data"),
    [
        ("paper.pdf", "application/pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n" + bytes(range(256)) * 8),
        ("curve.png", "image/png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8),
    ],
)
def test_what_is_no_log_is_told_when_asked_and_left_among_colleagues(
    space: Space, channel: str, name: str, mimetype: str, data: bytes
) -> None:
    file = space.slack.add_file(name, data, mimetype=mimetype)
    asked = space.write("what is wrong?", channel=channel, files=[file])
    (told,) = space.replies(asked)
    assert name in told.shown
    assert "Traceback" not in told.shown
    talk = with_log(space, channel)
    space.replies(talk)
    space.write("", channel=channel, thread=talk.ts, files=[file], mention=False)
    nothing_more(space, channel, 2)


def test_file_that_was_deleted_meanwhile(space: Space, channel: str) -> None:
    file = space.slack.add_file("train.log", log_of("m"))
    del space.slack.uploads[file["id"]]
    asked = space.write("", channel=channel, files=[file])
    assert "no longer on Slack" in space.replies(asked)[0].shown
    gone = space.write("", channel=channel, files=[{**file, "id": "F404", "url_private": "", "url_private_download": ""}])
    assert "no longer on Slack" in space.replies(gone)[0].shown


def test_log_that_was_asked_for_needs_no_mention(space: Space, channel: str) -> None:
    """ "I have no log here, attach one": who does so in the thread is heard; colleagues who talk there are left alone."""
    asked = space.write("why is my run bad?", channel=channel)
    assert "no log in this thread" in space.replies(asked)[0].shown
    space.write("maybe it is the learning rate?", channel=channel, thread=asked.ts, user="U2", mention=False)
    space.write("x=1 y=2", channel=channel, thread=asked.ts, user="U2", mention=False)
    with_log(space, channel, thread=asked.ts, mention=False)  # type: ignore[arg-type]
    assert FAILED in space.replies(asked, 2)[1].shown
    nothing_more(space, channel, 2)


# Other workspaces


def foreign(message: Message, *, installed: str = "T1", mention: bool = False) -> dict[str, object]:
    """The event of somebody of another workspace; ``installed`` is the one whose app it is brought to."""
    event = message_event(message, mention=mention) | {"user_team": "T2", "source_team": "T2", "team": "T2"}
    body = event_body(event) | {"team_id": "T2", "is_ext_shared_channel": True}
    return body | {"authorizations": [{"team_id": installed, "user_id": BOT_USER, "is_bot": True}]}


def test_shared_channel_is_one_talk_with_people_of_another_workspace(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    space.replies(asked)
    question = space.slack.say(channel, "U2X", "what should I change first?", asked.ts)
    space.deliver("events_api", foreign(question))
    assert CHANGE in space.replies(asked, 2)[1].shown
    # a file of theirs comes without its address
    file = space.slack.add_file("theirs.log", log_of("f"))
    shared = space.slack.say(channel, "U2X", f"<@{BOT_USER}>", files=[{"id": file["id"], "file_access": "check_file_info"}])
    space.deliver("events_api", foreign(shared, mention=True))
    assert "theirs.log" in space.replies(shared)[0].shown
    space.write("forget this", channel=channel, thread=asked.ts, user="U2X", mention=False)
    assert "Only the person who sent" in space.replies(asked, 3)[2].shown


def test_another_workspace_does_not_get_into_a_talk_of_this_one(space: Space, channel: str) -> None:
    """The same channel and thread, and the same person's id: who comes by another workspace's app finds nothing."""
    asked = with_log(space, channel)
    space.replies(asked)
    question = space.slack.say(channel, "U1", f"<@{BOT_USER}> what should I change first?", asked.ts)
    space.deliver("events_api", foreign(question, installed="T2", mention=True))
    assert "no log in this thread" in space.replies(asked, 2)[1].shown
    direct = space.slack.say(f"D{channel}", "U1", "what should I change first?")
    space.deliver("events_api", foreign(direct, installed="T2"))
    assert "no log in this thread" in space.replies(direct)[0].shown


# Many


def test_thirty_people_in_one_thread_are_answered_one_after_the_other(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    space.replies(asked)
    said = [space.slack.say(channel, f"UP{n}", "what should I change first?", asked.ts) for n in range(30)]
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda message: space.event(message_event(message)), said))
    space.wait(lambda: len(parts(space.slack, "answer", channel)) >= 30)
    time.sleep(0.2)
    assert set(parts(space.slack, channel=channel).values()) == {1}
    assert all(CHANGE in m.shown for m in space.replies(asked, 31)[1:])


# Buttons


def test_buttons_twice_by_others_and_after_forgetting(space: Space, channel: str) -> None:
    asked = with_log(space, channel, user="UOWN")
    (look,) = space.replies(asked)
    guide = next(button for button in look.buttons() if "Guide me" in button["text"]["text"])
    payload = space.click_payload(look, guide, user="U5")
    space.deliver("interactive", payload)
    space.deliver("interactive", {**payload, "response_url": payload["response_url"] + "2"}, retry=1)  # the same click again
    page = space.replies(asked, 2)[1]
    step = page.buttons()[0]
    before = len(page.edits)
    for user in ("U5", "U6"):  # two people at once
        space.click(page, step, user=user)
    space.wait(lambda: len(page.edits) >= before + 2)
    first = page.shown
    space.write("forget this", channel=channel, thread=asked.ts, mention=False, user="UOWN")
    question = space.replies(asked, 3)[2]
    for _ in range(2):
        space.click(question, next(b for b in question.buttons() if "Yes" in b["text"]["text"]), user="UOWN")
    space.wait(lambda: "Done" in question.shown)
    space.click(page, page.buttons()[0], user="U5")
    told = space.replies(asked, 4)[3]
    assert "no longer keep" in told.shown
    assert page.shown == first
    assert not [one for m in space.replies(asked, 4) for one in alive(m.text, m.blocks) if "web" not in one and one != "<@U5>"]


# One's own bot: withdrawn rights, restarts


def test_old_buttons_after_a_restart_a_removed_bot_and_a_revoked_token(tmp_path: Path) -> None:
    with SlackServer() as slack:
        env = environment(slack, tmp_path, **FREE, RUNWHY_SLACK_LEASE="1")
        first = BotProcess("http", env)
        space = Space(slack, first)
        asked = with_log(space, "C1")
        (look,) = space.replies(asked)
        # removed from the channel in mid-talk: given up, nothing else suffers
        slack.fail("chat.postMessage", "not_in_channel")
        space.write("what should I change first?", channel="C1", thread=asked.ts, mention=False)
        space.wait(lambda: "not delivered" in first.log)
        elsewhere = space.write("hello", channel="C2")
        space.replies(elsewhere)
        # the token is revoked in mid-answer: the question waits for a bot with a good one
        before = len(slack.called("chat.postMessage"))
        slack.fail("chat.postMessage", "token_revoked")
        waiting = space.write("why did it crash?", channel="C1", thread=asked.ts, mention=False)
        space.wait(lambda: len(slack.called("chat.postMessage")) > before)
        space.wait(lambda: "runwhy doctor" in first.log)
        first.kill()
        with bot("http", env) as second:
            space = Space(slack, second)
            space.wait(lambda: any(FAILED in m.shown for m in space.replies(waiting, 2)[1:]))
            space.click(look, "What should I change first?", user="U8")
            space.wait(lambda: any("<@U8> asked" in m.shown for m in space.replies(asked)))
            space.wait(lambda: not open_store(Settings(folder=tmp_path)).open_questions())
            assert set(parts(slack).values()) == {1}


def test_reply_that_comes_to_another_process_while_its_log_is_read_outlives_both(tmp_path: Path) -> None:
    """The log is being read in one process, the question reaches the other; both are killed, and a third answers, in order."""
    with SlackServer() as slack:
        env = environment(slack, tmp_path, **FREE)
        bots = [BotProcess("http", env) for _ in range(2)]
        reading, other = (Space(slack, one) for one in bots)
        slack.slow("chat.postMessage", 60)  # hangs before the look is shown, the session is there
        slack.slow("users.info", 60)  # and here before it is made
        asked = reading.write("", channel="C1", files=[slack.add_file("train.log", log_of("l"))])
        reading.wait(lambda: slack.called("users.info"))
        other.write("what should I change first?", channel="C1", thread=asked.ts, mention=False)
        time.sleep(0.5)
        assert not slack.by_bot("C1")
        for one in bots:
            one.kill()
        slack.heal()
        with bot("http", env) as third:
            look, reply = Space(slack, third).replies(asked, 2)
            assert FAILED in look.shown
            assert CHANGE in reply.shown
            assert set(parts(slack).values()) == {1}
