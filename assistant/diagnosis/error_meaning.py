"""What an error means: the finding it stands for, and what the run was doing when it came."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assistant.cards import Card, cards
from assistant.run import Event


def error_card(event: Event) -> Card | None:
    return cards().get(event.data.get("card") or f"errors/{event.kind}")


def flag(event: Event, name: str) -> bool:
    known = error_card(event)
    return bool(event.data.get(name)) or bool(known and known.front.get(name))


_INNER = {
    "OutOfMemoryError": ("crash-gpu-oom", "default"),
    "ModuleNotFoundError": ("crash-import-version", "default"),
    "ImportError": ("crash-import-version", "default"),
    "ConfigAttributeError": ("crash-config", "default"),
    "ConfigKeyError": ("crash-config", "default"),
    "EngineDeadError": ("crash-engine-init", "dead"),
    "AsyncEngineDeadError": ("crash-engine-init", "dead"),
    "DistBackendError": ("crash-nccl", "default"),
}


def meaning(root: Event) -> tuple[str, str, float]:
    """Finding id, variant and confidence."""
    known = error_card(root)
    if known is None:
        return _exception(root)
    if root.kind == "ray-task-error" and (inner := _INNER.get(str(root.data.get("inner", "")))):
        return (*inner, 0.6)
    if known.front["finding"] == "crash-network" and any(SCORING.search(place_of(frame)) for frame in (root.data.get("frames") or ())[-6:]):
        return "crash-reward-function", "service", 0.8
    confidence = 0.6 if flag(root, "wrapper") else 0.75 if known.front.get("guarded") else 0.95
    return known.front["finding"], known.front.get("variant", "default"), confidence


def _exception(root: Event) -> tuple[str, str, float]:
    """An exception that no card knows: by its type, and by where it was raised."""
    kind = str(root.data.get("type", ""))
    name = kind.rpartition(".")[2]
    frames = root.data.get("frames") or ()
    inner = frames[-1] if frames else {}
    where = place_of(inner)
    message = str(root.data.get("message", root.text))
    if "divisor" in root.data:
        return "crash-batch-divisibility", "default", 0.8
    if kind.startswith(("omegaconf.", "hydra.")):
        return "crash-config", "default", 0.85
    if name in ("ModuleNotFoundError", "ImportError"):
        return "crash-import-version", "default", 0.85
    if any(SCORING.search(place_of(frame)) for frame in frames[-6:]):
        return _scoring(name, where, message)
    if name in ("FileNotFoundError", "OSError", "EOFError", "RuntimeError") and _CHECKPOINT.search(message):
        return "crash-checkpoint", "load" if name == "FileNotFoundError" else "default", 0.7
    if phase_of(root) in ("save", "load"):
        unwritable = name == "PermissionError" and phase_of(root) == "save"
        return "crash-checkpoint", "not_writable" if unwritable else phase_of(root), 0.7
    if name == "GetTimeoutError":
        placing = any("placement_group" in place_of(frame) for frame in frames)
        return ("hang", "resources", 0.7) if placing else ("crash-worker-died", "exception", 0.5)
    if name == "CalledProcessError" and any("triton/" in place_of(frame) for frame in frames):
        return "crash-cuda-kernel", "compile", 0.8
    if name == "PermissionError":
        return "crash-config", "permission", 0.7
    if _UNEVEN.search(message):
        if _SAMPLES.search(message):
            return "crash-batch-divisibility", "default", 0.7
        if _PARALLEL.search(message):
            return "crash-config", "parallel", 0.7
    if name == "KeyboardInterrupt":
        return "crash-killed", "interrupt", 0.8
    if name == "MemoryError":
        return "crash-host-oom", "default", 0.7
    if name in ("FileNotFoundError", "NotADirectoryError"):
        return "crash-config", "path", 0.7
    if "transformers/models/auto" in str(inner.get("file", "")):  # a model type this version does not know
        return "crash-import-version", "default", 0.6
    if _LIBRARY.search(str(inner.get("file", ""))) and _foreign(message):
        return "crash-import-version", "api", 0.5
    if not frames and name in ("AttributeError", "TypeError") and _foreign(message):
        return "crash-import-version", "api", 0.5
    if "CUDA error: " in message:
        return "crash-cuda-kernel", "kernel", 0.7
    if "HIP error: " in message or "NPU function error: " in message:
        return "crash-cuda-kernel", "default", 0.7
    if name in _SETTING_ERRORS and re.search(r"config|omegaconf|main_ppo|__post_init__|validate_", where):
        return "crash-config", "default", 0.6
    if name in ("TypeError", "IndexError", "AttributeError") and _DATASET.search(where):
        return "crash-config", "column", 0.6
    if name == "KeyError" and any(_DATASET.search(place_of(frame)) for frame in frames[-4:]):
        return "crash-config", "column", 0.7
    if name == "KeyError" and message.strip("'\" ") in _COLUMNS and (not frames or _TRAINER.search(place_of(inner))):
        return "crash-config", "column", 0.6
    if "_ARRAY_API not found" in message or "cannot open shared object file" in message:
        return "crash-import-version", "default", 0.7
    if _ANSWER.search(name) or (name == "JSONDecodeError" and any(_CLIENT.search(place_of(frame)) for frame in frames)):
        return "crash-network", "service" if name != "TimeoutError" else "default", 0.5
    if _REWARD_CALL.search(message):
        return "crash-reward-function", "default", 0.6
    if _COLUMN.search(message.strip("'\"")):
        return "crash-config", "column", 0.7
    if name in _SETTING_ERRORS and _NOT_KNOWN.search(message):
        return "crash-config", "name", 0.5
    if name in ("ValueError", "AssertionError") and _about_settings(message):
        return "crash-config", "value", 0.5
    if any(_ENGINE_CODE.search(str(frame.get("file", ""))) for frame in frames[-3:]) or (not frames and ENGINE.search(root.process)):
        return "crash-engine-init", "default", 0.5
    return "crash-worker-died", "exception" if kind else "default", 0.5


def _scoring(name: str, where: str, message: str) -> tuple[str, str, float]:
    """An exception where answers are scored: by the data, by the call, by a service, or in the reward code itself."""
    if name == "NotImplementedError" and "reward_score" in where:  # what verl raises for a data source it does not know
        return "crash-reward-function", "data_source", 0.8
    if name == "KeyError" and "reward_manager" in where and message.strip("'\" ") in _COLUMNS:
        return "crash-config", "column", 0.8
    if name == "TypeError" and re.search(r"unexpected keyword argument|positional argument", message):
        return "crash-reward-function", "signature", 0.8
    if _ANSWER.search(name):
        return "crash-reward-function", "service", 0.8
    return "crash-reward-function", "default", 0.8


def _foreign(message: str) -> bool:
    """Whether one package asks another for what it does not have: an attribute of a library's class, an argument."""
    return bool(_INTERFACE.search(message)) and not _PLAIN_TYPE.search(message)


