"""Structured attention over segments: whole spans are selected."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.alignments.structured import StructuredAlignment
from seqattn_tf.core.registry import check_count
from seqattn_tf.core.scan import size_of
from seqattn_tf.structured.packing import Packing
from seqattn_tf.structured.segments import SemiMarkov


def _shifted(values: tf.Tensor, by: int) -> tf.Tensor:
    """Shift `[batch, source]` left by `by` positions, or right if negative, filling with zeros."""
    padded = tf.pad(values, [[0, 0], [max(-by, 0), max(by, 0)]])
    return padded[:, by:] if by > 0 else padded[:, : tf.shape(values)[1]]


@keras.saving.register_keras_serializable("seqattn_tf")
class SegmentsAlignment(StructuredAlignment):
    """Segmental attention: `alpha_j` is the probability that position `j` lies in a selected segment.

        p(segments) ~ exp(sum over selected segments (b_length + sum_{j in segment} e_j))

    over all ways to select non-overlapping segments among the unmasked positions, where positions on either side of a
    masked gap are neighbors. There is one trainable `b` for every length, so that the model learns typical lengths.

    Args:
        width: The maximum length of a segment.
        bias: The initial value of `b` per position of a segment, best near minus the logarithm of the source length.

    >>> align = SegmentsAlignment(width=2, bias=0.0)
    >>> weights, _ = align(tf.zeros([1, 1, 2]), tf.constant([[[True, True]]]))
    >>> weights.numpy().round(3).tolist()  # none, the first, the second, both separately, both as one segment
    [[[0.6000000238418579, 0.6000000238418579]]]
    """

    name_in_registry = "segments"

    def __init__(self, width: int = 4, bias: float = -3.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.width, self.bias = check_count("width", width), bias

    def build(self, logits_shape: Any = None) -> None:
        self.lengths = self.add_weight(
            name="lengths",
            shape=(self.width,),
            initializer=lambda shape, dtype=None: self.bias * tf.range(1, shape[0] + 1, dtype=dtype),
            autocast=False,
        )
        self.built = True

    def _spans(self, logits: tf.Tensor) -> tf.Tensor:
        """Score unselected single positions and selected spans: `[batch, source] -> [batch, source, width, 2]`."""
        totals = [logits]
        for further in range(1, self.width):
            totals.append(totals[-1] + _shifted(logits, further))
        chosen = tf.stack(totals, -1) + tf.cast(self.lengths, logits.dtype)
        apart = tf.where(tf.range(self.width) > 0, tf.constant(-float("inf"), logits.dtype), 0)
        return tf.stack([apart + tf.zeros_like(chosen), chosen], -1)

    def _covered(self, segments: tf.Tensor) -> tf.Tensor:
        """Sum the probabilities of the segments over each position: `[batch, source, width] -> [batch, source]`."""
        longer = tf.cumsum(segments, axis=2, reverse=True)  # segments that start here and reach at least that far
        return tf.add_n([_shifted(longer[:, :, back], -back) for back in range(self.width)])

    def marginals(self, logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Compute the marginals with the semi-Markov model, treating every query as a separate row."""
        shape = tf.shape(logits)
        rows = [-1, size_of(logits, 2)]
        packing = Packing(tf.reshape(tf.broadcast_to(mask, shape), rows))
        spans = self._spans(packing.pack(tf.reshape(logits, rows)))
        chosen = SemiMarkov(spans, tf.zeros([2, 2], spans.dtype), packing.lengths).marginals[..., 1]
        return tf.reshape(packing.unpack(self._covered(chosen)), shape)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "width": self.width, "bias": self.bias}
