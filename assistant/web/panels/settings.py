"""Settings of this talk: which model answers, what would be masked, a link for a colleague, and forgetting it all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from assistant.answers.model.settings import PRESETS, BadSettings, Endpoint
from assistant.messages import Language, say
from assistant.web import texts
from assistant.web.chips import line_link
from assistant.web.markup import escape
from assistant.web.models import KNOWN, Models, NotAllowed, endpoint_from
from assistant.web.panel import Panel, html

if TYPE_CHECKING:
    from assistant.web.page import Page

OTHER = "other"
LINK_HOURS = 72
MOST_MARKS = 40


class SettingsPanel(Panel):
    name = "settings"

    def __init__(self, models: Models) -> None:
        self.models = models

    def build(self) -> None:
        self.model_title = html()
        kinds = ["server"] if self.models.server else []
        kinds += ["builtin", *([] if self.models.own == "none" else ["own"])]
        self.kinds = kinds
        self.kind = gr.Radio([(kind, kind) for kind in kinds], value=kinds[0], elem_id="model-kind")
        with gr.Column(visible=False, elem_id="own-model") as self.own:
            presets = list(KNOWN) if self.models.own == "known" else [*PRESETS, OTHER]
            with gr.Row():
                self.preset = gr.Dropdown(presets, value=presets[0], elem_id="model-preset", filterable=False)
                self.model = gr.Textbox(max_lines=1, elem_id="model-name", max_length=200)
            self.address = gr.Textbox(max_lines=1, elem_id="model-address", max_length=500, visible=False)
            self.key = gr.Textbox(max_lines=1, type="password", elem_id="model-key", max_length=500)
            with gr.Row(elem_classes="buttons"):
                self.use = gr.Button(variant="primary", elem_id="model-use")
                self.test = gr.Button(elem_id="model-test")
        self.model_said = html("", elem_id="model-said")
        self.masked_title = html()
        self.preview = gr.Button(elem_id="mask-preview")
        self.masked = html("", elem_id="masked")
        self.link_title = html()
        with gr.Row(elem_classes="buttons"):
            self.share = gr.Button(elem_id="share")
            self.unshare = gr.Button(elem_id="unshare")
        self.link = html("", elem_id="share-link")
        self.forget_title = html()
        self.forget = gr.Button(elem_id="forget")

    def wire(self, page: Page) -> None:
        self.page = page
        private: dict[str, Any] = {"api_visibility": "private"}
        light: dict[str, Any] = {"queue": False, "show_progress": "hidden", **private}
        now = [page.session, page.language]
        entries = [self.preset, self.model, self.address, self.key]
        chosen: dict[str, Any] = {"trigger_mode": "always_last", **light}
        tested = self.test.click(
            self.test_own, [*entries, *now], [self.model_said], concurrency_limit=4, show_progress="minimal", **private
        )
        self.kind.input(self.choose, [self.kind, *now], [self.own, self.model_said], cancels=[tested], **chosen)
        self.preset.input(lambda preset: gr.update(visible=preset in (OTHER, "vllm")), self.preset, self.address, **chosen)
        self.use.click(self.use_own, [*entries, *now], [self.model_said, self.key], cancels=[tested], **light)
        self.preview.click(self.show_masked, now, [self.masked], concurrency_limit=4, show_progress="minimal", **private)
        self.share.click(self.make_link, now, [self.link], js="(...given) => given", **light)
        self.unshare.click(self.revoke, now, [self.link], **light)
        left = [page.session, *page.opened_parts, *page.start_panel.closed_parts]
        self.forget.click(self.forgotten, now, left, **light).then(None, js="() => runwhy.closed()", **private)
        page.on_view(self.name, self.shown, [self.kind, self.own, self.model_said])
        page.on_open(lambda session_id, language: ("", "", ""), [self.masked, self.link, self.key])

    def shown(self, session_id: str, language: Language) -> tuple[Any, ...]:
        choice = self.models.choice(session_id)
        return choice.kind, gr.update(visible=choice.kind == "own"), self._now(session_id, language)

    def _now(self, session_id: str, language: Language) -> str:
        endpoint = self.models.endpoint(session_id)
        if endpoint is None:
            return _note(say("web.model_builtin_now", language))
        masked = say("web.model_masked" if endpoint.redacts else "web.model_unmasked", language)
        where = "" if self.models.choice(session_id).kind == "server" else f" ({endpoint.base_url})"
        return _note(say("web.model_now", language, model=endpoint.name + where) + " " + masked)

    # Model

    def choose(self, kind: str, session_id: str, language: Language) -> tuple[Any, ...]:
        if kind != "own" and kind in self.kinds:
            self.models.choose(session_id, kind)  # type: ignore[arg-type]
            return gr.update(visible=False), self._now(session_id, language)
        return gr.update(visible=True), ""

    def use_own(self, preset: str, model: str, address: str, key: str, session_id: str, language: Language) -> tuple[Any, ...]:
        found = self._entered(preset, model, address, key, session_id, language)
        if isinstance(found, str):
            return texts.problem(found), gr.skip()
        self.models.choose(session_id, "own", found)
        return self._now(session_id, language), ""

    def test_own(self, preset: str, model: str, address: str, key: str, session_id: str, language: Language) -> Iterator[str]:
        """What ``runwhy doctor`` checks, one line after the other."""
        from assistant.answers.model.doctor import examine

        found = self._entered(preset, model, address, key, session_id, language)
        if isinstance(found, str):
            yield texts.problem(found)
            return
        rows = ""
        waiting = f'<li class="check waiting">{escape(say("web.testing", language))}</li>'
        yield f'<ul class="checks">{waiting}</ul>'
        for check in examine(language, found):
            detail = f" <span>{escape(check.detail)}</span>" if check.detail else ""
            advice = f"<p>{escape(check.advice)}</p>" if check.advice else ""
            state = escape(say(f"web.check_{check.state}", language))
            rows += f'<li class="check check-{check.state}"><b>{escape(check.name)}</b> <i>{state}</i>{detail}{advice}</li>'
            yield f'<ul class="checks">{rows}{waiting}</ul>'
        yield f'<ul class="checks">{rows}</ul>'

    def _entered(self, preset: str, model: str, address: str, key: str, session_id: str, language: Language) -> Endpoint | str:
        """The endpoint, or a sentence on what is wrong with the entries. An empty key keeps the one that is in use for the address."""
        if self.page.store.about(session_id) is None:
            return say("web.session_gone", language, hours=self.page.limits.hours)
        address = address.strip() if preset in (OTHER, "vllm") else ""
        if preset == OTHER and not (address and model.strip()):
            return say("web.model_needs_address", language)
        try:
            made = endpoint_from("" if preset == OTHER else preset, model.strip(), address, key.strip(), self.models.own)
        except NotAllowed:
            return say("web.model_not_allowed", language)
        except BadSettings as problem:
            return say("web.model_bad", language, reason=str(problem))
        before = self.models.endpoint(session_id)
        if not key.strip() and self.models.choice(session_id).kind == "own" and before and before.base_url == made.base_url:
            from dataclasses import replace

            made = replace(made, api_key=before.api_key)
        return made

    # Masking

    def show_masked(self, session_id: str, language: Language) -> str:
        """What would be masked in this log before it is sent or shared."""
        found = self.page.logs.summary(session_id)
        looked = say("web.masked_looked", language, n=f"{found['lines']:,}", total=f"{found['total']:,}")
        if not found["marks"]:
            nothing = f'<p>{escape(say("web.masked_nothing", language))}</p><p class="caption">{escape(looked)}</p>'
            return texts.of(session_id, language, nothing)
        heads = "".join(f"<th>{escape(say(f'web.column_{key}', language))}</th>" for key in ("masked_as", "begins", "line"))
        rows = "".join(
            f"<tr><td><code>[{escape(mark)}]</code></td><td><code>{escape(_begun(word))}</code></td>"
            f"<td>{line_link(line, language)}</td></tr>"
            for mark, word, line in found["marks"][:MOST_MARKS]
        )
        more = len(found["marks"]) - MOST_MARKS
        rest = f'<p class="caption">{escape(say("web.and_more", language, n=more))}</p>' if more > 0 else ""
        table = f'<table class="evidence"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        return texts.of(session_id, language, f'<div class="scroll">{table}</div>{rest}<p class="caption">{escape(looked)}</p>')

    # Links

    def make_link(self, session_id: str, language: Language) -> str:
        token = self.page.store.share(session_id, LINK_HOURS)
        if token is None:
            return texts.gone(language, self.page.limits)
        label, copy = escape(say("web.link_made", language, hours=LINK_HOURS)), escape(say("web.do_copy", language))
        done = escape(say("web.copied", language))
        made = (
            f'<p><label>{label} <input class="link" readonly data-token="{escape(token)}"></label> '
            f'<button type="button" class="copy-link" data-copied="{done}">{copy}</button></p>'
        )
        return texts.of(session_id, language, made)

    def revoke(self, session_id: str, language: Language) -> str:
        return _note(say("web.link_revoked", language, n=self.page.store.unshare(session_id)))

    def forgotten(self, session_id: str, language: Language) -> dict[Any, Any]:
        """The log, the talk, its links and the model's key are gone, and the page is as at the start."""
        self.page.store.remove(session_id, feedback=True)
        self.models.forget(session_id)
        self.page.logs.forget(session_id)
        return {self.page.session: "", **self.page.show_report(False), **self.page.start_panel.closed(None, language)}

    def relabel(self, language: Language) -> dict[Any, Any]:
        names = {
            "server": say("web.model_server", language, model=self.models.server.name) if self.models.server else "",
            "builtin": say("web.model_builtin", language),
            "own": say("web.model_own", language),
        }
        return {
            self.model_title: _title("model_title", "model_lead", language),
            self.kind: gr.update(label=say("web.model_kind", language), choices=[(names[kind], kind) for kind in self.kinds]),
            self.preset: gr.update(label=say("web.model_preset", language)),
            self.model: gr.update(label=say("web.model_name", language), placeholder=say("web.model_name_hint", language)),
            self.address: gr.update(label=say("web.model_address", language), placeholder="http://gpu-box:8000/v1"),
            self.key: gr.update(label=say("web.model_key", language), placeholder=say("web.model_key_hint", language)),
            self.use: gr.update(value=say("web.model_use", language)),
            self.test: gr.update(value=say("web.model_test", language)),
            self.masked_title: _title("masked_title", "masked_lead", language),
            self.preview: gr.update(value=say("web.masked_show", language)),
            self.link_title: _title("link_title", "link_lead", language),
            self.share: gr.update(value=say("web.link_make", language)),
            self.unshare: gr.update(value=say("web.link_revoke", language)),
            self.forget_title: _title("forget_title", "forget_lead", language),
            self.forget: gr.update(value=say("web.forget", language)),
        }


def _title(title: str, lead: str, language: Language) -> str:
    return f'<h2 class="part">{escape(say(f"web.{title}", language))}</h2><p class="hint">{escape(say(f"web.{lead}", language))}</p>'


def _note(sentence: str) -> str:
    return f'<p class="note" role="status">{escape(sentence)}</p>'


def _begun(word: str) -> str:
    """Enough of a secret to know which one it is."""
    flat = " ".join(word.split())
    return flat[: max(2, min(4, len(flat) // 4))] + "…"
