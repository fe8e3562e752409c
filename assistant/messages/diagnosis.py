"""Sentences about a diagnosis as a whole (a finding's own sentences are in its card)."""

TEXT: dict[str, tuple[str, str]] = {
    "check_gone": ("The next log no longer shows this finding.", "之后的日志里不再出现这一项。"),
    "line": ("line {line}", "第 {line} 行"),
    "space": (" ", ""),
    "comma": (", ", "、"),
    "story": ("What led to what: {chain}.", "来龙去脉：{chain}。"),
    "story_at": ("{title} (step {step})", "{title}（第 {step} 步）"),
    "story_then": ("{title} (about then)", "{title}（差不多同时）"),
    "story_also": ("It also explains: {names}.", "由此还可解释：{names}。"),
    "story_act": ("Act on the first: {name}.", "应先处理最前面的：{name}。"),
    "needs_steps": ("at least {n} logged steps", "至少 {n} 步日志"),
    "needs_log_start": ("the log from its first step on", "从第一步开始的日志"),
    "needs_version_after_0_1": ("a framework version after 0.1", "0.1 之后的框架版本"),
    "needs_timestamps": ("the time of the last line and how long a step takes", "最后一行的时间，以及每步耗时"),
    "needs_config": ("the configuration that the trainer prints at its start", "trainer 启动时打印的配置"),
    "needs_elsewhere": ("what this kind of run does not print", "这类训练不打印的信息"),
    "needs_metric": ("{metric} in the log", "日志中要有：{metric}"),
    "needs_device_memory": (
        "the size of the GPU's memory (nvidia-smi), to compare the peak with",
        "GPU 显存容量（nvidia-smi），用来与峰值比较",
    ),
    "needs_progress_bar": (
        "the progress bar's seconds per iteration beside timing_s/step: data loading lies outside the step's timer",
        "进度条的每步秒数与 timing_s/step 对照：数据加载不在步计时之内",
    ),
}
