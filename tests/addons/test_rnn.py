"""The cases of TensorFlow Addons' `rnn/tests` for the cells of this package, with known numbers or by a plain step."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.cells import LayerNormLSTMCell, PeepholeLSTMCell


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


def normal(values, epsilon):
    centred = values - values.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + epsilon)


def layer_norm_lstm_step(weights, x, h, c, epsilon=1e-3):
    """Compute one step with the nine weights of TensorFlow Addons' cell; the cell state is stored normalized."""
    kernel, recurrent, bias, gamma_x, beta_x, gamma_h, beta_h, gamma_c, beta_c = weights
    drives = gamma_x * normal(x @ kernel, epsilon) + beta_x
    drives = drives + gamma_h * normal(h @ recurrent, epsilon) + beta_h + bias
    i, f, g, o = np.split(drives, 4, axis=1)
    c = gamma_c * normal(sigmoid(f) * c + sigmoid(i) * np.tanh(g), epsilon) + beta_c
    return sigmoid(o) * np.tanh(c), c


@pytest.mark.parametrize("features", [2, 3])
def test_layer_norm_lstm_of_equal_weights(features):
    """All gates of the two units are equal; layer normalization maps their different cell states to -1 and 1."""
    half = keras.initializers.Constant(0.5)
    alike = {"kernel_initializer": half, "recurrent_initializer": half, "bias_initializer": half}
    cells = [LayerNormLSTMCell(2, epsilon=1e-9, carry_normalised=True, **alike) for _ in range(2)]
    stacked = keras.layers.StackedRNNCells(cells)
    states = [[tf.constant([[0.25, 0.5]]), tf.constant([[0.0, 0.125]])], [tf.ones([1, 2]), tf.constant([[0.75, 0.5]])]]
    output, [first, second] = stacked(tf.ones([1, features]), states)
    known = sigmoid(0.5) * np.tanh(1)  # 0.474
    np.testing.assert_allclose(first[0], [[-known, known]], rtol=1e-5)
    np.testing.assert_allclose(first[1], [[-1, 1]], rtol=1e-5)
    np.testing.assert_allclose(second[0], [[known, -known]], rtol=1e-5)
    np.testing.assert_allclose(second[1], [[1, -1]], rtol=1e-5)
    np.testing.assert_array_equal(output, second[0])


def test_nine_weights_of_layer_norm_lstm_are_six():
    """The shifts of the first two normalizations are merged with the bias without loss."""
    rng = np.random.default_rng(0)
    units, features = 3, 5
    shapes = [(features, 4 * units), (units, 4 * units), *[(4 * units,)] * 5, *[(units,)] * 2]
    kernel, recurrent, bias, gamma_x, beta_x, gamma_h, beta_h, gamma_c, beta_c = old = [
        rng.normal(size=shape) for shape in shapes
    ]
    cell = LayerNormLSTMCell(units, carry_normalised=True, dtype="float64")
    cell.build((None, features))
    names = ["kernel", "recurrent_kernel", "bias", "gain", "memory_gain", "memory_shift"]
    assert [weight.name for weight in cell.weights] == names
    cell.set_weights([kernel, recurrent, bias + beta_x + beta_h, np.stack([gamma_x, gamma_h]), gamma_c, beta_c])
    inputs = rng.normal(size=[2, 4, features])
    h = c = np.zeros([2, units])
    for time in range(4):
        h, c = layer_norm_lstm_step(old, inputs[:, time], h, c)
    layer = keras.layers.RNN(cell, return_state=True, dtype="float64")
    output, *states = layer(tf.constant(inputs))
    np.testing.assert_allclose(output, h, atol=1e-10)
    np.testing.assert_allclose(states[0], h, atol=1e-10)
    np.testing.assert_allclose(states[1], c, atol=1e-10)


def test_layer_norm_lstm_says_what_it_is_made_of():
    cell = LayerNormLSTMCell(10, name="mine")
    config = cell.get_config()
    expected = {"name": "mine", "units": 10, "activation": "tanh", "recurrent_activation": "sigmoid", "epsilon": 1e-3}
    assert {key: config[key] for key in expected} == expected
    assert config["unit_forget_bias"] is True
    kinds = {"kernel": "GlorotUniform", "recurrent": "Orthogonal", "bias": "Zeros"}
    assert {key: config[f"{key}_initializer"]["class_name"] for key in kinds} == kinds
    assert LayerNormLSTMCell.from_config(config).get_config() == config


def test_peephole_lstm_of_ones():
    """One row with a single input of one, and a row of zeros; all peephole weights are one."""
    cell = PeepholeLSTMCell(5, kernel_initializer="ones", peephole_initializer="ones")
    output, (h, c) = cell(tf.constant([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), cell.get_initial_state(2))
    memory = sigmoid(1.0) * np.tanh(1.0)
    known = sigmoid(1.0 + memory) * np.tanh(memory)  # 0.417551
    np.testing.assert_allclose(output, [[known] * 5, [0.0] * 5], rtol=1e-6)
    np.testing.assert_allclose(c, [[memory] * 5, [0.0] * 5], rtol=1e-6)
    np.testing.assert_array_equal(h, output)
    assert round(known, 6) == 0.417551
