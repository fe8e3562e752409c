"""Which framework and version wrote a log: from the names it prints, how it prints numbers, and its settings.

Each clue is a range of versions. The version that contradicts the fewest clues is told when it is the only one;
otherwise the era is "unknown", and the clues are still handed out as evidence. A fork keeps old names and adds its own,
so one contradiction does not decide alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assistant.run import Event, Note, Run, Style

VERSIONS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9")


@dataclass(frozen=True, slots=True)
class Clue:
    """What was seen (a key ``logs.clue.<seen>`` of the catalogue, with the name it is about), and the first and last version
    that fit it (indices into `VERSIONS`)."""

    low: int
    high: int
    seen: str
    name: str = ""

    def note(self) -> Note:
        if self.low == self.high:
            span = "only"
        elif self.high == len(VERSIONS) - 1:
            span = "later"
        else:
            span = "earlier" if self.low == 0 else "between"
        return Note(f"clue.{self.seen}", data={"name": self.name, "span": span, "low": VERSIONS[self.low], "high": VERSIONS[self.high]})


# Names that were printed together count as one clue: (names or, with "/" at the end, beginnings of names; first; last version).
_NAMES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("actor/lr(1e-4)", "critic/lr(1e-4)"), "0.1", "0.1"),
    (("timing/",), "0.1", "0.1"),
    (("timing_s/", "timing_per_token_ms/"), "0.2", "0.9"),
    (("actor/lr", "critic/lr"), "0.2", "0.9"),
    (("critic/vf_explained_var",), "0.2", "0.9"),
    (("global_seqlen/",), "0.2", "0.9"),
    (("mfu/actor", "mfu/critic"), "0.2", "0.2"),
    (("critic/kl", "critic/kl_coeff"), "0.1", "0.3"),
    (("val/test_score/",), "0.1", "0.3"),
    (("perf/mfu/actor", "perf/mfu/critic", "perf/throughput"), "0.3", "0.9"),
    (("perf/max_memory_allocated_gb", "perf/cpu_memory_used_gb"), "0.3", "0.7"),
    (("training/global_step", "training/epoch"), "0.4", "0.9"),
    (("actor/reward_kl_penalty", "actor/reward_kl_penalty_coeff"), "0.4", "0.9"),
    (("actor/pg_clipfrac_lower",), "0.4", "0.9"),
    (("timing_s/reward",), "0.4", "0.9"),
    (("actor/entropy",), "0.4", "0.9"),
    (("val-core/", "val-aux/"), "0.4", "0.9"),
    (("training/rollout_probs_diff_mean",), "0.4", "0.9"),
    (("timing_s/start_profile", "timing_s/stop_profile"), "0.5", "0.9"),
    (("num_turns/",), "0.5", "0.9"),
    (("timing_s/agent_loop/",), "0.5", "0.8"),
    (("response/aborted_ratio", "response_length_non_aborted/"), "0.6", "0.9"),
    (("timing_s/generation_timing/",), "0.6", "0.7"),
    (("mismatch/",), "0.6", "0.6"),
    (("rollout_corr/",), "0.6", "0.9"),
    (("perf/mfu/actor_infer",), "0.7", "0.8"),
    (("timing_s/update_weights",), "0.7", "0.9"),
    (("gdpo/", "variance_proxy/"), "0.7", "0.9"),
    (("actor/perf/", "critic/perf/"), "0.8", "0.9"),
    (("actor/loss", "critic/loss"), "0.8", "0.9"),
    (("actor/rollout_corr/",), "0.8", "0.9"),
    (("training/off_policy/", "training/num_turns/"), "0.9", "0.9"),
)
_PROCESSES = {"main_task": ("0.1", "0.2"), "TaskRunner": ("0.3", "0.8"), "TaskRunnerV1": ("0.9", "0.9")}
_SETTINGS: tuple[tuple[str, str, str], ...] = (
    ("actor_rollout_ref.actor.kl_loss_type", "0.2", "0.9"),
    ("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", "0.2", "0.9"),
    ("actor_rollout_ref.actor.loss_agg_mode", "0.4", "0.9"),
    ("algorithm.use_kl_in_reward", "0.4", "0.9"),
    ("actor_rollout_ref.actor._target_", "0.5", "0.9"),
    ("trainer.use_v1", "0.9", "0.9"),
)


def verl_era(run: Run, processes: Iterable[str]) -> tuple[str, list[Note]]:
    """(version such as "0.6", or "unknown"; the clues for it)."""
    clues = [*_by_names(run.columns), *_by_numbers(run), *_by_absence(run.columns)]
    for process in set(processes):
        if process in _PROCESSES:
            clues.append(_clue(*_PROCESSES[process], "process", process))
    for key, first, last in _SETTINGS:
        if key in run.config:
            clues.append(_clue(first, last, "setting", key))
    return decide(clues)


def _clue(first: str, last: str, seen: str, name: str = "") -> Clue:
    return Clue(VERSIONS.index(first), VERSIONS.index(last), seen, name)


def _by_names(names: Mapping[str, object]) -> Iterable[Clue]:
    for patterns, first, last in _NAMES:
        for pattern in patterns:
            if pattern.endswith("/"):
                name = next((name for name in names if name.startswith(pattern)), None)
            else:
                name = pattern if pattern in names else None
            if name:
                yield _clue(first, last, "printed", name)
                break


def _by_numbers(run: Run) -> Iterable[Clue]:
    """Three decimals up to 0.4, in full from 0.5."""
    counts = {Style.FIXED3: 0, Style.REPR: 0, Style.NUMPY: 0}
    for column in run.columns.values():
        for style in counts:
            counts[style] += int(np.count_nonzero(column.styles == style))
    in_full = counts[Style.REPR] + counts[Style.NUMPY]
    if counts[Style.FIXED3] >= 3 and counts[Style.FIXED3] > 5 * in_full:
        yield _clue("0.1", "0.4", "three-decimals")
    elif in_full >= 3 and in_full > 5 * counts[Style.FIXED3]:
        yield _clue("0.5", "0.9", "in-full")


def _by_absence(names: Mapping[str, object]) -> Iterable[Clue]:
    """Names that a line with these others would also hold in some versions."""
    if "actor/entropy_loss" in names and "actor/entropy" not in names:
        yield _clue("0.1", "0.4", "entropy-loss-only")
    if "timing_per_token/gen" in names:
        yield _clue("0.1", "0.1", "per-token-without-unit")
    new = any(name.startswith(("actor/perf/", "critic/perf/", "training/off_policy/")) or name == "actor/loss" for name in names)
    if "actor/entropy" in names and "perf/mfu/actor_infer" not in names and not new:
        yield _clue("0.4", "0.6", "without", "perf/mfu/actor_infer")
    if "critic/vf_loss" in names and "critic/values/mean" in names and "critic/vf_explained_var" not in names:
        yield _clue("0.1", "0.1", "without", "critic/vf_explained_var")
    complete = "timing_s/step" in names and "response_length/mean" in names
    if complete and "training/global_step" in names and "response/aborted_ratio" not in names and not new:
        yield _clue("0.4", "0.5", "without", "response/aborted_ratio")
    if complete and "training/global_step" not in names and not new:
        yield _clue("0.1", "0.4", "without", "training/global_step")


def decide(clues: Iterable[Clue]) -> tuple[str, list[Note]]:
    """The version that contradicts the fewest clues, when there is only one; and the clues that set its bounds."""
    clues = list(clues)
    against = [sum(not clue.low <= version <= clue.high for clue in clues) for version in range(len(VERSIONS))]
    best = [version for version, count in enumerate(against) if count == min(against)]
    if not clues or len(best) == len(VERSIONS):
        return "unknown", []
    fitting = [clue for clue in clues if clue.low <= best[0] and best[-1] <= clue.high]
    lowest = max(fitting, key=lambda clue: clue.low, default=None)
    highest = min(fitting, key=lambda clue: clue.high, default=None)
    bounds = dict.fromkeys(clue for clue in (lowest, highest) if clue is not None)
    return (VERSIONS[best[0]] if len(best) == 1 else "unknown"), [clue.note() for clue in bounds]


def sft_era(run: Run) -> tuple[str, list[Note]]:
    """verl's supervised trainer prints few names; its timer came with 0.6 and is gone with the trainer of 0.8."""
    names = run.columns
    if "train/time(s)" in names:
        return "0.6", [_clue("0.6", "0.7", "printed", "train/time(s)").note()]
    if "train/lr(1e-3)" in names:
        era, evidence = decide(_by_numbers(run))
        return era, evidence or [_clue("0.1", "0.5", "without", "train/time(s)").note()]
    return "unknown", []


_EVENTS = frozenset({"validation-end", "critic-disabled", "config-checked", "initial-validation", "final-validation"})
_ROOTS = ("actor_rollout_ref.", "algorithm.", "critic.", "reward_model.")


def framework_of(run: Run, seen: Mapping[str, int], events: Iterable[Event]) -> str:
    """The framework whose names the metrics have, else the one that settings, paths and messages of the log name."""
    names = run.columns
    if names:
        training = any(name.startswith(("actor/", "critic/", "timing", "perf/", "response_length/")) for name in names)
        if not training and any(name.startswith(("train/loss", "train/lr")) for name in names):
            return "verl-sft"
        return "verl"
    if any(key.startswith(_ROOTS) for key in run.config) or "verl" in seen or any(event.kind in _EVENTS for event in events):
        return "verl"
    named = [name for name in seen if name != "hf-trainer"] or list(seen)  # many frameworks print through the HF trainer
    return min(named, key=seen.__getitem__) if named else "unknown"
