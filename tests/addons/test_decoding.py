"""The cases of TensorFlow Addons' `seq2seq/tests/basic_decoder_test.py` and `decoder_test.py`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.automata import Memory
from support.layers import random

from seqattn_tf import Attention, AttentionDecoder
from seqattn_tf.cells import GRUCell, LSTMCell
from seqattn_tf.decoding import greedy, sample

BATCH, SOURCE, WIDTH, UNITS, VOCABULARY, TARGET = 5, 3, 6, 4, 7, 4
BEGIN, END = 1, 2
LENGTHS = np.array([3, 4, 3, 1, 0])
VALUES, SUMMARY = random(BATCH, SOURCE, WIDTH), random(BATCH, WIDTH, seed=1)
TOKENS = np.random.default_rng(2).integers(3, VOCABULARY, [BATCH, TARGET]).astype("int32")
SIGNATURE = [tf.TensorSpec([None, None, WIDTH]), tf.TensorSpec([None, WIDTH]), tf.TensorSpec([None], tf.int32)]
CELLS = {"lstm": LSTMCell, "gru": GRUCell}


def decoder_of(cell="lstm", dtype="float32", **arguments):
    parts = CELLS[cell](UNITS, dtype=dtype), Attention(units=5, dtype=dtype)
    decoder = AttentionDecoder(*parts, VOCABULARY, embedding=3, readout=5, dtype=dtype, **arguments)
    decoder.build((None, None), (None, None, WIDTH), (None, WIDTH))
    for number, weight in enumerate(decoder.trainable_variables):
        weight.assign(random(*weight.shape, seed=10 + number))
    return decoder


@pytest.fixture(scope="module")
def decoder():
    return decoder_of()


def begin(decoder, rows=slice(None), dtype="float32"):
    return decoder.begin(tf.cast(VALUES[rows], dtype), None, tf.cast(SUMMARY[rows], dtype))


def limited(decoder, **arguments):
    memory, state = begin(decoder)
    return greedy(decoder.step, state, memory, begin=BEGIN, end=END, never=(END,), **arguments)


@pytest.mark.parametrize("cell", CELLS)
def test_a_step_and_rows_that_have_no_more(cell):
    """One step of every row: the shapes of logits and states, the best symbol, and no symbols for a row of length 0."""
    decoder = decoder_of(cell)
    memory, state = begin(decoder)
    logits, _, after = decoder.step(tf.fill([BATCH], BEGIN), state, memory)
    assert logits.shape == (BATCH, VOCABULARY)
    assert [one.shape for one in after.cell] == [one.shape for one in state.cell] == [(BATCH, UNITS)] * len(state.cell)
    assert len(after.cell) == {"lstm": 2, "gru": 1}[cell]
    said = np.where(np.arange(VOCABULARY) == END, -np.inf, logits).argmax(1)
    found = limited(decoder, max_length=TARGET, row_lengths=LENGTHS)
    np.testing.assert_array_equal(found.lengths, LENGTHS)
    np.testing.assert_array_equal(found.tokens[:, 0], np.where(LENGTHS > 0, said, 0))
    assert found.tokens.dtype == tf.int32
    assert float(found.scores[4]) == 0


@pytest.mark.parametrize("limit", ["none", "a number", "a tensor"])
def test_no_more_steps_than_are_asked_for(decoder, limit):
    """One graph for any number of rows; a tensor sets a limit for each row."""
    longest = 1 if limit == "a number" else TARGET

    @tf.function(input_signature=SIGNATURE, autograph=False)
    def decode(values, summary, lengths):
        memory, state = decoder.begin(values, None, summary)
        rows = tf.minimum(lengths, tf.constant(1)) if limit == "a tensor" else lengths
        return greedy(
            decoder.step, state, memory, begin=BEGIN, end=END, never=(END,), max_length=longest, row_lengths=rows
        )

    found, whole = decode(VALUES, SUMMARY, LENGTHS), limited(decoder, max_length=TARGET)
    expected = LENGTHS if limit == "none" else np.minimum(LENGTHS, 1)
    np.testing.assert_array_equal(found.lengths, expected)
    assert found.tokens.shape == (BATCH, longest)
    for row, length in enumerate(expected):
        np.testing.assert_array_equal(found.tokens[row, :length], whole.tokens[row, :length])


@pytest.mark.parametrize("said", ["mask", "lengths", "nothing"])
def test_targets_of_their_own_lengths(decoder, said):
    """Training on a batch of padded targets must equal training on each row alone without padding."""
    lengths = np.full(BATCH, TARGET) if said == "nothing" else LENGTHS
    weights = {
        "mask": np.arange(TARGET) < LENGTHS[:, None],
        "lengths": tf.sequence_mask(LENGTHS, TARGET, tf.float32),
        "nothing": None,
    }[said]
    targets = TOKENS[:, ::-1].copy()
    logits, _ = decoder(tf.constant(TOKENS), tf.constant(VALUES), summary=tf.constant(SUMMARY))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
    found, expected = loss(targets, logits, weights), []
    for row, length in enumerate(lengths):
        own = slice(row, row + 1)
        if length:
            given = tf.constant(TOKENS[own, :length]), tf.constant(VALUES[own])
            table = tf.nn.log_softmax(decoder(*given, summary=tf.constant(SUMMARY[own]))[0]).numpy()[0]
            expected.extend(-table[np.arange(length), targets[row, :length]])
    np.testing.assert_allclose(found, np.mean(expected), rtol=1e-5)


def test_over_time_it_is_keras_own_layer(decoder):
    """With all positions masked, the decoder is Keras's LSTM over embedded symbols, followed by a dense layer."""
    logits, _ = decoder(
        tf.constant(TOKENS), tf.constant(VALUES), summary=tf.constant(SUMMARY), mask=tf.zeros([BATCH, SOURCE], tf.bool)
    )
    peer = keras.layers.LSTM(UNITS, return_sequences=True)
    embedded = decoder.embedding(tf.constant(TOKENS))
    peer.build(embedded.shape)
    peer.set_weights(decoder.cell.get_weights())
    firsts = zip(decoder.first_kernels, decoder.first_biases, strict=True)
    first = [tf.tanh(SUMMARY @ kernel.numpy() + bias.numpy()) for kernel, bias in firsts]
    kernel = decoder.readout_kernel.numpy()
    head = np.concatenate([kernel[:UNITS], kernel[UNITS + WIDTH :]])  # without the rows for the context
    for mask in (None, tf.sequence_mask(LENGTHS, TARGET)):
        hidden = peer(embedded, initial_state=first, mask=mask)
        read = np.tanh(np.concatenate([hidden, embedded], -1) @ head + decoder.readout_bias.numpy())
        expected = read @ decoder.output_kernel.numpy() + decoder.output_bias.numpy()
        kept = np.ones([BATCH, TARGET], bool) if mask is None else mask.numpy()
        np.testing.assert_allclose(logits.numpy()[kept], expected[kept], atol=1e-4)


