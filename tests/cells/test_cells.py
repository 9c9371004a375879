"""Every listed cell runs the whole harness and is compared with the formula of its paper."""

import numpy as np
import pytest
from support import cells as harness
from support.cells import UNITS, CellTests, gru_step, lstm_step, sigmoid

from seqattn_tf import cells
from seqattn_tf.recurrent import Recurrent


def normal(values, epsilon=1e-3):
    return (values - values.mean()) / np.sqrt(values.var() + epsilon)


class TestRNN(CellTests):
    kind, gates, arguments = cells.RNNCell, ("candidate",), harness.KERNEL_ARGUMENTS

    def make(self, **options):
        return cells.RNNCell(UNITS, **options)

    def reference(self, weights, x, states):
        kernel, recurrent, bias = weights
        return [np.tanh(x @ kernel + states[0] @ recurrent + bias)]


class TestGRU(CellTests):
    kind, gates = cells.GRUCell, ("update", "reset", "candidate")
    arguments = {**harness.GATED_ARGUMENTS, "reset_after": False}
    quick = ("mixed_precision", "compiled_loop")

    def make(self, **options):
        return cells.GRUCell(UNITS, **options)

    def reference(self, weights, x, states):
        return gru_step(weights, x, states)


class TestGRUResetBefore(TestGRU):
    quick = ()

    def make(self, **options):
        return cells.GRUCell(UNITS, reset_after=False, **options)

    def reference(self, weights, x, states):
        return gru_step(weights, x, states, reset_after=False)


class TestAccumulate(CellTests):
    kind, gates, arguments = cells.AccumulateCell, ("candidate",), harness.LSTM_ARGUMENTS

    def make(self, **options):
        return cells.AccumulateCell(UNITS, **options)

    def reference(self, weights, x, states):
        kernel, recurrent, bias = weights
        c = states[1] + np.tanh(x @ kernel + states[0] @ recurrent + bias)
        return [np.tanh(c), c]


class TestAccumulateForget(CellTests):
    kind, gates, arguments = cells.AccumulateForgetCell, ("forget", "candidate"), harness.LSTM_ARGUMENTS

    def make(self, **options):
        return cells.AccumulateForgetCell(UNITS, **options)

    def reference(self, weights, x, states):
        kernel, recurrent, bias = weights
        f, g = np.split(x @ kernel + states[0] @ recurrent + bias, 2)
        c = sigmoid(f) * states[1] + np.tanh(g)
        return [np.tanh(c), c]


class TestAccumulateInput(CellTests):
    kind, gates, arguments = cells.AccumulateInputCell, ("input", "forget", "candidate"), harness.LSTM_ARGUMENTS

    def make(self, **options):
        return cells.AccumulateInputCell(UNITS, **options)

    def reference(self, weights, x, states):
        kernel, recurrent, bias = weights
        i, f, g = np.split(x @ kernel + states[0] @ recurrent + bias, 3)
        c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
        return [np.tanh(c), c]


class TestLSTM(CellTests):
    kind, gates = cells.LSTMCell, ("input", "forget", "candidate", "output")
    arguments = harness.LSTM_ARGUMENTS
    quick = ("gradients_in_a_graph", "compiled", "compiled_loop")

    def make(self, **options):
        return cells.LSTMCell(UNITS, **options)

    def reference(self, weights, x, states):
        return lstm_step(weights, x, states)


class TestPeepholeLSTM(TestLSTM):
    kind = cells.PeepholeLSTMCell
    arguments = {
        **harness.LSTM_ARGUMENTS,
        "peephole_initializer": "zeros",
        "peephole_regularizer": "l2",
        "peephole_constraint": "non_neg",
    }
    quick = ()

    def make(self, **options):
        return cells.PeepholeLSTMCell(UNITS, **options)

    def reference(self, weights, x, states):
        kernel, recurrent, bias, peepholes = weights
        h, c = states
        i, f, g, o = np.split(x @ kernel + h @ recurrent + bias, 4)
        new = sigmoid(f + peepholes[1] * c) * c + sigmoid(i + peepholes[0] * c) * np.tanh(g)
        return [sigmoid(o + peepholes[2] * new) * np.tanh(new), new]


