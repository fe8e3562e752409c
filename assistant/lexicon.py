"""Names in a question: which metric, finding, setting or concept a few words stand for.

Names come from the cards (printed keys, aliases, titles) and from the run itself (unknown keys of a fork, its config). A
name is a tuple of tokens; a token is a run of Latin letters and digits, or one Chinese character, so that ``pg_loss``,
``pg loss``, ``actor/pg_loss`` and ``KL 损失`` are all looked up in one table, the longest match first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from assistant.cards import STRUCTURED, cards, in_folder
from assistant.diagnosis.naming import family, tables
from assistant.diagnosis.translate import own_settings
from assistant.run import Run
from assistant.spoken_names import GENERIC, PLAIN_NAMES, SETTING_ALIASES

MAX_QUESTION = 4000
"""Characters of a question that are read; a longer one is a pasted log or an attack."""

_TOKEN = re.compile(r"[a-z0-9]+|(?!的)[\u3400-\u9fff]")
_STATISTICS = frozenset({"mean", "max", "min", "std"})
_ELSEWHERE = -1.1
"""What a name loses that only other frameworks print; one that is a plain word (``loss``) loses it twice."""
_NO_NAME = frozenset({"steps", "rollouts"})
"""Keys that some log prints and that no question means by them: "step 20", "the rollout"."""
_ALONE = frozenset({"lr", "gen", "kl", "adv"})


@dataclass(frozen=True, slots=True)
class Target:
    """What a name stands for. ``kind`` is metric, finding, setting, concept or key; ``key`` the printed key meant, if any."""

    kind: str
    id: str
    weight: float
    key: str = ""
    foreign: bool = False
    """Whether only other frameworks than the run's print this name."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name found in the question: token range, characters and what it may stand for, likeliest first."""

    start: int
    end: int
    first_char: int
    last_char: int
    targets: tuple[Target, ...]


@dataclass(slots=True)
class Lexicon:
    names: dict[tuple[str, ...], list[Target]] = field(default_factory=dict)
    longest: int = 1
    framework: str = ""
    """Whose run the names come from, "" for none."""

    def add(self, text: str, target: Target) -> None:
        tokens = tuple(token for token, *_ in tokenize(text))
        self.add_tokens(tokens, target)

    def add_tokens(self, tokens: tuple[str, ...], target: Target) -> None:
        if not tokens:
            return
        rows = self.names.setdefault(tokens, [])
        same = next((i for i, row in enumerate(rows) if (row.kind, row.id) == (target.kind, target.id)), None)
        if same is None:
            rows.append(target)
        elif rows[same].weight < target.weight:
            rows[same] = target
        self.longest = max(self.longest, len(tokens))


def normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:MAX_QUESTION]).casefold()


def tokenize(text: str) -> list[tuple[str, int, int]]:
    """Tokens with their character range in ``normal(text)``."""
    return [(m[0], m.start(), m.end()) for m in _TOKEN.finditer(normal(text))]


def singular(token: str) -> str:
    return token[:-1] if len(token) >= 5 and token.endswith("s") and not token.endswith("ss") else token


