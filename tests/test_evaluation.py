"""Scoring on labelled cases."""

import json
from pathlib import Path

import pytest

from assistant.evaluation import NoCases, evaluate

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB\n"
QUIET = "\n".join(
    f"step:{i} - actor/entropy:{0.4 - 0.001 * i} - critic/score/mean:{0.3 + 0.005 * i} - critic/score/max:1.0 - critic/score/min:0.0"
    for i in range(1, 31)
)


def case(folder: Path, name: str, log: str, **label: object) -> None:
    (folder / name).mkdir()
    (folder / name / "log.txt").write_text(log)
    (folder / name / "case.json").write_text(json.dumps({"id": name, **label}))


def test_hits_alarms_and_forbidden_findings_are_counted(tmp_path: Path) -> None:
    case(tmp_path, "a_hit", OOM, accept=["crash-gpu-oom"])
    case(tmp_path, "b_miss", OOM, accept=["crash-nccl"], forbid=["crash-gpu-oom"], grade_weight=0.5)
    case(tmp_path, "c_disturbed", OOM, accept=[])
    case(tmp_path, "d_tolerated", OOM, accept=[], tolerate=["crash-gpu-oom"])
    case(tmp_path, "e_quiet", QUIET, accept=[], must_parse={"framework": "verl", "n_records": 30, "probes": []}, expect_info=["no-such-id"])
    a, b, c, d, e = (scores := evaluate(tmp_path)).cases
    assert (a.hit_at_1, a.hit_at_3, a.false_alarms) == (True, True, 0)
    assert (b.hit_at_1, b.hit_at_3, list(b.alarms), list(b.forbidden)) == (False, False, ["crash-gpu-oom"], ["crash-gpu-oom"])
    assert (c.hit_at_1, c.false_alarms) == (False, 1)
    assert (d.hit_at_1, d.false_alarms) == (True, 0)
    assert e.parsed is True
    assert list(e.missing_info) == ["no-such-id"]
    totals = scores.totals()
    assert totals["hit_at_1"] == pytest.approx(3 / 5)
    assert totals["hit_at_1_weighted"] == pytest.approx(3 / 4.5)
    assert (totals["n_quiet"], totals["quiet_disturbed"], totals["false_alarms"], totals["forbidden"]) == (3, 1, 2, 1)


def test_a_wrong_number_of_records_is_not_read_as_labelled(tmp_path: Path) -> None:
    case(tmp_path, "a", QUIET, accept=[], must_parse={"framework": "verl", "n_records": 31, "probes": []})
    probe = {"metric": "actor/entropy", "step": 2, "value": 0.398}
    case(tmp_path, "b", QUIET, accept=[], must_parse={"framework": "verl", "n_records": 30, "probes": [probe]})
    case(tmp_path, "c", QUIET, accept=[], must_parse={"framework": "verl", "n_records": 30, "probes": [{**probe, "value": 0.4}]})
    assert [c.parsed for c in evaluate(tmp_path).cases] == [False, True, False]


def test_a_log_that_is_missing_is_a_miss_with_its_reason(tmp_path: Path) -> None:
    case(tmp_path, "a", "", accept=["crash-nccl"], input="not-there.log")
    (only,) = evaluate(tmp_path).cases
    assert not only.hit_at_1
    assert "not-there.log" in only.error


def test_a_folder_without_cases_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoCases, match=r"case\.json"):
        evaluate(tmp_path)


def test_explained_oddities_onsets_and_abstention_are_rates_with_errors(tmp_path: Path) -> None:
    rounded = "\n".join(f"step:{i} - actor/lr:0.000 - actor/grad_norm:0.2{i % 7}1 - critic/score/mean:0.{300 + i}" for i in range(1, 31))
    case(tmp_path, "a_explained", rounded, accept=[], expect_info=["learning-rate-rounded", "no-such-id"])
    case(tmp_path, "b_unanswerable", QUIET, accept=[], answerable_from_log=False)
    case(tmp_path, "c_claimed", OOM, accept=[], answerable_from_log=False)
    floor = "\n".join(f"step:{i} - critic/score/mean:0.0 - critic/score/max:0.0 - critic/score/min:0.0" for i in range(1, 31))
    case(tmp_path, "d_onset", floor, accept=["reward-flat-floor"], onset_step=[2, 4])
    case(tmp_path, "e_late", floor, accept=["reward-flat-floor"], onset_step=20)
    scores = evaluate(tmp_path)
    a, b, c, d, e = scores.cases
    assert (a.expected_info, list(a.missing_info)) == (2, ["no-such-id"])
    assert (a.abstained, b.abstained, c.abstained) == (None, True, False)
    assert (d.onset_error, d.onset_right, e.onset_right) == (1, True, False)
    totals = scores.totals()
    assert totals["info_explained"] == 0.5
    assert totals["info_explained_stderr"] == pytest.approx(0.354, abs=0.001)
    assert (totals["abstention"], totals["n_unanswerable"]) == (0.5, 2)
    assert (totals["onset_right"], totals["n_onset"]) == (0.5, 2)


def test_rates_without_cases_are_none(tmp_path: Path) -> None:
    case(tmp_path, "a", OOM, accept=["crash-gpu-oom"])
    totals = evaluate(tmp_path).totals()
    assert (totals["info_explained"], totals["abstention"], totals["quiet_undisturbed"]) == (None, None, None)
