"""First sentences that answer what was asked: decisions, wrong premises, several questions in one. Figures were read off the logs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from assistant.answers import Answer, Turn, answer
from assistant.answers.understanding.language import detect
from assistant.diagnosis import Diagnosis, diagnose
from assistant.logs import read

CASES = Path(__file__).parents[4] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the labelled logs are not here")


@cache
def of_case(case: str) -> Diagnosis:
    folder, _, number = case.partition("/")
    found = next((CASES / folder).glob(f"{number}_*"))
    return diagnose(read(str(next(path for path in sorted(found.iterdir()) if path.name != "case.json"))))


def ask(case: str, question: str, history: Sequence[Turn] = ()) -> Answer:
    found = answer(question, of_case(case), history=history)
    assert found.checked["unverified"] == 0, [n.text for n in found.numbers if n.status == "unverified"]
    return found


def first(found: Answer) -> str:
    return found.markdown.split("\n\n", maxsplit=1)[0]


ROWS: list[tuple[str, str, str, str]] = [
    # Stop or go on
    (
        "verl/12",
        "Should I stop the run?",
        r"^It is still learning, but stop it to change this first: Answers grow without a gain",
        "Yes, it is",
    ),
    ("verl/10", "要不要停掉？", r"^建议停掉：KL 惩罚盖过了 score", "没有："),
    (
        "verl/02",
        "should i stop this run now or keep going",
        r"^It has already finished \(step 1120\)\. You can stop: .*, since step 112",
        "More urgent",
    ),
    ("verl/19", "should I stop it?", r"^It has already stopped: GPU out of memory", "No,"),
    ("verl/14", "Should I stop the run?", r"^Go on: nothing in this log asks for a stop", "Yes"),
    # Which checkpoint
    ("other/50", "Which checkpoint is best?", r"step 4500: there `eval_loss` has its best value, 1\.552 .* epoch 2\.0", "last value"),
    ("long/22", "Which checkpoint should I use?", r"nearest to step 3, and before step 4.*`reward` is best there: 0\.95", "learning_rate"),
    ("verl/02", "哪个 checkpoint 最好？", r"第 900 步最近.*`val/test_score/openai/gsm8k` 在那里最好，为 0\.706", "extra_state"),
    ("verl/44", "do I just need more steps?", r"^Stop it: Reward stuck at its lowest value", "could not tell"),
    ("verl/49", "can I continue from the last checkpoint?", r"first: NaN or Inf in training", "^Stop it"),
    ("verl/17", "how many epochs is enough?", r"^This log cannot tell", "train/loss` has its best"),
    ("long/38", "did it finish?", r"step 920 of 936[\s\S]*the job has stopped: Stopped from outside", "could not tell"),
    # What a log does not hold
    ("verl/02", "Which GPU model was used?", r"^The log does not print the GPU model", "could not tell"),
    (
        "verl/12",
        "数据集是不是有问题？",
        r"^这份日志看不出来：里面只有数字，没有样本",
        "共 3 个问题，先处理：回答越来越长却没有收益，自第 45 步起。\n\n回答从",
    ),
    ("verl/03", "Is my reward function correct?", r"^Scores alone do not show whether the reward function is right", "Nothing wrong"),
    ("verl/03", "谢谢", r"^不客气", "没看懂"),
    ("verl/03", "What can you do?", r"^I answer questions on this log", "could not tell"),
    ("verl/42", "Is it a hardware problem?", r"^A training log can hardly prove or exclude a hardware fault", "could not tell"),
    # Settings: the verdict first
    ("verl/03", "要不要调小学习率？", r"^这份日志里没有发现要求改它", "不在"),
    (
        "verl/10",
        "要不要调学习率",
        r"^先不用。.*由更早的问题引起：KL 惩罚盖过了 score.*kl_coef.*再改：`actor_rollout_ref\.actor\.optim\.lr`：1e-06 → 5e-07",
        "请把那几行",
    ),
    ("verl/02", "Would a bigger batch help?", r"^No finding in this log asks for changing it", "could not tell"),
    ("verl/03", "is GAE lambda 1 ok", r"`algorithm\.lam` is 1\.0", "Healthy: of"),
    ("long/42", "is 5e-4 too high for the learning rate?", r"^A finding in this log asks for it|^Not first", "clip_ratio/high_mean"),
    ("verl/19", "Will lowering the batch size help?", r"What this log asks for instead: GPU out of memory", "More urgent"),
    ("verl/12", "What is the learning rate and the batch size?", r"1e-06[\s\S]*data\.train_batch_size", "Change actor"),
    # Wrong premises
    ("verl/12", "my kl is 5, is it ok?", r"^In this log `actor/ppo_kl` never has that value", "is not in this log"),
    (
        "long/04",
        "Why does update_actor get slower and slower as training goes on?",
        r"^In this log `timing_s/update_actor` does not rise",
        "^Not normal",
    ),
    ("verl/03", "Why did the reward collapse?", r"^No sign of it in this log", "Not normal"),
    (
        "other/39",
        "log_std becomes NaN and training crashes. What is happening?",
        r"NaN or Inf in training.*\n\nNot normal: One update moves",
        "In general",
    ),
    # A "no" on one metric does not stand before the finding that says what the question says
    ("other/57", "Fine-tuning shows loss=0 and grad_norm=nan. Why?", r"^Not normal: NaN or Inf in training", "every one of the"),
    ("other/59", "I no longer get NaN, but is this loss curve right?", r"^Not normal: The loss has risen for good", "finite number"),
    ("long/22", "The entropy just keeps increasing. Is that normal?", r"^Not normal: Policy entropy explodes", "does not rise"),
    # Is anything trained at all
    ("other/47", "Loss 0.0000 and Avg Reward 0.0000 after 10 steps. Is it training?", r"^Not normal: No learning signal", "last value"),
    (
        "other/02",
        "The loss is still 0.0 although grad_norm is not zero. Is training actually happening?",
        r"is normal here: Policy loss about zero",
        "last value",
    ),
    # What is named is found
    (
        "other/15",
        "both rewards stay at exactly 0 and the loss never moves from 0.6932",
        r"^Not normal: Preference training does not separate",
        "critic/score/mean",
    ),
    (
        "other/28",
        "PPO suddenly prints OVERFLOW on every step and the loss stops changing. What happened?",
        r"^Not normal: The fp16 loss scale",
        "Nothing wrong",
    ),
    (
        "other/25",
        "The first 6 steps were skipped for overflow. Is this harmless?",
        r"^Looks odd, but is normal here: Overflows in the first steps",
        "no metrics",
    ),
    (
        "other/43",
        "NaN for episode_reward_max/min/mean and episode_len_mean. Is the run broken?",
        r"^Not normal: Episode reward is missing or NaN",
        "cannot be used",
    ),
    (
        "other/41",
        "My log has no rollout/ and eval/ sections (no ep_rew_mean). Why?",
        r"^Not normal: Episode reward is missing",
        "critic/score/mean",
    ),
    (
        "other/60",
        "My training log looks like this and I earn nothing - why?",
        r"^One problem: Many answers hit the length limit",
        "could not tell",
    ),
    (
        "verl/52",
        "The run finished without errors, but all critic metrics are zero. Are reward models missing?",
        r"^Not normal: Reward stuck",
        "after the end",
    ),
    ("verl/28", "entropy collapse 怎么办 急", r"不正常：策略退化为固定答案，自第 383 步起", "一般情况"),
    (
        "verl/40",
        "steps 80 and 83 of a GSM8K run. Anything wrong?",
        r"^Not normal: No learning signal: all advantages are zero, since step 80",
        "Too few steps before step 80 to say",
    ),
    ("verl/03", "critic loss is too high?", r"`critic/vf_loss`", "`critic/loss` is not"),
    ("other/54", "client socket times out after 1800 s. What is wrong?", r"1800 s to reach 172\.17\.0\.2 and gave up", "reach 1 and"),
    (
        "verl/10",
        "critic/rewards/mean went up from -13 to -1.3. That is good, isn't it?",
        r"^No, not by itself\. What is not normal is `critic/score/mean`",
        "below zero",
    ),
    ("verl/12", "step time 为什么越来越长？", r"^不正常：回答越来越长却没有收益", "没有单独判断"),
    ("verl/30", "怎么让它跑快一点", r"^一步里最花时间的是 `timing_s/update_actor`", "没看懂"),
    ("long/11", "is lr too low? score does not move", r"^Not normal: The reward is near its maximum", "could not tell"),
    ("long/37", "kl 爆了 beta 调多大", r"^不正常：策略远离参考模型[\s\S]*`beta`：0\.01 → 0\.02", "最后一个值是"),
    (
        "long/42",
        "model outputs same thing every time why",
        r"^Not normal: The policy gives one fixed answer, since step 68",
        "could not tell",
    ),
    ("verl/12", "best@16 比 mean@16 高好多 信哪个", r"mean@N 是 N 个样本的平均[\s\S]*mean@16`：开始 -0\.7715", "最大值是"),
    ("verl/10", "Is the KL penalty too strong?", r"^Not normal: The KL penalty outweighs the score, since step 1", "No check judges"),
    ("verl/54", "is this a GPU or CPU memory problem?", r"Host memory exhausted", "is not in this log"),
    ("verl/12", "为什么每步要 800 秒", r"^不正常：回答越来越长却没有收益", "没有单独判断"),
    ("verl/02", "why does the step time jump every 10 steps?", r"^Looks odd, but is normal here: Regular dips are validation", "not rise"),
    ("long/40", "loss_type 要不要换", r"^这份日志里有一个发现要求改它.*`loss_type` → dr_grpo", "共 3 个问题"),
    # When a named finding begins
    ("verl/10", "When exactly did the length collapse and why?", r"^At step 36: Answers shrank", "first sign"),
    ("long/32", "first warning sign?", r"^The first sign of trouble is at step 145: Policy entropy explodes", "could not tell"),
    (
        "other/35",
        "the first 10 iterations are all 'skipped iterations: 10' with learning rate 0. Is something wrong with training?",
        r"^Looks odd, but is normal here: Overflows in the first steps",
        "^`number of skipped",
    ),
    (
        "long/05",
        "when will it crash?",
        r"^No crash is in this log .*: Memory of the node keeps growing, since step 21",
        "outside the pasted",
    ),
    ("verl/03", "Explain this log to me", r"^Healthy", "could not tell"),
    # Values
    ("verl/02", "val score 上升了吗", r"从 0\.648（第 10 步） 变为 0\.697（第 1120 步）：上升 0\.049", "看着奇怪"),
    ("other/44", "is it faster now than at the beginning?", r"`tokens_per_second_per_gpu`: 57\.83 \(step 1\), 543", "`loss`"),
    ("verl/02", "how big is the train/val gap", r"^`critic/score/mean` is 0\.972 .*the first is higher by 0\.267", "its last value"),
    ("verl/12", "how much slower did it get and when did that start?", r"^`timing_s/step` starts to rise around step 7", "first sign"),
    ("verl/02", "how much did validation improve?", r"from 0\.648 \(step 10\) to 0\.697 \(step 1120\): up by 0\.049", "its last value"),
    (
        "verl/07",
        "compare with step 20",
        r"^Step 20 and step 60:\n- `critic/score/mean`: 0\.152 \(step 20\), 0\.621 \(step 60\); up by 0\.469",
        "total_timesteps",
    ),
    (
        "verl/03",
        "How long should GRPO on gsm8k normally take?",
        r"^There is no usual figure.*435 logged steps took 8\.01 hours",
        "test_score",
    ),
    (
        "long/05",
        "how many steps until memory runs out?",
        r"^It may: Memory of the node keeps growing, since step 21",
        "max_memory_allocated_gb` starts",
    ),
    ("long/57", "what is a good approx_kl?", r"^\*\*Healthy looks like\.\*\* Close to 0", "How far the policy moves"),
    (
        "verl/02",
        "How should I read the trends of kl_loss and entropy_loss?",
        r"`actor/kl_loss`\*\* Distance of the policy[\s\S]*Healthy: Starts where",
        "Median of",
    ),
    (
        "verl/10",
        "can you summarise in one sentence",
        r"^7 problems; first: The KL penalty outweighs the score, since step 1\. At step 2 .*\.$",
        "What to do",
    ),
]


@pytest.mark.parametrize(("case", "question", "wanted", "not_wanted"), ROWS, ids=[f"{c}-{q[:32]}" for c, q, *_ in ROWS])
def test_first_sentence(case: str, question: str, wanted: str, not_wanted: str) -> None:
    found = ask(case, question)
    assert re.search(wanted, found.markdown), found.markdown
    assert not re.search(not_wanted, found.markdown), found.markdown


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("报错 ppo_mini_batch_size 0 should be larger than 0 after normalization，为什么？", "zh"),
        ("为什么 the loss is nan at the first step of my run", "zh"),
        ("What does it mean when it prints “正常”?", "en"),
        ("Why does it print 没有?", "en"),
        ("what is the 熵 in this log", "en"),
    ],
)
def test_an_english_message_does_not_make_a_question_english(text: str, language: str) -> None:
    assert detect(text) == language


def test_several_questions_are_each_answered() -> None:
    found = ask("verl/02", "Why is the reward flat, is the learning rate too low, and when should I stop?").markdown
    assert found.startswith("Not normal: The reward is near its maximum")
    assert found.count("**And:**") == 2
    assert "`actor_rollout_ref.actor.optim.lr` is 1e-06" in found
    assert found.count("most of the batch teaches nothing any more") == 1

    both = ask("other/19", "Does this PPO run look sane, and what does val/num_eos_tokens = 0 mean?").markdown
    assert both.startswith("Nothing wrong so far")
    assert "How many end-of-text tokens" in both

    chinese = ask("verl/12", "step time 为什么越来越长？显存够吗？").markdown
    assert chinese.startswith("不正常：回答越来越长却没有收益")
    assert "**另外：**没有迹象：这份日志里的显存和内存已不再增长" in chinese


@pytest.mark.parametrize(
    "question",
    [
        "When the score rises, should advantages/mean stay near 0?",
        "Is that normal, or is the model broken?",
        "Is this run healthy? What, if anything, is wrong?",
        "pg_loss falls while the score rises, is that fine?",
    ],
)
def test_one_question_stays_one(question: str) -> None:
    assert "**And:**" not in ask("verl/12", question).markdown


def test_follow_ups_lead_on() -> None:
    before = ask("verl/10", "Is this run healthy?")
    why = ask("verl/10", "why?", [before.turn]).markdown
    assert "**Why.** Most likely first: The coefficient is too large" in why
    change = ask("verl/10", "What should I change first?", [before.turn])
    then = ask("verl/10", "and then?", [before.turn, change.turn]).markdown
    assert then.startswith("Besides that: ")

    change = ask("verl/12", "What should I change first?")
    fixed = ask("verl/12", "How do I know the fix worked?", [change.turn]).markdown
    assert fixed.startswith("By these signs in the new run: response_length/mean levels off, score holds")
    assert "`response_length/mean`: 1033 (step 1), 5007 (step 159)" in fixed


def test_after_a_comparison_what_to_change_is_asked_of_the_later_run() -> None:
    one, other = of_case("verl/02"), of_case("verl/12")
    compared = answer("what is different between the two runs?", one, others=[("second", other)], name="first-run")
    found = answer("What should I change first?", one, others=[("second", other)], name="first-run", history=[compared.turn])
    assert found.markdown.startswith("About `second`:\n\n")
    assert "overlong_buffer_cfg" in found.markdown
    assert "Where the curves part" not in found.markdown


def test_everything_in_a_story_asks_for_no_details() -> None:
    story = "Everything was smooth until about 1000 steps; now a step takes 118 s and the response length is exceptionally high. Why?"
    assert ask("verl/46", story).markdown.count("\n- ") == 0
