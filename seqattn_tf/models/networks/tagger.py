"""The network of taggers: scores of tags, for a conditional random field or by themselves."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.encoder import Encoder
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.base import ReadingNetwork
from seqattn_tf.structured import CRF

_OUTPUTS = ("crf", "softmax")


@keras.saving.register_keras_serializable("seqattn_tf")
class TaggerNetwork(ReadingNetwork):
    """Potentials of a chain of tags.

        p(tags) ~ exp(sum_t scores[t, tags[t]] + sum_t transitions[tags[t], tags[t+1]])

    Args:
        encoder: what reads; it gives a value for each place.
        tags: their names, in the order of the target.
        output: `"crf"`, with transitions that are learned; or `"softmax"`, every place for itself.
        scheme: `"BIO"` or `"BIOES"`: only sequences that the scheme allows; empty for all. For a `"crf"`.

    Call arguments: a dict with the tensors that the encoder reads; returns `unary [batch, places, tags]`, `pairwise
    [batch, tags, tags]` and `lengths [batch]`.

    >>> from seqattn_tf.encoder import BidirectionalEncoder
    >>> network = TaggerNetwork(BidirectionalEncoder(30, units=8), ["D", "N", "V"])
    >>> network({"text_ids": tf.ones([2, 5], tf.int32)})["unary"].shape.as_list()
    [2, 5, 3]
    """

    def __init__(
        self, encoder: Encoder, tags: Sequence[str], output: str = "crf", scheme: str = "", **kwargs: Any
    ) -> None:
        super().__init__(encoder, **kwargs)
        if output not in _OUTPUTS:
            raise ValueError(f"output: expected one of {_OUTPUTS}. Received: {output!r}")
        if scheme and output != "crf":
            raise ValueError(f"scheme: expected none for a softmax, which knows no neighbours. Received: {scheme!r}")
        self.tags, self.output_layer, self.scheme = list(tags), output, scheme
        self.crf = CRF(self.tags, scheme or None, boundaries=output == "crf", dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        """Build both parts."""
        super().build()
        if not self.crf.built:
            self.crf.build((None, None, self.encoder.output_size))
        if self.output_layer == "softmax":
            self.crf.transitions.trainable = False  # zero, and stay so

    def call(self, tensors: Tensors, training: bool = False) -> Tensors:
        """The potentials."""
        read = self.encoder(tensors, training=training)
        lengths = row_lengths(read.mask)
        unary, pairwise = self.crf.potentials(self.crf.scores(read.values), lengths)
        rows = tf.shape(unary)[0]
        return {
            "unary": unary,
            "pairwise": tf.broadcast_to(pairwise, [rows, len(self.tags), len(self.tags)]),
            "lengths": lengths,
        }

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {"tags": self.tags, "output": self.output_layer, "scheme": self.scheme}
