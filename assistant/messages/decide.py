"""Sentences of answers that decide something (stop, checkpoint, whether a change helped) or say what no log can. They hold no digits."""

TEXT: dict[str, tuple[str, str]] = {
    # Stop or go on
    "stop_yes": ("Stop it: {title}{since}.", "建议停掉：{title}{since}。"),
    "stop_fix": (
        "It is still learning, but stop it to change this first: {title}{since}.",
        "还在学，但建议先停下来改这一项：{title}{since}。",
    ),
    "stop_done": ("You can stop: {title}{since}.", "可以停了：{title}{since}。"),
    "stop_no": ("Go on: nothing in this log asks for a stop, and it is still learning.", "可以继续：这份日志里没有要停的理由，它还在学。"),
    "stop_no_look": (
        "Go on: what this log shows is no reason to stop; worth a look: {title}{since}.",
        "可以继续：就这份日志看没有要停的理由；值得留意：{title}{since}。",
    ),
    "stop_flat": (
        "Nothing is broken, but nothing is gained either: the score shows no clear trend.",
        "没有出问题，但也没有收获：得分没有明显趋势。",
    ),
    "stop_unclear": (
        "This log does not show it: no check found a reason to stop, and there are too few values to see whether it learns.",
        "这份日志看不出来：没有检查发现要停的理由，但数值太少，也看不出是否在学。",
    ),
    "stop_crashed": ("It has already stopped: {title}{since}.", "它已经停了：{title}{since}。"),
    "stop_finished": ("It has already finished (step {step}).", "它已经跑完（第 {step} 步）。"),
    # Checkpoints
    "best_point": (
        "The one nearest to step {step}: there `{key}` has its best value, {value}.",
        "离第 {step} 步最近的那个：`{key}` 在那里最好，为 {value}。",
    ),
    "best_before": (
        "The one nearest to step {step}, and before step {onset}, where this begins: {title}. Of the values before it, `{key}` is best "
        "there: {value}.",
        "离第 {step} 步最近、且在第 {onset} 步之前的那个（从第 {onset} 步开始：{title}）：在此之前的值里，`{key}` 在那里最好，为 {value}。",
    ),
    "best_epoch": ("That is epoch {value}.", "对应 epoch {value}。"),
    "best_train_only": (
        "This log has no validation, so only the training score can guide the choice: evaluate two or three checkpoints around it.",
        "这份日志没有验证，只能按训练得分来选：把它附近的两三个 checkpoint 都评测一下。",
    ),
    "best_noise": (
        "Neighbouring validations differ by noise: prefer a stretch of good values to a single peak.",
        "相邻验证之间有噪声：宁可选一段都好的位置，不要只看单个峰值。",
    ),
    "best_none": (
        "This log cannot tell: it prints neither validation nor a score with several values. Evaluate the saved checkpoints.",
        "这份日志看不出来：既没有验证，也没有多个得分值。请直接评测保存下来的 checkpoint。",
    ),
    "best_saved": ("Checkpoints are saved every {n} steps (`{key}`).", "每 {n} 步保存一次 checkpoint（`{key}`）。"),
    "best_crash": (
        "The last one that was saved before the crash; compare it with the best one above.",
        "崩溃之前保存的最后一个；再与上面最好的比较。",
    ),
    # Whether a change helped
    "worked": ("By these signs in the new run: {checks}.", "看新的训练里有没有这些现象：{checks}。"),
    "worked_now": ("In this log: ", "这份日志里："),
    "worked_compare": (
        "Then put both logs side by side (`runwhy compare`, or add the new log to this talk) and ask whether it worked.",
        "然后把两份日志放在一起比较（`runwhy compare`，或把新日志加进来），再问有没有效果。",
    ),
    "worked_healthy": (
        "Nothing in this log needed a fix; of a change you see the effect by comparing both logs (`runwhy compare`).",
        "这份日志没有需要修的问题；改动的效果要比较两份日志才看得出（`runwhy compare`）。",
    ),
    # How long it usually takes
    "usual_time": (
        "There is no usual figure: it is seconds per step times steps, and both depend on GPUs, batch and answer length. In this log:",
        "没有通用的数字：等于每步秒数乘以步数，两者都取决于 GPU、batch 和回答长度。这份日志里：",
    ),
    # What a log cannot tell
    "gpu_model": ("The log does not print the GPU model, at most how many there are.", "日志没有打印 GPU 型号，最多只有数量。"),
    "hardware": (
        "A training log can hardly prove or exclude a hardware fault; `dmesg` of the node (Xid, ECC, NVLink) and a run on other nodes can.",
        "训练日志很难证明或排除硬件故障；看节点的 `dmesg`（Xid、ECC、NVLink），或换一台机器跑，才能判断。",
    ),
    "hardware_none": ("Nothing in this log points to one.", "这份日志里没有这类迹象。"),
    "data_quality": (
        "That cannot be read from this log: it holds numbers, no samples. Read twenty prompts with their answers and scores.",
        "这份日志看不出来：里面只有数字，没有样本。请抽二十条 prompt，连同回答和得分一起看。",
    ),
    "reward_right": (
        "Scores alone do not show whether the reward function is right. Call it by hand on a known right and a known wrong answer, and read "
        "a few high-scored samples.",
        "只看得分无法判断奖励函数对不对。拿一条已知正确、一条已知错误的回答手动调用它，再看几条高分样本。",
    ),
    "in_this_log": ("What this log does show: ", "这份日志能看出的是："),
    "crash_when": (
        "No crash is in this log and none can be foretold, but this is what could end the run: {title}{since}.",
        "这份日志里没有崩溃，也无法预告；但可能让它停下的是：{title}{since}。",
    ),
    "oom_when": (
        "In how many steps depends on the memory of the node, which is not in this log: divide what is still free by this rate.",
        "还能跑多少步取决于节点的内存大小，日志里没有：用剩余内存除以这个增速。",
    ),
    "thanks": ("You are welcome. Ask on whenever a number looks odd.", "不客气。哪个数字看着不对，随时再问。"),
    "can_do": (
        "I answer questions on this log: is it healthy, why is a metric so, what does it mean, what to change first, should it be stopped, "
        "which checkpoint to keep, where the time goes, why it crashed, what happened at a step.",
        "我回答关于这份日志的问题：是否健康、某个指标为什么这样、是什么意思、先改什么、要不要停、保留哪个 checkpoint、时间花在哪、为什么崩、某一步发生了什么。",
    ),
    # Reading several metrics
    "reading_row": ("**`{key}`** {text}", "**`{key}`** {text}"),
    "reading_here": ("Here: {values}", "这里：{values}"),
    "reading_healthy": ("Healthy: {text}", "健康的样子：{text}"),
    "reading_score": (
        "None of these says how good the policy is; that is the reward: {values}",
        "这些都不说明策略有多好；那要看奖励：{values}",
    ),
    "setting_ask_instead": ("What this log asks for instead: {title}. {fix}", "这份日志更需要的是：{title}。{fix}"),
    "setting_not_first": (
        "Not first. What speaks for it ({title}) follows from an earlier problem: {cause}. {fix}",
        "先不用。支持改它的发现（{title}）由更早的问题引起：{cause}。{fix}",
    ),
    "setting_then": ("Only if that does not help: {fix}", "如果这样还不行，再改：{fix}"),
    "setting_asked": ("A finding in this log asks for it: {title}.", "这份日志里有一个发现要求改它：{title}。"),
    "no_improved": ("`{key}` went from {first} to {last}: {change}.", "`{key}` 从 {first} 变为 {last}：{change}。"),
    "not_claimed": (
        "In this log `{key}` never has that value: it lies between {low} and {high}.",
        "这份日志里 `{key}` 没有到过这个值：它在 {low} 与 {high} 之间。",
    ),
    "not_claimed_once": ("In this log `{key}` has another value: {low}.", "这份日志里 `{key}` 是另一个值：{low}。"),
    "not_good": ("No, not by itself.", "不是，单看这一点说明不了好坏。"),
    "also_asked": ("**And:** {text}", "**另外：**{text}"),
    "finding_begins": ("At step {step}: {title}.", "从第 {step} 步开始：{title}。"),
    "there_from_start": ("There from the first step on: {titles}.", "从第一步起就有：{titles}。"),
    "kin": ("“{title}” itself is not what this log shows.", "这份日志显示的并不是「{title}」本身。"),
}
