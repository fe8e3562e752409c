"""Sentences about opening a log, and about where conversations are kept."""

TEXT: dict[str, tuple[str, str]] = {
    "nothing_found": (
        "No training metrics and no crash were found in this text; paste the console output of the run, with its “step:…” lines.",
        "没有在这段文本里找到训练指标或报错；请粘贴训练的控制台输出，要包含 “step:…” 开头的指标行。",
    ),
    "unknown_format": (
        "There is no log format or framework of this name.",
        "没有这个名称的日志格式或框架。",
    ),
    "bad_number": (
        "{reason} is not a number above zero; correct it or leave it out.",
        "{reason} 不是大于零的数字；请改正或去掉它。",
    ),
    "needs_sqlalchemy": (
        'Keeping conversations needs the extra "web": pip install "runwhy[web]"; or set RUNWHY_STORE=memory to keep none.',
        '保存对话需要安装 web 组件：pip install "runwhy[web]"；也可以设置 RUNWHY_STORE=memory，不保存对话。',
    ),
    "needs_postgres": (
        'A PostgreSQL store needs the extra "postgres": pip install "runwhy[postgres]".',
        '使用 PostgreSQL 需要安装 postgres 组件：pip install "runwhy[postgres]"。',
    ),
    "bad_url": (
        "RUNWHY_STORE must be “memory”, “sqlite:////path/to/file.db” or “postgresql://user@host/database”.",
        "RUNWHY_STORE 应为 “memory”、“sqlite:////路径/文件.db” 或 “postgresql://用户@主机/数据库”。",
    ),
    "no_folder": (
        "The folder for conversations cannot be used ({reason}); set RUNWHY_DATA to one that can be written.",
        "无法使用保存对话的文件夹（{reason}）；请把 RUNWHY_DATA 设为可写的文件夹。",
    ),
    "no_database": (
        "The database of conversations cannot be opened ({reason}); check RUNWHY_STORE.",
        "无法打开保存对话的数据库（{reason}）；请检查 RUNWHY_STORE。",
    ),
    "newer_store": (
        "The store was written by a newer version of runwhy; update this one: pip install -U runwhy.",
        "保存对话的数据库由更新版本的 runwhy 写成；请升级：pip install -U runwhy。",
    ),
    "memory_only": (
        "RUNWHY_STORE is “memory”: conversations are gone when the server stops, there is nothing to list.",
        "RUNWHY_STORE 设为 “memory”：服务停止后对话即消失，没有可列出的内容。",
    ),
    "no_session": (
        "There is no conversation whose id begins with “{id}” (give at least {n} characters); runwhy sessions list shows them.",
        "没有 id 以 “{id}” 开头的对话（至少写 {n} 个字符）；用 runwhy sessions list 查看。",
    ),
    "several": (
        "Several conversations have an id that begins with “{id}”; give more of it.",
        "有多个对话的 id 以 “{id}” 开头；请多写几个字符。",
    ),
    "nobody": ("Name the person whose conversations are to be deleted.", "请写明要删除谁的对话。"),
    "none": ("No conversation is kept.", "目前没有保存的对话。"),
    "next": (
        "runwhy sessions show {id}   ·   runwhy sessions export --feedback",
        "runwhy sessions show {id}   ·   runwhy sessions export --feedback",
    ),
    "column_id": ("id", "id"),
    "column_used": ("last used", "最近使用"),
    "column_log": ("log", "日志"),
    "column_turns": ("questions", "提问数"),
    "column_findings": ("findings", "发现"),
    "column_owner": ("person", "用户"),
    "pasted": ("pasted", "粘贴的日志"),
    "kept_until": ("{id} · {lines} lines · kept until {until}", "{id} · {lines} 行 · 保留至 {until}"),
    "nothing_asked": ("Nothing was asked yet.", "还没有提问。"),
    "good": ("Rated good", "评价：有帮助"),
    "bad": ("Rated bad", "评价：没有帮助"),
    "exported": ("{n} lines written to {path}.", "已写出 {n} 行到 {path}。"),
    "deleted": ("Deleted: {n}.", "已删除 {n} 个对话。"),
    "forgotten": (
        "Forgotten: {n} conversations, with their logs, open questions and feedback.",
        "已清除 {n} 个对话，以及其中的日志、未答问题和评价。",
    ),
}