@cache
def base(framework: str = "") -> Lexicon:
    """Every name that the cards know. In a run of ``framework`` (verl, where no run is given) the names that only others print
    weigh less: ``loss`` and ``acc`` are keys somewhere, and mean something else here."""
    lexicon = Lexicon(framework=framework)
    own = tables(framework or "verl")
    for card in in_folder("metrics"):
        for index, metric in enumerate(card.front.get("metrics") or ()):
            target = metric["id"]
            for whose, keys in (metric.get("names") or {}).items():
                elsewhere = _ELSEWHERE if whose not in own else 0.0
                for name in keys:
                    _add_key(lexicon, name["key"] if isinstance(name, Mapping) else name, target, index, elsewhere)
            for text in texts(metric.get("aliases")):
                lexicon.add(text, Target("metric", target, 3.0 - index * 0.01))
        metrics = card.front.get("metrics") or ()
        if metrics:
            for text in texts(card.front.get("title")):
                lexicon.add(re.sub(r"\s*[(（][^)）]*[)）]\s*$", "", text), Target("metric", metrics[0]["id"], 2.5))
    for card in in_folder("findings"):
        name = card.id.partition("/")[2]
        for text in (name, *texts(card.front.get("title")), *texts(card.front.get("aliases"))):
            lexicon.add(text, Target("finding", name, 2.6))
        for fix in card.front.get("fixes") or ():
            key = fix.get("key")
            for one in key.values() if isinstance(key, Mapping) else (key,):
                if one:
                    _add_setting(lexicon, one)
            for whose, row in (fix.get("frameworks") or {}).items():
                if whose in own and row and row.get("key"):
                    _add_setting(lexicon, str(row["key"]))
    for card in cards().values():
        if card.folder not in STRUCTURED:
            for text in (card.id.partition("/")[2], *texts(card.front.get("title")), *texts(card.front.get("aliases"))):
                lexicon.add(text, Target("concept", card.id, 2.0))
    for card in in_folder("config"):
        keys = setting_keys(card.front)
        for key in keys:
            _add_setting(lexicon, key)
        for text in (*texts(card.front.get("title")), *texts(card.front.get("aliases"))) if keys else ():
            owner = next((key for key in keys if key.rpartition(".")[2] in text.lower()), keys[0])
            lexicon.add(text, Target("setting", owner, 2.0))
    for row in own_settings(framework or "verl").values():
        if row.get("key"):
            _add_setting(lexicon, str(row["key"]))
    for key, names in SETTING_ALIASES.items():
        _add_setting(lexicon, key)
        for text in names:
            lexicon.add(text, Target("setting", key, 2.0))
    for text, metrics in PLAIN_NAMES.items():
        for index, metric in enumerate(metrics):
            lexicon.add(text, Target("metric", metric, 2.9 - 0.05 * index))
    _plain_forms(lexicon)
    return lexicon


@lru_cache(8192)
def _tokens_of(key: str) -> tuple[str, ...]:
    return tuple(token for token, *_ in tokenize(key))


@cache
def known_metrics() -> frozenset[str]:
    """Canonical names of the cards."""
    return frozenset(metric["id"] for card in in_folder("metrics") for metric in card.front.get("metrics") or ())


def setting_keys(front: Mapping[str, Any]) -> list[str]:
    """Every spelling of the keys that a config card explains, the newest first."""
    names = front.get("names")
    newest_first = [name for name in reversed(texts(names)) if " " not in name]
    return list(dict.fromkeys([*texts(front.get("key")), *texts(front.get("keys")), *newest_first]))


def of_run(run: Run) -> Lexicon:
    """What this run adds: printed keys that no card knows, and the keys of its config."""
    lexicon = Lexicon(framework=run.framework)
    known = base().names
    for key in run.columns:
        tokens = _tokens_of(key)
        if tokens and tokens not in known:
            lexicon.add_tokens(tokens, Target("key", key, 3.0, key))
            parts = key.split("/")
            if len(parts) > 1 and len(parts[-1]) > 3 and parts[-1] not in GENERIC:
                lexicon.add(parts[-1], Target("key", key, 1.0, key))
    for key in run.config:
        _add_setting(lexicon, key)
    return lexicon


def find(text: str, lexicons: Iterable[Lexicon]) -> list[Mention]:
    """Names in ``text``, longest first where they overlap, in the order of the text.

    Names of concepts are found beside the others: "熵坍缩" is a concept, and names the metric 熵 all the same.
    """
    tables = list(lexicons)
    tokens = tokenize(text)
    words = [spelled(token) for token, *_ in tokens]
    longest = max(table.longest for table in tables)
    literals, lowered = _literals(normal(text)), normal(text)
    things: list[Mention] = []
    concepts: list[Mention] = []
    for start in range(len(tokens)):
        for end in range(min(len(tokens), start + longest), start, -1):
            rows = _targets(tables, tuple(words[start:end]))
            for found, wanted in ((things, False), (concepts, True)):
                if kept := tuple(row for row in rows if (row.kind == "concept") == wanted):
                    mention = Mention(start, end, tokens[start][1], tokens[end - 1][2], kept)
                    if _whole(mention, literals, lowered):
                        found.append(mention)
    return sorted([*_longest(things), *_longest(concepts)], key=lambda m: (m.start, m.end))


