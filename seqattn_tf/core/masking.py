"""Masking: masks are boolean, True = keep, and are either given or propagated by Keras.

A fully masked row has zero weights, a zero mean, and the most negative finite number as its log-sum-exp. It never
yields NaN, neither in the value nor in the gradient.
"""

import tensorflow as tf

_LARGEST = 1e30  # the bound of logits: effectively infinite, but sums are finite


def length_mask(lengths: tf.Tensor, size: tf.Tensor | int) -> tf.Tensor:
    """Return True at the first `lengths[b]` of `size` positions: `[batch] -> [batch, size]`.

    >>> length_mask(tf.constant([2, 0]), 3).numpy().tolist()
    [[True, True, False], [False, False, False]]
    """
    return tf.sequence_mask(lengths, size)


def row_lengths(mask: tf.Tensor) -> tf.Tensor:
    """Return the number of unmasked positions in each row: `[batch, positions] -> int32 [batch]`.

    >>> row_lengths(tf.constant([[True, True], [False, False]])).numpy().tolist()
    [2, 0]
    """
    return tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)


def frames_mask(frames: tf.Tensor) -> tf.Tensor:
    """Return which frames are not padding, that is, not all zero: `[batch, time, n] -> bool [batch, time]`.

    >>> frames_mask(tf.constant([[[0.0, 2.0], [0.0, 0.0]]])).numpy().tolist()
    [[True, False]]
    """
    return tf.reduce_any(frames != 0, axis=-1)


def widen(values: tf.Tensor) -> tf.Tensor:
    """Cast half precision, which is too narrow for sums of exponentials, to float32."""
    return tf.cast(values, tf.float32) if values.dtype in (tf.float16, tf.bfloat16) else values


def bounded(logits: tf.Tensor) -> tf.Tensor:
    """Return finite logits in at least single precision; `inf` becomes the largest allowed value, with a gradient of 0.

    `-inf`, which masks a position, is preserved. The bound is small enough for a sum over a sequence to be finite.

    >>> [f"{number:g}" for number in bounded(tf.constant([1.0, float("inf"), -float("inf")])).numpy()]
    ['1', '1e+30', '-inf']
    """
    wide = widen(logits)
    return tf.minimum(wide, tf.constant(_LARGEST, wide.dtype))


def masked_softmax(logits: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
    """Compute a softmax over the unmasked positions of the last axis; masked positions and fully masked rows are zero.

    >>> masked_softmax(tf.constant([[0.0, 0.0, 9.0]]), tf.constant([[True, True, False]])).numpy().tolist()
    [[0.5, 0.5, 0.0]]
    """
    wide = bounded(logits)
    keep = wide > -float("inf")  # a logit of -inf masks its position
    if mask is not None:
        keep = tf.logical_and(keep, mask)
    weights = tf.nn.softmax(tf.where(keep, wide, wide.dtype.min)) * tf.cast(keep, wide.dtype)
    return tf.cast(weights, logits.dtype)


def masked_logsumexp(logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Compute `log sum exp` over the unmasked positions of the last axis: `[..., n] -> [...]`.

    >>> float(masked_logsumexp(tf.constant([0.0, 5.0]), tf.constant([True, False])))
    0.0
    """
    wide = widen(logits)
    total = tf.reduce_logsumexp(tf.where(mask, wide, wide.dtype.min), axis=-1)
    return tf.cast(tf.maximum(total, tf.cast(logits.dtype.min, wide.dtype)), logits.dtype)


def masked_mean(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Compute the mean over unmasked positions: `[batch, time, units], [batch, time] -> [batch, units]`.

    >>> masked_mean(tf.constant([[[1.0], [3.0], [9.0]]]), tf.constant([[True, True, False]])).numpy().tolist()
    [[2.0]]
    """
    wide = zero_masked(widen(values), mask)
    count = tf.reduce_sum(tf.cast(mask, wide.dtype), axis=1)[..., None]
    return tf.cast(tf.math.divide_no_nan(tf.reduce_sum(wide, axis=1), count), values.dtype)


def zero_masked(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Replace masked values, including NaN, by zeros: `[batch, time, units], [batch, time] -> [batch, time, units]`.

    >>> zero_masked(tf.constant([[[1.0], [float("nan")]]]), tf.constant([[True, False]])).numpy().ravel().tolist()
    [1.0, 0.0]
    """
    return tf.where(mask[..., None], values, tf.zeros_like(values))


def mask_of(values: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor | None:
    """Return the given mask, or the implicit Keras mask of the values, or None.

    >>> import keras
    >>> mask_of(keras.layers.Embedding(5, 2, mask_zero=True)(tf.constant([[3, 0]]))).numpy().tolist()
    [[True, False]]
    """
    return getattr(values, "_keras_mask", None) if mask is None else mask


def check_mask(mask: tf.Tensor, values: tf.Tensor | None = None) -> tf.Tensor:
    """Return the mask as a boolean tensor, checked to have one entry for each vector of the values.

    As in Keras, the integer 0 means masked. Floats are rejected, because in other libraries a zero means keep.

    >>> check_mask([[1, 0]], tf.zeros([1, 2, 4])).numpy().tolist()
    [[True, False]]
    """
    mask = tf.convert_to_tensor(mask)
    if mask.dtype.is_integer:
        mask = tf.cast(mask, tf.bool)
    if mask.dtype != tf.bool:
        raise ValueError(f"mask: expected booleans, True = keep. Received: {mask.dtype.name}")
    if values is not None and not mask.shape.is_compatible_with(values.shape[:-1]):
        raise ValueError(f"mask: expected shape {values.shape[:-1]}, as in the values. Received: shape {mask.shape}")
    return mask


def masked_values(values: tf.Tensor, mask: tf.Tensor | None) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the values with zeros where masked, and the given or implicit mask; without any, it is all True.

    >>> masked_values(tf.ones([1, 2, 3]), None)[1].numpy().tolist()
    [[True, True]]
    """
    mask = mask_of(values, mask)
    if mask is None:
        return values, tf.ones(tf.shape(values)[:-1], tf.bool)
    mask = check_mask(mask, values)
    return zero_masked(values, mask), mask
