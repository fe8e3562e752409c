from __future__ import annotations

import re

import pytest

from assistant.answers import Answer, Turn, answer
from assistant.answers.model import prompt_to_copy
from assistant.answers.model.answering import repair_reasons, verdict_line
from assistant.answers.model.cache import ReplyCache, cache_key
from assistant.answers.model.prompting import as_text
from assistant.answers.model.settings import Endpoint
from assistant.answers.model.tools import Toolbox
from assistant.answers.packed.prompts import labels, prompt, tool_descriptions
from assistant.messages.verify import TEXT
from tests.answers.model.scenes import collapsed, crashed, endpoint, healthy
from tests.answers.model.server import Act, ChatServer, serving

QUESTION = "Why does actor/entropy fall?"
GOOD = "Entropy collapsed: it fell from 0.404 at step 1 to 0.004526 at step 200, and the reward went down with it."


def asked(server: ChatServer, question: str = QUESTION, **changes: object) -> Answer:
    return answer(question, collapsed(), model=endpoint(server, **changes))


def fact_id(server: ChatServer, metric: str, step: int) -> str:
    """The id under which the evidence of the last request lists a value."""
    row = next(line for line in server.told.splitlines() if line.startswith(metric))
    found = re.search(rf"(E\d+)=\S+@{step}\b", row)
    assert found is not None
    return found[1]


def test_a_model_answers_from_the_evidence() -> None:
    def act(request: dict) -> Act:  # type: ignore[type-arg]
        name = fact_id(server, "actor/entropy", 1)
        return Act(f"Entropy collapsed: `actor/entropy` was {{{{{name}}}}} at step {{{{{name}.step}}}}.")

    with serving(act) as server:
        given = asked(server)
    assert (given.mode, given.model, given.language) == ("model", "test-model", "en")
    assert given.markdown.splitlines()[0] == verdict_line(collapsed(), "en")
    assert "`actor/entropy` was 0.404 at step 1." in given.markdown
    assert given.checked["run"] == 2
    assert given.checked["unverified"] == 0
    assert [(f.metric, f.step, f.text) for f in given.facts if f.metric == "actor/entropy"] == [("actor/entropy", 1, "0.404")]
    assert all(given.markdown[n.start : n.start + len(n.text)] == n.text for n in given.numbers)
    assert given.usage["calls"] == 1
    assert given.usage["tokens_in"] == 1000
    assert given.to_json()["usage"] == given.usage


def test_the_prompt_holds_rules_evidence_and_question_and_nothing_of_the_program() -> None:
    with serving(Act(GOOD)) as server:
        asked(server)
        system, user = server.requests[0]["messages"]
    assert system["role"] == "system"
    assert "English" in system["content"]
    assert user["content"].rstrip().endswith("Answer it in English.")
    assert QUESTION in user["content"]
    assert user["content"].count("<evidence ") == 1
    assert server.requests[0]["stream"] is True
    assert "tools" not in server.requests[0]


def test_what_is_shown_is_what_is_sent() -> None:
    with serving(Act(GOOD)) as server:
        shown = prompt_to_copy(QUESTION, collapsed(), endpoint=endpoint(server))
        asked(server)
        assert [{"role": m["role"], "content": m["content"]} for m in server.requests[0]["messages"]] == shown.messages
    assert all(m["content"] in as_text(shown) for m in shown.messages)


def test_without_an_endpoint_nothing_changes() -> None:
    given = answer(QUESTION, collapsed())
    assert (given.mode, given.model, given.note, given.usage) == ("builtin", None, "", {})
    assert set(given.to_json()) == {"answer", "language", "mode", "model", "numbers", "facts", "cards", "findings", "followups", "checked"}


def test_a_wrong_number_is_sent_back_once_and_then_right() -> None:
    bad = "Entropy collapsed: it fell from 0.904 at step 1 to 0.004526 at step 200."
    with serving(Act(bad), Act(GOOD)) as server:
        given = asked(server)
        repair = server.requests[1]["messages"][-1]["content"]
    assert '"0.904"' in repair
    assert "(0.404)" in repair
    assert given.checked["unverified"] == 0
    assert "~~" not in given.markdown
    assert given.usage["calls"] == 2


def test_what_stays_wrong_is_marked_and_counted() -> None:
    bad = "Entropy collapsed: it fell from 0.904 at step 1 to 0.004526 at step 200. The reward followed. Widen the clip. Restart early."
    with serving(Act(bad)) as server:
        given = asked(server)
        assert len(server.requests) == 2, "one repair, no more"
    assert "~~0.904~~ ⚠ (the log says 0.404)" in given.markdown
    assert given.checked["unverified"] == 1
    assert given.mode == "model"


