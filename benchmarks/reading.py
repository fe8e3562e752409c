"""How fast a log is read, beside a bare reader and ripgrep, in one run on one machine.

    python benchmarks/reading.py            # 100 MB logs, hostile lines, cold start
    python benchmarks/reading.py --big      # also the memory that a 1 GB log takes

The bare floor splits each metric line and turns each value into a float, and does nothing else: no keys, no lines, no
styles, no events. ``rg -c`` only counts the lines that hold ``step:``.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assistant.logs import read, read_text

GROUPS = ("actor", "critic", "timing_s", "response_length", "perf", "global_seqlen")
NAMES = ("mean", "max", "min", "entropy", "loss", "kl", "clipfrac", "lr", "grad_norm", "time", "mfu", "throughput", "std", "var", "tokens")
KEYS = [f"{group}/{name}" for group in GROUPS for name in NAMES]
NOISE = (
    "(WorkerDict pid=123) /usr/lib/python3.10/site-packages/torch/distributed/fsdp/api.py:689: FutureWarning: state_dict_type() is old\n",
    "(WorkerDict pid=222) INFO 03-14 22:42:08 worker.py:133] Memory profiling took 3.45 seconds of the run\n",
    "(TaskRunner pid=11) So there are 13 - 4 = 9 eggs left, and she sells each of them for 2 dollars.\n",
    "\x1b[36m(TaskRunner pid=11)\x1b[0m Training Progress:  68%|██████▊   | 473/700 [4:30:53<2:05:29, 33.17s/it]\n",
)
STYLES: dict[str, Callable[[float], str]] = {
    "three decimals": lambda value: f"{value:.3f}",
    "in full": repr,
    "numpy": lambda value: f"np.float64({value!r})",
}
ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "cases" / "verl"


def write_log(path: Path, megabytes: float, style: str, noise_per_line: int, seed: int = 1) -> Path:
    """A log of real line form: 90 metrics a step, ``noise_per_line`` other lines for each metric line."""
    rng = random.Random(seed)
    show = STYLES[style]
    size, step = 0, 0
    with path.open("w", encoding="utf-8") as file:
        while size < megabytes * 1e6:
            step += 1
            values = " - ".join(f"{key}:{show(rng.gauss(0, 100))}" for key in KEYS)
            text = "".join(rng.choice(NOISE) for _ in range(noise_per_line)) + f"(TaskRunner pid=11) step:{step} - {values}\n"
            size += len(text.encode())
            file.write(text)
    return path


HOSTILE: dict[str, Callable[[int], str]] = {
    "letters": lambda n: "x" * (40 * n),
    "bars": lambda n: "step:1 - a/b:0.5" + "\rTraining Progress: 3%| | 1/9 [00:01<00:02, 1.0s/it]" * (n // 5),
    "keys": lambda n: "step:1 - " + " - ".join(f"a/k{i}:0.5" for i in range(n // 8)),
    "carriage returns": lambda n: "".join(f"\rstep:{i} - a/b:0.5 - a/c:0.25" for i in range(n // 8)),
    "quotes": lambda n: "see step:1 - a/b:0.5 " * (n * 2 // 5),
    "brackets": lambda n: "{'actor_rollout_ref': " + "{'a': [" * (n * 2 // 5),
    "errors": lambda n: "Traceback (most recent call last): CUDA out of memory. Tried to allocate " * (n // 5),
    "sample": lambda n: "[prompt] " + "step:1 - a/b:1\n" * (n * 2 // 5),
}
"""Lines that no trainer prints, made of about ``n`` pieces."""


def floor(path: Path) -> None:
    """Splits the metric lines and turns the values into floats."""
    rows = []
    with path.open("rb") as file:
        for line in file:
            at = line.find(b"step:")
            if at < 0 or b" - " not in line[at : at + 30]:
                continue
            row = []
            for part in line[at:].split(b" - "):
                value = part.rpartition(b":")[2].strip()
                if value.startswith(b"np."):
                    value = value[value.index(b"(") + 1 : -1]
                try:
                    row.append(float(value))
                except ValueError:
                    continue
            rows.append(row)


def seconds(work: Callable[[], object], rounds: int) -> float:
    """The best of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def speed(console: Console, logs: dict[str, Path], rounds: int) -> None:
    ripgrep = shutil.which("rg")
    if not ripgrep:
        console.print("ripgrep is not installed (Debian: apt install ripgrep); its column stays empty.")
    table = Table("log", "MB", "runwhy s", "MB/s", "floor s", "÷ floor", "rg -c s", "÷ rg", title="Reading")
    for name, path in logs.items():
        read(path)
        megabytes = path.stat().st_size / 1e6
        own, bare = seconds(lambda path=path: read(path), rounds), seconds(lambda path=path: floor(path), rounds)
        row = [name, f"{megabytes:.1f}", f"{own:.3f}", f"{megabytes / own:.0f}", f"{bare:.3f}", f"{own / bare:.2f}"]
        if ripgrep:
            counted = seconds(
                lambda path=path: subprocess.run([ripgrep, "-c", "step:", path], stdout=subprocess.DEVNULL, check=False), rounds
            )
            row += [f"{counted:.3f}", f"{own / counted:.1f}"]
        table.add_row(*row)
    console.print(table)


