"""Forward and backward recursions of a chain, both in one loop over time.

    a[t](j) ~ sum_i a[t-1](i) psi[t-1](i, j) * phi[t](j)        a[0] ~ phi[0]
    b[t](i) ~ sum_j psi[t](i, j) c[t+1](j)                      b[T-1] = 1,    c[t] ~ b[t] * phi[t]

over a semiring. `a` and `c` are computed in the same way from either end and normalized by their size at every step, so
that neither long rows nor large scores cause overflow. The logarithms of the sizes of `a` add up to the log-partition.
Posteriors are normalized at each position:

    p(z[t] = i) = a[t](i) b[t](i) / s[t]        p(z[t] = i, z[t+1] = j) = a[t](i) psi[t](i, j) c[t+1](j) / s[t]
    s[t] = sum_i a[t](i) b[t](i)

Over `Real`, this takes one exponential per score. Underflow is harmless there as long as it is negligible in the sum
that it belongs to. `a`, `c` and `phi` are at most one, and underflow occurs before a number is divided by its size.
Therefore, if `s[t]` times the size of its `a` or `c` is well above the smallest number times the largest `psi`, no
relevant precision is lost. `posterior` checks this for all positions, and repeats the computation over `Log` if a sum
is too small or has become infinite by overflow.
"""

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from seqattn_tf.core.masking import length_mask
from seqattn_tf.core.scan import scan, size_of, to_time_major, where_rows
from seqattn_tf.structured.semirings import (
    Dual,
    Element,
    Log,
    Real,
    Semiring,
    each,
    peak,
    shift,
    still,
    times,
    value_of,
)


class Chain(NamedTuple):
    """A batch of chains.

    `unary` is `[batch, time, states]`. `pairwise` is `[batch, time - 1, states, states]`, or `[batch, states, states]`
    if it is the same at all times. `lengths` is `[batch]`, or None if all rows are full.
    """

    unary: Element
    pairwise: Element
    lengths: tf.Tensor | None

    @property
    def steps(self) -> int | tf.Tensor:
        """The number of transitions."""
        return size_of(value_of(self.unary), 1) - 1

    @property
    def constant(self) -> bool:
        """Whether the transitions are the same at all times."""
        return value_of(self.pairwise).shape.rank == 3

    def nodes_only(self, nodes: Element) -> Element:
        """Set `[batch, time, ...]` to zero beyond the length."""
        return nodes if self.lengths is None else _inside(nodes, self.lengths, self.steps + 1)

    def edges_only(self, edges: Element) -> Element:
        """Set `[batch, time - 1, ...]` to zero beyond the last transition."""
        return edges if self.lengths is None else _inside(edges, self.lengths - 1, self.steps)


def _inside(element: Element, lengths: tf.Tensor, size: tf.Tensor | int) -> Element:
    mask = length_mask(lengths, size)

    def keep(values: tf.Tensor) -> tf.Tensor:
        wide = tf.reshape(mask, [*tf.unstack(tf.shape(mask)), *[1] * (values.shape.rank - 2)])
        return tf.where(wide, values, tf.zeros_like(values))

    return each(keep, element)


class Posterior(NamedTuple):
    """The results of inference. For `Dual` scores, `nodes` and `edges` are derivatives.

    `edges` has the shape of the chain's `pairwise`; if that is constant, it contains expected counts.
    """

    log_partition: tf.Tensor
    nodes: tf.Tensor
    edges: tf.Tensor


class _Lifted(NamedTuple):
    """Potentials in the semiring: `phi [time, batch, states]`, and `psi` like the chain's `pairwise`.

    They are scaled so that the largest `phi` of every position is one, and so is the largest constant `psi`.
    `log_peak [batch]` is the amount that this removes from the log-partition. For `Dual` scores, `psi` contains the
    derivative of its logarithm, which is attached where `psi` is used.
    """

    phi: Element
    psi: Element
    log_peak: tf.Tensor

    def matrix(self, ring: Semiring, t: tf.Tensor | None) -> Element:
        """Return the transitions at a time step, or those of all time steps if `t` is None."""
        psi = self.psi if t is None else each(lambda v: v[:, t], self.psi)
        return ring.attach(*psi) if isinstance(psi, Dual) else psi


