"""Forks of verl print its lines with metrics of their own."""

from __future__ import annotations

import pytest

from assistant.logs import read_text

FORKS = {
    "verl-agent": "(TaskRunner pid=7) step:{n} - episode/reward/mean:3.2{n} - episode/success_rate:0.25 - actor/pg_loss:-0.01{n}"
    " - actor/entropy_loss:0.45 - timing_s/step:30.5\n",
    "RAGEN": "(main_task pid=8) step:{n} - train/success:0.3{n} - rollout/in_group_std:0.41 - train/sokoban/pass@k:0.5"
    " - actor/kl_loss:0.001 - critic/vpred_mean:0.2\n",
    "VAGEN": "(TaskRunner pid=9) step:{n} - train/traj_metrics.success:0.2{n} - train/turn_metrics.action_is_valid:0.9"
    " - critic/rewards/mean:0.5 - actor/ppo_kl:0.000\n",
    "Search-R1": "(main_task pid=10) step:{n} - global_seqlen/min:1200.000 - critic/kl:0.000 - actor/grad_norm:0.3{n}"
    " - env/number_of_actions/mean:2.1 - env/ratio_of_valid_action:0.88\n",
    "EasyR1": "Step {n}\n{{'actor': {{'entropy_loss': 0.4{n}, 'grad_norm': 0.2}}, 'critic': {{'score': {{'mean': 0.3{n}}}}},"
    " 'reward': {{'accuracy': 0.4}}}}\n",
}
FIRST = {
    "verl-agent": ("episode/reward/mean", 3.21),
    "RAGEN": ("train/success", 0.31),
    "VAGEN": ("train/traj_metrics.success", 0.21),
    "Search-R1": ("actor/grad_norm", 0.31),
    "EasyR1": ("critic/score/mean", 0.31),
}


@pytest.mark.parametrize("fork", FORKS)
def test_a_fork_is_read_as_verl(fork: str) -> None:
    run = read_text("".join(FORKS[fork].format(n=n) for n in (1, 2, 3)))
    name, value = FIRST[fork]
    found = list(run.records())
    assert (run.framework, [record["step"] for record in found], run.unread_lines) == ("verl", [1, 2, 3], 0)
    assert found[0]["values"][name] == value
