"""Sentences about opening a log."""

TEXT: dict[str, tuple[str, str]] = {
    "nothing_found": (
        "No training metrics and no crash were found in this text; paste the console output of the run, with its “step:…” lines.",
        "没有在这段文本里找到训练指标或报错；请粘贴训练的控制台输出，要包含 “step:…” 开头的指标行。",
    ),
}
