"""A burst of mentions at one bot: how quickly each is acknowledged, and answered. The bot is a real process, Slack runs here (tests/slack).

    python -m benchmarks.slack [--events 200] [--mode http] [--rounds 3] [--limit 1.0]

Every fourth delivery is repeated and every third mention comes as a message event too, as Slack does. Checked: each message is
answered exactly once. Exits 1 when it is not, or when in the best of the rounds the 99th percentile of acknowledgements is above
``--limit`` seconds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.slack.conftest import Space
from tests.slack.driver import bot, environment
from tests.slack.server import SlackServer
from tests.slack.test_reliable import FREE, burst, parts


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--events", type=int, default=200)
    given.add_argument("--mode", choices=["http", "socket"], default="http")
    given.add_argument("--rounds", type=int, default=3)
    given.add_argument("--limit", type=float, default=1.0)
    asked = given.parse_args()
    best, once = float("inf"), True
    with (
        tempfile.TemporaryDirectory() as folder,
        SlackServer() as slack,
        bot(asked.mode, environment(slack, Path(folder), **FREE, RUNWHY_SLACK_LEASE="45")) as running,
    ):
        space = Space(slack, running)
        for number in range(asked.rounds):
            name, started = f"C{number}b", time.monotonic()
            acks = burst(space, asked.events, name)
            space.wait(lambda name=name: len(parts(slack, "answer", name)) >= asked.events, 600)
            took, p99 = time.monotonic() - started, acks[int(len(acks) * 0.99)]
            once &= set(parts(slack, channel=name).values()) == {1}
            best = min(best, p99)
            print(
                f"{asked.mode}: {len(acks)} deliveries of {asked.events} messages; acknowledged in {statistics.median(acks):.3f} s "
                f"(p99 {p99:.3f}, slowest {acks[-1]:.3f}); all answered after {took:.1f} s; each once: {'yes' if once else 'NO'}",
                flush=True,
            )
        space.close()
    return 0 if once and best <= asked.limit else 1


if __name__ == "__main__":
    sys.exit(main())
