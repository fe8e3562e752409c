"""Where choices lead, page by page, on runs whose diagnosis is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from assistant.cards import card, in_folder
from assistant.diagnosis import Diagnosis, Finding, Quantity, RunView, Unknown, diagnose
from assistant.guide import START, default_walk, page, symptoms
from assistant.guide.loading import WALK, guides, home_of
from assistant.run import Event, SourceLine
from tests.builders import run_of

HEALTHY = {
    "actor/entropy": [0.5 - 0.002 * i for i in range(40)],
    "critic/score/mean": [0.2 + 0.01 * i for i in range(40)],
    "critic/score/max": [1.0] * 40,
    "critic/score/min": [0.0] * 40,
    "actor/grad_norm": [0.3] * 40,
    "response_length/mean": [200.0] * 40,
    "response_length/clip_ratio": [0.01] * 40,
}
FAULTS = sorted(c.id.partition("/")[2] for c in in_folder("findings") if c.front["severity"] != "info")


def made(*ids: str, fine: Sequence[str] = (), unknown: Sequence[Unknown] = (), **more: Any) -> Diagnosis:
    """A diagnosis of a plain run with these findings, whatever its curves show."""
    run = run_of(HEALTHY)
    point = RunView(run)["policy_entropy"]
    assert point is not None
    findings = []
    for name in ids:
        front = card(f"findings/{name}").front
        places = {place for text in front["says"].values() for place in re.findall(r"{(\w+)}", text["en"])}
        facts = {place: Quantity(0.031, "0.031") for place in places}
        findings.append(Finding(name, front["severity"], first_step=9, evidence=[point.point(-1)], facts=facts, **more))
    return Diagnosis(run, findings, list(fine), list(unknown))


@pytest.mark.parametrize("name", FAULTS)
def test_each_finding_is_reached_by_defaults_from_its_symptom_the_start_and_the_walk_through(name: str) -> None:
    diagnosis = made(name)
    for guide in (START, home_of(name) or "", WALK):
        last = default_walk(diagnosis, guide)[-1]
        assert last.done
        assert last.outcome is not None
        assert last.outcome.findings == (name,), guide
        assert last.outcome.kind == "found"


@pytest.mark.parametrize("guide", [name for name, _ in symptoms()])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_healthy_run_ends_in_nothing_found_from_every_symptom(guide: str, language: Any) -> None:
    diagnosis = diagnose(run_of(HEALTHY))
    assert diagnosis.healthy
    walk = default_walk(diagnosis, guide, (), language)
    assert walk[-1].outcome is not None
    assert (walk[-1].outcome.kind, walk[-1].outcome.findings, walk[-1].outcome.causes, walk[-1].outcome.changes) == ("healthy", (), (), ())


def test_a_short_healthy_run_is_not_called_healthy() -> None:
    run = run_of({name: values[:4] for name, values in HEALTHY.items()})
    last = default_walk(diagnose(run), "reward-collapsed")[-1].outcome
    assert last is not None
    assert last.kind == "short"
    assert "4" in last.meaning


def test_the_start_offers_every_guide_and_prefers_the_one_of_the_first_finding() -> None:
    one = page(made("generation-bound", "truncation"))
    assert [name for name, _ in one.options] == [name for name, _ in symptoms()]
    assert one.default == "slow"
    assert page(made()).default == WALK


def test_the_same_walk_from_the_start_and_from_a_guide() -> None:
    diagnosis = made("truncation")
    by_start, direct = page(diagnosis, START, ["output", "next"]), page(diagnosis, "output", ["next"])
    assert (by_start.guide, by_start.step, by_start.body_markdown) == (direct.guide, direct.step, direct.body_markdown)


def test_a_symptom_that_this_log_does_not_show_is_said_with_its_values_and_leads_to_what_it_shows() -> None:
    diagnosis = made("gpu-memory-leak", fine=("reward-collapse",))
    first = page(diagnosis, "reward-collapsed")
    assert first.state == "fine"
    assert "does not show this" in first.body_markdown
    assert "GPU memory keeps growing" in first.body_markdown
    score = next(row for row in first.rows if row.metric == "critic/score/mean")
    assert (score.yours, score.step, score.line) == ("0.2 (step 1) → 0.59 (step 40)", 40, 40)
    assert first.default == "elsewhere"
    there = page(diagnosis, "reward-collapsed", ["elsewhere"])
    assert (there.guide, there.step) == ("oom", "seen")
    assert there.body_markdown.startswith("You came here because")
    stayed = page(diagnosis, "reward-collapsed", ["next"])
    assert stayed.guide == "reward-collapsed"


def test_who_stays_on_a_guide_that_finds_nothing_still_hears_what_the_log_shows() -> None:
    diagnosis = made("gpu-memory-leak", fine=("reward-collapse",))
    choices = ["next"]
    while not (one := page(diagnosis, "reward-collapsed", choices)).done:
        choices.append("next")
    assert one.outcome is not None
    assert one.outcome.findings == ("gpu-memory-leak",)
    assert one.body_markdown.startswith("Your log does not show what you chose")


def test_what_weighs_more_later_in_the_guide_is_the_default_and_the_rest_is_kept_in_mind() -> None:
    diagnosis = made("truncation", "entropy-collapse")
    variety = (
        page(diagnosis, "output", ["next", "next"])
        if page(diagnosis, "output", ["next"]).step != "variety"
        else page(diagnosis, "output", ["next"])
    )
    assert variety.step == "variety"
    assert variety.default == "on"
    assert "something that weighs more comes later" in variety.body_markdown
    walk = default_walk(diagnosis, "output")
    assert walk[-1].outcome is not None
    assert walk[-1].outcome.findings == ("truncation", "entropy-collapse")
    chosen = default_walk(diagnosis, "output", [*variety.choices, "this"])[-1]
    assert chosen.outcome is not None
    assert chosen.outcome.findings[0] == "entropy-collapse"
    assert "mend first" in chosen.outcome.first
    assert [name for name, _ in chosen.options] == ["urgent"]
    assert page(diagnosis, "output", [*chosen.choices, "urgent"]).guide == "output"


def test_answers_put_their_causes_first_and_are_told() -> None:
    diagnosis = made("reward-flat-floor")
    walk = default_walk(diagnosis, "reward-flat")
    asked = next(one for one in walk if one.step == "outputs")
    assert not asked.by_log
    plain = walk[-1].outcome
    cut = default_walk(diagnosis, "reward-flat", [*asked.choices, "cut"])[-1].outcome
    assert plain is not None
    assert cut is not None
    causes = {row["id"]: row["en"] for row in card("findings/reward-flat-floor").front["causes"]}
    assert plain.causes[0] == causes["parsing"]
    assert cut.causes[0] == causes["truncated"]
    assert any("cut off before the end" in text for text in cut.told)
    assert set(cut.findings) == set(plain.findings)


def test_what_the_log_says_itself_is_the_default_answer() -> None:
    diagnosis = made("crash-gpu-oom")
    diagnosis.run.events.append(Event("gpu-oom", 31, "torch.OutOfMemoryError: …", data={"capacity": "39.56 GiB"}))
    asked = next(one for one in default_walk(diagnosis, "oom") if one.step == "gpu-type")
    assert (asked.default, asked.by_log) == ("middle", True)
    assert "39.56 GiB (line 31)" in asked.body_markdown


def test_steps_without_numbers_are_left_out_with_a_reason() -> None:
    diagnosis = made("length-collapse", unknown=[Unknown("rollout-failures", "rollout_failures")])
    walk = default_walk(diagnosis, "reward-collapsed")
    notes = [note for one in walk for note in one.notes]
    assert any("Does the critic still make sense?" in note and "does not apply" in note for note in notes)


def test_a_step_of_another_kind_of_training_is_not_mentioned() -> None:
    run = run_of({"train_loss": [2.0 - 0.02 * i for i in range(40)]}, framework="generic")
    walk = default_walk(diagnose(run), WALK)
    assert "length" not in {one.step for one in walk}
    assert not any("keep their form" in note for one in walk for note in one.notes)


@pytest.mark.parametrize("choices", [["<script>"], ["next", "nonsense", "next"], ["output"], ["this", "this", "this"], [""] * 50])
def test_choices_that_are_not_offered_end_the_way_there(choices: list[str]) -> None:
    one = page(made("truncation"), "output", choices)
    assert len(one.choices) < len(choices)
    assert one.title


def test_an_unknown_guide_is_refused() -> None:
    with pytest.raises(KeyError):
        page(made(), "nonsense")


def test_every_walk_ends_whatever_is_chosen() -> None:
    """Depth first through every option of every page, on a run with faults in three guides."""
    diagnosis = made("truncation", "gpu-memory-leak", "reward-plateau", fine=("reward-collapse",))
    from assistant.guide.state import Reading
    from assistant.guide.walk import Position, begin, follow, offered

    reading = Reading(diagnosis)
    seen: set[Position] = set()

    def visit(place: Position, depth: int) -> None:
        assert depth < 60
        if place in seen:
            return
        seen.add(place)
        for choice in offered(reading, place):
            visit(follow(reading, place, choice), depth + 1)
        assert place.done or offered(reading, place)

    for guide in guides():
        visit(begin(reading, guide), 0)
    assert len(seen) > 100
    assert any(place.done for place in seen)


def test_words_are_explained_once_in_a_walk() -> None:
    for language in ("en", "zh"):
        walk = default_walk(made("entropy-collapse"), START, (), language)
        words = [term.word for one in walk for term in one.terms]
        assert len(words) == len(set(words))
        assert ("entropy" if language == "en" else "熵") in words


def test_log_text_stands_in_code() -> None:
    from assistant.guide.words import safe

    assert safe("0.031") == "0.031"
    assert safe("<img src=x onerror=alert(1)>") == "`<img src=x onerror=alert(1)>`"
    assert safe("a `b` [x](http://y)\nz") == "`a 'b' [x](http://y) z`"
    assert safe("*" * 500).endswith("…`")


def test_quoted_lines_come_with_their_number_and_are_shown_once() -> None:
    diagnosis = made("crash-config", excerpt=[SourceLine(7, "ValueError: <b>batch</b> " + "x" * 900)])
    walk = default_walk(diagnosis, "crashed")
    quotes = [line for one in walk[:-1] for line in one.quotes]
    assert [line.line for line in quotes] == [7]
    assert len(quotes[0].text) < 400
    assert quotes[0].text.endswith("…")


def test_progress_counts_up_to_the_last_page() -> None:
    walk = default_walk(made("entropy-collapse"))
    assert [one.progress for one in walk] == [(n, len(walk)) for n in range(1, len(walk) + 1)]
