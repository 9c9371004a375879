"""Single paths through a chain, by one stored forward pass over a semiring and one backward pass through it.

    z[T-1] chosen by a[T-1](i),    z[t] chosen by a[t](i) psi[t](i, z[t+1])

Over `Max`, the best path is chosen, over `KBest` the one of a given rank, over `Log` a random one in proportion to its
share.
"""

from collections.abc import Callable

import tensorflow as tf

from seqattn_tf.core.masking import length_mask
from seqattn_tf.core.scan import scan, to_time_major, where_rows
from seqattn_tf.structured.base import only_the_empty
from seqattn_tf.structured.forward_backward import Chain, advance
from seqattn_tf.structured.semirings import Drawn, KBest, Log, Max, Semiring

# candidates [batch, paths, states or states x ranks], rank [batch, paths], time -> the chosen index [batch, paths]
Choose = Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]


def _time_major(chain: Chain) -> tuple[tf.Tensor, tf.Tensor | None, tf.Tensor]:
    """Return time-major unary scores, transitions (None if constant; zeros after the last position) and the mask."""
    unary = to_time_major(chain.unary)
    lengths = chain.lengths if chain.lengths is not None else tf.fill([tf.shape(unary)[1]], chain.steps + 1)
    inside = tf.transpose(length_mask(lengths, chain.steps + 1))
    if chain.constant:
        return unary, None, inside
    return unary, to_time_major(tf.pad(chain.pairwise, [[0, 0], [0, 1], [0, 0], [0, 0]])), inside


@tf.autograph.experimental.do_not_convert
def _forward(ring: Semiring, chain: Chain) -> tuple[tf.Tensor, tf.Tensor]:
    """Return every `a`, `[time, batch, states, ...]`, and the logarithm of their total scale, `[batch]`."""
    unary, matrices, inside = _time_major(chain)

    def step(element: tuple, carry: tuple) -> tuple:
        scores, keep, *matrix = element
        psi = ring.lift(matrix[0] if matrix else chain.pairwise)
        forward, size = advance(ring, carry[0], psi, ring.lift(scores))
        return where_rows(keep, forward, carry[0]), tf.where(keep, size, tf.zeros_like(size))

    start, size = ring.scale(ring.sum(ring.lift(unary[0])[:, None], axis=1))
    size = tf.where(inside[0], size, tf.zeros_like(size))
    elements = (unary[1:], inside[1:]) if matrices is None else (unary[1:], inside[1:], matrices[:-1])
    (forward, sizes), _ = scan(step, elements, (start, size))
    log_size = tf.reduce_sum(tf.cast(tf.concat([size[None], sizes], 0), tf.float64), 0)
    return tf.concat([start[None], forward], 0), tf.cast(log_size, unary.dtype)


@tf.autograph.experimental.do_not_convert
def _way_back(chain: Chain, forward: tf.Tensor, rank: tf.Tensor, choose: Choose) -> tf.Tensor:
    """Return the states of the paths with these ranks `[batch, paths]`: `[batch, paths, time]`, 0 beyond the length."""
    _, matrices, inside = _time_major(chain)
    ranks = forward.shape[3] if forward.shape.rank == 4 else 1
    is_last = tf.logical_and(inside, tf.logical_not(tf.concat([inside[1:], tf.zeros_like(inside[:1])], 0)))

    def step(element: tuple, carry: tuple) -> tuple:
        t, values, keep, at_end, *matrix = element
        state, rank = carry
        onward = tf.gather(
            matrix[0] if matrix else chain.pairwise, state, axis=2, batch_dims=1
        )  # [batch, states, paths]
        onward = tf.where(at_end[:, None, None], tf.zeros_like(onward), onward)
        ways = (
            tf.reshape(values, [tf.shape(values)[0], -1, ranks])[:, None] + tf.transpose(onward, [0, 2, 1])[..., None]
        )
        place = choose(tf.reshape(ways, tf.concat([tf.shape(ways)[:2], [-1]], 0)), rank, t)
        keep = keep[:, None]
        return tf.where(keep, place // ranks, 0), tf.where(keep, place % ranks, rank)

    elements: tuple = (tf.range(tf.shape(inside)[0]), forward, inside, is_last)
    elements = elements if matrices is None else (*elements, matrices)
    (states, _), _ = scan(step, elements, (tf.zeros_like(rank), rank), reverse=True)
    return tf.transpose(states, [1, 2, 0])


def best_path(chain: Chain) -> tf.Tensor:
    """Return the best path by the Viterbi algorithm: `[batch, time]`."""
    forward, _ = _forward(Max(), chain)
    nothing = tf.zeros([tf.shape(chain.unary)[0], 1], tf.int32)
    paths = _way_back(chain, forward, nothing, lambda ways, _, __: tf.argmax(ways, axis=2, output_type=tf.int32))
    return paths[:, 0]


def best_paths(chain: Chain, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the `k` best paths, `[batch, k, time]`, and their scores `[batch, k]`."""
    ring = KBest(k)
    forward, log_size = _forward(ring, chain)

    def choose(ways: tf.Tensor, rank: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
        places = tf.minimum(ring.best(ways)[1], tf.shape(ways)[2] - 1)  # for ranks that do not exist
        return tf.gather(places, rank, axis=2, batch_dims=2)

    scores = ring.sum(forward[-1], axis=1) + log_size[:, None]
    if chain.lengths is not None:  # an empty row has one path
        scores = tf.where((chain.lengths > 0)[:, None], scores, only_the_empty(k, scores.dtype))
    ranks = tf.broadcast_to(tf.range(k), [tf.shape(chain.unary)[0], k])
    return _way_back(chain, forward, ranks, choose), scores


def drawn_paths(chain: Chain, n: int, seed: tf.Tensor) -> tf.Tensor:
    """Sample `n` paths for every row: `[n, batch, time]`."""
    forward, _ = _forward(Log(), chain)

    def choose(ways: tf.Tensor, _: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
        return tf.argmax(Drawn(seed, t).shares(ways, axis=2), axis=2, output_type=tf.int32)

    nothing = tf.zeros([tf.shape(chain.unary)[0], n], tf.int32)
    return to_time_major(_way_back(chain, forward, nothing, choose))
