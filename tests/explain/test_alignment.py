import io
import itertools
import threading
import warnings

import numpy as np
import pytest

from seqattn_tf.explain import draw_alignment, save_figure


def written(figure):
    """Return all visible texts of the figure."""
    inside = [[*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()] for axes in figure.axes]
    return [*figure.texts, *itertools.chain(*inside)]


def texts(figure):
    return [text.get_text() for text in written(figure)]


def names(figure):
    axes = figure.axes[0]
    return [t.get_text() for t in axes.get_xticklabels()], [t.get_text() for t in axes.get_yticklabels()]


def drawn(figure):
    """Return the pixels: [height, width, 4]."""
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


def uniform(target, source):
    return np.full((target, source), 1 / source)


def test_symbols_stand_at_their_rows_and_columns():
    figure = draw_alignment(uniform(3, 2), ["h", "i"], ["HH", "AY1", "END"], title="hi")
    assert names(figure) == (["h", "i"], ["HH", "AY1", "END"])
    assert "hi" in texts(figure)


def test_first_target_row_is_on_top_and_larger_is_darker():
    figure = draw_alignment([[1, 0], [0, 0]], "ab", "xy")
    axes, pixels = figure.axes[0], drawn(figure)
    height = pixels.shape[0]
    (_, first), (_, second) = axes.transData.transform([(0, 0), (0, 1)])
    assert first > second

    def brightness(column, row):
        x, y = axes.transData.transform((column + 0.2, row + 0.2))
        return pixels[int(height - y), int(x), :3].astype(int).sum()

    assert brightness(0, 0) < 300 < 600 < brightness(1, 0)
    assert brightness(1, 1) == brightness(0, 1) == brightness(1, 0)


@pytest.mark.parametrize("target", [1, 12, 13, 40])
@pytest.mark.parametrize("source", [1, 12, 40])
def test_labels_are_whole_and_apart(target, source):
    figure = draw_alignment(uniform(target, source), ["source"] * source, ["AH0"] * target, title="a title " * 8)
    drawn(figure)
    page, axes = figure.bbox, figure.axes[0]
    rows = [text.get_window_extent() for text in axes.get_yticklabels()]
    boxes = [*rows, *(text.get_window_extent() for text in [*axes.get_xticklabels(), *figure.texts])]
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in boxes)
    assert not any(above.overlaps(below) for above, below in itertools.pairwise(rows))
    assert not any(
        title.get_window_extent().overlaps(box) for title in figure.texts for box in boxes[: -len(figure.texts)]
    )
    assert len(rows) == target


def test_very_long_maps_stay_bounded_and_name_every_nth_symbol():
    figure = draw_alignment(uniform(300, 500), [str(i) for i in range(500)], [str(i) for i in range(300)])
    assert max(figure.get_size_inches()) < 16
    columns, _ = names(figure)
    step = int(columns[1])
    assert step > 1
    assert columns == [str(i) for i in range(0, 500, step)]


def test_weights_are_printed_in_small_maps_from_five_percent_on():
    assert sum(text == "0.95" for text in texts(draw_alignment([[0.95, 0.049], [0.05, 0.95]], "ab", "xy"))) == 2
    assert "0.05" in texts(draw_alignment([[0.05]], "a", "x"))
    assert draw_alignment([[0.95, 0.049]], "ab", "x").axes[0].texts[0].get_text() == "0.95"
    assert len(draw_alignment(uniform(12, 12), "a" * 12, "b" * 12).axes[0].texts) == 144
    assert not draw_alignment(uniform(13, 12), "a" * 12, "b" * 13).axes[0].texts


@pytest.mark.parametrize(
    ("largest", "top"), [(0, "1"), (0.004, "0.1"), (0.31, "0.4"), (0.3, "0.3"), (1, "1"), (2.5, "2.5")]
)
def test_scale_ends_at_the_largest_weight_rounded_up(largest, top):
    bar = draw_alignment([[0, largest]], "ab", "x").axes[1]
    assert [text.get_text() for text in bar.get_yticklabels()] == ["0", top]


