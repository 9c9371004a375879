import keras
import numpy as np
import pytest
import tensorflow as tf
from support.attention import softmax
from support.gradients import assert_slopes
from support.layers import random, roundtrip

from seqattn_tf.attention import MemoryChain, MemoryHops, SigmoidAlignment

HOPS, UNITS, FEATURES, FACTS = 2, 3, 4, 5
MASK = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 1, 0], [0, 0, 0, 0, 0]], bool)
QUERY, STORY = random(3, UNITS, dtype="float64"), random(3, FACTS, FEATURES, seed=1, dtype="float64")
DIRTY = np.where(MASK[..., None], STORY, np.nan)


def build(tying, temporal, **options):
    layer = MemoryHops(HOPS, tying, temporal=temporal, **options)
    layer.build((None, UNITS), (None, None, FEATURES))
    for number, weight in enumerate(layer.trainable_variables):
        weight.assign(random(*weight.shape, seed=number, dtype="float64"))
    return layer


def by_hand(layer, query, facts):
    """Compute one row without gaps, hop by hop."""
    u, looks, ages = query, [], np.arange(len(facts))[::-1]

    def embedded(which):
        found = facts @ layer.kernels[which].numpy()
        table = layer.ages[which].numpy() if layer.temporal else np.zeros([1, UNITS])
        return found + table[np.minimum(ages, len(table) - 1)]

    for hop in range(HOPS):
        which = hop if layer.tying == "adjacent" else 0
        weights = softmax(embedded(which) @ u)
        carried = u if layer.tying == "adjacent" else u @ layer.query_kernel.numpy()
        u = carried + weights @ embedded(which + 1)
        looks.append(weights)
    return u, np.array(looks)


@pytest.mark.parametrize(("tying", "temporal"), [("adjacent", 0), ("adjacent", 3), ("layerwise", 3)])
def test_numbers_of_the_formula_and_gradient(tying, temporal):
    layer = build(tying, temporal, dtype="float64")
    unknown = [tf.TensorSpec([None, UNITS], tf.float64), tf.TensorSpec([None, None, FEATURES], tf.float64)]
    unknown.append(tf.TensorSpec([None, None], tf.bool))
    run = tf.function(lambda q, f, m: layer(q, f, mask=m), unknown, autograph=False)
    answers, weights = run(QUERY, DIRTY, MASK)
    for row, mask in enumerate(MASK):
        answer, looks = by_hand(layer, QUERY[row], STORY[row][mask])
        np.testing.assert_allclose(answers[row], answer, atol=1e-12)
        np.testing.assert_allclose(weights[row].numpy()[:, mask], looks, atol=1e-12)
        assert (weights[row].numpy()[:, ~mask] == 0).all()
    answers, weights = run(QUERY, DIRTY[:, :0], MASK[:, :0])
    assert (answers.shape, weights.shape) == ((3, UNITS), (3, HOPS, 0))

    def loss(query, facts, *weights):
        (answer, looks), _ = layer.stateless_call(list(weights), [], query, facts, mask=tf.constant(MASK))
        return tf.reduce_sum(tf.sin(answer)) + tf.reduce_sum(looks**2)

    arrays = [w.numpy() for w in layer.trainable_variables]
    with tf.GradientTape() as tape:
        dirty = tf.constant(DIRTY)
        tape.watch(dirty)
        value = loss(tf.constant(QUERY), dirty, *map(tf.constant, arrays))
    gradient = tape.gradient(value, dirty).numpy()
    assert (gradient[~MASK] == 0).all()
    assert np.isfinite(gradient).all()
    assert_slopes(loss, [QUERY, STORY, *arrays], directions=2)


def test_what_is_remembered_goes_from_hop_to_hop():
    """In the next hop, a monotonic reader continues from its last position."""
    layer = MemoryHops(2, align="monotonic")
    _, weights = layer(tf.zeros([1, UNITS]), tf.zeros([1, FACTS, FEATURES]))
    ahead = tf.cumsum(weights, axis=2).numpy()
    assert (ahead[:, 1] < ahead[:, 0]).all()


