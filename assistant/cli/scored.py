"""The score of an evaluation as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assistant.evaluation import Scores


def print_scores(scores: Scores, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    table = Table(box=None, padding=(0, 1), header_style="bold dim")
    for name in ("case", "@1", "@3", "read", "top", "false alarms", "forbidden", "unexplained", "onset ±", "s"):
        table.add_column(name, overflow="fold")
    for case in scores.cases:
        read = "" if case.parsed is None else _mark(case.parsed)
        table.add_row(
            Text(case.id[:48], style="dim" if case.quiet else ""),
            _mark(case.hit_at_1),
            _mark(case.hit_at_3),
            read,
            case.error or case.top or "–",
            " ".join(case.alarms),
            Text(" ".join(case.forbidden), style="red"),
            " ".join(case.missing_info),
            "" if case.onset_error is None else str(case.onset_error),
            f"{case.seconds:.2f}",
        )
    console.print(table)
    totals = scores.totals()
    calm = totals["n_quiet"] - totals["quiet_disturbed"]
    parts = [
        f"{totals['n']} cases: hit@1 {_share(totals, 'hit_at_1')}, hit@3 {_share(totals, 'hit_at_3')}",
        f"with a fault {scores.rate('hit_at_1', quiet=False):.2f}, quiet {calm} of {totals['n_quiet']} undisturbed",
        f"{totals['false_alarms']} false alarms, {totals['forbidden']} forbidden findings",
        f"info explained {_share(totals, 'info_explained')} of {totals['n_expected_info']}",
        f"onset right {_share(totals, 'onset_right')} of {totals['n_onset']}",
        f"abstention {_share(totals, 'abstention')} of {totals['n_unanswerable']}",
        f"read as labelled {totals['parsed']} of {totals['parse_checked']}; {totals['seconds']:.1f} s",
    ]
    console.print("; ".join(parts))


def _share(totals: Mapping[str, Any], name: str) -> str:
    """``0.94 ± 0.04``, or a dash without cases."""
    return "–" if totals[name] is None else f"{totals[name]:.2f} ± {totals[f'{name}_stderr']:.2f}"


def _mark(value: bool) -> Text:
    return Text("✓", style="green") if value else Text("✗", style="red")
