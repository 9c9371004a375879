"""Every cell in Keras's networks: stateful, bidirectional, with returned states and with masks."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.cells import FEATURES, UNITS
from support.layers import random
from support.slow import slow

from seqattn_tf import cells

BATCH, TIME = 2, 4
INPUTS = random(BATCH, TIME, FEATURES)
MAKERS = {
    **{name: lambda name=name: cells.Cell.get(name, units=UNITS) for name in cells.Cell.registry if name != "memory"},
    "memory": lambda: cells.MemoryCell(UNITS, slots=5, width=3),
    "dropout": lambda: cells.DropoutCell("lstm", rate=0.3, units=UNITS),
    "zoneout": lambda: cells.ZoneoutCell("gru", rate=0.3, units=UNITS),
    "deep": lambda: cells.DeepTransitionCell([cells.GRUCell(UNITS), cells.GRUCell(UNITS)]),
    "dropout around a memory": lambda: cells.DropoutCell(MAKERS["memory"](), rate=0.3),
}

KINDS = ("lstm", "layer_norm_gru", "memory", "dropout around a memory", "zoneout", "deep")  # kinds of states


@pytest.fixture(params=[name if name in KINDS else slow(name) for name in MAKERS])
def cell(request):
    return MAKERS[request.param]()


def in_two_calls(model):
    return np.concatenate([model(INPUTS[:, : TIME // 2]), model(INPUTS[:, TIME // 2 :])], axis=1)


def test_stateful_goes_on_where_it_stopped(cell, tmp_path):
    inputs = keras.Input(batch_shape=(BATCH, TIME // 2, FEATURES))
    model = keras.Model(inputs, keras.layers.RNN(cell, stateful=True, return_sequences=True)(inputs))
    whole = keras.layers.RNN(cell, return_sequences=True)(INPUTS)
    np.testing.assert_allclose(in_two_calls(model), whole, atol=1e-6)
    assert np.abs(in_two_calls(model) - whole).max() > 1e-4  # the second call continues from the last state
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(in_two_calls(again), whole, atol=1e-6)


def test_a_step_sees_tensors_whatever_a_network_keeps():
    seen = []

    class Watched(cells.RNNCell):
        def step(self, projected, states):
            seen.extend(type(state) for state in states)
            return super().step(projected, states)

    keras.layers.RNN(Watched(UNITS), stateful=True)(INPUTS)
    assert seen
    assert all(issubclass(kind, tf.Tensor) for kind in seen)


def test_both_directions_states_and_masks(cell):
    words = np.array([[3, 1, 2, 0], [2, 0, 0, 0]])
    inputs = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(4, FEATURES, mask_zero=True)(inputs)
    outputs, *states = keras.layers.RNN(cell, return_sequences=True, return_state=True)(embedded)
    both = keras.layers.Bidirectional(keras.layers.RNN(type(cell).from_config(cell.get_config())))(embedded)
    model = keras.Model(inputs, [outputs, states, both])
    outputs, states, both = model(words)
    assert [state.shape[-1] for state in states] == cell.state_size
    assert both.shape == (2, 2 * cell.output_size)
    for row, length in enumerate((3, 1)):  # equal to the result without padding
        alone = model(words[row : row + 1, :length])
        np.testing.assert_allclose(outputs[row, :length], alone[0][0], atol=1e-6)
        np.testing.assert_allclose(both[row], alone[2][0], atol=1e-6)
        for ours, theirs in zip(states, alone[1], strict=True):
            np.testing.assert_allclose(ours[row], theirs[0], atol=1e-6)


def test_stateful_in_half_precision_and_in_training():
    cell = cells.MemoryCell(UNITS, slots=5, width=3, dtype="mixed_bfloat16")
    inputs = keras.Input(batch_shape=(BATCH, TIME, FEATURES))
    states = keras.layers.RNN(cell, stateful=True, dtype="mixed_bfloat16")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1, dtype="float32")(states))
    model.compile("sgd", "mse", run_eagerly=True)
    losses = model.fit(INPUTS, np.ones((BATCH, 1)), batch_size=BATCH, epochs=2, verbose=0).history["loss"]
    assert np.isfinite(losses).all()
