"""Masks go in and out of every layer as in Keras's layers: padding is ignored without further arguments."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import ALL, random
from support.step_by_step import unimproved

from seqattn_tf import (
    CRF,
    Attention,
    AttentionDecoder,
    Bidirectional,
    HierarchicalEncoder,
    LuongDecoder,
    PointerDecoder,
    Recurrent,
    Stack,
    TreeRecurrent,
)
from seqattn_tf.attention import AttentionPooling, MemoryHops
from seqattn_tf.cells import GRUCell

WORDS = np.array([[4, 7, 2, 0, 0], [5, 1, 3, 6, 2], [0, 0, 0, 0, 0]])  # 0 is padding
KEEP = WORDS != 0
STORIES = np.array([[[4, 7], [2, 0]], [[0, 0], [1, 3]], [[0, 0], [0, 0]]])
TOKENS = np.array([[1, 3, 4], [1, 2, 0], [1, 0, 0]])
UNITS = 4
ASKED, SUMMARY = random(3, UNITS, seed=3), random(3, UNITS, seed=4)
CHILDREN = np.array([[[1, 2], [-1, -1], [-1, -1], [-1, -1], [-1, -1]]] * 3)


def masked(mask_zero=True):
    """Return an embedding layer that creates a mask."""
    layer = keras.layers.Embedding(9, UNITS, mask_zero=mask_zero)
    layer.build()
    layer.set_weights([random(9, UNITS)])
    return layer


def decoder(kind, score="dot"):
    size = {} if kind is PointerDecoder else {"vocabulary": 5}
    return lambda: kind(GRUCell(UNITS), Attention(score, units=3), **size)


def alone(layer, x, **mask):
    """Call a layer with the values as its first argument."""
    return layer(x, **mask)


def asked(*before, **more):
    """Return a function that calls a layer with other arguments before the values."""
    return lambda layer, x, **mask: layer(*map(tf.constant, before), x, **more, **mask)


# layer, a function that calls it with values, and its output masks: "in" for the input mask, None for no mask
LAYERS = {
    "Recurrent": (lambda: Recurrent("lstm", units=3), alone, None),
    "Recurrent, sequences": (lambda: Recurrent("lstm", units=3, return_sequences=True), alone, "in"),
    "Recurrent, all": (lambda: Recurrent("lstm", units=3, **ALL), alone, ["in", None, None]),
    "Recurrent, reverse": (lambda: Recurrent("gru", units=3, reverse=True, return_state=True), alone, [None, None]),
    "Bidirectional": (lambda: Bidirectional("lstm", units=3), alone, None),
    "Bidirectional, all": (lambda: Bidirectional("gru", units=3, **ALL), alone, ["in", None, None]),
    "Stack": (lambda: Stack("gru", units=4, depth=2, residual=True), alone, None),
    "Stack, sequences": (lambda: Stack("gru", units=3, depth=2, return_sequences=True), alone, "in"),
    "TreeRecurrent": (lambda: TreeRecurrent("binary", units=3), alone, None),
    "AttentionPooling": (lambda: AttentionPooling(3), alone, [None, None]),
    "CRF": (lambda: CRF(3), alone, ["in", "in", None]),
    "Attention": (lambda: Attention("dot"), asked(ASKED), [None, None]),
    "Attention, several": (lambda: Attention("dot"), asked(random(3, 2, UNITS)), [None, None]),
    "MemoryHops": (lambda: MemoryHops(2), asked(ASKED), [None, None]),
    "AttentionDecoder": (decoder(AttentionDecoder), asked(TOKENS, summary=SUMMARY), [None, None]),
    "LuongDecoder": (decoder(LuongDecoder), asked(TOKENS, summary=SUMMARY), [None, None]),
    "PointerDecoder": (decoder(PointerDecoder), asked(TOKENS - 1, summary=SUMMARY), [None, None]),
}


# tested in a graph like all others
OTHERS = ("Recurrent", "Recurrent, sequences", "Bidirectional", "Stack", "Attention, several", "LuongDecoder")


@pytest.fixture(params=LAYERS, scope="module")
def case(request):
    """A layer with weights, a function that calls it, and its output masks."""
    make, call, out = LAYERS[request.param]
    layer = make()
    call(layer, masked()(WORDS), mask=None)
    for number, weight in enumerate(layer.trainable_variables):
        weight.assign(random(*weight.shape, seed=number + 10))
    return layer, call, out


def numbers(found):
    return [np.asarray(one) for one in tf.nest.flatten(found)]


def same(found, expected):
    for one, other in zip(numbers(found), numbers(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def features(mask_zero=True):
    return masked(mask_zero=mask_zero)(WORDS)


def test_the_mask_that_travels_is_the_mask_that_is_given(case):
    layer, call, _ = case
    expected = call(layer, features(mask_zero=False), mask=tf.constant(KEEP))
    same(call(layer, features()), expected)
    without = call(layer, features(mask_zero=False))
    assert any((one != other).any() for one, other in zip(numbers(without), numbers(expected), strict=True))


def test_a_given_mask_wins(case):
    layer, call, _ = case
    other = tf.constant(np.roll(KEEP, 1, axis=1))
    same(call(layer, features(), mask=other), call(layer, features(mask_zero=False), mask=other))
    integers = call(layer, features(), mask=tf.cast(other, tf.int32))
    same(integers, call(layer, features(), mask=other))


@pytest.mark.parametrize("case", [name for name in LAYERS if name not in OTHERS], indirect=True, scope="module")
def test_in_a_graph(case):
    layer, call, _ = case
    embedding = masked()
    specs = [tf.TensorSpec([3, None], tf.int32)]
    traced = tf.function(lambda words: call(layer, embedding(words)), specs, autograph=False)
    with unimproved():
        found = traced(WORDS)
    for one, other in zip(numbers(found), numbers(call(layer, features())), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def travelling(found):
    return [getattr(one, "_keras_mask", None) for one in tf.nest.flatten(found)]


def test_what_goes_on_and_a_functional_model(case):
    layer, call, out = case
    masks = out if isinstance(out, list) else [out]
    found = call(layer, features())
    words = keras.Input(batch_shape=(3, None), dtype="int32")
    symbolic = call(layer, masked()(words))
    for one, other in zip(numbers(keras.Model(words, symbolic)(WORDS)), numbers(found), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    if isinstance(found, dict):
        found = [found[name] for name in ("tags", "scores", "mask")]
    for mask, expected in zip(travelling(found), masks, strict=True):
        assert (mask is None) == (expected is None)
        assert expected is None or (mask.numpy() == KEEP).all()
    symbolic = [symbolic[name] for name in ("tags", "scores", "mask")] if isinstance(symbolic, dict) else symbolic
    symbolic = keras.tree.flatten(symbolic)
    assert [mask is None for mask in travelling(symbolic)] == [expected is None for expected in masks]


def test_a_mask_given_by_its_place_goes_on_too():
    x, mask = tf.constant(random(3, 5, UNITS)), tf.constant(KEEP)
    found = Recurrent("gru", units=3, return_sequences=True)(x, None, mask)
    assert (found._keras_mask.numpy() == KEEP).all()
    assert (CRF(3)(x, mask)["tags"]._keras_mask.numpy() == KEEP).all()
    with pytest.raises(TypeError):
        CRF(3)(x, mask, mask=mask)
    with pytest.raises(TypeError):
        Recurrent("gru", units=3)(x, None, mask, None, None, x)


def test_lists_are_masks_and_sparse_tensors_are_refused():
    found = Recurrent("gru", units=3, return_sequences=True)(tf.constant(random(3, 5, UNITS)), mask=KEEP.tolist())
    assert (found._keras_mask.numpy() == KEEP).all()
    with pytest.raises(ValueError, match=r"crf.*: expected dense tensors"):
        CRF(3)(tf.sparse.from_dense(random(3, 5, UNITS)))


def test_a_given_mask_of_steps_reaches_the_loss():
    tokens, words = keras.Input((3,), dtype="int32"), keras.Input((5, UNITS))
    kept = keras.Input((3,), dtype="bool")
    layer = AttentionDecoder(GRUCell(UNITS), Attention("dot"), vocabulary=5, mask_zero=True)
    model = keras.Model([tokens, words, kept], layer(tokens, words, tokens_mask=kept)[0])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
    model.compile("sgd", loss, run_eagerly=True)
    keep = np.array([[1, 0, 1], [1, 1, 0], [1, 0, 0]], bool)
    data, said = [TOKENS, random(3, 5, UNITS), keep], np.array([[3, 4, 2], [2, 2, 4], [2, 4, 4]])
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(said, model(data))
    np.testing.assert_allclose(model.evaluate(data, said, verbose=0), each.numpy()[keep].mean(), rtol=1e-5)


def test_beside_given_states():
    """Keras's LSTM loses the mask in this case."""
    first = [tf.constant(random(3, 3, seed=9))] * 2
    layer = Recurrent("lstm", units=3, return_sequences=True)
    found = layer(features(), initial_state=first)
    same(found, layer(features(mask_zero=False), initial_state=first, mask=tf.constant(KEEP)))
    assert (found._keras_mask.numpy() == KEEP).all()


