"""Words that ask for more of the answer before, whether it is sure, or what else there is; English and Chinese."""

from __future__ import annotations

import re

MORE = re.compile(
    r"^\W*(?:and |ok(?:ay)?,? |please |can you |could you )*"
    r"(?:(?:some |any |a bit |a little )?more(?: please| details?| info\w*)?"
    r"|(?:tell|show|give) me more\b.*|"
    r"(?:more |further |the |all (?:the )?)?details?(?: please)?"
    r"|in (?:more )?detail|elaborate\b.*|explain (?:more|further|in detail|it|that)\b.*|"
    r"go (?:on|deeper)|continue|expand(?: on (?:that|this|it))?"
    r"|what else (?:could|can|might) (?:it|this|that) be|(?:any )?other (?:possible )?(?:causes|reasons|explanations)"
    r"|full answer|long(?:er)? (?:answer|version))\W*$"
    r"|^\W*(?:请|那|再|能不能|可以)*"
    r"(?:(?:详细|具体|展开|深入|多)(?:说说|讲讲|说一下|讲一下|解释(?:一下)?|一点|一些|些|说明|介绍)?|继续(?:说)?|更多(?:细节|信息)?"
    r"|还有(?:什么)?(?:其他|别的)?(?:的)?(?:原因|可能)(?:性)?|细说|细节)(?:呢|吧|吗)?\W*$"
)
SURE = re.compile(
    r"^\W*(?:are you (?:really )?(?:sure|certain)|really|is that (?:so|right|true|certain)"
    r"|how (?:do you know|sure are you|certain)|how can you tell|prove it|"
    r"what(?:'s| is) the evidence|evidence|why do you (?:think|say) (?:so|that))\W*$"
    r"|^\W*(?:真的吗?|你?确定吗?|你?确定[?？]|你?怎么知道(?:的|.{0,10})?|凭什么|依据(?:是什么|呢)?|证据(?:是什么|呢)?|为什么这么(?:说|认为))\W*$"
)
OTHERS = re.compile(
    r"\b(?:anything|something|what) else\b.{0,20}(?:\bwrong|\bbad|\bbroken|\bproblem|\bissue|\bnotice|\bsee\b|\bis there)"
    r"|^\W*(?:and )?anything else\W*$|^\W*(?:and |so )?(?:then|after that|what(?:'s| is)? next|then what|next|what then)\W*$"
    r"|\b(?:second|next|other|third) (?:problem|issue|finding)\b|(?:第二|下一|另一)个问题"
    r"|^\W*(?:那|再)?(?:然后|接下来|下一步|之后)(?:呢|怎么办|做什么|改什么)\W*$"
    r"|\b(?:any )?other (?:problems?|issues?|findings?|faults?)\b|\bis that all\b"
    r"|(?:还有|有没有|有)(?:没有)?(?:什么)?(?:别的|其他|其它|另外的)(?:的)?"
    r"(?:(?:问题|毛病|异常|故障|发现)|(?:吗|么|没)\W*$)|还有(?:什么)?问题|就这些",
)


def kind_of(lowered: str) -> str:
    """``more``, ``sure`` or ``others``; "" for a question of its own."""
    for name, pattern in (("more", MORE), ("sure", SURE), ("others", OTHERS)):
        if pattern.search(lowered):
            return name
    return ""
