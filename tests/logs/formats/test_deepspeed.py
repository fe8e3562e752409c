from __future__ import annotations

from assistant.logs import read_text

OVERFLOW = (
    "[2023-04-28 06:51:{n:02d},648] [INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step."
    " Attempted loss scale: {scale}, reducing to {half}\n"
)
ENGINE = (
    "[2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step={n}, skipped=6, lr=[9.65e-06, 9.65e-06], mom=[(0.9, 0.95)]\n"
)
PPO = "epoch: 0|step: {n}|ppo_ep: 1|act_loss: 0.2{n}|cri_loss: 0.12|unsuper_loss: 0.0\naverage reward score: -0.6{n}\n"


def test_skipped_steps_are_events_with_the_scale_and_no_records() -> None:
    run = read_text(
        "Beginning of Epoch 1/16, Total Micro Batches 1840\n"
        + "".join(OVERFLOW.format(n=n, scale=2**n, half=2 ** (n - 1)) for n in range(16, 10, -1))
    )
    assert (run.framework, run.n_rows) == ("deepspeed-chat", 0)
    (event,) = [event for event in run.events if event.kind == "loss-scale-skip"]
    assert (event.data["repeats"], event.data["scale"], event.data["reduced"]) == (6, 65536, 32768)


def test_the_engines_own_counters_do_not_disturb_the_steps_of_ppo() -> None:
    text = "".join(PPO.format(n=n) + (ENGINE.format(n=10 * n) if n % 2 else "") for n in range(6))
    run = read_text(text)
    assert (run.format, run.n_records) == ("deepspeed-chat", 6)
    assert [record["step"] for record in run.records()] == list(range(6))
    assert list(run.records())[1]["values"]["skipped"] == 6


def test_a_trainers_own_lines_come_before_the_engines() -> None:
    row = "{'loss': 2.0491, 'learning_rate': 0.000196, 'epoch': 0.28}\n"
    run = read_text("".join(ENGINE.format(n=n) for n in range(1, 60)) + row)
    assert (run.format, run.framework, run.n_records) == ("dict", "hf-trainer", 1)


def test_only_the_first_group_of_a_list_of_learning_rates() -> None:
    run = read_text("".join(ENGINE.format(n=10 * n) for n in range(1, 4)))
    assert (run.format, run.framework) == ("deepspeed", "deepspeed")
    assert next(run.records()) == {"step": 10, "line": 1, "values": {"skipped": 6, "lr": 9.65e-06}}
