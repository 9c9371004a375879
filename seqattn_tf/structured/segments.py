"""Segmentations: positions divided into labeled segments, with scores for every segment and every pair of labels.

score(z) = sum over segments spans[start, width - 1, label] + transitions[label, next label]
"""

from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.core.scan import scan, size_of, where_rows
from seqattn_tf.structured import exact
from seqattn_tf.structured.base import as_lengths, at_least, floats, only_the_empty
from seqattn_tf.structured.charted import Charted
from seqattn_tf.structured.semirings import (
    Dual,
    Element,
    KBest,
    Log,
    Semiring,
    each,
    filled,
    still,
    value_of,
)


class Segments(NamedTuple):
    """The width and the label of each segment at its start, and 0 elsewhere. Both are `int32 [batch, time]`."""

    widths: tf.Tensor
    labels: tf.Tensor


class _Forward(NamedTuple):
    """The stored results of the forward pass, time-major, where `e` is the end of a segment.

    `starts[e, :, l]` is the sum over everything before a segment of width `l + 1` that ends at `e`, including the
    transition to its label. `ends[e]` is the sum over everything that ends at `e`, by label. Both are divided by the
    exponential of `log_scale[e]`.
    """

    starts: Element
    ends: Element
    log_scale: tf.Tensor


def _by_end(values: tf.Tensor, fill: float) -> tf.Tensor:
    """Index spans by their end: `[batch, start, width, label] -> [end, batch, width, label]`."""
    _, times, widths, _ = tf.unstack(tf.shape(values))
    start = tf.range(times)[:, None] - tf.range(widths)[None]  # [end, width]
    line = tf.reshape(values, [tf.shape(values)[0], times * widths, tf.shape(values)[3]])
    found = tf.gather(line, tf.maximum(start, 0) * widths + tf.range(widths), axis=1)
    return tf.transpose(tf.where((start >= 0)[None, :, :, None], found, tf.cast(fill, values.dtype)), [1, 0, 2, 3])


def _by_start(values: tf.Tensor) -> tf.Tensor:
    """Index spans by their start: `[end, batch, width, label] -> [batch, start, width, label]`.

    Segments that would end too late get zeros.
    """
    times, batch, widths, labels = tf.unstack(tf.shape(values))
    end = tf.range(times)[:, None] + tf.range(widths)[None]  # [start, width]
    line = tf.reshape(tf.transpose(values, [1, 0, 2, 3]), [batch, times * widths, labels])
    found = tf.gather(line, tf.minimum(end, times - 1) * widths + tf.range(widths), axis=1)
    return tf.where((end < times)[None, :, :, None], found, tf.zeros_like(found))


@tf.autograph.experimental.do_not_convert
def _forward(ring: Semiring, spans: Element, transitions: Element) -> tuple[_Forward, Element]:
    """Run the forward pass; also return the spans indexed by their end."""
    spans = filled(_by_end, spans, -float("inf"))
    shape = tf.shape(value_of(spans))[1:]  # batch, width, label
    matrix = ring.lift(transitions)

    def numbers(value: tf.Tensor) -> Element:
        return still(ring.sum(ring.lift(value)[None], axis=0), spans)

    def push(window: Element, newest: Element) -> Element:
        return each(lambda w, n: tf.concat([n[:, None], w[:, :-1]], axis=1), window, newest)

    def step(scores: Element, carry: tuple) -> tuple:
        before, _, _, _ = carry
        ended = ring.sum(ring.times(before, ring.lift(scores)), axis=1)
        after = push(before, ring.dot(ended, matrix))
        flat = tf.concat([shape[:1], [-1], tf.shape(value_of(after))[3:]], 0)
        scaled, log_size = ring.scale(each(lambda v: tf.reshape(v, flat), after))
        after = each(lambda v, like: tf.reshape(v, tf.shape(like)), scaled, after)
        return after, before, ended, tf.where(log_size > ring.zero, log_size, tf.zeros_like(log_size))

    dtype = value_of(spans).dtype
    first = tf.where(tf.range(shape[1])[None, :, None] > 0, tf.constant(ring.zero, dtype), ring.one)
    first = numbers(tf.broadcast_to(first, shape))
    nothing = each(lambda v: v[:, 0], first)
    (_, starts, ends, log_sizes), _ = scan(step, spans, (first, first, nothing, tf.zeros(shape[:1], dtype)))
    log_scale = tf.cumsum(tf.cast(log_sizes, tf.float64), exclusive=True)
    return _Forward(starts, ends, tf.cast(log_scale, dtype)), spans


