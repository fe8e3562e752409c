"""Names that a text uses: keys that exist nowhere, and links, images and HTML that must not take effect."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from functools import cache

from assistant.answers.checking.grounds import Grounds
from assistant.answers.grounding.evidence import card_numbers
from assistant.cards import cards

_CODE = re.compile(r"`([^`\n]+)`")
_KEY = re.compile(
    r"(?<![\w/.@`:-])(?:[A-Za-z_][\w-]*(?:/[\w@.()-]+)+|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){2,}|[A-Za-z]\w*_\w*(?:\.\w+)*)(?![\w/])"
)
_FLAG = re.compile(
    r"(?<![\w-])--(?P<flag>[A-Za-z][\w-]{2,}(?:\.[A-Za-z]\w*)*)"
    r"|(?<![\w/.@`-])\+(?P<key>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?=\s?=)|(?<=`)\+(?P<key2>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?=\s?=)"
)
"""Options of a command: ``--max-len``, ``+trainer.key=1``."""
_USUAL_FLAGS = frozenset(
    [
        "help",
        "version",
        "verbose",
        "config",
        "config_name",
        "config_path",
        "upgrade",
        "force",
        "no_deps",
        "no_cache_dir",
        "index_url",
        "nproc_per_node",
        "nnodes",
        "node_rank",
        "master_addr",
        "master_port",
        "rdzv_endpoint",
        "rdzv_backend",
        "standalone",
        "num_gpus",
        "num_cpus",
        "address",
        "head",
        "block",
        "dtype",
        "model",
        "port",
        "host",
        "max_model_len",
        "gpu_memory_utilization",
        "tensor_parallel_size",
        "enforce_eager",
        "deepspeed",
        "bf16",
        "fp16",
        "seed",
        "learning_rate",
        "num_train_epochs",
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        "gradient_checkpointing",
        "max_grad_norm",
        "warmup_ratio",
        "warmup_steps",
        "beta",
        "num_generations",
        "max_completion_length",
        "max_prompt_length",
        "output_dir",
        "resume_from_checkpoint",
        "report_to",
        "logging_steps",
        "save_steps",
        "language",
        "lang",
        "json",
        "more",
        "details",
        "question",
        "metric",
        "step",
        "out",
    ]
)
"""Options of torchrun, pip, ray, vLLM, the trainers and of runwhy itself that need no source."""
_NOT_KEYS = re.compile(
    r"^(?:and/or|w/o|n/a|i/o|he/she|train/val|yes/no|on/off|input/output|true/false|https?|km/h|tokens?/(?:s|sec|second|"
    r"step|gpu)|nats/token|s/step|up/down|max/min|min/max|mean/max|read/write|client/server)",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\s?(?:\([^)\n]*\)|\[[^\]\n]*\])")
_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((?!#)[^)\n]*\)")
_REFERENCE = re.compile(r"^\s*\[[^\]\n]+\]:\s*\S+.*$", re.MULTILINE)
_URL = re.compile(
    r"(?<![`\w])(?:https?|ftp|file|data|javascript|vbscript)\s?:(?://)?[^\s<>()\[\]`\"'，。；！？]+|\bwww\.[^\s<>()\[\]`]+", re.IGNORECASE
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INVISIBLE = re.compile(
    r"[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u00ad\u034f\u061c\u180e\ufe00-\ufe0f]|"
    r"[\U000e0000-\U000e007f]|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_MENTION = re.compile(r"<(?=[!@#][A-Za-z0-9^|-]+>)")


def visible(text: str) -> str:
    """``text`` without control sequences and characters that cannot be seen (they can hide words from a reader)."""
    return _INVISIBLE.sub("", _ANSI.sub("", text.replace("\r\n", "\n")).replace("\r", "\n"))


def without_active_content(text: str) -> str:
    """``text`` in which nothing is fetched, linked or run: fenced blocks become code lines, images and links their words, HTML text."""
    text = visible(text)
    text = _FENCE.sub(
        lambda m: "\n".join(f"`{line.strip().replace('`', chr(39))}`  " for line in m[1].splitlines() if line.strip()) + "\n", text
    )
    text = _REFERENCE.sub("", text)
    text = _IMAGE.sub(lambda m: m[1], text)
    text = _LINK.sub(lambda m: m[1], text)
    text = _URL.sub(lambda m: f"`{re.sub(r'^[a-z]+ ?:/*', '', m[0], flags=re.IGNORECASE)}`", text)
    parts = _CODE.split(text)
    return "".join(f"`{part}`" if i % 2 else html.escape(part, quote=False).replace("&gt;", ">") for i, part in enumerate(parts))


def wrong_names(text: str, grounds: Grounds) -> list[tuple[int, int]]:
    """Where ``text`` names a key that is not in the log, in no card and not in what was shown or asked."""
    out: list[tuple[int, int]] = []
    spans: list[tuple[int, int]] = []
    for m in _CODE.finditer(text):
        spans.append(m.span())
        for word in _KEY.finditer(m[1]):
            if not known(word[0], grounds):
                out.append((m.start(1) + word.start(), m.start(1) + word.end()))
    for flag in _FLAG.finditer(text):
        group = flag.lastgroup or "flag"
        name = flag[group]
        bare = name.replace("-", "_")
        if (
            bare.lower() not in _USUAL_FLAGS
            and not any(known(one, grounds) for one in {name, bare, bare.lower()})
            and not _said(name, grounds)
        ):
            out.append(flag.span(group))
    for word in _KEY.finditer(text):
        if any(a <= word.start() < b for a, b in spans) or _NOT_KEYS.match(word[0]):
            continue
        if not known(word[0], grounds):
            out.append(word.span())
    return out


def _said(name: str, grounds: Grounds) -> bool:
    """Whether an option stands in what was shown, in the log or in the user's words, with - or _."""
    return any(one in text for one in (name, name.replace("-", "_"), name.replace("_", "-")) for text in (grounds.said, grounds.shown))


