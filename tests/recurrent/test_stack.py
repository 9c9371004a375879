"""Networks on top of each other."""

import numpy as np
import pytest
import tensorflow as tf
from support.layers import ALL, random
from support.networks import BATCH, UNITS, TimeNetworkTests, near

from seqattn_tf.recurrent import Bidirectional, Recurrent, Stack

INPUTS, MASK = TimeNetworkTests.inputs, TimeNetworkTests.mask
CONTEXT = tf.constant(random(BATCH, 2, seed=5, dtype="float64"))


class TestStack(TimeNetworkTests):
    kind, not_stored = Stack, ("units", "depth", "bidirectional")
    arguments = {
        "layers": [Recurrent("gru", units=7), Bidirectional("gru", units=7, merge_mode="sum")],
        "residual": True,
        "skip": True,
        "dropout": 0.25,
        **ALL,
    }

    def make(self, dtype):
        return Stack("lstm", units=UNITS, depth=2, bidirectional=True, dropout=0.5, dtype=dtype, **ALL)

    def alone(self, layer, inputs):
        below, _, states = layer.layers[0].read(inputs)
        outputs, _, last = layer.layers[1].read(below)
        return outputs, *states, *last


class TestResidual(TestStack):
    def make(self, dtype):
        return Stack("gru", units=UNITS, depth=3, residual=True, dtype=dtype, **ALL)

    def alone(self, layer, inputs):
        first, second, third = layer.layers
        one, _, a = first.read(inputs)  # of another width: nothing is added
        two, _, b = second.read(one)
        three, _, c = third.read(one + two)
        return one + two + three, *a, *b, *c


class TestResidualFromTheFirst(TestStack):
    quick = ("fit_and_reload",)

    def make(self, dtype):
        return Stack("rnn", units=3, depth=2, residual=True, dtype=dtype, **ALL)

    def alone(self, layer, inputs):
        first, second = layer.layers
        one, _, a = first.read(inputs)
        two, _, b = second.read(inputs + one)
        return inputs + one + two, *a, *b


class TestSkip(TestStack):
    more = {"context": CONTEXT}

    def make(self, dtype):
        layers = [Recurrent("gru", units=UNITS, dtype=dtype)]
        layers.append(Bidirectional("gru", units=2, context="state", dtype=dtype))
        return Stack(layers, skip=True, residual=True, dtype=dtype, **ALL)

    def alone(self, layer, inputs, context):
        first, second = layer.layers
        one, _, a = first.read(inputs)
        two, _, b = second.read(tf.concat([one, inputs], -1), context=context)
        return tf.concat([one, one + two], -1), *a, *b


def test_streaming_and_sizes():
    layer = Stack([Stack("lstm", units=UNITS, depth=2, skip=True), Recurrent("gru", units=3)], dtype="float64", **ALL)
    inputs, mask = tf.constant(INPUTS, tf.float32), tf.constant(MASK)
    whole, *last = layer(inputs, mask=mask)
    first, *states = layer(inputs[:, :2], mask=mask[:, :2])
    second, *states = layer(inputs[:, 2:], mask=mask[:, 2:], initial_state=states)
    near([tf.concat([first, second], 1), states], [whole, last], 1e-6)
    assert layer.output_size == whole.shape[-1] == 3
    assert layer.layers[0].output_size == 2 * UNITS


def test_dropout_between_the_layers_only():
    inputs = tf.ones([2, 3, 5])
    one, two = (Stack("gru", units=UNITS, depth=depth, dropout=0.9) for depth in (1, 2))
    near(one(inputs, training=True), one(inputs))
    assert np.abs(two(inputs, training=True) - two(inputs)).max() > 1e-3


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"depth: expected a positive integer with the cell 'gru'\. Received: None"):
        Stack("gru", units=UNITS)
    with pytest.raises(ValueError, match="layers: expected Recurrent, Bidirectional or Stack networks"):
        Stack([])
    with pytest.raises(ValueError, match=r"residual: expected layers of one width. Received: \[4, 5\]"):
        Stack([Recurrent("gru", units=4), Recurrent("gru", units=5)], residual=True)
    layer = Stack("gru", units=UNITS, depth=2)
    with pytest.raises(ValueError, match=r"initial_state: expected \[\(4, 4\), \(4, 4\)\]\. Received: \[\(4, 4\)\]"):
        layer(INPUTS, initial_state=[[tf.zeros([BATCH, UNITS])]])
    with pytest.raises(ValueError, match="context: expected a layer that takes one"):
        layer(INPUTS, context=CONTEXT)
