"""Gradients of exact inference that keep no tape of it.

The gradient of a log-partition is the marginals, and the derivative of the marginals is the Hessian of the
log-partition, which is symmetric: their vector-Jacobian product is the Jacobian-vector product in the same direction,
one more pass of inference that carries tangents along. A structure says how to infer and how to carry tangents; this
module makes of it a log-partition and marginals that can be differentiated as often as one likes:

    order 0, 1    what `infer` computed, kept
    order 2       `tangent`, nothing kept from before
    beyond        the derivative of `taped` in the scores by TensorFlow's tape, in the direction by symmetry
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

Tensors = tuple[tf.Tensor, ...]


class Rules(NamedTuple):
    """How one kind of structure is inferred.

    Args:
        infer: scores -> the log-partition `[batch]` and one tensor of marginals for each tensor of scores.
        tangent: scores, directions (one for each tensor of scores) -> the derivative of the marginals when the scores
            move in these directions.
        taped: the same, made of ops that TensorFlow can differentiate; `tangent` itself where none is given.
    """

    infer: Callable[..., tuple[tf.Tensor, Tensors]]
    tangent: Callable[[Tensors, Tensors], Tensors]
    taped: Callable[[Tensors, Tensors], Tensors] | None = None


def _frozen(scores: Tensors) -> Tensors:
    return tuple(tf.stop_gradient(s) for s in scores)


def _spread(gradient: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """`[batch]` with the axes of `like` that follow the first."""
    return tf.reshape(gradient, [-1] + [1] * (like.shape.rank - 1))


@tf.autograph.experimental.do_not_convert
def infer(rules: Rules, *scores: tf.Tensor) -> tuple[tf.Tensor, Tensors]:
    """The log-partition `[batch]` and the marginals, one tensor for each tensor of scores, by one inference."""
    value, found = rules.infer(*_frozen(scores))
    return _known_log_partition(rules, scores, value, found), _known_marginals(rules, scores, found)


def _known_log_partition(rules: Rules, scores: Tensors, value: tf.Tensor, found: Tensors) -> tf.Tensor:
    """What was already inferred, as a function of the scores."""

    @tf.custom_gradient
    def function(*scores: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(upstream: tf.Tensor) -> list[tf.Tensor]:
            return [_spread(upstream, m) * m for m in _known_marginals(rules, scores, found)]

        return tf.identity(value), gradient

    return function(*scores)


def _known_marginals(rules: Rules, scores: Tensors, found: Tensors) -> Tensors:
    """The same of the marginals."""

    @tf.custom_gradient
    def function(*scores: tf.Tensor) -> tuple[Tensors, Any]:
        def gradient(*upstream: tf.Tensor) -> list[tf.Tensor]:
            return list(_hessian_product(rules, scores, upstream))

        return tuple(tf.identity(m) for m in found), gradient

    return function(*scores)


def _hessian_product(rules: Rules, scores: Tensors, directions: Tensors) -> Tensors:
    """The Hessian of the log-partition at the scores, times the directions."""
    count = len(scores)

    @tf.custom_gradient
    def function(*arguments: tf.Tensor) -> tuple[Tensors, Any]:
        scores, directions = arguments[:count], arguments[count:]
        found = rules.tangent(_frozen(scores), _frozen(directions))

        def gradient(*upstream: tf.Tensor) -> list[tf.Tensor]:
            with tf.GradientTape() as tape:
                tape.watch(scores)
                moved = (rules.taped or rules.tangent)(scores, directions)
            in_scores = tape.gradient(moved, scores, upstream, unconnected_gradients=tf.UnconnectedGradients.ZERO)
            return [*in_scores, *_hessian_product(rules, scores, upstream)]

        return tuple(found), gradient

    return function(*scores, *directions)
