"""Forward and backward recursions of a chain, both in one loop over time.

    a[t](j) ~ sum_i a[t-1](i) psi[t-1](i, j) * phi[t](j)        a[0] ~ phi[0]
    b[t](i) ~ sum_j psi[t](i, j) c[t+1](j)                      b[T-1] = 1,    c[t] ~ b[t] * phi[t]

over a semiring; `a` and `c` go the same way, from either end, and are divided by their size at every step, so that
neither the length nor the size of the scores matters. The logarithms of the sizes of `a` add up to the log-partition.
Posteriors are normalised where they stand:

    p(z[t] = i) = a[t](i) b[t](i) / s[t]        p(z[t] = i, z[t+1] = j) = a[t](i) psi[t](i, j) c[t+1](j) / s[t]
    s[t] = sum_i a[t](i) b[t](i)

Over `Real` this costs one exponential for every score. Numbers that underflow there are lost, which is harmless as
long as what they are lost beside is large: `a`, `c` and `phi` are at most one, so an `s[t]` well above the smallest
number times the largest `psi` has lost nothing that counts. `posterior` looks at them all and repeats over `Log` when
one is too small, or an overflow has made it infinite.
"""

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from seqattn_tf.scan import hold, scan, size_of
from seqattn_tf.structured.semirings import Dual, Element, Log, Real, Semiring, each, shift, still, times, value_of


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
    """Potentials in the semiring: `phi [time, batch, states]`, and `psi` like the chain's `pairwise`.

    The largest `phi` of every position is one, `log_peak [batch]` what that took from the log-partition. `psi` of
    `Dual` scores holds the derivative of its logarithm, which is attached where `psi` is used.
    """

    phi: Element
    psi: Element
    log_peak: tf.Tensor

    def matrix(self, ring: Semiring, t: tf.Tensor | None) -> Element:
        """The transitions at a time; at all times, without one."""
        psi = self.psi if t is None else each(lambda v: v[:, t], self.psi)
        return ring.attach(*psi) if isinstance(psi, Dual) else psi


class _Swept(NamedTuple):
    """`a`, `b` and `c`, `[batch, time, states]`, and the logarithm of all that `a` was divided by, `[batch]`."""

    forward: Element
    backward: Element
    ahead: Element
    log_size: tf.Tensor


def _peak(scores: tf.Tensor, axis: int | list[int]) -> tf.Tensor:
    peak = tf.stop_gradient(tf.reduce_max(scores, axis, keepdims=True))
    return tf.where(tf.math.is_finite(peak), peak, tf.zeros_like(peak))


def _lift(ring: Semiring, chain: Chain) -> _Lifted:
    peak = _peak(value_of(chain.unary), 2)
    phi = ring.lift(shift(chain.unary, -peak))
    psi = ring.lift(value_of(chain.pairwise))
    if isinstance(chain.pairwise, Dual):
        psi = Dual(psi, chain.pairwise.tangent)
    if not chain.constant and not isinstance(chain.steps, int):  # the loop may take a step that is not there
        missing = tf.maximum(1 - chain.steps, 0)
        psi = each(lambda v: tf.pad(v, [[0, 0], [0, missing], [0, 0], [0, 0]]), psi)
    log_peak = tf.reduce_sum(tf.cast(peak, tf.float64), [1, 2])  # many terms
    return _Lifted(each(lambda v: tf.transpose(v, [1, 0, 2]), phi), psi, log_peak)


def _smallest_sum(pairwise: tf.Tensor) -> tf.Tensor:
    """Below this, `[batch, 1]`, a sum over `Real` may have lost terms that were smaller than the smallest number."""
    floor = float(np.sqrt(np.finfo(pairwise.dtype.as_numpy_dtype).tiny))
    peak = _peak(pairwise, list(range(1, pairwise.shape.rank)))
    return floor * tf.exp(tf.maximum(tf.reshape(peak, [-1, 1]), 0))


def advance(ring: Semiring, forward: Element, psi: Element, phi: Element) -> tuple[Element, tf.Tensor]:
    """One step to the right: the next `a`, and the logarithm of the size it was divided by."""
    return ring.scale(ring.times(ring.dot(forward, psi), phi))


def _join(x: Element, y: Element) -> Element:
    return each(lambda v, w: tf.concat([v, w], axis=0), x, y)


def _flip(matrix: Element) -> Element:
    return each(lambda v: tf.transpose(v, [0, 2, 1]), matrix)


