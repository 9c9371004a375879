"""The cases of TensorFlow Addons' `layers/tests/crf_test.py`, compared with every sequence of tags."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.slow import slow

from seqattn_tf import CRF, CRFModel

TAGS, TIMES = 4, 3
RNG = np.random.default_rng(22)  # with this seed, the best tags depend on the transitions and on both boundaries
# Quarters of small integers are exact in half precision.
SCORES = RNG.integers(-8, 9, [3, TIMES, TAGS]).astype("float32") / 4
TRANSITIONS = RNG.integers(-8, 9, [TAGS, TAGS]).astype("float32") / 4
START, END = RNG.integers(-8, 9, [2, TAGS]).astype("float32") / 4
LABELS = RNG.integers(0, TAGS, [3, TIMES])
MASK = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]], bool)


def layer():
    """A CRF with known weights whose scores are its inputs."""
    crf = CRF(TAGS, use_kernel=False)
    crf.build((None, TIMES, TAGS))
    crf.set_weights([TRANSITIONS, START, END])
    return crf


def model_of(crf, mask=None):
    inputs = keras.Input((TIMES, TAGS))
    return CRFModel(inputs, crf(inputs, mask=mask))


def scored(row, tags):
    """Return the score of one sequence, by the formula."""
    inside = sum(TRANSITIONS[pair] for pair in itertools.pairwise(tags))
    return START[tags[0]] + END[tags[-1]] + inside + sum(SCORES[row, time, tag] for time, tag in enumerate(tags))


def every(row, length=TIMES):
    return {tags: scored(row, tags) for tags in itertools.product(range(TAGS), repeat=length)}


def log_likelihood(row, length=TIMES):
    return scored(row, tuple(LABELS[row, :length])) - np.logaddexp.reduce(list(every(row, length).values()))


def test_inference_in_a_model(policy):
    model = model_of(layer())
    expected = [max(every(row), key=every(row).get) for row in range(3)]
    assert model.layers[-1].compute_dtype == policy.removeprefix("mixed_")
    np.testing.assert_array_equal(model.predict(SCORES, verbose=0), expected)
    np.testing.assert_array_equal(model(SCORES)["tags"], expected)


def test_transitions_all_alike_change_nothing(policy):
    crf = CRF(TAGS, use_kernel=False, transition_initializer=keras.initializers.Constant(1.5))
    crf.build((None, TIMES, TAGS))
    crf.start.assign(tf.ones(TAGS))
    crf.end.assign(tf.ones(TAGS))
    tags = crf(8 * np.eye(TAGS)[LABELS])["tags"]
    assert tags.dtype == tf.int32
    np.testing.assert_array_equal(tags, LABELS)


@pytest.mark.parametrize("eagerly", [True, slow(False)])
def test_the_loss_in_numbers(policy, eagerly):
    """Tracing graphs of such a layer is covered by the tests of `CRFModel`."""
    model = model_of(layer())
    model.compile("sgd", run_eagerly=eagerly, jit_compile=False)
    found = model.train_on_batch(SCORES, LABELS, return_dict=True)["loss"]
    np.testing.assert_allclose(found, -sum(map(log_likelihood, range(3))) / LABELS.size, rtol=1e-5)


def test_right_padding_in_training(policy):
    """The loss counts only unmasked steps, and a training step must not depend on the others."""
    trained = []
    for beyond in (0.0, 5.0):
        model = model_of(layer(), mask=tf.constant(MASK))
        model.compile(keras.optimizers.SGD(0.5), run_eagerly=True)
        scores = np.where(MASK[..., None], SCORES, beyond)
        labels = np.where(MASK, LABELS, int(beyond))  # 5 is not a valid tag
        loss = model.train_on_batch(scores, labels, return_dict=True)["loss"]
        expected = sum(log_likelihood(row, length) for row, length in enumerate(MASK.sum(1)))
        np.testing.assert_allclose(loss, -expected / MASK.sum(), rtol=1e-5)
        assert (model.predict_on_batch(scores)[~MASK] == 0).all()
        trained.append(model.get_weights())
    for one, other, before in zip(*trained, [TRANSITIONS, START, END], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
        assert np.abs(one - before).max() > 0.01
