"""How well and how fast cards are found, on real labelled questions: runwhy's search against BM25, vectors and Chroma's plain query alone.

    python benchmarks/retrieval.py [QUESTIONS.jsonl]

A question counts as answered when one of the first five cards covers one of its targets; "main" when one covers the first
target, "own" when a target is a name of the card itself (not only of what it links to). Two random halves, a question and its
translation in the same one, show how much the figures owe to the questions drawn. First build and cold start are measured in
processes of their own.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = ROOT.parent / "shared" / "questions" / "questions.jsonl"
sys.path.insert(0, str(ROOT))

Ranker = Callable[[str], Sequence[str]]
GATES = {"names a metric": 0.97, "free English": 0.90, "free Chinese": 0.90}


def questions(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    rng = random.Random(7)
    halves: dict[str, str] = {}
    for row in rows:
        row["half"] = halves.setdefault(row["id"].rstrip("ze"), "half A" if rng.random() < 0.5 else "half B")
        row["group"] = "names a metric" if row["names_metric"] else {"en": "free English", "zh": "free Chinese"}[row["lang"]]
    return rows


def scores(rows: Sequence[dict[str, Any]], ranker: Ranker) -> dict[str, dict[str, float]]:
    """recall@5, mean reciprocal rank, main and own recall per group of questions."""
    from assistant.cards import cards
    from assistant.retrieval.documents import covers, own_names

    covered = {card.id: {name.casefold() for name in covers(card, cards())} for card in cards().values()}
    own = {card.id: {name.casefold() for name in own_names(card)} for card in cards().values()}
    groups: dict[str, list[tuple[float, float, float, float]]] = {}
    for row in rows:
        targets = [target.casefold() for target in row["targets"]]
        top = list(ranker(row["question"]))[:5]
        rank = next((i for i, card in enumerate(top, 1) if any(t in covered[card] for t in targets)), 0)
        main = any(targets[0] in covered[card] for card in top)
        named = any(t in own[card] for card in top for t in targets)
        for group in (row["group"], "all", row["half"]):
            groups.setdefault(group, []).append((float(rank > 0), 1 / rank if rank else 0.0, float(main), float(named)))
    names = ("recall@5", "MRR", "main", "own")
    return {group: dict(zip(names, np.mean(values, axis=0).tolist(), strict=True)) for group, values in groups.items()}


def plain_chroma() -> Ranker:
    """What a first attempt with Chroma does: one vector a card of its whole English and Chinese text, ``query``."""
    import chromadb
    from chromadb.config import Settings

    from assistant.cards import cards
    from assistant.retrieval.embedding import BuiltIn

    embedder = BuiltIn()
    collection = chromadb.EphemeralClient(Settings(anonymized_telemetry=False)).create_collection("plain", embedding_function=None)
    texts = {card.id: f"{card.title('en')} {card.title('zh')}\n" + "\n".join(card.body.values()) for card in cards().values()}
    ids = list(texts)
    for start in range(0, len(ids), 200):
        part = ids[start : start + 200]
        collection.add(ids=part, embeddings=embedder.embed([texts[card] for card in part]))
    return lambda question: collection.query(query_embeddings=embedder.embed([question]), n_results=5)["ids"][0]


def seconds(code: str, cache: str, **environment: str) -> float:
    """Seconds inside a new process from before its first import of runwhy until ``code`` has run."""
    script = f"import time; t = time.perf_counter()\n{code}\nprint(time.perf_counter() - t)"
    env = {**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT), **environment}
    out = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return float(out.split()[-1])


def timings() -> Iterator[tuple[str, float]]:
    one = "from assistant.retrieval import search; search('why is my pg_loss positive?')"
    words = "from assistant.retrieval import Searcher; from assistant.cards import cards; Searcher(dict(cards()), None).search('pg_loss')"
    with tempfile.TemporaryDirectory() as cache:
        seconds("from assistant.cards import cards; cards()", cache)
        yield "first search of all (builds the index)", seconds(one, cache)
        yield "cold start, index there", min(seconds(one, cache) for _ in range(3))
        yield "cold start, names and words only", min(seconds(words, cache) for _ in range(3))


def main() -> int:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else QUESTIONS
    if not path.exists():
        print(f"no questions at {path}")
        return 0
    from assistant.cards import cards
    from assistant.retrieval import Searcher
    from assistant.retrieval.embedding import BuiltIn

    rows = questions(path)
    searcher, by_words = Searcher(dict(cards()), BuiltIn()), Searcher(dict(cards()), None)
    rankers: dict[str, Ranker] = {
        "runwhy": lambda q: [hit.card for hit in searcher.search(q).hits],
        "runwhy without vectors": lambda q: [hit.card for hit in by_words.search(q).hits],
        "BM25 alone": searcher.by_words,
        "vectors alone": searcher.by_meaning,
        "Chroma's plain query": plain_chroma(),
    }
    print(f"{len(rows)} questions, {len(cards())} cards\n")
    results = {name: scores(rows, ranker) for name, ranker in rankers.items()}
    for group in (*GATES, "all", "half A", "half B"):
        n = sum(group in (row["group"], row["half"], "all") for row in rows)
        print(f"{group} ({n})")
        for name, result in results.items():
            print(f"  {name:24}" + "".join(f"  {key} {value:.3f}" for key, value in result[group].items()))
    taken = []
    for row in rows * 2:
        start = time.perf_counter()
        searcher.search(row["question"])
        taken.append(1000 * (time.perf_counter() - start))
    p50, p95 = np.quantile(taken, [0.5, 0.95])
    print(f"\nwarm: p50 {p50:.1f} ms, p95 {p95:.1f} ms")
    for name, value in timings():
        print(f"{name}: {value:.2f} s")
    missed = [group for group, gate in GATES.items() if results["runwhy"][group]["recall@5"] < gate]
    print(f"gates: {'all met' if not missed else 'NOT met: ' + ', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
