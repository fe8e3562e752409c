"""Words for lexical search: Chinese as uni- and bigrams, names whole and in parts, English words without their endings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from assistant.lexicon import normal

_CHUNK = re.compile(r"[a-z0-9]+(?:[/_.@-]+[a-z0-9]+)*|[\u3400-\u9fff]+")
_SEPARATOR = re.compile(r"[/_.@-]+")
_ENDINGS = ("ations", "ation", "ings", "ing", "edly", "ed", "ies", "es", "s", "e", "y")
_ENGLISH_STOP = """
a an and are as at be been being but by can cannot could did do does doing done for from get gets getting got had has have he her
here his how i if in into is it its just like may me might mine more most much must my no not now of off on once one only or other
our out over own please same see she should so some such than that the their them then there these they this those though through to
too two us very via was we were what when where whether which while who whose why will with would you your am ok also any all about
after before between during both each every few s t don dont doesn didn isn aren wasn won im ive want use used using need needs run
runs running training train trained model help pls plz bad
"""
_CHINESE_STOP = """
的 了 是 在 我 有 和 就 不 也 都 吗 呢 吧 啊 这 那 么 什 为 怎 会 要 把 被 与 及 或 到 从 以 个 很 还 才 又
什么 为什 怎么 这个 那个 是不 不是 可以 我的 训练 模型
"""
_STOP = frozenset((_ENGLISH_STOP + _CHINESE_STOP).split())
_BACKGROUND = """
grpo ppo verl trl dapo gspo rloo gae dpo sft vllm sglang fsdp megatron ray qwen llama gsm8k gpu gpus a100 h100 4090
"""
BACKGROUND = frozenset(_BACKGROUND.split())
"""Words that mostly say where something happens, not what: they decide little unless the question asks for their meaning."""

_SYNONYMS: Mapping[str, str] = {
    "tput": "throughput",
    "tps": "throughput tokens per second",
    "vram": "gpu memory",
    "mem": "memory",
    "oom": "out of memory",
    "ckpt": "checkpoint",
    "eval": "validation",
    "val": "validation",
    "ev": "explained variance",
    "resp": "response",
    "completion": "response",
    "answer": "response",
    "len": "length",
    "gen": "generation",
    "rew": "reward",
    "adv": "advantages",
    "bs": "batch size",
    "coef": "coefficient",
    "params": "parameters",
    "grads": "gradient",
    "gnorm": "grad_norm",
    "hang": "stuck",
    "stuck": "hang",
    "hung": "hang stuck",
}
"""Abbreviations of questions, and what they stand for."""


def tokens(text: str) -> list[str]:
    """Tokens of ``text`` in its order, repeats included.

    ``actor/pg_clipfrac`` gives itself, ``pg_clipfrac``, ``actor``, ``pg`` and ``clipfrac``; 熵坍缩 gives 熵, 坍, 缩, 熵坍 and 坍缩.
    """
    out: list[str] = []
    for match in _CHUNK.finditer(normal(text)):
        chunk = match[0]
        if chunk[0] >= "\u3400":
            out.extend(c for c in chunk if c not in _STOP)
            out.extend(pair for pair in map("".join, pairwise(chunk)) if pair not in _STOP)
        else:
            out.extend(_latin(chunk))
    return out


def meant(words: Sequence[str]) -> list[str]:
    """Further tokens that the abbreviations among ``words`` stand for."""
    return [token for word in words if word in _STEMMED for token in tokens(_STEMMED[word]) if token not in words]


def stands_for(word: str) -> str:
    """What an abbreviation stands for; "" for any other word."""
    return _SYNONYMS.get(word, "")


def stem(word: str) -> str:
    """``word`` without a common English ending, so that falls, falling and fall meet; at least three letters stay."""
    if not word.isalpha():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith(("ss", "us"))):
            rest = word.removesuffix(ending)
            return rest[:-1] if ending in ("ing", "ed") and len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "ls" else rest
    return word


def _latin(chunk: str) -> list[str]:
    parts = [part for part in _SEPARATOR.split(chunk) if part]
    if len(parts) == 1:
        return [] if chunk in _STOP else [stem(chunk)]
    whole = [chunk]
    if "/" in chunk or "." in chunk:
        whole.extend(piece for piece in re.split(r"[/.]", chunk) if "_" in piece)
    return [*whole, *(stem(part) for part in parts if part not in _STOP)]


_STEMMED = {stem(word): text for word, text in _SYNONYMS.items()}