def _sweep(ring: Semiring, chain: Chain, lifted: _Lifted) -> _Swept:
    """Both ways at once, `a` in the first half of the rows and `c` in the second.

    The loop carries what they are before the potentials of the state they come to; the rest follows for all times.
    """
    phi = value_of(lifted.phi)
    positions, rows = size_of(phi, 0), size_of(phi, 1)
    constant = lifted.matrix(ring, None) if chain.constant else None
    constant = _join(constant, _flip(constant)) if chain.constant else None

    def move(both: Element, t: tf.Tensor) -> Element:
        if chain.constant:
            return ring.dot(both, constant)
        ahead, back = lifted.matrix(ring, t), _flip(lifted.matrix(ring, tf.maximum(chain.steps - 1 - t, 0)))
        return _join(ring.dot(each(lambda v: v[:rows], both), ahead), ring.dot(each(lambda v: v[rows:], both), back))

    def step(element: tuple, last: Element) -> Element:
        t, pair, *inside = element
        moved = move(ring.scale(ring.times(last, pair))[0], t)
        return hold(inside[0], moved, start) if inside else moved

    pairs = each(lambda v: tf.concat([v, v[::-1]], axis=1), lifted.phi)
    start = tf.fill(tf.shape(value_of(pairs)[0]), tf.constant(ring.one, phi.dtype))
    start = still(start, pairs)
    elements = (tf.range(chain.steps), each(lambda v: v[:-1], pairs))
    if chain.lengths is not None:  # outside a row, both wait where they start
        inside = tf.transpose(tf.sequence_mask(chain.lengths, positions))
        elements = (*elements, tf.concat([inside[1:], inside[:0:-1]], axis=1))
    moved, _ = scan(step, elements, start)
    moved = each(lambda v, s: tf.concat([s[None], v], axis=0), moved, start)
    line = each(lambda v: tf.reshape(v, [positions * 2 * rows, -1]), ring.times(moved, pairs))
    scaled, log_sizes = ring.scale(line)
    both = each(lambda v: tf.reshape(v, tf.shape(value_of(moved))), scaled)
    log_sizes = tf.reshape(log_sizes, [positions, 2 * rows])[:, :rows]
    if chain.lengths is not None:
        log_sizes = tf.where(inside, log_sizes, tf.zeros_like(log_sizes))

    def batch_major(v: tf.Tensor) -> tf.Tensor:
        return tf.transpose(v, [1, 0, 2])

    return _Swept(
        each(lambda v: batch_major(v[:, :rows]), both),
        each(lambda v: batch_major(v[::-1, rows:]), moved),
        each(lambda v: batch_major(v[::-1, rows:]), both),
        tf.reduce_sum(tf.cast(log_sizes, tf.float64), 0),
    )


def _counts(chain: Chain, share: Element, psi: Element, ahead: Element) -> Element:
    """Expected counts of constant transitions over `Real`, by matrix products."""

    def product(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.einsum("bti,btj->bij", x, y)

    share, ahead = chain.edges_only(share), chain.edges_only(ahead)
    if not isinstance(psi, Dual):
        return psi * product(share, ahead)
    moved = product(share.tangent, ahead.value) + product(share.value, ahead.tangent)
    return times(psi, Dual(product(share.value, ahead.value), moved))


def _edges(ring: Semiring, chain: Chain, share: Element, psi: Element, ahead: Element) -> Element:
    """The posterior of every transition, in the shape of `pairwise`."""
    psi = each(lambda v: v[:, None], psi) if chain.constant else each(lambda v: v[:, : chain.steps], psi)
    joint = ring.times(ring.times(each(lambda v: v[..., None], share), psi), each(lambda v: v[:, :, None], ahead))
    edges = chain.edges_only(ring.plain(joint))
    return each(lambda v: tf.reduce_sum(v, 1), edges) if chain.constant else edges


def _posterior(ring: Semiring, chain: Chain) -> tuple[Posterior, tf.Tensor]:
    """The posterior, and the sums `s` `[batch, time]` that it was divided by."""
    lifted = _lift(ring, chain)
    swept = _sweep(ring, chain, lifted)
    meet = ring.times(swept.forward, swept.backward)
    sizes = ring.sum(meet, axis=2)
    wide = each(lambda v: v[..., None], sizes)
    nodes = chain.nodes_only(ring.plain(ring.over(meet, wide)))
    share = each(lambda v: v[:, :-1], ring.over(swept.forward, wide))
    edges_of = _counts if chain.constant and isinstance(ring, Real) else functools.partial(_edges, ring)
    edges = edges_of(chain, share, lifted.matrix(ring, None), each(lambda v: v[:, 1:], swept.ahead))
    dtype = value_of(nodes).dtype
    log_partition = tf.cast(swept.log_size + lifted.log_peak, dtype)
    if isinstance(nodes, Dual):
        nodes, edges = nodes.tangent, edges.tangent
    return Posterior(log_partition, nodes, edges), value_of(sizes)


@tf.autograph.experimental.do_not_convert
def posterior(chain: Chain) -> Posterior:
    """Fast where the range of the scores allows it, and right for any.

    >>> chain = Chain(tf.zeros([1, 3, 2]), tf.zeros([1, 2, 2]), None)
    >>> round(float(tf.exp(posterior(chain).log_partition[0])))  # two states, three times
    8
    """
    fast, sums = _posterior(Real(), chain)
    lost = chain.nodes_only(tf.where(sums > _smallest_sum(value_of(chain.pairwise)), 0, 1))
    return Posterior(
        *tf.cond(tf.reduce_sum(lost) == 0, lambda: tuple(fast), lambda: tuple(_posterior(Log(), chain)[0]))
    )
