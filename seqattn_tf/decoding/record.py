"""Records of the steps of a loop."""

from typing import Any, TypeAlias

import tensorflow as tf

from seqattn_tf.core import edge

Record: TypeAlias = tf.TensorArray | tf.Tensor  # one tensor per step, with steps on the leading axis


def record(nothing: tf.Tensor, length: int) -> Record:
    """Create a record for a tensor like `nothing` at every step; steps that are not written keep `nothing`.

    Writing to a tensor array costs as much as the data written, whereas writing to a tensor copies all of it. However,
    LiteRT does not support arrays of tensors of unknown size; there, the number of rows is known, but other sizes may
    be unknown, and a tensor is used. Within `edge.tracing`, a tensor is always used, one row of which can be replaced.
    """
    if edge.is_tracing():
        return edge.rows(nothing, length)
    if nothing.shape[0] is not None and not nothing.shape.is_fully_defined():
        return tf.zeros(tf.concat([[length], tf.shape(nothing)], axis=0), nothing.dtype)
    array = tf.TensorArray(nothing.dtype, length, element_shape=nothing.shape)
    return array.write(0, nothing)  # an array without writes cannot be stacked if a size is unknown


def write(kept: Record, time: tf.Tensor, value: tf.Tensor) -> Record:
    """Return the record with the tensor of one step written to it."""
    if isinstance(kept, tf.TensorArray):
        return kept.write(time, value)
    if edge.is_tracing():
        return edge.write_row(kept, time, value)
    here = tf.reshape(tf.range(kept.shape[0]) == time, [-1] + [1] * value.shape.rank)
    return tf.where(here, value[None], kept)


def stacked(kept: Record, rank: int) -> tf.Tensor:
    """Return the whole record `[length, ...]` of tensors of this rank."""
    if edge.is_tracing():
        return edge.stack_rows(kept, rank)
    return kept.stack() if isinstance(kept, tf.TensorArray) else kept


def alike(new: Any, old: Any) -> Any:
    """Set the static shapes of the results of a step to those of its inputs."""

    def shaped(one: Any, other: Any) -> Any:
        if not isinstance(one, tf.TensorArray):
            one.set_shape(other.shape)
        return one

    return edge.apart(tf.nest.map_structure(shaped, new, old), old)
