import numpy as np
import pytest

from seqattn_tf.explain.surprise import REDS, WIDTH, draw_running, draw_surprise


def tiles(figure):
    return figure.axes[0].patches


def test_the_more_surprising_the_darker():
    figure = draw_surprise(["a", "b", "c"], [0.0, 5.0, np.inf], given=1, title="a text with $ and {")
    first, second, third = (patch.get_facecolor() for patch in tiles(figure))
    assert first == REDS(0.0)
    assert third == REDS(1.0)
    assert sum(first) > sum(second) > sum(third)
    assert len(figure.axes[0].lines) == 1  # below the given part


def test_long_texts_wrap_and_line_breaks_break(tmp_path):
    symbols = [*"word " * 60, "\n", "x", "日本", "$"]
    figure = draw_surprise(symbols, np.ones(len(symbols)), title="long " * 60)
    ends = [patch.get_x() + patch.get_width() for patch in tiles(figure)]
    assert max(ends) <= WIDTH
    rows = [patch.get_y() for patch in tiles(figure)]
    assert len(set(rows)) > 3
    assert rows[-3] < rows[-4]
    figure.savefig(tmp_path / "a.png")


@pytest.mark.parametrize("bits", [[1.0], [1.0, -1.0], [1.0, np.nan]])
def test_wrong_numbers_are_refused(bits):
    with pytest.raises(ValueError, match="bits: expected 2 nonnegative numbers"):
        draw_surprise(["a", "b"], bits)
    with pytest.raises(ValueError, match="values: expected 3 finite numbers"):
        draw_running(["a", "b", "c"], [*bits, np.inf])


def test_nothing_to_show():
    for figure in (draw_surprise([], [], title="t"), draw_running([], [])):
        assert "nothing to show" in [text.get_text() for text in figure.texts]


def test_a_long_reading_names_some_symbols(tmp_path):
    figure = draw_running([str(i % 10) for i in range(100)], np.arange(100.0), title="100 numbers")
    assert len(figure.axes[0].get_xticklabels()) <= 25
    figure.savefig(tmp_path / "a.png")
