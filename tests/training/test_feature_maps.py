"""Feature maps of a frozen backbone: computed once, equal to those of the pictures, never confused with others."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.core.atomic_io import user_cache
from seqattn_tf.encoders import GridEncoder
from seqattn_tf.lite.fields import Image
from seqattn_tf.training.data import Example, Splits
from seqattn_tf.training.feature_maps import map_splits
from seqattn_tf.vision import ConvolutionalBackbone

pytestmark = pytest.mark.usefixtures("eagerly")

FIELD = Image(16, 16)


@pytest.fixture
def encoder():
    made = GridEncoder(ConvolutionalBackbone((4,)), 16, 16, frozen=True)
    made.build()
    return made


def splits(count=5, seed=0):
    pictures = FIELD.sample_inputs(count, seed)
    examples = [Example(str(i // 2), {"image": pictures[i // 2]}, "x") for i in range(2 * count)]
    return Splits(examples[:4], examples[4:6], examples[6:], "made up", notes={"0": "a"})


def bytes_of(found):
    return [example.inputs["image"].read() for part in (found.train, found.dev, found.test) for example in part]


def test_maps_are_those_of_the_pictures_each_made_once(encoder, tmp_path, monkeypatch):
    calls = []
    look = encoder.look
    monkeypatch.setattr(encoder, "look", lambda pixels: calls.append(1) or look(pixels))
    given = splits()
    found = map_splits(given, "image", FIELD, encoder, tmp_path, quiet=True)
    assert [len(part) for part in (found.train, found.dev, found.test)] == [4, 2, 4]
    assert (found.origin, found.notes) == (given.origin, given.notes)
    for part, other in ((given.train, found.train), (given.dev, found.dev), (given.test, found.test)):
        for one, mapped in zip(part, other, strict=True):
            assert (one.key, one.target) == (mapped.key, mapped.target)
            seen = np.frombuffer(mapped.inputs["image"].read(), np.float16).reshape(8, 8, 4)
            expected = look(tf.constant(FIELD.arrays(one.inputs["image"])["pixels"])[None])[0]
            np.testing.assert_allclose(seen, expected, atol=2e-2)
    assert calls
    calls.clear()
    again = map_splits(splits(), "image", FIELD, encoder, tmp_path, quiet=True)
    assert not calls
    assert bytes_of(again) == bytes_of(found)


def test_other_pictures_weights_or_sizes_have_maps_of_their_own(encoder, tmp_path):
    first = map_splits(splits(), "image", FIELD, encoder, tmp_path, quiet=True)
    map_splits(splits(seed=1), "image", FIELD, encoder, tmp_path, quiet=True)
    assert len(list(tmp_path.glob("*.maps"))) == 2
    encoder.backbone.set_weights([weight * 2 for weight in encoder.backbone.get_weights()])
    changed = map_splits(splits(), "image", FIELD, encoder, tmp_path, quiet=True)
    assert len(list(tmp_path.glob("*.maps"))) == 3
    assert bytes_of(changed) != bytes_of(first)


@pytest.mark.parametrize("harm", ["cut", "flipped", "longer", "empty"])
def test_maps_that_were_harmed_are_made_anew(encoder, tmp_path, harm):
    first = bytes_of(map_splits(splits(), "image", FIELD, encoder, tmp_path, quiet=True))
    [path] = tmp_path.glob("*.maps")
    data = path.read_bytes()
    path.write_bytes(
        {
            "cut": data[:-40],
            "flipped": data[:100] + bytes([data[100] ^ 1]) + data[101:],
            "longer": data + b"x",
            "empty": b"",
        }[harm]
    )
    assert bytes_of(map_splits(splits(), "image", FIELD, encoder, tmp_path, quiet=True)) == first
    assert path.read_bytes() == data


def test_a_picture_that_cannot_be_read_is_named_and_nothing_is_left(encoder, tmp_path):
    given = splits()
    bad = Example("the bad one", {"image": b"none"}, "x")
    given = Splits([*given.train, bad], given.dev, given.test, "made up")
    with pytest.raises(ValueError, match=r"the bad one: expected a JPEG, PNG or BMP picture"):
        map_splits(given, "image", FIELD, encoder, tmp_path, quiet=True)
    assert not list(tmp_path.iterdir())


def test_maps_are_kept_in_the_cache_of_the_user(encoder, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    map_splits(splits(), "image", FIELD, encoder, quiet=True)
    assert [path.suffix for path in (tmp_path / "seqattn_tf" / "maps").iterdir()] == [".maps"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert user_cache() == Path.home() / ".cache" / "seqattn_tf"
