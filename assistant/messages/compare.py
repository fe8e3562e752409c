"""Sentences about two runs side by side."""

TEXT: dict[str, tuple[str, str]] = {
    "run": ("{letter}: {header}", "{letter}：{header}"),
    "verdict_fixed": (
        "Fixed: what was wrong in A is not there in B, and nothing new is.",
        "已修复：A 中的问题在 B 中不再出现，也没有新问题。",
    ),
    "verdict_improved": ("Improved: part of what was wrong in A is gone or milder in B.", "有改善：A 中的问题在 B 中部分消失或减轻。"),
    "verdict_not-fixed": ("Not fixed: B has the same problems as A.", "未修复：B 与 A 有同样的问题。"),
    "verdict_worse": ("Worse: B has graver problems than A.", "变差：B 的问题比 A 更严重。"),
    "verdict_new-problem": ("A's problem is gone, but B has another.", "A 的问题消失了，但 B 出现了另一个问题。"),
    "verdict_both-healthy": ("Neither run shows a problem.", "两次训练都未见问题。"),
    "verdict_too-early": (
        "Too early to tell: B ends before the step at which A's problem set in.",
        "为时尚早：A 的问题出现的那一步，B 还没跑到。",
    ),
    "config": ("Settings that differ", "不同的配置"),
    "no_config": ("Settings: no difference that the logs show.", "配置：日志中看不出差别。"),
    "other_config": ("{n} more that no card knows: {names}", "另有 {n} 项没有卡片说明：{names}"),
    "acts_on": ("acts on {names}", "影响 {names}"),
    "metrics": ("Where the curves part ({n} of them; {shared} steps in both)", "曲线从哪里分开（{n} 条；共有 {shared} 步）"),
    "no_metrics": ("No curve parts beyond its noise ({shared} steps in both).", "没有曲线的差异超出噪声（共有 {shared} 步）。"),
    "column_metric": ("metric", "指标"),
    "column_from": ("apart from step", "从第几步分开"),
    "column_setting": ("explained by", "可由此解释"),
    "ends": ("ends", "末段"),
    "better": ("better in {letter}", "{letter} 更好"),
    "findings": ("Findings", "诊断"),
    "only": ("only in {letter}", "仅 {letter}"),
    "both": ("in both", "两者都有"),
    "since": ("since step {step}", "自第 {step} 步起"),
    "unset": ("not set", "未设置"),
    "likely": (
        "Likely reason: {key} ({a} → {b}); it acts on {metric}, which parts at step {step}.",
        "可能的原因：{key}（{a} → {b}）；它影响 {metric}，后者从第 {step} 步起分开。",
    ),
    "likely_ends": (
        "Likely reason: {key} ({a} → {b}); it acts on {metric}, which ends apart.",
        "可能的原因：{key}（{a} → {b}）；它影响 {metric}，后者末段不同。",
    ),
}
