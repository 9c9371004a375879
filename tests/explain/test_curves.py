import numpy as np
import pytest

from seqattn_tf.explain import draw_lengths, save_figure

ATTENTION = [("1-10", 80, 31.2), ("11-20", 20, 30.5), ("over 20", 3, 28.0)]


def test_a_line_for_each_model_over_the_same_groups(tmp_path):
    figure = draw_lengths({"with $a_t$": ATTENTION, "none": [ATTENTION[0], ("over 20", 3, 9.0)]}, "BLEU", title="all")
    axes = figure.axes[0]
    assert [line.get_label() for line in axes.lines] == ["with $a_t$", "none"]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [31.2, 30.5, 28.0])
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), [31.2, np.nan, 9.0])
    ticks = [tick.get_text() for tick in axes.get_xticklabels()]
    assert [tick.split("\n") for tick in ticks] == [["1-10", "n = 80"], ["11-20", "n = 20"], ["over 20", "n = 3"]]
    assert axes.get_ylabel() == "BLEU"
    save_figure(figure, tmp_path / "lengths.png")
    assert (tmp_path / "lengths.png").stat().st_size > 1000


def test_groups_that_the_longest_lacks_are_appended():
    figure = draw_lengths({"a": ATTENTION[:2], "b": [("over 20", 3, 1.0)]})
    assert [line.get_xdata().tolist() for line in figure.axes[0].lines] == [[0, 1, 2]] * 2


@pytest.mark.parametrize("groups", [{}, {"empty": []}])
def test_nothing_to_draw_is_refused(groups):
    with pytest.raises(ValueError, match=r"groups: expected at least one with values\. Received: none"):
        draw_lengths(groups)


@pytest.mark.parametrize("value", [100.0, 1.0, 0.003, 0.0])
def test_a_point_at_the_top_is_seen_whole(value):
    figure = draw_lengths({"all": [("1-5", 9, value), ("6-10", 9, 0.998 * value)]})
    axes = figure.axes[0]
    figure.canvas.draw()
    radius = axes.lines[0].get_markersize() / 2 * figure.dpi / 72
    top = axes.transData.transform([(0, value)])[0][1]
    assert top + radius < axes.bbox.y1
