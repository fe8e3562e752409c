"""An answer in a model's words: evidence out, draft back, every number checked and the rest marked."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

from assistant.answers.checking.grounds import Grounds
from assistant.answers.checking.numbers import Number, checked
from assistant.answers.checking.verify import Verified, verify
from assistant.answers.checking.verify_runs import verify_runs
from assistant.answers.grounding.evidence import Evidence, code
from assistant.answers.model.cache import ReplyCache, cache_key
from assistant.answers.model.client import Client, Message, list_models
from assistant.answers.model.faults import ModelFault
from assistant.answers.model.limits import REPAIRS, TOO_WRONG
from assistant.answers.model.prompting import Prompt, build, language_name
from assistant.answers.model.settings import Endpoint
from assistant.answers.packed.prompts import filled, labels, prompt
from assistant.answers.several import Talk, context_of, pair_of
from assistant.answers.understanding.language import detect
from assistant.answers.understanding.question import Turn
from assistant.answers.writing.between import verdict as verdict_between
from assistant.cards import cards, users_folders
from assistant.diagnosis import render
from assistant.diagnosis.finding import Diagnosis, Finding
from assistant.messages import Language, say
from assistant.retrieval import Searcher
from assistant.run import SourceLine

Progress = Callable[[str], None]
PROGRESS_EVERY = 0.3
"""Seconds between two looks at a growing draft."""
_LAST_END = re.compile(r".*(?:[.!?](?=\s)|[。！？]|\n)", re.DOTALL)
_REPLIES = ReplyCache()
_HEADINGS = frozenset({"findings", "draft", "metrics", "config", "derived", "excerpt", "cards", "others", "left_out"})


@dataclass(slots=True)
class Written:
    """What came of asking a model. ``fault`` says why there are no words of it."""

    verified: Verified | None = None
    evidence: Evidence | None = None
    fault: ModelFault | None = None
    prompt: Prompt | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    cut: bool = False
    model: str = ""
    lead: str = ""


def prepare(talk: Talk, endpoint: Endpoint, *, history: Sequence[Turn] = ()) -> Prompt:
    """What would be sent for the talk's question (``--show-prompt``, or to paste into another chat)."""
    tools = endpoint.uses_tools and not talk.meant.between
    return build(talk, endpoint, history=history, retrieved=found_cards(talk.question, talk.main), tools=tools)


def ask_model(
    question: str,
    talk: Talk,
    endpoint: Endpoint,
    *,
    history: Sequence[Turn] = (),
    on_progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    source: Callable[[int, int], Sequence[SourceLine]] | None = None,
) -> Written:
    """Ask, check, repair once. Never raises for what a model or server does; ``Written.fault`` says what it did."""
    try:
        endpoint = with_model(endpoint)
    except ModelFault as fault:
        return Written(fault=fault)
    client = Client(endpoint)
    own = source if talk.meant.runs == (0,) else None  # the lines at hand are those of the first log
    job = _Job(question, talk, endpoint, client, tuple(history), on_progress, cancelled, own)
    try:
        return job.run()
    except ModelFault as fault:
        return Written(fault=fault, usage=client.usage.to_json(endpoint) if client.usage.calls else {})


def with_model(endpoint: Endpoint) -> Endpoint:
    """``endpoint``, with the first model that the server lists when none is named (a server that runs a single one)."""
    if endpoint.model or endpoint.provider:
        return endpoint
    rows = list_models(endpoint)
    if not rows:
        raise ModelFault("model-missing")
    return replace(endpoint, model=str(rows[0].get("id")))


