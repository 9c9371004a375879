"""Formulas as pictures: in every font, in many threads at once, and formulas that cannot be parsed."""

import concurrent.futures

import numpy as np
import pytest

from seqattn_tf.explain import draw_answer
from seqattn_tf.explain.formula import FONTS, looks_alike, render
from seqattn_tf.lite.answer import Answer, AttentionMap
from seqattn_tf.training.data.corpora.formulas import SYMBOLS, draw

SINGLE = [symbol for symbol in SYMBOLS if symbol not in (r"\frac", r"\sqrt", "^", "_", "{", "}")]


@pytest.mark.parametrize("font", FONTS)
def test_every_symbol_has_a_picture_of_its_own(font):
    seen = {symbol: render(symbol, 14, font).tobytes() for symbol in SINGLE}
    assert len(set(seen.values())) == len(SINGLE)


def test_scripts_stand_above_and_below():
    alone, above, below = (render(f"x{script}") for script in ("", " ^ { 2 }", " _ { 2 }"))
    assert above.shape[0] > alone.shape[0]
    assert below.shape[0] > alone.shape[0]
    assert not looks_alike("x ^ { 2 }", "x _ { 2 }")
    assert not looks_alike("x ^ { 2 }", "x 2")
    assert looks_alike("x ^ { 2 }", "x^{2}")
    assert looks_alike(r"\frac { a } { b }", r"\frac{a}{b}")


def test_a_formula_stands_above_the_maps_beside_what_was_asked():
    tokens, weights = tuple([r"\sqrt", r"{", r"x", r"}"]), np.full([4, 2, 6], 1 / 12)
    picture = np.full([20, 60, 3], 200)
    figure = draw_answer(
        "", Answer("", -0.1, tokens=tokens, attention={"image": AttentionMap(weights, tokens, ())}), "image", picture
    )
    asked, said, *maps = figure.axes
    np.testing.assert_array_equal(asked.images[0].get_array(), picture / 255)
    np.testing.assert_array_equal(
        said.images[0].get_array(), (255 - render(r"\sqrt { x }", 20)[..., None]) / 255 * np.ones(3)
    )
    assert len(maps) == 4
    for words in (("a", "dog"), (r"\sqrt", "{"), (r"\o/",)):
        plain = Answer("", -0.1, tokens=words, attention={"image": AttentionMap(weights[: len(words)], words, ())})
        assert len(draw_answer("", plain, "image", picture).axes) == len(words)


@pytest.mark.parametrize("broken", ["{", "x ^", r"\frac { a }", r"\nothing", "x } {", "$", ""])
def test_what_cannot_be_read_is_like_nothing(broken):
    assert not looks_alike(broken, "x")
    if broken:
        with pytest.raises(ValueError, match="formula: expected LaTeX that matplotlib can render"):
            render(broken)


def test_threads_render_what_one_alone_does():
    """Mathtext's parser has global state: without a lock, threads would corrupt each other's formulas."""
    formulas = [draw(number).latex for number in range(40)]
    alone = [render(formula) for formula in formulas]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for one, other in zip(alone, pool.map(lambda latex: render(latex, 12.5), formulas), strict=True):
            assert abs(one.shape[0] - other.shape[0]) < 10
        together = list(pool.map(render, formulas))
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))
