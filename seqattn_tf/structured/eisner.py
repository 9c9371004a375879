"""Eisner's algorithm over a semiring: the inside pass by width of span, and the backward pass through it.

Positions are the root, 0, and the words 1..N. A span from `i` to `j` is complete, or it lacks the far side of its arc:

    M(i, j) = sum_u R(i, u) L(u+1, j)                  two words meet, and
    I(i, j) = arc * M(i, j)                            an arc between them, in either direction
    R(i, j) = sum_u I_right(i, u) R(u, j)              all descendants of i to the right
    L(i, j) = sum_u L(i, u) I_left(u, j)               all descendants of j to the left

The whole is `R(0, length)`. With a single root, no other arc of the root may precede the root's arc. Charts are indexed
by start and width. For the sums, the right factors are stored in aligned form, so that both factors have their `u` at
the same index,

    ends[i, u] = X(i + u, i + width)

and every width takes a few products and a sum over whole charts, without gather or scatter. The charts have the layout
`[width, batch, start]`, because sums over the first axis are the fastest. The backward pass divides the flow through
every sum among its terms. Splitting it by shares yields marginals, following the best term yields the best tree, and
following a random term yields a sample.
"""

from typing import NamedTuple

import tensorflow as tf

from seqattn_tf.core.scan import fold, size_of
from seqattn_tf.structured.semirings import Element, Semiring, each, filled, padded, still, value_of


class Charts(NamedTuple):
    """The complete spans to the right and to the left, the spans with an arc, and the spans that lack it.

    Each is `[width, batch, start]`.
    """

    right: Element
    left: Element
    arc_right: Element
    arc_left: Element
    meet: Element


class Flow(NamedTuple):
    """How often each span is used, as plain numbers in the shape of the charts."""

    right: Element
    left: Element
    arc_right: Element
    arc_left: Element


def _pad(values: tf.Tensor, widths: tuple, starts: tuple, fill: float = 0.0) -> tf.Tensor:
    """Pad the first and the third axis of a chart."""
    rest = [[0, 0]] * (values.shape.rank - 3)
    return padded(values, [widths, (0, 0), starts, *rest], fill)


def _pad_zero(ring: Semiring, element: Element, widths: tuple, starts: tuple) -> Element:
    """Pad a chart with the zero of the semiring."""
    return filled(lambda v, fill: _pad(v, widths, starts, fill), element, ring.zero)


def _taken(values: tf.Tensor, row: tf.Tensor, column: tf.Tensor, fill: float) -> tf.Tensor:
    """Gather `[batch, row, column, ...]` at a grid of indices: `[batch, *grid, ...]`, with `fill` at invalid indices.

    The indices are explicit because XLA miscompiles rows shifted by padding, reshaping and slicing on GPUs
    (docs/xla_gpu.md).
    """
    sizes = [size_of(values, axis) for axis in range(values.shape.rank)]
    exists = (row >= 0) & (row < sizes[1]) & (column >= 0) & (column < sizes[2])
    place = tf.where(exists, row * sizes[2] + column, 0)
    found = tf.gather(tf.reshape(values, [sizes[0], sizes[1] * sizes[2], *sizes[3:]]), place, axis=1)
    exists = tf.reshape(exists, tf.concat([tf.shape(exists), [1] * (values.shape.rank - 3)], 0))
    return tf.where(exists, found, tf.cast(fill, found.dtype))


def _width_first(values: tf.Tensor) -> tf.Tensor:
    """Swap the first two axes: `[batch, width, start, ...] <-> [width, batch, start, ...]`."""
    return tf.transpose(values, [1, 0, *range(2, values.shape.rank)])


def by_width(values: tf.Tensor, fill: float = 0.0) -> tf.Tensor:
    """Index spans by width: `[batch, i, j, ...] -> [j - i, batch, i, ...]` for `j >= i`; missing ones are `fill`."""
    start, width = tf.range(size_of(values, 1))[None], tf.range(size_of(values, 2))[:, None]
    return _width_first(_taken(values, start + tf.zeros_like(width), start + width, fill))