class _Swept(NamedTuple):
    """`a`, `b` and `c`, `[batch, time, states]`, and the logarithms of the sizes that `a` and `c` were divided by."""

    forward: Element
    backward: Element
    ahead: Element
    forward_log_sizes: tf.Tensor
    ahead_log_sizes: tf.Tensor


def _lift(ring: Semiring, chain: Chain) -> _Lifted:
    most = peak(value_of(chain.unary), 2)
    phi = ring.lift(shift(chain.unary, -most))
    log_peak = tf.reduce_sum(tf.cast(most, tf.float64), [1, 2])  # double precision, because there are many terms
    pairwise = value_of(chain.pairwise)
    if chain.constant:
        most = peak(pairwise, [1, 2])
        pairwise -= most
        edges = chain.steps if chain.lengths is None else tf.maximum(chain.lengths - 1, 0)
        log_peak += tf.cast(edges, tf.float64) * tf.cast(most[:, 0, 0], tf.float64)
    psi = ring.lift(pairwise)  # kept simple: XLA is fast with a plain exponential of a large tensor
    if isinstance(chain.pairwise, Dual):
        psi = Dual(psi, chain.pairwise.tangent)
    if not chain.constant and not isinstance(chain.steps, int):  # the loop may take a step when there is none
        missing = tf.maximum(1 - chain.steps, 0)
        psi = each(lambda v: tf.pad(v, [[0, 0], [0, missing], [0, 0], [0, 0]]), psi)
    return _Lifted(each(to_time_major, phi), psi, log_peak)


def _nothing_lost(chain: Chain, swept: _Swept, log_sums: tf.Tensor) -> tf.Tensor:
    """Return whether all sums are so large that underflow over `Real` cannot have affected them."""
    floor = 0.5 * float(np.log(np.finfo(log_sums.dtype.as_numpy_dtype).tiny))
    if not chain.constant:  # the factor by which `psi` may amplify underflow
        pairwise = value_of(chain.pairwise)
        floor += tf.maximum(peak(pairwise, [1, 2, 3])[:, 0, 0], 0)
    lost_nodes = chain.nodes_only(tf.where(log_sums + swept.forward_log_sizes > floor, 0, 1))
    lost_edges = chain.edges_only(tf.where(log_sums[:, :-1] + swept.ahead_log_sizes[:, 1:] > floor, 0, 1))
    return tf.reduce_sum(lost_nodes) + tf.reduce_sum(lost_edges) == 0


def advance(ring: Semiring, forward: Element, psi: Element, phi: Element) -> tuple[Element, tf.Tensor]:
    """Take one step to the right: return the next `a` and the logarithm of the size it was divided by."""
    return ring.scale(ring.times(ring.dot(forward, psi), phi))


def _join(x: Element, y: Element) -> Element:
    return each(lambda v, w: tf.concat([v, w], axis=0), x, y)


def _flip(matrix: Element) -> Element:
    return each(lambda v: tf.transpose(v, [0, 2, 1]), matrix)


def _sweep(ring: Semiring, chain: Chain, lifted: _Lifted) -> _Swept:
    """Run both recursions at once, `a` in the first half of the rows and `c` in the second.

    The loop carries the vectors before the potentials of the next state are applied; the rest is computed for all time
    steps afterwards.
    """
    phi = value_of(lifted.phi)
    positions, rows = size_of(phi, 0), size_of(phi, 1)
    if chain.constant:
        constant = lifted.matrix(ring, None)
        constant = _join(constant, _flip(constant))

    def move(both: Element, t: tf.Tensor) -> Element:
        if chain.constant:
            return ring.dot(both, constant)
        ahead, back = lifted.matrix(ring, t), _flip(lifted.matrix(ring, tf.maximum(chain.steps - 1 - t, 0)))
        return _join(ring.dot(each(lambda v: v[:rows], both), ahead), ring.dot(each(lambda v: v[rows:], both), back))

    def step(element: tuple, last: Element) -> Element:
        t, pair, *inside = element
        moved = move(ring.scale(ring.times(last, pair))[0], t)
        return where_rows(inside[0], moved, start) if inside else moved

    pairs = each(lambda v: tf.concat([v, v[::-1]], axis=1), lifted.phi)
    start = tf.fill(tf.shape(value_of(pairs)[0]), tf.constant(ring.one, phi.dtype))
    start = still(start, pairs)
    elements: tuple = (tf.range(chain.steps), each(lambda v: v[:-1], pairs))
    if chain.lengths is not None:  # beyond the row, both remain at their initial values
        inside = tf.transpose(length_mask(chain.lengths, positions))
        elements = (*elements, tf.concat([inside[1:], inside[:0:-1]], axis=1))
    moved, _ = scan(step, elements, start)
    moved = each(lambda v, s: tf.concat([s[None], v], axis=0), moved, start)
    line = each(lambda v: tf.reshape(v, [positions * 2 * rows, -1]), ring.times(moved, pairs))
    scaled, log_sizes = ring.scale(line)
    both = each(lambda v: tf.reshape(v, tf.shape(value_of(moved))), scaled)
    log_sizes = tf.reshape(log_sizes, [positions, 2 * rows])

    return _Swept(
        each(lambda v: to_time_major(v[:, :rows]), both),  # batch-major again
        each(lambda v: to_time_major(v[::-1, rows:]), moved),
        each(lambda v: to_time_major(v[::-1, rows:]), both),
        tf.transpose(log_sizes[:, :rows]),
        tf.transpose(log_sizes[::-1, rows:]),
    )


