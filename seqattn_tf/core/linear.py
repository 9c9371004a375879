"""The linear map `x W + b` over the last axis of a tensor of any rank, as one flat matrix product.

Keras's `Dense` on rank 3 becomes a `Tensordot`, which is supported neither by XLA's gradient inside a loop nor by
LiteRT with an unknown length. A reshape around one `MatMul` works everywhere and is equally fast. Weights are cast to
the precision of the inputs, so that a step called outside a layer's `__call__` (as in decoders) keeps mixed precision.
"""

import tensorflow as tf

from seqattn_tf.core.products import product


def linear(inputs: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor | None = None) -> tf.Tensor:
    """Apply a linear map to the last axis: `[..., n] x [n, m] (+ [m]) -> [..., m]`.

    >>> linear(tf.ones([2, 3, 4]), tf.ones([4, 5])).shape.as_list()
    [2, 3, 5]
    """
    inputs = tf.convert_to_tensor(inputs)
    kernel = tf.cast(kernel, inputs.dtype)
    flat = inputs if inputs.shape.rank == 2 else tf.reshape(inputs, [-1, kernel.shape[0]])
    result = product(flat, kernel)
    if bias is not None:
        result = _shifted(result, tf.cast(bias, inputs.dtype))
    if inputs.shape.rank == 2:
        return result
    leading = [known if known is not None else tf.shape(inputs)[i] for i, known in enumerate(inputs.shape[:-1])]
    return tf.reshape(result, [*leading, kernel.shape[1]])


def _shifted(values: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """Compute `values [rows, n] + bias [n]`, with the gradient of the bias summed in at least single precision."""
    if values.dtype not in (tf.float16, tf.bfloat16):
        return values + bias

    @tf.custom_gradient
    def shifted(values: tf.Tensor, bias: tf.Tensor) -> tuple:
        def gradient(flow: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return flow, tf.cast(tf.reduce_sum(tf.cast(flow, tf.float32), axis=0), flow.dtype)

        return values + bias, gradient

    return shifted(values, bias)
