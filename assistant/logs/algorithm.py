"""Which advantage estimator a run uses: from its settings, else from which metrics it prints."""

from __future__ import annotations

import numpy as np

from assistant.run import Note, Run

_CRITIC = ("critic/vf_loss", "critic/vf_explained_var", "critic/values/mean", "critic/lr", "critic/lr(1e-4)", "timing_s/update_critic")


def algorithm(run: Run) -> tuple[str | None, Note | None]:
    """(estimator in lower case, or None; what says so)."""
    key = "algorithm.adv_estimator"
    if isinstance(run.config.get(key), str) and run.config[key]:
        line = run.config_lines.get(key)
        return str(run.config[key]).lower(), Note("clue.configured", line, {"name": key, "value": run.config[key]})
    for name in _CRITIC:
        if name in run.columns:
            return "gae", Note("clue.critic", data={"name": name})
    returns, advantages = run.series("critic/returns/mean"), run.series("critic/advantages/mean")
    if returns is None or advantages is None:
        return None, None
    if len(returns) == len(advantages) and np.array_equal(returns.values, advantages.values, equal_nan=True):
        extremes = [(run.series(f"critic/returns/{which}"), run.series(f"critic/advantages/{which}")) for which in ("max", "min")]
        if all(r is not None and a is not None and np.array_equal(r.values, a.values, equal_nan=True) for r, a in extremes):
            return "grpo", Note("clue.returns-are-advantages")
    return None, None
