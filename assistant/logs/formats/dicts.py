"""Dicts of metrics as Python prints them: the Hugging Face trainer and all that train through it (TRL, Unsloth, ms-swift,
LLaMA-Factory, open-r1), OpenRLHF, slime, SkyRL, Accelerate's examples, RLlib's results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import orjson

from assistant.logs.formats.base import SPECIFIC, BlockReader, Fit, Head, Sample
from assistant.logs.formats.frameworks import framework_by_names
from assistant.logs.shapes.dict_places import Found
from assistant.logs.shapes.dicts import Accepts, DictReader
from assistant.logs.shapes.rows import Place
from assistant.logs.shapes.scoring import score_lines, score_parts

_WORDS = (
    rb"loss|train_loss|eval_loss|grad_norm|train_runtime|eval_runtime|reward|reward_std|learning_rate|epoch|eps|objective/|rewards/"
    rb"|eval_rewards/|train/|rollout/|perf/|policy/|critic/|timing/|trainer/|generate/|episode_|env_runners|kl|policy_loss|stats|metrics"
)
QUICK = re.compile(rb"(?:['\"]|\xe2\x80[\x98-\x9f]|&quot;|&#39;)(?:" + _WORDS + rb")")
_STRONG = re.compile(
    r"(?:eval_|train_)?loss$|grad_norm$|(?:train|eval)_runtime$|rewards?(?:_std|_mean)?$|(?:eval_)?rewards/|eps$|objective/|loss/|kl$"
    r"|(?:train|rollout|perf|policy|critic|reward|timing)/\w|(?:policy|value|vf|total)_loss$|episode_(?:reward|return|len)_(?:mean|max|min)$|env_runners/|token_acc$|completions/"
)
_WEAK = re.compile(r"learning_rate$|epoch$|accuracy$|entropy$|lr$|step$|num_tokens$")
_CONFIG = frozenset(
    [
        "output_dir",
        "per_device_train_batch_size",
        "num_train_epochs",
        "_target_",
        "model_name_or_path",
        "architectures",
        "lr_scheduler_type",
        "torch_dtype",
        "bos_token_id",
        "model_type",
        "transformers_version",
        "prompt",
        "completion",
        "messages",
        "content",
        "ppo_mini_batch_size",
        "train_batch_size",
        "nnodes",
        "n_gpus_per_node",
        "save_freq",
        "gpu_memory_utilization",
        "tensor_model_parallel_size",
        "lr_warmup_steps_ratio",
        "hf_checkpoint",
        "max_new_tokens",
    ]
)
_STEP_KEYS = ("global_step", "step", "train/global_step", "trainer/global_step", "train/step", "rollout/step", "perf/step", "eval/step",
              "_step", "iteration", "training_iteration", "timesteps_total", "current_steps", "iter", "episode")  # fmt: skip
_LONG_TEXT = 160
_GLUE = frozenset({"accuracy", "f1", "matthews_correlation", "pearson", "spearmanr"})
"""What Accelerate's own examples print after each epoch."""

_RLLIB = re.compile(r"(?:.*/)?(?:env_runners|learner_stats|learners|sampler_results)/|timesteps_total$|episodes_this_iter$")
_NO_RESULT = re.compile(r"(?:config|hist_stats|trial_config)/|(?:done|pid|timestamp|time_since_restore|warmup_time|should_checkpoint)$")
"""What stands in a result of RLlib and measures nothing: its settings, above all."""


def is_settings(found: Found) -> bool:
    """Whether a dict is a config, or a sample with long texts."""
    keys = [place.key for place in found.places]
    every = [*keys, *found.texts, *found.skipped_keys]
    if _CONFIG.intersection(key.rpartition("/")[2] for key in every) or any(len(text) > _LONG_TEXT for text in found.texts.values()):
        return True
    return "loss" not in keys and 5 * (found.n_words + len(found.texts)) > 2 * len(every)


def _accept(found: Found, prefixed: bool) -> bool:
    if is_settings(found):
        return False
    if prefixed:
        return True
    keys = [place.key for place in found.places]
    every = [*keys, *found.texts, *found.skipped_keys]
    strong = sum(1 for key in [*keys, *found.skipped_keys] if _STRONG.match(key) or _STRONG.match(key.rpartition("/")[2]))
    weak = sum(1 for key in keys if _WEAK.match(key))
    return bool((strong and (strong + weak > 1 or len(every) == 1 or "loss" in keys)) or weak > 1)


def _rename(places: list[Place]) -> list[Place]:
    """RLlib nests its results; the last name is enough where only one value has it."""
    if not any(_RLLIB.match(place.key) for place in places):
        return places
    places = [place for place in places if not _NO_RESULT.match(place.key)]
    counts = Counter(place.key.rpartition("/")[2] for place in places)
    return [place._replace(key=leaf) if counts[leaf := place.key.rpartition("/")[2]] == 1 else place for place in places]


def _is_summary(keys: Sequence[str]) -> bool:
    return "train_runtime" in keys


