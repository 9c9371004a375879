import numpy as np
import tensorflow as tf

from seqattn_tf.attention.alignments.biased import BiasedAlignment

MASK = tf.constant([[[True, False]]])


def test_the_bias_is_added_and_what_is_not_kept_reaches_nothing():
    align = BiasedAlignment(bias=-2.0)
    align.build()
    logits = tf.constant([[[1.5, np.nan]]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        shifted = align.shifted(logits, MASK)
    assert shifted.numpy().tolist() == [[[-0.5, -2.0]]]
    assert tape.gradient(shifted, logits).numpy().tolist() == [[[1.0, 0.0]]]
    assert align.get_config()["bias"] == -2.0


def test_half_precision_is_widened_and_the_bias_is_not_rounded():
    align = BiasedAlignment(bias=0.1, dtype="mixed_float16")
    align.build()
    shifted = align.shifted(tf.zeros([1, 1, 2], tf.float16), MASK)
    assert shifted.dtype == tf.float32
    assert shifted.numpy()[0, 0, 0] == np.float32(0.1)
