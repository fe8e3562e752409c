"""Sentences about a diagnosis as a whole (a finding's own sentences are in its card)."""

TEXT: dict[str, tuple[str, str]] = {
    "needs_steps": ("at least {n} logged steps", "至少 {n} 步日志"),
    "needs_metric": ("{metric} in the log", "日志中要有：{metric}"),
}
