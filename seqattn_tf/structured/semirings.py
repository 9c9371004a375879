"""Semirings: the number systems that a dynamic program can run over.

A program multiplies potentials along a structure and sums over structures. What it computes depends on the meaning of
"times" and "sum":

    Real    x * y      sum x            the partition function; fast, for scores of moderate range
    Log     x + y      log sum exp x    its logarithm, for scores of any size
    Max     x + y      max x            the best score
    KBest   x + y      the k largest    the k best scores, on a last axis

`Real` and `Log` also run on `Dual` numbers, which carry a derivative: the same program then computes the directional
derivative of all its results. Axes are counted from the front, so that the k-best axis can be last.
"""

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.core.scan import size_of

Element = Any  # a tensor, or a Dual of two


class Dual(NamedTuple):
    """A value and its derivative. In `Log`, the value is a logarithm, and the derivative is that of the logarithm."""

    value: tf.Tensor
    tangent: tf.Tensor


def each(function: Any, element: Element, *others: Element) -> Element:
    """Apply a function that is linear in its tensors, such as slicing or reshaping, to all tensors of an element."""
    return tf.nest.map_structure(function, element, *others)


def value_of(element: Element) -> tf.Tensor:
    """Return the value of an element without its derivative."""
    return element.value if isinstance(element, Dual) else element


def finite(x: tf.Tensor) -> tf.Tensor:
    """Return `x` with 0 in place of `-inf`, so that it can be subtracted."""
    return tf.where(x == -float("inf"), tf.zeros_like(x), x)


def peak(x: tf.Tensor, axis: int | list[int]) -> tf.Tensor:
    """Return the maximum along the axes, which are kept, or 0 if it is `-inf`. It has no gradient."""
    return finite(tf.stop_gradient(tf.reduce_max(x, axis, keepdims=True)))


def still(value: tf.Tensor, like: Element) -> Element:
    """Return a constant value: if `like` has a derivative, a `Dual` with a derivative of 0."""
    return Dual(value, tf.zeros_like(value)) if isinstance(like, Dual) else value


def shift(element: Element, by: tf.Tensor) -> Element:
    """Add a constant to a logarithm."""
    return Dual(element.value + by, element.tangent) if isinstance(element, Dual) else element + by


def filled(function: Any, element: Element, fill: float) -> Element:
    """Apply `function(tensor, fill)`, which fills gaps in a tensor; derivatives are filled with 0."""
    if isinstance(element, Dual):
        return Dual(function(element.value, fill), function(element.tangent, 0.0))
    return function(element, fill)


def padded(values: tf.Tensor, paddings: Sequence[Sequence[tf.Tensor | int]], fill: float = 0.0) -> tf.Tensor:
    """Pad like `tf.pad`, but also inside `tf.vectorized_map`, where TensorFlow ignores the fill value and pads with 0.

    >>> padded(tf.constant([[1.0, 2.0]]), [[0, 1], [1, 0]], 7.0).numpy().tolist()
    [[7.0, 1.0, 2.0], [7.0, 7.0, 7.0]]
    """
    if fill == 0:
        return tf.pad(values, paddings)
    for axis, (before, after) in enumerate(paddings):
        sizes = [size_of(values, n) for n in range(values.shape.rank)]
        sides = [[*sizes[:axis], width, *sizes[axis + 1 :]] for width in (before, after)]
        first, last = (
            [] if isinstance(side[axis], int) and not side[axis] else [tf.fill(side, tf.cast(fill, values.dtype))]
            for side in sides
        )
        values = tf.concat([*first, values, *last], axis) if first or last else values
    return values


def times(x: Element, y: Element) -> Element:
    """Multiply plain numbers, with derivatives by the product rule."""
    if not isinstance(x, Dual):
        return x * y
    return Dual(x.value * y.value, x.tangent * y.value + x.value * y.tangent)


