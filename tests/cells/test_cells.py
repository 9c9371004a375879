"""Every cell, by being listed, runs the whole harness."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_gradient
from support.layers import random, roundtrip

from seqattn_tf import cells
from seqattn_tf.recurrent import Recurrent

UNITS, FEATURES, BATCH, TIME = 4, 3, 2, 5
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)

CELLS = {
    "gru": (cells.GRUCell, keras.layers.GRU, {}),
    "lstm": (cells.LSTMCell, keras.layers.LSTM, {"unit_forget_bias": False}),
}
SHARED_ARGUMENTS = {
    "units": 7,
    "activation": "relu",
    "recurrent_activation": "hard_sigmoid",
    "kernel_initializer": "he_normal",
    "recurrent_initializer": "zeros",
    "bias_initializer": "ones",
}


@pytest.fixture(params=CELLS)
def name(request):
    return request.param


def twins(name, dtype="float32"):
    """Our network and Keras's, with the same random weights."""
    ours = Recurrent(name, units=UNITS, dtype=dtype)
    keras_layer = CELLS[name][1](UNITS, return_sequences=True, return_state=True, dtype=dtype)
    for layer in (ours, keras_layer):
        layer.build((None, None, FEATURES))
    keras_layer.set_weights([random(*w.shape, seed=i) for i, w in enumerate(keras_layer.get_weights())])
    ours.set_weights(keras_layer.get_weights())
    return ours, keras_layer


def test_numbers_of_keras_with_and_without_mask(name):
    ours, keras_layer = twins(name)
    inputs = tf.constant(random(BATCH, TIME, FEATURES))
    for mask in (None, tf.constant(MASK)):
        outputs, states = ours(inputs, mask=mask)
        expected, *expected_states = keras_layer(inputs, mask=mask)
        keep = MASK if mask is not None else np.ones_like(MASK)
        np.testing.assert_allclose(outputs.numpy()[keep], expected.numpy()[keep], atol=1e-6)
        for state, expected_state in zip(states, expected_states, strict=True):
            np.testing.assert_allclose(state, expected_state, atol=1e-6)


def test_new_weights_start_as_keras_starts_them(name):
    fresh = CELLS[name][1](UNITS)
    fresh.build((None, None, FEATURES))
    cell = CELLS[name][0](UNITS)
    cell.build((None, FEATURES))
    np.testing.assert_array_equal(cell.get_weights()[2], fresh.get_weights()[2])  # the bias is deterministic


def test_call_is_step_after_project(name):
    ours, keras_layer = twins(name)
    inputs = tf.constant(random(BATCH, FEATURES))
    states = [tf.constant(random(BATCH, UNITS, seed=i)) for i, _ in enumerate(ours.cell.state_size)]
    output, after = ours.cell(inputs, states)
    expected, expected_states = keras_layer.cell(inputs, states)
    np.testing.assert_allclose(output, expected, atol=1e-6)
    for state, expected_state in zip(after, tf.nest.flatten(expected_states), strict=True):
        np.testing.assert_allclose(state, expected_state, atol=1e-6)


def test_gates_lie_between_their_bounds(name):
    ours, _ = twins(name)
    gates = ours.cell.gates(tf.constant(random(BATCH, FEATURES)), ours.cell.get_initial_state(BATCH))
    for gate, values in gates.items():
        low = -1 if gate == "candidate" else 0
        assert ((values >= low) & (values <= 1)).numpy().all()
        assert values.shape == (BATCH, UNITS)


def test_every_argument_survives_saving(name):
    kind, _, extra = CELLS[name]
    cell = kind(**SHARED_ARGUMENTS, **extra)
    config = roundtrip(cell).get_config()
    for argument, value in {**SHARED_ARGUMENTS, **extra}.items():
        stored = config[argument]
        text = str(stored["class_name"] if isinstance(stored, dict) else stored).lower().replace("_", "")
        assert text == str(value).lower().replace("_", ""), argument


def test_gradient_in_float64(name):
    ours, _ = twins(name, "float64")
    readout = tf.constant(random(BATCH, TIME, UNITS, seed=9, dtype="float64"))

    def loss(inputs, *weights):
        outputs, _ = ours.stateless_call(list(weights), [], inputs, mask=tf.constant(MASK))[0]
        return tf.reduce_sum(outputs * readout)

    assert_gradient(loss, [random(BATCH, TIME, FEATURES, dtype="float64"), *ours.get_weights()])


def test_mixed_precision_stays_near_single(name):
    ours, _ = twins(name)
    half = Recurrent(name, units=UNITS, dtype="mixed_bfloat16")
    half.build((None, None, FEATURES))
    half.set_weights(ours.get_weights())
    inputs = tf.constant(random(BATCH, TIME, FEATURES))
    outputs, _ = half(inputs, mask=tf.constant(MASK))
    assert outputs.dtype == tf.bfloat16
    np.testing.assert_allclose(tf.cast(outputs, tf.float32), ours(inputs, mask=tf.constant(MASK))[0], atol=0.1)


def test_unknown_cell_and_bad_units_are_refused():
    with pytest.raises(ValueError, match=r"expected one of \['gru', 'lstm'\].*Received: 'elman'"):
        cells.Cell.get("elman")
    with pytest.raises(ValueError, match=r"expected a positive integer\. Received: 0"):
        cells.GRUCell(0)
