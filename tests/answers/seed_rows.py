"""The 35 claims of a widely read article on verl's log, as questions about the very log that it shows.

The article's log: verl 0.3–0.4.0, three decimals, PPO with GAE on GSM8K, one GPU, answers of at most 256 tokens. Digits that
its text lost are filled in plausibly. A row: the question in one or both languages, what a right answer says (regular
expressions, all must match), what it must not say, and the log it is asked of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SEED = {
    "actor/entropy_loss": 0.065,
    "actor/pg_loss": -0.008,
    "actor/pg_clipfrac": 0.005,
    "actor/ppo_kl": 0.000,
    "actor/grad_norm": 7.158,
    "actor/lr": 0.000,
    "perf/mfu/actor": 0.038,
    "perf/max_memory_allocated_gb": 43.489,
    "perf/max_memory_reserved_gb": 44.793,
    "perf/cpu_memory_used_gb": 35.174,
    "perf/mfu/critic": 0.041,
    "critic/vf_loss": 0.081,
    "critic/vf_clipfrac": 0.000,
    "critic/vpred_mean": 0.579,
    "critic/grad_norm": 12.486,
    "critic/lr": 0.000,
    "critic/vf_explained_var": 0.390,
    "critic/score/mean": 0.676,
    "critic/score/max": 1.000,
    "critic/score/min": 0.000,
    "critic/rewards/mean": 0.676,
    "critic/rewards/max": 1.000,
    "critic/rewards/min": 0.000,
    "critic/advantages/mean": 0.000,
    "critic/advantages/max": 2.341,
    "critic/advantages/min": -4.817,
    "critic/returns/mean": 0.633,
    "critic/returns/max": 1.000,
    "critic/returns/min": 0.000,
    "critic/values/mean": 0.590,
    "critic/values/max": 1.180,
    "critic/values/min": -0.240,
    "response_length/mean": 141.617,
    "response_length/max": 256.000,
    "response_length/min": 31.000,
    "response_length/clip_ratio": 0.002,
    "prompt_length/mean": 101.695,
    "prompt_length/max": 207.000,
    "prompt_length/min": 62.000,
    "prompt_length/clip_ratio": 0.000,
    "timing_s/gen": 5.722,
    "timing_s/old_log_prob": 5.130,
    "timing_s/values": 3.410,
    "timing_s/adv": 0.211,
    "timing_s/update_critic": 18.966,
    "timing_s/update_actor": 20.224,
    "timing_s/step": 53.001,
    "perf/total_num_tokens": 62339.000,
    "perf/time_per_step": 53.001,
    "perf/throughput": 1176.216,
}


def line(step: int, values: Mapping[str, float]) -> str:
    """One step as verl's console logger of that era prints it."""
    return f"step:{step} - " + " - ".join(f"{name}:{value:.3f}" for name, value in values.items())


def log(changes: Sequence[Mapping[str, float]] = ({},), start: int = 7) -> str:
    """The seed's step, once for every mapping of changed values."""
    rows = [line(start + i, {**SEED, **change}) for i, change in enumerate(changes)]
    return "(TaskRunner pid=4711) " + "\n(TaskRunner pid=4711) ".join(rows) + "\n"


def course(name: str, values: Sequence[float], **others: Sequence[float]) -> list[dict[str, float]]:
    """Changes in which one metric (and ``others``, ``__`` for ``/``) takes the given values, step by step."""
    rows = [{name: value} for value in values]
    for key, series in others.items():
        for row, value in zip(rows, series, strict=True):
            row[key.replace("__", "/")] = value
    return rows


@dataclass(frozen=True)
class Row:
    number: int
    en: str
    must_en: Sequence[str]
    zh: str = ""
    must_zh: Sequence[str] = ()
    must_not: Sequence[str] = ()
    changes: Sequence[Mapping[str, float]] = field(default_factory=lambda: ({},))


