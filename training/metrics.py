"""What training minimises, and what results are reported in."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable("seqattn_tf")
class MaskedCrossEntropy(keras.losses.Loss):
    """Cross-entropy per symbol in nats, padding (id 0) left out; a batch counts by its symbols, not by its rows.

        loss = sum_{t: y_t != 0} -[(1 - s) log p(y_t) + s mean_k log p(k)] / #{t: y_t != 0}

    Args:
        label_smoothing: `s`, the share spread evenly over all symbols.

    >>> float(MaskedCrossEntropy()(tf.constant([[1, 0]]), tf.constant([[[0.0, 0.0], [9.0, 0.0]]]))) == tf.math.log(2.0)
    <tf.Tensor: shape=(), dtype=bool, numpy=True>
    """

    def __init__(self, label_smoothing: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "reduction": "none"})
        self.label_smoothing = label_smoothing

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        """`[batch, target], [batch, target, vocabulary] -> []`."""
        log_probabilities = tf.nn.log_softmax(tf.cast(y_pred, tf.float32))
        labels = tf.cast(y_true, tf.int32)
        right = tf.gather(log_probabilities, labels, batch_dims=2)
        spread = tf.reduce_mean(log_probabilities, axis=-1)
        loss = -((1 - self.label_smoothing) * right + self.label_smoothing * spread)
        keep = tf.cast(labels != 0, loss.dtype)
        return tf.math.divide_no_nan(tf.reduce_sum(loss * keep), tf.reduce_sum(keep))

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing}


def edit_distance(first: Sequence[Any], second: Sequence[Any]) -> int:
    """The least number of insertions, deletions and substitutions between two sequences.

    >>> edit_distance("kitten", "sitting")
    3
    """
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


def symbol_and_word_errors(answers: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Error rates of answers where any of several references is right: `per` by symbol, `wer` by whole answer.

    The reference with the fewest errors (in proportion to its length) is the one that counts.

    >>> symbol_and_word_errors({"a": "EY", "b": "B IY"}, {"a": ["AH", "EY"], "b": ["B"]})
    {'per': 0.5, 'wer': 0.5}
    """
    if not references:
        raise ValueError("references: expected at least one. Received: none")
    errors = symbols = wrong = 0
    for source, targets in references.items():
        said = answers[source].split()
        best, length = min(
            ((edit_distance(said, target.split()), len(target.split())) for target in targets),
            key=lambda pair: pair[0] / max(pair[1], 1),
        )
        errors, symbols, wrong = errors + best, symbols + length, wrong + (best > 0)
    return {"per": errors / symbols, "wer": wrong / len(references)}
