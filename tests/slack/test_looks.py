"""Whatever is said of the logs in tests/cases (and of real ones beside the checkout) Slack takes, with nothing alive in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.answers import answer
from assistant.charts import panels_of, png
from assistant.diagnosis import RunView, render
from assistant.guide import default_walk, teach
from assistant.messages import Language
from assistant.sessions import Unreadable, open_log
from assistant.slack.guided import lesson_blocks, page_blocks
from assistant.slack.look import first_look, next_steps
from assistant.slack.mrkdwn import inline
from assistant.slack.reply import Said, answer_blocks
from assistant.web.chat import suggestions
from tests.slack.rules import alive, check_message, texts

ROOT = Path(__file__).parent.parent
REAL = sorted((ROOT.parent.parent / "shared" / "cases").glob("*/*/log*"))[::12]
LOGS = [*sorted(ROOT.glob("cases/*/log.txt")), *(path for path in REAL if path.stat().st_size < 400_000)]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name[:24])
def test_everything_said_of_a_log_is_taken(path: Path) -> None:
    try:
        diagnosis = open_log(path)
    except Unreadable as problem:
        pytest.skip(f"holds nothing to look at: {problem.kind}")
    languages: tuple[Language, ...] = ("en", "zh")
    for language in languages:
        looked, text = first_look(diagnosis, path.name, language, str)
        said = [(looked + next_steps(suggestions(diagnosis, language), language, link="https://x.test/#link=1"), text)]
        said.append(lesson_blocks(teach(diagnosis, language), language, str))
        said += [page_blocks(page, "start", language, str) for page in default_walk(diagnosis, language=language)]
        for question in suggestions(diagnosis, language):
            given = answer(question, diagnosis, language=language)
            found, fallback, cut_off = answer_blocks(
                Said(given.to_json(), question, language, 0), str, lambda url: False, asker="U1", questions=given.followups[:3]
            )
            assert not cut_off
            said.append((found, fallback))
        for blocks, fallback in said:
            check_message(fallback, blocks)
            assert not [one for one in alive(fallback, blocks) if one != "<@U1>"]
        shown = "\n".join(texts(looked))
        for finding in diagnosis.faults:
            assert inline(render.title(finding, language)).replace("*", "") in shown
    for finding in diagnosis.faults[:1]:
        if panels := panels_of(finding, RunView(diagnosis.run)):
            assert len(png(panels)) < 200_000