def _targets(tables: list[Lexicon], key: tuple[str, ...]) -> list[Target]:
    rows = [target for table in tables for target in table.names.get(key, ())]
    if not rows:
        single = tuple(singular(word) for word in key)
        rows = [target for table in tables for target in table.names.get(single, ())] if single != key else []
    return sorted(rows, key=lambda target: -target.weight)


def _longest(found: list[Mention]) -> list[Mention]:
    taken: list[Mention] = []
    for mention in sorted(found, key=lambda m: (-(m.last_char - m.first_char), -m.targets[0].weight, m.start)):
        if all(mention.end <= other.start or mention.start >= other.end for other in taken):
            taken.append(mention)
    return taken


def unknown_keys(lowered: str, mentions: Sequence[Mention]) -> list[str]:
    """Words shaped like a printed key (``rewards/chosen``) outside every name that was recognised."""
    covered = [(m.first_char, m.last_char) for m in mentions]
    found = (m for m in _KEY.finditer(lowered) if len(m[0]) <= 80)
    return list(dict.fromkeys(m[0].rstrip("/.-_") for m in found if not any(a < m.end() and m.start() < b for a, b in covered)))


# Internals

_KEY = re.compile(r"(?<![\w/])(?=[\w./@-]*[/_])[a-z][\w]*(?:[/.@-][\w]+)*", re.IGNORECASE)
_LITERAL = re.compile(r"(?:val-(?:core|aux)/)?[a-z0-9_@]+(?:[/.][a-z0-9_@]+)*")
_FAMILY_WEIGHT = {
    "timing_per_token_ms": -0.6,
    "timing_per_token": -0.6,
    "prompt_length": -0.4,
    "response_length_non_aborted": -0.4,
    "mismatch": -0.1,
}


def _literals(lowered: str) -> list[tuple[int, int]]:
    """Where the text has something written like a key: letters joined by ``_`` or ``/``."""
    return [(m.start(), m.end()) for m in _LITERAL.finditer(lowered) if "_" in m[0] or "/" in m[0]]


def _whole(mention: Mention, literals: list[tuple[int, int]], lowered: str) -> bool:
    """Whether a name is not just a piece of a longer key: ``reward`` in ``reward_std`` or in ``rewards/chosen`` is not the reward.

    Nor is one that an apostrophe cuts: "it's" is no ``it/s``.
    A leading part may be missing (``train/grad_norm``), and a statistic at the end (``critic/score/std``).
    """
    if re.search(r"['’]", lowered[mention.first_char : mention.last_char]):
        return False
    if (
        mention.end - mention.start == 1
        and mention.targets[0].id.startswith("time_")
        and re.search(r"[a-z]-$", lowered[: mention.first_char])
    ):
        return False  # "constrained-generation" is no timer
    for start, end in literals:
        if mention.first_char >= end or mention.last_char <= start or (mention.first_char <= start and mention.last_char >= end):
            continue
        before, after = lowered[start : mention.first_char], lowered[mention.last_char : end]
        if before and before[-1] not in "/.":
            return False
        if after and after.strip("/.") not in _STATISTICS:
            return False
    return True


