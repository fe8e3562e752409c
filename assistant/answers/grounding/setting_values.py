"""What the present value of a setting rests on when the log's config does not show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assistant.diagnosis.settings import observed
from assistant.diagnosis.translate import settings_of
from assistant.run import Point, Run
from assistant.spoken_names import SETTING_OF_METRIC

if TYPE_CHECKING:
    from assistant.answers.grounding.context import Context


def known_from(run: Run, key: str) -> Literal["config", "metrics", "default"]:
    """What the present value of a setting rests on: the log's config, what its metrics print, or the default of the version."""
    if key in run.config:
        return "config"
    spelled = [key, *(name for name, row in settings_of(run).items() if row.get("key") == key)]
    return "metrics" if any(observed(run, name) is not None for name in spelled) else "default"


def printed_setting(context: Context, key: str) -> Point | None:
    """The highest value of the metric that repeats a setting which the log does not show: of a learning rate the top of its schedule."""
    own = settings_of(context.diagnosis.run)
    for metric, setting in SETTING_OF_METRIC.items():
        if (
            key in (setting, (own.get(setting) or {}).get("key"))
            and (shape := context.curve(metric)) is not None
            and shape.highest is not None
        ):
            return shape.point(shape.highest)
    return None
