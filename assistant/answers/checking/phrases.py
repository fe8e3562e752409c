"""Words around a numeral that say what kind of number it is; English and Chinese. Nothing here is shown."""

from __future__ import annotations

import re

GENERAL = re.compile(
    r"\b(?:usual\w*|typical\w*|normal\w*|health\w*|rule of thumb|generally|in general|commonly|often|ranges?|band|between|"
    r"below|above|under|over|threshold|limits?|less than|more than|at least|at most|"
    r"no more than|exceed\w*|default\w*|should|would|could|set|try|start\w* (?:at|from|with)|e\.g|for example|such as|raise|"
    r"lower|increase|reduce|decrease|clip\w*|cap(?:s|ped)?|max\w*|target|aim|recommend\w*|"
    r"suggest\w*|propos\w*|change|within|until|if|when|than|rounds?|decimals|prints?|version|verl|means?|formula|defined|ln|log)\b|[<>≥≤→=]"
    r"|通常|一般|正常|健康|经验|常见|范围|区间|阈值|低于|高于|以下|以上|以内|小于|大于|不超过|超过|至少|至多|最多|默认|应|"
    r"建议|设|调|改|试|可以|例如|比如|如果|若|当|上限|下限|推荐|提高到|降低到|之间|小数|打印|版本|意味|表示|定义|公式",
    re.IGNORECASE,
)
CLAIM = re.compile(
    r"(?:\b(?:is|was|are|were|at|to|of|reached|reaches|hit|now|ends?|ended|stands?|stood|equals?|only|just|from|value)|"
    r"[:=：（(]|为|是|到|至|达|仅|只有|值|从|在|约)\s*(?:about |around |约|only |now |just )?[`*~≈]*$",
    re.IGNORECASE,
)
DIFFERENCE = re.compile(
    r"(?:\b(?:by|(?:drop|fall|rise|increase|decrease|decline|gain|loss|gap|difference|change|reduction|growth) of)|变化了?|"
    r"(?:下降|上升|减少|增加|上涨|提高|降低|升高|跌|涨|降|升|掉|多|少|高|低)了|相差|差了?)\s*(?:about |around |roughly |"
    r"约)?[`*~≈]*$",
    re.IGNORECASE,
)
PROSE_COUNT = re.compile(
    r"^[\s`*]*(?:(?:main |likely |possible |other |more |simple |concrete |key )*(?:things?|options?|reasons?|causes?|"
    r"points?|ways?|ideas?|candidates?|parts?|checks? to|changes?|actions?|suggestions?|questions?|signs?|hypothes[ei]s|"
    r"explanations?|settings?|knobs?)\b|(?:个|种|点|条|项|件|方面)(?:主要|可能|常见|最)?(?:的)?(?:原因|方法|建议|办法|选择|"
    r"可能|措施|方面|步骤|解释|事|设置|改动|因素|思路|方向|信号|点|，|：|:|。)|方面)",
    re.IGNORECASE,
)
COUNTED = re.compile(
    r"^[\s`*]*(?:more |further |other |consecutive |training |logged |printed |of the |of these )*"
    r"(?:(?!(?:for|and|the|than|with|from|but|while|per|now|then|which|that|when|until|after|before|over|into|are|was|has)\b)"
    r"[a-z]{3,}|步|个|次|项|条|行|轮|组|种|张|卡)",
    re.IGNORECASE,
)
STEPS_LONG = re.compile(
    r"^[\s`*]*(?:more |further |consecutive |training |logged |printed |to )*"
    r"(?:steps?\b|iterations?\b|(?:个\s?)?(?:训练|记录)?步)",
    re.IGNORECASE,
)
OUT_OF = re.compile(
    r"(?:^[\s`*]*(?:/|of|out of)\s*(?:the\s*)?[`*]*\d)|(?:\d[\s`*]*(?:/|of|out of|步中有?|个中有?|中有?|中的?)\s*(?:the\s*)?[`*]*$)",
    re.IGNORECASE,
)
ROLE = re.compile(
    r"(?P<high>\b(?:highest|maximum|peak(?:s|ed)?|largest)\b|最高|最大值?|峰值)|(?P<low>\b(?:lowest|minimum|smallest)\b|最低|最小值?)|"
    r"(?P<first>\b(?:start(?:s|ed)? at|begins at|began at|first value|initial(?:ly)?)\b|初始|起始|一开始|开始时|起初)|"
    r"(?P<last>\b(?:end(?:s|ed)? (?:up )?at|final(?:ly)?(?: value)?|last value|finish(?:es|ed) at)\b|最后一?个?值?|最终|末尾)",
    re.IGNORECASE,
)
CHECKS = re.compile(r"^\s?(?:related )?checks?\b|^\s?项(?:相关)?检查", re.IGNORECASE)
AROUND_ZERO = re.compile(
    r"(?:\b(?:around|near|close to|centr?ed (?:on|at|around)|above|below|than|divided by|from)|以|除以|接近|趋近于?|围绕|"
    r"大于|小于|高于|低于)\s*[`*]*$",
    re.IGNORECASE,
)
FROM = re.compile(r"(?:\bfrom|从|由|自)\s*(?:about |around |约)?[`*~≈]*$", re.IGNORECASE)
USUALLY = re.compile(
    r"\b(?:usual\w*|typical\w*|normally|health\w*|rule of thumb|in general|often|should|would|could|below|above|under|over|"
    r"between|less|more|threshold|limit)\b"
    r"|通常|一般|健康|经验|往往|应|低于|高于|以下|以上|之间|阈值",
    re.IGNORECASE,
)
CHANGED = re.compile(
    r"\b(?:by|fell|falls|fallen|rose|rises|risen|drop\w*|gr[eo]w\w*|shr[aiu]nk\w*|declin\w*|increas\w*|decreas\w*|lower|"
    r"higher|smaller|larger|longer|shorter|"
    r"slower|faster|lost|gained|chang\w*|doubl\w*|tripl\w*|halv\w*|times as|of (?:its|their|where)|start\w*|began|"
    r"begin\w*|first|peak|best)\b"
    r"|下降|上升|减少|增加|增长|缩短|变长|变短|变大|变小|降|升|涨|跌|高了|低了|快了|慢了|变化|是最初|是开始|开始时|只剩|仅剩|剩下|起始|初始|峰值|最高|倍",
    re.IGNORECASE,
)
TOKENS = re.compile(r"^[\s`*]*(?:个\s?)?tokens?\b", re.IGNORECASE)
OF_UNIT = {
    "tokens": re.compile(r"length|token|seqlen", re.IGNORECASE),
    "s": re.compile(r"^tim(?:e|ing)|step|second|time", re.IGNORECASE),
    "GB": re.compile(r"memory|gb\b", re.IGNORECASE),
}
"""Metrics (or formulas) in which a number with this unit may be given."""

