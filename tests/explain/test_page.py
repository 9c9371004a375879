import re
from html.parser import HTMLParser

import pytest

from seqattn_tf.explain import Entry, write_page

VOID = {"meta", "img"}


class Reader(HTMLParser):
    """The tags, attributes and text of a page; fails if tags are closed in the wrong order."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"] and data.strip():
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def page(path, entries=(), facts=None, title="T", intro="I"):
    write_page(path, title, intro, entries, facts or {})
    return Reader(path.read_text(encoding="utf-8"))


def test_cards_and_facts_in_order(tmp_path):
    entries = [Entry("phone", "F OW1 N", -0.4123, "0.png", "reference: F OW1 N"), Entry("b", "B", 1.0, "sub/1.svg")]
    reader = page(
        tmp_path / "index.html", entries, {"error rate": 0.25, "words": "20 000"}, "Sounds", "An introduction"
    )
    shown = [
        "error rate",
        "0.25",
        "words",
        "20 000",
        "phone",
        "score -0.412",
        "F OW1 N",
        "reference: F OW1 N",
        "b",
        "score 1",
        "B",
    ]
    assert reader.words == ["Sounds", "Sounds", "An introduction", *shown]
    assert [image["src"] for image in reader.all("img")] == ["0.png", "sub/1.svg"]
    assert len(reader.all("article")) == 2


def test_all_text_is_escaped(tmp_path):
    evil = "<script>alert('1')</script> & \"$title"
    entry = Entry(evil, evil, float("nan"), 'a "b"<c>.png', evil)
    reader = page(tmp_path / "index.html", [entry], {evil: evil}, evil, evil)
    assert not reader.all("script")
    assert reader.words.count(evil) == 8  # window, heading, intro, label, value, source, answer, note
    (image,) = reader.all("img")
    assert image["src"] == "a%20%22b%22%3Cc%3E.png"
    assert set(image) == {"src", "alt", "loading"}


def test_page_asks_no_network_and_knows_dark(tmp_path):
    page(tmp_path / "index.html", [Entry("a", "b", 0, "http://host/x.png")], {"a": 1})
    html = (tmp_path / "index.html").read_text()
    assert not re.search(r"https?:|//|@import|url\(|<link|<script", html.replace("http%3A//host", ""))
    assert "prefers-color-scheme: dark" in html


def test_empty_page_says_so(tmp_path):
    reader = page(tmp_path / "index.html", intro="")
    assert reader.words == ["T", "T", "nothing to show"]
    assert not reader.all("table")


def test_entry_without_picture(tmp_path):
    assert not page(tmp_path / "index.html", [Entry("a", "b", 0, "")]).all("img")


@pytest.mark.parametrize("picture", ["/etc/a.png", "\\\\host\\a.png"])
def test_pictures_lie_beside_the_page(tmp_path, picture):
    with pytest.raises(ValueError, match=r"relative to the page\. Received: "):
        page(tmp_path / "index.html", [Entry("a", "b", 0, picture)])
    assert not list(tmp_path.iterdir())


def test_any_text_can_be_written(tmp_path):
    reader = page(tmp_path / "new" / "index.html", [Entry("カタカナ\ud800", "नमस्ते", 0, "\ud800.png")])
    assert "カタカナ?" in reader.words
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["index.html"]


def test_page_is_replaced(tmp_path):
    page(tmp_path / "index.html", title="old")
    assert page(tmp_path / "index.html", title="new").words[0] == "new"


def test_entries_are_frozen():
    with pytest.raises(AttributeError):
        Entry("a", "b", 0, "c").source = "d"