def known(name: str, grounds: Grounds) -> bool:
    bare = name.strip("().-/")
    run = grounds.run
    if name in run.columns or bare in run.columns or name in run.config or bare in run.config:
        return True
    lowered = bare.lower()
    if lowered in _card_words() or lowered in _own_words(run):
        return True
    if lowered.startswith(("http", "www.")):
        return True
    parts = [part for part in re.split(r"/", lowered) if part]
    if (
        "/" in lowered
        and all(part in _card_words() or part in _own_words(run) or (part.isalpha() and "_" not in part) for part in parts)
        and not _metric_like(lowered)
    ):
        return True  # "clip/KL": two words, no key
    return bare in grounds.said or name in grounds.said or bare in grounds.shown


def _metric_like(name: str) -> bool:
    return name.split("/")[0] in {
        "actor",
        "critic",
        "timing_s",
        "timing_per_token_ms",
        "perf",
        "val-core",
        "val-aux",
        "training",
        "global_seqlen",
        "response_length",
        "prompt_length",
        "response",
        "reward",
        "rollout",
        "train",
        "val",
        "mismatch",
        "rollout_corr",
    }


@cache
def _card_words() -> frozenset[str]:
    """Every key-like word of the cards, whole and by its endings (``optim.lr`` of ``actor_rollout_ref.actor.optim.lr``)."""
    words: set[str] = set()
    for card in cards():
        for word in re.findall(r"[A-Za-z_+][\w./@()-]*", f"{card} {card_numbers(card)}"):
            _add(words, word.lower().lstrip("+").strip("().-/"))
    return frozenset(words)


_OWN: dict[int, tuple[object, frozenset[str]]] = {}


def _own_words(run: object) -> frozenset[str]:
    kept = _OWN.get(id(run))
    if kept is None or kept[0] is not run:
        words: set[str] = set()
        columns: Mapping[str, object] = run.columns  # type: ignore[attr-defined]
        config: Mapping[str, object] = run.config  # type: ignore[attr-defined]
        for name in (*columns, *config):
            _add(words, name.lower())
        for value in config.values():
            if isinstance(value, str):
                words.update(word.lower().strip("().-/") for word in re.findall(r"[A-Za-z_][\w./@-]*", value))
        _OWN.clear()
        _OWN[id(run)] = kept = (run, frozenset(words))
    return kept[1]


def _add(words: set[str], word: str) -> None:
    words.add(word)
    for separator in ("/", "."):
        parts = word.split(separator)
        for i in range(1, len(parts)):
            words.add(separator.join(parts[i:]))
    words.update(part for part in re.split(r"[/.]", word) if part)