def test_hierarchies():
    pool = AttentionPooling(3)
    for options in ({}, {"pool": pool}):
        parts = Bidirectional("gru", units=2), Recurrent("gru", units=3)
        layer = HierarchicalEncoder(*parts, return_sequences=True, **options)
        keep = STORIES != 0
        expected = layer(masked(mask_zero=False)(STORIES), mask=tf.constant(keep))
        found = layer(masked()(STORIES))
        same(found, expected)
        assert (found._keras_mask.numpy() == keep.any(-1)).all()
        assert (found.numpy()[2] == 0).all()
    inputs = keras.Input((2, 2), dtype="int32")
    sentences = layer(masked()(inputs))
    model = keras.Model(inputs, keras.layers.GlobalAveragePooling1D()(sentences))
    np.testing.assert_allclose(model(STORIES)[1], found[1, 1], atol=1e-6)  # its first sentence is empty


def test_nodes_of_trees():
    layer = TreeRecurrent("binary", units=3, return_sequences=True)
    balanced = layer(features())
    kept = np.abs(balanced.numpy()).sum(-1) > 0
    assert (balanced._keras_mask.numpy() == kept).all()
    assert kept.sum(1).tolist() == [5, 9, 0]
    given = layer(features(), children=tf.constant(CHILDREN))
    assert (given._keras_mask.numpy() == KEEP).all()
    same(given, layer(features(mask_zero=False), mask=tf.constant(KEEP), children=tf.constant(CHILDREN)))
    words, children = keras.Input((None,), dtype="int32"), keras.Input((None, 2), dtype="int32")
    x = masked()(words)
    model = keras.Model([words, children], keras.layers.GlobalAveragePooling1D()(layer(x, children=children)))
    expected = given.numpy()[:2].sum(1) / KEEP[:2].sum(1, keepdims=True)
    np.testing.assert_allclose(model([WORDS, CHILDREN])[:2], expected, atol=1e-6)


