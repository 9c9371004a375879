"""Requests of unequal lengths in one batch: each is packed row by row, and padded when the batch is together.

As in TF Serving (`pad_variable_length_inputs`), a row is padded up to the longest of its batch with the first element
of the tensor it came in, and outputs are not cut again.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from seqattn_tf.serving.models.calls import Call


def padded(call: Call) -> tuple[tf.types.experimental.ConcreteFunction, list[tf.TensorSpec]]:
    """A function of packed inputs that does what the call does, and what each input of the call was.

    An input `[rows, ...]` goes in as `packed` made it: two tensors of `[rows]`.
    """
    inputs = [tf.TensorSpec([None] * tensor.shape.rank, tensor.dtype) for tensor in call.tensors]
    specs = [spec for one in inputs for spec in (tf.TensorSpec([None], tf.string), tf.TensorSpec([None], one.dtype))]

    @tf.function(input_signature=specs, autograph=False)
    def run(*tensors: tf.Tensor) -> list[tf.Tensor]:
        pairs = zip(tensors[::2], tensors[1::2], inputs, strict=True)
        outputs = call.function(**dict(zip(call.inputs, (_unpack(*pair) for pair in pairs), strict=True)))
        return [outputs[alias] for alias in call.outputs]

    return run.get_concrete_function(), inputs


def packed(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """All inputs, packed."""
    return [part for tensor in tensors for part in _pack(tensor)]


def _pack(tensor: tf.Tensor) -> list[tf.Tensor]:
    """Each row as a string, and with each the first element of the whole."""
    rows = tf.map_fn(tf.io.serialize_tensor, tensor, fn_output_signature=tf.string)
    flat = tf.concat([tf.reshape(tensor, [-1]), tf.zeros([1], tensor.dtype)], 0)  # rows may be empty
    return [rows, tf.fill(tf.shape(rows), flat[0])]


def _unpack(rows: tf.Tensor, firsts: tf.Tensor, spec: tf.TensorSpec) -> tf.Tensor:
    inner = tf.TensorSpec([None] * (spec.shape.rank - 1), spec.dtype)

    def read(row: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(tf.io.parse_tensor(row, spec.dtype), inner.shape)

    sizes = tf.map_fn(lambda row: tf.shape(read(row)), rows, fn_output_signature=tf.int32)
    longest = tf.reduce_max(sizes, axis=0)

    def pad(pair: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        row = read(pair[0])
        missing = longest - tf.shape(row)
        return tf.pad(row, tf.stack([tf.zeros_like(missing), missing], axis=1), constant_values=pair[1])

    return tf.map_fn(pad, (rows, firsts), fn_output_signature=inner)
