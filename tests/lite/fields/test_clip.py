"""Clips compared with Pillow: GIF headers, strips cut into frames, and rejection before decoding."""

import functools
import io
import struct
import time

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image as Pillow
from support import hostile

from seqattn_tf.inputs import graph_field
from seqattn_tf.inputs.clip import read_gif as read_in_graph
from seqattn_tf.lite.fields import Clip
from seqattn_tf.lite.fields.clip import read_gif


def gif(frames):
    data = io.BytesIO()
    first, *others = [Pillow.fromarray(frame) for frame in frames]
    first.save(data, "GIF", save_all=True, append_images=others, optimize=False, disposal=1)
    return data.getvalue()


def shades(count, height, width):
    """Return distinct frames, so that none of them is omitted."""
    return [np.full([height, width], 40 + number % 200, np.uint8) for number in range(count)]


@functools.cache  # traced once for all files
def reader(height, width):
    return tf.function(graph_field(Clip(height, width), "it").read, [tf.TensorSpec([None], tf.string)], autograph=False)


header = tf.function(read_in_graph, [tf.TensorSpec([], tf.string), tf.TensorSpec([], tf.int32)])


@pytest.mark.parametrize(("count", "height", "width"), [(1, 5, 7), (3, 20, 10), (12, 9, 300)])
def test_a_gif_is_as_large_as_pillow_says(count, height, width):
    data = gif(shades(count, height, width))
    with Pillow.open(io.BytesIO(data)) as picture:
        expected = (picture.height, picture.width, picture.n_frames)
    assert read_gif(data) == expected == (height, width, count)
    *found, _, whole = (int(number) for number in header(tf.constant(data), 64))
    assert (tuple(found), whole) == (expected, True)


def test_a_strip_is_cut_into_frames_with_the_proportions_that_are_seen():
    field = Clip(4, 8)
    strip = np.zeros([10, 59, 3], np.uint8)
    strip[:, 19:38] = 200
    data = io.BytesIO()
    Pillow.fromarray(strip).save(data, "PNG")
    frames = field.frames(data.getvalue())
    assert frames.shape == (3, 10, 19, 3)
    assert [int(frame.mean()) for frame in frames] == [0, 200, 0]
    found = reader(4, 8)(tf.constant([data.getvalue()]))
    np.testing.assert_allclose(found.tensors["frames"][0, :, 1, 1, 0], [0, 200, 0])
    assert found.positions[""].numpy().tolist() == [[b"1", b"2", b"3"]]
    assert field.picture(data.getvalue()).shape == (10, 57, 3)


def test_frames_beyond_the_length_that_was_sent_are_none():
    found = graph_field(Clip(4, 8), "it").from_wire(
        {"frames": tf.ones([2, 3, 4, 8, 3]), "lengths": tf.constant([3, 1])}
    )
    assert found["there"].numpy().tolist() == [[1, 1, 1], [1, 0, 0]]
    assert tf.reduce_max(found["frames"], axis=[2, 3, 4]).numpy().tolist() == [[1, 1, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gif(shades(17, 1_000, 1_000)), "a clip of at most 16777216 pixels"),
        (lambda: hostile.gif(hostile.frame() * 10_000), "a clip of at most 64 frames"),
    ],
    ids=["large", "many"],
)
def test_a_bomb_is_refused_before_it_is_decoded(make, words):
    data, field = make(), Clip(8, 8)
    began = time.perf_counter()
    with pytest.raises(ValueError, match=words):
        field.arrays(data)
    assert time.perf_counter() - began < 1
    graph = reader(8, 8)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"it: expected {words}"):
        graph(tf.constant([data]))
    began = time.perf_counter()
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"it: expected {words}"):
        graph(tf.constant([data]))
    assert time.perf_counter() - began < 3


def test_a_frame_beyond_its_canvas_is_refused():
    data = bytearray(gif(shades(2, 20, 20)))
    data[6:8] = (10).to_bytes(2, "little")
    with pytest.raises(ValueError, match=r"expected an animated GIF.*corrupt"):
        Clip(8, 8).arrays(bytes(data))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"it: expected an animated GIF.*corrupt"):
        reader(8, 8)(tf.constant([bytes(data)]))


def test_a_gif_on_which_pillow_stumbles_is_a_value_error():
    """The delay of its frame is cut off; Pillow's `struct.error` is not a helpful message for users."""
    whole = gif(shades(1, 4, 4))
    place = whole.index(b",", 13 + 3 * 256)
    data = whole[:place] + b"\x21\xf9\x01x\0" + whole[place:]
    with pytest.raises(ValueError, match=r"expected an animated GIF.*corrupt"):
        Clip(4, 4).arrays(data)


def test_a_large_gif_of_small_sub_blocks_is_read_like_any_other():
    """The division of the data into sub-blocks has no effect, even if there are very many of them."""
    files = [hostile.gif(hostile.frame(size, 64, 64) * 2, 64, 64) for size in (1, 7, 255)]
    found = [header(tf.constant(data), 9) for data in files]
    assert {tuple(int(number) for number in one) for one in found} == {(64, 64, 2, 0, 1)}
    assert {read_gif(data) for data in files} == {(64, 64, 2)}


@pytest.mark.parametrize(
    ("place", "fits"),
    [((0, 0, 8, 8), True), ((3, 2, 5, 6), True), ((4, 0, 5, 8), False), ((0, 3, 8, 6), False), ((1, 1, 8, 8), False)],
)
def test_a_frame_ends_within_its_canvas_to_the_right_and_below(place, fits):
    """In both halves, the limits take the position of a frame into account; a local palette is skipped."""
    palette = b"\x80" + bytes(6)
    block = b"," + struct.pack("<HHHH", *place) + palette + b"\x02\x01\x05\0"
    data = b"GIF89a" + struct.pack("<HHBBB", 8, 8, 0, 0, 0) + block * 2 + b";"
    *_, whole = read_in_graph(tf.constant(data), 9)
    assert bool(whole) == fits
    if fits:
        assert read_gif(data) == (8, 8, 2)
    else:
        with pytest.raises(ValueError, match="corrupt"):
            read_gif(data)
