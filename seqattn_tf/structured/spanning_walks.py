"""Spanning trees without a subtraction: probabilities of a random walk, in log space.

A walk moves from a word `d` to a head `h` at the rate `w(d, h)`, until it is at the root. With `e_d(h)` the probability
that it reaches the root from `h` before it meets `d` (Wilson, 1996),

    p(d has the head h) = w(d, h) e_d(h) / D_d        D_d = w(d, 0) + sum_h w(d, h) e_d(h)

Taking a word `p` out of the graph needs sums, products and quotients only:

    w(h, x) <- w(h, x) + w(h, p) w(p, x) / S_p        S_p = sum of w(p, x) over what is left, x != p

and `Z` is the product of the `S_p`, the last of them being `D_d`. To leave every word once as the last, halve: one half
of the words is taken out of the graph of the other half, and so on down to single words, each with a graph of its own:
`O(N^3 log N)`. What never subtracts loses no digits, however far apart the scores are.

Numbers are *jets*: a tuple of a logarithm and, where wanted, its derivative in one direction.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

Jet = tuple[tf.Tensor, ...]

_NEVER = -float("inf")


def size_of(tensor: tf.Tensor, axis: int) -> tf.Tensor | int:
    """The size of an axis: a number where it is known, else a tensor."""
    known = tensor.shape[axis]
    return tf.shape(tensor)[axis] if known is None else known


def loop(going: Callable[..., Any], body: Callable[..., tuple], state: tuple, limit: tf.Tensor | int) -> tuple:
    """`tf.while_loop` whose state keeps its static shapes."""

    def step(*state: Any) -> tuple:
        return tf.nest.map_structure(lambda new, old: tf.ensure_shape(new, old.shape), body(*state), state)

    return tf.while_loop(going, step, tf.nest.map_structure(tf.convert_to_tensor, state), maximum_iterations=limit)


def _map(function: Callable[..., tf.Tensor], *jets: Jet) -> Jet:
    return tuple(function(*parts) for parts in zip(*jets, strict=True))


def _sum(terms: list[Jet], axis: int | None = None) -> Jet:
    """The sum of jets, and over an axis where one is named; the derivative of a sum's logarithm is a weighted mean."""
    tops = [term[0] if axis is None else tf.reduce_max(term[0], axis=axis, keepdims=True) for term in terms]
    top = tops[0] if len(tops) == 1 else tf.maximum(*tops)
    top = tf.stop_gradient(tf.where(top > _NEVER, top, tf.zeros_like(top)))

    def add(values: list[tf.Tensor]) -> tf.Tensor:
        return tf.add_n(values if axis is None else [tf.reduce_sum(v, axis=axis) for v in values])

    parts = [tf.exp(term[0] - top) for term in terms]
    total = add(parts)
    safe = tf.where(total > 0, total, tf.ones_like(total))
    top = top if axis is None else tf.squeeze(top, axis)
    means = (add([p * term[n] for p, term in zip(parts, terms, strict=True)]) / safe for n in range(1, len(terms[0])))
    return (tf.where(total > 0, top + tf.math.log(safe), tf.constant(_NEVER, safe.dtype)), *means)


def _times(left: Jet, right: Jet) -> Jet:
    return _map(tf.add, left, right)


def _over(above: Jet, below: Jet) -> Jet:
    """The quotient; nothing over nothing is nothing."""
    return _map(tf.subtract, above, (tf.where(below[0] > _NEVER, below[0], tf.zeros_like(below[0])), *below[1:]))


def _only(keep: tf.Tensor, jet: Jet) -> Jet:
    """The jet where it is kept, nothing elsewhere."""
    blanks = (tf.constant(_NEVER, jet[0].dtype), *(tf.constant(0, t.dtype) for t in jet[1:]))
    return _map(lambda t, blank: tf.where(keep, t, blank), jet, blanks)


def _power_of_two(size: tf.Tensor | int) -> tf.Tensor | int:
    """The smallest power of two that is not below `size`."""
    if isinstance(size, int):
        return 1 << max(size - 1, 0).bit_length()
    powers = tf.constant([1 << n for n in range(31)])
    return tf.reduce_min(tf.where(powers >= size, powers, powers[-1]))


