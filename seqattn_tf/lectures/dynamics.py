"""The reach of gradients, as their norm against the distance in time, and the dynamics of states without new inputs.

For a cell, the gradient of the last output with respect to the state `k` steps before it,

    flow(k) = |  d (u . h_T) / d s_{T-k}  |        u a random unit vector, root mean square over the rows

is `|w|^k` for the linear unit `h' = w h`: at distance 50, 1.1 explodes to 117.4 and 0.9 vanishes to 0.00515. For a
network, it is the gradient of the last output with respect to the inputs of each step. `matrix_powers` computes the
same for a single matrix.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.core.scan import scan, to_time_major
from seqattn_tf.lectures.dynamics_plots import draw_attractors, draw_flows, draw_powers


class GradientFlow(NamedTuple):
    """Norms `[steps]` of a gradient at the distances `[steps]`, starting from 0."""

    distances: np.ndarray
    norms: np.ndarray

    def draw(self, name: str = "") -> Any:
        """Draw the norms; `draw_flows` compares several flows."""
        return draw_flows({name: self})


def gradient_flow(model_or_cell: Cell | Callable, data: Any, seed: int = 0) -> GradientFlow:
    """Compute the norm of the gradient of the last output against the distance in time.

    Args:
        model_or_cell: A `Cell`, built or not; or a network that takes `[batch, time, features]` and returns
            `[batch, time, units]`, `[batch, units]` or a tuple that starts with one of these.
        data: The inputs `[batch, time, features]`, without padding.
        seed: The seed of the random direction in which the output is differentiated.

    >>> import keras
    >>> from seqattn_tf.cells import RNNCell
    >>> linear_unit = RNNCell(1, activation="linear", recurrent_initializer=keras.initializers.Constant(1.1))
    >>> flow = gradient_flow(linear_unit, np.zeros([1, 51, 1]))
    >>> round(float(flow.norms[50]), 1)
    117.4
    """
    inputs = tf.convert_to_tensor(np.asarray(data, "float32"))
    if inputs.shape.rank != 3 or 0 in inputs.shape:
        raise ValueError(f"data: expected a nonempty [batch, time, features]. Received: shape {inputs.shape}")
    if isinstance(model_or_cell, Cell):
        gradients = _of_cell(model_or_cell, inputs, seed)  # [time, batch, units]
    else:
        gradients = _of_network(model_or_cell, inputs, seed)
    norms = tf.sqrt(tf.reduce_mean(tf.reduce_sum(tf.cast(gradients, tf.float64) ** 2, axis=-1), axis=-1))
    return GradientFlow(np.arange(inputs.shape[1]), norms.numpy()[::-1])


def _direction(output: tf.Tensor, seed: int) -> tf.Tensor:
    """Return a random unit vector for each row of the output `[batch, units]`."""
    drawn = np.random.default_rng(seed).normal(size=output.shape)
    return tf.constant(drawn / np.linalg.norm(drawn, axis=-1, keepdims=True), output.dtype)


def _of_cell(cell: Cell, inputs: tf.Tensor, seed: int) -> tf.Tensor:
    if not cell.built:
        cell.build(inputs.shape)
    projected = cell.project(to_time_major(tf.cast(inputs, cell.compute_dtype)))
    start = cell.get_initial_state(inputs.shape[0])
    nudges = [
        tf.zeros([inputs.shape[1], *state.shape], state.dtype) for state in start
    ]  # zeros added to each state of each step, to differentiate with respect to it
    with tf.GradientTape() as tape:
        tape.watch(nudges)

        def step(element: tuple, states: list[tf.Tensor]) -> list[tf.Tensor]:
            after = cell.step(element[0], states)
            return [state + nudge for state, nudge in zip(after, element[1], strict=True)]

        _, last = scan(step, (projected, nudges), start)
        seen = tf.reduce_sum(last[0] * _direction(last[0], seed))
    return tf.concat(tape.gradient(seen, nudges), axis=-1)


def _of_network(network: Callable, inputs: tf.Tensor, seed: int) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        output = tf.nest.flatten(network(inputs))[0]
        output = output[:, -1] if output.shape.rank == 3 else output
        seen = tf.reduce_sum(output * _direction(output, seed))
    return to_time_major(tape.gradient(seen, inputs))


class Trajectories(NamedTuple):
    """Trajectories of states: `[steps + 1, starts, units]`."""

    states: np.ndarray
    step: Callable[[np.ndarray], np.ndarray] | None = None  # the map, if it applies to plain numbers

    def draw(self, title: str = "") -> Any:
        """Draw orbits and the states where they settle; for one unit, draw a cobweb plot."""
        return draw_attractors(self.states, title=title, step=self.step)


def iterate(step: Callable[[np.ndarray], np.ndarray], starts: Any, steps: int = 100) -> Trajectories:
    """Apply a map repeatedly: `x, f(x), f(f(x)), ...` for every start `[starts, units]`.

    >>> found = iterate(lambda x: 3.5 * x * (1 - x), [[0.3]], steps=200)
    >>> sorted(round(float(x), 3) for x in found.states[-4:, 0, 0])  # a cycle of four
    [0.383, 0.501, 0.827, 0.875]
    """
    states = [np.asarray(starts, "float64")]
    if states[0].ndim != 2:
        raise ValueError(f"starts: expected [starts, units]. Received: shape {states[0].shape}")
    for _ in range(steps):
        states.append(np.asarray(step(states[-1])))
    return Trajectories(np.stack(states), step)


def attractors(cell: Cell, inputs: Any, starts: int = 64, steps: int = 100, seed: int = 0) -> Trajectories:
    """Compute the trajectories of a cell's states from random starts with constant inputs `[features]`.

    >>> from seqattn_tf.cells import RNNCell
    >>> attractors(RNNCell(3), [0.0, 0.0], starts=5, steps=7).states.shape
    (8, 5, 3)
    """
    inputs = tf.convert_to_tensor(np.asarray(inputs, "float32"))
    if inputs.shape.rank != 1:
        raise ValueError(f"inputs: expected [features]. Received: shape {inputs.shape}")
    if not cell.built:
        cell.build((None, inputs.shape[0]))
    projected = cell.project(tf.cast(tf.tile(inputs[None], [starts, 1]), cell.compute_dtype))
    sizes = cell.state_size
    step = tf.function(lambda flat: tf.concat(cell.step(projected, tf.split(flat, sizes, axis=-1)), axis=-1))
    drawn = np.random.default_rng(seed).normal(size=(starts, sum(sizes)))
    return Trajectories(iterate(lambda state: step(tf.cast(state, cell.compute_dtype)), drawn, steps).states)


class Powers(NamedTuple):
    """The norms of a vector under the powers of a matrix, and the eigenvalues of the matrix."""

    norms: np.ndarray  # [steps + 1], those of v, W v, W^2 v, ...
    eigenvalues: np.ndarray  # [n], complex

    def draw(self, name: str = "", title: str = "") -> Any:
        """Draw norms and eigenvalues; `draw_powers` compares several matrices."""
        return draw_powers({name: self}, title)


def matrix_powers(matrix: Any, start: Any = None, steps: int = 50, seed: int = 0) -> Powers:
    """Compute the norms of `W^k v` for `k = 0 ... steps`.

    This is the effect of a linear recurrent network on its state, or on a gradient.

    Asymptotically they grow or vanish like the powers of the largest eigenvalue; before that, a matrix whose
    eigenvectors are nearly or exactly equal (a defective matrix) may behave differently.

    Args:
        matrix: `W [n, n]`.
        start: `v [n]`; None for a random unit vector.
        steps: The largest power.
        seed: The seed of the random vector.

    >>> found = matrix_powers([[1.1, 0.0], [0.0, 0.5]], start=[1.0, 0.0])
    >>> round(float(found.norms[50]), 1), found.eigenvalues.real.tolist()
    (117.4, [1.1, 0.5])
    """
    matrix = np.asarray(matrix, "float64")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(f"matrix: expected finite numbers [n, n]. Received: shape {matrix.shape}")
    size = len(matrix)
    if start is None:
        start = np.random.default_rng(seed).normal(size=size)
        start /= np.linalg.norm(start)
    vector = np.asarray(start, "float64")
    if vector.shape != (size,):
        raise ValueError(f"start: expected [{size}]. Received: shape {vector.shape}")
    states = iterate(lambda state: state @ matrix.T, vector[None], steps).states
    return Powers(np.linalg.norm(states[:, 0], axis=-1), np.linalg.eigvals(matrix).astype(complex))
