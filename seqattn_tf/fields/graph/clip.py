"""Clips as frames, in the graph; how many there are and how large is read from the blocks before any is decoded."""

import tensorflow as tf

from seqattn_tf.fields.clip import CLIPS, EXTENSION, FRAME, GIF, TRAILER, Clip, fitting
from seqattn_tf.fields.graph.base import GraphField, Reading, Tensors
from seqattn_tf.fields.graph.image import GraphImage
from seqattn_tf.fields.graph.text import check_length
from seqattn_tf.fields.image import Image
from seqattn_tf.masking import length_mask, row_lengths


class GraphClip(GraphField):
    """The twin of `Clip`."""

    field: Clip

    def __init__(self, field: Clip, name: str) -> None:
        super().__init__(field, name)
        self.strips = GraphImage(Image(field.height, field.width, field.pixels), name, CLIPS)
        self.tensors = {
            "frames": tf.TensorSpec([None, None, field.height, field.width, 3], tf.float32),
            "there": tf.TensorSpec([None, None], tf.int32),
        }

    def read(self, raw: tf.Tensor) -> Reading:
        """Frames with a one for each, and their numbers."""
        size = [self.field.height, self.field.width, 3]
        found = tf.map_fn(
            self._frames, raw, fn_output_signature=tf.RaggedTensorSpec([None, *size], tf.float32, ragged_rank=0)
        )
        frames = tf.ensure_shape(found.to_tensor(), [None, None, *size])
        there = length_mask(tf.cast(found.row_lengths(), tf.int32), tf.shape(frames)[1])
        numbers = tf.strings.as_string(tf.range(1, tf.shape(frames)[1] + 1))
        return Reading({"frames": frames, "there": tf.cast(there, tf.int32)}, {"": tf.where(there, numbers, "")})

    def _frames(self, data: tf.Tensor) -> tf.Tensor:
        begins = tf.strings.substr(data, 0, tf.minimum(tf.strings.length(data), len(GIF[0])))
        animated = tf.reduce_any(begins == tf.constant(GIF))
        frames = tf.cond(animated, lambda: self._decode_gif(data), lambda: self._cut(self.strips.decode(data)))
        return tf.image.resize(frames, [self.field.height, self.field.width], "bilinear", antialias=True)

    def _cut(self, strip: tf.Tensor) -> tf.Tensor:
        """The frames of a strip, `[y, x, 3] -> [frames, y, x, 3]`."""
        height, width = tf.shape(strip, tf.int64)[0], tf.shape(strip, tf.int64)[1]
        count = tf.maximum(fitting(height, width, self.field.height, self.field.width), 1)
        with tf.control_dependencies([self._few(count)]):
            wide = width // count
        cut = tf.reshape(strip[:, : wide * count], [height, count, wide, 3])
        return tf.transpose(cut, [1, 0, 2, 3])

    def _few(self, count: tf.Tensor) -> tf.Operation:
        message = f"{self.input_name}: expected a clip of at most {self.field.limit} frames, received"
        return tf.debugging.Assert(count <= self.field.limit, [message, count])

    def _decode_gif(self, data: tf.Tensor) -> tf.Tensor:
        height, width, count, whole = read_gif(data, self.field.limit)
        broken = tf.debugging.Assert(whole, [f"{self.input_name}: expected {CLIPS}, received a broken one"])
        pixels = tf.cast(height, tf.int64) * tf.cast(width, tf.int64) * tf.cast(count, tf.int64)
        message = f"{self.input_name}: expected a clip of at most {self.field.pixels} pixels, received"
        small = tf.debugging.Assert(pixels <= self.field.pixels, [message, count, "frames of", width, "x", height])
        with tf.control_dependencies([self._few(count), broken, small]):
            data = tf.identity(data)
        return tf.io.decode_gif(data)

    @property
    def wire(self) -> dict[str, tf.TensorSpec]:
        """Frames and how many of them are meant: a server pads a batch with anything."""
        return {"frames": self.tensors["frames"], "lengths": tf.TensorSpec([None], tf.int32)}

    def to_wire(self, raw: tf.Tensor) -> Tensors:
        """Frames and lengths."""
        found = self.encode(raw)
        return {"frames": found["frames"], "lengths": row_lengths(found["there"] != 0)}

    def from_wire(self, sent: Tensors) -> Tensors:
        """Frames that are meant, with a one for each."""
        frames = sent["frames"]
        longest = tf.shape(frames)[1]
        with tf.control_dependencies([check_length(self.field.limit, longest, f"{self.input_name}_frames")]):
            frames = tf.identity(frames)
        meant = length_mask(sent["lengths"], longest)
        kept = tf.where(meant[:, :, None, None, None], frames, 0.0)
        return {"frames": kept, "there": tf.cast(meant, tf.int32)}


def read_gif(data: tf.Tensor, most: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Height, width and number of frames of a GIF, counted until there are too many, and whether it is whole."""
    numbers = tf.cast(tf.io.decode_raw(data, tf.uint8), tf.int32)
    numbers = tf.pad(numbers, [[0, 16]])  # to look at in vain
    size = tf.strings.length(data)

    def at(place: tf.Tensor | int) -> tf.Tensor:
        return numbers[tf.minimum(place, size)]

    def two(place: tf.Tensor | int) -> tf.Tensor:
        return at(place) + 256 * at(place + 1)

    def palette(place: tf.Tensor | int) -> tf.Tensor:
        flags = at(place)
        return tf.where(flags >= 128, 3 * tf.bitwise.left_shift(2, flags % 8), 0)

    width, height = two(6), two(8)

    def going(place: tf.Tensor, count: tf.Tensor, inside: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        return right & (place < size) & (count <= most)

    def block(place: tf.Tensor, count: tf.Tensor, inside: tf.Tensor, right: tf.Tensor) -> tuple:
        kind = at(place)
        more, frame = ~inside & (kind == EXTENSION), ~inside & (kind == FRAME) & (place + 10 < size)
        fits = (two(place + 1) + two(place + 5) <= width) & (two(place + 3) + two(place + 7) <= height)
        onward = tf.where(frame, 11 + palette(place + 9), tf.where(more, 2, kind + 1))
        right = inside | more | (frame & fits)
        next_inside = tf.where(inside, kind != 0, more | frame)
        return tf.where(right, place + onward, place), count + tf.cast(frame, tf.int32), next_inside & right, right

    first = (13 + palette(10), tf.constant(0), tf.constant(False), size >= 13)
    place, count, inside, _ = tf.while_loop(going, block, first)
    ended = (place < size) & (at(place) == TRAILER) & ~inside
    return height, width, count, ((count > most) | ended) & (count > 0) & (height * width > 0)
