"""Traps of the smaller console formats."""

from __future__ import annotations

from typing import Any

from assistant.logs import read_text


def records(text: str) -> list[tuple[int | None, dict[str, Any]]]:
    return [(record["step"], record["values"]) for record in read_text(text).records()]


NEMO = "📊 Training Results:\n  • Loss: 0.0000\n  • Avg Reward: 0.5000\n"
NEMO += "⏱️  Timing:\n  • Total step time: 35.70s\n  • generation: 4.95s (13.9%)\n"


def test_blocks_without_a_banner_are_records_and_print_four_decimals() -> None:
    run = read_text(NEMO * 2)
    assert (run.framework, run.n_records) == ("nemo-rl", 2)
    loss = run.series("Loss")
    assert loss is not None
    assert (loss.text(0), loss.resolution(0)) == ("0.0000", 0.00005)


def test_bullets_of_a_text_are_not_read() -> None:
    assert read_text("My settings:\n  • Batch: 32\n  • Lr: 0.001\n").n_rows == 0


def test_validation_results_stay_in_their_step() -> None:
    banner = "========================= Step 3/100 =========================\n"
    text = banner + NEMO + "📊 Validation Results:\n    • Accuracy: 0.2500\n" + banner.replace("3", "4") + NEMO
    assert [step for step, _ in records(text)] == [3, 4]
    assert records(text)[0][1]["Accuracy"] == 0.25


def test_a_boxed_row_that_the_terminal_wrapped() -> None:
    row = "│ ppo_actor/update/entropy/avg │ 1.2500e-01 │ ppo_actor/update/grad_norm │ 2.5000e+00 │\n"
    text = "(AReaL) 2026 StatsLogger INFO: Epoch 1/1 Step 3/6 Train step 3/6 done.\n╒══╤══╕\n" + row[:40] + "\n" + row[40:]
    assert records(text) == [(3, {"ppo_actor/update/entropy/avg": 0.125, "ppo_actor/update/grad_norm": 2.5})]


def test_two_tables_of_minibatches_are_one_step() -> None:
    head = "(AReaL) 2026 StatsLogger INFO: Epoch 1/1 Step 3/6 Train step 3/6 done.\n"
    table = "╒══╤══╕\n│ ppo_actor/loss/{name} │ 1.0000e+00 │\n╘══╧══╛\n"
    assert [step for step, _ in records(head + table.format(name="a") + table.format(name="b"))] == [3]


def test_several_episodes_of_one_step_are_records_and_the_speed_belongs_to_the_last() -> None:
    text = "global_step=150, episodic_return=[360.]\nglobal_step=150, episodic_return=[370.]\nSPS: 812\n"
    assert records(text) == [(150, {"episodic_return": 360.0}), (150, {"episodic_return": 370.0, "SPS": 812})]


def test_code_that_would_print_such_a_line_is_not_read() -> None:
    assert read_text('print(f"global_step={global_step}, episodic_return={item}")\n' * 3).n_rows == 0


def test_a_bar_with_metrics_counts_once_a_state_and_numbers_records_when_it_starts_again() -> None:
    def bar(n: int, loss: float) -> str:
        return f"Train epoch [1/1]:  50%|#####     | {n}/2 [00:02<00:02,  1.0s/it, pg={loss}, rm=0.4, act_lr=1.7e-6]"

    once = bar(1, 0.5) + "\r" + bar(1, 0.5) + "\r" + bar(2, 0.25) + "\n"
    assert [(step, values["pg"]) for step, values in records(once)] == [(1, 0.5), (2, 0.25)]
    assert [step for step, _ in records(once * 3)] == [1, 2, 3, 4, 5, 6]


def test_a_plain_bar_holds_no_metrics() -> None:
    assert read_text("Loading: 100%|##########| 4/4 [00:05<00:00,  1.3s/it]\n" * 5).n_rows == 0


