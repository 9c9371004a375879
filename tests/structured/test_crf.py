"""The CRF layer compared with every sequence of tags."""

import inspect
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_slopes
from support.layers import random, roundtrip
from support.structures import Row

from seqattn_tf.structured import CRF
from seqattn_tf.structured.tags import allowed_transitions

NAMES = ["O", "B-X", "I-X"]
TAGS, TIMES, FEATURES = 3, 4, 5
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0]], bool)
BATCH = len(MASK)
INPUTS = random(BATCH, TIMES, FEATURES)
ANY = np.random.default_rng(3).integers(0, TAGS, (BATCH, TIMES))


def built(*arguments, features=FEATURES, **keywords):
    """Return a layer whose random weights, transitions and boundary scores all have an influence."""
    layer = CRF(*arguments, **keywords)
    layer.build((None, None, features))
    layer.set_weights([1.5 * random(*w.shape, seed=i) for i, w in enumerate(layer.get_weights())])
    return layer


def by_hand(layer, scores, kept):
    """Return the distribution of one row by enumeration, with structures and parts at the unmasked positions."""
    places = np.flatnonzero(kept)
    allowed = [np.ones_like(a) for a in allowed_transitions(NAMES, "BIO")]
    if layer.scheme:
        allowed = allowed_transitions(NAMES, layer.scheme)
    ends = [layer.start.numpy(), layer.end.numpy()] if layer.boundaries else np.zeros((2, TAGS))
    potentials = [scores, *(np.where(a, w, -np.inf) for a, w in zip(allowed, (layer.transitions, *ends), strict=True))]
    structures, parts = [], []
    for tags in itertools.product(range(TAGS), repeat=len(places)):
        row, nodes, edges = np.zeros(len(kept), int), np.zeros((len(kept), TAGS)), np.zeros((TAGS, TAGS))
        row[places] = tags
        nodes[places, list(tags)] = 1
        for pair in itertools.pairwise(tags):
            edges[pair] += 1
        bounds = np.zeros((2, TAGS))
        if tags:
            bounds[0, tags[0]] = bounds[1, tags[-1]] = 1
        structures.append([row])
        parts.append([nodes, edges, *bounds])
    return Row(structures, parts, potentials)


@pytest.mark.parametrize("scheme", [None, "BIO"])
@pytest.mark.parametrize("boundaries", [True, False])
def test_equals_enumeration_at_any_mask(boundaries, scheme):
    layer = built(NAMES, scheme, boundaries)
    found = layer(INPUTS, mask=MASK)
    scores, mask = found["scores"], found["mask"]
    assert found["tags"].dtype == tf.int32
    np.testing.assert_array_equal(mask, MASK)
    *_, kernel, bias = layer.get_weights()
    np.testing.assert_allclose(scores, np.where(MASK[..., None], INPUTS @ kernel + bias, 0), atol=1e-5)
    marginals, best = layer.marginals(scores, mask).numpy(), layer.top_k(scores, 3, mask)
    log_partition = layer.distribution(scores, mask).log_partition
    anything = layer.log_likelihood(scores, ANY, mask).numpy()
    top = layer.log_likelihood(scores, found["tags"], mask).numpy()
    for b in range(BATCH):
        row = by_hand(layer, scores[b].numpy(), MASK[b])
        order = np.argsort(-row.scores)[:3]
        np.testing.assert_allclose(log_partition[b], row.log_partition, atol=1e-5)
        np.testing.assert_allclose(marginals[b], row.marginals(0), atol=1e-5)
        np.testing.assert_array_equal(found["tags"][b], row.structures[order[0]][0])
        np.testing.assert_allclose(top[b], np.log(row.probabilities.max()), atol=1e-5)
        label = row.find([np.where(MASK[b], ANY[b], 0)])
        np.testing.assert_allclose(anything[b], row.scores[label] - row.log_partition, atol=1e-5)
        for rank, number in enumerate(order):
            np.testing.assert_allclose(best.scores[b, rank], row.scores[number], atol=1e-5)
            if np.isfinite(row.scores[number]):
                np.testing.assert_array_equal(best.structures[b, rank], row.structures[number][0])


def test_without_transitions_it_is_a_softmax():
    layer = CRF(TAGS, use_kernel=False)
    scores = random(2, TIMES, TAGS)
    found = layer(scores)
    shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    expected = np.log(np.take_along_axis(shares, ANY[:2, :, None], 2)).sum((1, 2))
    np.testing.assert_allclose(layer.log_likelihood(scores, ANY[:2]), expected, atol=1e-5)
    np.testing.assert_allclose(layer.marginals(scores), shares, atol=1e-6)
    np.testing.assert_array_equal(found["tags"], scores.argmax(-1))
    assert found["mask"].numpy().all()


