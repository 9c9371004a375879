"""Gradients of exact inference without a tape of the inference.

The gradient of the log-partition is the marginals, and the derivative of the marginals is the Hessian of the
log-partition. As the Hessian is symmetric, its vector-Jacobian product equals its Jacobian-vector product in the same
direction, which is one more pass of inference with tangents. A structure defines how to infer and how to propagate
tangents. This module turns that into a log-partition and marginals that are differentiable any number of times:

    order 0, 1    the stored results of `infer`
    order 2       `tangent`, with nothing stored
    beyond        derivatives in the scores by differentiating `taped` with TensorFlow's tape, in the direction by
                  symmetry
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

Tensors = tuple[tf.Tensor, ...]


class Rules(NamedTuple):
    """The inference rules of one kind of structure.

    Args:
        infer: A function of the scores that returns the log-partition `[batch]` and one tensor of marginals per tensor
            of scores.
        tangent: A function of scores and directions, one per tensor of scores, that returns the derivative of the
            marginals in these directions.
        taped: The same as `tangent`, composed of ops that TensorFlow can differentiate. Defaults to `tangent`.
    """

    infer: Callable[..., tuple[tf.Tensor, Tensors]]
    tangent: Callable[[Tensors, Tensors], Tensors]
    taped: Callable[[Tensors, Tensors], Tensors] | None = None


def _frozen(scores: Tensors) -> Tensors:
    return tuple(tf.stop_gradient(s) for s in scores)


def _spread(gradient: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """Add axes to a tensor `[batch]` to match the rank of `like`."""
    return tf.reshape(gradient, [-1] + [1] * (like.shape.rank - 1))


@tf.autograph.experimental.do_not_convert
def infer(rules: Rules, *scores: tf.Tensor) -> tuple[tf.Tensor, Tensors]:
    """Return the log-partition `[batch]` and the marginals, one tensor per tensor of scores, by a single inference."""
    value, found = rules.infer(*_frozen(scores))
    return _known_log_partition(rules, scores, value, found), _known_marginals(rules, scores, found)


def _known_log_partition(rules: Rules, scores: Tensors, value: tf.Tensor, found: Tensors) -> tf.Tensor:
    """Return the precomputed log-partition as a differentiable function of the scores."""

    @tf.custom_gradient
    def function(*scores: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(upstream: tf.Tensor) -> list[tf.Tensor]:
            return [_spread(upstream, m) * m for m in _known_marginals(rules, scores, found)]

        return tf.identity(value), gradient

    return function(*scores)


def _known_marginals(rules: Rules, scores: Tensors, found: Tensors) -> Tensors:
    """Return the precomputed marginals as differentiable functions of the scores."""

    @tf.custom_gradient
    def function(*scores: tf.Tensor) -> tuple[Tensors, Any]:
        def gradient(*upstream: tf.Tensor) -> list[tf.Tensor]:
            return list(_hessian_product(rules, scores, upstream))

        return tuple(tf.identity(m) for m in found), gradient

    return function(*scores)


def _hessian_product(rules: Rules, scores: Tensors, directions: Tensors) -> Tensors:
    """Return the product of the Hessian of the log-partition at the scores with the directions."""
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
