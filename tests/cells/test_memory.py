"""The cell of the Neural Turing Machine compared with a NumPy loop over rows and steps."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_slopes
from support.layers import ALL, random, roundtrip

from seqattn_tf.cells import Cell, GRUCell, LSTMCell
from seqattn_tf.cells.memory import MemoryCell
from seqattn_tf.recurrent import Recurrent

UNITS, SLOTS, WIDTH, FEATURES, BATCH, TIME = 3, 4, 2, 3, 3, 4
LENGTHS = [4, 2, 0]
MASK = np.arange(TIME) < np.array(LENGTHS)[:, None]
INPUTS = random(BATCH, TIME, FEATURES, dtype="float64")
DIRTY = np.where(MASK[..., None], INPUTS, np.nan)


def softmax(x):
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(cell, projected, h, c):
    _, recurrent, _ = (w.numpy() for w in cell.trainable_variables)
    i, f, g, o = np.split(projected + h @ recurrent, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def address(said, last, memory):
    """Compute the new weights of a head, slot by slot."""
    key, (strength, gate), shift, (sharp,) = said[:WIDTH], said[WIDTH : WIDTH + 2], said[-4:-1], said[-1:]
    cosines = [key @ row / (np.linalg.norm(key) * np.linalg.norm(row)) for row in memory]
    content = softmax(np.log1p(np.exp(strength)) * np.array(cosines))
    gated = sigmoid(gate) * content + (1 - sigmoid(gate)) * last
    shift = softmax(shift)
    moved = [sum(shift[k + 1] * gated[(slot - k) % SLOTS] for k in (-1, 0, 1)) for slot in range(SLOTS)]
    sharpened = np.array(moved) ** (1 + np.log1p(np.exp(sharp)))
    return sharpened / sharpened.sum()


def by_hand(cell, inputs):
    """Return the outputs of one row, and the memory and head weights after the last step."""
    kernel, _, bias = (w.numpy() for w in cell.controller.trainable_variables)
    read_kernel, head_kernel, head_bias, first = (
        w.numpy() for w in (cell.read_kernel, cell.head_kernel, cell.head_bias, cell.first_memory)
    )
    h, c, read, memory = np.zeros(UNITS), np.zeros(UNITS), np.zeros(WIDTH), first.reshape(SLOTS, WIDTH)
    reads = writes = softmax(np.array([0.0] + [-10.0] * (SLOTS - 1)))
    outputs = []
    for x in inputs:
        h, c = lstm(cell.controller, x @ kernel + bias + read @ read_kernel, h, c)
        said = h @ head_kernel + head_bias
        reader, writer, erase, add = np.split(said, np.cumsum([WIDTH + 6, WIDTH + 6, WIDTH]))
        writes = address(writer, writes, memory)
        memory = memory * (1 - np.outer(writes, sigmoid(erase))) + np.outer(writes, np.tanh(add))
        reads = address(reader, reads, memory)
        read = reads @ memory
        outputs.append(np.concatenate([h, read]))
    return outputs, memory, reads, writes


@pytest.fixture(scope="module")
def network():
    layer = Recurrent(MemoryCell(UNITS, SLOTS, WIDTH, dtype="float64"), dtype="float64", **ALL)
    layer.build((None, None, FEATURES))
    for number, weight in enumerate(layer.trainable_variables):
        weight.assign(random(*weight.shape, seed=number, dtype="float64"))
    return layer


def test_numbers_of_the_formula_in_every_mode(network):
    unknown = [tf.TensorSpec([None, None, FEATURES], tf.float64), tf.TensorSpec([None, None], tf.bool)]
    traced = tf.function(lambda x, m: network(x, mask=m), unknown, autograph=False)
    for run in (lambda x, m: network(x, mask=m), traced):
        outputs, *states = run(tf.constant(DIRTY), tf.constant(MASK))
        for row, length in enumerate(LENGTHS):
            expected, memory, reads, writes = by_hand(network.cell, INPUTS[row, :length])
            np.testing.assert_allclose(outputs[row, :length], np.reshape(expected, [length, UNITS + WIDTH]), atol=1e-9)
            assert (outputs[row, length:].numpy() == 0).all()
            first_memory, first_slot = network.cell.first_memory.numpy(), np.array([0.0] + [-10.0] * (SLOTS - 1))
            np.testing.assert_allclose(states[2][row] + first_memory, memory.ravel(), atol=1e-9)
            np.testing.assert_allclose(tf.nn.softmax(states[3][row] + first_slot), reads, atol=1e-9)
            np.testing.assert_allclose(tf.nn.softmax(states[4][row] + first_slot), writes, atol=1e-9)
    outputs, *states = traced(tf.constant(DIRTY[:, :0]), tf.constant(MASK[:, :0]))
    assert outputs.shape == (BATCH, 0, UNITS + WIDTH)
    assert [state.shape[1] for state in states] == network.cell.state_size == [5, 3, 8, 4, 4]


def test_gradient_in_float64_whatever_stands_in_the_padding(network):
    readout = random(BATCH, TIME, UNITS + WIDTH, seed=9, dtype="float64")
    others = [variable.value for variable in network.non_trainable_variables]

    def loss(inputs, *weights):
        outputs, *_ = network.stateless_call(list(weights), others, inputs, mask=tf.constant(MASK))[0]
        return tf.reduce_sum(outputs * readout)

    weights = [variable.numpy() for variable in network.trainable_variables]
    with tf.GradientTape() as tape:
        dirty = tf.constant(DIRTY)
        tape.watch(dirty)
        value = loss(dirty, *weights)
    gradient = tape.gradient(value, dirty).numpy()
    assert np.isfinite(gradient).all()
    assert (gradient[~MASK] == 0).all()
    assert_slopes(loss, [INPUTS, *weights], directions=2)


def test_any_numbers_are_a_state(network):
    """A decoder computes the initial states with its own maps."""
    states = [random(2, size, seed=i, dtype="float64") for i, size in enumerate(network.cell.state_size)]
    gates = network.cell.gates(tf.constant(INPUTS[:2, 0]), list(map(tf.constant, states)))
    assert set(gates) == {"read", "write", "read_content", "write_content"}
    for name, values in gates.items():
        assert ((values.numpy() >= 0) & (values.numpy() <= 1)).all()
        if name in ("read", "write"):
            np.testing.assert_allclose(values.numpy().sum(1), 1)
    output, after = network.cell(tf.constant(INPUTS[:2, 0]), list(map(tf.constant, states)))
    np.testing.assert_array_equal(output, after[0])
    joined = network.cell.join(network.cell.project(tf.constant(INPUTS[:2, 0])), tf.ones([2, 4 * UNITS], tf.float64))
    np.testing.assert_allclose(joined, network.cell.project(tf.constant(INPUTS[:2, 0])) + 1)


def test_arguments_survive_saving_and_names_are_found(network):
    again = roundtrip(MemoryCell(slots=5, width=7, controller=GRUCell(6)))
    assert (again.slots, again.width, again.controller.units) == (5, 7, 6)
    assert isinstance(again.controller, GRUCell)
    named = Cell.get("memory", units=6)
    assert isinstance(named.controller, LSTMCell)
    assert named.output_size == 6 + named.width
    twin = network.cell.twin()
    assert twin.state_size == network.cell.state_size
    assert twin.controller is not network.cell.controller
    with pytest.raises(ValueError, match=r"slots: expected a positive integer\. Received: 0"):
        MemoryCell(4, slots=0)
    with pytest.raises(ValueError, match=r"width: expected a positive integer\. Received: 1\.5"):
        MemoryCell(4, width=1.5)
    with pytest.raises(ValueError, match=r"units: expected an integer for the cell 'lstm'"):
        MemoryCell()


@pytest.mark.slow
def test_compiled_and_mixed(network):
    inputs, mask = tf.constant(INPUTS), tf.constant(MASK)
    compiled = tf.function(lambda x: network(x, mask=mask)[0], jit_compile=True)(inputs)
    np.testing.assert_allclose(compiled, network(inputs, mask=mask)[0], atol=1e-9)

    half = Recurrent(MemoryCell(UNITS, SLOTS, WIDTH, dtype="mixed_bfloat16"), dtype="mixed_bfloat16", **ALL)
    half.build((None, None, FEATURES))
    half.set_weights(network.get_weights())
    outputs, *_ = half(tf.constant(INPUTS, tf.float32), mask=mask)
    assert outputs.dtype == tf.bfloat16
    assert np.isfinite(tf.cast(outputs, tf.float32)).all()
    np.testing.assert_allclose(tf.cast(outputs, tf.float64)[:, 0], network(inputs, mask=mask)[0][:, 0], atol=0.1)


@pytest.mark.slow
def test_fitted_and_reloaded(tmp_path):
    entry = keras.Input((None, FEATURES))
    found = Recurrent(MemoryCell(UNITS, SLOTS, WIDTH), jit_compile=False, return_sequences=True)(entry)
    model = keras.Model(entry, keras.layers.Dense(1)(found))
    model.compile("adam", "mse", jit_compile=False)
    data = INPUTS.astype("float32")
    before = [w.copy() for w in model.get_weights()]
    model.fit(data, data[..., :1], verbose=0)
    assert all((old != new).any() for old, new in zip(before, model.get_weights(), strict=True))
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(again(data), model(data), atol=1e-6)


def test_a_head_so_sharp_that_the_other_slots_get_nothing_keeps_numbers_and_slopes():
    cell = MemoryCell(UNITS, SLOTS, WIDTH)
    layer = Recurrent(cell)
    layer.build((None, None, FEATURES))
    strength_gate_shift_sharp = [0.0, -200.0, -200.0, -200.0, 200.0, 60.0]  # moves by exactly one slot per step
    head = [0.5] * WIDTH + strength_gate_shift_sharp
    cell.head_bias.assign([*head, *head, *[0.0] * (2 * WIDTH)])
    cell.head_kernel.assign(tf.zeros_like(cell.head_kernel))
    inputs = tf.constant(INPUTS, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = layer(inputs)
        loss = tf.reduce_sum(outputs**2)
    slopes = tape.gradient(loss, [inputs, *layer.trainable_variables])
    assert np.isfinite(outputs).all()
    assert all(np.isfinite(slope).all() for slope in slopes)
