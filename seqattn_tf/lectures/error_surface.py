"""The error surface of one recurrent unit with its cliff, and gradient descent on it with and without clipping.

Over many steps, the last state either hardly depends on a weight or changes abruptly, so the surface is flat with a
wall in it. The gradient at the wall is as large as the wall is steep, and a step of this size destroys everything
learned so far. Clipping preserves the direction of the gradient and bounds its norm.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.core.registry import check_count
from seqattn_tf.core.scan import fold
from seqattn_tf.lectures.surface_plot import draw_surface


class ErrorSurface(NamedTuple):
    """Errors `[b, w]` over a grid of weights `[w]` and biases `[b]`."""

    weights: np.ndarray
    biases: np.ndarray
    errors: np.ndarray

    def draw(self, paths: Mapping[str, np.ndarray] | None = None, title: str = "") -> Any:
        """Draw the surface, with paths of gradient descent on it."""
        return draw_surface(*self, paths, title)


@dataclasses.dataclass(frozen=True)
class RecurrentUnit:
    """A recurrent unit without inputs, and its error after the last step (Pascanu et al., 2013).

        h_0 = start        h_t = f(w h_{t-1} + b)        error = (h_T - target)^2

    Args:
        steps: `T`.
        start: The initial state.
        target: The target of the last state.
        activation: The name of `f` in Keras.

    >>> unit = RecurrentUnit(steps=1, start=1.0, target=0.0, activation="linear")
    >>> errors, slopes = unit.slopes([[2.0, 1.0]])
    >>> errors.tolist(), slopes.tolist()
    ([9.0], [[6.0, 6.0]])
    """

    steps: int = 50
    start: float = 0.5
    target: float = 0.7
    activation: str = "sigmoid"

    def __post_init__(self) -> None:
        check_count("steps", self.steps)
        keras.activations.get(self.activation)  # raises an error for an unknown name

    def _errors(self, points: tf.Tensor) -> tf.Tensor:
        """Return the errors at points: `[n, 2] -> [n]`."""
        weights, biases = tf.unstack(points, axis=1)
        activation = keras.activations.get(self.activation)
        first = tf.ones_like(weights) * self.start
        last = fold(lambda _, state: activation(weights * state + biases), tf.range(self.steps), first)
        return (last - self.target) ** 2

    def slopes(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors `[n]` at points `(w, b)`, `[n, 2]`, and their gradients `[n, 2]`."""
        points = tf.constant(np.asarray(points, "float64"))
        if points.shape.rank != 2 or points.shape[1] != 2:
            raise ValueError(f"points: expected [n, 2], of (w, b). Received: shape {points.shape}")
        errors, slopes = self._slopes(points)
        return errors.numpy(), slopes.numpy()

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    def _slopes(self, points: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(points)
            errors = self._errors(points)
        return errors, tape.gradient(errors, points)

    def surface(self, weights: Any, biases: Any) -> ErrorSurface:
        """Compute the errors over a grid of weights `[w]` and biases `[b]`."""
        weights, biases = np.asarray(weights, "float64"), np.asarray(biases, "float64")
        points = np.stack(np.meshgrid(weights, biases), axis=-1).reshape(-1, 2)
        return ErrorSurface(weights, biases, self.slopes(points)[0].reshape(len(biases), len(weights)))

    def descend(self, at: Any, rate: float, steps: int, clip: float | None = None) -> np.ndarray:
        """Return the path of gradient descent: points `(w, b, error)`, `[steps + 1, 3]`.

        Args:
            at: The starting point `(w, b)`.
            rate: The learning rate.
            steps: The number of steps.
            clip: The maximum norm to which larger gradients are scaled down; None for no clipping.
        """
        point = np.asarray(at, "float64")
        if point.shape != (2,):
            raise ValueError(f"at: expected a point (w, b). Received: {at!r:.80}")
        if clip is not None and not clip > 0:
            raise ValueError(f"clip: expected a number above 0, or None. Received: {clip}")
        way = []
        for _ in range(steps + 1):
            [error], [slope] = self.slopes(point[None])
            way.append([*point, error])
            norm = np.linalg.norm(slope)
            point = point - rate * slope * (clip / norm if clip is not None and norm > clip else 1.0)
        return np.array(way)
