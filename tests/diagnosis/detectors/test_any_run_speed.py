"""Whatever a log holds, the detectors of speed, memory, mismatch and supervision answer, and their sentences render."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.cards import in_folder
from assistant.diagnosis import diagnose, render
from assistant.diagnosis.detector import registered
from assistant.run import NO_STEP, Style
from tests.builders import run_of

MODULES = ("mismatch", "staleness", "speed", "phases", "memory", "supervised")
OURS = [name for name, one in registered().items() if one.function.__module__.rpartition(".")[2] in MODULES]
CARDS = ("timing", "perf", "global_seqlen", "rollout", "training", "fully", "sft", "off_policy", "response", "prompt")
NAMES = sorted(
    name if isinstance(name, str) else name["key"]
    for card in in_folder("metrics")
    if card.id.partition("/")[2].startswith(
        ("timing", "perf", "global_seqlen", "rollout", "training", "fully", "sft", "off_policy", "resp")
    )
    for metric in card.front.get("metrics", ())
    for name in metric.get("names", {}).get("verl", ())
)
NUMBER = st.none() | st.floats(0, 1e3) | st.sampled_from([0.0, 1.0, -1.0, 1e12, float("nan"), float("inf"), float("-inf")])
CONFIG = st.dictionaries(
    st.sampled_from(
        [
            "actor_rollout_ref.model.use_remove_padding",
            "actor_rollout_ref.rollout.temperature",
            "actor_rollout_ref.rollout.n",
            "data.max_prompt_length",
            "data.max_response_length",
        ]
    ),
    st.none() | st.booleans() | st.integers(0, 4096) | st.text(max_size=3),
)


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    n = draw(st.sampled_from([1, 2, 5, 7, 30, 60]))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=25, unique=True))
    base = draw(st.lists(NUMBER, min_size=n, max_size=n))
    curves = {name: draw(st.permutations(base) if n < 8 else st.sampled_from([base, base[::-1], sorted(base, key=str)])) for name in names}
    return {
        "metrics": curves,
        "steps": [NO_STEP] if n == 1 and draw(st.booleans()) else list(range(3, 3 + n)),
        "style": draw(st.sampled_from([Style.REPR, Style.FIXED3])),
        "era": draw(st.sampled_from(["unknown", "0.1", "0.5", "0.6.1", "0.9"])),
        "config": draw(CONFIG),
    }


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(runs())
def test_any_run_is_answered(given_run: dict[str, Any]) -> None:
    run = run_of(given_run.pop("metrics"), **given_run)
    diagnosis = diagnose(run, only=OURS)
    for finding in diagnosis.findings:
        assert "{" not in render.summary(finding, "en")
        assert "{" not in render.summary(finding, "zh")
        render.finding_json(finding, run)
        assert finding.first_step is None or finding.last_step is None or finding.first_step <= finding.last_step
