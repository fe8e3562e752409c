"""Gates over the whole knowledge base: thresholds that the code reads, and keys that real logs print."""

import re
from pathlib import Path

import pytest

from assistant.cards import in_folder
from assistant.diagnosis.naming import resolve
from tests.real import run_of_file

ROOT = Path(__file__).parents[2]
CASES = ROOT.parent / "shared" / "cases" / "verl"


def test_every_threshold_in_a_card_is_read_by_the_code() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "assistant" / "diagnosis").rglob("*.py"))
    read_names = set(re.findall(r"\.([a-z_0-9]+)\b", code)) | set(re.findall(r"\"([a-z_0-9]+)\"", code))
    unread = {(card.id, name) for card in in_folder("findings") for name in card.front.get("thresholds") or {} if name not in read_names}
    assert unread == set()


@pytest.mark.skipif(not CASES.is_dir(), reason="needs the labelled cases")
def test_keys_that_verl_itself_prints_have_a_card() -> None:
    """Forks add keys of their own; of those that any verl version prints, all but a few odd ones resolve."""
    families = ("actor/", "critic/", "response_length", "prompt_length", "timing_s/", "perf/", "global_seqlen/", "val-core/", "training/")
    seen: set[str] = set()
    known: set[str] = set()
    for path in sorted(CASES.glob("*/log.txt")):
        run = run_of_file(path)
        names = {name for name in run.columns if name.startswith(families)}
        seen |= names
        known |= {name for name, found in resolve(run.columns, run.framework).items() if found.canonical and name in names}
    print("without a card:", sorted(seen - known))
    assert len(known) >= 0.9 * len(seen)
