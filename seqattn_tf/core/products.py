"""The matrix products of a step, seen by the loop around it.

`recurrence.recur` runs a step forward under a `Watcher` and again, on the way back, under a `Replay`: there the
products have the results they had, and what flows back into them is collected instead of multiplied out. Outside such
a loop `product` is a matrix product.
"""

import contextlib
import contextvars
from collections.abc import Iterator

import tensorflow as tf

_WATCHER: contextvars.ContextVar["Watcher | None"] = contextvars.ContextVar("watcher", default=None)


def product(inputs: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
    """`inputs x matrix`: `[rows, n] x [n, m]`, or `[batch, rows, n] x [batch, n, m]`.

    In a step of a loop the matrix must be the same at every step.

    >>> product(tf.ones([2, 3]), tf.ones([3, 4])).shape.as_list()
    [2, 4]
    """
    watcher = _WATCHER.get()
    return tf.matmul(inputs, matrix) if watcher is None else watcher.see(inputs, matrix)


def compiling() -> bool:
    """Whether a step of a compiled loop is being traced: XLA likes other forms of the same function than TensorFlow."""
    return _WATCHER.get() is not None


class Watcher:
    """Notes the products of one run of a step, in their order."""

    def __init__(self) -> None:
        self.inputs: list[tf.Tensor] = []
        self.matrices: list[tf.Tensor] = []
        self.results: list[tf.Tensor] = []

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """In this context, `product` comes here."""
        token = _WATCHER.set(self)
        try:
            yield
        finally:
            _WATCHER.reset(token)

    def see(self, inputs: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
        """The result of a product, noted."""
        result = self.result(inputs, matrix)
        self.inputs.append(inputs)
        self.matrices.append(matrix)
        self.results.append(result)
        return result

    def result(self, inputs: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
        """The result of a product."""
        return tf.matmul(inputs, matrix)


class Replay(Watcher):
    """Runs a step again: its products have the given results, and the gradient of a result is that of its product."""

    def __init__(self, results: list[tf.Tensor]) -> None:
        super().__init__()
        self._given = results

    def result(self, inputs: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
        """The given result; its gradient flows to it and, through the matrix, to the inputs."""
        matrix = tf.stop_gradient(matrix)

        @tf.custom_gradient
        def replayed(inputs: tf.Tensor, given: tf.Tensor) -> tuple:
            return tf.identity(given), lambda flow: (tf.matmul(flow, matrix, transpose_b=True), flow)

        return replayed(inputs, self._given[len(self.results)])
