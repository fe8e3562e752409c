"""One JSON text: ``trainer_state.json``, a list of records, columns of numbers, a series a metric, a final summary.

The line of a value is the line where its record begins. When one text holds the same numbers twice (a series a metric,
and a history of all), the fullest list is read and what repeats it is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assistant.logs.files.finished import framework_of
from assistant.logs.files.json_parts import Parts, Record, named_values, one_metric, parts_of, repeats, rows_of_columns, step_of, weight
from assistant.logs.files.json_text import line_object
from assistant.logs.files.points import Points
from assistant.logs.files.rows import RowWriter, add_points, flat_settings, flattened
from assistant.logs.files.values import of_object, whole
from assistant.logs.formats.base import SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.formats.json_lines import is_sample
from assistant.run import NO_STEP

_SCORED = 256 << 10
_MOSTLY = 0.8
_HISTORY = "log_history"
_METRIC = re.compile(r"loss|reward|acc|kl\b|entropy|grad_?norm|perplex|f1|return|score|_step$|_runtime$|learning_rate", re.IGNORECASE)
_MODEL_CONFIG = frozenset({"architectures", "model_type", "hidden_size", "vocab_size", "torch_dtype", "tokenizer_class", "weight_map"})
_SETTINGS = ("config", "args", "hyperparameters", "hparams", "training_args")


class JsonDocumentReader(BlockReader):
    """Gathers the whole text and reads it at its end."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[bytes] = []

    def feed(self, block: bytes, final: bool) -> int:
        self._blocks.append(block)
        return len(block)

    def finish(self) -> None:
        text = b"".join(self._blocks).decode("utf-8", "replace")
        self._blocks = []
        parts = parts_of(text)
        if parts.cut:
            self.cut_lines.append(parts.cut)
        chosen = chosen_lists(parts)
        self.total_steps = _total(parts)
        for name in _SETTINGS:
            if name in parts.singles:
                self.config = flat_settings(parts.singles[name][0])
                break
        if len(chosen) == 1 and named_values(*chosen.values()) is None:
            (records,) = chosen.values()
            writer = RowWriter(self)
            for record, line in records:
                writer.add(record, line)
            writer.finish()
        elif chosen:
            add_points(self.table, _points(chosen))
        elif (single := _single(parts)) is not None:
            writer = RowWriter(self)
            writer.add(*single)
            writer.finish()
            if self.counted and len(self.table):
                self.table.steps[0] = NO_STEP
                self.counted = False


def chosen_lists(parts: Parts) -> dict[str, list[Record]]:
    """The lists to read, by the prefix that their names get: the fullest, and those that say something else."""
    lists = {path: records for path, records in parts.records.items() if not _is_data(records)}
    for path, columns in parts.columns.items():
        if (rows := rows_of_columns(columns)) and any(_METRIC.search(key) for key in columns):
            lists[f"{path}/" if path in lists else path] = rows
    if history := next((path for path in lists if path.rpartition("/")[2] == _HISTORY), None):
        return {"": lists[history]}
    lists |= {path: records for path, records in parts.triples.items() if path not in lists}
    weights = {path: weight(records) for path, records in lists.items()}
    order = sorted((path for path in lists if weights[path]), key=lambda path: -weights[path])
    if not order:
        return {}
    chosen = {order[0]: lists[order[0]]}
    for path in order[1:]:
        if not any(repeats(lists[path], records) for records in chosen.values()):
            chosen[path] = lists[path]
    if len(chosen) > 1 and not all(step_of(record) is not None for records in chosen.values() for record, _ in records[:3]):
        return {"": chosen[order[0]]}
    return chosen if len(chosen) > 1 or named_values(lists[order[0]]) else {"": lists[order[0]]}