def by_end(chart: tf.Tensor, fill: float = 0.0) -> tf.Tensor:
    """Index spans by their end, the inverse of `by_width`: `[width, batch, i, ...] -> [batch, i, i + width, ...]`."""
    places = tf.range(size_of(chart, 0))
    return _taken(_width_first(chart), places[None] - places[:, None], places[:, None] + tf.zeros_like(places), fill)


def _next_width(ring: Semiring, ends: Element) -> Element:
    """Shift `ends` to the next width, leaving its first column free: `[i, u] <- [i + 1, u - 1]`."""
    return _pad_zero(ring, each(lambda v: v[:-1, :, 1:], ends), (1, 0), (0, 1))


def _last_width(flow: Element) -> Element:
    """Shift the flow into `ends` to the previous width: `[i, u] <- [i - 1, u + 1]`."""
    return each(lambda v: _pad(v[1:, :, :-1], (0, 1), (1, 0)), flow)


def _set_width(chart: Element, is_width: tf.Tensor, spans: Element) -> Element:
    """Return the chart with the spans of one width replaced."""

    def place(values: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
        return tf.where(tf.reshape(is_width, [-1] + [1] * (values.shape.rank - 1)), new[None], values)

    return each(place, chart, spans)


def _at_width(chart: Element, width: tf.Tensor | int) -> Element:
    return each(lambda v: v[width], chart)


def _before_arc(ring: Semiring, right: Element, single_root: bool) -> Element:
    """Return what may precede the arc of a head; for a single root, nothing may precede the root's arc."""
    if not single_root:
        return right
    values = value_of(right)
    size = tf.shape(values)[0]
    barred = (tf.range(size)[:, None, None] > 0) & (tf.range(size) == 0)  # [width, batch, start]
    barred = tf.reshape(barred, [size, 1, size] + [1] * (values.shape.rank - 3))
    return filled(lambda v, fill: tf.where(barred, tf.cast(fill, v.dtype), v), right, ring.zero)


@tf.autograph.experimental.do_not_convert
def inside(ring: Semiring, to_right: Element, to_left: Element, single_root: bool) -> Charts:
    """Compute the charts from arcs by start and width: `to_right[i, w]` from `i` to `i + w`, `to_left[i, w]` back.

    Arcs are log-potentials, and charts contain numbers of the semiring.
    """
    scores = value_of(to_right)
    size = size_of(scores, 0)
    widths = tf.range(size)

    def full(like: tf.Tensor, number: float) -> Element:
        numbers = ring.sum(ring.lift(tf.fill(tf.shape(like[None]), tf.cast(number, like.dtype))), axis=0)
        return still(numbers, to_right)

    nothing = full(scores, ring.zero)
    complete = _set_width(nothing, widths == 0, full(scores[0], ring.one))

    def step(element: tuple, carry: tuple) -> tuple:
        width, score_right, score_left = element
        charts, right_ends, left_ends, arc_ends = carry
        here, first = widths == width, widths == 0
        between = _pad_zero(ring, each(lambda v: v[:, :, 1:], left_ends), (0, 0), (0, 1))  # L(i + u + 1, i + width)
        meet = ring.sum(ring.times(_before_arc(ring, charts.right, single_root), between), axis=0)
        arc_right, arc_left = (ring.times(meet, ring.lift(score)) for score in (score_right, score_left))
        arcs = _set_width(charts.arc_right, here, arc_right)
        right_ends, left_ends = _next_width(ring, right_ends), _next_width(ring, left_ends)
        arc_ends = _set_width(_next_width(ring, arc_ends), first, arc_left)
        right = ring.sum(ring.times(arcs, right_ends), axis=0)
        left = ring.sum(ring.times(charts.left, arc_ends), axis=0)
        charts = Charts(
            _set_width(charts.right, here, right),
            _set_width(charts.left, here, left),
            arcs,
            _set_width(charts.arc_left, here, arc_left),
            _set_width(charts.meet, here, meet),
        )
        return charts, _set_width(right_ends, first, right), _set_width(left_ends, first, left), arc_ends

    elements = widths[1:], each(lambda v: v[1:], to_right), each(lambda v: v[1:], to_left)
    charts, *_ = fold(
        step, elements, (Charts(complete, complete, nothing, nothing, nothing), complete, complete, nothing)
    )
    return charts


def _all_ends(ring: Semiring, chart: Element) -> Element:
    """Return an array from which `_ends` slices the ends of any width."""

    def turn(values: tf.Tensor, fill: float) -> tf.Tensor:
        size = size_of(values, 0)
        end, less = tf.range(2 * size)[None], tf.range(2 * size - 1)[:, None]  # end - start = size - 1 - less
        width = tf.where(end < size, size - 1 - less, -1)
        return _width_first(_taken(_width_first(values), width, end - width, fill))  # [less, batch, end]

    return filled(turn, chart, ring.zero)


def _ends(all_ends: Element, width: tf.Tensor, size: tf.Tensor | int) -> Element:
    """Return the ends of a width: `[u, batch, i] = X(i + u, i + width)`."""

    def cut(values: tf.Tensor) -> tf.Tensor:
        rest = values.shape.rank - 3
        return tf.slice(values, [size - 1 - width, 0, width, *[0] * rest], [size, -1, size, *[-1] * rest])

    return each(cut, all_ends)


@tf.autograph.experimental.do_not_convert
def back(ring: Semiring, charts: Charts, lengths: tf.Tensor, rank: tf.Tensor | None, single_root: bool) -> Flow:
    """Compute how often each span is used, by the backward pass.

    For `Dual` charts, the result includes derivatives. For `KBest`, it refers to the structure of the given rank
    `[batch]`.
    """
    values = value_of(charts.right)
    size = size_of(values, 0)
    widths = tf.range(size)
    right_ends, left_ends, arc_ends = (_all_ends(ring, c) for c in (charts.right, charts.left, charts.arc_left))
    before = _before_arc(ring, charts.right, single_root)

    def step(width: tf.Tensor, carry: tuple) -> tuple:
        flow, into_right, into_left, into_arc = carry
        right = _plus(_at_width(flow.right, width), _at_width(into_right, 0))
        left = _plus(_at_width(flow.left, width), _at_width(into_left, 0))
        at = Charts(*(_at_width(chart, width) for chart in charts))
        ends = _ends(right_ends, width, size)
        from_arc, from_right = ring.at(3 * width).split(right, charts.arc_right, ends, 0, at.right)
        ends = _ends(arc_ends, width, size)
        from_left, from_end = ring.at(3 * width + 1).split(left, charts.left, ends, 0, at.left)
        arc_right, into_arc = _plus(flow.arc_right, from_arc), _plus(into_arc, from_end)
        arc_left = _at_width(into_arc, 0)
        meet = _plus(_at_width(arc_right, width), arc_left)
        between = _pad_zero(ring, each(lambda v: v[1:], _ends(left_ends, width, size)), (0, 1), (0, 0))
        from_before, from_between = ring.at(3 * width + 2).split(meet, before, between, 0, at.meet)
        flow = Flow(
            _plus(flow.right, from_before),
            _plus(flow.left, from_left),
            arc_right,
            _set_width(flow.arc_left, widths == width, arc_left),
        )
        into_left = each(lambda v, f: v + _pad(f[:-1], (1, 0), (0, 0)), into_left, from_between)
        return flow, *map(_last_width, (_plus(into_right, from_right), into_left, into_arc))

    whole = tf.one_hot(lengths, size, axis=0, dtype=values.dtype)  # the root's span over all words
    if rank is not None:
        whole = whole[..., None] * tf.one_hot(rank, values.shape[3], dtype=values.dtype)
    whole = _pad(whole[:, :, None], (0, 0), (0, size - 1))
    whole = still(whole, charts.right)
    none = each(tf.zeros_like, charts.right)
    flow, *_ = fold(step, widths[1:], (Flow(whole, none, none, none), none, none, none), reverse=True)
    return flow


def _plus(x: Element, y: Element) -> Element:
    return each(tf.add, x, y)
