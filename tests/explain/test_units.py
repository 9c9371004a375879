"""Hidden units: their selection and their pictures."""

import numpy as np
import pytest

from seqattn_tf.explain import draw_units, save_figure, units_like, units_varying
from seqattn_tf.explain.units import ACTIVATION, CELL, MARGIN, ROOM

STATES = np.tanh(np.random.default_rng(0).normal(size=[40, 6]) * [1, 0.1, 2, 0.5, 0, 1])
SIGNAL = np.random.default_rng(1).integers(0, 2, 40)


def tiles(figure):
    return figure.axes[0].patches


def test_the_units_that_go_with_a_signal_are_found_by_numpy_too():
    states = STATES.copy()
    states[:, 3] = np.where(SIGNAL, -0.8, 0.3) + 0.1 * STATES[:, 3]  # negatively correlated with the signal
    states[:, 4] = 0.25  # does not vary
    found = units_like(states, SIGNAL, count=6)
    for unit in (0, 1, 2, 3, 5):
        assert found[unit] == pytest.approx(np.corrcoef(states[:, unit], SIGNAL)[0, 1], abs=1e-6)
    assert found[4] == 0
    assert next(iter(found)) == 3
    assert found[3] < -0.9
    sizes = [abs(value) for value in found.values()]
    assert sizes == sorted(sizes, reverse=True)
    assert list(units_like(states, SIGNAL, count=2)) == list(found)[:2]


def test_any_signal_counts_whatever_its_scale():
    place = np.arange(40.0)
    one, other = units_like(STATES, place, 6), units_like(STATES, 7 - 3 * place, 6)
    assert {unit: -value for unit, value in other.items()} == pytest.approx(one)


def test_the_units_that_vary_most():
    found = units_varying(STATES, count=3)
    assert list(found) == np.argsort(-STATES.std(0))[:3].tolist()
    assert found[2] == pytest.approx(STATES[:, 2].std(), abs=1e-6)


def test_a_ground_for_every_symbol_of_every_unit():
    states = np.array([[-1.0, 0.0], [1.0, 0.5], [0.0, -0.5]])
    figure = draw_units("ab\n", states, [1, 0])
    colours = [patch.get_facecolor() for patch in tiles(figure)]
    expected = [0.0, 0.5, -0.5, -1.0, 1.0, 0.0]
    np.testing.assert_allclose(colours, [ACTIVATION((value + 1) / 2) for value in expected])
    heights = [patch.get_y() for patch in tiles(figure)]
    assert min(heights[:3]) > max(heights[3:])
    blue, red = ACTIVATION(0.0), ACTIVATION(1.0)
    assert blue[2] > blue[0]
    assert red[0] > red[2]


def test_letters_are_seen_on_every_ground():
    figure = draw_units("abcd", np.array([[-1.0], [0.0], [1.0], [0.3]]), [0])
    letters = {text.get_text(): text.get_color() for text in figure.axes[0].texts if len(text.get_text()) == 1}
    assert letters["a"] == letters["c"] == "white"
    assert letters["b"] == letters["d"] != "white"


def test_headings_say_which_unit_and_what_was_said_of_it():
    figure = draw_units("a", np.zeros([1, 9]), {7: "cost $5, r = +0.93", 2: ""}, title="t")
    assert {"unit 7: cost $5, r = +0.93", "unit 2", "a"} == {text.get_text() for text in figure.axes[0].texts}
    assert [text.get_text() for text in figure.texts] == ["t"]
    assert [text.get_text() for text in figure.axes[1].get_xticklabels()] == ["-1", "0", "1"]


def test_lines_break_where_the_text_does_and_where_the_page_ends(tmp_path):
    symbols = [*"a b\n\nc", *"x" * 100, "hello"]
    figure = draw_units(symbols, np.zeros([len(symbols), 1]), [0])
    places = [(round(patch.get_x() - MARGIN, 3), patch.get_y()) for patch in tiles(figure)]
    widths = [patch.get_width() for patch in tiles(figure)]
    assert [x for x, _ in places[:6]] == pytest.approx([0, CELL, 2 * CELL, 3 * CELL, 0, 0], abs=1e-3)
    lines = sorted({y for _, y in places}, reverse=True)
    assert [lines.index(y) for _, y in places[:6]] == [0, 0, 0, 0, 1, 2]
    assert len(lines) > 3
    assert max(x + width for (x, _), width in zip(places, widths, strict=True)) <= ROOM + 1e-9
    assert widths[0] == CELL < widths[-1]
    assert "\u21b5" in [text.get_text() for text in figure.axes[0].texts]
    assert "\u2423" not in [text.get_text() for text in figure.axes[0].texts]
    save_figure(figure, tmp_path / "a.png")


@pytest.mark.parametrize("count", [1, 3, 90])
def test_everything_stands_on_the_page(count):
    figure = draw_units("m" * count, np.zeros([count, 4]), range(4), title="a title " * 6)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for axes in figure.axes for text in axes.texts]
    boxes += [text.get_window_extent() for text in (*figure.texts, *figure.axes[1].get_xticklabels())]
    page = figure.bbox
    assert all(page.x0 <= b.x0 and b.x1 <= page.x1 and page.y0 <= b.y0 and b.y1 <= page.y1 for b in boxes)
    lowest = min(axes.transData.transform((0, patch.get_y()))[1] for axes in figure.axes[:1] for patch in axes.patches)
    assert figure.axes[1].bbox.y1 < lowest


def test_nothing_to_show():
    for figure in (draw_units("", np.zeros([0, 3]), [1]), draw_units("a", np.zeros([1, 3]), [])):
        assert "nothing to show" in [text.get_text() for text in figure.texts]


@pytest.mark.parametrize(
    ("states", "received"),
    [
        (np.zeros([3, 2]), r"shape \(3, 2\), from 0 to 0"),
        (np.zeros(2), r"shape \(2,\)"),
        ([[0.0], [1.5]], "from 0 to 1.5"),
        ([[0.0], [np.nan]], "nan"),
    ],
)
def test_states_that_do_not_fit_are_refused(states, received):
    expected = r"states: expected numbers from -1 to 1, \[2, units\]\. Received: "
    with pytest.raises(ValueError, match=rf"{expected}.*{received}"):
        draw_units("ab", states, [0])


def test_bad_choices_are_refused():
    with pytest.raises(ValueError, match=r"units: expected numbers from 0 to 5\. Received: 6"):
        draw_units("a" * 40, STATES, [0, 6])
    with pytest.raises(ValueError, match=r"count: expected a number from 1 to the 6 units\. Received: 7"):
        units_like(STATES, SIGNAL, 7)
    with pytest.raises(ValueError, match=r"count: expected a number from 1 to the 6 units\. Received: 0"):
        units_varying(STATES, 0)
    with pytest.raises(ValueError, match=r"states: expected finite numbers \[steps, units\]\. Received: shape \(3,\)"):
        units_varying([1.0, 2.0, 3.0], 1)
    for signal in (np.ones(40), np.arange(39.0), np.full(40, np.nan)):
        with pytest.raises(ValueError, match="signal: expected 40 finite numbers that are not all equal"):
            units_like(STATES, signal, 1)
