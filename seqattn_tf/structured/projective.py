"""Projective dependency trees: every word has a head, and no two arcs cross.

score(tree) = sum_d arcs[d, head(d)]
"""

from typing import Any

import tensorflow as tf

from seqattn_tf.structured import eisner, exact
from seqattn_tf.structured.base import Ranked, Structured, as_lengths, checked_k, floats, two_seeds
from seqattn_tf.structured.semirings import Drawn, Dual, Element, KBest, Log, Max, Semiring, each, value_of


class Trees(Structured):
    """What projective and spanning trees share: arcs `[batch, words, heads]`, and heads `[batch, words]` as structures.

    A word's arc to itself and all arcs beyond the length do not exist.
    """

    def __init__(self, arcs: Any, lengths: Any = None, single_root: bool = True) -> None:
        self.arcs = floats(arcs, "arcs", 3)
        _, words, heads = self.arcs.shape
        if words == 0 or (words is not None and heads not in (None, words + 1)):
            raise ValueError(
                f"arcs: expected [batch, words, words + 1], column 0 for the root. Received: shape {self.arcs.shape}"
            )
        self.single_root = single_root
        self.lengths = as_lengths(lengths, self.arcs, tf.shape(self.arcs)[1])

    @property
    def _exists(self) -> tf.Tensor:
        """Which arcs there are."""
        words = self.arcs.shape[1] or tf.shape(self.arcs)[1]
        word, head = tf.range(1, words + 1)[:, None], tf.range(words + 1)[None]
        last = self.lengths[:, None, None]
        return (word != head) & (word <= last) & (head <= last)

    @property
    def _scores(self) -> tuple[tf.Tensor]:
        return (tf.where(self._exists, self.arcs, tf.zeros_like(self.arcs)),)

    def score(self, structure: Any) -> tf.Tensor:
        """The sum of the scores of the arcs to the given heads `[batch, words]`: `[batch]`."""
        heads = tf.convert_to_tensor(structure)
        if not heads.dtype.is_integer or not heads.shape.is_compatible_with(self.arcs.shape[:2]):
            raise ValueError(
                f"heads: expected integers {self.arcs.shape[:2]}. Received: {heads.dtype.name} {heads.shape}"
            )
        scores = tf.gather(self._scores[0], heads, axis=2, batch_dims=2)
        return tf.reduce_sum(
            tf.where(tf.sequence_mask(self.lengths, tf.shape(scores)[1]), scores, tf.zeros_like(scores)), 1
        )


