from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from assistant.web import markup

ALLOWED = {"code", "strong", "p", "ul", "li", "h5"}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def tags(html: str) -> Tags:
    parser = Tags()
    parser.feed(html)
    parser.close()
    return parser


@given(st.text(alphabet="<>/&\"'`*ab= \n#-1.", max_size=80))
def test_no_text_brings_markup_of_its_own(text: str) -> None:
    assert set(tags(markup.inline(text)).seen) <= ALLOWED
    assert set(tags(markup.paragraphs(text)).seen) <= ALLOWED


@given(st.text(max_size=80).filter(lambda text: "`" not in text and "**" not in text and "\r" not in text and "\0" not in text))
def test_plain_text_reads_the_same(text: str) -> None:
    assert tags(markup.inline(text)).text == text


def test_code_is_shown_as_it_is() -> None:
    assert markup.inline("set `a.b_c=**x**` and **this**") == "set <code>a.b_c=**x**</code> and <strong>this</strong>"


def test_a_card_body_keeps_its_blocks() -> None:
    body = "First line\nsecond line.\n\n### Head\nUnder it\n\nSay:\n- one\n  more\n- two"
    assert markup.paragraphs(body) == (
        "<p>First line second line.</p><h5>Head</h5><p>Under it</p><p>Say:</p><ul><li>one more</li><li>two</li></ul>"
    )


def test_questions_are_shown_literally() -> None:
    assert markup.as_plain_markdown("a_b *c* <b> ![x](http://e) `d`") == r"a\_b \*c\* &lt;b&gt; \!\[x\]\(http\:\/\/e\) \`d\`".replace(
        r"\/", "/"
    )


def test_answers_load_no_picture() -> None:
    assert "![" not in markup.without_images("see ![x](http://example.org/a.png)")


def test_bold_text_before_a_chinese_letter_is_bold() -> None:
    assert markup.closed_bold("**接着看：**结合 **好。** ok **a**b") == "**接着看**：结合 **好。** ok **a**b"


def test_sizes() -> None:
    assert [markup.size(n) for n in (0, 999, 2_000_000, 123_000_000, 20_000_000_000)] == ["0 B", "999 B", "2.0 MB", "123 MB", "20.0 GB"]
