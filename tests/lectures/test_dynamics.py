import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import random

from seqattn_tf.cells import GRUCell, LSTMCell, RNNCell
from seqattn_tf.lectures import attractors, draw_attractors, draw_flows, gradient_flow, iterate, matrix_powers
from seqattn_tf.recurrent import Recurrent

DATA = random(3, 6, 2)


@pytest.mark.parametrize(("weight", "norm"), [(1.1, 117.4), (0.9, 0.00515)])
def test_linear_unit_explodes_and_vanishes(weight, norm):
    unit = RNNCell(1, activation="linear", recurrent_initializer=keras.initializers.Constant(weight))
    flow = gradient_flow(unit, np.zeros([2, 51, 1]))
    np.testing.assert_allclose(flow.norms, weight**flow.distances, rtol=1e-4)
    assert float(f"{flow.norms[50]:.4g}") == pytest.approx(norm, rel=1e-3)


@pytest.mark.parametrize("kind", [RNNCell, LSTMCell, GRUCell])
def test_flow_of_a_cell_is_the_product_of_its_jacobians(kind):
    cell = kind(2, dtype="float64")
    flow = gradient_flow(cell, DATA, seed=3)
    states = cell.get_initial_state(3)
    direction = np.random.default_rng(3).normal(size=(3, 2))
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    jacobians = []  # of the whole state, row by row
    for t in range(6):
        joined = tf.concat(states, -1)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(joined)
            parts = tf.split(joined, cell.state_size, axis=-1)
            after = tf.concat(cell.step(cell.project(tf.constant(DATA[:, t], tf.float64)), parts), -1)
        jacobians.append(tape.batch_jacobian(after, joined, experimental_use_pfor=False).numpy())
        states = tf.split(after, cell.state_size, axis=-1)
    back = np.concatenate([direction, np.zeros((3, sum(cell.state_size) - 2))], -1)
    for distance in range(6):
        norm = np.sqrt((back**2).sum(-1).mean())
        np.testing.assert_allclose(flow.norms[distance], norm, rtol=1e-9)
        back = np.einsum("bi,bij->bj", back, jacobians[5 - distance])


def test_flow_of_a_network_is_that_of_its_inputs():
    network = Recurrent("gru", units=4, return_sequences=True)
    flow = gradient_flow(network, DATA)
    assert flow.norms.shape == (6,)
    assert (flow.norms > 0).all()
    last = gradient_flow(lambda x: network(x)[:, -1], DATA)
    np.testing.assert_allclose(flow.norms, last.norms, rtol=1e-6)


def test_pictures():
    flows = {"RNN": gradient_flow(RNNCell(2), DATA), "zero": (np.arange(3), [0, np.nan, 1])}
    figure = draw_flows(flows)
    [axes] = figure.axes
    assert [line.get_label() for line in axes.get_lines()][:2] == ["RNN", "zero"]
    assert axes.get_yscale() == "log"
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), flows["RNN"].norms)
    # Also for values that are not finite.
    np.testing.assert_allclose(axes.get_lines()[1].get_ydata(), [1e-12, 1e-12, 1])
    assert flows["RNN"].draw("RNN").axes


def test_iterated_map_settles_in_its_cycle():
    found = iterate(lambda x: 3.5 * x * (1 - x), [[0.3], [0.7]], steps=400)
    assert len({round(float(x), 6) for x in found.states[-40:, 0, 0]}) == 4
    [axes] = found.draw("f").axes
    lines = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    assert (lines["the next x = x"][:, 0] == lines["the next x = x"][:, 1]).all()
    np.testing.assert_allclose(lines["the map"][:, 1], 3.5 * lines["the map"][:, 0] * (1 - lines["the map"][:, 0]))
    way = lines["trajectory"]
    np.testing.assert_allclose(way[:4], [[0.3, 0.3], [0.3, 0.735], [0.735, 0.735], [0.735, 0.6817125]])
    assert len({round(x, 5) for x in lines["fixed point"][:, 0]}) == 4


def test_orbits_begin_at_their_starts_and_settle_in_dots():
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    found = iterate(lambda x: x @ turn, np.eye(2), steps=8)
    [axes] = found.draw().axes
    dots = next(line for line in axes.get_lines() if line.get_label() == "settled states").get_xydata()
    assert len(dots) == 9 * 2
    assert sum(line.get_fillstyle() == "none" for line in axes.get_lines()) == 2


def test_attractors_of_a_contracting_cell_are_one_point():
    cell = RNNCell(3, recurrent_initializer=keras.initializers.RandomNormal(stddev=0.1, seed=0))
    found = attractors(cell, [1.0, -1.0], starts=4, steps=60)
    assert found.states.shape == (61, 4, 3)
    np.testing.assert_allclose(found.states[-1], np.repeat(found.states[-1][:1], 4, 0), atol=1e-6)
    assert draw_attractors(found.states).axes


JORDAN = 0.9 * np.eye(4) + np.eye(4, k=1)


@pytest.mark.parametrize("matrix", [DATA[0, :2].astype("float64"), JORDAN, np.diag([1.1, -1.1])])
def test_powers_are_those_of_numpy(matrix):
    start = np.arange(1.0, len(matrix) + 1)
    found = matrix_powers(matrix, start, steps=20)
    expected = [np.linalg.norm(np.linalg.matrix_power(matrix, k) @ start) for k in range(21)]
    np.testing.assert_allclose(found.norms, expected, rtol=1e-9)
    np.testing.assert_allclose(np.poly(found.eigenvalues), np.poly(matrix), atol=1e-9)


def test_powers_go_by_the_largest_eigenvalue_in_the_end():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=[16, 16])
    for radius in (0.9, 1.0, 1.1):
        scaled = matrix * radius / np.abs(np.linalg.eigvals(matrix)).max()
        found = matrix_powers(scaled, steps=400)
        assert found.norms[0] == pytest.approx(1)
        assert np.abs(found.eigenvalues).max() == pytest.approx(radius)
        assert (found.norms[400] / found.norms[200]) ** (1 / 200) == pytest.approx(radius, abs=0.01)
    defective = matrix_powers(JORDAN, [0.0, 0.0, 0.0, 1.0], steps=400).norms
    assert defective.max() > 100  # grows at first
    assert defective[-1] < 1e-9
    assert matrix_powers(JORDAN).draw("defective").axes


def test_bad_arguments_are_refused():
    for matrix in (np.zeros([2, 3]), np.zeros([0, 0]), np.full([2, 2], np.nan), 1.0):
        with pytest.raises(ValueError, match=r"matrix: expected finite numbers \[n, n\]"):
            matrix_powers(matrix)
    with pytest.raises(ValueError, match=r"start: expected \[2\]\. Received: shape \(3,\)"):
        matrix_powers(np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match=r"data: expected a nonempty \[batch, time, features\]"):
        gradient_flow(RNNCell(2), np.zeros([3, 0, 2]))
    with pytest.raises(ValueError, match=r"starts: expected \[starts, units\]"):
        iterate(np.sin, 0.3)
    with pytest.raises(ValueError, match=r"inputs: expected \[features\]"):
        attractors(RNNCell(2), np.zeros([1, 2]))
    with pytest.raises(ValueError, match="flows: expected at least one flow"):
        draw_flows({})
    with pytest.raises(ValueError, match="states: expected finite numbers"):
        draw_attractors(np.full([3, 2, 2], np.nan))