def test_torchtunes_bar_counts_only_where_no_step_line_is() -> None:
    bar = "1|5|Loss: 2.5:   0%|#         | 5/25880 [00:24<3:55:01,  1.83it/s]\n"
    line = "Step 5 | loss:2.5 lr:2e-05 \n"
    assert records(bar + bar.replace("1|5", "1|6")) == [(5, {"Loss": 2.5}), (6, {"Loss": 2.5})]
    assert records(line + bar + line.replace("5 |", "6 |")) == [(5, {"loss": 2.5, "lr": 2e-05}), (6, {"loss": 2.5, "lr": 2e-05})]


def test_a_line_glued_to_a_bar() -> None:
    text = (
        "Generating rollouts (train):  50%|#####     | 64/128 [00:00<00:00, 350.17it/s]16:43:42 SUCCESS Step 3 | Time: 7.47s |"
        " Reward: 0.7307 | Async Level: 1\n"
    )
    assert records(text) == [(3, {"Time": 7.47, "Reward": 0.7307, "Async Level": 1})]


def test_environments_below_a_step_belong_to_it() -> None:
    text = "12:00:00 SUCCESS Step 3 | 12.50s | Reward 0.5000 | Turns 1.0\n          ╰─ math | Reward 0.7500 | Turns 1.0\n"
    assert records(text) == [(3, {"Time": 12.5, "Reward": 0.5, "Turns": 1.0, "math/Reward": 0.75, "math/Turns": 1.0})]


def test_examples_that_are_printed_as_json_before_the_metrics_are_not_read() -> None:
    log = "[2025-08-01 10:00:00] [rlvr_pipeline.py (838)] [INFO] [DRIVER 0 / 1][PID 77] "
    example = '{"generate_examples": [{"prompt": "2+2", "reward": 1.0}], "n": 3}\n'
    metrics = '{"critic/score/mean": 0.25, "actor/approxkl": 0.001, "critic/entropy/mean": 0.41}\n'
    text = "".join(log + example + log + metrics + log + f"pipeline step {n} finished\n" for n in range(2))
    assert [step for step, _ in records(text)] == [0, 1]
    assert records(text)[0][1] == {"critic/score/mean": 0.25, "actor/approxkl": 0.001, "critic/entropy/mean": 0.41}


def test_results_of_several_trials_are_told_apart() -> None:
    result = (
        "Result for PPO_{n}:\n  episode_reward_mean: {n}.5\n  info:\n    a:\n      kl: 0.1\n"
        "    b:\n      kl: 0.2\n  training_iteration: {n}\n\n"
    )
    assert records(result.format(n=1) + result.format(n=2)) == [
        (n, {"episode_reward_mean": n + 0.5, "info/a/kl": 0.1, "info/b/kl": 0.2, "training_iteration": n}) for n in (1, 2)
    ]


def test_lines_that_only_sound_like_metrics_are_not_taken_by_the_generic_format() -> None:
    for text in (
        "INFO 08-01 12:00:00 metrics.py:351] Avg prompt throughput: 0.0 tokens/s,"
        " Avg generation throughput: 12.3 tokens/s, Running: 1 reqs\n",
        "I set the reward: 0.7 and the loss got worse, see step 5 of the guide for what the loss should be in general\n",
        "Loading weights took 3.45 seconds, memory: 12.5 GB\n",
        "ValueError: expected loss=1, got 2\n",
    ):
        assert read_text(text * 5).n_rows == 0, text


def test_the_generic_format_prefers_the_optimiser_step_to_the_epoch() -> None:
    assert records("Epoch [2/10] Step [300/1000] loss: 0.5 acc: 0.9\nEpoch [2/10] Step [400/1000] loss: 0.4 acc: nan\n") == [
        (300, {"loss": 0.5, "acc": 0.9}),
        (400, {"loss": 0.4, "acc": "nan"}),
    ]


def test_a_line_that_comes_once_in_a_long_log_is_not_taken() -> None:
    noise = "INFO the engine is busy with a request\n" * 100
    assert read_text(noise + "final loss: 0.5, reward: 0.25\n" + noise).n_rows == 0