class TestLayerNormLSTM(TestLSTM):
    kind = cells.LayerNormLSTMCell
    arguments = {**harness.LSTM_ARGUMENTS, "epsilon": 0.25, "carry_normalised": True}
    quick = ()
    options = {}

    def make(self, **options):
        return cells.LayerNormLSTMCell(UNITS, **self.options, **options)

    def reference(self, weights, x, states):
        kernel, recurrent, bias, gain, memory_gain, memory_shift = weights
        h, c = states
        i, f, g, o = np.split(gain[0] * normal(x @ kernel) + gain[1] * normal(h @ recurrent) + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        shown = memory_gain * normal(c) + memory_shift
        return [sigmoid(o) * np.tanh(shown), shown if self.options else c]


class TestLayerNormLSTMAsInAddons(TestLayerNormLSTM):
    options = {"carry_normalised": True}


class TestLayerNormGRU(TestGRU):
    kind = cells.LayerNormGRUCell
    arguments = {**harness.GATED_ARGUMENTS, "epsilon": 0.25}
    not_stored = ("reset_after",)
    quick = ()

    def make(self, **options):
        return cells.LayerNormGRUCell(UNITS, **options)

    def reference(self, weights, x, states):
        kernel, recurrent, bias, gain = weights
        (h,) = states

        def side(values, number):
            values = np.concatenate([normal(values[: 2 * UNITS]), normal(values[2 * UNITS :])])
            return np.split(gain[number] * values + bias[number], 3)

        (x_z, x_r, x_c), (h_z, h_r, h_c) = side(x @ kernel, 0), side(h @ recurrent, 1)
        z, r = sigmoid(x_z + h_z), sigmoid(x_r + h_r)
        return [z * h + (1 - z) * np.tanh(x_c + r * h_c)]


class TestMultiplicativeRNN(TestRNN):
    kind = cells.MultiplicativeRNNCell

    def make(self, **options):
        return cells.MultiplicativeRNNCell(UNITS, **options)

    def reference(self, weights, x, states):
        kernel, recurrent, bias, factor, factor_recurrent = weights
        m = (x @ factor) * (states[0] @ factor_recurrent)
        return [np.tanh(x @ kernel + m @ recurrent + bias)]


class TestMultiplicativeLSTM(TestLSTM):
    kind = cells.MultiplicativeLSTMCell
    quick = ("compiled_loop",)

    def make(self, **options):
        return cells.MultiplicativeLSTMCell(UNITS, **options)

    def reference(self, weights, x, states):
        *plain, factor, factor_recurrent = weights
        m = (x @ factor) * (states[0] @ factor_recurrent)
        return lstm_step(plain, x, [m, states[1]])


class TestOutput(CellTests):
    kind, gates = cells.OutputCell, ("candidate",)
    arguments = {**harness.KERNEL_ARGUMENTS, "hidden": 5, "output_activation": "softmax"}
    quick = ("compiled_loop", "fit_and_reload")

    def make(self, **options):
        return cells.OutputCell(UNITS, **options)

    def reference(self, weights, x, states):
        kernel, recurrent, bias, output_kernel, output_bias = weights
        hidden = np.tanh(x @ kernel + states[0] @ recurrent + bias)
        return [np.tanh(hidden @ output_kernel + output_bias)]


def test_a_taught_output_is_that_of_the_loop_where_it_was_right():
    """Teaching with the layer's own outputs reproduces them; a changed output affects only the next step."""
    layer = Recurrent(cells.OutputCell(UNITS, hidden=7, dtype="float64"), return_sequences=True, dtype="float64")
    inputs = harness.INPUTS
    said = layer(inputs)
    np.testing.assert_allclose(layer.cell.teach(inputs, said), said, atol=1e-12)
    other = said.numpy().copy()
    other[:, 1] += 1
    apart = np.abs(layer.cell.teach(inputs, other) - said).max(axis=(0, 2))
    assert np.flatnonzero(apart > 1e-9).tolist() == [2]
    first = np.ones([len(inputs), UNITS])
    begun = layer.cell.teach(inputs, said, first)
    np.testing.assert_allclose(begun[:, 0], layer(inputs, initial_state=[first])[:, 0], atol=1e-12)
    fresh = cells.OutputCell(3, hidden=5, output_activation="softmax")
    np.testing.assert_allclose(
        fresh.teach(np.ones([2, 4, 6], "float32"), np.zeros([2, 4, 3])).numpy().sum(-1), 1, atol=1e-6
    )


def test_every_cell_is_found_by_name_and_listed_here():
    listed = {kind.kind.name_in_registry for kind in globals().values() if hasattr(kind, "arguments")}
    assert {name for name, kind in cells.Cell.registry.items() if kind.__module__.startswith("seqattn_tf")} >= listed
    assert listed >= {n for n in harness.names() if "memory" not in n}
    assert isinstance(cells.Cell.get("gru", units=3), cells.GRUCell)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"expected one of \['accumulate', .*'rnn'\].*Received: 'elman'"):
        cells.Cell.get("elman")
    with pytest.raises(ValueError, match=r"units: expected a positive integer\. Received: 0"):
        cells.GRUCell(0)
    for kind in (cells.LayerNormLSTMCell, cells.LayerNormGRUCell):
        with pytest.raises(ValueError, match=r"epsilon: expected a positive number\. Received: 0"):
            kind(4, epsilon=0)
    assert cells.LayerNormGRUCell(4, reset_after=True).reset_after
    with pytest.raises(
        ValueError, match=r"reset_after: expected True, because the product is normalized\. Received: False"
    ):
        cells.LayerNormGRUCell(4, reset_after=False)