@pytest.mark.parametrize(("source", "target"), [([], ["x"]), (["a"], []), ([], []), ("", "")])
def test_nothing_to_show(source, target):
    figure = draw_alignment(np.zeros((len(target), len(source))), source, target, title="empty")
    assert texts(figure) == ["empty", "nothing to show"]
    drawn(figure)


@pytest.mark.parametrize(
    ("weights", "received"),
    [
        (np.zeros((2, 3)), r"shape \(2, 3\)"),
        (np.zeros(6), r"shape \(6,\)"),
        (np.zeros((1, 3, 2)), r"shape \(1, 3, 2\)"),
        ([[1, 2], [3]], "list"),
        ([["a", "b"]] * 3, "list"),
        ([[0, 1], [np.nan, 0], [0, 0]], r"nan at \[1, 0\]"),
        ([[0, 1], [0, 0], [0, np.inf]], r"inf at \[2, 1\]"),
        ([[0, 1], [-0.5, 0], [0, 0]], r"-0\.5 at \[1, 0\]"),
    ],
)
def test_bad_weights_say_expected_and_received(weights, received):
    with pytest.raises(ValueError, match=rf"(?s)\[target, source\] = \(3, 2\).*Received: .*{received}"):
        draw_alignment(weights, ["a", "b"], ["x", "y", "z"])


ODD = {
    "$x^2$": "$x^2$",
    r"$\frac$": r"$\frac$",
    "_{$": "_{$",
    "a\nb": "a↵b",
    "\t": "⇥",
    "  ": "␣␣",
    "new york": "new york",
    "": "",
    "\x07": "<0007>",
    "\ud800": "<D800>",
    "\ue123": "<E123>",
    "x" * 50: "x" * 23 + "…",
}


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_odd_symbols_are_shown_not_interpreted(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns about missing glyphs
        figure = draw_alignment(np.eye(len(ODD)), list(ODD), list(ODD), title="cost $5\n_{$")
        figure.savefig(io.BytesIO(), format=kind)
    assert names(figure) == (list(ODD.values()), list(ODD.values()))
    assert "cost $5↵_{$" in texts(figure)
    assert not any(text.get_parse_math() or text.get_usetex() for text in written(figure))


def test_inputs_are_not_changed():
    weights, source = np.array([[-1e-9, 1.0]]), ["a\n", "b"]
    draw_alignment(weights, source, ["x"])
    assert weights[0, 0] == -1e-9
    assert source == ["a\n", "b"]


def test_threads_draw_what_one_thread_draws():
    def draw(index):
        return drawn(draw_alignment(np.eye(3) * (index + 1) / 8, ["a", "$b", "c"], "xyz", title=f"map {index}"))

    expected, found = [draw(index) for index in range(8)], [None] * 8

    def work(index):
        found[index] = draw(index)

    threads = [threading.Thread(target=work, args=[index]) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.PDF", b"%PDF")])
def test_saved_by_suffix_in_a_new_folder(tmp_path, name, start):
    path = tmp_path / "new" / "folder" / name
    save_figure(draw_alignment([[1]], "a", "b"), path)
    assert path.read_bytes().startswith(start)
    assert [file.name for file in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a.bmp", "a", "png"])
def test_other_suffixes_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=rf"\.png, \.svg or \.pdf\. Received: .*{name}"):
        save_figure(draw_alignment([[1]], "a", "b"), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_failed_save_keeps_the_old_file_and_leaves_nothing_aside(tmp_path):
    path = tmp_path / "a.png"
    path.write_text("old")

    class Broken:
        def savefig(self, aside, format):
            aside.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save_figure(Broken(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_words_are_shown_without_the_mark_of_their_space():
    figure = draw_alignment(np.eye(3), ["\u2581a", "##b", "\u2581"], ["\u2581Zwei", ".", "c\u2581"])
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "##b", "\u2581"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Zwei", ".", "c\u2581"]
