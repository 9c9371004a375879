"""Forward and backward recursions of a chain, both in one loop over time.

    a[t](j) ~ sum_i a[t-1](i) psi[t-1](i, j) phi[t](j)        a[0] ~ phi[0]
    b[t](i) ~ sum_j psi[t](i, j) phi[t+1](j) b[t+1](j)        b[T-1] ~ 1

over a semiring, each divided by its size at every step, so that neither the length nor the size of the scores matters;
the logarithms of the sizes of `a` add up to the log-partition. Posteriors are normalised where they stand:

    p(z[t] = i) ~ a[t](i) b[t](i)        p(z[t] = i, z[t+1] = j) ~ a[t](i) psi[t](i, j) phi[t+1](j) b[t+1](j)

Over `Real` this costs one exponential for every score. Numbers that underflow there are lost, which is harmless as
long as what they are lost beside is large: all factors are at most one, so a sum that came out well above the smallest
number has lost nothing that counts. `posterior` looks at these sums and repeats over `Log` when one is too small.
"""

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from seqattn_tf.scan import hold, scan
from seqattn_tf.structured.semirings import Dual, Element, Log, Real, Semiring, each, value_of


class Chain(NamedTuple):
    """A batch of chains.

    `unary` is `[batch, time, states]`; `pairwise` is `[batch, time - 1, states, states]`, or `[batch, states, states]`
    where it is the same at all times; `lengths` is `[batch]`, or None when all rows are full.
    """

    unary: Element
    pairwise: Element
    lengths: tf.Tensor | None

    @property
    def steps(self) -> int | tf.Tensor:
        """How many transitions there are."""
        unary = value_of(self.unary)
        return tf.shape(unary)[1] - 1 if unary.shape[1] is None else unary.shape[1] - 1

    @property
    def constant(self) -> bool:
        """Whether the transitions are the same at all times."""
        return value_of(self.pairwise).shape.rank == 3

    def nodes_only(self, nodes: Element) -> Element:
        """`[batch, time, ...]`, zero beyond the length."""
        return nodes if self.lengths is None else _inside(nodes, self.lengths, self.steps + 1)

    def edges_only(self, edges: Element) -> Element:
        """`[batch, time - 1, ...]`, zero beyond the last transition."""
        return edges if self.lengths is None else _inside(edges, self.lengths - 1, self.steps)


def _inside(element: Element, lengths: tf.Tensor, size: tf.Tensor | int) -> Element:
    mask = tf.sequence_mask(lengths, size)

    def keep(values: tf.Tensor) -> tf.Tensor:
        wide = tf.reshape(mask, [*tf.unstack(tf.shape(mask)), *[1] * (values.shape.rank - 2)])
        return tf.where(wide, values, tf.zeros_like(values))

    return each(keep, element)


class Posterior(NamedTuple):
    """What inference finds. Of `Dual` scores, `nodes` and `edges` are derivatives.

    `edges` has the shape of the chain's `pairwise`: where that is constant, it holds expected counts.
    """

    log_partition: tf.Tensor
    nodes: tf.Tensor
    edges: tf.Tensor


class _Lifted(NamedTuple):
    """Potentials with peaks of one: `phi [time, batch, states]` and `psi` like the chain's `pairwise`."""

    phi: Element
    psi: Element
    log_peak: tf.Tensor


def _shift(scores: Element, by: tf.Tensor) -> Element:
    return Dual(scores.value - by, scores.tangent) if isinstance(scores, Dual) else scores - by


def _peak(scores: tf.Tensor, axes: list[int]) -> tf.Tensor:
    peak = scores
    for axis in axes:  # one after the other: the first passes are over contiguous rows
        peak = tf.reduce_max(peak, axis, keepdims=True)
    return tf.stop_gradient(tf.where(tf.math.is_finite(peak), peak, tf.zeros_like(peak)))


def _wide_sum(values: tf.Tensor, axis: int) -> tf.Tensor:
    """A sum of many terms, added up in double precision."""
    return tf.reduce_sum(tf.cast(values, tf.float64), axis)


