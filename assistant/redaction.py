"""Mask what should not leave this machine: keys, tokens, passwords, e-mail, addresses, host and user names.

The same secret gets the same mark (``[USER_1]``) everywhere, so that a text still makes sense, and ``restore`` puts the words back
into a reply. Numbers of metrics are never touched: every pattern needs a shape or a word beside it that no metric has.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

_MARK = re.compile(r"\[?\b((?:SECRET|EMAIL|IP|HOST|USER|CUSTOM)_\d+)\b\]?")
_SECRET_NAME = (
    r"(?:api[_-]?key|apikey|access[_-]?key(?:[_-]?id)?|secret(?:[_-]?(?:access[_-]?)?key)?|client[_-]?secret|auth[_-]?token|"
    r"access[_-]?token|refresh[_-]?token|hf[_-]?token|bearer[_-]?token|[a-z0-9_]*_token|password|passwd|pwd|passphrase|"
    r"private[_-]?key|wandb[_-]?api[_-]?key|credentials?)"
)
_NOT_A_SECRET = re.compile(
    r"(?:none|null|true|false|\d+(?:\.\d+)?|\$\{[^}]*\}?|\$\w+|\*+|<[^>]*>|\.\.\.|x{3,}|your[_-].*|eos|pad|bos|unk|auto|"
    r"default|str|int|self|token)",
    re.IGNORECASE,
)
_COUNT_NAMES = re.compile(
    r"(?:max|min|num|n|total|special|pad|eos|bos|unk|new|prompt|response|per|use|add|image|video|stop|trust|last|first|"
    r"next)[_-]\w*token|token(?:s|izer|ize)",
    re.IGNORECASE,
)
_PUBLIC_HOSTS = re.compile(
    r"(?:^|\.)(?:github\.com|githubusercontent\.com|huggingface\.co|hf\.co|hf-mirror\.com|pytorch\.org|python\.org|"
    r"pypi\.org|readthedocs\.io|wandb\.ai|arxiv\.org|nvidia\.com|openai\.com|ray\.io|anyscale\.com|"
    r"modelscope\.cn|tensorflow\.org|vllm\.ai|apache\.org|w3\.org|example\.com|googleapis\.com|docker\.io|docker\.com|"
    r"anaconda\.org|conda-forge\.org|swanlab\.cn|deepseek\.com|aliyuncs\.com)$",
    re.IGNORECASE,
)
_TOP_LEVEL = (
    r"(?:com|org|net|io|ai|cn|edu|gov|dev|cloud|app|co|uk|de|fr|jp|kr|in|us|eu|tech|xyz|info|internal|local|localdomain|lan|"
    r"corp|intra|intranet|private|home|cluster|svc)"
)


@dataclass(frozen=True, slots=True)
class _Rule:
    """``group`` is what is masked of a match; ``keep`` says of a match that it is harmless."""

    kind: str
    pattern: re.Pattern[str]
    group: int = 0
    keep: Callable[[re.Match[str]], bool] | None = None


def _not_an_address(m: re.Match[str]) -> bool:
    """A version of four parts, or this machine itself."""
    lead = m.string[max(0, m.start() - 12) : m.start()]
    if re.search(r"(?:version|==|>=|<=|~=|driver|cuda|cudnn|nccl|release|v)[\s:=]*$", lead, re.IGNORECASE):
        return True
    named = re.search(r"(?:ip|addr\w*|host\w*|server|from|to|at|//)[\s:='\"]*$", lead, re.IGNORECASE)
    if int(m[0].split(".")[0]) <= 9 and not named and m.string[m.end() : m.end() + 1] != ":":
        return True
    try:
        address = ipaddress.ip_address(m[0])
    except ValueError:
        return True
    return address.is_loopback or address.is_unspecified


def _is_ipv6(m: re.Match[str]) -> bool:
    try:
        address = ipaddress.IPv6Address(m[0])
    except ValueError:
        return True
    return address.is_loopback or address.is_unspecified or m[0].count(":") < 3


def _not_secret_value(m: re.Match[str]) -> bool:
    return len(m[2]) < 4 or bool(_NOT_A_SECRET.fullmatch(m[2]) or _COUNT_NAMES.fullmatch(m[1]))


def _generic_user(m: re.Match[str]) -> bool:
    return m[1].lower() in {
        "root",
        "user",
        "users",
        "ubuntu",
        "runner",
        "app",
        "home",
        "public",
        "shared",
        "admin",
        "data",
        "anaconda3",
        "miniconda3",
        "conda",
        "python",
    } or m[1].startswith(("[", "$", "{", "<"))


def _public_host(m: re.Match[str]) -> bool:
    return (
        bool(_PUBLIC_HOSTS.search(m[0]))
        or re.match(r"^(?:torch|numpy|ray|verl|vllm|transformers|self|os|sys|np|actor|algorithm|data|trainer|critic|reward|model)\.", m[0])
        is not None
        or m.string[m.end() : m.end() + 1] in ("(", "_", "=")
        or m.string[max(0, m.start() - 1) : m.start()] in ("_", "/", ".")
    )


_RULES: tuple[_Rule, ...] = (
    _Rule("SECRET", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)),
    _Rule("SECRET", re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{5,}")),
    _Rule("SECRET", re.compile(r"\b(?:sk|pk|rk)-(?:proj-|ant-|or-|live-|test-|svcacct-|admin-)?[A-Za-z0-9_-]{16,}")),
    _Rule(
        "SECRET",
        re.compile(
            r"\b(?:hf|api_org)_[A-Za-z0-9]{20,}|\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|"
            r"\bxox[abeoprs]-[\w-]{10,}|\bxapp-[\w-]{10,}"
        ),
    ),
    _Rule(
        "SECRET",
        re.compile(
            r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}|\bLTAI[A-Za-z0-9]{12,}|\bnvapi-[\w-]{20,}|"
            r"\bgsk_\w{20,}|\br8_\w{20,}|\bpypi-[\w-]{30,}|\bnpm_[A-Za-z0-9]{30,}|\bdop_v1_[a-f0-9]{40,}"
        ),
    ),
    _Rule("SECRET", re.compile(r"https?://hooks\.slack\.com/services/(\S+)"), 1),
    _Rule(
        "SECRET",
        re.compile(
            r"(?:[?&](?:token|key|api_key|access_token|signature|sig|X-Amz-Signature|X-Amz-Credential)=)([^&\s'\"]{6,})", re.IGNORECASE
        ),
        1,
    ),
    _Rule("SECRET", re.compile(r"\b(?:Bearer|Basic|Token)\s+([A-Za-z0-9+/=_.~-]{12,})"), 1),
    _Rule("SECRET", re.compile(r"://([^/\s:@]{1,64}:[^/\s@]{1,128})@"), 1),
    _Rule(
        "SECRET",
        re.compile(rf"(?<![A-Za-z])['\"]?({_SECRET_NAME})['\"]?\s*[:=]\s*['\"]?([^\s'\",;}}\])]{{4,}})", re.IGNORECASE),
        2,
        _not_secret_value,
    ),
    _Rule("SECRET", re.compile(r"(?<![\w-])token['\"]?\s*[:=]\s*['\"]?((?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[\w.-]{10,})", re.IGNORECASE), 1),
    _Rule("SECRET", re.compile(r"\b(?:wandb|WANDB|swanlab)\b[^\n]{0,40}?\b([a-f0-9]{40})\b"), 1),
    _Rule("EMAIL", re.compile(r"\b[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z]{2,15}\b")),
    _Rule(
        "USER",
        re.compile(
            r"(?:/home/|/Users/|\b[A-Za-z]:\\+Users\\+|/(?:data|mnt|share|storage|scratch|work|nas|cfs|gpfs|lustre|ssd|"
            r"disk)\d*/(?:home|users?)/)([^/\\\s'\":,;)\]}]{1,64})"
        ),
        1,
        _generic_user,
    ),
    _Rule("USER", re.compile(r"\b(?:USER|USERNAME|LOGNAME|user_?name)['\"]?\s*[:=]\s*['\"]?([A-Za-z][\w.-]{1,40})"), 1, _generic_user),
    _Rule(
        "USER",
        re.compile(r"https?://(?:wandb\.ai|api\.wandb\.ai|swanlab\.cn/@?)/?([\w.-]{2,60})/"),
        1,
        lambda m: m[1] in ("site", "authorize", "settings", "home"),
    ),
    _Rule("USER", re.compile(r"wandb:[^\n]{0,40}\blogged in as:? ([\w.-]{2,60})", re.IGNORECASE), 1),
    _Rule(
        "USER",
        re.compile(r"(?<![\w.+-])([a-z][\w.-]{1,31})@(?=[A-Za-z][\w-]{1,62}[:~\s$#])"),
        1,
        lambda m: m[1].lower() in ("mean", "best", "worst", "maj", "std", "pass", "avg", "acc"),
    ),
    _Rule("IP", re.compile(r"(?<![\d.\w-])(?:\d{1,3}\.){3}\d{1,3}(?![\d.\w-]|\.\d)"), 0, _not_an_address),
    _Rule("IP", re.compile(r"(?<![\w:.])(?=[0-9a-fA-F:]*::|(?:[0-9a-fA-F]{1,4}:){7})[0-9a-fA-F:]{4,39}(?![\w:])"), 0, _is_ipv6),
    _Rule("HOST", re.compile(r"\bip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b")),
    _Rule(
        "HOST",
        re.compile(rf"(?<![\w./-])(?:[A-Za-z0-9](?:[A-Za-z0-9-]{{0,61}}[A-Za-z0-9])?\.){{1,6}}{_TOP_LEVEL}(?![\w-]|\.\w)"),
        0,
        _public_host,
    ),
    _Rule(
        "HOST",
        re.compile(
            r"\b(?:host(?:name)?|node(?:_?name|_?ip)?|MASTER_ADDR|HOSTNAME|"
            r"server)['\"]?\s*[:=]\s*['\"]?([A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+|[A-Za-z]+\d+)\b"
        ),
        1,
    ),
    _Rule(
        "HOST",
        re.compile(
            r"(?<![\w/.-])(?:(?:gpu|node|worker|compute|dgx|slurm|login|hgx|cn|gn|host|master|pod|k8s|"
            r"train(?:ing)?)[a-z]*-)(?:[a-z0-9]+-)*[a-z0-9]*\d[a-z0-9]*(?![\w/.=:-]*\d*\.\d)\b"
        ),
        0,
        lambda m: re.fullmatch(r"[a-z0-9]+-\d", m[0]) is not None,
    ),
)


class BadPattern(ValueError):
    """A custom pattern is no regular expression; the message says which and why."""


@dataclass
class Redactor:
    """Masks texts of one conversation; the same word gets the same mark in all of them. ``patterns`` are the user's own expressions."""

    patterns: Iterable[str] = ()
    marks: dict[str, str] = field(default_factory=dict)
    found: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        own = []
        for pattern in self.patterns:
            try:
                compiled = re.compile(pattern)
            except re.error as error:
                raise BadPattern(f"{pattern!r}: {error}") from error
            if compiled.match(""):
                raise BadPattern(f"{pattern!r} matches the empty text")
            own.append(_Rule("CUSTOM", compiled, 1 if compiled.groups else 0))
        self._rules = (*own, *_RULES)
        self._words = {mark: word for word, mark in self.marks.items()}
        self._numbers: Counter[str] = Counter(mark.rpartition("_")[0] for mark in self.marks.values())

    def mask(self, text: str) -> str:
        """``text`` with every secret replaced by its mark."""
        for rule in self._rules:
            text = rule.pattern.sub(lambda m, rule=rule: self._replace(m, rule), text)  # type: ignore[misc]
        return text

    def restore(self, text: str) -> str:
        """``text`` (a reply) with the marks turned back into the words."""
        return _MARK.sub(lambda m: self._words.get(m[1], m[0]), text)

    def _replace(self, m: re.Match[str], rule: _Rule) -> str:
        word = m[rule.group]
        if not word or _MARK.fullmatch(word.strip()) or (rule.keep is not None and rule.keep(m)):
            return m[0]
        if word not in self.marks:
            self._numbers[rule.kind] += 1
            self.marks[word] = f"{rule.kind}_{self._numbers[rule.kind]}"
            self._words[self.marks[word]] = word
        self.found[rule.kind] += 1
        start, end = m.start(rule.group) - m.start(), m.end(rule.group) - m.start()
        return f"{m[0][:start]}[{self.marks[word]}]{m[0][end:]}"
