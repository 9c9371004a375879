"""Forward and backward recursions of a chain in logarithmic depth.

Transitions are multiplied in pairs, the products again in pairs, and so on until one is left. On the way back, every
product passes the forward vector of its start and the backward vector of its end on to its two factors:

    up      M'[n] = M[2n] M[2n+1]
    down    a[2n] = a'[n]            a[2n+1] = a'[n] M[2n]
            b[2n] = M[2n+1] b'[n]    b[2n+1] = b'[n]

Internally, the layout is `[states, states, time, batch]`, with the long axes last for vectorization. Compared with the
loop over time, this takes `states` times the work but only logarithmically many steps. It runs over `Log`, for scores
of any size.
"""

import tensorflow as tf

from seqattn_tf.core.masking import length_mask
from seqattn_tf.structured.forward_backward import Chain, Posterior
from seqattn_tf.structured.semirings import Dual, Element, Log, each, peak, shift, still, value_of

_RING = Log()


def _vector_matrix(vector: Element, matrix: Element) -> Element:
    return _RING.sum(_RING.times(each(lambda v: v[:, None], vector), matrix), axis=0)


def _matrix_vector(matrix: Element, vector: Element) -> Element:
    return _RING.sum(_RING.times(matrix, each(lambda v: v[None], vector)), axis=1)


def _matrix_matrix(left: Element, right: Element) -> Element:
    return _RING.sum(_RING.times(each(lambda v: v[:, :, None], left), each(lambda v: v[None], right)), axis=1)


def _identity(like: Element) -> Element:
    """Return the identity matrix of the semiring, `[states, states, 1, batch]`."""
    zeros = tf.zeros_like(value_of(like)[:, :, :1])
    eye = tf.eye(value_of(like).shape[0], dtype=tf.bool)[:, :, None, None]
    return still(tf.where(eye, zeros, -float("inf")), like)


def _interleave(even: tf.Tensor, odd: tf.Tensor) -> tf.Tensor:
    shape = tf.shape(even)
    return tf.reshape(tf.stack([even, odd], axis=2), [shape[0], 2 * shape[1], shape[2]])


def _level(element: Element, axes: list[int]) -> tuple[Element, tf.Tensor]:
    """Divide numbers by their maximum, to preserve precision in long products; also return its logarithm."""
    most = peak(value_of(element), axes)
    return shift(element, -most), tf.squeeze(most, axes)


def _contract(first: Element, matrices: Element, last: Element) -> tuple[Element, Element, tf.Tensor]:
    """Return the forward vector before and the backward vector after every matrix, and the log of the whole product.

    The vectors are correct up to a factor. Shapes: `[states, time, batch]` twice, and `[batch]`.
    """
    count = value_of(matrices).shape[2]
    if count == 1:
        whole = _RING.sum(_RING.times(_vector_matrix(first, matrices), last), axis=0)
        return first, last, tf.cast(value_of(whole)[0], tf.float64)
    if count % 2:
        matrices = each(lambda v, e: tf.concat([v, e], 2), matrices, _identity(matrices))
    left, right = (each(lambda v, s=start: v[:, :, s::2], matrices) for start in (0, 1))
    pairs, peaks = _level(_matrix_matrix(left, right), [0, 1])
    forward, backward, log_whole = _contract(first, pairs, last)
    forwards = each(_interleave, forward, _level(_vector_matrix(forward, left), [0])[0])
    backwards = each(_interleave, _level(_matrix_vector(right, backward), [0])[0], backward)
    log_whole += tf.reduce_sum(tf.cast(peaks, tf.float64), 0)
    return each(lambda v: v[:, :count], forwards), each(lambda v: v[:, :count], backwards), log_whole


def _time_last(chain: Chain) -> tuple[Element, Element]:
    """Move time and batch last: `[states, time, batch]` and `[states, states, time - 1 or 1, batch]`."""
    unary = each(lambda v: tf.transpose(v, [2, 1, 0]), chain.unary)
    if chain.constant:
        return unary, each(lambda v: tf.transpose(v, [1, 2, 0])[:, :, None], chain.pairwise)
    return unary, each(lambda v: tf.transpose(v, [2, 3, 1, 0]), chain.pairwise)


def posterior(chain: Chain) -> Posterior:
    """Compute the same as `forward_backward.posterior`, for at least two positions and a static length.

    >>> chain = Chain(tf.zeros([1, 3, 2]), tf.zeros([1, 2, 2]), None)
    >>> round(float(tf.exp(posterior(chain).log_partition[0])))  # two states at three positions
    8
    """
    unary, pairwise = _time_last(chain)
    matrices = _RING.times(pairwise, each(lambda v: v[None, :, 1:], unary))
    if chain.lengths is not None:
        inside = tf.transpose(length_mask(chain.lengths - 1, chain.steps))
        matrices = each(lambda v, e: tf.where(inside, v, e), matrices, _identity(matrices))
    first = each(lambda v: v[:, :1], unary)
    forward, backward, log_partition = _contract(first, matrices, each(tf.zeros_like, first))
    joint = _RING.times(_RING.times(each(lambda v: v[:, None], forward), matrices), each(lambda v: v[None], backward))
    shape = tf.shape(value_of(joint))
    pairs = _RING.shares(each(lambda v: tf.reshape(v, tf.concat([[-1], shape[2:]], 0)), joint), axis=0)
    edges = tf.reshape(pairs.tangent if isinstance(pairs, Dual) else pairs, shape)
    nodes = tf.concat([tf.reduce_sum(edges, 1)[:, :1], tf.reduce_sum(edges, 0)], axis=1)
    nodes = chain.nodes_only(tf.transpose(nodes, [2, 1, 0]))
    edges = chain.edges_only(tf.transpose(edges, [3, 2, 0, 1]))
    if chain.lengths is not None:  # an empty row has exactly one structure
        log_partition = tf.where(chain.lengths > 0, log_partition, tf.zeros_like(log_partition))
    edges = tf.reduce_sum(edges, 1) if chain.constant else edges
    return Posterior(tf.cast(log_partition, nodes.dtype), nodes, edges)
