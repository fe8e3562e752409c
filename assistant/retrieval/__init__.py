"""Find the cards that answer a question, in any words and in English or Chinese.

Names come first (``exact``), then words (``bm25``), then meaning (``vectors``); the three rankings are fused and weighed by
what is known of the run (``fusion``). Meaning needs the extra ``search``; without it, or when its index cannot be had, the
other two answer alone, and ``Found.notes`` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from assistant.cards import Card, cards, left_out
from assistant.lexicon import MAX_QUESTION, of_run
from assistant.retrieval import bm25
from assistant.retrieval.documents import Document, covers, document
from assistant.retrieval.embedding import Embedder, EmbeddingError, configured
from assistant.retrieval.exact import Named, named
from assistant.retrieval.fusion import Setting, fuse, weighed
from assistant.retrieval.tokens import meant, tokens
from assistant.retrieval.vectors import Passage, Progress, VectorError, VectorIndex, open_index
from assistant.run import Run
from assistant.spelling import Correction

__all__ = ["Found", "Hit", "Searcher", "search", "searcher"]

DEPTH = 40


@dataclass(frozen=True, slots=True)
class Hit:
    """``score`` lies between 0 and 1; ``why`` names the rankings that found the card (alias, finding, bm25, dense)."""

    card: str
    score: float
    why: tuple[str, ...]
    covers: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"card": self.card, "score": round(self.score, 4), "why": list(self.why), "covers": list(self.covers)}


@dataclass(frozen=True, slots=True)
class Found:
    """``corrections`` are names that were read as another; ``notes`` say what could not be used."""

    hits: tuple[Hit, ...]
    corrections: tuple[Correction, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object that ``runwhy search --json`` prints."""
        return {
            "hits": [hit.to_json() for hit in self.hits],
            "did_you_mean": [{"written": c.written, "meant": c.meant} for c in self.corrections],
            "notes": list(self.notes),
        }


@dataclass(slots=True)
class Searcher:
    """The cards, ready to be searched. ``embedder`` None searches by names and words only."""

    cards: dict[str, Card]
    embedder: Embedder | None
    progress: Progress | None = None
    documents: list[Document] = field(init=False)
    lexical: bm25.Lexical = field(init=False)
    _vectors: VectorIndex | None = None
    _broken: str = ""
    _opening: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.documents = [document(card) for card in self.cards.values()]
        self.lexical = bm25.build([{name: tokens(text) for name, text in d.fields.items()} for d in self.documents])

    def search(self, question: str, *, limit: int = 5, run: Run | None = None, findings: Iterable[str] = ()) -> Found:
        """The ``limit`` best cards for ``question``; ``findings`` are ids that the diagnosis of ``run`` reports, first the main one."""
        names = named(question, of_run(run) if run is not None else None)
        rankings = {
            "alias": [card for card in names.ranked() if card in self.cards],
            "finding": [card for name in findings if (card := f"findings/{name}") in self.cards],
            "bm25": self.by_words(question),
            "dense": self.by_meaning(question),
        }
        ordered = weighed(fuse(rankings), self.cards, Setting.of(run) if run is not None else Setting(), rankings["alias"])
        hits = tuple(self._hit(card, score, rankings, names) for card, score in ordered[:limit])
        return Found(hits, tuple(names.corrections), tuple(self.notes()))

    def by_words(self, question: str) -> list[str]:
        """Cards by BM25, best first."""
        words = tokens(question)
        scores = self.lexical.score(words, meant(words))
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        return [self.documents[i].card for i in best if scores[i] > 0]

    def by_meaning(self, question: str) -> list[str]:
        """Cards by their nearest passage, best first; empty without vectors."""
        index = self.vectors()
        if index is None or not question.strip():
            return []
        try:
            return [card for card, _ in index.nearest(question[:MAX_QUESTION]) if card in self.cards]
        except (VectorError, EmbeddingError) as error:
            self._broken = str(error)
            return []

    def vectors(self) -> VectorIndex | None:
        """The vector index, opened (and if need be built) at first use."""
        with self._opening:
            if self._vectors is None and self.embedder is not None and not self._broken:
                passages = [Passage(f"{d.card}#{i}", text) for d in self.documents for i, text in enumerate(d.passages)]
                try:
                    self._vectors = open_index(passages, self.embedder, self.progress)
                except (VectorError, EmbeddingError) as error:
                    self._broken = str(error)
            return self._vectors

    def notes(self) -> Sequence[str]:
        """What could not be used: ``kind`` or ``kind: reason`` (no-vectors, vectors-failed, card-left-out)."""
        vectors = ["no-vectors"] if self.embedder is None else [f"vectors-failed: {self._broken}"] if self._broken else []
        return [*vectors, *(f"card-left-out: {problem}" for problem in left_out())]

    def _hit(self, card: str, score: float, rankings: dict[str, list[str]], names: Named) -> Hit:
        why = tuple(name for name, ranking in rankings.items() if card in ranking)
        return Hit(card, score, why, tuple(dict.fromkeys([*names.keys.get(card, ()), *covers(self.cards[card], self.cards)])))


@cache
def searcher() -> Searcher:
    """The searcher over this installation's cards, made once."""
    return Searcher(dict(cards()), configured())


def search(question: str, *, limit: int = 5, run: Run | None = None, findings: Iterable[str] = ()) -> Found:
    """``Searcher.search`` over this installation's cards."""
    return searcher().search(question, limit=limit, run=run, findings=findings)
