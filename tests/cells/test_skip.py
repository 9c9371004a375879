"""Connections that skip time steps: the formula, masks, saving, and gradients over long distances."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.cells import FEATURES, INPUTS, LENGTHS, MASK, UNITS, randomize
from support.layers import ALL, roundtrip

from seqattn_tf.cells import LSTMCell, RNNCell, TimeSkipCell
from seqattn_tf.lectures import gradient_flow
from seqattn_tf.recurrent import Recurrent


@pytest.mark.parametrize("delay", [1, 2, 4])
def test_the_output_of_some_steps_ago_is_seen(delay):
    layer = Recurrent(TimeSkipCell(RNNCell(UNITS, dtype="float64"), delay, dtype="float64"), dtype="float64", **ALL)
    layer.build((None, None, FEATURES))
    randomize(layer)
    kernel, recurrent, bias = (weight.numpy() for weight in layer.cell.cell.trainable_variables)
    skip = layer.cell.skip_kernel.numpy()
    dirty = np.where(MASK[..., None], INPUTS, np.nan)
    outputs, *states = layer(dirty, mask=MASK)
    for row, length in enumerate(LENGTHS):
        said = [np.zeros(UNITS)] * delay
        for t in range(length):
            said.append(np.tanh(INPUTS[row, t] @ kernel + said[-1] @ recurrent + said[-delay] @ skip + bias))
            np.testing.assert_allclose(outputs[row, t], said[-1], atol=1e-10)
        np.testing.assert_allclose(states[0][row], said[-1], atol=1e-10)
        np.testing.assert_allclose(states[1][row], np.concatenate(said[-delay:]), atol=1e-10)


def test_it_is_saved_twinned_dropped_and_compiled():
    cell = TimeSkipCell("lstm", delay=3, units=4)
    assert cell.state_size == [4, 4, 12]
    again = roundtrip(cell)
    assert (again.delay, again.cell.units) == (3, 4)
    assert cell.twin().delay == 3
    network = Recurrent(TimeSkipCell(LSTMCell(4), 2), return_sequences=True)
    plain = network(INPUTS.astype("float32"))
    compiled = tf.function(network, jit_compile=True)(tf.constant(INPUTS, tf.float32))
    np.testing.assert_allclose(compiled, plain, atol=1e-5)
    dropped = cell.dropped_step
    cell.build((None, 3))
    states = [tf.ones([2, size]) for size in cell.state_size]
    projected = cell.project(tf.ones([2, 3]))
    whole = cell.step(projected, states)
    for ours, theirs in zip(dropped(projected, states, tf.ones([2, cell.dropped_size])), whole, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert set(cell.gates(tf.ones([2, 3]), states)) == {"input", "forget", "candidate", "output"}
    with pytest.raises(ValueError, match="delay: expected a positive integer"):
        TimeSkipCell("rnn", 0, units=3)


def test_a_gradient_comes_farther_back_than_without():
    """A unit halves its state in every step; a connection over ten steps preserves the gradient of distant inputs."""
    keras.utils.set_random_seed(0)
    scaled = keras.initializers.Orthogonal(0.5)
    plain = RNNCell(8, "linear", recurrent_initializer=scaled)
    skipping = TimeSkipCell(RNNCell(8, "linear", recurrent_initializer=scaled), 10)
    near, far = (np.asarray(gradient_flow(cell, np.zeros([1, 31, 3])).norms)[30] for cell in (plain, skipping))
    assert far > 1000 * near