def _lift(ring: Semiring, chain: Chain) -> _Lifted:
    node_peak = _peak(value_of(chain.unary), [2])
    pair = value_of(chain.pairwise)
    if not chain.constant and chain.lengths is not None:  # padding is no peak
        inside = chain.edges_only(tf.ones_like(pair[..., :1, :1]))
        pair = tf.where(inside > 0, pair, -float("inf"))
    pair_peak = _peak(pair, [1, 2] if chain.constant else [1, 2, 3])  # one for each row
    phi = ring.lift(_shift(chain.unary, node_peak))
    psi = ring.lift(_shift(chain.pairwise, pair_peak))
    edges = chain.steps if chain.lengths is None else tf.maximum(chain.lengths - 1, 0)
    log_peak = _wide_sum(node_peak[:, :, 0], 1)
    log_peak += tf.cast(edges, tf.float64) * tf.cast(tf.reshape(pair_peak, [-1]), tf.float64)
    return _Lifted(each(lambda v: tf.transpose(v, [1, 0, 2]), phi), psi, log_peak)


def _at_time(psi: Element, constant: bool, t: tf.Tensor) -> Element:
    return psi if constant else each(lambda v: v[:, t], psi)


def advance(ring: Semiring, forward: Element, psi: Element, phi: Element) -> tuple[Element, tf.Tensor]:
    """One step to the right: the next `a`, and the logarithm of the size it was divided by."""
    return ring.scale(ring.times(ring.dot(forward, psi), phi))


def _recede(ring: Semiring, backward: Element, psi: Element, phi: Element) -> Element:
    flipped = each(lambda v: tf.transpose(v, [0, 2, 1]), psi)
    return ring.scale(ring.dot(ring.times(backward, phi), flipped))[0]


def _sweep(ring: Semiring, chain: Chain, lifted: _Lifted) -> tuple[Element, Element, tf.Tensor]:
    """`a` and `b` `[batch, time, states]`, and the logarithm of the sizes `[batch]`."""
    steps = chain.steps
    known = isinstance(steps, int)
    psi = lifted.psi
    if not known and not chain.constant:  # the loop may have to take a step that is not there
        psi = each(lambda v: tf.pad(v, [[0, 0], [0, tf.maximum(1 - steps, 0)], [0, 0], [0, 0]]), psi)

    def phi_at(t: tf.Tensor) -> Element:
        return each(lambda v: v[t if known else tf.minimum(t, steps)], lifted.phi)

    def psi_at(t: tf.Tensor) -> Element:
        return _at_time(psi, chain.constant, t if known else tf.maximum(t, 0))

    def step(t: tf.Tensor, carry: tuple) -> tuple:
        last_forward, last_backward, _ = carry
        forward, log_size = advance(ring, last_forward, psi_at(t), phi_at(t + 1))
        back = steps - 1 - t
        backward = _recede(ring, last_backward, psi_at(back), phi_at(back + 1))
        if chain.lengths is not None:
            inside = t + 1 < chain.lengths
            forward = hold(inside, forward, last_forward)
            log_size = tf.where(inside, log_size, tf.zeros_like(log_size))
            backward = hold(back + 1 < chain.lengths, backward, last_backward)
        return forward, backward, log_size

    first, first_size = ring.scale(phi_at(0))
    if chain.lengths is not None:  # an empty row has one way to be, whatever its states
        first_size = tf.where(chain.lengths > 0, first_size, tf.zeros_like(first_size))
    ones = tf.fill(tf.shape(value_of(first)), tf.constant(ring.one, value_of(first).dtype))
    last, _ = ring.scale(Dual(ones, tf.zeros_like(ones)) if isinstance(first, Dual) else ones)
    (forward, backward, sizes), _ = scan(step, tf.range(steps), (first, last, first_size))

    def batch_major(v: tf.Tensor) -> tf.Tensor:
        return tf.transpose(v, [1, 0, 2])

    forward = each(lambda v, f: batch_major(tf.concat([f[None], v], 0)), forward, first)
    backward = each(lambda v, e: batch_major(tf.concat([v[::-1], e[None]], 0)), backward, last)
    return forward, backward, _wide_sum(sizes, 0) + tf.cast(first_size, tf.float64)


