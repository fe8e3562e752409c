from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from assistant.logs import read
from assistant.run import Run
from tests.logs.files import writers as w


def put(path: Path, content: str | bytes, time: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if time:
        os.utime(path, (time, time))
    return path


def console(steps: range, entropy: float = 0.4) -> str:
    return "".join(f"step:{i} - actor/entropy:{entropy + i / 1000:.3f} - actor/lr:0.000 - critic/score/mean:0.100\n" for i in steps)


def kinds(run: Run) -> list[str]:
    return [note.kind for note in run.notes]


def test_a_wandb_run_folder_is_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "wandb" / "offline-run-20250101_120000-abc"
    rows = [{"_step": i, "actor/entropy": 0.4 + i / 1000 + 1e-6, "actor/lr": 1e-06, "critic/score/mean": 0.1} for i in range(1, 7)]
    put(folder / "run-abc.wandb", w.wandb_file([w.history(row) for row in rows]))
    put(folder / "files" / "output.log", console(range(1, 9)) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    put(folder / "files" / "config.yaml", "lr:\n  desc: null\n  value: 1.0e-06\nwandb_version: 1\n_wandb:\n  value:\n    t: {}\n")
    put(folder / "files" / "wandb-metadata.json", json.dumps({"host": "secret", "loss": 1.0}))
    put(folder / "files" / "requirements.txt", "torch==2.0\n")
    put(folder / "logs" / "debug.log", "step:1 - actor/entropy:9.999 - actor/lr:9.999\n")
    for given in (tmp_path, folder):
        run = read(given)
        assert run.format == "wandb+verl-console"
        entropy, rate = run.series("actor/entropy"), run.series("actor/lr")
        assert entropy is not None
        assert rate is not None
        assert entropy.text(0) == repr(0.4 + 1 / 1000 + 1e-6)
        assert (entropy.text(7), len(entropy)) == ("0.408", 8), "steps that only the console has are there, too"
        assert rate.values[:6].tolist() == [1e-06] * 6
        assert run.config == {"lr": 1e-06}
        assert any(event.kind == "gpu-oom" for event in run.events)


def test_event_files_of_a_resumed_run_follow_one_another(tmp_path: Path) -> None:
    put(tmp_path / "events.out.tfevents.1700000000.host", w.event_file([(i, "loss", 1.0 / i) for i in range(1, 6)]))
    put(tmp_path / "events.out.tfevents.1700000100.host", w.event_file([(i, "loss", 2.0 / i) for i in range(4, 9)]))
    run = read(tmp_path)
    assert run.row_steps.tolist() == [1, 2, 3, 4, 5, 4, 5, 6, 7, 8]
    assert kinds(run) == ["restarted", "repeated-steps"]


def test_folders_of_add_scalars_name_their_tags(tmp_path: Path) -> None:
    put(tmp_path / "events.out.tfevents.1700000000.host", w.event_file([(1, "loss", 0.5)]))
    put(tmp_path / "both" / "a" / "events.out.tfevents.1700000000.host", w.event_file([(1, "both", 1.5)]))
    run = read(tmp_path)
    assert set(run.columns) == {"loss", "both/a/both"}


def test_train_and_validation_folders_are_sides_of_one_run(tmp_path: Path) -> None:
    put(tmp_path / "train" / "events.out.tfevents.1700000000.host", w.event_file([(i, "epoch_loss", 0.5) for i in range(3)]))
    put(tmp_path / "validation" / "events.out.tfevents.1700000000.host", w.event_file([(i, "epoch_loss", 0.75) for i in range(3)]))
    run = read(tmp_path)
    assert {name: column.values.tolist() for name, column in run.columns.items()} == {
        "epoch_loss": [0.5] * 3,
        "validation/epoch_loss": [0.75] * 3,
    }


def test_of_several_runs_the_latest_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    for n, time in ((1, 1_700_000_000), (2, 1_700_009_000)):
        put(tmp_path / f"PPO_{n}" / f"events.out.tfevents.{time}.host", w.event_file([(i, "train/loss", float(n)) for i in range(4)]))
    run = read(tmp_path)
    assert run.columns["train/loss"].values.tolist() == [2.0] * 4
    assert [(note.kind, note.data["read"], note.data["others"]) for note in run.notes] == [("other-runs", "PPO_2", "PPO_1")]


def test_a_log_beside_several_runs_goes_with_the_latest(tmp_path: Path) -> None:
    for n, time in ((1, 1_700_000_000), (2, 1_700_009_000)):
        events = [(i, "actor/lr", 1e-6 * n) for i in range(1, 7)]
        put(tmp_path / f"tb_{n}" / f"events.out.tfevents.{time}.host", w.event_file(events))
    put(tmp_path / "train.log", console(range(1, 7)))
    run = read(tmp_path)
    assert [part.name for part in run.parts] == ["tb_2/events.out.tfevents.1700009000.host", "train.log"]
    rate = run.series("actor/lr")
    assert rate is not None
    assert rate.values[0] == pytest.approx(2e-6)
    assert [(note.kind, note.data["others"]) for note in run.notes] == [("other-runs", "tb_1")]


def test_an_output_folder_of_the_hugging_face_trainer(tmp_path: Path) -> None:
    history = [{"loss": 1.0 / i, "grad_norm": 1.0, "learning_rate": 1e-06, "step": 5 * i} for i in range(1, 7)]
    for steps in (3, 6):
        put(
            tmp_path / f"checkpoint-{5 * steps}" / "trainer_state.json",
            json.dumps({"global_step": 5 * steps, "log_history": history[:steps]}),
        )
    put(tmp_path / "checkpoint-30" / "config.json", json.dumps({"hidden_size": 64}))
    put(tmp_path / "checkpoint-30" / "tokenizer.json", json.dumps([{"id": 1, "loss": 2.0}] * 9))
    put(
        tmp_path / "runs" / "Jan01_host" / "events.out.tfevents.1700000000.host",
        w.event_file([(5 * i, "train/loss", 1.0 / i) for i in range(1, 7)]),
    )
    put(
        tmp_path / "train.log",
        "".join(f"{{'loss': {1.0 / i:.4f}, 'grad_norm': 1.0, 'learning_rate': 1e-06, 'epoch': 0.{i}}}\n" for i in range(1, 7)),
    )
    run = read(tmp_path)
    assert run.steps.tolist() == [5, 10, 15, 20, 25, 30]
    assert run.framework in ("hf-trainer", "trl")
    loss = run.series("loss") or run.series("train/loss")
    assert loss is not None
    assert len(loss) == 6
    assert not {"loss", "train/loss"} <= set(run.columns)
    assert "part-without-steps" in kinds(run)


def test_an_mlflow_file_store(tmp_path: Path) -> None:
    run_folder = tmp_path / "mlruns" / "0" / "abc"
    put(run_folder / "metrics" / "train" / "loss", "1700000000000 0.5 1\n1700000000001 0.25 2\n")
    put(run_folder / "metrics" / "kl", "1700000000000 nan 1\n")
    put(run_folder / "params" / "beta", "0.04")
    put(run_folder / "meta.yaml", "run_id: abc\n")
    run = read(tmp_path / "mlruns")
    assert run.format == "mlflow"
    assert [record["values"] for record in run.records()] == [{"train/loss": 0.5, "kl": "nan"}, {"train/loss": 0.25}]
    assert run.config == {"beta": 0.04}
    assert read(run_folder / "metrics").n_records == 2


def test_curves_downloaded_one_by_one_are_merged(tmp_path: Path) -> None:
    put(tmp_path / "run-.-tag-train_loss.csv", "Wall time,Step,Value\n1.7e9,1,0.5\n1.7e9,2,0.25\n")
    put(tmp_path / "run-.-tag-train_kl.json", "[[1.7e9, 1, 0.0], [1.7e9, 2, 0.125]]")
    assert [record["values"] for record in read(tmp_path).records()] == [
        {"train_kl": 0.0, "train_loss": 0.5},
        {"train_kl": 0.125, "train_loss": 0.25},
    ]


def test_data_sets_and_dumped_answers_in_the_folder_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "train.jsonl", "".join(json.dumps({"prompt": "x", "answer": i}) + "\n" for i in range(20)))
    put(tmp_path / "log.txt", console(range(1, 5)))
    run = read(tmp_path)
    assert (run.format, run.steps.tolist()) == ("verl-console", [1, 2, 3, 4])


def test_links_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "outside" / "log.txt", console(range(1, 5)))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "run" / "log.txt").symlink_to(tmp_path / "outside" / "log.txt")
    assert kinds(read(tmp_path / "run")) == ["empty-folder"]


def test_progress_counts_through_all_files(tmp_path: Path) -> None:
    sizes = [put(tmp_path / name, console(range(1, 50), entropy)).stat().st_size for name, entropy in (("a.log", 0.1), ("b.log", 0.1))]
    seen: list[int] = []
    run = read(tmp_path, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == sum(sizes) == run.n_bytes


@pytest.mark.parametrize("name", ["model.safetensors", "README.md", ".hidden.log"])
def test_other_files_make_no_run(tmp_path: Path, name: str) -> None:
    put(tmp_path / name, console(range(1, 5)))
    assert kinds(read(tmp_path)) == ["empty-folder"]


def test_what_swanlab_writes_twice_is_read_once(tmp_path: Path) -> None:
    folder = tmp_path / "swanlog" / "run-20260101_120000-abc"
    put(folder / "run-abc.swanlab", w.swanlab_file([w.swanlab_scalar("loss", i, 1.0 / i) for i in range(1, 6)]))
    put(folder / "logs" / "1" / "1000.log", "".join(json.dumps({"index": i, "data": 1.0 / i}) + "\n" for i in range(1, 6)))
    run = read(tmp_path)
    assert (run.format, run.n_records, kinds(run)) == ("swanlab", 5, [])