def walk(arcs: Jet, lengths: tf.Tensor) -> tuple[tf.Tensor, Jet]:
    """The log-partition `[batch]` and the marginals, of arcs `[batch, words, words + 1]` in float64.

    Args:
        arcs: a jet of log-potentials, `-inf` where there is no arc.
        lengths: the number of words of every row.

    Returns:
        The log-partition and the marginals with, where the arcs have one, their derivative.
    """
    words = size_of(arcs[0], 1)
    size = _power_of_two(words)
    ids = tf.range(size)
    rows = tf.range(words)[:, None]

    def other_half(kept: tf.Tensor, half: tf.Tensor | int) -> tf.Tensor:
        half = tf.maximum(half, 1)
        swapped = tf.where(ids // half % 2 == 0, ids + half, ids - half)
        return tf.gather(kept, tf.minimum(swapped, size - 1), axis=-1)

    # For every x its own graph: rates from all words [batch, words, size] to x, to the word that stands at the place
    # of x in the half to be taken out, and to the root.
    none = tf.fill([tf.shape(arcs[0])[0], words, size - words], tf.constant(_NEVER, arcs[0].dtype))
    kept = _map(lambda t, blank: tf.concat([t[:, :, 1:], blank], 2), arcs, (none, tf.zeros_like(none))[: len(arcs)])
    root = _map(lambda t, like: tf.broadcast_to(t[:, :, :1], tf.shape(like)), arcs, kept)

    def take_out(half: tf.Tensor, step: tf.Tensor, log_z: tf.Tensor, graph: Jet) -> tuple:
        first = ids // half * half
        out = tf.where(ids // half % 2 == 0, first + half, first - half) + step  # the word taken out of the graph of x
        places = tf.minimum(out, words - 1) * size + ids
        leaving = _map(lambda t: tf.gather(tf.reshape(t, [3, -1, words * size]), places, axis=-1), graph)
        ours, theirs, to_root = (_map(lambda t, k=k: t[k], leaving) for k in range(3))  # [batch, size]
        rest = _sum([ours, _only(ids - first > step, theirs)])
        mates = _only(first[:, None] == first, _map(lambda t: t[:, None], rest))  # [batch, size, size]
        total = _sum([mates, _map(lambda t: t[:, :, None], to_root)], -1)
        share = _map(lambda t: t[:, :, None], _over(leaving, total))  # [3, batch, 1, size]
        into = _map(lambda t: tf.gather(t[1], first + step, axis=-1), graph)  # [batch, words, size]
        moved = _sum([graph, _times(into, share)])
        graph = _map(lambda new, own: tf.where(rows == out, own, new), moved, share)
        log_z += tf.where(out[0] < lengths, total[0][:, 0], tf.zeros_like(log_z))
        done = step + 1 == half
        half, step = tf.where(done, half // 2, half), tf.where(done, 0, step + 1)
        graph = _map(lambda t: tf.stack([t[0], tf.where(done, other_half(t[0], half), t[1]), t[2]]), graph)
        return half, step, log_z, graph

    graph = _map(lambda k, r: tf.stack([k, other_half(k, size // 2), r]), kept, root)
    start = (size // 2, 0, tf.zeros_like(arcs[0][:, 0, 0]), graph)
    _, _, log_z, graph = loop(lambda half, *_: half > 0, take_out, start, size)
    reach = _map(lambda t: tf.linalg.matrix_transpose(t[2][:, :, :words]), graph)  # [batch, d, h]: e_d(h), and D_d at d
    own = _map(lambda t: tf.linalg.diag_part(t)[:, :, None], reach)
    log_z = tf.where(lengths > 0, log_z + own[0][:, 0, 0], tf.zeros_like(log_z))
    heads = _map(lambda t, o: tf.concat([tf.zeros_like(o), t], 2), reach, own)
    logs = _over(_times(arcs, heads), own)
    found = tf.where(log_z[:, None, None] > _NEVER, tf.exp(logs[0]), tf.zeros_like(logs[0]))
    return log_z, (found, *(found * t for t in logs[1:]))


def escape(arcs: tf.Tensor, word: tf.Tensor) -> tf.Tensor:
    """The log-probability `[batch, words]` of reaching the root before one word, from every other word."""
    size = size_of(arcs, 1)
    ids, heads = tf.range(size), tf.range(size + 1)

    def take_out(out: tf.Tensor, graph: tf.Tensor) -> tuple:
        left = (heads == 0) | (heads > out + 1) | (heads == word + 1)
        row = (graph[:, out],)
        share = _map(lambda t: t[:, None], _over(row, _map(lambda t: t[:, None], _sum([_only(left, row)], -1))))
        [moved] = _sum([(graph,), _times((graph[:, :, out + 1, None],), share)])
        moved = tf.where((ids == out)[:, None], share[0], moved)
        return out + 1, tf.where(out == word, graph, moved)

    _, graph = loop(lambda out, _: out < size, take_out, (0, arcs), size)
    return graph[:, :, 0]
