"""A team's own model: streamed as it writes, by edits where streaming does not work, masked, and made good after a kill."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.answers.model.server import Act, ChatServer, serving
from tests.slack.conftest import Space, log_of
from tests.slack.driver import BotProcess, bot, environment
from tests.slack.server import Message, SlackServer
from tests.slack.test_reliable import parts

WAYS = "as one sees,as said,again,still,in time,by and by,step by step,here too,once more,after all,at last,in the end,on the whole"
WAYS += ",as before,slowly,quietly,surely,plainly,of course,indeed"
WORDS = "".join(f"The groups agree more and more, {way}, and there is less and less to learn from them. " for way in WAYS.split(","))
WORDS += "\n\nIn short: nothing is learned.\n\n- widen the upper clip\n- restart from an earlier checkpoint\n"
PACE = {"pace": 0.03, "chunk": 40}


def team_file(folder: Path, model: ChatServer, **more: str) -> str:
    path = folder / "teams.toml"
    rows = {"model": "test-model", "base_url": model.url, "api_key_env": "TEAM_KEY", "window": "8192", **more}
    path.write_text("[T1]\n" + "".join(f'{name} = "{value}"\n' for name, value in rows.items()), encoding="utf-8")
    return str(path)


@dataclass
class Team:
    space: Space
    model: ChatServer

    def ask(self, question: str, *script: Act) -> Message:
        """A log with a question in a channel of its own; the model answers by ``script``."""
        self.model.script[:] = list(script)
        file = self.space.slack.add_file("train.log", log_of("m"))
        return self.space.write(question, channel=f"C{len(self.space.slack.messages)}", files=[file])

    def rows(self, asked: Message) -> list[Message]:
        return [m for m in self.space.slack.by_bot(asked.channel, asked.ts) if not m.files]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """One bot of a team with a model and cards of its own."""
    place = tmp_path_factory.mktemp("team")
    cards = place / "cards" / "runbook"
    cards.mkdir(parents=True)
    head = "---\ntitle: {en: Zebra cluster, zh: 斑马集群}\nquestions: {en: [what is the zebra cluster], zh: [斑马集群是什么]}\n---\n"
    (cards / "zebra.md").write_text(head + "## en\nThe zebra cluster drops NCCL links at night.\n", encoding="utf-8")
    with serving(Act("x"), key="team-secret") as model, SlackServer() as slack:
        extra = {"RUNWHY_TEAMS": team_file(place, model, cards=str(place / "cards")), "TEAM_KEY": "team-secret"}
        with bot("socket", environment(slack, place, **extra)) as running:
            yield Team(Space(slack, running), model)
        assert "team-secret" not in running.log


def test_answer_is_streamed_and_its_numbers_checked(team: Team) -> None:
    slack = team.space.slack
    streams = len(slack.called("chat.startStream"))
    asked = team.ask("why?", Act(WORDS, **PACE))
    _, reply = team.space.replies(asked, 2)
    (started,) = slack.called("chat.startStream")[streams:]
    assert (started["recipient_user_id"], started["recipient_team_id"]) == ("U1", "T1")
    team.space.wait(lambda: not reply.streaming)
    assert "nothing is learned" in reply.shown
    assert "written by test-model" in reply.shown
    assert not slack.refusals
    assert not slack.alive()
    assert set(parts(slack).values()) == {1}


def test_without_streaming_one_message_is_edited_at_most_once_a_second(team: Team) -> None:
    slack = team.space.slack
    slack.fail("chat.startStream", "unknown_method")
    asked = team.ask("why did this happen?", Act(WORDS, pace=0.08, chunk=40))
    reply = team.space.replies(asked, 2)[1]
    team.space.wait(lambda: "nothing is learned" in reply.shown and "written by" in reply.shown)
    growing = reply.edits[:-1]
    assert 1 < len(growing) <= 1 + growing[-1] - growing[0]
    assert len(team.rows(asked)) == 2
    assert not slack.refusals


def test_stream_that_breaks_is_made_good(team: Team) -> None:
    failed = len(team.space.slack.called("chat.appendStream"))
    team.space.slack.fail("chat.appendStream", "internal_error")
    asked = team.ask("why is that so?", Act(WORDS, **PACE))
    team.space.wait(lambda: any("written by" in m.shown for m in team.rows(asked)))
    rows = team.rows(asked)
    assert len(team.space.slack.called("chat.appendStream")) > failed
    assert len(rows) == 2
    assert "nothing is learned" in rows[1].shown
    assert not rows[1].streaming


def test_model_that_fails_is_said_and_the_built_in_answer_stands(team: Team) -> None:
    asked = team.ask("what should I change first?", Act(status=401, error={"message": "no"}))
    reply = team.space.replies(asked, 2)[1]
    assert "clip_ratio_high" in reply.shown
    assert "key" in reply.shown.lower()


def test_teams_own_cards_are_known(team: Team) -> None:
    asked = team.ask("what about the zebra cluster?", Act("All is well with the zebra cluster."))
    team.space.replies(asked, 2)
    assert "drops NCCL links at night" in team.model.told


def test_log_is_masked_for_a_model_elsewhere_whatever_else_is_set(tmp_path: Path) -> None:
    from assistant.slack.settings import teams

    path = tmp_path / "teams.toml"
    path.write_text('[T1]\nmodel = "m"\nbase_url = "https://api.far.test/v1"\nredact = "off"\n', encoding="utf-8")
    endpoint = teams(str(path), {})["T1"].endpoint
    assert endpoint is not None
    assert endpoint.redacts


def test_killed_in_mid_stream(tmp_path: Path) -> None:
    with serving(Act(WORDS, **PACE), Act(WORDS), key="team-secret") as model, SlackServer() as slack:
        env = environment(slack, tmp_path, RUNWHY_TEAMS=team_file(tmp_path, model), TEAM_KEY="team-secret", RUNWHY_SLACK_LEASE="1")
        first = BotProcess("socket", env)
        space = Space(slack, first)
        asked = space.write("why?", files=[slack.add_file("train.log", log_of("m"))])
        begun = space.wait(lambda: [m for m in slack.by_bot() if m.streaming and m.streamed])[0]
        time.sleep(0.1)
        first.kill()
        with bot("socket", env) as second:
            space = Space(slack, second)
            space.wait(lambda: "written by" in begun.shown)
            rows = [m for m in slack.by_bot("C1", asked.ts) if not m.files]
            assert len(rows) == 2
            assert not begun.streaming
            assert begun.shown.count("widen the upper clip") == 1


@pytest.mark.parametrize("bad", ['[T1]\nmodel="m"\napi_key="sk-1"', "[T1]\ncards=['/nowhere']", "T1 = 3", "[T1]\nodd = 1\nmodel='m'", "["])
def test_bad_teams_file_is_said_at_start(tmp_path: Path, bad: str) -> None:
    from assistant.slack.settings import BadSettings, teams

    path = tmp_path / "teams.toml"
    path.write_text(bad, encoding="utf-8")
    with pytest.raises(BadSettings, match=r"T1|RUNWHY_TEAMS|setting"):
        teams(str(path), {})
