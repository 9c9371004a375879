"""A cell over time, with all options of the surrounding network."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.cells import randomize
from support.layers import ALL, random
from support.networks import BATCH, FEATURES, TIME, UNITS, TimeNetworkTests, near

from seqattn_tf.cells import DropoutCell, GRUCell, LSTMCell
from seqattn_tf.recurrent import Bidirectional, Recurrent, Stack, watch_gates

CONTEXT = tf.constant(random(BATCH, 2, seed=5, dtype="float64"))
INPUTS, MASK = TimeNetworkTests.inputs, TimeNetworkTests.mask


def built(*arguments, **options):
    layer = Recurrent(*arguments, units=UNITS, dtype="float64", **ALL, **options)
    more = {} if layer.context is None else {"context": CONTEXT}
    layer(tf.constant(INPUTS), **more)
    return randomize(layer)


def same_weights(layer, **options):
    """Return another network with other options and the same cell."""
    other = Recurrent(layer.cell, dtype="float64", **ALL, **options)
    other.build((BATCH, None, FEATURES))
    return other


class TestRecurrent(TimeNetworkTests):
    kind = Recurrent
    arguments = {
        "cell": LSTMCell(7),
        "reverse": True,
        "context": "input",
        "truncate": 2,
        "stateful": True,
        "jit_compile": False,
        **ALL,
    }
    not_stored = ("units", "initial")
    quick = ("compiled", "mixed_precision")

    def make(self, dtype):
        return Recurrent("gru", units=UNITS, dtype=dtype, **ALL)


class TestReverse(TimeNetworkTests):
    kind, not_stored = Recurrent, ("units", "stateful", "context")
    arguments = {"cell": LSTMCell(7), "reverse": True, "initial": "learned", "truncate": 2, "jit_compile": False, **ALL}

    def make(self, dtype):
        return Recurrent("lstm", units=UNITS, reverse=True, dtype=dtype, **ALL)

    def alone(self, layer, inputs):
        outputs, *states = same_weights(layer)(inputs[:, ::-1])
        return outputs[:, ::-1], *states


class TestLearned(TestReverse):
    def make(self, dtype):
        return Recurrent("lstm", units=UNITS, initial="learned", dtype=dtype, **ALL)

    def alone(self, layer, inputs):
        first = [layer.first_biases[0].value[None], layer.first_biases[1].value[None]]
        return same_weights(layer)(inputs, initial_state=first)


class TestContext(TimeNetworkTests):
    """Equals a network with the context concatenated to the inputs and with the states computed from it."""

    kind, not_stored = Recurrent, ("units", "stateful", "initial")
    arguments = {"cell": LSTMCell(7), "reverse": True, "context": "both", "truncate": 2, "jit_compile": False, **ALL}
    more = {"context": CONTEXT}

    def make(self, dtype):
        return Recurrent("lstm", units=UNITS, context="both", dtype=dtype, **ALL)

    def alone(self, layer, inputs, context):
        pairs = zip(layer.first_kernels, layer.first_biases, strict=True)
        first = [tf.tanh(tf.matmul(context, kernel.value) + bias.value) for kernel, bias in pairs]
        whole = Recurrent("lstm", units=UNITS, dtype="float64", **ALL)
        whole.build((None, None, FEATURES + 2))
        kernel, *others = layer.cell.get_weights()
        whole.set_weights([np.concatenate([kernel, layer.context_kernel.numpy()]), *others])
        beside = tf.tile(context[:, None], [1, inputs.shape[1], 1])
        return whole(tf.concat([inputs, beside], -1), initial_state=first)


class TestTruncated(TestReverse):
    def make(self, dtype):
        return Recurrent("lstm", units=UNITS, truncate=2, dtype=dtype, **ALL)

    def alone(self, layer, inputs):
        return same_weights(layer)(inputs)

    def check_slopes(self, loss, arrays):
        """Skipped, because with truncation the gradient is not that of the function; see below."""


@pytest.mark.parametrize("merge", ["concat", "sum", "ave", "mul"])
def test_bidirectional_is_keras_bidirectional(merge):
    ours = Bidirectional("gru", units=UNITS, merge_mode=merge, return_sequences=True)
    theirs = keras.layers.Bidirectional(keras.layers.GRU(UNITS, return_sequences=True), merge_mode=merge)
    for one in (ours, theirs):
        one.build((None, None, FEATURES))
    theirs.set_weights([random(*w.shape, seed=i) for i, w in enumerate(theirs.get_weights())])
    ours.set_weights(theirs.get_weights()[: len(ours.weights)])
    inputs, mask = tf.constant(INPUTS[:3], tf.float32), tf.constant(MASK[:3])
    expected = theirs(inputs, mask=mask).numpy()
    np.testing.assert_allclose(ours(inputs, mask=mask).numpy()[MASK[:3]], expected[MASK[:3]], atol=1e-6)


class TestBidirectional(TimeNetworkTests):
    kind = Bidirectional
    arguments = {
        "cell": LSTMCell(7),
        "merge_mode": "sum",
        "initial": "learned",
        "truncate": 2,
        "jit_compile": False,
        **ALL,
    }
    not_stored = ("units", "context")
    merge = "concat"

    def make(self, dtype):
        return Bidirectional("lstm", units=UNITS, merge_mode=self.merge, dtype=dtype, **ALL)

    def alone(self, layer, inputs):
        ahead, back = same_weights(layer.forward), same_weights(layer.backward)
        (one, *states), (other, *others) = ahead(inputs), back(inputs[:, ::-1])
        join = {"concat": lambda *pair: tf.concat(pair, -1), "ave": lambda a, b: (a + b) / 2}[self.merge]
        return join(one, other[:, ::-1]), *states, *others


class TestBidirectionalMean(TestBidirectional):
    arguments = {
        "cell": LSTMCell(7),
        "merge_mode": "ave",
        "context": "both",
        "truncate": 2,
        "jit_compile": False,
        **ALL,
    }
    not_stored = ("units", "initial")
    merge = "ave"


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [3, 5])
def test_truncation_is_chunks_without_a_gradient_between(reverse, length):
    """Chunks of two unmasked steps, with and without padding; the gradients of the weights and of the inputs."""
    layer = built("lstm", truncate=2, reverse=reverse)
    plain = same_weights(layer, reverse=reverse)
    inputs = tf.constant(INPUTS[:1, :length])
    readout = tf.constant(random(1, length, UNITS, seed=3, dtype="float64"))

    def gradient(run):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            loss = tf.reduce_sum(run(inputs) * readout)
        return [loss, *tape.gradient(loss, [inputs, *(v.value for v in layer.trainable_variables)])]

    def whole(inputs):
        if length == TIME:
            return layer(inputs)[0]
        padded = tf.pad(inputs, [[0, 0], [0, TIME - length], [0, 0]])
        return layer(padded, mask=tf.sequence_mask([length], TIME))[0][:, :length]

    def chunks(inputs):
        found, states = [], None
        for start in range(0, length, 2):
            span = slice(max(length - start - 2, 0), length - start) if reverse else slice(start, start + 2)
            outputs, *states = plain(inputs[:, span], initial_state=states)
            states = [tf.stop_gradient(state) for state in states]
            found.append(outputs)
        return tf.concat(found[::-1] if reverse else found, 1)

    ours = gradient(tf.function(whole) if reverse and length < TIME else whole)
    free = gradient(lambda inputs: plain(inputs)[0])
    near(ours, gradient(chunks))
    near(ours[0], free[0])  # equal values, but another gradient
    assert np.abs(ours[2] - free[2]).max() > 1e-3


def test_streaming_by_states_is_the_whole():
    layer = built("lstm")
    inputs, mask = tf.constant(INPUTS), tf.constant(MASK)
    whole, *last = layer(inputs, mask=mask)
    first, *states = layer(inputs[:, :2], mask=mask[:, :2])
    second, *states = layer(inputs[:, 2:], mask=mask[:, 2:], initial_state=states)
    near([tf.concat([first, second], 1), *states], [whole, *last])


@pytest.mark.parametrize("dtype", ["float64", "mixed_bfloat16"])
def test_stateful_goes_on_where_it_ended(dtype):
    plain = Recurrent("lstm", units=UNITS, dtype=dtype, **ALL)
    inputs, mask = tf.constant(INPUTS), tf.constant(MASK)
    whole, *last = plain(inputs, mask=mask)
    layer = Recurrent(plain.cell, stateful=True, context="input", dtype=dtype, **ALL)
    nothing = tf.zeros([BATCH, 2], tf.float64)
    run = tf.function(lambda x, m: layer(x, mask=m, context=nothing))
    layer(inputs, context=nothing)
    for _ in range(2):
        layer.reset_state()
        chunks = [run(inputs[:, a:b], mask[:, a:b]) for a, b in ((0, 1), (1, 3), (3, 5))]
        near(
            [tf.concat([c[0] for c in chunks], 1), *chunks[-1][1:]],
            [whole, *last],
            1e-10 if dtype == "float64" else 0.02,
        )
    given = layer(inputs, context=nothing, initial_state=plain.cell.get_initial_state(BATCH))[0]
    near(given, plain(inputs)[0])
    assert layer.non_trainable_variables == []


def test_stateful_in_a_model(tmp_path):
    inputs = keras.Input(batch_shape=(2, None, FEATURES))
    model = keras.Model(inputs, Recurrent("gru", units=UNITS, stateful=True, return_sequences=True)(inputs))
    data = tf.constant(INPUTS[:2], tf.float32)
    near(model.layers[-1].kept.states[0], tf.zeros([2, UNITS]))  # building the model did not change the state
    whole = model(data)
    model.layers[-1].reset_state()
    near(tf.concat([model(data[:, :2]), model(data[:, 2:])], 1), whole, 1e-6)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    near(again(data), whole, 1e-6)  # starts from the initial state, as in Keras


def test_stateful_as_keras_in_training_and_for_another_batch():
    """With `tf.data`, whose batch sizes are unknown; the trained weights are moved to a network for one row."""

    def made(layer, rows):
        inputs = keras.Input(batch_shape=(rows, None, FEATURES))
        return keras.Model(inputs, layer("gru" if layer is recurrent else UNITS)(inputs))

    def recurrent(cell):
        return Recurrent(cell, units=UNITS, stateful=True, return_sequences=True)

    def theirs(units):
        return keras.layers.GRU(units, stateful=True, return_sequences=True)

    data = tf.constant(random(4, TIME, FEATURES))
    batches = tf.data.Dataset.from_tensor_slices((data, tf.ones([4, TIME, UNITS]))).batch(2)
    models = [made(recurrent, 2), made(theirs, 2)]
    models[0].set_weights(models[1].get_weights()[:3])
    for model in models:
        model.compile("sgd", "mse", jit_compile=False, run_eagerly=model is models[1])
        model.fit(batches, epochs=2, shuffle=False, verbose=0)
    near(models[0].get_weights(), models[1].get_weights()[:3], 1e-5)
    alone = made(recurrent, 1)
    alone.set_weights(models[0].get_weights())
    models[0].layers[-1].reset_state()
    near(alone(data[:1]), models[0](data[:2])[:1], 1e-6)


def test_training_reaches_the_cell():
    for layer in (
        Recurrent(DropoutCell("gru", 0.5, units=UNITS)),
        Bidirectional(DropoutCell("gru", 0.5, units=UNITS)),
    ):
        inputs = tf.constant(INPUTS, tf.float32)
        near(layer(inputs), layer(inputs, training=False))
        assert np.abs(layer(inputs, training=True) - layer(inputs)).max() > 1e-3


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_truncation_lets_the_first_steps_reach_the_first_states(reverse, masked):
    """The gradient reaches the initial states from the steps of the first chunk, but not from later ones."""
    layer = built("lstm", truncate=2, reverse=reverse)
    for steps in (2, 3):
        first = [tf.ones([BATCH, UNITS], tf.float64)] * 2
        mask = tf.sequence_mask([steps] * BATCH, TIME) if masked else None
        inputs = tf.constant(INPUTS) if masked else tf.constant(INPUTS[:, :steps])
        with tf.GradientTape() as tape:
            tape.watch(first)
            _, last, _ = layer(tf.where(tf.math.is_nan(inputs), 0.0, inputs), initial_state=first, mask=mask)
        slope = np.abs(tape.gradient(last, first[0]).numpy()).max()
        assert (slope > 1e-6) == (steps == 2)


@pytest.mark.parametrize("kind", [Recurrent, Bidirectional])
def test_the_final_output_is_the_last_output_of_a_cell_with_several_states(kind):
    layer = kind("lstm", units=UNITS)
    found = layer.read(tf.constant(random(BATCH, TIME, FEATURES)))
    np.testing.assert_allclose(layer.final_output(found.states), found.last, rtol=1e-6)


def test_truncated_training_with_dropout_and_context():
    """All inputs and states of the loop at once."""
    layer = Recurrent(DropoutCell("lstm", 0.5, units=UNITS), context="both", truncate=2, reverse=True, **ALL)
    inputs = tf.constant(INPUTS, tf.float32)
    with tf.GradientTape() as tape:
        outputs, *_ = layer(inputs, mask=tf.constant(MASK), context=tf.cast(CONTEXT, tf.float32), training=True)
        loss = tf.reduce_sum(outputs**2)
    assert all(np.isfinite(g).all() for g in tape.gradient(loss, layer.trainable_variables))


def test_bad_arguments_are_refused():
    inputs = tf.constant(INPUTS)
    for expected, options in {
        "units: expected an integer for the cell 'gru'": {"units": None},
        "initial: expected one of .*Received: 'ones'": {"initial": "ones"},
        "context: expected one of .*Received: 'all'": {"context": "all"},
        "truncate: expected a positive integer or None. Received: 0": {"truncate": 0},
        "initial: expected a single source of the initial state": {"initial": "learned", "stateful": True},
    }.items():
        with pytest.raises(ValueError, match=expected):
            Recurrent("gru", **{"units": UNITS, **options})
    with pytest.raises(ValueError, match=r"merge_mode: expected one of .*Received: 'max'"):
        Bidirectional("gru", units=UNITS, merge_mode="max")
    layer = built("lstm")
    with pytest.raises(ValueError, match="mask: expected booleans"):
        layer(inputs, mask=tf.constant(MASK.astype("float32")))
    with pytest.raises(ValueError, match=r"expected \[batch, time, features\]"):
        layer(inputs[0])
    with pytest.raises(ValueError, match=r"initial_state: expected \[\(4, 4\), \(4, 4\)\]\. Received: \[\(4, 4\)\]"):
        layer(inputs, initial_state=[tf.zeros([BATCH, UNITS], tf.float64)])
    with pytest.raises(ValueError, match="context: expected None with context=None"):
        layer(inputs, context=CONTEXT)
    with pytest.raises(ValueError, match="reset_state: expected a network with stateful=True"):
        layer.reset_state()
    with pytest.raises(ValueError, match=r"context: expected \[batch, n\] with context='state'"):
        Recurrent("gru", units=UNITS, context="state")(inputs)
    layer = built("gru", context="state")
    with pytest.raises(ValueError, match=r"context: expected \[batch, n\] with context='state'\. Received: None"):
        layer(inputs)
    with pytest.raises(ValueError, match=r"context: expected \[batch, n\]. Received shape"):
        layer(inputs, context=CONTEXT[0])
    with pytest.raises(ValueError, match="stateful: expected a known batch size"):
        Recurrent("gru", units=UNITS, stateful=True).build((None, None, FEATURES))
    with pytest.raises(ValueError, match=r"stateful: expected batches of 4\. Received: 2"):
        built("gru", stateful=True)(inputs[:2])


def test_wrong_masks_states_and_units_are_refused():
    inputs = tf.zeros([2, 5, 3])
    for shape in ([2, 1], [1, 5], [2, 4], [2], [2, 5, 1]):
        with pytest.raises(ValueError, match="mask: expected"):
            Recurrent("gru", units=3)(inputs, mask=tf.ones(shape, tf.bool))
    with pytest.raises(ValueError, match=r"initial_state: expected \[\(2, 3\)\]\. Received: \[\(2, 4\)\]"):
        Recurrent("gru", units=3)(inputs, initial_state=[tf.zeros([2, 4])])
    with pytest.raises(ValueError, match=r"initial_state: expected \[\(2, 3\)\]\. Received: \[\(1, 3\)\]"):
        Recurrent("gru", units=3)(inputs, initial_state=tf.zeros([1, 3]))
    with pytest.raises(ValueError, match=r"units: expected None for a cell instance of 4 units\. Received: 8"):
        Recurrent(GRUCell(4), units=8)
    with pytest.raises(ValueError, match=r"units: expected a positive integer\. Received: True"):
        GRUCell(True)
    assert GRUCell(np.int64(3)).units == 3
    with pytest.raises(ValueError, match=r"initial_state: expected \[\(2, 3\), .*Received: \[\(2, 3\), \(2, 3\)\]"):
        Stack("gru", units=3, depth=2, bidirectional=True)(inputs, initial_state=[tf.zeros([2, 3])] * 2)


@pytest.mark.parametrize("options", [{}, {"context": "input"}, {"truncate": 2, "reverse": True}])
def test_a_large_known_batch_is_projected_beside_the_steps(options):
    """The results equal those of a small batch."""
    layer = Recurrent(DropoutCell(GRUCell(3), 0.5), **ALL, **options)
    inputs, mask = tf.constant(random(40, TIME, 2)), tf.sequence_mask(np.arange(40) % (TIME + 1), TIME)
    more = {"context": tf.constant(random(40, 4))} if "context" in options else {}
    outputs, states = layer(inputs, mask=mask, **more)
    few = {name: value[7:12] for name, value in more.items()}
    expected, last = layer(inputs[7:12], mask=mask[7:12], **few)
    np.testing.assert_allclose(outputs[7:12], expected, atol=1e-6)
    np.testing.assert_allclose(states[7:12], last, atol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_gates_are_of_the_states_before_each_step(reverse):
    """In a network with reverse order, they come from the states after each step."""
    layer = Recurrent("gru", units=3, reverse=reverse, return_sequences=True)
    inputs = tf.random.stateless_normal([1, 4, 2], [1, 2])
    with watch_gates() as seen:
        states = layer(inputs)
    [(_, gates)] = seen
    nothing = tf.zeros([1, 1, 3])
    before = tf.concat([states[:, 1:], nothing] if reverse else [nothing, states[:, :-1]], axis=1)
    expected = layer.cell.gates(inputs[0], [before[0]])
    for name, values in expected.items():
        np.testing.assert_allclose(gates[name], values, atol=1e-6, err_msg=name)


def test_the_last_output_of_a_row_without_a_step_is_zero_whatever_it_began_with():
    layer = Recurrent("gru", units=3)
    begin = tf.ones([2, 3])
    last = layer(tf.ones([2, 2, 2]), mask=tf.constant([[True, True], [False, False]]), initial_state=begin)
    assert last.numpy()[0].any()
    assert not last.numpy()[1].any()