COLLAPSE = [0.065, 0.066, 0.064, 0.065, 0.066, 0.064, 0.065, 0.063, 0.066, 0.064] + [max(0.002, 0.06 - 0.002 * i) for i in range(40)]
VOLATILE = [0.676, 0.68, 0.67, 0.69, 0.66, 0.67, 0.68, 0.69, 0.67, 0.68] + [0.68 if i % 2 else 0.31 for i in range(40)]

ROWS = [
    Row(1, "Does critic/score/mean need a critic?", [r"critic/score/mean", r"0\.676"], must_not=[r"no critic metrics"]),
    Row(
        2,
        "pg_loss falls while critic/vf_loss keeps rising. Does the critic mislead the actor?",
        [r"actor/pg_loss", r"critic/vf_loss", r"0\.081"],
        changes=course("actor/pg_loss", [-0.008, -0.009, -0.010], critic__vf_loss=[0.081, 0.085, 0.090]),
    ),
    Row(
        3,
        "actor/pg_loss is -0.008. Negative is good, the more negative the better, right?",
        [r"-0\.008 \(step 7\)", r"does not hold|no sign|not tell|As normal as positive", r"critic/score/mean"],
        zh="actor/pg_loss 是 -0.008，负值是好事、越负越好，对吗？",
        must_zh=[r"-0\.008（第 7 步）", r"不成立|与正值一样正常", r"白化|期望"],
        must_not=[r"(?i)the more negative,? the better[.。]", r"(?i)policy (has )?improv(es|ed) because"],
    ),
    Row(
        4,
        "pg_loss fell from -0.005 to -0.5, did the policy collapse?",
        [r"-0\.500", r"-0\.005"],
        zh="pg_loss 从 -0.005 突然掉到 -0.5，策略崩了吗？",
        must_zh=[r"-0\.500"],
        changes=course("actor/pg_loss", [-0.005, -0.004, -0.006, -0.005, -0.500]),
    ),
    Row(
        5,
        "actor/entropy_loss is 0.065, is that healthy?",
        [r"0\.065", r"own start|its start|start"],
        zh="actor/entropy_loss 是 0.065，健康吗？",
        must_zh=[r"0\.065", r"起点|开始|自身|起始"],
        must_not=[r"0\.03–0\.15 is (healthy|normal)"],
    ),
    Row(
        6,
        "pg_clipfrac is always 0, is clip_ratio too large?",
        [r"one update|single update|on-policy|once"],
        zh="pg_clipfrac 一直是 0，是不是 clip_ratio 设得过大？",
        must_zh=[r"一次更新|只更新一次|on-policy|更新一次"],
        must_not=[r"(?i)lower .{0,40}clip_ratio` ?[:→]"],
        changes=course("actor/pg_clipfrac", [0.0] * 12, actor__ppo_kl=[0.0] * 12),
    ),
    Row(
        7,
        "ppo_kl is 0.000. Shouldn't it sit near kl_coef = 0.001?",
        [r"no target|not .{0,40}target|Different|distance to the reference", r"kl_coef"],
        zh="ppo_kl 是 0.000，不是应该稳定在 kl_coef 附近吗？",
        must_zh=[r"没有目标值|不同的量|参考", r"kl_coef"],
        must_not=[r"(?i)should (settle|sit|be) near kl_coef\.", r"(?i)is too conservative"],
    ),
    Row(
        8,
        "ppo_kl is 0.004, too high; should I raise kl_coef or lower the lr?",
        [r"kl_coef|KL coefficient", r"use_kl_in_reward|reference|do not control"],
        zh="ppo_kl 有 0.004，是不是要调高 kl_coef？",
        must_zh=[r"kl_coef|KL 系数", r"use_kl_in_reward|参考|管不到"],
        must_not=[r"(?i)raise `?algorithm\.kl_ctrl\.kl_coef"],
        changes=course("actor/ppo_kl", [0.004, 0.003, 0.004]),
    ),
    Row(
        9,
        "actor/grad_norm is 7.158. Is grad_clip not working?",
        [r"7\.158", r"before (the )?clip|pre-clip|before clipping"],
        zh="actor/grad_norm 是 7.158，grad_clip 没生效吗？",
        must_zh=[r"7\.158", r"裁剪前|裁剪之前|截断前"],
        must_not=[r"(?i)healthy (range )?is 1.10"],
    ),
    Row(
        10,
        "actor/lr shows 0.000, is it not training?",
        [r"three decimals|rounding|rounded|0\.0005"],
        zh="actor/lr 显示 0.000，是没训练吗？",
        must_zh=[r"三位小数|舍入|精度"],
        must_not=[r"(?i)learning rate is (really |exactly )?zero"],
    ),
    Row(11, "What does lr_warmup_steps = -1 mean for actor/lr?", [r"actor/lr"], must_not=[r"-1 disables"]),
    Row(12, "critic/vf_loss is 0.081, is that good?", [r"0\.081", r"reward|scale|explained"], must_not=[r"0\.05–0\.2 is (healthy|normal)"]),
    Row(
        13,
        "critic/vf_explained_var is 0.390, is that bad?",
        [r"0\.390"],
        zh="critic/vf_explained_var 是 0.390，正常吗？",
        must_zh=[r"0\.390"],
        must_not=[r"(?i)must (reach|exceed) 0\.7\."],
    ),
    Row(14, "critic/vf_clipfrac is 0.000, fine?", [r"0\.000", r"cliprange_value|0\.5|value"]),
    Row(
        15,
        "Should critic/vpred_mean track critic/score/mean?",
        [r"0\.579", r"returns"],
        zh="critic/vpred_mean 应该和 critic/score/mean 一致吗？",
        must_zh=[r"0\.579", r"returns"],
    ),
    Row(
        16,
        "critic/score/mean is 0.676: does that mean 67.6% accuracy on the validation set?",
        [r"training batch|training", r"val-core|validation"],
        zh="critic/score/mean 是 0.676，是说验证集准确率 67.6% 吗？",
        must_zh=[r"训练批次|训练", r"val-core|验证"],
        must_not=[r"(?i)accuracy on the validation set is"],
    ),
    Row(
        17,
        "critic/advantages/mean is 0.000, is the value function perfect?",
        [r"(?i)whiten"],
        zh="critic/advantages/mean 是 0.000，说明 V(s) 估计准确吗？",
        must_zh=[r"白化"],
        must_not=[r"(?i)value function is (perfect|accurate)\b(?! )"],
    ),
    Row(
        18,
        "Why is critic/returns/mean 0.633 lower than critic/score/mean, is it discounting?",
        [r"0\.633", r"length|longer|KL"],
        zh="为什么 critic/returns/mean 比 critic/score/mean 低，是折扣造成的吗？",
        must_zh=[r"0\.633", r"长度|更长|KL"],
        must_not=[r"(?i)because of (the )?discount"],
    ),
    Row(
        19,
        "perf/max_memory_allocated_gb is 43.489, is that safe?",
        [r"43\.489", r"peak|since"],
        must_not=[r"(?i)currently (in use|allocated)"],
    ),
    Row(
        20,
        "reserved memory is much larger than allocated, is it a leak?",
        [r"44\.793|43\.489", r"cache|fragment|allocator"],
        zh="显存 reserved 比 allocated 大好多，是泄漏吗？",
        must_zh=[r"44\.793|43\.489", r"缓存|碎片"],
        must_not=[r"(?i)this is a leak"],
    ),
    Row(
        21,
        "perf/mfu/actor is 0.038. Is that because of IO and sampling?",
        [r"0\.038", r"update"],
        zh="perf/mfu/actor 只有 0.038，是因为 IO 和采样吗？",
        must_zh=[r"0\.038", r"更新|update"],
    ),
    Row(
        22,
        "perf/throughput is 1176, is that too low?",
        [r"1176\.216", r"per GPU"],
        zh="perf/throughput 才 1176，是不是太低？",
        must_zh=[r"1176\.216", r"每(张|块|个)? ?(GPU|卡)|单卡"],
        must_not=[r"(?i)below 500"],
    ),
    Row(23, "timing_s/gen is 5.722, should I enable chunked prefill?", [r"5\.722"], must_not=[r"(?i)enable_chunked_prefill` → True"]),
    Row(24, "Shouldn't update_actor take clearly longer than gen?", [r"20\.224|20\.2", r"5\.722|5\.72"], must_not=[r"(?i)must be longer"]),
    Row(25, "update_critic is close to update_actor, is that fine?", [r"18\.966|19"]),
    Row(26, "response_length/mean is 141.617, is that fine?", [r"141\.617"]),
    Row(27, "response_length/clip_ratio is 0.002, ok?", [r"0\.002", r"limit|trunc|cut"]),
    Row(
        28,
        "pg_loss stays positive and the score falls. Should I set kl_coef to 0 and see whether pg_loss turns negative?",
        [r"actor/pg_loss", r"critic/score/mean"],
        zh="pg_loss 一直为正、score 下降，要不要把 kl_coef 设为 0 看 pg_loss 会不会变负？",
        must_zh=[r"actor/pg_loss"],
        must_not=[r"kl_coef` ?: .{0,20}→ 0\b"],
        changes=course("actor/pg_loss", [0.008, 0.009, 0.007, 0.006], critic__score__mean=[0.676, 0.65, 0.63, 0.6]),
    ),
    Row(
        29,
        "Throughput is low although gen is short. Is CPU data loading the bottleneck?",
        [r"1176\.216|update_actor"],
        must_not=[r"filter_overlong_prompts_workers` →"],
    ),
    Row(
        30,
        "prompt_length/mean is far below max_prompt_length. Should I enable filter_overlong_prompts against padding?",
        [r"101\.695", r"use_remove_padding|use_dynamic_bsz|drops|longer than"],
        zh="prompt_length/mean 远小于 max_prompt_length，要不要开 filter_overlong_prompts 减少 padding？",
        must_zh=[r"101\.695"],
        must_not=[r"filter_overlong_prompts` ?(: .{0,20})?→ True"],
    ),
    Row(
        31,
        "entropy fell from 0.065 to 0.002 and the score is volatile, why?",
        [r"0\.065", r"0\.002", r"(?i)collapse|one fixed answer"],
        zh="entropy_loss 从 0.065 降到 0.002，score 波动剧烈，为什么？",
        must_zh=[r"0\.002", r"坍缩|塌|固定答案"],
        changes=course("actor/entropy_loss", COLLAPSE, critic__score__mean=VOLATILE),
    ),
    Row(
        32,
        "The entropy collapsed. Should I raise entropy_coeff to 0.01?",
        [r"entropy_coeff|clip_ratio"],
        zh="熵坍缩了，要把 entropy_coeff 调到 0.01 吗？",
        must_zh=[r"entropy_coeff|clip_ratio"],
        must_not=[r"entropy_coeff`: 0 → 0\.01\b", r"entropy_coeff`.{0,30}→ 0\.01\b"],
        changes=course("actor/entropy_loss", COLLAPSE, critic__score__mean=VOLATILE),
    ),
    Row(33, "When ppo_kl rises, should vf_loss fall?", [r"actor/ppo_kl", r"critic/vf_loss"], must_not=[r"(?i)vf_loss should fall"]),
    Row(34, "When the score rises, should advantages/mean stay near 0?", [r"advantages/mean", r"(?i)whiten|construction|by design"]),
    Row(
        35,
        "throughput drops: where does the time go, gen or update?",
        [r"update_actor", r"20\.2"],
        zh="吞吐下降了，时间花在哪里，gen 还是 update？",
        must_zh=[r"update_actor", r"20\.2"],
    ),
]
