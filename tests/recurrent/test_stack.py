"""Stacks of recurrent networks."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import ALL, random
from support.networks import BATCH, UNITS, TimeNetworkTests, near

from seqattn_tf.recurrent import Bidirectional, Recurrent, Stack

INPUTS, MASK = TimeNetworkTests.inputs, TimeNetworkTests.mask
CONTEXT = tf.constant(random(BATCH, 2, seed=5, dtype="float64"))


class TestStack(TimeNetworkTests):
    kind, not_stored = Stack, ("units", "depth", "bidirectional", "pyramid")  # the pyramid is tested below
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
        one, _, a = first.read(inputs)  # another width, so there is no residual connection
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


def halves(steps):
    """Concatenate pairs of adjacent steps."""
    steps = steps.numpy()
    if steps.shape[1] % 2:
        steps = np.concatenate([steps, np.zeros_like(steps[:, :1])], axis=1)
    return tf.constant(np.concatenate([steps[:, ::2], steps[:, 1::2]], axis=-1))


@pytest.mark.parametrize(
    ("cell", "length"), [*(("gru", length) for length in (1, 2, 3, 4, 5, 8, 9)), ("lstm", 3), ("lstm", 8)]
)
def test_a_pyramid_reads_pairs_and_a_row_alone_gives_the_same(cell, length):
    layer = Stack(cell, units=3, depth=3, bidirectional=True, pyramid=True, dtype="float64", **ALL)
    inputs = random(2, 9, 4, seed=1, dtype="float64")
    inputs[1, length:] = np.nan
    mask = np.arange(9) < [[9], [length]]
    outputs, *states = layer(inputs, mask=mask)
    assert outputs.shape == (2, 3, 6) == layer.compute_output_shape((2, 9, 4))[0]
    kept = layer.compute_mask(inputs, tf.constant(mask))[0].numpy()
    assert kept[1].sum() == -(-length // 4)
    first, second, third = layer.layers
    one, _, a = first.read(inputs[1:, :length])
    two, _, b = second.read(halves(one))
    three, _, c = third.read(halves(two))
    near([outputs[1, : len(three[0])], [state[1] for state in states]], [three[0], [s[0] for s in (*a, *b, *c)]], 1e-9)
    last = Stack(layer.layers, pyramid=True, dtype="float64")(inputs, mask=mask)
    near(last[1], third.read(halves(two)).last[0], 1e-9)


def test_a_pyramid_in_a_model_of_any_length_and_saved(tmp_path):
    inputs = keras.Input((None, 4))
    kept = keras.layers.Masking()(inputs)
    network = Stack("gru", units=3, depth=2, pyramid=True, return_sequences=True)(kept)
    model = keras.Model(inputs, keras.layers.GRU(5)(network))
    given = random(2, 7, 4, seed=2)
    given[0, 3:] = 0
    alone = model(given[:1, :3])
    near(model(given)[0], alone[0], 1e-6)  # the mask is propagated to Keras's layer
    model.save(tmp_path / "model.keras")
    near(keras.models.load_model(tmp_path / "model.keras")(given), model(given), 1e-6)
    with pytest.raises(ValueError, match="pyramid: expected neither residual nor skip"):
        Stack("gru", units=3, depth=2, pyramid=True, skip=True)


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
    with pytest.raises(ValueError, match=r"residual: expected layers of equal width. Received: \[4, 5\]"):
        Stack([Recurrent("gru", units=4), Recurrent("gru", units=5)], residual=True)
    layer = Stack("gru", units=UNITS, depth=2)
    with pytest.raises(ValueError, match=r"initial_state: expected \[\(4, 4\), \(4, 4\)\]\. Received: \[\(4, 4\)\]"):
        layer(INPUTS, initial_state=[[tf.zeros([BATCH, UNITS])]])
    with pytest.raises(ValueError, match="context: expected None, because no layer takes a context"):
        layer(INPUTS, context=CONTEXT)
