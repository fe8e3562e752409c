"""Which framework a log's metric names belong to, whatever the file they stand in (console, CSV, TensorBoard, JSON lines).

Each name counts for the frameworks that print it; trackers put ``train/`` or ``eval_`` in front, exports turn ``/`` into
``_``. Frameworks that train through the Hugging Face trainer share its names, so that what the text says decides between
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_TRL = (
    r"completions/|completion_length$|mean_terminated_length$|rewards/|rewards / |reward_std$|frac_reward_zero_std$|logps/|logits/"
    r"|objective/|policy/approxkl_avg$|policy/clipfrac_avg$|loss/policy_avg$|loss/value_avg$|val/num_eos_tokens$|clip_ratio/"
    r"|sampling/(?:sampling_logp|importance)|mean_token_accuracy$|ppo/(?:mean_|policy/|loss/|val/|returns/|learning_rate)"
)
_CLUES: tuple[tuple[str, int, str], ...] = (
    (
        "verl",
        3,
        r"actor/(?:pg_|entropy|ppo_kl|kl_|grad_norm|lr|loss)|critic/(?:score|rewards|vf_|advantages|returns|values|kl)|timing_s/"
        r"|timing_per_token_ms/|perf/(?:mfu|throughput|max_memory|cpu_memory|total_num)|global_seqlen/|val-core/|val-aux/|val/test_score/"
        r"|(?:response|prompt)_length/(?:mean|max|min|clip_ratio)|training/(?:global_step|epoch|rollout_)"
        r"|actor_(?:pg_|entropy|ppo_kl|grad_norm|lr$)|critic_(?:score|rewards|advantages|returns|vf)_|timing_s_|perf_(?:mfu|throughput)_?"
        r"|(?:response|prompt)_length_(?:mean|max|min|clip_ratio)",
    ),
    ("trl", 3, _TRL),
    ("ms-swift", 9, r"global_step/max_steps$|train_speed\(|memory\(GiB\)$|token_acc$"),
    ("llama-factory", 6, r"current_steps$|total_tokens$|predict_loss$"),
    (
        "hf-trainer",
        1,
        r"loss$|grad_norm$|learning_rate$|epoch$|(?:train_|eval_|eval/)(?:loss|runtime|samples_per_second|steps_per_second)$|total_flos$"
        r"|num_tokens$|num_input_tokens_seen$",
    ),
    (
        "sb3",
        3,
        r"rollout/(?:ep_(?:rew|len)_mean|exploration_rate|success_rate)$|time/(?:fps|iterations|total_timesteps|time_elapsed|episodes)$"
        r"|train/(?:approx_kl|clip_fraction|clip_range|entropy_loss|explained_variance|n_updates|policy_gradient_loss|value_loss|std"
        r"|actor_loss|critic_loss|ent_coef)$|eval/mean_(?:reward|ep_length)$|ep_(?:rew|len)_mean$|total_timesteps$|policy_gradient_loss$",
    ),
    ("sb3", 3, r"approxkl$|clipfrac$|policy_entropy$|serial_timesteps$|eprewmean$|eplenmean$|n(?:updates|_updates)$|total_timesteps$"),
    (
        "rllib",
        3,
        r"episode_reward_(?:mean|max|min)$|episode_len_mean$|episodes_(?:this_iter|total)$|timesteps_(?:total|this_iter)$|training_iteration$"
        r"|cur_kl_coeff$|(?:.*/)?env_runners/|(?:.*/)?learner_stats/|num_env_steps_(?:sampled|trained)|vf_explained_var$|agent_timesteps_total$"
        r"|episode_return_(?:mean|max|min)$|learners/|num_healthy_workers$|episode_duration_sec_mean$",
    ),
    ("cleanrl", 4, r"charts/(?:episodic_|SPS|learning_rate)|losses/(?:old_approx_kl|clipfrac|td_loss|qf\w*_loss)|episodic_return$|SPS$"),
    (
        "slime",
        4,
        r"rollout/(?:raw_reward|response_len/|truncated|zero_std/|repetition_frac)|train/(?:pg_loss|ois|tis|lr-pg_)"
        r"|train/train_rollout_logprob|perf/(?:rollout_time|train_wait_time|actor_train|tokens_per_gpu_per_sec)",
    ),
    ("areal", 4, r"(?:ppo|grpo)_(?:actor|critic)/|timeperf/"),
    (
        "openrlhf",
        4,
        r"actor_grad_norm$|actor_lr$|act_lr$|ppo_clip_ratio$|vllm_kl$|glen$|gen_len$|tot_len$|tlen$|act_loss$|group_reward_std$"
        r"|dynamic_filtering_pass_rate$|chosen_reward$|reject_reward$|rollout/(?:reward_mean|truncated_rate|num_samples)$",
    ),
    (
        "roll",
        4,
        r"actor/(?:policykl|approxkl|ppo_ratio_|total_loss)|critic/entropy/|actor_train/|system/(?:tps|samples)|val_correct/|tokens?/response_length/"
        r"|time/step_total|memory/",
    ),
    (
        "nemo-rl",
        4,
        r"Generation KL Error$|Avg (?:Filtered |Total )?Reward$|Mean Generation Length$|(?:train/)?(?:gen_kl_error|token_mult_prob_error"
        r"|probs_ratio|approx_entropy|global_valid_toks|sampling_importance_ratio)",
    ),
    (
        "skyrl",
        4,
        r"policy/(?:policy_(?:loss|entropy|kl|lr)|final_loss|loss_metrics/|raw_grad_norm|ppo_clip_ratio|rollout_train_logprobs)"
        r"|reward/avg_|loss/avg_|generate/avg_num_tokens|avg_(?:final|raw)_rewards$|policy_lr$|ent$|trainer/(?:global_step|tokens_per_second)",
    ),
    ("prime-rl", 4, r"Mismatch KL$|Seq\. Length$|Max\.? Off-Policy|Async Level$|Avg\. Reward$|Grad\. Norm$|Peak Mem\.$"),
    ("torchtune", 4, r"tokens_per_second_per_gpu|peak_memory_(?:active|alloc|reserved)$|gpu_resources$|approx_policy_kl$|num_stop_tokens$"),
    ("torchtitan", 4, r"tflops$|tps$"),
    ("deepspeed-chat", 4, r"act_loss$|cri_loss$|unsuper_loss$|Actor Loss$|average reward score$|chosen_last_scores$|E2E latency$"),
    ("deepspeed", 3, r"RunningAvgSamplesPerSec$|CurrSamplesPerSec$|SamplesPerSec$|skipped$|(?:fwd|bwd)_\w*microstep$|Max?MemAllocated$"),
    (
        "megatron",
        3,
        r"lm[ _]loss|consumed (?:samples|tokens)$|elapsed time per iteration \(ms\)$|number of (?:skipped|nan) iterations$|grad norm$"
        r"|global batch size$|loss scale$",
    ),
    ("trlx", 4, r"losses/(?:total|policy|value)_loss$|policy/sqrt_kl$|padding_percentage$|rollout_scores/|time/(?:rollout_|exp)"),
    ("mlx", 4, r"(?:Train|Val) loss$|It/sec$|Trained Tokens$|Val took$|Peak mem$"),
)
_COMPILED = tuple((name, weight, re.compile(pattern)) for name, weight, pattern in _CLUES)
_THROUGH_HF = ("ms-swift", "unsloth", "llama-factory")
_HF = frozenset({"trl", "hf-trainer", *_THROUGH_HF})
_LLAMA_FACTORY_PPO = frozenset({"loss", "reward", "learning_rate", "epoch"})
_HF_ALWAYS = frozenset({"learning_rate", "epoch", "eval_loss", "train_runtime", "eval_runtime", "num_tokens", "total_flos"})
_REWARD_MODEL = frozenset({"mean_reward", "accuracy", "margin"})
"""What TRL's reward model training prints."""


