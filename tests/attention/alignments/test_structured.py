import numpy as np
import tensorflow as tf

from seqattn_tf.attention.alignments.structured import StructuredAlignment


class Shares(StructuredAlignment):
    """A softmax over the unmasked positions that records its arguments."""

    def marginals(self, logits, mask):
        self.given = logits, mask
        return tf.math.divide_no_nan(
            kept := tf.where(mask, tf.exp(logits), 0.0), tf.reduce_sum(kept, axis=-1, keepdims=True)
        )


def test_what_is_not_kept_is_zero_and_half_precision_is_widened():
    align = Shares()
    logits = tf.constant([[[0.0, np.nan, 1.0]]], tf.float16)
    weights, state = align.call(logits, tf.constant([[[True, False, True]]]), ("memory",))
    assert (weights.dtype, state) == (tf.float16, ("memory",))
    assert (align.given[0].dtype, align.given[0].numpy().tolist()) == (tf.float32, [[[0.0, 0.0, 1.0]]])
    np.testing.assert_allclose(weights[0, 0], np.array([1, 0, np.e]) / (1 + np.e), atol=1e-3)


def test_no_places_have_no_marginals():
    logits = tf.zeros([2, 3, 0])
    assert Shares().call(logits, tf.zeros([2, 1, 0], tf.bool))[0].shape == (2, 3, 0)


def test_an_unknown_number_of_places_may_be_none():
    align = Shares()
    run = tf.function(
        lambda logits, mask: align.call(logits, mask)[0],
        input_signature=[tf.TensorSpec([None, None, None]), tf.TensorSpec([None, 1, None], tf.bool)],
        autograph=False,
    )
    for places in (0, 3):
        logits, mask = tf.zeros([2, 2, places]), tf.ones([2, 1, places], tf.bool)
        np.testing.assert_allclose(run(logits, mask), np.full([2, 2, places], 1 / 3), rtol=1e-6)
