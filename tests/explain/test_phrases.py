"""Labeled phrases: their tree, the positions of its nodes, and their colors."""

import io
import itertools
import warnings

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from seqattn_tf.explain import draw_phrases
from seqattn_tf.explain.phrases import LEAN, MEANING, SCALE, SIGNS, ink_on, nodes_of, places_of, signs_of

LABELS = ["very negative", "negative", "neutral", "positive", "very positive"]
NOT_BAD = ["The film is not bad", "The film", "The", "film", "is not bad", "is", "not bad", "not", "bad"]
SAID = [3, 2, 2, 2, 3, 2, 4, 1, 0]


def sure(said, labels=5, share=0.8):
    """Return label probabilities with most of the mass of each node on one label."""
    table = np.full([labels, len(said)], (1 - share) / (labels - 1))
    table[said, range(len(said))] = share
    return table


def below(tree):
    """Return the phrases below all nodes of a tree of nested pairs."""
    if isinstance(tree, str):
        return [tree]
    left, right = map(below, tree)
    return [f"{left[0]} {right[0]}", *left, *right]


def chain(words, right=True):
    """Return the phrases of a tree that branches to one side only."""
    tree = "w0"
    for number in range(1, words):
        tree = (f"w{number}", tree) if right else (tree, f"w{number}")
    return below(tree)


def texts(figure):
    inside = figure.axes[0].texts if figure.axes else []
    return [text.get_text() for text in [*figure.texts, *inside]]


def discs(figure, labels=5):
    """Return the circles of the nodes, in order; those of the legend follow after them."""
    found = [patch for patch in figure.axes[0].patches if type(patch).__name__ == "Circle"]
    return found[:-labels]


def place(figure, written):
    return [text.get_position() for text in figure.axes[0].texts if text.get_text() == written]


def lines(figure):
    return [patch.get_path().vertices for patch in figure.axes[0].patches if type(patch).__name__ == "PathPatch"]


def luminance(colour):
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


TREES = [NOT_BAD, chain(9), chain(9, right=False), below(((("a", "b"), "c"), (("d", "e"), ("f", "g")))), ["one"]]


@pytest.mark.parametrize("phrases", TREES)
def test_the_tree_is_that_of_the_phrases(phrases):
    words, nodes = phrases[0].split(" "), nodes_of(phrases)
    assert [" ".join(words[node.first : node.last + 1]) for node in nodes] == phrases
    for node in nodes:
        parts = [nodes[child] for child in node.children]
        assert [word for part in parts for word in range(part.first, part.last + 1)] in (
            [],
            [*range(node.first, node.last + 1)],
        )
        assert node.level == (1 + max(part.level for part in parts) if parts else 0)
        assert bool(parts) == (node.last > node.first)


@pytest.mark.parametrize(
    "phrases",
    [
        [],
        [""],
        ["a b"],  # no nodes for its words
        ["a b", "a", "c"],
        ["a b", "b", "a"],
        ["a b", "a b", "b"],  # a child with all words of its parent
        ["a  b", "a", " b"],  # a word without letters
        ["a b", "a", "b", "b"],
        ["a b c", "a", "b c", "b"],
        ["a b c", "a b", "c", "a", "b"],  # a parent after its right child
        ["a b c", "a", "b", "b c", "c"],
    ],
)
def test_what_is_no_tree_is_known(phrases):
    assert nodes_of(phrases) == []


def test_a_word_may_have_other_spaces_inside():
    """The treebank contains `2 1/2` with a non-breaking space."""
    assert len(nodes_of(["2\u00a01/2 hours", "2\u00a01/2", "hours"])) == 3


