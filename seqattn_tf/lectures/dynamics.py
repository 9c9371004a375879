"""How far a gradient reaches: its norm against the distance in time, and what a state does when left alone.

For a cell, the gradient of the last output in the state `k` steps before it,

    flow(k) = |  d (u . h_T) / d s_{T-k}  |        u a random direction of length one, the mean square over the rows

is `|w|^k` for the linear unit `h' = w h`: at distance 50, 1.1 explodes to 117.4 and 0.9 vanishes to 0.00515. For a
network, it is the gradient of the last output in the inputs, step by step. `matrix_powers` is the same of a
matrix alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.core.scan import scan, to_time_major
from seqattn_tf.lectures.dynamics_plots import draw_attractors, draw_flows, draw_powers


class GradientFlow(NamedTuple):
    """Norms `[steps]` of a gradient at the distances `[steps]`, 0 first."""

    distances: np.ndarray
    norms: np.ndarray

    def draw(self, name: str = "") -> Any:
        """The picture of it; `explain.draw_flows` compares several."""
        return draw_flows({name: self})


def gradient_flow(model_or_cell: Cell | Callable, data: Any, seed: int = 0) -> GradientFlow:
    """The norm of the gradient of the last output against the distance in time.

    Args:
        model_or_cell: a `Cell`, built or not; or a network that takes `[batch, time, features]` and gives
            `[batch, time, units]`, `[batch, units]` or a tuple that begins with one of these.
        data: inputs `[batch, time, features]`, without padding.
        seed: of the direction in which the output is looked at.

    >>> import keras
    >>> from seqattn_tf.cells import RNNCell
    >>> linear_unit = RNNCell(1, activation="linear", recurrent_initializer=keras.initializers.Constant(1.1))
    >>> flow = gradient_flow(linear_unit, np.zeros([1, 51, 1]))
    >>> round(float(flow.norms[50]), 1)
    117.4
    """
    inputs = tf.convert_to_tensor(np.asarray(data, "float32"))
    if inputs.shape.rank != 3 or 0 in inputs.shape:
        raise ValueError(f"data: expected [batch, time, features], none of them 0. Received: shape {inputs.shape}")
    if isinstance(model_or_cell, Cell):
        gradients = _of_cell(model_or_cell, inputs, seed)  # [time, batch, units]
    else:
        gradients = _of_network(model_or_cell, inputs, seed)
    norms = tf.sqrt(tf.reduce_mean(tf.reduce_sum(tf.cast(gradients, tf.float64) ** 2, axis=-1), axis=-1))
    return GradientFlow(np.arange(inputs.shape[1]), norms.numpy()[::-1])


def _direction(output: tf.Tensor, seed: int) -> tf.Tensor:
    """A direction of length one for each row of the output `[batch, units]`."""
    drawn = np.random.default_rng(seed).normal(size=output.shape)
    return tf.constant(drawn / np.linalg.norm(drawn, axis=-1, keepdims=True), output.dtype)


def _of_cell(cell: Cell, inputs: tf.Tensor, seed: int) -> tf.Tensor:
    if not cell.built:
        cell.build(inputs.shape)
    projected = cell.project(to_time_major(tf.cast(inputs, cell.compute_dtype)))
    start = cell.get_initial_state(inputs.shape[0])
    nudges = [
        tf.zeros([inputs.shape[1], *state.shape], state.dtype) for state in start
    ]  # one for each state of each step
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
    """Where states went: `[steps + 1, starts, units]`."""

    states: np.ndarray
    step: Callable[[np.ndarray], np.ndarray] | None = None  # the map, where it is one of plain numbers

    def draw(self, title: str = "") -> Any:
        """Orbits and where they settle; of one unit, a cobweb."""
        return draw_attractors(self.states, title=title, step=self.step)


def iterate(step: Callable[[np.ndarray], np.ndarray], starts: Any, steps: int = 100) -> Trajectories:
    """Apply a map again and again: `x, f(x), f(f(x)), ...` for every start `[starts, units]`.

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
    """Where the states of a cell go from random starts when it sees the same inputs `[features]` for ever.

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
    """What the powers of a matrix do to a vector, and its eigenvalues."""

    norms: np.ndarray  # [steps + 1], of v, W v, W^2 v, ...
    eigenvalues: np.ndarray  # [n], complex

    def draw(self, name: str = "", title: str = "") -> Any:
        """The picture of it; `explain.draw_powers` compares several."""
        return draw_powers({name: self}, title)


def matrix_powers(matrix: Any, start: Any = None, steps: int = 50, seed: int = 0) -> Powers:
    """The norms of `W^k v` for `k = 0 ... steps`: what a linear recurrent network does to its state, or to a gradient.

    In the end they grow or vanish as the power of the largest eigenvalue; before that, a matrix whose eigenvectors are
    nearly or quite the same (a defective one) may do otherwise.

    Args:
        matrix: `W [n, n]`.
        start: `v [n]`; None for a random direction of length one.
        steps: the largest power.
        seed: of the random direction.

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
