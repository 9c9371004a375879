import numpy as np
import pytest
import tensorflow as tf
from support.layers import random

from seqattn_tf.core.linear import linear


@pytest.mark.parametrize("shape", [(5, 3), (2, 4, 3), (2, 0, 3)])
def test_product_over_the_last_axis(shape):
    inputs, kernel, bias = random(*shape), random(3, 2, seed=1), random(2, seed=2)
    np.testing.assert_allclose(linear(inputs, kernel, bias), inputs @ kernel + bias, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_gradient_of_the_bias_in_half_precision(dtype):
    bias = tf.zeros([4])
    with tf.GradientTape() as tape:
        tape.watch(bias)
        outputs = linear(tf.ones([25600, 4], dtype), tf.zeros([4, 4]), bias)
        loss = tf.reduce_sum(tf.cast(outputs, tf.float32))
    np.testing.assert_allclose(tape.gradient(loss, bias), 25600, rtol=0.01)
