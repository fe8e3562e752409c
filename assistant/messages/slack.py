"""Sentences of the Slack bot and of `runwhy slack`."""

TEXT: dict[str, tuple[str, str]] = {
    # The first look at a log
    "verdict_healthy": ("Healthy: no fault in what this log shows.", "健康：就这份日志所示，没有发现问题。"),
    "verdict_short": (
        "No fault visible, but the log is short ({n} steps): little can be ruled out.",
        "未见问题，但日志很短（{n} 步），能排除的有限。",
    ),
    "verdict_one": ("One thing to act on: {title}{since}.", "有 1 项需要处理：{title}{since}。"),
    "verdict_many": ("{n} things to act on, first: {title}{since}.", "有 {n} 项需要处理，先看：{title}{since}。"),
    "verdict_minor": ("Nothing serious; worth a look: {title}{since}.", "没有大问题，可以看一下：{title}{since}。"),
    "verdict_crash": ("The run crashed: {title}{since}.", "训练崩溃：{title}{since}。"),
    "comma_since": (", since step {step}", "，自第 {step} 步起"),
    "comma_at": (", at step {step}", "，在第 {step} 步"),
    "comma_after": (", after step {step}", "，在第 {step} 步之后"),
    "since": ("since step {step}", "自第 {step} 步起"),
    "at": ("at step {step}", "第 {step} 步"),
    "after": ("after step {step}", "第 {step} 步之后"),
    "stretch": ("steps {first}–{last}", "第 {first}–{last} 步"),
    "severity_critical": ("critical", "危急"),
    "severity_high": ("high", "严重"),
    "severity_medium": ("medium", "中等"),
    "severity_low": ("low", "轻微"),
    "severity_info": ("normal", "正常"),
    "version_unknown": ("version unknown", "版本未知"),
    "steps": ("steps {first}–{last}", "第 {first}–{last} 步"),
    "of_total": ("of {total}", "（共 {total} 步）"),
    "no_metrics": ("no metrics", "没有指标"),
    "counts": ("{metrics} metrics, {lines} lines", "{metrics} 个指标，{lines} 行"),
    "pasted_log": ("pasted log", "粘贴的日志"),
    "values": ("Printed", "原始数值"),
    "value_step": ("step {step}", "第 {step} 步"),
    "value_line": ("line {line}", "第 {line} 行"),
    "do": ("Do", "怎么做"),
    "watch": ("Then watch", "之后观察"),
    "cause": ("Likely cause", "可能的原因"),
    "more_findings": ("Also: {titles}", "另外：{titles}"),
    "odd": ("Looks odd, is normal here: {titles}", "看着异常、这里属正常：{titles}"),
    "checked_counts": (
        "{fine} possible faults checked and not found; {unknown} that this log cannot tell.",
        "检查了 {fine} 种可能的问题，均未出现；另有 {unknown} 种这份日志无法判断。",
    ),
    "how_to_go_on": (
        "Ask in this thread, no mention needed. Drop a second log here to compare. “forget this” deletes it all.",
        "直接在本线程里提问，不必 @ 我。再发一份日志可以对比。说“忘掉”即可全部删除。",
    ),
    "in_brackets": (" ({text})", "（{text}）"),
    "labelled": ("{label}: {text}", "{label}：{text}"),
    "bold_label": ("*{label}:* {text}", "*{label}：* {text}"),
    "listed": (", ", "，"),
    "also_listed": ("; ", "；"),
    "line_cut": ("… {n} more characters", "…… 还有 {n} 个字符"),
    # Buttons
    "guide_button": ("Guide me", "带我排查"),
    "teach_button": ("Which numbers matter?", "先看哪些数？"),
    "report_button": ("Full report", "完整报告"),
    "web_button": ("Open in browser", "在浏览器中打开"),
    "back_button": ("Back", "上一步"),
    "ok_button": ("Yes, delete", "是，删除"),
    "keep_button": ("Keep it", "保留"),
    "good_button": ("Helpful", "有帮助"),
    "bad_button": ("Not right", "不对"),
    "help_button": ("How it works", "使用说明"),
    # Answers
    "asked_by": ("<@{user}> asked: {question}", "<@{user}> 提问：{question}"),
    "checked": ("Numbers checked: {parts}", "数字核对：{parts}"),
    "checked_run": ("{n} from the log", "{n} 个来自日志"),
    "checked_derived": ("{n} computed from it", "{n} 个由日志推算"),
    "checked_config": ("{n} from the config", "{n} 个来自配置"),
    "checked_knowledge": ("{n} from the knowledge base", "{n} 个来自知识库"),
    "checked_question": ("{n} from the question", "{n} 个来自提问"),
    "checked_unverified": ("{n} unverified", "{n} 个未核实"),
    "written_by": ("written by {model}", "由 {model} 撰写"),
    "cut_here": (
        "The rest did not fit into a Slack message; all of it is in the file below.",
        "一条 Slack 消息放不下，全文见下面的文件。",
    ),
    "full_answer": ("The whole answer", "完整回答"),
    "report_title": ("Report on {name}", "{name} 的诊断报告"),
    "report_here": ("The full report, as a file to open in a browser.", "完整报告，下载后用浏览器打开。"),
    "answering": ("is looking into the run …", "正在查看这次训练……"),
    "reading": ("is reading the log …", "正在读取日志……"),
    "reading_begun": ("Reading {name} ({size}) …", "正在读取 {name}（{size}）……"),
    "writing_begun": ("Writing …", "正在撰写……"),
    "compared_with": ("Second run of this thread, compared with {name}.", "本线程的第二份日志，与 {name} 对比。"),
    "compare_question": ("Did it help? Compare the two runs.", "有改善吗？比较一下这两次训练。"),
    # Guide
    "guide_progress": ("Step {n} of about {total}", "第 {n} 步，共约 {total} 步"),
    "guide_should": ("should", "应当"),
    "guide_yours": ("yours", "你的"),
    "guide_end": ("Ask anything about it in this thread.", "有疑问就在本线程里问。"),
    "guide_failed": ("This step can no longer be shown; start again with “Guide me”.", "这一步已无法显示，请重新点“带我排查”。"),
    "teach_title": ("The numbers to look at first, in order", "先看这几个数，按顺序"),
    "verdict_good": ("good", "正常"),
    "verdict_bad": ("not good", "不正常"),
    "verdict_odd": ("odd, but normal here", "看着异常，这里属正常"),
    "verdict_unknown": ("this log cannot tell", "这份日志看不出来"),
    "verdict_context": ("for context", "供参考"),
    # Home
    "home_title": ("Your recent runs", "你最近的训练"),
    "home_none": (
        "No runs yet. Send me a training log: in a direct message, or mention me in a channel with the log in the message or as a file.",
        "还没有记录。把训练日志发给我：私信，或在频道里 @ 我并附上日志（粘贴或文件）。",
    ),
    "home_row": ("*{name}* · {when}\n{log}", "*{name}* · {when}\n{log}"),
    "home_findings": ("{n} findings: {titles}", "{n} 项发现：{titles}"),
    "home_one": ("{titles}", "{titles}"),
    "home_clean": ("no findings", "没有发现"),
    "home_forget": ("Forget everything of mine", "删除我的全部数据"),
    "home_open": ("Open the thread", "打开线程"),
    # Help and prompts
    "help": (
        "*Paste a training log, ask why.*\n• Send me a log: paste it, or attach it as a file. In a channel, mention me.\n"
        "• You get a verdict, since which step, the printed values, a plot, and what to change.\n"
        "• Then ask in the thread, in English or Chinese: “why is my pg_loss positive?”\n"
        "• A second log in the thread is compared with the first.\n• On somebody's message: ⋮ → *Diagnose this log*.\n"
        "• “forget this” deletes the conversation and its log.\n"
        "Works for verl, TRL, OpenRLHF, Stable-Baselines3 and many others. Keys and names in logs are masked before anything is shown.",
        "*贴上训练日志，问它为什么。*\n• 把日志发给我：直接粘贴，或作为文件附上；在频道里请 @ 我。\n"
        "• 你会得到结论、从哪一步开始、原始数值、曲线，以及该改什么。\n• 然后在线程里用中文或英文提问：“为什么 pg_loss 是正的？”\n"
        "• 同一线程里的第二份日志会与第一份对比。\n• 在别人的消息上：⋮ → *Diagnose this log*。\n• 说“忘掉”即删除这段对话和日志。\n"
        "支持 verl、TRL、OpenRLHF、Stable-Baselines3 等。日志中的密钥和人名在显示前会脱敏。",
    ),
    "prompts_title": ("Paste a training log or attach a file, then ask", "粘贴训练日志或附上文件，然后提问"),
    "prompt_wrong": ("What is wrong with my last run?", "我上一次训练有什么问题？"),
    "prompt_change": ("What should I change first?", "我该先改什么？"),
    "prompt_numbers": ("Which metrics matter in GRPO?", "GRPO 该看哪些指标？"),
    "prompt_help": ("How do I send you a log?", "怎么把日志发给你？"),
    "modal_title": ("Ask about a log", "就日志提问"),
    "modal_send": ("Ask", "提问"),
    "modal_cancel": ("Cancel", "取消"),
    "modal_question": ("Your question", "你的问题"),
    "modal_log": ("Paste the end of the log", "粘贴日志末尾"),
    "modal_log_hint": ("Slack takes 3000 characters here; attach a file for more.", "此处 Slack 最多 3000 个字符，更长请附文件。"),
    "modal_file": ("Or attach log files", "或附上日志文件"),
    "reason_title": ("What was wrong?", "哪里不对？"),
    "reason_label": ("One sentence is enough", "一句话即可"),
    "reason_send": ("Send", "发送"),
    "thanks": ("Thank you, noted.", "谢谢，已记下。"),
    "command_started": ("<@{user}> asks runwhy: {question}", "<@{user}> 问 runwhy：{question}"),
    "command_log": ("<@{user}> asks runwhy about a log", "<@{user}> 请 runwhy 看一份日志"),
    # Forgetting
    "forget_ask_one": (
        "Delete this conversation, its log and what was asked? My messages in this thread stay until somebody deletes them in Slack.",
        "要删除这段对话、日志和提问记录吗？我在本线程里发过的消息仍会留在 Slack，需要在 Slack 里删除。",
    ),
    "forget_ask_all": (
        "Delete everything I keep of yours: every log, question and feedback, here and on the web page?",
        "要删除我保存的你的全部数据吗：所有日志、提问和反馈，包括这里和网页上的？",
    ),
    "forgotten_one": ("Done: this conversation and its log are deleted.", "已删除：这段对话及其日志。"),
    "forgotten_all": ("Done: everything of yours is deleted ({n} conversations).", "已删除你的全部数据（{n} 段对话）。"),
    "forget_kept": ("Nothing was deleted.", "没有删除任何内容。"),
    "forget_none": ("There is nothing to delete here: I keep no log for this thread.", "没有可删的：这个线程没有保存日志。"),
    "forget_not_yours": (
        "Only the person who sent this log can delete it. “forget everything” deletes what is yours.",
        "只有发送这份日志的人可以删除它。说“忘掉全部”可删除你自己的数据。",
    ),
    # What goes wrong
    "no_log_here": (
        "I have no log in this thread. Paste one, or attach it as a file, and ask again.",
        "这个线程里还没有日志。请粘贴或附上日志文件，再问一次。",
    ),
    "log_gone": (
        "I no longer keep the log of this thread (it was deleted, or not used for a long time). Send it again to go on.",
        "这个线程的日志已不再保存（被删除，或太久没有使用）。请重新发送。",
    ),
    "link_unknown": (
        "This link does not open a conversation any more. Make a new one on the web page, or send the log here.",
        "这个链接已失效。请在网页上重新生成，或直接把日志发到这里。",
    ),
    "link_opened": ("Continuing the conversation about {name}. Ask in this thread.", "继续关于 {name} 的对话，请在本线程里提问。"),
    "unreadable": ("{name}: {reason}", "{name}：{reason}"),
    "file_elsewhere": (
        "{name}: this file is not kept by Slack itself (a link to another service), so I do not fetch it. Upload the file, or paste the log.",
        "{name}：这个文件不在 Slack 上（是其他服务的链接），我不会去取。请直接上传文件，或粘贴日志。",
    ),
    "file_too_large": (
        "{name} has {size}; I take up to {limit}. Compress it (.gz, .zst), or send its last 5000 lines: tail -n 5000 log > end.log",
        "{name} 有 {size}，我最多接受 {limit}。请压缩（.gz、.zst），或只发最后 5000 行：tail -n 5000 log > end.log",
    ),
    "file_no_access": (
        "{name}: Slack does not let me read this file. The app needs the scope files:read; an admin can run runwhy doctor.",
        "{name}：Slack 不允许我读取该文件。应用需要 files:read 权限，管理员可运行 runwhy doctor 检查。",
    ),
    "file_gone": ("{name}: the file is no longer on Slack. Send it again.", "{name}：文件已不在 Slack 上，请重新发送。"),
    "file_unreachable": (
        "{name}: Slack's file server did not answer. Send it again in a minute.",
        "{name}：Slack 文件服务没有响应，请稍后重发。",
    ),
    "file_empty": ("{name} is empty.", "{name} 是空文件。"),
    "user_limit": (
        "That is a lot of questions at once. Try again in {wait}.",
        "一下子问得有点多，请在 {wait} 后再试。",
    ),
    "team_limit": (
        "This workspace has used up its questions for now. Try again in {wait}; an admin can raise RUNWHY_SLACK_TEAM_LIMIT.",
        "这个工作区暂时用完了提问额度，请在 {wait} 后再试；管理员可调高 RUNWHY_SLACK_TEAM_LIMIT。",
    ),
    "wait_minutes": ("{n} min", "{n} 分钟"),
    "wait_seconds": ("{n} s", "{n} 秒"),
    "too_long": ("The question is longer than {limit} characters; please shorten it.", "问题超过 {limit} 个字符，请精简一下。"),
    "not_in_channel": (
        "I am not in this channel, so I cannot answer here. Invite me (/invite @runwhy), or send me the log in a direct message.",
        "我不在这个频道里，无法在此回答。请邀请我（/invite @runwhy），或私信把日志发给我。",
    ),
    "failed": (
        "Something went wrong inside runwhy (reference {id}). Try again; if it happens again, tell the person who runs the bot: its own log has the details.",
        "runwhy 内部出错（编号 {id}）。请再试一次；若仍出错，请告诉维护机器人的人，服务日志里有详情。",
    ),
    "gave_up": (
        "I was interrupted several times while answering this, and stopped trying (reference {id}). Please ask again.",
        "回答这条消息时多次中断，已停止重试（编号 {id}）。请再问一次。",
    ),
    "no_upload": (
        "Slack did not take the file. The app needs the scope files:write; an admin can run runwhy doctor.",
        "Slack 没有接收该文件。应用需要 files:write 权限，管理员可运行 runwhy doctor 检查。",
    ),
    # runwhy slack
    "needs_slack": ('The Slack bot needs: pip install "runwhy[slack]"', 'Slack 机器人需要：pip install "runwhy[slack]"'),
    "needs_http": (
        'HTTP mode needs uvicorn: pip install "runwhy[slack]" (or use --socket, which needs no public address).',
        'HTTP 模式需要 uvicorn：pip install "runwhy[slack]"（或使用 --socket，无需公网地址）。',
    ),
    "no_bot_token": (
        "SLACK_BOT_TOKEN is not set. Create the app (runwhy slack --manifest prints it), install it, and copy its xoxb-… token.",
        "未设置 SLACK_BOT_TOKEN。请先创建应用（runwhy slack --manifest 会打印清单），安装后复制 xoxb-… token。",
    ),
    "no_app_token": (
        "SLACK_APP_TOKEN is not set; Socket Mode needs it (Basic Information → App-Level Tokens → scope connections:write). Or use --http.",
        "未设置 SLACK_APP_TOKEN，Socket Mode 需要它（Basic Information → App-Level Tokens → connections:write）。也可用 --http。",
    ),
    "no_secret": (
        "SLACK_SIGNING_SECRET is not set; HTTP mode needs it (Basic Information → App Credentials). Or use --socket.",
        "未设置 SLACK_SIGNING_SECRET，HTTP 模式需要它（Basic Information → App Credentials）。也可用 --socket。",
    ),
    "token_refused": (
        "Slack does not accept the token: {error}. Copy the Bot User OAuth Token (xoxb-…) of OAuth & Permissions into SLACK_BOT_TOKEN again; "
        "if it was revoked, install the app anew there.",
        "Slack 不接受该 token：{error}。请从 OAuth & Permissions 重新复制 Bot User OAuth Token（xoxb-…）到 SLACK_BOT_TOKEN；若已被撤销，请在那里重新安装应用。",
    ),
    "slack_unreachable": (
        "Slack could not be reached at {url} ({error}). Check the network or proxy (HTTPS_PROXY).",
        "无法连接 Slack：{url}（{error}）。请检查网络或代理（HTTPS_PROXY）。",
    ),
    "one_mode": ("Choose one of --socket and --http.", "--socket 和 --http 只能选一个。"),
    "port_taken": ("The port cannot be used: {error}.", "端口无法使用：{error}。"),
    "started_socket": (
        "runwhy is in {team} as @{user} (Socket Mode). Mention it with a log. Ctrl-C stops it.",
        "runwhy 已接入 {team}，名为 @{user}（Socket Mode）。@ 它并附上日志即可。Ctrl-C 停止。",
    ),
    "started_http": (
        "runwhy is in {team} as @{user}, listening on http://{host}:{port}/slack/events. Ctrl-C stops it.",
        "runwhy 已接入 {team}，名为 @{user}，监听 http://{host}:{port}/slack/events。Ctrl-C 停止。",
    ),
    # runwhy doctor
    "name_token": ("Slack bot token", "Slack bot token"),
    "name_scopes": ("Slack scopes", "Slack 权限"),
    "name_mode": ("Slack connection", "Slack 连接方式"),
    "name_app_token": ("Slack app token", "Slack app token"),
    "name_secret": ("Slack signing secret", "Slack signing secret"),
    "name_teams": ("Slack settings", "Slack 设置"),
    "name_parts": ("Slack parts", "Slack 组件"),
    "not_set_up": ("not set up (docs/slack.md)", "未设置（见 docs/slack.md）"),
    "wrong_prefix": (
        "This does not look like the right token: it should start with {prefix}.",
        "这不像正确的 token，应以 {prefix} 开头。",
    ),
    "missing_scopes": (
        "Add them under OAuth & Permissions → Bot Token Scopes, then reinstall the app: {scopes}",
        "请在 OAuth & Permissions → Bot Token Scopes 里添加后重新安装应用：{scopes}",
    ),
    "no_mode": (
        "Set SLACK_APP_TOKEN (Socket Mode, no public address) or SLACK_SIGNING_SECRET (HTTP).",
        "请设置 SLACK_APP_TOKEN（Socket Mode，无需公网地址）或 SLACK_SIGNING_SECRET（HTTP）。",
    ),
    "app_token_refused": (
        "Slack does not accept it: {error}. Make one under Basic Information → App-Level Tokens with the scope connections:write, and turn on Socket Mode.",
        "Slack 不接受：{error}。请在 Basic Information → App-Level Tokens 新建（权限 connections:write），并开启 Socket Mode。",
    ),
    "secret_shape": (
        "A signing secret is 32 characters of 0–9 and a–f; copy it from Basic Information → App Credentials.",
        "signing secret 是 32 位的 0–9、a–f；请从 Basic Information → App Credentials 复制。",
    ),
    "no_network": ("Check the network, or set HTTPS_PROXY.", "请检查网络，或设置 HTTPS_PROXY。"),
    "install_slack": ('pip install "runwhy[slack]"', 'pip install "runwhy[slack]"'),
}