def texts(value: object) -> list[str]:
    """Strings of ``{"en": … or [ … ], "zh": …}``, a list, or a plain string."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in texts(part)]
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in texts(part)]
    return []


def _add_key(lexicon: Lexicon, key: str, target: str, index: int, elsewhere: float = 0.0) -> None:
    """A printed key and the shorter forms that people use of it."""
    plain = re.sub(r"\(.*", "", key)
    if plain.lower() in _NO_NAME:
        return
    parts = plain.split("/")
    less = _FAMILY_WEIGHT.get(parts[0], 0.0) + elsewhere
    foreign = elsewhere < 0
    whole = Target("metric", target, 4.0 + elsewhere * (2 if plain.isalpha() else 1), key, foreign)
    if foreign and plain.lower() in GENERIC:
        return  # "time", "values": a word like any other in this log
    lexicon.add(key, whole)
    lexicon.add(plain, whole)
    for drop in range(1, len(parts)):
        rest = parts[drop:]
        if len(rest) == 1 and (len(rest[0]) < 2 or (rest[0] in GENERIC and rest[0] not in _ALONE)):
            continue  # the "s" of "samples/s" is no name
        lexicon.add("/".join(rest), Target("metric", target, less + (2.0 if len(rest) > 1 or "_" in rest[0] else 1.0), key, foreign))
    statistic = parts[-1] if len(parts) > 1 and parts[-1] in _STATISTICS else ""
    if statistic:
        body = parts[:-1]
        weight = 2.0 + less - index * 0.1
        if statistic == "mean" or index == 0:
            lexicon.add("/".join(body), Target("metric", target, weight, key, foreign))
            if len(body) > 1 and body[-1] not in GENERIC:
                lexicon.add(body[-1], Target("metric", target, weight - 0.5, key, foreign))
        lexicon.add(f"{statistic} {body[-1]}", Target("metric", target, 1.8 + elsewhere, key, foreign))
        lexicon.add(f"{body[-1]} {statistic}", Target("metric", target, 1.8 + elsewhere, key, foreign))
    if parts[0] == "timing_s" and len(parts) == 2:
        for text in (f"timing {parts[1]}", f"{parts[1]} time", f"time of {parts[1]}"):
            lexicon.add(text, Target("metric", target, 1.5 + elsewhere, key, foreign))
    if "_mean" in parts[-1] and parts[-1].replace("_mean", "") not in GENERIC:
        lexicon.add(parts[-1].replace("_mean", ""), Target("metric", target, 1.4 + elsewhere, key, foreign))


def _add_setting(lexicon: Lexicon, key: str) -> None:
    """A setting and its endings. Every key of verl has a dot: in a run of verl a bare word (``learning_rate``) is another trainer's."""
    whole, endings = _setting_names(key)
    foreign = "." not in key and not key.isupper() and lexicon.framework and family(lexicon.framework) == "verl"
    lexicon.add_tokens(whole, Target("setting", key, 1.1 if foreign else 4.0))
    for tokens, weight in endings:
        lexicon.add_tokens(tokens, Target("setting", key, weight))


@lru_cache(8192)
def _setting_names(key: str) -> tuple[tuple[str, ...], tuple[tuple[tuple[str, ...], float], ...]]:
    """Tokens of the key, and of its endings with what they weigh: one run's config is much like another's."""
    parts = key.split(".")
    tokens = [tuple(token for token, *_ in tokenize(part)) for part in parts]
    endings = []
    for drop in range(1, len(parts)):
        rest = parts[drop:]
        if len(rest) == 1 and (rest[0] in GENERIC or len(rest[0]) < 4):
            continue
        endings.append((tuple(token for part in tokens[drop:] for token in part), 1.6 if len(rest) > 1 else 1.2))
    return tuple(token for part in tokens for token in part), tuple(endings)


def _plain_forms(lexicon: Lexicon) -> None:
    """Glued (``pgloss``) and singular forms of what is there."""
    for tokens, targets in list(lexicon.names.items()):
        for target in targets:
            if 2 <= len(tokens) <= 4 and all(token.isascii() for token in tokens):
                lexicon.add_tokens(("".join(tokens),), Target(target.kind, target.id, target.weight - 0.3, target.key, target.foreign))
            single = tuple(singular(token) for token in tokens)
            if single != tokens:
                lexicon.add_tokens(single, Target(target.kind, target.id, target.weight - 0.3, target.key, target.foreign))


@cache
def _vocabulary() -> frozenset[str]:
    return frozenset(token for tokens in base().names for token in tokens if token.isascii())


@cache
def _deletions() -> Mapping[str, str]:
    """Each word of five letters or more with one letter left out → the word."""
    table: dict[str, str] = {}
    for word in sorted(_vocabulary()):
        if len(word) >= 5 and word.isalpha():
            for i in range(len(word)):
                table.setdefault(word[:i] + word[i + 1 :], word)
    return table


@cache
def spelled(token: str) -> str:
    """``token``, or the known word one slip away from it (``entrpy``, ``rewrad``)."""
    if len(token) < 5 or not token.isalpha() or not token.isascii() or token in _vocabulary() or singular(token) in _vocabulary():
        return token
    table = _deletions()
    if token in table and table[token][0] == token[0]:
        return table[token]
    for i in range(1, len(token)):
        shorter = token[:i] + token[i + 1 :]
        if shorter in _vocabulary() and len(shorter) >= 5:
            return shorter
        if shorter in table and table[shorter][0] == token[0] and abs(len(table[shorter]) - len(token)) == 0:
            return table[shorter]
    return token
