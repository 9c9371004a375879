"""Dependency trees: arcs above the words, and other probable arcs below them."""

import io
import itertools
import warnings

import numpy as np
import pytest

from seqattn_tf.explain import draw_tree
from seqattn_tf.explain.tree import Arc, levels_of

WORDS = ["the", "dog", "saw", "the", "cat"]
HEADS = [2, 3, 0, 5, 3]
RELATIONS = ["det", "nsubj", "root", "det", "obj"]
SURE = np.array([[float(head == number) for number in range(1, 6)] for head in HEADS])


def texts(figure):
    inside = figure.axes[0].texts if figure.axes else []
    return [text.get_text() for text in [*figure.texts, *inside]]


def place(figure, written):
    return [text.get_position() for text in figure.axes[0].texts if text.get_text() == written]


def arcs(figure):
    return [patch for patch in figure.axes[0].patches if type(patch).__name__ == "PathPatch"]


def far(words):
    """Return the heads of a chain in which each word depends on the next one."""
    return [*range(2, words + 1), 0]


def test_relations_stand_between_their_words():
    figure = draw_tree(WORDS, HEADS, RELATIONS, title="a dog")
    assert {"a dog", *WORDS, *RELATIONS} == {*texts(figure)}
    [dog], [saw], [cat] = (place(figure, word) for word in ("dog", "saw", "cat"))
    [nsubj], [obj], [root] = (place(figure, relation) for relation in ("nsubj", "obj", "root"))
    assert dog[0] < nsubj[0] < saw[0] < obj[0] < cat[0]
    assert root[0] == pytest.approx(saw[0], abs=0.1)
    assert root[1] > obj[1] > nsubj[1] > saw[1]
    assert len(arcs(figure)) == 5


def test_an_arc_is_above_all_that_it_meets():
    heads = [3, 4, 0, 3, 1]  # includes crossing arcs
    levels = levels_of([Arc(head - 1, word, "") for word, head in enumerate(heads)])
    for one, other in itertools.combinations(levels, 2):
        (left, right), (start, end) = one.span, other.span
        if left < end and start < right:
            assert levels[one] != levels[other]
    assert levels[Arc(0, 4, "")] == max(level for arc, level in levels.items() if arc.head >= 0)


def test_arcs_that_meet_at_a_word_alone_share_a_level():
    assert set(levels_of([Arc(0, 1, ""), Arc(1, 2, ""), Arc(4, 2, "")]).values()) == {1}


def test_probable_arcs_are_below_and_darker():
    marginals = SURE.copy()
    marginals[4] = [0, 0.3, 0.6, 0.04, 0]  # and 0.06 for the root
    figure = draw_tree(WORDS, HEADS, RELATIONS, marginals)
    assert {"0.30", "0.60", "root 0.06", "root"} <= {*texts(figure)}
    assert "0.04" not in texts(figure)
    assert place(figure, "0.60")[0][1] < place(figure, "cat")[0][1] < place(figure, "obj")[0][1]
    below = arcs(figure)[5:]  # in the order of their probabilities
    tones = [sum(arc.get_edgecolor()[:3]) for arc in below]
    assert tones == sorted(tones, reverse=True)
    assert len(below) == 7
    assert "below: arcs with a probability of at least 0.05" in texts(figure)


def test_what_has_no_relation_or_no_head():
    assert {*texts(draw_tree(WORDS, HEADS))} == {*WORDS, "root"}
    assert len(arcs(draw_tree(WORDS, [2, 3, 0, -1, 3], RELATIONS))) == 4


@pytest.mark.parametrize("words", [1, 2, 20, 60])
def test_texts_are_on_the_page_and_apart(words):
    relations = ["compound:prt"] * (words - 1) + ["root"]
    marginals = np.diag(np.full(words - 1, 0.7), 1) if words > 1 else np.zeros((1, 1))
    figure = draw_tree(["word", "a", "I"] * 20 if words == 60 else ["word"] * words, far(words), relations, marginals)
    figure.canvas.draw()
    found = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    page = figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in found)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(found, 2))


def test_a_label_at_a_narrow_last_word_is_on_the_page():
    marginals = np.full([5, 5], 0.15)
    np.fill_diagonal(marginals, 0)
    figure = draw_tree(["somebody", "carried", "everything", "away", "."], [2, 0, 2, 2, 2], (), marginals)
    figure.canvas.draw()
    ends = [text.get_window_extent().x1 for text in figure.axes[0].texts if text.get_text() == "root 0.40"]
    assert len(ends) == 5
    assert max(ends) <= figure.bbox.x1


def test_long_sentences_shrink():
    short, long = (draw_tree(["word"] * words, far(words)) for words in (5, 60))
    assert long.axes[0].texts[0].get_fontsize() < short.axes[0].texts[0].get_fontsize()
    assert long.get_size_inches()[0] < 24
    draw_tree(["word"] * 300, far(300), ["obj"] * 300, np.zeros((300, 300)))


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_odd_words_are_shown_not_interpreted(kind):
    words = ["$x^2$", "_{$", "\n", " ", "", "\ud800", "東京", "مرحبا"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw_tree(words, [0, 1, 1, 1, 1, 1, 1, 1], ["$_", "", *"abcdef"], np.zeros((8, 8)), title="$5")
        figure.savefig(io.BytesIO(), format=kind)
    assert {"$x^2$", "$_", "␣", "↵", "<D800>"} <= {*texts(figure)}


def test_nothing_to_show():
    assert texts(draw_tree([], [], [], np.zeros((0, 0)), title="t")) == ["t", "nothing to show"]


def test_what_is_no_tree_is_refused():
    for heads in ([0], [0, 3], [0, -2], [0, 2]):
        with pytest.raises(ValueError, match=r"heads: expected 2 numbers from -1 to 2.*Received: \["):
            draw_tree(["a", "b"], heads)
    with pytest.raises(ValueError, match=r"relations: expected 2, one for each word, or None\. Received: 1"):
        draw_tree(["a", "b"], [0, 1], ["x"])
    for marginals in (np.zeros(2), np.zeros((2, 3)), np.full((2, 2), np.nan), np.full((2, 2), 1.2), -np.eye(2)):
        with pytest.raises(ValueError, match=r"marginals: expected \[word, head\] = \(2, 2\), from 0 to 1\. Received"):
            draw_tree(["a", "b"], [0, 1], marginals=marginals)


def test_the_kind_of_tree_is_written_below_and_fits_the_page():
    figure = draw_tree(["a", "b"], [0, 1], kind="the tree with the most arcs expected to be right")
    assert "above: the tree with the most arcs expected to be right" in texts(figure)
    assert texts(draw_tree(["a", "b"], [0, 1])) == texts(draw_tree(["a", "b"], [0, 1], kind=None))
    for note in figure.findobj(lambda artist: getattr(artist, "get_text", str)().startswith("above")):
        assert note.get_window_extent().x1 <= figure.bbox.x1
