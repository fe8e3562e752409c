from __future__ import annotations

import pytest

from assistant.answers.understanding.question import Turn
from assistant.charts.asked import Request, asked
from assistant.diagnosis import Diagnosis, Finding, RunView
from tests.builders import run_of

UP = [float(i) for i in range(1, 41)]
RUN = run_of(
    {
        "actor/entropy": UP, "critic/score/mean": UP, "critic/rewards/mean": UP, "actor/grad_norm": UP, "actor/kl_loss": UP,
        "actor/pg_loss": UP, "actor/ppo_kl": UP, "response_length/mean": UP, "response_length/clip_ratio": UP, "timing_s/step": UP,
        "timing_s/gen": UP, "val-core/openai/gsm8k/acc/mean@1": UP, "my_fork/odd_thing": UP,
    },
    era="0.6", algorithm="grpo",
)  # fmt: skip
POINT = RunView(RUN)["policy_grad_norm"].point(3)
DIAGNOSIS = Diagnosis(RUN, [Finding("gradient-explosion", evidence=[POINT])], [], [])
BOTH = ("actor/entropy", "critic/score/mean")


@pytest.mark.parametrize(
    ("question", "request_"),
    [
        ("plot entropy against score", Request("lines", BOTH)),
        ("Plot entropy vs. score please", Request("lines", BOTH)),
        ("entropy vs score", Request("lines", BOTH)),
        ("show me the kl curve", Request("lines", ("actor/kl_loss",))),
        ("画一下熵和奖励", Request("lines", ("actor/entropy", "critic/rewards/mean"))),
        ("给我看看 kl 的曲线", Request("lines", ("actor/kl_loss",))),
        ("把梯度范数画成对数坐标", Request("lines", ("actor/grad_norm",), logarithmic=True)),
        ("plot grad norm on a log scale from step 10 to 20", Request("lines", ("actor/grad_norm",), 10, 20, True)),
        ("用对数坐标画一下 grad_norm 第 5 到 20 步", Request("lines", ("actor/grad_norm",), 5, 20, True)),
        ("plot entropy on a linear scale", Request("lines", ("actor/entropy",), logarithmic=False)),
        ("plot entropy, smoothed with window 10", Request("lines", ("actor/entropy",), window=10)),
        ("plot the reward with a moving average of 5", Request("lines", ("critic/rewards/mean",), window=5)),
        ("plot entropy, smoothed", Request("lines", ("actor/entropy",), window=10)),
        ("plot entropy without smoothing", Request("lines", ("actor/entropy",))),
        ("画一下熵，平滑窗口 20", Request("lines", ("actor/entropy",), window=20)),
        ("draw entropy for the last 10 steps", Request("lines", ("actor/entropy",), 31)),
        ("Please graph pg_loss and ppo_kl for the first half", Request("lines", ("actor/pg_loss", "actor/ppo_kl"), None, 20)),
        ("画 actor/entropy 和 critic/score/mean 的散点图", Request("scatter", BOTH)),
        ("scatter plot of entropy and score", Request("scatter", BOTH)),
        ("show the time per step stacked by part", Request("times")),
        ("画一下每步耗时的构成", Request("times")),
        ("validation curve please", Request("lines", ("val-core/openai/gsm8k/acc/mean@1",))),
        ("plot my_fork/odd_thing", Request("lines", ("my_fork/odd_thing",))),
        ("plot rewards/chosen", Request("lines", ("rewards/chosen",))),
        ("plot the problem", Request("lines", ("actor/grad_norm",))),
        ("How is entropy doing? Plot it.", Request("lines", ("actor/entropy",))),
    ],
)
def test_what_is_to_be_drawn(question: str, request_: Request) -> None:
    assert asked(question, DIAGNOSIS) == request_


@pytest.mark.parametrize(
    "question",
    [
        "why does the entropy curve fall?", "what does the loss plot mean?", "is entropy ok?", "how do I plot this in wandb?",
        "熵的曲线正常吗", "为什么要画熵的图", "draw the conclusion", "what should I change first?", "plot", "",
        "smooth with window 10", "💥", "entropy", "I need to figure out the entropy", "I get a CUDA graph error and the reward drops",
        "看起来模型试图作弊，reward 在涨",
    ],
)  # fmt: skip
def test_what_is_no_request_for_a_chart(question: str) -> None:
    assert asked(question, DIAGNOSIS) is None


def test_a_follow_up_draws_what_the_talk_is_about() -> None:
    history = [Turn("why does entropy fall?", ("policy_entropy",))]
    assert asked("plot it", DIAGNOSIS, history) == Request("lines", ("actor/entropy",))
    assert asked("smooth it with window 20", DIAGNOSIS, history) == Request("lines", ("actor/entropy",), window=20)


@pytest.mark.parametrize(
    "request_",
    [
        Request("lines", ("a/b", "c&d=e", "奖励 %"), 3, 9, True, 10),
        Request("scatter", ("x", "y"), logarithmic=False),
        Request("times", first=5),
    ],
)
def test_a_request_survives_its_url(request_: Request) -> None:
    assert Request.of_query(request_.query()) == request_


@pytest.mark.parametrize("query", ["", "kind=evil&from=x&to=1e9&log=7&window=-5", "from=" + "9" * 400, "%00&&&=;"])
def test_a_hostile_query_asks_for_nothing(query: str) -> None:
    request = Request.of_query(query)
    assert (request.kind, request.first, request.last, request.logarithmic, request.window) == ("lines", None, None, None, 0)


def test_requests_become_charts() -> None:
    view = RunView(RUN)
    assert asked("plot entropy against score from step 5 to 9", DIAGNOSIS).panels(view).steps == (5, 9)
    assert asked("scatter entropy and score", DIAGNOSIS).panels(view).names == ("critic/score/mean", "actor/entropy")
    assert asked("plot the step time breakdown", DIAGNOSIS).panels(view).names == ("s / step",)
    assert asked("plot rewards/chosen", DIAGNOSIS).panels(view).missing == ("rewards/chosen",)
