"""Sentences of answers about the run itself and its outlook. They hold no digits, as in ``answers``."""

TEXT: dict[str, tuple[str, str]] = {
    # The run itself
    "run_no_framework": ("No framework was recognised in this log.", "这份日志没有识别出框架。"),
    "run_version": (
        "{framework} {era}: the release series that the printed keys fit; the log does not print its version.",
        "{framework} {era}：这是与打印的指标名相符的版本系列；日志本身没有打印版本号。",
    ),
    "run_version_unknown": (
        "{framework}, version unknown: nothing in this log tells the releases apart.",
        "{framework}，版本无法确定：这份日志里没有能区分版本的内容。",
    ),
    "run_because": ("Because: {clues}.", "依据：{clues}。"),
    "run_version_note": (
        "`pip show` in the environment of the job gives the exact release.",
        "在任务的环境里运行 `pip show` 可以看到确切版本。",
    ),
    "run_no_algorithm": ("The log does not give away the advantage estimator.", "日志里看不出优势估计方法。"),
    "run_is": ("The advantage estimator is {name}.", "优势估计方法是 {name}。"),
    "run_is_gae": ("PPO with a critic: the advantage estimator is {name}.", "带 critic 的 PPO：优势估计方法是 {name}。"),
    "run_is_grpo": ("GRPO, without a critic: the advantage estimator is {name}.", "GRPO，没有 critic：优势估计方法是 {name}。"),
    "gpus_derived": (
        "{n} GPUs: that is what tokens, throughput per GPU and step time of this log give.",
        "{n} 张 GPU：由这份日志里的 token 数、每卡吞吐和步时间推出。",
    ),
    "gpus_config": (
        "The configuration says {total} in all: {n} a node, nodes: {nodes}{where}.",
        "配置里共 {total} 张：每节点 {n} 张，节点数 {nodes}{where}。",
    ),
    "gpus_config_each": ("`{key}` is {n}{where}; the number of nodes is not in the log.", "`{key}` 是 {n}{where}；日志里没有节点数。"),
    "gpus_disagree": (
        "The two differ: the metrics count the GPUs that the throughput is divided by.",
        "两者不一致：指标推出的是计算吞吐时所除的 GPU 数。",
    ),
    "gpus_unknown": (
        "This log does not tell: it prints neither a configuration with the GPUs nor tokens, throughput and step time together.",
        "这份日志看不出来：既没有打印含 GPU 数的配置，也没有同时打印 token 数、吞吐和步时间。",
    ),
    "on_line": (" (line {line})", "（第 {line} 行）"),
    "responses_derived": (
        "{n} responses a step, over all GPUs: the tokens of a step divided by the mean length of prompt plus response.",
        "每步共 {n} 条回答（所有 GPU 合计）：由一步的 token 总数除以 prompt 加回答的平均长度得到。",
    ),
    "responses_config": (
        "The configuration: `{key}` {batch} prompts × `{name}` {n} = {total} responses a step.",
        "配置：`{key}` {batch} 个 prompt × `{name}` {n} = 每步 {total} 条回答。",
    ),
    "responses_disagree": (
        "The two differ: filtering, padding or dynamic sampling changes what reaches the update.",
        "两者不一致：过滤、补齐或动态采样会改变实际进入更新的数量。",
    ),
    "responses_prompts": ("With `{name}` {n} that is {prompts} prompts.", "`{name}` 为 {n}，即 {prompts} 个 prompt。"),
    "responses_group_unknown": (
        "How many of them share a prompt (`{name}`) is not in this log.",
        "其中每个 prompt 采样几条（`{name}`）日志里没有写。",
    ),
    "responses_unknown": (
        "This log does not tell how many responses a step has: the configuration and the token counts are missing.",
        "这份日志看不出每步有多少条回答：缺少配置和 token 数。",
    ),
    "eta": (
        "About {left} left: step {step} of {total}, {steps} to go, at {seconds} s a step as of late.",
        "大约还要{left}：目前第 {step} 步，共 {total} 步，还剩 {steps} 步，最近每步 {seconds} 秒。",
    ),
    "eta_note": (
        "It counts step time only; validation and checkpoints outside the step, and changing answer lengths, are not in it.",
        "只按步时间计算；步外的验证、保存以及回答长度的变化没有算进去。",
    ),
    "eta_done": ("It has finished: step {step} of {total}.", "已经跑完：第 {step} 步，共 {total} 步。"),
    "eta_steps_only": (
        "{left} steps left (step {step} of {total}); the log has no timers, so the time cannot be told.",
        "还剩 {left} 步（第 {step} 步，共 {total} 步）；日志里没有计时指标，算不出时间。",
    ),
    "eta_no_total": (
        "The log does not say how many steps there will be (no progress bar, no announced total); it is at step {step}.",
        "日志没有写一共多少步（没有进度条，也没有打印总步数）；目前到第 {step} 步。",
    ),
    "eta_final": (
        "It has finished: after step {step} the log holds the final validation.",
        "已经跑完：第 {step} 步之后日志里有最终验证。",
    ),
    "eta_rate": ("A step takes {seconds} s: multiply by the steps that are left.", "每步 {seconds} 秒：乘以剩余步数即可。"),
    "eta_crashed": ("But the job has stopped: {title}.", "但任务已经停了：{title}。"),
    "unit_days": ("{n} days", " {n} 天"),
    "unit_hours": ("{n} hours", " {n} 小时"),
    "unit_minutes": ("{n} minutes", " {n} 分钟"),
    "unit_seconds": ("{n} seconds", " {n} 秒"),
    "elapsed": (
        "{n} logged steps took {total} in all; a typical step {seconds} s.",
        "日志里的 {n} 步合计用了{total}；通常每步 {seconds} 秒。",
    ),
    "gpu_hours": ("On {n} GPUs that is {hours} GPU hours.", "按 {n} 张 GPU 计，即 {hours} GPU 小时。"),
    "elapsed_note": ("Start-up and what lies between steps are not in it.", "启动时间和步与步之间的时间不在内。"),
    "steps_total": ("The job announces {total} steps.", "任务预定一共 {total} 步。"),
    "total_direct": ("`{key}` is {value} (median of its latest values).", "`{key}` 是 {value}（最近各值的中位数）。"),
    "total_throughput": (
        "About {value} tokens a second over all GPUs ({tokens} / {seconds}, median of the latest steps).",
        "所有 GPU 合计约每秒 {value} 个 token（{tokens} / {seconds}，最近各步的中位数）。",
    ),
    "total_per_gpu": ("`{key}` is per GPU: {value}, on {n} GPUs.", "`{key}` 是每张 GPU 的值：{value}，共 {n} 张 GPU。"),
    "total_no_gpus": (
        "`{key}` is per GPU: {value}. The number of GPUs is not in this log; multiply by it.",
        "`{key}` 是每张 GPU 的值：{value}。日志里没有 GPU 数，乘以它就是总吞吐。",
    ),
    "total_from_gpus": (
        "About {total} tokens a second in all: `{key}` {value} per GPU × {n} GPUs.",
        "合计约每秒 {total} 个 token：`{key}` 每张 GPU {value} × {n} 张。",
    ),
    "total_from_config": (
        "About {value} tokens a second in all: {n} responses a step × ({prompt} + {response}) / {seconds}, median of the latest steps.",
        "合计约每秒 {value} 个 token：每步 {n} 条回答 ×（{prompt} + {response}）/ {seconds}，取最近各步的中位数。",
    ),
    "total_none": (
        "This log prints neither a throughput nor the tokens of a step with its time.",
        "这份日志既没有打印吞吐，也没有打印每步的 token 数和时间。",
    ),
    "tokens_total": (
        "{value} tokens in {n} logged steps (sum of `{key}`; prompts count once for each response).",
        "日志里的 {n} 步合计 {value} 个 token（`{key}` 之和；prompt 按每条回答各计一次）。",
    ),
    "tokens_none": ("This log does not print the tokens of a step.", "这份日志没有打印每步的 token 数。"),
    # Outlook
    "learning_yes": ("Yes, it is learning.", "在学。"),
    "learning_yes_until": ("It has learned, and now: {title}{since}.", "学到了，不过现在：{title}{since}。"),
    "learning_flat": ("No clear progress: the curve does not leave its noise.", "没有明显进展：曲线没有超出噪声。"),
    "learning_worse": ("No: it is getting worse.", "没有：反而在变差。"),
    "learning_no": ("No: {title}{since}.", "没有：{title}{since}。"),
    "learning_once": (
        "Too early to tell: this log holds a single value.",
        "还看不出来：这份日志里只有一个值。",
    ),
    "learning_short": ("Too early to tell: only {n} values.", "还看不出来：只有 {n} 个值。"),
    "learning_none": (
        "This log cannot tell: it prints no score, reward, validation or loss of the task.",
        "这份日志看不出来：没有打印得分、奖励、验证结果或任务的损失。",
    ),
    "learning_row": (
        "`{key}`: median of the first {k} values {start}, of the last {k} {end}; {trend}.",
        "`{key}`：前 {k} 个值的中位数 {start}，后 {k} 个 {end}；{trend}。",
    ),
    "policy_moves": ("The policy does move: `{key}` {first}, {last} at the end.", "策略确实在变：`{key}` 开始 {first}，最后 {last}。"),
    "no_critic": ("This run prints no metric of a critic.", "这次训练没有打印任何 critic 指标。"),
    "critic_yes": ("The critic is learning: `{key}` is well above zero.", "critic 在学：`{key}` 明显大于零。"),
    "critic_weak": (
        "The critic explains little of the returns so far: `{key}` is above zero, but small.",
        "critic 目前只解释了回报的一小部分：`{key}` 大于零但不大。",
    ),
    "critic_no": ("The critic is no better than a constant: `{key}` is not above zero.", "critic 不比常数强：`{key}` 不大于零。"),
    "critic_short": ("Too early to tell: only {n} values.", "还看不出来：只有 {n} 个值。"),
    "critic_unjudged": (
        "Without the explained variance this log cannot tell how good the critic is; the loss alone depends on the reward's scale.",
        "没有解释方差，这份日志看不出 critic 的好坏；损失本身取决于奖励的尺度。",
    ),
    "memory_none": (
        "This log prints no memory metrics: neither of the GPU nor of the host.",
        "这份日志没有打印显存或内存指标。",
    ),
    "memory_note": (
        "GPU values are peaks of the training process in GiB; the inference engine's own cache may lie outside them.",
        "显存值是训练进程的峰值（GiB）；推理引擎自己的缓存可能不在其中。",
    ),
    "memory_row": ("`{key}`: {first}, {last} at the end; highest {high}.", "`{key}`：开始 {first}，最后 {last}；最高 {high}。"),
    "memory_slope": (" About {slope} more per {n} steps.", "每 {n} 步约增加 {slope}。"),
    "oom_did": ("It already has: {title}{since}.", "已经发生了：{title}{since}。"),
    "oom_grows": ("It may: {title}{since}.", "有可能：{title}{since}。"),
    "oom_rising": ("Watch it: {keys} is still rising in the second half of the log.", "要留意：{keys} 在日志后半段仍在上升。"),
    "oom_flat": (
        "No sign of it: what this log prints of memory no longer grows.",
        "没有迹象：这份日志里的显存和内存已不再增长。",
    ),
    "oom_short": ("Too few steps to see whether memory grows.", "步数太少，看不出显存是否增长。"),
    "oom_no_metrics": (
        "This log cannot tell: it prints no memory metrics, and no out-of-memory error.",
        "这份日志看不出来：没有打印显存或内存指标，也没有内存不足的报错。",
    ),
    "oom_note": (
        "The size of your GPUs is not in the log, and one longer batch can still take more: compare the highest value with the card.",
        "日志里没有 GPU 的显存大小，而且更长的一批仍可能用得更多：请把最高值与显卡容量比较。",
    ),
    "clip_set": ("`{key}` is {value}.", "`{key}` 是 {value}。"),
    "clip_default": ("`{key}` is not in the log; its default is {value}.", "日志里没有 `{key}`；默认值是 {value}。"),
    "clip_off": ("Gradient clipping is off: `{key}` is {value}.", "没有开启梯度裁剪：`{key}` 是 {value}。"),
    "clip_always": (
        "It acts nearly always: `{key}` is above it in {k} of {n} steps.",
        "它几乎一直在起作用：`{key}` 在 {n} 步中有 {k} 步超过它。",
    ),
    "clip_often": ("It acts: `{key}` is above it in {k} of {n} steps.", "它在起作用：`{key}` 在 {n} 步中有 {k} 步超过它。"),
    "clip_rare": ("It acts rarely: `{key}` is above it in {k} of {n} steps.", "它很少起作用：`{key}` 在 {n} 步中有 {k} 步超过它。"),
    "clip_never": (
        "It never acts: `{key}` stays below it in all steps ({k} of {n} above).",
        "它从未起作用：`{key}` 始终没有超过它（{n} 步中 {k} 步超过）。",
    ),
    "clip_note": (
        "The printed norm is taken before clipping, and averaged over the updates of a step.",
        "打印的范数是裁剪之前的值，并对一步内的各次更新取平均。",
    ),
}
