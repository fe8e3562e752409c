"""What is known of a run's configuration: what the log's config says, and what its metrics give away."""

from __future__ import annotations

from typing import Any

from assistant.run import Run, Style

# Metrics that print a setting. A learning rate is one only while no schedule moves it.
PRINTED = {
    "actor/kl_coef": "actor_rollout_ref.actor.kl_loss_coef",
    "actor/reward_kl_penalty_coeff": "algorithm.kl_ctrl.kl_coef",
    "critic/kl_coeff": "algorithm.kl_ctrl.kl_coef",
    "actor/lr": "actor_rollout_ref.actor.optim.lr",
    "critic/lr": "critic.optim.lr",
}
# Metrics that are there only when a setting is on (verl ≥ 0.4 prints them under these names).
SWITCHES = {
    "actor/reward_kl_penalty": "algorithm.use_kl_in_reward",
    "actor/kl_coef": "actor_rollout_ref.actor.use_kl_loss",
}


def settings(run: Run) -> dict[str, Any]:
    """Config keys and values: the config wins over what constant metrics print, and a printed 0.000 gives nothing away."""
    known: dict[str, Any] = {}
    for name, key in PRINTED.items():
        column = run.columns.get(name)
        if column is None or not len(column.values) or (column.values != column.values[0]).any():
            continue
        if column.styles[0] == Style.FIXED3 and abs(column.values[0]) < 0.01:
            continue  # three decimals: 0.001 may be anything from 0.0005 to 0.0015
        known[key] = float(column.values[0])
    known.update({key: True for name, key in SWITCHES.items() if name in run.columns})
    return {**known, **run.config}
