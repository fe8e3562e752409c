"""Sentences of answers about stretches, moments and the run itself. They hold no digits, as in ``answers``."""

TEXT: dict[str, tuple[str, str]] = {
    # Follow-ups
    "more_on": ("More on: {title}.", "再说说「{title}」。"),
    "more_nothing": (
        "That was all that this log and the cards say about it. Ask about another metric, or what to change.",
        "关于它，日志和知识卡片能说的就是这些。可以问别的指标，或者该改什么。",
    ),
    "sure": ("This is what it rests on: {title}.", "判断依据如下：{title}。"),
    "sure_values": ("These are the printed values: ", "打印的数值是："),
    "sure_checks": (
        "Every number in these answers is a printed value, computed from printed values, or from a card; the checks are rules on them.",
        "回答里的每个数字都是日志打印的值、由它们算出的值，或来自知识卡片；检查就是建立在这些数值上的规则。",
    ),
    "others": ("Besides that: {title}{since}.", "除此之外：{title}{since}。"),
    "others_none": (
        "No, the checks found nothing else above “odd but normal”.",
        "没有了，检查没有发现其他问题（「看着奇怪但正常」的不算）。",
    ),
    "needs_elsewhere": ("something that this framework does not print", "这个框架不打印的内容"),
    "nothing_to_explain": (
        "There is no fault to explain: none of the {n} checks that this log allows found one.",
        "没有需要解释的问题：这份日志能做的 {n} 项检查都没有发现问题。",
    ),
    # Directions with a turn
    "rose_then_fell": ("rising until step {step}, falling since", "先升到第 {step} 步，之后下降"),
    "fell_then_rose": ("falling until step {step}, rising since", "先降到第 {step} 步，之后上升"),
    "rises_by_median": (
        "rising overall (median of the first {n} values {start}, of the last {n} {end})",
        "总体上升（前 {n} 个值的中位数 {start}，后 {n} 个 {end}）",
    ),
    "falls_by_median": (
        "falling overall (median of the first {n} values {start}, of the last {n} {end})",
        "总体下降（前 {n} 个值的中位数 {start}，后 {n} 个 {end}）",
    ),
    "few_values": ("too few values for a trend", "值太少，看不出趋势"),
    "scaled": (
        "`{key}` is printed in units of {unit}: {printed} means {value}.",
        "`{key}` 以 {unit} 为单位打印：{printed} 即 {value}。",
    ),
    # Stretches
    "span": ("steps {first}–{last}", "第 {first}–{last} 步"),
    "stretch_mean": ("`{key}` averages {value} over {span} ({n} values).", "`{key}` 在{span}（{n} 个值）的平均值是 {value}。"),
    "stretch_median": ("The median of `{key}` over {span} is {value} ({n} values).", "`{key}` 在{span}（{n} 个值）的中位数是 {value}。"),
    "stretch_sum": ("`{key}` sums to {value} over {span} ({n} values).", "`{key}` 在{span}（{n} 个值）的总和是 {value}。"),
    "stretch_std": (
        "The standard deviation of `{key}` over {span} is {value} ({n} values).",
        "`{key}` 在{span}（{n} 个值）的标准差是 {value}。",
    ),
    "stretch_highest": ("The highest `{key}` in {span} is {value}.", "`{key}` 在{span}里的最大值是 {value}。"),
    "stretch_lowest": ("The lowest `{key}` in {span} is {value}.", "`{key}` 在{span}里的最小值是 {value}。"),
    "stretch_range": ("Lowest {low}, highest {high}.", "最低 {low}，最高 {high}。"),
    "stretch_moved": ("In that stretch: {first}, {last} at its end; {trend}.", "这一段里：开始 {first}，结束 {last}；{trend}。"),
    "stretch_before": ("As many values before it ({span}): {value}.", "在它之前同样长的一段（{span}）：{value}。"),
    "stretch_tail_mean": ("Its latest values ({span}) average {value}.", "最近的一段（{span}）平均为 {value}。"),
    "stretch_tail_median": ("The median of its latest values ({span}) is {value}.", "最近的一段（{span}）中位数为 {value}。"),
    "step_summed": (
        "The log has no timer of the whole step; its timers add up to {mean} s on average over {span} (median {median} s).",
        "日志没有整步的计时；各计时项之和在{span}平均 {mean} 秒（中位数 {median} 秒）。",
    ),
    "stretch_fewer": ("The log has fewer than {n} of them: these are all.", "日志里不足 {n} 个：这已经是全部。"),
    "stretch_nonfinite": ("{k} values that are not finite numbers are left out.", "其中 {k} 个不是有限数，未计入。"),
    "stretch_outside": ("`{key}` has no value there; it is printed for {span}.", "`{key}` 在那一段没有值；它打印在{span}。"),
    "no_values": ("This log has no metrics of any step.", "这份日志里没有任何一步的指标。"),
    # Limits
    "first_above": ("`{key}` first exceeds {limit} with {value}.", "`{key}` 首次超过 {limit} 时是 {value}。"),
    "first_above_reach": ("`{key}` first reaches {limit} with {value}.", "`{key}` 首次达到 {limit} 时是 {value}。"),
    "first_below": ("`{key}` is first below {limit} with {value}.", "`{key}` 首次低于 {limit} 时是 {value}。"),
    "starts_above": ("`{key}` is above {limit} from its first value on: {value}.", "`{key}` 从第一个值起就高于 {limit}：{value}。"),
    "starts_above_reach": (
        "`{key}` is at {limit} or above from its first value on: {value}.",
        "`{key}` 从第一个值起就达到 {limit}：{value}。",
    ),
    "starts_below": ("`{key}` is below {limit} from its first value on: {value}.", "`{key}` 从第一个值起就低于 {limit}：{value}。"),
    "never_above": (
        "`{key}` never exceeds {limit} in its {n} values; the highest is {value}.",
        "`{key}` 的 {n} 个值从未超过 {limit}；最高是 {value}。",
    ),
    "never_above_reach": (
        "`{key}` never reaches {limit} in its {n} values; the highest is {value}.",
        "`{key}` 的 {n} 个值从未达到 {limit}；最高是 {value}。",
    ),
    "never_below": (
        "`{key}` is never below {limit} in its {n} values; the lowest is {value}.",
        "`{key}` 的 {n} 个值从未低于 {limit}；最低是 {value}。",
    ),
    "count_above": ("It is above {limit} in {k} of {n} steps.", "{n} 步中有 {k} 步高于 {limit}。"),
    "count_above_reach": ("It is at {limit} or above in {k} of {n} steps.", "{n} 步中有 {k} 步达到或高于 {limit}。"),
    "count_below": ("It is below {limit} in {k} of {n} steps.", "{n} 步中有 {k} 步低于 {limit}。"),
    "counts_above": ("`{key}` is above {limit} in {k} of {n} steps.", "`{key}` 在 {n} 步中有 {k} 步高于 {limit}。"),
    "counts_above_reach": ("`{key}` is at {limit} or above in {k} of {n} steps.", "`{key}` 在 {n} 步中有 {k} 步达到或高于 {limit}。"),
    "counts_below": ("`{key}` is below {limit} in {k} of {n} steps.", "`{key}` 在 {n} 步中有 {k} 步低于 {limit}。"),
    "all_above": ("So are all {n} values.", "全部 {n} 个值都是如此。"),
    "all_above_reach": ("So are all {n} values.", "全部 {n} 个值都是如此。"),
    "all_below": ("So are all {n} values.", "全部 {n} 个值都是如此。"),
    "stays": ("For good only from step {step} on.", "从第 {step} 步起才一直如此。"),
    "stays_from_then": ("It stays there to the end.", "此后一直保持到最后。"),
    "not_any_more": ("At the end it is no longer: {value}.", "到最后已不再如此：{value}。"),
    # Turns
    "fall_starts": (
        "`{key}` starts to fall around step {step}: about {value} there, about {end} by step {end_step} (running median).",
        "`{key}` 大约从第 {step} 步开始下降：那里约 {value}，到第 {end_step} 步约 {end}（滑动中位数）。",
    ),
    "rise_starts": (
        "`{key}` starts to rise around step {step}: about {value} there, about {end} by step {end_step} (running median).",
        "`{key}` 大约从第 {step} 步开始上升：那里约 {value}，到第 {end_step} 步约 {end}（滑动中位数）。",
    ),
    "fall_stops": (
        "`{key}` has done nearly all of its fall by step {step}: about {value}.",
        "`{key}` 到第 {step} 步已基本降完：约 {value}。",
    ),
    "rise_stops": (
        "`{key}` has done nearly all of its rise by step {step}: about {value}.",
        "`{key}` 到第 {step} 步已基本升完：约 {value}。",
    ),
    "fall_half": ("Half of the fall is done by step {step}.", "到第 {step} 步已降了一半。"),
    "rise_half": ("Half of the rise is done by step {step}.", "到第 {step} 步已升了一半。"),
    "moment_now": ("The last value is {value}.", "最后一个值是 {value}。"),
    "no_fall": (
        "In this log `{key}` has no lasting fall beyond its noise: {first}, {last} at the end; {trend}.",
        "这份日志里 `{key}` 没有超出噪声的持续下降：开始 {first}，最后 {last}；{trend}。",
    ),
    "no_rise": (
        "In this log `{key}` has no lasting rise beyond its noise: {first}, {last} at the end; {trend}.",
        "这份日志里 `{key}` 没有超出噪声的持续上升：开始 {first}，最后 {last}；{trend}。",
    ),
    "improved_until": (
        "`{key}` made its last clear gain around step {step} (running median {value}) and has not passed it since; the last value is "
        "{last}.",
        "`{key}` 最后一次明显变好大约在第 {step} 步（滑动中位数 {value}），之后没有再超过；最后一个值是 {last}。",
    ),
    "still_improving": (
        "`{key}` is still gaining: its latest record is around step {step} (running median {value}); the last value is {last}.",
        "`{key}` 还在变好：最近的新高大约在第 {step} 步（滑动中位数 {value}）；最后一个值是 {last}。",
    ),
    "moment_short": (
        "`{key}` has only {n} values here: too few to date a change.",
        "这里 `{key}` 只有 {n} 个值，无法判断从哪一步开始变化。",
    ),
    "moment_finding": ("The finding on it: {title}{since}.", "与它有关的发现：{title}{since}。"),
    "first_nan": (
        "`{key}` is first not a finite number with {value}; so are {k} of {n} values.",
        "`{key}` 首次不是有限数：{value}；{n} 个值中共有 {k} 个如此。",
    ),
    "first_zero": (
        "`{key}` is first zero with {value}; so are {k} of {n} values.",
        "`{key}` 首次为零：{value}；{n} 个值中共有 {k} 个如此。",
    ),
    "first_negative": (
        "`{key}` is first below zero with {value}; so are {k} of {n} values.",
        "`{key}` 首次小于零：{value}；{n} 个值中共有 {k} 个如此。",
    ),
    "first_positive": (
        "`{key}` is first above zero with {value}; so are {k} of {n} values.",
        "`{key}` 首次大于零：{value}；{n} 个值中共有 {k} 个如此。",
    ),
    "never_nan": ("All {n} values of `{key}` are finite numbers.", "`{key}` 的 {n} 个值全部是有限数。"),
    "never_zero": ("None of the {n} values of `{key}` is zero.", "`{key}` 的 {n} 个值没有一个为零。"),
    "never_negative": ("None of the {n} values of `{key}` is below zero.", "`{key}` 的 {n} 个值没有一个小于零。"),
    "never_positive": ("None of the {n} values of `{key}` is above zero.", "`{key}` 的 {n} 个值没有一个大于零。"),
    "first_sign": ("The first sign of trouble is at step {step}: {title}.", "最早的异常出现在第 {step} 步：{title}。"),
    "first_sign_then": ("After it: {titles}.", "之后依次是：{titles}。"),
    "first_sign_crash": ("It stopped with: {title}{since}.", "它停止的原因：{title}{since}。"),
    "nothing_breaks": ("Nothing collapses in this log.", "这份日志里没有崩掉的地方。"),
    "fell_early": ("down by step {step}, level since", "到第 {step} 步降下来，之后基本持平"),
    "rose_early": ("up by step {step}, level since", "到第 {step} 步升上去，之后基本持平"),
    # One step and two steps
    "step_occasional": ("This step also runs {names}.", "这一步还包含 {names}。"),
    "step_outside": (
        "Step {step} is not in this log: it has steps {first}–{last}.",
        "这份日志里没有第 {step} 步：它包含第 {first}–{last} 步。",
    ),
    "step_not_printed": ("Step {step} is not printed; the nearest is step {near}.", "没有打印第 {step} 步；最近的是第 {near} 步。"),
    "step_usual": ("The {n} values before it have a median of {usual}.", "之前 {n} 个值的中位数是 {usual}。"),
    "step_after": ("The next one is {value}.", "下一个是 {value}。"),
    "step_no_value": ("`{key}` is not printed at step {step}.", "第 {step} 步没有打印 `{key}`。"),
    "validation_every": ("Validation is printed {n} times, usually every {usual} steps.", "日志里有 {n} 次验证，通常每 {usual} 步一次。"),
    "validation_few": ("Validation is printed {n} time(s) in this log.", "日志里有 {n} 次验证。"),
    "no_validation": ("This log prints no validation.", "这份日志没有打印验证结果。"),
    "step_seconds": ("A typical step takes {seconds} s.", "一步通常要 {seconds} 秒。"),
    "step_seconds_all": (
        "Steps average {mean} s with validation and checkpoints, over {n} steps.",
        "算上验证和保存，{n} 步平均每步 {mean} 秒。",
    ),
    "step_moved": (
        "At step {step} {n} metrics are far from their level of the steps before; furthest: {rows}.",
        "第 {step} 步有 {n} 个指标明显偏离之前的水平；偏离最大的是：{rows}。",
    ),
    "step_moved_all": ("At step {step}, far from the level of the steps before: {rows}.", "第 {step} 步明显偏离之前水平的指标：{rows}。"),
    "moved_row": ("`{key}` {value} (usual before it: {usual})", "`{key}` {value}（之前通常为 {usual}）"),
    "step_quiet": (
        "Nothing stands out at step {step}: no metric is far from its level of the steps before.",
        "第 {step} 步没有特别之处：没有指标明显偏离之前的水平。",
    ),
    "step_no_before": (
        "Too few steps before step {step} to say what is usual there.",
        "第 {step} 步之前的步数太少，看不出平常的水平。",
    ),
    "step_findings": ("Findings that begin there: {titles}.", "在那里开始的发现：{titles}。"),
    "step_during": ("Under way at that step: {titles}.", "当时已经存在的问题：{titles}。"),
    "step_events": ("The log says there: {events}.", "日志在那里写着：{events}。"),
    "event_row": ("{text} (line {line})", "{text}（第 {line} 行）"),
    "step_values": ("Other values there: {values}.", "那一步的其他值：{values}。"),
    "two_lead": ("Step {a} and step {b}:", "第 {a} 步与第 {b} 步："),
    "two_row": ("`{key}`: {a}, {b}; {change}", "`{key}`：{a}，{b}；{change}"),
    "two_none": ("Neither of the two steps prints values that can be compared.", "这两步没有可以比较的值。"),
    "two_findings": ("Findings that begin between them: {titles}.", "在两者之间开始的发现：{titles}。"),
    "two_no_findings": ("No finding begins between them.", "两者之间没有新的发现。"),
    "up_by": ("up by {gap}", "上升 {gap}"),
    "down_by": ("down by {gap}", "下降 {gap}"),
    "times_more": (" (a factor of {times})", "（{times} 倍）"),
    "times_less": (" (a factor of {times})", "（降为 {times} 分之一）"),
    # Names
    "same_metric": (
        "Yes: {names} are names of one quantity in different versions or frameworks; this log prints `{key}`.",
        "是同一个量：{names} 只是不同版本或框架里的名字；这份日志打印的是 `{key}`。",
    ),
    "same_metric_absent": (
        "Yes: {names} are names of one quantity in different versions or frameworks; this log prints none of them.",
        "是同一个量：{names} 只是不同版本或框架里的名字；这份日志里都没有打印。",
    ),
    "not_same": ("Not the same: `{a}` and `{b}` are two metrics.", "不是一回事：`{a}` 和 `{b}` 是两个指标。"),
    # Premises
    "fault_near": ("What is not normal is `{key}`: {title}{since}.", "不正常的是 `{key}`：{title}{since}。"),
    "not_flat": (
        "In this log `{key}` does move: {first}, {last} at the end; {trend}.",
        "这份日志里 `{key}` 并非不动：开始 {first}，最后 {last}；{trend}。",
    ),
    "is_flat": ("`{key}` shows no clear trend: {first}, {last} at the end.", "`{key}` 没有明显趋势：开始 {first}，最后 {last}。"),
    "setting_seen": ("The metrics of this log give it away: {value}.", "由这份日志的指标可知：{value}。"),
    "setting_gpus_seen": ("The metrics of this log give {n} GPUs in all.", "由这份日志的指标可知一共 {n} 张 GPU。"),
    "setting_effect": ("**What it does.** {text}", "**作用：**{text}"),
    "setting_safe": ("**Usual values.** {text}", "**常用取值：**{text}"),
    "setting_pitfall": ("**Mind.** {text}", "**注意：**{text}"),
    "setting_shows": ("**Where it shows in this log.** {text}", "**在这份日志里看：**{text}"),
    "setting_no_reason": (
        "No finding in this log asks for changing it.",
        "这份日志里没有发现要求改它。",
    ),
}