def test_names_and_numbers_with_nothing_but_a_space_between_them() -> None:
    text = "[Epoch 3] train loss 0.412, val loss 0.533, acc 0.81\n[Epoch 4] train loss 0.402, val loss 0.523, acc 0.82\n"
    assert records(text) == [
        (3, {"train loss": 0.412, "val loss": 0.533, "acc": 0.81}),
        (4, {"train loss": 0.402, "val loss": 0.523, "acc": 0.82}),
    ]


def test_settings_inside_a_result_of_rllib_are_no_metrics() -> None:
    result = (
        "{{'config': {{'lr': 5e-05, 'gamma': 0.99, 'kl_coeff': 0.2}},\n 'done': False,\n 'env_runners': {{'episode_return_mean': {n}.5}},\n"
        " 'learners': {{'default_policy': {{'entropy': 0.6{n}, 'policy_loss': -0.035}}}},\n 'training_iteration': {n}}}\n"
    )
    values = {"episode_return_mean": 1.5, "entropy": 0.61, "policy_loss": -0.035, "training_iteration": 1}
    assert records(result.format(n=1) + result.format(n=2))[0] == (1, values)
    tune = "Result for PPO_1:\n  config:\n    lr: 0.1\n  episode_reward_mean: 2.5\n  training_iteration: 1\n\n"
    assert records(tune) == [(1, {"episode_reward_mean": 2.5, "training_iteration": 1})]


def test_steps_that_no_training_counts_to_are_none() -> None:
    table = "| time/ | |\n| total_timesteps | 122123456789012345678908 |\n| rollout/ | |\n| ep_rew_mean | 12.5 |\n-----\n"
    assert [step for step, _ in records(table)] in ([None], [1])


def test_full_bars_of_several_rollouts_are_records_of_their_own() -> None:
    def bar(loss: float, took: str) -> str:
        return f"Train epoch [1/1]: 100%|##########| 64/64 [{took}<00:00,  1.01s/it, pg={loss}, rm=0.53, glen=316, act_lr=5e-7]\n"

    text = bar(0.5, "01:03") + "Episode [1/1]:   3%|3 | 9/312 [08:11<20:11:12, 241.1s/it]\n" + bar(0.25, "01:02") + bar(0.125, "01:04")
    assert [(step, values["pg"]) for step, values in records(text)] == [(1, 0.5), (2, 0.25), (3, 0.125)]
    assert len(records(bar(0.5, "01:03") + bar(0.5, "01:03"))) == 1  # drawn again


def test_what_prime_rl_detects_among_the_rollouts_belongs_to_the_step_below() -> None:
    text = "".join(
        f"16:4{n}:50 WARNING Detected {zero + 2}/128 rollouts (gibberish=2, zero_advantage={zero})\n"
        f"16:4{n}:51 SUCCESS Step {n} | Time: 73.77s | Reward: 0.0311\n"
        for n, zero in ((3, 119), (4, 7))
    )
    assert [(step, values["zero_advantage"], values["rollouts"], values["Reward"]) for step, values in records(text)] == [
        (3, 119, 128, 0.0311),
        (4, 7, 128, 0.0311),
    ]


def test_a_dict_over_many_lines_with_a_blank_line_after_each() -> None:
    one = "step {n}: {{\n\n  'train/loss': 0.5,\n\n  'train/grad_norm': 0.25,\n\n  'train/lr-pg_0': 1e-06\n\n}}\n\n"
    text = one.format(n=0) + one.format(n=1)
    assert records(text) == [(n, {"train/loss": 0.5, "train/grad_norm": 0.25, "train/lr-pg_0": 1e-06}) for n in (0, 1)]
    cut = "step 0: {\n\n  'train/loss': 0.5,\n\nINFO something else\n\nstep 1: {'train/loss': 0.25, 'train/grad_norm': 0.1}\n"
    assert records(cut)[-1] == (1, {"train/loss": 0.25, "train/grad_norm": 0.1})


