"""The report as a file: what goes into it, in which language, and two buttons to download it. A plain form: it needs no script."""

from __future__ import annotations

from assistant.messages import Language, say
from assistant.sessions import Session
from assistant.web.markup import escape
from assistant.web.panel import Shown


class ReportPanel(Shown):
    name = "report"
    body_id = "report-file"

    def content(self, session: Session, language: Language) -> str:
        return form(session, len(self.page.store.transcript(session.id)), language)


def form(session: Session, n_turns: int, language: Language) -> str:
    """``n_turns`` counts the answers of the talk so far; the routes count again when the file is made."""
    base = f"/session/{escape(session.id)}"
    options = "".join(
        f'<option value="{code}"{" selected" if code == language else ""}>{name}</option>'
        for code, name in (("en", "English"), ("zh", "中文"))
    )
    rows = [f'<p><label>{escape(say("report.panel_language", language))} <select name="lang">{options}</select></label></p>']
    rows.append(_box("talk", "1", say("report.panel_talk", language, n=n_turns), checked=True) if n_turns else "")
    for index, (name, _) in enumerate(session.others):
        called = name or say("report.numbered", language, n=index + 2)
        rows.append(_box("other", str(index), say("report.panel_compare", language, name=called), checked=len(session.others) == 1))
    buttons = "".join(
        f'<button type="submit" id="report-{key}" formaction="{base}/{file}"{more}>{escape(say(f"report.panel_{key}", language))}</button>'
        for key, file, more in (
            ("html", "report.html", ' class="primary"'),
            ("markdown", "report.md", ""),
            ("preview", "report.html", ' name="preview" value="1" formtarget="_blank"'),
        )
    )
    return (
        f'<h2 class="part">{escape(say("web.tab_report", language))}</h2><p>{escape(say("report.panel_lead", language))}</p>'
        f'<form method="get" action="{base}/report.html" class="report-form">{"".join(rows)}<p class="buttons">{buttons}</p></form>'
        f'<p class="caption">{escape(say("report.panel_markdown_hint", language))} {escape(say("report.panel_masked", language))}</p>'
    )


def _box(name: str, value: str, words: str, *, checked: bool) -> str:
    mark = " checked" if checked else ""
    return f'<p><label><input type="checkbox" name="{name}" value="{value}"{mark}> {escape(words)}</label></p>'
