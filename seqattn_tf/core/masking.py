"""The mask rule: boolean, True = keep; given, or else the one that Keras sends along.

A row with nothing to keep gives zero weights, a zero mean and a log-sum of the most negative finite number; it never
gives NaN, neither in the value nor in the gradient.
"""

import tensorflow as tf

_LARGEST = 1e30  # of logits: as good as infinite, and sums of them are finite


def length_mask(lengths: tf.Tensor, size: tf.Tensor | int) -> tf.Tensor:
    """True at the first `lengths[b]` of `size` places: `[batch] -> [batch, size]`.

    >>> length_mask(tf.constant([2, 0]), 3).numpy().tolist()
    [[True, True, False], [False, False, False]]
    """
    return tf.sequence_mask(lengths, size)


def row_lengths(mask: tf.Tensor) -> tf.Tensor:
    """How many places of each row are kept: `[batch, places] -> int32 [batch]`.

    >>> row_lengths(tf.constant([[True, True], [False, False]])).numpy().tolist()
    [2, 0]
    """
    return tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)


def frames_mask(frames: tf.Tensor) -> tf.Tensor:
    """Which frames are no padding, of which all numbers are zero: `[batch, time, n] -> bool [batch, time]`.

    >>> frames_mask(tf.constant([[[0.0, 2.0], [0.0, 0.0]]])).numpy().tolist()
    [[True, False]]
    """
    return tf.reduce_any(frames != 0, axis=-1)


def widen(values: tf.Tensor) -> tf.Tensor:
    """Half precision is too narrow for sums of exponentials: work in float32 there."""
    return tf.cast(values, tf.float32) if values.dtype in (tf.float16, tf.bfloat16) else values


def bounded(logits: tf.Tensor) -> tf.Tensor:
    """Logits of any size as finite numbers, in single precision at least: `inf` is the largest, with a gradient of 0.

    `-inf` stays what it is, a forbidden place. The largest is small enough for a sum over a sequence to be finite.

    >>> [f"{number:g}" for number in bounded(tf.constant([1.0, float("inf"), -float("inf")])).numpy()]
    ['1', '1e+30', '-inf']
    """
    wide = widen(logits)
    return tf.minimum(wide, tf.constant(_LARGEST, wide.dtype))


def masked_softmax(logits: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
    """Softmax over the last axis among the kept places; zero elsewhere, and zero everywhere in an empty row.

    >>> masked_softmax(tf.constant([[0.0, 0.0, 9.0]]), tf.constant([[True, True, False]])).numpy().tolist()
    [[0.5, 0.5, 0.0]]
    """
    wide = bounded(logits)
    keep = wide > -float("inf")  # a forbidden place is one that is not kept
    if mask is not None:
        keep = tf.logical_and(keep, mask)
    wide = tf.where(keep, wide, wide.dtype.min)
    exponents = wide - tf.stop_gradient(tf.reduce_max(wide, axis=-1, keepdims=True))
    weights = tf.exp(exponents) * tf.cast(keep, wide.dtype)
    total = tf.reduce_sum(weights, axis=-1, keepdims=True)
    return tf.cast(tf.math.divide_no_nan(weights, total), logits.dtype)


def masked_logsumexp(logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """`log sum exp` over the kept places of the last axis: `[..., n] -> [...]`.

    >>> float(masked_logsumexp(tf.constant([0.0, 5.0]), tf.constant([True, False])))
    0.0
    """
    wide = widen(logits)
    total = tf.reduce_logsumexp(tf.where(mask, wide, wide.dtype.min), axis=-1)
    return tf.cast(tf.maximum(total, tf.cast(logits.dtype.min, wide.dtype)), logits.dtype)


def masked_mean(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Mean over the kept places of the time axis: `[batch, time, units], [batch, time] -> [batch, units]`.

    >>> masked_mean(tf.constant([[[1.0], [3.0], [9.0]]]), tf.constant([[True, True, False]])).numpy().tolist()
    [[2.0]]
    """
    wide = zero_masked(widen(values), mask)
    count = tf.reduce_sum(tf.cast(mask, wide.dtype), axis=1)[..., None]
    return tf.cast(tf.math.divide_no_nan(tf.reduce_sum(wide, axis=1), count), values.dtype)


def zero_masked(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Zeros in place of what is not kept, whatever stands there, NaN included: `[batch, time, units]`.

    >>> zero_masked(tf.constant([[[1.0], [float("nan")]]]), tf.constant([[True, False]])).numpy().ravel().tolist()
    [1.0, 0.0]
    """
    return tf.where(mask[..., None], values, tf.zeros_like(values))


def mask_of(values: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor | None:
    """The given mask; without one, that which travels with the values in a Keras model; None without either.

    >>> import keras
    >>> mask_of(keras.layers.Embedding(5, 2, mask_zero=True)(tf.constant([[3, 0]]))).numpy().tolist()
    [[True, False]]
    """
    return getattr(values, "_keras_mask", None) if mask is None else mask


def check_mask(mask: tf.Tensor, values: tf.Tensor | None = None) -> tf.Tensor:
    """The mask as a boolean tensor, one for each vector of the values; anything else is refused.

    Integers count as Keras counts them, 0 for what is not kept. Floats are refused: elsewhere a zero keeps.

    >>> check_mask([[1, 0]], tf.zeros([1, 2, 4])).numpy().tolist()
    [[True, False]]
    """
    mask = tf.convert_to_tensor(mask)
    if mask.dtype.is_integer:
        mask = tf.cast(mask, tf.bool)
    if mask.dtype != tf.bool:
        raise ValueError(f"mask: expected booleans, True = keep. Received: {mask.dtype.name}")
    if values is not None and not mask.shape.is_compatible_with(values.shape[:-1]):
        raise ValueError(f"mask: expected {values.shape[:-1]}, as the values. Received: shape {mask.shape}")
    return mask


def masked_values(values: tf.Tensor, mask: tf.Tensor | None) -> tuple[tf.Tensor, tf.Tensor]:
    """Values with zeros where nothing is kept, and the mask: all True where none is given and none travels with them.

    >>> masked_values(tf.ones([1, 2, 3]), None)[1].numpy().tolist()
    [[True, True]]
    """
    mask = mask_of(values, mask)
    if mask is None:
        return values, tf.ones(tf.shape(values)[:-1], tf.bool)
    mask = check_mask(mask, values)
    return zero_masked(values, mask), mask
