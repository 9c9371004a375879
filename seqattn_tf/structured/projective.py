"""Projective dependency trees: every word has a head, and no two arcs cross.

score(tree) = sum_d arcs[d, head(d)]
"""

from typing import Any

import tensorflow as tf

from seqattn_tf.core.masking import length_mask
from seqattn_tf.core.scan import to_time_major
from seqattn_tf.structured import eisner, exact
from seqattn_tf.structured.charted import Charted
from seqattn_tf.structured.semirings import (
    Dual,
    Element,
    Log,
    Semiring,
    each,
    filled,
    padded,
    peak,
    shift,
    value_of,
)
from seqattn_tf.structured.trees import Trees


class ProjectiveTree(Trees, Charted):
    """A distribution over dependency trees without crossing arcs, by Eisner's algorithm, in `O(words^3)`.

    The arguments are those of `Trees`.

    >>> tree = ProjectiveTree(tf.zeros([1, 4, 5]))
    >>> round(float(tf.exp(tree.log_partition[0])))  # the number of trees, each with weight one
    30
    >>> ProjectiveTree(tf.constant([[[0.0, 0.0, 3.0], [1.0, 0.0, 0.0]]])).argmax.numpy().tolist()
    [[2, 0]]
    """

    def _inside(self, ring: Semiring, arcs: Element) -> tuple[eisner.Charts, tf.Tensor]:
        """Return the charts, and the logarithm of the factor that was divided out of them."""
        most = peak(value_of(arcs), 2)

        def arrange(scores: tf.Tensor, fill: float, to_right: bool) -> tf.Tensor:
            dense = padded(scores, [[0, 0], [1, 0], [0, 0]], fill)  # the root has no head
            return eisner.by_width(tf.transpose(dense, [0, 2, 1]) if to_right else dense, fill)

        def directed(to_right: bool) -> Element:
            return filled(lambda v, fill: arrange(v, fill, to_right), shift(arcs, -most), -float("inf"))

        charts = eisner.inside(ring, directed(True), directed(False), self.single_root)
        return charts, tf.reduce_sum(tf.where(self._words, most[..., 0], tf.zeros_like(most[..., 0])), 1)

    def _chart(self, ring: Semiring) -> tuple[eisner.Charts, tf.Tensor]:
        return self._inside(ring, self._scores[0])

    def _whole(self, ring: Semiring, chart: tuple[eisner.Charts, tf.Tensor]) -> tf.Tensor:
        charts, log_factor = chart
        of_root = to_time_major(value_of(charts.right)[:, :, 0])  # [batch, width, ...]
        found = tf.gather(of_root, self.lengths, axis=1, batch_dims=1)
        return found + (log_factor if found.shape.rank == 1 else log_factor[:, None])

    def _arcs(self, flow: eisner.Flow, part: Any) -> tf.Tensor:
        """Return the flow through the arcs: `[batch, words, heads]`."""
        left, right = (eisner.by_end(part(f)) for f in (flow.arc_left, flow.arc_right))
        return (left + tf.transpose(right, [0, 2, 1]))[:, 1:]

    @property
    def _rules(self) -> exact.Rules:
        def posterior(arcs: Element) -> tuple[tf.Tensor, eisner.Flow]:
            chart = self._inside(Log(), arcs)
            return self._whole(Log(), chart), eisner.back(Log(), chart[0], self.lengths, None, self.single_root)

        def infer(arcs: tf.Tensor) -> tuple[tf.Tensor, exact.Tensors]:
            log_partition, flow = posterior(arcs)
            return log_partition, (self._arcs(flow, tf.identity),)

        def tangent(scores: exact.Tensors, directions: exact.Tensors) -> exact.Tensors:
            _, flow = posterior(Dual(*scores, *directions))
            return (self._arcs(flow, lambda f: f.tangent),)

        return exact.Rules(infer, tangent)

    def _single(
        self, ring: Semiring, chart: tuple[eisner.Charts, tf.Tensor], rank: tf.Tensor | None, repeats: int
    ) -> tf.Tensor:
        charts = each(lambda v: tf.repeat(v, repeats, axis=1), chart[0])
        lengths = tf.repeat(self.lengths, repeats)
        flow = eisner.back(ring, charts, lengths, rank, self.single_root)
        arcs = self._arcs(flow, (lambda f: f) if rank is None else (lambda f: tf.reduce_sum(f, 3)))
        heads = tf.argmax(arcs, axis=2, output_type=tf.int32)
        return tf.where(length_mask(lengths, self.size), heads, 0)