def framework_by_names(names: Iterable[str], seen: Mapping[str, int] | None = None, default: str = "generic") -> str:
    """The framework that prints these names; ``seen`` are clues of the text (framework → line). ``default`` when none does."""
    known = list(names)
    counts = _counts(known)
    best = max(counts, key=lambda name: counts[name]) if counts else ""
    if best in _HF or not best:
        if frozenset(known) == _LLAMA_FACTORY_PPO:  # what its own PPO loop prints
            return "llama-factory"
        if "ms-swift" in counts:
            return "ms-swift"
        for name in _THROUGH_HF:
            if seen and name in seen and best:
                return name
    if best == "hf-trainer" and ("trl" in counts or _REWARD_MODEL.issubset(known)):
        return "trl"
    if best == "hf-trainer" and 2 * counts["hf-trainer"] < len(known) and not _HF_ALWAYS.intersection(known):
        return default  # a loop of one's own calls its loss and its gradient norm so as well
    if best == "hf-trainer" and counts["hf-trainer"] < 2 and "learning_rate" not in known and "eval_loss" not in known:
        return default
    return best or default


def _counts(names: Iterable[str]) -> dict[str, int]:
    """Framework → what its names count in all."""
    counts: dict[str, int] = {}
    for name in names:
        bare = re.sub(r"^(?:train/|eval/|eval_|train_)(?=.)", "", name)
        for framework, weight, pattern in _COMPILED:
            if pattern.match(name) or (framework in _HF and pattern.match(bare)):
                counts[framework] = counts.get(framework, 0) + weight
    return counts
