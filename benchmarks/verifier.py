"""How well the verifier tells right from wrong: generated sentences on real and made runs, in both languages, true and mutated.

    python benchmarks/verifier.py [--sentences 6000] [--cases ../shared/cases/verl] [--show 20]

A true sentence must pass without a mark, a mutated one must get one. Printed: caught, wrongly flagged (by kind), µs per number.
Targets: caught ≥ 99.5 %, wrongly flagged ≤ 0.5 %.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from assistant.answers.checking.grounds import Grounds  # noqa: E402
from assistant.answers.checking.verify import verify  # noqa: E402
from assistant.answers.packed.packing import pack  # noqa: E402
from assistant.answers.understanding.question import understand  # noqa: E402
from assistant.diagnosis import RunView, diagnose  # noqa: E402
from assistant.lexicon import of_run  # noqa: E402
from assistant.run import Run, Style  # noqa: E402
from benchmarks.verifier_claims import CLAIMS  # noqa: E402
from benchmarks.verifier_scenes import Scene  # noqa: E402
from benchmarks.verifier_sentences import KINDS  # noqa: E402
from tests.builders import run_of  # noqa: E402

QUESTIONS = {
    "en": [
        "What is wrong with this run?",
        "Why does entropy fall?",
        "Is grad_norm normal?",
        "Where does the time go?",
        "Should I change the learning rate?",
    ],
    "zh": ["这次训练有什么问题？", "熵为什么下降？", "grad_norm 正常吗？", "时间花在哪里？", "回答长度的走势如何？"],
}


def scenes(folder: Path, rng: random.Random) -> Iterator[Scene]:
    runs = [made_run(seed) for seed in range(12)]
    if folder.is_dir():
        from assistant.logs import read

        runs += [read(path) for path in sorted(folder.glob("*/log.txt"))]
    for run in runs:
        diagnosis = diagnose(run)
        view = RunView(run)
        present = {name.canonical for name in view.names.values()}
        for language, questions in QUESTIONS.items():
            for question in questions:
                asked = understand(question, run_lexicon=of_run(run), present=present, language=language)  # type: ignore[arg-type]
                packed = pack(asked, diagnosis, view, budget=rng.choice([2600, 4800, 12000]))
                yield Scene(diagnosis, view, packed, question, language, Grounds(packed.evidence, packed.text, question))


def made_run(seed: int, steps: int | None = None) -> Run:
    rng = np.random.default_rng(seed)
    n = steps or int(rng.integers(40, 400))
    x = np.linspace(0, 1, n)
    values = {
        "actor/entropy": rng.uniform(0.2, 0.9) * np.exp(-rng.uniform(0.5, 4) * x) + 0.01 * rng.random(n),
        "actor/grad_norm": rng.uniform(0.1, 2) + 0.1 * rng.random(n),
        "actor/pg_loss": 0.02 * rng.standard_normal(n),
        "actor/kl_loss": 0.001 + rng.uniform(0.01, 0.4) * x + 0.002 * rng.random(n),
        "actor/ppo_kl": 0.0005 * rng.standard_normal(n),
        "actor/pg_clipfrac": 0.002 * rng.random(n),
        "actor/lr": np.full(n, 10.0 ** -rng.integers(5, 7)),
        "critic/score/mean": np.clip(rng.uniform(0, 0.4) + rng.uniform(0.1, 0.5) * x + 0.03 * rng.standard_normal(n), 0, 1),
        "critic/score/max": np.ones(n),
        "response_length/mean": rng.uniform(200, 900) + rng.uniform(-100, 1500) * x + 20 * rng.random(n),
        "response_length/clip_ratio": np.clip(rng.uniform(0, 0.3) * x + 0.01 * rng.random(n), 0, 1),
        "timing_s/step": rng.uniform(60, 400) + 10 * rng.random(n),
        "timing_s/gen": rng.uniform(20, 50) + 5 * rng.random(n),
        "perf/throughput": rng.uniform(500, 4000) + 50 * rng.random(n),
    }
    config = {
        "data.train_batch_size": 1024,
        "data.max_response_length": 2048,
        "actor_rollout_ref.actor.ppo_mini_batch_size": 256,
        "actor_rollout_ref.actor.optim.lr": 1e-6,
        "actor_rollout_ref.actor.clip_ratio_high": 0.2,
        "actor_rollout_ref.rollout.n": 8,
        "algorithm.adv_estimator": "grpo",
    }
    style = Style.FIXED3 if seed % 2 else Style.REPR
    return run_of(
        {name: [float(f"{v:.6g}") for v in series] for name, series in values.items()},
        style=style,
        config=config,
        era="0.5",
        algorithm="grpo",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=6000)
    parser.add_argument("--cases", type=Path, default=ROOT.parent / "shared" / "cases" / "verl")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    rows = [scene for scene in scenes(given.cases, rng) if len(scene.points) >= 4]
    right: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    seconds, n_numbers, shown = 0.0, 0, 0
    seen: set[tuple[int, str]] = set()
    tries = 0
    while sum(right.values()) + sum(wrong.values()) < given.sentences and tries < 20 * given.sentences:
        tries += 1
        scene = rng.choice(rows)
        made = rng.choice([*KINDS, *CLAIMS])(scene, rng)
        if made is None:
            continue
        kind, good, bad = made
        for text, is_right in [(good, True), *((b, False) for b in bad)]:
            if (id(scene), text) in seen:
                continue
            seen.add((id(scene), text))
            started = time.perf_counter()
            found = verify(text, scene.packed.evidence, scene.language, shown=scene.packed.text, said=scene.question, grounds=scene.grounds)  # type: ignore[arg-type]
            seconds += time.perf_counter() - started
            n_numbers += max(1, len(found.numbers))
            (right if is_right else wrong)[kind] += 1
            failed = bool(found.issues) if is_right else not found.issues
            if failed:
                (flagged if is_right else missed)[kind] += 1
                if shown < given.show:
                    shown += 1
                    print("FLAGGED" if is_right else "MISSED ", kind, "|", text, "|", [(i.kind, i.text, i.right) for i in found.issues])
    print(f"{'kind':<20}{'right':>7}{'flagged':>9}{'wrong':>7}{'missed':>8}")
    for kind in sorted({*right, *wrong}):
        print(f"{kind:<20}{right[kind]:>7}{flagged[kind]:>9}{wrong[kind]:>7}{missed[kind]:>8}")
    n_right, n_wrong = sum(right.values()), sum(wrong.values())
    caught = 100 * (1 - sum(missed.values()) / n_wrong)
    false = 100 * sum(flagged.values()) / n_right
    print(f"\n{n_right + n_wrong} sentences on {len(rows)} scenes; {1e6 * seconds / n_numbers:.0f} µs a number")
    print(f"caught {caught:.2f} %, wrongly flagged {false:.2f} %")
    return 0 if caught >= 99.5 and false <= 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())
