"""Sentences about reading a log.

``clue.<what>`` and ``span.<how>``: on what version and algorithm rest; ``note.<kind>``: what was noticed;
``unreadable.<kind>``: what could not be opened.
"""

TEXT: dict[str, tuple[str, str]] = {
    "clue.printed": ("{name} is printed", "打印了 {name}"),
    "clue.without": ("{name} is not printed", "没有打印 {name}"),
    "clue.process": ("the driver's process is called {name}", "主进程名为 {name}"),
    "clue.setting": ("the setting {name} exists", "存在配置项 {name}"),
    "clue.three-decimals": ("numbers have three decimals", "数字保留三位小数"),
    "clue.in-full": ("numbers are printed in full", "数字完整打印"),
    "clue.entropy-loss-only": (
        "actor/entropy_loss is printed and actor/entropy is not",
        "打印了 actor/entropy_loss，而没有 actor/entropy",
    ),
    "clue.per-token-without-unit": ("timing_per_token is printed without its unit", "timing_per_token 的键名不带单位"),
    "clue.configured": ("{name} is {value}", "{name} 为 {value}"),
    "clue.critic": ("{name} is printed: there is a critic", "打印了 {name}：有 critic"),
    "clue.returns-are-advantages": (
        "no critic metrics, and critic/returns equals critic/advantages, as in group-relative estimators",
        "没有 critic 指标，且 critic/returns 与 critic/advantages 相同，与组内相对的估计方法一致",
    ),
    "span.only": ("only {low}", "仅 {low}"),
    "span.later": ("{low} or later", "{low} 及以后"),
    "span.earlier": ("{high} or earlier", "{high} 及以前"),
    "span.between": ("{low} to {high}", "{low} 到 {high}"),
    "note.empty": (
        "There is no text in this input; paste the console output of the training run, or give its file.",
        "输入是空的；请粘贴训练的控制台输出，或指定日志文件。",
    ),
    "note.binary": (
        "This is neither text nor a known tracker file; give the console output, or TensorBoard, wandb, MLflow, CSV or JSON files.",
        "这既不是文本，也不是认识的记录文件；请改用训练的控制台输出，或 TensorBoard、wandb、MLflow、CSV、JSON 文件。",
    ),
    "note.prose": (
        "No training metrics, settings or errors were found in this text; paste the log lines that start with `step:`.",
        "这段文字里没有训练指标、配置或报错；请粘贴日志中以 `step:` 开头的那些行。",
    ),
    "note.other-framework": (
        "This looks like a log of {framework}, but no metrics were found in it; only errors and tracebacks are looked at.",
        "这看起来是 {framework} 的日志，但没有找到指标，只会查看其中的报错和 traceback。",
    ),
    "note.numbered-records": (
        "This log prints no step: its {n} records are numbered in the order of the log, so a “step” here is the number of a printed record.",
        "日志里没有打印 step：{n} 条记录按出现的顺序编号，这里的 step 是第几条打印记录，不是优化器的步数。",
    ),
    "note.epochs-counted-on": (
        "The steps start again in each epoch; here they are counted on from the first epoch.",
        "每个 epoch 的 step 都从头开始；这里从第一个 epoch 起连续计数。",
    ),
    "note.no-metrics": (
        "No metric line was found; to judge the training itself, include the lines that start with `step:`.",
        "没有找到指标行；要判断训练本身，请把以 `step:` 开头的行也包含进来。",
    ),
    "note.cut-archive": (
        "The compressed file is cut off or damaged; everything before that point was read.",
        "压缩文件不完整或已损坏；损坏处之前的内容已全部读取。",
    ),
    "note.encoding": ("The text was read as {encoding}.", "文本按 {encoding} 编码读取。"),
    "note.restarted": (
        "Steps start again at line {line}: the log holds {n} stretches (a resumed run, or several logs joined).",
        "从第 {line} 行起 step 重新开始：日志由 {n} 段组成（断点续训，或多份日志拼在一起）。",
    ),
    "note.repeated-steps": (
        "{n} steps are printed again from line {line} on; the later print counts.",
        "从第 {line} 行起有 {n} 个 step 被重复打印；以后打印的为准。",
    ),
    "note.mixed-runs": (
        "The metric lines of several processes (runs, or ranks of one run) are mixed in this log: the {rows} of {read} were read, "
        "those of {others} (from line {line} on) were left out; to see another one, keep only its lines.",
        "日志里混有多个进程（不同的 run，或同一 run 的多个 rank）的指标行：读取了 {read} 的 {rows} 行，"
        "{others} 的（从第 {line} 行起）没有采用；要看另一个，请只保留它的行。",
    ),
    "note.taking-turns": (
        "{metric} goes to and fro from line {line} on: two processes (runs, or ranks) seem to print into this log without naming "
        "themselves. They were read as one run, so nothing here is safe; paste the lines of one of them alone.",
        "从第 {line} 行起 {metric} 来回跳动：似乎有两个没有标明身份的进程（不同的 run 或 rank）交替写入这份日志。"
        "这里把它们当成一个 run 来读，结论并不可靠；请只粘贴其中一个的行。",
    ),
    "note.version-change": (
        "From line {line} on numbers are printed another way: the run was probably continued with another verl version.",
        "从第 {line} 行起数字的打印格式变了：训练很可能是换了 verl 版本后继续的。",
    ),
    "note.cut-line": (
        "{n} metric line(s) are cut off or may be, the last at line {line}; numbers that may be unfinished and what followed them are missing.",
        "有 {n} 行指标被截断或可能被截断（最后一处在第 {line} 行）；可能不完整的数值没有采用，之后的内容缺失。",
    ),
    "note.wrapped-lines": (
        "{n} metric line(s) were broken over several lines and were joined again, the first at line {line}.",
        "有 {n} 行指标被折成多行，已重新拼接（第一处在第 {line} 行）。",
    ),
    "note.doubtful-lines": (
        "{n} metric line(s) stand behind other text, the first at line {line}; they were read because there are no others.",
        "有 {n} 行指标前面还有别的文字（第一处在第 {line} 行）；因为没有其他指标行，仍然读取了。",
    ),
    "note.events-dropped": (
        "{n} further messages were not kept: the log has too many different ones.",
        "不同的消息太多，另有 {n} 条没有保留。",
    ),
    "note.null-values": (
        "{n} values are `null`, the first at line {line}: missing, nan or inf, the log does not say which ({metrics}).",
        "有 {n} 个值是 `null`（第一处在第 {line} 行）：可能是缺失、nan 或 inf，日志本身分不清（{metrics}）。",
    ),
    "note.unread-lines": (
        "{n} line(s) look like metrics and could not be read, the first at line {line}.",
        "有 {n} 行看起来像指标但没能读懂（第一处在第 {line} 行）。",
    ),
    "note.other-runs": (
        "{n} other run(s) lie beside the one read ({read}), for example {others}; give a run's own folder or file to choose it.",
        "除了读取的这个 run（{read}）之外还有 {n} 个 run，例如 {others}；要换一个，请直接指定它的目录或文件。",
    ),
    "note.empty-folder": (
        "Nothing in there looks like a training run: looked for console logs, TensorBoard, wandb, SwanLab, MLflow and Trackio files, CSV and JSON.",
        "里面没有找到训练记录：找过控制台日志、TensorBoard、wandb、SwanLab、MLflow、Trackio 文件以及 CSV 和 JSON。",
    ),
    "note.unknown-store": (
        "This SQLite file is neither an MLflow nor a Trackio store, or it is damaged.",
        "这个 SQLite 文件既不是 MLflow 也不是 Trackio 的数据库，或者已经损坏。",
    ),
    "note.files-left": (
        "{n} further file(s) were not opened: there are too many; give the folder of one run.",
        "文件太多，另有 {n} 个没有打开；请指定单个 run 的目录。",
    ),
    "note.part-without-steps": (
        "{file} prints no steps, so its numbers were left out; those of {other} are used.",
        "{file} 没有打印 step，因此没有采用其中的数值，以 {other} 为准。",
    ),
    "note.part-differs": (
        "{file} has other values than {other} at the same steps and seems to be another run; its numbers were left out.",
        "{file} 与 {other} 在相同 step 上的数值不一致，应该是另一个 run，没有采用其中的数值。",
    ),
    "note.archive-left-out": (
        "{n} file(s) of the archive were left out: locked, doubtful, or beyond the limits on size and number.",
        "压缩包里有 {n} 个文件没有解压：有密码、可疑，或超过大小和数量限制。",
    ),
    "unreadable.missing": ("There is no file {detail}.", "找不到文件 {detail}。"),
    "unreadable.damaged": ("The file is damaged or cut off: {detail}.", "文件已损坏或不完整：{detail}。"),
    "unreadable.denied": ("The file cannot be opened: {detail}.", "文件打不开：{detail}。"),
}
