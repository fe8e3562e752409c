"""Reports on made-up, hostile and real runs: complete, self-contained, inert, masked."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

pytest.importorskip("matplotlib")

from assistant import report
from assistant.answers import answer
from assistant.diagnosis import Diagnosis, Finding, RunView, diagnose, render
from assistant.logs import read
from assistant.messages import say
from assistant.redaction import Redactor
from assistant.report.as_markdown import code, fence, plain, table
from assistant.run import Note, SourceLine
from tests.builders import run_of
from tests.real import diagnosis_of_file

SAMPLES = Path(__file__).resolve().parents[2] / "assistant" / "web" / "samples"
CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
LANGUAGES = ("en", "zh")
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</title><svg onload=alert(1)>",
    '"><iframe src=//evil.example></iframe>',
    "javascript:alert(1)",
    "[x](javascript:alert(1))",
    "![x](http://evil.example/a.png)",
    "`</code><b>",
    "| a | b |\n| - | - |",
    "**bold** _it_",
    "@everyone #1 http://evil.example",
    "\u202eevil\x00\x1b[31m",
    "{name} %s {{7*7}} ${7*7}",
    "<!--",
    "]]>",
    "&lt;script&gt;",
    "```\n<b>",
    "<style>*{display:none}</style>",
    "<a href=http://evil.example>x</a>",
    "<base href=//evil.example>",
]
PLAIN = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "nav", "section", "article", "h1", "h2", "h3", "h4", "p",
    "b", "i", "code", "pre", "samp", "span", "strong", "em", "blockquote", "hr", "ul", "ol", "li", "dl", "dt", "dd", "div",
    "table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "a", "br", "wbr", "svg", "g", "path", "text",
    "defs", "use", "clippath", "rect",
}  # fmt: skip


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    handle_startendtag = handle_starttag

    def handle_data(self, data):
        self.text.append(data)


def sample(name: str) -> Diagnosis:
    return diagnose(read(SAMPLES / f"{name}.log"))


def inert(page: str) -> Tags:
    found = Tags(page)
    assert found.tags <= PLAIN, found.tags - PLAIN
    for tag, name, value in found.attributes:
        assert not name.startswith("on"), (tag, name, value)
        if name in ("href", "xlink:href", "src", "action"):
            assert value.startswith("#"), (tag, name, value)
        if name == "style":
            assert "url(" not in value
    assert "@import" not in page
    addresses = {a.rstrip("/") for tag, name, a in found.attributes if re.match(r"(https?:)?//", a)}
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    return found


def hostile(text: str) -> Diagnosis:
    name = f"m/{text}"
    run = run_of({name: [float(i) for i in range(20)], "timing_s/step": [2.0] * 20}, config={text: text}, algorithm=text, framework=text)
    run.era = text
    run.era_evidence = (Note("clue.printed", data={"name": text, "span": "only", "low": "0.6", "high": "0.6"}),)
    run.unread_lines, run.unread_samples = 3, [(7, text)]
    series = run.series(name)
    assert series is not None
    found = Finding(
        "crash-gpu-oom", "critical", first_step=5, last_step=20, evidence=[series.point(0), series.point(19)],
        facts=sample_facts(text), excerpt=[SourceLine(9, text * 20)],
    )  # fmt: skip
    return Diagnosis(run, [found], [], [])


def sample_facts(text: str):
    from assistant.diagnosis.facts import quoted

    needed = re.findall(r"\{(\w+)\}", render.template(Finding("crash-gpu-oom")))
    return {name: quoted(text, 3) for name in needed}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["collapse", "healthy", "crash"])
def test_everything_that_was_found_is_in_it(name: str, language) -> None:
    diagnosis = sample(name)
    page = report.html(diagnosis, name=f"{name}.log", language=language)
    text = report.markdown(diagnosis, name=f"{name}.log", language=language)
    words = "".join(inert(page).text)
    for finding in diagnosis.findings:
        title = render.title(finding, language).replace("`", "")
        assert title in words
        for point in finding.evidence:
            assert point.text in words
            assert f"`{point.text}`" in text
            assert point.metric in words
    for unknown in diagnosis.unknown:
        assert render.title(Finding(unknown.finding), language).replace("`", "") in words
    drawn = len(diagnosis.run.steps) > 1
    assert (page.count("<svg ") > 0) == drawn
    assert say("report.about", language) in words
    assert say("report.about", language) in text
    assert ("zh-CN" if language == "zh" else "en") in page[:60]


def test_the_talk_is_in_it_with_what_its_numbers_were_checked_against() -> None:
    diagnosis = sample("collapse")
    given = answer("why is my entropy so low?", diagnosis)
    talk = [report.Talked("why is my <b>entropy</b> so low?", given.markdown, given.checked)]
    page, text = report.html(diagnosis, talk=talk), report.markdown(diagnosis, talk=talk)
    n = given.checked["run"]
    assert n > 0
    for made in (page, text):
        assert f"{n} from the log" in made
    assert "why is my &lt;b&gt;entropy&lt;/b&gt; so low?" in page
    inert(page)


@pytest.mark.parametrize("language", LANGUAGES)
def test_two_runs(language) -> None:
    a = run_of(
        {"critic/score/mean": [0.01 * i for i in range(60)], "actor/entropy": [0.4] * 60},
        era="0.6",
        config={"actor_rollout_ref.actor.optim.lr": 1e-6},
    )
    b = run_of(
        {"critic/score/mean": [0.0] * 60, "actor/entropy": [0.4 * 0.9**i for i in range(60)]},
        era="0.6",
        config={"actor_rollout_ref.actor.optim.lr": 1e-4},
    )
    page = report.html(diagnose(a), name="a.log", language=language, against=("b.log", diagnose(b)))
    text = report.markdown(diagnose(a), name="a.log", language=language, against=("b.log", diagnose(b)))
    words = "".join(inert(page).text)
    for made in (words, text):
        assert "actor_rollout_ref.actor.optim.lr" in made
        assert "1e-06" in made
        assert "0.0001" in made
        assert "critic/score/mean" in made
        assert say("compare.verdict_worse", language) in made
    swapped = report.html(diagnose(b), name="b.log", language=language, against=("a.log", diagnose(a)), earlier=False)
    assert say("compare.verdict_worse", language) in swapped


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_log_stays_text(text: str) -> None:
    diagnosis = hostile(text)
    talk = [report.Talked(text, text, {"run": 1})]
    for language in LANGUAGES:
        page = report.html(diagnosis, name=text, language=language, talk=talk, against=(text, diagnosis), redact=False)
        inert(page)
    written = report.markdown(diagnosis, name=text, talk=talk, against=(text, diagnosis), redact=False)
    rendered = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(written)
    found = Tags(rendered)
    assert found.tags <= {
        "h1",
        "h2",
        "h3",
        "p",
        "strong",
        "em",
        "code",
        "pre",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "ol",
        "ul",
        "li",
        "br",
        "blockquote",
        "hr",
    }
    assert not [value for _, name, value in found.attributes if name in ("href", "src")]
    assert "\x1b" not in written
    assert "\u202e" not in written


def test_secrets_are_masked_unless_told_otherwise() -> None:
    key = "sk-proj-" + "a1B2c3D4" * 4
    diagnosis = hostile(f"OPENAI_API_KEY={key} /home/alice/run")
    for make in (report.html, report.markdown):
        masked = make(diagnosis, name="alice@lab.example.org.log")
        assert key not in masked
        assert "alice" not in masked
        assert "SECRET_1" in masked
        assert key in make(diagnosis, redact=False)
    own = Redactor(patterns=("project-x",))
    assert "project-x" not in report.markdown(hostile("see project-x"), redactor=own)
    both = report.html(diagnosis, against=(f"{key}.log", diagnosis))
    assert key not in both
    assert "alice" not in both


def test_a_healthy_run_shows_its_main_curves() -> None:
    diagnosis = sample("healthy")
    assert diagnosis.healthy
    page, text = report.html(diagnosis), report.markdown(diagnosis)
    assert '<section id="main">' in page
    assert say("report.main") in text
    assert "`critic/score/mean` `" in text


def test_bold_before_a_chinese_letter_is_bold() -> None:
    talk = [report.Talked("熵？", "**原因：**太低。", {})]
    diagnosis = sample("healthy")
    assert "<strong>原因</strong>：太低" in report.html(diagnosis, language="zh", talk=talk)
    assert "> **原因**：太低" in report.markdown(diagnosis, language="zh", talk=talk)


def test_the_same_run_gives_the_same_bytes() -> None:
    diagnosis = sample("collapse")
    assert report.html(diagnosis) == report.html(diagnosis)
    assert report.markdown(diagnosis, language="zh") == report.markdown(diagnosis, language="zh")


def test_a_run_without_anything_still_has_a_report() -> None:
    diagnosis = diagnose(run_of({}))
    assert say("report.no_findings", "en") in report.html(diagnosis)
    assert say("report.no_findings", "zh") in report.markdown(diagnosis, language="zh")


def test_code_spans_and_tables_hold_whatever_is_in_them() -> None:
    render_ = MarkdownIt("gfm-like", {"linkify": False}).render
    for text in ("a`b", "``", "`", "a | b", "x``y`z"):
        assert "<code>" in render_(code(text))
        assert render_(table(["h", "i"], [[code(text), "2"]])).count("<td>") == 2
    assert render_(fence("```\nx\n````")).count("<pre>") == 1
    assert "<em>" not in render_(plain("_a_ *b* <i>c</i> val-core/x_y_z"))
    assert plain("see `a*b` and **c**", cards=True) == "see `a*b` and **c**"


@pytest.mark.skipif(not CASES.is_dir(), reason="needs the labelled logs")
@pytest.mark.parametrize(
    "name",
    [
        "long/31_trl_rho010_s42_dip_and_recovery",
        "long/50_trl_dpo_json_extraction_90",
        "verl/54_dapo_cpu_oom_ray_killed",
        "verl/63_adv_time_10751s",
        "other/09_msswift_grpo_kl_intermittent_nan",
    ],
)
def test_real_logs(name: str) -> None:
    folder = CASES / name
    log = next((p for p in folder.iterdir() if p.name != "case.json"), None)
    assert log is not None
    diagnosis = diagnosis_of_file(log)
    for language in LANGUAGES:
        page = report.html(diagnosis, name=log.name, language=language)
        assert len(page) < 1_500_000
        inert(page)
        assert RunView(diagnosis.run) is not None
        assert report.markdown(diagnosis, name=log.name, language=language).count("\n") > 10