@dataclass(slots=True)
class _Job:
    text: str
    talk: Talk
    endpoint: Endpoint
    client: Client
    history: tuple[Turn, ...]
    on_progress: Progress | None
    cancelled: Callable[[], bool] | None
    source: Callable[[int, int], Sequence[SourceLine]] | None
    said: str = ""
    seen: list[str] = field(default_factory=list)

    def run(self) -> Written:
        self.said = "\n".join([self.text, *(turn.question for turn in self.history[-3:])])
        key = cache_key(
            run_hash=self.talk.run(0)[1].run.sha256,
            question=self.text,
            language=self.talk.language,
            endpoint=self.endpoint,
            history=self.history,
            extra="" if self.talk.single else "\n".join(f"{name}={one.run.sha256}" for name, one in self.talk.runs),
        )
        prompt_, draft, cut = self._first(key)
        best = self._verified(draft, prompt_)
        wrong_language = self._wrong_language(draft)
        for _ in range(REPAIRS):
            if not (wrong_language or any(i.kind != "guess" for i in best.issues)) or self.client.left < 3:
                break
            try:
                reply = self.client.complete(
                    [*prompt_.messages, *self._repair(draft, best, wrong_language, prompt_)], cancelled=self.cancelled
                )
            except ModelFault as fault:
                if fault.kind == "cancelled":
                    raise
                break
            second = prompt_.restore(_whole_sentences(reply.text) if reply.cut else reply.text)
            again = self._verified(second, prompt_)
            if (self._wrong_language(second), _badness(again)) <= (wrong_language, _badness(best)):
                best, draft, wrong_language, cut = again, second, self._wrong_language(second), reply.cut
        if wrong_language:
            raise ModelFault("language")
        if unusable(best):
            raise ModelFault("unusable", f"{best.n_wrong} parts of {best.n_sentences} sentences are not supported")
        _REPLIES.put(key, draft)
        usage = self.client.usage.to_json(self.endpoint)
        return Written(best, prompt_.packed.evidence, None, prompt_, usage, cut, self.endpoint.name, self._lead())

    def _first(self, key: str) -> tuple[Prompt, str, bool]:
        """The prompt, and the draft: kept from before, or new."""
        retrieved = found_cards(self.text, self.talk.main)
        tools = self.endpoint.uses_tools and "tools" not in self.client.refused and not self.talk.meant.between
        share = 1.0
        while True:
            made = build(self.talk, self.endpoint, history=self.history, retrieved=retrieved, share=share, tools=tools)
            if share == 1.0 and (kept := _REPLIES.get(key)) is not None:
                return made, kept, False
            try:
                reply = (
                    self._agent(made)
                    if tools
                    else self.client.complete(made.messages, on_text=self._progress(made), cancelled=self.cancelled)
                )
            except ModelFault as fault:
                if tools and fault.kind in ("unsupported", "empty", "rejected", "protocol"):
                    if fault.kind == "unsupported":
                        self.client.refused.add("tools")
                    tools = False
                    continue
                if fault.kind == "context" and share > 0.3:
                    allowed = (fault.tokens or 0) - self.endpoint.output_tokens - 150
                    share = min(share * 0.5, allowed / self.endpoint.prompt_tokens if allowed > 500 else share * 0.5)
                    continue
                raise
            text = made.restore(reply.text)
            return made, _whole_sentences(text) if reply.cut else text, reply.cut

    def _agent(self, made: Prompt) -> Any:
        from assistant.answers.model.agent import run_agent
        from assistant.answers.model.tools import Toolbox

        context = context_of(self.talk, self.talk.meant.runs[0], self.history, made.packed.evidence)
        box = Toolbox(context, self.source, self.seen)
        if made.redactor is not None:
            box.mask, box.restore = made.redactor.mask, made.redactor.restore
        return run_agent(self.client, made.messages, box, on_text=self._progress(made), cancelled=self.cancelled)

    def _progress(self, made: Prompt) -> Callable[[str], None] | None:
        """Shows whole sentences of a growing draft, already checked and marked."""
        if self.on_progress is None:
            return None
        show, state = self.on_progress, {"at": 0.0, "length": 0}

        def on_text(text: str) -> None:
            whole = _LAST_END.match(text)
            if whole is None or len(whole[0]) <= state["length"] or time.monotonic() - state["at"] < PROGRESS_EVERY:
                return
            state["at"], state["length"] = time.monotonic(), len(whole[0])
            show(f"{self._lead()}\n\n{self._verified(made.restore(whole[0]), made).markdown}")

        return on_text

    def _verified(self, draft: str, made: Prompt) -> Verified:
        shown = "\n".join([made.packed.text, *self.seen])
        if made.packed.runs:
            runs = [(name, Grounds(evidence, shown, self.said)) for name, evidence in made.packed.runs]
            return verify_runs(draft, runs, self.talk.language)
        return verify(draft, made.packed.evidence, self.talk.language, shown=shown, said=self.said)

    def _lead(self) -> str:
        """What the checks say, whatever the model writes below it."""
        if self.talk.meant.between:
            return verdict_between(pair_of(self.talk, self.history), self.talk.meant)
        name, diagnosis = self.talk.run(self.talk.meant.runs[0])
        line = verdict_line(diagnosis, self.talk.language)
        return line if self.talk.single else f"{say('between.about', self.talk.language, name=code(name))} {line}"

    def _wrong_language(self, draft: str) -> bool:
        words = re.sub(r"`[^`]*`|\{\{.*?\}\}", " ", draft)
        return len(words.strip()) > 20 and detect(words, self.talk.language) != self.talk.language

    def _repair(self, draft: str, found: Verified, wrong_language: bool, made: Prompt) -> list[Message]:
        reasons = repair_reasons()
        rows = [f"- {reasons['language']}"] if wrong_language else []
        for issue in found.issues[:8]:
            around = found.plain[max(0, issue.start - 50) : issue.end + 20].replace("\n", " ").strip()
            rows.append(
                f'- "{issue.text.strip()[:80]}" in "… {around[:160]} …": {reasons[issue.kind]}'
                + (f" ({issue.right})" if issue.right else "")
            )
        asked = filled("repair", problems="\n".join(rows), language=language_name(self.talk.language))
        mask = made.redactor.mask if made.redactor else str
        return [{"role": "assistant", "content": mask(draft)}, {"role": "user", "content": mask(asked)}]


