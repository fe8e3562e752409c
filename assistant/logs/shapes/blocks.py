"""Records printed as a block of lines (a table, a list of bullets): lines are gathered until the block ends."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.logs.shapes.lines import LinesReader
from assistant.logs.shapes.printed import read_printed
from assistant.logs.shapes.rows import Row


class BlockRows(LinesReader):
    """``cell`` gathers one printed number, ``close`` makes the record of what was gathered, one row a line."""

    fixed = False

    def __init__(self, marks: Sequence[bytes]) -> None:
        super().__init__(marks, lambda text: None)
        self.open_block()

    def open_block(self) -> None:
        self._cells: list[tuple[int, str, str]] = []
        self._keys: set[str] = set()
        self.block_step: int | None = None

    def holds(self, key: str) -> bool:
        return key in self._keys

    def cell(self, key: str, digits: str) -> None:
        self._cells.append((self.line, key, digits))
        self._keys.add(key)

    @property
    def n_cells(self) -> int:
        return len(self._cells)

    def close(self) -> None:
        """Adds the record; a block without a step of its own gets the one of the banner before (``step``)."""
        cells, step = self._cells, self.block_step if self.block_step is not None else self.step
        self.open_block()
        joined = False
        at = 0
        while at < len(cells):
            line = cells[at][0]
            row: dict[str, str] = {}
            while at < len(cells) and cells[at][0] == line:
                row[cells[at][1]] = cells[at][2]
                at += 1
            printed = [read_printed(digits, self.fixed) for digits in row.values()]
            texts = {i: one.text for i, one in enumerate(printed) if one.text}
            styles = bytes(one.style for one in printed)
            self.append(Row(step, self.table.layout(tuple(row)), [one.value for one in printed], styles, texts), step, joined, line)
            joined = True

    def finish(self) -> None:
        self.close()
        super().finish()
