"""The times at which symbols were heard or seen, below the sound or the frames."""

import numpy as np
import pytest

from seqattn_tf.explain import draw_answer, draw_timeline
from seqattn_tf.lite.answer import Answer, AttentionMap

PLACES = tuple(f"0.{4 * i:02d} s" for i in range(20))
PICTURE = np.random.default_rng(0).integers(0, 256, (40, 80, 3))


def looks(rows=3):
    return np.random.default_rng(1).dirichlet(np.ones(20), rows)


def test_a_row_for_each_symbol_under_the_sound():
    figure = draw_timeline(looks(), ["one", "two", "$x_1$"], PLACES, PICTURE, title="one two")
    sound, rows, _ = figure.axes
    np.testing.assert_array_equal(sound.images[0].get_array(), PICTURE / 255)
    [mesh] = rows.collections
    np.testing.assert_allclose(mesh.get_array().reshape(3, 20), looks())
    assert [label.get_text() for label in rows.get_yticklabels()] == ["one", "two", "$x_1$"]
    assert rows.get_xticklabels()[0].get_text() == "0.00 s"
    assert len(rows.get_xticklabels()) <= 8
    assert rows.get_xticks()[0] == 0
    frames = draw_timeline(looks(), ["a", "b", "c"], [str(i) for i in range(1, 21)], PICTURE)
    assert frames.axes[1].get_xticks()[0] == 0.5  # a frame's number is below the frame
    assert sound.get_position().width == pytest.approx(rows.get_position().width)
    assert sound.get_position().y0 > rows.get_position().y1


def test_an_answer_to_a_sound_is_drawn_so_and_nothing_heard_is_said():
    answer = Answer("1", -0.1, tokens=("1",), attention={"sound": AttentionMap(looks(1), ("1",), PLACES)})
    assert len(draw_answer("", answer, "sound", PICTURE).axes) == 3
    nothing = Answer("", -np.inf, attention={"sound": AttentionMap(np.zeros([0, 0]), (), ())})
    [text] = draw_answer("", nothing, "sound", PICTURE[:, :0]).texts
    assert text.get_text() == "nothing to show"
    with pytest.raises(ValueError, match="Expected weights"):
        draw_timeline(looks(2), ["one"], PLACES, PICTURE)
