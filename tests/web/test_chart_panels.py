"""Plots, compare and report of the page: over HTTP, and in a real browser."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("gradio")
pytest.importorskip("matplotlib")

from fastapi.testclient import TestClient

from assistant.diagnosis import diagnose
from assistant.logs import read
from assistant.messages import say
from assistant.sessions import MemoryStore, Session
from assistant.web import create_app
from assistant.web.asked_plot import plot_for
from assistant.web.panels.compare import compared
from assistant.web.panels.plots import offered
from assistant.web.panels.report import form
from assistant.web.samples import sample_text
from tests.web import browsing
from tests.web.browsing import Tab

Open = Callable[..., Tab]
browser_test = pytest.mark.skipif(bool(browsing.why_not()), reason=browsing.why_not() or "-")
HOSTILE = '<img src=x onerror="window.hacked=1">'
NO_SIDEWAYS = "document.documentElement.scrollWidth <= window.innerWidth"
DRAWN = "#plots .js-plotly-plot .scatterlayer"


def log(rows: int = 30, *, slope: float = 0.01, lr: str = "1e-06", extra: str = "", start: int = 1) -> str:
    lines = [f"'actor_rollout_ref.actor.optim.lr': {lr}"] if lr else []
    for i in range(rows):
        score, entropy = 0.2 + slope * i, 0.5 - 0.004 * i
        values = f"actor/entropy:{entropy:.4f} - critic/score/mean:{score:.4f} - timing_s/step:20.0 - timing_s/gen:12.5{extra}"
        lines.append(f"step:{start + i} - {values}")
    return "\n".join(lines) + "\n"


# Gradio leaves event loops and sockets to the garbage collector: it is not held against these tests, nor against those of other files.
pytestmark = [pytest.mark.filterwarnings("ignore::ResourceWarning"), pytest.mark.usefixtures("collected_last")]


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture(scope="module")
def client(store: MemoryStore) -> Iterator[TestClient]:
    with TestClient(create_app(store)) as client:
        yield client


@pytest.fixture(scope="module")
def session(store: MemoryStore) -> Session:
    text = log()
    opened = store.create(diagnose(read(text.encode())), "first.log", source=text.encode())
    other = log(slope=0.0, lr="1e-04")
    found = store.add_run(opened.id, diagnose(read(other.encode())), f"{HOSTILE}.log", source=other.encode())
    assert found is not None
    return found


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def inert(text: str) -> None:
    for tag, attributes in Tags(text).found:
        assert tag not in ("img", "script", "iframe", "a")
        assert not [name for name in attributes if name.startswith("on")]


# Over HTTP


def test_a_figure_holds_the_values_of_the_log(client: TestClient, session: Session) -> None:
    made = client.get(f"/session/{session.id}/figure?kind=lines&metric=actor%2Fentropy&from=5&to=9&lang=zh")
    assert made.headers["cache-control"] == "private, no-store"
    figure = made.json()
    line = figure["data"][0]
    assert line["x"] == [5, 6, 7, 8, 9]
    assert line["y"] == [0.484, 0.48, 0.476, 0.472, 0.468]
    assert line["customdata"][0][0] == "0.4840"
    assert figure["caption"] == say("charts.all", "zh")
    assert "actor/entropy" in figure["label"]
    assert client.get(f"/session/{session.id}/figure?kind=scatter&metric=actor%2Fentropy&metric=critic%2Fscore%2Fmean").json()["data"][0][
        "x"
    ]
    times = client.get(f"/session/{session.id}/figure?kind=times").json()
    assert [trace["name"] for trace in times["data"]] == ["timing_s/gen", "rest of the step"]


def test_nothing_to_draw_is_said(client: TestClient, session: Session) -> None:
    figure = client.get(f"/session/{session.id}/figure?metric={quote(HOSTILE)}").json()
    assert figure["data"] == []
    assert say("charts.nothing") in figure["caption"]
    assert HOSTILE in figure["caption"]  # plain text; the page sets it as text
    assert client.get(f"/session/{session.id}/figure.png?metric=none").status_code == 404
    assert client.get("/session/unknown/figure?metric=actor%2Fentropy").status_code == 404
    assert client.get(f"/session/{session.id}/figure?metric=" + "x" * 5000).status_code == 414


def test_pictures_to_keep(client: TestClient, session: Session) -> None:
    image = client.get(f"/session/{session.id}/figure.png?metric=actor%2Fentropy")
    assert image.headers["content-disposition"].startswith("attachment")
    from PIL import Image

    Image.open(io.BytesIO(image.content)).verify()
    drawing = client.get(f"/session/{session.id}/figure.svg?metric=actor%2Fentropy&lang=zh")
    assert drawing.headers["content-type"].startswith("image/svg+xml")
    assert drawing.text.startswith("<svg ")


def test_both_runs_over_each_other(client: TestClient, session: Session) -> None:
    figure = client.get(f"/session/{session.id}/overlay?metric=critic%2Fscore%2Fmean&other=0&order=ba").json()
    curves = [trace for trace in figure["data"] if trace.get("customdata")]
    assert [trace["y"][-1] for trace in curves] == [0.2, 0.49]
    assert "<img" not in json.dumps(figure["data"])
    assert client.get(f"/session/{session.id}/overlay?metric=a&other=7").status_code == 404
    assert client.get(f"/session/{session.id}/overlay").json()["data"] == []
    part = client.get(f"/session/{session.id}/overlay?metric=critic%2Fscore%2Fmean&from=3&to=5&window=3").json()
    assert part["data"][0]["x"] == [3, 4, 5]


def test_a_request_in_the_chat_becomes_a_figure(client: TestClient, session: Session) -> None:
    def source(question: str) -> str:
        made = plot_for(question, session, (), "en")
        return dict(Tags(made).found[0][1])["data-src"] or "" if made else ""

    assert source("why is the score flat?") == ""
    assert source("plot rewards/chosen") == ""
    one = source("plot entropy against score from step 3 to 9")
    assert one == f"/session/{session.id}/figure?kind=lines&metric=actor%2Fentropy&metric=critic%2Fscore%2Fmean&from=3&to=9&lang=en"
    both = source("plot the score of both runs")
    assert both.startswith(f"/session/{session.id}/overlay?")
    for address in (one, both):
        assert client.get(address).json()["data"]


def test_the_report_is_a_download(client: TestClient, session: Session) -> None:
    page = client.get(f"/session/{session.id}/report.html?lang=zh&other=0&talk=1")
    assert page.headers["content-disposition"] == 'attachment; filename="runwhy-report.html"'
    assert say("report.compare", "zh", name="").strip("与 ") in page.text
    assert "<img" not in page.text
    shown = client.get(f"/session/{session.id}/report.html?preview=1")
    assert "content-disposition" not in shown.headers
    text = client.get(f"/session/{session.id}/report.md?other=0&order=ba")
    assert text.headers["content-type"].startswith("text/markdown")
    assert text.text.startswith("# Training diagnosis: first.log")
    assert client.get(f"/session/{session.id}/report.html?other=3").status_code == 404


def test_panels_are_inert(session: Session) -> None:
    for language in ("en", "zh"):
        shown = compared(session, 0, "ab", language)
        assert "window.hacked" in shown
        inert(shown)
        inert(form(session, 2, language))


def test_what_the_plots_panel_offers() -> None:
    about = offered(diagnose(read(log(extra=f" - {HOSTILE.replace(' ', '_')}/x:1.0").encode())), "en")
    names = [name for name, _, _ in about["metrics"]]
    assert {"actor/entropy", "critic/score/mean", "timing_s/gen"} <= set(names)
    assert about["steps"] == [1, 30]
    assert about["timed"] is True
    assert about["first"]
    groups = {name: about["groups"][group] for name, _, group in about["metrics"]}
    assert groups["actor/entropy"] == say("charts.group_policy")
    assert groups["timing_s/gen"] == say("charts.group_time")
    assert groups["critic/score/mean"] == say("charts.group_reward")


# In a browser


@browser_test
@pytest.mark.browser
@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_plots_in_a_browser(open_tab: Open, language: str) -> None:
    tab = open_tab(language)
    tab.drop({"name": "run.log", "mimeType": "text/plain", "buffer": log(60).encode()})
    tab.show("plots")
    tab.see(DRAWN)
    tab.page.fill("#plots input[type=search]", "timing gen")
    tab.until("[...document.querySelectorAll('#plots .plotter-metric')].filter(r => !r.hidden).length === 1")
    tab.page.press("#plots input[type=search]", "Enter")
    tab.see("#plots .plotter-chip", "timing_s/gen")
    tab.until("document.querySelector('#plots .canvas').textContent.includes('timing_s/gen')")
    tab.page.locator("#plots .plotter-options select").nth(2).select_option("10")
    words = say("charts.all_smoothed", "zh" if language == "zh-CN" else "en", window=10)
    tab.until(f"document.querySelector('#plots figcaption').textContent.includes({json.dumps(words[:12])})")
    tab.page.locator("#plots input[type=number]").nth(0).fill("20")
    tab.page.locator("#plots input[type=number]").nth(0).press("Tab")
    tab.until("document.querySelector('#plots .js-plotly-plot').data[0].x[0] === 20")
    tab.page.locator("#plots .plotter-key").last.click()
    tab.until("document.querySelector('#plots .canvas').textContent.includes('timing_s/gen')")
    with tab.page.expect_download() as waiting:
        tab.page.locator("#plots .plotter-foot a").first.click()
    assert Path(waiting.value.path()).read_bytes()[:4] == b"\x89PNG"


@browser_test
@pytest.mark.browser
def test_two_metrics_against_each_other_and_a_point_leads_to_its_line(open_tab: Open) -> None:
    tab = open_tab()
    tab.drop({"name": "run.log", "mimeType": "text/plain", "buffer": log(12).encode()})
    tab.show("plots")
    tab.see(DRAWN)
    tab.run("runwhy.openPlot('actor/entropy', 7)")
    tab.until("document.querySelectorAll('#plots .plotter-chip').length === 1")
    tab.until("(document.querySelector('#plots .js-plotly-plot').layout.shapes || []).some(s => s.x0 === 7)")
    tab.page.locator("#plots .plotter-metric", has_text="critic/score/mean").click()
    tab.page.locator("#plots select").first.select_option("scatter")
    tab.until("document.querySelector('#plots .js-plotly-plot').layout.xaxis.title.text === 'actor/entropy' || "
              "document.querySelector('#plots .js-plotly-plot').layout.xaxis.title.text === 'critic/score/mean'")  # fmt: skip
    tab.page.locator("#plots .plotter-clear").click()
    tab.see("#plots .plotter-said", say("charts.panel_nothing_chosen"))
    tab.page.locator("#plots select").first.select_option("lines")
    tab.run("runwhy.openPlot('actor/entropy', null)")
    tab.until("document.querySelectorAll('#plots .points path').length === 12")
    tab.page.locator("#plots .points path").nth(4).hover(force=True)
    tab.see("#plots .hoverlayer .hovertext", "0.4840")
    tab.page.mouse.down()
    tab.page.mouse.up()
    tab.see("#panel-log .log-row.chosen")
    tab.until("document.querySelector('.log-row.chosen .log-number').textContent.trim() === '6'")


@browser_test
@pytest.mark.browser
@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_did_my_fix_work(open_tab: Open, language: str) -> None:
    tab = open_tab(language)
    tab.drop({"name": "before.log", "mimeType": "text/plain", "buffer": sample_text("collapse").encode()})
    tab.show("compare")
    tab.page.set_input_files(
        "#compare-file input[type=file]", {"name": "after.log", "mimeType": "text/plain", "buffer": sample_text("healthy").encode()}
    )
    tab.see("#compare .verdict")
    tab.see("#compare figure.chart.drawn")
    first = tab.text("#compare .verdict")
    tab.page.locator("#compare-order input").nth(1).click()
    tab.until(
        f"document.querySelector('#compare .verdict') && document.querySelector('#compare .verdict').textContent !== {json.dumps(first)}"
    )
    assert tab.text("#compare .facts").index("after.log") < tab.text("#compare .facts").index("before.log")
    tab.page.locator("#compare .side-more").select_option("actor/grad_norm")
    tab.see("#compare .side-chart .js-plotly-plot")
    tab.show("report")
    with tab.page.expect_download() as waiting:
        tab.page.click("#report-html")
    page = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert "after.log" in page
    assert ('lang="zh-CN"' in page) == (language == "zh-CN")
    tab.show("compare")
    tab.page.click("#compare-remove")
    tab.until("!document.querySelector('#compare .verdict')")
    assert tab.run(NO_SIDEWAYS)


@browser_test
@pytest.mark.browser
def test_an_unreadable_second_run_says_why(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("healthy")
    tab.show("compare")
    tab.page.fill("#compare-paste textarea", "these are just words")
    tab.page.click("#compare-go")
    tab.see("#compare-status .problem")
    tab.page.fill("#compare-paste textarea", log(20))
    tab.page.click("#compare-go")
    tab.see("#compare .verdict")


@browser_test
@pytest.mark.browser
def test_a_plot_on_request_in_the_chat(open_tab: Open) -> None:
    tab = open_tab()
    tab.open_sample("healthy")
    tab.ask("plot entropy against score")
    tab.see("#live .asked-plot.drawn .js-plotly-plot")
    assert "nothing smoothed" in tab.text("#live .asked-plot figcaption")
    tab.reload()
    tab.see(".turns .asked-plot .js-plotly-plot")


@browser_test
@pytest.mark.browser
def test_a_report_opens_without_the_server(open_tab: Open, tmp_path: Path) -> None:
    tab = open_tab("zh-CN", 390, 844)
    tab.drop(
        {
            "name": f"{HOSTILE}.log".replace("/", ""),
            "mimeType": "text/plain",
            "buffer": log(extra=f" - a/{HOSTILE.replace(' ', '_')}:1.0").encode(),
        }
    )
    tab.ask("熵怎么样？")
    tab.show("report")
    with tab.page.expect_download() as waiting:
        tab.page.click("#report-html")
    saved = tmp_path / "report.html"
    waiting.value.save_as(saved)
    alone = tab.context.browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    asked: list[str] = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto(saved.as_uri())
    assert asked == [saved.as_uri()]
    assert alone.evaluate(NO_SIDEWAYS)
    assert alone.evaluate("window.hacked === undefined")
    assert alone.evaluate("document.scripts.length") == 0
    assert "熵怎么样？" in alone.inner_text("body")
    alone_tags = Tags(saved.read_text(encoding="utf-8"))
    assert not [tag for tag, _ in alone_tags.found if tag in ("img", "script")]
    alone.close()
