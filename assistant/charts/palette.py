"""Colours of every chart: told apart with any colour vision (lightness or dash differs too), at least 3 : 1 on white and on dark paper."""

from __future__ import annotations

LINE = "#2a8780"
ONSET = "#c2611c"
BROKEN = "#c23b3b"
RUNS = ("#2f7fc2", "#d0612a")
"""Run A (drawn dashed) and run B."""
LAYERS = ("#2f7fc2", "#d0612a", "#2a8780", "#a8801a", "#8a73c9", "#5b8f3a", "#c4587f")
"""Stacked parts, largest first; further parts are drawn together with the rest."""
REST = "#7d8590"
BAND = "#5b8f3a"
INK = "#33383c"
SOFT = "#6b7176"
RULE = "#dcd8d0"
PAPER = "#ffffff"

DARK = {
    LINE: "#5cc1b8", ONSET: "#f0a060", BROKEN: "#ff8a82", INK: "#e8e4dc", SOFT: "#a3a9ae", RULE: "#3a4046", PAPER: "#1b1f23",
    BAND: "#86cf6b", REST: "#9aa2aa", "#2f7fc2": "#6fb1ec", "#d0612a": "#f08a55", "#a8801a": "#d9b04a", "#8a73c9": "#b3a0ea",
    "#5b8f3a": "#86cf6b", "#c4587f": "#ea86aa",
}  # fmt: skip
"""What a colour becomes on dark paper (in a report, which follows the reader's system)."""