def _points(lists: Mapping[str, Sequence[Record]]) -> Points:
    """Several lists as points: the fullest keeps its names; a name that another has too gets that list's path in front."""
    points = Points()
    taken: set[str] = set()
    for path, records in lists.items():
        named = named_values(records)
        last = path.rpartition("/")[2]
        single = one_metric(records)
        mine: set[str] = set()
        for record, line in records:
            if named is not None:
                step = whole(record.get(named[2])) if named[2] else NO_STEP
                cells = {str(record.get(named[0])): record.get(named[1])}
            else:
                step = step_of(record)
                cells = {
                    key: value
                    for key, value in flattened(record).items()
                    if whole(value) != step or key not in ("step", "_step", "global_step")
                }
            for key, value in cells.items():
                cell = of_object(value)
                if cell is None or step is None:
                    continue
                name = last if single == key and key in ("value", "y") and last else key
                if name in taken:
                    name = f"{path}/{name}"
                mine.add(name)
                points.add(name, step, line, cell.value, cell.style, cell.text)
        taken |= mine
    return points


def _is_data(records: Sequence[Record]) -> bool:
    """Whether the records are samples (prompts with answers), not metrics."""
    some = records[:20]
    return sum(is_sample(record) for record, _ in some) * 2 > len(some)


def _total(parts: Parts) -> int | None:
    for key in ("max_steps", "total_steps"):
        for path in ("", "state"):
            found = parts.singles.get(path)
            if found and (total := whole(found[0].get(key))) and total > 0:
                return total
    return None


def _single(parts: Parts) -> Record | None:
    """A text that is one record: a summary of a run or of an evaluation, and no model's configuration."""
    found = parts.singles.get("")
    if found is None or _MODEL_CONFIG & found[0].keys():
        return None
    numbers = [key for key, value in flattened(found[0]).items() if of_object(value) is not None]
    return found if sum(_METRIC.search(key) is not None for key in numbers) * 3 >= len(numbers) > 0 else None


class JsonDocument:
    name = "json"
    shape = "json"
    frameworks = ("generic", "trl", "hf-trainer", "verl")
    rank = SPECIFIC - 1  # the text as a whole is of this form, not only its lines
    console = False

    def score(self, head: Head) -> Fit:
        start = head.block[:4096].lstrip()
        if start[:1] not in (b"[", b"{") or not re.match(rb"[\[{]\s*[\[{\"\]}\-\dnN]", start):
            return Fit()
        first = line_object(head.block.lstrip().split(b"\n", 1)[0])
        if first is not None and not any(isinstance(value, list) and len(value) > 1 for value in first.values()):
            return Fit()  # JSON lines
        text = head.block[:_SCORED].decode("utf-8", "replace")
        parts = parts_of(text)
        if parts.share_read < _MOSTLY:
            return Fit()
        chosen = chosen_lists(parts)
        values = sum(weight(records) for records in chosen.values())
        n = sum(len(records) for records in chosen.values())
        if not chosen and (single := _single(parts)) is not None:
            values, n = weight([single]), 1
        if not values:
            return Fit()
        share = max(1.0, len(head.block) / len(text.encode("utf-8", "replace")))
        return Fit(round(n * share), round(n * share), round(values * share), "one JSON text")

    def reader(self) -> BlockReader:
        return JsonDocumentReader()

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        return framework_of(names, seen)

    samples: Sequence[Sample] = (
        Sample(
            '{\n "global_step": 10,\n "log_history": [\n  {"loss": 0.0, "learning_rate": 1e-06, "step": 5},\n'
            '  {"loss": NaN, "learning_rate": 2e-06, "step": 10},\n  {"train_runtime": 3.5, "step": 10}\n ],\n "max_steps": 20\n}\n',
            ({"step": 5, "values": {"loss": 0.0}}, {"step": 10, "values": {"loss": "nan", "train_runtime": 3.5}}),
            "hf-trainer",
        ),
        Sample(
            '{"loss": [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}], "kl": [{"step": 1, "kl": 0.0}, {"step": 2, "kl": 0.125}]}\n',
            ({"step": 1, "values": {"loss": 0.5, "kl": 0.0}}, {"step": 2, "values": {"loss": 0.25, "kl": 0.125}}),
            "generic",
        ),
        Sample(
            '{"epochs": [1, 2], "loss": [0.5, 0.25], "val_loss": [0.75, 0.5]}\n',
            ({"step": 1, "values": {"loss": 0.5, "val_loss": 0.75}}, {"step": 2, "values": {"loss": 0.25, "val_loss": 0.5}}),
            "generic",
        ),
    )


FORMATS = (JsonDocument(),)