@tf.autograph.experimental.do_not_convert
def _back(
    ring: Semiring, forward: _Forward, spans: Element, transitions: Element, lengths: tf.Tensor, rank: tf.Tensor | None
) -> tuple[Element, Element]:
    """Return how often each segment `[batch, start, width, label]` and each transition `[batch, label, label]` is used.

    The results are plain numbers. For `Dual` passes, they include derivatives; for `KBest`, they refer to the
    segmentation of the given rank `[batch]`.
    """
    values = value_of(forward.ends)
    matrix = ring.lift(transitions)
    one = tf.ones_like(values[0, :, 0]) if rank is None else tf.one_hot(rank, values.shape[3], dtype=values.dtype)
    whole = still(one, forward.ends)

    def ranks_summed(flow: Element, rank_of_element: int) -> Element:
        return each(lambda f: tf.reduce_sum(f, -1) if f.shape.rank > rank_of_element else f, flow)

    def step(element: tuple, carry: tuple) -> tuple:
        end, starts, ended, before, scores = element
        into_starts, into_end, counts, _ = carry  # the last element is the output of the loop
        unit = ring.lift(each(lambda v: tf.zeros_like(v[:, 0]), scores))
        at_last, _ = ring.at(3 * end).split(whole, ended, unit, 1)
        into_end = each(tf.add, into_end, where_rows(end + 1 == lengths, at_last, each(tf.zeros_like, at_last)))
        to_starts, segments = ring.at(3 * end + 1).split(into_end, starts, ring.lift(scores), 1)
        into_starts = each(tf.add, into_starts, to_starts)
        into_gap = each(lambda v: v[:, 0], into_starts)
        # Nothing precedes the first segment.
        into_gap = each(lambda v: tf.where(end == 0, tf.zeros_like(v), v), into_gap)
        to_end, pairs = ring.at(3 * end + 2).split(into_gap, each(lambda v: v[:, :, None], before), matrix, 1)
        into_starts = each(lambda v: tf.concat([v[:, 1:], tf.zeros_like(v[:, :1])], axis=1), into_starts)
        counts = each(tf.add, counts, ranks_summed(pairs, 3))
        return into_starts, each(lambda v: tf.reduce_sum(v, 2), to_end), counts, ranks_summed(segments, 3)

    def earlier(v: tf.Tensor) -> tf.Tensor:
        return tf.concat([v[:1], v[:-1]], axis=0)

    none = each(lambda v: tf.zeros_like(v[0]), forward.starts)
    initial = (
        none,
        each(lambda v: tf.zeros_like(v[:, 0]), none),
        each(tf.zeros_like, transitions),
        each(lambda v: tf.zeros_like(v[0]), spans),
    )
    elements = (tf.range(tf.shape(values)[0]), forward.starts, forward.ends, each(earlier, forward.ends), spans)
    (_, _, _, segments), (_, _, counts, _) = scan(step, elements, initial, reverse=True)
    return each(_by_start, segments), counts