def _counts(chain: Chain, share: Element, psi: Element, ahead: Element) -> Element:
    """Return the expected counts of constant transitions over `Real`, by matrix products."""

    def product(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.einsum("bti,btj->bij", x, y)

    share, ahead = chain.edges_only(share), chain.edges_only(ahead)
    if not isinstance(psi, Dual):
        return psi * product(share, ahead)
    moved = product(share.tangent, ahead.value) + product(share.value, ahead.tangent)
    return times(psi, Dual(product(share.value, ahead.value), moved))


def _edges(ring: Semiring, chain: Chain, share: Element, psi: Element, ahead: Element) -> Element:
    """Return the posterior of every transition, in the shape of `pairwise`."""
    psi = each(lambda v: v[:, None], psi) if chain.constant else each(lambda v: v[:, : chain.steps], psi)
    joint = ring.times(ring.times(each(lambda v: v[..., None], share), psi), each(lambda v: v[:, :, None], ahead))
    edges = chain.edges_only(ring.plain(joint))
    return each(lambda v: tf.reduce_sum(v, 1), edges) if chain.constant else edges


def _posterior(ring: Semiring, chain: Chain) -> tuple[Posterior, _Swept, tf.Tensor]:
    """Return the posterior, the recursions that it was computed from, and the sums `s` `[batch, time]`."""
    lifted = _lift(ring, chain)
    swept = _sweep(ring, chain, lifted)
    meet = ring.times(swept.forward, swept.backward)
    sums = ring.sum(meet, axis=2)
    wide = each(lambda v: v[..., None], sums)
    nodes = chain.nodes_only(ring.plain(ring.over(meet, wide)))
    share = each(lambda v: v[:, :-1], ring.over(swept.forward, wide))
    edges_of = _counts if chain.constant and isinstance(ring, Real) else functools.partial(_edges, ring)
    edges = edges_of(chain, share, lifted.matrix(ring, None), each(lambda v: v[:, 1:], swept.ahead))
    log_size = tf.reduce_sum(tf.cast(chain.nodes_only(swept.forward_log_sizes), tf.float64), 1)
    log_partition = tf.cast(log_size + lifted.log_peak, value_of(nodes).dtype)
    if isinstance(nodes, Dual):
        nodes, edges = nodes.tangent, edges.tangent
    return Posterior(log_partition, nodes, edges), swept, value_of(sums)


@tf.autograph.experimental.do_not_convert
def posterior(chain: Chain) -> Posterior:
    """Compute the posterior over `Real`, or over `Log` if the range of the scores in the batch requires it.

    >>> chain = Chain(tf.zeros([1, 3, 2]), tf.zeros([1, 2, 2]), None)
    >>> round(float(tf.exp(posterior(chain).log_partition[0])))  # two states at three positions
    8
    """
    fast, swept, sums = _posterior(Real(), chain)
    fine = _nothing_lost(chain, swept, tf.math.log(sums))
    return Posterior(*tf.cond(fine, lambda: tuple(fast), lambda: tuple(log_posterior(chain))))


def log_posterior(chain: Chain) -> Posterior:
    """Compute the posterior over `Log`."""
    return _posterior(Log(), chain)[0]
