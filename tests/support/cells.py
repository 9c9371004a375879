"""The test harness for all cells: numbers compared with a NumPy loop, masks, gradients, saving."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.checks import check
from seqattn_tf.recurrent import Recurrent
from support.layers import ALL, random, roundtrip
from support.step_by_step import untraced

UNITS, FEATURES, BATCH, TIME = 4, 3, 4, 5
LENGTHS = [5, 3, 1, 0]
MASK = np.arange(TIME) < np.array(LENGTHS)[:, None]
INPUTS = random(BATCH, TIME, FEATURES, dtype="float64")
DIRTY = np.where(MASK[..., None], INPUTS, np.nan)
SIGNATURE = [tf.TensorSpec([None, None, FEATURES], tf.float64), tf.TensorSpec([None, None], tf.bool)]

KERNEL_ARGUMENTS = {
    "units": 7,
    "activation": "relu",
    "use_bias": False,
    "kernel_initializer": "he_normal",
    "recurrent_initializer": "zeros",
    "bias_initializer": "ones",
    "kernel_regularizer": "l1",
    "recurrent_regularizer": "l2",
    "bias_regularizer": "L1L2",
    "kernel_constraint": "non_neg",
    "recurrent_constraint": "unit_norm",
    "bias_constraint": "max_norm",
}
GATED_ARGUMENTS = {**KERNEL_ARGUMENTS, "recurrent_activation": "hard_sigmoid"}
LSTM_ARGUMENTS = {**GATED_ARGUMENTS, "unit_forget_bias": False}


def argument_names(kind):
    """Return all constructor arguments of one of our classes, including those of its bases."""
    names = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("seqattn_tf"):
            continue
        if "__init__" in base.__dict__:
            parameters = inspect.signature(base.__init__).parameters.values()
            names |= {p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD} - {"self"}
    return names


def assert_arguments_survive(kind, arguments, not_stored=()):
    """Check that every argument, given with a value other than the default, survives serialization."""
    assert set(arguments) == argument_names(kind) - set(not_stored)
    config = roundtrip(kind(**arguments)).get_config()

    def plain(value):  # the forms in which Keras stores an initializer, an activation, a layer
        if isinstance(value, keras.layers.Layer):
            return value.get_config()
        if isinstance(value, dict) and "class_name" in value:
            return plain(value["class_name"]) if value["module"].startswith("keras") else value["config"]
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        return value.lower().replace("_", "") if isinstance(value, str) else value

    for name, value in arguments.items():
        parameter = inspect.signature(kind.__init__).parameters.get(name)
        assert parameter is None or parameter.default != value, f"{name}: {value!r} is the default"
        assert plain(config[name]) == plain(value), name


def randomize(layer, seed=0, scale=1.0):
    """Assign normally distributed random numbers to every weight."""
    for number, weight in enumerate(layer.trainable_variables):
        weight.assign(scale * random(*weight.shape, seed=seed + number, dtype="float64"))
    return layer


def mark_slow(cls, **tests):
    """Add tests to a class; all of them are slow, except for those in its attribute `quick`."""
    for name, test in tests.items():
        test.__name__ = f"test_{name}"  # pytest does not accept a lambda's name
        setattr(cls, f"test_{name}", test if name in cls.quick else pytest.mark.slow(test))


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


def gru_step(weights, x, states, reset_after=True):
    kernel, recurrent, bias = weights
    (h,) = states
    if reset_after:
        (x_z, x_r, x_c), (h_z, h_r, h_c) = np.split(x @ kernel + bias[0], 3), np.split(h @ recurrent + bias[1], 3)
        z, r = sigmoid(x_z + h_z), sigmoid(x_r + h_r)
        return [z * h + (1 - z) * np.tanh(x_c + r * h_c)]
    x_z, x_r, x_c = np.split(x @ kernel + bias, 3)
    u_z, u_r, u_c = np.split(recurrent, 3, axis=1)
    z, r = sigmoid(x_z + h @ u_z), sigmoid(x_r + h @ u_r)
    return [z * h + (1 - z) * np.tanh(x_c + (r * h) @ u_c)]


def lstm_step(weights, x, states):
    kernel, recurrent, bias = weights
    h, c = states
    i, f, g, o = np.split(x @ kernel + h @ recurrent + bias, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return [sigmoid(o) * np.tanh(c), c]


class CellTests:
    """A harness; subclasses define `make(**options)`, `reference`, `gates`, `kind` and `arguments`.

    `make` returns a cell of `UNITS`; `reference(weights, inputs, states) -> states` computes one step of one row by the
    formula; `gates` are the names of the gates; `arguments` contains all arguments, not at their defaults.
    """

    not_stored = ()
    quick = ()  # the slow checks that run for this member without the slow marker

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        mark_slow(
            cls,
            compiled_loop=lambda self, network: self.check_compiled_loop(network),
            compiled=lambda self: check(self.make(), only=["xla"]),
            gradients_in_a_graph=lambda self: check(self.make(), only=["gradients"]),
            mixed_precision=lambda self: check(self.make(), only=["mixed_precision"]),
            fit_and_reload=lambda self: self.check_fit_and_reload(),
        )

    @pytest.fixture(scope="class")
    @classmethod
    def network(cls):
        layer = Recurrent(cls().make(dtype="float64"), dtype="float64", **ALL)
        layer.build((None, None, FEATURES))
        return randomize(layer)

    def loop(self, network, inputs, lengths):
        """Compute the outputs and last states, row by row and step by step."""
        weights = [w.numpy() for w in network.cell.trainable_variables]
        outputs, last = np.zeros((*inputs.shape[:2], UNITS)), []
        for row, length in enumerate(lengths):
            states = [np.zeros(size) for size in network.cell.state_size]
            for t in range(length):
                states = self.reference(weights, inputs[row, t], states)
                outputs[row, t] = states[0]
            last.append(states)
        return outputs, [np.stack(state) for state in zip(*last, strict=True)]

    def test_numbers_of_the_formula_in_every_mode(self, network):
        """Eagerly and with unknown shapes, with NaN in the padding, one row of length 1 and one of length 0."""
        outputs, states = self.loop(network, INPUTS, LENGTHS)

        def run(inputs, mask):
            return network(inputs, mask=mask)

        traced = tf.function(run, SIGNATURE, autograph=False)
        for function in (run, traced):
            found, *last = function(tf.constant(DIRTY), tf.constant(MASK))
            np.testing.assert_allclose(found, outputs, atol=1e-10)
            for ours, theirs in zip(last, states, strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-10)
        for time in (0, 1):
            found, *last = traced(tf.constant(DIRTY[:, :time]), tf.constant(MASK[:, :time]))
            np.testing.assert_allclose(found, outputs[:, :time], atol=1e-10)
            assert [state.shape.as_list() for state in last] == [[BATCH, UNITS]] * len(states)

    def test_what_every_cell_must_do(self):
        with untraced():
            check(self.make(), only=["configuration", "mask", "gradients", "step"])

    def check_fit_and_reload(self):
        with untraced():
            check(self.make(), only=["saving"])

    def check_compiled_loop(self, network):
        """Compare values and gradients in training with those of the plain loop."""

        def slopes(compiled):
            network.jit_compile = compiled

            def both():
                inputs = tf.constant(INPUTS)
                with tf.GradientTape() as tape:
                    tape.watch(inputs)
                    outputs, *states = network(inputs, mask=tf.constant(MASK), training=False)
                    loss = tf.reduce_sum(outputs**3) + tf.add_n([tf.reduce_sum(tf.sin(state)) for state in states])
                return outputs, tape.gradient(loss, [inputs, *(v.value for v in network.trainable_variables)])

            found = tf.nest.flatten((tf.function(both, autograph=False) if compiled else both)())
            network.jit_compile = None
            return found

        for ours, theirs in zip(slopes(True), slopes(False), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)

    def test_what_is_joined_is_an_input_like_others(self, network):
        cell = network.cell
        kernel = cell.trainable_variables[0]  # of the first inner cell
        states = cell.get_initial_state(BATCH)
        assert kernel.shape == (FEATURES, cell.projected_size)
        joined = cell.join(cell.project(tf.constant(INPUTS[:, 0])), tf.matmul(INPUTS[:, 1], kernel.value))
        together = cell.project(tf.constant(INPUTS[:, 0] + INPUTS[:, 1]))
        for ours, theirs in zip(cell.step(joined, states), cell.step(together, states), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)

    def test_gates_have_names_and_bounds(self, network):
        found = network.cell.gates(tf.constant(INPUTS[:, 0]), network.cell.get_initial_state(BATCH))
        assert tuple(found) == self.gates
        for gate, values in found.items():
            low = -1 if gate.endswith("candidate") else 0
            assert ((values >= low) & (values <= 1)).numpy().all()
            assert values.shape == (BATCH, UNITS)

    def test_every_argument_survives_saving(self):
        assert_arguments_survive(self.kind, self.arguments, self.not_stored)

    def test_a_twin_is_alike_with_weights_of_its_own(self, network):
        twin = network.cell.twin()
        assert type(twin) is type(network.cell)
        assert twin.state_size == network.cell.state_size
        assert not twin.built


def names():
    """Return the registered names of all cells."""
    return sorted(Cell.registry)