def test_left_and_right_padding_give_the_same():
    layer = built(NAMES, "BIO")
    right, left = np.array([[1, 1, 1, 0]], bool), np.array([[0, 1, 1, 1]], bool)
    one = layer(INPUTS[:1], mask=right)
    other = layer(np.roll(INPUTS[:1], 1, axis=1), mask=left)
    np.testing.assert_array_equal(np.roll(one["tags"], 1, axis=1), other["tags"])
    rolled = np.roll(layer.marginals(one["scores"], right), 1, axis=1)
    np.testing.assert_array_equal(rolled, layer.marginals(other["scores"], left))
    likelihoods = [layer.log_likelihood(f["scores"], f["tags"], f["mask"]).numpy() for f in (one, other)]
    assert likelihoods[0] == likelihoods[1]


def test_a_fully_masked_row_gives_zeros_and_padding_reaches_nothing():
    layer = built(NAMES, "BIO")
    dirty = tf.constant(np.where(MASK[..., None], INPUTS, np.nan))
    labels = np.where(MASK, np.where(ANY == 2, 1, ANY), -1)
    clean = layer(INPUTS, mask=MASK)
    with tf.GradientTape() as tape:
        tape.watch(dirty)
        found = layer(dirty, mask=MASK)
        likelihood = layer.log_likelihood(found["scores"], labels, found["mask"])
        loss = -tf.reduce_sum(likelihood)
    for part in found:
        np.testing.assert_array_equal(found[part], clean[part])
        assert not found[part][-1].numpy().any()
    assert likelihood[-1] == 0
    assert not layer.marginals(found["scores"], MASK)[-1].numpy().any()
    for gradient in tape.gradient(loss, [dirty, *layer.trainable_variables]):
        assert np.isfinite(gradient).all()
    np.testing.assert_array_equal(likelihood, layer.log_likelihood(clean["scores"], np.where(MASK, labels, 99), MASK))


def test_gradient_in_float64():
    layer = built(NAMES, "BIO", dtype="float64")
    labels = np.where(ANY == 2, 1, ANY)

    def loss(inputs, *weights):
        with keras.StatelessScope(zip(layer.trainable_variables, weights, strict=True)):
            found = layer(inputs, mask=MASK)
            return tf.reduce_sum(layer.log_likelihood(found["scores"], labels, MASK))

    assert_slopes(loss, [INPUTS.astype("float64"), *layer.get_weights()], directions=2)


@pytest.mark.parametrize(("scheme", "names"), [("BIO", NAMES), ("BIOES", ["O", "B-X", "I-X", "E-X", "S-X"])])
def test_forbidden_tags_never_come_out(scheme, names):
    layer = built(names, scheme, use_kernel=False, features=len(names))
    allowed = allowed_transitions(names, scheme)
    chain = layer.distribution(3 * random(20, 7, len(names)))
    drawn = [chain.argmax[None], chain.sample(4, seed=1), tf.transpose(chain.top_k(4).structures, [1, 0, 2])]
    for tags in np.concatenate(drawn).reshape(-1, 7):
        assert allowed.starts[tags[0]]
        assert allowed.ends[tags[-1]]
        assert allowed.transitions[tags[:-1], tags[1:]].all()


def test_labels_that_cannot_be_have_probability_zero():
    layer = built(NAMES, "BIO", use_kernel=False, features=TAGS)
    labels = np.array([[0, 1, 2, 0], [0, 0, 2, 0], [2, 2, 0, 0], [0, 3, 0, 0], [0, -1, 0, 0]])
    scores = tf.constant(random(5, TIMES, TAGS))
    with tf.GradientTape() as tape:
        tape.watch(scores)
        likelihood = layer.log_likelihood(scores, labels)
    assert np.isfinite(likelihood).tolist() == [True, False, False, False, False]
    assert (likelihood[1:].numpy() == -np.inf).all()
    for gradient in tape.gradient(likelihood, [scores, *layer.trainable_variables]):
        assert np.isfinite(gradient).all()


def test_posterior_decoding():
    layer, scores = built(TAGS, use_kernel=False, features=TAGS), random(40, TIMES, TAGS)
    best = layer.best_tags(scores).numpy()
    layer.decode = "posterior"
    tags = layer(scores)["tags"].numpy()
    np.testing.assert_array_equal(tags, layer.marginals(scores).numpy().argmax(-1))
    assert (tags != best).any()
    assert not layer(INPUTS[..., :TAGS], mask=MASK)["tags"][-1].numpy().any()


@pytest.fixture(scope="module")
def open_shapes():
    """Tags, likelihood and marginals of a layer, in a graph with unknown numbers of rows and positions."""
    layer = built(NAMES, "BIO")
    signature = [tf.TensorSpec([None, None, FEATURES]), *(tf.TensorSpec([None, None], d) for d in ("int64", "bool"))]

    @tf.function(input_signature=signature, autograph=False)
    def everything(inputs, labels, mask):
        found = layer(inputs, mask=mask)
        scores, mask = found["scores"], found["mask"]
        return found["tags"], layer.log_likelihood(scores, labels, mask), layer.marginals(scores, mask)

    everything.get_concrete_function()  # traced here for all tests
    return everything