@pytest.fixture(scope="module")
def sampling():
    return decoder_of(scheduled_sampling=0.5)


def test_every_row_sees_the_given_symbol_or_the_said_one(sampling):
    """The first step is the same; in the second step, each row gets either the given or the predicted symbol."""
    given = tf.constant(np.stack([TOKENS[:, 0], np.zeros(BATCH, "int32")], 1)), tf.constant(VALUES)
    forced = sampling(*given, summary=tf.constant(SUMMARY), training=False)[0].numpy()
    memory, state = begin(sampling)
    logits, _, state = sampling.step(tf.constant(TOKENS[:, 0]), state, memory)
    said = tf.argmax(logits, -1, output_type=tf.int32)
    free = sampling.step(said, state, memory)[0].numpy()
    assert (said.numpy() != 0).all()
    ways = []
    for _ in range(8):
        found = sampling(*given, summary=tf.constant(SUMMARY), training=True)[0].numpy()
        np.testing.assert_allclose(found[:, 0], forced[:, 0], atol=1e-5)
        as_given = np.isclose(found[:, 1], forced[:, 1], atol=1e-5).all(1)
        as_said = np.isclose(found[:, 1], free, atol=1e-5).all(1)
        assert (as_given != as_said).all()
        ways.append(as_said)
    assert 0 < np.sum(ways) < np.size(ways)
    assert any(0 < one.sum() < BATCH for one in ways)


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
def test_scheduled_sampling_in_its_precision(dtype):
    decoder = decoder_of(dtype=dtype, scheduled_sampling=1.0)
    compute = dtype.removeprefix("mixed_")
    found = decoder(tf.constant(TOKENS), tf.cast(VALUES, compute), summary=tf.cast(SUMMARY, compute), training=True)[0]
    assert found.dtype == compute
    (memory, state), token = begin(decoder, dtype=compute), tf.constant(TOKENS[:, 0])
    for time in range(TARGET):
        logits, _, state = decoder.step(token, state, memory)
        np.testing.assert_allclose(tf.cast(found[:, time], "float32"), tf.cast(logits, "float32"), atol=0.02)
        token = tf.argmax(logits, -1, output_type=tf.int32)


def test_a_step_of_ones_own():
    """A Keras cell with one-hot inputs whose state is the logits: the scores of sampled answers must be correct."""
    cell = keras.layers.LSTMCell(VOCABULARY)
    cell.build((None, VOCABULARY))
    for number, weight in enumerate(cell.trainable_variables):
        weight.assign(2 * random(*weight.shape, seed=number))

    def step(tokens, state, memory):
        logits, state = cell(tf.one_hot(tokens, VOCABULARY), state)
        return 3 * logits, tf.ones([tf.shape(tokens)[0], 1]), state

    memory = Memory(tf.ones([64, 1], tf.bool))
    limits = {"begin": 0, "end": 6, "max_length": 3}
    found = sample(step, [tf.zeros([64, VOCABULARY])] * 2, memory, seed=[0, 1], **limits)
    lengths = found.lengths.numpy()
    assert set(lengths) == {0, 1, 2, 3}
    assert not (found.tokens.numpy() == 6).any()
    shown = np.pad(found.tokens, [(0, 0), (1, 0)])[:, :3]  # the inputs of the steps
    layer = keras.layers.RNN(cell, return_sequences=True)
    table = tf.nn.log_softmax(3 * layer(tf.one_hot(shown, VOCABULARY))).numpy()
    for row, length in enumerate(lengths):
        said = [*found.tokens[row, :length].numpy(), *([6] if length < 3 else [])]
        np.testing.assert_allclose(found.scores[row], table[row, np.arange(len(said)), said].sum(), rtol=1e-4)
