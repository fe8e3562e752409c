"""The card files of this repository, and the reader that parses them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.cards import CardError, cards, in_folder, parse_card, pick
from assistant.diagnosis.detector import registered
from assistant.diagnosis.naming import metric_card, resolve
from assistant.diagnosis.view import era_matches
from assistant.schema import canonical_ids, problems

ERAS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9")


def planned_findings() -> set[str]:
    """Finding ids that the design names and whose cards may still be missing (the list is not part of a clone)."""
    listed = Path(__file__).parents[2] / "shared" / "finding_ids.md"
    return (
        set(re.findall(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+|hang|truncation|straggler|overfitting", listed.read_text()))
        if listed.exists()
        else set()
    )


def test_all_cards_are_well_formed() -> None:
    planned = planned_findings()
    missing = re.compile(r"points to findings/(\S+), which does not exist")
    assert [p for p in problems() if not ((found := missing.search(p)) and found[1] in planned)] == []


def test_metrics_that_detectors_need_are_in_the_cards() -> None:
    known = {*canonical_ids(cards())}
    assert {finding: set(d.needs) - known for finding, d in registered().items() if set(d.needs) - known} == {}


def test_every_detector_has_a_finding_card() -> None:
    assert [finding for finding in registered() if f"findings/{finding}" not in cards()] == []


@pytest.mark.parametrize("card_id", [c.id for c in in_folder("metrics") if "eras" in c.front])
def test_era_notes_apply_to_some_known_version(card_id: str) -> None:
    notes = cards()[card_id].front["eras"]
    assert [note["when"] for note in notes if not any(era_matches(era, note["when"]) for era in ERAS)] == []


@pytest.mark.parametrize(
    ("printed", "canonical"),
    [
        ({"actor/entropy_loss"}, {"actor/entropy_loss": "policy_entropy"}),
        ({"actor/entropy_loss", "actor/entropy"}, {"actor/entropy": "policy_entropy", "actor/entropy_loss": "policy_entropy_update"}),
        ({"critic/kl"}, {"critic/kl": "reward_kl"}),
        ({"mfu/actor"}, {"mfu/actor": "mfu_actor"}),
        ({"mismatch/rollout_is_masked_fraction"}, {"mismatch/rollout_is_masked_fraction": "rejection_masked_fraction"}),
        ({"val/test_score/openai/gsm8k"}, {"val/test_score/openai/gsm8k": "validation"}),
    ],
)
def test_printed_keys_find_their_metric(printed: set[str], canonical: dict[str, str]) -> None:
    assert {name: found.canonical for name, found in resolve(printed, "verl").items()} == canonical


def test_old_learning_rates_carry_their_scale() -> None:
    assert {n.scale for n in resolve({"actor/lr(1e-4)", "critic/lr(1e-4)"}, "verl").values()} == {1e-4}


def test_metric_card_of_a_canonical_metric() -> None:
    assert metric_card("policy_step_kl") == "metrics/actor.ppo_kl"
    assert metric_card("no_such_metric") is None


def test_two_aliases_people_confuse_point_to_different_metrics() -> None:
    aliases = {a: m["id"] for c in in_folder("metrics") for m in c.front["metrics"] for side in m["aliases"].values() for a in side}
    assert (aliases["clip_ratio"], aliases["clipfrac"]) == ("response_clip_ratio", "policy_clip_fraction")
    assert (aliases["截断率"], aliases["裁剪比例"]) == ("response_clip_ratio", "policy_clip_fraction")
    assert (aliases["kl"], aliases["ppo_kl"]) == ("reference_kl", "policy_step_kl")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("title: x", "no front matter"),
        ("---\ntitle: [\n---\n", "not YAML"),
        ("---\n- a\n---\n", "must be a mapping"),
    ],
)
def test_a_file_that_is_no_card_says_so_with_its_name(text: str, says: str) -> None:
    with pytest.raises(CardError, match=f"metrics/x: .*{says}"):
        parse_card(text, "metrics/x")


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])).filter(lambda line: not line.startswith(("## en", "## zh"))))


@given(english=LINES, chinese=LINES, newline=st.sampled_from(["\n", "\r\n"]))
def test_bodies_come_back_as_written(english: list[str], chinese: list[str], newline: str) -> None:
    text = newline.join(["---", "title: t", "---", "", "## en", *english, "## zh", *chinese])
    card = parse_card(text, "concepts/x")
    assert card.front == {"title": "t"}
    assert card.body == {"en": newline.join(english).strip(), "zh": newline.join(chinese).strip()}


def test_pick_falls_back_to_english_and_takes_plain_strings() -> None:
    assert [pick(t, "zh") for t in ({"en": "a", "zh": "乙"}, {"en": "a"}, "x", None)] == ["乙", "a", "x", ""]


READ = "from assistant.cards import cards; print(cards()['metrics/x'].front['title'])"


@pytest.mark.parametrize("cache", ["cache", "a-file"], ids=["writable cache", "unusable cache"])
def test_an_edited_card_is_read_again(tmp_path: Path, cache: str) -> None:
    folder = tmp_path / "knowledge" / "metrics"
    folder.mkdir(parents=True)
    (tmp_path / "a-file").write_text("not a folder")
    environment = {**os.environ, "RUNWHY_KNOWLEDGE": str(tmp_path / "knowledge"), "XDG_CACHE_HOME": str(tmp_path / cache)}

    def title() -> str:
        return subprocess.run([sys.executable, "-c", READ], env=environment, capture_output=True, text=True, check=True).stdout.strip()

    (folder / "x.md").write_text("---\ntitle: first\n---\n")
    assert [title(), title()] == ["first", "first"]
    (folder / "x.md").write_text("---\ntitle: second one\n---\n")
    assert title() == "second one"
