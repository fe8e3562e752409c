"""Questions about the run itself (version, GPUs, time left, is it learning …) and about moments of it, by their words.

Patterns match a lower-case question with NFKC applied. The first topic that matches wins; some give way to a named metric.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from assistant.answers.words import words

_IT = r"(?:it|this|that|the (?:model|policy|agent|actor|run|training|network|llm)|my (?:model|policy|agent|actor|run|training)|(?:our|your) (?:model|policy|run)|anything|the thing|model|policy|training|run)"

TOPICS: Mapping[str, re.Pattern[str]] = {
    "critic_learning": words(
        r"\b(?:is|are|does|did|has)\b.{0,16}\b(?:critic|value (?:function|model|network|head))\b.{0,20}\b(?:learn\w*|improv\w*|train(?:ed|ing)|converg\w*|work\w*|ok|fine|healthy|useful|any good)\b",
        r"\b(?:critic|value (?:function|model|network))\b.{0,12}\blearning (?:anything|at all|ok|well)\b",
        r"(?:critic|价值(?:网络|函数|模型)).{0,8}(?:学(?:到|习|会|得)|在学|收敛|训(?:练)?(?:好|得|起)|有用|正常吗|有没有(?:学|用))",
    ),
    "learning": words(
        rf"\b(?:is|are|does|did|has|have|was)\b\s+{_IT}\s+(?:\w+\s+){{0,2}}(?:learn(?:ing|ed|s|t)?|improv(?:e|ed|es|ing)|converg(?:e|ed|es|ing)|gett?ing (?:any )?better|making progress|progress(?:ing|ed)?|plateau(?:ed|ing)?|saturated)\b",
        r"\b(?:is|was)\b.{0,12}\b(?:training|learning) (?:actually |really )?(?:working|happening|effective)\b|\blearn(?:ed|t|ing)? (?:anything|something)\b|\bany (?:progress|improvement|learning)\b",
        r"\b(?:is|are) (?:we|i) (?:getting|making|learning)\b",
        r"(?:模型|策略|训练|它|这个|actor|policy|run|到底)?.{0,6}(?:有没有|是否|有|在|还在|到底有没有)(?:在)?(?:学习|学到|学会|学东西|学(?:吗|么|$|[?？])|进步|变好|提升(?:吗|么|$|[?？]))",
        r"(?:模型|训练|策略|它|run).{0,6}(?:收敛|学会|学到东西|有效果|有进展|起作用)(?:了|没|吗|么|$|[?？])",
    ),
    "oom": words(
        r"\b(?:will|would|going to|gonna|about to|risk|danger|likely|might|could|close to|near|safe from|can)\b.{0,30}(?:\boom\b|out of memory|run(?:ning)? out of (?:gpu |host |cpu )?(?:memory|vram|ram))",
        r"\b(?:enough|how much) (?:gpu )?(?:memory|vram)\b.{0,12}\b(?:left|free|headroom|spare)\b|\bmemory headroom\b",
        r"(?:会不会|会|要|快|将|可能|有没有|风险|离).{0,10}(?:oom|爆显存|显存(?:爆|溢出|不够)|内存(?:爆|不够))|(?:显存|内存).{0,6}(?:够吗|够不够|会爆|会不会爆|还剩|余量)|(?:oom|爆显存).{0,4}(?:风险|吗)",
    ),
    "memory": words(
        r"\bhow much (?:gpu |cpu |host |system )?(?:memory|vram|ram|mem)\b|\bmemory (?:usage|use|used|consumption|footprint)\b(?!.{0,20}\b(?:ris|grow|climb|leak|increas))",
        r"(?:显存|内存)(?:占用|使用|用量|用)?(?:了)?(?:是)?(?:多少|多大|几(?:个)?g)|(?:用|占)(?:了)?(?:多少|几(?:个)?g)(?:的)?(?:显存|内存)|(?:显存|内存)(?:占用|使用(?:情况|率)|用量)(?:$|[?？]|如何|怎么样)",
    ),
    "version": words(
        r"\b(?:which|what)(?:'?s)?\b.{0,24}\b(?:version|release|framework)\b|\bversion of (?:verl|trl|openrlhf|this|the)\b.{0,20}(?:is|was|do|am|\?|$)|\b(?:verl|framework) version\b|^\W*version\W*$",
        r"(?:什么|哪个|哪一个|啥)(?:版本|框架)|版本(?:号)?(?:是)?(?:多少|什么|哪个|几)|(?:verl|框架)(?:的)?版本(?:$|[?？])|^版本[?？]?$",
    ),
    "algorithm": words(
        r"\b(?:which|what)\b.{0,12}\b(?:rl )?(?:algorithm|algo|method|estimator)\b|\b(?:is|was) (?:this|it|that)(?: run)?(?: (?:a|an|running|using))? (?:ppo|grpo|gae|rloo|remax|dapo|reinforce\S*|dpo|sft)(?: run| training)?(?: or (?:ppo|grpo|gae|rloo|remax|dapo|dpo|sft))?\W*$",
        r"\b(?:ppo|grpo) or (?:ppo|grpo|gae|rloo|dapo)\b",
        r"(?:什么|哪个|哪种|啥)(?:rl|强化学习|训练)?(?:算法|方法)|算法(?:是|用)(?:的)?(?:是)?(?:什么|哪)|(?:这(?:个|是|次)?|是).{0,6}(?:ppo|grpo)(?:还是|吗)",
    ),
    "gpus": words(
        r"\bhow many\b.{0,16}\b(?:gpus?|nodes?|cards?|devices?|accelerators?|a100s?|h100s?|h800s?|a800s?)\b|\bnumber of (?:gpus?|nodes?|cards)\b|\bgpu count\b",
        r"(?:几|多少)(?:张|块|个|台)?(?:卡|gpu|显卡|节点|机器)|(?:gpu|卡|显卡|节点)(?:的)?(?:数(?:量|目)?)(?:是)?(?:多少|几|$|[?？])|用了(?:几|多少)(?:张|块)?卡|几机几卡",
    ),
    "responses": words(
        r"\bhow many\b.{0,24}\b(?:responses?|samples?|rollouts?|answers?|completions?|trajector\w+|generations?|prompts?|questions?|sequences?)\b.{0,30}\b(?:per|each|every|a|in (?:a|one|each)|do|does)\b(?!.{0,30}(?:truncat|cut|wrong|right|correct|abort|zero))",
        r"\bhow many\b.{0,12}\b(?:responses?|samples?|rollouts?|prompts?|trajector\w+)\b\W*$|\b(?:responses|samples|rollouts|prompts|trajectories) (?:per|a|each) (?:step|batch|iteration|update)\b|\b(?:actual|real|effective|what) batch ?size\b|\bhow (?:big|large)\b.{0,16}\bbatch\b|\bbatch ?size\b.{0,8}\b(?:do i|is it|am i|here)\b",
        r"(?:每(?:一)?(?:个)?(?:步|次|轮|batch|批)|一(?:步|批|次)|(?:一)?个batch).{0,10}(?:多少|几)(?:条|个)?(?:回答|回复|样本|轨迹|prompt|rollout|数据|题|response|sample)|(?:多少|几)(?:条|个)(?:回答|回复|样本|轨迹|rollout|response|sample)|(?:实际)?(?:batch ?size|批(?:次)?大小|batch)(?:到底)?(?:是|有)?(?:多少|多大|几)|每组(?:几|多少)",
    ),
    "eta": words(
        r"\b(?:eta|time (?:left|remaining)|remaining time|steps (?:left|remaining|to go))\b|\bhow (?:much longer|many (?:more )?(?:steps|hours|days|minutes) (?:are |is )?(?:left|to go|remain\w*|more))\b|\bhow long\b.{0,20}\b(?:until|till|left|to go|remain\w*|before it|to finish|more)\b",
        r"\bhow long (?:will|does|is)\b.{0,24}\b(?:finish|end|complete|the (?:whole|rest|full)|whole (?:run|training)|(?:run|training) take)\b|\bhow long will (?:it|this|training|the run)\b.{0,8}(?:take|run|last)\b",
        r"\bwhen (?:will|does|is|would)\b.{0,30}\b(?:finish\w*|done|end|complete\w*|over|ready)\b|\b(?:will|is) it (?:finish|done)\b",
        r"还(?:要|需要?|得|剩|有)(?:训(?:练)?|跑)?(?:多久|多长时间|多少(?:步|时间|小时|天)|几(?:个)?(?:小时|天|步))|剩(?:余|下)?(?:多少)?(?:时间|步)|什么时候(?:能|才能|可以|会)?(?:跑|训(?:练)?)?(?:完|结束|好|训完|跑完|完成)|多久(?:能|才能|可以)?(?:跑|训(?:练)?)完|预计.{0,8}(?:完|结束|时间)",
    ),
    "elapsed": words(
        r"\bhow long (?:has|have|did|was|been)\b.{0,30}\b(?:run\w*|train\w*|take|taken|going|so far|last\w*)\b(?!.{0,20}per step)|\b(?:total|overall|wall.?clock) (?:training |run |wall.?clock )?time\b|\bgpu.?hours?\b|\bhow many (?:gpu.?)?hours\b|\bhours so far\b",
        r"(?:总共|一共|已经|目前|到现在|前后)?(?:跑|训(?:练)?|花|用)了(?:多久|多长时间|几(?:个)?(?:小时|天)|多少(?:小时|时间))|总(?:训练)?(?:时间|耗时|时长)|gpu ?小时|卡时",
    ),
    "steps_done": words(
        r"\bhow many (?:training )?(?:steps|iterations|epochs)\b(?!.{0,30}(?:above|below|over|under|exceed|until|to reach|take|took|nan|left|remain|more))(?:.{0,40}\b(?:run|done|log|so far|total|in (?:this|the)|did|have|has|are there|train\w*|complete\w*|there)\b|\W*$)",
        r"\bhow far (?:is|along|has|did)\b|\bwhat step (?:is|am|are) (?:it|i|we)\b|\bwhich (?:step|epoch) (?:is it|are we|am i)\b|\bcurrent (?:step|epoch)\b",
        r"(?:跑|训(?:练)?|走)(?:到|了)(?:第)?(?:多少|几)(?:步|个?epoch|轮)(?:了)?|(?:总共|一共)(?:有)?(?:多少|几)步|(?:当前|现在)(?:是)?(?:在)?(?:第)?(?:几|哪一?|多少)(?:步|个?epoch|轮)",
    ),
    "total_throughput": words(
        r"\b(?:tokens?(?:/| per | a )s(?:ec(?:ond)?)?|throughput|tok/s|tps)\b.{0,30}\b(?:total|overall|all (?:the )?gpus|altogether|whole (?:cluster|run|job)|across|in all)\b|\b(?:total|overall|aggregate|cluster|combined)\b.{0,16}\b(?:throughput|tokens?(?:/| per )s(?:ec(?:ond)?)?|tps)\b",
        r"总(?:的)?(?:吞吐|tokens?/s)|(?:吞吐|每秒).{0,8}(?:总共|一共|合计|总计|所有卡|全部卡)|所有(?:gpu|卡).{0,8}(?:吞吐|每秒)",
    ),
    "total_tokens": words(
        r"\bhow many tokens\b(?!.{0,20}(?:per|each|a) (?:second|response|answer|sample|gpu))|\btokens (?:in total|so far|processed|consumed|generated in total)\b",
        r"(?:总共|一共|总计|累计).{0,10}(?:多少)?(?:个)?token|(?:训|跑|处理|用)了多少(?:个)?token|token总(?:数|量)",
    ),
    "grad_clip": words(
        r"\b(?:grad(?:ient)?s?|grad(?:ient)? norm)[ _-]?clip\w*|\bclip\w* (?:the |my )?grad(?:ient)?s?\b|\bgradients? (?:are |is |being |get )?clipp(?:ed|ing)\b",
        r"梯度(?:被)?(?:裁剪|截断|clip)|(?:裁剪|clip)(?:了)?梯度|grad(?:ient)?[ _]?clip",
    ),
}
"""Topic → how people ask for it, in the order in which they are tried."""

OF_METRIC = frozenset({"learning", "responses", "total_tokens", "memory", "elapsed"})
"""Topics that a question with a named metric (outside the topic's own words) is not about."""

WHEN = words(
    r"\b(?:when|since when|from when)\b.{0,3}\s*\b(?:did|does|do|was|were|is|has|had|exactly|roughly|the first|first|it)\b|^\W*when\b(?!.{0,4}\bi\b)|\b(?:at|from|in|on|by|since|around|after) (?:which|what) (?:step|iteration|point|epoch)\b|\b(?:which|what) (?:step|iteration|epoch)\b|\bfirst (?:time|step)\b|\bwhen .{0,24}\bfirst\b|\bstart(?:ed|s|ing)? (?:to |of the )?(?:fall|drop|ris|increas|decreas|declin|collaps|diverg|explod|go|degrad|shrink|grow|climb|get)\w*|\bsteps? (?:did it |does it |do we |to |until |till |before )(?:take |need )?(?:to )?(?:reach|get|hit|exceed|pass)\b|\bhow (?:many steps|long) (?:until|till|to|before|did it take)\b",
    r"(?:什么时候|何时|啥时候|(?:从|在|到)?(?:哪|第几)(?:一|几)?(?:个)?(?:步|轮|step|iter)|几步(?:开始|之后|以后|才|就)|多少步(?:开始|才|之后|就|能)|从哪(?:里|儿|开始)|第一次|首次|最早)",
)
COUNT_STEPS = words(r"\bhow (?:many|often)\b.{0,16}\b(?:steps?|times?|iterations?|values?)?\b", r"(?:多少|几)(?:个)?(?:步|次)|多少比例|占比")
EVER = words(r"\b(?:ever|at any (?:point|time|step))\b", r"(?:曾经|有没有|是否|出现过)")

START = words(r"\b(?:start(?:ed|s|ing)?|began|begins?|onset)\b", r"开始")
BREAK = words(
    r"\b(?:collaps\w*|br(?:eak|oke|oken)\b|diverg\w*|explod\w*|blew up|blow up|go(?:es|ing)? wrong|went wrong|fall(?:s|ing)? apart|fell apart|degrad\w*|fail\w*|crash\w*|die[ds]?|problem|trouble|go(?:es|ing)? bad|went bad|get(?:s|ting)? worse|got worse|derail\w*|go(?:es|ing)? off)\b",
    r"(?:崩|坏|出(?:了)?问题|不对|发散|爆|挂|异常|变差|恶化|失控|跑飞|不正常|出(?:了)?事)",
)
IMPROVES = words(r"\b(?:improv\w*|learn\w*|get(?:s|ting)? better|got better|converg\w*|plateau\w*|saturat\w*|stop(?:s|ped)? (?:improv|increas|ris|learn|grow)\w*)\b", r"(?:不再(?:涨|上升|提升|学)|停止(?:提升|上升|学习)|收敛|饱和|平台|学会|变好)")

HAPPENED = words(
    r"\bwhat(?:'?s| is| was)? (?:the )?(?:happen\w*|hapen\w*|went (?:on|wrong)|goes on|going on|changed|broke|up|wrong|special|different|the deal|weird|odd|strange)\b.{0,24}\b(?:at|in|on|around|near|with|about|after)\b.{0,10}\b(?:step|iter)|\b(?:anything|something) (?:special|odd|unusual|strange|weird|wrong|happen\w*)\b.{0,20}\b(?:step|iter)|\bstep \d+\b.{0,20}\b(?:what happened|looks? (?:odd|weird|strange)|is (?:odd|weird|strange|special))|^\W*(?:and )?(?:what about |how about |look at |show (?:me )?|describe |explain |check )?(?:step|iter(?:ation)?) ?\d+\W*$",
    r"(?:第?\s*\d+\s*步|step ?\d+).{0,12}(?:发生|出(?:了)?什么|怎么了|怎么回事|什么情况|咋了|有什么(?:异常|特别|问题|不同|变化)|异常|干了什么)|^(?:看看|看一下|讲讲|说说)?第?\s*\d+\s*步(?:呢|的情况|怎么样)?[?？]?$",
)
TWO_STEPS = words(r"\b(?:compar\w*|vs\.?|versus|differ\w*|chang\w*|better|worse|between|than|against|same)\b", r"(?:比|对比|相比|区别|差别|差异|不同|变化|变了|差多少|之间|哪个好)")

SAME = words(
    r"\b(?:same (?:as|thing|metric|quantity|number|value|meaning)|the same|identical|equal(?:s)?(?: to)?|equivalent|just another name|different from|differ(?:s|ent)?|(?:confus|mix)\w* up)\b",
    r"(?:一样|相同|同一个|一回事|等价|等于|是不是就是|就是|区别|不同|差别)",
)


def topic_of(lowered: str) -> str:
    """Name of the topic that the question is about; "" for none."""
    return next((name for name, pattern in TOPICS.items() if pattern.search(lowered)), "")