def test_stable_baselines_2_counts_the_steps_of_its_dqn() -> None:
    text = (
        "--------------------------------------\n| % time spent exploring  | 81       |\n| episodes                | 100      |\n"
        "| mean 100 episode reward | -198.5   |\n| steps                   | 19900    |\n--------------------------------------\n"
    )
    assert [step for step, _ in records(text)] == [19900]
    assert read_text(text).framework == "sb3"


def test_the_pipeline_engines_line_alone_is_deepspeeds() -> None:
    text = "".join(f"steps: {n} loss: {2.5 - n / 8} iter time (s): 1.210 samples/sec: 211.200\n" for n in range(1, 4))
    assert read_text(text).framework == "deepspeed"
    assert records(text)[0] == (1, {"loss": 2.375, "iter time (s)": 1.21, "samples/sec": 211.2})


def turns(one: list[dict[str, float]], other: list[dict[str, float]]) -> list[str]:
    text = "".join(f"{a}\n{b}\n" for a, b in zip(one, other, strict=True))
    return [note.kind for note in read_text(text).notes]


def test_two_processes_that_print_by_turns_without_a_name_are_noticed() -> None:
    slow = [{"loss": 2.0 - 0.03 * i, "grad_norm": 1.1, "learning_rate": 1e-5, "epoch": 0.01 * i} for i in range(8)]
    fast = [{"loss": 5.0 - 0.02 * i, "grad_norm": 3.1, "learning_rate": 3e-4, "epoch": 0.01 * i} for i in range(8)]
    assert "taking-turns" in turns(slow, fast)
    late = [{**row, "learning_rate": 1e-5, "num_tokens": 1000.0 * i} for i, row in enumerate(slow)]
    early = [{**row, "learning_rate": 1e-5, "num_tokens": 200.0 * i} for i, row in enumerate(fast, 1)]
    assert "taking-turns" in turns(late, early)
    ranks = [{"loss": 2.0, "grad_norm": 1.0, "learning_rate": 1e-5 * i, "num_tokens": 8.0 * i} for i in range(1, 9)]
    assert "taking-turns" in turns(ranks, [{**row, "loss": 2.5} for row in ranks])
    alone = "".join(f"{row}\n" for row in slow + [{**row, "epoch": 1 + row["epoch"]} for row in slow])
    assert "taking-turns" not in [note.kind for note in read_text(alone).notes]


def test_tunes_table_of_trials_is_read_for_one_trial_and_once_an_iteration() -> None:
    def status(iteration: object, reward: float) -> str:
        return (
            "== Status ==\n+----+\n| Trial name   | status   | loc           |   iter |   total time (s) |    ts |   reward |\n"
            "|--------------+----------+---------------+--------+------------------+-------+----------|\n"
            f"| PPO_Cart_001 | RUNNING  | 10.0.0.4:2211 | {iteration} | 24.25 | 16000 | {reward} |\n"
            f"| PPO_Cart_002 | RUNNING  | 10.0.0.4:2212 | 9 | 25.25 | 17000 | 7.5 |\n+----+\n"
        )

    text = status(3, 100.5) + status(4, 112.5) + status(4, 112.5)
    assert [(step, values["reward"]) for step, values in records(text)] == [(3, 100.5), (4, 112.5)]
    assert read_text(text).framework == "rllib"


def test_a_trainer_state_pasted_from_the_middle() -> None:
    entry = '    {{\n      "epoch": {epoch},\n      "learning_rate": 1e-05,\n      "loss": {loss},\n      "step": {step}\n    }}'
    text = (
        entry.format(epoch=0.05, loss=1.9, step=50).partition("{\n")[2]
        + ",\n"
        + entry.format(epoch=0.1, loss=1.85, step=100)
        + "\n  ]\n}\n"
    )
    assert [(step, values["loss"]) for step, values in records(text)] == [(50, 1.9), (100, 1.85)]
    assert read_text(text).row_lines[1] == 7
