"""Pictures as pixels, in the graph; the size is read from the header before anything is decoded."""

import tensorflow as tf

from seqattn_tf.fields.graph.base import GraphField, Reading
from seqattn_tf.fields.image import BMP, BMP_BITS, FORMATS, JPEG, PNG, WHITE, Image

AT_ONCE = 16  # pictures of a batch that are decoded at the same time


class GraphImage(GraphField):
    """The twin of `Image`; `expected` is what messages call the files."""

    field: Image

    def __init__(self, field: Image, name: str, expected: str = FORMATS) -> None:
        super().__init__(field, name)
        self.expected = expected
        self.tensors = {"pixels": tf.TensorSpec([None, field.height, field.width, 3], tf.float32)}

    def read(self, raw: tf.Tensor) -> Reading:
        """Pixels; a grid has no places with names."""
        shape = [self.field.height, self.field.width, 3]
        made = {"fn_output_signature": tf.TensorSpec(shape, tf.float32)}
        if not tf.executing_eagerly():
            made["parallel_iterations"] = AT_ONCE
        found = tf.map_fn(self._pixels, raw, **made)
        return Reading({"pixels": found}, {})

    def _pixels(self, data: tf.Tensor) -> tf.Tensor:
        pixels, field = self.decode(data), self.field
        if not field.pad:
            return tf.image.resize(pixels, [field.height, field.width], "bilinear", antialias=True)
        height, width = _inside(tf.shape(pixels, tf.int64), field.height, field.width)
        found = tf.image.resize(pixels, [height, width], "bilinear", antialias=True)
        found = tf.pad(found, [[0, field.height - height], [0, field.width - width], [0, 0]], constant_values=WHITE)
        return tf.ensure_shape(found, [field.height, field.width, 3])

    def decode(self, data: tf.Tensor) -> tf.Tensor:
        """A picture as it is, `[y, x, 3]`; one that is too large is refused by its header."""
        height, width = self._size(data)
        message = f"{self.input_name}: expected a picture of at most {self.field.limit} pixels, received"
        small = tf.cast(height, tf.int64) * tf.cast(width, tf.int64) <= self.field.limit
        with tf.control_dependencies([tf.debugging.Assert(small, [message, width, "x", height])]):
            data = tf.identity(data)
        return tf.cond(  # the accurate way is that of other readers, Pillow's among them
            self._begins(data, JPEG),
            lambda: tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE"),
            lambda: tf.ensure_shape(tf.io.decode_image(data, channels=3, expand_animations=False), [None, None, 3]),
        )

    @staticmethod
    def _begins(data: tf.Tensor, mark: bytes) -> tf.Tensor:
        return tf.strings.substr(data, 0, tf.minimum(len(mark), tf.strings.length(data))) == mark

    def _size(self, data: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Height and width, as the header says."""
        jpeg, png, bmp = (self._begins(data, mark) for mark in (JPEG, PNG, BMP))

        def two(start: int, little: bool) -> tf.Tensor:
            head = tf.strings.substr(tf.strings.join([data, b"\0" * (start + 8)]), start, 8)
            return tf.abs(tf.io.decode_raw(head, tf.int32, little_endian=little))

        message = f"{self.input_name}: expected {self.expected}, received other bytes:"
        with tf.control_dependencies([tf.debugging.Assert(jpeg | png | bmp, [message, tf.strings.length(data)])]):
            data = tf.identity(data)
        head = tf.strings.substr(tf.strings.join([data, b"\0" * 30]), 28, 2)
        deep = tf.cast(tf.io.decode_raw(head, tf.uint16)[0], tf.int32) >= BMP_BITS
        few = f"{self.input_name}: expected a BMP picture of {BMP_BITS} bits a pixel or more"
        with tf.control_dependencies([tf.debugging.Assert(deep | ~bmp, [few])]):
            data = tf.identity(data)
        size = tf.cond(
            jpeg,
            lambda: tf.image.extract_jpeg_shape(data)[:2],
            lambda: tf.where(png, two(16, False), two(18, True))[::-1],
        )
        return size[0], size[1]


def _inside(shape: tf.Tensor, most_height: int, most_width: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The twin of `inside`."""
    height, width = shape[0], shape[1]
    fits, tall = (height <= most_height) & (width <= most_width), height * most_width > width * most_height
    by_height = tf.stack([tf.constant(most_height, tf.int64), tf.maximum(width * most_height // height, 1)])
    by_width = tf.stack([tf.maximum(height * most_width // width, 1), tf.constant(most_width, tf.int64)])
    found = tf.cast(tf.where(fits, shape[:2], tf.where(tall, by_height, by_width)), tf.int32)
    return found[0], found[1]
