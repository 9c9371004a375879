import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.attention.alignments import EntmaxAlignment, SparsemaxAlignment
from seqattn_tf.attention.alignments.sparse import SparseAlignment

FAMILY = [SparsemaxAlignment, EntmaxAlignment]


def by_bisection(logits, scale, power):
    """Find the threshold at which the weights sum to one, by bisection."""
    z = scale * np.asarray(logits, "f8")
    low, high = z.max() - 1, z.max()
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (np.maximum(z - middle, 0) ** power).sum() > 1 else (low, middle)
    return np.maximum(z - low, 0) ** power


@pytest.mark.parametrize("kind", FAMILY)
def test_the_weights_sum_to_one_above_a_threshold(kind):
    assert issubclass(kind, SparseAlignment)
    logits = np.random.default_rng(0).normal(size=(20, 1, 7)).astype("float32") * 2
    weights, state = kind()(logits, tf.ones([20, 1, 7], tf.bool))
    assert state == ()
    expected = [by_bisection(row[0], kind.scale, kind.power) for row in logits]
    np.testing.assert_allclose(weights[:, 0], expected, atol=1e-5)
    assert (weights.numpy() == 0).any()


@pytest.mark.parametrize("kind", FAMILY)
def test_places_that_are_not_kept_are_as_if_they_were_not_there(kind):
    logits = tf.constant([[[0.3, 99.0, -0.1, 0.4]], [[1.0, 2.0, 3.0, 4.0]]])
    mask = tf.constant([[[True, False, True, True]], [[False] * 4]])
    weights, _ = kind()(logits, mask)
    alone, _ = kind()(tf.gather(logits[:1], [0, 2, 3], axis=2), tf.ones([1, 1, 3], tf.bool))
    np.testing.assert_allclose(tf.gather(weights[:1], [0, 2, 3], axis=2), alone, atol=1e-6)
    assert weights[0, 0, 1] == 0
    assert weights[1].numpy().tolist() == [[0.0] * 4]


@pytest.mark.parametrize("kind", FAMILY)
def test_a_common_number_changes_nothing_however_large(kind):
    logits, mask = tf.constant([[[0.25, 0.5, 0.0]]]), tf.ones([1, 1, 3], tf.bool)
    np.testing.assert_allclose(kind()(logits + 4096.0, mask)[0], kind()(logits, mask)[0], atol=1e-6)