class SemiMarkov(Charted):
    """A distribution over labeled segmentations (a semi-Markov model).

    Args:
        spans: The log-potentials `[batch, time, widths, labels]`: `spans[b, t, l, k]` scores a segment that starts at
            `t`, has width `l + 1` and label `k`.
        transitions: The log-potentials `[labels, labels]` of a label and that of the next segment.
        lengths: The lengths `[batch]`. Defaults to the full length for every row.

    Structures are `Segments`: the width and the label of each segment at its start.

    >>> segments = SemiMarkov(tf.zeros([1, 3, 2, 1]), tf.zeros([1, 1]))
    >>> round(float(tf.exp(segments.log_partition[0])))  # 1+1+1, 1+2, 2+1
    3
    >>> spans = tf.reshape([0.0, 5.0, 0.0, 0.0, 1.0, 0.0], [1, 3, 2, 1])
    >>> SemiMarkov(spans, tf.zeros([1, 1])).argmax.widths.numpy().tolist()
    [[2, 0, 1]]
    """

    def __init__(self, spans: Any, transitions: Any, lengths: Any = None) -> None:
        self.spans = floats(spans, "spans", 4)
        self.transitions = floats(transitions, "transitions", 2)
        if self.spans.dtype != self.transitions.dtype:
            raise ValueError(
                f"transitions: expected {self.spans.dtype.name}, the dtype of spans. "
                f"Received: {self.transitions.dtype.name}"
            )
        if self.spans.shape[2] == 0:
            raise ValueError(f"spans: expected at least one width. Received: shape {self.spans.shape}")
        if not self.transitions.shape.is_compatible_with([self.spans.shape[3]] * 2):
            raise ValueError(
                f"transitions: expected {[self.spans.shape[3]] * 2}. Received: {self.transitions.shape.as_list()}"
            )
        self.positions = size_of(self.spans, 1)
        self.lengths = as_lengths(lengths, self.spans, self.positions)
        self.spans = at_least(1, self.spans)

    @property
    def _scores(self) -> tuple[tf.Tensor, tf.Tensor]:
        times, widths = tf.shape(self.spans)[1], tf.shape(self.spans)[2]
        end = tf.range(times)[:, None] + tf.range(widths)[None] + 1
        exists = (end <= self.lengths[:, None, None])[..., None]
        labels = self.spans.shape[3] or tf.shape(self.spans)[3]
        transitions = tf.broadcast_to(self.transitions, [tf.shape(self.spans)[0], labels, labels])
        return tf.where(exists, self.spans, tf.zeros_like(self.spans)), transitions

    def _whole(self, ring: Semiring, chart: tuple[_Forward, Element]) -> tf.Tensor:
        forward, _ = chart
        last = tf.maximum(self.lengths - 1, 0)
        places = tf.stack([last, tf.range(tf.shape(last)[0])], axis=1)
        found = ring.sum(tf.gather_nd(value_of(forward.ends), places), axis=1)
        scale = tf.gather_nd(forward.log_scale, places)
        nothing = self.lengths == 0
        if not isinstance(ring, KBest):
            return tf.where(nothing, tf.zeros_like(found), found + scale)
        return tf.where(nothing[:, None], only_the_empty(ring.k, found.dtype), found + scale[:, None])

    @property
    def _rules(self) -> exact.Rules:
        def infer(spans: tf.Tensor, transitions: tf.Tensor) -> tuple[tf.Tensor, exact.Tensors]:
            chart = _forward(Log(), spans, transitions)
            return self._whole(Log(), chart), _back(Log(), *chart, transitions, self.lengths, None)

        def tangent(scores: exact.Tensors, directions: exact.Tensors) -> exact.Tensors:
            spans, transitions = map(Dual, scores, directions)
            chart = _forward(Log(), spans, transitions)
            segments, counts = _back(Log(), *chart, transitions, self.lengths, None)
            return segments.tangent, counts.tangent

        return exact.Rules(infer, tangent)

    def _chart(self, ring: Semiring) -> tuple[_Forward, Element]:
        return _forward(ring, *self._scores)

    def _single(
        self, ring: Semiring, chart: tuple[_Forward, Element], rank: tf.Tensor | None, repeats: int
    ) -> Segments:
        forward, spans = tf.nest.map_structure(lambda v: tf.repeat(v, repeats, axis=1), chart)
        transitions, lengths = (tf.repeat(v, repeats, axis=0) for v in (self._scores[1], self.lengths))
        used, _ = _back(ring, forward, spans, transitions, lengths, rank)
        batch, times, widths, labels = tf.unstack(tf.shape(used))
        line = tf.reshape(used, [batch, times, widths * labels])
        place = tf.argmax(line, axis=2, output_type=tf.int32)
        starts = tf.reduce_max(line, axis=2) > 0
        return Segments(tf.where(starts, place // labels + 1, 0), tf.where(starts, place % labels, 0))

    def score(self, structure: Segments) -> tf.Tensor:
        """Return the sum of the log-potentials of the segments and of the transitions between them: `[batch]`.

        Segments that are too wide have a score of `-inf`. It is not checked that segments are contiguous.
        """
        widths, labels = (
            self._checked(values, name) for values, name in zip(structure, ("widths", "labels"), strict=True)
        )
        spans, transitions = self._scores
        batch, times, longest, size = tf.unstack(tf.shape(spans))
        line = tf.reshape(spans, [batch, times, longest * size])
        found = tf.gather(line, tf.maximum(widths - 1, 0) * size + labels, axis=2, batch_dims=2)
        onward = tf.range(times) + widths
        next_label = tf.gather(labels, tf.minimum(onward, times - 1), axis=1, batch_dims=1)
        pairs = tf.reshape(transitions, [batch, size * size])
        crossed = tf.gather(pairs, labels * size + next_label, axis=1, batch_dims=1)
        starts = widths > 0
        goes_on = starts & (onward < self.lengths[:, None])
        zero = tf.zeros_like(found)
        exists = (widths <= longest) & (onward <= self.lengths[:, None])
        found = tf.where(exists, found, -float("inf"))
        return tf.reduce_sum(tf.where(starts, found, zero) + tf.where(goes_on, crossed, zero), 1)
