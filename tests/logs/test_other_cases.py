"""Real logs of other frameworks: framework, records and probes as labelled, and nothing that does not stand in the log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.logs.formats.test_mixtures import made_up
from tests.real import run_of_file

SHARED = Path(__file__).parents[3] / "shared"
CASES = sorted((SHARED / "cases" / "other").glob("*/case.json"))
LONG = [case for case in sorted((SHARED / "cases" / "long").glob("*/case.json")) if (case.parent / "log.txt").is_file()]
SAMPLES = sorted((SHARED / "samples").glob("*.log"))

pytestmark = pytest.mark.skipif(not CASES, reason="the labelled logs are not here")

PREFIXES = {
    "accelerate": "accelerate", "areal": "areal", "cleanrl": "cleanrl", "deepspeed_chat": "deepspeed-chat", "hf_trainer": "hf-trainer",
    "megatron": "megatron", "ms_swift": "ms-swift", "nemo_rl": "nemo-rl", "openrlhf": "openrlhf", "prime_rl": "prime-rl",
    "rllib": "rllib", "rllm": "verl", "sb2": "sb3", "sb3": "sb3", "skyrl": "skyrl", "slime": "slime", "torchtitan": "torchtitan",
    "torchtune": "torchtune", "trl_sft": "hf-trainer", "trl": "trl", "unsloth": "unsloth", "verl": "verl", "wandb": "verl",
}  # fmt: skip
RECORDS = {
    "areal_1": 1, "areal_2": 1, "cleanrl_1": 8, "cleanrl_2": 9, "cleanrl_3": 7, "deepspeed_engine_2": 13, "hf_trainer_liger_1": 3,
    "megatron_1": 4, "megatron_2": 1, "megatron_3": 1, "megatron_4": 1, "ms_swift_1": 2, "ms_swift_2": 20, "ms_swift_3": 1, "nemo_rl_1": 1,
    "openrlhf_1": 2, "prime_rl_1": 4, "prime_rl_2": 2, "prime_rl_3": 2, "rllib_1": 1, "rllib_2": 1, "sb2_legacy_1": 1, 
    "sb3_1": 1, "sb3_3": 1,
    "skyrl_1": 1, "skyrl_2": 4, "slime_1": 2, "slime_2": 3, "torchtitan_1": 5, "torchtune_1": 12, "torchtune_2": 11, "torchtune_3": 3,
    "trl_dpo_1": 3, "trl_dpo_2": 3, "trl_grpo_1": 59, "trl_grpo_2": 2, "trl_grpo_3": 3, "trl_ppo_1": 6, "trl_ppo_2": 1, "trl_sft_1": 10,
    "unsloth_1": 5, "unsloth_2": 43,
}  # fmt: skip


@pytest.mark.parametrize("case", [*CASES, *LONG], ids=lambda path: path.parent.name)
def test_what_the_label_says_must_be_read(case: Path) -> None:
    label = json.loads(case.read_text())
    must = label["must_parse"]
    run = run_of_file(case.parent / label.get("input", "log.txt"))
    assert run.framework in (must["framework"], *must.get("framework_also", ()))
    assert run.n_records in (must["n_records"], *must.get("n_records_also", ()))
    records = list(run.records())
    for probe in must["probes"]:
        record = records[probe["record"]]
        assert record["values"].get(probe["metric"], "missing") == probe["value"], probe
        assert probe["step"] is None or record["step"] == probe["step"], probe
    if cut := must.get("cut"):
        assert cut["metric"] not in records[cut["record"]]["values"]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_is_recognised_and_nothing_in_it_is_made_up(path: Path) -> None:
    run = run_of_file(path)
    prefix = max((name for name in PREFIXES if path.stem.startswith(name)), key=len, default="")
    assert not prefix or run.framework == PREFIXES[prefix]
    assert run.n_records == RECORDS.get(path.stem, run.n_records) > 0
    assert made_up(run, path.read_bytes().decode("utf-8", "replace").split("\n")) == []