def _about_settings(message: str) -> bool:
    """Whether a message demands something of a setting, and not of the data that flow through the program."""
    asked = _AT_LEAST.search(message) or (_SETTING.search(message) and _DEMAND.search(message))
    return bool(asked) and not _CONTENT.search(message)


_COLUMNS = frozenset(
    (
        *("reward_model", "data_source", "ground_truth", "extra_info", "prompt", "raw_prompt"),
        *("chosen", "rejected", "completion", "messages", "conversations", "instruction"),
    )
)
_TRAINER = re.compile(r"trainer/\w*trainer\.py")
_REWARD_CALL = re.compile(r"^The reward function '|reward function \S+ returned", re.IGNORECASE)
_SETTING = re.compile(r"--[a-z][\w-]+|\b[a-z]+(?:_[a-z0-9]+)+\b|`\w+ ?= ?\w")
"""A setting's name as messages write it: ``--gradient_accumulation_steps``, ``num_generations``, ```fp16 = True```."""
_AT_LEAST = re.compile(r"\brequires at least \d")
_NOT_KNOWN = re.compile(
    r"\b(?:[Uu]nknown|[Uu]nsupported|[Ii]nvalid) (?:\w+ ){0,2}"
    r"(?:type|mode|method|algorithm|estimator|optimizer|scheduler|backend|template|strategy|policy|loss)\b"
    r"|^Template \S+ does not exist|^Undefined dataset "
)
_COLUMN = re.compile(
    r"^Columns? .*\bnot in the dataset|^No columns in the dataset match|\bcolumn \S+ (?:does not exist|is missing|not found)"
)
_DEMAND = re.compile(
    r"\b(?:must|should|cannot|can't|can not|requires?|incompatible|mutually exclusive|does(?:n't| not) support"
    r"|not (?:supported|compatible|allowed)|(?:please|have to|need to|you) (?:set|specify|provide|enable|disable|pass|add))\b",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"\b(?:shapes?|tensors?|dim\w*|dtype|device|size of|length|input_ids|attention_mask|position_ids|labels|lists?|dict|None)\b",
    re.IGNORECASE,
)
"""What a message about the data that flow through the program speaks of, and one about a setting seldom does."""
_UNEVEN = re.compile(r"divisible by|multiple of|divide evenly")
_SAMPLES = re.compile(r"batch|chunk|sample|DataProto", re.IGNORECASE)
_PARALLEL = re.compile(r"heads?\b|world[_ ]?size|parallel|\bt[ep]\b|\b[sp]p_size|gpus?\b|layers|query_groups|experts", re.IGNORECASE)
SCORING = re.compile(
    r"reward_score|reward_manager|reward_loop|compute_score|reward_fn|reward_func|calculate_rewards|rewards?\.py|_rewards?$|\breward_\w+$"
)
"""Where answers are scored: folders and functions of verl, TRL's ``_calculate_rewards``, and how users call their own functions."""
_DATASET = re.compile(r"dataset\.py|collate")
_LIBRARY = re.compile(r"site-packages|/verl/")
_INTERFACE = re.compile(r"unexpected keyword argument|has no attribute|required positional argument")
_PLAIN_TYPE = re.compile(
    r"'(?:NoneType|str|int|float|bool|list|dict|tuple|set|bytes|Tensor|ndarray|function|DataProto)' object has no attribute"
)
_ANSWER = re.compile(r"(?:HTTP\w*|URL|Timeout|Connect\w*|API\w+|RateLimit|ServerDisconnected)Error$|(?:Connect|Read)Timeout$")
_CHECKPOINT = re.compile(r"global_step_\d+|(?:model|optim|extra_state)_world_size_")
_ENGINE_CODE = re.compile(r"sglang/srt/|site-packages/vllm/|dist-packages/vllm/")
_CLIENT = re.compile(r"requests/|httpx/|aiohttp/|openai/")
_SETTING_ERRORS = ("ValueError", "KeyError", "AssertionError", "AttributeError")


