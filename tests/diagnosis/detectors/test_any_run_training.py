"""Whatever a log holds – gaps, NaN, one step, no config – the training detectors answer and their words can be rendered."""

from __future__ import annotations

from math import inf, nan

from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.diagnosis import diagnose, registered
from assistant.diagnosis.render import diagnosis_json
from assistant.run import NO_STEP, Style
from tests.builders import run_of
from tests.diagnosis.detectors.looking import healthy

FAMILIES = ("policy", "weights", "kl", "loss", "gradient", "numerics", "signal", "learning_rate")
MINE = [name for name, one in registered().items() if one.function.__module__.rpartition(".")[2] in FAMILIES]
NAMES = [
    *healthy(1),
    "actor/lr(1e-4)",
    "actor/reward_kl_penalty",
    "rollout_corr/kl",
    "rollout_corr/rollout_is_mean",
    "critic/vf_loss",
    "critic/grad_norm",
    "train/num_gen_batches",
    "batch/solve_none",
    "batch/solve_all",
    "batch/solve_partial",
    "perf/total_num_tokens",
    "prompt_length/mean",
    "val-core/gsm8k/acc/mean@1",
    "train/loss",
]
VALUES = st.sampled_from([None, nan, inf, -inf, 0.0, -0.0, 1e-9, 1e-3, 0.02, 0.5, 1.0, 9.5, 1e3, 1e9, -0.3, -4.0])
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "data.train_batch_size": st.sampled_from([0, 2, 256, "bad"]),
        "actor_rollout_ref.actor.ppo_mini_batch_size": st.sampled_from([0, 64, 256, None]),
        "actor_rollout_ref.rollout.n": st.sampled_from([1, 8]),
        "actor_rollout_ref.actor.loss_agg_mode": st.sampled_from(["token-mean", "seq-mean-token-sum"]),
        "actor_rollout_ref.actor.optim.lr": st.sampled_from([0, 1e-6]),
        "algorithm.adv_estimator": st.sampled_from(["grpo", "gae", "rloo", "own"]),
    },
)


@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_any_run_gets_an_answer(data: st.DataObject) -> None:
    n = data.draw(st.sampled_from([1, 2, 4, 9, 25, 60]))
    rising = st.just([0.01 * i for i in range(n)])
    shape = st.one_of(st.lists(VALUES, min_size=n, max_size=n), VALUES.map(lambda value: [value] * n), rising)
    metrics = data.draw(st.dictionaries(st.sampled_from(NAMES), shape, min_size=1, max_size=14))
    metrics = {name: values for name, values in metrics.items() if any(value is not None for value in values)}
    run = run_of(
        metrics,
        steps=data.draw(st.sampled_from([None, [NO_STEP] * n])),
        start=data.draw(st.sampled_from([0, 1, 400])),
        style=data.draw(st.sampled_from([Style.REPR, Style.FIXED3])),
        era=data.draw(st.sampled_from(["unknown", "0.1", "0.3", "0.6", "0.7", "0.9"])),
        config=data.draw(CONFIGS),
        algorithm=data.draw(st.sampled_from([None, "grpo", "gae"])),
    )
    for language in ("en", "zh"):
        said = diagnosis_json(diagnose(run, only=MINE), language)
        for finding in said["findings"]:
            assert finding["summary"]
            assert finding["first_step"] is None or finding["first_step"] != NO_STEP
            assert all(0 <= point["line"] <= n for point in finding["evidence"])
