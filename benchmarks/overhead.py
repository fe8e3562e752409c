"""What runwhy adds before a request leaves, and how much it sends: a local Chat Completions server notes when each request arrives.
Beside it, what a built-in answer takes on a short and on a long log.

    python benchmarks/overhead.py [--questions 40]

Targets (warm, 300 steps): p50 ≤ 80 ms, ≤ 6,000 tokens a request, median ≤ 2 calls an answer.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from assistant.answers import answer  # noqa: E402
from assistant.answers.grounding.tokens import counter  # noqa: E402
from assistant.answers.model.settings import Endpoint  # noqa: E402
from assistant.diagnosis import Diagnosis, diagnose  # noqa: E402
from benchmarks.verifier import QUESTIONS, made_run  # noqa: E402
from tests.answers.model.server import Act, serving  # noqa: E402

STEPS, LONG = 300, 10_000
REPLY = {
    "en": "`actor/entropy` went from {{E1}} to a lower level; see the findings above. Nothing else stands out in this log.",
    "zh": "目前看到的就是检测给出的结果，先按检测的建议处理，再观察后面的指标。",
}


def built_in(diagnosis: Diagnosis, asked: list[tuple[str, str]]) -> float:
    """Median seconds of an answer without a model, once what is kept of a run is there."""
    answer(asked[0][1], diagnosis)
    took = []
    for _, question in asked:
        started = time.perf_counter()
        answer(question, diagnosis)
        took.append(time.perf_counter() - started)
    return statistics.median(took)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=40)
    given = parser.parse_args()
    count = counter()
    arrived: list[float] = []
    sent: list[int] = []
    said = {"en": REPLY["en"]}

    def act(request: dict[str, Any]) -> Act:
        arrived.append(time.perf_counter())
        sent.append(sum(count(str(m["content"])) + 4 for m in request["messages"]))
        return Act(said["en"])

    diagnosis = diagnose(made_run(4, STEPS))
    asked = [(language, q) for language, questions in QUESTIONS.items() for q in questions]
    before: list[float] = []
    calls: list[int] = []
    modes: dict[str, int] = {}
    with serving(act) as server:
        for i in range(given.questions + len(asked)):
            language, question = asked[i % len(asked)]
            said["en"] = REPLY[language]
            endpoint = Endpoint(model="test-model", base_url=server.url, redact="on", budget=6000, window=32_768, temperature=i / 1000)
            arrived.clear()
            started = time.perf_counter()
            given_answer = answer(question, diagnosis, model=endpoint)
            if i < len(asked):  # warming up
                sent.clear()
                continue
            before.append(arrived[0] - started)
            calls.append(len(arrived))
            modes[given_answer.mode] = modes.get(given_answer.mode, 0) + 1
    before.sort()
    p50, p95 = statistics.median(before), before[int(0.95 * len(before))]
    print(f"{len(before)} questions on {STEPS} steps: before the request leaves p50 {1000 * p50:.0f} ms, p95 {1000 * p95:.0f} ms")
    print(f"tokens a request: median {statistics.median(sent):.0f}, most {max(sent)}")
    print(f"calls an answer: median {statistics.median(calls)}; {modes}")
    few, many = built_in(diagnosis, asked), built_in(diagnose(made_run(4, LONG), only=[]), asked)
    print(f"built-in answers, p50: {1000 * few:.0f} ms on {STEPS} steps, {1000 * many:.0f} ms on {LONG} (÷ {many / few:.1f})")
    return 0 if p50 <= 0.08 and max(sent) <= 6000 and statistics.median(calls) <= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
