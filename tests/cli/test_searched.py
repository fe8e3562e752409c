"""``runwhy search`` and ``runwhy explain`` as a user meets them."""

from __future__ import annotations

import io
import json

from rich.console import Console

from assistant.cards import cards
from assistant.cli.searched import print_found
from assistant.retrieval import Searcher
from tests.cli.test_commands import runwhy


def shown(question: str, language: str) -> str:
    out = io.StringIO()
    found = Searcher(dict(cards()), None).search(question)
    print_found(found, language, Console(file=out, width=120, highlight=False))  # type: ignore[arg-type]
    return out.getvalue()


def test_cards_with_their_reason_and_the_next_command() -> None:
    text = shown("why is pg_lose positive?", "en")
    assert "did you mean that?" in text
    assert "Policy loss  metrics/actor.pg_loss" in text
    assert "runwhy explain metrics/actor.pg_loss" in text
    assert 'pip install "runwhy[search]"' in text


def test_in_chinese() -> None:
    text = shown("熵坍缩了怎么办", "zh")
    assert "findings/entropy-collapse" in text
    assert "依据：" in text


def test_nothing_found_is_said() -> None:
    assert "No card was found" in shown("??", "en")


def test_json_of_the_command() -> None:
    out = json.loads(runwhy("search", "actor/ppo_kl is 0", "--json", "--limit", "3").stdout)
    assert len(out["hits"]) == 3
    assert out["hits"][0]["card"] == "metrics/actor.ppo_kl"
    assert {"actor/ppo_kl", "on-policy-zero-kl"} <= set(out["hits"][0]["covers"])


def test_explain_says_what_was_meant() -> None:
    done = runwhy("explain", "pg_lose")
    assert done.returncode == 2
    assert "actor/pg_loss" in done.stderr.decode()
