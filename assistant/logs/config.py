"""A run's settings: the resolved config that verl prints as a Python dict, and Hydra overrides of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from assistant.logs.literal import open_brackets, read_mapping, scalar, split_list

DUMP_STARTS = tuple(
    f"{{'{name}': ".encode()
    for name in (
        "actor_rollout_ref",
        "algorithm",
        "async_training",
        "checkpoint",
        "critic",
        "custom_reward_function",
        "data",
        "engine",
        "global_profiler",
        "model",
        "ray_init",
        "ray_kwargs",
        "reward",
        "reward_model",
        "rollout",
        "trainer",
    )
)
OVERRIDE_STARTS = (
    b"actor_rollout_ref.",
    b"algorithm.",
    b"critic.",
    b"custom_reward_function.",
    b"data.",
    b"reward.",
    b"reward_model.",
    b"trainer.",
)
_ROOTS = "|".join(
    name.decode().rstrip(".")
    for name in (*OVERRIDE_STARTS, b"model.", b"optim.", b"rollout.", b"ray_init.", b"ray_kwargs.", b"async_training.", b"distillation.")
)
_ASSIGNMENT = re.compile(
    rf"""(?:(?<=\s)|(?<=['"])|^)[+~]{{0,2}}(?P<key>(?:{_ROOTS})\.[\w.\-/]+)="""
    r"""(?P<value>"[^"]*"|'[^']*'|\[[^\]]*\]|\{[^}]*\}|[^\s\\'"]*(?:'[^']*'[^\s\\'"]*)*)"""
)
_COMMAND = re.compile(r"main_\w+|python|bash|torchrun|ray job submit|overrides: \[|entrypoint|verl\.")
_REST_OF_COMMAND = re.compile(
    r"""(?:^|(?<=\s))(?:["']?\$(?:[@*\d]|\w+|\{[^}]*\})["']?(?=\s|\\|$)"""  # "$@", ${EXTRA_ARGS}
    r"""|\d?>{1,2}&?\s?\S+|&>{1,2}\s?\S+|\|&?\s*tee\b.*|(?:\|\||&&|;|&)\s*\S*.*|\#.*)"""  # redirections, pipes, comments
)
_SHELL_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
MAX_DUMP_LINES = 4000


class Dump:
    """Collects the lines of one printed dict, of one process, until its brackets close."""

    def __init__(self, process: str, line: int, text: str) -> None:
        self.process = process
        self.lines = [(line, text)]
        self._open = open_brackets(text)
        self._skipped = 0

    @property
    def done(self) -> bool:
        return self._open <= 0 or len(self.lines) >= MAX_DUMP_LINES or self._skipped > 3000

    def feed(self, process: str, line: int, text: str) -> bool:
        """Takes a line if it belongs to the dict; False when it does not."""
        if process != self.process or not _continues(text):
            self._skipped += 1
            return False
        # Output of another process may be glued to the end of a line.
        text = re.split(r"(?<=[,\]}])\s*(?:\x1b?\[[0-9;]*m)*\((?=[^()]*pid=\d+)", text, maxsplit=1)[0]
        self.lines.append((line, text))
        self._open += open_brackets(text)
        return True

    def settings(self) -> tuple[dict[str, Any], dict[str, int]]:
        return read_mapping(self.lines)


def _continues(text: str) -> bool:
    """Whether a line looks like the inside of a printed dict."""
    return re.match(r"""\s+(?:['"\]}),{\[]|[-+.\d]|None|True|False)|['"][^'"]*['"]\s*[:,)\]}]|[\]}]+""", text) is not None


class Overrides:
    """Hydra overrides met in commands: ``algorithm.adv_estimator=grpo``. The first value seen for a key is kept per command;
    a later command overrides an earlier one."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.lines: dict[str, int] = {}

    def feed(self, line: int, text: str, variable: Callable[[str], str | None]) -> int:
        """Takes the assignments of a line that is (part of) a command; returns how many."""
        if "overrides: [" in text:
            return self._listed(line, text.partition("overrides: [")[2])
        found = list(_ASSIGNMENT.finditer(text))
        if not found or not _is_command(text, found):
            return 0
        taken = 0
        for assignment in found:
            value = self._resolved(assignment["value"], variable)
            if value is not None:
                self._set(assignment["key"], value, line)
                taken += 1
        return taken

    def _listed(self, line: int, text: str) -> int:
        taken = 0
        for word in split_list(text.rstrip().removesuffix("]")):
            key, equals, value = word.strip().strip("'\"").lstrip("+~").partition("=")
            if equals and "." in key:
                self._set(key, scalar(value), line)
                taken += 1
        return taken

    def _set(self, key: str, value: Any, line: int) -> None:
        self.settings[key] = value
        self.lines[key] = line

    @staticmethod
    def _resolved(text: str, variable: Callable[[str], str | None]) -> Any:
        if "$" in text:
            name = _SHELL_VARIABLE.fullmatch(text.strip("'\""))
            known = variable(name[1]) if name else None
            if known is None:
                return None
            text = known
        return scalar(text) if text else None


def _is_command(text: str, found: Iterable[re.Match[str]]) -> bool:
    """A command, or a line of one: nothing but assignments, or a program's name before them."""
    left = text
    for assignment in found:
        left = left.replace(assignment[0], "", 1)
    left = _REST_OF_COMMAND.sub("", left)
    return not left.strip(" \t\\+~'\",;") or _COMMAND.search(left) is not None
