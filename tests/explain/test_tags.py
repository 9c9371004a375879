"""Tagged texts: words with tags, segments with labels, colors, and uncertain tags."""

import io
import itertools
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from seqattn_tf.explain import draw_tags
from seqattn_tf.explain.tags import MOST, TONES, colour_of, segments_of

UPOS = [
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
]
CHUNKS = ["NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ", "LST", "UCP"]
NAMES = ["PER", "LOC", "ORG", "MISC"]


def texts(figure):
    inside = figure.axes[0].texts if figure.axes else []
    return [text.get_text() for text in [*figure.texts, *inside]]


def boxes(figure):
    return figure.axes[0].patches if figure.axes else []


def find(figure, written):
    [text] = [text for text in figure.axes[0].texts if text.get_text() == written]
    return text


def extents(figure):
    figure.canvas.draw()
    return [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]


def test_a_tag_stands_below_its_word():
    figure = draw_tags(["the", "dog", "barks", "."], ["DET", "NOUN", "VERB", "PUNCT"], title="a dog")
    assert "a dog" in texts(figure)
    for word, tag in (("the", "DET"), ("dog", "NOUN"), ("barks", "VERB"), (".", "PUNCT")):
        above, below = find(figure, word).get_position(), find(figure, tag).get_position()
        assert above[0] == pytest.approx(below[0])
        assert above[1] > below[1]
    assert len(boxes(figure)) == 3  # punctuation has no box


def test_segments_are_one_box_with_one_label():
    tags = ["B-NP", "I-NP", "B-NP", "O", "B-VP"]
    figure = draw_tags(["the", "old", "dogs", ",", "bark"], tags, np.ones(5))
    assert texts(figure) == ["NP", "the", "old", "NP", "dogs", "", ",", "VP", "bark"]
    first, second, third = boxes(figure)
    assert first.get_width() > second.get_width()
    assert first.get_facecolor() == second.get_facecolor() != third.get_facecolor()


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("B-NP I-NP I-NP", [(0, 2, "NP")]),
        ("I-NP I-NP O I-VP", [(0, 1, "NP"), (2, 2, "O"), (3, 3, "VP")]),
        ("B-NP I-VP", [(0, 0, "NP"), (1, 1, "VP")]),
        ("B-NP E-NP E-NP S-VP I-VP", [(0, 1, "NP"), (2, 2, "NP"), (3, 3, "VP"), (4, 4, "VP")]),
        ("B-NP _ I-NP", [(0, 0, "NP"), (1, 1, "_"), (2, 2, "NP")]),
        ("B-NP NOUN", [(0, 0, "B-NP"), (1, 1, "NOUN")]),
        ("O O", [(0, 0, "O"), (1, 1, "O")]),
        ("", []),
    ],
)
def test_segments_of_tags(tags, found):
    tags = tags.split()
    assert [segment[:3] for segment in segments_of(tags, [1.0] * len(tags))] == found


def test_a_segment_is_as_sure_as_its_least_sure_tag():
    figure = draw_tags(["the", "dog", "barks"], ["B-NP", "I-NP", "B-VP"], [0.99, 0.4, 0.95])
    assert {"NP 0.40", "VP", "paler: less certain (with probability)"} <= {*texts(figure)}
    pale, strong = boxes(figure)
    assert pale.get_alpha() < strong.get_alpha()


def test_an_unsure_outside_is_told():
    assert "O 0.50" in texts(draw_tags(["a", "b"], ["O", "B-X"], [0.5, 1]))
    assert "O" not in texts(draw_tags(["a", "b"], ["O", "B-X"]))


@pytest.mark.parametrize("labels", [UPOS, CHUNKS, NAMES])
def test_colours_differ_and_can_be_read(labels):
    colours = [colour_of(label) for label in labels]
    assert len({*colours}) == len(labels)
    for colour in [*TONES, colour_of("PUNCT"), colour_of("a tag of somebody else")]:
        channels = np.array(to_rgb(colour))
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        assert 1.05 / (linear @ [0.2126, 0.7152, 0.0722] + 0.05) >= 4.5, colour


def test_the_page_has_the_same_tones():
    page = Path(__file__).parents[2] / "serving" / "front" / "page" / "views" / "tones.js"
    listed = page.read_text().split("const TONES = [")[1].split("]")[0]
    assert re.findall('"(.*?)"', listed) == list(TONES.values())


@pytest.mark.parametrize("count", [1, 12, 300])
def test_texts_are_on_the_page_and_apart(count):
    words = ["word", "a", "extraordinarily", "I", "."] * count
    tags = ["NOUN", "CCONJ", "ADV", "SCONJ", "PUNCT"] * count
    figure = draw_tags(words[:count], tags[:count], np.linspace(0, 1, count), title="a title " * 6)
    found, page = extents(figure), figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in found)
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(found))
    assert not any(figure.texts[-1].get_window_extent().overlaps(box) for box in found[:20])


def test_a_segment_longer_than_a_line_goes_on():
    figure = draw_tags(["word"] * 40, ["B-NP", *["I-NP"] * 39])
    labels = [text for text in texts(figure) if "NP" in text]
    assert labels[0] == "NP …"
    assert labels[-1] == "… NP"
    assert {*labels[1:-1]} <= {"… NP …"}
    assert len(boxes(figure)) == len(labels) > 2
    assert texts(figure).count("word") == 40


def test_a_very_long_text_is_cut():
    figure = draw_tags(["x"] * (MOST + 23), ["X"] * (MOST + 23))
    assert texts(figure).count("x") == MOST
    assert "… and 23 more words" in texts(figure)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_odd_words_are_shown_not_interpreted(kind):
    words = ["$x^2$", "_{$", "a\nb", " ", "", "\x07", "\ud800", "東京", "مرحبا", "▁Haus", "x" * 99]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw_tags(words, [*"A$B_C{DEFGH"], title="cost $5")
        figure.savefig(io.BytesIO(), format=kind)
    assert {"$x^2$", "a↵b", "␣", "<0007>", "<D800>", "Haus", "x" * 23 + "…"} <= {*texts(figure)}


def test_nothing_to_show():
    assert texts(draw_tags([], [], [], title="t")) == ["t", "nothing to show"]


def test_wrong_lengths_and_shares_are_refused():
    with pytest.raises(ValueError, match=r"tags: expected 2, one for each word\. Received: 1"):
        draw_tags(["a", "b"], ["X"])
    for shares in ([0.5], [0.5, 1.5], [0.5, -0.1], [0.5, np.nan], [[0.5, 0.5]]):
        with pytest.raises(ValueError, match=r"shares: expected 2 numbers from 0 to 1\. Received: array"):
            draw_tags(["a", "b"], ["X", "Y"], shares)
