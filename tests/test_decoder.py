import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_gradient
from support.layers import random, roundtrip

from seqattn_tf.attention import Attention
from seqattn_tf.cells import GRUCell, LSTMCell
from seqattn_tf.decoder import AttentionDecoder

BATCH, SOURCE, TARGET, WIDTH, VOCABULARY = 3, 4, 5, 6, 7
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]], bool)
TOKENS = np.random.default_rng(0).integers(1, VOCABULARY, (BATCH, TARGET)).astype("int32")
VALUES, SUMMARY = random(BATCH, SOURCE, WIDTH), random(BATCH, WIDTH, seed=1)


def make(cell, dtype="float32"):
    decoder = AttentionDecoder(
        cell, Attention(units=5, dtype=dtype), VOCABULARY, embedding=3, readout=4, dropout=0.5, dtype=dtype
    )
    decoder.build((None, None), (None, None, WIDTH), (None, WIDTH))
    return decoder


@pytest.fixture(scope="module", params=["gru", "lstm"])
def decoder(request):
    return make({"gru": GRUCell, "lstm": LSTMCell}[request.param](4))


def arguments():
    return tf.constant(TOKENS), tf.constant(VALUES), tf.constant(MASK), tf.constant(SUMMARY)


def test_teacher_forcing_equals_the_steps_one_by_one(decoder):
    tokens, values, mask, summary = arguments()
    logits, weights = decoder(tokens, values, mask=mask, summary=summary)
    memory, state = decoder.begin(values, mask, summary)
    for t in range(TARGET):
        step_logits, step_weights, state = decoder.step(tokens[:, t], state, memory)
        np.testing.assert_allclose(step_logits, logits[:, t], atol=1e-5)
        np.testing.assert_allclose(step_weights, weights[:, t], atol=1e-6)


def test_the_state_before_the_step_asks(decoder):
    """The first look depends on the summary alone, whatever the first symbol is."""
    tokens, values, mask, summary = arguments()
    _, weights = decoder(tokens, values, mask=mask, summary=summary)
    _, others = decoder(tf.ones_like(tokens), values, mask=mask, summary=summary)
    np.testing.assert_allclose(weights[:, 0], others[:, 0], atol=1e-7)
    state = decoder.begin(values, mask, summary)[1]
    _, expected = decoder.attention(state.cell[0], values, mask=mask)
    np.testing.assert_allclose(weights[:, 0], expected, atol=1e-6)


def test_fully_masked_row_reads_nothing(decoder):
    tokens, values, mask, summary = arguments()
    logits, weights = decoder(tokens, values, mask=mask, summary=summary)
    assert np.isfinite(logits).all()
    assert (weights[2].numpy() == 0).all()
    np.testing.assert_allclose(weights.numpy()[:2].sum(-1), 1, atol=1e-6)


def test_what_stands_in_the_padding_reaches_nothing(decoder):
    tokens, values, mask, summary = arguments()
    dirty = tf.where(mask[..., None], values, float("nan"))
    logits, _ = decoder(tokens, dirty, mask=mask, summary=summary)
    np.testing.assert_allclose(logits, decoder(tokens, values, mask=mask, summary=summary)[0], atol=1e-6)


def test_unknown_shapes_and_xla(decoder):
    def run(tokens, values, mask, summary):
        return decoder(tokens, values, mask=mask, summary=summary)[0]

    signature = [
        tf.TensorSpec([None, None], tf.int32),
        tf.TensorSpec([None, None, WIDTH]),
        tf.TensorSpec([None, None], tf.bool),
        tf.TensorSpec([None, WIDTH]),
    ]
    plain = tf.function(run, input_signature=signature)
    np.testing.assert_allclose(plain(*arguments()), tf.function(run, jit_compile=True)(*arguments()), atol=1e-5)
    tokens, values, mask, summary = arguments()
    assert plain(tokens[:, :0], values, mask, summary).shape == (BATCH, 0, VOCABULARY)


def test_gradient_in_float64():
    decoder = make(GRUCell(2, dtype="float64"), "float64")
    tokens, _, mask, _ = arguments()

    def loss(values, summary, *weights):
        (logits, alpha), _ = decoder.stateless_call(
            list(weights),
            [v.value for v in decoder.non_trainable_variables],
            tokens,
            values,
            mask=mask,
            summary=summary,
        )
        return tf.reduce_sum(logits**2) + tf.reduce_sum(alpha**2)

    trainable = [v.numpy() for v in decoder.trainable_variables]
    assert_gradient(
        tf.function(loss), [VALUES.astype("float64"), SUMMARY.astype("float64"), *trainable], tolerance=1e-5
    )


def test_configuration_survives(decoder):
    config = roundtrip(decoder).get_config()
    expected = {"vocabulary": VOCABULARY, "embedding": 3, "readout": 4, "dropout": 0.5}
    assert {key: config[key] for key in expected} == expected
