"""Feature maps computed in advance, in the graph."""

import tensorflow as tf

from seqattn_tf.inputs.base import FieldTensors, GraphField
from seqattn_tf.lite.fields.feature_map import NUMBER, Map


class GraphMap(GraphField):
    """The graph counterpart of `Map`."""

    name_in_registry = "map"

    field: Map

    def __init__(self, field: Map, name: str) -> None:
        super().__init__(field, name)
        self.tensors = {"map": tf.TensorSpec([None, *field.shape], tf.float32)}

    def read(self, raw: tf.Tensor) -> FieldTensors:
        """Return the feature maps; the cells of a grid have no names."""
        size = self.field.rows * self.field.columns * self.field.channels
        whole = tf.reduce_all(tf.strings.length(raw) == size * NUMBER.itemsize)
        message = f"{self.input_name}: expected the {size * NUMBER.itemsize} bytes of a map of {self.field.shape}"
        with tf.control_dependencies([tf.debugging.Assert(whole, [message, tf.strings.length(raw)])]):
            numbers = tf.io.decode_raw(tf.identity(raw), tf.float16, little_endian=True)
        return FieldTensors({"map": tf.cast(tf.reshape(numbers, [-1, *self.field.shape]), tf.float32)}, {})