def _product(equation: str, x: Element, y: Element) -> Element:
    """An einsum of two over `Real`, by the product rule."""
    if not isinstance(x, Dual):
        return tf.einsum(equation, x, y)
    moved = tf.einsum(equation, x.tangent, y.value) + tf.einsum(equation, x.value, y.tangent)
    return Dual(tf.einsum(equation, x.value, y.value), moved)


def _counts(chain: Chain, behind: Element, psi: Element, ahead: Element) -> tuple[Element, tf.Tensor]:
    """Expected counts of constant transitions over `Real`, by matrix products, and the size of every sum."""
    sizes = Real().sum(Real().times(_product("bti,bij->btj", behind, psi), ahead), axis=2)
    share = each(lambda v: v / value_of(sizes)[..., None], behind)
    if isinstance(share, Dual):
        share = Dual(share.value, share.tangent - share.value * (sizes.tangent / sizes.value)[..., None])
    counts = _product("bti,btj->bij", chain.edges_only(share), chain.edges_only(ahead))
    return Real().times(psi, counts), value_of(sizes)


def _edges(ring: Semiring, chain: Chain, behind: Element, psi: Element, ahead: Element) -> tuple[Element, tf.Tensor]:
    """The posterior of every transition in the shape of `pairwise`, and the size of every sum."""
    if chain.constant:
        psi = each(lambda v: v[:, None], psi)
    joint = ring.times(ring.times(each(lambda v: v[..., None], behind), psi), each(lambda v: v[:, :, None], ahead))
    shape = tf.shape(value_of(joint))
    pairs = each(lambda v: tf.reshape(v, [shape[0], shape[1], shape[2] * shape[3]]), joint)
    edges = chain.edges_only(each(lambda v: tf.reshape(v, shape), ring.shares(pairs, axis=2)))
    return each(lambda v: tf.reduce_sum(v, 1), edges) if chain.constant else edges, value_of(ring.sum(pairs, axis=2))


def _posterior(ring: Semiring, chain: Chain) -> tuple[Posterior, tf.Tensor]:
    """The posterior, and whether nothing that counts was lost."""
    lifted = _lift(ring, chain)
    forward, backward, log_size = _sweep(ring, chain, lifted)
    both = ring.times(forward, backward)
    nodes = chain.nodes_only(ring.shares(both, axis=2))
    behind = each(lambda v: v[:, :-1], forward)
    ahead = each(lambda v: v[:, 1:], ring.times(each(lambda v: tf.transpose(v, [1, 0, 2]), lifted.phi), backward))
    edges_of = _counts if chain.constant and isinstance(ring, Real) else functools.partial(_edges, ring)
    edges, sizes = edges_of(chain, behind, lifted.psi, ahead)
    found = value_of(nodes)
    log_partition = tf.cast(log_size + lifted.log_peak, found.dtype)
    if isinstance(nodes, Dual):
        nodes, edges = nodes.tangent, edges.tangent
    # A sum below this may have lost terms that were smaller than the smallest number.
    floor = float(np.sqrt(np.finfo(found.dtype.as_numpy_dtype).tiny))
    lost_nodes = chain.nodes_only(tf.where(value_of(ring.sum(both, axis=2)) > floor, 0, 1))
    lost_edges = chain.edges_only(tf.where(sizes > floor, 0, 1))
    nothing_lost = tf.reduce_sum(lost_nodes) + tf.reduce_sum(lost_edges) == 0
    return Posterior(log_partition, nodes, edges), nothing_lost


def posterior(chain: Chain) -> Posterior:
    """Fast where the range of the scores allows it, and right for any.

    >>> chain = Chain(tf.zeros([1, 3, 2]), tf.zeros([1, 2, 2]), None)
    >>> round(float(tf.exp(posterior(chain).log_partition[0])))  # two states, three times
    8
    """
    fast, nothing_lost = _posterior(Real(), chain)
    return Posterior(*tf.cond(nothing_lost, lambda: tuple(fast), lambda: tuple(_posterior(Log(), chain)[0])))
