"""BM25 over weighted fields, with every term's part in every score worked out when the index is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assistant.retrieval.tokens import BACKGROUND

WEIGHTS: Mapping[str, float] = {"names": 3.0, "title": 3.0, "ask": 3.0, "short": 2.0, "text": 1.0}
K1 = 1.2
B = 0.5
FURTHER = 0.5


@dataclass(frozen=True, slots=True)
class Lexical:
    """Term t's documents are ``docs[starts[t]:starts[t + 1]]`` with their ``scores`` (int32 and float32, one a posting)."""

    terms: Mapping[str, int]
    starts: npt.NDArray[np.int64]
    docs: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    n_docs: int

    def score(self, words: Sequence[str], further: Sequence[str] = ()) -> npt.NDArray[np.float32]:
        """Each document's score for the words of a question, shape (n_docs,). A repeated word counts once, ``further`` ones half."""
        out = np.zeros(self.n_docs, np.float32)
        for word, share in {**dict.fromkeys(further, FURTHER), **dict.fromkeys(words, 1.0)}.items():
            term = self.terms.get(word)
            if term is not None:
                part = slice(self.starts[term], self.starts[term + 1])
                out[self.docs[part]] += self.scores[part] * (share * _share(word))
        return out


def build(documents: Sequence[Mapping[str, Sequence[str]]]) -> Lexical:
    """An index of documents, each given as the tokens of its fields."""
    n = len(documents)
    lengths = {field: np.array([len(d.get(field, ())) for d in documents], float) for field in WEIGHTS}
    means = {field: max(float(length.mean()) if n else 0.0, 1.0) for field, length in lengths.items()}
    postings: dict[str, dict[int, float]] = {}
    for i, document in enumerate(documents):
        for field, weight in WEIGHTS.items():
            norm = weight / (1 - B + B * lengths[field][i] / means[field])
            for word, count in Counter(document.get(field, ())).items():
                row = postings.setdefault(word, {})
                row[i] = row.get(i, 0.0) + count * norm
    starts = np.zeros(len(postings) + 1, np.int64)
    np.cumsum([len(row) for row in postings.values()], out=starts[1:])
    docs = np.fromiter((i for row in postings.values() for i in row), np.int32, int(starts[-1]))
    frequency = np.fromiter((f for row in postings.values() for f in row.values()), np.float32, int(starts[-1]))
    found_in = np.diff(starts)
    rarity = np.log1p((n - found_in + 0.5) / (found_in + 0.5))
    scores = np.repeat(rarity, found_in) * frequency / (K1 + frequency)
    return Lexical({word: i for i, word in enumerate(postings)}, starts, docs, scores.astype(np.float32), n)


def _share(word: str) -> float:
    """A single Chinese character says less than a pair, a word of the background less than one of the matter."""
    return 0.4 if (len(word) == 1 and word >= "\u3400") or word in BACKGROUND else 1.0
