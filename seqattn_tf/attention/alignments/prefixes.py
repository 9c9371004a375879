"""Recurrences along the source in few rounds, for alignments that compute them at every step of a loop.

    out[0] = x[0],    out[1] = x[0] o x[1],    out[2] = x[0] o x[1] o x[2],    ...

for any associative operation `o`. The source is split into chunks. The recurrence first runs inside all chunks at once,
then over the totals of the chunks in the same way; finally the total of everything before a chunk is joined to each of
its elements:

    x     a   b   c   d     e   f   g   h     i  ...
          a   ab  abc abcd  e   ef  efg efgh  i  ...        inside the chunks
                      abcd              abcdefgh            over their totals
    out   a   ab  abc abcd  abcde ...             abcdefghi ...

The source is the leading axis here, so that slices of it are contiguous.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from seqattn_tf.core.scan import repeat, size_of

_CHUNK = 4

Join = Callable[[Any, Any], Any]  # join(earlier, later) = earlier o later, along the leading axis


def prefixes(join: Join, elements: Any) -> Any:
    """Compute `out[i] = x[0] o ... o x[i]` along the leading axis of a structure of tensors.

    >>> prefixes(tf.add, tf.constant([1, 2, 3, 4, 5])).numpy().tolist()
    [1, 3, 6, 10, 15]
    """
    size = size_of(tf.nest.flatten(elements)[0], 0)
    if not isinstance(size, int):  # two rounds suffice for sentences; a loop handles longer ones
        return _in_chunks(join, elements, lambda x: _in_chunks(join, x, lambda y: _doubling(join, y)))
    if size > _CHUNK:
        return _in_chunks(join, elements, lambda totals: prefixes(join, totals))
    found = [_cut(elements, slice(i, i + 1)) for i in range(size)]
    for i in range(1, size):
        found[i] = join(found[i - 1], found[i])
    return tf.nest.map_structure(lambda *x: tf.concat(x, 0), *found) if found else elements


def _cut(elements: Any, part: slice) -> Any:
    return tf.nest.map_structure(lambda x: x[part], elements)


def _in_chunks(join: Join, elements: Any, along: Callable[[Any], Any]) -> Any:
    """Run the recurrence in chunks; `along` runs it over their totals."""
    size = size_of(tf.nest.flatten(elements)[0], 0)
    chunks = -(-size // _CHUNK)
    if not isinstance(size, int):
        chunks = tf.maximum(chunks, 2)  # so that there is a total: LiteRT cannot unstack an empty tensor
    missing = chunks * _CHUNK - size

    def places(x: tf.Tensor) -> list[tf.Tensor]:
        """Return the first element of every chunk, then the second, and so on, without slow strided slices."""
        rest = [size_of(x, axis) for axis in range(1, x.shape.rank)]
        padded = tf.pad(x, [[0, missing]] + [[0, 0]] * len(rest))
        return tf.unstack(tf.reshape(padded, [chunks, _CHUNK, *rest]), axis=1)

    def flat(*parts: tf.Tensor) -> tf.Tensor:
        rest = [size_of(parts[0], axis) for axis in range(1, parts[0].shape.rank)]
        return tf.reshape(tf.stack(parts, axis=1), [_CHUNK * size_of(parts[0], 0), *rest])

    flattened = [places(x) for x in tf.nest.flatten(elements)]
    inside = [tf.nest.pack_sequence_as(elements, x) for x in zip(*flattened, strict=True)]
    for i in range(1, _CHUNK):
        inside[i] = join(inside[i - 1], inside[i])
    before = along(_cut(inside[-1], slice(None, -1)))
    before = tf.nest.map_structure(lambda x: flat(*[x] * _CHUNK), before)
    found = tf.nest.map_structure(flat, *inside)
    later = join(before, _cut(found, slice(_CHUNK, None)))
    return tf.nest.map_structure(lambda x, y: tf.concat([x[:_CHUNK], y], 0)[:size], found, later)


def _doubling(join: Join, elements: Any) -> Any:
    """Run the recurrence for any size by joining each result with the one `reach` before it and doubling `reach`.

    This takes more work than chunks do.
    """
    size = tf.shape(tf.nest.flatten(elements)[0])[0]

    def further(reach: tf.Tensor, elements: Any) -> tuple:
        joined = join(_cut(elements, slice(None, -reach)), _cut(elements, slice(reach, None)))
        return 2 * reach, tf.nest.map_structure(lambda x, new: tf.concat([x[:reach], new], 0), elements, joined)

    return repeat(lambda reach, _: reach < size, further, (1, elements), limit=31)[1]


def earlier(values: tf.Tensor) -> tf.Tensor:
    """Shift values by one position along the leading axis, with 0 before the first."""
    return tf.concat([tf.zeros_like(values[:1]), values[:-1]], 0)


def _later(values: tf.Tensor) -> tf.Tensor:
    return tf.concat([values[1:], tf.zeros_like(values[:1])], 0)


def _join_affine(before: tuple, after: tuple) -> tuple:
    """Compose two affine maps `y -> d y + x`, the first one applied first."""
    return before[0] * after[0], after[0] * before[1] + after[1]


@tf.custom_gradient
def recurrence(decay: tf.Tensor, inputs: tf.Tensor) -> tuple[tf.Tensor, Any]:
    """Compute `y[j] = decay[j] y[j-1] + inputs[j]` along the leading axis, from `y[-1] = 0`, without a division.

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
    """Compute `y[j] = inputs[j] + decay[j+1] y[j+1]` from the end: the gradient of `recurrence` in its inputs.

    >>> backward_recurrence(tf.constant([9.0, 0.5, 0.0]), tf.constant([1.0, 1.0, 1.0])).numpy().tolist()
    [1.5, 1.0, 1.0]
    """
    return tf.reverse(recurrence(tf.reverse(_later(decay), [0]), tf.reverse(inputs, [0])), [0])
