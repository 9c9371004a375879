"""Highlighted texts: words colored by weight, lines with bars, and omitted parts of a long text."""

import io
import itertools
import warnings

import numpy as np
import pytest

from seqattn_tf.explain import draw_highlight
from seqattn_tf.explain.highlight import MOST
from seqattn_tf.explain.sheet import BLUES, COLOURS

WORDS = ["so", "so", "\n", "very", "good", "!"]
WEIGHTS = [0.4, 0.6, 0, 0.1, 0.8, 0.1]


def texts(figure):
    inside = figure.axes[0].texts if figure.axes else []
    return [text.get_text() for text in [*figure.texts, *inside]]


def grounds(figure):
    """Return the colors of the words, in order."""
    tiles = [patch for patch in figure.axes[0].patches if patch.get_height() > 0.2]
    return [patch.get_facecolor()[:3] if patch.get_alpha() else (1.0, 1.0, 1.0) for patch in tiles]


def bars(figure):
    return [patch.get_width() for patch in figure.axes[0].patches if patch.get_height() < 0.2]


def test_the_larger_the_weight_the_darker():
    figure = draw_highlight(["a", "b", "c"], [0.0, 0.25, 0.5], title="positive")
    assert texts(figure)[:4] == ["positive", "a", "b", "c"]
    none, half, full = grounds(figure)
    assert none == (1.0, 1.0, 1.0)
    assert half == pytest.approx(BLUES(0.5)[:3])
    assert full == pytest.approx(BLUES(1.0)[:3])
    assert not bars(figure)


def test_a_line_break_begins_a_new_line():
    figure = draw_highlight(WORDS, WEIGHTS)
    height = {text.get_text(): text.get_position()[1] for text in figure.axes[0].texts}
    assert height["so"] > height["very"] == height["good"]
    assert "\u21b5" not in height


def test_lines_have_bars_and_words_count_as_much_as_their_line():
    figure = draw_highlight(WORDS, WEIGHTS, line_weights=[0.25, 0.75])
    first, second = bars(figure)
    assert first / second == pytest.approx(1 / 3)
    assert {"0.25", "0.75"} <= {*texts(figure)}
    assert figure.axes[0].patches[0].get_facecolor()[:3] == pytest.approx(
        [int(COLOURS[1][i : i + 2], 16) / 255 for i in (1, 3, 5)]
    )
    products = np.array([0.4 * 0.25, 0.6 * 0.25, 0.1 * 0.75, 0.8 * 0.75, 0.1 * 0.75])
    for ground, tone in zip(grounds(figure), products / products.max(), strict=True):
        assert ground == pytest.approx(BLUES(tone)[:3])


def test_of_a_long_text_the_heaviest_lines_are_shown_in_order():
    words = [word for number in range(100) for word in (f"line{number}", "\n")][:-1]
    lines = np.linspace(1, 2, 100)
    lines[3] = 9
    figure = draw_highlight(words, np.ones(len(words)), line_weights=lines / lines.sum())
    shown = [text for text in texts(figure) if text.startswith("line")]
    assert shown == ["line3", *(f"line{number}" for number in range(100 - MOST + 1, 100))]
    assert f"{MOST} of 100 lines: those with the largest weights" in texts(figure)
    assert texts(figure).count("⋯") == 2
    assert figure.get_size_inches()[1] < 20


def test_of_a_long_line_the_heaviest_rows_are_shown():
    weights = np.zeros(1500)
    weights[[7, 1490]] = 0.5
    figure = draw_highlight([f"w{number}" for number in range(1500)], weights)
    assert {"w7", "w1490", "⋯"} <= {*texts(figure)}
    assert "w900" not in texts(figure)
    assert figure.get_size_inches()[1] < 20


@pytest.mark.parametrize("lines", [1, 2, 7])
def test_words_are_on_the_page_and_apart(lines):
    words = [*(["extraordinarily", "a", "word", "."] * 12 + ["\n"]) * lines][:-1]
    figure = draw_highlight(words, np.ones(len(words)), line_weights=np.full(lines, 1 / lines), title="positive")
    figure.canvas.draw()
    found = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    page = figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in found)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(found, 2))


def test_no_weight_and_empty_lines_divide_nothing_by_zero():
    figure = draw_highlight(["\n", "a", "\n", "\n"], [0, 0, 0, 0], line_weights=[0, 0, 0, 0])
    assert grounds(figure) == [(1.0, 1.0, 1.0)]
    assert bars(figure) == [0, 0, 0, 0]
    draw_highlight(["\n"], [0]).canvas.draw()


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_odd_words_are_shown_not_interpreted(kind):
    words = ["$x^2$", "_{$", " ", "", "\x07", "東京", "مرحبا", "▁Haus", "x" * 99]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw_highlight(words, np.ones(9), title="cost $5")
        figure.savefig(io.BytesIO(), format=kind)
    assert {"$x^2$", "␣", "<0007>", "Haus", "x" * 23 + "…", "cost $5"} <= {*texts(figure)}


def test_inputs_are_not_changed():
    weights = np.array(WEIGHTS)
    draw_highlight(WORDS, weights, line_weights=[0.5, 0.5])
    np.testing.assert_array_equal(weights, WEIGHTS)


def test_nothing_to_show():
    assert texts(draw_highlight([], [], line_weights=[], title="t")) == ["t", "nothing to show"]


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], [[1.0, 1.0]]])
def test_wrong_weights_are_refused(weights):
    with pytest.raises(ValueError, match=r"^weights: expected 2 finite, nonnegative numbers\. Received: array"):
        draw_highlight(["a", "b"], weights)
    with pytest.raises(ValueError, match=r"line_weights: expected 2 finite, nonnegative numbers\. Received: array"):
        draw_highlight(["a", "\n", "b"], [1, 0, 1], line_weights=weights)
