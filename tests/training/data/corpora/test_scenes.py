"""Generated scenes: their captions describe them, and the combinations in one split are in no other."""

import io

import numpy as np
import pytest

from seqattn_tf.training.data.corpora import scenes
from seqattn_tf.training.data.corpora.scenes import COLOURS, RELATIONS, SHAPES, SIDE, draw


@pytest.fixture(scope="module")
def drawn():
    return [draw(number) for number in range(300)]


def combined(scene):
    first, second = scene.shapes[:2]
    return first.colour, first.kind, scene.relation, second.colour, second.kind


def test_a_caption_names_the_two_largest_as_they_stand(drawn):
    for scene in drawn:
        first, second, *others = scene.shapes
        assert first.size > second.size > max(other.size for other in others)
        dx, dy = first.x - second.x, first.y - second.y
        side = ("right of" if dx > 0 else "left of") if abs(dx) > abs(dy) else ("below" if dy > 0 else "above")
        article = {name: "an" if name == "orange" else "a" for name in COLOURS}
        named = [f"{article[shape.colour]} {shape.colour} {shape.kind}" for shape in (first, second)]
        assert scene.caption == f"{named[0]} {side} {named[1]}"
        assert max(abs(dx), abs(dy)) > 2 * min(abs(dx), abs(dy))  # every relation is unambiguous


def test_distractors_share_a_colour_or_a_shape_and_nothing_overlaps(drawn):
    counts = set()
    for scene in drawn:
        first, second, *others = scene.shapes
        counts.add(len(scene.shapes))
        for other in others:
            assert {other.colour, other.kind} & {first.colour, first.kind, second.colour, second.kind}
        for i, one in enumerate(scene.shapes):
            assert 0 < one.box[0] < one.box[2] < 1
            assert 0 < one.box[1] < one.box[3] < 1
            assert (one.box[2] - one.box[0]) * (one.box[3] - one.box[1]) < 0.15
            for other in scene.shapes[:i]:
                assert max(abs(one.x - other.x), abs(one.y - other.y)) > one.size + other.size
    assert counts == {3, 4, 5, 6}


def test_what_comes_together_in_one_part_is_in_no_other():
    parts = [{combined(draw(number, part)) for number in range(400)} for part in ("train", "dev", "test")]
    train, dev, test = parts
    assert not train & dev
    assert not train & test
    assert not dev & test
    for part in parts:  # every color, shape and relation occurs in each split
        assert {c[0] for c in part} == {c[3] for c in part} == set(COLOURS)
        assert {c[1] for c in part} == {c[4] for c in part} == set(SHAPES)
        assert {c[2] for c in part} == set(RELATIONS)


def test_the_picture_shows_what_is_where(drawn):
    for scene in drawn[:60]:
        pixels = scene.pixels().astype(float)
        assert pixels.shape == (SIDE, SIDE, 3)
        for shape in scene.shapes:
            inside = shape.covers(*np.meshgrid(np.arange(SIDE) + 0.5, np.arange(SIDE) + 0.5)) > 0.99
            seen = pixels[inside].mean(axis=0)
            colours = {name: np.linalg.norm(seen - value) for name, value in COLOURS.items()}
            assert min(colours, key=colours.get) == shape.colour
        ground = pixels[:2].mean(axis=(0, 1))
        assert ground.min() > 185


def test_every_shape_looks_different():
    y, x = np.mgrid[:SIDE, :SIDE] + 0.5
    covers = [scenes.Shape("red", kind, 40, 40, 12).covers(x, y) for kind in SHAPES]
    for i, one in enumerate(covers):
        assert one.max() == 1
        left, top, right, bottom = (round(corner * SIDE) for corner in scenes.Shape("red", "ring", 40, 40, 12).box)
        outside = np.ones_like(one, bool)
        outside[top - 1 : bottom + 1, left - 1 : right + 1] = False
        assert not one[outside].any()
        for other in covers[:i]:
            assert np.mean(abs(one - other)[28:52, 28:52]) > 0.1


def test_regions_are_those_of_the_words(drawn):
    for scene in drawn[:50]:
        words = scene.caption.split()
        assert len(scene.regions) == len(words)
        for word, region in zip(words, scene.regions, strict=True):
            assert (region is not None) == (word in COLOURS or word in SHAPES)
        assert scene.regions[1] == scene.regions[2] == scene.shapes[0].box
        assert scene.regions[-1] == scene.regions[-2] == scene.shapes[1].box


def test_a_scene_is_the_same_every_time_and_a_png():
    from PIL import Image as Pillow

    assert draw(5).read() == draw(5).read() != draw(6).read()
    assert draw(5, "dev").read() != draw(5).read()
    found = np.asarray(Pillow.open(io.BytesIO(draw(5).read())))
    np.testing.assert_array_equal(found, draw(5).pixels())


def test_seeds_give_other_scenes_and_splits_have_the_sizes():
    splits = scenes.load(20, 5, seed=0)
    other = scenes.load(20, 5, seed=1)
    assert [len(part) for part in (splits.train, splits.dev, splits.test)] == [20, 5, 5]
    assert not {e.key for e in splits.train} & {e.key for e in other.train}
    assert splits.fingerprint != other.fingerprint
