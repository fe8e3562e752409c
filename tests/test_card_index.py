"""The pages in docs/ say what the cards say."""

import re
from pathlib import Path

import pytest

from assistant.card_index import PAGES
from assistant.cards import in_folder

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run: python -m assistant.card_index"


@pytest.mark.parametrize("folder", ["metrics", "findings"])
def test_every_card_has_its_row(folder: str) -> None:
    page = PAGES[f"{folder}.md"]()
    assert all(f"(../knowledge/{card.id}.md)" in page for card in in_folder(folder))


def test_rows_have_as_many_cells_as_the_head() -> None:
    for make in PAGES.values():
        table = [line for line in make().splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
