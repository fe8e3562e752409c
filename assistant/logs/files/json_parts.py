"""What a JSON text holds that could be metrics: lists of records, columns of numbers, triples, single values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.logs.files.json_text import CutText, Document
from assistant.logs.files.steps import CLOCKS, plain, step_column
from assistant.logs.files.values import of_object, whole

_MAX_DEPTH = 4
_ALIKE = 0.9
_SERIES_NAMES = ("metric", "key", "tag", "name")

Record = tuple[dict[str, Any], int]
"""Names and values, and the line where the record begins."""


@dataclass(slots=True)
class Parts:
    """By path (outer keys joined by ``/``). ``cut`` is the line at which the text ends or is damaged (0: it is whole)."""

    records: dict[str, list[Record]] = field(default_factory=dict)
    columns: dict[str, dict[str, tuple[list[Any], int]]] = field(default_factory=dict)
    triples: dict[str, list[Record]] = field(default_factory=dict)
    singles: dict[str, Record] = field(default_factory=dict)
    cut: int = 0
    share_read: float = 1.0


def parts_of(text: str) -> Parts:
    """Walks a JSON text, or several one after another, as far as it is sound."""
    document = Document(text)
    parts = Parts()
    loose: list[Record] = []
    try:
        while document:
            if document.next == "[":
                _list(document, "", parts)
            elif document.next == "{":
                line, known = document.line, _n_lists(parts)
                single: dict[str, Any] = {}
                try:
                    _object(document, single, "", 0, parts)
                finally:
                    if single and _n_lists(parts) == known:
                        loose.append((single, line))
                    elif single:
                        parts.singles.setdefault("", (single, line))
            else:
                raise CutText("neither list nor object")
            document.skip()
            if document.next == ",":
                document.at += 1
                document.skip()
    except CutText:
        parts.cut = document.line
        parts.share_read = document.at / len(text)
    if len(loose) > 1:
        parts.records[""] = loose
    elif loose:
        parts.singles[""] = loose[0]
    return parts


def _n_lists(parts: Parts) -> int:
    return len(parts.records) + len(parts.columns)


def _object(document: Document, single: dict[str, Any], path: str, depth: int, parts: Parts) -> None:
    """Puts the single values of the object at the cursor into ``single``; lists and inner objects are filed under their path."""
    key = ""
    try:
        for key in document.members():
            inner = f"{path}/{key}" if path else key
            if document.next == "[":
                _list(document, inner, parts)
            elif document.next == "{" and depth < _MAX_DEPTH:
                values: dict[str, Any] = {}
                parts.singles[inner] = (values, document.line)
                single[key] = values
                _object(document, values, inner, depth + 1, parts)
            else:
                single[key] = document.value()
    except CutText:
        if not document and not isinstance(single.get(key), dict):  # a number at the very end may have had more digits
            single.pop(key, None)
        raise


def _list(document: Document, path: str, parts: Parts) -> None:
    """Files the list at the cursor; what was read of it also when it is cut."""
    records: list[Record] = []
    triples: list[Record] = []
    values: list[Any] = []
    first = document.line
    try:
        for _ in document.elements():
            line = document.line if document.next in "[{" else first
            value = document.value()
            if isinstance(value, dict):
                records.append((value, line))
            elif isinstance(value, list) and len(value) == 3:
                triples.append(({"step": value[1], path or "value": value[2]}, line))
            else:
                values.append(value)
    except CutText:
        if not document and values:  # a number at the very end may have had more digits
            values.pop()
        raise
    finally:
        if records:
            parts.records[path] = records
        elif triples:
            parts.triples[path] = triples
        elif len(values) > 1 and any(isinstance(value, (int, float)) for value in values):
            parent, _, key = path.rpartition("/")
            parts.columns.setdefault(parent, {})[key] = (values, first)


def weight(records: Sequence[Record]) -> int:
    """How many numbers the records of a list hold (counted on some of them)."""
    some = records[:: max(1, len(records) // 50)]
    cells = sum(of_object(value) is not None for record, _ in some for value in _values(record))
    return cells * len(records) // max(1, len(some))


def _values(record: Mapping[str, Any]) -> Sequence[Any]:
    return [inner for value in record.values() for inner in (value.values() if isinstance(value, dict) else (value,))]


def rows_of_columns(columns: Mapping[str, tuple[Sequence[Any], int]]) -> list[Record]:
    """Columns of equal length as rows; of several lengths those with the most numbers."""
    by_length: dict[int, list[str]] = {}
    for key, (values, _) in columns.items():
        by_length.setdefault(len(values), []).append(key)
    if not by_length:
        return []
    length = max(by_length, key=lambda one: one * len(by_length[one]))
    keys = by_length[length]
    line = min(columns[key][1] for key in keys)
    return [({key: columns[key][0][row] for key in keys}, line) for row in range(length)]


def repeats(records: Sequence[Record], of: Sequence[Record]) -> bool:
    """Whether a list says again what another says: the same values of the same names at the same steps."""
    known: dict[tuple[int, str], set[float]] = {}
    for record, _ in of:
        step = step_of(record)
        for key, value in record.items():
            if step is not None and (cell := of_object(value)) is not None:
                known.setdefault((step, key), set()).add(cell.value)
    checked = same = 0
    for record, _ in records[:: max(1, len(records) // 200)]:
        step = step_of(record)
        for key, value in record.items():
            cell = of_object(value)
            if cell is None or step is None or plain(key) == "step":
                continue
            checked += 1
            same += cell.value in known.get((step, key), ()) or cell.value != cell.value
    return checked == 0 or same >= _ALIKE * checked


def step_of(record: Mapping[str, Any]) -> int | None:
    return next((number for key in ("step", "global_step", "_step", "iteration") if (number := whole(record.get(key))) is not None), None)


def one_metric(records: Sequence[Record]) -> str | None:
    """The metric of a list whose records hold one each, beside step, epoch and time; None for others."""
    names = {key for record, _ in records for key in record if plain(key) not in CLOCKS and plain(key) not in ("step", "epoch")}
    return names.pop() if len(names) == 1 else None


def named_values(records: Sequence[Record]) -> tuple[str, str, str] | None:
    """(key of the name, key of the value, key of the step) when each record is one value of a named metric."""
    first = records[0][0]
    name = next((key for key in _SERIES_NAMES if isinstance(first.get(key), str)), None)
    if name is None or "value" not in first or of_object(first["value"]) is None:
        return None
    column = step_column([record for record, _ in records[:64]])
    return name, "value", column.name
