"""Write ``verl_defaults.json``: what each verl version sets the settings of the config cards to.

Usage, from the repository, with unpacked releases in folders named by their version::

    python -m tests.knowledge.read_verl_defaults UNPACKED/0.1 UNPACKED/0.2 …
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from assistant.cards import in_folder
from assistant.config_cards import spellings

TABLE = Path(__file__).with_name("verl_defaults.json")
ASYNCHRONOUS = "verl/experimental/fully_async_policy/config/fully_async_ppo_trainer.yaml"


def flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, one in value.items():
        if isinstance(one, Mapping) and one:
            yield from flat(one, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", one


def settled(key: str, value: Any) -> Any:
    """A default as the cards write it: numbers as numbers, and references to other settings as ``${full.key}``."""
    if not isinstance(value, str):
        return value
    if found := re.fullmatch(r"\$\{(?:oc\.select:)?(\.?)([\w.]+)(?:,[^}]*)?\}", value):
        section = key.rpartition(".")[0] + "." if found[1] else ""
        return f"${{{section}{found[2]}}}"
    return float(value) if re.fullmatch(r"[\d.]+e-?\d+", value) else value


def defaults(release: Path) -> dict[str, Any]:
    """Every setting of one release, from its resolved trainer configuration; the asynchronous recipe's own sections beside it."""
    folder = release / "verl" / "trainer" / "config"
    resolved = folder / "_generated_ppo_trainer.yaml"
    found = dict(flat(yaml.safe_load((resolved if resolved.exists() else folder / "ppo_trainer.yaml").read_text())))
    if (recipe := release / ASYNCHRONOUS).exists():
        own = yaml.safe_load(recipe.read_text())
        found.update(flat({name: own[name] for name in ("async_training", "rollout")}))
    return {key: settled(key, value) for key, value in found.items()}


def main(releases: list[str]) -> int:
    wanted = sorted({spelling for card in in_folder("config") for spelling in spellings(card)})
    table = {}
    for release in map(Path, releases):
        every = defaults(release)
        table[release.name] = {key: every[key] for key in wanted if key in every}
    lines = ",\n".join(f" {json.dumps(version)}: {json.dumps(table[version], sort_keys=True)}" for version in table)
    TABLE.write_text(f"{{\n{lines}\n}}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
