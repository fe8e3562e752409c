from __future__ import annotations

import pytest

from assistant.retrieval.exact import changed_by, named, quoted


@pytest.mark.parametrize(
    ("question", "card"),
    [
        ("why is actor/pg_loss positive?", "metrics/actor.pg_loss"),
        ("pg loss 为正", "metrics/actor.pg_loss"),
        ("策略损失是什么", "metrics/actor.pg_loss"),
        ("what is entropy-collapse", "findings/entropy-collapse"),
        ("val-core/openai/gsm8k/acc/mean@1 stays flat", "metrics/validation"),
        ("completions/clipped_ratio is 1.0", "metrics/response_length.clip_ratio"),
        ("train/train_rollout_logprob_abs_diff grows", "metrics/sampling.logp_difference"),
        ("rewards/margins stays at zero", "metrics/rewards.preference"),
    ],
)
def test_a_name_leads_to_its_card(question: str, card: str) -> None:
    assert named(question).ranked()[0] == card


def test_the_written_validation_key_is_kept() -> None:
    assert named("val-core/my/data/acc/mean@8").keys == {"metrics/validation": ["val-core/my/data/acc/mean@8"]}


def test_a_pasted_error_leads_to_its_card_and_finding() -> None:
    line = "(WorkerDict pid=7) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    assert quoted(line) == ["errors/gpu-oom", "findings/crash-gpu-oom"]
    assert set(named(line).ranked()[:2]) == {"errors/gpu-oom", "findings/crash-gpu-oom"}


def test_a_setting_leads_to_the_findings_that_change_it() -> None:
    assert "findings/entropy-collapse" in changed_by("actor_rollout_ref.actor.entropy_coeff")
    assert "findings/entropy-collapse" in named("should I raise entropy_coeff?").ranked()


def test_a_typo_is_read_as_its_neighbour_and_noted() -> None:
    found = named("why is pg_lose positive")
    assert found.ranked()[0] == "metrics/actor.pg_loss"
    assert [c.written for c in found.corrections] == ["pg_lose"]


@pytest.mark.parametrize("question", ["", "?", "hello there", "今天天气怎么样"])
def test_nothing_named_gives_nothing(question: str) -> None:
    assert named(question).ranked() == []
