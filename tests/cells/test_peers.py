"""Comparison with layers of Keras and PyTorch that have the same weights."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.cells import BATCH, FEATURES, INPUTS, MASK, TIME, UNITS, randomize
from support.layers import ALL, random

from seqattn_tf import cells
from seqattn_tf.recurrent import Recurrent

PEERS = {
    "rnn": (lambda: cells.RNNCell(UNITS), keras.layers.SimpleRNN, {}),
    "gru": (lambda: cells.GRUCell(UNITS), keras.layers.GRU, {}),
    "gru_before": (lambda: cells.GRUCell(UNITS, reset_after=False), keras.layers.GRU, {"reset_after": False}),
    "lstm": (lambda: cells.LSTMCell(UNITS), keras.layers.LSTM, {}),
}


@pytest.mark.parametrize("name", PEERS)
def test_numbers_of_keras_with_and_without_mask(name):
    make, layer, options = PEERS[name]
    ours, theirs = Recurrent(make(), **ALL), layer(UNITS, **ALL, **options)
    for one in (ours, theirs):
        one.build((None, None, FEATURES))
    np.testing.assert_array_equal(ours.get_weights()[2], theirs.get_weights()[2])  # the initial biases are equal
    assert [v.name for v in ours.trainable_variables] == [v.name for v in theirs.trainable_variables]
    ours.set_weights(randomize(theirs).get_weights()[: len(ours.weights)])
    inputs = tf.constant(INPUTS[:3], tf.float32)
    for mask in (None, tf.constant(MASK[:3])):
        outputs, *states = ours(inputs, mask=mask)
        expected, *expected_states = theirs(inputs, mask=mask)
        keep = MASK[:3] if mask is not None else np.ones_like(MASK[:3])
        np.testing.assert_allclose(outputs.numpy()[keep], expected.numpy()[keep], atol=1e-6)
        for one, other in zip(states, expected_states, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_numbers_of_pytorch(name):
    torch = pytest.importorskip("torch")
    ours = Recurrent(name, units=UNITS, **ALL)
    ours.build((None, None, FEATURES))
    kernel, recurrent, bias = randomize(ours).get_weights()
    bias = bias if name == "gru" else np.stack([bias, np.zeros_like(bias)])
    order = {"lstm": [0, 1, 2, 3], "gru": [1, 0, 2]}[name]  # the positions of its blocks in our kernel

    def theirs(values):
        blocks = np.split(values, len(order), axis=-1)
        return torch.tensor(np.concatenate([blocks[place] for place in order], axis=-1).T.copy())

    peer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[name](FEATURES, UNITS, batch_first=True)
    peer.load_state_dict(
        {
            "weight_ih_l0": theirs(kernel),
            "weight_hh_l0": theirs(recurrent),
            "bias_ih_l0": theirs(bias[0]),
            "bias_hh_l0": theirs(bias[1]),
        }
    )
    inputs = INPUTS.astype("float32")
    with torch.no_grad():
        expected, last = peer(torch.tensor(inputs))
    outputs, *states = ours(tf.constant(inputs))
    np.testing.assert_allclose(outputs, expected.numpy(), atol=1e-5)
    for one, other in zip(states, last if name == "lstm" else (last,), strict=True):
        np.testing.assert_allclose(one, other[0].numpy(), atol=1e-5)


def test_in_keras_own_network():
    """Our cells are Keras cells."""
    theirs = keras.layers.RNN(cells.LSTMCell(UNITS), return_sequences=True)
    inputs = tf.constant(random(BATCH, TIME, FEATURES))
    expected = theirs(inputs)
    ours = Recurrent(theirs.cell, **ALL)
    np.testing.assert_allclose(ours(inputs)[0], expected, atol=1e-6)
