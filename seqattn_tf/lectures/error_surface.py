"""The error surface of one recurrent unit, its cliff, and gradient descent on it with clipping and without.

Over many steps the last state hardly depends on a weight, or changes at once: flat land with a wall in it. A gradient
taken at the wall is as large as the wall is steep, and one step of its size throws away all that was learned. Clipping
keeps its direction and bounds its length.
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
        """The picture of it, with ways of gradient descent on it."""
        return draw_surface(*self, paths, title)


@dataclasses.dataclass(frozen=True)
class RecurrentUnit:
    """A unit that hears nothing but itself, and its error after the last step (Pascanu et al., 2013).

        h_0 = start        h_t = f(w h_{t-1} + b)        error = (h_T - target)^2

    Args:
        steps: `T`.
        start: the first state.
        target: what the last state should be.
        activation: `f`, by Keras's name.

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
        keras.activations.get(self.activation)  # refuses a name that is none

    def _errors(self, points: tf.Tensor) -> tf.Tensor:
        """`[n, 2] -> [n]`."""
        weights, biases = tf.unstack(points, axis=1)
        activation = keras.activations.get(self.activation)
        first = tf.ones_like(weights) * self.start
        last = fold(lambda _, state: activation(weights * state + biases), tf.range(self.steps), first)
        return (last - self.target) ** 2

    def slopes(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """Errors `[n]` at points `(w, b)`, `[n, 2]`, and their gradients `[n, 2]`."""
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
        """The errors over a grid: weights `[w]`, biases `[b]`."""
        weights, biases = np.asarray(weights, "float64"), np.asarray(biases, "float64")
        points = np.stack(np.meshgrid(weights, biases), axis=-1).reshape(-1, 2)
        return ErrorSurface(weights, biases, self.slopes(points)[0].reshape(len(biases), len(weights)))

    def descend(self, at: Any, rate: float, steps: int, clip: float | None = None) -> np.ndarray:
        """The way of gradient descent: points `(w, b, error)`, `[steps + 1, 3]`.

        Args:
            at: the first `(w, b)`.
            rate: of learning.
            steps: how many.
            clip: a gradient whose norm is larger is scaled down to it; None for as it is.
        """
        point = np.asarray(at, "float64")
        if point.shape != (2,):
            raise ValueError(f"at: expected two numbers, (w, b). Received: {at!r:.80}")
        if clip is not None and not clip > 0:
            raise ValueError(f"clip: expected a number above 0, or None. Received: {clip}")
        way = []
        for _ in range(steps + 1):
            [error], [slope] = self.slopes(point[None])
            way.append([*point, error])
            norm = np.linalg.norm(slope)
            point = point - rate * slope * (clip / norm if clip is not None and norm > clip else 1.0)
        return np.array(way)
