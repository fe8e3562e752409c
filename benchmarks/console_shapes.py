"""How fast the console logs of other frameworks are read, shape by shape, beside a bare reader.

    python benchmarks/console_shapes.py            # 10 MB a shape

The bare floor finds the numbers of each line with one pattern and turns them into floats, and does nothing else: no names,
no steps, no lines, no styles, no errors, and no choice between formats. Each log is read once before it is timed.
"""

from __future__ import annotations

import argparse
import io
import pprint
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assistant.logs import read

KEYS = (
    "loss", "grad_norm", "learning_rate", "reward", "reward_std", "kl", "completions/mean_length", "completions/max_length", "entropy",
    "clip_ratio/low_mean", "clip_ratio/high_mean", "step_time", "num_tokens", "frac_reward_zero_std", "epoch",
)  # fmt: skip
NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
RNG = random.Random(1)


def some() -> float:
    return RNG.gauss(0, 1)


def trl(step: int) -> str:
    return str({key: round(some(), 4) if key == "loss" else some() for key in KEYS}) + "\n"


def quoted(step: int) -> str:
    return str({key: f"{some():.4g}" for key in KEYS}) + "\n"


def slime(step: int) -> str:
    return f"(RolloutManager pid=18) [2026-04-15 07:57:53] model.py:33 - step {step}: { ({'train/' + key: some() for key in KEYS}) }\n"


def skyrl(step: int) -> str:
    return f"Step {step}: \n{pprint.pformat({'policy/' + key.replace('/', '_'): f'{some():.4f}' for key in KEYS})}\n"


def megatron(step: int) -> str:
    return (
        f" iteration {step:8d}/ 9999999 | consumed samples: {step * 16:12d} | elapsed time per iteration (ms): {abs(some()) * 1000:.1f} |"
        f" learning rate: {abs(some()) * 1e-5:.6E} | global batch size:    16 | lm loss: {abs(some()):.6E} | loss scale: 1.0 |"
        f" grad norm: {abs(some()):.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )


def torchtune(step: int) -> str:
    return f"Step {step} | loss:{some()!r} lr:2e-05 tokens_per_second_per_gpu:{some()!r} peak_memory_active:{some()!r} \n"


def prime(step: int) -> str:
    return (
        f"02:33:26 SUCCESS Step {step} | Time: {abs(some()) * 70:.2f}s | Reward: {some():.4f} |"
        f" Throughput: {abs(some()) * 2000:.1f} tokens/s | Seq. Length: {abs(some()) * 300:.1f} tokens/sample | Async Level: 1 |"
        f" Max. Off-Policy Level: 0\n"
    )


def sb3(step: int) -> str:
    rows = [("rollout/", ""), *(("    " + key, f"{some():.3g}") for key in ("ep_len_mean", "ep_rew_mean"))]
    rows += [("time/", ""), ("    total_timesteps", str(step * 2048)), ("train/", "")]
    rows += [("    " + key, f"{some():.3g}") for key in ("approx_kl", "clip_fraction", "entropy_loss", "loss", "value_loss")]
    return "-" * 39 + "\n" + "".join(f"| {key:24s}| {value:10s}|\n" for key, value in rows) + "-" * 39 + "\n"


def areal(step: int) -> str:
    head = f"(AReaL) 20261001-18:04:04.362 StatsLogger INFO: Epoch 1/1 Step {step}/999999 Train step {step}/999999 done.\n╒═══╤═══╕\n"
    cells = [f"ppo_actor/group_{row}/{key}/avg │ {some():.4e}" for row in range(4) for key in KEYS]
    return head + "".join("│ " + " │ ".join(cells[at : at + 4]) + " │\n├───┼───┤\n" for at in range(0, len(cells), 4))


def nemo(step: int) -> str:
    values = "".join(f"  • {key}: {some():.4f}\n" for key in ("Loss", "Generation KL Error", "Avg Reward", "Mean Generation Length"))
    times = "".join(f"  • {key}: {abs(some()):.2f}s (3.1%)\n" for key in ("policy_training", "generation", "logprobs"))
    return f"{'=' * 25} Step {step}/999999 {'=' * 25}\n📊 Training Results:\n{values}\n⏱️  Timing:\n{times}"


def pairs(step: int) -> str:
    return f"step={step}, loss={some():.4f}, reward={some():.4f}, kl={some():.5f}, lr=1e-05, grad_norm={some():.3f}\n"


SHAPES: dict[str, Callable[[int], str]] = {
    "dict (TRL)": trl, "dict, quoted numbers": quoted, "dict behind a step (slime)": slime, "dict over many lines (SkyRL)": skyrl,
    "pipes (Megatron)": megatron, "pairs (torchtune)": torchtune, "pipes with units (prime-rl)": prime, "table (SB3)": sb3,
    "boxed table (AReaL)": areal, "bullets (NeMo-RL)": nemo, "name=value": pairs,
}  # fmt: skip


def log_of(record: Callable[[int], str], megabytes: float) -> bytes:
    def records() -> Iterator[bytes]:
        size, step = 0, 0
        while size < megabytes * 1e6:
            step += 1
            data = record(step).encode()
            size += len(data)
            yield data

    return b"".join(records())


def floor(data: bytes) -> int:
    """Finds the numbers of each line and turns them into floats."""
    n = 0
    for line in io.BytesIO(data):
        n += len([float(digits) for digits in NUMBER.findall(line)])
    return n


def seconds(work: Callable[[], object], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, default=10, help="size of each generated log")
    parser.add_argument("--rounds", type=int, default=2, help="the best of so many rounds counts")
    arguments = parser.parse_args()
    table = Table(
        "shape", "read as", "MB", "records", "runwhy s", "MB/s", "floor s", "÷ floor", title="Reading the logs of other frameworks"
    )
    for name, record in SHAPES.items():
        data = log_of(record, arguments.mb)
        run = read(data)
        own, bare = seconds(lambda data=data: read(data), arguments.rounds), seconds(lambda data=data: floor(data), arguments.rounds)
        megabytes = len(data) / 1e6
        figures = (f"{megabytes:.1f}", str(run.n_records), f"{own:.2f}", f"{megabytes / own:.0f}", f"{bare:.2f}", f"{own / bare:.2f}")
        table.add_row(name, run.format, *figures)
    Console().print(table)


if __name__ == "__main__":
    main()
