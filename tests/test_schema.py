"""Each fault that a card can have is found, and named with the card."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from assistant.cards import Card
from assistant.schema import different_numbers, numbers, problems

TEXT = {"en": "at 5 steps", "zh": "在 5 步"}
BODY = {"en": "Text.", "zh": "正文。"}


def metric() -> dict[str, Any]:
    return {
        "title": TEXT,
        "metrics": [{"id": "m_one", "names": {"verl": ["a/b"]}, "unit": "s", "good": "up", "aliases": {"en": ["one"], "zh": ["一"]}}],
        "short": TEXT,
        "definition": TEXT,
        "eras": [{"when": ">=0.4,<0.8", **TEXT}],
        "healthy": TEXT,
        "ranges": [{"low": 0.1, "high": None, "basis": "heuristic", **TEXT}],
        "watch_with": ["m_one"],
        "advice": TEXT,
        "related": ["findings/f"],
        "sources": ["s"],
    }


def finding() -> dict[str, Any]:
    return {
        "title": TEXT,
        "severity": "high",
        "thresholds": {"level": {"value": 0.05, "unit": "nats", "basis": "heuristic"}},
        "says": {"default": {"en": "is {now}", "zh": "为 {now}"}},
        "causes": [{"id": "c", **TEXT}],
        "fixes": [{"id": "x", "key": {"<0.4": "a.b", ">=0.4": "a.c"}, "default": 1, "to": 2, "moves": "up", "why": TEXT, "check": TEXT}],
        "variants": {"default": {"causes": ["c"], "fixes": ["x"]}},
        "related": ["metrics/m"],
        "sources": ["s"],
    }


def error() -> dict[str, Any]:
    return {
        "title": TEXT,
        "kind": "boom",
        "finding": "f",
        "variant": "default",
        "fatal": True,
        "fragments": ["Boom: "],
        "extract": {"n": r"Boom: (\d+)"},
        "causes": ["c"],
        "fixes": ["x"],
        "sources": ["s"],
    }


def setting() -> dict[str, Any]:
    return {
        "title": TEXT,
        "keys": ["a.b", "a.c"],
        "names": {"a.b": {"<0.4": "old.b"}},
        "default": {"a.b": {"<0.4": 1, ">=0.4": 2}, "a.c": None},
        "aliases": {"en": ["setting"], "zh": ["设置"]},
        "short": TEXT,
        "effect": TEXT,
        "shows": ["m_one"],
        "safe": TEXT,
        "sources": ["s"],
    }


def knowledge() -> dict[str, Card]:
    made = {"metrics/m": metric(), "findings/f": finding(), "errors/e": error(), "config/a.b": setting()}
    return {name: Card(name, front, dict(BODY)) for name, front in made.items()}


def put(front: Any, path: str, value: Any) -> None:
    """Set ``front["a"][0]["b"]`` for the path ``a.0.b``; the value ``...`` removes the entry."""
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parents:
        front = front[part]
    if value is ...:
        del front[last]
    else:
        front[last] = value


def test_sound_cards_have_no_problems() -> None:
    assert problems(knowledge()) == []


@pytest.mark.parametrize(
    ("card", "path", "value", "says"),
    [
        ("metrics/m", "colour", "red", "colour: Extra inputs are not permitted"),
        ("metrics/m", "short", ..., "short: Field required"),
        ("metrics/m", "short", {"en": "x", "zh": ""}, "short.zh"),
        ("metrics/m", "short", {"en": "x"}, "short.zh"),
        ("metrics/m", "short", {"en": "above 0.3", "zh": "高于 0.2"}, "numbers differ: ['0.2', '0.3']"),
        ("metrics/m", "eras.0.when", "since 0.4", "not a version condition"),
        ("metrics/m", "eras.0.when", ">=0.4 <0.8", "not a version condition"),
        ("metrics/m", "ranges.0.high", 0.01, "upside down"),
        ("metrics/m", "ranges.0.low", None, "a range needs"),
        ("metrics/m", "ranges.0.metric", "m_two", "ranges of metrics that are not in this card: ['m_two']"),
        ("metrics/m", "metrics.0.good", "higher", "metrics.0.good"),
        ("metrics/m", "metrics.0.id", "M-One", "metrics.0.id"),
        ("metrics/m", "metrics.0.aliases.zh", [], "metrics.0.aliases.zh"),
        ("metrics/m", "sources", [], "sources"),
        ("metrics/m", "watch_with", ["m_two"], "points to metric:m_two, which does not exist"),
        ("metrics/m", "related", ["findings/g"], "points to findings/g, which does not exist"),
        ("findings/f", "severity", "bad", "severity"),
        ("findings/f", "says.default", {"en": "{now} of {top}", "zh": "{now}"}, "placeholders differ"),
        ("findings/f", "thresholds.level.value", "0.05", "thresholds.level.value"),
        ("findings/f", "causes.0.id", False, "causes.0.id"),
        ("findings/f", "fixes.0.key", {"old": "a.b"}, "not a version condition"),
        ("findings/f", "variants.default.fixes", ["y"], "unknown causes or fixes: ['y']"),
        ("findings/f", "follows_from", ["h"], "points to findings/h, which does not exist"),
        ("config/a.b", "key", "a.b", "give either 'key' or 'keys'"),
        ("config/a.b", "keys", [], "give either 'key' or 'keys'"),
        ("config/a.b", "default", {"a.b": 1}, "'default' must name each of 'keys'"),
        ("config/a.b", "default", 3, "'default' must name each of 'keys'"),
        ("config/a.b", "default", {"a.b": {"since 0.4": 2}, "a.c": None}, "not a version condition"),
        ("config/a.b", "names", {"a.d": {"<0.4": "old.d"}}, "'names' of settings that are not in this card: ['a.d']"),
        ("config/a.b", "shows", ["m_two"], "points to metric:m_two, which does not exist"),
        ("config/a.b", "safe", {"en": "1 to 5", "zh": "1 到 6"}, "numbers differ: ['5', '6']"),
        ("errors/e", "extract.n", r"(\d+)-(\d+)", "exactly one group"),
        ("errors/e", "finding", "g", "points to findings/g, which does not exist"),
        ("errors/e", "causes", ["d"], "causes not in findings/f: ['d']"),
        ("errors/e", "variant", "late", "variant 'late' is no sentence"),
    ],
)
def test_a_fault_is_found_and_named(card: str, path: str, value: Any, says: str) -> None:
    made = knowledge()
    front = copy.deepcopy(dict(made[card].front))
    put(front, path, value)
    found = problems({**made, card: Card(card, front, made[card].body)})
    assert [line for line in found if line.startswith(f"{card}: ") and says in line] != []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"en": "Text."}, "no text under '## zh'"),
        ({"en": "Text.", "zh": "Text."}, "is not Chinese"),
        ({"en": "At 3.", "zh": "为 4。"}, "numbers differ between the two bodies: ['3', '4']"),
    ],
)
def test_a_body_needs_both_languages_and_the_same_numbers(body: dict[str, str], says: str) -> None:
    made = knowledge()
    found = problems({**made, "metrics/m": Card("metrics/m", made["metrics/m"].front, body)})
    assert [says in line for line in found] == [True]


def test_ids_causes_aliases_and_keys_must_be_unique() -> None:
    twice = knowledge()
    twice["metrics/n"] = Card("metrics/n", metric(), BODY)
    assert problems(twice) == ["canonical id m_one is used 2 times"]

    other = metric()
    other["metrics"][0]["id"] = "m_two"
    found = problems({**knowledge(), "metrics/n": Card("metrics/n", other, BODY)})
    assert found == [f"{what} names several metrics: ['m_one', 'm_two']" for what in ("alias 'one'", "alias '一'", "key 'a/b' of verl")]

    doubled = finding()
    doubled["causes"] *= 2
    assert "used twice: ['c']" in problems({**knowledge(), "findings/f": Card("findings/f", doubled, BODY)})[0]


def test_conditional_names_may_share_a_key() -> None:
    shared = metric()
    shared["metrics"][0]["names"]["verl"] = [{"key": "a/b", "unless": "a/c"}]
    second = metric()
    second["metrics"][0] |= {
        "id": "m_two",
        "names": {"verl": [{"key": "a/b", "with": "a/c", "scale": 1e-3}]},
        "aliases": {"en": ["2"], "zh": ["二"]},
    }
    made = {**knowledge(), "metrics/m": Card("metrics/m", shared, BODY), "metrics/n": Card("metrics/n", second, BODY)}
    assert problems(made) == []


@pytest.mark.parametrize(
    ("english", "chinese", "different"),
    [
        ("more than ten times", "超过 10 倍", []),
        ("above 10", "高于十", []),
        ("often", "常见于 10 步", ["10"]),
        ("within 5 of 8 steps", "8 步中有 4 步", ["4", "5"]),
    ],
)
def test_spelled_out_numbers_count_as_numbers(english: str, chinese: str, different: list[str]) -> None:
    assert different_numbers(english, chinese) == different


def test_numbers_of_a_text() -> None:
    assert numbers("0.05 nats in 10 steps, val@16") == {"0.05", "10", "16"}
