"""Images as pixels, in the graph; the size is read from the header before anything is decoded."""

import tensorflow as tf

from seqattn_tf.inputs.base import FieldTensors, GraphField, Tensors, check_batch
from seqattn_tf.lite.fields.image import (
    BATCH,
    BMP,
    BMP_BITS,
    COMPRESSED,
    FORMATS,
    JPEG,
    PNG,
    RESIZED,
    SCAN,
    SCANNED,
    SIDE,
    TEXTS,
    WHITE,
    Image,
)

_AT_ONCE = 16  # the number of images of a batch that are decoded in parallel


class GraphImage(GraphField):
    """The graph counterpart of `Image`; `expected` describes the files in error messages."""

    name_in_registry = "image"

    field: Image

    def __init__(self, field: Image, name: str, expected: str = FORMATS) -> None:
        super().__init__(field, name)
        self.expected = expected
        self.tensors = {"pixels": tf.TensorSpec([None, field.height, field.width, 3], tf.float32)}

    def read(self, raw: tf.Tensor) -> FieldTensors:
        """Return the pixels; the cells of a grid have no names."""
        field, many = self.field, tf.size(raw, tf.int64)
        seen = field.height * field.width
        check = check_batch(self.input_name, "pictures", max(RESIZED, seen), "pixels once resized", many * seen)
        with tf.control_dependencies([check]):
            raw = tf.identity(raw)
        total = tf.reduce_sum(tf.reduce_prod(self._sizes(raw), axis=1))
        check = check_batch(self.input_name, "pictures", max(BATCH, field.limit), "pixels", total)
        with tf.control_dependencies([check]):
            return FieldTensors({"pixels": self._read(tf.identity(raw))}, {})

    def encode_unbounded(self, raw: tf.Tensor) -> Tensors:
        """Return the pixels of any number of images."""
        with tf.control_dependencies([self._sizes(raw)]):
            return {"pixels": self._read(tf.identity(raw))}

    def _sizes(self, raw: tf.Tensor) -> tf.Tensor:
        """Return heights and widths, `[batch, 2]`, after checking that all images can be decoded."""
        return tf.map_fn(self.size, raw, fn_output_signature=tf.TensorSpec([2], tf.int64))

    def _read(self, raw: tf.Tensor) -> tf.Tensor:
        shape = [self.field.height, self.field.width, 3]
        made = {"fn_output_signature": tf.TensorSpec(shape, tf.float32)}
        if not tf.executing_eagerly():
            made["parallel_iterations"] = _AT_ONCE
        return tf.map_fn(self._pixels, raw, **made)

    def _pixels(self, data: tf.Tensor) -> tf.Tensor:
        pixels, field = self.decode(data), self.field
        if not field.pad:
            return tf.image.resize(pixels, [field.height, field.width], "bilinear", antialias=True)
        height, width = _inside(tf.shape(pixels, tf.int64), field.height, field.width)
        found = tf.image.resize(pixels, [height, width], "bilinear", antialias=True)
        found = tf.pad(found, [[0, field.height - height], [0, field.width - width], [0, 0]], constant_values=WHITE)
        return tf.ensure_shape(found, [field.height, field.width, 3])

    def decode(self, data: tf.Tensor) -> tf.Tensor:
        """Decode an image at its original size, `[y, x, 3]`, after `size` has checked it."""
        return tf.cond(  # other decoders, including Pillow's, use the accurate method
            self._begins(data, JPEG),
            lambda: tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE"),
            lambda: tf.ensure_shape(tf.io.decode_image(data, channels=3, expand_animations=False), [None, None, 3]),
        )

    @staticmethod
    def _begins(data: tf.Tensor, mark: bytes) -> tf.Tensor:
        return tf.strings.substr(data, 0, tf.minimum(len(mark), tf.strings.length(data))) == mark

    def size(self, data: tf.Tensor) -> tf.Tensor:
        """Return height and width from the header.

        Files that are not images, or too expensive to decode, raise an INVALID_ARGUMENT error.
        """
        jpeg, png, bmp = (self._begins(data, mark) for mark in (JPEG, PNG, BMP))
        message = f"{self.input_name}: expected {self.expected}, received other bytes:"
        data = self._refuse(data, jpeg | png | bmp, message, tf.strings.length(data))
        head = tf.strings.substr(tf.strings.join([data, b"\0" * 30]), 28, 2)
        deep = tf.cast(tf.io.decode_raw(head, tf.uint16)[0], tf.int32) >= BMP_BITS
        data = self._refuse(
            data, deep | ~bmp, f"{self.input_name}: expected a BMP picture of {BMP_BITS} bits a pixel or more"
        )
        texts = tf.cond(png, lambda: sum(_count(data, kind) for kind in COMPRESSED), lambda: tf.constant(0, tf.int64))
        message = f"{self.input_name}: expected a PNG picture of at most {TEXTS} compressed texts, received"
        data = self._refuse(data, texts <= TEXTS, message, texts)
        height, width = self._header(data, jpeg, png)
        message = f"{self.input_name}: expected {self.expected}, received a corrupt one:"
        data = self._refuse(data, (height > 0) & (width > 0), message, width, "x", height)
        message = f"{self.input_name}: expected a picture of at most {self.field.limit} pixels, received"
        small = (height <= self.field.limit) & (width <= self.field.limit)
        data = self._refuse(data, small & (height * width <= self.field.limit), message, width, "x", height)
        message = f"{self.input_name}: expected a picture of at most {SIDE} pixels a side, received"
        data = self._refuse(data, tf.maximum(height, width) <= SIDE, message, width, "x", height)
        scans = tf.cond(jpeg, lambda: _count(data, SCAN), lambda: tf.constant(0, tf.int64))
        message = f"{self.input_name}: expected a JPEG picture of this size with at most"
        most = SCANNED // tf.maximum(height * width, 1)
        few = tf.debugging.Assert(scans <= most, [message, most, "scans, received", scans])
        with tf.control_dependencies([few]):
            return tf.stack([height, width])

    @staticmethod
    def _refuse(data: tf.Tensor, right: tf.Tensor, *said: object) -> tf.Tensor:
        """Return the data after asserting a condition."""
        with tf.control_dependencies([tf.debugging.Assert(right, list(said))]):
            return tf.identity(data)

    @staticmethod
    def _header(data: tf.Tensor, jpeg: tf.Tensor, png: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return height and width from the header of the file, by its format."""

        def two(start: int, little: bool) -> tf.Tensor:
            head = tf.strings.substr(tf.strings.join([data, b"\0" * (start + 8)]), start, 8)
            return tf.cast(tf.io.decode_raw(head, tf.int32, little_endian=little), tf.int64)

        size = tf.cond(
            jpeg,
            lambda: tf.cast(tf.image.extract_jpeg_shape(data)[:2], tf.int64),
            lambda: tf.where(png, two(16, False) % (1 << 32), tf.abs(two(18, True)))[::-1],
        )
        return size[0], size[1]


def _count(data: tf.Tensor, mark: bytes) -> tf.Tensor:
    """Count the occurrences of `mark` in the data."""
    return tf.size(tf.strings.split(data, mark), tf.int64) - 1


def _inside(shape: tf.Tensor, most_height: int, most_width: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the result of `lite.fields.image.inside` in the graph."""
    height, width = shape[0], shape[1]
    fits, tall = (height <= most_height) & (width <= most_width), height * most_width > width * most_height
    by_height = tf.stack([tf.constant(most_height, tf.int64), tf.maximum(width * most_height // height, 1)])
    by_width = tf.stack([tf.maximum(height * most_width // width, 1), tf.constant(most_width, tf.int64)])
    found = tf.cast(tf.where(fits, shape[:2], tf.where(tall, by_height, by_width)), tf.int32)
    return found[0], found[1]
