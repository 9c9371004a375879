"""Formulas: those that the grammar generates, those that are held out, and their positions in the picture."""

import io

import numpy as np
import pytest
from PIL import Image as Pillow

from seqattn_tf.explain.formula import render
from seqattn_tf.training.data.corpora.formulas import (
    DEEPEST,
    LONGEST,
    PARTS,
    SHORTEST,
    SYMBOLS,
    TALL,
    WIDE,
    Formula,
    depth_of,
    draw,
    load,
)
from seqattn_tf.training.data.examples import share


@pytest.fixture(scope="module")
def splits():
    return load(400, 100)


def test_formulas_are_made_of_many_symbols_and_can_be_rendered(splits):
    assert len(set(SYMBOLS)) == len(SYMBOLS) >= 60
    tokens = [example.target.split() for example in splits.train]
    assert {token for each in tokens for token in each} <= set(SYMBOLS)
    assert len({token for each in tokens for token in each}) >= 60
    lengths, depths = [len(each) for each in tokens], [depth_of(each) for each in tokens]
    assert (min(lengths), max(depths)) == (SHORTEST, DEEPEST)
    assert max(lengths) <= LONGEST
    assert {0, 1, 2, 3} == set(depths)
    assert all(render(example.target).size for example in splits.test[:40])


def test_no_formula_is_in_two_splits(splits):
    held = {part: {example.target for example in getattr(splits, part)} for part in PARTS}
    assert not held["train"] & held["test"]
    assert not held["train"] & held["dev"]
    for part, (low, high) in PARTS.items():
        assert all(low <= share(latex) < high for latex in held[part])
    note = splits.notes[splits.test[0].key]
    assert note == f"{len(splits.test[0].target.split())} {depth_of(splits.test[0].target.split())}"


def test_a_picture_shows_its_formula_somewhere_in_noise():
    pictures = [draw(number) for number in range(30)]
    assert len({picture.pixels().tobytes() for picture in pictures}) == 30
    for picture in pictures:
        found = picture.pixels()
        assert found.shape == (TALL, WIDE, 3)
        assert np.median(found) > 200
        assert found.min() < 140
    one = draw(4)
    assert one.read() == draw(4).read()
    np.testing.assert_array_equal(np.asarray(Pillow.open(io.BytesIO(one.read()))), one.pixels())
    places = {int(np.argwhere(Formula("x + y - z", n).pixels()[..., 0] < 130)[:, 1].min()) for n in range(12)}
    assert len(places) > 5  # the formula is shifted


def test_one_that_is_too_large_is_made_smaller():
    wide = Formula(" + ".join(["x ^ { 2 }"] * 20), 1).pixels()
    assert (wide < 150).any()
    tall = Formula(r"\frac { \frac { \frac { a } { b } } { c } } { \frac { d } { \frac { e } { f } } }", 3).pixels()
    assert tall.shape == wide.shape
