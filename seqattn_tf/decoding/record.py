"""What a loop keeps of its steps."""

from typing import Any, TypeAlias

import tensorflow as tf

Record: TypeAlias = tf.TensorArray | tf.Tensor  # one tensor for every step, the steps on the leading axis


def record(nothing: tf.Tensor, length: int) -> Record:
    """Room for a tensor like `nothing` at every step; where none is written, it stays nothing.

    Writing into an array costs what is written, writing into a tensor all that was written before. But LiteRT, for
    which the rows must be known while other sizes need not be, knows no arrays of tensors of unknown size.
    """
    if nothing.shape[0] is not None and not nothing.shape.is_fully_defined():
        return tf.zeros(tf.concat([[length], tf.shape(nothing)], axis=0), nothing.dtype)
    array = tf.TensorArray(nothing.dtype, length, element_shape=nothing.shape)
    return array.write(0, nothing)  # an array in which nothing is written cannot be stacked if a size is unknown


def write(kept: Record, time: tf.Tensor, value: tf.Tensor) -> Record:
    """The record with the tensor of one step."""
    if isinstance(kept, tf.TensorArray):
        return kept.write(time, value)
    here = tf.reshape(tf.range(kept.shape[0]) == time, [-1] + [1] * value.shape.rank)
    return tf.where(here, value[None], kept)


def stacked(kept: Record) -> tf.Tensor:
    """All of it: `[length, ...]`."""
    return kept.stack() if isinstance(kept, tf.TensorArray) else kept


def alike(new: Any, old: Any) -> Any:
    """What a step hands on, with the static shapes of what it was handed."""

    def shaped(one: Any, other: Any) -> Any:
        if not isinstance(one, tf.TensorArray):
            one.set_shape(other.shape)
        return one

    return tf.nest.map_structure(shaped, new, old)
