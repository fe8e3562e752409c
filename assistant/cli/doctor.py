"""``runwhy doctor``: what is installed, and whether the configured model works."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from rich.text import Text

from assistant.answers.model.doctor import Check, State, examine
from assistant.cli.note import console_for
from assistant.messages import Language, say

_MARK: dict[State, tuple[str, str]] = {"ok": ("✓", "green"), "note": ("·", "yellow"), "bad": ("✗", "red")}
EXTRAS = {"llm": "langchain_openai", "search": "chromadb", "web": "gradio", "slack": "slack_bolt"}


def checks(language: Language) -> Iterator[Check]:
    from assistant.answers.grounding.tokens import counter, estimate
    from assistant.cards import cards, left_out

    installed = ", ".join(f"{name} {'✓' if find_spec(module) else '–'}" for name, module in EXTRAS.items())
    yield Check("python", "ok", say("doctor.name_python", language), installed)
    wrong = left_out()
    yield Check("cards", "note" if wrong else "ok", say("doctor.name_cards", language), str(len(cards())), "; ".join(wrong[:3]))
    exact = counter() is not estimate
    yield Check(
        "tokens",
        "ok" if exact else "note",
        say("doctor.name_tokens", language),
        say("doctor.exact_tokens" if exact else "doctor.estimated_tokens", language),
    )
    yield from examine(language)
    from assistant.slack.doctor import examine as examine_slack

    yield from examine_slack(language)


def print_checks(language: Language) -> bool:
    """Print each check as it ends; whether none is bad."""
    console = console_for(None)
    well = True
    for check in checks(language):
        mark, colour = _MARK[check.state]
        well = well and check.state != "bad"
        console.print(Text.assemble((f"{mark} ", colour), (check.name, "bold"), f"  {check.detail}" if check.detail else ""))
        if check.advice:
            console.print(Text(f"    {check.advice}", style="dim"))
    console.print(Text(say("doctor.all_well" if well else "doctor.something_wrong", language), style="dim"))
    return well
