"""Sentences of the built-in answers. They hold no digits: every number comes in through a placeholder, from a fact."""

from assistant.messages.asked import TEXT as ASKED
from assistant.messages.decide import TEXT as DECIDE
from assistant.messages.of_run import TEXT as OF_RUN

TEXT: dict[str, tuple[str, str]] = {
    # Shapes
    "at_step": ("{value} (step {step})", "{value}（第 {step} 步）"),
    "since": (", since step {step}", "，自第 {step} 步起"),
    "list_join": ("; ", "；"),
    "and": (" and ", " 和 "),
    "comma": (", ", "、"),
    "stop": (".", "。"),
    "label_values": ("**Values.** ", "**数值：**"),
    "label_why": ("**Why.** ", "**原因：**"),
    "label_meaning": ("**What it is.** ", "**含义：**"),
    "label_version": ("**In this version.** ", "**在这个版本里：**"),
    "label_do": ("**What to do.** ", "**怎么做：**"),
    "label_setting": ("**The setting you name.** ", "**你提到的设置：**"),
    "label_watch": ("**Watch.** ", "**接下来看：**"),
    "label_general": ("**In general** (not from this log). ", "**一般情况**（并非出自这份日志）："),
    "label_healthy": ("**Healthy looks like.** ", "**健康的样子：**"),
    "label_similar": ("**Not to be confused.** ", "**不要混淆：**"),
    "label_rules_out": ("**What would speak against it.** ", "**什么情况可以排除：**"),
    "may_have_read_that": ("You may have read that {text}", "你可能看到过：{text}"),
    "may_have_read": ("You may have read: {text}", "你可能看到过：{text}"),
    # Verdicts on a metric
    "fault": ("Not normal: {title}{since}.", "不正常：{title}{since}。"),
    "fault_low": ("Worth a look, not urgent: {title}{since}.", "值得留意，但不紧急：{title}{since}。"),
    "step_validation_only": (
        "Step {step} holds nothing but validation: the model is tested there without a training step, so the line has no training "
        "metrics and looks different. That is normal (`trainer.val_before_train` before the first step).",
        "第 {step} 步只有验证：那里只测试模型、没有训练，所以这一行没有训练指标，看起来不一样。这是正常的（第一步之前由 `trainer.val_before_train` 控制）。",
    ),
    "info": ("Looks odd, but is normal here: {title}.", "看着奇怪，但在这里属于正常：{title}。"),
    "harmless": ("Looked at as “{title}”, and no harm is seen.", "按「{title}」检查过，没有看到危害。"),
    "passed": (
        "Nothing wrong with `{key}` in this log: {n} checks looked at it and passed.",
        "这份日志里 `{key}` 没有异常：{n} 项相关检查均已通过。",
    ),
    "passed_one": (
        "Nothing wrong with `{key}` in this log: the check that reads it passed.",
        "这份日志里 `{key}` 没有异常：相关检查已通过。",
    ),
    "unjudged": (
        "No check judges `{key}` by itself, and no finding of this log is about it.",
        "没有单独判断 `{key}` 的检查，这份日志的发现也都与它无关。",
    ),
    "too_short": (
        "Nothing wrong with `{key}` is visible, but this log has only {n} values of it: too few to see a course.",
        "看不出 `{key}` 有问题，但日志里它只有 {n} 个值，还看不出走势。",
    ),
    "nonfinite_unjudged": (
        "`{key}` is not a finite number in {k} of {n} steps, first {first}: such a value cannot be used, whatever the others look like.",
        "`{key}` 在 {n} 步中有 {k} 步不是有限数，最早是 {first}：不管其他值如何，这样的值不能用。",
    ),
    "one_value": (
        "This log has a single value of `{key}`: its level can be read, its course cannot.",
        "这份日志里 `{key}` 只有一个值：能看大小，看不出走势。",
    ),
    "also_named": ("Connected in this log: {titles}.", "这份日志里与它有关的发现：{titles}。"),
    # Premises
    "is_positive": (
        "`{key}` is above zero in {k} of {n} steps; the last value is {last}.",
        "`{key}` 在 {n} 步中有 {k} 步大于零；最后一个值是 {last}。",
    ),
    "is_negative": (
        "`{key}` is below zero in {k} of {n} steps; the last value is {last}.",
        "`{key}` 在 {n} 步中有 {k} 步小于零；最后一个值是 {last}。",
    ),
    "not_positive": ("In this log `{key}` is never above zero.", "这份日志里 `{key}` 从未大于零。"),
    "not_negative": ("In this log `{key}` is never below zero.", "这份日志里 `{key}` 从未小于零。"),
    "prints_zero": (
        "`{key}` prints as zero in {k} of {n} steps; this log shows three decimals, so the true value may be small but not zero.",
        "`{key}` 在 {n} 步中有 {k} 步打印为零；这份日志只有三位小数，真实值可能很小而不是零。",
    ),
    "prints_zero_once": (
        "`{key}` prints as zero; this log shows three decimals, so the true value may be small but not zero.",
        "`{key}` 打印为零；这份日志只有三位小数，真实值可能很小而不是零。",
    ),
    "is_nan_once": ("`{key}` is {first}: not a finite number.", "`{key}` 是 {first}：不是有限数。"),
    "is_zero_once": ("`{key}` is exactly zero.", "`{key}` 恰好为零。"),
    "is_positive_once": ("`{key}` is above zero: {last}.", "`{key}` 大于零：{last}。"),
    "is_negative_once": ("`{key}` is below zero: {last}.", "`{key}` 小于零：{last}。"),
    "not_zero_once": ("In this log `{key}` is not zero: {low}.", "这份日志里 `{key}` 不为零：{low}。"),
    "is_zero": ("`{key}` is exactly zero in {k} of {n} steps.", "`{key}` 在 {n} 步中有 {k} 步恰好为零。"),
    "not_zero": (
        "In this log `{key}` is never zero: it lies between {low} and {high}.",
        "这份日志里 `{key}` 从不为零：它在 {low} 与 {high} 之间。",
    ),
    "is_nan": (
        "`{key}` is not a finite number in {k} of {n} steps, first {first}.",
        "`{key}` 在 {n} 步中有 {k} 步不是有限数，最早是 {first}。",
    ),
    "not_nan": ("In this log every one of the {n} values of `{key}` is a finite number.", "这份日志里 `{key}` 的 {n} 个值全部是有限数。"),
    "not_rising": (
        "In this log `{key}` does not rise: {first}, then {last} at the end; {trend}.",
        "这份日志里 `{key}` 并没有上升：开始 {first}，最后 {last}；{trend}。",
    ),
    "not_falling": (
        "In this log `{key}` does not fall: {first}, then {last} at the end; {trend}.",
        "这份日志里 `{key}` 并没有下降：开始 {first}，最后 {last}；{trend}。",
    ),
    "not_missing": ("`{key}` is in this log.", "`{key}` 就在这份日志里。"),
    # Values
    "course": (
        "`{key}`: {first}, {last} at the end; lowest {low}, highest {high}; {trend}.",
        "`{key}`：开始 {first}，最后 {last}；最低 {low}，最高 {high}；{trend}。",
    ),
    "course_short": ("`{key}`: {first}, {last} at the end.", "`{key}`：开始 {first}，最后 {last}。"),
    "constant": ("`{key}`: {last}, the same in all {n} steps that print it.", "`{key}`：{last}，打印它的 {n} 步全都相同。"),
    "single": ("`{key}`: {last}.", "`{key}`：{last}。"),
    "no_finite": ("`{key}`: none of its {n} values is a finite number.", "`{key}`：{n} 个值里没有一个是有限数。"),
    "rises": ("rising overall", "总体上升"),
    "falls": ("falling overall", "总体下降"),
    "no_trend": ("no clear trend", "没有明显趋势"),
    "value_is": ("`{key}` is {value}.", "`{key}` 是 {value}。"),
    "value_last": ("`{key}` is {value}, its last value.", "`{key}` 最后一个值是 {value}。"),
    "value_first": ("`{key}` starts at {value}.", "`{key}` 的第一个值是 {value}。"),
    "value_absent_step": (
        "`{key}` is not printed for step {step}; the nearest is {value}.",
        "第 {step} 步没有打印 `{key}`；最近的是 {value}。",
    ),
    "highest_is": ("The highest `{key}` is {value}.", "`{key}` 的最大值是 {value}。"),
    "lowest_is": ("The lowest `{key}` is {value}.", "`{key}` 的最小值是 {value}。"),
    "trend_is": ("`{key}` is {trend}: {first}, {last} at the end.", "`{key}` {trend}：开始 {first}，最后 {last}。"),
    "trend_short": (
        "`{key}` has only {n} values here: too few for a trend. {values}.",
        "这里 `{key}` 只有 {n} 个值，看不出趋势。{values}。",
    ),
    "medians": ("Median of its first ten values {start}, of its last ten {end}.", "前十个值的中位数是 {start}，后十个是 {end}。"),
    "in_range": ("Rule of thumb, {range}: {text}.", "按经验，{range}：{text}。"),
    "below": ("below {high}", "低于 {high}"),
    "above": ("above {low}", "高于 {low}"),
    "between": ("{low}–{high}", "{low}–{high}"),
    "read_with": ("Read it together with {values}.", "与 {values} 一起看。"),
    "no_series_note": ("No card explains `{key}`; these are only its numbers.", "没有卡片解释 `{key}`，这里只能给出它的数值。"),
    # Absent
    "absent": ("`{key}` is not in this log.", "这份日志里没有 `{key}`。"),
    "absent_hint": (
        "If your run does print it, the pasted part leaves it out: paste whole step lines.",
        "如果你的训练确实会打印它，那就是贴的内容里没有：请贴完整的 step 行。",
    ),
    "absent_title": ("{title} is not in this log.", "这份日志里没有「{title}」。"),
    "unknown_key": ("{names} is not in this log, and no card knows this name.", "这份日志里没有 {names}，知识卡片里也没有这个名字。"),
    # Findings
    "usual_causes": ("Usual causes: {causes}.", "常见原因：{causes}。"),
    "causes": ("Most likely first: {causes}.", "按可能性从高到低：{causes}。"),
    "cause_one": ("{cause}.", "{cause}。"),
    "fix": ("`{key}`: {from_} → {to}. {why}", "`{key}`：{from_} → {to}。{why}"),
    "fix_to": ("`{key}` → {to}. {why}", "`{key}` → {to}。{why}"),
    "fix_printed": ("`{key}`: printed {now} at most → {to}. {why}", "`{key}`：打印值最高为 {now} → {to}。{why}"),
    "fix_key": ("`{key}`: {why}", "`{key}`：{why}"),
    "fix_step": ("{why}", "{why}"),
    "check": ("Then: {check}", "然后看：{check}"),
    "default_note": ("default", "默认"),
    "nothing_to_do": ("Nothing to change for this.", "不需要为此改任何设置。"),
    "nothing_to_do_metric": ("Nothing in this log calls for a change because of it.", "这份日志里没有理由因为它去改设置。"),
    "follows": ("It follows from an earlier problem: {titles}.", "它由更早的问题引起：{titles}。"),
    "finding_fine": (
        "No sign of it in this log: “{title}” was checked and is fine.",
        "这份日志里没有这种迹象：「{title}」已检查，没有问题。",
    ),
    "finding_unknown": ("This log cannot tell whether this is so: “{title}” needs {needs}.", "这份日志无法判断「{title}」：需要 {needs}。"),
    "finding_unseen": ("Nothing in this log shows “{title}”.", "这份日志里看不出「{title}」。"),
    "urgent": ("More urgent in this log: {title}{since}.", "这份日志里更要紧的是：{title}{since}。"),
    "no_crash": ("No crash is recorded in this log.", "这份日志里没有记录到崩溃。"),
    "no_crash_last": ("The last thing it prints is step {step}.", "它最后打印的是第 {step} 步。"),
    "no_crash_hint": (
        "If the job did stop, the error is outside the pasted part: paste the lines from the first “Error” or “Traceback” "
        "on, of every process.",
        "如果任务确实停了，报错不在贴出来的这部分里：请把每个进程从第一个 “Error” 或 “Traceback” 开始的内容贴上来。",
    ),
    # Whole run
    "log_is": (
        "{framework}{era}, {algorithm}{n} steps ({first}–{last}).",
        "{framework}{era}，{algorithm}共 {n} 步（第 {first}–{last} 步）。",
    ),
    "log_is_one": ("{framework}{era}, {algorithm}step {first} only.", "{framework}{era}，{algorithm}只有第 {first} 步。"),
    "log_is_no_steps": ("{framework}{era}, {algorithm}no metrics of a step.", "{framework}{era}，{algorithm}没有任何一步的指标。"),
    "algorithm": ("{name}, ", "{name}，"),
    "version_unknown": (" (version not recognised)", "（版本无法确定）"),
    "framework_unknown": ("Framework not recognised", "框架未识别"),
    "healthy": ("Healthy: of {n} checks that this log allows, none found a problem.", "健康：这份日志能做的 {n} 项检查都没有发现问题。"),
    "healthy_short": (
        "Nothing wrong so far; so few steps ({n}) do not show the course of a run.",
        "目前没有发现问题；步数太少（{n} 步），还看不出训练走势。",
    ),
    "no_checks": (
        "This log gives too little to judge: none of the checks could run.",
        "这份日志信息太少，无法判断：没有一项检查能够进行。",
    ),
    "only_low": ("No serious problem; worth a look: {title}{since}.", "没有严重问题；值得留意：{title}{since}。"),
    "problem_one": ("One problem: {title}{since}.", "有一个问题：{title}{since}。"),
    "problems": ("{n} problems; first: {title}{since}.", "共 {n} 个问题，先处理：{title}{since}。"),
    "story": ("**What led to what.** {chain}.", "**来龙去脉：**{chain}。"),
    "then": ("**Then.** {titles}.", "**其次：**{titles}。"),
    "looks_odd": ("**Odd but normal.** {titles}.", "**看着奇怪但正常：**{titles}。"),
    "cannot_tell": (
        "**This log cannot tell** {n} further things; the most useful to log: {needs}.",
        "**这份日志看不出**另外 {n} 件事；最值得补充记录的是：{needs}。",
    ),
    "nothing_change": (
        "Nothing to change: no check that this log allows found a problem.",
        "不用改：这份日志能做的检查都没有发现问题。",
    ),
    # Time
    "time_lead": (
        "Most of a step goes to `{name}`: {seconds} s of {total} s ({share}).",
        "一步里最花时间的是 `{name}`：{total} 秒中的 {seconds} 秒（{share}）。",
    ),
    "time_row": ("`{name}` {seconds} s, {share}", "`{name}` {seconds} 秒，{share}"),
    "time_row_inside": ("of that `{name}` {seconds} s", "其中 `{name}` {seconds} 秒"),
    "time_rest": ("in no timer {seconds} s, {share}", "没有计时的部分 {seconds} 秒，{share}"),
    "time_outside": ("outside the step, in {n} steps: `{name}` {seconds} s each", "步外（{n} 步）：`{name}` 每次 {seconds} 秒"),
    "time_note": ("Mean seconds per step that has them; shares of all step time.", "秒数是含有该项的各步平均；占比相对全部步时间。"),
    "time_none": (
        "This log has no timers (`timing_s/…`), so it cannot say where the time goes.",
        "这份日志没有计时指标（`timing_s/…`），看不出时间花在哪里。",
    ),
    "time_no_fault": ("No check calls the speed abnormal.", "速度方面的检查没有发现异常。"),
    "time_timer": ("`{name}` takes {share} of the step time.", "`{name}` 占一步时间的 {share}。"),
    # Compare
    "compare_diff": ("`{a}` is {va} and `{b}` is {vb}: {which}.", "`{a}` 是 {va}，`{b}` 是 {vb}：{which}。"),
    "a_higher": ("the first is higher by {gap}", "前者高 {gap}"),
    "b_higher": ("the second is higher by {gap}", "后者高 {gap}"),
    "same_value": ("no difference at the printed precision", "按打印精度没有差别"),
    "compare_values": ("`{a}` is {va} and `{b}` is {vb}.", "`{a}` 是 {va}，`{b}` 是 {vb}。"),
    "correlated": (
        "Over {n} shared steps their rank correlation is {r}: they move {how}.",
        "在共同的 {n} 步上，两者的秩相关是 {r}：{how}。",
    ),
    "together": ("together", "同向变化"),
    "opposite": ("in opposite directions", "反向变化"),
    "independent": ("largely independently", "基本互不相关"),
    "correlation_note": ("A correlation is no cause.", "相关不等于因果。"),
    "never_together": ("The two are never printed for the same step.", "两者没有在同一步打印过。"),
    # Settings
    "setting_is": ("`{key}` is {value} (line {line}).", "`{key}` 是 {value}（第 {line} 行）。"),
    "setting_is_noline": ("`{key}` is {value}.", "`{key}` 是 {value}。"),
    "setting_absent": ("The value of `{key}` is not in this log{config}.", "这份日志里没有 `{key}` 的值{config}。"),
    "setting_no_config": (
        ": the pasted part holds no configuration. verl prints it when a job starts; paste those lines, too",
        "：贴出来的部分没有配置。verl 在任务启动时会打印配置，请把那几行也贴上来",
    ),
    "setting_not_set": (": the configuration in the log does not name it", "：日志里的配置没有写这一项"),
    "setting_default": ("Unless it was changed, it is {value}, this version's default.", "如果没有改过，它是这个版本的默认值 {value}。"),
    "setting_advice": ("A finding in this log speaks of it: {title}.", "这份日志里有一个发现与它有关：{title}。"),
    # Reading guide
    "which_lead": (
        "Read in this order: the score and validation first, then entropy, length and gradient norm, then the KL, last the time. "
        "The sign and size of the policy loss tell nothing about progress.",
        "按这个顺序看：先看得分和验证，再看熵、长度、梯度范数，然后看 KL，最后看时间。策略损失的正负和大小不能说明进展。",
    ),
    "which_missing": ("Not in this log: {titles}.", "这份日志里没有：{titles}。"),
    # Unknown
    "unknown": (
        "I could not tell what you are asking about. Name a metric, a setting or a step, or ask what is wrong, what to change, "
        "where the time goes, or why it stopped.",
        "没看懂你问的是什么。可以写出指标、设置或某一步，也可以问哪里有问题、该改什么、时间花在哪、为什么停了。",
    ),
    "empty": ("No question was asked; here is the state of the run.", "没有收到问题；下面是这次训练的状况。"),
    "long_question": ("Only the beginning of your question was read: it is very long.", "问题太长，只读了开头部分。"),
    # Follow-ups
    "ask_wrong": ("What is wrong with this run?", "这次训练有什么问题？"),
    "ask_why": ("Why: {title}?", "为什么会「{title}」？"),
    "ask_change": ("What should I change?", "我该改什么？"),
    "ask_time": ("Where does the time go?", "时间花在哪里？"),
    "ask_meaning": ("What does {key} mean?", "{key} 是什么意思？"),
    "ask_normal": ("Is {key} normal?", "{key} 正常吗？"),
    "ask_which": ("Which metrics matter?", "该看哪些指标？"),
    "ask_trend": ("How did {key} develop?", "{key} 的走势如何？"),
}

TEXT |= ASKED | OF_RUN | DECIDE
