"""How people ask for a decision (stop, which checkpoint, did it help) or for what no log holds; English and Chinese, lower case."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assistant.answers.understanding.words import words

ASKED_OF_ALL: Mapping[str, re.Pattern[str]] = {
    "stop": words(
        r"(?<!how )(?<!what )\b(?:should|can|shall|must|may|do) (?:i|we) (?:just |now |already |really )?(?:have to |"
        r"need to )?(?:stop(?!\s+"
        r"(?:it from|this from|the|using|logging|\w+ing))|stop the (?:run|training|job)|kill|abort|cancel|continue(?! from)|pause|"
        r"end (?:it|"
        r"the run)|"
        r"train (?:it |the model )?(?:longer|more|further|on)|run (?:it )?longer|keep (?:it |the run )?(?:going|training|running)|"
        r"go on|let it run)\b",
        r"\bworth (?:continuing|it to (?:continue|go on)|going on)\b|\b(?:stop|continue) or (?:stop|continue|go on|keep|let)\b"
        r"|^\W*(?:stop|kill|continue) (?:it|this|the run|this run|training)\W*$|\bearly stop(?:ping)?\W*$",
        r"(?:要不要|该不该|应不应该|需不需要|是不是该|是否(?:该|应该|需要)|该|应该|可以|能|能不能|要|需要)(?:先|直接|现在|赶紧|把它)?"
        r"(?:停(?:掉|下来?|止|了)?(?!用|在)|早停|杀掉|终止|结束)(?:训练|训|跑|任务|这次|吗|么|了|吧|呢|$|[?？])",
        r"(?:要不要|该不该|应该|还要|还能|还用|能|可以|值得|有必要|是否|需要)(?:再|继续)(?:训|跑|下去)|继续(?:训|跑)(?:练)?(?:下去)?(?:吗|还是|有意义|有用)|"
        r"停还是(?:继续|不停)|继续还是停|(?:训练|跑下去|继续).{0,4}(?:还有|有没有)(?:意义|必要|用)",
        r"\bneed(?:s|ed)? (?:to (?:train|run) )?(?:more|longer)(?: (?:steps|training|time|epochs|iterations))?\W*$",
    ),
    "checkpoint": words(
        r"\b(?:which|what) (?:saved |is the best )?(?:checkpoint|ckpt)s?\b|\bbest (?:checkpoint|ckpt|step|epoch)\b(?!.{0,6}@)"
        r"|\bwhen (?:should|could|can) (?:i|we|it) (?:have )?(?:been )?stop(?:ped)?\b|\b(?:can|should|could) (?:i|we) (?:resume|"
        r"continue|restart) from\b"
        r"|\bcheckpoint (?:should|do|to) (?:i|we)? ?(?:use|keep|take|pick|choose|deploy)\b|\bhow many epochs (?:should|do|to|are|"
        r"is|would)\b"
        r"|\bwhich (?:step|epoch) (?:should|do) (?:i|we) (?:use|keep|take|pick|resume|restart|roll)"
        r"|\b(?:from )?where (?:should|do|to|can) (?:i |we )?(?:resume|restart|roll ?back)\b|\broll ?back to (?:which|what|where)\b",
        r"(?:哪|什么)(?:一|个|一个|一步|一步的|个步数的|步的|一?版)?的?\s?(?:checkpoint|ckpt|检查点|权重|模型权重)|(?:checkpoint|ckpt|检查点).{0,6}"
        r"(?:最好|最优|选哪|用哪|取哪|留哪|哪个)|应?该?(?:留|训|保留|跑)(?:几|多少)个? ?(?:epoch|轮)|从哪(?:里|一?步|"
        r"个).{0,8}(?:恢复|重启|回滚|续训)"
        r"|回滚到(?:哪|第几|多少)|(?:应该|该)(?:在)?(?:什么时候|哪一?步)停|(?:能|可以)从.{0,10}(?:恢复|续训)吗",
    ),
    "worked": words(
        r"\bhow (?:do|can|will|would|should) (?:i|we) (?:know|tell|see|check|verify)\b.{0,40}\b(?:work(?:s|ed)?|fix(?:ed|es)?|"
        r"help(?:s|ed)?|"
        r"solved|took effect|effective)\b",
        r"\bwhat should (?:i|we) see (?:after|then|if|next)\b|\bhow (?:soon|long) (?:will|should|does|until) .{0,20}\b(?:fix|"
        r"change)\b.{0,16}"
        r"\b(?:effect|work|show|help)",
        r"怎么(?:才能|才)?(?:知道|判断|确认|验证|看出来?)(?:它|这个|改动|修改|修复|改了|调了|是否)?.{0,10}(?:有效|生效|有用|有没有用|修好|好了|起作用|管用|"
        r"有效果)|改(?:完|了)(?:之后|以后|后)?(?:应该|该)?看(?:什么|哪)",
    ),
    "thanks": words(
        r"^\W*(?:ok(?:ay)?[, ]*|great[, ]*|cool[, ]*)?(?:thanks|thank you|thx|ty|cheers|nice|got it|perfect|great|cool|ok(?:ay)?)"
        r"(?: a lot| so much| very much| you)?\W*$",
        r"^\W*(?:好的?[，, ]*)?(?:谢谢|多谢|感谢|好的|明白了?|收到|懂了|知道了|辛苦了)(?:你|您|啦|了|啊)?\W*$",
    ),
    "can_do": words(
        r"^\W*(?:hi|hello|hey|help)(?: there)?\W*$|\bwhat (?:can|could|do) (?:you|i) (?:do|ask|answer|know)(?: you| here| about)?\W*$|"
        r"\bwho are you\b|\bwhat are you\W*$|\bhow (?:do|can) (?:i|you) use (?:you|this|it)\b",
        r"^\W*(?:你好|您好|在吗|嗨|哈喽)\W*$|你(?:能|会|可以)(?:做|干|回答|帮我做)(?:什么|啥)|(?:能|可以)问(?:你)?(?:什么|啥)|^\W*怎么用\W*$",
    ),
    "gpu_model": words(
        r"\b(?:which|what) (?:kind of |type of |sort of )?(?:gpus?|graphics card|hardware|accelerators?)\b(?!.{0,24}(?:memory|util|"
        r"first|slow"
        r"|fail))|\bgpu (?:model|type|name)\b",
        r"(?:什么|哪种|哪款|啥)(?:型号)?(?:的)?(?:显卡|gpu|卡)(?!.{0,6}(?:出|挂|慢|死))|(?:显卡|gpu)(?:的)?(?:型号|是什么|是啥)",
    ),
    "hardware": words(
        r"\bhardware\b.{0,12}(?:problem|issue|fault|fail|error|defect)|\b(?:bad|broken|faulty|dead|defective) (?:gpu|node|card|"
        r"machine|nic)\b",
        r"硬件.{0,4}(?:问题|故障|坏|原因)|(?:卡|机器|gpu|显卡|节点)(?:是不是)?坏了",
    ),
    "data_quality": words(
        r"\b(?:data ?set|training data|data)\b.{0,12}\b(?:problem|bad|wrong|issue|quality|good|broken|dirty|to blame|at fault|fine|"
        r"ok(?:ay)?)\b"
        r"|\b(?:bad|dirty|wrong|broken) (?:data|dataset)\b",
        r"(?:数据|数据集|训练集).{0,6}(?:问题|质量|不好|太差|脏|坏|有毒)",
    ),
    "reward_function": words(
        r"\breward[ _](?:function|fn|model|code)\b.{0,16}\b(?:correct|right|ok(?:ay)?|good|bug\w*|wrong|broken)\b|"
        r"\b(?:bug|error|mistake) in (?:my|the) reward\b",
        r"(?:奖励|reward) ?(?:函数|function|模型)?.{0,6}(?:写(?:得)?对|正确吗|对不对|写错|有 ?bug)",
    ),
}
"""Topic → how people ask for it. These are tried before the questions on the run itself, whatever metric stands beside them."""

USUAL_TIME = words(
    r"\bhow long (?:should|would|does|do)\b(?!.{0,24}\b(?:steps?|phases?|iterations?|it|this|the (?:run|training))\b).{0,60}\btake\b",
    r"\bhow long (?:should|would) (?:it|this|the (?:run|training)|training|(?:ppo|grpo|sft|dpo)(?: training)?)\b.{0,30}\btake\b",
    r"(?:训(?:练)?|跑)?(?:要)?多(?:久|长时间)(?:才|才算|算|是|比较)?(?:正常|合理)|一般(?:要|需要)?(?:训(?:练)?|跑)多久",
)
GOOD_VALUE = words(
    r"\bwhat(?:'?s| is| are| would be| should be)? (?:a |an |the )?(?:good|normal|healthy|typical|usual|reasonable|sane|expected|"
    r"ideal|right) "
    r"(?:value|range|level|number|size|amount)?\b",
    r"\b(?:normal|healthy|typical|usual|reasonable|expected|good) (?:range|values?|level)s?\b|\bhow (?:high|low|big|large|small|"
    r"long) (?:should|is"
    r" normal|is ok)\b",
    r"(?:正常|健康|合理|合适|常见)(?:的)?(?:范围|区间|值|数值|水平)|(?:多少|多大|多高|多长)(?:才|才算|算|是|比较)?(?:正常|合适|合理|健康|好)|一般(?:是|在|为)?多少",
)
"""What value of a metric is good."""
READING = words(
    r"\bhow (?:should|do|can|to) (?:i |we |you )?(?:read|interpret|understand|judge|look at)\b",
    r"\bhow do(?:es)?\b.{0,120}\b(?:tell|show|say|indicate)\b",
    r"(?:怎么|如何|应该怎么|该怎么)(?:看|读|理解|解读|判断)",
)
AT_ALL = words(
    r"\bis (?:it|this|the (?:model|run|policy)|training|anything) (?:really |actually |even )?(?:training|happening|learning|"
    r"being trained)\b",
    r"(?:到底|真的|究竟)?(?:有没有|真的|是不是真的|是否)在(?:训练|学习|学|训)|(?:真的|到底)(?:训|学)了吗",
)
"""Whether anything is trained at all, asked of values that look dead."""
GAP = words(
    r"\btrain(?:ing)?[ /-]*(?:and |vs\.? )?(?:val\w*|test|eval\w*) gap\b|\bgap between (?:the )?(?:train\w*|reward|"
    r"score) and (?:the )?(?:val\w*|test|eval\w*)",
    r"(?:训练|train)(?:得分|奖励|集)?(?:和|与|跟|/)(?:验证|测试|val)\w{0,6}(?:的)?(?:差距|差多少|gap)",
)
"""The distance between training score and validation."""
IMPROVED = words(
    r"\bhow much (?:did|does|has|have|did the|does the)\b.{0,40}\b(?:improve|rise|fall|drop|change|gain|increase|decrease|grow|"
    r"go (?:up|down)|"
    r"improved|risen|fallen|changed|gained|grown)\b|\bby how much\b",
    r"^\W*(?:did|has|have)\b.{0,40}\b(?:improved?|rise|risen|fall|fallen|increased?|decreased?|dropped|drop|go(?:ne)? (?:up|down)|"
    r"changed?)\W*$",
    r"(?:上升|下降|提升|提高|涨|降|变好|改善|变化)了?(?:吗|没有?|么)\W*$",
    r"(?:提升|提高|上升|下降|涨|降|变化|改善|增长|减少|增加|掉|升)(?:了)?多少",
)
