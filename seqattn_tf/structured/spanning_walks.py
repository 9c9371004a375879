"""Spanning trees without subtractions: probabilities of a random walk, in log space.

A walk moves from a word `d` to a head `h` at the rate `w(d, h)` until it reaches the root. Let `e_d(h)` be the
probability that it reaches the root from `h` before it reaches `d`. Then (Wilson, 1996)

    p(d has the head h) = w(d, h) e_d(h) / D_d        D_d = w(d, 0) + sum_h w(d, h) e_d(h)

Eliminating a word `p` from the graph requires only sums, products and quotients:

    w(h, x) <- w(h, x) + w(h, p) w(p, x) / S_p        S_p = sum of w(p, x) over the remaining x != p

`Z` is the product of the `S_p`, the last of which is `D_d`. So that every word remains once as the last one, the words
are halved recursively: one half is eliminated from the graph of the other half, down to single words, each with its own
graph. This takes `O(N^3 log N)`. Without subtractions, no precision is lost, however far apart the scores are.

Numbers are those of the `Log` semiring, with derivatives where required.
"""

import tensorflow as tf

from seqattn_tf.core.scan import repeat, size_of
from seqattn_tf.structured.semirings import Element, Log, each, filled, padded, value_of

_RING = Log()
_NEVER = _RING.zero


def _plus(x: Element, y: Element) -> Element:
    return _RING.sum(each(lambda v, w: tf.stack([v, tf.broadcast_to(w, tf.shape(v))]), x, y), axis=0)


def _only(keep: tf.Tensor, element: Element) -> Element:
    """Return the numbers where `keep` is True, and the zero of the semiring elsewhere."""
    return filled(lambda v, fill: tf.where(keep, v, tf.cast(fill, v.dtype)), element, _NEVER)


def _power_of_two(size: tf.Tensor | int) -> tf.Tensor | int:
    """Return the smallest power of two that is at least `size`."""
    if isinstance(size, int):
        return 1 << max(size - 1, 0).bit_length()
    powers = tf.constant([1 << n for n in range(31)])
    return tf.reduce_min(tf.where(powers >= size, powers, powers[-1]))


def walk(arcs: Element, lengths: tf.Tensor) -> tuple[tf.Tensor, Element]:
    """Return the log-partition `[batch]` and the marginals, given arcs `[batch, words, words + 1]` in float64.

    Args:
        arcs: The log-potentials, `-inf` for missing arcs.
        lengths: The number of words in each row.

    Returns:
        The log-partition, and the marginals with their derivative if the arcs have one.
    """
    values = value_of(arcs)
    words = size_of(values, 1)
    size = _power_of_two(words)
    ids = tf.range(size)
    rows = tf.range(words)[:, None]

    def other_half(kept: tf.Tensor, half: tf.Tensor | int) -> tf.Tensor:
        half = tf.maximum(half, 1)
        swapped = tf.where(ids // half % 2 == 0, ids + half, ids - half)
        return tf.gather(kept, tf.minimum(swapped, size - 1), axis=-1)

    # Every x has its own graph: rates from all words [batch, words, size] to x, to the word at the same index as x
    # in the half to be eliminated, and to the root.
    missing = [[0, 0], [0, 0], [0, size - words]]
    kept = filled(lambda v, fill: padded(v[:, :, 1:], missing, fill), arcs, _NEVER)
    root = each(lambda v, like: tf.broadcast_to(v[:, :, :1], tf.shape(like)), arcs, kept)

    def take_out(half: tf.Tensor, step: tf.Tensor, log_z: tf.Tensor, graph: Element) -> tuple:
        first = ids // half * half
        out = tf.where(ids // half % 2 == 0, first + half, first - half) + step  # eliminated from the graph of x
        places = tf.minimum(out, words - 1) * size + ids
        leaving = each(lambda t: tf.gather(tf.reshape(t, [3, -1, words * size]), places, axis=-1), graph)
        ours, theirs, to_root = (each(lambda t, k=k: t[k], leaving) for k in range(3))  # [batch, size]
        rest = _plus(ours, _only(ids - first > step, theirs))
        mates = _only(first[:, None] == first, each(lambda t: t[:, None], rest))  # [batch, size, size]
        total = _plus(to_root, _RING.sum(mates, axis=2))
        share = each(
            lambda t: t[:, :, None], _RING.over(leaving, each(lambda t: t[None], total))
        )  # [3, batch, 1, size]
        into = each(lambda t: tf.gather(t[1], first + step, axis=-1), graph)  # [batch, words, size]
        moved = _plus(graph, _RING.times(each(lambda t: t[None], into), share))
        graph = each(lambda new, own: tf.where(rows == out, own, new), moved, share)
        log_z += tf.where(out[0] < lengths, value_of(total)[:, 0], tf.zeros_like(log_z))
        done = step + 1 == half
        half, step = tf.where(done, half // 2, half), tf.where(done, 0, step + 1)
        graph = each(lambda t: tf.stack([t[0], tf.where(done, other_half(t[0], half), t[1]), t[2]]), graph)
        return half, step, log_z, graph

    graph = each(lambda k, r: tf.stack([k, other_half(k, size // 2), r]), kept, root)
    start = (size // 2, 0, tf.zeros_like(values[:, 0, 0]), graph)
    _, _, log_z, graph = repeat(lambda half, *_: half > 0, take_out, start, size)
    reach = each(lambda t: tf.linalg.matrix_transpose(t[2][:, :, :words]), graph)  # [batch, d, h]: e_d(h), and D_d at d
    own = each(lambda t: tf.linalg.diag_part(t)[:, :, None], reach)
    log_z = tf.where(lengths > 0, log_z + value_of(own)[:, 0, 0], tf.zeros_like(log_z))
    heads = each(lambda t, o: tf.concat([tf.zeros_like(o), t], 2), reach, own)
    some = log_z[:, None, None] > _NEVER
    return log_z, _RING.plain(_only(some, _RING.over(_RING.times(arcs, heads), own)))


def escape(arcs: tf.Tensor, word: tf.Tensor) -> tf.Tensor:
    """Return the log-probability `[batch, words]` of reaching the root before `word`, from every other word."""
    size = size_of(arcs, 1)
    ids, heads = tf.range(size), tf.range(size + 1)

    def take_out(out: tf.Tensor, graph: tf.Tensor) -> tuple:
        left = (heads == 0) | (heads > out + 1) | (heads == word + 1)
        row = graph[:, out]
        share = _RING.over(row, _RING.sum(_only(left, row), axis=1)[:, None])[:, None]
        moved = _plus(graph, _RING.times(graph[:, :, out + 1, None], share))
        moved = tf.where((ids == out)[:, None], share, moved)
        return out + 1, tf.where(out == word, graph, moved)

    _, graph = repeat(lambda out, _: out < size, take_out, (0, arcs), size)
    return graph[:, :, 0]
