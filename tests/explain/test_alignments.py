"""Several maps side by side: one scale, common labels, and enough space for all."""

import itertools

import numpy as np
import pytest

from seqattn_tf.explain import draw_alignments, save_figure
from seqattn_tf.explain.alignment import plan_map
from seqattn_tf.explain.alignments import SIDE

NAMES = ("softmax", "sigmoid", "structured", "true")


def maps_of(target, source, names=NAMES):
    rng = np.random.default_rng(0)
    return {name: rng.uniform(size=(target, source)) for name in names}


def drawn(target, source, names=NAMES, **options):
    figure = draw_alignments(maps_of(target, source, names), ["s"] * source, ["AH0"] * target, **options)
    figure.canvas.draw()
    return figure


def corner(axes):
    box = axes.get_position()
    return round(box.x0, 6), round(box.y0, 6)


def test_the_same_colour_is_the_same_weight_in_every_map():
    maps = {"faint": [[0.1, 0.3]], "strong": [[0.3, 0.62]], "true": [[0.0, 0.3]]}
    *panels, bar = draw_alignments(maps, "ab", "x").axes
    assert [text.get_text() for text in bar.get_yticklabels()] == ["0", "0.7"]
    meshes = [axes.collections[0] for axes in panels]
    assert {(mesh.norm.vmin, mesh.norm.vmax) for mesh in meshes} == {(0, 0.7)}
    colours = [mesh.to_rgba(0.3) for mesh in meshes]
    assert colours[0] == colours[1] == colours[2]


def test_every_map_stands_under_its_heading_in_the_order_given():
    figure = drawn(3, 4)
    maps, panels = maps_of(3, 4), figure.axes[:-1]
    headings = {text.get_text(): text.get_window_extent() for text in figure.texts}
    assert list(headings) == list(NAMES)
    for name, axes in zip(NAMES, panels, strict=True):
        np.testing.assert_allclose(np.asarray(axes.collections[0].get_array()).reshape(3, 4), maps[name])
        assert axes.yaxis_inverted()
        assert headings[name].x0 == pytest.approx(axes.bbox.x0, abs=3)
        assert headings[name].y0 > axes.bbox.y1
    assert [axes.bbox.x0 for axes in panels] == sorted(axes.bbox.x0 for axes in panels)


def test_rows_are_named_once_columns_above_every_map():
    figure = draw_alignments(maps_of(2, 3), "abc", ["x", "y"])
    rows = [[text.get_text() for text in axes.get_yticklabels()] for axes in figure.axes[:-1]]
    columns = [[text.get_text() for text in axes.get_xticklabels()] for axes in figure.axes[:-1]]
    assert rows == [["x", "y"], [], [], []]
    assert columns == [["a", "b", "c"]] * 4


def test_tiles_are_squares_of_one_size():
    figure = drawn(5, 20)
    sizes = {(round(axes.bbox.width / 20, 3), round(axes.bbox.height / 5, 3)) for axes in figure.axes[:-1]}
    [(width, height)] = sizes
    assert width == pytest.approx(height, rel=1e-3)
    assert width == pytest.approx(figure.dpi * plan_map("s" * 20, "t" * 5, SIDE).tile, rel=1e-3)


@pytest.mark.parametrize(("source", "rows"), [(4, 1), (16, 2), (40, 4)])
def test_as_many_in_a_row_as_have_room(source, rows):
    figure = drawn(4, source)
    assert len({corner(axes)[1] for axes in figure.axes[:-1]}) == rows
    assert figure.get_size_inches()[0] < 14
    named = [len(axes.get_yticklabels()) for axes in figure.axes[:-1]]
    assert named == {1: [4, 0, 0, 0], 2: [4, 0, 4, 0], 4: [4] * 4}[rows]


LONG = "a symbol of many letters"


@pytest.mark.parametrize(
    ("target", "source", "symbol"),
    [(1, 1, "s"), (1, 1, LONG), (3, 6, "source"), (3, 6, LONG), (12, 12, "source"), (4, 24, LONG), (30, 2, "source")],
)
def test_nothing_is_cut_and_nothing_overlaps(target, source, symbol):
    names = ("a heading wider than a map of one", *NAMES)
    figure = draw_alignments(maps_of(target, source, names), [symbol] * source, ["AH0"] * target, title="title " * 9)
    figure.canvas.draw()
    page, panels = figure.bbox, figure.axes[:-1]
    boxes = [text.get_window_extent() for axes in panels for text in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    written = [text.get_window_extent() for text in figure.texts]
    everything = [*boxes, *written, *(axes.get_window_extent() for axes in figure.axes)]
    assert all(page.x0 <= b.x0 and b.x1 <= page.x1 and page.y0 <= b.y0 and b.y1 <= page.y1 for b in everything)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(written, 2))
    assert not any(one.overlaps(other) for one in written for other in boxes)
    grounds = [axes.get_window_extent() for axes in figure.axes]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(grounds, 2))


def test_weights_are_printed_in_small_maps_only():
    assert [text.get_text() for text in drawn(1, 1, ("a",)).axes[0].texts] == ["0.64"]
    assert not drawn(2, 13).axes[0].texts


def test_one_map_alone_and_a_file(tmp_path):
    save_figure(draw_alignments({"$x^2$": [[1.0]]}, "a", "b"), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


@pytest.mark.parametrize(("source", "target"), [("", "x"), ("a", "")])
def test_nothing_to_show(source, target):
    figure = draw_alignments({"a": np.zeros([len(target), len(source)])}, source, target, title="t")
    assert [text.get_text() for text in figure.texts] == ["t", "nothing to show"]


def test_a_bad_map_is_named():
    good = np.ones([1, 2])
    with pytest.raises(ValueError, match=r"maps: expected at least one\. Received: none"):
        draw_alignments({}, "ab", "x")
    for bad, received in ((good.T, r"shape \(2, 1\)"), (-good, r"-1 at \[0, 0\]"), (good * np.nan, "nan at")):
        expected = r"maps\['bad'\]: expected weights of shape \[target, source\] = \(1, 2\).*Received: "
        with pytest.raises(ValueError, match=expected + received):
            draw_alignments({"good": good, "bad": bad}, "ab", "x")


def test_maps_side_by_side_have_smaller_tiles():
    assert plan_map("a" * 10, "x", SIDE).tile < plan_map("a" * 10, "x").tile == 0.5
