"""Conversations with a real bot, over the socket and over HTTP."""

from __future__ import annotations

import json
import re

import pytest

from assistant.answers import answer
from assistant.diagnosis import render
from assistant.sessions import open_log
from tests.slack.conftest import Space, log_of
from tests.slack.driver import event_body, message_event
from tests.slack.rules import alive
from tests.slack.server import BOT_ID, BOT_USER, Message

COLLAPSE = "Policy entropy collapsed"
BOTH_MODES = frozenset(
    [
        "test_pasted_log_with_a_question_is_answered_as_on_the_command_line",
        "test_app_mention_and_message_event_of_one_message_are_one",
        "test_suggested_question_by_button",
        "test_command_opens_a_dialogue_and_its_log_starts_a_thread",
        "test_shortcut_on_somebodys_message",
        "test_log_of_the_bot_holds_no_words_of_anybody",
    ]
)


def pictures(space: Space, to: Message) -> list[Message]:
    return [m for m in space.slack.by_bot(to.channel, to.thread_ts or to.ts) if m.files]


def with_log(space: Space, channel: str, text: str = "", case: str = "m", **more: str) -> Message:
    file = space.slack.add_file("train.log", log_of(case))
    return space.write(text, channel=channel, files=[file], **more)


def test_mention_with_a_file_gets_verdict_values_plot_and_questions(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    (look,) = space.replies(asked)
    assert "2 things to act on, first: Policy entropy collapsed, since step 58." in look.shown
    assert "`actor/entropy` 0.3954 (step 1) → 0.0372 (step 58) → 0.0099 (step 120), line 120" in look.shown
    assert "0.2 → 0.28" in look.shown
    assert look.text.startswith("🔴 2 things to act on")  # what a notification shows
    labels = [button["text"]["text"] for button in look.buttons()]
    assert {"What should I change first?", "Guide me", "Full report", "Open in browser"} <= set(labels)
    link = next(button["url"] for button in look.buttons() if button["text"]["text"] == "Open in browser")
    assert re.fullmatch(r"https://runwhy\.lab\.test/#link=[\w-]{40,}", link)
    (picture,) = space.wait(lambda: pictures(space, asked))
    assert space.slack.uploads[picture.files[0]["id"]]["data"].startswith(b"\x89PNG")
    assert picture.files[0]["name"].endswith(".png")
    assert "actor/entropy" in picture.files[0]["title"]


def test_pasted_log_with_a_question_is_answered_as_on_the_command_line(space: Space, channel: str) -> None:
    log = log_of("m").decode()
    pasted = "\n".join(log.strip().split("\n")[40:])
    asked = space.write(f"why did the entropy collapse?\n```{pasted}```", channel=channel)
    look, reply = space.replies(asked, 2)
    diagnosis = open_log(pasted)
    assert diagnosis.faults
    for finding in diagnosis.faults[:3]:
        assert render.title(finding) in look.shown
        for point in finding.evidence[:2]:
            assert point.text in look.shown
    given = answer("why did the entropy collapse?", diagnosis)
    shown = set(re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", reply.shown))
    assert set(re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", given.markdown)) <= shown
    assert f"{given.checked['run']} from the log" in reply.shown


def test_follow_up_needs_no_mention_and_remembers(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    space.replies(asked)
    space.write("how did actor/entropy develop?", channel=channel, thread=asked.ts, mention=False)
    space.replies(asked, 2)
    space.write("and why?", channel=channel, thread=asked.ts, mention=False, user="U9")
    assert "ntropy" in space.replies(asked, 3)[2].shown


def test_other_peoples_talk_is_left_alone(space: Space, channel: str) -> None:
    asked = with_log(space, channel, case="l")
    space.replies(asked)
    for text in ("thanks!", "<@U77> can you look at this?", ":+1:", "谢谢", "I think we should rerun it with a higher lr"):
        message = space.slack.say(channel, "U2", text, asked.ts)
        space.event(message_event(message))
    shown = space.slack.add_file("curve.png", b"\x89PNG", mimetype="image/png")
    picture = space.slack.say(channel, "U2", "", asked.ts, files=[shown])
    space.event(message_event(picture))
    elsewhere = space.slack.say(channel, "U2", "why is my loss positive?")
    space.event(message_event(elsewhere))
    threaded = space.slack.say(channel, "U2", "why is my loss positive?", elsewhere.ts)
    space.event(message_event(threaded))
    by_bot = space.slack.say(channel, "U5", "why is the entropy low?", asked.ts)
    space.event(message_event(by_bot) | {"bot_id": "B77"})
    own = space.slack.say(channel, BOT_USER, "why?", asked.ts)
    space.event(message_event(own) | {"bot_id": BOT_ID})
    space.slack.messages.remove(own)
    for subtype in ("message_changed", "message_deleted", "channel_join", "bot_message"):
        space.event({"type": "message", "subtype": subtype, "channel": channel, "ts": "1.2", "message": {"text": "why?"}, "hidden": True})
    space.write("what should I change?", channel=channel, thread=asked.ts, mention=False)
    assert len(space.replies(asked, 2)) == 2
    assert not space.slack.by_bot(channel, elsewhere.ts)


def test_app_mention_and_message_event_of_one_message_are_one(space: Space, channel: str) -> None:
    file = space.slack.add_file("train.log", log_of("m"))
    asked = space.slack.say(channel, "U1", f"<@{BOT_USER}> look", files=[file])
    space.event(message_event(asked))
    space.event(message_event(asked, mention=True))
    space.event(message_event(asked, mention=True), retry=1)
    space.replies(asked)
    space.write("and why?", channel=channel, thread=asked.ts, mention=False)
    assert len(space.replies(asked, 2)) == 2  # "look" asks nothing that the first reply does not say
    assert sum("things to act on" in m.text for m in space.slack.by_bot(channel)) == 1


def test_second_log_in_a_thread_is_compared(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    space.replies(asked)
    second = space.slack.add_file("fixed.log", log_of("f"))
    space.write("did my fix work?", channel=channel, thread=asked.ts, files=[second], mention=False)
    _, look, reply = space.replies(asked, 3)
    assert "compared with train.log" in look.shown
    assert COLLAPSE in reply.shown
    given = answer(
        "did my fix work?", open_log(log_of("m"), name="train.log"), name="train.log", others=[("fixed.log", open_log(log_of("f")))]
    )
    first_line = given.markdown.split("\n")[0].replace("**", "").replace("`", "")[:40]
    assert first_line in reply.shown.replace("*", "").replace("`", "")


def test_second_log_without_a_word_is_compared_too(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    space.replies(asked)
    space.write("", channel=channel, thread=asked.ts, files=[space.slack.add_file("b.log", log_of("f"))], mention=False)
    assert len(space.replies(asked, 3)) == 3


def test_two_logs_at_once(space: Space, channel: str) -> None:
    files = [space.slack.add_file("a.log", log_of("m")), space.slack.add_file("b.log", log_of("f"))]
    asked = space.write("compare them", channel=channel, files=files)
    looks = space.replies(asked, 3)
    assert sum("act on" in m.text or "Healthy" in m.text or "No fault" in m.text for m in looks) == 2


def test_chinese_question_is_answered_in_chinese(space: Space, channel: str) -> None:
    asked = with_log(space, channel, "为什么熵下降了？")
    look, reply = space.replies(asked, 2)
    assert "有 2 项需要处理" in look.shown
    assert "熵" in reply.shown
    assert "数字核对" in reply.shown


def test_language_of_a_bare_file_is_that_of_the_persons_slack(space: Space, channel: str) -> None:
    space.slack.locales["UZH"] = "zh-CN"
    asked = with_log(space, channel, user="UZH")
    assert "有 2 项需要处理" in space.replies(asked)[0].shown


def test_direct_message_without_thread_goes_on_with_the_last_log(space: Space, direct: str) -> None:
    asked = with_log(space, direct, user="UDM")
    space.replies(asked)
    later = space.write("what should I change first?", channel=direct, user="UDM")
    (reply,) = space.replies(later)
    assert "clip_ratio_high" in reply.shown


def test_question_without_a_log(space: Space, channel: str, direct: str) -> None:
    first = space.write("why is my run bad?", channel=channel)
    assert "no log in this thread" in space.replies(first)[0].shown
    hello = space.write("hello", channel=direct, user="UNEW")
    assert "Paste a training log" in space.replies(hello)[0].shown
    concept = space.write("what is entropy collapse?", channel=channel)
    assert "Entropy and exploration" in space.replies(concept)[0].shown


def test_suggested_question_by_button(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    (look,) = space.replies(asked)
    space.click(look, "What should I change first?", user="U8")
    reply = space.replies(asked, 2)[1]
    assert "<@U8> asked: What should I change first?" in reply.shown
    assert "clip_ratio_high" in reply.shown


def test_guide_by_buttons_to_its_end_and_back(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    (look,) = space.replies(asked)
    space.click(look, "Guide me")
    page = space.replies(asked, 2)[1]
    assert "What do you see?" in page.shown
    space.click(page, "walk me through it")
    space.wait(lambda: page.edits)
    for _ in range(20):
        chosen = next((b for b in page.buttons() if b.get("style") == "primary"), None)
        if chosen is None:
            break
        seen = len(page.edits)
        space.click(page, chosen)
        space.wait(lambda seen=seen: len(page.edits) > seen)
    assert "clip_ratio_high" in page.shown
    end, seen = page.shown, len(page.edits)
    space.click(page, "Back")
    space.wait(lambda: len(page.edits) > seen)
    assert page.shown != end
    assert len(space.replies(asked, 2)) == 2


def test_lesson_and_report(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    (look,) = space.replies(asked)
    space.click(look, "Which numbers matter?")
    lesson = space.replies(asked, 2)[1]
    assert "`actor/entropy`" in lesson.shown
    space.click(look, "Full report")
    files = space.wait(lambda: [f for m in pictures(space, asked) for f in m.files if f["name"].endswith(".html")])
    page = space.slack.uploads[files[0]["id"]]["data"].decode()
    assert page.startswith(("<!doctype html>", "<!DOCTYPE html>"))
    assert COLLAPSE in page


def test_plot_on_request(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    space.replies(asked)
    space.write("plot entropy against score", channel=channel, thread=asked.ts, mention=False)
    space.wait(lambda: any(f["name"].startswith("chart") for m in pictures(space, asked) for f in m.files))


def test_feedback_with_a_reason(space: Space, channel: str) -> None:
    asked = with_log(space, channel, "why?", case="l")
    reply = space.replies(asked, 2)[1]
    element = next(b["elements"][0] for b in reply.blocks if b["type"] == "context_actions")
    views = len(space.slack.views)
    negative = {"action_id": element["action_id"], "value": element["negative_button"]["value"]}
    space.click(reply, negative)
    view = space.wait(lambda: space.slack.views[views:])[0]
    assert view["callback_id"] == "reason"
    space.submit(view, {"question": {"type": "plain_text_input", "value": "the wrong step"}})
    space.wait(lambda: any(m.ephemeral and "Thank you" in m.text for m in space.slack.messages if m.channel == channel))


def test_forgetting_needs_a_yes_of_the_owner(space: Space, channel: str) -> None:
    asked = with_log(space, channel, case="l", user="UOWN")
    space.replies(asked)
    space.write("forget this", channel=channel, thread=asked.ts, mention=False, user="UOTHER")
    assert "Only the person who sent" in space.replies(asked, 2)[1].shown
    space.write("forget this", channel=channel, thread=asked.ts, mention=False, user="UOWN")
    question = space.replies(asked, 3)[2]
    space.click(question, "Yes, delete", user="UOTHER")
    space.click(question, "Keep it", user="UOWN")
    space.wait(lambda: "Nothing was deleted" in question.shown)
    space.write("忘掉", channel=channel, thread=asked.ts, mention=False, user="UOWN")
    question = space.replies(asked, 4)[3]
    space.click(question, "是，删除", user="UOWN")
    space.wait(lambda: "已删除" in question.shown)
    space.write("why?", channel=channel, thread=asked.ts, user="UOWN")
    assert "no log" in space.replies(asked, 5)[4].shown


def test_forget_everything_from_the_home_tab(space: Space, channel: str) -> None:
    user = f"UH{channel}"
    asked = with_log(space, channel, user=user)
    space.replies(asked)
    views = len(space.slack.views)
    space.event({"type": "app_home_opened", "user": user, "tab": "home", "channel": f"D{user}"})
    home = space.wait(lambda: space.slack.views[views:])[0]
    assert home["type"] == "home"
    assert "train.log" in json.dumps(home["blocks"])
    assert COLLAPSE in json.dumps(home["blocks"])
    thread = next(b["accessory"]["url"] for b in home["blocks"] if "accessory" in b)
    assert thread == f"https://lab.slack.test/archives/{channel}/p{asked.ts.replace('.', '')}"
    element = next(e for b in home["blocks"] if b["type"] == "actions" for e in b["elements"])
    payload = space.click_payload(Message("", "", BOT_USER), element, user=user)
    space.deliver("interactive", {**payload, "message": None, "channel": None, "container": {"type": "view"}})
    question = space.wait(lambda: [m for m in space.slack.by_bot(f"D{user}") if m.buttons()])[0]
    space.click(question, "Yes, delete", user=user)
    space.wait(lambda: "1 conversations" in question.shown)


def test_command_opens_a_dialogue_and_its_log_starts_a_thread(space: Space, channel: str) -> None:
    views = len(space.slack.views)
    space.command("", channel=channel)
    view = space.wait(lambda: space.slack.views[views:])[0]
    file = space.slack.add_file("train.log", log_of("m"))
    space.submit(
        view,
        {"question": {"value": "why?"}, "log": {"value": ""}, "files": {"type": "file_input", "files": [file]}},
    )
    root = space.wait(lambda: [m for m in space.slack.by_bot(channel) if not m.thread_ts])[0]
    assert "<@U1> asks runwhy: why?" in root.text
    look, _ = space.replies(root, 2)
    assert COLLAPSE in look.shown


def test_command_with_words_and_help(space: Space, channel: str) -> None:
    hooks = len(space.slack.hooks)
    space.command("help", channel=channel)
    assert "Paste a training log" in space.wait(lambda: space.slack.hooks[hooks:])[0]["text"]
    space.command("what is entropy collapse?", channel=channel)
    root = space.wait(lambda: [m for m in space.slack.by_bot(channel) if not m.thread_ts])[0]
    assert "Entropy and exploration" in space.replies(root)[0].shown


def test_shortcut_on_somebodys_message(space: Space, channel: str) -> None:
    text = "look at this\n```" + "\n".join(log_of("m").decode().split("\n")[:60]) + "```"
    message = space.slack.say(channel, "U3", text)
    space.shortcut(message, user="U4")
    assert space.replies(message)


def test_shortcut_where_the_bot_is_not_says_so(space: Space) -> None:
    hooks = len(space.slack.hooks)
    message = space.slack.say("CNOT1", "U3", "```step:1 - actor/entropy:0.1 - critic/score/mean:0.2\nstep:2 - actor/entropy:0.1```")
    space.shortcut(message)
    assert "not in this channel" in space.wait(lambda: space.slack.hooks[hooks:])[0]["text"]


def test_welcome_suggests_prompts(space: Space, direct: str) -> None:
    before = len(space.slack.prompts)
    space.event({"type": "assistant_thread_started", "assistant_thread": {"user_id": "U1", "channel_id": direct, "thread_ts": "1.1"}})
    given = space.wait(lambda: space.slack.prompts[before:])[0]
    assert given["thread_ts"] == "1.1"
    space.event({"type": "app_home_opened", "user": "U1", "tab": "messages", "channel": direct})
    assert "thread_ts" not in space.wait(lambda: space.slack.prompts[before + 1 :])[0]


def test_web_link_continues_the_conversation(space: Space, channel: str) -> None:
    asked = with_log(space, channel)
    (look,) = space.replies(asked)
    link = next(button["url"] for button in look.buttons() if button.get("url"))
    elsewhere = space.write(f"{link} what should I change?", channel=channel)
    _, reply = space.replies(elsewhere, 2)
    assert "clip_ratio_high" in reply.shown
    bad = space.write("https://runwhy.lab.test/#link=" + "x" * 43, channel=channel)
    assert "does not open" in space.replies(bad)[0].shown


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("notes.txt", b"hello, this is a letter to my friend, nothing else", "notes.txt: "),
        ("big.log", b"step:1 - a:1\n" * 100_000, "I take up to 1.0 MB"),
        ("empty.log", b"", "empty.log is empty"),
    ],
)
def test_files_that_cannot_be_read_are_told(space: Space, channel: str, name: str, data: bytes, said: str) -> None:
    asked = space.write("", channel=channel, files=[space.slack.add_file(name, data)])
    assert said in space.replies(asked)[0].shown


def test_hostile_log_name_and_question_stay_dead(space: Space, channel: str) -> None:
    lines = log_of("m").decode().split("\n")
    bad = "<!channel> <@U1> <https://evil.test|click> https://evil.test/x @here *bold* ```"
    lines.insert(50, f"Traceback (most recent call last):\nRuntimeError: CUDA out of memory {bad}")
    lines = [line.replace("actor/pg_loss", "actor/<!channel>https://evil.test") for line in lines]
    file = space.slack.add_file("<!channel> ../../etc/passwd <https://evil.test|x>.log", "\n".join(lines).encode())
    asked = space.write(f"why {bad} entropy https://evil.test/q", channel=channel, files=[file])
    replies = space.replies(asked, 2)
    space.click(replies[0], "Guide me")
    space.click(replies[0], "Which numbers")
    found = space.replies(asked, 4)
    assert not [one for m in found for one in alive(m.text, m.blocks) if "web" not in one]


def test_secrets_in_a_log_are_masked(space: Space, channel: str) -> None:
    text = log_of("l").decode() + "\nValueError: token hf_abcdefghijklmnopqrstuvwxyz0123 refused for alice@corp.example.org\n"
    asked = space.write("why did it crash?", channel=channel, files=[space.slack.add_file("crash.log", text.encode())])
    for reply in space.replies(asked, 2):
        assert "hf_abcdef" not in reply.shown
        assert "alice@" not in reply.shown


def test_log_of_the_bot_holds_no_words_of_anybody(space: Space, channel: str) -> None:
    asked = with_log(space, channel, "a very special question about entropy xyzzy")
    space.replies(asked, 2)
    space.event(event_body({"type": "reaction_added", "user": "U1", "text": "xyzzy"})["event"])
    assert "xyzzy" not in space.bot.log
    assert "step:1" not in space.bot.log