def place_of(frame: Mapping[str, Any]) -> str:
    """Where a frame is: the last folders of its file, and its function (a user's home folder says nothing)."""
    return f"{'/'.join(str(frame.get('file', '')).split('/')[-3:])} {frame.get('function', '')}"


ENGINE = re.compile(r"EngineCore|vLLMHttpServer|SGLangHttpServer|VllmWorker|Worker_TP\d|\bTP\d+\b")
"""A process, or the front of its line, that belongs to a rollout engine."""

_PHASES = (
    ("update_critic", r"update_critic|dp_critic\.py.*(?:update|backward)"),
    ("update_actor", r"update_actor|update_policy|train_mini_batch|train_batch"),
    ("ref", r"ref_log_prob"),
    ("log_prob", r"log_prob|infer_batch"),
    ("values", r"compute_values"),
    ("reward", r"compute_rm_score|reward_model"),
    ("wake_up", r"wake_up|\bresume\b|update_weights|rollout_mode|sharding_manager"),
    ("save", r"save_checkpoint|save_model|save_pretrained"),
    ("load", r"load_checkpoint"),
    ("generate", r"generate|execute_model|run_engine_core|/scheduler\.py"),
    (
        "init",
        r"_build_rollout|profile_run|determine_num_available_blocks|cuda_graph_runner|capture_model|init_memory_pool|init_model|init_workers|from_pretrained|_build_model|load_model",
    ),
)


def phase_of(event: Event) -> str:
    """What the run was doing, in the words of the crash cards; the innermost telling frame decides, then Ray's task name."""
    frames = event.data.get("frames") or ()
    places = [place_of(frame) for frame in reversed(frames)]
    named = str(event.data.get("phase", ""))
    critic = any("critic" in place.partition(" ")[0].rpartition("/")[2] for place in places)
    reference = any("ref_log_prob" in text for text in (*places, named, str(event.data.get("task", ""))))
    if ENGINE.search(event.process) or ENGINE.search(event.text[:60]):
        places.append("generate")  # the engine's own process trains nothing; its frames may tell better
    for place in (*places, named, str(event.data.get("task", "")), event.text):
        for phase, pattern in _PHASES:
            if re.search(pattern, place):
                if phase == "log_prob" and reference:
                    return "ref"
                return "update_critic" if phase == "update_actor" and critic else phase
    return ""
