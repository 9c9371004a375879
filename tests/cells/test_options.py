"""Keras's arguments of cells: bias, regularizers and constraints, and arguments with another location here."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.cells import BATCH, FEATURES, INPUTS, MASK, UNITS, randomize
from support.slow import slow

from seqattn_tf import cells
from seqattn_tf.recurrent import Recurrent
from seqattn_tf.recurrent.compositions.base import Composition

KERNEL_CELLS = sorted(n for n, kind in cells.Cell.registry.items() if issubclass(kind, cells.base.KernelCell))
PEERS = {
    "rnn": (cells.RNNCell, keras.layers.SimpleRNNCell, {}),
    "gru": (cells.GRUCell, keras.layers.GRUCell, {}),
    "gru_before": (cells.GRUCell, keras.layers.GRUCell, {"reset_after": False}),
    "lstm": (cells.LSTMCell, keras.layers.LSTMCell, {}),
}
OPTIONS = {
    "kernel_regularizer": keras.regularizers.L2(0.1),
    "recurrent_regularizer": keras.regularizers.L1(0.2),
    "bias_regularizer": keras.regularizers.L2(0.3),
    "kernel_constraint": keras.constraints.MaxNorm(0.5),
    "recurrent_constraint": keras.constraints.NonNeg(),
    "bias_constraint": keras.constraints.NonNeg(),
}

# Weights to which the kernel and bias options apply too.
MORE_WEIGHTS = {"multiplicative_rnn": 2, "multiplicative_lstm": 2, "output": 2}


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("name", PEERS)
def test_weights_losses_numbers_and_a_training_step_of_keras(name, use_bias):
    ours, theirs, options = PEERS[name]
    models = []
    for kind in (ours, theirs):
        cell = kind(UNITS, use_bias=use_bias, **options, **OPTIONS)
        inputs = keras.Input((None, FEATURES))
        models.append(keras.Model(inputs, keras.layers.RNN(cell)(inputs)))
        assert (cell.bias is None) is (not use_bias)
    for one in models:
        randomize(one)
    assert [(v.name, v.shape) for v in models[0].weights] == [(v.name, v.shape) for v in models[1].trainable_variables]
    data = INPUTS.astype("float32")
    np.testing.assert_allclose(models[0](data), models[1](data), atol=1e-6)
    losses = [sum(float(loss) for loss in model.losses) for model in models]
    assert len(models[0].losses) == 2 + use_bias
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for model in models:
        model.compile(keras.optimizers.SGD(0.5), "mse", run_eagerly=True)
        model.fit(data, np.ones((BATCH, UNITS)), batch_size=BATCH, verbose=0)
    for one, other in zip(models[0].weights, models[1].trainable_variables, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert np.all(models[0].weights[1].numpy() >= 0)


@pytest.mark.parametrize("name", [name if name == "lstm" else slow(name) for name in KERNEL_CELLS])
def test_without_biases_as_with_zeros(name):
    """Includes the loop compiled for training and the second cell of a deep transition, which has no inputs."""
    with_zeros, without = (
        Recurrent(cells.Cell.get(name, units=UNITS, use_bias=b), return_sequences=True) for b in (True, False)
    )
    for layer in (with_zeros, without):
        layer.build((None, None, FEATURES))
    assert without.cell.bias is None
    biases = {variable.path for variable in with_zeros.weights if variable.name.endswith("bias")}
    for place, (one, other) in enumerate(
        zip([v for v in with_zeros.weights if v.path not in biases], without.weights, strict=True)
    ):
        one.assign(np.random.default_rng(place).normal(size=one.shape))
        other.assign(one.value)
    for variable in with_zeros.weights:
        if variable.path in biases:
            variable.assign(tf.zeros_like(variable))

    def slopes(layer, compiled):
        layer.jit_compile = compiled
        others = [v for v in layer.trainable_variables if v.path not in biases]

        def both():
            inputs = tf.constant(INPUTS, tf.float32)
            with tf.GradientTape() as tape:
                outputs = layer(inputs, mask=tf.constant(MASK), training=True)
                loss = tf.reduce_sum(outputs**2)
            return outputs, tape.gradient(loss, [v.value for v in others])

        return tf.nest.flatten((tf.function(both, autograph=False) if compiled else both)())

    expected = slopes(with_zeros, False)
    for compiled in (False, True):
        for ours, theirs in zip(slopes(without, compiled), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-5)


def test_a_cell_that_sees_states_alone_has_no_bias_either():
    cell = cells.DeepTransitionCell([cells.GRUCell(4), cells.GRUCell(4, use_bias=False)])
    states = [tf.ones([2, 4])]
    _, (after,) = cell(tf.ones([2, 3]), states)
    first = cell.cells[0].step(cell.cells[0].project(tf.ones([2, 3])), states)
    np.testing.assert_allclose(after, cell.cells[1].step(tf.zeros([2, 12]), first)[0], atol=1e-6)


@pytest.mark.parametrize("name", KERNEL_CELLS)
def test_options_survive_twins_and_files(name, tmp_path):
    more = {"peephole_regularizer": "l2", "peephole_constraint": "non_neg"} if name == "peephole_lstm" else {}
    cell = cells.Cell.get(name, units=UNITS, **OPTIONS, **more)
    twin = cell.twin()
    for option in (*OPTIONS, *more):
        assert twin.get_config()[option] == cell.get_config()[option]
        assert twin.get_config()[option]["class_name"] == type(getattr(cell, option)).__name__
    inputs = keras.Input((None, FEATURES))
    model = keras.Model(inputs, Recurrent(cell)(inputs))
    assert len(model.losses) == 3 + bool(more) + MORE_WEIGHTS.get(name, 0)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    data = INPUTS.astype("float32")
    np.testing.assert_allclose(again(data), model(data), atol=1e-6)
    np.testing.assert_allclose(again.losses, model.losses, rtol=1e-6)


def test_peepholes_are_regularized_and_constrained():
    cell = cells.PeepholeLSTMCell(UNITS, peephole_regularizer="l2", peephole_constraint="non_neg")
    network = Recurrent(cell, return_sequences=True)
    inputs = keras.Input((None, FEATURES))
    model = keras.Model(inputs, network(inputs))
    randomize(model)
    peepholes = network.cell.peepholes
    np.testing.assert_allclose(model.losses, [0.01 * np.sum(peepholes.numpy() ** 2)], rtol=1e-5)
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(INPUTS.astype("float32"), np.ones((*MASK.shape, UNITS)), verbose=0)
    assert np.all(peepholes.numpy() >= 0)


@pytest.mark.parametrize("name", KERNEL_CELLS)
def test_arguments_of_keras_that_live_elsewhere(name):
    for argument, value, place in (
        ("dropout", 0.1, r"a `keras\.layers\.Dropout` before the network"),
        ("recurrent_dropout", 0.2, r"`DropoutCell\(cell, rate=\.\.\.\)` around the cell"),
        ("seed", 3, "the `seed` of `DropoutCell`"),
        ("implementation", 2, "no such argument, because inputs are always projected in a single product"),
    ):
        with pytest.raises(ValueError, match=rf"^{argument}: expected {place}.*\. Received: {argument}={value}$"):
            cells.Cell.get(name, units=4, **{argument: value})


def test_other_cells_name_what_they_do_not_know():
    inner = cells.GRUCell(4)
    makers = [
        lambda **more: cells.MemoryCell(4, **more),
        lambda **more: cells.DropoutCell(inner, rate=0.1, **more),
        lambda **more: cells.ZoneoutCell(inner, rate=0.1, **more),
        lambda **more: cells.DeepTransitionCell([inner], **more),
        lambda **more: cells.GRUCell(4, **more),
        *(lambda kind=kind, **more: kind(4, **more) for kind in Composition.registry.values()),
    ]
    for make in makers:
        with pytest.raises(ValueError, match="kernel_regulariser"):
            make(kernel_regulariser="l2")
