from __future__ import annotations

from pathlib import Path

from assistant.retrieval import Searcher
from assistant.retrieval.langchain import CardRetriever


def test_cards_come_as_documents_in_the_language_asked_for(cache: Path, full: Searcher) -> None:
    first = CardRetriever(limit=3, language="zh").invoke("熵坍缩了怎么办")
    assert len(first) == 3
    assert "findings/entropy-collapse" in [document.id for document in first]
    document = next(d for d in first if d.id == "findings/entropy-collapse")
    assert document.page_content.startswith("策略熵坍缩")
    assert document.metadata["card"] == "findings/entropy-collapse"
    assert "entropy-collapse" in document.metadata["covers"]


def test_findings_of_the_run_are_passed_on(cache: Path, full: Searcher) -> None:
    found = CardRetriever(limit=5, findings=["crash-nccl"]).invoke("what now?")
    assert "findings/crash-nccl" in [document.id for document in found]
    assert found[0].page_content