def test_a_repair_that_makes_it_worse_is_not_taken() -> None:
    bad = "Entropy collapsed: it fell from 0.904 at step 1 to 0.004526 at step 200. The reward followed. Widen the clip. Restart early."
    worse = "The run is healthy. Entropy rose to 7.5. No problems were found. Nothing is wrong."
    with serving(Act(bad), Act(worse)) as server:
        given = asked(server)
    assert "healthy" not in given.markdown
    assert "0.904" in given.markdown


@pytest.mark.parametrize(
    "nonsense",
    [
        "Entropy is 5.1, 6.2, 7.3, 8.4 and 9.5.",
        "The run is healthy. No problems were found. Everything is normal.",
        "The answer is: the policy stops. " * 6,
        "METRICS (id=value@step; n is how many values were printed) actor/entropy",
        ".",
    ],
)
def test_a_useless_answer_gives_way_to_the_built_in_one(nonsense: str) -> None:
    with serving(Act(nonsense)) as server:
        given = asked(server)
    assert given.mode == "builtin"
    assert "did not hold up" in given.note


def test_the_wrong_language_is_asked_for_again() -> None:
    with serving(Act(GOOD), Act("熵坍缩了：`actor/entropy` 从 0.404（第 1 步）降到 0.004526（第 200 步），得分也随之下降。")) as server:
        given = asked(server, "熵为什么下降？")
        assert "简体中文" in server.requests[0]["messages"][0]["content"]
    assert (given.mode, given.language) == ("model", "zh")
    assert given.markdown.startswith("**检测结论：**")
    with serving(Act(GOOD)) as server:
        assert "没有用中文" in asked(server, "熵为什么会下降？").note


def test_thinking_aloud_is_hidden() -> None:
    with serving(Act(f"<think>maybe 77.7?</think>\n{GOOD}", reasoning="also 88.8")) as server:
        given = asked(server)
    assert "77.7" not in given.markdown
    assert "88.8" not in given.markdown
    assert given.mode == "model"


def test_growing_words_are_shown_in_whole_sentences_already_marked() -> None:
    seen: list[str] = []
    text = "Entropy is 0.904 at step 1. " + GOOD + " The score followed it down. Widen the clip range first. Then restart."
    with serving(Act(text, pace=0.05, chunk=8)) as server:
        answer(QUESTION, collapsed(), model=endpoint(server), on_progress=seen.append)
    assert len(seen) >= 2
    assert all(part.startswith("**The checks say:**") for part in seen)
    assert all("0.904" not in part or "~~0.904~~" in part for part in seen)
    assert all(part.rstrip()[-1] in ".!?" or part.endswith(")") for part in seen)


def test_the_talk_goes_along_and_is_trimmed() -> None:
    turns = [Turn(f"Question {i}?", answer=f"Answer {i}. " + "word " * 60) for i in range(30)]
    with serving(Act(GOOD)) as server:
        answer(QUESTION, collapsed(), model=endpoint(server), history=turns)
        roles = [m["role"] for m in server.requests[0]["messages"]]
        words = str(server.requests[0]["messages"])
    assert roles[:3] == ["system", "user", "assistant"]
    assert roles[-1] == "user"
    assert "Question 29?" in words
    assert "Question 2?" not in words


def test_a_follow_up_keeps_its_subject() -> None:
    with serving(Act(GOOD), Act("At step 100 `actor/entropy` was 0.018755.")) as server:
        first = asked(server)
        second = answer("and at step 100?", collapsed(), model=endpoint(server), history=[first.turn])
        assert GOOD in str(server.requests[1]["messages"])
        assert "@100" in server.told
    assert second.mode == "model"


def test_the_same_question_is_not_paid_for_twice() -> None:
    with serving(Act(GOOD)) as server:
        first, second = asked(server), asked(server)
        assert len(server.requests) == 1
    assert first.markdown == second.markdown
    assert second.usage["calls"] == 0


def test_a_cache_key_holds_everything_that_matters() -> None:
    base: dict[str, object] = {"run_hash": "a", "question": "q", "language": "en", "endpoint": Endpoint("m")}
    changed = [
        {"run_hash": "b"},
        {"question": "r"},
        {"language": "zh"},
        {"endpoint": Endpoint("n")},
        {"endpoint": Endpoint("m", redact="off")},
        {"endpoint": Endpoint("m", base_url="http://other/v1")},
        {"endpoint": Endpoint("m", budget=3000)},
        {"history": (Turn("before", answer="x"),)},
    ]
    keys = [cache_key(**{**base, **change}) for change in [{}, *changed]]  # type: ignore[arg-type]
    assert len(set(keys)) == len(keys)
    assert cache_key(**{**base, "run_hash": ""}) == ""  # type: ignore[arg-type]


def test_the_cache_forgets_the_oldest() -> None:
    kept = ReplyCache(most=2)
    for name in "abc":
        kept.put(name, name)
    assert [kept.get(name) for name in "abc"] == [None, "b", "c"]
    kept.put("", "never")
    assert kept.get("") is None


