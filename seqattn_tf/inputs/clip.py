"""Video clips as frames, in the graph; number and size of the frames are read before anything is decoded."""

import tensorflow as tf

from seqattn_tf.core.masking import length_mask, row_lengths
from seqattn_tf.inputs.base import FieldTensors, GraphField, Tensors, check_batch, padded_rows
from seqattn_tf.inputs.image import GraphImage
from seqattn_tf.inputs.text import check_length
from seqattn_tf.lite.fields.clip import CLIPS, EXTENSION, EXTENSIONS, FRAME, GIF, TRAILER, Clip, fitting
from seqattn_tf.lite.fields.image import BATCH, RESIZED, Image

_DOUBLINGS = 8  # the sub-blocks of a GIF are scanned 2**8 at a time


class GraphClip(GraphField):
    """The graph counterpart of `Clip`."""

    name_in_registry = "clip"

    field: Clip

    def __init__(self, field: Clip, name: str) -> None:
        super().__init__(field, name)
        self.strips = GraphImage(Image(field.height, field.width, field.pixels), name, CLIPS)
        self.tensors = {
            "frames": tf.TensorSpec([None, None, field.height, field.width, 3], tf.float32),
            "there": tf.TensorSpec([None, None], tf.int32),
        }

    def read(self, raw: tf.Tensor) -> FieldTensors:
        """Return the frames with a one for each, and their numbers as positions."""
        sizes, field = self._sizes(raw), self.field
        total = tf.reduce_sum(tf.reduce_prod(sizes, axis=1))
        check = check_batch(self.input_name, "clips", max(BATCH, field.pixels), "pixels", total)
        seen, longest = field.height * field.width, tf.reduce_max(tf.pad(sizes[:, 0], [[0, 1]]))
        padded, most = tf.size(raw, tf.int64) * longest * seen, max(RESIZED, field.limit * seen)
        also = check_batch(self.input_name, "clips", most, "pixels once resized, padded to the longest,", padded)
        with tf.control_dependencies([check, also]):
            frames, there = self._read(tf.identity(raw))
        numbers = tf.strings.as_string(tf.range(1, tf.shape(frames)[1] + 1))
        return FieldTensors({"frames": frames, "there": tf.cast(there, tf.int32)}, {"": tf.where(there, numbers, "")})

    def encode_unbounded(self, raw: tf.Tensor) -> Tensors:
        """Return the frames of any number of clips."""
        with tf.control_dependencies([self._sizes(raw)]):
            frames, there = self._read(tf.identity(raw))
        return {"frames": frames, "there": tf.cast(there, tf.int32)}

    def _sizes(self, raw: tf.Tensor) -> tf.Tensor:
        """Return number, height and width of the frames, `[batch, 3]`, after checking that all clips can be decoded."""
        return tf.map_fn(self._size, raw, fn_output_signature=tf.TensorSpec([3], tf.int64))

    def _read(self, raw: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        size = [self.field.height, self.field.width, 3]
        found = tf.map_fn(
            self._frames, raw, fn_output_signature=tf.RaggedTensorSpec([None, *size], tf.float32, ragged_rank=0)
        )
        frames = padded_rows(found, size)
        return frames, length_mask(tf.cast(found.row_lengths(), tf.int32), tf.shape(frames)[1])

    @staticmethod
    def _animated(data: tf.Tensor) -> tf.Tensor:
        begins = tf.strings.substr(data, 0, tf.minimum(tf.strings.length(data), len(GIF[0])))
        return tf.reduce_any(begins == tf.constant(GIF))

    def _size(self, data: tf.Tensor) -> tf.Tensor:
        """Return number, height and width of the frames.

        Files that are not clips, or too large, raise an INVALID_ARGUMENT error.
        """
        return tf.cond(self._animated(data), lambda: self._size_of_gif(data), lambda: self._size_of_strip(data))

    def _size_of_gif(self, data: tf.Tensor) -> tf.Tensor:
        height, width, count, extensions, whole = read_gif(data, self.field.limit)
        message = f"{self.input_name}: expected a GIF of at most {EXTENSIONS} extension blocks, received more"
        plain = tf.debugging.Assert(extensions <= EXTENSIONS, [message])
        with tf.control_dependencies([plain]):
            broken = tf.debugging.Assert(whole, [f"{self.input_name}: expected {CLIPS}, received a corrupt one"])
        with tf.control_dependencies([broken]):
            few = self._few(count)
        message = f"{self.input_name}: expected a clip of at most {self.field.pixels} pixels, received"
        said = [message, count, "frames of", width, "x", height]
        with tf.control_dependencies([few]):
            small = tf.debugging.Assert(height * width * count <= self.field.pixels, said)
        with tf.control_dependencies([small]):
            return tf.stack([count, height, width])

    def _size_of_strip(self, data: tf.Tensor) -> tf.Tensor:
        size = self.strips.size(data)
        height, width = size[0], size[1]
        count = tf.maximum(fitting(height, width, self.field.height, self.field.width), 1)
        with tf.control_dependencies([self._few(count)]):
            return tf.stack([count, height, width // count])

    def _few(self, count: tf.Tensor) -> tf.Operation:
        message = f"{self.input_name}: expected a clip of at most {self.field.limit} frames, received"
        return tf.debugging.Assert(count <= self.field.limit, [message, count])

    def _frames(self, data: tf.Tensor) -> tf.Tensor:
        frames = tf.cond(
            self._animated(data), lambda: tf.io.decode_gif(data), lambda: self._cut(self.strips.decode(data))
        )
        return tf.image.resize(frames, [self.field.height, self.field.width], "bilinear", antialias=True)

    def _cut(self, strip: tf.Tensor) -> tf.Tensor:
        """Split a strip into frames: `[y, x, 3] -> [frames, y, x, 3]`."""
        height, width = tf.shape(strip, tf.int64)[0], tf.shape(strip, tf.int64)[1]
        count = tf.maximum(fitting(height, width, self.field.height, self.field.width), 1)
        wide = width // count
        cut = tf.reshape(strip[:, : wide * count], [height, count, wide, 3])
        return tf.transpose(cut, [1, 0, 2, 3])

    @property
    def wire(self) -> dict[str, tf.TensorSpec]:
        """The specs of the frames and of their lengths, which are needed because servers pad with arbitrary values."""
        return {"frames": self.tensors["frames"], "lengths": tf.TensorSpec([None], tf.int32)}

    def to_wire(self, raw: tf.Tensor) -> Tensors:
        """Return frames and lengths."""
        found = self.encode(raw)
        return {"frames": found["frames"], "lengths": row_lengths(found["there"] != 0)}

    def from_wire(self, sent: Tensors) -> Tensors:
        """Check the number of frames and set those beyond the lengths to zero; return them with a one for each."""
        frames = sent["frames"]
        longest = tf.shape(frames)[1]
        with tf.control_dependencies([check_length(self.field.limit, longest, f"{self.input_name}_frames")]):
            frames = tf.identity(frames)
        meant = length_mask(sent["lengths"], longest)
        kept = tf.where(meant[:, :, None, None, None], frames, 0.0)
        return {"frames": kept, "there": tf.cast(meant, tf.int32)}


def read_gif(data: tf.Tensor, most: int) -> tuple[tf.Tensor, ...]:
    """Return height, width, numbers of frames and extensions of a GIF, and whether the file is complete.

    Counting stops when there are too many frames or extensions. Every sub-block contains the offset of the next one.
    Steps over two sub-blocks are composed of two steps over one, and so on, for all positions at once, so the loop
    below skips many sub-blocks in each iteration, however small they are.
    """
    numbers = tf.cast(tf.io.decode_raw(data, tf.uint8), tf.int32)
    numbers = tf.pad(numbers, [[0, 16]])  # so that reading past the end returns 0
    size = tf.strings.length(data)
    places = tf.range(size + 16)
    onward = tf.where(numbers == 0, places, tf.minimum(places + numbers + 1, size))  # an empty sub-block is the last
    for _ in range(_DOUBLINGS):
        onward = tf.gather(onward, onward)

    def at(place: tf.Tensor | int) -> tf.Tensor:
        return numbers[tf.minimum(place, size)]

    def two(place: tf.Tensor | int) -> tf.Tensor:
        return at(place) + 256 * at(place + 1)

    def palette(place: tf.Tensor | int) -> tf.Tensor:
        flags = at(place)
        return tf.where(flags >= 128, 3 * tf.bitwise.left_shift(2, flags % 8), 0)

    width, height = two(6), two(8)

    def going(place: tf.Tensor, count: tf.Tensor, extensions: tf.Tensor, *state: tf.Tensor) -> tf.Tensor:
        _, right = state
        return right & (place < size) & (count <= most) & (extensions <= EXTENSIONS)

    def block(place: tf.Tensor, count: tf.Tensor, extensions: tf.Tensor, *state: tf.Tensor) -> tuple:
        inside, _ = state
        kind, last = at(place), onward[place]
        more, frame = ~inside & (kind == EXTENSION), ~inside & (kind == FRAME) & (place + 10 < size)
        fits = (two(place + 1) + two(place + 5) <= width) & (two(place + 3) + two(place + 7) <= height)
        ended = at(last) == 0
        skipped = tf.where(frame, place + 11 + palette(place + 9), place + 2)
        right = inside | more | (frame & fits)
        following = tf.where(inside, last + tf.cast(ended, tf.int32), tf.where(right, skipped, place))
        next_inside = tf.where(inside, ~ended, more | frame)
        counted = (count + tf.cast(frame, tf.int32), extensions + tf.cast(more, tf.int32))
        return following, *counted, next_inside & right, right

    first = (13 + palette(10), tf.constant(0), tf.constant(0), tf.constant(False), size >= 13)
    place, count, extensions, inside, _ = tf.while_loop(going, block, first)
    ended = (place < size) & (at(place) == TRAILER) & ~inside
    whole = ((count > most) | ended) & (count > 0) & (height > 0) & (width > 0)
    height, width, count = (tf.cast(number, tf.int64) for number in (height, width, count))
    return height, width, count, extensions, whole
