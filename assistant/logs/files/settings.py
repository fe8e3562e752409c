"""Settings files that trackers keep beside a run: ``config.yaml`` of wandb and SwanLab, JSON arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assistant.logs.files.rows import flat_settings

_LONGEST = 4 << 20


def yaml_settings(content: bytes) -> dict[str, Any]:
    """The settings of a ``config.yaml`` (each under ``value``), flat; empty when it is no such file."""
    import yaml

    if len(content) > _LONGEST or (b"*" in content and b"&" in content):  # no anchors: a few bytes could unfold without end
        return {}
    try:
        found = yaml.safe_load(content)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return unwrapped({str(key): value for key, value in found.items()})


def unwrapped(found: Mapping[str, Any]) -> dict[str, Any]:
    """``{"lr": {"desc": …, "value": 1e-6}}`` → ``{"lr": 1e-6}``, flat; the trackers' own entries are left out."""
    plain = {}
    for key, value in found.items():
        if key.startswith("_") or key == "wandb_version":
            continue
        plain[key] = value["value"] if isinstance(value, dict) and "value" in value and value.keys() <= {"value", "desc", "sort"} else value
    return flat_settings(plain)


def json_value(text: str) -> Any:
    """A value stored as JSON text; the text itself when it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
