"""What people write when they want something: phrases of intents and of properties of a curve.

Only for understanding a question; nothing here is shown. Patterns match a lower-case question with NFKC applied. Names of
metrics and findings come from the cards, symptoms from ``assistant.symptoms``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping


def words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


INTENTS: Mapping[str, re.Pattern[str]] = {
    "which": words(
        r"\bwhich\b.{0,30}\b(metrics?|numbers?|curves?|values?|of (all )?(these|those|the))\b.{0,60}\b(matter|important|look|"
        r"watch|first|tell|on track|trust|believe|rely)",
        r"\bwhat (metrics?|numbers?|curves?) (should|do|to)\b.{0,25}\b(look|watch|track|monitor)",
        r"\bwhat (should|do) i (look at|watch|monitor)\b.{0,6}(first|$|\?)",
        r"(哪些|哪几个|哪个|什么).{0,6}(指标|数字|曲线).{0,12}(看|重要|关键|关注)",
        r"(指标|数字|曲线).{0,12}(看|关注).{0,4}(哪|什么)",
        r"(指标|数字).{0,4}(哪些|哪几个|哪个).{0,6}(重要|关键)",
        r"(看|先看|关注)(哪些|哪几个|什么指标)",
        r"(下一步|接下来|之后|后面)(该|要|应该|需要)?(看|关注|盯|观察)(什么|哪)",
        r"\bwhat (should|do|to) (i )?(watch|look at|monitor|check) (next|now|then)\b",
    ),
    "time": words(
        r"where\b.{0,20}\btime\b.{0,12}\b(go|goes|gone|going|spent)",
        r"\b(bottleneck|slowest|time breakdown)\b",
        r"\bhow long (should|does|do|will)\b.{0,24}\b(phases?|steps?|it)\b.{0,6}\btake",
        r"\bwhich (one |phase |part )?dominates\b|\bwhich (phase|part|stage|timer)\b.{0,16}\b(slow\w*|long\w*|time)\b",
        r"\btakes? (most|the most|longest)\b",
        r"\b(takes?|is|took|eats?|uses?|needs?|spends?)\b.{0,16}(\d+ ?%|half|two thirds|a third|most)"
        r" of (the |a |each |my )?(step|time|iteration)",
        r"(占|花|用|耗)(了|掉)?.{0,10}(时间|耗时)|时间.{0,6}(占比|占了)|耗时.{0,4}(占比|多少)",
        r"时间.{0,6}(花|去|用|耗).{0,6}(哪|什么)",
        r"(瓶颈|耗时分布|最慢|哪一?步最慢|哪个阶段.{0,4}(慢|耗时))",
    ),
    "compare": words(
        r"\b(difference|differ|compare[ds]?|comparison|versus|vs\.?|relation(ship)?|correlat\w*|gap) \b",
        r"\b(vs\.?|versus|gap between|same thing|difference|compare[ds]?)\b",
        r"(区别|差别|差异|不同|对比|比较|关系|相关|差距|一回事)",
    ),
    "extremes": words(
        r"\b(highest|lowest|maximum|minimum|peak|largest|smallest|(?:best|worst)(?!@))\b",
        r"(最高|最低|最大|最小|峰值|最好|最差)",
    ),
    "trend": words(
        r"\b(trends?|over time|develop\w*|evolv\w*|going (up|down)|(is|are) .{0,40}(rising|falling|increasing|decreasing|improving))\b",
        r"(趋势|走势|变化情况|怎么变|是升是降|上升还是下降|在涨吗|在降吗|有没有(涨|降|提升))",
    ),
    "change": words(
        r"\bwhat would you (?:do|change|try|suggest|recommend)\b|\byour (?:advice|recommendation|suggestion)\b|"
        r"\b(?:any )?(?:suggestions?|recommendations?)\W*$",
        r"你(?:会|觉得该|建议)怎么|(?:有|给).{0,4}建议",
        r"\b(fix|fixes|solve|remedy|speed (it |this )?up|what (can|could|should|do) (i|we) (do|change|tune|try|adjust|set))\b",
        r"\bshould i (raise|lower|increase|decrease|reduce|change|turn|use|set|disable|enable|restart|stop)",
        r"\b(how (do|can|should) (i|we|it be)|how to) (fix|solve|speed|prevent|avoid|stop|reduce|improve|configure|tune)",
        r"\bwhat (parameters?|settings?|knobs?)\b|\bany advice\b|\bhelp\b$|\bwhat else\b",
        r"(怎么办|怎么(改|调|修|解决|处理|优化|加速|提速|避免|设)|如何(改|调|解决|处理|优化|加速|避免|设)|该(改|调)|要(改|调)|"
        r"改什么|调什么|解决办法|什么办法|怎样(解决|避免)|能(改|调)什么|要不要|需要(调|改|重启)|还能怎)",
    ),
    "why": words(
        r"\b(why|how come|what (causes?|caused|happened|went wrong|is the reason|could be the reason)|reasons?|due to what|"
        r"how is (that|this) possible)\b",
        r"\bhow can\b.{0,60}\bbe\b|\bwhat('?s| is) going on\b|\bwhat is happening\b|\bwtf\b|\bwhats the\b",
        r"(为什么|为何|为啥|怎么会|怎么回事|什么原因|原因|咋回事|什么问题|哪里有问题|出了什么|発生|發生了?什么|发生了什么|為什麼|"
        r"是.{0,12}导致)",
    ),
    "normal": words(
        r"\b(normal|worry|worried|worrying|ok|okay|healthy|bad|good|fine|dangerous|serious|a problem|a bug|broken|expected|"
        r"concern\w*|ignore|common|usual|harmless|harmful|"
        r"too (high|low|big|small|large|much|conservative)|right|wrong|trust|stuck|dead)\b",
        r"(正常|健康|常见|有问题|是不是|要紧|严重|危险|好事|可信|合理|对吗|行吗|可以吗|算高|算低|高吗|低吗|大吗|小吗|吗[?？]?$|没事|bug|坏了|"
        r"正确|太(高|低|大|小|慢|保守))",
    ),
    "meaning": words(
        r"\b(what (does|do)\b.{0,60}\bmean|what (is|are) (a |an |the )?[\w/@. -]+\??$|meaning of|definition|define|explain|"
        r"how (is|are) .{0,50}(computed|calculated|defined)|"
        r"how (should|do|can) i (read|interpret))\b",
        r"\bwhat is\b|\bwhat are\b|\bwhat does\b|\bstand for\b",
        r"(什么意思|啥意思|是什么|是啥|含义|意味着|怎么(算|看|理解|解读|计算)|如何(计算|理解|解读)|定义|解释一下)",
    ),
    "value": words(
        r"\b(value of|how (much|many|high|low|large|big|long)|what was|at step|in step|on step|latest|last|current(ly)?|"
        r"right now|first step|final)\b",
        r"(多少|多高|多大|多长|几|当前|现在|目前|最新|最后|初始|第 ?\d+ ?步|数值)",
    ),
    "overview": words(
        r"\b(is|does|was|has)\b.{0,20}\b(run|training|experiment|log|job|everything|it)\b.{0,30}\b(healthy|ok|okay|fine|"
        r"normal|going well|on track|working|good|look)",
        r"\b(what('?s| is| was| went)? wrong|diagnos\w*|summary|summari[sz]e|overview|any (problems?|issues?)|anything wrong|"
        r"how is (my|the|this) (run|training|it)|"
        r"how('?s| is) it going|what do you (see|think)|analy[sz]e|check (my|this|the) (run|log|training))\b",
        r"\bexplain (?:this|the|my) (?:log|run|training)\b|\bwalk me through\b|解释(?:一下)?(?:这份|这个|我的)?(?:日志|训练)",
        r"\b(?:worst|biggest|main|most (?:serious|urgent|important|severe)) (?:problem|issue|fault|thing)\b|最(?:大|严重|要紧|"
        r"重要)的(?:问题|毛病)",
        r"(总结|概览|总览|诊断|分析一下|看看(这|我)|整体|怎么样|训练.{0,6}(正常|健康|有问题)吗?|有没有(什么)?问题|有什么问题|"
        r"哪里(有问题|不对|出了问题)|跑得|帮我看)",
    ),
}
"""Every intent whose pattern matches is noted; `question.understand` decides which one leads."""

PROPERTIES: Mapping[str, re.Pattern[str]] = {
    "missing": words(
        r"\b(missing|absent|not (in|logged|shown|printed|there|reported)|isn'?t (logged|shown|there|in)|no longer logged|"
        r"where is|where are|cannot find|can'?t find|disappear\w*)\b",
        r"\b(have|has|see|is|are|there'?s|with) no (?!idea|error|longer|more)",
        r"(没有|不见|缺失|缺少|找不到|在哪|哪去了|不显示|没打印|消失|没了)",
    ),
    "nan": words(r"\b(nan|inf|infinity|-inf)\b", r"(非数|无穷)"),
    "positive": words(r"\b(positive|above zero|greater than (zero|0)|> ?0)\b", r"(为正|是正|正数|正值|大于 ?(0|零)|正的)"),
    "negative": words(
        r"\b(negative|below zero|less than (zero|0)|< ?0|minus)\b", r"(负|小于 ?(0|零))", r"(?<![\w.])[-−]\d+(\.\d+)?(?![\w])"
    ),
    "zero": words(
        r"(?<![\d.])\b(zero|zeros|0(\.0+)?)(?!\.?\d|%)\b",
        r"(为|是|等于|显示|都|全|停在)\s*(0(\.0+)?(?![\d.])|零)",
        r"(?<![\d.])0(\.0+)?(?![\d.%])",
        r"(恒为零|归零)",
    ),
    "high": words(
        r"\b(high|large|huge|big|above|too much|exceeds?|spik\w*|explod\w*|blow\w* up|blew up|long)\b",
        r"(高|很大|太大|过大|超过|暴涨|爆炸|爆了|尖峰|飙|特别大|太多|太长)",
    ),
    "low": words(
        r"\b(low|small|tiny|below|little|short|near zero|close to zero)\b",
        r"(很低|太低|低于|很小|太小|过小|偏低|接近 ?(0|零)|才|只有|太短)",
    ),
    "rising": words(
        r"\b(ris(e|es|ing)|increas\w*|grow\w*|grew|climb\w*|go(es|ing)? up|went up|jump\w*|slower (?:and|every|each|over)|"
        r"get(?:s|ting)? slower|goes higher|upward)\b",
        r"(上升|升高|上涨|增长|增加|涨|变大|变长|变慢|越来越(大|高|长|慢))",
    ),
    "falling": words(
        r"\b(fall(s|ing)?|fell|decreas\w*|drop\w*|declin\w*|go(es|ing)? down|going donw|went down|shrink\w*|collaps\w*|suddenly)\b",
        r"(下降|降低|下跌|掉|减少|变小|变短|坍缩|崩|跌|越来越(小|低|短))",
    ),
    "flat": words(
        r"\b(flat|stuck|plateau\w*|constant|not (improv|increas|mov|chang|learn|ris)\w*|never (changes|moves)|stays? (at|"
        r"the same)|always|forever|hardly)\b",
        r"(不变|不动|不涨|不上升|卡住|停滞|平台|一直|没变化|恒|始终|几乎没有提升)",
    ),
    "slow": words(r"\b(slow\w*|takes? (so |too |very |extremely )?long|speed|hours)\b", r"(慢|耗时|太久|很久|提速|加速)"),
    "crash": words(
        r"\b(crash\w*|die[ds]?|killed|abort(s|ed)?|fail(s|ed|ure)?|exception|traceback|oom|out of memory|exited|hang(s|ing)?|hung|"
        r"stopped)\b",
        r"(崩溃|挂(?:了|的|掉)|报错|被杀|杀掉|退出|异常|爆显存|显存爆|内存爆|卡死|失败|停(?:了|的)|死(?:了|掉|的))",
    ),
}

FOLLOW_UP = words(
    r"^\W*(and|so|but|then|ok(ay)?|also|what about|how about|why(?=\W*$)|why so \w+(?=\W*$)|how come(?=\W*$)|"
    r"why is (that|this|it)|is (that|this|it)|should i|"
    r"what (should|can|do) i|what does (that|it|this)|and why)\b",
    r"^(那|所以|然后|还有|那么|这|它|另外|为什么[?？]?$|怎么办|怎么改|这个|该怎么)",
    r"\b(it|that|this|they|them|those)\b",
    r"(呢[?？]?$|它|这个|那个|这种情况)",
)

LAST = words(r"\b(latest|last|current(ly)?|now|final|end)\b", r"(最新|最后|当前|现在|目前|最终)")
FIRST = words(r"\b(first|start(s|ed)?|begin\w*|initial(ly)?)\b", r"(最初|开始|初始|一开始|起始|第一[步次个]|首[次个步]|刚开始)")
MAXIMUM = words(r"\b(highest|maximum|max|peak|largest|best)\b", r"(最高|最大|峰值|最好)")
MINIMUM = words(r"\b(lowest|minimum|min|smallest|worst)\b", r"(最低|最小|最差)")

CRITIC_WORDS = words(r"\b(critic|value (function|model|network|head))\b", r"(价值(网络|函数|模型)?|评论家|critic)")
SETTING_WORDS = words(
    r"\b(batch size|config\w*|setting|set to|hyper-?parameters?|parameter|option|what is my)\b",
    r"(配置|设置|参数|超参|设成|设为|设的|批大小|批量)",
)
RUN_WORDS = words(
    r"\b(my|our|this (run|log|training)|the (run|log)|here|i (get|see|have)|in (the|this) log)\b",
    r"(我的|这个(日志|训练|任务)|这份|日志(里|中)|我这|本次)",
)
TIMERS_SLOW = words(
    r"\b(step|training|run|it|iteration|everything)\b.{0,30}\b(slow\w*|takes? .{0,20}long)|\bwhy (is|so)\b.{0,50}\bslow\b",
    r"(训练|一步|每步|整体|跑得?|step).{0,8}(慢|耗时|太久)|为什么.{0,12}这么慢|慢在哪",
    r"\bspeed (?:it|this|things|training|the \w+|my \w+)? ?up\b|\b(?:run|train|go|make it|be|get it) (?:\w+ )?faster\b|\baccelerate\b",
    r"跑(?:得)?快|(?:更|再)快|快一?(?:点|些)|加速|提速",
)

CONFIGURED = words(r"\b(config\w*|configured|hyper-?parameters?|set to)\b", r"(配置|设置|设成|设为|设的)")
TOO_MUCH = words(
    r"\btoo (?:high|low|big|small|large|much|aggressive|conservative)\b|\b(?:high|low|big|small|large) enough\b",
    r"太(?:大|小|高|低)|过(?:大|小|高|低)|偏(?:大|小|高|低)|(?:大|小|高|低)了(?:吗|么|点|吧|$|[?？])",
)
STEP_TAKES = words(
    r"\btakes?\b.{0,16}\bper step\b",
    r"\b(one|a|each|every|per) step\b.{0,12}\b(takes?|needs?|\d+ ?s\b)|\bstep takes\b",
    r"(一步|每步)[^，。？?]{0,8}(秒|分钟|小时)",
)

AGAINST = words(r"\b(than|compar\w*|vs\.?|versus|against|relative to)\b", r"比|相比|对比")
CONVERGED = words(r"\bconverg\w*", r"收敛")
EXPLICIT_SETTING = words(
    r"\b(settings?|configured|hyper-?parameters?|options?|knobs?)\b",
    r"(配置|设置|参数|超参)(?:项|值)?(?:是|为)?(?:多少|多大|几|什么|$|[?？])",
)
BARE_WHY = words(
    r"^\W*(?:but |so |ok |and )?(?:why|how come|what happened|wtf)\b[\s?!.]*$",
    r"^\W*(?:为什么|为啥|为何|怎么回事|咋回事|原因(?:呢)?|发生了什么)(?:啊|呢|呀)?[\s?？!！。.]*$",
)
ADVISED = words(
    r"\bshould (?:i|we)\b.{0,20}\b(?:raise|lower|increase|decrease|reduce|change|turn|use|set|disable|enable|tune|try)\b|"
    r"\bwhat should\b.{0,30}\bbe\b|"
    r"\b(?:can|could|may) (?:i|we) (?:use|try|set|take|have|go)\b.{0,20}\b(?:larger|higher|bigger|smaller|lower|longer|more|less)\b|"
    r"\b(?:would|will|does|do|could|might) (?:a |an |the )?(?:(?:larger|higher|bigger|smaller|lower|longer|more|fewer|less)\b.{0,40}\bhelp|"
    r"(?:lowering|raising|reducing|increasing|changing|decreasing|disabling|enabling)\b.{0,40}\bhelp)|"
    r"\b(?:recommended|reasonable|sensible|good|best|right|suitable|proper) (?:value|setting|choice|range|number)?\b.{0,8}\b(?:for|"
    r"of)\b|\bhow (?:high|low|big|large|small) (?:should|can|may)\b|\bset .{0,30}\bto\b",
    r"(?:设|调|取|用|选)(?:成|为|到|置)?(?:多(?:大|少|高|小)|几)|(?:多大|多少|多高|几)(?:比较|才|最)?(?:合适|好|合理)|(?:该|要不要|需要|"
    r"应该|可以|能不能|是否(?:该|要|需要)).{0,6}(?:调|改|换|降|升|加|减|开|关|设)(?!.{0,4}(?:日志|代码|奖励))|要(?:调|改|降|加)(?:大|小|高|低|整)?吗",
)
"""What to set a setting to, or whether to change it."""
MY_VALUE = words(
    r"\b(?:what(?:'?s| is| are| was)) (?:my|our|the (?:current|latest|final|present))\b",
    r"(?:我的|现在的|当前的?|目前的?).{0,16}(?:是(?:多少|啥|什么)|多少|$|[?？])",
)
STRICT_MEANING = words(
    r"\b(?:what (?:does|do)\b.{0,60}\bmean\b|meaning of|definition|define|explain|how (?:is|are) .{0,50}(?:computed|calculated|defined))",
    r"什么意思|啥意思|含义|意味着|怎么(?:算|计算)|如何(?:算|计算)|定义|解释",
)

COMMON = frozenset(
    re.findall(
        r"\w+",
        """
    what does this that mean with from have been would should could which when where there their here normal good the and
    for value values step steps train training loss policy model critic actor score reward metric always still about very
    high rather
""",
    )
)
"""English words of a question that do not say which sentence of a card answers it."""

CHINESE_TERMS = tuple(
    re.findall(
        r"\w+",
        """
    为正 为负 白化 折扣 验证 泄漏 碎片 显存 截断 填充 熵 越小越好 越负 保守 准确率 爆炸 消失 衰减
""",
    )
)
"""Chinese words that may."""
