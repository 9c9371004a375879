"""The network of taggers: scores of tags, for a conditional random field or for independent tags."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.encoders import Encoder
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.base import ReadingNetwork
from seqattn_tf.structured import CRF

_OUTPUTS = ("crf", "softmax")


@keras.saving.register_keras_serializable("seqattn_tf")
class TaggerNetwork(ReadingNetwork):
    """A network that computes the potentials of a chain of tags.

        p(tags) ~ exp(sum_t scores[t, tags[t]] + sum_t transitions[tags[t], tags[t+1]])

    Args:
        encoder: The encoder, which must return a value for each position.
        tags: The names of the tags, in the order of the target.
        output: `"crf"`, with trained transitions; or `"softmax"`, with an independent tag at each position.
        scheme: `"BIO"` or `"BIOES"` to allow only sequences that are valid in this scheme; empty to allow all. Requires
            `"crf"`.

    Call arguments: a dict with the tensors that the encoder reads; returns `unary [batch, positions, tags]`, `pairwise
    [batch, tags, tags]` and `lengths [batch]`.

    >>> from seqattn_tf.encoders import BidirectionalEncoder
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
            raise ValueError(
                f"scheme: expected '' for a softmax, which predicts each tag independently. Received: {scheme!r}"
            )
        self.tags, self.output_layer, self.scheme = list(tags), output, scheme
        self.crf = CRF(self.tags, scheme or None, boundaries=output == "crf", dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        super().build()
        if not self.crf.built:
            self.crf.build((None, None, self.encoder.output_size))
        if self.output_layer == "softmax":
            self.crf.transitions.trainable = False  # fixed at zero

    def call(self, tensors: Tensors, training: bool = False) -> Tensors:
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
        return {"tags": self.tags, "output": self.output_layer, "scheme": self.scheme}