@pytest.mark.parametrize("phrases", TREES)
def test_parents_are_above_and_between_their_children(phrases):
    nodes = nodes_of(phrases)
    figure = draw_phrases(phrases, LABELS, sure([2] * len(phrases)))
    at = [disc.center for disc in discs(figure)]
    for node, (x, y) in zip(nodes, at, strict=True):
        if node.children:
            (left, low), (right, other) = (at[child] for child in node.children)
            assert x == pytest.approx((left + right) / 2)
            assert y > max(low, other)
            assert left < right
    leaves = [where for node, where in zip(nodes, at, strict=True) if not node.children]
    assert len({round(y, 6) for _, y in leaves}) == 1
    for word, (x, y) in zip(phrases[0].split(" "), leaves, strict=True):
        [(stands, baseline)] = place(figure, word)
        assert stands == pytest.approx(x)
        assert baseline < y
    ends = [(tuple(line[0]), tuple(line[-1])) for line in lines(figure)]
    assert ends == [(at[number], at[child]) for number, node in enumerate(nodes) for child in node.children]


@pytest.mark.parametrize("phrases", [*TREES, chain(84), chain(84, right=False)])
def test_nodes_do_not_touch(phrases):
    figure = draw_phrases(phrases, LABELS, sure([2] * len(phrases)))
    found = discs(figure)
    for one, other in itertools.combinations(found, 2):
        assert np.hypot(*np.subtract(one.center, other.center)) >= 2 * one.radius - 1e-6


def test_a_node_says_its_label_and_the_root_how_sure_it_is():
    figure = draw_phrases(NOT_BAD, LABELS, sure(SAID), title="a film")
    assert {"a film", *NOT_BAD[0].split(), *LABELS, "positive 0.80", MEANING} <= {*texts(figure)}
    for disc, label in zip(discs(figure), SAID, strict=True):
        assert disc.center in place(figure, SIGNS[LABELS[label]])
    [(x, y)] = place(figure, "positive 0.80")
    assert y > discs(figure)[0].center[1]
    assert x == pytest.approx(discs(figure)[0].center[0])


def test_colours_go_from_one_end_to_the_other():
    figure = draw_phrases(NOT_BAD, LABELS, sure(SAID, share=1.0))
    colours = {label: disc.get_facecolor() for label, disc in zip(SAID, discs(figure), strict=True)}
    assert colours[0] == pytest.approx(SCALE(0.0))
    assert colours[4] == pytest.approx(SCALE(1.0))
    assert colours[2] == pytest.approx(SCALE(0.5))
    red, _, blue, _ = zip(colours[0], colours[4], strict=True)
    assert red[0] > red[1]
    assert blue[0] < blue[1]
    assert max(colours[2][:3]) - min(colours[2][:3]) < 0.05  # gray, neither red nor blue
    legend = [patch for patch in figure.axes[0].patches if type(patch).__name__ == "Circle"][-5:]
    assert [patch.get_facecolor() for patch in legend] == [pytest.approx(SCALE(part / 4)) for part in range(5)]


def test_a_colour_is_the_mean_of_all_labels():
    shares = np.array([[0.5, 0.1, 0, 0], [0, 0.2, 1, 0], [0.5, 0.7, 0, 0]])
    np.testing.assert_allclose(places_of(shares), [0.5, 0.8, 0.5, 0.5])
    np.testing.assert_allclose(places_of(np.array([[0.25, 0.2], [0.75, 0.6]])), 0.75)  # relative to the total


def test_both_ends_are_as_dark_and_every_sign_can_be_read():
    assert luminance(SCALE(0.0)) == pytest.approx(luminance(SCALE(1.0)), abs=0.02)
    for tone in np.linspace(0, 1, 101):
        dark, light = sorted([luminance(SCALE(tone)), luminance(ink_on(SCALE(tone)))])
        assert (light + 0.05) / (dark + 0.05) >= 4.5, tone