class ProjectiveTree(Trees):
    """A distribution over projective dependency trees, by Eisner's algorithm.

    Args:
        arcs: log-potentials `[batch, words, words + 1]`: a row for every word, a column for every head it may have,
            the root first.
        lengths: how many words each row has, `[batch]`; all when not given.
        single_root: whether the root has exactly one word below it.

    Structures are heads `int32 [batch, words]`: 0 for the root, else the number of a word, counted from 1.

    >>> tree = ProjectiveTree(tf.zeros([1, 4, 5]))
    >>> round(float(tf.exp(tree.log_partition[0])))  # as many as there are, each with weight one
    30
    >>> ProjectiveTree(tf.constant([[[0.0, 0.0, 3.0], [1.0, 0.0, 0.0]]])).argmax.numpy().tolist()
    [[2, 0]]
    """

    def _inside(self, ring: Semiring, arcs: Element) -> tuple[eisner.Charts, tf.Tensor]:
        """The charts, and the logarithm of the factor they lack."""
        peak = tf.stop_gradient(tf.reduce_max(value_of(arcs), axis=2, keepdims=True))
        peak = tf.where(tf.math.is_finite(peak), peak, tf.zeros_like(peak))

        def to_left(scores: tf.Tensor, fill: float) -> tf.Tensor:
            return eisner.by_width(tf.pad(scores, [[0, 0], [1, 0], [0, 0]], constant_values=fill), fill)

        def to_right(scores: tf.Tensor, fill: float) -> tf.Tensor:
            dense = tf.pad(scores, [[0, 0], [1, 0], [0, 0]], constant_values=fill)
            return eisner.by_width(tf.transpose(dense, [0, 2, 1]), fill)

        def both(scores: Element, arrange: Any) -> Element:
            if isinstance(scores, Dual):
                return Dual(arrange(scores.value - peak, ring_zero), arrange(scores.tangent, 0.0))
            return arrange(scores - peak, ring_zero)

        ring_zero = -float("inf")  # no arc
        charts = eisner.inside(ring, both(arcs, to_right), both(arcs, to_left), self.single_root)
        words = tf.sequence_mask(self.lengths, tf.shape(peak)[1])
        return charts, tf.reduce_sum(tf.where(words, peak[..., 0], tf.zeros_like(peak[..., 0])), 1)

    def _whole(self, charts: eisner.Charts) -> tf.Tensor:
        """Of the root's spans to the right, the one of all words: `[batch, ...]`."""
        by_row = tf.transpose(value_of(charts.right)[:, :, 0], [1, 0, *range(2, value_of(charts.right).shape.rank - 1)])
        return tf.gather(by_row, self.lengths, axis=1, batch_dims=1)

    def _arcs(self, flow: eisner.Charts, part: Any) -> tf.Tensor:
        """`[batch, words, heads]` of the flow through the arcs."""
        left, right = (eisner.by_end(part(f)) for f in (flow.arc_left, flow.arc_right))
        return (left + tf.transpose(right, [0, 2, 1]))[:, 1:]

    @property
    def _rules(self) -> exact.Rules:
        def posterior(arcs: Element) -> tuple[tf.Tensor, eisner.Charts]:
            charts, log_factor = self._inside(Log(), arcs)
            return self._whole(charts) + log_factor, eisner.back(Log(), charts, self.lengths, None, self.single_root)

        def infer(arcs: tf.Tensor) -> tuple[tf.Tensor, exact.Tensors]:
            log_partition, flow = posterior(arcs)
            return log_partition, (self._arcs(flow, tf.identity),)

        def tangent(scores: exact.Tensors, directions: exact.Tensors) -> exact.Tensors:
            _, flow = posterior(Dual(*scores, *directions))
            return (self._arcs(flow, lambda f: f.tangent),)

        return exact.Rules(infer, tangent)

    def _heads(self, ring: Semiring, charts: eisner.Charts, rank: tf.Tensor | None, repeats: int) -> tf.Tensor:
        """Heads `[batch * repeats, words]` of single trees, each row's trees one after the other."""
        charts = each(lambda v: tf.repeat(v, repeats, axis=1), charts)
        lengths = tf.repeat(self.lengths, repeats)
        flow = eisner.back(ring, charts, lengths, rank, self.single_root)
        arcs = self._arcs(flow, (lambda f: f) if rank is None else (lambda f: tf.reduce_sum(f, 3)))
        heads = tf.argmax(arcs, axis=2, output_type=tf.int32)
        return tf.where(tf.sequence_mask(lengths, tf.shape(heads)[1]), heads, 0)

    @property
    def argmax(self) -> tf.Tensor:
        """The heads of the best tree, `int32 [batch, words]`."""
        charts, _ = self._inside(Max(), self._scores[0])
        return self._heads(Max(), charts, None, 1)

    def top_k(self, k: int) -> Ranked:
        """The `k` best trees, `int32 [batch, k, words]`, and their scores."""
        ring = KBest(checked_k(k))
        charts, log_factor = self._inside(ring, self._scores[0])
        ranks = tf.tile(tf.range(k), tf.shape(self.lengths))
        heads = self._heads(ring, charts, ranks, k)
        return Ranked(tf.reshape(heads, [-1, k, tf.shape(heads)[1]]), self._whole(charts) + log_factor[:, None])

    def sample(self, n: int, seed: Any) -> tf.Tensor:
        """The heads of `n` trees of every row, `int32 [n, batch, words]`."""
        charts, _ = self._inside(Log(), self._scores[0])
        heads = self._heads(Drawn(two_seeds(seed)), charts, None, n)
        return tf.transpose(tf.reshape(heads, [-1, n, tf.shape(heads)[1]]), [1, 0, 2])
