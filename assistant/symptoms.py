"""How people describe a finding without its name: patterns over a lower-case question with NFKC applied. Nothing here is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assistant.cards import cards
from assistant.lexicon import normal


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


SYMPTOMS: Mapping[str, re.Pattern[str]] = {
    "no-learning-signal": _any(
        r"(all|every) groups? (have |has |the )?(same|identical|one) reward",
        r"(advantages?|adv)\b.{0,30}(all )?(zero|0\b)",
        r"(adv|优势).{0,10}全.{0,3}0",
    ),
    "non-finite": _any(r"!{3,}", r"感叹号", r"\bnan\b.{0,40}\b(loss|grad|everything|all)", r"invalid values", r"\bnan\b"),
    "entropy-collapse": _any(r"entropy.{0,16}(collaps|near zero|to (almost )?(0|zero)\b)", r"熵.{0,6}(坍缩|塌|崩|归零|接近 ?0)"),
    "entropy-explosion": _any(
        r"(熵|entropy).{0,20}(explod|explosion|keeps? (ris|increas)|suddenly rises|爆炸|一直(往上)?(涨|升)|突然升高)",
        r"gibberish|garbage|乱码|noise after",
    ),
    "policy-degenerate": _any(
        r"(same|fixed|identical) (answer|output|thing|text|response|word)s?\b", r"(固定|同一个|一样的)(答案|输出|回答)"
    ),
    "reward-flat-floor": _any(
        r"(reward|score).{0,20}(always|stuck|一直|始终).{0,6}(-?\d|zero)", r"(reward|score|奖励|分数).{0,8}(一直|始终|都)是? ?-?\d"
    ),
    "reward-plateau": _any(r"(reward|score|奖励).{0,20}(plateau|不涨|不上升|不再上升|not (increas|improv)\w*|stops? rising|flat)"),
    "reward-collapse": _any(r"(reward|score|奖励).{0,30}(collaps|suddenly|drops?|falls?|went to (zero|0)|降为|掉到|变成?) ?"),
    "reward-hacking": _any(r"hack"),
    "overfitting": _any(r"over-?fit", r"过拟合"),
    "crash-gpu-oom": _any(r"cuda (out of memory|oom)", r"\b(gpu|vram)\b.{0,20}(oom|out of memory)", r"显存.{0,6}(爆|不够|oom|溢出)"),
    "crash-host-oom": _any(
        r"(host|system|cpu|ram)\b.{0,24}\b(oom|out of memory)", r"ray.{0,10}(kill|杀)", r"(主机|系统)?内存.{0,6}(爆|oom|不够)"
    ),
    "crash-nccl": _any(r"nccl", r"mlx5"),
    "crash-worker-died": _any(r"actordied|actor died|worker died|worker crashed"),
    "hang": _any(r"\b(hang|hung|hangs|stuck at \d+/)", r"卡死|卡住不动"),
    "crash-batch-divisibility": _any(r"divisible|after normalization|整除"),
    "crash-token-budget": _any(r"max_token_len must be"),
    "crash-prompt-too-long": _any(r"prompt length .{0,12} is longer"),
    "crash-reward-function": _any(r"reward function is not implemented"),
    "crash-disk": _any(r"no space left"),
    "crash-checkpoint": _any(r"(checkpoint|ckpt).{0,20}(错误|失败|fail|error|加载不了|corrupt)"),
    "truncation": _any(
        r"(length|responses?|answers?|回复|回答|长度).{0,24}(hits? the (limit|cap|max)|触顶|触及上限|到上限)",
        r"(responses?|answers?|回复|回答|输出).{0,24}(truncat|clipped|cut off|截断)",
        r"\btruncat",
        r"截断",
    ),
    "length-explosion": _any(r"(answers?|responses?|回复|回答).{0,16}(longer and longer|越来越长)"),
    "length-collapse": _any(r"(answers?|responses?|回复|回答|输出).{0,24}(only get shorter|shorter and shorter|越来越短)"),
    "generation-bound": _any(r"(gen(eration)?|rollout|生成).{0,24}(占|most of|half of|%|slow|慢)"),
    "update-bound": _any(r"update_actor.{0,24}(占|%|slow|慢|of the|takes)"),
    "progressive-slowdown": _any(
        r"slower (every|and slower|each)|\b(got|gets|getting|became|becoming) slower", r"越来越慢|越往后.{0,16}越慢"
    ),
    "first-step-slow": _any(r"first step.{0,30}(slow|long)", r"第一步.{0,16}(慢|长)"),
    "throughput-drop": _any(r"(throughput|吞吐).{0,20}(drop|fell|falls|halv|下降|掉|低)"),
    "gpu-memory-leak": _any(r"(gpu|vram|显存).{0,16}(leak|泄漏)", r"memory leak", r"显存.{0,8}(一直|越来越|不断)"),
    "kl-blowup": _any(r"\bkl\b.{0,20}(explod|blow|blew|huge|suddenly rises|爆|突然增大|飙)"),
    "kl-negative": _any(r"\bkl\b.{0,30}(negative|below zero|负)"),
    "clip-saturation": _any(r"clip_?frac.{0,12}0\.[2-9]"),
    "gradient-explosion": _any(r"(grad\w*( norm)?|梯度(范数)?).{0,20}(explod|explosion|blow|爆炸|爆了)"),
    "gradient-spike": _any(r"(grad\w*( norm)?|梯度(范数)?).{0,20}(spike|尖峰|毛刺)"),
    "group-size-one": _any(r"(rollout\.n|\bn) ?= ?1\b"),
    "not-learning": _any(r"(not learning|nothing is learned|does not learn|hardly improve|没学|学不到|没有提升|几乎没有提升)"),
    "critic-useless": _any(r"critic.{0,16}(useless|broken|failed|没用|失效|坏)"),
    "reward-kl-gap": _any(
        r"kl (penalty|term|coef\w*).{0,20}(too (strong|large|high|big|much)|dominat\w*|outweigh\w*)",
        r"kl ?(惩罚|系数|项).{0,8}(太大|太强|太高|过大|过强|盖过|压过)",
    ),
    "reward-noisy": _any(r"(reward|score|奖励).{0,16}(nois|volatile|unstable|jumps|波动|震荡|不稳)"),
    "format-accuracy-split": _any(r"(format|格式).{0,24}(accuracy|准确率)"),
    "no-validation": _any(r"no (validation|val)\b|没有验证"),
    "validation-above-train": _any(r"(val\w*|验证).{0,24}(higher than|above|高于|比训练.{0,4}高)"),
    "loss-spike": _any(r"loss.{0,12}(spike|尖峰|突然增大|jumps)"),
    "loss-divergence": _any(r"loss.{0,12}(diverg|发散|一直(涨|升))"),
    "weights-not-loaded": _any(r"(weights?|权重).{0,16}(load|加载)"),
    "kv-preemption": _any(r"preempt|抢占"),
    "dataloader-stall": _any(r"data ?loader|data loading|数据加载"),
    "checkpoint-stall": _any(r"(checkpoint|ckpt|保存).{0,20}(slow|takes|long|慢|久)"),
    "validation-costly": _any(r"(validation|验证).{0,12}(slow|takes|long|慢|久)"),
    "stale-samples": _any(r"stale|off-policy samples|陈旧|过期"),
    "log-restarted": _any(r"(resum|restart|重启|续训).{0,20}(step|log|日志|步)"),
    "host-memory-growth": _any(
        r"(system |host |cpu |memory usage).{0,20}(rises?|climb\w*|grow\w*|keeps)", r"内存.{0,12}(涨|越来越高|增长|上升)"
    ),
    "gpu-fragmentation": _any(r"fragment", r"碎片", r"reserved.{0,24}(allocated|much)"),
    "padding-waste": _any(r"padding|填充"),
    "rollout-mismatch": _any(r"(vllm|rollout).{0,24}(训练|train\w*).{0,16}(logprob|log_prob|mismatch|不一致|对不上)", r"mismatch"),
    "validation-overlaps-train": _any(r"train\w*( data)? looks like val|(验证|val)\w*.{0,16}(overlap|重叠|泄漏|leak)"),
    "weights-not-synced": _any(
        r"(rollout|vllm).{0,60}(different from|differs from|完全不一样|不一致).{0,30}(vllm|hf)", r"(weights?|权重).{0,16}(sync|同步)"
    ),
    "no-critic-by-design": _any(r"(没有|no|missing|where).{0,12}(critic|vf_|value loss)"),
    "loss-scale-collapse": _any(
        r"overflow\b.{0,24}(every|all|each|each and every)", r"(每一?步|一直|不断).{0,12}overflow", r"loss scale.{0,16}minimum"
    ),
    "loss-scale-warmup": _any(
        r"skipp?(ed|ing).{0,24}overflow", r"overflow.{0,40}(beginning|start|first|开头|开始)", r"一开始.{0,16}overflow"
    ),
    "episode-stats-missing": _any(
        r"ep_rew_mean\b.{0,40}(missing|没有|不见|nan)",
        r"(no|without|没有).{0,40}ep_rew_mean",
        r"episode_(reward|len)\w*.{0,40}\bnan\b|\bnan\b.{0,30}episode_",
    ),
    "critic-warmup": _any(r"(前几步|first few steps).{0,12}(没有|no|without).{0,8}actor"),
    "positive-pg-loss": _any(r"(pg[ _]?loss|policy loss|策略损失).{0,24}(positive|为正|是正|正数|正的|above zero)"),
    "learning-rate-rounded": _any(r"(\blr\b|learning rate|学习率).{0,24}(0\.000(?!\d)|(?<![\d.])\b0\b(?!\.\d)|zero|零)"),
    "on-policy-zero-kl": _any(r"(ppo_kl|clip_?frac).{0,40}((?<![\d.])\b0(\.0+)?\b(?!\.?\d)|zero|零)"),
    "mfu-unknown": _any(r"mfu.{0,16}((?<![\d.])\b0(\.0+)?\b(?!\.?\d)|zero|零)"),
    "score-not-validation": _any(r"(score|准确率|accuracy).{0,40}(validation|验证集|测试集|test set)"),
    "shutdown-noise": _any(r"(跑完|finished)(?!.{0,12}(?:without|no |没有|没)).{0,30}(actor died|报错|errors?)"),
}
"""Finding id → how people describe it. Only ids whose card exists are used."""


def symptoms(text: str) -> list[str]:
    """Ids of findings whose signs the question describes, in the order of the table."""
    lowered = normal(text)
    return [name for name, pattern in SYMPTOMS.items() if f"findings/{name}" in cards() and pattern.search(lowered)]
