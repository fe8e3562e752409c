"""Score the diagnosis on labelled logs: one folder a case, a log and a ``case.json`` beside it.

``accept`` names the finding ids that would be right (empty: a quiet log), ``tolerate`` those that may also be there,
``forbid`` those that would be wrong; explained findings (severity ``info``) never count as alarms. A quiet case is hit
when nothing above ``info`` is reported beyond ``tolerate``. ``expect_info`` names what looks odd and should be explained. A case with
``answerable_from_log: false`` is abstained from when nothing above ``low`` is claimed beyond ``accept`` and ``tolerate``. An onset is right
within the labelled range, widened by a tenth of the run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import orjson

from assistant.diagnosis import diagnose
from assistant.logs import read


class NoCases(ValueError):
    """The folder holds no case.json; the message says what was looked for."""


@dataclass(frozen=True, slots=True)
class CaseScore:
    """``false_alarms`` counts findings above ``info`` that are neither accepted nor tolerated; ``alarms`` names them.

    ``parsed`` is None when the case says nothing about reading; ``onset_right`` when label or finding gives no step; ``abstained`` when
    the log answers the question. ``expected_info`` counts the findings of which ``missing_info`` were not reported.
    """

    id: str
    hit_at_1: bool
    hit_at_3: bool
    false_alarms: int
    seconds: float
    quiet: bool
    weight: float
    top: str | None
    alarms: Sequence[str]
    forbidden: Sequence[str]
    missing_info: Sequence[str]
    onset_error: int | None
    parsed: bool | None
    expected_info: int = 0
    onset_right: bool | None = None
    abstained: bool | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Scores:
    cases: Sequence[CaseScore]

    def rate(self, name: str, *, quiet: bool | None = None) -> float:
        """Share of cases for which the attribute ``name`` is true; NaN without cases."""
        chosen = [c for c in self.cases if quiet is None or c.quiet == quiet]
        return sum(bool(getattr(c, name)) for c in chosen) / len(chosen) if chosen else float("nan")

    def totals(self) -> dict[str, Any]:
        """Rates with their standard errors (None without cases), and sums. Rates are over all cases unless the name says otherwise."""
        weight = sum(c.weight for c in self.cases)
        expected = sum(c.expected_info for c in self.cases)
        quiet = [c for c in self.cases if c.quiet]
        onsets = [c.onset_right for c in self.cases if c.onset_right is not None]
        unanswerable = [c.abstained for c in self.cases if c.abstained is not None]
        return {
            "n": len(self.cases),
            **_rate("hit_at_1", sum(c.hit_at_1 for c in self.cases), len(self.cases)),
            **_rate("hit_at_3", sum(c.hit_at_3 for c in self.cases), len(self.cases)),
            "hit_at_1_weighted": sum(c.weight * c.hit_at_1 for c in self.cases) / weight if weight else None,
            "n_quiet": len(quiet),
            "quiet_disturbed": sum(not c.hit_at_1 for c in quiet),
            **_rate("quiet_undisturbed", sum(c.hit_at_1 for c in quiet), len(quiet)),
            "false_alarms": sum(c.false_alarms for c in self.cases),
            "false_alarms_per_quiet": sum(c.false_alarms for c in quiet) / len(quiet) if quiet else None,
            "forbidden": sum(len(c.forbidden) for c in self.cases),
            "n_expected_info": expected,
            **_rate("info_explained", expected - sum(len(c.missing_info) for c in self.cases), expected),
            "n_onset": len(onsets),
            **_rate("onset_right", sum(onsets), len(onsets)),
            "n_unanswerable": len(unanswerable),
            **_rate("abstention", sum(unanswerable), len(unanswerable)),
            "parsed": sum(c.parsed is True for c in self.cases),
            "parse_checked": sum(c.parsed is not None for c in self.cases),
            "seconds": sum(c.seconds for c in self.cases),
        }

    def to_json(self) -> dict[str, Any]:
        return {"cases": [asdict(c) for c in self.cases], "totals": self.totals()}


def _rate(name: str, right: int, n: int) -> dict[str, float | None]:
    """A share and its standard error (binomial), by name."""
    if not n:
        return {name: None, f"{name}_stderr": None}
    share = right / n
    return {name: share, f"{name}_stderr": sqrt(share * (1 - share) / n)}


def evaluate(folder: str | Path) -> Scores:
    """Every case at or below ``folder``, by name. Raises NoCases when there is none."""
    root = Path(folder)
    found = sorted(root.rglob("case.json"))
    if not found:
        raise NoCases(f"No case.json below {folder}; give a folder of cases, each with its log and a case.json.")
    return Scores([score_case(path.parent) for path in found])


def score_case(folder: Path) -> CaseScore:
    """Read and diagnose one case and compare with its labels. A failure counts as a miss and is named."""
    label = orjson.loads((folder / "case.json").read_bytes())
    started = time.perf_counter()
    try:
        run = read(folder / label.get("input", "log.txt"))
        diagnosis = diagnose(run)
    except Exception as error:  # a crash of ours on one log must not hide the score of the others
        return _missed(label, folder, time.perf_counter() - started, f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - started
    accept, tolerate = set(label.get("accept", ())), set(label.get("tolerate", ()))
    reported = [f.id for f in diagnosis.findings]
    faults = [f.id for f in diagnosis.faults]
    alarms = [name for name in faults if name not in accept | tolerate]
    quiet = not accept
    grave = [f.id for f in diagnosis.faults if f.severity != "low"]
    # A log that prints no step has record numbers for steps: they cannot be held against a label in steps.
    counted = any(note.kind == "numbered-records" for note in run.notes)
    onset = None if counted else next((f.first_step for f in diagnosis.findings if f.id in accept), None)
    off = _onset_error(label.get("onset_step"), onset)
    return CaseScore(
        id=label.get("id", folder.name),
        hit_at_1=not alarms if quiet else bool(faults and faults[0] in accept),
        hit_at_3=not alarms if quiet else bool(accept.intersection(faults[:3])),
        false_alarms=len(alarms),
        seconds=round(seconds, 4),
        quiet=quiet,
        weight=float(label.get("grade_weight", 1.0)),
        top=faults[0] if faults else None,
        alarms=alarms,
        forbidden=[name for name in reported if name in label.get("forbid", ())],
        missing_info=[name for name in label.get("expect_info", ()) if name not in reported],
        onset_error=off,
        onset_right=None if off is None else off <= 0.1 * max(run.last_step or 0, 0),
        parsed=_parsed(run, label),
        expected_info=len(label.get("expect_info", ())),
        abstained=None if label.get("answerable_from_log", True) else not [f for f in grave if f not in accept | tolerate],
    )


def _missed(label: dict[str, Any], folder: Path, seconds: float, error: str) -> CaseScore:
    return CaseScore(
        id=label.get("id", folder.name),
        hit_at_1=False,
        hit_at_3=False,
        false_alarms=0,
        seconds=round(seconds, 4),
        quiet=not label.get("accept"),
        weight=float(label.get("grade_weight", 1.0)),
        top=None,
        alarms=(),
        forbidden=(),
        missing_info=label.get("expect_info", ()),
        onset_error=None,
        parsed=False,
        expected_info=len(label.get("expect_info", ())),
        abstained=None if label.get("answerable_from_log", True) else False,
        error=error,
    )


def _onset_error(expected: int | list[int] | None, found: int | None) -> int | None:
    """Steps between the onset found and the labelled one (0 inside a labelled range); None when either is open."""
    if expected is None or found is None:
        return None
    low, high = (expected, expected) if isinstance(expected, int) else (expected[0], expected[-1])
    return max(low - found, found - high, 0)


def _parsed(run: Any, label: dict[str, Any]) -> bool | None:
    must = label.get("must_parse")
    if not must:
        return None
    if run.framework not in (must["framework"], *must.get("framework_also", ())):
        return False
    if run.n_records not in (must["n_records"], *must.get("n_records_also", ())):
        return False
    if label.get("era") and run.era != label["era"]:
        return False
    records = list(run.records()) if must.get("probes") else []
    by_step = {record["step"]: record["values"] for record in records}
    for probe in must.get("probes", ()):
        values = records[probe["record"]]["values"] if probe.get("record", len(records)) < len(records) else by_step.get(probe["step"], {})
        if values.get(probe["metric"]) != probe["value"]:
            return False
    return True
