"""How people call settings and metrics without their key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

SETTING_ALIASES: Mapping[str, tuple[str, ...]] = {
    "data.train_batch_size": (
        "batch size",
        "bigger batch",
        "larger batch",
        "smaller batch",
        "更大的 batch",
        "更小的 batch",
        "train batch size",
        "批大小",
        "batch 大小",
        "批次大小",
    ),
    "actor_rollout_ref.actor.ppo_mini_batch_size": ("mini batch size", "mini batch", "小批大小"),
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": ("micro batch size", "micro batch"),
    "actor_rollout_ref.actor.optim.lr": ("learning rate setting", "configured learning rate", "学习率设置"),
    "actor_rollout_ref.actor.clip_ratio": ("ppo clip", "clip epsilon", "epsilon"),
    "actor_rollout_ref.rollout.n": ("group size", "rollouts per prompt", "rollout n", "组大小", "每组采样数"),
    "actor_rollout_ref.rollout.temperature": ("temperature", "采样温度", "温度"),
    "algorithm.kl_ctrl.kl_coef": (
        "kl coef",
        "kl_ctrl.kl_coef",
        "kl coefficient",
        "kl penalty coefficient",
        "kl 系数",
        "kl 惩罚系数",
        "beta",
    ),
    "actor_rollout_ref.actor.kl_loss_coef": ("kl coef", "kl coefficient", "kl 系数", "beta"),
    "algorithm.adv_estimator": ("advantage estimator", "adv_estimator", "优势估计"),
    "algorithm.gamma": ("gamma", "discount factor", "折扣因子"),
    "data.gen_batch_size": ("gen batch size",),
    "data.max_response_length": ("max response length", "response limit", "最大回复长度", "回复长度上限"),
    "data.max_prompt_length": ("max prompt length", "最大提示长度"),
    "actor_rollout_ref.actor.entropy_coeff": ("entropy coefficient", "entropy coeff", "熵系数"),
    "trainer.total_epochs": ("epochs", "total epochs"),
    "data.train_files": ("dataset", "which dataset", "what dataset", "training data", "数据集", "训练集", "什么数据"),
    "actor_rollout_ref.model.path": (
        "哪个模型",
        "model name",
        "基座模型",
        "which model",
        "base model",
        "model path",
        "什么模型",
        "模型路径",
    ),
    "trainer.test_freq": ("test freq", "validation frequency"),
    "trainer.n_gpus_per_node": ("how many gpus", "gpus per node", "几张卡"),
}
"""Setting → what people call it."""


SETTING_OF_METRIC: Mapping[str, str] = {
    "policy_lr": "actor_rollout_ref.actor.optim.lr",
    "train_lr": "actor_rollout_ref.actor.optim.lr",
    "critic_lr": "critic.optim.lr",
    "reference_kl_coef": "actor_rollout_ref.actor.kl_loss_coef",
    "reward_kl_coef": "algorithm.kl_ctrl.kl_coef",
}
"""Metrics that repeat a setting."""


PLAIN_NAMES: Mapping[str, tuple[str, ...]] = {
    "kl": ("reference_kl", "reward_kl", "rollout_kl", "policy_step_kl"),
    "kl 散度": ("reference_kl", "reward_kl", "rollout_kl", "policy_step_kl"),
    "kl coef": ("reference_kl_coef", "reward_kl_coef"),
    "kl coefficient": ("reference_kl_coef", "reward_kl_coef"),
    "kl 控制系数": ("reward_kl_coef", "reference_kl_coef"),
    "kl 系数": ("reference_kl_coef", "reward_kl_coef"),
    "entropy": ("policy_entropy", "action_entropy_loss", "action_entropy"),
    "熵": ("policy_entropy", "action_entropy_loss", "action_entropy"),
    "adv": ("advantage_mean",),
    "adv mean": ("advantage_mean",),
    "adv max": ("advantage_max",),
    "adv min": ("advantage_min",),
    "memory of the node": ("host_memory_used",),
    "memory on the node": ("host_memory_used",),
    "node memory": ("host_memory_used",),
    "host memory": ("host_memory_used",),
    "节点内存": ("host_memory_used",),
    "主机内存": ("host_memory_used",),
    "critic loss": ("value_loss", "critic_total_loss"),
    "loss": ("train_loss", "policy_loss", "policy_total_loss"),
    "损失": ("train_loss", "policy_loss", "policy_total_loss"),
    "grad norm": ("policy_grad_norm", "train_grad_norm"),
    "梯度范数": ("policy_grad_norm", "train_grad_norm"),
    "lr": ("policy_lr", "train_lr"),
    "learning rate": ("policy_lr", "train_lr"),
    "学习率": ("policy_lr", "train_lr"),
    "reward": ("score_mean", "reward_mean", "preference_chosen_reward"),
    "rewards": ("reward_mean", "preference_chosen_reward", "score_mean"),
    "奖励": ("score_mean", "reward_mean", "preference_chosen_reward"),
    "importance sampling ratio": ("importance_weight_mean",),
    "重要性采样比": ("importance_weight_mean",),
    "分数": ("score_mean",),
    "平均分": ("score_mean",),
    "均分": ("score_mean",),
    "验证 loss": ("val_loss",),
    "验证损失": ("val_loss",),
    "val loss": ("val_loss",),
    "eval loss": ("val_loss",),
    "训练 loss": ("train_loss",),
    "奖励分": ("score_mean", "reward_mean"),
    "accuracy": ("score_mean", "preference_accuracy"),
    "acc": ("score_mean", "preference_accuracy"),
    "success rate": ("score_mean",),
    "pass rate": ("score_mean",),
    "solve rate": ("score_mean",),
    "准确率": ("score_mean", "preference_accuracy"),
    "正确率": ("score_mean", "preference_accuracy"),
    "成功率": ("score_mean",),
    "通过率": ("score_mean",),
    "length": ("response_length_mean",),
    "response length": ("response_length_mean",),
    "answer length": ("response_length_mean",),
    "长度": ("response_length_mean",),
    "回答长度": ("response_length_mean",),
    "回复长度": ("response_length_mean",),
    "输出长度": ("response_length_mean",),
    "生成长度": ("response_length_mean",),
    "gradient": ("policy_grad_norm", "train_grad_norm"),
    "gradients": ("policy_grad_norm", "train_grad_norm"),
    "梯度": ("policy_grad_norm", "train_grad_norm"),
    "验证": ("validation",),
    "验证集": ("validation",),
    "val": ("validation",),
    "速度": ("throughput", "time_step"),
    "gpu utilization": ("mfu_actor", "throughput"),
    "gpu utilisation": ("mfu_actor", "throughput"),
    "gpu util": ("mfu_actor", "throughput"),
    "gpu usage": ("mfu_actor", "throughput"),
    "gpu 利用率": ("mfu_actor", "throughput"),
    "step time": ("time_step", "seconds_per_step", "train_step_seconds"),
}
"""Names that mean what the log has of them, likeliest first."""


_ACTOR = re.compile(
    r"^\W*(?:and |so |what about |how about |how is )*(?:the )?(?:actor|policy)\W*$"
    r"|^\W*(?:那么?)?\s*(?:actor|策略)\s*(?:呢|怎么样|如何|还好吗)\W*$"
)

METRIC_PHRASES: Sequence[tuple[re.Pattern[str], str]] = (
    *((_ACTOR, metric) for metric in ("policy_grad_norm", "policy_entropy", "policy_loss")),
    (
        re.compile(
            r"\b(?:answers?|responses?|outputs?|completions?|generations?|it|model|replies)\b.{0,24}\b(?:short(?:er)?|long(?:er)?|brief|"
            r"verbose|lengthy|rambl\w*)\b(?! as)"
            r"|\b(?:short(?:er)?|long(?:er)?|brief|verbose) (?:answers?|responses?|outputs?|completions?)\b|\bhow long are\b"
            r"|(?:回答|回复|输出|生成|答案|response).{0,8}(?:短|长|啰嗦|简短)|(?:短|长)(?:的)?(?:回答|回复|输出)"
        ),
        "response_length_mean",
    ),
    (re.compile(r"\bhow much (?:\w+ )?slower\b|变慢了?多少|慢了多少"), "time_step"),
    (re.compile(r"\bcritic (?:metrics|numbers|values)\b|\bcritic/\*|critic ?(?:的)?指标"), "score_mean"),
    (re.compile(r"\btok(?:en)?s?(?:/| per | a )s(?:ec(?:ond)?)?\b|\bhow fast\b|吞吐|每秒.{0,6}token"), "throughput"),
    (
        re.compile(
            r"\b(?:how long|seconds|time)\b.{0,20}\b(?:per|a|each|one|every) step\b|(?:一|每)步.{0,6}(?:多久|多长时间|几秒|多少秒|耗时)"
        ),
        "time_step",
    ),
)
"""Phrases that name a metric without its name: tried when nothing else does."""


GENERIC = frozenset(
    [
        "actor",
        "critic",
        "loss",
        "step",
        "adv",
        "ref",
        "reward",
        "values",
        "value",
        "mean",
        "max",
        "min",
        "std",
        "training",
        "train",
        "timing",
        "perf",
        "batch",
        "rollout",
        "val",
        "mode",
        "n",
        "name",
        "count",
        "enable",
        "type",
        "path",
        "model",
        "data",
        "testing",
        "epoch",
        "all",
        "total",
        "valid",
        "returns",
        "kl",
        "gen",
        "states",
        "response",
        "prompt",
        "time",
        "lr",
        "seed",
        "logger",
        "size",
        "key",
        "avg",
        "high",
        "low",
        "lower",
        "upper",
        "median",
        "region",
        "policy",
        "sec",
        "save",
        "eval",
        "generate",
        "broadcast",
        "chosen",
        "rejected",
        "metric",
        "contents",
        "backend",
        "dtype",
        "infer",
    ]
)
"""Words that end a key and name nothing by themselves."""
