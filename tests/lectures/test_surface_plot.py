"""The picture of an error surface: in 3D and from above, with paths that stay inside and paths that leave it."""

import numpy as np
import pytest

from seqattn_tf.explain import save_figure
from seqattn_tf.lectures import draw_surface
from seqattn_tf.lectures.surface_plot import cut, height

WEIGHTS, BIASES = np.linspace(-2, 2, 21), np.linspace(0, 1, 11)
ERRORS = BIASES[:, None] + WEIGHTS**2
BOX = np.array([[-2.0, 0.0], [2.0, 1.0]])
STAYS = np.array([[1.0, 0.5], [0.5, 0.4], [0.0, 0.3]])
LEAVES = np.array([[1.0, 0.5], [0.0, 0.5], [-4.0, 2.5], [0.0, 0.5]])


def ways(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def test_ways_end_where_they_leave():
    inside, leaves = cut(LEAVES, BOX)
    np.testing.assert_allclose(inside, [*LEAVES[:2], [-1.0, 1.0]])
    np.testing.assert_array_equal(leaves, LEAVES[2])
    inside, leaves = cut(STAYS, BOX)
    np.testing.assert_array_equal(inside, STAYS)
    assert leaves is None


@pytest.mark.parametrize("jump", [(5.0, 0.5), (-5.0, 0.5), (1.0, 9.0), (1.0, -9.0), (9.0, 9.0), (-9.0, -2.0)])
def test_every_edge_is_met(jump):
    inside, _ = cut(np.array([[1.0, 0.5], jump]), BOX)
    last = inside[-1]
    assert ((BOX[0] - 1e-9 <= last) & (last <= BOX[1] + 1e-9)).all()
    assert np.isclose(last, BOX).any()
    way, whole = last - [1.0, 0.5], np.array(jump) - [1.0, 0.5]
    np.testing.assert_allclose(way[0] * whole[1], way[1] * whole[0], atol=1e-9)  # on the same line


def test_heights_are_those_of_the_grid_and_linear_between():
    points = np.array([[w, b] for b in BIASES for w in WEIGHTS])
    np.testing.assert_allclose(height(points, WEIGHTS, BIASES, ERRORS), ERRORS.ravel())
    plane = 3 * WEIGHTS + 5 * BIASES[:, None] + 1
    between = np.random.default_rng(0).uniform(BOX[0], BOX[1], size=[50, 2])
    np.testing.assert_allclose(height(between, WEIGHTS, BIASES, plane), between @ [3, 5] + 1)


def test_both_pictures_show_both_ways(tmp_path):
    figure = draw_surface(WEIGHTS, BIASES, ERRORS, {"clipped": STAYS, "not clipped": LEAVES}, title="a cliff")
    heights, above = figure.axes
    assert heights.name == "3d"
    shown = ways(above)
    assert list(shown) == ["clipped", "not clipped"]
    np.testing.assert_allclose(shown["clipped"].get_xydata(), STAYS)
    np.testing.assert_allclose(shown["not clipped"].get_xydata()[-1], [-1.0, 1.0])
    assert (above.get_xlim(), above.get_ylim()) == ((-2, 2), (0, 1))
    assert shown["not clipped"].get_markevery() == [0, 1]  # the end at the border has no marker
    for line, way in zip(heights.get_lines(), (STAYS, [*LEAVES[:2], [-1.0, 1.0]]), strict=True):
        w, b, error = np.array(line.get_data_3d())
        np.testing.assert_allclose(np.stack([w, b], -1)[[0, -1]], np.array(way)[[0, -1]])
        above_surface = error - height(np.stack([w, b], -1), WEIGHTS, BIASES, ERRORS)
        assert ((above_surface > 0) & (above_surface < 0.2)).all()  # slightly above the surface
    assert (above.get_xlabel(), above.get_ylabel()) == ("recurrent weight w", "bias b")
    assert (heights.get_xlabel(), heights.get_ylabel(), heights.get_zlabel()) == ("w", "b", "error")
    assert [text.get_text() for text in above.get_legend().get_texts()] == ["clipped", "not clipped"]
    save_figure(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_what_leaves_says_where_to():
    figure = draw_surface(WEIGHTS, BIASES, ERRORS, {"stays": STAYS, "leaves": LEAVES})
    notes = [text.get_text() for text in figure.axes[1].texts if text.get_text()]
    assert sorted(notes) == ["start", "to w = -4, b = 2.5"]


@pytest.mark.parametrize("end", [(5.0, 0.5), (-5.0, 0.5), (0.0, 9.0), (0.0, -9.0)])
def test_the_note_stands_on_the_page(end):
    figure = draw_surface(WEIGHTS, BIASES, ERRORS, {"leaves": [[0.0, 0.5], end]})
    figure.canvas.draw()
    [note] = [text for text in figure.axes[1].texts if text.get_text().startswith("to w")]
    box, ground = note.get_window_extent(), figure.axes[1].bbox
    assert ground.x0 <= box.x0
    assert box.x1 <= ground.x1
    assert ground.y0 <= box.y0
    assert box.y1 <= ground.y1
    named = [figure.axes[0].zaxis.label, figure.axes[0].xaxis.label, figure.axes[0].yaxis.label]
    assert all(figure.bbox.contains(label.get_window_extent().x0, label.get_window_extent().y0) for label in named)


def test_names_are_no_markup():
    draw_surface(WEIGHTS, BIASES, ERRORS, {r"$\frac$": STAYS}, r"$\frac$").canvas.draw()


def test_a_surface_alone():
    figure = draw_surface(WEIGHTS, BIASES, np.zeros_like(ERRORS) + 0.5)
    assert figure.axes[1].get_legend() is None
    figure.canvas.draw()


def test_bad_arguments_are_refused():
    for name, given in (("weights", (WEIGHTS[::-1], BIASES)), ("biases", (WEIGHTS, [1.0])), ("biases", (WEIGHTS, 1.0))):
        with pytest.raises(ValueError, match=f"{name}: expected at least two finite numbers in increasing order"):
            draw_surface(*given, ERRORS)
    for errors in (ERRORS.T, ERRORS * np.nan):
        with pytest.raises(ValueError, match=r"errors: expected finite numbers \[11, 21\]\. Received: shape"):
            draw_surface(WEIGHTS, BIASES, errors)
    for path in (STAYS[:, :1], STAYS[:0], STAYS * np.nan, STAYS[0]):
        with pytest.raises(ValueError, match=r"paths\['bad'\]: expected finite numbers \[points, 2 or 3\]"):
            draw_surface(WEIGHTS, BIASES, ERRORS, {"bad": path})
    with pytest.raises(
        ValueError, match=r"paths\['bad'\]: expected a path that begins on the grid\. Received: \[7\.0, 0\.5\]"
    ):
        draw_surface(WEIGHTS, BIASES, ERRORS, {"bad": [[7.0, 0.5, 0.0], [1.0, 0.5, 0.0]]})
