"""The model with a CRF layer: training, prediction, saving."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.slow import slow

from seqattn_tf.structured import CRF, CRFModel, CRFTraining

NAMES = ["O", "B-X", "I-X"]
TAGS = len(NAMES)


def sticky(rows=200, times=16, seed=0):
    """Return words that are weakly related to their tags, and tags that rarely change.

    The words are 1 to 3; 0 is padding on either side.
    """
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

    train_words, train_labels = sticky()  # a softmax can at best learn the most frequent tag of each word
    most = [np.bincount(train_labels[train_words == word] + 1).argmax() - 1 for word in range(4)]
    alone = np.take(most, words)
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
    weighted = float(model.compute_loss(y=labels, y_pred=found, sample_weight=weights))
    np.testing.assert_allclose(weighted, -(weights * likelihood).sum() / (words > 0).sum(), rtol=1e-5)
    labels[0, :] = 7  # not a valid tag, but its weight is 0
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
    words, labels = sticky(rows=4, times=12, seed=4)
    found = model(words)
    assert found["scores"].dtype == tf.float32
    expected = float(trained[0].compute_loss(y=labels, y_pred=trained[0](words)))
    assert float(model.compute_loss(y=labels, y_pred=found)) == pytest.approx(expected, rel=0.02)
    if policy == "mixed_float16":  # the loss is scaled with this policy
        model.compile(keras.optimizers.SGD(0.0), run_eagerly=True)
        assert model.fit(words, labels, verbose=0).history["loss"][0] == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
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


RARE = [(None, [None, 3]), (3, [2, None]), (3, None)]
SHAPES = [(3, [None, None]), *(slow(*rare) for rare in RARE)]


@pytest.mark.parametrize(("time", "shape"), SHAPES, ids=str)
def test_labels_of_which_more_or_less_is_known_than_of_the_tags(time, shape):
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(2, 3, 5)).astype("float32"), rng.integers(0, 4, (2, 3))
    weights = np.array([0.5, 2.0], "float32")
    inputs = keras.Input((time, 5))
    model = CRFModel(inputs, CRF(4)(inputs))
    found = model(features)
    right = found["tags"] == labels
    expected = {
        "loss": float(model.compute_loss(y=labels, y_pred=found, sample_weight=weights)),
        "accuracy": np.mean(right),
        "weighted": np.average(np.mean(right, axis=1), weights=weights),
    }
    model.compile("sgd", weighted_metrics=[keras.metrics.Accuracy(name="weighted")], jit_compile=False)
    specs = [[None, None, None], shape, shape and shape[:1]]
    data = tf.data.Dataset.from_generator(
        lambda: iter([(features, labels, weights)]),
        output_signature=tuple(map(tf.TensorSpec, specs, [tf.float32, tf.int64, tf.float32])),
    )
    assert model.evaluate(data, verbose=0, return_dict=True) == pytest.approx(expected, rel=1e-5)


def test_ragged_rows_made_dense_batch_by_batch():
    rows, tags = [[1, 2, 3], [2], [3, 1]], [[0, 1, 2], [1], [2, 0]]
    ragged = tf.data.Dataset.from_tensor_slices((tf.ragged.constant(rows), tf.ragged.constant(tags)))
    data = ragged.ragged_batch(2).map(lambda x, y: (x.to_tensor(), y.to_tensor()))
    model = tagger(CRF(TAGS))
    model.compile("sgd", run_eagerly=True)
    assert np.isfinite(model.fit(data, shuffle=False, verbose=0).history["loss"][0])


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
    tags = model.predict(words, verbose=0)
    assert tags.shape == words.shape
    assert tags.dtype == np.int32
    np.testing.assert_array_equal(tags, model(words)["tags"])


def test_what_the_model_refuses():
    words, labels = sticky(rows=4)
    model = tagger(CRF(TAGS))
    found = model(words)
    with pytest.raises(ValueError, match=r"loss: expected None, because the model has its own loss\. Received: 'mse'"):
        model.compile("sgd", loss="mse")
    with pytest.raises(ValueError, match=r"sample_weight: expected one for each row, \[batch\]\. Received: \(4, 16\)"):
        model.compute_loss(y=labels, y_pred=found, sample_weight=np.ones((4, 16)))
    with pytest.raises(
        ValueError, match=r"labels: expected shape \(4, 16\), as in the tags\. Received: shape \(4, 7\)"
    ):
        model.compute_loss(y=labels[:, :7], y_pred=found)
    inputs = keras.Input((None, TAGS))
    with pytest.raises(ValueError, match="outputs: expected the result of a CRF layer"):
        CRFModel(inputs, keras.layers.Dense(2)(inputs)).compute_loss(y=labels, y_pred=found["scores"])
    two = CRFModel(inputs, CRF(TAGS)(CRF(TAGS)(inputs)["scores"]))
    with pytest.raises(ValueError, match=r"layers: expected one CRF\. Received: 2"):
        two.compute_loss(y=labels, y_pred=found)


def test_weighted_metrics_and_metrics_by_name():
    inputs = keras.Input((None,), dtype="int32")
    model = CRFModel(inputs, CRF(3)(keras.layers.Embedding(9, 4, mask_zero=True)(inputs)))
    model.compile("adam", metrics="accuracy", weighted_metrics=[keras.metrics.Accuracy(name="weighted")])
    words, labels = np.array([[1, 2, 0], [3, 4, 5]]), np.array([[0, 1, 0], [2, 2, 1]])
    weights = np.array([1.0, 0.0], "float32")
    logs = model.evaluate(words, labels, sample_weight=weights, verbose=0, return_dict=True)
    found = model(words)
    np.testing.assert_allclose(logs["weighted"], np.mean(found["tags"][0, :2] == labels[0, :2]), atol=1e-6)
    expected = model.compute_loss(y=labels, y_pred=found, sample_weight=weights)
    np.testing.assert_allclose(logs["loss"], expected, rtol=1e-5)
    with pytest.raises(ValueError, match="metrics: expected a list"):
        model.compile("adam", metrics={"tags": ["accuracy"]})


@pytest.mark.slow
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