def test_a_server_with_one_model_needs_no_name() -> None:
    with serving(Act(GOOD), models=["only-one"]) as server:
        given = asked(server, model="")
        assert server.requests[0]["model"] == "only-one"
    assert given.mode == "model"


# Tools


def test_a_model_with_tools_looks_things_up() -> None:
    def second(request: dict) -> Act:  # type: ignore[type-arg]
        results = [m["content"] for m in request["messages"] if m["role"] == "tool"]
        found = re.search(r"(E\d+)=\S+@77\b", results[0])
        assert found is not None
        assert "clip_ratio_high = 0.2" in results[1]
        return Act(f"At step 77 `actor/entropy` was {{{{{found[1]}}}}}, on its way down; the collapse is what the checks report.")

    calls = [("series", {"metric": "actor/entropy", "first": 75, "last": 79}), ("config", {"key": "clip_ratio_high"})]
    with serving(Act(tools=calls), second) as server:
        given = asked(server, "What was entropy doing at step 77?", tools="on")
        names = {tool["function"]["name"] for tool in server.requests[0]["tools"]}
    assert names == set(tool_descriptions()) == {"series", "around", "statistics", "config", "log_lines", "search_knowledge", "compare"}
    assert given.mode == "model"
    assert given.checked["unverified"] == 0
    assert given.usage["calls"] == 2


def test_a_server_without_tools_gets_the_packed_lane() -> None:
    with serving(Act(status=400, error="this model does not support tools"), Act(GOOD)) as server:
        given = asked(server, tools="on")
        assert "tools" not in server.requests[-1]
    assert given.mode == "model"


def test_endless_tool_calls_end() -> None:
    endless = Act(tools=[("statistics", {"metric": "actor/entropy"})])

    def act(request: dict) -> Act:  # type: ignore[type-arg]
        return endless if "tools" in request else Act(GOOD)

    with serving(act) as server:
        given = asked(server, tools="on")
        assert len(server.requests) <= 6
    assert given.mode == "model"


def test_tools_answer_every_call_in_words() -> None:
    from assistant.answers.grounding.context import Context
    from assistant.answers.grounding.evidence import Evidence
    from assistant.answers.understanding.question import understand
    from assistant.diagnosis import RunView

    view = RunView(collapsed().run)
    context = Context(understand(QUESTION), collapsed(), view, Evidence(collapsed(), view, "en"))
    tools = {f.__name__: f for f in Toolbox(context, seen=[]).functions()}
    assert "actor/entropy" in tools["series"]("entropy", 1, 5) or "Close names" in tools["series"]("entropy", 1, 5)
    assert "not printed" in tools["series"]("actor/nothing")
    assert "@100" in tools["around"](100)
    assert "median" in tools["statistics"]("actor/entropy")
    assert "0.2" in tools["config"]("clip_ratio_high")
    assert "not at hand" in tools["log_lines"](1, 5)
    assert "K1" in tools["search_knowledge"]("entropy collapse")
    assert "rank correlation" in tools["compare"]("actor/entropy", "critic/score/mean")
    assert "could not be answered" in tools["series"]({"bad": 1})  # type: ignore[arg-type]


# Words


def test_every_mark_has_a_reason_to_send_back() -> None:
    kinds = {name.removesuffix("_right") for name in TEXT} - {"up", "down", "flat"}
    assert kinds | {"language"} == set(repair_reasons())


def test_prompts_have_no_placeholder_left() -> None:
    with serving(Act(GOOD)) as server:
        for tools in ("on", "off"):
            for window in (2000, 32_768):
                asked(server, f"{QUESTION} {tools} {window}", tools=tools, window=window)
                for message in server.requests[-1]["messages"]:
                    assert not re.search(r"(?<!\{)\{(?:language|limit|mark|evidence|question|problems)\}(?!\})", str(message["content"]))
    assert all(labels()[name] for name in ("run", "findings", "left_out"))
    assert prompt("system")


def test_a_healthy_run() -> None:
    with serving(Act("No serious fault: entropy and reward behave as they should, but nothing is validated.")) as server:
        given = answer("Is my run ok?", healthy(), model=endpoint(server))
    assert given.mode == "model"
    assert "~~" not in given.markdown


def test_secrets_do_not_leave_and_come_back_in_the_answer() -> None:
    diagnosis = crashed("node gpu-node-17.internal token=hf_abcdefghijklmnopqrstuvwx alice@corp.example.net")

    def act(request: dict) -> Act:  # type: ignore[type-arg]
        masked = re.search(r"\[(EMAIL_\d+)\]", server.told)
        assert masked is not None
        return Act(f"The GPU ran out of memory; tell [{masked[1]}] about it.")

    with serving(act) as server:
        given = answer("Why did it crash?", diagnosis, model=endpoint(server, redact="on"))
        for secret in ("hf_abcdef", "alice@corp", "gpu-node-17"):
            assert secret not in str(server.requests)
    assert "tell alice@corp.example.net about it" in given.markdown