ACCEPTS = Accepts(
    quick=QUICK,
    accept=_accept,
    step_keys=_STEP_KEYS,
    rounded={"loss": 4},
    rename=_rename,
    is_summary=_is_summary,
    torn_start=re.compile(
        rb"\s*,?\s*['\"][\w/ .()@-]+['\"]:\s*[-'\"\d.n]|[^{}'\"]{0,60}['\"],?\s*['\"][\w/]+['\"]:\s*-?\d|\s*[-\d.e]+,\s*['\"][\w/]+['\"]:\s"
    ),
)


class DictFormat:
    name = "dict"
    shape = "a dict on one line or printed over many"
    frameworks = (
        *("hf-trainer", "trl", "open-r1", "unsloth", "ms-swift", "llama-factory", "slime", "openrlhf", "skyrl", "accelerate", "rllib"),
    )
    rank = SPECIFIC
    console = True
    samples: Sequence[Sample] = (
        Sample(
            "{'loss': 0.0, 'grad_norm': 0.0865, 'learning_rate': 6.9e-06, 'reward': 1.71, 'reward_std': 0.57, 'kl': nan, 'epoch': 0.31}\n",
            [{"step": 1, "values": {"loss": 0.0, "reward_std": 0.57, "kl": "nan", "learning_rate": 6.9e-06}}],
            "trl",
            "TRL GRPO, early 2025",
        ),
        Sample(
            " 50%|#####     | 20/40 [00:40<00:40,  2.0s/it]{'loss': '0.1234', 'learning_rate': '2e-05', 'epoch': '0.5'}\n",
            [{"step": 20, "values": {"loss": 0.1234, "learning_rate": 2e-05, "epoch": 0.5}}],
            "hf-trainer",
            "transformers 5: quoted numbers, a bar glued in front",
        ),
        Sample(
            "{'loss': 0.95, 'token_acc': 0.83, 'global_step/max_steps': '7/20', 'percentage': '35.00%', 'memory(GiB)': 9.78}\n",
            [{"step": 7, "values": {"loss": 0.95, "token_acc": 0.83, "memory(GiB)": 9.78}}],
            "ms-swift",
        ),
        Sample(
            "(RolloutManager pid=18) [2026-04-15 07:57:53] rollout.py:1193 - perf 3: {'rollout/response_len/mean': 2773.5,"
            " 'rollout/truncated_ratio': 0.46, 'perf/rollout_time': 371.2}\n",
            [{"step": 3, "values": {"rollout/response_len/mean": 2773.5, "perf/rollout_time": 371.2}}],
            "slime",
        ),
        Sample(
            "INFO 08-01 10:00:00 ppo_trainer.py:547] ✨ Global step 12: {'policy_loss': -0.01, 'actor_lr': 1e-06, 'reward': 0.4}\n",
            [{"step": 12, "values": {"policy_loss": -0.01, "actor_lr": 1e-06, "reward": 0.4}}],
            "openrlhf",
        ),
        Sample(
            "Step 4: \n{'policy/policy_lr': '0.0000',\n 'policy/policy_entropy': '0.2500',\n 'trainer/epoch': 1}\n",
            [{"step": 4, "values": {"policy/policy_lr": 0.0, "policy/policy_entropy": 0.25, "trainer/epoch": 1}}],
            "skyrl",
        ),
        Sample(
            "epoch 1: {'accuracy': 0.75, 'f1': 0.83}\n",
            [{"step": 1, "values": {"accuracy": 0.75, "f1": 0.83}}],
            "accelerate",
        ),
    )

    def score(self, head: Head) -> Fit:
        if _json_lines(head):
            return Fit()
        one = score_lines(head, (b"{'", b'{"', b"{\xe2\x80", b"\xe2\x80\x98", b"{&"), self.reader, "dicts with names of metrics")
        if one.lines and one.share > 0.9:
            return one
        many = score_parts(head, (b"{'", b"{\n", b"{ \n", b'{"', b"': ", b'": '), self.reader, "dicts with names of metrics")
        return max(one, many, key=lambda fit: fit.values)

    def reader(self) -> BlockReader:
        return DictReader(ACCEPTS)

    def framework_of(self, names: Iterable[str], seen: Mapping[str, int]) -> str:
        known = set(names)
        if known and known <= _GLUE:
            return "accelerate"
        return framework_by_names(known, seen, "hf-trainer")


def _json_lines(head: Head) -> bool:
    """Whether the log is a file of JSON objects, one a line: another format's."""
    lines = [line for line in head.lines() if line.strip()]
    if not lines or not lines[0].lstrip().startswith(b'{"'):
        return False
    whole = sum(1 for line in lines if line.lstrip().startswith(b'{"') and line.rstrip().endswith(b"}") and _loads(line))
    return whole >= 0.8 * len(lines)


def _loads(line: bytes) -> bool:
    try:
        orjson.loads(re.sub(rb"\b(?:NaN|-?Infinity)\b", b"null", line))
    except orjson.JSONDecodeError:
        return False
    return True


FORMATS = (DictFormat(),)
