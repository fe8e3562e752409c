"""The search as a LangChain retriever. Needs ``langchain-core`` (extra ``llm``); imported only by those who use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from assistant.cards import cards, pick
from assistant.messages import Language
from assistant.retrieval import Hit, search


class CardRetriever(BaseRetriever):
    """Cards as documents: the text in ``language``, with the card's id, score, reasons and coverage as metadata.

    ``run`` and ``findings`` are those of ``Searcher.search``.
    """

    limit: int = 5
    language: Language = "en"
    run: Any = None
    findings: Sequence[str] = ()

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [self._document(hit) for hit in search(query, limit=self.limit, run=self.run, findings=self.findings).hits]

    def _document(self, hit: Hit) -> Document:
        card = cards()[hit.card]
        parts = [card.title(self.language), pick(card.front.get("short"), self.language), card.body.get(self.language, "")]
        text = "\n\n".join(part for part in parts if part)
        return Document(id=hit.card, page_content=text, metadata={**hit.to_json(), "title": card.title(self.language)})
