"""Questions about the run itself (version, GPUs, time left, is it learning …) and about moments of it, by their words.

Patterns match a lower-case question with NFKC applied. The first topic that matches wins; some give way to a named metric.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from assistant.answers.understanding.decisions import ASKED_OF_ALL, USUAL_TIME
from assistant.answers.understanding.words import words

_IT = (
    r"(?:it|this|that|ppo|grpo|the (?:model|policy|agent|actor|run|training|network|llm)|my (?:model|policy|agent|actor|run|training)|"
    r"(?:our|"
    r"your) (?:model|policy|run)|anything|the thing|model|policy|training|run)"
)

TOPICS: Mapping[str, re.Pattern[str]] = {
    **ASKED_OF_ALL,
    "grad_clip": words(
        r"\b(?:grad(?:ient)?s?|grad(?:ient)? norm)[ _-]?clip\w*|\bclip\w* (?:the |my )?grad(?:ient)?s?\b|\bgradients? (?:are |is |"
        r"being |get )?clipp(?:ed|ing)\b",
        r"\b(?:before|after|pre|post)[ -](?:the )?(?:gradient )?clip\w*",
        r"(?:grad|梯度).{0,12}裁剪(?:前|后|之前|之后)|梯度(?:被)?(?:裁剪|截断|clip)|(?:裁剪|clip)(?:了)?梯度|grad(?:ient)?[ _]?clip",
    ),
    "critic_learning": words(
        r"\b(?:is|are|does|did|has)\b.{0,16}\b(?:critic|value (?:function|model|network|head))\b.{0,20}\b(?:learn\w*|improv\w*|"
        r"train(?:ed|ing)|converg\w*|work\w*|ok|fine|healthy|useful|any good)\b",
        r"\b(?:critic|value (?:function|model|network))\b.{0,12}\b(?:learning|any good|ok(?:ay)?|fine|useful|healthy|working|"
        r"broken)\b(?!.{0,4}rate)",
        r"^\W*(?:and |so |what about |how about |how is )*(?:the )?(?:critic|value (?:function|model|network|head))\W*$",
        r"^\W*(?:那么?)?\s*(?:critic|价值(?:网络|函数|模型))\s*(?:呢|怎么了|怎么样|如何|还好吗|有问题吗)?\W*$",
        r"(?:critic|价值(?:网络|函数|模型)).{0,8}(?:学(?:到|习|会|得)|在学|收敛|训(?:练)?(?:好|得|起)|有用|正常吗|有没有(?:学|用))",
    ),
    "learning": words(
        rf"\b(?:is|are|does|did|has|have|was)\b\s+(?:{_IT}|(?:my|our|the|this)\b[\w' -]{{1,24}}?)\s+(?:\w+\s+){{0,2}}(?:learn(?:ing|ed|"
        rf"s|t)?|improv(?:e|ed|es|ing)|converg(?:e|ed|es|ing)|gett?ing (?:any )?better|making progress|progress(?:ing|ed)?|plateau(?:ed|"
        rf"ing)?|saturated)\b",
        r"\b(?:is|was)\b.{0,12}\b(?:training|learning) (?:actually |really )?(?:working|happening|effective)\b|\blearn(?:ed|t|"
        r"ing)? (?:anything|something)\b|\bany (?:progress|improvement|learning)\b",
        r"\b(?:is|are) (?:we|i) (?:getting|making|learning)\b|\bwill (?:it|this|the \w+) (?:recover|improve|get better|converge)\b"
        r"|会(?:不会)?(?:自己)?(?:恢复|变好|好转|收敛)",
        r"(?:模型|策略|训练|它|这个|actor|policy|run|到底)?.{0,6}(?:有没有|是否|有|在|还在|到底有没有)(?:在)?(?:学习|学到|学会|学东西|"
        r"学(?:吗|么|$|[?？])|进步|变好|提升(?:吗|么|$|[?？]))",
        r"\bis (?:it|the (?:run|model|policy)) (?:really |actually |even )?training\b|(?:到底|真的)?(?:有没有|真的)在训练",
        r"还(?:在|能|会)(?:继续)?(?:涨|升|上升|提升|进步|变好)|\bis it (?:still )?(?:going up|rising|climbing|gaining)\b",
        r"(?:模型|训练|策略|它|run|loss|损失)?.{0,6}(?:收敛|学会|学到东西|有效果|有进展)(?:了|没|吗|么|$|[?？])",
    ),
    "oom": words(
        r"\b(?:will|would|going to|gonna|about to|risk|danger|likely|might|could|close to|near|safe from|can)\b.{0,30}(?:\boom\b|"
        r"out of memory|run(?:ning)? out of (?:gpu |host |cpu )?(?:memory|vram|ram))",
        r"\b(?:will|going to|does|could|might) (?:it|this|that|the memory) run out\b",
        r"\b(?:gpu|cpu|host) or (?:a )?(?:gpu|cpu|host)(?: memory| ram)?\b|(?:显存|gpu)还是(?:内存|cpu|主机)|(?:内存|cpu)还是(?:显存|gpu)",
        r"\b(?:memory|vram|ram)\b.{0,12}\b(?:run(?:s|ning)? out|is full|be full|fill(?:s|ed)? up)\b",
        r"\b(?:enough|how much) (?:gpu )?(?:memory|vram)\b.{0,12}\b(?:left|free|headroom|spare)\b|\bmemory headroom\b",
        r"(?:会不会|会|要|快|将|可能|有没有|风险|离).{0,10}(?:oom|爆显存|显存(?:爆|溢出|不够)|内存(?:爆|不够))|(?:显存|"
        r"内存).{0,6}(?:够吗|够不够|会爆|会不会爆|还剩|余量)|(?:oom|爆显存).{0,4}(?:风险|吗)",
    ),
    "memory": words(
        r"^\W*(?:and |so |what about |how about |how is )*(?:the )?(?:gpu |host |cpu )?(?:memory|ram|vram)\W*$",
        r"^\W*(?:那么?)?\s*(?:显存|内存)\s*(?:呢|怎么样|如何|有问题吗)\W*$",
        r"\bhow much (?:gpu |cpu |host |system )?(?:memory|vram|ram|mem)\b|\bmemory (?:usage|use|used|consumption|"
        r"footprint)\b(?!.{0,20}\b(?:ris|grow|climb|leak|increas))",
        r"(?:显存|内存)(?:占用|使用|用量|用)?(?:了)?(?:是)?(?:多少|多大|几(?:个)?g)|(?:用|占)(?:了)?(?:多少|几(?:个)?g)(?:的)?(?:显存|"
        r"内存)|(?:显存|内存)(?:占用|使用(?:情况|率)|用量)(?:$|[?？]|如何|怎么样)",
    ),
    "version": words(
        r"\b(?:which|what)(?:'?s)?\b.{0,24}\b(?:version|release|framework)\b|\bversion of (?:verl|trl|openrlhf|this|the)\b.{0,20}(?:is|"
        r"was|do|am|\?|$)|\b(?:verl|framework) version\b|^\W*version\W*$",
        r"(?:什么|哪个|哪一个|啥)(?:版本|框架)|版本(?:号)?(?:是)?(?:多少|什么|哪个|几)|(?:verl|框架)(?:的)?版本(?:$|[?？])|^版本[?？]?$",
    ),
    "algorithm": words(
        r"\b(?:which|what)\b.{0,12}\b(?:rl )?(?:algorithm|algo|method|estimator)\b|\b(?:is|was) (?:this|it|that)(?: run)?(?: (?:a|an|"
        r"running|using))? (?:ppo|grpo|gae|rloo|remax|dapo|reinforce\S*|dpo|sft)(?: run| training)?(?: or (?:ppo|grpo|gae|rloo|remax|"
        r"dapo|dpo|sft))?\W*$",
        r"\b(?:ppo|grpo) or (?:ppo|grpo|gae|rloo|dapo)\b",
        r"(?:什么|哪个|哪种|啥)(?:rl|强化学习|训练)?(?:算法|方法)|算法(?:是|用)(?:的)?(?:是)?(?:什么|哪)|(?:这(?:个|是|次)?|"
        r"是).{0,6}(?:ppo|grpo)(?:还是|吗)",
    ),
    "gpus": words(
        r"\bhow many\b.{0,16}\b(?:gpus?(?!.{0,2}hours?)|nodes?|cards?|devices?|accelerators?|a100s?|h100s?|h800s?|a800s?)\b|"
        r"\bnumber of (?:gpus?|nodes?|cards)\b|\bgpu count\b",
        r"(?:几|多少)(?:张|块|个|台)?(?:卡|gpu|显卡|节点|机器)|(?:gpu|卡|显卡|节点)(?:的)?(?:数(?:量|目)?)(?:是)?(?:多少|几|$|[?？])|"
        r"用了(?:几|多少)(?:张|块)?卡|几机几卡",
    ),
    "responses": words(
        r"\bhow many\b.{0,24}\b(?:responses?|samples?|rollouts?|answers?|completions?|trajector\w+|generations?|prompts?|questions?|"
        r"sequences?)\b.{0,30}\b(?:per|each|every|a|in (?:a|one|each)|do|does)\b(?!.{0,30}(?:truncat|cut|wrong|right|correct|abort|"
        r"zero))",
        r"\bhow many\b.{0,12}\b(?:responses?|samples?|rollouts?|prompts?|trajector\w+)\b\W*$|\b(?:responses|samples|rollouts|prompts|"
        r"trajectories) (?:per|a|each) (?:step|batch|iteration|update)\b|\b(?:actual|real|effective) batch ?size\b|\bhow (?:big|"
        r"large)\b.{0,16}\bbatch\b",
        r"(?:每(?:一)?(?:个)?(?:步|次|轮|batch|批)|一(?:步|批|次)|(?:一)?个batch).{0,10}(?:多少|几)(?:条|个)?(?:回答|回复|样本|轨迹|"
        r"prompt|rollout|数据|题|response|sample)|(?:多少|几)(?:条|个)(?:回答|回复|样本|轨迹|rollout|response|sample)|"
        r"(?:实际)?(?:batch ?size|批(?:次)?大小|batch)(?:到底)?(?:是|有)?(?:多少|多大|几)|每组(?:几|多少)",
    ),
    "eta": words(
        r"\b(?:eta|time (?:left|remaining)|remaining time|steps (?:left|remaining|to go))\b|\bhow (?:much longer|"
        r"many (?:more )?(?:steps|hours|days|minutes) (?:are |is )?(?:left|to go|remain\w*|more))\b|\bhow long\b.{0,20}\b(?:until|till|"
        r"left|to go|remain\w*|before it|to finish|more)\b",
        r"\bhow long (?:will|does|is)\b.{0,24}\b(?:finish|end|complete|the (?:whole|rest|full)|whole (?:run|training)|(?:run|"
        r"training) take)\b|\bhow long will (?:it|this|training|the run)\b.{0,8}(?:take|run|last)\b",
        r"\b(?:did|has|have|is|was) (?:it|this|that|the (?:run|training|job))(?: \w+)? (?:finish(?:ed)?|complete(?:d)?|done|over)\b"
        r"|(?:跑完|训完|结束|完成)了?(?:吗|没|么)",
        r"\bwhen (?:will|does|is|would)\b.{0,30}\b(?:finish\w*|done|end|complete\w*|over|ready)\b|\b(?:will|is) it (?:finish|done)\b",
        r"还(?:要|需要?|得|剩|有)(?:训(?:练)?|跑)?(?:多久|多长时间|多少(?:步|时间|小时|天)|几(?:个)?(?:小时|天|步))|剩(?:余|"
        r"下)?(?:多少)?(?:时间|步)|什么时候(?:能|才能|可以|会)?(?:跑|训(?:练)?)?(?:完|结束|好|训完|跑完|完成)|多久(?:能|才能|"
        r"可以)?(?:跑|训(?:练)?)完|预计.{0,8}(?:完|结束|时间)",
    ),
    "validation_every": words(
        r"\bhow often\b.{0,20}\b(?:validat\w*|eval\w*|test(?:s|ed)?)\b|\b(?:validation|eval(?:uation)?|test) (?:freq\w*|interval)\b",
        r"(?:多久|多少步|几步|每几步)(?:做|跑)?(?:一次)?(?:验证|测试|评估|eval)|(?:验证|测试|评估)(?:的)?(?:频率|间隔|多久一次|"
        r"多少步一次|几步一次)",
    ),
    "step_seconds": words(
        r"\bhow long (?:does|do|is|are|did)\b.{0,12}\b(?:a|one|each|every|the|my) (?:training )?steps?\b|\bseconds (?:per|a) step\b|"
        r"\b(?:step|iteration) (?:time|duration)\W*$|\bhow (?:fast|slow) (?:is|are) (?:a|one|each|my|the) steps?\b",
        r"(?:一|每|单)(?:个)?步(?:大概|平均|一般)?(?:要|用|花|需要|得|跑)?(?:多久|多长时间|几(?:秒|分钟)|多少(?:秒|时间))|(?:一|每|"
        r"单)步(?:的)?(?:耗时|时间|用时)(?:是)?(?:多少|多久|$|[?？])",
    ),
    "elapsed": words(
        r"\bhow long (?:has|have|did|was|been)\b.{0,30}\b(?:run\w*|train\w*|take|taken|going|so far|last\w*)\b(?!.{0,20}per step)|"
        r"\b(?:total|overall|wall.?clock) (?:training |run |wall.?clock )?time\b|\bgpu.?hours?\b|\bhow many (?:gpu.?)?hours\b|"
        r"\bhours so far\b",
        r"(?:总共|一共|已经|目前|到现在|前后)?(?:跑|训(?:练)?|花|用)了(?:多久|多长时间|几(?:个)?(?:小时|天)|多少(?:小时|时间))|"
        r"总(?:训练)?(?:时间|耗时|时长)|gpu ?小时|卡时",
    ),
    "usual_time": USUAL_TIME,
    "steps_done": words(
        r"\bhow many (?:training )?(?:steps|iterations|epochs)\b(?!.{0,30}(?:above|below|over|under|exceed|until|to reach|take|took|nan|"
        r"left|remain|more))(?:.{0,40}\b(?:run|done|log|so far|total|in (?:this|the)|did|have|has|are there|train\w*|complete\w*|"
        r"there)\b|\W*$)",
        r"\bhow far (?:is|along|has|did)\b|\bwhat step (?:is|am|are) (?:it|i|we)\b|\bwhich (?:step|epoch) (?:is it|are we|am i)\b|"
        r"\bcurrent (?:step|epoch)\b",
        r"(?:跑|训(?:练)?|走)(?:到|了)(?:第)?(?:多少|几)(?:步|个?epoch|轮)(?:了)?|(?:总共|一共)(?:有)?(?:多少|几)步|(?:当前|"
        r"现在)(?:是)?(?:在)?(?:第)?(?:几|哪一?|多少)(?:步|个?epoch|轮)",
    ),
    "total_throughput": words(
        r"\b(?:tokens?(?:/| per | a )s(?:ec(?:ond)?)?|throughput|tok/s|tps)\b.{0,30}\b(?:total|overall|all (?:the )?gpus|altogether|"
        r"whole (?:cluster|run|job)|across|in all)\b|\b(?:total|overall|aggregate|cluster|combined)\b.{0,16}\b(?:throughput|tokens?(?:/|"
        r" per )s(?:ec(?:ond)?)?|tps)\b",
        r"总(?:的)?(?:吞吐|tokens?/s)|(?:吞吐|每秒).{0,8}(?:总共|一共|合计|总计|所有卡|全部卡)|所有(?:gpu|卡).{0,8}(?:吞吐|每秒)",
    ),
    "total_tokens": words(
        r"\bhow many tokens\b(?!.{0,20}(?:per|each|a) (?:second|response|answer|sample|gpu))|\btokens (?:in total|so far|processed|"
        r"consumed|generated in total)\b",
        r"(?:总共|一共|总计|累计).{0,10}(?:多少)?(?:个)?token|(?:训|跑|处理|用)了多少(?:个)?token|token总(?:数|量)",
    ),
}
"""Topic → how people ask for it, in the order in which they are tried."""

OF_METRIC = frozenset({"learning", "responses", "total_tokens", "memory", "elapsed"})
"""Topics that a question with a named metric (outside the topic's own words) is not about."""

WHEN = words(
    r"\b(?:when|since when|from when)\b.{0,3}\s*\b(?:did|does|do|was|were|has|had|exactly|roughly|the first|first)\b|^\W*(?:and |"
    r"so )?(?:since )?when\W*$|\b(?:at|from|in|on|by|since|around|after) (?:which|what) (?:step|iteration|point|epoch)\b|\b(?:which|"
    r"what) (?:step|iteration|epoch)\b|\bwhen\W*$|\bwhen .{0,24}\bfirst\b|\bstart(?:ed|s|ing)? (?:to |of the )?(?:fall|drop|ris|increas|"
    r"decreas|declin|collaps|diverg|explod|go|degrad|shrink|grow|climb|get)\w*|\bsteps? (?:did it |does it |do we |to |until |till |"
    r"before )(?:take |need )?(?:to )?(?:reach|get|hit|exceed|pass)\b|\bhow (?:many steps|long) (?:until|till|to|before|did it take)\b",
    r"\b(?:first|earliest) (?:warning )?signs?\b|(?:最早|最初|第一个)的?(?:征兆|迹象|异常|信号|预警)",
    r"(?:什么时候|何时|啥时候|(?:从|在|到)?(?:哪|第几)(?:一|几)?(?:个)?(?:步|轮|step|iter)|几步(?:开始|之后|以后|才|就)|多少步(?:开始|"
    r"才|之后|就|能)|从哪(?:里|儿|开始))",
)
FIRST_TIME = words(r"\bfirst (?:time|step|above|below|over|under|exceed\w*|reach\w*|hit\w*|cross\w*|pass\w*)\b", r"第一次|首次|最早")
COUNT_STEPS = words(
    r"\bhow (?:many|often)\b.{0,16}\b(?:steps?|times?|iterations?|values?)?\b", r"(?:多少|几)(?:个)?(?:步|次)|多少比例|占比"
)
EVER = words(
    r"\b(?:ever|at any (?:point|time|step))\b|^\W*(?:did|has|have|does|do|is|was)\b.{1,60}\b(?:exceed\w*|above|below|over|under|"
    r"reach\w*|hit|pass\w*|cross\w*)\b",
    r"(?:曾经|有没有|是否|出现过|有(?:超过|高于|低于|达到|到过|到|跌破|过))|(?:超过|高于|低于|达到|跌破|到)(?:过|了)?.{0,10}(?:吗|没有?|"
    r"了没)",
)
JUDGE = words(
    r"\b(?:bad|good|normal|ok(?:ay)?|worry|worried|worrying|problem|dangerous|healthy|fine|too)\b",
    r"正常|有问题|严重|要紧|危险|太|算高|算低|健康",
)
HAPPENED = words(
    r"\bhappen\w*|\bdip(?:s|ped)?\b|\bbump\w*|\bplung\w*|\bgo(?:ing|es|ne)? on\b|\bspik\w*|\bweird\b|\bodd\b|\bstrange\b|\bjump\w*|"
    r"\bwtf\b|\bwrong with\b|\bup with\b",
    r"发生|怎么了|怎么回事|什么情况|咋了|异常|突然|尖峰|跳",
)

STOPS = words(
    r"\b(?:stop(?:s|ped)?|cease[sd]?|done|finish\w*|settle[sd]?|flatten\w*|level(?:s|led)? (?:off|out))\b",
    r"不再|停止|停下|稳定(?:下来)?|平(?:了|下来)|止",
)
STARTED = words(
    r"\b(?:first|earliest) (?:warning )?signs?\b|(?:最早|最初|第一个)的?(?:征兆|迹象|异常|信号|预警)",
    r"\b(?:it|this|that|problem|trouble)\b.{0,12}\b(?:start(?:ed|s)?|began|begin)\b",
    r"(?:什么时候|哪一?步|何时).{0,4}开始的",
)
BREAK = words(
    r"\b(?:collaps\w*|br(?:eak|oke|oken)\b|diverg\w*|explod\w*|blew up|blow up|go(?:es|ing)? wrong|went wrong|fall(?:s|ing)? apart|"
    r"fell apart|degrad\w*|fail\w*|crash\w*|die[ds]?|problem|trouble|go(?:es|ing)? bad|went bad|get(?:s|ting)? worse|got worse|"
    r"derail\w*|go(?:es|ing)? off)\b",
    r"(?:崩|坏|出(?:了)?问题|不对|发散|爆|挂|异常|变差|恶化|失控|跑飞|不正常|出(?:了)?事)",
)
IMPROVES = words(
    r"\b(?:improv\w*|learn\w*|get(?:s|ting)? better|got better|converg\w*|plateau\w*|saturat\w*|stop(?:s|ped)? (?:improv|increas|ris|"
    r"learn|grow)\w*)\b",
    r"(?:不(?:再)?(?:涨|上升|提升|学)|停止(?:提升|上升|学习)|收敛|饱和|平台|学会|变好)",
)

TWO_STEPS = words(
    r"\b(?:compar\w*|vs\.?|versus|differ\w*|chang\w*|better|worse|between|than|against|same)\b",
    r"(?:比|对比|相比|区别|差别|差异|不同|变化|变了|差多少|之间|哪个好)",
)

SAME = words(
    r"\b(?:same (?:as|thing|metric|quantity|number|value|meaning)|the same|identical|equal(?:s)?(?: to)?|equivalent|just another name|"
    r"different from|differ(?:s|ent)?|(?:confus|mix)\w* up)\b",
    r"(?:一样|相同|同一个|一回事|等价|等于|是不是就是|就是|区别|不同|差别)",
)


def topic_of(lowered: str) -> str:
    """Name of the topic that the question is about; "" for none."""
    return next((name for name, pattern in TOPICS.items() if pattern.search(lowered)), "")
