"""The CRF layer against every sequence of tags, and the model around it."""

import inspect
import itertools
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_slopes
from support.layers import random, roundtrip
from support.structures import Row

from seqattn_tf.structured import CRF, CRFModel, CRFTraining
from seqattn_tf.structured.tags import allowed_transitions

NAMES = ["O", "B-X", "I-X"]
TAGS, TIMES, FEATURES = 3, 4, 5
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0]], bool)
BATCH = len(MASK)
INPUTS = random(BATCH, TIMES, FEATURES)
ANY = np.random.default_rng(3).integers(0, TAGS, (BATCH, TIMES))


def built(*arguments, features=FEATURES, **keywords):
    """A layer with random weights, transitions and boundaries large enough to matter."""
    layer = CRF(*arguments, **keywords)
    layer.build((None, None, features))
    layer.set_weights([1.5 * random(*w.shape, seed=i) for i, w in enumerate(layer.get_weights())])
    return layer


def by_hand(layer, scores, kept):
    """The distribution of one row, sequence by sequence; structures and parts at the places of the mask."""
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

    assert_slopes(loss, [INPUTS.astype("float64"), *layer.get_weights()])


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


def test_unknown_shapes_xla_and_plain_agree():
    layer = built(NAMES, "BIO")

    def everything(inputs, labels, mask):
        found = layer(inputs, mask=mask)
        rest = found["scores"], found["mask"]
        likelihood = layer.log_likelihood(rest[0], labels, rest[1])
        return [*found.values(), likelihood, layer.marginals(*rest)]

    signature = [tf.TensorSpec([None, None, FEATURES]), *(tf.TensorSpec([None, None], d) for d in ("int64", "bool"))]
    plain = everything(tf.constant(INPUTS), tf.constant(ANY), tf.constant(MASK))
    for function in (
        tf.function(everything, input_signature=signature),
        tf.function(everything, jit_compile=True),
    ):
        for one, other in zip(function(INPUTS, ANY, MASK), plain, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


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

    refused(r"tags: expected a positive number, or names\. Received: 0", lambda: CRF(0))
    refused(r"tags: expected names, for the scheme 'BIO'\. Received: 3", lambda: CRF(3, scheme="BIO"))
    refused(r"tags: expected B-LABEL, I-LABEL or O\. Received: 'NOUN'", lambda: CRF(["NOUN"], scheme="BIO"))
    refused(r"decode: expected one of .* Received: 'beam'", lambda: CRF(3, decode="beam"))
    refused(r"inputs: expected \[batch, time, features\]\. Received: shape \(2, 3\)", lambda: CRF(3)(tf.zeros([2, 3])))
    refused(
        r"inputs: expected 3 scores without a kernel\. Received: 5",
        lambda: CRF(3, use_kernel=False)(tf.zeros([2, 4, 5])),
    )
    layer = built(TAGS)
    refused(r"mask: expected booleans", lambda: layer(INPUTS, mask=MASK.astype(int)))
    refused(r"mask: expected \(6, 4\), as the inputs\. Received: \(6, 3\)", lambda: layer(INPUTS, mask=MASK[:, :3]))
    refused(r"scores: expected \[batch, time, 3\]\. Received: shape \(6, 4, 5\)", lambda: layer.marginals(INPUTS))
    scores = layer(INPUTS)["scores"]
    refused(r"labels: expected integers \(6, 4\)\. Received: float64", lambda: layer.log_likelihood(scores, ANY * 1.0))
    refused(r"labels: .* Received: int64 \(6, 3\)", lambda: layer.log_likelihood(scores, ANY[:, :3]))
    refused(r"crf.*: expected a layer that was called or built", lambda: CRF(3).marginals(scores))


def sticky(rows=200, times=16, seed=0):
    """Words that say little of their tag, and tags that seldom change: words 1 to 3, 0 is padding at either side."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((rows, times), int)
    labels[:, 0] = rng.integers(0, TAGS, rows)
    for t in range(1, times):
        labels[:, t] = np.where(rng.random(rows) < 0.9, labels[:, t - 1], rng.integers(0, TAGS, rows))
    seen = np.where(rng.random((rows, times)) < 0.5, labels, rng.integers(0, TAGS, (rows, times)))
    words = 1 + seen
    words[::3, 10:], words[1::3, :3], words[2] = 0, 0, 0
    return words, np.where(words > 0, labels, -1)


def tagger(layer, mask_zero=True):
    inputs = keras.Input((None,), dtype="int32")
    features = keras.layers.Embedding(4, TAGS, mask_zero=mask_zero)(inputs)
    return CRFModel(inputs, layer(features) if mask_zero else layer(features, mask=keras.ops.not_equal(inputs, 0)))


def adam():
    return keras.optimizers.Adam(0.1)


@pytest.fixture(scope="module")
def trained():
    keras.utils.set_random_seed(0)
    model = tagger(CRF(TAGS))
    model.compile(adam(), metrics=["accuracy", keras.metrics.Accuracy(name="again")], jit_compile=False)
    history = model.fit(*sticky(), epochs=8, verbose=0).history
    return model, history


def test_training_helps_and_beats_a_softmax(trained):
    model, history = trained
    assert history["loss"][-1] < 0.8 * history["loss"][0]
    words, labels = sticky(seed=1)
    real = words > 0
    found = model.evaluate(words, labels, verbose=0, return_dict=True)
    tags = model.predict(words, verbose=0)
    assert tags.shape == words.shape
    assert tags.dtype == np.int32
    np.testing.assert_allclose(found["accuracy"], (tags == labels)[real].mean(), atol=1e-6)
    np.testing.assert_allclose(found["again"], found["accuracy"], atol=1e-6)
    assert not tags[~real].any()

    inputs = keras.Input((None,), dtype="int32")
    features = keras.layers.Embedding(4, TAGS, mask_zero=True)(inputs)
    softmax = keras.Model(inputs, keras.layers.Dense(TAGS, "softmax")(features))
    softmax.compile(adam(), "sparse_categorical_crossentropy", jit_compile=False)
    train_words, train_labels = sticky()
    softmax.fit(train_words, np.maximum(train_labels, 0), epochs=8, verbose=0)
    alone = softmax.predict(words, verbose=0).argmax(-1)
    assert found["accuracy"] > (alone == labels)[real].mean() + 0.08


def test_the_loss_is_the_formula(trained):
    model, _ = trained
    words, labels = sticky(rows=32, seed=2)
    weights = np.linspace(0, 2, 32)
    found = model(words)
    layer = model.layers[-1]
    likelihood = layer.log_likelihood(found["scores"], labels, found["mask"]).numpy()
    plain = model.compute_loss(y=labels, y_pred=found)
    np.testing.assert_allclose(plain, -likelihood.sum() / (words > 0).sum(), rtol=1e-5)
    weighted = model.evaluate(words, labels, sample_weight=weights, verbose=0, return_dict=True)["loss"]
    np.testing.assert_allclose(weighted, -(weights * likelihood).sum() / (words > 0).sum(), rtol=1e-5)
    labels[0, :] = 7  # no tag; its weight is 0
    assert float(model.compute_loss(y=labels, y_pred=found, sample_weight=weights)) == pytest.approx(weighted, rel=1e-5)
    assert np.isinf(model.compute_loss(y=labels, y_pred=found))
    nothing = model(np.zeros([2, 3], int))
    assert float(model.compute_loss(y=np.zeros([2, 3], int), y_pred=nothing)) == 0


def test_saved_and_loaded_it_says_and_trains_the_same(trained, tmp_path):
    model, _ = trained
    words, labels = sticky(rows=32, seed=3)
    model.save(tmp_path / "tagger.keras")
    again = keras.saving.load_model(tmp_path / "tagger.keras")
    assert type(again) is CRFModel
    np.testing.assert_array_equal(again(words)["tags"], model(words)["tags"])
    one, other = (float(m.compute_loss(y=labels, y_pred=m(words))) for m in (again, model))
    assert one == pytest.approx(other)
    assert again.optimizer.iterations == model.optimizer.iterations


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision(policy, trained):
    keras.config.set_dtype_policy(policy)
    try:
        model = tagger(CRF(TAGS))
    finally:
        keras.config.set_dtype_policy("float32")
    model.set_weights(trained[0].get_weights())
    words, labels = sticky(rows=32, seed=4)
    found = model(words)
    assert found["scores"].dtype == tf.float32
    expected = float(trained[0].compute_loss(y=labels, y_pred=trained[0](words)))
    assert float(model.compute_loss(y=labels, y_pred=found)) == pytest.approx(expected, rel=0.02)
    if policy == "mixed_float16":  # the loss is scaled there
        model.compile(keras.optimizers.SGD(0.0), jit_compile=False)
        assert model.fit(words, labels, verbose=0).history["loss"][0] == pytest.approx(expected, rel=0.02)


def test_a_mask_as_argument_tf_data_any_length_and_xla(trained, tmp_path):
    keras.utils.set_random_seed(0)
    model = tagger(CRF(TAGS, transition_regularizer="l2"), mask_zero=False)
    model.set_weights(trained[0].get_weights())
    words, labels = sticky(rows=12, seed=5)
    np.testing.assert_array_equal(model(words)["tags"], trained[0](words)["tags"])
    data = tf.data.Dataset.from_generator(
        lambda: ((words[:n, :n], labels[:n, :n]) for n in (12, 9)),
        output_signature=(tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None], tf.int32)),
    )
    expected = float(model.compute_loss(y=labels[:, :12], y_pred=model(words[:, :12])))
    model.compile("sgd", jit_compile=True)
    compiled = model.fit(data.take(1), verbose=0, shuffle=False).history["loss"][0]
    assert compiled == pytest.approx(expected, rel=1e-5)
    model.compile("sgd", jit_compile=False)
    assert np.isfinite(model.fit(data, verbose=0, shuffle=False).history["loss"][0])
    model.save(tmp_path / "masked.keras")
    again = keras.saving.load_model(tmp_path / "masked.keras")
    np.testing.assert_array_equal(again(words)["tags"], model(words)["tags"])


def test_a_model_with_its_own_call():
    class Tagger(CRFTraining, keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding, self.crf = keras.layers.Embedding(4, TAGS, mask_zero=True), CRF(NAMES, scheme="BIO")

        def call(self, words):
            return self.crf(self.embedding(words))

    model = Tagger()
    words = sticky(rows=8, seed=6)[0]
    model.compile(adam(), run_eagerly=True)
    model.fit(words, np.where(words > 1, 1, 0), verbose=0)
    assert model.predict(words, verbose=0).shape == words.shape


def test_what_the_model_refuses():
    words, labels = sticky(rows=4)
    model = tagger(CRF(TAGS))
    with pytest.raises(ValueError, match=r"loss: expected none, the model has its own\. Received: 'mse'"):
        model.compile("sgd", loss="mse")
    with pytest.raises(ValueError, match=r"sample_weight: expected one for each row, \[batch\]\. Received: \(4, 16\)"):
        model.compute_loss(y=labels, y_pred=model(words), sample_weight=np.ones((4, 16)))
    inputs = keras.Input((None, TAGS))
    with pytest.raises(ValueError, match="outputs: expected the result of a CRF layer"):
        CRFModel(inputs, keras.layers.Dense(2)(inputs)).compute_loss(y=labels, y_pred=model(words)["scores"])
    two = CRFModel(inputs, CRF(TAGS)(CRF(TAGS)(inputs)["scores"]))
    with pytest.raises(ValueError, match=r"layers: expected one CRF\. Received: 2"):
        two.compute_loss(y=labels, y_pred=model(words))


PAGE = Path(__file__).resolve().parents[2] / "docs" / "from_addons.md"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What the blocks of the migration page define, and what every line of code on the right of its tables gives."""
    names, cells = {}, {}
    text = PAGE.read_text(encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        for part in re.split(r"(?m)^(?=## )", text):
            for block in re.findall(r"```python\n(.*?)```", part, re.S):
                exec(block, names)
            for left, right in re.findall(r"^\| (.+?) \| (.+) \|$", part, re.M):
                for code in re.findall(r"`(.*?)`", right):
                    if re.search(r"[.(\[]", code):  # not a mere name
                        cells.setdefault(left, []).append(eval(code, names))
    return names, cells


def test_the_migration_page_runs(page):
    names, cells = page
    assert sum(map(len, cells.values())) > 30
    assert names["predicted"].shape == (2, 4)
    np.testing.assert_array_equal(names["again"](names["words"])["tags"], names["predicted"])


def test_the_migration_page_gives_the_old_numbers(page):
    names, cells = page
    scores, transitions, bitmap, labels = (np.asarray(names[n]) for n in ("scores", "transitions", "bitmap", "labels"))
    for b, length in enumerate(names["lengths"].numpy()):
        sequences = np.array(list(itertools.product(range(TAGS), repeat=length)))
        unary = scores[b, np.arange(length), sequences].sum(1)
        binary = transitions[sequences[:, :-1], sequences[:, 1:]].sum(1)
        may = bitmap[b, np.arange(length), sequences].all(1)
        [label] = np.flatnonzero((sequences == labels[b, :length]).all(1))
        total = unary + binary
        expected = {
            "`crf_log_likelihood`": [total[label] - np.logaddexp.reduce(total)],
            "`crf_sequence_score`": [total[label]],
            "`crf_log_norm`": [np.logaddexp.reduce(total)],
            "`crf_unary_score`": [unary[label]],
            "`crf_binary_score`": [binary[label]],
            "`crf_multitag_sequence_score`": [np.logaddexp.reduce(total[may])],
            "`crf_decode`": [sequences[total.argmax()], total.max()],
            "`crf_constrained_decode`": [sequences[may][total[may].argmax()], total[may].max()],
        }
        for name, values in expected.items():
            for value, found in zip(values, cells[name], strict=True):
                found = found[b] if found.shape.rank == 1 else found[b, :length]
                np.testing.assert_allclose(found, value, atol=1e-5, err_msg=name)


def test_weighted_metrics_and_metrics_by_name():
    inputs = keras.Input((None,), dtype="int32")
    model = CRFModel(inputs, CRF(3)(keras.layers.Embedding(9, 4, mask_zero=True)(inputs)))
    model.compile("adam", metrics="accuracy", weighted_metrics=[keras.metrics.Accuracy(name="weighted")])
    words, labels = np.array([[1, 2, 0], [3, 4, 5]]), np.array([[0, 1, 0], [2, 2, 1]])
    weights = np.array([1.0, 0.0], "float32")
    logs = model.evaluate(words, labels, sample_weight=weights, verbose=0, return_dict=True)
    tags = model.predict(words, verbose=0)
    np.testing.assert_allclose(logs["weighted"], np.mean(tags[0, :2] == labels[0, :2]), atol=1e-6)
    with pytest.raises(ValueError, match="metrics: expected a list"):
        model.compile("adam", metrics={"tags": ["accuracy"]})


def test_a_saved_tagger_in_a_fresh_process(tmp_path):
    inputs = keras.Input((None,), dtype="int32")
    model = CRFModel(inputs, CRF(["O", "B", "I"], scheme="BIO")(keras.layers.Embedding(9, 4)(inputs)))
    model.save(tmp_path / "tagger.keras")
    words = np.array([[1, 2, 3, 4, 5]])
    code = (
        "import sys, keras, numpy as np; from seqattn_tf import CRFModel; model = keras.saving.load_model(sys.argv[1]);"
        "print(model.predict(np.array([[1, 2, 3, 4, 5]]), verbose=0).tolist())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "tagger.keras")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(model.predict(words, verbose=0).tolist())
