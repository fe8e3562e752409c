"""Steps that start again in each epoch."""

from __future__ import annotations

from assistant.diagnosis import diagnose
from assistant.logs import read_text


def chat(epochs: list[int], steps: int = 4) -> str:
    return "".join(
        f"epoch: {epoch}|step: {step}|ppo_ep: 1|act_loss: 0.{epoch}{step}|cri_loss: 0.5|unsuper_loss: 0.0\naverage reward score: 1.{step}\n"
        for epoch in epochs
        for step in range(steps)
    )


def test_epochs_of_deepspeed_chat_are_one_run() -> None:
    run = read_text(chat([0, 1, 2]))
    assert run.steps.tolist() == list(range(12))
    assert [record["values"]["act_loss"] for record in run.records()][5] == 0.11
    assert len(run.segments) == 1
    assert [note.line for note in run.notes if note.kind == "epochs-counted-on"] == [9]
    assert "log-restarted" not in {finding.id for finding in diagnose(run).findings}


def test_a_run_that_starts_again_is_no_epoch() -> None:
    run = read_text(chat([0, 0]))
    assert len(run.segments) == 2
    assert "log-restarted" in {finding.id for finding in diagnose(run).findings}


def test_steps_of_nemo_rl_begin_at_one_in_each_epoch() -> None:
    banner = "========================= Step {n}/3 =========================\n"
    banner += "📊 Training Results:\n  • Loss: 0.00{n}2\n  • Avg Reward: 0.5\n"
    text = "".join(banner.format(n=n) for _ in range(2) for n in (1, 2, 3))
    assert read_text(text).steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert read_text(text[: text.rfind("=" * 25 + " Step 3")]).steps.tolist() == [1, 2, 3, 4, 5]
    cut = "".join(banner.format(n=n) for n in (1, 2, 1, 2, 3))  # stopped before the epoch's end: another start
    assert len(read_text(cut).segments) == 2
