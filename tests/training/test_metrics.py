import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_gradient
from support.layers import random, roundtrip

from seqattn_tf.training.metrics import MaskedCrossEntropy, edit_distance, symbol_and_word_errors


def by_recursion(a, b):
    if not a or not b:
        return len(a) + len(b)
    return min(by_recursion(a[1:], b) + 1, by_recursion(a, b[1:]) + 1, by_recursion(a[1:], b[1:]) + (a[0] != b[0]))


def test_edit_distance_equals_the_definition():
    words = ["".join(w) for n in range(4) for w in itertools.product("ab", repeat=n)]
    for a, b in itertools.product(words, words):
        assert edit_distance(a, b) == by_recursion(a, b)


def test_any_reference_is_right_and_the_nearest_counts():
    answers = {"read": "R EH D", "lead": "L IY T", "empty": ""}
    references = {"read": ["R IY D", "R EH D"], "lead": ["L EH D", "L IY D"], "empty": ["EH M"]}
    assert symbol_and_word_errors(answers, references) == {"per": 3 / 8, "wer": 2 / 3}
    with pytest.raises(ValueError, match="at least one"):
        symbol_and_word_errors({}, {})


def test_cross_entropy_equals_keras_on_the_kept_symbols():
    logits, labels = random(3, 4, 6), np.array([[1, 2, 3, 0], [5, 0, 0, 0], [4, 4, 4, 4]])
    ours = MaskedCrossEntropy(label_smoothing=0.1)(tf.constant(labels), tf.constant(logits))
    onehot = np.eye(6)[labels[labels != 0]]
    theirs = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)(onehot, logits[labels != 0])
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_cross_entropy_of_nothing_and_its_gradient_and_configuration():
    loss = MaskedCrossEntropy(label_smoothing=0.2)
    assert float(loss(tf.zeros([2, 3], tf.int32), tf.ones([2, 3, 4]))) == 0
    assert roundtrip(loss).label_smoothing == 0.2
    labels = tf.constant([[1, 0], [2, 3]])
    assert_gradient(
        lambda logits: tf.cast(loss(labels, tf.cast(logits, tf.float32)), tf.float64),
        [random(2, 2, 4, dtype="float64")],
        step=1e-2,
        tolerance=1e-3,
    )