def uniform(shape: tf.Tensor, seed: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Draw random numbers strictly between 0 and 1, identical for equal seeds in eager mode, in a graph and under XLA.

    TensorFlow's random integers are identical everywhere, but its random floats are derived from them in different
    ways.
    """
    bits, digits = (tf.uint64, 52) if dtype == tf.float64 else (tf.uint32, 23)
    drawn = tf.random.stateless_uniform(shape, seed, minval=None, maxval=None, dtype=bits, alg="philox")
    drawn = tf.bitwise.right_shift(drawn, tf.constant(8 * bits.size - digits, bits))
    return (tf.cast(drawn, dtype) + 0.5) * 2.0**-digits


def step_seed(seed: tf.Tensor, step: tf.Tensor | int) -> tf.Tensor:
    """Return the seed of one step of many."""
    return tf.random.experimental.stateless_fold_in(seed, tf.cast(step, seed.dtype), alg="philox")


class Semiring(abc.ABC):
    """A semiring: how scores become numbers, how numbers are multiplied and how they are summed."""

    one: float = 0.0
    zero: float = -float("inf")

    def lift(self, scores: Element) -> Element:
        """Convert log-potentials to numbers of this semiring."""
        return scores

    def times(self, x: Element, y: Element) -> Element:
        """Return the elementwise product."""
        return each(tf.add, x, y)

    def over(self, x: Element, y: Element) -> Element:
        """Return the elementwise quotient; numbers divided by zero are unchanged."""
        some = value_of(y) > self.zero
        return each(lambda v, w: v - tf.where(some, w, tf.zeros_like(w)), x, y)

    def plain(self, x: Element) -> Element:
        """Convert a number of this semiring to a plain number."""
        return Real().lift(x)

    def attach(self, value: tf.Tensor, tangent: tf.Tensor) -> Dual:
        """Return a number, given the derivative of its logarithm."""
        return Dual(value, tangent)

    @abc.abstractmethod
    def sum(self, x: Element, axis: int) -> Element:
        """Return the sum along an axis."""

    def dot(self, vector: Element, matrix: Element) -> Element:
        """Return `sum_i vector[b, i] matrix[b, i, j]`, given `[batch, n]` and `[batch, n, m]`."""
        return self.sum(self.times(each(lambda v: v[:, :, None], vector), matrix), axis=1)

    def scale(self, x: Element) -> tuple[Element, tf.Tensor]:
        """Return `x: [batch, n]` divided by its size, and the logarithm of that size `[batch]`."""
        size = self.sum(x, axis=1)
        return self.over(x, each(lambda v: v[:, None], size)), value_of(size)

    def shares(self, x: Element, axis: int) -> Element:
        """Return the share of each number in `sum(x, axis)`: plain numbers that sum to one (or are all 0)."""
        raise NotImplementedError

    def at(self, step: tf.Tensor | int) -> "Semiring":
        """Return the semiring for one step of a program, which differs only if it draws random numbers."""
        return self

    def split(
        self, flow: Element, x: Element, y: Element, axis: int, total: Element | None = None
    ) -> tuple[Element, Element]:
        """Split a flow through `sum(times(x, y), axis)` among each `x` and each `y`, as plain numbers.

        If the total is given, the shares need no sum of their own. Without it, they sum to exactly one, which long
        programs require.
        """
        parts = times(each(lambda f: tf.expand_dims(f, axis), flow), self.shares(self.times(x, y), axis))
        return parts, parts


class Log(Semiring):
    """The log semiring: `log sum exp`, for values of any size including `-inf`."""

    def sum(self, x: Element, axis: int) -> Element:
        """Return `log sum exp x`; its derivative is the mean of the derivatives weighted by their shares."""
        value = value_of(x)
        most = peak(value, axis)
        weights = tf.exp(value - most)
        mass = tf.reduce_sum(weights, axis)
        some = mass != 0  # the logarithm of 0 has a value but no derivative
        log = tf.where(some, tf.math.log(tf.where(some, mass, 1)) + tf.squeeze(most, axis), self.zero)
        if not isinstance(x, Dual):
            return log
        return Dual(log, tf.math.divide_no_nan(tf.reduce_sum(weights * x.tangent, axis), mass))

    def shares(self, x: Element, axis: int) -> Element:
        """Return the softmax."""
        value = value_of(x)
        weights = tf.exp(value - peak(value, axis))
        weights = tf.math.divide_no_nan(weights, tf.reduce_sum(weights, axis, keepdims=True))
        if not isinstance(x, Dual):
            return weights
        mean = tf.reduce_sum(weights * x.tangent, axis, keepdims=True)
        return Dual(weights, weights * (x.tangent - mean))

    def split(
        self, flow: Element, x: Element, y: Element, axis: int, total: Element | None = None
    ) -> tuple[Element, Element]:
        """Split a flow by shares, which follow from the total if it is given."""
        if total is None:
            return super().split(flow, x, y, axis)
        flow, total = (each(lambda v: tf.expand_dims(v, axis), element) for element in (flow, total))
        parts = times(flow, self.plain(self.over(self.times(x, y), total)))
        return parts, parts


class Real(Semiring):
    """The semiring of ordinary numbers: one exponential per score, then only products and sums."""

    one, zero = 1.0, 0.0

    def lift(self, scores: Element) -> Element:
        """Return the exponential of the scores."""
        if not isinstance(scores, Dual):
            return tf.exp(scores)
        return self.attach(tf.exp(scores.value), scores.tangent)

    def attach(self, value: tf.Tensor, tangent: tf.Tensor) -> Dual:
        return Dual(value, value * tangent)

    def over(self, x: Element, y: Element) -> Element:
        """Return the quotient; 0 / 0 is NaN, which indicates an underflow."""
        if not isinstance(x, Dual):
            return x / y
        value = x.value / y.value
        return Dual(value, (x.tangent - value * y.tangent) / y.value)

    def plain(self, x: Element) -> Element:
        return x

    def times(self, x: Element, y: Element) -> Element:
        return times(x, y)

    def sum(self, x: Element, axis: int) -> Element:
        return each(lambda v: tf.reduce_sum(v, axis), x)

    def dot(self, vector: Element, matrix: Element) -> Element:
        """Return a matrix product."""

        def product(v: tf.Tensor, m: tf.Tensor) -> tf.Tensor:
            return tf.einsum("bi,bij->bj", v, m)

        if not isinstance(vector, Dual):
            return product(vector, matrix)
        moved = product(vector.tangent, matrix.value) + product(vector.value, matrix.tangent)
        return Dual(product(vector.value, matrix.value), moved)

    def scale(self, x: Element) -> tuple[Element, tf.Tensor]:
        size = self.sum(x, axis=1)
        return self.over(x, each(lambda v: v[:, None], size)), tf.math.log(value_of(size))


class Drawn(Log):
    """A `Log` semiring for sampling: a flow is not divided, but follows one alternative, drawn by its share.

    Args:
        seed: Two integers. Equal seeds give equal draws everywhere.
        step: A number that distinguishes draws with the same seed.
    """

    def __init__(self, seed: tf.Tensor, step: tf.Tensor | int = 0) -> None:
        self.seed = step_seed(seed, step)

    def at(self, step: tf.Tensor | int) -> "Drawn":
        """Return a semiring with independent draws."""
        return Drawn(self.seed, step)

    def shares(self, x: tf.Tensor, axis: int) -> tf.Tensor:
        """Return 1 for the alternative that is drawn: the maximum after adding Gumbel noise."""
        return Max().shares(x - tf.math.log(-tf.math.log(uniform(tf.shape(x), self.seed, x.dtype))), axis)

    def split(
        self, flow: Element, x: Element, y: Element, axis: int, total: Element | None = None
    ) -> tuple[Element, Element]:
        """Split a flow by drawn shares, regardless of the total."""
        return super().split(flow, x, y, axis)


class Max(Semiring):
    """The max-plus semiring, for the best score alone."""

    def sum(self, x: tf.Tensor, axis: int) -> tf.Tensor:
        """Return the maximum."""
        return tf.reduce_max(x, axis)

    def shares(self, x: tf.Tensor, axis: int) -> tf.Tensor:
        """Return 1 for the first maximum."""
        return tf.one_hot(tf.argmax(x, axis), tf.shape(x)[axis], axis=axis, dtype=x.dtype)


class KBest(Semiring):
    """The `k` largest scores, best first, on a last axis of size `k`. A lifted score has a last axis of size one.

    >>> ring = KBest(2)
    >>> ring.sum(ring.lift(tf.constant([3.0, 1.0, 2.0])), axis=0).numpy().tolist()
    [3.0, 2.0]
    """

    def __init__(self, k: int) -> None:
        self.k = k

    def lift(self, scores: tf.Tensor) -> tf.Tensor:
        """Add a last axis of size one."""
        return scores[..., None]

    def best(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the `k` largest numbers along the last axis and their indices."""
        paddings = [[0, 0]] * (x.shape.rank - 1) + [[0, self.k]]
        return tf.math.top_k(padded(x, paddings, self.zero), self.k)

    def times(self, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        """Return the `k` best sums of all pairs."""
        if 1 in (x.shape[-1], y.shape[-1]):
            return x + y
        pairs = x[..., :, None] + y[..., None, :]
        return self.best(tf.reshape(pairs, tf.concat([tf.shape(pairs)[:-2], [-1]], 0)))[0]

    def sum(self, x: tf.Tensor, axis: int) -> tf.Tensor:
        """Return the `k` best numbers over the axis and all ranks."""
        rank = x.shape.rank
        x = tf.transpose(x, [n for n in range(rank - 1) if n != axis] + [axis, rank - 1])
        return self.best(tf.reshape(x, tf.concat([tf.shape(x)[:-2], [-1]], 0)))[0]

    def scale(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Subtract the best number of all."""
        size = tf.reduce_max(x, [1, 2])
        return x - finite(size)[:, None, None], size

    def split(
        self, flow: tf.Tensor, x: tf.Tensor, y: tf.Tensor, axis: int, total: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Send the flow `[..., k]` to the pair of alternatives with its rank.

        A flow has only one rank, because a structure uses a part only once.
        """
        pairs = x[..., :, None] + y[..., None, :]
        shape, rank = tf.shape(pairs), pairs.shape.rank
        order = [n for n in range(rank - 2) if n != axis] + [axis, rank - 2, rank - 1]
        pairs = tf.transpose(pairs, order)
        line = tf.reshape(pairs, tf.concat([tf.shape(pairs)[:-3], [-1]], 0))
        place = tf.gather(self.best(line)[1], tf.argmax(flow, axis=-1), axis=-1, batch_dims=rank - 3)
        parts = tf.one_hot(place, tf.shape(line)[-1], dtype=flow.dtype) * tf.reduce_sum(flow, -1, keepdims=True)
        parts = tf.reshape(parts, tf.gather(shape, order))
        parts = tf.transpose(parts, [order.index(n) for n in range(rank)])
        known = [None] * (rank - 2)
        return (
            tf.ensure_shape(tf.reduce_sum(parts, -1), [*known, x.shape[-1]]),
            tf.ensure_shape(tf.reduce_sum(parts, -2), [*known, y.shape[-1]]),
        )
