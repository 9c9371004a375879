"""Loops for LiteRT, which runs a loop fastest if no size in it changes.

LiteRT's converter turns every write to a tensor array into slices of unknown size and a concatenation, after which the
runtime plans its memory again in every step. Within `tracing`, loops write each step to a row of a tensor instead.

After a step, LiteRT 2.3 and tflite-runtime 2.14 copy the results to the inputs of the next step one after another. If a
result is itself an input, in another place, it may be overwritten before it is copied: with `(a, b) = (a + b, a)`, both
become `a + b`. Steps therefore pass their results through `apart`, and `export.lite_loops` checks the file.
"""

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla

_TRACING = contextvars.ContextVar("tracing", default=False)


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Trace the loops in this context for LiteRT.

    >>> with tracing():
    ...     is_tracing()
    True
    """
    token = _TRACING.set(True)
    try:
        yield
    finally:
        _TRACING.reset(token)


def is_tracing() -> bool:
    """Return whether loops are being traced for LiteRT."""
    return _TRACING.get()


def apart(results: Any, inputs: Any) -> Any:
    """Copy the results of a step that are an input in another place; return the others as they are."""
    if not is_tracing():
        return results
    places = {id(one): place for place, one in enumerate(tf.nest.flatten(inputs))}
    copied = [
        one if places.get(id(one), place) == place else tf.gather(tf.expand_dims(one, 0), 0)  # other copies are removed
        for place, one in enumerate(tf.nest.flatten(results))
    ]
    return tf.nest.pack_sequence_as(results, copied)


def rows(like: tf.Tensor, length: tf.Tensor | int) -> tf.Tensor:
    """Return `length` rows of zeros, each of which can store a tensor of this shape."""
    shape = like.shape[1:] if _is_single(like) else like.shape
    if shape.is_fully_defined():
        return tf.zeros([length, *shape], like.dtype)
    sizes = tf.shape(like)[like.shape.rank - shape.rank :]
    return tf.zeros(tf.concat([[length], sizes], axis=0), like.dtype)


def write_row(kept: tf.Tensor, place: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    """Return the rows with one of them replaced."""
    row = value if _is_single(value) else tf.expand_dims(value, 0)
    return xla.dynamic_update_slice(kept, row, tf.stack([place] + [0] * (row.shape.rank - 1)))


def stack_rows(kept: tf.Tensor, rank: int) -> tf.Tensor:
    """Return the stored tensors as `[length, ...]`, given their rank."""
    return tf.expand_dims(kept, 1) if kept.shape.rank == rank else kept


def _is_single(value: tf.Tensor) -> bool:
    """Return whether the first axis has size 1, as a batch in LiteRT has; the value is then a row by itself."""
    return value.shape.rank > 0 and value.shape[0] == 1


def scan(
    step: Callable[[Any, Any], Any], elements: Any, initial: Any, length: tf.Tensor | int, reverse: bool
) -> tuple[Any, Any]:
    """Run `carry = step(carry, element)` over `length` elements, 0 included; return the stacked carries and the last.

    The arguments are those of `core.scan.scan`, except that the step has its arguments in the order of `tf.scan`.
    """

    def body(place: tf.Tensor, carry: Any, kept: Any) -> tuple:
        carry = apart(step(carry, tf.nest.map_structure(lambda one: tf.gather(one, place), elements)), carry)
        kept = tf.nest.map_structure(lambda rows, value: write_row(rows, place, value), kept, carry)
        return place + (-1 if reverse else 1), carry, kept

    def has_next(place: tf.Tensor, *_: Any) -> tf.Tensor:
        return place >= 0 if reverse else place < length

    initial = tf.nest.map_structure(tf.convert_to_tensor, initial)
    first = tf.convert_to_tensor(length - 1 if reverse else 0)
    empty = tf.nest.map_structure(lambda value: rows(value, length), initial)
    _, last, kept = tf.while_loop(has_next, body, (first, initial, empty))
    return tf.nest.map_structure(lambda rows, value: stack_rows(rows, value.shape.rank), kept, last), last
