"""The guides on real, labelled logs: they lead where the diagnosis leads, and invent nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assistant.diagnosis import Diagnosis
from assistant.guide import START, Page, default_walk, symptoms, teach
from assistant.guide.loading import WALK, home_of
from tests.real import diagnosis_of_file

OWN = Path(__file__).parents[1] / "cases"
SHARED = Path(__file__).parents[3] / "shared" / "cases"
LARGEST = 3_000_000
FOLDERS = [
    path.parent for root in (OWN, *(SHARED / kind for kind in ("verl", "other", "long"))) for path in sorted(root.glob("*/case.json"))
]


def label(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "case.json").read_text())
    return found


def log_of(folder: Path) -> Path:
    return folder / str(label(folder).get("input", "log.txt"))


CASES = [folder for folder in FOLDERS if not log_of(folder).is_file() or log_of(folder).stat().st_size <= LARGEST]


def diagnosed(folder: Path) -> Diagnosis:
    return diagnosis_of_file(log_of(folder))


def texts(one: Page) -> str:
    found = one.outcome
    parts = [one.title, one.body_markdown, one.question, *one.notes, *(f"{row.plain} {row.should} {row.yours}" for row in one.rows)]
    parts += [label for _, label in one.options]
    if found is not None:
        parts += [found.title, found.meaning, found.summary, found.first, *found.causes, *found.watch_next, *found.told, *found.open]
        parts += [f"{change.text} {change.why} {change.check}" for change in found.changes]
    return "\n".join(parts)


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name[:40])
def test_by_defaults_the_guide_reaches_an_accepted_finding_or_says_that_nothing_is_wrong(folder: Path) -> None:
    diagnosis = diagnosed(folder)
    faults = [finding.id for finding in diagnosis.faults]
    accepted = label(folder).get("accept", label(folder).get("findings"))
    assert isinstance(accepted, list)
    guides = [START, WALK] if not faults else [START, WALK, home_of(faults[0]) or ""]
    for name in {home_of(finding) for finding in faults if finding in accepted}:  # the guide for each right answer
        assert name is not None
        reached = default_walk(diagnosis, name)[-1].outcome
        assert reached is not None
        assert reached.findings[0] in accepted, name
    for guide in guides:
        walk = default_walk(diagnosis, guide)
        found = walk[-1].outcome
        assert found is not None
        if not faults:
            assert (found.kind in ("healthy", "short"), found.findings, found.causes, found.changes) == (True, (), (), ())
            continue
        assert found.findings[0] == faults[0], guide
        if accepted:
            assert found.findings[0] in accepted
        assert set(found.findings) <= set(faults)
        assert len(walk) <= 14


@pytest.mark.parametrize("folder", CASES[::4], ids=lambda folder: folder.name[:40])
def test_no_symptom_leads_to_a_finding_that_the_diagnosis_does_not_have(folder: Path) -> None:
    diagnosis = diagnosed(folder)
    faults = {finding.id for finding in diagnosis.faults}
    for guide, _ in symptoms():
        for language in ("en", "zh"):
            walk = default_walk(diagnosis, guide, (), language)
            found = walk[-1].outcome
            assert found is not None
            assert set(found.findings) <= faults
            assert bool(found.findings) == bool(faults)
            for one in walk:
                words = texts(one)
                assert "{" not in re.sub(r"`[^`]*`|“[^”]*”", "", words), words
                if language == "zh":
                    assert re.search(r"[\u4e00-\u9fff]", one.body_markdown)


@pytest.mark.parametrize("folder", CASES[::3], ids=lambda folder: folder.name[:40])
def test_rows_quote_the_log_exactly(folder: Path) -> None:
    run = diagnosed(folder).run
    for one in default_walk(diagnosed(folder), WALK):
        for row in one.rows:
            series = run.series(row.metric)
            assert series is not None
            for point in row.points:
                at = [i for i in range(len(series)) if int(series.lines[i]) == point.line and series.text(i) == point.text]
                assert at, (row.metric, point)
            assert row.line == row.points[-1].line


@pytest.mark.parametrize("folder", CASES[::2], ids=lambda folder: folder.name[:40])
def test_lessons_have_this_runs_values_and_never_contradict_the_diagnosis(folder: Path) -> None:
    diagnosis = diagnosed(folder)
    lessons = teach(diagnosis)
    assert len(lessons) <= 8
    assert len({lesson.metric for lesson in lessons}) == len(lessons)
    for lesson in lessons:
        assert lesson.what
        assert lesson.should
        assert lesson.points[-1].text
        assert lesson.verdict != "bad" or diagnosis.faults
    if not diagnosis.run.columns:
        assert lessons == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the labelled logs")
def test_other_frameworks_are_advised_in_their_own_settings() -> None:
    """No setting of verl and nothing read about verl on a log of another framework."""
    other = [folder for folder in CASES if SHARED / "other" in folder.parents]
    assert len(other) > 20
    for folder in other:
        if diagnosed(folder).run.framework.startswith(("verl", "unknown", "generic")):
            continue
        for one in default_walk(diagnosed(folder), WALK):
            assert not re.search(r"actor_rollout_ref\.|algorithm\.rollout_correction|may have read|verl", texts(one)), (
                folder.name,
                texts(one),
            )


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the labelled logs")
def test_eight_numbers_on_each_kind_of_training() -> None:
    wanted = {
        "verl/03_": ["critic/score/mean", "val/test_score/openai/gsm8k", "response_length/mean", "actor/entropy_loss"],
        "other/14_": ["rewards/accuracies", "rewards/margins", "loss", "rewards/chosen"],
        "long/57_": ["rollout/ep_rew_mean", "rollout/ep_len_mean", "train/approx_kl", "train/clip_fraction"],
        "other/50_": ["loss", "eval_loss", "lr", "epoch"],
    }
    for start, metrics in wanted.items():
        folder = next(SHARED.glob(start + "*"))
        assert [lesson.metric for lesson in teach(diagnosed(folder))][:4] == metrics
