"""Recursions along the source in logarithmic depth, for what an alignment computes at every step of a loop.

    out[0] = x[0],    out[1] = x[0] o x[1],    out[2] = x[0] o x[1] o x[2],    ...

for any associative `o`: every round joins each result with the one `reach` places before it, and doubles the reach.
The source is the leading axis here, where parts of it are contiguous.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from seqattn_tf.scan import repeat, size_of

_UNROLLED = 32  # places of an unknown number for which no loop is needed: most sentences have fewer


def prefixes(join: Callable[[Any, Any], Any], elements: Any) -> Any:
    """`out[i] = x[0] o ... o x[i]` along the leading axis, where `join(earlier, later) = earlier o later`.

    >>> prefixes(tf.add, tf.constant([1, 2, 3, 4, 5])).numpy().tolist()
    [1, 3, 6, 10, 15]
    """
    size = size_of(tf.nest.flatten(elements)[0], 0)

    def further(reach: tf.Tensor | int, elements: Any) -> tuple:
        before, after = (tf.nest.map_structure(lambda x, p=part: x[p], elements) for part in _parts(reach))
        joined = join(before, after)
        return 2 * reach, tf.nest.map_structure(lambda x, new: tf.concat([x[:reach], new], 0), elements, joined)

    state, known = (1, elements), isinstance(size, int)
    while state[0] < (size if known else _UNROLLED):  # further than there are places, a round changes nothing
        state = further(*state)
    return state[1] if known else repeat(lambda reach, _: reach < size, further, state, limit=31)[1]


def _parts(reach: tf.Tensor | int) -> tuple[slice, slice]:
    return slice(None, -reach), slice(reach, None)


def earlier(values: tf.Tensor) -> tf.Tensor:
    """What stands one place before, along the leading axis; 0 before the first."""
    return tf.concat([tf.zeros_like(values[:1]), values[:-1]], 0)


def _later(values: tf.Tensor) -> tf.Tensor:
    return tf.concat([values[1:], tf.zeros_like(values[:1])], 0)


def _join_affine(before: tuple, after: tuple) -> tuple:
    """First the one `y -> d y + x`, then the other."""
    return before[0] * after[0], after[0] * before[1] + after[1]


@tf.custom_gradient
def recurrence(decay: tf.Tensor, inputs: tf.Tensor) -> tuple[tf.Tensor, Any]:
    """`y[j] = decay[j] y[j-1] + inputs[j]` along the leading axis, from `y[-1] = 0`, without a division.

    Both arguments have the same shape.

    >>> recurrence(tf.constant([9.0, 0.5, 0.0]), tf.constant([1.0, 1.0, 1.0])).numpy().tolist()
    [1.0, 1.5, 1.0]
    """
    _, found = prefixes(_join_affine, (decay, inputs))

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        back = backward_recurrence(decay, upstream)
        return back * earlier(found), back

    return found, gradient


def backward_recurrence(decay: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
    """`y[j] = inputs[j] + decay[j+1] y[j+1]`, from the end: the gradient of `recurrence` in its inputs.

    >>> backward_recurrence(tf.constant([9.0, 0.5, 0.0]), tf.constant([1.0, 1.0, 1.0])).numpy().tolist()
    [1.5, 1.0, 1.0]
    """
    return tf.reverse(recurrence(tf.reverse(_later(decay), [0]), tf.reverse(inputs, [0])), [0])