USERS = re.compile(
    r"\byour?\b(?! run\b| log\b| training\b)[^;]{0,120}?\b(?:not in (?:this|the) log|(?:does|do|did) not|doesn't|don't|differs?)\b"
    r"|你(?:说|提到|写|问|给|看到)?的?[^。；]{0,60}?(?:不在这份|不在日志|日志里没有|日志中没有|与日志不|和日志不|对不上)",
    re.IGNORECASE,
)
"""A sentence that sets the user's own figures against the log."""
BATCH = re.compile(
    r"(?:批内|批次内|同一批(?:里|内)?|\b(?:in|within|over|of) (?:the|this|that|a|one) batch\b|\bbatch (?:range|spread)\b)[^。；;]{0,40}$",
    re.IGNORECASE,
)
"""Before a numeral: it is one of the batch's extremes, not its mean."""
ADVISES = re.compile(
    r"(?:^|\b(?:to|and|then|or)\s|[,:;]\s)[\s\W]*(?:try|set|lower|raise|reduce|increase|decrease|keep|watch|halve|double"
    r"|triple|use)\b|\b(?:should|try|watch)\b"
    r"|试|设|调|建议|应|把|将|看|观察|保持|先",
    re.IGNORECASE,
)
"""A setting to try, no value of the run."""
OF_THIS_RUN = re.compile(
    r"\b(?:this|your) (?:run|log|job|training)\b[^.;]{0,24}\b(?:is|was|uses?|used|ran|runs|comes?|made|done|written|printed)\b"
    r"|(?:这次|这份|你的)(?:训练|日志|运行)[^。；，]{0,8}(?:是|用|来自)",
    re.IGNORECASE,
)
"""A sentence that says of this run what it is or uses."""
BECOMES = re.compile(r"\b(?:becomes?|became|turn(?:s|ed)?(?: into)?|goes|went)\s*[`*]*$|(?:变成|变为|成)了?\s*[`*]*$", re.IGNORECASE)
STRICTLY_GENERAL = re.compile(
    r"\b(?:usual\w*|typical\w*|normally|generally|in general|commonly|often|should|would|could|may|might|if|when|until"
    r"|(?:each|every) time|at (?:each|every)|whenever|rule of thumb|expect\w*|e\.g|for example)\b"
    r"|通常|一般|往往|常见|应|如果|若|当|可能|例如|比如|会|直到|每次",
    re.IGNORECASE,
)
"""A sentence that cannot be meant of this run alone."""
MORE_THAN = re.compile(r"(?:\bmore than|\bover|\bpassed|\bpast|\bbeyond|\bexceed(?:s|ed)|超过了?|不止|多于|过了)\s*[`*]*$", re.IGNORECASE)
PER = re.compile(r"(?:\bper|\bevery|\beach|每)\s*[`*]*$", re.IGNORECASE)
WATCHES = re.compile(r"\b(?:watch|check that|look for|should|aim)\b|(?:^|[，。；、：:]\s?|\s)(?:看|观察|确认|检查)|是否", re.IGNORECASE)
"""What to look out for after a change: its numbers are the cards', not the run's."""
HYPOTHETICAL = re.compile(
    r"\b(?:if|should|would|could|can|cannot|may|might|will|must|when(?:ever)?|unless|usually|normally|typically|generally|often|expect\w*"
    r"|until|watch|check|whether|make sure|try|so that|means?(?= that)|in general|look for|aim|not|n't|no longer|hardly|unlike"
    r"|would)\b|n't\b"
    r"|如果|若|应|会|可能|可以|能否|是否|通常|一般|正常|期望|直到|观察|确认|避免|防止|当|建议|需要|留意|不是|没有|并未|未|看看",
    re.IGNORECASE,
)
"""A clause that states nothing of this run: a condition, advice, a negation."""
BY_SHARE = re.compile(
    r"(?:\b(?:fell|falls|dropped|drops|decreased|declined|shrank|rose|rises|grew|increased|climbed|went (?:up|down)|lost"
    r"|gained|changed|reduced|cut)"
    r"\b[^.;,]{0,60}?\bby|\b(?:lost|shed)|(?:下降|减少|降低|下跌|缩短|上升|增加|增长|上涨|提高|升高)了?)"
    r"\s*(?:about |around |roughly |约|大约)?[`*~≈]*$",
    re.IGNORECASE,
)
"""Before a percentage: it is how much was lost or won."""
TO_SHARE = re.compile(
    r"\b(?:to|at|only|just)\s*(?:about |around |roughly )?[`*~≈]*$"
    r"|(?:[降跌减掉缩升涨增][低少到至为]*[到至为]了?|只剩|仅剩|还剩)[^。；，]{0,10}?的?\s*约?[`*~≈]*$",
    re.IGNORECASE,
)
OF_START = re.compile(
    r"^[\s`*]*(?:of|as (?:high|large|long|much|big) as)\s[^.;,]{0,12}?\b(?:start\w*|initial|first|beginning|original|began)\b",
    re.IGNORECASE,
)
FROM_START = re.compile(
    r"\b(?:over|during|across|in) (?:the |this )?(?:whole |entire |full )?(?:run|training)\b|\bbetween the first and (?:the )?last\b"
    r"|\b(?:as|than|since|of|from|what it was) (?:at |in )?(?:its |the )?(?:start\w*|beginning|initial|first|original)\b|\bwas"
    r" at the start\b"
    r"|从头到尾|全程|整个训练|开始时|最初|初始|起始|起初|一开始",
    re.IGNORECASE,
)
"""A change that is said to be one from the first to the last value."""
GREW = re.compile(r"(?P<up>doubl|tripl|翻)|(?P<down>halv|减半)", re.IGNORECASE)
"""A multiple that says its direction."""
PROPOSES = re.compile(r"(?:→|\bto|\btry|\buse|改[为成到]|调[为成到]|设[为成]|降[为到至]|升[为到至])\s*(?:about |约)?[`*]*$", re.IGNORECASE)
"""Before a number: it is one to set."""
