"""Matrix products in a step that are visible to the loop around it.

`recurrence.recur` runs a step forward under a `Watcher`, and again under a `Replay` in the backward pass. The replay
reuses the results of the products, and collects the gradients of these results instead of multiplying them out. Outside
such a loop, `product` is a plain matrix product.
"""

import contextlib
import contextvars
from collections.abc import Iterator

import tensorflow as tf

_WATCHER: contextvars.ContextVar["Watcher | None"] = contextvars.ContextVar("watcher", default=None)


def product(inputs: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
    """Compute `inputs x matrix`: `[rows, n] x [n, m]`, or `[batch, rows, n] x [batch, n, m]`.

    In a step of a loop, the matrix must be the same at every step.

    >>> product(tf.ones([2, 3]), tf.ones([3, 4])).shape.as_list()
    [2, 4]
    """
    watcher = _WATCHER.get()
    return tf.matmul(inputs, matrix) if watcher is None else watcher.see(inputs, matrix)


def compiling() -> bool:
    """Return whether a step of a compiled loop is being traced, since XLA prefers other formulas than TensorFlow."""
    return _WATCHER.get() is not None


class Watcher:
    """A recorder of the products in one run of a step, in order."""

    def __init__(self) -> None:
        self.inputs: list[tf.Tensor] = []
        self.matrices: list[tf.Tensor] = []
        self.results: list[tf.Tensor] = []

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Redirect `product` to this watcher in the context."""
        token = _WATCHER.set(self)
        try:
            yield
        finally:
            _WATCHER.reset(token)

    def see(self, inputs: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
        """Compute and record a product."""
        result = self.result(inputs, matrix)
        self.inputs.append(inputs)
        self.matrices.append(matrix)
        self.results.append(result)
        return result

    def result(self, inputs: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
        return tf.matmul(inputs, matrix)


class Replay(Watcher):
    """A second run of a step: its products return the given results and pass their gradients on to these."""

    def __init__(self, results: list[tf.Tensor]) -> None:
        super().__init__()
        self._given = results

    def result(self, inputs: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
        """Return the given result; its gradient flows to the result itself and, through the matrix, to the inputs."""
        matrix = tf.stop_gradient(matrix)

        @tf.custom_gradient
        def replayed(inputs: tf.Tensor, given: tf.Tensor) -> tuple:
            return tf.identity(given), lambda flow: (tf.matmul(flow, matrix, transpose_b=True), flow)

        return replayed(inputs, self._given[len(self.results)])