@pytest.mark.parametrize("score", ["dot", "coverage"])
def test_masks_of_queries(score):
    """A masked query has zero outputs and does not change the state, and its mask is propagated."""
    layer = Attention(score, units=3)
    values, queries = tf.constant(random(3, 4, UNITS)), features()
    context, weights = layer(queries, values)
    assert (context.numpy()[~KEEP] == 0).all()
    assert (weights.numpy()[~KEEP] == 0).all()
    np.testing.assert_allclose(weights.numpy()[KEEP].sum(-1), 1, atol=1e-6)
    assert all((mask.numpy() == KEEP).all() for mask in travelling([context, weights]))
    holes = np.array([[1, 0, 1, 0, 1]] * 3, bool)
    context, weights = layer(features(), values, query_mask=tf.constant(holes))
    assert all((mask.numpy() == holes).all() for mask in travelling([context, weights]))
    alone, _ = layer(tf.gather(features(mask_zero=False), [0, 2, 4], axis=1), values)
    np.testing.assert_allclose(context.numpy()[:, [0, 2, 4]], alone, atol=1e-6)


@pytest.mark.parametrize("kind", [AttentionDecoder, LuongDecoder, PointerDecoder])
@pytest.mark.parametrize("score", ["dot", "coverage"])
def test_masks_of_steps(kind, score):
    """As in a recurrent layer, a masked step does not change the state; its outputs and weights are zero."""
    layer = decoder(kind, score)()
    values = tf.constant(random(3, 4, UNITS))
    holes = np.array([[1, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]], bool)
    tokens = np.array([[1, 4, 3, 2], [1, 2, 4, 4], [3, 3, 3, 3]]) - (1 if isinstance(layer, PointerDecoder) else 0)
    name = "positions_mask" if isinstance(layer, PointerDecoder) else "tokens_mask"
    logits, weights = layer(tf.constant(tokens), values, tf.constant(SUMMARY), **{name: tf.constant(holes)})
    assert (logits.numpy()[~holes] == 0).all()
    assert (weights.numpy()[~holes] == 0).all()
    assert all((mask.numpy() == holes).all() for mask in travelling([logits, weights]))
    for row, kept in enumerate([[0, 2, 3], [0, 1]]):
        alone, looks = layer(tf.constant(tokens[row : row + 1, kept]), values[row : row + 1], SUMMARY[row : row + 1])
        np.testing.assert_allclose(logits.numpy()[row, kept], alone[0], atol=1e-5)
        np.testing.assert_allclose(weights.numpy()[row, kept], looks[0], atol=1e-5)