def test_unknown_shapes_and_plain_agree(open_shapes):
    arguments = [*map(tf.constant, (INPUTS, ANY, MASK))]
    for one, other in zip(open_shapes(*arguments), open_shapes.python_function(*arguments), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_xla_and_plain_agree():
    """Only for the likelihood, which computes its own gradient; the slow tests of chains cover the rest."""
    layer = built(NAMES, "BIO", use_kernel=False, features=TAGS)

    def likelihood(scores, mask):
        return layer.log_likelihood(scores, ANY[:4, :3], mask)

    arguments = tf.constant(INPUTS[:4, :3, :TAGS]), tf.constant(MASK[:4, :3])
    compiled = tf.function(likelihood, jit_compile=True, autograph=False)(*arguments)
    np.testing.assert_allclose(compiled, likelihood(*arguments), atol=1e-5)


def test_every_argument_survives_saving():
    layer = CRF(
        NAMES,
        scheme="BIO",
        boundaries=False,
        use_kernel=False,
        decode="posterior",
        transition_initializer=keras.initializers.RandomUniform(-0.2, 0.2, seed=1),
        transition_regularizer=keras.regularizers.L2(0.3),
        transition_constraint=keras.constraints.MaxNorm(4.0),
        kernel_initializer=keras.initializers.RandomNormal(stddev=0.5, seed=2),
        kernel_regularizer=keras.regularizers.L1(0.6),
        kernel_constraint=keras.constraints.MaxNorm(7.0),
        name="tagger",
        dtype="float64",
    )
    again, default = roundtrip(layer), CRF(2)
    assert again.tags == ("O", "B-X", "I-X")
    for name in set(inspect.signature(CRF.__init__).parameters) - {"self", "kwargs"}:
        assert again.get_config()[name] == layer.get_config()[name] != default.get_config()[name], name
    assert again.dtype == "float64"


def test_regularizers_and_constraints_are_used():
    l2, small = keras.regularizers.L2(1.0), keras.constraints.MaxNorm(0.5)
    layer = CRF(TAGS, transition_regularizer=l2, transition_constraint=small, transition_initializer="ones")
    layer(INPUTS)
    assert float(tf.add_n(layer.losses)) == 9
    assert [w.name for w in layer.weights if w.constraint is small] == ["transitions", "start", "end"]
    layer = CRF(TAGS, kernel_regularizer=l2, kernel_constraint=small, kernel_initializer="ones")
    layer(INPUTS)
    assert float(tf.add_n(layer.losses)) == FEATURES * TAGS
    assert [w.name for w in layer.weights if w.constraint is small] == ["kernel"]


def test_wrong_arguments_are_refused():
    def refused(message, function):
        with pytest.raises(ValueError, match=message):
            function()

    refused(r"tags: expected a positive number of tags, or their names\. Received: 0", lambda: CRF(0))
    refused(r"tags: expected tag names for the scheme 'BIO'\. Received: 3", lambda: CRF(3, scheme="BIO"))
    refused(r"tags: expected B-LABEL, I-LABEL or O\. Received: 'NOUN'", lambda: CRF(["NOUN"], scheme="BIO"))
    refused(r"decode: expected one of .* Received: 'beam'", lambda: CRF(3, decode="beam"))
    refused(r"inputs: expected \[batch, time, features\]\. Received: shape \(2, 3\)", lambda: CRF(3)(tf.zeros([2, 3])))
    refused(
        r"inputs: expected 3 features with use_kernel=False\. Received: 5",
        lambda: CRF(3, use_kernel=False)(tf.zeros([2, 4, 5])),
    )
    layer = built(TAGS)
    refused(r"mask: expected booleans", lambda: layer(INPUTS, mask=MASK.astype("float32")))
    refused(
        r"mask: expected shape \(6, 4\), as in the inputs\. Received: shape \(6, 3\)",
        lambda: layer(INPUTS, mask=MASK[:, :3]),
    )
    refused(r"scores: expected \[batch, time, 3\]\. Received: shape \(6, 4, 5\)", lambda: layer.marginals(INPUTS))
    scores = layer(INPUTS)["scores"]
    refused(r"labels: expected integers \(6, 4\)\. Received: float64", lambda: layer.log_likelihood(scores, ANY * 1.0))
    refused(r"labels: .* Received: int64 \(6, 3\)", lambda: layer.log_likelihood(scores, ANY[:, :3]))
    refused(
        r"crf.*: expected a built layer. Received: a layer without weights; build or call it first",
        lambda: CRF(3).marginals(scores),
    )


@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (0, 0)])
def test_batches_without_rows_or_positions(shape, open_shapes):
    """An exported tagger must support a batch of empty texts."""
    for function in (open_shapes.python_function, open_shapes) if any(shape) else (open_shapes,):
        tags, likelihood, marginals = function(
            tf.zeros([*shape, FEATURES]), tf.zeros(shape, tf.int64), tf.ones(shape, tf.bool)
        )
        assert (tags.shape, marginals.shape) == (shape, (*shape, TAGS))
        np.testing.assert_array_equal(likelihood, np.zeros(shape[0]))
