"""Speed, memory, mismatch and supervised findings on the labelled logs: what must be there, and nothing that must not."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from assistant.diagnosis import diagnose, render
from assistant.diagnosis.detector import registered
from tests.real import run_of_file

CASES = Path(__file__).parents[4] / "shared" / "cases"
MODULES = ("mismatch", "staleness", "speed", "phases", "memory", "supervised")
LOGS = sorted(CASES.glob("verl/*/log.txt")) + sorted(p for p in CASES.glob("long/*_verl_*/metrics.jsonl"))

pytestmark = pytest.mark.skipif(not LOGS, reason="labelled logs are not here")


@pytest.fixture(scope="module")
def ours() -> list[str]:
    return [name for name, one in registered().items() if one.function.__module__.rpartition(".")[2] in MODULES]


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.parent.name[:40])
def test_nothing_beyond_the_labels(log: Path, ours: list[str]) -> None:
    case = orjson.loads((log.parent / "case.json").read_bytes())
    found = diagnose(run_of_file(log), only=ours)
    loud = {finding.id for finding in found.faults}
    assert loud <= {*case["accept"], *case["tolerate"]}
    assert not {finding.id for finding in found.findings} & set(case["forbid"])
    for finding in found.findings:
        assert render.summary(finding, "en")
        assert render.summary(finding, "zh")


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        ("verl/02_healthy_grpo_deepseek7b_gsm8k_1120", {"periodic-dips"}),
        ("verl/14_opd_healthy_improving_mfu_above_1_180", {"mfu-miscalibrated"}),
        ("verl/30_gui_cursor_vlm_update_actor_bottleneck", {"update-bound", "padding-waste", "mfu-unknown"}),
        ("verl/63_adv_time_10751s", {"reward-slow"}),
        ("long/04_verl_alfworld_replay_slowdown_truncation_304", {"progressive-slowdown", "host-memory-growth"}),
        ("long/05_verl_alfworld_sft_grpo_mis_hostmem_323", {"progressive-slowdown", "host-memory-growth"}),
        ("long/13_verl_babyai_prefix_raw_hostmem_812", {"host-memory-growth"}),
    ],
)
def test_what_the_labels_name_is_found(case: str, wanted: set[str], ours: list[str]) -> None:
    folder = CASES / case
    log = folder / ("log.txt" if (folder / "log.txt").exists() else "metrics.jsonl")
    assert wanted <= {finding.id for finding in diagnose(run_of_file(log), only=ours).findings}