def test_masks_of_steps_without_input_feeding_and_in_scheduled_sampling():
    values, holes = tf.constant(random(1, 4, UNITS)), tf.constant([[True, False, True, True]])
    tokens = tf.constant([[1, 4, 3, 2]])
    for options in ({"input_feeding": False}, {"scheduled_sampling": 1.0}):
        layer = LuongDecoder(GRUCell(UNITS), Attention("coverage", units=3), vocabulary=5, **options)
        training = "scheduled_sampling" in options
        logits, _ = layer(tokens, values, SUMMARY[:1], tokens_mask=holes, training=training)
        alone, _ = layer(tf.gather(tokens, [0, 2, 3], axis=1), values, SUMMARY[:1], training=training)
        np.testing.assert_allclose(tf.gather(logits, [0, 2, 3], axis=1), alone, atol=1e-5)


def test_zero_is_padding_of_a_decoder_that_says_so():
    """Keras's loss ignores masked positions."""
    layer = AttentionDecoder(GRUCell(UNITS), Attention("dot"), vocabulary=5, mask_zero=True)
    logits, weights = layer(tf.constant(TOKENS), features(), SUMMARY)
    assert all((mask.numpy() == (TOKENS != 0)).all() for mask in travelling([logits, weights]))
    tokens, words, summary = keras.Input((3,), dtype="int32"), keras.Input((5,), dtype="int32"), keras.Input((UNITS,))
    model = keras.Model([tokens, words, summary], layer(tokens, masked()(words), summary)[0])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
    model.compile("sgd", loss, run_eagerly=True)
    said = np.array([[3, 4, 2], [2, 2, 4], [2, 4, 4]])  # any symbols at the end
    found = model.evaluate([TOKENS, WORDS, SUMMARY], said, verbose=0)
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(said, model([TOKENS, WORDS, SUMMARY]))
    np.testing.assert_allclose(found, each.numpy()[TOKENS != 0].mean(), rtol=1e-5)


def test_the_reproductions():
    """Cases in which masks could be lost silently, compared with Keras's layers in the same model."""
    padded = np.concatenate([WORDS[:2], np.zeros([2, 20], int)], axis=1)
    keras.utils.set_random_seed(1)
    words = keras.Input((None,), dtype="int32")
    x = masked()(words)
    encoded = Bidirectional("lstm", units=3, return_sequences=True)(x)
    _, weights = AttentionPooling(3)(encoded)
    ours = keras.layers.GlobalAveragePooling1D()(Recurrent("gru", units=3, return_sequences=True)(x))
    model = keras.Model(words, [weights, ours, CRF(3)(encoded)["scores"]])
    few, many = model(WORDS[:2]), model(padded)
    assert (many[0].numpy()[:, 5:] == 0).all()
    np.testing.assert_allclose(many[0].numpy()[:, :5], few[0], atol=1e-6)
    np.testing.assert_allclose(many[1], few[1], atol=1e-6)
    assert (many[2].numpy()[:, 5:] == 0).all()


def test_in_sequential_and_subclassed_models():
    sequential = keras.Sequential(
        [
            keras.layers.Embedding(9, UNITS, mask_zero=True),
            Bidirectional("gru", units=3, return_sequences=True),
            keras.layers.Dropout(0.5),
            Stack("lstm", units=3, depth=2, return_sequences=True),
            Recurrent("gru", units=3),
            keras.layers.Dense(2),
        ]
    )

    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__()
            self.parts = sequential.layers

        def call(self, x):
            for part in self.parts:
                x = part(x)
            return x

    expected = sequential(WORDS)
    longer = np.concatenate([WORDS, np.zeros([3, 7], int)], axis=1)
    for model in (sequential, Subclassed()):
        np.testing.assert_allclose(model(longer), expected, atol=1e-6)
    np.testing.assert_allclose(model.predict(longer, verbose=0), expected, atol=1e-6)


def test_masks_travel_to_functions_too():
    """This includes `prepare` and `begin` when they are called in a custom model."""
    attention = Attention("dot")
    attention(tf.constant(ASKED), features())
    assert (attention.prepare(features()).mask.numpy() == KEEP).all()
    layer = decoder(AttentionDecoder)()
    layer(tf.constant(TOKENS), features(), SUMMARY)
    assert (layer.begin(features(), summary=tf.constant(SUMMARY))[0].mask.numpy() == KEEP).all()


def test_half_precision_keeps_the_mask():
    layer = Recurrent("gru", units=3, return_sequences=True, dtype="mixed_bfloat16")
    found = layer(features())
    assert (found.numpy()[~KEEP] == 0).all()
    assert (found._keras_mask.numpy() == KEEP).all()