def hostile(console: Console, rounds: int, n: int = 250_000) -> None:
    """What is twice as long should take twice as long."""
    table = Table("made of", "MB", "s", "MB/s", "twice as long: s", "÷", title="Hostile lines (÷ should be 2)")
    for name, text in HOSTILE.items():
        once, twice = text(n), text(2 * n)
        one, two = seconds(lambda once=once: read_text(once), rounds), seconds(lambda twice=twice: read_text(twice), rounds)
        megabytes = len(once) / 1e6
        table.add_row(name, f"{megabytes:.1f}", f"{one:.3f}", f"{megabytes / one:.0f}", f"{two:.3f}", f"{two / one:.2f}")
    console.print(table)


def cold_start(console: Console, log: Path, rounds: int) -> None:
    """Time of a whole process, from start to exit."""

    def process(*arguments: str) -> float:
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd=ROOT)
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    numpy = process("-c", "import numpy")
    parse = process("-c", f"from assistant.logs import read; read({str(log)!r})")
    diagnose = process("-c", "import sys; from assistant.cli import main; sys.exit(main())", "diagnose", str(log))
    table = Table("process", "s", "more than numpy", title="Cold start, a log of 300 steps")
    for name, spent in (("import numpy", numpy), ("read", parse), ("runwhy diagnose", diagnose)):
        table.add_row(name, f"{spent:.3f}", f"{spent - numpy:+.3f}")
    console.print(table)


def memory(console: Console, path: Path) -> None:
    """Peak resident memory of a process that reads the log and keeps it."""
    code = (
        "import resource, sys; from assistant.logs import read; base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"run = read({str(path)!r}); peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "numbers = sum(column.values.nbytes for column in run.columns.values())\n"
        "print(base // 1024, peak // 1024, numbers >> 20, run.n_rows)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    table = Table("log MB", "rows", "before MB", "peak MB", "numbers MB", title="Memory")
    table.add_row(f"{path.stat().st_size / 1e6:.0f}", found[3], found[0], found[1], found[2])
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, default=100, help="size of the generated logs")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many rounds counts")
    parser.add_argument("--big", action="store_true", help="also read a log of 1 GB and report the memory it takes")
    arguments = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        logs = {
            "metric lines, three decimals": write_log(place / "fixed.log", arguments.mb, "three decimals", 0),
            "metric lines, in full": write_log(place / "full.log", arguments.mb, "in full", 0),
            "metric lines, np.float64(…)": write_log(place / "numpy.log", arguments.mb, "numpy", 0),
            "20 noise lines a metric line": write_log(place / "noisy.log", arguments.mb, "three decimals", 20),
        }
        real = sorted(SHARED.glob("*/log.txt"), key=lambda path: path.stat().st_size)
        if real:
            logs["the longest real log"] = real[-1]
        speed(console, logs, arguments.rounds)
        hostile(console, arguments.rounds)
        cold_start(console, write_log(place / "small.log", 0.66, "three decimals", 2), 5)
        if arguments.big:
            memory(console, write_log(place / "big.log", 1000, "three decimals", 0))


if __name__ == "__main__":
    main()