@lru_cache(maxsize=16)
def _searcher(users_cards: str) -> Searcher:
    """By names and words only: the evidence must not depend on whether a vector index is open."""
    return Searcher(dict(cards()), None)


def found_cards(question: str, diagnosis: Diagnosis) -> list[str]:
    found = _searcher(users_folders()).search(question, limit=6, run=diagnosis.run, findings=[f.id for f in diagnosis.findings[:3]])
    return [hit.card for hit in found.hits]


@cache
def repair_reasons() -> dict[str, str]:
    return {m[1]: m[2] for m in re.finditer(r"^([\w-]+): (.+)$", prompt("repair_reasons"), re.MULTILINE)}


def unusable(found: Verified) -> bool:
    """Whether too much of a draft is wrong for marks to help."""
    wrong = [i for i in found.issues if i.kind != "guess"]
    unverified = sum(n.status == "unverified" for n in found.numbers)
    if len(found.plain.strip()) < 8 or _loops(found.plain) or _echoes(found.plain):
        return True
    if len(found.numbers) >= 4 and unverified > TOO_WRONG * len(found.numbers):
        return True
    return len(wrong) >= 2 and len(wrong) > TOO_WRONG * max(1, found.n_sentences)


_SENTENCES = re.compile(r"[.!?]+(?=\s|$)|[。！？\n]+")
"""Ends of sentences; the dots inside a setting's name are none."""


def _loops(text: str) -> bool:
    """The same sentence again and again."""
    rows = [row for part in _SENTENCES.split(text) if len(row := re.sub(r"\W+", "", part).lower()) > 6]
    return len(rows) >= 3 and max(rows.count(row) for row in set(rows)) >= 3


def _echoes(text: str) -> bool:
    """Headings of the evidence, or its marks, in the answer: the prompt came back."""
    headings = [words for name, words in labels().items() if name in _HEADINGS]
    return "<evidence" in text or any(words in text for words in headings)


def _badness(found: Verified) -> float:
    weights = {"verdict": 3.0, "broken": 3.0, "fine": 2.0, "guess": 0.3}
    return sum(weights.get(i.kind, 1.0) for i in found.issues)


def _whole_sentences(text: str) -> str:
    whole = _LAST_END.match(text + "\n" if text.endswith((".", "。", "!", "?", "！", "？")) else text)
    return whole[0].strip() if whole else text


def verdict_line(diagnosis: Diagnosis, language: Language) -> str:
    """What the checks say, in one line, whatever a model writes below it."""
    faults = list(diagnosis.faults)
    if not faults:
        if not diagnosis.fine:
            return say("model.verdict_nothing", language)
        return say("model.verdict_healthy", language, n=len(diagnosis.fine))

    def named(finding: Finding) -> str:
        since = say("answers.since", language, step=finding.first_step) if finding.first_step is not None else ""
        return render.title(finding, language) + since

    if len(faults) == 1:
        return say("model.verdict_one", language, first=named(faults[0]))
    if len(faults) == 2:
        return say("model.verdict_more", language, first=named(faults[0]), second=named(faults[1]))
    return say("model.verdict_many", language, first=named(faults[0]), second=named(faults[1]), n=len(faults) - 2)


def fault_sentence(fault: ModelFault, endpoint: Endpoint, language: Language) -> str:
    return say(f"model.fault_{fault.kind}", language, where=f"`{endpoint.base_url}`", model=f"`{endpoint.name}`")


def composed(written: Written, language: Language) -> tuple[str, list[Number], dict[str, int]]:
    """The whole answer as Markdown, its numbers at their places, and their counts."""
    verified = written.verified
    assert verified is not None
    lead = written.lead
    parts = [lead, verified.markdown.strip()]
    if written.cut:
        parts.append(say("model.cut", language))
    markdown = "\n\n".join(parts)
    numbers: list[Number] = [Number(m[0], m.start(), "derived") for m in re.finditer(r"(?<![\w.])\d+(?![\w.]*\d)", lead)]
    at = len(lead)
    for number in verified.numbers:
        found = markdown.find(number.text, at)
        at = found + len(number.text) if found >= 0 else at
        numbers.append(replace(number, start=max(found, 0)))
    return markdown, numbers, checked(numbers)
