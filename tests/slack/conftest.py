from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("slack_bolt")

from tests.sessions.conftest import postgres_server, postgres_url  # noqa: F401  (fixtures)
from tests.slack.driver import BotProcess, Mode, Workspace, bot, environment
from tests.slack.server import SlackServer

CASES = Path(__file__).parent.parent / "cases"
_numbers = itertools.count(1)


def log_of(case: str) -> bytes:
    """The log of a case in tests/cases, by the first letter of its name."""
    return next(CASES.glob(f"{case}_*/log.txt")).read_bytes()


@dataclass
class Space(Workspace):
    """A workspace with a running bot."""

    bot: BotProcess

    data: Path

    def __init__(self, slack: SlackServer, running: BotProcess, data: Path = Path()) -> None:
        super().__init__(slack, [running.port] if running.mode == "http" else None)
        self.bot, self.data = running, data


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each conversation in one of the modes (half of them in each), those that a module names in ``BOTH_MODES`` in both."""
    if "space" not in metafunc.fixturenames:
        return
    name = metafunc.function.__name__
    if "web" in metafunc.fixturenames:
        modes = ["http"]
    elif name in getattr(metafunc.module, "BOTH_MODES", ()):
        modes = ["socket", "http"]
    else:
        modes = [("socket", "http")[zlib.crc32(name.encode()) % 2]]
    metafunc.parametrize("space", modes, indirect=True, scope="session")


@pytest.fixture(scope="session")
def space(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    """A real bot in each mode, for tests that do not harm it; each test has a channel of its own."""
    mode: Mode = request.param
    data = tmp_path_factory.mktemp(f"slack-{mode}")
    with SlackServer() as slack:
        env = environment(
            slack,
            data,
            RUNWHY_WEB_URL="https://runwhy.lab.test",
            RUNWHY_SLACK_TEAM_LIMIT="9999/60",
            RUNWHY_SLACK_USER_LIMIT="9999/60",
            RUNWHY_SLACK_MAX_MB="1",
            RUNWHY_SLACK_LEASE="45",
        )
        with bot(mode, env) as running:
            found = Space(slack, running, data)
            yield found
            found.close()
        assert running.process.returncode == 0, running.log
        assert "Traceback" not in running.log
        assert {problem for _, problem in slack.refusals} <= {"not_in_channel: ", "file_not_found: "}, slack.refusals


@pytest.fixture
def socket_space(tmp_path: Path) -> Iterator[Space]:
    """A bot of one's own, over the socket."""
    with SlackServer() as slack, bot("socket", environment(slack, tmp_path)) as running:
        found = Space(slack, running)
        yield found
        found.close()


@pytest.fixture
def channel() -> str:
    return f"C{next(_numbers):04d}"


@pytest.fixture
def direct() -> str:
    return f"D{next(_numbers):04d}"
