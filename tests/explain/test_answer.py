"""The picture of an answer: a map, or one for each symbol over a grid, over the picture where there is one."""

import numpy as np
import pytest

from seqattn_tf.answer import Answer, Look
from seqattn_tf.explain import draw_answer, draw_grid, save_figure

MAP = Look(np.eye(2), ("HH", "AY"), ("h", "i"))
GRID = Look(np.arange(12.0).reshape(2, 2, 3) / 20, ("a", "dog"))
ANSWER = Answer("a dog", -0.5, tokens=("a", "dog"), looks={"text": MAP, "image": GRID})


def labels(figure):
    ticks = [t.get_text() for axes in figure.axes for t in [*axes.get_xticklabels(), *axes.get_yticklabels()]]
    return {*ticks, *(text.get_text() for text in figure.texts)}


def test_the_look_that_is_asked_for_is_drawn(tmp_path):
    assert {"h", "i", "HH", "AY", "hi \u2192 a dog"} <= labels(draw_answer("hi", ANSWER))
    figure = draw_answer("", ANSWER, "image")
    assert {"a", "dog", "a dog"} <= labels(figure)
    assert len(figure.axes) == 2
    save_figure(figure, tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"look: expected one of \['image', 'text'\]\. Received: 'sound'"):
        draw_answer("hi", ANSWER, "sound")
    assert "nothing to show" in labels(draw_answer("hi", Answer("", -np.inf)))


def test_a_grid_lies_over_its_picture():
    picture = np.full([20, 40, 3], 128, np.uint8)
    figure = draw_grid(GRID.weights, GRID.rows, picture=picture)
    for axes, weights in zip(figure.axes, GRID.weights, strict=True):
        under, over = axes.get_images()
        assert under.get_extent() == over.get_extent()
        assert under.get_array().shape == (20, 40, 3)
        np.testing.assert_allclose(over.get_array(), weights)
    light = over.cmap(over.norm(weights))[..., 3]
    assert light.argmin() == weights.argmax()  # where it looked most, most of the picture is seen


@pytest.mark.parametrize(("rows", "across", "down"), [(1, 1, 1), (6, 6, 1), (7, 6, 2), (14, 6, 3)])
def test_many_symbols_take_several_lines(rows, across, down):
    figure = draw_grid(np.ones([rows, 3, 3]), ["x"] * rows)
    boxes = [axes.get_position() for axes in figure.axes]
    assert len({round(box.x0, 4) for box in boxes}) == across
    assert len({round(box.y0, 4) for box in boxes}) == down
    assert all(box.x0 >= 0 and box.x1 <= 1 and box.y0 >= 0 and box.y1 <= 1 for box in boxes)


@pytest.mark.parametrize(
    "weights", [np.ones([2, 3]), np.ones([3, 2, 2]), -np.ones([2, 2, 2]), np.full([2, 2, 2], np.nan)]
)
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match=r"weights: expected \[2, height, width\]"):
        draw_grid(weights, ["a", "b"])


def test_nothing_is_said_to_be_nothing():
    assert "nothing to show" in labels(draw_grid(np.zeros([0, 2, 2]), []))
    draw_grid(np.zeros([1, 2, 2]), ["a"])  # no weight at all divides nothing by zero


# Answers of one form each: the picture follows from the tokens and the look.

SENTENCE = ("the", "dog", "barks")
TAGGED = Look(np.eye(4, 3) * 0.8 + 0.05, ("DET", "NOUN", "VERB", "X"), SENTENCE)
HEADS = Look(np.eye(3, k=1) * 0.9, SENTENCE, SENTENCE)
REVIEW = Look(np.array([[0.2, 0.8, 0, 1]]), ("positive",), ("so", "good", "\n", "bye"))
LINES = Look(np.array([[0.9, 0.1]]), ("positive",), ("so good", "bye"))


def inside(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def answer(tokens, **looks):
    return Answer(" ".join(tokens), -0.5, tokens=tuple(tokens), looks=looks)


def test_tags_are_drawn_under_their_words():
    shown = inside(draw_answer("the dog barks", answer(["DET", "NOUN", "VERB"], text=TAGGED)))
    assert {*SENTENCE, "DET 0.85", "NOUN 0.85"} <= {*shown}
    shown = inside(draw_answer("", answer(["DET", "_", "VERB"], text=TAGGED)))
    assert {*SENTENCE, "DET 0.85", ""} <= {*shown}  # a word that was not read has no tag


def test_heads_are_drawn_as_a_tree():
    shown = inside(draw_answer("", answer(["2:det", "3:nsubj", "0:root"], text=HEADS)))
    assert {*SENTENCE, "det", "nsubj", "root", "0.90", "root 0.10"} <= {*shown}
    assert {*SENTENCE, "root"} <= {*inside(draw_answer("", answer(["2", "3", "0"], text=HEADS)))}
    assert "det" in inside(draw_answer("", answer(["2:det", "_", "0:root"], text=HEADS)))


def test_what_speaks_for_a_label_is_highlighted():
    figure = draw_answer("so good / bye", answer(["positive"], text=REVIEW))
    assert [text.get_text() for text in figure.texts] == ["positive"]
    assert {"so", "good", "bye"} <= {*inside(figure)}
    for look in ("text", "text_lines"):
        figure = draw_answer("", answer(["positive"], text=REVIEW, text_lines=LINES), look)
        assert {"so", "good", "bye", "0.90", "0.10"} <= {*inside(figure)}


def test_lines_that_do_not_belong_to_the_words_are_left_aside():
    other = Look(np.array([[1.0]]), ("positive",), ("so good",))
    shown = inside(draw_answer("", answer(["positive"], text=REVIEW, text_lines=other)))
    assert "good" in shown
    assert "1.00" not in shown


@pytest.mark.parametrize(
    ("tokens", "look"),
    [
        (["DET", "NOUN"], TAGGED),  # a tag too few
        (["DET", "NOUN", "ADV"], TAGGED),  # a tag that the model does not have
        (["HH", "AY", "."], Look(np.eye(3), ("HH", "AY", "."), ("h", "i", "."))),  # symbols looked at symbols
        (["2", "4", "0"], HEADS),  # there is no fourth word
        (["2", "2", "0"], HEADS),  # no word is its own head
        (["2", "x", "0"], HEADS),
        (["3", "1", "2"], Look(np.eye(3), ("3", "1", "2"), ("3", "1", "2"))),  # numbers copied
        (["positive"], Look(np.eye(2), ("hop 1", "hop 2"), ("so", "good"))),
    ],
)
def test_all_else_is_a_map(tokens, look):
    figure = draw_answer("q", answer(tokens, text=look))
    assert {*look.rows, *look.places} <= labels(figure)