@pytest.mark.parametrize(
    ("labels", "signs"),
    [
        (LABELS, ["\u2212\u2212", "\u2212", "0", "+", "++"]),
        (["negative", "positive"], ["\u2212", "+"]),
        (["1", "2", "10"], ["1", "2", "10"]),
        (["World", "Sport", "Business"], ["W", "S", "B"]),
        (["good film", "bad film"], ["gf", "bf"]),
        (["sport", "science"], ["1", "2"]),
        (["negative", "nothing"], ["1", "2"]),
        (["\ud800", "x y z"], ["1", "2"]),
    ],
)
def test_signs_are_short_and_differ(labels, signs):
    assert signs_of(labels) == signs


@pytest.mark.parametrize(
    "phrases",
    [["one"], ["I am", "I", "am"], NOT_BAD, below((("extraordinarily", "a"), ("I", ("incomprehensible", "."))))],
)
def test_texts_are_on_the_page_and_apart(phrases):
    for labels in (LABELS, ["no", "yes"], [f"a long label {number}" for number in range(12)]):
        figure = draw_phrases(phrases, labels, sure([1] * len(phrases), len(labels)), title="a title " * 6)
        figure.canvas.draw()
        found = [text.get_window_extent() for text in [*figure.texts, *figure.axes[0].texts]]
        page = figure.bbox
        assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in found)
        assert not any(one.overlaps(other) for one, other in itertools.combinations(found, 2))


@pytest.mark.parametrize("right", [True, False])
def test_words_of_long_sentences_lean_and_stay_large(right):
    phrases = [phrase.replace("w83", "incomprehensibility") for phrase in chain(84, right)]
    figure = draw_phrases(phrases, LABELS, sure([0] * 167))
    words = [text for text in figure.axes[0].texts if text.get_rotation() == LEAN]
    assert len(words) == 84
    assert words[0].get_fontsize() > 9
    assert max(figure.get_size_inches()) < 24
    figure.canvas.draw()
    found, page = [text.get_window_extent() for text in figure.axes[0].texts], figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in found)
    apart = words[1].get_position()[0] - words[0].get_position()[0]
    assert apart * np.sin(np.radians(LEAN)) * 72 > words[0].get_fontsize()
    assert not any(text.get_rotation() for text in draw_phrases(NOT_BAD, LABELS, sure(SAID)).axes[0].texts)


def test_signs_that_would_be_too_small_are_left_out():
    figure = draw_phrases(chain(400), LABELS, sure([2] * 799))
    assert texts(figure).count("0") == 1  # only the one in the legend
    assert figure.get_size_inches()[0] < 65


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_odd_words_and_labels_are_shown_not_interpreted(kind):
    phrases = below((("$x^2$", "_{$"), ("\u6771\u4eac", ("\ud800", ("\u0645\u0631\u062d\u0628\u0627", "\x07")))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw_phrases(phrases, ["$_", "\n", "x" * 99], sure([0] * 11, 3), title="cost $5")
        figure.savefig(io.BytesIO(), format=kind)
    assert {"$x^2$", "_{$", "<D800>", "<0007>", "$_", "\u21b5", "x" * 23 + "\u2026"} <= {*texts(figure)}


def test_nothing_to_show():
    assert texts(draw_phrases([], LABELS, np.zeros([5, 0]), title="t")) == ["t", "nothing to show"]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"phrases: expected the children of each node.*Received: \['a b', 'b', 'a'\]"):
        draw_phrases(["a b", "b", "a"], LABELS, sure([0, 0, 0]))
    with pytest.raises(ValueError, match=r"labels: expected at least two\. Received: \['x'\]"):
        draw_phrases(["a"], ["x"], np.ones([1, 1]))
    for shares in (np.zeros(3), np.zeros((3, 2)), np.full((2, 3), np.nan), np.full((2, 3), 1.2), -np.ones((2, 3))):
        with pytest.raises(
            ValueError, match=r"shares: expected \[label, node\] = \(2, 3\), from 0 to 1\. Received: shape"
        ):
            draw_phrases(["a b", "a", "b"], ["no", "yes"], shares)
