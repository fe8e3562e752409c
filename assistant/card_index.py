"""The index of the knowledge base as Markdown: ``python -m assistant.card_index`` writes docs/metrics.md and docs/findings.md."""

from __future__ import annotations

from pathlib import Path

from assistant.cards import Card, in_folder, pick


def metrics_page() -> str:
    """Every metric card: title in both languages, the keys it answers for, what it is."""
    rows = [_row(card, ", ".join(f"`{key}`" for key in _keys(card)[:4]), pick(card.front.get("short"), "en")) for card in _cards("metrics")]
    return _page("Metrics", ("card", "metric", "指标", "printed as", "what it is"), rows)


def findings_page() -> str:
    """Every finding card: title in both languages, severity, and what most likely causes it."""
    rows = []
    for card in _cards("findings"):
        first = next(iter(card.front.get("causes") or ()), None)
        rows.append(_row(card, str(card.front.get("severity", "medium")), pick(first, "en")))
    return _page("Findings", ("card", "finding", "发现", "severity", "most likely cause"), rows)


def _cards(folder: str) -> list[Card]:
    return sorted(in_folder(folder), key=lambda card: card.id)


def _keys(card: Card) -> list[str]:
    """The printed keys of a metric card, verl's first."""
    tables = [metric.get("names", {}) for metric in card.front.get("metrics", ())]
    own = [key for table in tables for key in table.get("verl", ())]
    rest = [key for table in tables for framework, keys in table.items() if framework != "verl" for key in keys]
    return list(dict.fromkeys(key["key"] if isinstance(key, dict) else key for key in (*own, *rest)))


def _row(card: Card, *columns: str) -> str:
    link = f"[{card.id.partition('/')[2]}](../knowledge/{card.id}.md)"
    return "| " + " | ".join(_cell(text) for text in (link, card.title("en"), card.title("zh"), *columns)) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _page(title: str, columns: tuple[str, ...], rows: list[str]) -> str:
    note = "Made from the cards in `knowledge/` by `python -m assistant.card_index`."
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([f"# {title}", "", note, "", *head, *rows, ""])


PAGES = {"metrics.md": metrics_page, "findings.md": findings_page}


if __name__ == "__main__":
    folder = Path(__file__).resolve().parents[1] / "docs"
    for name, make in PAGES.items():
        (folder / name).write_text(make(), encoding="utf-8")
