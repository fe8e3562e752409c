"""Columns gathered block by block, for tables that are read column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistant.logs.columns import Table, records, segments
from assistant.run import Column, FloatArray, Style


class Block(NamedTuple):
    """A column's cells in a block of rows: ``given`` marks those that hold a value (shape (rows,), None: all), the others follow
    those cells. ``styles`` is one style for all of them, or one each; ``texts`` by position among them."""

    given: NDArray[np.bool_] | None
    values: FloatArray
    styles: int | NDArray[np.uint8]
    texts: Mapping[int, str]


class BlockTable(Table):
    """A table that takes blocks of columns besides single rows; the rows stand after those of the blocks."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[str, list[tuple[int, Block]]] = {}
        self._n = 0

    def add_block(self, steps: Sequence[int], lines: Sequence[int], columns: Mapping[str, Block]) -> None:
        """Rows that are all empty must not be among them."""
        for name, block in columns.items():
            self._blocks.setdefault(name, []).append((self._n, block))
        self.steps.extend(steps)
        self.lines.extend(lines)
        self._n += len(steps)

    def finish(self) -> dict[str, Any]:
        if self.layouts:
            return super().finish()
        steps, lines = np.array(self.steps, np.int64), np.array(self.lines, np.int64)
        columns = {}
        for name, blocks in self._blocks.items():
            rows, values, styles, n = [], [], [], 0
            texts: dict[int, str] = {}
            for first, block in blocks:
                here = np.arange(len(block.values)) if block.given is None else np.flatnonzero(block.given)
                rows.append((here + first).astype(np.int32))
                values.append(block.values)
                styles.append(np.full(len(block.values), block.styles, np.uint8) if isinstance(block.styles, int) else block.styles)
                texts |= {n + at: text for at, text in block.texts.items()}
                n += len(block.values)
            if n:
                columns[name] = Column(np.concatenate(rows), np.concatenate(values), _one_style(np.concatenate(styles)), texts)
        return {
            "row_steps": steps,
            "row_lines": lines,
            "row_records": records(steps),
            "columns": columns,
            "segments": segments(steps, lines, np.zeros(len(steps), np.int64), [{""}]),
        }


def _one_style(styles: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Styles that are all alike take no memory."""
    first = styles[0] if len(styles) else Style.REPR
    return np.broadcast_to(np.array(first, np.uint8), (len(styles),)) if bool((styles == first).all()) else styles
