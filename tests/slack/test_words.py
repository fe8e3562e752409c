"""Words on their way in and out: what was typed, Slack's mrkdwn, blocks within their limits."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.slack import mrkdwn
from assistant.slack.blocks import context, fitting, label, pieces, section, sections
from assistant.slack.files import safe_name
from assistant.slack.incoming import divided, forget_request, help_request, plain_text, rich_text
from assistant.slack.jobs import Job
from tests.slack.driver import escaped
from tests.slack.rules import alive, check_message

BITS = [*"ab *_~`<>&!@#|[]().\n-1|:/", "<!channel>", "<@U1>", "https://e.test/x", "](http://e.test)", "熵", "```", "@here "]
NASTY = st.lists(st.sampled_from(BITS), max_size=60).map("".join)


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**bold** and *it*", "*bold* and _it_"),
        ("这是**熵**下降", "这是\u200b*熵*\u200b下降"),
        ("# Title", "*Title*"),
        ("- a\n- b\n  - c", "• a\n• b\n    • c"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("> quote", "> quote"),
        ("`a<b`", "`a&lt;b`"),
        ("~~gone~~", "~gone~"),
        ("a & b < c", "a &amp; b &lt; c"),
        ("<!channel> <@U1>", "&lt;!channel&gt; &lt;@U1&gt;"),
        ("@here", "@\u200bhere"),
        ("[click](https://evil.test/a)", "click (`https://evil.test/a`)"),
        ("<https://evil.test>", "`https://evil.test`"),
        ("see https://evil.test/x.", "see `https://evil.test/x`."),
        ("![x](https://evil.test/p.png)", "x"),
        ("```\n<b>\n```", "```\n&lt;b&gt;\n```"),
        ("<b>html</b>", "&lt;b&gt;html&lt;/b&gt;"),
        ("a\u202eb\u200bc", "abc"),
    ],
)
def test_markdown_becomes_mrkdwn(markdown: str, shown: str) -> None:
    assert mrkdwn.to_mrkdwn(markdown) == shown


def test_table_is_aligned_with_wide_letters() -> None:
    found = mrkdwn.to_mrkdwn("| m | 值 |\n|---|---|\n| 熵 | 1 |\n| kl | 2 |")
    assert found == "```\nm   值\n--  --\n熵  1\nkl  2\n```"


def test_allowed_links_are_live() -> None:
    found = mrkdwn.to_mrkdwn("[the paper](https://arxiv.org/abs/1) [other](https://e.test)", lambda url: "arxiv" in url)
    assert found == "<https://arxiv.org/abs/1|the paper> other (`https://e.test`)"


@given(NASTY)
@settings(max_examples=300, deadline=None)
def test_nothing_is_ever_alive(text: str) -> None:
    shown = mrkdwn.to_mrkdwn(text)
    assert not alive("", [section(shown)])
    assert not re.search(r"<[^>]*>", shown.replace("&lt;", "").replace("&gt;", "")) or "<" not in shown
    assert not alive(mrkdwn.escape(text), [])
    assert not alive("", [{"type": "markdown", "text": mrkdwn.live_markdown(text)}])


@given(NASTY, st.integers(60, 400))
@settings(max_examples=200, deadline=None)
def test_pieces_keep_the_limit_and_lose_no_word(text: str, most: int) -> None:
    shown = mrkdwn.escape(text)
    found = pieces(shown, most)
    assert all(len(piece) <= most for piece in found)
    kept, given_words = (re.sub(r"[`\s]", "", one) for one in ("".join(found), shown))
    assert kept == given_words


def test_long_code_is_closed_and_opened_again() -> None:
    found = pieces(mrkdwn.code_block("\n".join(f"line {n}" for n in range(100))), 200)
    assert len(found) > 3
    assert all(piece.startswith("```") and piece.endswith("```") and piece.count("```") == 2 for piece in found)


def test_long_answer_fits_a_message_and_says_that_it_was_cut() -> None:
    texts = sections(mrkdwn.blocks("\n\n".join("words " * 300 for _ in range(30))))
    shown, cut_off = fitting(texts)
    assert cut_off
    check_message("x", [section(text) for text in shown])


@given(NASTY)
@settings(max_examples=100, deadline=None)
def test_labels_and_contexts_are_taken(text: str) -> None:
    button = {"type": "button", "text": label(text), "action_id": "a"}
    check_message("x", [{"type": "actions", "elements": [button]}, context("x", mrkdwn.escape(text))])


# On the way in


@pytest.mark.parametrize(
    ("typed", "prose", "code"),
    [
        ("hello <world> & co", "hello <world> & co", []),
        ("why?\n```a <b>\nstep:1```", "why?", ["a <b>\nstep:1"]),
        ("see http://node1:8265/x?a=1", "see http://node1:8265/x?a=1", []),
    ],
)
def test_what_was_typed_comes_back(typed: str, prose: str, code: list[str]) -> None:
    assert plain_text(f"<@UBOT> {escaped(typed)}", "UBOT") == (prose, code)


def test_slacks_own_markup_is_undone() -> None:
    text = "<@UBOT> <@U2> ran <http://train.py|train.py> mail <mailto:a@b.org|a@b.org> in <#C1|lab> <!here>"
    assert plain_text(text, "UBOT")[0] == "@U2 ran train.py mail a@b.org in #lab @here"


def test_rich_text_is_exact() -> None:
    typed = [{"type": "user", "user_id": "UBOT"}, {"type": "text", "text": " why <this>?\n"}]
    pasted = [{"type": "text", "text": "step:1 - a:<1>\n"}, {"type": "link", "url": "http://x/y"}]
    elements = [{"type": "rich_text_section", "elements": typed}, {"type": "rich_text_preformatted", "elements": pasted}]
    blocks = [{"type": "rich_text", "elements": elements}]
    assert rich_text(blocks, "UBOT") == ("why <this>?", ["step:1 - a:<1>\nhttp://x/y"])


LOG = "step:1 - actor/pg_loss:0.1 - critic/score/mean:0.2\n(TaskRunner pid=1) hello\nstep:2 - actor/pg_loss:0.1 - critic/score/mean:0.2"


@pytest.mark.parametrize(
    ("prose", "code", "log", "question"),
    [
        (f"why is it flat?\n{LOG}", [], LOG, "why is it flat?"),
        (f"{LOG}\n为什么不涨？", [], LOG, "为什么不涨？"),
        ("why is kl=0.1 and lr=1e-6 ok?", [], "", "why is kl=0.1 and lr=1e-6 ok?"),
        ("is this fine?", ["algorithm.adv_estimator=grpo"], "", "is this fine? algorithm.adv_estimator=grpo"),
        ("", [LOG], LOG, ""),
        (LOG, [], LOG, ""),
        (":wave:", [], "", ":wave:"),
        ("...", [], "", ""),
    ],
)
def test_log_and_question_are_told_apart(prose: str, code: list[str], log: str, question: str) -> None:
    assert divided(prose, code) == (log, question)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("forget this", "one"), ("Forget it!", "one"), ("delete this log", "one"), ("忘掉", "one"), ("请删除这份日志", "one"),
        ("忘掉吧。", "one"),
        ("forget everything", "all"), ("delete my data please", "all"), ("忘掉全部", "all"), ("删除我的数据", "all"),
        ("how do I forget this?", ""), ("did the model forget?", ""), ("catastrophic forgetting", ""), ("忘掉的比例是多少", ""),
    ],
)  # fmt: skip
def test_forget_requests(text: str, what: str) -> None:
    assert forget_request(text) == what


def test_help_requests() -> None:
    assert all(map(help_request, ("", "help", "hello!", "你好", "?")))
    assert not any(map(help_request, ("help me find the NaN", "你好，为什么崩溃")))


@pytest.mark.parametrize("kind", ["message", "button"])
def test_jobs_survive_the_store(kind: str) -> None:
    long = "熵" * 20_000
    job = Job("k", kind, "T1", "U1", channel="C1", ts="1.2", text=long, code=("a", long), data={"action": "ask"})  # type: ignore[arg-type]
    kept = job.to_json()
    assert len(str(kept)) < 10_000
    assert Job.from_json(kept) == job
    assert Job.from_json(Job("k", "home", "T1", "U1").to_json()) == Job("k", "home", "T1", "U1")


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_file_names_are_tame(name: str) -> None:
    found = safe_name(name)
    assert found
    assert "/" not in found
    assert "\\" not in found
    assert not found.startswith(".")
    assert len(found.encode()) <= 130
    assert found.isprintable()
