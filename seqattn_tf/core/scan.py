"""The basic time loop: `tf.scan` over time-major tensors, with support for masks.

    carry[-1] = initial
    carry[t]  = step(elements[t], carry[t-1])    where mask[t],   else carry[t-1]

A step includes its outputs in its carry, so the stacked carries contain every output of every step, and the last one is
the final state. `tf.scan` provides gradients, XLA and LiteRT support. Outside a graph, the steps run one by one.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from seqattn_tf.core import edge


@functools.cache
def has_accelerator() -> bool:
    """Return whether TensorFlow has a device other than the CPU, on which loops with few large steps are faster."""
    return any(device.device_type != "CPU" for device in tf.config.get_visible_devices())


def to_time_major(tensor: tf.Tensor) -> tf.Tensor:
    """Swap the first two axes: `[batch, time, ...] <-> [time, batch, ...]`."""
    return tf.transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])


def where_rows(mask: tf.Tensor, new: Any, old: Any) -> Any:
    """Select `new` where `mask: [batch]` is True and `old` elsewhere, for every tensor of a structure."""

    def choose(fresh: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
        if edge.is_tracing():
            return tf.raw_ops.Select(condition=mask, x=fresh, y=last)  # copies whole rows, without broadcasting
        return tf.where(tf.reshape(mask, [-1] + [1] * (fresh.shape.rank - 1)), fresh, last)

    return tf.nest.map_structure(choose, new, old)


def _at_least_one(tensor: tf.Tensor) -> tf.Tensor:
    missing = tf.maximum(1 - tf.shape(tensor)[0], 0)
    numbers = tf.cast(tensor, tf.int32) if tensor.dtype == tf.bool else tensor  # LiteRT before 2.20 pads no booleans
    return tf.cast(tf.pad(numbers, [[0, missing]] + [[0, 0]] * (tensor.shape.rank - 1)), tensor.dtype)


def scan(
    step: Callable[[Any, Any], Any],
    elements: Any,
    initial: Any,
    mask: tf.Tensor | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Run `carry = step(element, carry)` over the leading axis of `elements`.

    Args:
        step: A function of one time slice of `elements` and the carry, which returns a carry of the same structure and
            shapes.
        elements: A structure of time-major tensors `[time, batch, ...]`.
        initial: The carry before the first step, a structure of tensors `[batch, ...]`.
        mask: The mask `[time, batch]`, True = keep. A masked step leaves the carry of its row unchanged.
        reverse: Whether to run from the last step to the first. Results keep their time index.

    Returns:
        The stacked carries `[time, batch, ...]` and the carry after the last step taken.

    >>> sums, last = scan(lambda x, total: total + x, tf.constant([[1.0], [2.0], [3.0]]), tf.zeros([1]))
    >>> sums.numpy().ravel().tolist(), last.numpy().tolist()
    ([1.0, 3.0, 6.0], [6.0])
    """

    def body(carry: Any, slices: Any) -> Any:
        if mask is None:
            new = step(slices, carry)
        else:
            element, keep = slices
            new = where_rows(keep, step(element, carry), carry)
        return tf.nest.map_structure(_shaped_as, new, carry)

    elements = elements if mask is None else (elements, mask)
    final = 0 if reverse else -1
    length = tf.nest.flatten(elements)[0].shape[0]
    if length == 0:  # tf.scan needs a first step
        return tf.nest.map_structure(lambda state: tf.zeros_like(state)[None][:0], initial), initial
    if tf.executing_eagerly():
        carries = list(_steps(body, elements, initial, reverse))
        stacked = tf.nest.map_structure(lambda *states: tf.stack(states), *(carries[::-1] if reverse else carries))
        return stacked, carries[-1]
    if edge.is_tracing():
        return edge.scan(body, elements, initial, size_of(tf.nest.flatten(elements)[0], 0), reverse)
    if length is not None:
        stacked = tf.scan(body, elements, initial, reverse=reverse)
        return stacked, tf.nest.map_structure(lambda carries: carries[final], stacked)

    # The length is unknown while tracing and may be 0: in that case, take one step and discard it.
    length = tf.shape(tf.nest.flatten(elements)[0])[0]
    stacked = tf.scan(body, tf.nest.map_structure(_at_least_one, elements), initial, reverse=reverse)
    last = tf.nest.map_structure(lambda carries, before: tf.where(length > 0, carries[final], before), stacked, initial)
    return tf.nest.map_structure(lambda carries: carries[:length], stacked), last


def _steps(body: Callable[[Any, Any], Any], elements: Any, carry: Any, reverse: bool) -> Iterator[Any]:
    """Yield the carry after each step, eagerly: a plain loop takes a third of the time of TensorFlow's."""
    carry = tf.nest.map_structure(tf.convert_to_tensor, carry)
    slices = list(zip(*map(tf.unstack, tf.nest.flatten(elements)), strict=True))
    for each in reversed(slices) if reverse else slices:
        carry = body(carry, tf.nest.pack_sequence_as(elements, each))
        yield carry


def size_of(tensor: tf.Tensor, axis: int) -> tf.Tensor | int:
    """Return the size of an axis: a number if it is known, otherwise a tensor."""
    known = tensor.shape[axis]
    return tf.shape(tensor)[axis] if known is None else known


def _shaped_as(tensor: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """Set the static shape of a tensor to that of another, without an op that some runtimes lack."""
    tensor = tf.convert_to_tensor(tensor)
    tensor.set_shape(other.shape)
    return tensor


def repeat(going: Callable[..., Any], body: Callable[..., tuple], state: tuple, limit: tf.Tensor | int) -> tuple:
    """Repeat `state = body(*state)` while `going(*state)`, at most `limit` times; static shapes are preserved.

    >>> repeat(lambda n, _: n < 3, lambda n, total: (n + 1, total + n), (0, 0), limit=9)[1].numpy().item()
    3
    """

    def step(*state: Any) -> tuple:
        return edge.apart(tf.nest.map_structure(_shaped_as, body(*state), state), state)

    return tf.while_loop(going, step, tf.nest.map_structure(tf.convert_to_tensor, state), maximum_iterations=limit)


def fold(step: Callable[[Any, Any], Any], elements: Any, initial: Any, reverse: bool = False) -> Any:
    """Run a `scan` without a mask and return only the last carry, without storing the others.

    >>> int(fold(lambda x, total: total + x, tf.constant([1, 2, 3]), tf.constant(0)))
    6
    """
    if tf.nest.flatten(elements)[0].shape[0] == 0:
        return initial

    def shaped(carry: Any, element: Any) -> Any:
        return edge.apart(tf.nest.map_structure(_shaped_as, step(element, carry), carry), carry)

    if tf.executing_eagerly():
        *_, last = _steps(shaped, elements, initial, reverse)
        return last
    return (tf.foldr if reverse else tf.foldl)(shaped, elements, initial)
