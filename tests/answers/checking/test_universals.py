"""Claims about a whole curve, fractions, spelled numbers: wrong ones are marked, right ones are left alone."""

from __future__ import annotations

import pytest

from assistant.messages import Language
from tests.answers.checking.test_verify import checked, kinds

WRONG: list[tuple[Language, str]] = [
    ("en", "Entropy fell by twelve percent."),
    ("zh", "熵下降了三成。"),
    ("zh", "`actor/entropy` 是开始时的两倍。"),
    ("en", "`actor/entropy` doubled over the run."),
    ("en", "`actor/entropy` halved."),
    ("en", "Entropy dropped tenfold."),
    ("en", "Entropy fell to a quarter of its start."),
    ("en", "Entropy fell to ¼ of its start."),
    ("en", "Two thirds of the answers are cut."),
    ("en", "Nine out of ten answers are wrong."),
    ("zh", "熵降到最初的四分之一。"),
    ("zh", "学习率是万分之三。"),
    ("en", "`actor/entropy` did not change."),
    ("en", "`actor/entropy` shows no change over the run."),
    ("zh", "`actor/entropy` 没有变化。"),
    ("en", "`actor/entropy` never falls."),
    ("en", "`actor/entropy` never fell below 0.1."),
    ("zh", "`actor/entropy` 从未低于 0.1。"),
    ("en", "`actor/entropy` is always above 0.2."),
    ("zh", "`actor/entropy` 始终高于 0.2。"),
    ("en", "`actor/entropy` was 0.404 at every step."),
    ("en", "Entropy has the third highest value at step 66."),
    ("en", "The score has never been higher than now."),
    ("en", "`critic/score/mean` is at its highest at the end."),
    ("zh", "`critic/score/mean` 在最后达到最高。"),
    ("en", "`actor/entropy` is back to its starting value."),
    ("en", "Entropy ended higher than it began."),
    ("zh", "熵最后比开始时更高。"),
    ("en", "`actor/entropy` becomes negative."),
    ("en", "`actor/entropy` becomes NaN at step 100."),
    ("en", "`actor/entropy` reaches zero at step 100."),
    ("en", "Entropy is minus 0.004526 at step 200."),
    ("zh", "熵在第 200 步为负 0.004526。"),
    ("en", "Entropy is zero point four at step 200."),
    ("zh", "熵在第 200 步是零点四。"),
    ("en", "Entropy collapsed after two hours."),
    ("en", "This run was done with verl 0.4.1."),
    ("en", "The gradient exploded at step 100."),
    ("en", "KL to the reference exploded."),
    ("zh", "梯度爆炸了。"),
    ("en", "| step | actor/entropy |\n|---|---|\n| 1 | 0.404 |\n| 200 | 0.3 |"),
    ("en", "```\nactor/entropy:0.9 step:200\n```"),
    ("en", "`actor/entropy@200=0.9`"),
    ("en", "`timing_s/step` is 40 ms at step 200."),
    ("en", "Entropy: ０．９ at step 200."),
]
RIGHT: list[tuple[Language, str]] = [
    ("en", "`actor/entropy` never rose above 0.5."),
    ("en", "`response_length/mean` is always above 300."),
    ("en", "`actor/grad_norm` did not change."),
    ("en", "If `actor/entropy` does not change, lower the learning rate."),
    ("en", "Lower the learning rate to about a third of the present rate."),
    ("en", "Watch that `actor/entropy` never falls below a third of its starting value."),
    ("en", "`response_length/mean` more than doubled."),
    ("zh", "`actor/grad_norm` 没有变化。"),
    ("zh", "`response_length/mean` 始终高于 300。"),
    ("zh", "把学习率降到现在的三分之一左右。"),
    ("en", "The score was highest in the middle and is at its lowest at the end."),
    ("en", "No sign that the gradient exploded."),
    ("en", "`critic/score/mean` ended lower than it began."),
    ("en", "What to do: 1. Restart from an earlier checkpoint. 2. Widen the clip. 3. Watch the entropy."),
    ("zh", "怎么做：1. 回滚。2. 打印几条回答。3. 放宽裁剪。"),
    ("zh", "`actor/entropy` 从第 1 步的 0.404 降到第 200 步的 0.004526，第 66 步起偏低。"),
    ("en", "The log shows no such error."),
]


@pytest.mark.parametrize(("language", "text"), WRONG, ids=[text[:40] for _, text in WRONG])
def test_wrong_claims_are_marked(language: Language, text: str) -> None:
    assert kinds(checked(text, language))


@pytest.mark.parametrize(("language", "text"), RIGHT, ids=[text[:40] for _, text in RIGHT])
def test_right_claims_stand(language: Language, text: str) -> None:
    assert [(issue.kind, issue.text) for issue in checked(text, language).issues] == []
