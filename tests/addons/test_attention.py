"""The cases of TensorFlow Addons' `seq2seq/tests/attention_wrapper_test.py`, compared with loops over the steps."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import random

from seqattn_tf import Attention, LuongDecoder
from seqattn_tf.attention import AdditiveScore, MonotonicAlignment
from seqattn_tf.cells import GRUCell, LSTMCell

BATCH, SOURCE, WIDTH, UNITS, TARGET, VOCABULARY, READOUT = 4, 5, 6, 3, 4, 7, 8
LENGTHS = [5, 3, 1, 2]
MASK = np.arange(SOURCE) < np.array(LENGTHS)[:, None]
QUERY, VALUES, SUMMARY = random(BATCH, UNITS), random(BATCH, SOURCE, WIDTH, seed=1), random(BATCH, WIDTH, seed=2)
TOKENS = np.random.default_rng(3).integers(0, VOCABULARY, [BATCH, TARGET]).astype("int32")
SCALE = 0.7
MECHANISMS = ["luong", "luong monotonic", "bahdanau", "bahdanau monotonic"]
NORMALIZED = ["bahdanau normalized", "bahdanau monotonic normalized"]


def attention_of(name, **options):
    score = AdditiveScore(5, normalize=True, **options) if "normalized" in name else "general"
    score = "additive" if name in ("bahdanau", "bahdanau monotonic") else score
    align = MonotonicAlignment(bias=0.0, noise=0.0, **options) if "monotonic" in name else "softmax"
    return Attention(score, align, units=5, **options)


def randomize(layer):
    for number, weight in enumerate(layer.trainable_variables):
        weight.assign(random(*weight.shape, seed=10 + number))
    return layer


def mechanism(name):
    layer = attention_of(name)
    layer.build((None, UNITS), (None, None, WIDTH))
    return randomize(layer)


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


def aligned(name, attention, query, values, last):
    """Return the weights of one query of one row without masked values; `last` are the weights of the query before."""
    weights = attention.score.get_weights()
    if name.startswith("bahdanau"):
        of_query, of_values, scale, *more = weights
        gain, bias = more or (np.linalg.norm(scale), 0.0)
        scores = np.tanh(query @ of_query + values @ of_values + bias) @ (gain * scale[:, 0] / np.linalg.norm(scale))
    else:
        scores = (values @ weights[0]) @ query
    if "monotonic" not in name:
        return np.exp(scores) / np.exp(scores).sum()
    stops, passed, found = sigmoid(scores + attention.align.get_weights()[0]), 0.0, []
    for stop, before in zip(stops, last, strict=True):
        found.append(stop * (passed + before))
        passed = (1 - stop) * (passed + before)
    return np.array(found)


@pytest.mark.parametrize("name", MECHANISMS)
def test_weights_by_the_formula(name):
    """For arbitrary previous weights, and for masked and unmasked positions."""
    layer = mechanism(name)
    memory = layer.prepare(tf.constant(VALUES), tf.constant(MASK))
    last = np.random.default_rng(4).uniform(size=[BATCH, SOURCE]).astype("float32") * MASK
    state = layer.initial_state(memory)
    if "monotonic" in name:
        # The first position is selected initially.
        np.testing.assert_array_equal(state.align[0], np.eye(SOURCE)[[0] * BATCH])
        state = state._replace(align=(tf.constant(last),))
    context, weights, after = layer.attend(tf.constant(QUERY), memory, state)
    assert weights.shape == (BATCH, SOURCE)
    for row, length in enumerate(LENGTHS):
        expected = aligned(name, layer, QUERY[row], VALUES[row, :length], last[row, :length])
        np.testing.assert_allclose(weights[row], np.pad(expected, (0, SOURCE - length)), atol=1e-5)
        np.testing.assert_allclose(context[row], expected @ VALUES[row, :length], atol=1e-5)
    if "monotonic" in name:
        np.testing.assert_array_equal(after.align[0], weights)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_twin_by_its_arguments(name):
    layer = mechanism(name)
    config = layer.get_config()
    twin = Attention.from_config(config)
    assert twin.get_config() == config
    assert type(twin.align) is type(layer.align)
    assert twin.score is not layer.score


@pytest.mark.parametrize("name", MECHANISMS)
def test_prepared_once_or_given_at_once(name):
    layer = mechanism(name)
    twin = Attention.from_config(layer.get_config())
    twin.build((None, UNITS), (None, None, WIDTH))
    twin.set_weights(layer.get_weights())
    context, weights = layer(tf.constant(QUERY), tf.constant(VALUES), mask=tf.constant(MASK))
    memory = twin.prepare(tf.constant(VALUES), tf.constant(MASK))
    for _ in range(2):  # attending does not change the memory
        found = twin.attend(tf.constant(QUERY), memory)
        np.testing.assert_allclose(found[0], context, atol=1e-6)
        np.testing.assert_allclose(found[1], weights, atol=1e-6)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_model_made_again_from_its_config(name):
    words, query = keras.Input((SOURCE,), dtype="int32"), keras.Input((UNITS,))
    values = keras.layers.LSTM(WIDTH, return_sequences=True)(keras.layers.Embedding(9, 4)(words))
    looked = attention_of(name)(query, values, mask=keras.ops.not_equal(words, 0))
    model = randomize(keras.Model([words, query], looked))
    again = keras.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    given = [np.where(MASK, 4 + TOKENS[:, [0, 1, 2, 3, 0]] % 5, 0), QUERY]
    (context, weights), expected = again(given), model(given)
    np.testing.assert_allclose(context, expected[0], atol=1e-6)
    np.testing.assert_allclose(weights, expected[1], atol=1e-6)
    assert (weights.numpy()[~MASK] == 0).all()
    assert (weights.numpy()[MASK] > 0).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_another_memory_makes_no_new_weights(name):
    layer = attention_of(name)
    layer(tf.constant(QUERY), tf.constant(VALUES), mask=tf.constant(MASK))
    variables = list(layer.variables)
    for rows, places in ((BATCH, SOURCE), (BATCH - 1, SOURCE), (1, 2)):
        memory = layer.prepare(tf.constant(VALUES[:rows, :places]), tf.constant(MASK[:rows, :places]))
        assert memory.values.shape == (rows, places, WIDTH)
        assert memory.keys.shape == (rows, places, 5 if name.startswith("bahdanau") else UNITS)
        assert layer.attend(tf.constant(QUERY[:rows]), memory)[1].shape == (rows, places)
    assert [id(variable) for variable in layer.variables] == [id(variable) for variable in variables]


def test_no_weight_beyond_the_length():
    lengths = np.arange(1, 5)
    _, weights = Attention("general")(tf.ones([4, 3]), tf.ones([4, 4, 6]), mask=tf.sequence_mask(lengths, 4))
    np.testing.assert_allclose(weights, np.tri(4) / lengths[:, None], rtol=1e-6)


class BaseAttention(keras.Model):
    """A model that prepares its memory twice in every call."""

    def __init__(self, name):
        super().__init__()
        self.embedding, self.attention = keras.layers.Embedding(9, WIDTH), attention_of(name)

    def build(self, words_shape, query_shape):
        self.embedding.build(words_shape)
        self.attention.build(query_shape, (*words_shape, WIDTH))

    def call(self, words, query):
        values, mask = self.embedding(words), tf.not_equal(words, 0)
        self.attention.prepare(values[:, ::-1], mask)
        return self.attention.attend(query, self.attention.prepare(values, mask))[1]


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_batch_has_its_own_memory(name):
    """Train on two batches, then predict a third one: the weights must belong to the current inputs."""
    keras.utils.set_random_seed(0)
    model = BaseAttention(name)
    words = np.where(MASK, 1 + np.arange(BATCH * SOURCE).reshape(BATCH, SOURCE) % 8, 0)
    model.build(words.shape, QUERY.shape)
    optimizer = keras.optimizers.SGD(0.5)

    @tf.function(autograph=False)
    def train(words, query):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(words, query) - 1.0) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    optimizer.build(model.trainable_variables)
    for own in (slice(0, 2), slice(2, 4)):
        assert np.isfinite(train(tf.constant(words[own]), tf.constant(QUERY[own])))
    found = model(tf.constant(words[:3]), tf.constant(QUERY[:3])).numpy()
    embeddings = model.embedding.get_weights()[0]
    for row, length in enumerate(LENGTHS[:3]):
        last = np.eye(length)[0]
        expected = aligned(name, model.attention, QUERY[row], embeddings[words[row, :length]], last)
        np.testing.assert_allclose(found[row], np.pad(expected, (0, SOURCE - length)), atol=1e-5)


def decoder_of(name, cell=LSTMCell, readout=READOUT, dtype="float32"):
    attention = attention_of(name, dtype=dtype)
    decoder = LuongDecoder(cell(UNITS, dtype=dtype), attention, VOCABULARY, embedding=2, readout=readout, dtype=dtype)
    decoder.build((None, None), (None, None, WIDTH), (None, WIDTH))
    return randomize(decoder)


def run(decoder, dtype="float32"):
    values, summary = tf.cast(VALUES, dtype), tf.cast(SUMMARY, dtype)
    return decoder(tf.constant(TOKENS), values, summary=summary, mask=tf.constant(MASK))


def weight(variable):
    return variable.numpy().astype("float64")


def plain_loop(name, decoder, row, states=None):
    """Return the logits and weights of one row, step by step, with input feeding."""
    values = VALUES[row, : LENGTHS[row]]
    if states is None:
        firsts = zip(decoder.first_kernels, decoder.first_biases, strict=True)
        states = [np.tanh(SUMMARY[row] @ weight(kernel) + weight(bias)) for kernel, bias in firsts]
    (h, c), fed, last = states, np.zeros(decoder.readout), np.eye(len(values))[0]
    logits, looks = [], []
    for token in TOKENS[row]:
        kernel = np.concatenate([weight(decoder.cell.kernel), weight(decoder.feed_kernel)])
        inputs = np.concatenate([weight(decoder.embedding.embeddings)[token], fed])
        drives = inputs @ kernel + h @ weight(decoder.cell.recurrent_kernel) + weight(decoder.cell.bias)
        i, f, g, o = np.split(drives, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        last = aligned(name, decoder.attention, h, values, last)
        kernel = np.concatenate([weight(decoder.state_kernel), weight(decoder.context_kernel)])
        fed = np.tanh(np.concatenate([h, last @ values]) @ kernel + weight(decoder.readout_bias))
        logits.append(fed @ weight(decoder.output_kernel) + weight(decoder.output_bias))
        looks.append(np.pad(last, (0, SOURCE - len(values))))
    return np.array(logits), np.array(looks)


def assert_plain(name, decoder, logits, weights, states=None, atol=1e-4):
    for row in range(BATCH):
        expected = plain_loop(name, decoder, row, states and [state[row] for state in states])
        np.testing.assert_allclose(tf.cast(logits[row], tf.float32), expected[0], atol=10 * atol)
        np.testing.assert_allclose(tf.cast(weights[row], tf.float32), expected[1], atol=atol)


@pytest.mark.parametrize("name", MECHANISMS + NORMALIZED)
def test_over_time_by_a_plain_loop(name):
    decoder = decoder_of(name)
    assert_plain(name, decoder, *run(decoder))


@pytest.mark.parametrize("name", ["luong", "bahdanau"])
def test_in_mixed_precision(name):
    decoder = decoder_of(name, dtype="mixed_float16")
    logits, weights = run(decoder, "float16")
    assert logits.dtype == weights.dtype == tf.float16
    assert_plain(name, decoder, logits, weights, atol=0.02)


@pytest.mark.parametrize("name", ["luong", "luong monotonic"])
def test_a_learned_scale_is_part_of_the_kernel(name):
    """`scale=True` in TensorFlow Addons multiplies the score by a trained scalar."""
    decoder = decoder_of(name)
    [kernel] = decoder.attention.score.get_weights()
    decoder.attention.score.set_weights([SCALE * kernel])
    logits, weights = run(decoder)
    query = tf.constant(QUERY)
    scaled = decoder.attention.logits(query, decoder.attention.prepare(tf.constant(VALUES)))
    np.testing.assert_allclose(scaled, SCALE * np.einsum("bsw,wu,bu->bs", VALUES, kernel, QUERY), atol=1e-5)
    assert_plain(name, decoder, logits, weights)


@pytest.mark.parametrize("name", ["luong", "bahdanau normalized"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_precision_that_is_asked_for(name, dtype):
    decoder = decoder_of(name, dtype=dtype)
    logits, weights = run(decoder, dtype)
    assert logits.dtype == weights.dtype == dtype
    assert_plain(name, decoder, logits, weights, atol=1e-4 if dtype == "float32" else 1e-7)


@pytest.mark.parametrize("readout", [2 * UNITS, 1])
def test_an_attentional_vector_of_any_width(readout):
    decoder = decoder_of("luong", readout=readout)
    memory, state = decoder.begin(tf.constant(VALUES), tf.constant(MASK), tf.constant(SUMMARY))
    np.testing.assert_array_equal(state.fed[0], np.zeros([BATCH, readout]))
    logits, _, after = decoder.step(tf.constant(TOKENS[:, 0]), state, memory)
    assert after.fed[0].shape == (BATCH, readout)
    said = after.fed[0].numpy() @ decoder.output_kernel.numpy() + decoder.output_bias.numpy()
    np.testing.assert_allclose(logits, said, atol=1e-5)
    assert_plain("luong", decoder, *run(decoder))


def test_from_a_state_of_ones_own():
    """Replace the state of the cell with `_replace`, then continue step by step."""
    decoder = decoder_of("bahdanau")
    memory, state = decoder.begin(tf.constant(VALUES), tf.constant(MASK), tf.constant(SUMMARY))
    own = [random(BATCH, UNITS, seed=20), random(BATCH, UNITS, seed=21)]
    state = state._replace(cell=[tf.constant(one) for one in own])
    found = []
    for time in range(TARGET):
        logits, weights, state = decoder.step(tf.constant(TOKENS[:, time]), state, memory)
        found.append((logits, weights))
    logits, weights = (tf.stack(one, 1) for one in zip(*found, strict=True))
    assert_plain("bahdanau", decoder, logits, weights, states=own)


def test_sizes_known_only_when_it_runs():
    decoder = decoder_of("luong")
    specs = [
        tf.TensorSpec([None, None], tf.int32),
        tf.TensorSpec([None, None, WIDTH]),
        tf.TensorSpec([None, WIDTH]),
        tf.TensorSpec([None], tf.int32),
    ]

    @tf.function(input_signature=specs, autograph=False)
    def over_time(tokens, values, summary, lengths):
        mask = tf.sequence_mask(lengths, tf.shape(values)[1])
        return decoder(tokens, values, summary=summary, mask=mask)

    logits, weights = over_time(TOKENS, VALUES, SUMMARY, LENGTHS)
    assert_plain("luong", decoder, logits, weights)
    fewer = over_time(TOKENS[1:3, :2], VALUES[1:3, :3], SUMMARY[1:3], LENGTHS[1:3])
    np.testing.assert_allclose(fewer[0], logits[1:3, :2], atol=1e-5)
    np.testing.assert_allclose(fewer[1], weights[1:3, :2, :3], atol=1e-5)


@pytest.mark.parametrize("cell", [GRUCell, LSTMCell])
def test_a_step_leaves_the_state_as_it_is_made(cell):
    decoder = decoder_of("luong monotonic", cell)
    memory, state = decoder.begin(tf.constant(VALUES), tf.constant(MASK), tf.constant(SUMMARY))
    _, _, after = decoder.step(tf.constant(TOKENS[:, 0]), state, memory)
    tf.nest.assert_same_structure(state, after)
    assert len(state.cell) == len(decoder.cell.state_size)
    for one, other in zip(tf.nest.flatten(state), tf.nest.flatten(after), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert (one.numpy() != other.numpy()).any()


def test_a_decoder_holds_no_memory():
    """A decoder that is built before any memory takes a new memory in every call."""
    decoder = decoder_of("luong")
    first = run(decoder)
    other = decoder(tf.constant(TOKENS[:1]), tf.constant(VALUES[1:2, :2]), summary=tf.constant(SUMMARY[:1]))
    assert other[1].shape == (1, TARGET, 2)
    assert np.abs(other[0][0] - first[0][0]).max() > 0.01
    np.testing.assert_array_equal(run(decoder)[0], first[0])
    with pytest.raises(TypeError):
        decoder.begin()
