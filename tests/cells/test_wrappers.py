"""Wrapper cells: the harness of all cells, and their behavior in training."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.cells import BATCH, FEATURES, INPUTS, MASK, TIME, UNITS, CellTests, gru_step, lstm_step, randomize
from support.layers import ALL, random

from seqattn_tf import cells
from seqattn_tf.cells import DeepTransitionCell, DropoutCell, GRUCell, LSTMCell, ZoneoutCell
from seqattn_tf.cells.wrappers import Drawn
from seqattn_tf.recurrent import Bidirectional, Recurrent

GRU_GATES, LSTM_GATES = ("update", "reset", "candidate"), ("input", "forget", "candidate", "output")


class TestDropoutGRU(CellTests):
    kind, gates = DropoutCell, GRU_GATES
    arguments = {"cell": LSTMCell(7), "rate": 0.25, "seed": 3}
    not_stored = ("units",)

    def make(self, **options):
        return DropoutCell("gru", rate=0.5, units=UNITS, **options)

    def reference(self, weights, x, states):
        return gru_step(weights, x, states)


class TestDropoutLSTM(TestDropoutGRU):
    gates = LSTM_GATES

    def make(self, **options):
        return DropoutCell(LSTMCell(UNITS, **options), rate=0.5, **options)

    def reference(self, weights, x, states):
        return lstm_step(weights, x, states)


class TestZoneoutGRU(CellTests):
    kind, gates = ZoneoutCell, GRU_GATES
    arguments = {"cell": LSTMCell(7), "rate": [0.25, 0.5], "seed": 3}
    not_stored = ("units",)

    def make(self, **options):
        return ZoneoutCell("gru", rate=0.25, units=UNITS, **options)

    def reference(self, weights, x, states):
        return [0.25 * states[0] + 0.75 * gru_step(weights, x, states)[0]]


class TestZoneoutLSTM(TestZoneoutGRU):
    gates = LSTM_GATES
    quick = ("fit_and_reload",)

    def make(self, **options):
        return ZoneoutCell(LSTMCell(UNITS, **options), rate=(0.0, 0.5), **options)

    def reference(self, weights, x, states):
        hidden, memory = lstm_step(weights, x, states)
        return [hidden, 0.5 * states[1] + 0.5 * memory]


class TestDeepTransition(CellTests):
    kind = DeepTransitionCell
    gates = tuple(f"{place}.{name}" for place in (1, 2) for name in GRU_GATES)
    arguments = {"cells": [LSTMCell(7), LSTMCell(7, activation="relu")]}

    def make(self, **options):
        return DeepTransitionCell([GRUCell(UNITS, **options), GRUCell(UNITS, **options)], **options)

    def reference(self, weights, x, states):
        first, second = weights[:3], weights[3:]
        assert second[0].shape == (0, 3 * UNITS)
        return gru_step(second, np.zeros(0), gru_step(first, x, states))


class TestDeepTransitionOfWrappers(TestDeepTransition):
    gates = (*(f"1.{name}" for name in LSTM_GATES), *(f"2.{name}" for name in LSTM_GATES))

    def make(self, **options):
        second = ZoneoutCell(DropoutCell("lstm", rate=0.5, units=UNITS, **options), rate=0.25, **options)
        return DeepTransitionCell([LSTMCell(UNITS, **options), second], **options)

    def reference(self, weights, x, states):
        states = lstm_step(weights[:3], x, states)
        after = lstm_step(weights[3:], np.zeros(0), states)
        return [0.25 * old + 0.75 * new for old, new in zip(states, after, strict=True)]


def built(cell):
    network = Recurrent(cell, **ALL)
    network.build((None, None, FEATURES))
    return randomize(network)


def in_training(network, mask=None):
    return network(tf.constant(INPUTS, tf.float32), mask=mask, training=True)


WRAPPED = {
    "dropout": lambda rate, **options: DropoutCell("lstm", rate=rate, units=UNITS, **options),
    "zoneout": lambda rate, **options: ZoneoutCell("lstm", rate=rate, units=UNITS, **options),
    "both": lambda rate, **options: DropoutCell(
        ZoneoutCell("lstm", rate=rate, units=UNITS, seed=options.get("seed")), rate, **options
    ),
    "twice": lambda rate, **options: DropoutCell(DropoutCell("lstm", rate, units=UNITS), rate, **options),
    "deep": lambda rate, **options: DropoutCell(
        DeepTransitionCell([LSTMCell(UNITS), ZoneoutCell("lstm", rate=rate, units=UNITS)]), rate, **options
    ),
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_rate_zero_is_the_bare_cell(kind):
    network = built(WRAPPED[kind](0.0))
    np.testing.assert_array_equal(in_training(network)[0], network(tf.constant(INPUTS, tf.float32))[0])


@pytest.mark.parametrize("kind", WRAPPED)
def test_training_draws_anew_in_every_mode_and_its_gradient_is_finite(kind):
    network = built(WRAPPED[kind](0.5))

    def run(inputs, mask):
        return network(inputs, mask=mask, training=True)[0]

    signature = [tf.TensorSpec([None, None, FEATURES]), tf.TensorSpec([None, None], tf.bool)]
    mode = {"both": {"jit_compile": True}, "deep": {"input_signature": signature}}.get(kind)
    function = run if mode is None else tf.function(run, **mode)
    arguments = tf.constant(np.where(MASK[..., None], INPUTS, np.nan), tf.float32), tf.constant(MASK)
    first, second = function(*arguments), function(*arguments)
    assert np.abs(first - second).max() > 0
    with tf.GradientTape() as tape:
        third = run(*arguments)
        loss = tf.reduce_sum(third**2)
    gradients = tape.gradient(loss, network.trainable_variables)
    assert all(np.isfinite(g).all() for g in [first, third, *gradients])
    assert (first.numpy()[~MASK] == 0).all()


@pytest.mark.parametrize("kind", ["dropout", "zoneout"])
def test_a_seed_repeats_the_draws_and_the_twin_of_a_direction_has_others(kind):
    one, other = (built(WRAPPED[kind](0.5, seed=1)) for _ in range(2))
    np.testing.assert_array_equal(in_training(one)[0], in_training(other)[0])
    cells_of = Bidirectional(WRAPPED[kind](0.5, seed=1))
    assert (cells_of.forward.cell.seed, cells_of.backward.cell.seed) == (1, 2)


def test_the_mask_of_dropout_is_one_for_a_sequence_and_scaled():
    cell = DropoutCell("lstm", rate=0.25, units=500, seed=0)
    cell.build((None, FEATURES))
    (factors,) = cell.project(tf.zeros([TIME, BATCH, FEATURES]), training=True).numbers
    assert factors.shape == (TIME, BATCH, 4 * 500)
    assert (factors.numpy() == factors.numpy()[:1]).all()
    assert set(np.unique(factors.numpy().round(5))) == {0.0, np.float32(1 / 0.75).round(5)}
    assert abs(np.mean(factors.numpy()[0] == 0) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / (BATCH * 2000))
    assert cell.project(tf.zeros([TIME, BATCH, FEATURES])).numbers == ()


@pytest.mark.parametrize(
    ("cell", "peer"),
    [
        (cells.RNNCell, keras.layers.SimpleRNNCell),
        (GRUCell, keras.layers.GRUCell),
        (
            lambda units: GRUCell(units, reset_after=False),
            lambda *a, **k: keras.layers.GRUCell(*a, reset_after=False, **k),
        ),
        (LSTMCell, keras.layers.LSTMCell),
    ],
    ids=["rnn", "gru", "gru_before", "lstm"],
)
def test_dropout_is_the_recurrent_dropout_of_keras(cell, peer):
    """With Keras's masks, one for each block of the kernel; the state that is carried over is not dropped."""
    ours, theirs = DropoutCell(cell(UNITS), 0.5), peer(UNITS, recurrent_dropout=0.5)
    for one in (ours, theirs):
        one.build((None, FEATURES))
    randomize(theirs)
    ours.cell.set_weights([v.numpy() for v in theirs.trainable_variables])
    inputs = tf.constant(INPUTS[:, 0], tf.float32)
    states = [tf.constant(random(BATCH, UNITS, seed=i)) for i in range(len(ours.state_size))]
    expected, after = theirs(inputs, states, training=True)
    masks = theirs.get_recurrent_dropout_mask(states[0])
    factors = tf.concat(masks if isinstance(masks, list) else [masks], axis=-1)
    assert factors.shape == (BATCH, ours.cell.dropped_size)
    found = ours.step(Drawn(ours.cell.project(inputs), (factors,)), states)
    for one, other in zip(found, tf.nest.flatten(after), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_allclose(found[0], expected, atol=1e-6)


def test_dropout_of_a_cell_that_says_nothing_about_it():
    class Leaky(cells.Cell):
        state_size = [UNITS]
        projected_size = UNITS

        def build(self, input_shape):
            self.built = True

        def project(self, inputs, training=False):
            return inputs

        def step(self, projected, states):
            return [projected + states[0]]

    cell = DropoutCell(Leaky(), 0.5)
    factors = tf.constant([[0.0, 2.0, 0.0, 2.0]])
    (state,) = cell.step(Drawn(tf.ones([1, UNITS]), (factors,)), [tf.ones([1, UNITS])])
    assert state.numpy().tolist() == [[1.0, 3.0, 1.0, 3.0]]


def test_zoneout_keeps_units_as_often_as_it_says_and_draws_at_every_step():
    cell = ZoneoutCell("lstm", rate=(0.25, 0.5), units=500, seed=0)
    cell.build((None, FEATURES))
    projected = cell.project(tf.zeros([TIME, BATCH, FEATURES]), training=True)
    for kept, rate in zip(projected.numbers, (0.25, 0.5), strict=True):
        assert kept.shape == (TIME, BATCH, 500)
        assert abs(np.mean(kept) - rate) < 4 * np.sqrt(rate * (1 - rate) / (TIME * BATCH * 500))
        assert (kept[0].numpy() != kept[1].numpy()).any()
    states = [tf.fill([BATCH, 500], 9.0), tf.fill([BATCH, 500], 9.0)]
    new = cell.step(tf.nest.map_structure(lambda one: one[0], projected), states)
    for state, kept in zip(new, projected.numbers, strict=True):
        np.testing.assert_array_equal(state.numpy() == 9.0, kept[0])


def test_the_inner_weights_are_saved_once():
    network = built(DropoutCell("gru", rate=0.5, units=UNITS))
    assert len(network.trainable_variables) == 3


def test_bad_arguments_are_refused():
    for rate in (1, -0.1, "half"):
        with pytest.raises(ValueError, match=r"rate: expected a number in \[0, 1\)"):
            DropoutCell("gru", rate=rate, units=UNITS)
    with pytest.raises(ValueError, match="rate: expected a single rate, or one for each of 2 states"):
        ZoneoutCell("lstm", rate=(0.1, 0.2, 0.3), units=UNITS)
    with pytest.raises(ValueError, match="units: expected an integer for the cell 'gru'"):
        DropoutCell("gru", rate=0.1)
    with pytest.raises(ValueError, match=r"expected cells with equal state sizes. Received: \[\[4\], \[5\]\]"):
        DeepTransitionCell([GRUCell(4), GRUCell(5)])
    for bad in ([], ["gru"]):
        with pytest.raises(ValueError, match="cells: expected at least one Cell"):
            DeepTransitionCell(bad)
