import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import random, roundtrip

from seqattn_tf.cells import LSTMCell
from seqattn_tf.recurrent import Bidirectional, Recurrent

UNITS, FEATURES, BATCH, TIME = 4, 3, 4, 5
LENGTHS = [5, 3, 1, 0]
MASK = np.arange(TIME) < np.array(LENGTHS)[:, None]
INPUTS = random(BATCH, TIME, FEATURES)


@pytest.fixture(scope="module", params=["recurrent", "reverse", "bidirectional"])
def layer(request):
    made = {
        "recurrent": lambda: Recurrent("gru", units=UNITS),
        "reverse": lambda: Recurrent(LSTMCell(UNITS), reverse=True),
        "bidirectional": lambda: Bidirectional("lstm", units=UNITS),
    }[request.param]()
    made.build((None, None, FEATURES))
    return made


def test_padded_batch_equals_one_by_one(layer):
    outputs, states = layer(tf.constant(INPUTS), mask=tf.constant(MASK))
    for row, length in enumerate(LENGTHS):
        alone, alone_states = layer(tf.constant(INPUTS[row : row + 1, :length]))
        np.testing.assert_allclose(outputs[row, :length], alone[0], atol=1e-6)
        assert (outputs[row, length:].numpy() == 0).all()
        for state, alone_state in zip(states, alone_states, strict=True):
            np.testing.assert_allclose(state[row], alone_state[0], atol=1e-6)


def test_unknown_shapes_xla_and_plain_agree(layer):
    def run(inputs, mask):
        return layer(inputs, mask=mask)[0]

    signature = [tf.TensorSpec([None, None, FEATURES]), tf.TensorSpec([None, None], tf.bool)]
    plain = tf.function(run, input_signature=signature)(INPUTS, MASK)
    compiled = tf.function(run, jit_compile=True)(tf.constant(INPUTS), tf.constant(MASK))
    np.testing.assert_allclose(plain, compiled, atol=1e-6)


def test_configuration_survives(layer):
    again = roundtrip(layer)
    again.build((None, None, FEATURES))
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(again(tf.constant(INPUTS))[0], layer(tf.constant(INPUTS))[0])


def test_bidirectional_is_keras_bidirectional():
    ours, theirs = (
        Bidirectional("gru", units=UNITS),
        keras.layers.Bidirectional(keras.layers.GRU(UNITS, return_sequences=True)),
    )
    ours.build((None, None, FEATURES))
    theirs.build((None, None, FEATURES))
    theirs.set_weights([random(*w.shape, seed=i) for i, w in enumerate(theirs.get_weights())])
    ours.set_weights(theirs.get_weights())
    mask = tf.constant(MASK)
    expected = theirs(tf.constant(INPUTS), mask=mask).numpy()
    np.testing.assert_allclose(ours(tf.constant(INPUTS), mask=mask)[0].numpy()[MASK], expected[MASK], atol=1e-6)


def test_initial_state_continues_a_sequence():
    layer = Recurrent("lstm", units=UNITS)
    whole, _ = layer(tf.constant(INPUTS))
    first, states = layer(tf.constant(INPUTS[:, :2]))
    second, _ = layer(tf.constant(INPUTS[:, 2:]), initial_state=states)
    np.testing.assert_allclose(tf.concat([first, second], 1), whole, atol=1e-6)


def test_fits_inside_a_functional_model(tmp_path):
    inputs = keras.Input((None, FEATURES))
    outputs, _ = Bidirectional("gru", units=UNITS)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(outputs))
    model.compile("adam", "mse", jit_compile=False)
    model.fit(INPUTS, INPUTS[..., :1], verbose=0)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(again(INPUTS), model(INPUTS), atol=1e-6)


def test_what_stands_in_the_padding_reaches_nothing():
    layer = Recurrent("gru", units=UNITS)
    dirty = tf.constant(np.where(MASK[..., None], INPUTS, np.nan))
    with tf.GradientTape() as tape:
        outputs, _ = layer(dirty, mask=tf.constant(MASK))
        loss = tf.reduce_sum(outputs**2)
    assert np.isfinite(outputs).all()
    assert all(np.isfinite(gradient).all() for gradient in tape.gradient(loss, layer.trainable_variables))


def test_named_cell_needs_units_and_masks_are_boolean():
    with pytest.raises(ValueError, match="units: expected a number for the cell 'gru'"):
        Recurrent("gru")
    with pytest.raises(ValueError, match="mask: expected booleans"):
        Recurrent("gru", units=UNITS)(tf.constant(INPUTS), mask=tf.constant(MASK.astype("int32")))


def test_wrong_rank_is_refused():
    with pytest.raises(ValueError, match=r"expected \[batch, time, features\]"):
        Recurrent("gru", units=UNITS)(tf.zeros([2, FEATURES]))