def test_saving_arguments_and_errors(tmp_path):
    again = roundtrip(MemoryHops(5, "layerwise", SigmoidAlignment(bias=-2.0), temporal=4, noise=0.1))
    assert (again.hops, again.tying, again.align.bias, again.temporal, again.noise) == (5, "layerwise", -2.0, 4, 0.1)
    with pytest.raises(ValueError, match=r"hops: expected a positive integer\. Received: 0"):
        MemoryHops(0)
    with pytest.raises(ValueError, match=r"tying: expected one of .*Received: 'loose'"):
        MemoryHops(tying="loose")
    with pytest.raises(ValueError, match=r"temporal: expected a number of facts, 0 or more\. Received: -1"):
        MemoryHops(temporal=-1)
    with pytest.raises(ValueError, match=r"query, facts: expected .*Received shapes: \(2, 3\), \(2, 4\)"):
        build("adjacent", 0)(tf.zeros([2, 3]), tf.zeros([2, 4]))
    query, facts = keras.Input((UNITS,)), keras.Input((None, FEATURES))
    answer, weights = MemoryHops(2, "layerwise", "sigmoid", temporal=3)(query, facts)
    model = keras.Model([query, facts], [keras.layers.Dense(1)(answer), weights])
    model.compile("adam", ["mse", None], run_eagerly=True)
    data = [QUERY.astype("float32"), STORY.astype("float32")]
    model.fit(data, data[0][:, :1], verbose=0)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(again(data)[0], model(data)[0], atol=1e-6)


def test_half_precision_and_compiled():
    whole, half = build("adjacent", 3), build("adjacent", 3, dtype="mixed_bfloat16")
    arguments = tf.constant(QUERY, tf.float32), tf.constant(STORY, tf.float32)
    expected = whole(*arguments, mask=tf.constant(MASK))
    found = half(*arguments, mask=tf.constant(MASK))
    assert found[0].dtype == tf.bfloat16
    np.testing.assert_allclose(tf.cast(found[1], tf.float32), expected[1], atol=0.1)
    compiled = tf.function(lambda q, f: whole(q, f, mask=tf.constant(MASK)), jit_compile=True)(*arguments)
    np.testing.assert_allclose(compiled[0], expected[0], atol=1e-5)


@pytest.mark.parametrize("kind", [MemoryHops, MemoryChain])
def test_noise_makes_facts_older_in_training_alone(kind):
    keras.utils.set_random_seed(5)
    layer = kind(1, temporal=20, noise=0.25)
    layer.build((None, 20), (None, None, 2))
    for table in layer.ages:
        table.assign(np.eye(20))
    facts, mask = tf.zeros([4000, 6, 2]), tf.constant([[True] * 4 + [False, True]] * 4000)
    query = tf.zeros([4000, 20])

    def ages(training):
        return tf.argmax(layer.mapped(query, facts, mask, training)[0][0], axis=2).numpy()[:, [0, 1, 2, 3, 5]]

    assert (ages(training=False) == [4, 3, 2, 1, 0]).all()
    extra = ages(training=True) - [4, 3, 2, 1, 0]
    # Adding to the age of a fact also adds to the age of all facts before it.
    assert (np.diff(extra, axis=1) <= 0).all()
    np.testing.assert_allclose(extra.mean(axis=0), 0.25 * np.arange(5, 0, -1), atol=0.06)
    assert layer(query, facts, mask, training=True)[1].shape == (4000, 1, 6)
    with pytest.raises(ValueError, match=r"noise: expected a fraction in \[0, 1\)\. Received: 1"):
        kind(1, noise=1)


@pytest.mark.parametrize("pairs", [False, True])
def test_a_chain_gives_masked_facts_nothing_whatever_the_others_score(pairs):
    """Scores below -10 000 must not be mistaken for masked facts."""
    layer = MemoryChain(HOPS, pairs=pairs)
    layer.build((None, UNITS), (None, None, UNITS))
    for kernel in layer.kernels:
        kernel.assign(-np.eye(UNITS))
    query, facts = tf.fill([3, UNITS], 200.0), tf.fill([3, FACTS, UNITS], 200.0)  # each has the score -120 000
    with tf.GradientTape() as tape:
        tape.watch(facts)
        answer, weights = layer(query, facts, mask=MASK)
        loss = tf.reduce_sum(answer)
    gradients = tape.gradient(loss, [facts, *(kernel.value for kernel in layer.kernels)])
    assert all(np.isfinite(gradient).all() for gradient in gradients)  # including the row without facts
    np.testing.assert_allclose(tf.reduce_sum(weights, 2), [[1, 1], [1, 1], [0, 0]], atol=1e-6)
    assert (weights.numpy()[~np.broadcast_to(MASK[:, None], weights.shape)] == 0).all()
    assert MASK[1][layer.argmax(query, facts, mask=MASK)[1].numpy()].all()
